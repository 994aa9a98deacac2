/*
 * Says on the disk that a node has left the directory of a partition after it had compared the
 * directory with the log (src/cluster/serve/copies.c). The file `left` in the directory says so,
 * beside the journal. While it is there, nobody has to open the directory to learn whether the
 * database has lost groups of it: all that the directory knows to be durable is in the file.
 *
 * The file comes when the journal is closed, and goes before the journal is opened again. It has
 * the numbers of the file `cluster`, too. A program that does not know the file may open the
 * directory; such a program changes those numbers when it owns the partition.
 *
 *       0  8   "elapseL", 0
 *       8  4   version of this format: 1
 *      12  4   timeline      (remember.h), as are the next four
 *      16  8   system identifier
 *      24  8   epoch
 *      32  8   genesis
 *      40  8   seen epoch
 *      48  40  what the directory knows (witness.h)
 *      88  16  the end of the directory: group, hash
 *     104  8   zeros
 *     112  8   checksum of bytes 0 .. 112
 */
#ifndef ELAPSE__STORE_LEFT_H
#define ELAPSE__STORE_LEFT_H

#include <stdbool.h>
#include <stdint.h>

#include "remember.h"
#include "witness.h"

struct elapse__store_left {
    struct elapse__store_memory memory; /* the numbers of the file `cluster` */
    struct elapse__store_witness known; /* the last place that was known to be durable */
    uint64_t end_group, end_hash;       /* the last place of the directory */
};

/* Reads what the directory says of the time when it was left. `*is_left` says whether it was left,
 * and is as it was: there are both files, they are whole, and their numbers are the same. Returns 0
 * or an error number. A file `left` that is damaged is no error: the directory is not left then. */
int elapse__store_recall_left(const struct elapse__files *files, const char *directory,
                              struct elapse__store_left *left, bool *is_left);

/* Writes the file with the numbers that the file `cluster` has now, and returns when the disk has
 * it. Requires that the journal is closed. Ignores `left->memory`. Returns 0 or an error number. */
int elapse__store_remember_left(const struct elapse__files *files, const char *directory,
                                const struct elapse__store_left *left);

/* Removes the file, and returns when the disk has that. Returns 0, also if there is no such file or
 * directory, or an error number. Called before the journal is opened. */
int elapse__store_forget_left(const struct elapse__files *files, const char *directory);

#endif
