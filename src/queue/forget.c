/*
 * A queue may replay the records of another queue. In that queue some things end without a record:
 * a token or a pause that ends by its time, or a job that expires while nothing can be written. The
 * functions here forget such things in this queue. The cleaning of the other queue has not copied
 * their records. So a thing has ended if its record lies before the place where the log begins.
 */
#include "moves.h"

static void forget_jobs(struct elapse__queue *queue, uint64_t position)
{
    struct elapse__queue_entry *entry = NULL;
    uint32_t number = 0;
    while ((entry = elapse__queue_next_entry(&queue->jobs, &number)) != NULL)
        if (elapse__queue_position(entry) < position)
            elapse__queue_end_job(queue, entry);
}

void elapse__queue_forget_below(struct elapse__queue *queue, uint64_t position)
{
    ELAPSE__ASSERT(!queue->open);
    ELAPSE__ASSERT_THAT(position % 8, ==, 0);
    elapse__queue_tokens_forget(queue, position);
    elapse__queue_errors_forget(queue, position);
    forget_jobs(queue, position);
    elapse__queue_tube_records_forget(queue, position);
}
