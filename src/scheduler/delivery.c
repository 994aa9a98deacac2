#include "delivery.h"

#include <sys/prctl.h>

#include "inside.h"
#include "ticks.h"
#include "workers.h"

/* Tasks taken out of a shard within one holding of its lock. */
enum { TAKEN_AT_ONCE = 64 };

static struct elapse__ticks wakes_of(const struct elapse__shard *shard)
{
    return (struct elapse__ticks){
        .monotonic = atomic_load(&shard->wake_tick),
        .wall_clock = atomic_load(&shard->wall_clock.wake_tick),
    };
}

struct elapse__ticks elapse__earliest_wakes(const struct elapse_scheduler *scheduler)
{
    struct elapse__ticks earliest = {ELAPSE_NEVER, ELAPSE_NEVER};
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        struct elapse__ticks wakes = wakes_of(&scheduler->shards[i]);
        earliest.monotonic =
            wakes.monotonic < earliest.monotonic ? wakes.monotonic : earliest.monotonic;
        if (wakes.wall_clock < earliest.wall_clock)
            earliest.wall_clock = wakes.wall_clock;
    }
    return earliest;
}

static bool may_be_due(const struct elapse__shard *shard, struct elapse__ticks now)
{
    struct elapse__ticks wakes = wakes_of(shard);
    return wakes.monotonic <= now.monotonic || wakes.wall_clock <= now.wall_clock;
}

bool elapse__is_anything_due(const struct elapse_scheduler *scheduler, struct elapse__ticks now)
{
    struct elapse__ticks earliest = elapse__earliest_wakes(scheduler);
    return earliest.monotonic <= now.monotonic || earliest.wall_clock <= now.wall_clock;
}

/* ---- running ---- */

struct elapse_run elapse__run_of(struct elapse_scheduler *scheduler,
                                 const struct elapse__begun *begun)
{
    return (struct elapse_run){
        .scheduler = scheduler,
        .handle = begun->handle,
        .intended_ns = begun->intended_ns,
        .actual_ns = begun->actual_ns,
        .wall_clock = begun->wall_clock,
        .number = begun->number,
        .missed = begun->missed,
    };
}

/* Calls the action; no lock is held. */
static void perform(struct elapse_scheduler *scheduler, const struct elapse__begun *begun)
{
    struct elapse__inside inside;
    struct elapse_run run = elapse__run_of(scheduler, begun);
    elapse__enter(&inside, scheduler, begun->handle);
    begun->action(begun->context, &run);
    elapse__leave(&inside);
}

uint64_t elapse__time_for(const struct elapse_scheduler *scheduler, bool wall_clock)
{
    return wall_clock ? elapse_scheduler_wall_clock_ns(scheduler)
                      : elapse_scheduler_now_ns(scheduler);
}

/*
 * Begins a task and runs it to its end. The lock of the shard is held at the call and
 * when it returns, and not in between.
 */
static void run(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                struct elapse__task *task)
{
    struct elapse__remains remains = {0};
    struct elapse__occurrence next;
    uint64_t actual_ns = elapse__time_for(scheduler, elapse__by_wall_clock(task));
    struct elapse__begun begun = elapse__shard_begin(shard, task, actual_ns);
    elapse__shard_unlock(shard);
    perform(scheduler, &begun);
    bool recurs = begun.recurrence != NULL &&
                  elapse__recurrence_next(begun.recurrence,
                                          elapse__time_for(scheduler, begun.wall_clock), &next);
    elapse__shard_lock(shard);
    struct elapse__ticks started =
        elapse__shard_finish(shard, task, recurs ? &next : NULL, &remains);
    if (remains.extra == NULL && started.monotonic == ELAPSE_NEVER &&
        started.wall_clock == ELAPSE_NEVER)
        return;
    elapse__shard_unlock(shard);
    elapse__announce(scheduler, started); /* first: a destructor may take its time */
    elapse__let_go(scheduler, &remains);
    elapse__shard_lock(shard);
}

void elapse__run_queued(struct elapse_scheduler *scheduler, struct elapse_handle handle)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, handle);
    elapse__shard_lock(shard);
    struct elapse__task *task = elapse__shard_find(shard, handle);
    if (task != NULL && task->state == ELAPSE__TASK_QUEUED)
        run(scheduler, shard, task);
    elapse__shard_unlock(shard);
}

static bool ended(const _Atomic bool *ending)
{
    return ending != NULL && atomic_load(ending);
}

/* Runs up to `most` tasks of a shard that are due at `until`. */
static size_t run_some(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                       struct elapse__ticks now, struct elapse__ticks until, size_t most,
                       const _Atomic bool *ending)
{
    size_t ran = 0;
    enum elapse__due due;
    elapse__shard_lock(shard);
    do {
        struct elapse__task *task;
        due = elapse__shard_take_due(shard, now, until, &task);
        if (due == ELAPSE__DUE_TASK) {
            run(scheduler, shard, task);
            ran++;
        } else if (due == ELAPSE__DUE_MORE) {
            elapse__shard_unlock(shard);
            elapse__shard_lock(shard);
        }
    } while (due != ELAPSE__DUE_NONE && ran < most && !ended(ending));
    elapse__shard_unlock(shard);
    return ran;
}

size_t elapse__run_due(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                       const _Atomic bool *ending)
{
    size_t ran = 0;
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        if (may_be_due(&scheduler->shards[i], now))
            ran += run_some(scheduler, &scheduler->shards[i], now, now, TAKEN_AT_ONCE, ending);
    }
    return ran;
}

/* The shard whose next task has the least deadline of all that are due by one of the clocks; NULL
 * if none is due. `*until`: its time goes to this deadline and no further, or it would go on with
 * its next, while another shard has an earlier one. */
static struct elapse__shard *first_due(const struct elapse_scheduler *scheduler,
                                       struct elapse__ticks now, struct elapse__ticks *until)
{
    struct elapse__ticks least = {ELAPSE_NEVER, ELAPSE_NEVER};
    struct elapse__shard *first = NULL;
    struct elapse__shard *first_by_wall_clock = NULL;
    /* In one pass: others may lower these while it is read. */
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        struct elapse__ticks wakes = wakes_of(&scheduler->shards[i]);
        if (wakes.monotonic <= now.monotonic && wakes.monotonic < least.monotonic) {
            least.monotonic = wakes.monotonic;
            first = &scheduler->shards[i];
        }
        if (wakes.wall_clock <= now.wall_clock && wakes.wall_clock < least.wall_clock) {
            least.wall_clock = wakes.wall_clock;
            first_by_wall_clock = &scheduler->shards[i];
        }
    }
    *until = first != NULL ? (struct elapse__ticks){least.monotonic, ELAPSE_NEVER}
                           : (struct elapse__ticks){now.monotonic, least.wall_clock};
    return first != NULL ? first : first_by_wall_clock;
}

size_t elapse__run_due_in_order(struct elapse_scheduler *scheduler, struct elapse__ticks now,
                                const _Atomic bool *ending)
{
    size_t ran = 0;
    struct elapse__ticks until;
    while (!ended(ending)) {
        /* An action may have set the wall clock back. */
        uint64_t wall_clock = elapse__now(scheduler).wall_clock;
        now.wall_clock = wall_clock < now.wall_clock ? wall_clock : now.wall_clock;
        struct elapse__shard *first = first_due(scheduler, now, &until);
        if (first == NULL)
            break;
        ran += run_some(scheduler, first, now, until, 1, ending);
    }
    return ran;
}

/* ---- delivering to workers ---- */

/* Moves up to TAKEN_AT_ONCE due tasks of a shard into the queue; false if it is full. */
static bool deliver_some(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                         struct elapse__ticks now)
{
    struct elapse_handle handles[TAKEN_AT_ONCE];
    unsigned count = 0;
    unsigned room = elapse__work_queue_room(&scheduler->queue);
    if (room == 0)
        return false;
    if (room > TAKEN_AT_ONCE)
        room = TAKEN_AT_ONCE;

    struct elapse__task *task;
    elapse__shard_lock(shard);
    while (count < room && elapse__shard_take_due(shard, now, now, &task) == ELAPSE__DUE_TASK)
        handles[count++] = elapse__handle_of(shard, task);
    elapse__shard_note_next(shard, now); /* there may be nothing to come back for */
    elapse__shard_unlock(shard);
    if (count > 0) {
        unsigned without_worker = elapse__work_queue_put(&scheduler->queue, handles, count);
        elapse__workers_make(scheduler, without_worker);
    }
    return true;
}

bool elapse__deliver(struct elapse_scheduler *scheduler, struct elapse__ticks now)
{
    const unsigned shards = scheduler->options.shards;
    bool any;
    do {
        any = false;
        for (unsigned i = 0; i < shards; i++) {
            struct elapse__shard *shard = &scheduler->shards[scheduler->turn];
            if (may_be_due(shard, now)) {
                any = true;
                if (!deliver_some(scheduler, shard, now))
                    return false;
            }
            scheduler->turn = (scheduler->turn + 1) % shards;
        }
    } while (any);
    return true;
}

/* ---- the clock thread ---- */

/* Sleeps until there may be something to do. While the queue is full, that is when it has
 * room again and not when something is due. */
static void sleep_until_needed(struct elapse_scheduler *scheduler, bool queue_full)
{
    elapse__sleeper_prepare(&scheduler->sleeper);
    const struct elapse__ticks never = {ELAPSE_NEVER, ELAPSE_NEVER};
    elapse__sleeper_sleep(&scheduler->sleeper,
                          queue_full ? never : elapse__earliest_wakes(scheduler), NULL);
}

void *elapse__clock_main(void *argument)
{
    struct elapse_scheduler *scheduler = argument;
    /* As late as the timer is precise, not 50 microseconds more. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    while (!atomic_load(&scheduler->clock_ending)) {
        struct elapse__ticks now = elapse__now(scheduler);
        bool queue_full = false;
        if (scheduler->options.workers == 0) {
            if (elapse__run_due(scheduler, now, &scheduler->clock_ending) > 0)
                continue;
        } else {
            queue_full = !elapse__deliver(scheduler, now);
        }
        if (queue_full)
            atomic_fetch_add(&scheduler->held_back, 1);
        sleep_until_needed(scheduler, queue_full);
    }
    return NULL;
}
