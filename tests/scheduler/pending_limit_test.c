/*
 * Tests that no task is refused while fewer tasks are pending than the limit, even if another
 * thread is being refused at that moment.
 *
 *      one shard, at the limit               another shard
 *
 *      schedule: first access to the count
 *                                            cancel: removed, one below the limit
 *                                            schedule: there is room
 *      refused, or the place is taken
 *
 * shard_steps.c is compiled here once more, with a call in place of each atomic access to the
 * count. So the part of the other shard can happen right after any chosen access.
 */
#include <stdatomic.h>
#include <stddef.h>

/* Set by the test: called after the access number `interrupt_at`, once. */
static void (*interrupt)(void);
static unsigned interrupt_at;

static void count_access(void)
{
    void (*call)(void) = interrupt;

    if (call != NULL && --interrupt_at == 0) {
        interrupt = NULL;
        call();
    }
}

static inline unsigned long long interrupted(unsigned long long value)
{
    count_access();
    return value;
}

#undef atomic_load
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_compare_exchange_weak
#undef atomic_compare_exchange_strong
#define atomic_load(object) interrupted(atomic_load_explicit(object, memory_order_seq_cst))
#define atomic_fetch_add(object, operand) \
    interrupted(atomic_fetch_add_explicit(object, operand, memory_order_seq_cst))
#define atomic_fetch_sub(object, operand) \
    interrupted(atomic_fetch_sub_explicit(object, operand, memory_order_seq_cst))
#define atomic_compare_exchange_weak(object, expected, desired)                  \
    interrupted(atomic_compare_exchange_weak_explicit(object, expected, desired, \
                                                      memory_order_seq_cst, memory_order_seq_cst))
#define atomic_compare_exchange_strong(object, expected, desired) \
    interrupted(atomic_compare_exchange_strong_explicit(          \
        object, expected, desired, memory_order_seq_cst, memory_order_seq_cst))

#include "../../src/scheduler/shard_steps.c" // NOLINT(bugprone-suspicious-include)

#include "fixture.h"

enum { LIMIT = 2, ACCESSES = 4 };

/* The tasks that other threads schedule and cancel, and what they were answered. */
static struct {
    struct elapse_scheduler *scheduler;
    struct elapse_handle cancelled; /* zeros: none is */
    struct elapse_task task;        /* to be scheduled */
    enum elapse_error error;
    enum elapse_cancel answer;
    unsigned interruptions;
} other;

static void *cancel_and_schedule(void *unused)
{
    static const struct elapse_handle none = {0, 0, 0};

    (void)unused;

    other.interruptions++;
    if (!same_handle(other.cancelled, none))
        other.answer = elapse_task_cancel(other.scheduler, other.cancelled);
    other.error = elapse_task_schedule_at(other.scheduler, &other.task, TICK_NS, NULL);
    return NULL;
}

/* Lets another thread do the other shard's part, because the interrupted thread holds a lock. */
static void let_other_thread_work(void)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, cancel_and_schedule, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static struct elapse_scheduler *limited_new(void)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 2);

    options.pending_max = LIMIT;
    return scheduler_new(&options);
}

/* A task with a key of its own, in this shard. */
static struct elapse_task task_in(struct elapse_scheduler *scheduler, uint32_t shard)
{
    static char keys[26];
    static size_t used;

    for (;;) {
        char *key = &keys[used++ % sizeof keys];
        struct elapse_task task = task_named('a');

        *key = (char)('a' + (key - keys));
        task.key = key;
        task.key_bytes = 1;
        struct elapse_handle handle = schedule_at(scheduler, task, TICK_NS);

        assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
        if (handle.shard == shard)
            return task;
    }
}

/* Schedules a task in the first shard. The other thread does its part after the access `at`. */
static enum elapse_error schedule_interrupted(struct elapse_scheduler *scheduler,
                                              const struct elapse_task *task, unsigned at)
{
    interrupt_at = at;
    interrupt = let_other_thread_work;
    enum elapse_error error = elapse_task_schedule_at(scheduler, task, TICK_NS, NULL);

    interrupt = NULL;
    return error;
}

TEST(another_thread_that_is_refused_takes_no_room)
{
    unsigned interruptions = 0;

    for (unsigned at = 1; at <= ACCESSES; at++) {
        struct elapse_scheduler *scheduler = limited_new();
        struct elapse_task first = task_in(scheduler, 0);
        struct elapse_task refused = task_in(scheduler, 0);
        struct elapse_task removed = task_in(scheduler, 1);

        memset(&other, 0, sizeof other);
        other.scheduler = scheduler;
        other.task = task_in(scheduler, 1);
        (void)schedule_at(scheduler, first, TICK_NS);
        other.cancelled = schedule_at(scheduler, removed, TICK_NS);
        enum elapse_error error = schedule_interrupted(scheduler, &refused, at);

        if (other.interruptions > 0) {
            assert_int_equal(other.answer, ELAPSE_CANCEL_REMOVED);
            /* There was one place, and one of the two threads has got it. */
            assert_true(error == ELAPSE_OK || other.error == ELAPSE_OK);
            assert_true(error == ELAPSE_ERROR_LIMIT || other.error == ELAPSE_ERROR_LIMIT);
        }
        assert_int_equal(pending_tasks(scheduler), LIMIT);
        interruptions += other.interruptions;
        scheduler_end(scheduler);
    }
    assert_true(interruptions > 0); /* or the count is kept elsewhere, and this tests nothing */
}

TEST(the_last_place_goes_to_one_of_two_threads)
{
    unsigned interruptions = 0;

    for (unsigned at = 1; at <= ACCESSES; at++) {
        struct elapse_scheduler *scheduler = limited_new();
        struct elapse_task first = task_in(scheduler, 0);
        struct elapse_task second = task_in(scheduler, 0);

        memset(&other, 0, sizeof other);
        other.scheduler = scheduler;
        other.task = task_in(scheduler, 1);
        (void)schedule_at(scheduler, first, TICK_NS);
        enum elapse_error error = schedule_interrupted(scheduler, &second, at);

        if (other.interruptions > 0)
            assert_int_equal((error == ELAPSE_OK) + (other.error == ELAPSE_OK), 1);
        else
            assert_ok(error);
        assert_int_equal(pending_tasks(scheduler), LIMIT);
        interruptions += other.interruptions;
        scheduler_end(scheduler);
    }
    assert_true(interruptions > 0);
}

TEST_MAIN("pending_limit")
