/*
 * Decides for which partitions a node comes as a guest, by the rules N1 to N6 of guests.h.
 */
#include "guests.h"

#include "../../base/assert.h"
#include "replicas.h"

enum { TRIAL_LEASES = 10 }; /* N4 */

void elapse__guests_connect(struct elapse__guests *guests)
{
    guests->is_served = false;
}

static bool is_served(const struct elapse__guests_look *look, uint32_t partition)
{
    const struct elapse__watch *row = &look->rows[partition];

    return row->has_row && elapse__watch_idle_ms(row, look->now_ms) < look->lease_ms &&
           elapse__balance_is_ready(look->view, partition, look->view->partitions[partition].owner);
}

void elapse__guests_take(struct elapse__guests *guests, const struct elapse__guests_look *look)
{
    bool is_any_served = false;

    for (uint32_t i = 0; i < look->view->partition_count && !is_any_served; i++)
        is_any_served = is_served(look, i);
    if (is_any_served && !guests->is_served)
        guests->served_since_ms = look->now_ms;
    guests->is_served = is_any_served;
}

static bool has_heir(const struct elapse__guests_look *look, uint32_t partition)
{
    const struct elapse__balance_partition *row = &look->view->partitions[partition];
    bool has_any = row->owner != look->me && elapse__balance_lives(look->view, row->owner);

    for (uint32_t i = 0; i < row->replica_count; i++)
        has_any = has_any || (row->replicas[i] != look->me &&
                              elapse__balance_lives(look->view, row->replicas[i]));
    return has_any;
}

static uint64_t patience_ms(const struct elapse__guests_look *look, uint32_t partition)
{
    return (UINT64_C(1) + elapse__replicas_rank(look->view, partition, look->me)) * look->lease_ms;
}

static uint64_t trial_ms(const struct elapse__guests_look *look)
{
    return (uint64_t)TRIAL_LEASES * look->lease_ms;
}

/* N4. The partition that is tried keeps the others from being tried until its row changes. */
static bool is_tried(struct elapse__guests *guests, const struct elapse__guests_look *look,
                     uint32_t partition, bool is_due, bool has_come)
{
    bool is_trial = guests->has_trial && guests->trial == partition;

    if (is_trial && !is_due && !has_come) {
        guests->has_trial = false;
        guests->next_trial_ms = look->now_ms + trial_ms(look);
    }
    if (!is_due || (!guests->has_trial && look->now_ms < guests->next_trial_ms))
        return false;
    if (!guests->has_trial)
        guests->trial = partition;
    guests->has_trial = true;
    return guests->trial == partition;
}

/* Returns whether the row has been idle for long enough by N2, N3 or N4. */
static bool is_due(struct elapse__guests *guests, const struct elapse__guests_look *look,
                   uint32_t partition, bool has_come)
{
    const uint64_t idle_ms = elapse__watch_idle_ms(&look->rows[partition], look->now_ms);

    if (idle_ms < look->lease_ms)
        return is_tried(guests, look, partition, false, has_come);
    const uint64_t patience = patience_ms(look, partition);
    bool is_left_alone = !has_heir(look, partition);
    bool is_trial_due =
        !is_left_alone && !guests->is_served && idle_ms >= patience + trial_ms(look);
    if (is_tried(guests, look, partition, is_trial_due, has_come))
        return true;
    ELAPSE__ASSERT(!guests->is_served || look->now_ms >= guests->served_since_ms);
    bool is_stuck_alone = guests->is_served && look->now_ms - guests->served_since_ms >= patience;
    return idle_ms >= patience && (is_left_alone || is_stuck_alone);
}

bool elapse__guests_comes(struct elapse__guests *guests, const struct elapse__guests_look *look,
                          uint32_t partition, bool has_come)
{
    ELAPSE__ASSERT_THAT(partition, <, look->view->partition_count);
    ELAPSE__ASSERT(look->me < (int)look->view->node_count);
    bool may_come = !look->view->partitions[partition].is_stopped &&
                    !elapse__replicas_wants(look->view, partition, look->me);

    if (!may_come)
        return is_tried(guests, look, partition, false, false);
    bool is_due_now = is_due(guests, look, partition, has_come);
    return is_due_now || has_come || look->rows[partition].is_lost;
}
