/*
 * Makes a backup of a journal that may be in use. Takes no lock.
 *
 *      source                     backup
 *      tail .. head - 1    --->   the same files under second names (hard links); on another file
 *                                 system, copies
 *      head                --->   a copy up to its last whole COMMIT, zeros behind it
 *                                 and a file `backup`, which marks it
 *
 * The files below the head are sealed: nobody writes them again. The journal unlinks a file that
 * has a second name, and does not use it again. So the files of a backup never change. If the tail
 * moves while this room links files, the first file may have gone. Then the backup begins again.
 *
 * The file `backup` tells open that the original may still be in use. Then open draws the number of
 * the copy's next life at random, so that no lease of the copy has the name of a lease of the
 * original.
 */
#ifndef ELAPSE__JOURNAL_BACKUP_H
#define ELAPSE__JOURNAL_BACKUP_H

#include "journal.h"

struct elapse__backup {
    uint64_t segments; /* how many segments were linked or copied */
    uint64_t linked;
    uint64_t copied_bytes;
};

/*
 * Makes a backup of the queue in `path` as the directory `target`. Requires that `target` does not
 * exist or is empty, and that the directory above it exists. When the function returns, everything
 * is on the disk. On failure returns false, says why in `*refusal`, and leaves nothing but perhaps
 * a directory `target`.partial.
 */
bool elapse__journal_backup(const struct elapse__files *files, const char *path, const char *target,
                            struct elapse__backup *backup, struct elapse__journal_refusal *refusal);

/* Returns whether the journal is a backup on which no process has run yet. */
bool elapse__backup_is_marked(const struct elapse__journal *journal);

/* Removes the file `backup` durably. Returns 0 or an error number. */
int elapse__backup_unmark(struct elapse__journal *journal);

#endif
