/*
 * Keeps on the disk what a node has seen of all partitions in their rows: a witness for each
 * (src/cluster/ownership/partition.h). All are in one file, `witness`, in the directory of the
 * node, because they change often, and one sync is enough for all. A node that loses the directory
 * of a partition keeps its witness.
 *
 *       0  8   "elapseW", 0
 *       8  4   version of this format: 1
 *      12  4   how many partitions there are
 *      16  8   names the queue
 *      24  8   zeros
 *      32  48 for each partition: group, hash, epoch, system identifier, timeline, zeros; group 0:
 * no witness then   8   checksum of the bytes before
 */
#ifndef ELAPSE__STORE_WITNESS_H
#define ELAPSE__STORE_WITNESS_H

#include <stdint.h>

#include "../../os/files.h"

struct elapse__store_witness {
    uint64_t group, hash, epoch, system_identifier, timeline;
};

/* Reads the witnesses of `count` partitions of the queue that `queue` names. They are zeros if
 * there is no file. Returns 0; EBADMSG if the file is damaged, of a later version, or of another
 * queue, and then they are zeros, too; or another error number. */
int elapse__store_recall_witnesses(const struct elapse__files *files, const char *directory,
                                   uint64_t queue, struct elapse__store_witness *witnesses,
                                   uint32_t count);

/* Writes the witnesses, and returns when the disk has them. Returns 0 or an error number. After an
 * error the file has the old ones or the new ones. */
int elapse__store_remember_witnesses(const struct elapse__files *files, const char *directory,
                                     uint64_t queue, const struct elapse__store_witness *witnesses,
                                     uint32_t count);

#endif
