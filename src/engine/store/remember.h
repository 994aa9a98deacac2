/*
 * What a node must not forget of a partition: five numbers in the file `cluster` of its directory,
 * beside the journal. They are of the cluster; here they only lie on the disk.
 *
 * The file is replaced as a whole, by a new one that is synced and then renamed, so a crash leaves
 * the old numbers or the new ones.
 *
 *       0  8   "elapseC", 0
 *       8  4   version of this format: 2
 *      12  4   timeline
 *      16  8   system identifier
 *      24  8   epoch
 *      32  8   genesis: which partition of which queue the directory belongs to
 *      40  8   seen epoch
 *      48  8   checksum of bytes 0 .. 48
 */
#ifndef ELAPSE__STORE_REMEMBER_H
#define ELAPSE__STORE_REMEMBER_H

#include <stdint.h>

#include "../../os/files.h"

struct elapse__store_memory {
    uint64_t system_identifier;
    uint32_t timeline;
    uint64_t epoch;
    uint64_t seen_epoch;
    uint64_t genesis; /* the hash before the first group of the log; 0: there is no file */
};

/* Reads the numbers; zeros if there is no file. Returns 0; EBADMSG: the file is damaged, or of a
 * later version; or another error number. */
int elapse__store_recall(const struct elapse__files *files, const char *directory,
                         struct elapse__store_memory *memory);

/* Returns when the numbers are on the disk. Makes the directory if there is none. Returns 0, or an
 * error number: then nobody knows which numbers the file has. */
int elapse__store_remember(const struct elapse__files *files, const char *directory,
                           const struct elapse__store_memory *memory);

#endif
