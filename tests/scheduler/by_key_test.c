/*
 * Tests cancelling, rescheduling and looking up by key: each call finds the task and acts on it in
 * one step.
 */
#include "pulling.h"
#include "recurring.h"

static const char key[] = "key";
enum { KEY_BYTES = sizeof key - 1 };

static struct elapse_handle add_keyed(struct elapse_scheduler *scheduler, char name,
                                      uint64_t deadline_ns)
{
    struct elapse_task task = task_with_key((size_t)name, key, ELAPSE_KEY_REPLACE);

    return schedule_at(scheduler, task, deadline_ns);
}

MANUAL_TEST(find_and_cancel_misses_a_replacement_and_cancel_by_key_does_not)
{
    struct elapse_handle found;

    add_keyed(scheduler, 'a', T(5));
    assert_true(elapse_task_find(scheduler, key, KEY_BYTES, &found));
    add_keyed(scheduler, 'b', T(5)); /* as another thread may do in between */
    assert_int_equal(elapse_task_cancel(scheduler, found), ELAPSE_CANCEL_GONE);
    assert_int_equal(pending_tasks(scheduler), 1);
    assert_int_equal(elapse_task_cancel_key(scheduler, key, KEY_BYTES), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(pending_tasks(scheduler), 0);
    assert_int_equal(ends_of('b'), 1);
    expect_step(scheduler, T(10), "");
}

SCHEDULER_TEST(a_key_without_a_task_is_gone, manual_new(TICK_NS, 4))
{
    struct elapse_found found;
    static const char long_key[ELAPSE_KEY_BYTES_MAX + 1];
    const size_t lengths[] = {0, KEY_BYTES, sizeof long_key};

    for (size_t i = 0; i < 3; i++) {
        const char *any = lengths[i] == KEY_BYTES ? key : long_key;

        memset(&found, 1, sizeof found);
        assert_int_equal(elapse_task_cancel_key(scheduler, any, lengths[i]), ELAPSE_CANCEL_GONE);
        assert_int_equal(elapse_task_reschedule_key_at(scheduler, any, lengths[i], T(1)),
                         ELAPSE_ERROR_GONE);
        assert_int_equal(elapse_task_reschedule_key_after(scheduler, any, lengths[i], T(1)),
                         ELAPSE_ERROR_GONE);
        assert_int_equal(elapse_task_look_up_key(scheduler, any, lengths[i], &found),
                         ELAPSE_TASK_GONE);
        assert_int_equal(found.state, ELAPSE_TASK_GONE);
        assert_true(zero_handle(found.handle));
        assert_int_equal(found.deadline_ns, ELAPSE_NEVER);
        assert_false(found.wall_clock);
        assert_false(found.cancelled);
    }
}

SCHEDULER_TEST(a_look_up_by_key_tells_state_handle_deadline_and_clock, manual_new(TICK_NS, 4))
{
    struct elapse_task task = task_with_key('b', "wall", ELAPSE_KEY_REPLACE);
    struct elapse_handle handle = add_keyed(scheduler, 'a', T(5) - 1);
    struct elapse_found found;

    assert_int_equal(elapse_task_look_up_key(scheduler, key, KEY_BYTES, &found),
                     ELAPSE_TASK_PENDING);
    assert_int_equal(found.state, ELAPSE_TASK_PENDING);
    assert_true(same_handle(found.handle, handle));
    assert_int_equal(found.deadline_ns, T(5));
    assert_false(found.wall_clock);
    assert_int_equal(elapse_task_look_up_key(scheduler, key, KEY_BYTES, NULL), ELAPSE_TASK_PENDING);
    assert_ok(elapse_task_schedule_at_wall_clock(scheduler, &task, T(7), &handle));
    assert_int_equal(elapse_task_look_up_key(scheduler, "wall", 4, &found), ELAPSE_TASK_PENDING);
    assert_true(same_handle(found.handle, handle));
    assert_int_equal(found.deadline_ns, T(7));
    assert_true(found.wall_clock);
    assert_int_equal(elapse_task_look_up(scheduler, handle, &found), ELAPSE_TASK_PENDING);
    assert_true(found.wall_clock);
}

MANUAL_TEST(rescheduling_by_key_moves_the_pending_task)
{
    add_keyed(scheduler, 'a', T(5));
    assert_ok(elapse_task_reschedule_key_at(scheduler, key, KEY_BYTES, T(8)));
    expect_step(scheduler, T(7), "");
    assert_ok(elapse_task_reschedule_key_after(scheduler, key, KEY_BYTES, T(3)));
    expect_step(scheduler, T(9), "");
    expect_step(scheduler, T(10), "a");
    assert_int_equal(elapse_task_reschedule_key_at(scheduler, key, KEY_BYTES, T(20)),
                     ELAPSE_ERROR_GONE);
}

/* In pull mode a taken task runs for as long as the test likes. */
PULL_TEST(the_running_task_is_meant_only_if_none_is_pending)
{
    struct elapse_handle running = add_keyed(scheduler, 'a', T(1));
    struct elapse_found found;

    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    assert_int_equal(elapse_task_look_up_key(scheduler, key, KEY_BYTES, &found),
                     ELAPSE_TASK_RUNNING);
    assert_true(same_handle(found.handle, running));

    struct elapse_handle next = add_keyed(scheduler, 'b', T(2));
    assert_int_equal(elapse_task_look_up_key(scheduler, key, KEY_BYTES, &found),
                     ELAPSE_TASK_PENDING);
    assert_true(same_handle(found.handle, next));
    assert_ok(elapse_task_reschedule_key_at(scheduler, key, KEY_BYTES, T(3)));
    assert_int_equal(elapse_task_cancel_key(scheduler, key, KEY_BYTES), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends_of('b'), 1);
    assert_int_equal(ends_of('a'), 0);

    /* Only the running task is left. When it is moved, it becomes the pending task of its key. */
    assert_ok(elapse_task_reschedule_key_at(scheduler, key, KEY_BYTES, T(4)));
    assert_int_equal(pending_tasks(scheduler), 1);
    assert_int_equal(elapse_task_cancel_key(scheduler, key, KEY_BYTES), ELAPSE_CANCEL_RUNNING);
    assert_int_equal(pending_tasks(scheduler), 0);
    assert_int_equal(elapse_task_reschedule_key_at(scheduler, key, KEY_BYTES, T(4)),
                     ELAPSE_ERROR_GONE);
    done(scheduler, &taken);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(elapse_task_cancel_key(scheduler, key, KEY_BYTES), ELAPSE_CANCEL_GONE);
}

PULL_TEST(a_look_up_shows_that_a_running_task_was_cancelled_already)
{
    struct elapse_handle handle = schedule_at(scheduler, periodic('a', T(1)), T(1));
    struct elapse_found found;

    go_to(scheduler, T(1));
    struct elapse_taken taken = take(scheduler, 'a');
    assert_int_equal(elapse_task_look_up(scheduler, handle, &found), ELAPSE_TASK_RUNNING);
    assert_false(found.cancelled);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    assert_int_equal(elapse_task_look_up(scheduler, handle, &found), ELAPSE_TASK_RUNNING);
    assert_true(found.cancelled);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
    done(scheduler, &taken);
    assert_int_equal(elapse_task_look_up(scheduler, handle, &found), ELAPSE_TASK_GONE);
    assert_false(found.cancelled);
}

MANUAL_TEST(refused_by_key_as_by_handle)
{
    struct elapse_task task = task_with_key('a', key, ELAPSE_KEY_REPLACE);

    assert_ok(elapse_task_schedule_at_wall_clock(scheduler, &task, T(7), NULL));
    assert_int_equal(elapse_task_reschedule_key_at(scheduler, key, KEY_BYTES, T(8)),
                     ELAPSE_ERROR_WALL_CLOCK);
    assert_int_equal(elapse_task_cancel_key(scheduler, key, KEY_BYTES), ELAPSE_CANCEL_REMOVED);
}

TEST_MAIN("by_key")
