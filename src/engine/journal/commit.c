/*
 * The commit lane writes and syncs groups, one at a time. journal.h has the diagram of its states.
 */
#include <errno.h>
#include <string.h>

#include "../../base/assert.h"
#include "lanes.h"

static int head_file(const struct elapse__journal *journal)
{
    const struct elapse__segment *head = elapse__segments_find(journal, journal->head);
    ELAPSE__ASSERT(head != NULL && head->file != ELAPSE__NO_FILE);
    return head->file;
}

/* Adds a group without records if one is due. Such a group has one of two purposes: it tells the
 * tail, or it protects the group before it. A group with a COMMIT after it cannot look like a torn
 * group. */
static void add_group_when_idle(struct elapse__journal *journal)
{
    bool is_idle =
        journal->stopping || journal->now_ms - journal->activity_ms >= ELAPSE__JOURNAL_IDLE_MS;
    if (journal->tail != journal->committed_tail || journal->pushes)
        (void)elapse__group_add_empty(journal, ELAPSE__RECORD_FOR_COPY);
    else if (journal->idle_commit_wanted && is_idle) {
        elapse__groups_rest(journal);
        (void)elapse__group_add_empty(journal, ELAPSE__RECORD_FOR_RELIEF);
    }
}

/* Returns whether the written groups have to be synced now. They must be synced if the tail has
 * moved: the old tail's file is free as soon as that is durable, and the owner may wait for the
 * file. */
static bool sync_is_due(const struct elapse__journal *journal)
{
    return journal->written > journal->durable &&
           (journal->stopping || journal->now_ms >= journal->sync_due_ms ||
            journal->durable_tail < journal->committed_tail);
}

/* Takes the next group. With a replicated log, the log gets the group before the disk does. */
static void start_group(struct elapse__journal *journal)
{
    ELAPSE__ASSERT(journal->in_flight == NULL && journal->commit_state == ELAPSE__COMMIT_IDLE);
    struct elapse__group *group = elapse__group_take(journal);
    journal->in_flight = group;
    journal->progress = 0;
    if (elapse__journal_log_wants(journal, group))
        elapse__journal_log_start(journal);
    else
        elapse__commit_write(journal);
}

/* Leaves the state IDLE if there is something to do. */
static void start_work(struct elapse__journal *journal)
{
    if (elapse__group_waiting(journal) == NULL)
        add_group_when_idle(journal);
    const struct elapse__group *group = elapse__group_waiting(journal);
    bool rotates = group != NULL && elapse__segment_of(journal, group->position) != journal->head;
    if (sync_is_due(journal) || (rotates && journal->written > journal->durable))
        journal->commit_state = ELAPSE__COMMIT_SYNCING;
    else if (rotates)
        (void)elapse__rotate_start(journal);
    else if (group != NULL)
        start_group(journal);
}

bool elapse__commit_next(struct elapse__journal *journal, struct elapse__operation *operation)
{
    if (journal->commit_state == ELAPSE__COMMIT_IDLE)
        start_work(journal);
    switch (journal->commit_state) {
    case ELAPSE__COMMIT_IDLE:
    case ELAPSE__COMMIT_FAILED:
    case ELAPSE__LOG_SUBMITTED:
    case ELAPSE__LOG_FENCED:
        return false;
    case ELAPSE__LOG_SUBMITTING:
        operation->kind = ELAPSE__OPERATION_SUBMIT;
        return true;
    case ELAPSE__COMMIT_WRITING:
        operation->kind = ELAPSE__OPERATION_WRITE;
        operation->file = head_file(journal);
        operation->offset =
            elapse__offset_of(journal, journal->in_flight->position) + journal->progress;
        operation->bytes = journal->in_flight->bytes + journal->progress;
        operation->count =
            journal->in_flight->size + journal->in_flight->padding - (size_t)journal->progress;
        return true;
    case ELAPSE__COMMIT_SYNCING:
        operation->kind = ELAPSE__OPERATION_SYNC;
        operation->file = head_file(journal);
        return true;
    default:
        elapse__rotate_next(journal, operation);
        return true;
    }
}

static void group_is_written(struct elapse__journal *journal)
{
    struct elapse__group *group = journal->in_flight;
    bool is_first = journal->written == journal->durable;
    ELAPSE__ASSERT_THAT(journal->progress, ==, group->size + group->padding);
    ELAPSE__ASSERT_THAT(group->position + group->size, >, journal->written);
    journal->in_flight = NULL;
    journal->written = group->position + group->size;
    journal->groups++;
    elapse__group_release(journal, group);
    if (is_first)
        journal->sync_due_ms = journal->now_ms + journal->interval_ms;
    journal->activity_ms = journal->now_ms;
    journal->commit_state =
        journal->interval_ms == 0 ? ELAPSE__COMMIT_SYNCING : ELAPSE__COMMIT_IDLE;
    if (journal->log != NULL)
        elapse__journal_log_trim(journal);
}

static void head_is_synced(struct elapse__journal *journal)
{
    ELAPSE__ASSERT_THAT(journal->durable, <=, journal->written);
    journal->durable = journal->written;
    ELAPSE__ASSERT_THAT(journal->durable_tail, <=, journal->committed_tail); /* F3 */
    journal->durable_tail = journal->committed_tail;
    journal->activity_ms = journal->now_ms;
    journal->commit_state = ELAPSE__COMMIT_IDLE;
}

void elapse__commit_completed(struct elapse__journal *journal,
                              const struct elapse__operation *operation)
{
    if (operation->kind == ELAPSE__OPERATION_SUBMIT) {
        elapse__journal_log_completed(journal, operation);
        return;
    }
    if (operation->error != 0) {
        elapse__journal_fail(journal, operation->error);
        return;
    }
    switch (journal->commit_state) {
    case ELAPSE__COMMIT_IDLE:
    case ELAPSE__COMMIT_FAILED: /* the other lane has failed meanwhile */
    case ELAPSE__LOG_FENCED:
        break;
    case ELAPSE__COMMIT_WRITING:
        journal->progress += operation->done;
        if (operation->done == 0)
            elapse__journal_fail(journal, EIO);
        else if (journal->progress == journal->in_flight->size + journal->in_flight->padding)
            group_is_written(journal);
        break;
    case ELAPSE__COMMIT_SYNCING:
        head_is_synced(journal);
        break;
    default:
        elapse__rotate_completed(journal, operation);
        break;
    }
}
