/*
 * Functions that the tests of the scheduler share: tasks that log their runs and their ends,
 * schedulers on manual time and with workers, and an action that a test can hold.
 *
 * The name of a task is a number below TASKS_MAX, and its context stands for that number. In small
 * tests it is a letter, so that "abc" says which tasks ran, in this order. There is one log. Each
 * function here that makes a scheduler empties it.
 *
 * Actions only log, and assert nothing: a failed assertion calls longjmp, which must not leave an
 * action.
 */
#ifndef ELAPSE_TESTS_FIXTURE_H
#define ELAPSE_TESTS_FIXTURE_H

#include <stdatomic.h>

#include <elapse/scheduler.h>
#include <pthread.h>

#include "../support/test.h"

enum { TASKS_MAX = 1 << 17 };

#define TICK_NS  ELAPSE_MILLISECOND_NS
#define T(ticks) ((uint64_t)(ticks)*TICK_NS)

/* Fails the test unless a call returned ELAPSE_OK. */
#define assert_ok(call) assert_int_equal((call), ELAPSE_OK)

/* ---- schedulers ---- */

/* Returns the options of a scheduler on manual time. */
struct elapse_scheduler_options manual_options(uint64_t tick_ns, unsigned shards);

/* Makes a scheduler without starting it, and empties the log. Fails the test on an error. */
struct elapse_scheduler *scheduler_new(const struct elapse_scheduler_options *options);

/* Makes a scheduler on manual time. */
struct elapse_scheduler *manual_new(uint64_t tick_ns, unsigned shards);

/* Returns the options of a scheduler on the real clock. */
struct elapse_scheduler_options real_options(unsigned workers, unsigned shards);

/* Makes and starts a scheduler. Fails the test on an error. */
struct elapse_scheduler *started_with(const struct elapse_scheduler_options *options);

/* Makes and starts a scheduler on the real clock, with one shard. */
struct elapse_scheduler *started_new(unsigned workers);

/* Closes the scheduler with DROP if it is not closed yet, and frees it. */
void scheduler_end(struct elapse_scheduler *scheduler);

/* Begin the definition of a test that gets a `scheduler`, which scheduler_end ends afterwards. */
#define SCHEDULER_TEST(function, made) \
    TEST_OF(function, struct elapse_scheduler *, scheduler, made, scheduler_end)
#define MANUAL_TEST(function) SCHEDULER_TEST(function, manual_new(TICK_NS, 1))

/* ---- tasks ---- */

/* The context that stands for a number, and the number of a context. */
void *name_of(size_t number);
size_t number_of(const void *context);

/* A task that logs its runs, one that also logs its end, and one that logs both and has a key. */
struct elapse_task task_named(size_t number);
struct elapse_task task_with_end(size_t number);
struct elapse_task task_with_key(size_t number, const char *key, enum elapse_key_policy policy);

/* Their action and their destructor, for tasks of another kind. */
void write_run(void *context, const struct elapse_run *run);
void write_end(void *context);

/* Schedule a task and return its handle. Fail the test if the scheduler refuses. */
struct elapse_handle schedule_at(struct elapse_scheduler *scheduler, struct elapse_task task,
                                 uint64_t deadline_ns);
struct elapse_handle schedule_after(struct elapse_scheduler *scheduler, struct elapse_task task,
                                    uint64_t delay_ns);

/* Looks the task up. Returns its state, and stores its deadline in `*deadline_ns`. */
enum elapse_task_state look_up_deadline(struct elapse_scheduler *scheduler,
                                        struct elapse_handle handle, uint64_t *deadline_ns);

bool same_handle(struct elapse_handle one, struct elapse_handle other);
bool zero_handle(struct elapse_handle handle);

struct elapse_statistics statistics_of(struct elapse_scheduler *scheduler);

/* Returns the number of pending tasks, from the statistics. */
uint64_t pending_tasks(struct elapse_scheduler *scheduler);

enum elapse_task_state state_of(struct elapse_scheduler *scheduler, struct elapse_handle handle);

/* ---- what has run ---- */

struct run_record {
    size_t number;
    struct elapse_run run;
    pthread_t thread;
};

/* Return the number of runs in the log, and one of them. */
size_t runs(void);
struct run_record run_at(uint64_t index);

/* Steps to a time. Returns how many actions ran. Fails the test if the scheduler refuses. */
size_t step(struct elapse_scheduler *scheduler, uint64_t now_ns);

/* Fails the test unless exactly the tasks of these letters ran, in this order, since the log was
 * emptied or this function was last called. */
void expect_runs(const char *letters);

/* Calls step, and then expect_runs. */
void expect_step(struct elapse_scheduler *scheduler, uint64_t now_ns, const char *letters);

/* Return how often this task has ended, and on which thread the last time. */
size_t ends_of(size_t number);
pthread_t end_thread_of(size_t number);
/* Returns how often any task has ended. */
size_t ends(void);

void empty_log(void);

/* ---- real time ---- */

/* Waits until `count` runs are in the log. Fails the test after half a minute. */
void wait_for_runs(size_t count);

/* Waits until met(context) is true. Fails the test after half a minute. */
void wait_until(bool (*met)(void *context), void *context);

void sleep_ns(uint64_t duration_ns);

/* The context of `hold`, an action that holds its worker: it adds 1 to `entered` and waits for
 * `open`. Gates should be static, because the action may still wait after a failed test. */
struct gate {
    atomic_uint entered; /* actions that have begun */
    atomic_uint left;    /* actions that have returned */
    atomic_bool open;
};

void hold(void *context, const struct elapse_run *run);
struct elapse_task task_at_gate(struct gate *gate);
void wait_entered(struct gate *gate, unsigned count);
void open_gate(struct gate *gate);

#endif
