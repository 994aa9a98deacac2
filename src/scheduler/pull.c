/*
 * Pull mode: threads of the user take due tasks.
 *
 * One of the threads that wait has the turn. This thread sleeps until the earliest deadline, as the
 * clock thread does in the other modes. The other threads wait for the turn:
 *
 *      take:   look through the shards --- a task is due ---> pass the turn on, if this thread
 *                   |        ^                                has it, and return the task
 *                   | none   +------------------------------------------+
 *                   v                                                   |
 *              this thread has the turn? --- yes: sleep (sleeper.h) ----+
 *                   | no                                                |
 *                   v                                                   |
 *              wait for the turn ---------------------------------------+
 *
 * A thread keeps the turn while it looks through the shards. When the thread leaves, with a task or
 * without, it passes the turn on to one other thread. So one deadline wakes one thread, which wakes
 * the next thread. A thread that runs a task does not delay the others. A thread also passes the
 * turn on before it calls the destructor of a cancelled task. So no thread has the turn while it
 * runs the user's code.
 *
 * Source: D. C. Schmidt et al., "Leader/Followers", in Pattern-Oriented Software Architecture 2,
 * 2000.
 */
#include "pull.h"

#include "../base/assert.h"

#include "callback.h"
#include "due_search.h"
#include "lease.h"
#include "now.h"
#include "run.h"
#include "shard_run.h"

/* ---- life ---- */

bool elapse__pull_init(struct elapse_scheduler *scheduler)
{
    atomic_init(&scheduler->descriptor, ELAPSE__OS_NO_DESCRIPTOR);
    if (elapse__os->condition_init(&scheduler->pull_turn) != 0)
        return false;
    if (elapse__os->lock_init(&scheduler->pull_lock) == 0)
        return true;
    elapse__condition_free(&scheduler->pull_turn);
    return false;
}

static void close_descriptor(struct elapse_scheduler *scheduler)
{
    int descriptor = atomic_exchange(&scheduler->descriptor, ELAPSE__OS_NO_DESCRIPTOR);
    if (descriptor != ELAPSE__OS_NO_DESCRIPTOR)
        elapse__os->descriptor_close(descriptor);
}

void elapse__pull_free(struct elapse_scheduler *scheduler)
{
    close_descriptor(scheduler);
    elapse__condition_free(&scheduler->pull_turn);
    elapse__lock_free(&scheduler->pull_lock);
}

static bool is_closing(const struct elapse_scheduler *scheduler)
{
    return atomic_load(&scheduler->life) >= (int)ELAPSE__LIFE_CLOSING;
}

/* Sets the alarms for a program that waits for the descriptor. Does nothing while a thread sleeps,
 * because that thread has set the alarms and needs them. Does nothing once close has begun, because
 * close leaves an alarm readable. */
static void set_alarms(struct elapse_scheduler *scheduler)
{
    elapse__lock(&scheduler->pull_lock);
    if (!scheduler->pull_turn_taken && !is_closing(scheduler)) {
        elapse__sleeper_reset(&scheduler->sleeper);
        elapse__sleeper_prepare(&scheduler->sleeper);
        elapse__sleeper_set(&scheduler->sleeper, elapse__earliest_wakes(scheduler));
    }
    elapse__unlock(&scheduler->pull_lock);
}

bool elapse__pull_start(struct elapse_scheduler *scheduler)
{
    int descriptor;
    ELAPSE__ASSERT(scheduler->options.pull);
    if (!elapse__sleeper_watch(&scheduler->sleeper, &descriptor))
        return false;
    atomic_store(&scheduler->descriptor, descriptor);
    set_alarms(scheduler);
    return true;
}

/* ---- the turn ---- */

/* Passes the turn on to one of the threads that wait for it. The thread that woke up for a deadline
 * passes the turn on as soon as it has a task. So one deadline wakes one thread, and that thread
 * wakes the next. Requires that `*has_turn` is true: the calling thread has the turn. Makes it
 * false. */
static void pass_turn_on(struct elapse_scheduler *scheduler, bool *has_turn)
{
    ELAPSE__ASSERT(*has_turn);
    *has_turn = false;
    elapse__lock(&scheduler->pull_lock);
    ELAPSE__ASSERT(scheduler->pull_turn_taken);
    scheduler->pull_turn_taken = false;
    if (is_closing(scheduler))
        elapse__condition_broadcast(&scheduler->pull_turn);
    else
        elapse__condition_signal(&scheduler->pull_turn);
    elapse__unlock(&scheduler->pull_lock);
}

/* Takes the turn if no thread has it. Otherwise waits until `until_ns` for a thread to pass the
 * turn on. Returns whether the calling thread has the turn. Stores in `*waited` whether it has
 * waited. A thread takes a free turn even if its time is over, because it may have been woken for
 * this turn; it passes the turn on when it leaves. */
static bool wait_for_turn(struct elapse_scheduler *scheduler, uint64_t until_ns, bool *waited)
{
    bool in_time = true;
    *waited = false;
    elapse__lock(&scheduler->pull_lock);
    while (scheduler->pull_turn_taken && !is_closing(scheduler) && in_time) {
        *waited = true;
        if (until_ns == ELAPSE_NEVER)
            elapse__condition_wait(&scheduler->pull_turn, &scheduler->pull_lock);
        else
            in_time = elapse__condition_wait_until(&scheduler->pull_turn, &scheduler->pull_lock,
                                                   until_ns);
    }
    bool has_turn = !scheduler->pull_turn_taken && !is_closing(scheduler);
    if (has_turn)
        scheduler->pull_turn_taken = true;
    elapse__unlock(&scheduler->pull_lock);
    return has_turn;
}

/* ---- the end of a lease ---- */

/* Ends a task that was cancelled after it was taken, and whose lease has expired. `*has_turn` says
 * whether the calling thread has the turn. If it has, the thread passes the turn on before the
 * destructor, which may take long: otherwise no thread would sleep until the next deadline
 * meanwhile. Requires the lock; releases it and takes it again. */
static void end_expired(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                        struct elapse__task *task, bool *has_turn)
{
    struct elapse__ended_task ended;
    ELAPSE__ASSERT(task->cancelled);
    elapse__ended_task_init(&ended);
    elapse__lease_end(shard, elapse__lease_of(task));
    struct elapse__ticks started = elapse__shard_finish(shard, task, NULL, &ended);
    ELAPSE__ASSERT(ended.extra != NULL); /* a task with a lease has extra fields */
    elapse__shard_unlock(shard);
    elapse__scheduler_wake_at(scheduler, started);
    if (*has_turn)
        pass_turn_on(scheduler, has_turn);
    ELAPSE__ASSERT(!*has_turn);
    elapse__ended_task_dispose(scheduler, &ended);
    elapse__shard_lock(shard);
}

/* Returns when the last lease of a shard ends, by CLOCK_MONOTONIC; ELAPSE_NEVER if there are no
 * leases, or if time is manual. Requires the lock. */
static uint64_t leases_until_ns(const struct elapse_scheduler *scheduler,
                                const struct elapse__shard *shard)
{
    if (shard->last_lease == NULL || scheduler->options.clock == ELAPSE_CLOCK_MANUAL)
        return ELAPSE_NEVER;
    uint64_t until_ns = elapse__tick_begins_ns(shard->last_lease->until_tick, shard->tick_ns);
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    return elapse_deadline_after(elapse__os->clock_ns(ELAPSE__OS_MONOTONIC), left_ns);
}

/* Waits until each taken task is done or its lease has expired, but no longer than until
 * `until_ns`. Ends the tasks that were cancelled and whose lease has expired. Returns false if
 * `until_ns` came first. */
static bool wait_for_takers(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                            uint64_t until_ns)
{
    elapse__shard_lock(shard);
    bool held = elapse__lease_any_held(shard, elapse__now(scheduler).monotonic);
    bool in_time = true;
    while (held && in_time) {
        uint64_t leases_ns = leases_until_ns(scheduler, shard);
        bool in_lease_time =
            elapse__shard_wait_for_an_end(shard, leases_ns < until_ns ? leases_ns : until_ns);
        in_time = in_lease_time || leases_ns < until_ns;
        held = elapse__lease_any_held(shard, elapse__now(scheduler).monotonic);
    }
    struct elapse__lease *lease = held ? NULL : shard->first_lease;
    bool has_turn = false; /* only a thread in a take has the turn */
    while (lease != NULL) {
        struct elapse__task *task = lease->task;
        lease = lease->next;
        if (task->cancelled) {
            end_expired(scheduler, shard, task, &has_turn);
            lease = shard->first_lease; /* start again, because the lock was released */
        }
    }
    elapse__shard_unlock(shard);
    return !held;
}

/* Wakes all threads that wait in a take. Waits until no thread has the turn, but no longer than
 * until `until_ns`. Then makes the descriptor readable for good. Returns false if `until_ns` came
 * first; the caller may repeat the call. */
static bool end_turns(struct elapse_scheduler *scheduler, uint64_t until_ns)
{
    bool in_time = true;
    elapse__sleeper_kick(&scheduler->sleeper);
    elapse__lock(&scheduler->pull_lock);
    elapse__condition_broadcast(&scheduler->pull_turn);
    while (scheduler->pull_turn_taken && in_time)
        in_time =
            elapse__condition_wait_at_most(&scheduler->pull_turn, &scheduler->pull_lock, until_ns);
    bool ended = !scheduler->pull_turn_taken;
    if (ended) /* no thread resets the alarms from here on */
        elapse__sleeper_stay_readable(&scheduler->sleeper);
    elapse__unlock(&scheduler->pull_lock);
    return ended;
}

bool elapse__pull_end(struct elapse_scheduler *scheduler, uint64_t until_ns)
{
    bool done = true;
    ELAPSE__ASSERT(scheduler->options.pull);
    ELAPSE__ASSERT(is_closing(scheduler));
    if (!end_turns(scheduler, until_ns))
        return false;
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        if (!wait_for_takers(scheduler, &scheduler->shards[i], until_ns))
            done = false;
    }
    return done;
}

/* ---- taking ---- */

/* The tasks that one call takes. Their leases begin when the batch is complete. Until then no other
 * thread can take one of these tasks, so no task can end, become due again, and be in the batch
 * twice. */
struct batch {
    struct elapse_taken *taken;
    size_t capacity;
    size_t count;
    bool complete;
    bool has_turn; /* the thread that takes has the turn to sleep for all threads */
};

/* Returns the tick at which a lease ends that begins now. */
static uint64_t lease_end_tick(const struct elapse_scheduler *scheduler)
{
    uint64_t now_ns = elapse_scheduler_now_ns(scheduler);
    return elapse__tick_of_deadline(elapse_deadline_after(now_ns, scheduler->options.lease_ns),
                                    scheduler->options.tick_ns);
}

/* Begins the leases of the tasks that are in the same shard as the first task. Returns how many
 * leases it has begun. */
static size_t begin_leases_of_shard(struct elapse_scheduler *scheduler, struct elapse_taken *taken,
                                    size_t count)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, taken[0].run.handle);
    size_t begun = 0;
    ELAPSE__ASSERT_THAT(count, >, 0);
    elapse__shard_lock(shard);
    uint64_t until_tick = lease_end_tick(scheduler);
    while (begun < count && taken[begun].run.handle.shard == shard->number) {
        struct elapse__task *task = elapse__shard_find(shard, taken[begun].run.handle);
        ELAPSE__ASSERT(task != NULL);
        struct elapse__lease *lease = elapse__lease_of(task);
        ELAPSE__ASSERT_THAT(lease->number, ==, taken[begun].lease_number);
        elapse__lease_begin(shard, lease, until_tick);
        taken[begun].lease_until_ns = elapse__tick_begins_ns(lease->until_tick, shard->tick_ns);
        begun++;
    }
    elapse__shard_unlock(shard);
    elapse__scheduler_wake_at(scheduler, (struct elapse__ticks){until_tick, ELAPSE_NEVER});
    return begun;
}

static void begin_leases(struct elapse_scheduler *scheduler, const struct batch *batch)
{
    size_t begun = 0;
    ELAPSE__ASSERT_THAT(scheduler->options.lease_ns, >, 0);
    while (begun < batch->count)
        begun += begin_leases_of_shard(scheduler, &batch->taken[begun], batch->count - begun);
}

/* Adds a task that has begun to the batch. */
static void add_begun(struct elapse_scheduler *scheduler, struct batch *batch,
                      const struct elapse__begun *begun)
{
    struct elapse__lease *lease = elapse__lease_of(begun->task);
    ELAPSE__ASSERT(!batch->complete);
    batch->taken[batch->count++] = (struct elapse_taken){
        .action = begun->action,
        .context = begun->context,
        .run = elapse__run_of(scheduler, begun),
        .lease_until_ns = ELAPSE_NEVER,
        .lease_number = lease == NULL ? 0 : ++lease->number,
    };
    batch->complete = batch->count == batch->capacity;
}

/* Takes the next task that is due, or is due again because its lease has expired. If the answer is
 * TASK, the task is in the batch. May release the lock and take it again. */
static enum elapse__due take_one(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                                 struct elapse__ticks now, struct batch *batch)
{
    struct elapse__task *task;
    enum elapse__due due = elapse__shard_take_due(shard, now, now, &task);
    if (due == ELAPSE__DUE_NONE || due == ELAPSE__DUE_MORE)
        return due;
    if (due == ELAPSE__DUE_EXPIRED && task->cancelled) {
        /* The tasks of the batch have no leases yet. A destructor that waits for one of these tasks
         * would wait for ever. So the batch ends before the destructor runs. */
        batch->complete = batch->count > 0;
        if (batch->complete)
            shard->wall_clock_first = false; /* the next take begins with this task */
        else
            end_expired(scheduler, shard, task, &batch->has_turn);
        return ELAPSE__DUE_MORE;
    }
    uint64_t actual_ns = elapse__time_for(scheduler, elapse__by_wall_clock(task));
    struct elapse__begun begun = due == ELAPSE__DUE_EXPIRED
                                     ? elapse__lease_begin_attempt(shard, task, actual_ns)
                                     : elapse__shard_begin(shard, task, actual_ns);
    add_begun(scheduler, batch, &begun);
    return ELAPSE__DUE_TASK;
}

/* Takes due tasks of the shard. */
static void take_from(struct elapse_scheduler *scheduler, struct elapse__shard *shard,
                      struct elapse__ticks now, struct batch *batch)
{
    enum elapse__due due = ELAPSE__DUE_TASK;
    elapse__shard_lock(shard);
    while (!batch->complete && due != ELAPSE__DUE_NONE && !is_closing(scheduler)) {
        now = elapse__now_in_shard(scheduler, shard, now);
        due = take_one(scheduler, shard, now, batch);
        if (due == ELAPSE__DUE_MORE) {
            elapse__shard_unlock(shard);
            elapse__shard_lock(shard);
        }
    }
    if (batch->complete) /* more tasks may be due, and the next take must know how old they are */
        elapse__shard_note_next(shard, now);
    elapse__shard_unlock(shard);
}

/* Takes tasks that are due now. Begins with the shard that has the task that was due first. */
static void take_due(struct elapse_scheduler *scheduler, struct batch *batch)
{
    struct elapse__ticks now = elapse__now(scheduler);
    struct elapse__ticks until;
    struct elapse__shard *first = elapse__first_due(scheduler, now, &until);
    while (first != NULL) {
        size_t before = batch->count;
        take_from(scheduler, first, now, batch);
        ELAPSE__ASSERT_THAT(batch->count, <=, batch->capacity);
        if (batch->complete || (batch->count == before && is_closing(scheduler)))
            break;
        if (batch->count == before &&
            elapse__earliest_wakes(scheduler).wall_clock <= now.wall_clock)
            now = elapse__now_if_set_back(scheduler, now);
        first = elapse__first_due(scheduler, now, &until);
    }
    if (scheduler->options.lease_ns > 0)
        begin_leases(scheduler, batch);
}

static uint64_t monotonic_ns(void)
{
    return elapse__os->clock_ns(ELAPSE__OS_MONOTONIC);
}

/* Sleeps until a task may be due, but no longer than until `until_ns`. Requires that the calling
 * thread has the turn. */
static void sleep_for_all(struct elapse_scheduler *scheduler, uint64_t until_ns)
{
    uint64_t now_ns = monotonic_ns();
    uint64_t timeout_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    elapse__sleeper_prepare(&scheduler->sleeper);
    elapse__sleeper_sleep(&scheduler->sleeper, elapse__earliest_wakes(scheduler),
                          until_ns == ELAPSE_NEVER ? ELAPSE_NEVER : timeout_ns);
}

/* Looks for due tasks, and waits for them until `until_ns`. A thread that has the turn keeps it
 * while it looks, unless it ends a task. */
static enum elapse_error take_or_wait(struct elapse_scheduler *scheduler, uint64_t until_ns,
                                      struct batch *batch)
{
    for (;;) {
        if (is_closing(scheduler))
            return ELAPSE_ERROR_CLOSED;
        take_due(scheduler, batch);
        if (batch->count > 0)
            return ELAPSE_OK;
        if (is_closing(scheduler))
            return ELAPSE_ERROR_CLOSED;
        if (scheduler->options.clock == ELAPSE_CLOCK_MANUAL)
            return ELAPSE_ERROR_NOTHING_DUE;
        if (until_ns == 0)
            set_alarms(scheduler);
        if (until_ns != ELAPSE_NEVER && monotonic_ns() >= until_ns)
            return ELAPSE_ERROR_NOTHING_DUE;
        bool waited = false;
        if (!batch->has_turn)
            batch->has_turn = wait_for_turn(scheduler, until_ns, &waited);
        if (batch->has_turn && !waited) /* otherwise look again, because tasks may be due */
            sleep_for_all(scheduler, until_ns);
    }
}

enum elapse_error elapse_task_take_batch(struct elapse_scheduler *scheduler, uint64_t timeout_ns,
                                         struct elapse_taken *taken, size_t capacity, size_t *count)
{
    bool manual = scheduler->options.clock == ELAPSE_CLOCK_MANUAL;
    struct batch batch = {.taken = taken, .capacity = capacity};
    *count = 0;
    if (!scheduler->options.pull || capacity == 0 ||
        (!manual && atomic_load(&scheduler->life) < (int)ELAPSE__LIFE_STARTED))
        return ELAPSE_ERROR_ARGUMENT;
    /* A time by the monotonic clock; ELAPSE_NEVER: without end. */
    uint64_t until_ns = timeout_ns == 0 ? 0 : elapse_deadline_after(monotonic_ns(), timeout_ns);
    enum elapse_error error = take_or_wait(scheduler, until_ns, &batch);
    *count = batch.count;
    if (batch.has_turn)
        pass_turn_on(scheduler, &batch.has_turn);
    return error;
}

enum elapse_error elapse_task_take(struct elapse_scheduler *scheduler, uint64_t timeout_ns,
                                   struct elapse_taken *taken)
{
    size_t count;
    return elapse_task_take_batch(scheduler, timeout_ns, taken, 1, &count);
}

int elapse_scheduler_descriptor(const struct elapse_scheduler *scheduler)
{
    return atomic_load(&scheduler->descriptor);
}

/* ---- done ---- */

/* What a thread says that it has taken. */
struct claim {
    struct elapse_handle handle;
    uint64_t lease_number; /* means nothing if the scheduler has no leases */
};

/* Returns the task if the claim is true, otherwise NULL. Requires the lock. */
static struct elapse__task *find_taken(struct elapse_scheduler *scheduler,
                                       struct elapse__shard *shard, struct claim claim)
{
    struct elapse__task *task = elapse__shard_find(shard, claim.handle);
    if (task == NULL || task->state != ELAPSE__TASK_RUNNING)
        return NULL;
    if (scheduler->options.lease_ns == 0)
        return task;
    uint64_t now_tick = elapse__now(scheduler).monotonic;
    return elapse__lease_is_held(task, claim.lease_number, now_tick) ? task : NULL;
}

static enum elapse_error finish_taken(struct elapse_scheduler *scheduler, struct claim claim)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, claim.handle);
    if (shard == NULL)
        return ELAPSE_ERROR_GONE;
    elapse__shard_lock(shard);
    struct elapse__task *task = find_taken(scheduler, shard, claim);
    if (task != NULL) {
        task->state = ELAPSE__TASK_FINISHING; /* from here on no other thread finishes the task */
        if (elapse__lease_of(task) != NULL)
            elapse__lease_end(shard, elapse__lease_of(task));
    }
    elapse__shard_unlock(shard);
    if (task == NULL)
        return ELAPSE_ERROR_GONE;

    struct elapse__occurrence next;
    const struct elapse__recurrence *recurrence = elapse__recurrence_of(task);
    struct elapse__ended_task ended;
    elapse__ended_task_init(&ended);
    bool recurs = elapse__next_occurrence_and_lock(scheduler, shard, task, recurrence, &next);
    ELAPSE__ASSERT_THAT(task->state, ==, ELAPSE__TASK_FINISHING);
    task->state = ELAPSE__TASK_RUNNING;
    struct elapse__ticks started = elapse__shard_finish(shard, task, recurs ? &next : NULL, &ended);
    elapse__shard_unlock(shard);
    elapse__scheduler_wake_at(scheduler, started);
    elapse__ended_task_dispose(scheduler, &ended);
    return ELAPSE_OK;
}

enum elapse_error elapse_task_done(struct elapse_scheduler *scheduler, struct elapse_handle handle)
{
    if (!scheduler->options.pull || scheduler->options.lease_ns > 0)
        return ELAPSE_ERROR_ARGUMENT;
    return finish_taken(scheduler, (struct claim){handle, 0});
}

enum elapse_error elapse_task_done_taken(struct elapse_scheduler *scheduler,
                                         const struct elapse_taken *taken)
{
    if (!scheduler->options.pull)
        return ELAPSE_ERROR_ARGUMENT;
    return finish_taken(scheduler, (struct claim){taken->run.handle, taken->lease_number});
}

enum elapse_error elapse_task_extend_lease(struct elapse_scheduler *scheduler,
                                           struct elapse_taken *taken)
{
    struct elapse__shard *shard = elapse__shard_of_handle(scheduler, taken->run.handle);
    if (scheduler->options.lease_ns == 0)
        return ELAPSE_ERROR_ARGUMENT;
    if (shard == NULL)
        return ELAPSE_ERROR_GONE;
    elapse__shard_lock(shard);
    struct elapse__task *task =
        find_taken(scheduler, shard, (struct claim){taken->run.handle, taken->lease_number});
    if (task != NULL) {
        struct elapse__lease *lease = elapse__lease_of(task);
        elapse__lease_end(shard, lease);
        elapse__lease_begin(shard, lease, lease_end_tick(scheduler));
        taken->lease_until_ns = elapse__tick_begins_ns(lease->until_tick, shard->tick_ns);
    }
    elapse__shard_unlock(shard);
    return task == NULL ? ELAPSE_ERROR_GONE : ELAPSE_OK;
}
