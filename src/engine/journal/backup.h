/*
 * Makes a backup of a journal that may be in use. No lock is taken.
 *
 *      source                     backup
 *      tail .. head - 1    --->   the same files under second names (hard links); on another file
 *                                 system, copies
 *      head                --->   a copy up to its last whole COMMIT, zeros behind it
 *                                 and a file `backup`, which marks it
 *
 * The files below the head are sealed: nobody writes them again. The journal does not use a file
 * again that has a second name: it unlinks the file. So the files of a backup never change. If the
 * tail moves while files are linked, the first of them may be gone: then the backup begins again.
 *
 * The mark tells open that the original may go on beside this copy. The number of the copy's next
 * life is then drawn at random, so that no lease of the copy has the name of one of the original's.
 */
#ifndef ELAPSE__JOURNAL_BACKUP_H
#define ELAPSE__JOURNAL_BACKUP_H

#include "journal.h"

struct elapse__backup {
    uint64_t segments; /* linked and copied */
    uint64_t linked;
    uint64_t copied_bytes;
};

/*
 * Makes a backup of the queue in `path` as the directory `target`, which must not exist, or be
 * empty. The directory above `target` must exist. Everything is on the disk when it returns. On
 * failure returns false, says why in `*refusal`, and leaves nothing but perhaps a directory
 * `target`.partial.
 */
bool elapse__journal_backup(const struct elapse__files *files, const char *path, const char *target,
                            struct elapse__backup *backup, struct elapse__journal_refusal *refusal);

/* Returns whether the journal is a backup that has had no life of its own yet. */
bool elapse__backup_is_marked(const struct elapse__journal *journal);

/* Removes the mark, durably. Returns 0 or an error of the call. */
int elapse__backup_unmark(struct elapse__journal *journal);

#endif
