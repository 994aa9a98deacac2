/*
 * The deadlocks that docs/guide/cancelling.md shows are those of this scheduler. Each trace is
 * played up to where it would stand still; one of the two then gives up, by a time-out of its own,
 * and sees that what it waits for has not happened and cannot have.
 */
#include "../../scheduler/fixture.h"

#include <errno.h>
#include <time.h>

#include <semaphore.h>

#define GIVE_UP_NS (50 * ELAPSE_MILLISECOND_NS)

static struct timespec soon(void)
{
    struct timespec time;

    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += (long)GIVE_UP_NS;
    if (time.tv_nsec >= (long)ELAPSE_SECOND_NS) {
        time.tv_nsec -= (long)ELAPSE_SECOND_NS;
        time.tv_sec++;
    }
    return time;
}

/* ---- a lock that the action needs ---- */

struct locking {
    pthread_mutex_t orders;
    sem_t begun;
    atomic_int locked; /* what the action's attempt to lock gave */
};

static struct locking locking_ready(void)
{
    struct locking locking = {.locked = -1};

    pthread_mutex_init(&locking.orders, NULL);
    sem_init(&locking.begun, 0, 0);
    return locking;
}

static void lock_orders(void *context, const struct elapse_run *run)
{
    struct locking *locking = context;

    (void)run;
    sem_post(&locking->begun);
    pthread_mutex_lock(&locking->orders);
    pthread_mutex_unlock(&locking->orders);
}

static void lock_orders_or_give_up(void *context, const struct elapse_run *run)
{
    struct locking *locking = context;
    struct timespec until = soon();

    (void)run;
    sem_post(&locking->begun);
    locking->locked = pthread_mutex_timedlock(&locking->orders, &until);
}

TEST(waiting_with_a_lock_that_the_action_needs)
{
    static struct locking locking;
    struct elapse_scheduler *scheduler = started_new(1);
    struct elapse_task task = {.action = lock_orders, .context = &locking};

    locking = locking_ready();
    pthread_mutex_lock(&locking.orders);
    struct elapse_handle handle = schedule_after(scheduler, task, 0);
    sem_wait(&locking.begun);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, GIVE_UP_NS), ELAPSE_CANCEL_RUNNING);
    pthread_mutex_unlock(&locking.orders);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handle, ELAPSE_NEVER), ELAPSE_CANCEL_GONE);
    scheduler_end(scheduler);
}

TEST(closing_with_a_lock_that_the_action_needs)
{
    static struct locking locking;
    struct elapse_scheduler *scheduler = started_new(1);
    struct elapse_task task = {.action = lock_orders_or_give_up, .context = &locking};

    locking = locking_ready();
    pthread_mutex_lock(&locking.orders);
    (void)schedule_after(scheduler, task, 0);
    sem_wait(&locking.begun);
    assert_int_equal(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL), ELAPSE_OK);
    pthread_mutex_unlock(&locking.orders);
    assert_int_equal(locking.locked, ETIMEDOUT);
    scheduler_end(scheduler);
}

TEST(stepping_with_a_lock_that_the_action_needs)
{
    static struct locking locking;
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task task = {.action = lock_orders_or_give_up, .context = &locking};

    locking = locking_ready();
    (void)schedule_at(scheduler, task, TICK_NS);
    pthread_mutex_lock(&locking.orders);
    assert_int_equal(step(scheduler, TICK_NS), 1);
    pthread_mutex_unlock(&locking.orders);
    assert_int_equal(locking.locked, ETIMEDOUT);
    scheduler_end(scheduler);
}

static void lock_orders_at_the_end(void *context)
{
    struct locking *locking = context;

    locking->locked = pthread_mutex_trylock(&locking->orders);
    if (locking->locked == 0)
        pthread_mutex_unlock(&locking->orders);
}

/* Cancels; replaces by the key. Both destroy the old context before they return. */
TEST(cancelling_with_a_lock_that_the_destructor_needs)
{
    static struct locking locking;
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task task = {.action = lock_orders,
                               .destroy = lock_orders_at_the_end,
                               .context = &locking,
                               .key = "order 7",
                               .key_bytes = 7};

    locking = locking_ready();
    (void)schedule_at(scheduler, task, TICK_NS);
    pthread_mutex_lock(&locking.orders);
    struct elapse_handle handle = schedule_at(scheduler, task, TICK_NS);
    assert_int_equal(locking.locked, EBUSY);
    locking.locked = -1;
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(locking.locked, EBUSY);
    pthread_mutex_unlock(&locking.orders);
    scheduler_end(scheduler);
}

/* ---- two actions ---- */

struct pair {
    struct elapse_handle handles[2];
    pthread_barrier_t begun;
    enum elapse_cancel patient_answer;
    enum elapse_cancel hasty_answer;
};

static void wait_for_the_hasty(void *context, const struct elapse_run *run)
{
    struct pair *pair = context;

    pthread_barrier_wait(&pair->begun);
    pair->patient_answer = elapse_task_cancel_wait(run->scheduler, pair->handles[1], ELAPSE_NEVER);
}

static void wait_for_the_patient(void *context, const struct elapse_run *run)
{
    struct pair *pair = context;

    pthread_barrier_wait(&pair->begun);
    pair->hasty_answer = elapse_task_cancel_wait(run->scheduler, pair->handles[0], GIVE_UP_NS);
}

TEST(two_actions_that_wait_for_each_other)
{
    static struct pair pair;
    struct elapse_scheduler *scheduler = started_new(2);
    struct elapse_task patient = {.action = wait_for_the_hasty, .context = &pair};
    struct elapse_task hasty = {.action = wait_for_the_patient, .context = &pair};

    pthread_barrier_init(&pair.begun, NULL, 3);
    pair.handles[0] = schedule_after(scheduler, patient, 0);
    pair.handles[1] = schedule_after(scheduler, hasty, 0);
    pthread_barrier_wait(&pair.begun);
    assert_int_equal(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL), ELAPSE_OK);
    assert_int_equal(pair.hasty_answer, ELAPSE_CANCEL_RUNNING);
    assert_int_equal(pair.patient_answer, ELAPSE_CANCEL_GONE);
    scheduler_end(scheduler);
}

/* ---- one worker ---- */

struct errand {
    sem_t done;        /* for the thread that waits for the errand */
    sem_t at_end;      /* for the test */
    atomic_int waited; /* errno of the wait; 0: it was done */
};

static void wait_for_errand(void *context, const struct elapse_run *run)
{
    struct errand *errand = context;
    struct timespec until = soon();

    (void)run;
    errand->waited = sem_timedwait(&errand->done, &until) == 0 ? 0 : errno;
}

static void do_errand(void *context, const struct elapse_run *run)
{
    struct errand *errand = context;

    (void)run;
    sem_post(&errand->done);
    sem_post(&errand->at_end);
}

/* With workers = 0 the clock's thread is the one worker. */
TEST(an_action_that_waits_for_a_task_behind_it)
{
    static struct errand errand;

    for (unsigned workers = 0; workers <= 1; workers++) {
        struct elapse_scheduler *scheduler = started_new(workers);
        struct elapse_task waits = {.action = wait_for_errand, .context = &errand};
        struct elapse_task acts = {.action = do_errand, .context = &errand};

        sem_init(&errand.done, 0, 0);
        sem_init(&errand.at_end, 0, 0);
        errand.waited = -1;
        uint64_t deadline_ns = elapse_scheduler_now_ns(scheduler) + 5 * TICK_NS;
        (void)schedule_at(scheduler, waits, deadline_ns);
        (void)schedule_at(scheduler, acts, deadline_ns + TICK_NS);
        sem_wait(&errand.at_end);
        scheduler_end(scheduler);
        assert_int_equal(errand.waited, ETIMEDOUT);
    }
}

/* ---- pull mode ---- */

struct taking {
    struct elapse_scheduler *scheduler;
    struct elapse_taken taken;
    enum elapse_error error; /* of closing */
    atomic_bool closed;
};

static void *close_with_a_taken_task(void *context)
{
    struct taking *taking = context;

    taking->error = elapse_scheduler_close(taking->scheduler, ELAPSE_CLOSE_DROP, NULL, NULL);
    atomic_store(&taking->closed, true);
    return NULL;
}

TEST(a_taker_that_waits_for_what_it_has_taken)
{
    static struct taking taking;
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);
    pthread_t closer;

    options.pull = true;
    taking.scheduler = scheduler_new(&options);
    (void)schedule_at(taking.scheduler, task_named('a'), TICK_NS);
    assert_int_equal(step(taking.scheduler, TICK_NS), 0);
    assert_int_equal(elapse_task_take(taking.scheduler, 0, &taking.taken), ELAPSE_OK);
    struct elapse_handle handle = taking.taken.run.handle;
    assert_int_equal(elapse_task_cancel_wait(taking.scheduler, handle, GIVE_UP_NS),
                     ELAPSE_CANCEL_RUNNING);
    assert_int_equal(pthread_create(&closer, NULL, close_with_a_taken_task, &taking), 0);
    sleep_ns(GIVE_UP_NS);
    assert_false(atomic_load(&taking.closed));
    assert_int_equal(elapse_task_done(taking.scheduler, handle), ELAPSE_OK);
    pthread_join(closer, NULL);
    assert_int_equal(taking.error, ELAPSE_OK);
    scheduler_end(taking.scheduler);
}

TEST_MAIN("deadlocks")
