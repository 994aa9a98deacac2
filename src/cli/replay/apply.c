/*
 * The second stage of a replay. It applies operations to the structure. It checks every timer that
 * the structure pops against the record of the timer's deadline.
 */
#include "apply.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../common/message.h"

enum { FIRST_CAPACITY = 1024 };

/* Keeps the first fault, because it may have caused the later ones. */
static void set_fault(struct replay *replay, const char *fault)
{
    ELAPSE__ASSERT(fault != NULL);
    if (replay->fault == NULL)
        replay->fault = fault;
}

void replay_begin(struct replay *replay, uint64_t now_tick)
{
    const struct elapse_structure *structure = replay->structure;

    ELAPSE__ASSERT(!replay->begun);
    replay->capacity = FIRST_CAPACITY;
    size_t bytes = structure->storage_bytes(replay->shape, replay->capacity);
    replay->storage = bytes > 0 ? allocate(bytes) : NULL;
    replay->instance = allocate(structure->instance_bytes);
    if (structure->init(replay->instance, replay->shape, replay->storage, bytes, now_tick) !=
        ELAPSE_OK) {
        set_fault(replay, "it could not be initialised");
        return;
    }
    replay->now_tick = now_tick;
    replay->begun = true;
}

static void grow(struct replay *replay)
{
    size_t bytes = replay->structure->storage_bytes(replay->shape, replay->capacity * 2);
    void *storage = allocate(bytes);

    ELAPSE__ASSERT(replay->begun);
    ELAPSE__ASSERT(bytes > 0);
    if (replay->structure->move_storage(replay->instance, storage, bytes) != ELAPSE_OK) {
        free(storage);
        set_fault(replay, "it refused larger storage");
        return;
    }
    free(replay->storage);
    replay->storage = storage;
    replay->capacity *= 2;
}

/* ---- Occupancy ----------------------------------------------------------- */

static void count_slot(const struct elapse_slot *slot, void *context)
{
    struct replay_figures *figures = context;
    unsigned level = slot->level < REPLAY_LEVELS ? slot->level : REPLAY_LEVELS - 1;

    ELAPSE__ASSERT(slot->count > 0);
    figures->level_slots[level]++;
    figures->level_timers[level] += slot->count;
    if (level >= figures->levels)
        figures->levels = level + 1;
}

static void take_occupancy(struct replay *replay)
{
    struct replay_figures *figures = &replay->figures;
    uint64_t begin_ns = elapse__os_monotonic_ns();

    ELAPSE__ASSERT(replay->begun);
    memset(figures->level_timers, 0, sizeof figures->level_timers);
    memset(figures->level_slots, 0, sizeof figures->level_slots);
    figures->levels = 0;
    figures->occupancy_pending = figures->pending;
    replay->structure->dump(replay->instance, count_slot, figures);
    replay->occupancy_below = 0;
    replay->occupancy_ns += elapse__os_monotonic_ns() - begin_ns;
}

/*
 * Notes a new maximum of pending timers. The occupancy says how many timers are on each level. To
 * take it, the replay walks over all timers, which is too slow for every new maximum. So the
 * occupancy is taken at the end, and when the number of pending timers has fallen by a 256th from a
 * maximum. That maximum must be a 256th above the number at which the occupancy was taken before.
 * So the last occupancy was taken within a hundredth of the peak, and most traces take it only a
 * few times.
 */
static void note_peak(struct replay *replay)
{
    struct replay_figures *figures = &replay->figures;
    uint64_t taken = figures->occupancy_pending;

    ELAPSE__ASSERT(figures->pending > 0);
    if (figures->pending <= figures->peak_pending)
        return;
    figures->peak_pending = figures->pending;
    uint64_t lowest = figures->pending - figures->pending / 256;
    if (replay->takes_occupancy && lowest > taken + taken / 256)
        replay->occupancy_below = lowest + 1;
}

/* Takes the occupancy if the number of pending timers has fallen far enough (note_peak). Called
 * before a timer leaves the structure. */
static inline void note_fall(struct replay *replay)
{
    if (replay->figures.pending < replay->occupancy_below)
        take_occupancy(replay);
}

/* ---- Checking ------------------------------------------------------------ */

static void list_ended(struct replay *replay, struct record *record)
{
    ELAPSE__ASSERT(record->armed);
    ELAPSE__ASSERT(replay->figures.pending > 0);
    record->armed = false;
    replay->figures.pending--;
    if (record->ended)
        return;
    record->ended = true;
    record->next_ended = replay->ended;
    replay->ended = record;
}

void replay_collect_digest(struct replay *replay, struct record *record)
{
    if (record->digest_due)
        replay->figures.digest +=
            XXH3_64bits_withSeed(record->key, record->key_length, record->deadline_us);
    record->digest_due = false;
}

static void check_fired(struct replay *replay, struct record *record)
{
    struct replay_figures *figures = &replay->figures;

    ELAPSE__ASSERT(replay->begun);
    if (!record->armed) {
        set_fault(replay, "it popped a timer that was not pending");
        return;
    }
    figures->fired++;
    record->digest_due = true;
    if (replay->now_tick < record->deadline_tick)
        figures->early++;
    else if (replay->now_tick - record->deadline_tick > figures->late_ticks_max)
        figures->late_ticks_max = replay->now_tick - record->deadline_tick;
    list_ended(replay, record);
}

/* ---- Applying ------------------------------------------------------------ */

static void sample_pending(struct replay *replay, uint64_t time_tick)
{
    if (replay->samples != NULL)
        samples_add_pending(replay->samples, time_tick * replay->tick_us, replay->figures.pending);
}

static void wake_up(struct replay *replay, uint64_t at_tick)
{
    struct elapse_timer *timer;

    ELAPSE__ASSERT(replay->fault == NULL);
    if (at_tick > replay->now_tick)
        replay->now_tick = at_tick;
    replay->structure->advance(replay->instance, at_tick);
    replay->figures.wakeups++;
    for (;;) {
        note_fall(replay);
        timer = replay->structure->pop(replay->instance);
        if (timer == NULL || replay->fault != NULL)
            break;
        check_fired(replay, (struct record *)timer);
    }
    sample_pending(replay, replay->now_tick);
}

static void run_until(struct replay *replay, uint64_t time_tick)
{
    uint64_t next_tick = replay->structure->next(replay->instance);

    ELAPSE__ASSERT(time_tick >= replay->now_tick);
    while (next_tick <= time_tick && replay->fault == NULL) {
        wake_up(replay, next_tick);
        next_tick = replay->structure->next(replay->instance);
        if (next_tick <= replay->now_tick)
            set_fault(replay, "next did not move on after all due timers were popped");
    }
    replay->structure->advance(replay->instance, time_tick);
    replay->now_tick = time_tick;
}

static void arm(struct replay *replay, const struct replay_step *step)
{
    struct record *record = step->record;
    enum elapse_error error;

    ELAPSE__ASSERT(step->kind != TRACE_CANCEL);
    if (!record->armed) {
        /* A record that fired too early and is restarted is in the list of ended records. No other
         * restarted record is. */
        replay_collect_digest(replay, record);
        record->armed = true;
        replay->figures.pending++;
    }
    record->deadline_tick = step->deadline_tick;
    record->deadline_us = step->deadline_us;
    do {
        error = replay->structure->start(replay->instance, &record->timer, step->deadline_tick);
        if (error == ELAPSE_ERROR_FULL)
            grow(replay);
    } while (error == ELAPSE_ERROR_FULL && replay->fault == NULL);
    if (error != ELAPSE_OK)
        set_fault(replay, "it refused to start a timer");
    note_peak(replay);
}

static void disarm(struct replay *replay, struct record *record)
{
    note_fall(replay);
    if (replay->structure->stop(replay->instance, &record->timer) != record->armed)
        set_fault(replay, "stop returned the wrong answer to whether the timer was pending");
    if (record->armed)
        list_ended(replay, record);
}

static void apply_step(struct replay *replay, const struct replay_step *step)
{
    ELAPSE__ASSERT(replay->begun);
    ELAPSE__ASSERT(step->record != NULL);
    run_until(replay, step->time_tick);
    replay->figures.operations++;
    switch (step->kind) {
    case TRACE_START:
        replay->figures.started++;
        arm(replay, step);
        break;
    case TRACE_RESTART:
        replay->figures.restarted++;
        arm(replay, step);
        break;
    case TRACE_CANCEL:
        replay->figures.stopped++;
        disarm(replay, step->record);
        break;
    }
    sample_pending(replay, step->time_tick);
}

void replay_apply_batch(struct replay *replay)
{
    ELAPSE__ASSERT(replay->step_count <= REPLAY_BATCH_OPERATIONS);
    replay->occupancy_ns = 0;
    uint64_t begin_ns = elapse__os_monotonic_ns();
    for (size_t i = 0; i < replay->step_count && replay->fault == NULL; i++)
        apply_step(replay, &replay->steps[i]);
    replay->apply_ns += elapse__os_monotonic_ns() - begin_ns - replay->occupancy_ns;
}

/* ---- The end ------------------------------------------------------------- */

static bool check_pending(struct elapse_timer *timer, void *context)
{
    struct replay *replay = context;
    const struct record *record = (const struct record *)timer;

    ELAPSE__ASSERT(timer != NULL);
    if (replay->now_tick > record->deadline_tick &&
        replay->now_tick - record->deadline_tick > replay->figures.late_ticks_max)
        replay->figures.late_ticks_max = replay->now_tick - record->deadline_tick;
    return true;
}

void replay_apply_end(struct replay *replay)
{
    struct replay_figures *figures = &replay->figures;
    const struct elapse_structure *structure = replay->structure;

    ELAPSE__ASSERT(replay->begun);
    if (replay->occupancy_below > 0)
        take_occupancy(replay);
    if (structure->count(replay->instance) != figures->pending)
        set_fault(replay, "its count of pending timers is wrong");
    structure->for_each(replay->instance, check_pending, replay);
    figures->moves = structure->moves(replay->instance);
    if (figures->operations > 0)
        figures->ns_per_operation = (double)replay->apply_ns / (double)figures->operations;
}
