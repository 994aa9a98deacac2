/*
 * Makes the directory what open believes it to be. First the log: what the disk may lack is written
 * again in place (F7), what must not come back is overwritten with zeros (F6), and both are synced.
 * Then leftovers are put to use. The order matters: only a durable COMMIT frees a file (F4).
 *
 * Behind the end may lie records of a group that was torn. Neither what open reads nor a search
 * finds all of them: after a sync that failed in an earlier recovery the page cache shows its
 * zeros, and the disk still has the records. So zeros are written whatever is there. The next group
 * to be written in the head is that of a SEAL, behind which nothing counts: then as many bytes as
 * it has are enough. Without a free spare the new life goes on in the head, and all of it is
 * overwritten.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "recover.h"
#include "transfer.h"

/* Writes the bytes from .. end of the segment in memory again. */
static int rewrite(struct elapse__recovery *recovery, int file, uint64_t from, uint64_t end)
{
    ELAPSE__ASSERT_THAT(from, <=, end);
    return elapse__write_all(recovery->journal->files, file, from, recovery->bytes + from,
                             (size_t)(end - from));
}

/* Overwrites `bytes` bytes behind the end of the head, which is in memory, with zeros. */
static int cut(struct elapse__recovery *recovery, int file, uint64_t bytes)
{
    uint64_t from = recovery->top.end;
    uint64_t rest = recovery->view.size - from;
    uint64_t end = from + (bytes < rest ? bytes : rest);
    memset(recovery->bytes + from, 0, (size_t)(end - from));
    return rewrite(recovery, file, from, end);
}

/* Reads these bytes of a file and writes them again. */
static int copy_in_place(const struct elapse__journal *journal, int file, uint64_t from,
                         uint64_t end)
{
    ELAPSE__ASSERT_THAT(from, <=, end);
    size_t count = (size_t)(end - from);
    uint8_t *bytes = malloc(count + 1); /* no bytes are no error */
    int error = bytes == NULL ? ENOMEM : 0;
    if (error == 0)
        error = elapse__read_all(journal->files, file, from, bytes, count);
    if (error == 0)
        error = elapse__write_all(journal->files, file, from, bytes, count);
    free(bytes);
    return error;
}

/* Writes the end of the segment before the head again, if the last COMMIT's `durable` lies there.
 * Then the last whole group is that of the SEAL. */
static bool repair_before(struct elapse__recovery *recovery)
{
    struct elapse__journal *journal = recovery->journal;
    uint64_t number = recovery->head - 1;
    const struct elapse__segment *before = elapse__segments_find(journal, number);
    char name[ELAPSE__FILE_NAME_BYTES];
    if (!recovery->has_before || before == NULL ||
        elapse__segment_of(journal, recovery->durable) != number)
        return true;
    elapse__name_segment(name, number);
    int error = copy_in_place(journal, before->file, elapse__offset_of(journal, recovery->durable),
                              recovery->before.end);
    if (error == 0)
        error = journal->files->sync(before->file);
    return error == 0 || elapse__refuse_call(recovery, error, name);
}

static bool repair_head(struct elapse__recovery *recovery)
{
    struct elapse__journal *journal = recovery->journal;
    int head = elapse__segments_find(journal, recovery->head)->file;
    char name[ELAPSE__FILE_NAME_BYTES];
    int file;
    if (!elapse__segment_load(recovery, recovery->head, &file))
        return false;
    journal->files->close(file);
    elapse__name_segment(name, recovery->head);
    uint64_t from = elapse__segment_of(journal, recovery->durable) == recovery->head
                        ? elapse__offset_of(journal, recovery->durable)
                        : ELAPSE__SEGMENT_HEADER_BYTES;
    int error = rewrite(recovery, head, from, recovery->top.end);
    if (error == 0)
        error = cut(recovery, head, ELAPSE__SEAL_GROUP_BYTES);
    if (error == 0)
        error = journal->files->sync(head);
    return error == 0 || elapse__refuse_call(recovery, error, name);
}

bool elapse__recovery_repair(struct elapse__recovery *recovery)
{
    /* F7: what is written again begins where the last COMMIT says, and ends with the log. */
    ELAPSE__ASSERT_THAT(recovery->durable, <=,
                        elapse__position_at(recovery->journal, recovery->head, recovery->top.end));
    return repair_before(recovery) && repair_head(recovery);
}

/* Decides where the new life begins: in the next segment if a spare is free for it. */
bool elapse__recovery_choose_place(struct elapse__recovery *recovery)
{
    struct elapse__journal *journal = recovery->journal;
    int head = elapse__segments_find(journal, recovery->head)->file;
    char name[ELAPSE__FILE_NAME_BYTES];
    ELAPSE__ASSERT_THAT(recovery->view.first_position, ==,
                        elapse__position_at(journal, recovery->head, 0));
    journal->crosses_first = elapse__journal_admits(journal, ELAPSE__RECORD_FOR_GROWTH, true);
    if (journal->crosses_first)
        return true;
    elapse__name_segment(name, recovery->head);
    int error = cut(recovery, head, recovery->view.size);
    if (error == 0)
        error = journal->files->sync(head);
    return error == 0 || elapse__refuse_call(recovery, error, name);
}

/* Returns whether the file can be used as a spare: it is whole, and no backup holds it. */
static int judge(struct elapse__journal *journal, const char *name, int *file, bool *is_usable)
{
    struct elapse__file_status status;
    int error = journal->files->open(journal->directory, name, ELAPSE__FILE_READ_WRITE, file);
    if (error != 0)
        return error;
    error = journal->files->status(*file, &status);
    *is_usable = error == 0 && elapse__journal_file_is_reusable(journal, &status) &&
                 journal->spare_count < elapse__spares_wanted(journal);
    if (error != 0)
        journal->files->close(*file);
    return error;
}

/* Makes a spare of the file, or unlinks it. `is_spare`: it has such a name already. */
static int reuse(struct elapse__journal *journal, const char *name, uint64_t number, bool is_spare)
{
    bool is_usable = false;
    int file;
    int error = judge(journal, name, &file, &is_usable);
    if (error != 0)
        return error;
    if (!is_usable) {
        journal->files->close(file);
        return journal->files->unlink(journal->directory, name);
    }
    struct elapse__spare spare = {.number = number, .file = file};
    if (!is_spare) {
        char to[ELAPSE__FILE_NAME_BYTES];
        spare.number = ++journal->spare_number;
        elapse__name_spare(to, spare.number);
        error = journal->files->rename(journal->directory, name, to);
    }
    if (error == 0)
        elapse__spare_add(journal, spare);
    else
        journal->files->close(file);
    return error;
}

/* Numbers of spares and of unfinished files are never used twice in one life. */
static void learn_spare_number(struct elapse__recovery *recovery)
{
    const struct elapse__numbers *kinds[] = {&recovery->spares, &recovery->unfinished};
    for (size_t i = 0; i < 2; i++) {
        if (kinds[i]->count > 0 &&
            kinds[i]->values[kinds[i]->count - 1] > recovery->journal->spare_number)
            recovery->journal->spare_number = kinds[i]->values[kinds[i]->count - 1];
    }
}

/* Puts leftovers to use. After a crash one file may have two names of ours, so names that mean
 * nothing are removed first. */
bool elapse__recovery_tidy(struct elapse__recovery *recovery)
{
    struct elapse__journal *journal = recovery->journal;
    char name[ELAPSE__FILE_NAME_BYTES] = "journal";
    int error = 0;
    learn_spare_number(recovery);
    for (size_t i = 0; i < recovery->unfinished.count && error == 0; i++) {
        elapse__name_new(name, recovery->unfinished.values[i]);
        error = journal->files->unlink(journal->directory, name);
    }
    for (size_t i = 0; i < recovery->segments.count && error == 0; i++) {
        uint64_t number = recovery->segments.values[i];
        elapse__name_segment(name, number);
        if (number < recovery->tail || number > recovery->head)
            error = reuse(journal, name, 0, false);
    }
    for (size_t i = 0; i < recovery->spares.count && error == 0; i++) {
        elapse__name_spare(name, recovery->spares.values[i]);
        error = reuse(journal, name, recovery->spares.values[i], true);
    }
    if (error == 0)
        error = journal->files->sync_directory(journal->directory);
    return error == 0 || elapse__refuse_call(recovery, error, name);
}
