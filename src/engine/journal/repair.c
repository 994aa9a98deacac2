/*
 * Makes the directory what open believes it to be. The log comes first: what the disk may lack is
 * written again in place (F7), what must not come back is overwritten with zeros (F6), and both are
 * synced. Then leftover files are used or removed. The order matters, because only a durable COMMIT
 * frees a file (F4). journal.h has these rules.
 *
 * After the end of the log there may be records of a torn group. A search does not find all of
 * them. The reason: if a sync failed in an earlier recovery, the page cache has the zeros of that
 * recovery, but the disk still has the records. So zeros are written whatever a read shows. If
 * there is a free spare, the next group in the head is that of a SEAL, after which nothing counts.
 * Then zeros for the length of that group are enough. Without a free spare the new life continues
 * in the head, and the whole rest of the head is overwritten.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "recover.h"
#include "transfer.h"

/* Writes the bytes from .. end of the segment in memory to the file again. */
static int rewrite(struct elapse__recovery *recovery, int file, uint64_t from, uint64_t end)
{
    ELAPSE__ASSERT_THAT(from, <=, end);
    return elapse__write_all(recovery->journal->files, file, from, recovery->bytes + from,
                             (size_t)(end - from));
}

/* Overwrites `bytes` bytes after the end of the log with zeros. The head is in memory. Whole pages
 * are filled past the page cache. So the zeros for the rest of a head take no memory and are copied
 * nowhere, and a sync finds them on the disk. */
static int cut(struct elapse__recovery *recovery, int file, uint64_t bytes)
{
    uint64_t from = recovery->top.end;
    uint64_t rest = recovery->view.size - from;
    uint64_t end = from + (bytes < rest ? bytes : rest);
    uint64_t page = from + elapse__rest_of_page(recovery->journal, from);
    uint64_t middle = page < end ? page : end;
    memset(recovery->bytes + from, 0, (size_t)(middle - from));
    int error = rewrite(recovery, file, from, middle);
    if (error == 0)
        error = elapse__fill_all(recovery->journal->files, file, middle, end);
    return error;
}

/* Reads these bytes of a file, and writes them again. */
static int copy_in_place(const struct elapse__journal *journal, int file, uint64_t from,
                         uint64_t end)
{
    ELAPSE__ASSERT_THAT(from, <=, end);
    size_t count = (size_t)(end - from);
    uint8_t *bytes = malloc(count + 1); /* malloc(0) may return NULL */
    int error = bytes == NULL ? ENOMEM : 0;
    if (error == 0)
        error = elapse__read_all(journal->files, file, from, bytes, count);
    if (error == 0)
        error = elapse__write_all(journal->files, file, from, bytes, count);
    free(bytes);
    return error;
}

/* If the last COMMIT's `durable` lies in the segment before the head, writes the end of that
 * segment again. The last whole group is that of the SEAL then. */
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
    /* F7: the bytes that are written again begin at the last COMMIT's `durable`, and end with the
     * log. */
    ELAPSE__ASSERT_THAT(recovery->durable, <=,
                        elapse__position_at(recovery->journal, recovery->head, recovery->top.end));
    return repair_before(recovery) && repair_head(recovery);
}

/* Decides where the new life begins. It begins in the next segment if a spare is free for it. */
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

/* Stores whether the file can be used as a spare: it is whole, and no backup has it. Returns 0 or
 * an error number. */
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

/* Makes a spare of the file, or unlinks it. `is_spare` says that the file has the name of a
 * spare. */
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

/* Finds the greatest number of spares and unfinished files, because a number is never used twice in
 * one life. */
static void learn_spare_number(struct elapse__recovery *recovery)
{
    const struct elapse__numbers *kinds[] = {&recovery->spares, &recovery->unfinished};
    for (size_t i = 0; i < 2; i++) {
        if (kinds[i]->count > 0 &&
            kinds[i]->values[kinds[i]->count - 1] > recovery->journal->spare_number)
            recovery->journal->spare_number = kinds[i]->values[kinds[i]->count - 1];
    }
}

/* Uses or removes leftover files. After a crash a file may have two names of this journal. So files
 * whose names do not count are removed first. */
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
