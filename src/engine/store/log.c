/*
 * The functions of a store with a replicated log, which the shell of a cluster calls. log.h has the
 * life of such a store.
 */
#include "log.h"

#include <errno.h>

#include "../../base/assert.h"
#include "command.h"

/* Returns OK, or why the store takes no groups from the log. */
static enum elapse_error follow_error(const struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (store->closing || store->fenced || !store->follows)
        return ELAPSE_ERROR_CLOSED;
    return elapse__store_is_broken(store) ? ELAPSE_ERROR_BROKEN : ELAPSE_OK;
}

typedef int step_function(struct elapse_queue *store, const void *argument);

/* Takes a group of the log. If the journal is full, first writes the groups before it, so that
 * groups do not pile up in memory. */
static int follow_step(struct elapse_queue *store, const void *argument)
{
    while (elapse__journal_is_full(store->engine.journal) && elapse__store_lead(store)) {
    }
    /* elapse__store_lead has released the lock, so the state of the store may have changed. */
    if (follow_error(store) != ELAPSE_OK || elapse__journal_is_full(store->engine.journal))
        return EAGAIN;
    return elapse__engine_follow(&store->engine, argument);
}

static int rebuild_step(struct elapse_queue *store, const void *argument)
{
    (void)argument;
    return elapse__engine_rebuild(&store->engine);
}

static int own_step(struct elapse_queue *store, const void *argument)
{
    (void)argument;
    return elapse__engine_own(&store->engine);
}

static enum elapse_error error_of(const struct elapse_queue *store, int error)
{
    if (error == 0)
        return ELAPSE_OK;
    if (elapse__store_is_broken(store))
        return ELAPSE_ERROR_BROKEN;
    return error == EAGAIN || error == ENOSPC ? ELAPSE_ERROR_DISK_FULL : ELAPSE_ERROR_ARGUMENT;
}

/* Calls `step`. As long as there is no room for it, waits for room and calls it again. Requires the
 * lock. */
static enum elapse_error take_step(struct elapse_queue *store, step_function *step,
                                   const void *argument)
{
    struct elapse__store_stall stall = {.until_ns = 0};
    enum elapse_error error = follow_error(store);
    int refused = EAGAIN;

    while (error == ELAPSE_OK && refused != 0) {
        refused = step(store, argument);
        if (refused == 0)
            break;
        if (refused != EAGAIN && refused != ENOSPC)
            return error_of(store, refused);
        enum elapse_error waited = elapse__store_wait_room(store, &stall);
        if (waited == ELAPSE_ERROR_DISK_FULL || waited == ELAPSE_ERROR_MEMORY) {
            elapse__store_retry_room(store);
            return waited;
        }
        error = follow_error(store);
    }
    return error;
}

enum elapse_error elapse__store_follow(struct elapse_queue *store,
                                       const struct elapse__engine_group *group)
{
    elapse__store_arrive(store);
    enum elapse_error error = take_step(store, follow_step, group);
    elapse__store_leave(store);
    return error;
}

enum elapse_error elapse__store_rebuild(struct elapse_queue *store)
{
    elapse__store_arrive(store);
    enum elapse_error error = take_step(store, rebuild_step, NULL);
    elapse__store_leave(store);
    return error;
}

enum elapse_error elapse__store_own(struct elapse_queue *store)
{
    elapse__store_arrive(store);
    enum elapse_error error = take_step(store, own_step, NULL);
    if (error == ELAPSE_OK)
        store->follows = false;
    elapse__store_leave(store);
    return error;
}

void elapse__store_push(struct elapse_queue *store)
{
    elapse__store_arrive(store);
    if (elapse__store_life_error(store) == ELAPSE_OK) {
        elapse__journal_push(store->engine.journal);
        elapse__store_wake_lane(store, ELAPSE__LANE_COMMIT);
    }
    elapse__store_leave(store);
}

void elapse__store_time_was_set(struct elapse_queue *store)
{
    elapse__store_arrive(store);
    (void)elapse__os->alarm_set(&store->alarms[ELAPSE__STORE_ALARM_BOOT], 0); /* goes off at once */
    elapse__store_depart(store);
}

void elapse__store_confirmed(struct elapse_queue *store)
{
    elapse__store_arrive(store);
    elapse__journal_confirmed(store->engine.journal);
    elapse__store_wake_lane(store, ELAPSE__LANE_COMMIT);
    /* A thread that leads (wake.c) waits for progress, and may write the group itself. */
    elapse__store_tell_progress(store);
    elapse__store_depart(store);
}

bool elapse__store_is_logged(struct elapse_queue *store)
{
    elapse__store_arrive(store);
    bool is_logged = elapse__journal_is_logged(store->engine.journal);
    elapse__store_depart(store);
    return is_logged;
}

uint64_t elapse__store_appended(struct elapse_queue *store)
{
    elapse__store_arrive(store);
    uint64_t position = elapse__journal_appended(store->engine.journal);
    elapse__store_depart(store);
    return position;
}

bool elapse__store_is_logged_before(struct elapse_queue *store, uint64_t position)
{
    elapse__store_arrive(store);
    bool is_logged = elapse__journal_is_logged_before(store->engine.journal, position);
    elapse__store_depart(store);
    return is_logged;
}

enum elapse_error elapse__store_fenced(struct elapse_queue *store, uint64_t epoch)
{
    int error = 0;

    elapse__store_arrive(store);
    store->fenced = true;
    store->abandoned = true;
    elapse__journal_fence(store->engine.journal);
    elapse__store_wake_all(store);
    while (store->lanes[ELAPSE__LANE_COMMIT].busy)
        (void)elapse__store_wait_progress(store, elapse__store_until_ns(1));
    if (elapse__journal_is_fenced(store->engine.journal))
        error = elapse__journal_put_aside(store->engine.journal, epoch);
    elapse__store_depart(store);
    if (error == 0)
        return ELAPSE_OK;
    return error == ENOSPC ? ELAPSE_ERROR_DISK_FULL : ELAPSE_ERROR_SYSTEM;
}

void elapse__store_place(struct elapse_queue *store, struct elapse__store_place *place)
{
    elapse__store_arrive(store);
    struct elapse__journal_place end = elapse__journal_place(store->engine.journal);
    *place = (struct elapse__store_place){
        .local_group = end.group,
        .local_hash = end.hash,
        .confirmed_group = end.is_confirmed || end.group == 0 ? end.group : end.group - 1,
        .confirmed_hash = end.is_confirmed || end.group == 0 ? end.hash : end.previous_hash,
        .wall_ms = store->engine.log_wall_ms > store->engine.header_wall_ms
                       ? store->engine.log_wall_ms
                       : store->engine.header_wall_ms,
    };
    ELAPSE__ASSERT_THAT(place->confirmed_group, <=, place->local_group);
    elapse__store_depart(store);
}
