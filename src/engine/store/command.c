/*
 * Runs the commands of the store. Takes the lock, reads the clocks, waits for room in the journal,
 * and translates answers.
 */
#include <errno.h>
#include <string.h>

#include "../../base/assert.h"
#include "command.h"

struct elapse__queue_text elapse__store_text(const char *text)
{
    return (struct elapse__queue_text){text, text == NULL ? 0 : strlen(text)};
}

struct elapse__queue_text elapse__store_bytes(const void *bytes, size_t size)
{
    return (struct elapse__queue_text){bytes, bytes == NULL ? 0 : size};
}

void elapse__store_arrive(struct elapse_queue *store)
{
    (void)atomic_fetch_add(&store->calls, 1);
    elapse__lock(&store->lock);
}

void elapse__store_depart(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    uint32_t calls = atomic_fetch_sub(&store->calls, 1);
    ELAPSE__ASSERT_THAT(calls, >, 0);
    ELAPSE__ASSERT(store->engine.batch == NULL); /* a batch ends before its lock is released */
    (void)calls;
    if (store->closing)
        elapse__store_tell_progress(store);
    elapse__unlock(&store->lock);
}

enum elapse_error elapse__store_enter(struct elapse_queue *store)
{
    elapse__store_arrive(store);
    enum elapse_error error = elapse__store_life_error(store);
    if (error != ELAPSE_OK)
        elapse__store_depart(store);
    return error;
}

void elapse__store_leave(struct elapse_queue *store)
{
    elapse__store_pass_on(store);
    elapse__store_depart(store);
}

void elapse__store_leave_as_owner(struct elapse_queue *store)
{
    bool wakes_commit = elapse__store_pass_on_but_commit(store);

    elapse__store_depart(store);
    if (wakes_commit)
        elapse__store_signal_commit(store);
}

enum elapse_error elapse__store_error(const struct elapse_queue *store,
                                      enum elapse__queue_result result)
{
    switch (result) {
    case ELAPSE__QUEUE_KEY_TAKEN:
        return ELAPSE_ERROR_KEY_PENDING;
    case ELAPSE__QUEUE_ARGUMENT:
        return ELAPSE_ERROR_ARGUMENT;
    case ELAPSE__QUEUE_NO_MEMORY:
        return ELAPSE_ERROR_MEMORY;
    case ELAPSE__QUEUE_LIMIT:
    case ELAPSE__QUEUE_GROUPS_FULL:
    case ELAPSE__QUEUE_TOKENS_FULL:
        return ELAPSE_ERROR_LIMIT;
    case ELAPSE__QUEUE_CANCELLED:
        return ELAPSE_ERROR_CANCELLED;
    case ELAPSE__QUEUE_REFUSED:
        if (elapse__store_is_broken(store))
            return ELAPSE_ERROR_BROKEN;
        return store->engine.refused == EMSGSIZE ? ELAPSE_ERROR_ARGUMENT : ELAPSE_ERROR_DISK_FULL;
    default:
        return ELAPSE_OK;
    }
}

enum elapse_result elapse__store_result(enum elapse__queue_result result)
{
    switch (result) {
    case ELAPSE__QUEUE_SCHEDULED:
        return ELAPSE_RESULT_SCHEDULED;
    case ELAPSE__QUEUE_REPLACED:
        return ELAPSE_RESULT_REPLACED;
    case ELAPSE__QUEUE_KEPT:
        return ELAPSE_RESULT_KEPT;
    case ELAPSE__QUEUE_KNOWN:
        return ELAPSE_RESULT_KNOWN;
    case ELAPSE__QUEUE_WAS_BURIED:
        return ELAPSE_RESULT_BURIED;
    case ELAPSE__QUEUE_REMOVED:
        return ELAPSE_RESULT_REMOVED;
    case ELAPSE__QUEUE_RUNNING:
        return ELAPSE_RESULT_RUNNING;
    case ELAPSE__QUEUE_RESCHEDULED:
        return ELAPSE_RESULT_RESCHEDULED;
    case ELAPSE__QUEUE_GONE:
        return ELAPSE_RESULT_GONE;
    default:
        return ELAPSE_RESULT_DONE;
    }
}

typedef enum elapse_error life_function(const struct elapse_queue *store);

/* Runs the command when the journal has room for it. Requires the lock. */
static enum elapse_error run_locked(struct elapse_queue *store, life_function *life,
                                    elapse__engine_command *command, const void *arguments,
                                    struct elapse__queue_answer *result)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    struct elapse__store_stall stall = {.until_ns = 0};
    enum elapse_error error = life(store);

    while (error == ELAPSE_OK && !elapse__engine_run(&store->engine, command, arguments, result)) {
        error = elapse__store_wait_room(store, &stall);
        if (error == ELAPSE_OK)
            error = life(store);
    }
    return error;
}

static enum elapse_error run(struct elapse_queue *store, life_function *life,
                             elapse__engine_command *command, const void *arguments,
                             struct elapse_answer *answer)
{
    struct elapse_answer unwanted;
    struct elapse__queue_answer result;

    if (answer == NULL)
        answer = &unwanted;
    *answer = (struct elapse_answer){.result = ELAPSE_RESULT_DONE};
    elapse__store_arrive(store);
    enum elapse_error error = run_locked(store, life, command, arguments, &result);
    if (error == ELAPSE_OK) {
        *answer = (struct elapse_answer){
            .result = elapse__store_result(result.result),
            .id = result.id,
            .position = result.position,
            .left = result.left,
            .fault = result.fault,
        };
        error = elapse__store_error(store, result.result);
        if (error == ELAPSE_ERROR_ARGUMENT && answer->fault == NULL)
            answer->fault = "the body is longer than a segment of the journal can hold";
    }
    if (error == ELAPSE_ERROR_DISK_FULL)
        elapse__store_retry_room(store);
    elapse__store_leave(store);
    return error;
}

enum elapse_error elapse__store_run(struct elapse_queue *store, elapse__engine_command *command,
                                    const void *arguments, struct elapse_answer *answer)
{
    return run(store, elapse__store_life_error, command, arguments, answer);
}

enum elapse_error elapse__store_run_unless_stopped(struct elapse_queue *store,
                                                   elapse__engine_command *command,
                                                   const void *arguments,
                                                   struct elapse_answer *answer)
{
    return run(store, elapse__store_may_hand_out, command, arguments, answer);
}
