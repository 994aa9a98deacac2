/*
 * The work queue by itself: its ring, and that putting in more handles than there are free places
 * is caught in a build with assertions.
 */
#include "part.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "work_queue.h"

struct fixture {
    struct elapse__work_queue queue;
    struct counting_memory counting;
    struct elapse_allocator memory;
};

static void begin(struct fixture *fixture, unsigned capacity)
{
    fixture->memory = counting_allocator(&fixture->counting);
    assert_int_equal(elapse__work_queue_init(&fixture->queue, capacity, &fixture->memory),
                     ELAPSE_OK);
}

static void end(struct fixture *fixture)
{
    elapse__work_queue_free(&fixture->queue, &fixture->memory);
    assert_int_equal(fixture->counting.blocks, 0);
    assert_int_equal(fixture->counting.bytes, 0);
}

static struct elapse__queued queued_of(uint32_t number)
{
    return (struct elapse__queued){.handle = {number, number + 1, 0}, .number = number + 2};
}

/* Takes a handle as a worker does that was not busy. Returns its number. */
static uint32_t take(struct fixture *fixture, bool *busy)
{
    struct elapse__queued queued = {{0, 0, 0}, 0};
    bool kick;

    assert_true(elapse__work_queue_take(&fixture->queue, busy, &queued, &kick));
    assert_int_equal(queued.handle.generation, queued.handle.index + 1);
    assert_int_equal(queued.number, queued.handle.index + 2);
    return queued.handle.index;
}

static void handles_come_out_in_the_order_they_went_in(void **state)
{
    struct fixture fixture;
    bool busy = false;
    uint32_t put = 0;
    uint32_t taken = 0;

    (void)state;
    begin(&fixture, 3);
    elapse__work_queue_count_worker(&fixture.queue, true);
    for (unsigned round = 0; round < 20; round++) {
        unsigned count = round % 3 + 1;

        for (unsigned i = 0; i < count; i++, put++) {
            struct elapse__queued queued = queued_of(put);

            assert_int_equal(elapse__work_queue_room(&fixture.queue), 3 - i);
            (void)elapse__work_queue_put(&fixture.queue, &queued, 1);
        }
        for (unsigned i = 0; i < count; i++, taken++)
            assert_int_equal(take(&fixture, &busy), taken);
    }
    elapse__work_queue_end(&fixture.queue, true);
    assert_false(elapse__work_queue_take(&fixture.queue, &busy,
                                         &(struct elapse__queued){{0, 0, 0}, 0}, &(bool){false}));
    elapse__work_queue_count_worker(&fixture.queue, false);
    end(&fixture);
}

#ifdef ELAPSE__ASSERTIONS
/* Puts 3 handles into a capacity of 2, with what it prints going to this descriptor. */
static _Noreturn void overflow(int descriptor)
{
    static struct fixture fixture;
    const struct elapse__queued queued[] = {queued_of(1), queued_of(2), queued_of(3)};

    /* A trap is to end this process, and not to fail a test in it. */
    (void)signal(SIGILL, SIG_DFL);
    (void)signal(SIGTRAP, SIG_DFL);
    (void)dup2(descriptor, STDERR_FILENO);
    begin(&fixture, 2);
    (void)elapse__work_queue_put(&fixture.queue, queued, 3);
    _exit(0);
}
#endif

static void more_handles_than_places_stop_the_program_with_a_message(void **state)
{
    (void)state;
#ifndef ELAPSE__ASSERTIONS
    skip();
#else
    char text[4096];
    size_t length = 0;
    ssize_t got;
    int ends[2];
    int status = 0;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0)
        overflow(ends[1]);
    (void)close(ends[1]);
    while ((got = read(ends[0], text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    assert_non_null(strstr(text, "work_queue.c"));
    assert_non_null(strstr(text, "assertion failed: count <= queue->capacity - queue->count"));
    assert_non_null(strstr(text, "left: 3, right: 2"));
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_come_out_in_the_order_they_went_in),
        cmocka_unit_test(more_handles_than_places_stop_the_program_with_a_message),
    };

    return cmocka_run_group_tests_name("work queue", tests, NULL, NULL);
}
