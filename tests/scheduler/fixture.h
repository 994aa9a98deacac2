/*
 * What the tests of the scheduler share: tasks that write down their runs and their
 * ends, a scheduler on manual time, one with workers, and an action that can be held.
 *
 * A task is named by a number below TASKS_MAX, which its context stands for; in small
 * tests that is a letter, so that "abc" says which tasks ran, in this order. There is
 * one log, emptied whenever a scheduler is made here.
 *
 * Actions only write down: a failed assertion leaves by longjmp, which an action must
 * not do.
 */
#ifndef ELAPSE_TESTS_FIXTURE_H
#define ELAPSE_TESTS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <elapse/scheduler.h>
#include <pthread.h>

enum { TASKS_MAX = 1 << 17 };

#define TICK_NS ELAPSE_MILLISECOND_NS

/* ---- schedulers ---- */

/* Options of a scheduler on manual time. */
struct elapse_scheduler_options manual_options(uint64_t tick_ns, unsigned shards);

/* Makes one, not started, and empties the log. Fails the test if that fails. */
struct elapse_scheduler *scheduler_new(const struct elapse_scheduler_options *options);

/* On manual time. */
struct elapse_scheduler *manual_new(uint64_t tick_ns, unsigned shards);

/* On the real clock, started, with so many workers and one shard. */
struct elapse_scheduler *started_new(unsigned workers);

/* Closes (DROP) if that was not done, and frees. */
void scheduler_end(struct elapse_scheduler *scheduler);

/* ---- tasks ---- */

/* What stands for a task as its context, and back. */
void *name_of(size_t number);
size_t number_of(const void *context);

/* A task that writes down when it runs; one that writes down its end too; and one
 * that does both and has a key. */
struct elapse_task task_named(size_t number);
struct elapse_task task_with_end(size_t number);
struct elapse_task task_with_key(size_t number, const char *key, enum elapse_key_policy policy);

/* The action and the destructor of those, for tasks of another kind. */
void write_run(void *context, const struct elapse_run *run);
void write_end(void *context);

/* Schedule; fail the test if the scheduler refuses. */
struct elapse_handle schedule_at(struct elapse_scheduler *scheduler, const struct elapse_task *task,
                                 uint64_t deadline_ns);
struct elapse_handle schedule_after(struct elapse_scheduler *scheduler,
                                    const struct elapse_task *task, uint64_t delay_ns);

bool same_handle(struct elapse_handle one, struct elapse_handle other);
bool zero_handle(struct elapse_handle handle);

/* Pending tasks, as the statistics have it. */
uint64_t pending_tasks(struct elapse_scheduler *scheduler);

/* ---- what has run ---- */

struct run_record {
    size_t number;
    struct elapse_run run;
    pthread_t thread;
};

/* How many runs are in the log; the one with this index. */
size_t runs(void);
struct run_record run_at(uint64_t index);

/* Steps to a time; how many actions ran. Fails the test if the scheduler refuses. */
size_t step(struct elapse_scheduler *scheduler, uint64_t now_ns);

/* Fails the test unless exactly the tasks of these letters ran, in this order, since
 * the log was emptied or last expected. */
void expect_runs(const char *letters);

/* As step and expect_runs. */
void expect_step(struct elapse_scheduler *scheduler, uint64_t now_ns, const char *letters);

/* How often this task has ended; on which thread last. */
size_t ends_of(size_t number);
pthread_t end_thread_of(size_t number);
/* How often any has. */
size_t ends(void);

void empty_log(void);

/* ---- real time ---- */

/* Waits until `count` runs are in the log. Fails the test after half a minute. */
void wait_for_runs(size_t count);

/* Waits until met(context) is true. Fails the test after half a minute. */
void wait_until(bool (*met)(void *context), void *context);

void sleep_ns(uint64_t duration_ns);

/* An action that holds its worker; its context is a gate: it raises `entered`
 * and waits for `open`. Let a gate be static: after a failed test its action may still
 * stand there. */
struct gate {
    atomic_uint entered; /* how many actions have come to it */
    atomic_uint left;    /* how many have returned */
    atomic_bool open;
};

void hold(void *context, const struct elapse_run *run);
struct elapse_task task_at_gate(struct gate *gate);
void wait_entered(struct gate *gate, unsigned count);
void open_gate(struct gate *gate);

#endif
