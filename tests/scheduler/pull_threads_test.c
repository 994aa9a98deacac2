/*
 * Tests pull mode on the real clock: a delay queue that threads share, time-outs, closing while
 * threads wait, and the descriptor in poll and epoll. No test depends on how long something takes.
 * A test that waits for something that never comes fails after half a minute.
 */
#include "fixture.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define HOUR_NS (3600 * ELAPSE_SECOND_NS)

enum { TAKERS = 8, PATIENCE_MS = 30000 };

static struct elapse_scheduler *pull_new(unsigned shards)
{
    struct elapse_scheduler_options options;

    elapse_scheduler_options_init(&options);
    options.pull = true;
    options.shards = shards;
    return started_with(&options);
}

static struct elapse_handle add(struct elapse_scheduler *scheduler, size_t number,
                                uint64_t delay_ns)
{
    struct elapse_task task = task_with_end(number);

    task.action = NULL;
    return schedule_after(scheduler, task, delay_ns);
}

static uint64_t next_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* ---- threads that take ---- */

enum { ITEMS_MAX = 1 << 16 };

/* What all takers share. Takers assert nothing; they count. */
static struct queue {
    struct elapse_scheduler *scheduler;
    uint64_t timeout_ns;                      /* of each take */
    size_t items;                             /* their numbers are less than this */
    _Atomic(uint64_t) earliest_ns[ITEMS_MAX]; /* when an item may be taken */
    atomic_uint taken_times[ITEMS_MAX];
    atomic_size_t taken;
    atomic_uint early;
    atomic_uint strange; /* answers that no take may give, and failing calls */
    atomic_uint closed;  /* takers that got ELAPSE_ERROR_CLOSED */
    atomic_uint idle;    /* times that a take found nothing */
} queue;

/* Clears no more than the test uses: some tests begin hundreds of times. */
static void queue_begin(struct elapse_scheduler *scheduler, uint64_t timeout_ns, size_t items)
{
    assert_true(items <= ITEMS_MAX);
    queue.scheduler = scheduler;
    queue.timeout_ns = timeout_ns;
    queue.items = items;
    for (size_t i = 0; i < items; i++) {
        atomic_store(&queue.earliest_ns[i], 0);
        atomic_store(&queue.taken_times[i], 0);
    }
    atomic_store(&queue.taken, 0);
    atomic_store(&queue.early, 0);
    atomic_store(&queue.strange, 0);
    atomic_store(&queue.closed, 0);
    atomic_store(&queue.idle, 0);
}

/* Notes a task that was taken, and ends it. */
static void deal_with(const struct elapse_taken *taken)
{
    size_t number = number_of(taken->context);

    if (number >= queue.items) {
        atomic_fetch_add(&queue.strange, 1);
        return;
    }
    uint64_t earliest_ns = atomic_load(&queue.earliest_ns[number]);
    if (taken->run.actual_ns < earliest_ns || taken->run.actual_ns < taken->run.intended_ns ||
        elapse_scheduler_now_ns(queue.scheduler) < earliest_ns)
        atomic_fetch_add(&queue.early, 1);
    atomic_fetch_add(&queue.taken_times[number], 1);
    if (elapse_task_done(queue.scheduler, taken->run.handle) != ELAPSE_OK)
        atomic_fetch_add(&queue.strange, 1);
    atomic_fetch_add(&queue.taken, 1);
}

/* A taker: takes tasks until the scheduler is closed. A taker with an odd number takes batches. */
static void *take_all(void *context)
{
    enum { BATCH = 16 };
    size_t capacity = *(size_t *)context % 2 == 0 ? 1 : BATCH;
    struct elapse_taken taken[BATCH];
    enum elapse_error error;

    do {
        size_t count = 0;

        if (capacity == 1) {
            error = elapse_task_take(queue.scheduler, queue.timeout_ns, taken);
            count = error == ELAPSE_OK ? 1 : 0;
        } else {
            error =
                elapse_task_take_batch(queue.scheduler, queue.timeout_ns, taken, capacity, &count);
            if (count > capacity || (error == ELAPSE_OK) != (count > 0)) {
                atomic_fetch_add(&queue.strange, 1);
                return NULL;
            }
        }
        for (size_t i = 0; i < count; i++)
            deal_with(&taken[i]);
        if (error == ELAPSE_ERROR_NOTHING_DUE)
            atomic_fetch_add(&queue.idle, 1);
    } while (error == ELAPSE_OK ||
             (error == ELAPSE_ERROR_NOTHING_DUE && queue.timeout_ns != ELAPSE_NEVER));
    atomic_fetch_add(error == ELAPSE_ERROR_CLOSED ? &queue.closed : &queue.strange, 1);
    return NULL;
}

static pthread_t takers[TAKERS];

static void start_takers(void)
{
    static size_t numbers[TAKERS];

    for (size_t i = 0; i < TAKERS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&takers[i], NULL, take_all, &numbers[i]), 0);
    }
}

static void join_takers(void)
{
    for (size_t i = 0; i < TAKERS; i++)
        assert_int_equal(pthread_join(takers[i], NULL), 0);
    assert_int_equal(atomic_load(&queue.closed), TAKERS);
    assert_int_equal(atomic_load(&queue.strange), 0);
    assert_int_equal(atomic_load(&queue.early), 0);
}

static bool enough_taken(void *count)
{
    return atomic_load(&queue.taken) >= *(size_t *)count;
}

static void wait_for_taken(size_t count)
{
    wait_until(enough_taken, &count);
}

static bool enough_idle(void *count)
{
    return atomic_load(&queue.idle) >= *(unsigned *)count;
}

/* ---- threads that schedule ---- */

struct producer {
    size_t first;
    size_t count;
    uint64_t delay_max_ns;
    uint64_t seed;
};

static void *produce(void *context)
{
    struct producer *producer = context;

    for (size_t i = producer->first; i < producer->first + producer->count; i++) {
        struct elapse_task task = {.context = name_of(i), .destroy = write_end};
        uint64_t delay_ns = next_random(&producer->seed) % (producer->delay_max_ns + 1);
        uint64_t deadline_ns = elapse_scheduler_now_ns(queue.scheduler) + delay_ns;

        atomic_store(&queue.earliest_ns[i], deadline_ns);
        if (elapse_task_schedule_at(queue.scheduler, &task, deadline_ns, NULL) != ELAPSE_OK)
            atomic_fetch_add(&queue.strange, 1);
    }
    return NULL;
}

/* ---- the queue ---- */

static atomic_size_t handed_back;

static void take_back(const struct elapse_handed_back *back, void *context)
{
    (void)context;
    if (back->task.context != NULL)
        atomic_fetch_add(&handed_back, 1);
}

/* Closes the scheduler while all takers wait and `count` tasks with late deadlines are pending. */
static void close_with_pending(size_t first, size_t count, enum elapse_close how)
{
    size_t ends_before = ends();

    for (size_t i = first; i < first + count; i++)
        (void)add(queue.scheduler, i, HOUR_NS + i * ELAPSE_MILLISECOND_NS);
    atomic_store(&handed_back, 0);
    assert_ok(elapse_scheduler_close(queue.scheduler, how, take_back, NULL));
    join_takers();
    struct elapse_statistics statistics = statistics_of(queue.scheduler);
    assert_int_equal(statistics.pending, 0);
    assert_int_equal(statistics.running, 0);
    assert_int_equal(statistics.dropped, how == ELAPSE_CLOSE_DROP ? count : 0);
    assert_int_equal(statistics.handed_back, how == ELAPSE_CLOSE_DROP ? 0 : count);
    assert_int_equal(atomic_load(&handed_back), how == ELAPSE_CLOSE_DROP ? 0 : count);
    assert_int_equal(ends() - ends_before, how == ELAPSE_CLOSE_DROP ? count : 0);
    scheduler_end(queue.scheduler);
}

static void share_a_queue(unsigned shards, uint64_t timeout_ns, uint64_t delay_max_ns,
                          enum elapse_close how)
{
    enum { PRODUCERS = 2, EACH = 10000, PENDING = 500 };
    struct producer producers[PRODUCERS];
    pthread_t threads[PRODUCERS];

    queue_begin(pull_new(shards), timeout_ns, PRODUCERS * EACH + PENDING);
    start_takers();
    for (size_t i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){i * EACH, EACH, delay_max_ns, 88172645463325252 + i};
        assert_int_equal(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
    }
    for (size_t i = 0; i < PRODUCERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    wait_for_taken((size_t)PRODUCERS * EACH);
    assert_int_equal(ends(), PRODUCERS * EACH);
    for (size_t i = 0; i < PRODUCERS * EACH; i++) {
        assert_int_equal(atomic_load(&queue.taken_times[i]), 1);
        assert_int_equal(ends_of(i), 1);
    }
    struct elapse_statistics statistics = statistics_of(queue.scheduler);
    assert_int_equal(statistics.begun, PRODUCERS * EACH);
    assert_int_equal(statistics.workers, 0);
    close_with_pending((size_t)PRODUCERS * EACH, PENDING, how);
}

TEST(eight_threads_take_each_item_once_from_one_shard)
{
    share_a_queue(1, ELAPSE_NEVER, 300 * ELAPSE_MILLISECOND_NS, ELAPSE_CLOSE_DROP);
}

TEST(eight_threads_take_each_item_once_from_several_shards)
{
    share_a_queue(4, ELAPSE_NEVER, 300 * ELAPSE_MILLISECOND_NS, ELAPSE_CLOSE_HAND_BACK);
}

/* The time-out of the thread that waits for the first deadline ends again and again. */
TEST(short_time_outs_lose_no_item)
{
    share_a_queue(2, 700 * ELAPSE_MICROSECOND_NS, 300 * ELAPSE_MILLISECOND_NS, ELAPSE_CLOSE_DROP);
}

TEST(items_due_at_once_are_all_taken)
{
    share_a_queue(2, ELAPSE_NEVER, 0, ELAPSE_CLOSE_HAND_BACK);
}

TEST(an_earlier_item_is_taken_while_all_sleep)
{
    enum { ROUNDS = 100 };

    queue_begin(pull_new(1), ELAPSE_NEVER, (size_t)2 * ROUNDS);
    start_takers();
    /* The item of each round is due before all items that the takers sleep for. */
    for (size_t i = 0; i < ROUNDS; i++) {
        (void)add(queue.scheduler, ROUNDS + i, HOUR_NS);
        if (i % 4 == 0)
            sleep_ns(3 * ELAPSE_MILLISECOND_NS);
        (void)add(queue.scheduler, i, i % 3 * ELAPSE_MILLISECOND_NS);
        wait_for_taken(i + 1);
        assert_int_equal(atomic_load(&queue.taken_times[i]), 1);
    }
    assert_ok(elapse_scheduler_close(queue.scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    join_takers();
    assert_int_equal(atomic_load(&queue.taken), ROUNDS);
    assert_int_equal(ends(), 2 * ROUNDS);
    scheduler_end(queue.scheduler);
}

/* The takers sleep. A reschedule makes one task due; a done frees the key of another that is due.
 */
TEST(a_reschedule_and_a_done_wake_waiting_takers)
{
    struct elapse_task task = {.key = "k", .key_bytes = 1, .context = name_of(1)};
    struct elapse_taken taken;

    queue_begin(pull_new(1), ELAPSE_NEVER, 4);
    (void)schedule_after(queue.scheduler, task, 0);
    assert_ok(elapse_task_take(queue.scheduler, ELAPSE_NEVER, &taken));
    start_takers();
    struct elapse_handle handle = add(queue.scheduler, 2, HOUR_NS);
    task.context = name_of(3);
    (void)schedule_after(queue.scheduler, task, 0);
    sleep_ns(20 * ELAPSE_MILLISECOND_NS);
    assert_int_equal(atomic_load(&queue.taken), 0);
    assert_ok(elapse_task_reschedule_after(queue.scheduler, handle, ELAPSE_MILLISECOND_NS));
    wait_for_taken(1);
    assert_int_equal(atomic_load(&queue.taken_times[2]), 1);
    assert_ok(elapse_task_done(queue.scheduler, taken.run.handle));
    wait_for_taken(2);
    assert_int_equal(atomic_load(&queue.taken_times[3]), 1);
    assert_ok(elapse_scheduler_close(queue.scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    join_takers();
    scheduler_end(queue.scheduler);
}

/* A taker that asks all the time without waiting. It notices the close, as takers that wait do. */
static void *ask_without_waiting(void *context)
{
    struct elapse_taken taken;
    enum elapse_error error;

    (void)context;
    do {
        error = elapse_task_take(queue.scheduler, 0, &taken);
        if (error == ELAPSE_OK)
            deal_with(&taken);
    } while (error == ELAPSE_OK || error == ELAPSE_ERROR_NOTHING_DUE);
    if (error != ELAPSE_ERROR_CLOSED)
        atomic_fetch_add(&queue.strange, 1);
    return NULL;
}

TEST(a_close_ends_all_waiting_takes)
{
    enum { ROUNDS = 200 };

    for (size_t i = 0; i < ROUNDS; i++) {
        pthread_t asker;

        queue_begin(pull_new(1), i % 4 == 3 ? 100 * ELAPSE_MICROSECOND_NS : ELAPSE_NEVER, 1);
        (void)add(queue.scheduler, 0, i % 2 == 0 ? HOUR_NS : 0);
        start_takers();
        assert_int_equal(pthread_create(&asker, NULL, ask_without_waiting, NULL), 0);
        if (i % 3 != 0)
            sleep_ns(i * 10 * ELAPSE_MICROSECOND_NS);
        assert_ok(elapse_scheduler_close(queue.scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
        assert_int_equal(pthread_join(asker, NULL), 0);
        join_takers();
        assert_int_equal(ends(), 1);
        scheduler_end(queue.scheduler);
    }
}

TEST(a_close_comes_between_asking)
{
    enum { ROUNDS = 300, ASKERS = 3 };

    for (size_t i = 0; i < ROUNDS; i++) {
        pthread_t askers[ASKERS];

        queue_begin(pull_new(1), 0, 0);
        for (size_t j = 0; j < ASKERS; j++)
            assert_int_equal(pthread_create(&askers[j], NULL, ask_without_waiting, NULL), 0);
        sleep_ns(i * ELAPSE_MICROSECOND_NS);
        assert_ok(elapse_scheduler_close(queue.scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
        for (size_t j = 0; j < ASKERS; j++)
            assert_int_equal(pthread_join(askers[j], NULL), 0);
        assert_int_equal(atomic_load(&queue.strange), 0);
        scheduler_end(queue.scheduler);
    }
}

/* ---- time-outs ---- */

TEST(a_take_waits_as_long_as_its_time_out)
{
    struct elapse_scheduler *scheduler = pull_new(1);
    struct elapse_taken taken[2];
    size_t count = SIZE_MAX;

    for (size_t i = 0; i < 3; i++) {
        uint64_t began_ns = elapse_scheduler_now_ns(scheduler);

        assert_int_equal(elapse_task_take(scheduler, 0, taken), ELAPSE_ERROR_NOTHING_DUE);
        assert_int_equal(elapse_task_take(scheduler, 1, taken), ELAPSE_ERROR_NOTHING_DUE);
        assert_int_equal(elapse_task_take(scheduler, 20 * ELAPSE_MILLISECOND_NS, taken),
                         ELAPSE_ERROR_NOTHING_DUE);
        assert_int_equal(
            elapse_task_take_batch(scheduler, 20 * ELAPSE_MILLISECOND_NS, taken, 2, &count),
            ELAPSE_ERROR_NOTHING_DUE);
        assert_int_equal(count, 0);
        assert_true(elapse_scheduler_now_ns(scheduler) - began_ns >= 40 * ELAPSE_MILLISECOND_NS);
        (void)add(scheduler, i, HOUR_NS);
    }
    (void)add(scheduler, 10, 20 * ELAPSE_MILLISECOND_NS);
    assert_ok(elapse_task_take(scheduler, HOUR_NS, taken));
    assert_int_equal(number_of(taken->context), 10);
    assert_ok(elapse_task_done(scheduler, taken->run.handle));
    (void)add(scheduler, 11, 20 * ELAPSE_MILLISECOND_NS);
    assert_ok(elapse_task_take_batch(scheduler, ELAPSE_NEVER - 1, taken, 2, &count));
    assert_int_equal(count, 1);
    assert_ok(elapse_task_done(scheduler, taken->run.handle));
    scheduler_end(scheduler);
    assert_int_equal(ends(), 5);
}

TEST(all_waiting_takes_end_at_their_time_outs)
{
    unsigned idle = 5 * TAKERS;

    queue_begin(pull_new(1), 2 * ELAPSE_MILLISECOND_NS, 1);
    (void)add(queue.scheduler, 0, HOUR_NS);
    start_takers();
    wait_until(enough_idle, &idle);
    assert_ok(elapse_scheduler_close(queue.scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    join_takers();
    assert_int_equal(atomic_load(&queue.taken), 0);
    scheduler_end(queue.scheduler);
}

/* ---- the descriptor ---- */

static bool readable_within(struct elapse_scheduler *scheduler, int milliseconds)
{
    struct pollfd entry = {.fd = elapse_scheduler_descriptor(scheduler), .events = POLLIN};

    assert_true(entry.fd >= 0);
    if (poll(&entry, 1, milliseconds) != 1)
        return false;
    assert_int_equal(entry.revents, POLLIN);
    return true;
}

/* Waits for the descriptor and takes tasks until nothing is due, again and again until the task
 * `number` was taken. The descriptor may become readable although nothing is due. */
static struct elapse_taken wait_and_take(struct elapse_scheduler *scheduler, size_t number)
{
    for (;;) {
        struct elapse_taken taken;

        assert_true(readable_within(scheduler, PATIENCE_MS));
        enum elapse_error error = elapse_task_take(scheduler, 0, &taken);
        if (error == ELAPSE_OK) {
            assert_int_equal(number_of(taken.context), number);
            return taken;
        }
        assert_int_equal(error, ELAPSE_ERROR_NOTHING_DUE);
    }
}

static void expect_nothing(struct elapse_scheduler *scheduler)
{
    struct elapse_taken taken;

    assert_int_equal(elapse_task_take(scheduler, 0, &taken), ELAPSE_ERROR_NOTHING_DUE);
}

static void done(struct elapse_scheduler *scheduler, const struct elapse_taken *taken)
{
    assert_ok(elapse_task_done(scheduler, taken->run.handle));
}

SCHEDULER_TEST(the_descriptor_says_when_to_take, pull_new(2))
{
    int descriptor = elapse_scheduler_descriptor(scheduler);
    struct elapse_taken taken;

    assert_true(descriptor >= 0);
    expect_nothing(scheduler);
    assert_false(readable_within(scheduler, 0));
    for (size_t i = 0; i < 20; i++) {
        (void)add(scheduler, 100 + i, HOUR_NS);
        expect_nothing(scheduler);
        assert_false(readable_within(scheduler, 0));
        (void)add(scheduler, i, i % 5 * ELAPSE_MILLISECOND_NS); /* earlier than all */
        taken = wait_and_take(scheduler, i);
        expect_nothing(scheduler);
        assert_false(readable_within(scheduler, 0));
        done(scheduler, &taken);
        expect_nothing(scheduler);
        assert_false(readable_within(scheduler, 2));
    }
    assert_int_equal(elapse_scheduler_descriptor(scheduler), descriptor);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    assert_int_equal(elapse_scheduler_descriptor(scheduler), descriptor);
    assert_true(readable_within(scheduler, PATIENCE_MS));
    assert_int_equal(ends(), 40);
}

SCHEDULER_TEST(the_descriptor_stays_readable_until_nothing_is_due, pull_new(1))
{
    struct elapse_taken taken[3];

    for (size_t i = 0; i < 3; i++)
        (void)add(scheduler, i, 0);
    for (size_t i = 0; i < 3; i++) {
        taken[i] = wait_and_take(scheduler, i);
        assert_true(readable_within(scheduler, 0));
    }
    expect_nothing(scheduler);
    assert_false(readable_within(scheduler, 0));
    for (size_t i = 0; i < 3; i++)
        done(scheduler, &taken[i]);
}

/* Waits for the descriptor without an end, in an event loop of its own. */
static void *wait_in_event_loop(void *context)
{
    struct elapse_scheduler *scheduler = context;
    struct epoll_event event = {.events = EPOLLIN};
    struct elapse_taken taken;
    int loop = epoll_create1(EPOLL_CLOEXEC);

    assert_true(loop >= 0);
    assert_int_equal(epoll_ctl(loop, EPOLL_CTL_ADD, elapse_scheduler_descriptor(scheduler), &event),
                     0);
    do {
        assert_int_equal(epoll_wait(loop, &event, 1, -1), 1);
    } while (elapse_task_take(scheduler, 0, &taken) != ELAPSE_ERROR_CLOSED);
    (void)close(loop);
    return NULL;
}

TEST(closing_wakes_event_loops)
{
    enum { ROUNDS = 100, LOOPS = 3 };

    for (size_t i = 0; i < ROUNDS; i++) {
        struct elapse_scheduler *scheduler = pull_new(2);
        pthread_t loops[LOOPS];

        (void)add(scheduler, 0, HOUR_NS);
        for (size_t loop = 0; loop < LOOPS; loop++)
            assert_int_equal(pthread_create(&loops[loop], NULL, wait_in_event_loop, scheduler), 0);
        if (i % 3 != 0)
            sleep_ns(i * 20 * ELAPSE_MICROSECOND_NS);
        assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
        for (size_t loop = 0; loop < LOOPS; loop++)
            assert_int_equal(pthread_join(loops[loop], NULL), 0);
        assert_true(readable_within(scheduler, PATIENCE_MS));
        scheduler_end(scheduler);
    }
}

TEST(tasks_scheduled_before_the_start_make_it_readable)
{
    struct elapse_scheduler_options options;

    elapse_scheduler_options_init(&options);
    options.pull = true;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    assert_int_equal(elapse_scheduler_descriptor(scheduler), -1);
    (void)add(scheduler, 1, 2 * ELAPSE_MILLISECOND_NS);
    assert_ok(elapse_scheduler_start(scheduler));
    struct elapse_taken taken = wait_and_take(scheduler, 1);
    done(scheduler, &taken);
    scheduler_end(scheduler);
}

/* A task becomes due by a reschedule, by a key that becomes free, by a recurrence and by the wall
 * clock.
 */
SCHEDULER_TEST(whatever_makes_a_task_due_makes_it_readable, pull_new(1))
{
    struct elapse_task task = {.key = "k", .key_bytes = 1, .context = name_of(2)};
    struct elapse_handle handle = add(scheduler, 1, HOUR_NS);

    expect_nothing(scheduler);
    assert_ok(elapse_task_reschedule_after(scheduler, handle, ELAPSE_MILLISECOND_NS));
    struct elapse_taken taken = wait_and_take(scheduler, 1);
    expect_nothing(scheduler);
    assert_ok(elapse_task_reschedule_after(scheduler, handle, 0));
    expect_nothing(scheduler); /* it is taken still */
    done(scheduler, &taken);
    taken = wait_and_take(scheduler, 1);
    done(scheduler, &taken);
    expect_nothing(scheduler);

    (void)schedule_after(scheduler, task, 0);
    taken = wait_and_take(scheduler, 2);
    task.context = name_of(3);
    (void)schedule_after(scheduler, task, 0);
    sleep_ns(3 * ELAPSE_MILLISECOND_NS);
    expect_nothing(scheduler);
    done(scheduler, &taken);
    taken = wait_and_take(scheduler, 3);
    done(scheduler, &taken);
    expect_nothing(scheduler);

    task = (struct elapse_task){.context = name_of(4),
                                .recurrence = ELAPSE_RECUR_AFTER_EACH,
                                .period_ns = ELAPSE_MILLISECOND_NS};
    handle = schedule_after(scheduler, task, 0);
    for (uint64_t number = 1; number <= 10; number++) {
        taken = wait_and_take(scheduler, 4);
        assert_int_equal(taken.run.number, number);
        expect_nothing(scheduler);
        assert_false(readable_within(scheduler, 0));
        done(scheduler, &taken);
    }
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    expect_nothing(scheduler);

    task = task_named(5);
    assert_ok(elapse_task_schedule_at_wall_clock(
        scheduler, &task, elapse_scheduler_wall_clock_ns(scheduler) + 5 * ELAPSE_MILLISECOND_NS,
        NULL));
    taken = wait_and_take(scheduler, 5);
    assert_true(taken.run.wall_clock);
    done(scheduler, &taken);
    expect_nothing(scheduler);
    assert_false(readable_within(scheduler, 0));
}

/* Schedules each item when the last one was taken, so that no later item makes up for a missed one.
 */
static void *produce_one_by_one(void *context)
{
    enum { LOOKS_BEFORE_YIELD = 1000 };
    struct producer *producer = context;

    for (size_t i = 0; i < producer->count; i++) {
        struct elapse_task task = {.context = name_of(i), .destroy = write_end};

        /* Ready at once where the loop runs at the same time; or else lets it have the processor.
         */
        for (unsigned looks = 1; atomic_load(&queue.taken) < i; looks++) {
            if (looks % LOOKS_BEFORE_YIELD == 0)
                (void)sched_yield();
        }
        for (uint64_t j = next_random(&producer->seed) % 1000; j > 0; j--)
            atomic_signal_fence(memory_order_seq_cst); /* now and then a little later */
        if (elapse_task_schedule_at(queue.scheduler, &task, 0, NULL) != ELAPSE_OK)
            atomic_fetch_add(&queue.strange, 1);
    }
    return NULL;
}

/* Runs an event loop on this thread, which takes the tasks that another thread schedules. */
static void loop_over(size_t items, uint64_t delay_max_ns, unsigned shards,
                      void *(*producing)(void *))
{
    struct producer producer = {0, items, delay_max_ns, 88172645463325252};
    struct epoll_event event = {.events = EPOLLIN};
    pthread_t thread;

    queue_begin(pull_new(shards), 0, items);
    int loop = epoll_create1(EPOLL_CLOEXEC);
    assert_true(loop >= 0);
    assert_int_equal(
        epoll_ctl(loop, EPOLL_CTL_ADD, elapse_scheduler_descriptor(queue.scheduler), &event), 0);
    assert_int_equal(pthread_create(&thread, NULL, producing, &producer), 0);
    while (atomic_load(&queue.taken) < items) {
        struct elapse_taken taken;
        enum elapse_error error;

        if (epoll_wait(loop, &event, 1, PATIENCE_MS) != 1)
            fail_msg("%zu of %zu taken, and nothing more comes", atomic_load(&queue.taken), items);
        while ((error = elapse_task_take(queue.scheduler, 0, &taken)) == ELAPSE_OK)
            deal_with(&taken);
        assert_int_equal(error, ELAPSE_ERROR_NOTHING_DUE);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&queue.early), 0);
    assert_int_equal(atomic_load(&queue.strange), 0);
    for (size_t i = 0; i < items; i++)
        assert_int_equal(atomic_load(&queue.taken_times[i]), 1);
    /* The last wake-up may have come after its item had been taken. */
    expect_nothing(queue.scheduler);
    assert_int_equal(epoll_wait(loop, &event, 1, 0), 0);
    (void)close(loop);
    scheduler_end(queue.scheduler);
    assert_int_equal(ends(), items);
}

TEST(an_event_loop_takes_a_thousand_items)
{
    loop_over(1000, 50 * ELAPSE_MILLISECOND_NS, 1, produce);
    loop_over(1000, 300 * ELAPSE_MILLISECOND_NS, 4, produce);
}

/* Each task may come between the look that finds nothing due and the answer that says so. */
TEST(an_event_loop_misses_none_of_those_due_at_once)
{
    for (unsigned i = 0; i < 4; i++)
        loop_over(20000, i % 2 * ELAPSE_MILLISECOND_NS, 1 + i / 2, produce);
}

TEST(an_event_loop_misses_none_of_those_that_come_one_by_one)
{
    loop_over(20000, 0, 1, produce_one_by_one);
    loop_over(20000, 0, 256, produce_one_by_one); /* the look takes longer */
}

TEST_MAIN("pull_threads")
