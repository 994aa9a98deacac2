/*
 * The three stages of a replay. See replay.h for the plan.
 */
#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "message.h"
#include "records.h"
#include "text.h"

enum { BATCH_OPERATIONS = 4096, FIRST_CAPACITY = 1024 };

/* An operation that has been read: its record is found, its times are ticks. */
struct step {
    enum trace_kind kind;
    struct record *record;
    uint64_t time_tick;
    uint64_t deadline_tick;
    uint64_t deadline_us;
};

struct replay {
    const struct elapse_structure *structure;
    void *instance;
    void *storage; /* the instance's, if it takes any */
    size_t capacity;
    bool begun; /* the instance has been initialised */
    uint64_t tick_us;
    uint64_t now_tick;
    uint64_t time_us; /* of the operation read last */

    struct record_table table;
    struct record *ended;

    /* The occupancy is taken again once fewer than this are pending; 0: not. */
    uint64_t occupancy_below;
    uint64_t occupancy_ns; /* spent on it in this batch */
    uint64_t apply_ns;     /* spent on all batches, without that */

    struct samples *samples;
    struct replay_figures figures;
    const char *fault;

    size_t step_count;
    struct step steps[BATCH_OPERATIONS];
};

static uint64_t divide_up(uint64_t dividend, uint64_t divisor)
{
    return dividend / divisor + (dividend % divisor != 0);
}

struct replay *replay_new(const struct elapse_structure *structure, uint64_t tick_us,
                          struct samples *samples)
{
    struct replay *replay = allocate(sizeof *replay);

    memset(replay, 0, sizeof *replay);
    replay->structure = structure;
    replay->tick_us = tick_us;
    replay->samples = samples;
    return replay;
}

const struct replay_figures *replay_figures(const struct replay *replay)
{
    return &replay->figures;
}

const char *replay_fault(const struct replay *replay)
{
    return replay->fault;
}

/* Keeps the first fault: what follows may be due to it. */
static void set_fault(struct replay *replay, const char *fault)
{
    if (replay->fault == NULL)
        replay->fault = fault;
}

/* Virtual time begins with the first operation. */
static void begin(struct replay *replay, uint64_t now_tick)
{
    const struct elapse_structure *structure = replay->structure;

    replay->capacity = FIRST_CAPACITY;
    size_t bytes = structure->storage_bytes(replay->capacity);
    replay->storage = bytes > 0 ? allocate(bytes) : NULL;
    replay->instance = allocate(structure->instance_bytes);
    if (structure->init(replay->instance, replay->storage, bytes, now_tick) != ELAPSE_OK)
        set_fault(replay, "it could not be initialised");
    replay->now_tick = now_tick;
    replay->begun = true;
}

static void grow(struct replay *replay)
{
    size_t bytes = replay->structure->storage_bytes(replay->capacity * 2);
    void *storage = allocate(bytes);

    if (replay->structure->move_storage(replay->instance, storage, bytes) != ELAPSE_OK) {
        free(storage);
        set_fault(replay, "it refused larger storage");
        return;
    }
    free(replay->storage);
    replay->storage = storage;
    replay->capacity *= 2;
}

/* ---- Read --------------------------------------------------------------- */

/* Finds the record that the operation is about, or says why there is none. */
static struct record *resolve(struct replay *replay, struct trace_reader *reader,
                              const struct trace_operation *operation)
{
    struct record *record = record_find(&replay->table, operation->key, operation->key_length);
    bool pending = record != NULL && record->trace_deadline_us > operation->time_us;

    if (operation->kind == TRACE_START) {
        if (pending) {
            trace_fault(reader, "start of the key %s, which is pending until %" PRIu64,
                        quote_text(operation->key, operation->key_length).text,
                        record->trace_deadline_us);
            return NULL;
        }
        record = record_new(&replay->table, record, operation->key, operation->key_length);
    } else if (!pending) {
        trace_fault(reader, "%s of the key %s, which is not pending",
                    operation->kind == TRACE_RESTART ? "restart" : "cancel",
                    quote_text(operation->key, operation->key_length).text);
        return NULL;
    }
    if (operation->kind == TRACE_CANCEL)
        record_forget(&replay->table, record);
    else
        record->trace_deadline_us = operation->deadline_us;
    return record;
}

static enum trace_result read_batch(struct replay *replay, struct trace_reader *reader)
{
    replay->step_count = 0;
    while (replay->step_count < BATCH_OPERATIONS) {
        struct trace_operation operation;
        enum trace_result result = trace_next(reader, &operation);
        if (result != TRACE_OPERATION)
            return result;
        struct record *record = resolve(replay, reader, &operation);
        if (record == NULL)
            return TRACE_ERROR;
        replay->steps[replay->step_count++] = (struct step){
            .kind = operation.kind,
            .record = record,
            .time_tick = operation.time_us / replay->tick_us,
            .deadline_tick = divide_up(operation.deadline_us, replay->tick_us),
            .deadline_us = operation.deadline_us,
        };
        replay->time_us = operation.time_us;
        if (replay->samples != NULL && operation.kind != TRACE_CANCEL)
            samples_add_delay(replay->samples, operation.delay_us);
    }
    return TRACE_OPERATION;
}

/* ---- Apply -------------------------------------------------------------- */

static void count_slot(const struct elapse_slot *slot, void *context)
{
    struct replay_figures *figures = context;
    unsigned level = slot->level < REPLAY_LEVELS ? slot->level : REPLAY_LEVELS - 1;

    figures->level_slots[level]++;
    figures->level_timers[level] += slot->count;
    if (level >= figures->levels)
        figures->levels = level + 1;
}

static void take_occupancy(struct replay *replay)
{
    struct replay_figures *figures = &replay->figures;
    uint64_t begin_ns = clock_ns();

    memset(figures->level_timers, 0, sizeof figures->level_timers);
    memset(figures->level_slots, 0, sizeof figures->level_slots);
    figures->levels = 0;
    figures->occupancy_pending = figures->pending;
    replay->structure->dump(replay->instance, count_slot, figures);
    replay->occupancy_below = 0;
    replay->occupancy_ns += clock_ns() - begin_ns;
}

/*
 * Walking all timers is too dear to do at each new maximum. It is done when
 * pending has fallen a 256th below a maximum that lies a 256th above the
 * occupancy taken last, and at the end: always within a hundredth of the peak,
 * and in most traces a few times only.
 */
static void note_peak(struct replay *replay)
{
    struct replay_figures *figures = &replay->figures;
    uint64_t taken = figures->occupancy_pending;

    if (figures->pending <= figures->peak_pending)
        return;
    figures->peak_pending = figures->pending;
    uint64_t lowest = figures->pending - figures->pending / 256;
    if (lowest > taken + taken / 256)
        replay->occupancy_below = lowest + 1;
}

/* Call it before a timer leaves the structure. */
static inline void note_fall(struct replay *replay)
{
    if (replay->figures.pending < replay->occupancy_below)
        take_occupancy(replay);
}

static void list_ended(struct replay *replay, struct record *record)
{
    record->armed = false;
    replay->figures.pending--;
    if (record->ended)
        return;
    record->ended = true;
    record->next_ended = replay->ended;
    replay->ended = record;
}

static void collect_digest(struct replay *replay, struct record *record)
{
    if (record->digest_due)
        replay->figures.digest +=
            XXH3_64bits_withSeed(record->key, record->key_length, record->deadline_us);
    record->digest_due = false;
}

static void judge_fired(struct replay *replay, struct record *record)
{
    struct replay_figures *figures = &replay->figures;

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

static void sample_pending(struct replay *replay, uint64_t time_tick)
{
    if (replay->samples != NULL)
        samples_add_pending(replay->samples, time_tick * replay->tick_us, replay->figures.pending);
}

static void wake_up(struct replay *replay, uint64_t at_tick)
{
    struct elapse_timer *timer;

    if (at_tick > replay->now_tick)
        replay->now_tick = at_tick;
    replay->structure->advance(replay->instance, at_tick);
    replay->figures.wakeups++;
    for (;;) {
        note_fall(replay);
        timer = replay->structure->pop(replay->instance);
        if (timer == NULL || replay->fault != NULL)
            break;
        judge_fired(replay, (struct record *)timer);
    }
    sample_pending(replay, replay->now_tick);
}

static void run_until(struct replay *replay, uint64_t time_tick)
{
    uint64_t next_tick = replay->structure->next(replay->instance);

    while (next_tick <= time_tick && replay->fault == NULL) {
        wake_up(replay, next_tick);
        next_tick = replay->structure->next(replay->instance);
        if (next_tick <= replay->now_tick)
            set_fault(replay, "next did not move on after all due timers were popped");
    }
    replay->structure->advance(replay->instance, time_tick);
    replay->now_tick = time_tick;
}

static void arm(struct replay *replay, const struct step *step)
{
    struct record *record = step->record;
    enum elapse_error error;

    if (!record->armed) {
        /* Not due before the sweep, unless it fired early and is restarted. */
        collect_digest(replay, record);
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
        set_fault(replay, "stop did not tell truly whether the timer was pending");
    if (record->armed)
        list_ended(replay, record);
}

static void apply_step(struct replay *replay, const struct step *step)
{
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

static void apply_batch(struct replay *replay)
{
    replay->occupancy_ns = 0;
    uint64_t begin_ns = clock_ns();
    for (size_t i = 0; i < replay->step_count && replay->fault == NULL; i++)
        apply_step(replay, &replay->steps[i]);
    replay->apply_ns += clock_ns() - begin_ns - replay->occupancy_ns;
}

/* ---- Sweep -------------------------------------------------------------- */

/* Nothing points at an ended record but the table, and that only as long as the
 * trace takes its key for pending, which after an early firing it still does. */
static void sweep(struct replay *replay)
{
    struct record *record = replay->ended;

    replay->ended = NULL;
    while (record != NULL) {
        struct record *next = record->next_ended;
        collect_digest(replay, record);
        record->ended = false;
        if (record->armed) {
            record->next_ended = NULL;
        } else if (record->is_latest && record->trace_deadline_us > replay->time_us) {
            record->ended = true;
            record->next_ended = replay->ended;
            replay->ended = record;
        } else {
            record_forget(&replay->table, record);
            free(record);
        }
        record = next;
    }
}

enum replay_status replay_batch(struct replay *replay, struct trace_reader *reader, bool *more)
{
    enum trace_result result = read_batch(replay, reader);

    if (!replay->begun)
        begin(replay, replay->step_count > 0 ? replay->steps[0].time_tick : 0);
    apply_batch(replay);
    sweep(replay);
    *more = result == TRACE_OPERATION;
    if (replay->fault != NULL)
        return REPLAY_BROKEN_STRUCTURE;
    return result == TRACE_ERROR ? REPLAY_BAD_TRACE : REPLAY_OK;
}

static bool judge_pending(struct elapse_timer *timer, void *context)
{
    struct replay *replay = context;
    const struct record *record = (const struct record *)timer;

    if (replay->now_tick > record->deadline_tick &&
        replay->now_tick - record->deadline_tick > replay->figures.late_ticks_max)
        replay->figures.late_ticks_max = replay->now_tick - record->deadline_tick;
    return true;
}

enum replay_status replay_finish(struct replay *replay)
{
    struct replay_figures *figures = &replay->figures;
    const struct elapse_structure *structure = replay->structure;

    if (replay->occupancy_below > 0)
        take_occupancy(replay);
    if (structure->count(replay->instance) != figures->pending)
        set_fault(replay, "its count of pending timers is wrong");
    structure->for_each(replay->instance, judge_pending, replay);
    figures->moves = structure->moves(replay->instance);
    if (figures->operations > 0)
        figures->ns_per_operation = (double)replay->apply_ns / (double)figures->operations;
    return replay->fault == NULL ? REPLAY_OK : REPLAY_BROKEN_STRUCTURE;
}

static bool free_pending(struct elapse_timer *timer, void *context)
{
    struct replay *replay = context;

    replay->structure->stop(replay->instance, timer);
    free((struct record *)timer);
    return true;
}

void replay_free(struct replay *replay)
{
    record_table_clear(&replay->table);
    if (replay->begun)
        replay->structure->for_each(replay->instance, free_pending, replay);
    for (struct record *record = replay->ended; record != NULL;) {
        struct record *next = record->next_ended;
        free(record);
        record = next;
    }
    free(replay->instance);
    free(replay->storage);
    free(replay);
}
