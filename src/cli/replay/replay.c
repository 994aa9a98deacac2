/*
 * The first and the third stage of a replay, which make and free records. replay.h explains the
 * stages.
 */
#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/message.h"
#include "../common/text.h"
#include "apply.h"
#include "records.h"
#include "turns.h"

struct replay *replay_new(const struct replay_plan *plan)
{
    ELAPSE__ASSERT(plan->tick_us > 0);
    struct replay *replay = allocate(sizeof *replay);

    memset(replay, 0, sizeof *replay);
    replay->trace = plan->trace;
    replay->structure = plan->structure;
    replay->shape = plan->shape;
    replay->tick_us = plan->tick_us;
    replay->samples = plan->samples;
    replay->takes_occupancy = plan->takes_occupancy;
    return replay;
}

enum replay_status replay_finish(struct replay *replay)
{
    replay_apply_end(replay);
    return replay->fault == NULL ? REPLAY_OK : REPLAY_BROKEN_STRUCTURE;
}

const struct replay_figures *replay_figures(const struct replay *replay)
{
    return &replay->figures;
}

const char *replay_fault(const struct replay *replay)
{
    return replay->fault;
}

/* ---- Read --------------------------------------------------------------- */

static uint64_t divide_up(uint64_t dividend, uint64_t divisor)
{
    ELAPSE__ASSERT(divisor > 0);
    return dividend / divisor + (dividend % divisor != 0);
}

/* Returns the record of the operation. Returns NULL if the trace may not have this operation here,
 * and stores the reason in `reader`. */
static struct record *resolve(struct replay *replay, struct trace_reader *reader,
                              const struct trace_operation *operation)
{
    struct record *record = record_find(&replay->table, operation->key, operation->key_length);
    bool pending = record != NULL && record->trace_deadline_us > operation->time_us;

    ELAPSE__ASSERT(operation->key_length > 0);
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
    ELAPSE__ASSERT(replay->tick_us > 0);
    replay->step_count = 0;
    while (replay->step_count < REPLAY_BATCH_OPERATIONS) {
        struct trace_operation operation;
        enum trace_result result = trace_next(reader, &operation);
        if (result != TRACE_OPERATION)
            return result;
        struct record *record = resolve(replay, reader, &operation);
        if (record == NULL)
            return TRACE_ERROR;
        ELAPSE__ASSERT(operation.time_us >= replay->time_us);
        replay->steps[replay->step_count++] = (struct replay_step){
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

/* ---- Sweep -------------------------------------------------------------- */

/* Frees the records that have ended. Keeps those whose key is still pending in the trace, because
 * the structure fired their timers too early. */
static void sweep(struct replay *replay)
{
    struct record *record = replay->ended;

    replay->ended = NULL;
    while (record != NULL) {
        struct record *next = record->next_ended;
        ELAPSE__ASSERT(record->ended);
        replay_collect_digest(replay, record);
        record->ended = false;
        if (record->armed) {
            record->next_ended = NULL;
        } else if (record->is_latest && record->trace_deadline_us > replay->time_us) {
            record->ended = true;
            record->next_ended = replay->ended;
            replay->ended = record;
        } else {
            record_free(&replay->table, record);
        }
        record = next;
    }
}

/* Estimates the turns of a hashed wheel that the steps take. */
static void add_turns(struct replay *replay)
{
    if (replay->step_count == 0)
        return;
    uint64_t end_tick = replay->steps[replay->step_count - 1].time_tick;
    uint64_t begin_tick = replay->begun ? replay->now_tick : replay->steps[0].time_tick;

    ELAPSE__ASSERT(end_tick >= begin_tick);
    /* Nobody knows yet how many timers the steps leave pending. The estimate: half of the steps
     * start a timer, and half of these timers are pending on average. */
    turns_add(&replay->turns, replay->trace, replay->structure, replay->shape, replay->tick_us,
              end_tick - begin_tick, replay->figures.pending + replay->step_count / 4);
}

enum replay_status replay_batch(struct replay *replay, struct trace_reader *reader, bool *more)
{
    enum trace_result result = read_batch(replay, reader);

    /* Virtual time begins with the first operation. */
    add_turns(replay);
    if (!replay->begun)
        replay_begin(replay, replay->step_count > 0 ? replay->steps[0].time_tick : 0);
    replay_apply_batch(replay);
    sweep(replay);
    *more = result == TRACE_OPERATION;
    if (replay->fault != NULL)
        return REPLAY_BROKEN_STRUCTURE;
    return result == TRACE_ERROR ? REPLAY_BAD_TRACE : REPLAY_OK;
}

void replay_free(struct replay *replay)
{
    record_table_free(&replay->table);
    if (replay->begun)
        replay->structure->finish(replay->instance);
    free(replay->instance);
    free(replay->storage);
    free(replay);
}
