/*
 * Tests calls that run at the same time. Each number is called once, on as many threads as allowed.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "../../../src/cluster/serve/base.h"
#include "../../../src/os/os.h"
#include "../../support/test.h"

enum { MOST = 100 };

static _Atomic unsigned called[MOST];
static const struct elapse__os *real_os;
static struct elapse__os counting_os;
static unsigned threads, threads_max; /* started, and how many the system gives */

static int count_thread(struct elapse__os_thread *thread, size_t stack_bytes,
                        void *(*thread_main)(void *argument), void *argument)
{
    if (threads == threads_max)
        return EAGAIN;
    threads++;
    return real_os->thread_start(thread, stack_bytes, thread_main, argument);
}

static void note(void *context, uint32_t number)
{
    assert_ptr_equal(context, called);
    atomic_fetch_add(&called[number], 1);
}

static void call_each(uint32_t count, unsigned given)
{
    memset(called, 0, sizeof called);
    threads = 0;
    threads_max = given;
    real_os = elapse__os;
    counting_os = *elapse__os;
    counting_os.thread_start = count_thread;
    elapse__os = &counting_os;
    elapse__cluster_each(count, note, called);
    elapse__os = real_os;
    for (uint32_t i = 0; i < MOST; i++)
        assert_int_equal(called[i], i < count ? 1 : 0);
}

TEST(each_number_is_called_once)
{
    call_each(MOST, MOST);
    assert_int_equal(threads, ELAPSE__CLUSTER_TOGETHER - 1);
}

TEST(no_more_threads_than_calls)
{
    call_each(3, MOST);
    assert_int_equal(threads, 2);
    call_each(1, MOST);
    assert_int_equal(threads, 0);
    call_each(0, MOST);
    assert_int_equal(threads, 0);
}

TEST(fewer_threads_do_all)
{
    call_each(MOST, 2);
    assert_int_equal(threads, 2);
    call_each(MOST, 0);
}

TEST_MAIN("together")
