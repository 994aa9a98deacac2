/*
 * The threads of a store: commit, background and clock. The journal has two lanes
 * (src/engine/journal/lanes.h), which are rows of operations. Each lane has one thread.
 */
#include "threads.h"
#include "../../base/assert.h"
#include "memory.h"

/* Returns whether the thread of a lane may end when the store stops. The commit thread ends last,
 * because the background thread may still clean, which makes groups. */
static bool may_end(const struct elapse_queue *store, enum elapse__journal_lane lane, bool quiet)
{
    return quiet && (lane == ELAPSE__LANE_BACKGROUND || store->background_ended);
}

/* Stores the next operation of a lane. Returns false if there is none. If it reads the clock for
 * the journal, stores what it has read in `*now_ns`. */
static bool next_operation(struct elapse_queue *store, enum elapse__journal_lane lane,
                           struct elapse__operation *operation, uint64_t *now_ns)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    /* An operation that was offered counts as under way. So the thread performs it even if the
     * journal has failed. */
    if (lane == ELAPSE__LANE_BACKGROUND && store->has_offer) {
        store->has_offer = false;
        *operation = store->offer;
        return true;
    }
    if (elapse__store_is_broken(store))
        return false;
    *now_ns = elapse__store_tick(store);
    return elapse__journal_next_operation(store->engine.journal, lane, operation);
}

/* Wakes the threads that can continue because this operation of `lane` has ended. */
static void tell(struct elapse_queue *store, enum elapse__journal_lane lane,
                 const struct elapse__operation *operation, bool more_is_durable)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    /* A write that makes nothing durable frees no file and takes no spare. A sync follows it. */
    bool is_half_done = operation->kind == ELAPSE__OPERATION_WRITE && !more_is_durable;
    if (lane != ELAPSE__LANE_COMMIT)
        elapse__store_wake_lane(store, ELAPSE__LANE_COMMIT);
    else if (!is_half_done)
        elapse__store_offer_background(store);
    /* The background thread may end now. */
    if (store->stopping || elapse__store_is_broken(store))
        elapse__store_wake_lane(store, ELAPSE__LANE_BACKGROUND);
    if (elapse__store_is_broken(store)) {
        elapse__store_wake_all(store);
    } else if (more_is_durable || store->room_waiters > 0) {
        elapse__store_tell_progress(store);
    }
}

/* Performs an operation without the lock. Returns how long a sync took, and 0 for other operations,
 * which nobody counts. `now_ns` is the time at which the lock was held last. */
static uint64_t perform_timed(const struct elapse_queue *store, struct elapse__operation *operation,
                              uint64_t now_ns)
{
    elapse__operation_perform(store->engine.journal, operation);
    if (operation->kind != ELAPSE__OPERATION_SYNC)
        return 0;
    return elapse__os->clock_ns(ELAPSE__OS_MONOTONIC) - now_ns;
}

static void count(struct elapse_queue *store, const struct elapse__operation *operation,
                  uint64_t took_ns)
{
    ELAPSE__ASSERT_THAT(operation->done, <=, operation->count);
    if (operation->kind == ELAPSE__OPERATION_SYNC)
        elapse__histogram_add(&store->syncs, took_ns / 1000);
    else if (operation->kind == ELAPSE__OPERATION_WRITE)
        elapse__histogram_add(&store->writes, operation->done);
}

/* Tells the watcher that more is durable. Releases the lock meanwhile: a watcher that wakes at once
 * would find it taken and sleep again, which costs each of the two threads another system call. */
static void tell_watcher(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    elapse__unlock(&store->lock);
    (void)elapse__os->alarm_set(&store->news, 0);
    elapse__lock(&store->lock);
}

/* Performs an operation of a lane. Releases the lock meanwhile, and perhaps once more before it
 * returns. `now_ns` is the time at which the journal gave the operation. */
static void perform(struct elapse_queue *store, enum elapse__journal_lane lane,
                    struct elapse__operation *operation, uint64_t now_ns)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    uint64_t durable = elapse__journal_durable(store->engine.journal);

    ELAPSE__ASSERT(!store->lanes[lane].busy); /* a lane has at most one operation at a time */
    store->lanes[lane].busy = true;
    elapse__unlock(&store->lock);
    uint64_t took_ns = perform_timed(store, operation, now_ns);
    elapse__lock(&store->lock);
    ELAPSE__ASSERT(store->lanes[lane].busy);
    store->lanes[lane].busy = false;
    if (lane == ELAPSE__LANE_COMMIT)
        count(store, operation, took_ns);
    elapse__journal_completed(store->engine.journal, lane, operation);
    bool more_is_durable = elapse__journal_durable(store->engine.journal) > durable;
    tell(store, lane, operation, more_is_durable);
    if (more_is_durable && store->watched)
        tell_watcher(store);
}

bool elapse__store_lead(struct elapse_queue *store)
{
    struct elapse__operation operation;
    uint64_t now_ns = 0;

    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (store->lanes[ELAPSE__LANE_COMMIT].busy ||
        !next_operation(store, ELAPSE__LANE_COMMIT, &operation, &now_ns))
        return false;
    perform(store, ELAPSE__LANE_COMMIT, &operation, now_ns);
    return true;
}

/* Waits until there may be an operation for this lane. `now_ns` is the time at which the journal
 * had none. */
static void rest(struct elapse_queue *store, enum elapse__journal_lane lane, bool quiet,
                 uint64_t now_ns)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    bool looks_soon =
        lane == ELAPSE__LANE_COMMIT && store->engine.last_position != store->seen_position;
    uint64_t patience_ms = elapse__journal_patience_ms(store->engine.journal);

    /* Cleaning may have made a group although this thread has nothing to do now. */
    if (!quiet && lane == ELAPSE__LANE_BACKGROUND)
        elapse__store_wake_lane(store, ELAPSE__LANE_COMMIT);
    if (lane == ELAPSE__LANE_COMMIT)
        store->seen_position = store->engine.last_position;
    if (looks_soon && ELAPSE__STORE_LINGER_MS < patience_ms)
        patience_ms = ELAPSE__STORE_LINGER_MS;
    store->lanes[lane].lingers = looks_soon;
    /* A journal that still has work waits only until its idle time or its interval is over. */
    elapse__store_sleep_in_lane(store, lane,
                                quiet && !looks_soon ? ELAPSE__OS_NEVER
                                                     : elapse__store_end_ns(now_ns, patience_ms));
    store->lanes[lane].lingers = false;
}

/* Refills the memory of all stores if little is left. Returns whether it did so. */
static bool refill_memory(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (!elapse__store_memory_is_low())
        return false;
    elapse__unlock(&store->lock);
    elapse__store_refill_memory();
    elapse__lock(&store->lock);
    return true;
}

/* Performs the operations of one lane until the store stops or the journal has failed. */
static void work_in_lane(struct elapse_queue *store, enum elapse__journal_lane lane)
{
    struct elapse__operation operation;
    uint64_t now_ns = 0;
    bool goes_on = true;

    elapse__lock(&store->lock);
    while (goes_on) {
        if (next_operation(store, lane, &operation, &now_ns)) {
            perform(store, lane, &operation, now_ns);
            continue;
        }
        if (lane == ELAPSE__LANE_BACKGROUND && refill_memory(store))
            continue;
        bool quiet = elapse__journal_is_quiet(store->engine.journal);
        goes_on = !elapse__store_is_broken(store) &&
                  !(store->stopping && (store->abandoned || may_end(store, lane, quiet)));
        if (goes_on)
            rest(store, lane, quiet, now_ns);
    }
    ELAPSE__ASSERT(store->stopping || elapse__store_is_broken(store));
    ELAPSE__ASSERT(!store->lanes[lane].asleep);
    if (lane == ELAPSE__LANE_BACKGROUND)
        store->background_ended = true;
    elapse__store_wake_lane(store, ELAPSE__LANE_COMMIT);
    elapse__store_wake_lane(store, ELAPSE__LANE_BACKGROUND);
    elapse__store_wake_all(store);
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

/* Does what is due, in slices. Sets the alarms to what comes next. */
static void turn(struct elapse_queue *store)
{
    struct elapse__queue_turned turned = {.more = false};

    do {
        elapse__lock(&store->lock);
        if (store->follows || store->fenced) {
            elapse__unlock(&store->lock);
            return;
        }
        store->alarm_boot_ms = UINT64_MAX;
        store->alarm_wall_ms = INT64_MAX;
        turned = elapse__queue_turn(store->engine.jobs, elapse__store_now());
        elapse__store_tell_watcher(store);
        elapse__store_pass_on(store);
        elapse__unlock(&store->lock);
    } while (turned.more);
}

int elapse__store_due(const struct elapse_queue *store, enum elapse__store_alarm alarm)
{
    ELAPSE__ASSERT_THAT(alarm, <, ELAPSE__STORE_ALARM_END);
    return store->has_clock_thread ? ELAPSE__OS_NO_DESCRIPTOR : store->alarms[alarm].descriptor;
}

void elapse__store_due_quiet(struct elapse_queue *store, enum elapse__store_alarm alarm)
{
    ELAPSE__ASSERT_THAT(alarm, <, ELAPSE__STORE_ALARM_END);
    ELAPSE__ASSERT(!store->has_clock_thread);
    elapse__os->alarm_reset(&store->alarms[alarm]);
}

/* Notes that the alarm is not set any more. The end of the command sets it to what comes next. */
void elapse__store_due_begin(struct elapse_queue *store, enum elapse__store_alarm alarm)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    ELAPSE__ASSERT(!store->has_clock_thread);
    ELAPSE__ASSERT_THAT(alarm, <, ELAPSE__STORE_ALARM_END);
    if (alarm == ELAPSE__STORE_ALARM_BOOT)
        store->alarm_boot_ms = UINT64_MAX;
    else
        store->alarm_wall_ms = INT64_MAX;
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

enum elapse_error elapse__store_wait_durable(struct elapse_queue *store, uint64_t position,
                                             uint64_t until_ns)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    enum elapse_error error = ELAPSE_OK;
    bool has_led = false;

    while (!elapse__engine_may_reply(&store->engine, position)) {
        error = elapse__store_life_error(store);
        if (error == ELAPSE_OK && elapse__store_has_passed(until_ns))
            error = ELAPSE_ERROR_TIMEOUT;
        if (error != ELAPSE_OK)
            break;
        elapse__store_pass_on(store);
        /* A thread that gives up at a certain time must not lead, because a disk that hangs would
         * hold it. */
        if (until_ns == ELAPSE__OS_NEVER && elapse__store_lead(store)) {
            has_led = true;
            continue;
        }
        if (!store->lanes[ELAPSE__LANE_COMMIT].busy)
            elapse__store_wake_lane(store, ELAPSE__LANE_COMMIT);
        (void)elapse__store_wait_progress(store, until_ns);
    }
    if (has_led)
        elapse__store_stop_leading(store);
    return error;
}
