/*
 * Tests the work queue alone: its ring, workers that leave, and that an assertion fails when more
 * handles are put in than there are free places.
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
static uint32_t take(struct fixture *fixture, struct elapse__worker *worker)
{
    struct elapse__queued queued = {{0, 0, 0}, 0};
    bool kick;

    assert_true(elapse__work_queue_take(&fixture->queue, worker, &queued, &kick));
    assert_int_equal(queued.handle.generation, queued.handle.index + 1);
    assert_int_equal(queued.number, queued.handle.index + 2);
    return queued.handle.index;
}

TEST(handles_come_out_in_the_order_they_went_in)
{
    struct fixture fixture;
    struct elapse__worker worker = {0};
    uint32_t put = 0;
    uint32_t taken = 0;

    begin(&fixture, 3);
    elapse__work_queue_expect_worker(&fixture.queue);
    elapse__work_queue_worker_made(&fixture.queue, true);
    for (unsigned round = 0; round < 20; round++) {
        unsigned count = round % 3 + 1;

        for (unsigned i = 0; i < count; i++, put++) {
            struct elapse__queued queued = queued_of(put);

            assert_int_equal(elapse__work_queue_room(&fixture.queue), 3 - i);
            (void)elapse__work_queue_put(&fixture.queue, &queued, 1);
        }
        for (unsigned i = 0; i < count; i++, taken++)
            assert_int_equal(take(&fixture, &worker), taken);
    }
    elapse__work_queue_end(&fixture.queue);
    assert_false(elapse__work_queue_take(&fixture.queue, &worker,
                                         &(struct elapse__queued){{0, 0, 0}, 0}, &(bool){false}));
    elapse__work_queue_forget_workers(&fixture.queue);
    end(&fixture);
}

/* ---- workers that leave ---- */

/* The queue to which something is done during a wait: it gets a handle, or at the second wait the
 * worker is made that was being made. */
static struct elapse__work_queue *waited_for;
static unsigned waits;

/* In place of waiting: the time has come at once. */
static bool time_out(struct elapse__condition *condition, struct elapse__lock *lock,
                     uint64_t until_ns)
{
    struct elapse__work_queue *queue = waited_for;

    (void)condition;
    (void)until_ns;
    waits++;
    if (queue == NULL || (queue->making && waits == 1))
        return false;
    waited_for = NULL;
    (void)pthread_mutex_unlock(&lock->mutex);
    if (queue->making) {
        elapse__work_queue_worker_made(queue, true);
    } else {
        struct elapse__queued queued = queued_of(7);
        (void)elapse__work_queue_put(queue, &queued, 1);
    }
    (void)pthread_mutex_lock(&lock->mutex);
    return false;
}

/* Makes a queue with `workers` workers that all but one leave as soon as they wait. */
static void begin_leaving(struct fixture *fixture, unsigned workers)
{
    static struct elapse__os os;

    os = elapse__os_linux;
    os.condition_wait_until = time_out;
    elapse__os = &os;
    waits = 0;
    waited_for = NULL;
    begin(fixture, 3);
    elapse__work_queue_let_leave(&fixture->queue, ELAPSE_SECOND_NS, 1);
    for (unsigned i = 0; i < workers; i++) {
        elapse__work_queue_expect_worker(&fixture->queue);
        elapse__work_queue_worker_made(&fixture->queue, true);
    }
}

static void end_leaving(struct fixture *fixture)
{
    (void)elapse__work_queue_take_left(&fixture->queue);
    elapse__work_queue_forget_workers(&fixture->queue);
    elapse__os = &elapse__os_linux;
    end(fixture);
}

static bool leaves(struct fixture *fixture, struct elapse__worker *worker)
{
    struct elapse__queued queued;
    bool kick;

    return !elapse__work_queue_take(&fixture->queue, worker, &queued, &kick) && worker->left;
}

TEST(each_worker_that_leaves_joins_the_one_before_it)
{
    struct fixture fixture;
    struct elapse__worker workers[] = {{.number = 7}, {.number = 3}, {.number = 5}};

    begin_leaving(&fixture, 4);
    assert_true(leaves(&fixture, &workers[0]));
    assert_int_equal(workers[0].to_join, ELAPSE__NO_WORKER);
    assert_true(leaves(&fixture, &workers[1]));
    assert_int_equal(workers[1].to_join, 7);
    assert_true(leaves(&fixture, &workers[2]));
    assert_int_equal(workers[2].to_join, 3);
    assert_int_equal(elapse__work_queue_workers(&fixture.queue), 1);
    assert_int_equal(elapse__work_queue_take_left(&fixture.queue), 5);
    assert_int_equal(elapse__work_queue_take_left(&fixture.queue), ELAPSE__NO_WORKER);
    end_leaving(&fixture);
}

TEST(a_worker_whose_time_is_up_takes_a_task_that_has_come)
{
    struct fixture fixture;
    struct elapse__worker worker = {.number = 0};

    begin_leaving(&fixture, 2);
    waited_for = &fixture.queue;
    assert_int_equal(take(&fixture, &worker), 7);
    assert_false(worker.left);
    assert_int_equal(waits, 1);
    assert_int_equal(elapse__work_queue_workers(&fixture.queue), 2);
    assert_true(leaves(&fixture, &worker)); /* it comes back, and nothing comes */
    end_leaving(&fixture);
}

/* Otherwise the thread of the new worker might have to be joined before it is known. */
TEST(no_worker_leaves_while_another_is_being_made)
{
    struct fixture fixture;
    struct elapse__worker worker = {.number = 0};

    begin_leaving(&fixture, 2);
    elapse__work_queue_expect_worker(&fixture.queue);
    waited_for = &fixture.queue;
    assert_true(leaves(&fixture, &worker));
    assert_int_equal(waits, 2); /* at the end of the first wait it was being made */
    assert_int_equal(elapse__work_queue_workers(&fixture.queue), 2);
    end_leaving(&fixture);
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

TEST(more_handles_than_places_stop_the_program_with_a_message)
{
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

TEST_MAIN("work queue")
