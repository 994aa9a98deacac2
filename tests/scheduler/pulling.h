/*
 * Functions that the tests of pull mode on manual time share.
 */
#ifndef ELAPSE_TESTS_PULLING_H
#define ELAPSE_TESTS_PULLING_H

#include "fixture.h"

static inline struct elapse_scheduler *pull_new(void)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);

    options.pull = true;
    return scheduler_new(&options);
}

#define PULL_TEST(function) SCHEDULER_TEST(function, pull_new())

static inline struct elapse_handle add(struct elapse_scheduler *scheduler, char name,
                                       uint64_t deadline_ns)
{
    return schedule_at(scheduler, task_with_end((size_t)name), deadline_ns);
}

/* Returns a key, a letter, that puts tasks into this shard. Requires that no task has a letter as
 * its key. */
static inline char key_in_shard(struct elapse_scheduler *scheduler, uint32_t shard)
{
    /* NOLINTNEXTLINE(bugprone-too-small-loop-variable): letters */
    for (char key = 'a'; key <= 'z'; key++) {
        struct elapse_task task = {.key = &key, .key_bytes = 1};
        struct elapse_handle handle;

        assert_ok(elapse_task_schedule_after(scheduler, &task, ELAPSE_SECOND_NS, &handle));
        assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
        if (handle.shard == shard)
            return key;
    }
    fail_msg("no letter puts a task into shard %u", shard);
    return '\0';
}

/* In pull mode a step runs nothing; it sets the time. */
static inline void go_to(struct elapse_scheduler *scheduler, uint64_t now_ns)
{
    assert_int_equal(step(scheduler, now_ns), 0);
}

static inline void expect_nothing(struct elapse_scheduler *scheduler)
{
    struct elapse_taken taken;

    assert_int_equal(elapse_task_take(scheduler, 0, &taken), ELAPSE_ERROR_NOTHING_DUE);
}

/* Takes a task. Fails the test if it is not the task of this name. */
static inline struct elapse_taken take(struct elapse_scheduler *scheduler, char name)
{
    struct elapse_taken taken;

    memset(&taken, 0, sizeof taken);
    assert_ok(elapse_task_take(scheduler, 0, &taken));
    assert_int_equal(number_of(taken.context), name);
    assert_ptr_equal(taken.run.scheduler, scheduler);
    assert_true(taken.run.intended_ns <= taken.run.actual_ns);
    return taken;
}

static inline void done(struct elapse_scheduler *scheduler, const struct elapse_taken *taken)
{
    assert_ok(elapse_task_done(scheduler, taken->run.handle));
}

/* Takes all due tasks, each done before the next is taken. Fails the test unless they are exactly
 * the tasks of these letters, in this order. */
static inline void expect_taken(struct elapse_scheduler *scheduler, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        struct elapse_taken taken = take(scheduler, *letters);

        done(scheduler, &taken);
    }
    expect_nothing(scheduler);
}

#endif
