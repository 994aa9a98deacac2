/*
 * Keeps on the disk what a node must not forget of a partition: five numbers in the file `cluster`
 * of the partition's directory, beside the journal. src/cluster/ownership says what they mean.
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

/* Writes the numbers, and returns when they are on the disk. Makes the directory if there is none.
 * Returns 0, or an error number: then the file has the old numbers or the new ones. */
int elapse__store_remember(const struct elapse__files *files, const char *directory,
                           const struct elapse__store_memory *memory);

#endif
