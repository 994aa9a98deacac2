/*
 * Keeps the ready jobs of a tube by their due times, so that the oldest one is known at once.
 * Workers take jobs by priority and id, so the heap of the tube does not tell which job is the
 * oldest.
 *
 *      waits --- the oldest --- ... --- last --- ... --- the youngest
 *
 * A job that is put and is due at once goes to the end. A job that becomes due in time also goes to
 * the end. If many jobs become due late, one by one, they are older than jobs that were put
 * meanwhile. The place of each such job is near the place of the job before it, which is `last`. So
 * the place of a job is searched from the end and from `last`, and is found after a few steps. A
 * job that is older than all others goes to the front.
 *
 * The place of a job may be far from the front, from `last` and from the end, if the job was put
 * with a time in the past, if its hand-out was undone, or if the wall clock was set back. Then the
 * job stays where the search ends, and later a younger job may seem to be the oldest.
 */
#include "tables.h"

enum { STEPS_MAX = 1000 };

static uint64_t due_of(const struct elapse__ring_node *ring_node)
{
    return elapse__ring_timer(ring_node)->deadline;
}

void elapse__queue_waits_init(struct elapse__queue_waits *waits)
{
    elapse__ring_init(&waits->jobs);
    waits->last = &waits->jobs;
}

/* Returns the node after which a job with this due time belongs. The node is a job, or the ring
 * itself. Requires that the ring is not empty. */
static struct elapse__ring_node *find_place(struct elapse__queue_waits *waits, uint64_t due)
{
    const struct elapse__ring_node *ring = &waits->jobs;
    struct elapse__ring_node *from_end = waits->jobs.previous;
    struct elapse__ring_node *from_last = waits->last;
    ELAPSE__ASSERT(!elapse__ring_empty(ring));
    if (due_of(ring->next) > due)
        return &waits->jobs;
    for (unsigned step = 0; step < STEPS_MAX; step++) {
        if (from_end == ring || due_of(from_end) <= due)
            return from_end;
        from_end = from_end->previous;
        if (from_last != ring && due_of(from_last) > due)
            from_last = from_last->previous;
        else if (from_last->next == ring || due_of(from_last->next) > due)
            return from_last;
        else
            from_last = from_last->next;
    }
    return from_end;
}

void elapse__queue_wait_begin(struct elapse__queue_tube *tube, struct elapse__queue_entry *entry)
{
    struct elapse__queue_waits *waits = &tube->waits[elapse__queue_by_wall(entry)];
    struct elapse__ring_node *ring_node = &entry->timer.keep.ring_node;
    struct elapse__ring_node *youngest = waits->jobs.previous;
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(entry), ==, ELAPSE__QUEUE_READY);
    if (youngest == &waits->jobs || due_of(youngest) <= entry->timer.deadline) {
        elapse__ring_append(&waits->jobs, ring_node);
        return;
    }
    struct elapse__ring_node *older = find_place(waits, entry->timer.deadline);
    elapse__ring_insert(ring_node, older, older->next);
    waits->last = ring_node;
}

void elapse__queue_wait_end(struct elapse__queue_tube *tube, struct elapse__queue_entry *entry)
{
    struct elapse__queue_waits *waits = &tube->waits[elapse__queue_by_wall(entry)];
    struct elapse__ring_node *ring_node = &entry->timer.keep.ring_node;
    ELAPSE__ASSERT(ring_node->next != NULL && ring_node->next->previous == ring_node);
    if (waits->last == ring_node)
        waits->last = ring_node->previous;
    (void)elapse__ring_remove(ring_node);
}

uint64_t elapse__queue_longest_wait_ms(const struct elapse__queue_tube *tube,
                                       struct elapse__queue_now now)
{
    const uint64_t present[] = {elapse__queue_boot_tick(now.boot_ms),
                                elapse__queue_wall_tick(now.wall_ms)};
    uint64_t most = 0;
    for (unsigned by_wall = 0; by_wall < 2; by_wall++) {
        const struct elapse__ring_node *ring = &tube->waits[by_wall].jobs;
        if (elapse__ring_empty(ring))
            continue;
        uint64_t due = due_of(ring->next);
        if (present[by_wall] > due && present[by_wall] - due > most)
            most = present[by_wall] - due;
    }
    return most;
}
