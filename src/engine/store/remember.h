/*
 * Keeps on the disk what a node must not forget of a partition. These are five numbers in the file
 * `cluster` of the partition's directory, beside the journal. src/cluster/ownership/partition.h
 * says what the numbers mean.
 *
 * The numbers change all at once: a new file is written, synced and renamed. So after a crash the
 * file has either the old numbers or the new ones.
 *
 *       0  8   "elapseC", 0
 *       8  4   version of this format: 2
 *      12  4   timeline
 *      16  8   system identifier
 *      24  8   epoch
 *      32  8 genesis: names the partition and the queue of the directory
 *      40  8   seen epoch
 *      48  8   checksum of bytes 0 .. 48
 */
#ifndef ELAPSE__STORE_REMEMBER_H
#define ELAPSE__STORE_REMEMBER_H

#include <stddef.h>
#include <stdint.h>

#include "../../os/files.h"

/* Returns a checksum of bytes. Requires that `size` is a multiple of 16. */
uint64_t elapse__store_checksum(const uint8_t *bytes, size_t size);

/* Writes a file, and returns when the disk has it. First writes `name` with "-new" behind it, and
 * then renames that, so that the file has its old bytes or the new ones. Makes the directory if it
 * does not exist. Requires that `name` has fewer than 28 bytes. Returns 0 or an error number. */
int elapse__store_replace_file(const struct elapse__files *files, const char *directory,
                               const char *name, const uint8_t *bytes, size_t size);

/* Reads up to `room` bytes of a file, and stores how many. Returns 0, ENOENT if there is no such
 * file or directory, or another error number. */
int elapse__store_read_file(const struct elapse__files *files, const char *directory,
                            const char *name, uint8_t *bytes, size_t room, size_t *size);

struct elapse__store_memory {
    uint64_t system_identifier;
    uint32_t timeline;
    uint64_t epoch;
    uint64_t seen_epoch;
    uint64_t genesis; /* the hash before the first group of the log; 0: there is no file */
};

/* Reads the numbers, which are zeros if there is no file. Returns 0, EBADMSG if the file is damaged
 * or of a later version, or another error number. */
int elapse__store_recall(const struct elapse__files *files, const char *directory,
                         struct elapse__store_memory *memory);

/* Writes the numbers, and returns when the disk has them. Makes the directory if it does not exist.
 * Returns 0 or an error number. After an error the file has the old numbers or the new ones. */
int elapse__store_remember(const struct elapse__files *files, const char *directory,
                           const struct elapse__store_memory *memory);

#endif
