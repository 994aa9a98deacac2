#include "stress.h"

#include <string.h>

/* ---- drawing ---- */

/* A delay: mostly of a few ticks, sometimes none, far or never. Not far where closing waits for the
 * deadline. */
static uint64_t draw_delay_ns(const struct round *round, struct random_source *source)
{
    switch (random_below(source, 32)) {
    case 0:
        return round->how == ELAPSE_CLOSE_RUN_DELAYED ? ELAPSE_NEVER : far_ns;
    case 1:
        return ELAPSE_NEVER;
    case 2:
    case 3:
    case 4:
        return 0;
    case 5:
    case 6:
        return random_below(source, 30 * ELAPSE_MILLISECOND_NS);
    default:
        return random_below(source, 4 * ELAPSE_MILLISECOND_NS);
    }
}

static uint64_t draw_deadline_ns(const struct round *round, struct random_source *source)
{
    uint64_t now_ns = elapse_scheduler_now_ns(round->scheduler);
    uint64_t past_ns = random_below(source, 20 * ELAPSE_MILLISECOND_NS);
    if (random_one_in(source, 16))
        return random_one_in(source, 8) ? 0 : now_ns - past_ns;
    return elapse_deadline_after(now_ns, draw_delay_ns(round, source));
}

/* A task whose handle is known; NULL if there is none yet. Mostly a recent one. */
struct record *draw_record(struct round *round, struct random_source *source)
{
    uint32_t count = atomic_load(&round->published_count);
    if (count > RECORDS)
        count = RECORDS;
    if (count == 0)
        return NULL;
    uint32_t back = (uint32_t)random_below(source, count);
    if (!random_one_in(source, 8))
        back %= 200;
    return atomic_load(&round->published[count - 1 - back]);
}

static void publish(struct round *round, struct record *record)
{
    uint32_t place = atomic_fetch_add(&round->published_count, 1);
    atomic_store(&round->published[place], record);
}

/* ---- scheduling ---- */

/* A task that is to be scheduled, and the memory to which it points. */
struct draft {
    struct elapse_task task;
    char key[16];
};

static bool is_plain(int key)
{
    return key >= KEYS && key < OWN_KEYS;
}

static int draw_key(const struct record *record, struct random_source *source)
{
    switch (random_below(source, 12)) {
    case 0:
    case 1:
        return (int)random_below(source, 6); /* some that are wanted by all */
    case 2:
        return (int)random_below(source, KEYS);
    case 3: /* with leases each task has a destructor, so that its end is known */
        return record->round->lease_ns > 0 ? -1 : KEYS + (int)random_below(source, PLAIN_KEYS);
    case 4:
        return OWN_KEYS + (int)record->number;
    default:
        return -1;
    }
}

/* While the threads rest, only a cancel ends a task that recurs. Closing that runs delayed tasks
 * ends it between two runs or after one, and only its destructor shows which. */
static bool may_recur(const struct record *record)
{
    if (record->round->how == ELAPSE_CLOSE_RUN_DELAYED && !record->has_destructor)
        return false;
    return !record->round->rests || !key_is_replaced(record->round, record->key);
}

/* How it goes on. A task with a plain key has no destructor, by which its end would be known. */
static void draw_recurrence(struct draft *draft, struct record *record,
                            struct random_source *source)
{
    if (is_plain(record->key) || !may_recur(record) || !random_one_in(source, 20))
        return;
    record->recurrence = (enum elapse_recurrence)(1 + random_below(source, 2));
    record->if_missed = (enum elapse_missed)random_below(source, 3);
    record->period_ns = 1 + random_below(source, 20 * ELAPSE_MILLISECOND_NS);
    if (random_one_in(source, 2) || !record_may_be_cancelled(record))
        record->period_ns = ELAPSE_MILLISECOND_NS;
    /* A task that no cancel ends must not make up for millions of occurrences since time 0. */
    if (!record_may_be_cancelled(record) && record->if_missed == ELAPSE_MISSED_BURST)
        record->if_missed = ELAPSE_MISSED_SKIP;
    draft->task.recurrence = record->recurrence;
    draft->task.if_missed = record->if_missed;
    draft->task.period_ns = record->period_ns;
}

/* By the wall clock: once, or each second. */
static void draw_wall_clock(struct draft *draft, struct record *record,
                            struct random_source *source)
{
    if (record->recurrence != ELAPSE_RECUR_NEVER || !random_one_in(source, 12))
        return;
    record->wall_clock = true;
    draft->task.slack_ns = 0;
    if (is_plain(record->key) || !may_recur(record) || !record->round->has_cron ||
        !random_one_in(source, 8))
        return;
    record->recurrence = ELAPSE_RECUR_CRON;
    record->if_missed = (enum elapse_missed)random_below(source, 2);
    draft->task.recurrence = record->recurrence;
    draft->task.if_missed = record->if_missed;
    draft->task.cron = &record->round->cron;
}

static void draft_draw(struct draft *draft, struct record *record, struct random_source *source,
                       int key)
{
    record->key = key;
    record->has_destructor =
        record->round->lease_ns > 0 || (!is_plain(key) && (key >= 0 || random_one_in(source, 4)));
    draft->task = (struct elapse_task){
        .action = record_action,
        .context = record,
    };
    if (key >= 0) {
        draft->task.key = draft->key;
        draft->task.key_bytes = key_bytes_of(key, draft->key);
        draft->task.if_key_pending = (enum elapse_key_policy)random_below(source, 3);
        /* Only the destructor shows that a task was kept away. */
        if (!record->has_destructor && draft->task.if_key_pending == ELAPSE_KEY_KEEP)
            draft->task.if_key_pending = ELAPSE_KEY_REPLACE;
        if (draft->task.if_key_pending == ELAPSE_KEY_REPLACE &&
            !key_is_replaced(record->round, key))
            draft->task.if_key_pending = ELAPSE_KEY_FAIL;
    }
    if (random_one_in(source, 6))
        draft->task.slack_ns = random_below(source, 3 * ELAPSE_MILLISECOND_NS);
    record->handle_known_first = draft->task.if_key_pending != ELAPSE_KEY_KEEP;
    draw_recurrence(draft, record, source);
}

/* Of a task that recurs, only the reason tells whether it was replaced during a run. */
static void choose_destructor(struct draft *draft, struct record *record,
                              struct random_source *source)
{
    if (!record->has_destructor)
        return;
    record->tells_reason = record->recurrence != ELAPSE_RECUR_NEVER ||
                           record->round->lease_ns > 0 || random_one_in(source, 2);
    if (record->tells_reason)
        draft->task.ended = record_ended;
    else
        draft->task.destroy = record_destroy;
}

/* The checks cannot distinguish a replaced task with a plain key from a waiting one, so it must not
 * be far. */
static uint64_t no_further(const struct record *record, uint64_t time_ns, uint64_t least_ns)
{
    return is_plain(record->key) && time_ns >= far_ns + least_ns ? least_ns : time_ns;
}

static bool was_kept_away(const struct record *record)
{
    return atomic_load(&record->end) == (int)END_KEPT_AWAY;
}

/* What the outcome says about the record. `delay_ns`: of one that was not scheduled at a
 * time; NEVER for the others. */
static void conclude(struct round *round, struct record *record, const struct draft *draft,
                     enum elapse_error error, uint64_t delay_ns)
{
    uint64_t now_ns = elapse_scheduler_now_ns(round->scheduler);
    bool kept = was_kept_away(record);
    if (error != ELAPSE_OK) {
        must(error == ELAPSE_ERROR_CLOSED ||
                 (error == ELAPSE_ERROR_LIMIT && round->pending_max != 0) ||
                 (error == ELAPSE_ERROR_KEY_PENDING &&
                  draft->task.if_key_pending == ELAPSE_KEY_FAIL && record->key >= 0),
             round, record, "was refused for no reason");
        atomic_store(&record->outcome, (int)OUTCOME_REFUSED);
        return;
    }
    must(!kept || draft->task.if_key_pending == ELAPSE_KEY_KEEP, round, record,
         "was kept away, and did not ask for that");
    atomic_store(&record->outcome, (int)(kept ? OUTCOME_KEPT_AWAY : OUTCOME_ACCEPTED));
    atomic_fetch_add(&round->counters->tasks, 1);
    record_lock(record);
    record->history[0].asked_ns = now_ns;
    if (delay_ns < far_ns)
        record->history[0].high_ns =
            asked_between(round, 0, now_ns + delay_ns + draft->task.slack_ns).high_ns;
    record_unlock(record);
    if (!kept)
        publish(round, record);
}

/* Keeps a handle that came with no certainty that it is this task's. */
static void keep_handle(struct record *record, struct elapse_handle handle)
{
    if (!was_kept_away(record))
        record->handle = handle;
}

static enum elapse_error schedule_by_wall_clock(struct round *round, struct record *record,
                                                const struct draft *draft,
                                                struct random_source *source,
                                                struct elapse_handle *handle)
{
    uint64_t before_ns = elapse_scheduler_wall_clock_ns(round->scheduler);
    if (record->recurrence == ELAPSE_RECUR_CRON) {
        record->history[0] = asked_between(round, before_ns, ELAPSE_NEVER);
        return elapse_task_schedule_cron(round->scheduler, &draft->task, handle);
    }
    uint64_t deadline_ns = elapse_deadline_after(before_ns, draw_delay_ns(round, source));
    if (random_one_in(source, 16))
        deadline_ns = before_ns - random_below(source, ELAPSE_DAY_NS);
    deadline_ns = no_further(record, deadline_ns, before_ns);
    record->history[0] = asked_between(round, deadline_ns, deadline_ns);
    return elapse_task_schedule_at_wall_clock(round->scheduler, &draft->task, deadline_ns, handle);
}

static enum elapse_error schedule_after(struct elapse_scheduler *scheduler,
                                        const struct record *record, const struct elapse_task *task,
                                        uint64_t delay_ns, struct random_source *source,
                                        struct elapse_handle *handle)
{
    bool simple = record->key < 0 && !record->has_destructor && task->slack_ns == 0 &&
                  record->recurrence == ELAPSE_RECUR_NEVER;
    if (simple && random_one_in(source, 2))
        return elapse_after(scheduler, delay_ns, task->action, task->context, handle);
    return elapse_task_schedule_after(scheduler, task, delay_ns, handle);
}

static void schedule_one(struct round *round, struct random_source *source)
{
    struct record *record = record_take(round);
    struct elapse_scheduler *scheduler = round->scheduler;
    struct draft draft;
    struct frame frame;
    struct elapse_handle handle;
    enum elapse_error error;
    if (record == NULL)
        return;
    draft_draw(&draft, record, source, draw_key(record, source));
    draw_wall_clock(&draft, record, source);
    choose_destructor(&draft, record, source);
    struct elapse_handle *out = record->handle_known_first ? &record->handle : &handle;
    uint64_t before_ns = elapse_scheduler_now_ns(scheduler);
    bool closed = atomic_load(&round->closed);
    uint64_t delay_ns = ELAPSE_NEVER;
    record->asked_count = 1;
    if (record->wall_clock) {
        frame_enter(&frame, CALL_SCHEDULE, record, 1);
        error = schedule_by_wall_clock(round, record, &draft, source, out);
    } else if (random_one_in(source, 2)) {
        delay_ns = no_further(record, draw_delay_ns(round, source), 0);
        uint64_t low_ns = elapse_deadline_after(before_ns, delay_ns);
        /* The clock goes on before it is read, how far is not known yet. */
        record->history[0] = asked_between(round, low_ns, ELAPSE_NEVER);
        frame_enter(&frame, CALL_SCHEDULE, record, 1);
        error = schedule_after(scheduler, record, &draft.task, delay_ns, source, out);
    } else if (random_one_in(source, 4)) {
        delay_ns = 0;
        record->history[0] =
            asked_between(round, before_ns - before_ns % round->tick_ns, ELAPSE_NEVER);
        frame_enter(&frame, CALL_SCHEDULE, record, 1);
        error = elapse_task_schedule_now(scheduler, &draft.task, out);
    } else {
        uint64_t deadline_ns = no_further(record, draw_deadline_ns(round, source), before_ns);
        record->history[0] = asked_between(round, deadline_ns,
                                           elapse_deadline_after(deadline_ns, draft.task.slack_ns));
        frame_enter(&frame, CALL_SCHEDULE, record, 1);
        error = elapse_task_schedule_at(scheduler, &draft.task, deadline_ns, out);
    }
    frame_leave(&frame);
    must(!closed || error == ELAPSE_ERROR_CLOSED, round, record, "was scheduled after closing");
    must(frame.destructions <= 1, round, record, "scheduling one ended several");
    if (error == ELAPSE_OK && !record->handle_known_first)
        keep_handle(record, handle);
    conclude(round, record, &draft, error, delay_ns);
}

static void schedule_batch(struct round *round, struct random_source *source)
{
    struct draft drafts[BATCH];
    struct elapse_batch_task batch[BATCH];
    size_t wanted = 1 + random_index(source, random_one_in(source, 4) ? BATCH : 10);
    uint32_t first = atomic_fetch_add(&round->used, (uint32_t)wanted);
    int first_key = (int)random_below(source, KEYS);
    bool closed = atomic_load(&round->closed);
    struct frame frame;
    enum elapse_error first_error = ELAPSE_OK;
    if (first + wanted > RECORDS) {
        atomic_store(&round->used, RECORDS);
        return;
    }
    struct record *records = &round->records[first];
    for (size_t i = 0; i < wanted; i++) {
        /* Each key occurs once, so a task that this call destroys was kept away. */
        int key = random_one_in(source, 3) ? (first_key + (int)i) % KEYS : -1;
        draft_draw(&drafts[i], &records[i], source, key);
        choose_destructor(&drafts[i], &records[i], source);
        records[i].handle_known_first = false;
        uint64_t deadline_ns = draw_deadline_ns(round, source);
        records[i].history[0] = asked_between(
            round, deadline_ns, elapse_deadline_after(deadline_ns, drafts[i].task.slack_ns));
        records[i].asked_count = 1;
        batch[i] = (struct elapse_batch_task){.task = drafts[i].task, .deadline_ns = deadline_ns};
    }
    frame_enter(&frame, CALL_BATCH, records, wanted);
    enum elapse_error error = elapse_task_schedule_batch(round->scheduler, batch, wanted);
    frame_leave(&frame);
    must(!closed || error == ELAPSE_ERROR_CLOSED, round, records, "was scheduled after closing");
    for (size_t i = 0; i < wanted; i++) {
        if (batch[i].error != ELAPSE_OK && first_error == ELAPSE_OK)
            first_error = batch[i].error;
        if (batch[i].error == ELAPSE_OK)
            keep_handle(&records[i], batch[i].handle);
        conclude(round, &records[i], &drafts[i], batch[i].error, ELAPSE_NEVER);
    }
    must(error == first_error, round, records, "a batch did not give its first error");
}

/* ---- rescheduling ---- */

enum direction {
    ANYWHERE,
    EARLIER,
    LATER,
};

/* Moves the task by its handle or, if no other task has its key, by that. */
static enum elapse_error move_after(struct record *record, uint64_t delay_ns,
                                    enum direction direction, bool by_key, bool *moved)
{
    struct elapse_scheduler *scheduler = record->round->scheduler;
    char key[16];
    if (direction == EARLIER)
        return elapse_task_reschedule_earlier_after(scheduler, record->handle, delay_ns, moved);
    if (direction == LATER)
        return elapse_task_reschedule_later_after(scheduler, record->handle, delay_ns, moved);
    *moved = true;
    if (by_key)
        return elapse_task_reschedule_key_after(scheduler, key, key_bytes_of(record->key, key),
                                                delay_ns);
    return elapse_task_reschedule_after(scheduler, record->handle, delay_ns);
}

static enum elapse_error move_at(struct record *record, uint64_t deadline_ns,
                                 enum direction direction, bool by_key, bool *moved)
{
    struct elapse_scheduler *scheduler = record->round->scheduler;
    char key[16];
    if (direction == EARLIER)
        return elapse_task_reschedule_earlier_at(scheduler, record->handle, deadline_ns, moved);
    if (direction == LATER)
        return elapse_task_reschedule_later_at(scheduler, record->handle, deadline_ns, moved);
    *moved = true;
    if (by_key)
        return elapse_task_reschedule_key_at(scheduler, key, key_bytes_of(record->key, key),
                                             deadline_ns);
    return elapse_task_reschedule_at(scheduler, record->handle, deadline_ns);
}

/* Gives the record's task another deadline. */
static void reschedule(struct record *record, struct random_source *source)
{
    struct round *round = record->round;
    struct elapse_scheduler *scheduler = round->scheduler;
    bool over = atomic_load(&record->over) || atomic_load(&record->last_begin_ns) != ELAPSE_NEVER;
    bool by_key = record->key >= OWN_KEYS && random_one_in(source, 2);
    enum direction direction = ANYWHERE;
    bool moved = false;
    enum elapse_error error;
    if (random_one_in(source, 3))
        direction = random_one_in(source, 2) ? EARLIER : LATER;
    if (!record_may_be_moved(record))
        return;
    record_lock(record);
    if (record->asked_count == HISTORY) {
        record_unlock(record);
        return;
    }
    uint64_t before_ns = elapse_scheduler_now_ns(scheduler);
    struct asked *asked = &record->history[record->asked_count++];
    if (random_one_in(source, 2)) {
        uint64_t delay_ns = no_further(record, draw_delay_ns(round, source), 0);
        uint64_t low_ns = elapse_deadline_after(before_ns, delay_ns);
        *asked = asked_between(round, low_ns, low_ns);
        error = move_after(record, delay_ns, direction, by_key, &moved);
        /* It was read meanwhile. */
        *asked = asked_between(round, low_ns,
                               elapse_deadline_after(elapse_scheduler_now_ns(scheduler), delay_ns));
    } else {
        uint64_t deadline_ns = no_further(record, draw_deadline_ns(round, source), before_ns);
        *asked = asked_between(round, deadline_ns, deadline_ns);
        error = move_at(record, deadline_ns, direction, by_key, &moved);
    }
    record_moved(record, error, moved);
    record_unlock(record);
    must(error == ELAPSE_OK || !moved || direction == ANYWHERE, round, record,
         "was moved, and the call has failed");
    must(error == ELAPSE_OK || error == ELAPSE_ERROR_GONE || error == ELAPSE_ERROR_CLOSED ||
             (error == ELAPSE_ERROR_LIMIT && round->pending_max != 0) ||
             (error == ELAPSE_ERROR_WALL_CLOCK && record->wall_clock),
         round, record, "was not rescheduled, for no reason");
    must(error != ELAPSE_OK || !record->wall_clock, round, record,
         "has a wall-clock time and was rescheduled");
    must(error != ELAPSE_OK || !over, round, record, "was rescheduled after a cancel");
}

/* ---- cancelling ---- */

void note_answer(struct round *round, struct record *record, enum elapse_cancel answer,
                 bool was_over)
{
    atomic_fetch_add(&round->counters->cancels[answer], 1);
    atomic_store(&record->cancelled, true);
    if (answer == ELAPSE_CANCEL_RUNNING || answer == ELAPSE_CANCEL_SELF) {
        must(!was_over, round, record, "runs although a cancel said REMOVED or GONE");
        record_runs_no_more(record);
        return;
    }
    must(!atomic_load(&record->active), round, record,
         "was still running when a cancel said REMOVED or GONE");
    atomic_store(&record->over, true);
    must(!atomic_load(&record->active), round, record,
         "began to run when a cancel said REMOVED or GONE");
    if (answer == ELAPSE_CANCEL_REMOVED) {
        must(!was_over, round, record, "was removed after it was gone");
        must(atomic_fetch_add(&record->removed, 1) == 0, round, record, "was removed twice");
        must(!record->has_destructor || atomic_load(&record->destroyed) == 1, round, record,
             "was removed, and not destroyed yet");
        atomic_fetch_add(&round->removed, 1);
    }
}

static void cancel(struct record *record, struct elapse_handle handle, struct random_source *source,
                   bool inside)
{
    struct round *round = record->round;
    bool was_over = atomic_load(&record->over);
    bool was_removed = atomic_load(&record->removed) > 0;
    struct frame frame;
    enum elapse_cancel answer;
    if (!record_may_be_cancelled(record))
        return;
    /* After a wait the answer GONE would not tell whether this call has ended it. */
    bool must_tell = record->recurrence != ELAPSE_RECUR_NEVER && !record->has_destructor;
    frame_enter(&frame, CALL_CANCEL, NULL, 0);
    if (must_tell || random_one_in(source, 2)) {
        char key[16];
        if (record->key >= OWN_KEYS && random_one_in(source, 2))
            answer = elapse_task_cancel_key(round->scheduler, key, key_bytes_of(record->key, key));
        else
            answer = elapse_task_cancel(round->scheduler, handle);
        must(answer != ELAPSE_CANCEL_SELF, round, record, "a plain cancel said SELF");
    } else {
        /* From inside, waiting for each other without end could be for ever. */
        uint64_t timeout_ns = random_below(source, 500000);
        bool endless = !inside && random_one_in(source, 2);
        answer =
            elapse_task_cancel_wait(round->scheduler, handle, endless ? ELAPSE_NEVER : timeout_ns);
        must(!endless || answer != ELAPSE_CANCEL_RUNNING, round, record,
             "an endless wait said RUNNING");
        must((inside && round->takers == 0) || answer != ELAPSE_CANCEL_SELF, round, record,
             "SELF outside of actions");
    }
    frame_leave(&frame);
    must(!was_removed || answer == ELAPSE_CANCEL_GONE, round, record, "was removed, and not gone");
    note_answer(round, record, answer, was_over);
}

static void cancel_batch(struct round *round, struct random_source *source)
{
    struct record *records[BATCH];
    struct elapse_handle handles[BATCH];
    enum elapse_cancel answers[BATCH];
    bool was_over[BATCH];
    size_t count = 0;
    size_t removed = 0;
    size_t wanted = random_index(source, random_one_in(source, 4) ? BATCH : 10);
    struct frame frame;
    for (size_t i = 0; i < wanted; i++) {
        struct record *record = draw_record(round, source);
        if (record == NULL || !record_may_be_cancelled(record))
            continue;
        records[count] = record;
        was_over[count] = atomic_load(&record->over);
        handles[count++] = record->handle;
    }
    frame_enter(&frame, CALL_CANCEL, NULL, 0);
    size_t said = elapse_task_cancel_batch(round->scheduler, handles, count, answers);
    frame_leave(&frame);
    for (size_t i = 0; i < count; i++) {
        note_answer(round, records[i], answers[i], was_over[i]);
        removed += answers[i] == ELAPSE_CANCEL_REMOVED;
    }
    must(said == removed, round, NULL, "a batch of cancels did not count what it removed");
}

/* Cancels whatever has a key. The destructor tells what that was. */
static void cancel_by_key(struct round *round, struct random_source *source)
{
    char key[16];
    int number = (int)random_below(source, random_one_in(source, 2) ? 6 : KEYS);
    if (key_is_replaced(round, number))
        number++; /* what recurs with such a key is not cancelled */
    size_t key_bytes = key_bytes_of(number, key);
    struct elapse_handle handle;
    struct frame frame;
    bool in_one_step = random_one_in(source, 2);
    if (!in_one_step && !elapse_task_find(round->scheduler, key, key_bytes, &handle))
        return;
    frame_enter(&frame, CALL_CANCEL, NULL, 0);
    enum elapse_cancel answer = in_one_step
                                    ? elapse_task_cancel_key(round->scheduler, key, key_bytes)
                                    : elapse_task_cancel(round->scheduler, handle);
    frame_leave(&frame);
    if (answer == ELAPSE_CANCEL_RUNNING)
        atomic_store(&round->key_cancelled[number], true);
    must(frame.destructions == (answer == ELAPSE_CANCEL_REMOVED), round, frame.destroyed,
         "a cancel by key destroyed what it did not remove, or did not what it did");
    if (answer != ELAPSE_CANCEL_REMOVED)
        return;
    must(frame.destroyed->key == number, round, frame.destroyed, "was found by another key");
    note_answer(round, frame.destroyed, answer, false);
}

/* ---- looking ---- */

static void look(struct round *round, struct random_source *source)
{
    struct record *record = draw_record(round, source);
    struct elapse_statistics statistics;
    struct elapse_found found;
    if (record == NULL)
        return;
    bool over = atomic_load(&record->over);
    char key[16];
    enum elapse_task_state state =
        record->key >= OWN_KEYS && random_one_in(source, 2)
            ? elapse_task_look_up_key(round->scheduler, key, key_bytes_of(record->key, key), &found)
            : elapse_task_look_up(round->scheduler, record->handle, &found);
    must(!over || state == ELAPSE_TASK_GONE, round, record, "is not gone after a cancel said so");
    if (state == ELAPSE_TASK_GONE) {
        must(found.deadline_ns == ELAPSE_NEVER, round, record, "is gone and has a deadline");
        must(!atomic_load(&record->active), round, record, "is gone and runs");
        atomic_store(&record->over, true);
        must(elapse_task_done(round->scheduler, record->handle) ==
                 (round->takers > 0 && round->lease_ns == 0 ? ELAPSE_ERROR_GONE
                                                            : ELAPSE_ERROR_ARGUMENT),
             round, record, "is gone and was done");
    }
    if (random_one_in(source, 8))
        (void)elapse_scheduler_next_ns(round->scheduler);
    if (random_one_in(source, 32)) {
        elapse_scheduler_statistics(round->scheduler, &statistics);
        must(statistics.pending <= RECORDS && statistics.running <= RECORDS, round, NULL,
             "more is pending or running than there is");
    }
    if (random_one_in(source, 64))
        (void)elapse_scheduler_trim(round->scheduler);
    if (random_one_in(source, 64) && round->started) {
        bool closed = atomic_load(&round->closed);
        enum elapse_error error = elapse_scheduler_start(round->scheduler);
        must(error == ELAPSE_ERROR_CLOSED || (error == ELAPSE_OK && !closed), round, NULL,
             "a second start did something");
    }
}

/* ---- all of it ---- */

void cancel_own(struct record *record, struct elapse_handle handle, struct random_source *source)
{
    if (record->round->lease_ns > 0) {
        /* Another thread may have taken or ended it. The record may not know its handle yet. */
        cancel(record, handle, source, true);
        return;
    }
    struct elapse_scheduler *scheduler = record->round->scheduler;
    bool pull = record->round->takers > 0; /* then no action runs: a thread has taken the task */
    enum elapse_cancel answer =
        elapse_task_cancel_wait(scheduler, handle, pull ? ELAPSE_MICROSECOND_NS : ELAPSE_NEVER);
    must(answer == (pull ? ELAPSE_CANCEL_RUNNING : ELAPSE_CANCEL_SELF), record->round, record,
         "waiting in its own action did not say SELF, or where it was taken RUNNING");
    note_answer(record->round, record, answer, false);
    must(elapse_task_cancel(scheduler, handle) == ELAPSE_CANCEL_RUNNING, record->round, record,
         "a cancel in its own action did not say RUNNING");
}

void operate_on_own(struct record *record, struct random_source *source)
{
    if (!record->handle_known_first)
        return;
    if (record_may_be_cancelled(record) && random_one_in(source, 4))
        cancel_own(record, record->handle, source);
    else if (record->round->takers == 0 && random_one_in(source, 8))
        must(elapse_task_wait(record->round->scheduler, record->handle, ELAPSE_NEVER) ==
                 ELAPSE_ERROR_IN_ACTION,
             record->round, record, "an action was not kept from waiting for itself");
    else
        reschedule(record, source);
}

void operate(struct round *round, struct random_source *source, bool inside)
{
    struct record *record = draw_record(round, source);
    uint64_t what = random_below(source, 100);
    atomic_fetch_add(&round->counters->operations, 1);
    if (what < 42 || record == NULL)
        schedule_one(round, source);
    else if (what < 46)
        schedule_batch(round, source);
    else if (what < 64)
        reschedule(record, source);
    else if (what < 80)
        cancel(record, record->handle, source, inside);
    else if (what < 83)
        cancel_batch(round, source);
    else if (what < 88)
        cancel_by_key(round, source);
    else if (what < 95)
        look(round, source);
    else if (what < 96)
        change_recurrence(record, source);
    else if (what < 98)
        run_now(record);
    else if (what < 99 || !random_one_in(source, 16))
        wait_for_end(record, source, inside);
    else
        list_all(round, source);
}
