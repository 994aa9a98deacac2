/*
 * Makes and takes spares. A spare is a file of a segment's size that was filled with zeros once. So
 * it has its blocks on the disk, and needs no more space when it becomes a segment. A file that is
 * being made has the name new-<n>. It becomes spare-<n> when it is synced. The bytes of a spare do
 * not count, because the checksums of records depend on their position.
 */
#include <errno.h>
#include <string.h>

#include "../../base/assert.h"
#include "group.h"

/* How long nothing is made after the disk was full. */
enum { FULL_FOR_MS = 1000 };

/* A file with another name belongs to a backup, and must not be written (F5). A file that is
 * shorter than a segment does not have all of its blocks. */
bool elapse__journal_file_is_reusable(const struct elapse__journal *journal,
                                      const struct elapse__file_status *status)
{
    return status->links == 1 && status->bytes == elapse__segment_bytes(journal);
}

void elapse__spare_add(struct elapse__journal *journal, struct elapse__spare spare)
{
    ELAPSE__ASSERT_THAT(journal->spare_count, <, ELAPSE__SPARES_MAX);
    ELAPSE__ASSERT_THAT(spare.file, !=, ELAPSE__NO_FILE);
    ELAPSE__ASSERT_THAT(spare.number, <=, journal->spare_number);
    journal->spares[journal->spare_count++] = spare;
    if (journal->spare_count >= elapse__spares_wanted(journal))
        journal->disk_is_full = false;
}

bool elapse__spare_take(struct elapse__journal *journal, struct elapse__spare *spare)
{
    if (journal->spare_count == 0)
        return false;
    *spare = journal->spares[--journal->spare_count];
    return true;
}

/* The disk had no room for a spare that only a refused record has asked for. Whoever tries that
 * record again asks again; without this the disk would count as full until then. */
static void forget_asked(struct elapse__journal *journal)
{
    if (journal->spares_asked == 0 || !journal->disk_is_full ||
        journal->now_ms < journal->full_until_ms ||
        journal->spare_count <= elapse__spares_held(journal))
        return;
    journal->spares_asked = 0;
    journal->disk_is_full = false;
}

bool elapse__spare_start(struct elapse__journal *journal)
{
    forget_asked(journal);
    if (journal->spare_count >= elapse__spares_wanted(journal) ||
        (journal->disk_is_full && journal->now_ms < journal->full_until_ms))
        return false;
    /* Cleaning will free the file that the next segment needs. Another spare would be one too
     * many. */
    if (journal->spare_count >= elapse__spares_held(journal) && elapse__clean_frees_a_file(journal))
        return false;
    journal->making = (struct elapse__spare){++journal->spare_number, ELAPSE__NO_FILE};
    journal->filled = 0;
    journal->background_state = ELAPSE__SPARE_CREATING;
    return true;
}

void elapse__spare_next(struct elapse__journal *journal, struct elapse__operation *operation)
{
    operation->file = journal->making.file;
    elapse__name_new(operation->name, journal->making.number);
    switch (journal->background_state) {
    case ELAPSE__SPARE_CREATING:
        operation->kind = ELAPSE__OPERATION_CREATE;
        break;
    case ELAPSE__SPARE_FILLING:
        operation->kind = ELAPSE__OPERATION_FILL;
        operation->offset = journal->filled;
        operation->count = (size_t)(elapse__segment_bytes(journal) - journal->filled);
        break;
    case ELAPSE__SPARE_FILL_SYNC:
        operation->kind = ELAPSE__OPERATION_SYNC;
        break;
    case ELAPSE__SPARE_NAMING:
        operation->kind = ELAPSE__OPERATION_RENAME;
        elapse__name_spare(operation->to, journal->making.number);
        break;
    default:
        ELAPSE__ASSERT(journal->background_state == ELAPSE__SPARE_REMOVING);
        operation->kind = ELAPSE__OPERATION_UNLINK;
        break;
    }
}

/* Returns whether the error says that the disk, the process or the system has no room for another
 * file. There may be room later. */
static bool says_no_room(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EMFILE ||
           error == ENFILE || error == ENOMEM;
}

static void give_up(struct elapse__journal *journal)
{
    bool was_created = journal->background_state != ELAPSE__SPARE_CREATING;
    journal->disk_is_full = true;
    journal->full_until_ms = journal->now_ms + FULL_FOR_MS;
    journal->background_state = was_created ? ELAPSE__SPARE_REMOVING : ELAPSE__BACKGROUND_RESTING;
}

static void spare_is_filled_so_far(struct elapse__journal *journal, size_t done)
{
    journal->filled += done;
    ELAPSE__ASSERT_THAT(journal->filled, <=, elapse__segment_bytes(journal));
    if (done == 0)
        give_up(journal);
    else if (journal->filled == elapse__segment_bytes(journal))
        journal->background_state = ELAPSE__SPARE_FILL_SYNC;
}

void elapse__spare_completed(struct elapse__journal *journal,
                             const struct elapse__operation *operation)
{
    if (operation->error != 0) {
        if (says_no_room(operation->error) && journal->background_state <= ELAPSE__SPARE_FILLING)
            give_up(journal);
        else
            elapse__journal_fail(journal, operation->error);
        return;
    }
    switch (journal->background_state) {
    case ELAPSE__SPARE_CREATING:
        journal->making.file = operation->file;
        journal->background_state = ELAPSE__SPARE_FILLING;
        break;
    case ELAPSE__SPARE_FILLING:
        spare_is_filled_so_far(journal, operation->done);
        break;
    case ELAPSE__SPARE_FILL_SYNC:
        journal->background_state = ELAPSE__SPARE_NAMING;
        break;
    case ELAPSE__SPARE_NAMING:
        elapse__spare_add(journal, journal->making);
        journal->making.file = ELAPSE__NO_FILE;
        journal->disk_is_full = false;
        journal->background_state = ELAPSE__BACKGROUND_RESTING;
        break;
    default:
        journal->files->close(journal->making.file);
        journal->making.file = ELAPSE__NO_FILE;
        journal->background_state = ELAPSE__BACKGROUND_RESTING;
        break;
    }
}
