/*
 * Drops dead letters. A dead letter is a buried job that does not recur. A tube can have a limit on
 * the number of its dead letters, and a limit on their age. A buried job that recurs is not
 * dropped: it stays buried until somebody kicks or cancels it.
 */
#include "commands.h"

/* If the disk is full, a tube tries again to drop jobs after this time. */
enum { DROP_AGAIN_MS = 1000 };

/* Drops a buried job. The records of this change are a group. Returns false if the sink refuses the
 * group, and then the job stays buried. */
static bool drop(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                 struct elapse__queue_entry *entry)
{
    if (!elapse__queue_begin_relief(queue))
        return false;
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(entry), ==, ELAPSE__QUEUE_BURIED);
    queue->totals.buried_dropped++;
    tube->totals.buried_dropped++;
    elapse__queue_tell(queue, entry, ELAPSE__OUTCOME_DROPPED);
    elapse__queue_write_delete(queue, elapse__queue_id(entry));
    elapse__queue_end_job(queue, entry);
    (void)elapse__queue_end(queue);
    return true;
}

uint32_t elapse__queue_drop_buried(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                                   uint32_t *most)
{
    uint64_t present = elapse__queue_present(queue, false);
    uint64_t soonest = present + 1;
    uint32_t dropped = 0;
    ELAPSE__ASSERT(tube->record != NULL);
    for (; *most > 0 && elapse__queue_drop_tick(queue, tube) <= present; --*most) {
        struct elapse__ring_node *node = tube->buried.next;
        struct elapse__queue_entry *entry = elapse__queue_entry_of(elapse__ring_timer(node));
        struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
        if (side->recurrence != NULL) {
            (void)elapse__ring_remove(node);
            elapse__ring_append(&tube->buried, node);
            side->buried = present;
            continue;
        }
        if (!drop(queue, tube, entry)) {
            soonest = present + DROP_AGAIN_MS;
            break;
        }
        dropped++;
    }
    elapse__queue_expect_drop(queue, tube, soonest);
    return dropped;
}
