#include "stress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static _Thread_local struct frame *innermost;
/* The record whose action returned last on this thread, until anything else is destroyed. */
static _Thread_local const struct record *just_ran;

struct frame *frame_enter(struct frame *frame, enum call call, const struct record *first,
                          size_t count)
{
    *frame = (struct frame){.outer = innermost, .call = call, .first = first, .count = count};
    innermost = frame;
    return frame;
}

void frame_leave(struct frame *frame)
{
    innermost = frame->outer;
}

struct random_source *random_of_thread(const struct round *round)
{
    static _Atomic uint64_t threads;
    static _Thread_local struct random_source source;
    static _Thread_local uint64_t seed_of_round;
    if (seed_of_round != round->seed) {
        seed_of_round = round->seed;
        source.state = round->seed + (atomic_fetch_add(&threads, 1) << 32);
    }
    return &source;
}

/* ---- the record ---- */

bool key_is_replaced(const struct round *round, int key)
{
    if (key >= OWN_KEYS)
        return false;
    return key >= KEYS ? round->how == ELAPSE_CLOSE_HAND_BACK : key >= 0 && key % 2 == 0;
}

bool record_may_be_moved(const struct record *record)
{
    if (!record->has_destructor)
        return record->key < 0 && record->round->how == ELAPSE_CLOSE_HAND_BACK;
    return record->recurrence != ELAPSE_RECUR_NEVER || !key_is_replaced(record->round, record->key);
}

bool record_may_be_cancelled(const struct record *record)
{
    return record->recurrence == ELAPSE_RECUR_NEVER || !key_is_replaced(record->round, record->key);
}

struct record *record_take(struct round *round)
{
    uint32_t number = atomic_fetch_add(&round->used, 1);
    if (number >= RECORDS) {
        atomic_store(&round->used, RECORDS);
        return NULL;
    }
    return &round->records[number];
}

void record_lock(struct record *record)
{
    (void)pthread_mutex_lock(&record->round->locks[record->number % LOCKS]);
}

void record_unlock(struct record *record)
{
    (void)pthread_mutex_unlock(&record->round->locks[record->number % LOCKS]);
}

static uint64_t rounded_up(const struct round *round, uint64_t time_ns)
{
    uint64_t rest_ns = time_ns % round->tick_ns;
    return rest_ns == 0 ? time_ns : elapse_deadline_after(time_ns, round->tick_ns - rest_ns);
}

struct asked asked_between(const struct round *round, uint64_t low_ns, uint64_t high_ns)
{
    return (struct asked){
        .low_ns = low_ns,
        .high_ns = rounded_up(round, high_ns),
        .asked_ns = ELAPSE_NEVER,
        .superseded_ns = ELAPSE_NEVER,
    };
}

const struct asked *record_in_force(const struct record *record)
{
    return &record->history[record->asked_count - 1];
}

void record_runs_no_more(struct record *record)
{
    uint64_t now_ns = elapse_scheduler_now_ns(record->round->scheduler);
    uint64_t before_ns = atomic_load(&record->last_begin_ns);
    while (now_ns < before_ns &&
           !atomic_compare_exchange_weak(&record->last_begin_ns, &before_ns, now_ns))
        continue;
}

size_t key_bytes_of(int key, char bytes[16])
{
    const char *kind = key < KEYS ? "key" : key < OWN_KEYS ? "plain" : "own";
    int length = snprintf(bytes, 16, "%s-%d", kind, key);
    return (size_t)length;
}

/* ---- the action ---- */

/* A run belongs to a deadline that was asked for, and was in force when the run began. */
static bool belongs(const struct asked *asked, const struct elapse_run *run)
{
    return run->intended_ns >= asked->low_ns && run->actual_ns <= asked->superseded_ns;
}

/* The latest that its intended time can be. */
static uint64_t latest_ns(const struct round *round, const struct asked *asked)
{
    /* If it was given to a task that ran, it comes due when that run has ended. */
    if (asked->asked_ns == ELAPSE_NEVER || asked->rescheduled)
        return ELAPSE_NEVER;
    /* A deadline that had passed already counts as the time at which it was asked for. */
    uint64_t asked_ns = rounded_up(round, asked->asked_ns);
    return asked->high_ns > asked_ns ? asked->high_ns : asked_ns;
}

static void check_time(struct record *record, const struct elapse_run *run)
{
    const struct round *round = record->round;
    bool in_force = false;
    bool exact = false;
    must(run->actual_ns >= run->intended_ns ||
             (round->how == ELAPSE_CLOSE_RUN_ALL && atomic_load(&round->closing)),
         round, record, "began before its intended time");
    must(run->intended_ns % round->tick_ns == 0, round, record, "intended time is no tick");
    if (record->wall_clock) {
        must(run->intended_ns >= record->history[0].low_ns, round, record, "began too early");
        return;
    }
    must(run->actual_ns <= elapse_scheduler_now_ns(round->scheduler), round, record,
         "began in the future");
    must(run->actual_ns <= atomic_load(&record->last_begin_ns), round, record,
         "began after a cancel had said that it would not run again");
    record_lock(record);
    for (unsigned i = 0; i < record->asked_count; i++) {
        const struct asked *asked = &record->history[i];
        if (!belongs(asked, run))
            continue;
        in_force = true;
        exact = exact || run->number > 1 || run->intended_ns <= latest_ns(round, asked);
    }
    if (record->recurrence == ELAPSE_RECUR_AFTER_EACH && record->asked_count == 1 &&
        run->number > 1)
        must(run->intended_ns >= atomic_load(&record->returned_ns) + record->period_ns, round,
             record, "began too soon after it had returned");
    record_unlock(record);
    must(in_force, round, record, "began too early, or for a deadline that was moved");
    must(exact, round, record, "was intended for later than was asked for");
}

static void check_number(struct record *record, const struct elapse_run *run, uint32_t runs)
{
    struct round *round = record->round;
    must(run->wall_clock == record->wall_clock, round, record, "got the time of another clock");
    if (record->recurrence == ELAPSE_RECUR_NEVER) {
        must(run->missed == 0, round, record, "missed what it never had");
        return;
    }
    atomic_fetch_add(&round->recurring_runs, 1);
    must(run->number == runs, round, record, "miscounted its runs");
    must(run->missed == 0 || (record->recurrence != ELAPSE_RECUR_AFTER_EACH &&
                              record->if_missed != ELAPSE_MISSED_BURST),
         round, record, "left out what it was to make up for");
}

static void check_handle(struct record *record, const struct elapse_run *run)
{
    struct elapse_handle own = run->handle;
    must(run->scheduler == record->round->scheduler, record->round, record, "strange scheduler");
    if (record->handle_known_first)
        must(record->handle.index == own.index && record->handle.generation == own.generation &&
                 record->handle.shard == own.shard,
             record->round, record, "handle of the run is not the one given out");
    must(elapse_task_look_up(run->scheduler, own, NULL) == ELAPSE_TASK_RUNNING, record->round,
         record, "a task is not running in its own action");
    if (record->key >= 0) {
        char key[16];
        struct elapse_handle found;
        must(elapse_task_find(run->scheduler, key, key_bytes_of(record->key, key), &found),
             record->round, record, "the key of a running task is not found");
    }
}

static void pass_time(struct random_source *source)
{
    struct timespec nap = {.tv_nsec = (long)random_below(source, 300000)};
    (void)nanosleep(&nap, NULL);
}

/* Each second is too seldom to wait for: such a task stays. The others come to their end. */
static void work_at_rest(struct record *record, const struct elapse_run *run,
                         struct random_source *source)
{
    if (record->recurrence == ELAPSE_RECUR_NEVER)
        operate_on_own(record, source);
    else if (record->recurrence != ELAPSE_RECUR_CRON && random_one_in(source, 2))
        cancel_own(record, run->handle, source);
}

void record_work(struct record *record, const struct elapse_run *run)
{
    struct round *round = record->round;
    struct random_source *source = random_of_thread(round);
    bool cancelled = atomic_load(&record->last_begin_ns) != ELAPSE_NEVER;
    must(elapse_run_cancelled(run) || !cancelled, round, record,
         "was cancelled while it runs, and need not end early");
    if (atomic_load(&round->phase) == PHASE_REST) {
        /* It may come due again before it has ended: what ends last has to see to that. */
        work_at_rest(record, run, source);
        /* A lease may be shorter than any nap. If each attempt took one, none would be in time. */
        if (run->attempt == 1)
            pass_time(source);
        return;
    }
    if (run->number > 4) {
        /* What recurs would soon do most of all. */
        if (record_may_be_cancelled(record) && random_one_in(source, 16))
            cancel_own(record, run->handle, source);
        return;
    }
    if (random_one_in(source, 8))
        pass_time(source);
    if (round->takers == 0 && random_one_in(source, 100))
        must(elapse_scheduler_close(round->scheduler, ELAPSE_CLOSE_DROP, NULL, NULL) ==
                     ELAPSE_ERROR_IN_ACTION &&
                 elapse_scheduler_free(round->scheduler) == ELAPSE_ERROR_IN_ACTION,
             round, record, "an action was not kept from closing");
    for (uint64_t times = random_below(source, 3); times > 0; times--) {
        if (random_one_in(source, 2))
            operate_on_own(record, source);
        else
            operate(round, source, true);
    }
}

/* With leases a thread may come late: others may have taken the task meanwhile, and ended it. So
 * fewer checks hold. Numbers of leases are even here, and odd once done. */
static void begin_lease(struct record *record, const struct elapse_taken *taken)
{
    struct round *round = record->round;
    uint64_t mine = taken->lease_number * 2;
    uint64_t before = atomic_load(&record->taking);
    atomic_fetch_add(&round->attempts, 1);
    must(taken->lease_until_ns != ELAPSE_NEVER && taken->run.attempt >= 1, round, record,
         "was taken without a lease");
    if (taken->run.attempt == 1) {
        atomic_fetch_add(&record->runs, 1);
        atomic_fetch_add(&round->runs, 1);
        atomic_fetch_add(&round->recurring_runs, record->recurrence != ELAPSE_RECUR_NEVER);
    }
    uint64_t until_ns;
    do {
        must(before / 2 != taken->lease_number, round, record, "got the number of a lease twice");
        if (before > mine)
            return;
        until_ns = atomic_load(&record->lease_until_ns);
    } while (!atomic_compare_exchange_weak(&record->taking, &before, mine));
    must(before == 0 || before % 2 == 1 || elapse_scheduler_now_ns(round->scheduler) >= until_ns,
         round, record, "was taken while another thread held it");
    atomic_store(&record->lease_until_ns, taken->lease_until_ns);
}

void record_begin(struct record *record, const struct elapse_run *run,
                  const struct elapse_taken *taken)
{
    struct round *round = record->round;
    just_ran = NULL;
    if (taken != NULL && round->lease_ns > 0) {
        begin_lease(record, taken);
        return;
    }
    must(!atomic_exchange(&record->active, true), round, record, "runs twice at once");
    must(!atomic_load(&record->over), round, record, "runs after a cancel said REMOVED or GONE");
    must(!atomic_load(&round->closed), round, record, "runs after closing");
    must(atomic_load(&record->destroyed) == 0, round, record, "runs after being destroyed");
    must(atomic_load(&record->handed_back) == 0, round, record, "runs after being handed back");
    must(run->attempt == 1, round, record, "was begun twice, and there are no leases");
    if (record->key >= 0 && record->key < OWN_KEYS)
        must(!atomic_exchange(&round->key_active[record->key], true), round, record,
             "runs beside another with its key");
    uint32_t times = atomic_fetch_add(&record->runs, 1) + 1;
    atomic_fetch_add(&round->runs, 1);
    check_number(record, run, times);
    check_time(record, run);
    check_handle(record, run);
}

static void end_run(struct record *record)
{
    struct round *round = record->round;
    if (record->key >= 0 && record->key < OWN_KEYS)
        atomic_store(&round->key_active[record->key], false);
    atomic_store(&record->returned_ns, elapse_scheduler_now_ns(round->scheduler));
    atomic_store(&record->active, false);
    just_ran = record;
}

void record_action(void *context, const struct elapse_run *run)
{
    struct record *record = context;
    record_begin(record, run, NULL);
    record_work(record, run);
    end_run(record);
}

/* The thread that holds the task is the last that has taken it. */
static void done_with_lease(struct record *record, const struct elapse_taken *taken)
{
    struct round *round = record->round;
    uint64_t mine = taken->lease_number * 2;
    bool last = atomic_compare_exchange_strong(&record->taking, &mine, mine + 1);
    just_ran = record;
    enum elapse_error error = elapse_task_done_taken(round->scheduler, taken);
    just_ran = NULL;
    must(error == ELAPSE_OK || error == ELAPSE_ERROR_GONE, round, record,
         "was not done, for no reason");
    must(last || error == ELAPSE_ERROR_GONE, round, record,
         "was done by a thread that held it no more");
    atomic_fetch_add(&round->counters->late_leases, error != ELAPSE_OK);
    must(elapse_task_done_taken(round->scheduler, taken) == ELAPSE_ERROR_GONE, round, record,
         "was done twice");
}

void record_done(struct record *record, const struct elapse_taken *taken)
{
    struct round *round = record->round;
    struct elapse_handle handle = taken->run.handle;
    if (round->lease_ns > 0) {
        done_with_lease(record, taken);
        return;
    }
    end_run(record);
    must(elapse_task_done(round->scheduler, handle) == ELAPSE_OK, round, record,
         "was taken and could not be done");
    just_ran = NULL;
    /* If it recurs, or was moved, somebody else may have taken it again. */
    if (elapse_task_look_up(round->scheduler, handle, NULL) == ELAPSE_TASK_GONE)
        must(elapse_task_done(round->scheduler, handle) == ELAPSE_ERROR_GONE, round, record,
             "was done twice");
}

/* ---- the destructor, and handing back ---- */

/* Whether closing drops tasks already. Before that, the closing thread may run due tasks, and it
 * may then drop the one that it ran last. */
static bool drops_tasks(const struct round *round, const struct frame *frame)
{
    struct elapse_statistics statistics;
    if (frame == NULL || frame->call != CALL_CLOSE)
        return false;
    elapse_scheduler_statistics(round->scheduler, &statistics);
    return statistics.dropped > 0;
}

static enum end end_of(const struct record *record, const struct frame *frame)
{
    bool own;
    if (record == just_ran && !drops_tasks(record->round, frame))
        return END_RAN;
    if (frame == NULL)
        return END_NONE;
    own = frame->first != NULL && record >= frame->first && record < frame->first + frame->count;
    switch (frame->call) {
    case CALL_SCHEDULE:
    case CALL_BATCH:
        return own ? END_KEPT_AWAY : END_REPLACED;
    case CALL_CANCEL:
        return END_REMOVED;
    case CALL_CLOSE:
        return END_DROPPED;
    }
    return END_NONE;
}

/* With leases a task may be ended by a thread that takes, or that closes, so only the reason tells
 * how. */
static enum end end_by_reason(const struct frame *frame, enum elapse_end reason)
{
    bool scheduling = frame != NULL && (frame->call == CALL_SCHEDULE || frame->call == CALL_BATCH);
    switch (reason) {
    case ELAPSE_END_RAN:
        return END_RAN;
    case ELAPSE_END_CANCELLED:
        return frame != NULL && frame->call == CALL_CANCEL ? END_REMOVED : END_RAN;
    case ELAPSE_END_REPLACED:
        return scheduling ? END_REPLACED : END_RAN;
    case ELAPSE_END_KEPT_OUT:
        return END_KEPT_AWAY;
    case ELAPSE_END_CLOSED:
        return END_DROPPED;
    }
    return END_NONE;
}

static bool reason_fits(enum end end, enum elapse_end reason)
{
    switch (end) {
    case END_RAN:
        return reason == ELAPSE_END_RAN || reason == ELAPSE_END_CANCELLED ||
               reason == ELAPSE_END_REPLACED;
    case END_REMOVED:
        return reason == ELAPSE_END_CANCELLED;
    case END_REPLACED:
        return reason == ELAPSE_END_REPLACED;
    case END_KEPT_AWAY:
        return reason == ELAPSE_END_KEPT_OUT;
    case END_DROPPED:
        return reason == ELAPSE_END_CLOSED;
    case END_NONE:
        break;
    }
    return false;
}

static void end_record(struct record *record, enum end end);

void record_destroy(void *context)
{
    struct record *record = context;
    must(!record->tells_reason, record->round, record, "got the other destructor");
    end_record(record, end_of(record, innermost));
}

void record_ended(void *context, enum elapse_end reason)
{
    struct record *record = context;
    bool leases = record->round->lease_ns > 0;
    bool own_run = record == just_ran;
    enum end end =
        leases && !own_run ? end_by_reason(innermost, reason) : end_of(record, innermost);
    must(record->tells_reason, record->round, record, "got the other destructor");
    must(reason_fits(end, reason), record->round, record, "got another reason than is true");
    atomic_store(&record->reason, (int)reason);
    end_record(record, end);
}

static void end_record(struct record *record, enum end end)
{
    struct round *round = record->round;
    just_ran = NULL;
    must(record->has_destructor, round, record, "was destroyed, and has no destructor");
    must(atomic_fetch_add(&record->destroyed, 1) == 0, round, record, "was destroyed twice");
    must(!atomic_load(&record->active), round, record, "was destroyed while it ran");
    must(atomic_load(&record->handed_back) == 0, round, record, "was destroyed and handed back");
    must(end != END_NONE, round, record, "was destroyed for no reason to be seen");
    must(end != END_RAN || atomic_load(&record->runs) > 0 || round->lease_ns > 0, round, record,
         "ended without a run");
    must(end != END_KEPT_AWAY || atomic_load(&record->runs) == 0, round, record,
         "was kept away and ran");
    /* Closing waits until what was taken is done, and not for what done destroys after that. */
    bool in_done = end == END_RAN && round->takers > 0;
    must((end != END_RAN && end != END_DROPPED) || in_done || !atomic_load(&round->closed), round,
         record, "was destroyed after closing");
    atomic_store(&record->end, (int)end);
    if (innermost != NULL && end != END_RAN) {
        innermost->destroyed = record;
        innermost->destructions++;
    }
    struct random_source *source = random_of_thread(round);
    if (random_one_in(source, 16) && atomic_load(&round->phase) == PHASE_BUSY)
        operate(round, source, true);
}

static const struct asked *record_earliest(const struct record *record)
{
    const struct asked *earliest = record->history;
    for (unsigned i = 1; i < record->asked_count; i++) {
        if (record->history[i].low_ns < earliest->low_ns)
            earliest = &record->history[i];
    }
    return earliest;
}

void record_hand_back(const struct elapse_handed_back *handed_back, void *context)
{
    const struct elapse_task *task = &handed_back->task;
    uint64_t deadline_ns = handed_back->deadline_ns;
    struct round *round = context;
    struct record *record = task->context;
    char key[16];
    must(record->round == round, round, record, "a strange task was handed back");
    must(atomic_fetch_add(&record->handed_back, 1) == 0, round, record, "was handed back twice");
    must(atomic_load(&record->destroyed) == 0, round, record, "was destroyed and handed back");
    must(!atomic_load(&record->active), round, record, "was handed back while it ran");
    must(task->action == record_action, round, record, "was handed back with another action");
    must((task->destroy == record_destroy) == (record->has_destructor && !record->tells_reason) &&
             (task->ended == record_ended) == record->tells_reason,
         round, record, "was handed back with another destructor");
    must((task->key != NULL) == (record->key >= 0), round, record, "was handed back with no key");
    if (task->key != NULL)
        must(task->key_bytes == key_bytes_of(record->key, key) &&
                 memcmp(task->key, key, task->key_bytes) == 0,
             round, record, "was handed back with another key");
    record_lock(record); /* a change of the period may not have been noted yet */
    must(handed_back->wall_clock == record->wall_clock && task->recurrence == record->recurrence &&
             task->period_ns == record->period_ns && task->zone == record->zone &&
             (task->recurrence == ELAPSE_RECUR_NEVER || task->if_missed == record->if_missed),
         round, record, "was handed back as one that recurs otherwise");
    record_unlock(record);
    must((task->cron != NULL) == (record->recurrence == ELAPSE_RECUR_CRON), round, record,
         "was handed back with another expression");
    record_lock(record);
    /* A task whose lease has expired is due for another attempt, whatever it was moved to. */
    const struct asked *asked = round->lease_ns > 0 && atomic_load(&record->runs) > 0
                                    ? record_earliest(record)
                                    : record_in_force(record);
    must(deadline_ns >= asked->low_ns, round, record, "was handed back with an earlier deadline");
    record_unlock(record);
    atomic_fetch_add(&round->handed_back, 1);
}
