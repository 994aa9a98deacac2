/*
 * Moves a job to another state, and writes the record of this change.
 */
#include "moves.h"

void elapse__queue_wait_again(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                              struct elapse__queue_tick due, bool write)
{
    elapse__queue_leave_state(queue, entry);
    elapse__queue_enter_waiting(queue, entry, due);
    if (write)
        elapse__queue_write_state(queue, entry, ELAPSE__RECORD_CHANGE);
}

void elapse__queue_bury_job(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                            enum elapse__queue_reason reason, bool write)
{
    struct elapse__queue_tick due = elapse__queue_due_of(queue, entry);
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(entry), !=, ELAPSE__QUEUE_SHADOW);
    elapse__queue_leave_state(queue, entry);
    elapse__queue_enter_buried(queue, entry, due, reason);
    if (write)
        elapse__queue_write_state(queue, entry, ELAPSE__RECORD_CHANGE);
}

void elapse__queue_end_shadow(struct elapse__queue *queue, struct elapse__queue_entry *entry)
{
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(entry), ==, ELAPSE__QUEUE_SHADOW);
    bool write = elapse__queue_has_record(entry) && elapse__queue_begin_relief(queue);
    if (write)
        elapse__queue_write_delete(queue, elapse__queue_id(entry));
    elapse__queue_end_job(queue, entry);
    if (write)
        (void)elapse__queue_end(queue);
}
