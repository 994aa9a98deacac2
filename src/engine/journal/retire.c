/*
 * Retires files below the tail, when a durable COMMIT says that they lie there (F4 of journal.h).
 * Such a file becomes a spare if there are too few spares. If not, it is unlinked. A file with
 * another name belongs to a backup. It is unlinked, and never used again (F5).
 */
#include "../../base/assert.h"
#include "lanes.h"

bool elapse__retire_start(struct elapse__journal *journal)
{
    if (journal->first >= journal->durable_tail || journal->segments[0].readers > 0)
        return false;
    ELAPSE__ASSERT_THAT(journal->first, <, journal->head);
    journal->background_state = ELAPSE__RETIRE_STATUS;
    return true;
}

void elapse__retire_next(struct elapse__journal *journal, struct elapse__operation *operation)
{
    operation->file = journal->segments[0].file;
    elapse__name_segment(operation->name, journal->first);
    switch (journal->background_state) {
    case ELAPSE__RETIRE_STATUS:
        operation->kind = ELAPSE__OPERATION_STATUS;
        break;
    case ELAPSE__RETIRE_RENAME:
        operation->kind = ELAPSE__OPERATION_RENAME;
        elapse__name_spare(operation->to, journal->making.number);
        break;
    default:
        ELAPSE__ASSERT(journal->background_state == ELAPSE__RETIRE_UNLINK);
        operation->kind = ELAPSE__OPERATION_UNLINK;
        break;
    }
}

static void judge_file(struct elapse__journal *journal, const struct elapse__file_status *status)
{
    if (elapse__journal_file_is_reusable(journal, status) &&
        journal->spare_count < elapse__spares_wanted(journal)) {
        journal->making = (struct elapse__spare){++journal->spare_number, ELAPSE__NO_FILE};
        journal->background_state = ELAPSE__RETIRE_RENAME;
    } else {
        journal->background_state = ELAPSE__RETIRE_UNLINK;
    }
}

void elapse__retire_completed(struct elapse__journal *journal,
                              const struct elapse__operation *operation)
{
    int file = journal->segments[0].file;
    if (operation->error != 0) {
        elapse__journal_fail(journal, operation->error);
        return;
    }
    switch (journal->background_state) {
    case ELAPSE__RETIRE_STATUS:
        judge_file(journal, &operation->status);
        return;
    case ELAPSE__RETIRE_RENAME:
        journal->making.file = file;
        elapse__spare_add(journal, journal->making);
        journal->making.file = ELAPSE__NO_FILE;
        break;
    default:
        ELAPSE__ASSERT(journal->background_state == ELAPSE__RETIRE_UNLINK);
        journal->files->close(file);
        journal->full_until_ms = journal->now_ms; /* there is space again */
        break;
    }
    ELAPSE__ASSERT_THAT(journal->first, <, journal->durable_tail); /* F4 */
    elapse__segments_drop_first(journal);
    journal->background_state = ELAPSE__BACKGROUND_RESTING;
}
