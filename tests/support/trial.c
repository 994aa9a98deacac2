/*
 * Runs trials: does every operation on the structure and on the oracle, and compares them. Promises
 * have the numbers of docs/promises.md.
 */
#include "trial.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/wheel.h>

#include "growth.h"
#include "released.h"
#include "trial_steps.h"

bool fail(struct trial *trial, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    /* NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): the line above does it */
    vsnprintf(trial->failure, sizeof trial->failure, format, arguments);
    va_end(arguments);
    return false;
}

static void *need_memory(size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);

    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return memory;
}

void trial_open(struct trial *trial, const struct trial_options *options)
{
    const struct elapse_shape *shape = options->kind->shape;
    const struct elapse_structure *structure = kind_structure(options->kind);
    size_t bytes = structure->storage_bytes(shape, options->capacity);

    memset(trial, 0, sizeof *trial);
    trial->kind = options->kind;
    trial->structure = structure;
    trial->capacity = structure->is_bounded ? options->capacity : SIZE_MAX;
    trial->timer_count = options->timers;
    trial->instance = need_memory(structure->instance_bytes);
    trial->storage = need_memory(bytes);
    trial->timers = need_memory(options->timers * sizeof *trial->timers);
    trial->check_each = true;
    for (size_t i = 0; i < options->timers; i++)
        timer_release(&trial->timers[i]);
    if (structure->init(trial->instance, shape, trial->storage, bytes, options->origin) !=
        ELAPSE_OK)
        fail(trial, "init failed");
    oracle_init(&trial->oracle, options->origin);
}

void trial_close(struct trial *trial)
{
    for (size_t i = 0; i < trial->timer_count; i++)
        timer_uncover(&trial->timers[i]);
    trial->structure->finish(trial->instance);
    free(trial->timers);
    free(trial->storage);
    free(trial->instance);
}

bool is_pending(const struct trial *trial, size_t timer)
{
    return oracle_find(&trial->oracle, timer) != NULL;
}

static bool claim(struct trial *trial, size_t timer)
{
    if (!timer_claim(&trial->timers[timer]))
        return fail(trial, "timer %zu was written to while it was the caller's", timer);
    return true;
}

/* Checks promise 10: `next` is never late, and is exact unless a timer was stopped or moved. */
static bool examine_next(struct trial *trial)
{
    uint64_t next = trial->structure->next(trial->instance);
    uint64_t least = oracle_next(&trial->oracle);

    if (next > least)
        return fail(trial, "next is %" PRIu64 ", late: %" PRIu64 " is pending", next, least);
    bool exact = trial->kind->next == NEXT_EXACT ||
                 (trial->kind->next == NEXT_EXACT_UNDISTURBED && trial->disturbances == 0);
    if (next != least && exact)
        return fail(trial, "next is %" PRIu64 ", not exactly %" PRIu64, next, least);
    return true;
}

/* If no timer is left, and a loop that popped all timers has passed all slots that had gone stale,
 * `next` has to be exact again from here on. */
static void forget_disturbances(struct trial *trial)
{
    if (!trial->popped_all || trial->oracle.count > 0)
        return;
    trial->disturbances = 0;
    trial->spurious_wake_ups = 0;
}

/* Checks what has to hold after every operation. */
static bool examine(struct trial *trial)
{
    const struct elapse_structure *structure = trial->structure;

    if (trial->failure[0] != '\0')
        return false;
    forget_disturbances(trial);
    if (structure->count(trial->instance) != trial->oracle.count)
        return fail(trial, "count is %zu, not %zu", structure->count(trial->instance),
                    trial->oracle.count);
    if (structure->now(trial->instance) != trial->oracle.now)
        return fail(trial, "now is %" PRIu64 ", not %" PRIu64, structure->now(trial->instance),
                    trial->oracle.now);
    if (!examine_next(trial))
        return false;
    if (trial->popped_all && structure->next(trial->instance) <= trial->oracle.now)
        return fail(trial, "next asks for a pop right after a loop that popped all");
    unsigned broken = trial->check_each ? structure->check(trial->instance) : 0;
    if (broken != 0)
        return fail(trial, "check found invariant %u broken", broken);
    return true;
}

static bool grow(struct trial *trial)
{
    size_t capacity = 2 * trial->capacity;
    size_t bytes = trial->structure->storage_bytes(trial->kind->shape, capacity);
    void *storage = need_memory(bytes);

    if (trial->structure->move_storage(trial->instance, storage, bytes) != ELAPSE_OK) {
        free(storage);
        return fail(trial, "could not move to larger storage");
    }
    free(trial->storage);
    trial->storage = storage;
    trial->capacity = capacity;
    return true;
}

/* Returns whether the structure is a wheel, which has functions that the others lack. */
static bool is_wheel(const struct trial *trial)
{
    return strcmp(trial->kind->structure, "wheel") == 0;
}

static enum elapse_error start_once(struct trial *trial, const struct operation *operation)
{
    struct elapse_timer *timer = &trial->timers[operation->timer];

    /* Every other start of an idle timer uses the verb that does not ask whether it is idle. */
    if (is_wheel(trial) && operation->kind == OPERATION_START && trial->starts % 2 == 0 &&
        !elapse_timer_pending(timer)) {
        elapse_wheel_start_idle(trial->instance, timer, operation->first);
        return ELAPSE_OK;
    }
    if (operation->kind == OPERATION_START_WINDOW)
        return trial->structure->start_window(trial->instance, timer, operation->first,
                                              operation->second);
    return trial->structure->start(trial->instance, timer, operation->first);
}

/* Starts a timer while there is memory for few levels only. A start that needs more must leave
 * everything as it was. Then it is done again with enough memory. */
static enum elapse_error start_with_little_memory(struct trial *trial,
                                                  const struct operation *operation)
{
    const struct elapse_structure *structure = trial->structure;
    const struct elapse_timer *timer = &trial->timers[operation->timer];
    const struct oracle_entry *before = oracle_find(&trial->oracle, operation->timer);
    uint64_t next = structure->next(trial->instance);
    uint64_t refused = growth_refused();

    growth_limit((size_t)(trial->starts % 3));
    enum elapse_error error = start_once(trial, operation);
    growth_limit(SIZE_MAX);
    if ((error == ELAPSE_ERROR_MEMORY) != (growth_refused() != refused)) {
        fail(trial, "start returned %d after %" PRIu64 " refusals", error,
             growth_refused() - refused);
        return error;
    }
    if (error != ELAPSE_ERROR_MEMORY)
        return error;
    if (elapse_timer_pending(timer) != (before != NULL) ||
        (before != NULL && elapse_timer_deadline(timer) != before->deadline))
        fail(trial, "a start that failed changed its timer");
    else if (structure->count(trial->instance) != trial->oracle.count ||
             structure->now(trial->instance) != trial->oracle.now ||
             structure->next(trial->instance) < next || structure->check(trial->instance) != 0)
        fail(trial, "a start that failed changed something");
    return start_once(trial, operation);
}

static bool apply_start(struct trial *trial, const struct operation *operation)
{
    const struct oracle_entry *before = oracle_find(&trial->oracle, operation->timer);
    struct elapse_timer *timer = &trial->timers[operation->timer];
    uint64_t deadline = operation->first;
    enum elapse_error error;

    if (operation->kind == OPERATION_START_WINDOW)
        deadline = oracle_in_window(trial->oracle.now, operation->first, operation->second);
    deadline = oracle_effective(&trial->oracle, deadline);
    if (before == NULL && !claim(trial, operation->timer))
        return false;
    if (trial->kind->shape != NULL && trial->kind->shape->growth != NULL)
        error = start_with_little_memory(trial, operation);
    else
        error = start_once(trial, operation);
    if (error == ELAPSE_ERROR_FULL && before == NULL && trial->oracle.count == trial->capacity) {
        if (elapse_timer_pending(timer))
            return fail(trial, "a timer is pending though its start failed");
        if (!grow(trial))
            return false;
        error = start_once(trial, operation);
    }
    if (error != ELAPSE_OK)
        return fail(trial, "start failed: %s", elapse_error_text(error));
    trial->starts++;
    trial->postponements += before != NULL && deadline > before->deadline;
    trial->disturbances += before != NULL && deadline != before->deadline;
    oracle_start(&trial->oracle, operation->timer, deadline);
    if (!elapse_timer_pending(timer) || elapse_timer_deadline(timer) != deadline)
        return fail(trial, "timer %u is not pending for %" PRIu64 " after its start",
                    operation->timer, deadline);
    return true;
}

bool apply_stop(struct trial *trial, unsigned timer)
{
    bool expected = is_pending(trial, timer);

    if (!expected && !claim(trial, timer))
        return false;
    bool stopped = trial->structure->stop(trial->instance, &trial->timers[timer]);
    if (stopped != expected || elapse_timer_pending(&trial->timers[timer]))
        return fail(trial, "stop of timer %u returned %d, which is wrong, or left it pending",
                    timer, stopped);
    trial->disturbances += stopped;
    oracle_stop(&trial->oracle, timer);
    timer_release(&trial->timers[timer]);
    return true;
}

/* Pops once. `*popped` says whether there was something to pop. */
static bool apply_pop(struct trial *trial, bool *popped)
{
    uint64_t moves = trial->structure->moves(trial->instance);
    struct elapse_timer *timer = trial->structure->pop(trial->instance);

    *popped = timer != NULL;
    if (trial->cascaded && trial->kind->cascades &&
        trial->structure->moves(trial->instance) != moves)
        return fail(trial, "pop moved timers after cascade had said that it need not");
    if (timer == NULL) {
        if (oracle_due(&trial->oracle))
            return fail(trial, "pop returned NULL, but timer %zu is due",
                        trial->oracle.entries[0].timer);
        return true;
    }
    size_t number = (size_t)(timer - trial->timers);
    if (number >= trial->timer_count)
        return fail(trial, "pop returned a timer that was never started");
    if (!oracle_may_pop(&trial->oracle, number, !trial->kind->any_position))
        return fail(trial, "popped timer %zu, which is not the next in order", number);
    if (elapse_timer_pending(timer) ||
        elapse_timer_deadline(timer) != oracle_find(&trial->oracle, number)->deadline)
        return fail(trial, "timer %zu was popped with a wrong deadline or pending", number);
    oracle_stop(&trial->oracle, number);
    timer_release(timer);
    return true;
}

static bool apply_pop_all(struct trial *trial, size_t *count)
{
    bool popped = true;

    *count = 0;
    while (popped) {
        if (!apply_pop(trial, &popped))
            return false;
        trial->cascaded = false;
        *count += popped;
    }
    trial->popped_all = true;
    return true;
}

/* Checks promise 6: cascade moves no more timers than it may, and makes progress. */
static bool apply_cascade(struct trial *trial, uint64_t max_moves, bool *cascaded)
{
    uint64_t moves = trial->structure->moves(trial->instance);

    *cascaded = trial->structure->cascade(trial->instance, (size_t)max_moves);
    moves = trial->structure->moves(trial->instance) - moves;
    if (trial->kind->cascades && moves > max_moves)
        return fail(trial, "cascade %" PRIu64 " moved %" PRIu64, max_moves, moves);
    trial->cascaded = *cascaded;
    return true;
}

static bool apply_cascade_all(struct trial *trial, uint64_t max_moves)
{
    /* The limit is generous: each call either moves a timer or passes an empty slot. */
    size_t calls = ELAPSE__WHEEL_SLOTS + 2 * trial->oracle.count * ELAPSE__WHEEL_LEVELS;
    bool cascaded = false;

    if (trial->kind->moves_per_start >= ELAPSE__WHEEL_LEVELS)
        calls += 2 * trial->oracle.count * (size_t)trial->kind->moves_per_start;
    /* Each visit to the parked timers brings one of them down, and looks at the rest. */
    if (trial->kind->parks)
        calls += (trial->oracle.count + 1) * (trial->oracle.count + 1);
    while (!cascaded) {
        if (calls-- == 0)
            return fail(trial, "cascade %" PRIu64 " does not come to an end", max_moves);
        if (!apply_cascade(trial, max_moves, &cascaded) || !examine(trial))
            return false;
    }
    return true;
}

/* Checks that cascading ahead moves no more timers than it may, says when there is nothing left to
 * do, and leaves `next` as it is or makes it exact. */
static bool apply_cascade_ahead(struct trial *trial, uint64_t max_moves)
{
    if (!is_wheel(trial))
        return true;
    struct elapse_wheel *wheel = trial->instance;
    uint64_t next = elapse_wheel_next(wheel);
    uint64_t moves = elapse_wheel_moves(wheel);
    bool done = elapse_wheel_cascade_ahead(wheel, (size_t)max_moves);

    moves = elapse_wheel_moves(wheel) - moves;
    if (moves > max_moves)
        return fail(trial, "cascade ahead %" PRIu64 " moved %" PRIu64, max_moves, moves);
    if (elapse_wheel_next(wheel) < next)
        return fail(trial, "cascading ahead made next earlier");
    if (done && elapse_wheel_next(wheel) > trial->oracle.now &&
        elapse_wheel_next_cascade(wheel) <= trial->oracle.now)
        return fail(trial, "something can be cascaded ahead after all");
    if (!done && moves < max_moves)
        return fail(trial, "cascade ahead %" PRIu64 " gave up after %" PRIu64, max_moves, moves);
    return true;
}

/* Checks promise 10: after the structure was advanced to `next`, the new `next` is later. */
static bool apply_follow_next(struct trial *trial)
{
    uint64_t next = trial->structure->next(trial->instance);
    bool asleep = next > trial->oracle.now;
    size_t popped;

    if (next == ELAPSE_NEVER)
        return true;
    trial->structure->advance(trial->instance, next);
    oracle_advance(&trial->oracle, next);
    if (!apply_pop_all(trial, &popped))
        return false;
    if (trial->structure->next(trial->instance) <= next)
        return fail(trial, "next is not later than %" PRIu64 ", to which it was followed", next);
    trial->spurious_wake_ups += asleep && popped == 0;
    bool may_be_early = trial->kind->next == NEXT_EARLY || trial->kind->next == NEXT_A_TURN_AHEAD;
    if (!may_be_early && trial->spurious_wake_ups > trial->disturbances)
        return fail(trial, "more spurious wake-ups than timers stopped or moved");
    return true;
}

static bool apply_one(struct trial *trial, const struct operation *operation)
{
    size_t popped;
    bool ignored;

    switch (operation->kind) {
    case OPERATION_START:
    case OPERATION_START_WINDOW:
        return apply_start(trial, operation);
    case OPERATION_STOP:
        return apply_stop(trial, operation->timer);
    case OPERATION_ADVANCE:
        trial->structure->advance(trial->instance, operation->first);
        oracle_advance(&trial->oracle, operation->first);
        return true;
    case OPERATION_POP:
        return apply_pop(trial, &ignored);
    case OPERATION_POP_ALL:
        return apply_pop_all(trial, &popped);
    case OPERATION_CASCADE:
        return apply_cascade(trial, operation->first, &ignored);
    case OPERATION_CASCADE_ALL:
        return apply_cascade_all(trial, operation->first);
    case OPERATION_CASCADE_AHEAD:
        return apply_cascade_ahead(trial, operation->first);
    case OPERATION_FOLLOW_NEXT:
        return apply_follow_next(trial);
    case OPERATION_INSPECT:
        return apply_inspect(trial);
    case OPERATION_STOP_VISITED:
        return apply_for_each(trial, operation->first);
    case OPERATION_CLEAR:
        return apply_clear(trial);
    case OPERATION_KINDS:
        break;
    }
    return fail(trial, "no such operation");
}

bool trial_apply(struct trial *trial, const struct operation *operation)
{
    bool keeps_cascaded = operation->kind == OPERATION_POP ||
                          operation->kind == OPERATION_INSPECT ||
                          operation->kind == OPERATION_CASCADE;

    trial->popped_all = false;
    if (!keeps_cascaded && operation->kind != OPERATION_POP_ALL)
        trial->cascaded = false;
    if (!apply_one(trial, operation))
        return false;
    if (operation->kind == OPERATION_POP)
        trial->cascaded = false;
    return examine(trial);
}

bool trial_run_to_end(struct trial *trial)
{
    const struct operation follow = {.kind = OPERATION_FOLLOW_NEXT};
    const struct operation pop_all = {.kind = OPERATION_POP_ALL};

    /* Each step pops a timer or is a spurious wake-up, and the number of those is bounded. */
    while (trial->structure->next(trial->instance) != ELAPSE_NEVER) {
        struct operation jump = {.kind = OPERATION_ADVANCE};

        if (!trial_apply(trial, &follow))
            return false;
        jump.first = oracle_next(&trial->oracle);
        if (trial->kind->next != NEXT_A_TURN_AHEAD || jump.first == ELAPSE_NEVER)
            continue;
        if (!trial_apply(trial, &jump) || !trial_apply(trial, &pop_all))
            return false;
    }
    if (oracle_next(&trial->oracle) != ELAPSE_NEVER)
        return fail(trial, "next is NEVER too early");
    uint64_t moves_most = trial->kind->moves_per_start * trial->starts +
                          trial->kind->moves_per_postponement * trial->postponements;
    if (trial->kind->moves_per_start > 0 && trial->structure->moves(trial->instance) > moves_most)
        return fail(trial, "more moves than one a level for each arming");
    return true;
}

bool trial_finish(struct trial *trial)
{
    const struct operation clear = {.kind = OPERATION_CLEAR};
    const struct operation inspect = {.kind = OPERATION_INSPECT};

    return trial_run_to_end(trial) && trial_apply(trial, &inspect) && trial_apply(trial, &clear) &&
           trial_apply(trial, &inspect);
}
