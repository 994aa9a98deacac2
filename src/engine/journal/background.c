/*
 * Chooses what the background lane does next: it retires a file, makes a spare, or reads the tail.
 * The lane does one of these at a time, and prefers them in this order. Retiring comes first
 * because it makes space. Spares come next because the owner waits for them.
 */
#include "../../base/assert.h"
#include "lanes.h"

bool elapse__background_next(struct elapse__journal *journal, struct elapse__operation *operation)
{
    if (journal->ends_spares && (journal->background_state == ELAPSE__SPARE_FILLING ||
                                 journal->background_state == ELAPSE__SPARE_FILL_SYNC))
        journal->background_state = ELAPSE__SPARE_REMOVING;
    if (journal->background_state == ELAPSE__BACKGROUND_RESTING && !elapse__retire_start(journal) &&
        (journal->ends_spares || !elapse__spare_start(journal)) && !elapse__clean_start(journal))
        return false;
    switch (journal->background_state) {
    case ELAPSE__RETIRE_STATUS:
    case ELAPSE__RETIRE_RENAME:
    case ELAPSE__RETIRE_UNLINK:
        elapse__retire_next(journal, operation);
        break;
    case ELAPSE__CLEAN_READING:
        elapse__clean_next(journal, operation);
        break;
    default:
        elapse__spare_next(journal, operation);
        break;
    }
    return true;
}

void elapse__background_completed(struct elapse__journal *journal,
                                  const struct elapse__operation *operation)
{
    switch (journal->background_state) {
    case ELAPSE__RETIRE_STATUS:
    case ELAPSE__RETIRE_RENAME:
    case ELAPSE__RETIRE_UNLINK:
        elapse__retire_completed(journal, operation);
        break;
    case ELAPSE__CLEAN_READING:
        elapse__clean_completed(journal, operation);
        break;
    default:
        ELAPSE__ASSERT(journal->background_state != ELAPSE__BACKGROUND_RESTING);
        elapse__spare_completed(journal, operation);
        break;
    }
}
