/*
 * The threads of a store.
 */
#include "../base/assert.h"
#include "store.h"

/* Returns whether a lane may end, because the store stops. The commit lane ends last: the other one
 * may still clean, and that makes groups. */
static bool may_end(const struct elapse_queue *store, enum elapse__journal_lane lane, bool quiet)
{
    return quiet && (lane == ELAPSE__LANE_BACKGROUND || store->background_ended);
}

/* Performs the operations of one lane until the store stops, or the journal has failed. */
static void work_in_lane(struct elapse_queue *store, enum elapse__journal_lane lane)
{
    struct elapse__operation operation;

    elapse__lock(&store->lock);
    while (!elapse__store_is_broken(store)) {
        elapse__journal_tick(store->joint.journal,
                             elapse__os->clock_ns(ELAPSE__OS_MONOTONIC) / ELAPSE__STORE_NS_PER_MS);
        if (elapse__journal_next_operation(store->joint.journal, lane, &operation)) {
            elapse__unlock(&store->lock);
            elapse__operation_perform(store->joint.journal, &operation);
            elapse__lock(&store->lock);
            elapse__journal_completed(store->joint.journal, lane, &operation);
            elapse__condition_broadcast(&store->work);
            elapse__store_tell(store);
            continue;
        }
        bool quiet = elapse__journal_is_quiet(store->joint.journal);
        if (store->stopping && (store->abandoned || may_end(store, lane, quiet)))
            break;
        /* Cleaning may have made a group although there is nothing to read. */
        if (!quiet && lane == ELAPSE__LANE_BACKGROUND)
            elapse__condition_broadcast(&store->work);
        /* The journal that is not quiet waits for its idle time, or its interval, to pass. */
        elapse__condition_wait_at_most(
            &store->work, &store->lock,
            quiet ? ELAPSE__OS_NEVER
                  : elapse__store_until_ns(elapse__journal_patience_ms(store->joint.journal)));
    }
    if (lane == ELAPSE__LANE_BACKGROUND)
        store->background_ended = true;
    elapse__condition_broadcast(&store->work);
    elapse__store_tell(store);
    elapse__unlock(&store->lock);
}

void *elapse__store_commit_main(void *store)
{
    elapse__os_thread_name("elapse-commit");
    work_in_lane(store, ELAPSE__LANE_COMMIT);
    return NULL;
}

void *elapse__store_background_main(void *store)
{
    elapse__os_thread_name("elapse-journal");
    work_in_lane(store, ELAPSE__LANE_BACKGROUND);
    return NULL;
}

/* Does what the time asks for, in slices, and sets the alarms to what comes next. */
static void turn(struct elapse_queue *store)
{
    struct elapse__queue_turned turned;

    do {
        elapse__lock(&store->lock);
        store->alarm_boot_ms = UINT64_MAX;
        store->alarm_wall_ms = INT64_MAX;
        turned = elapse__queue_turn(store->joint.jobs, elapse__store_now());
        elapse__store_tell(store);
        elapse__store_set_alarms(store);
        elapse__condition_broadcast(&store->work);
        elapse__unlock(&store->lock);
    } while (turned.more);
}

void *elapse__store_clock_main(void *argument)
{
    struct elapse_queue *store = argument;
    bool ends = false;

    elapse__os_thread_name("elapse-due");
    elapse__os_wake_exactly();
    while (!ends) {
        (void)elapse__os->alarms_wait(store->alarms, ELAPSE__STORE_ALARMS, ELAPSE__OS_NEVER);
        elapse__os->alarm_reset(&store->alarms[ELAPSE__STORE_ALARM_BOOT]);
        elapse__os->alarm_reset(&store->alarms[ELAPSE__STORE_ALARM_WALL]);
        elapse__lock(&store->lock);
        ends = store->stopping;
        elapse__unlock(&store->lock);
        if (!ends)
            turn(store);
    }
    return NULL;
}
