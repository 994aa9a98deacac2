/*
 * Tests that a runner that cannot be started leaves nothing that somebody could use.
 */
#include <errno.h>

#include "../../../src/cluster/postgres/runner.h"
#include "../../../src/os/os.h"
#include "../../support/test.h"

static int refuse_thread(struct elapse__os_thread *thread, size_t stack_bytes,
                         void *(*main)(void *argument), void *argument)
{
    (void)thread, (void)stack_bytes, (void)main, (void)argument;
    return EAGAIN;
}

static int refuse_lock(struct elapse__lock *lock)
{
    (void)lock;
    return ENOMEM;
}

static int start(const struct elapse__os *os)
{
    static const char *const hosts[] = {"host='/nowhere'"};
    const struct elapse__runner_options options = {
        .partition = {.me = "test", .hosts = 1, .lease_ms = 1000},
        .hosts = hosts,
        .queue = "test",
        .address = "127.0.0.1:1",
    };
    struct elapse__runner *runner = (void *)(uintptr_t)1;
    const struct elapse__os *before = elapse__os;

    elapse__os = os;
    int error = elapse__runner_start(&runner, &options);
    elapse__os = before;
    assert_null(runner);
    return error;
}

TEST(without_a_thread_there_is_no_runner)
{
    struct elapse__os os = *elapse__os;

    os.thread_start = refuse_thread;
    assert_int_equal(start(&os), EAGAIN);
}

TEST(without_a_lock_there_is_no_runner)
{
    struct elapse__os os = *elapse__os;

    os.lock_init = refuse_lock;
    assert_int_equal(start(&os), ENOMEM);
}

TEST_MAIN("start")
