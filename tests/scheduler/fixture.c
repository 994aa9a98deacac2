/*
 * Functions that the tests of the scheduler share.
 */
#include "fixture.h"

#include <time.h>

/* How long a test waits for what must come. A busy machine is not a failure. */
#define PATIENCE_NS (30 * ELAPSE_SECOND_NS)

/* A task's context is the address of its byte here. */
static char names[TASKS_MAX];

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct run_record *log_runs;
static size_t log_count;
static size_t log_room;
static size_t log_expected; /* the runs before this were expected */
static size_t log_ends;
static unsigned end_counts[TASKS_MAX];
static pthread_t end_threads[TASKS_MAX];

/* ---- schedulers ---- */

struct elapse_scheduler_options manual_options(uint64_t tick_ns, unsigned shards)
{
    struct elapse_scheduler_options options;

    elapse_scheduler_options_init(&options);
    options.clock = ELAPSE_CLOCK_MANUAL;
    options.tick_ns = tick_ns;
    options.shards = shards;
    return options;
}

struct elapse_scheduler *scheduler_new(const struct elapse_scheduler_options *options)
{
    struct elapse_scheduler *scheduler = NULL;

    empty_log();
    assert_ok(elapse_scheduler_new(options, &scheduler));
    assert_non_null(scheduler);
    return scheduler;
}

struct elapse_scheduler *manual_new(uint64_t tick_ns, unsigned shards)
{
    struct elapse_scheduler_options options = manual_options(tick_ns, shards);

    return scheduler_new(&options);
}

struct elapse_scheduler_options real_options(unsigned workers, unsigned shards)
{
    struct elapse_scheduler_options options;

    elapse_scheduler_options_init(&options);
    options.workers = workers;
    options.shards = shards;
    return options;
}

struct elapse_scheduler *started_with(const struct elapse_scheduler_options *options)
{
    struct elapse_scheduler *scheduler = scheduler_new(options);

    assert_ok(elapse_scheduler_start(scheduler));
    return scheduler;
}

struct elapse_scheduler *started_new(unsigned workers)
{
    struct elapse_scheduler_options options = real_options(workers, 1);

    return started_with(&options);
}

void scheduler_end(struct elapse_scheduler *scheduler)
{
    assert_ok(elapse_scheduler_free(scheduler));
}

/* ---- tasks ---- */

void *name_of(size_t number)
{
    assert_true(number < TASKS_MAX);
    return &names[number];
}

size_t number_of(const void *context)
{
    return (size_t)((const char *)context - names);
}

struct elapse_task task_named(size_t number)
{
    return (struct elapse_task){.action = write_run, .context = name_of(number)};
}

struct elapse_task task_with_end(size_t number)
{
    return (struct elapse_task){
        .action = write_run, .context = name_of(number), .destroy = write_end};
}

struct elapse_task task_with_key(size_t number, const char *key, enum elapse_key_policy policy)
{
    struct elapse_task task = task_with_end(number);

    task.key = key;
    task.key_bytes = strlen(key);
    task.if_key_pending = policy;
    return task;
}

struct elapse_handle schedule_at(struct elapse_scheduler *scheduler, struct elapse_task task,
                                 uint64_t deadline_ns)
{
    struct elapse_handle handle = {0, 0, 0};

    assert_ok(elapse_task_schedule_at(scheduler, &task, deadline_ns, &handle));
    assert_false(zero_handle(handle));
    return handle;
}

struct elapse_handle schedule_after(struct elapse_scheduler *scheduler, struct elapse_task task,
                                    uint64_t delay_ns)
{
    struct elapse_handle handle = {0, 0, 0};

    assert_ok(elapse_task_schedule_after(scheduler, &task, delay_ns, &handle));
    assert_false(zero_handle(handle));
    return handle;
}

enum elapse_task_state look_up_deadline(struct elapse_scheduler *scheduler,
                                        struct elapse_handle handle, uint64_t *deadline_ns)
{
    struct elapse_found found = {0};
    enum elapse_task_state state = elapse_task_look_up(scheduler, handle, &found);

    *deadline_ns = found.deadline_ns;
    return state;
}

bool same_handle(struct elapse_handle one, struct elapse_handle other)
{
    return one.index == other.index && one.generation == other.generation &&
           one.shard == other.shard;
}

bool zero_handle(struct elapse_handle handle)
{
    return same_handle(handle, (struct elapse_handle){0, 0, 0});
}

struct elapse_statistics statistics_of(struct elapse_scheduler *scheduler)
{
    static struct elapse_statistics statistics;

    memset(&statistics, 0xa5, sizeof statistics);
    elapse_scheduler_statistics(scheduler, &statistics);
    return statistics;
}

uint64_t pending_tasks(struct elapse_scheduler *scheduler)
{
    return statistics_of(scheduler).pending;
}

enum elapse_task_state state_of(struct elapse_scheduler *scheduler, struct elapse_handle handle)
{
    return elapse_task_look_up(scheduler, handle, NULL);
}

/* ---- what has run ---- */

void write_run(void *context, const struct elapse_run *run)
{
    struct run_record record = {number_of(context), *run, pthread_self()};

    (void)pthread_mutex_lock(&log_lock);
    if (log_count == log_room) {
        size_t room = log_room == 0 ? 1024 : 2 * log_room;
        struct run_record *grown = realloc(log_runs, room * sizeof *grown);

        if (grown == NULL)
            abort();
        log_runs = grown;
        log_room = room;
    }
    log_runs[log_count++] = record;
    (void)pthread_mutex_unlock(&log_lock);
}

void write_end(void *context)
{
    size_t number = number_of(context);

    (void)pthread_mutex_lock(&log_lock);
    end_counts[number]++;
    end_threads[number] = pthread_self();
    log_ends++;
    (void)pthread_mutex_unlock(&log_lock);
}

size_t runs(void)
{
    (void)pthread_mutex_lock(&log_lock);
    size_t count = log_count;
    (void)pthread_mutex_unlock(&log_lock);
    return count;
}

struct run_record run_at(uint64_t index)
{
    assert_true(index < runs());
    (void)pthread_mutex_lock(&log_lock);
    struct run_record record = log_runs[index];
    (void)pthread_mutex_unlock(&log_lock);
    return record;
}

size_t step(struct elapse_scheduler *scheduler, uint64_t now_ns)
{
    size_t ran = SIZE_MAX;

    assert_ok(elapse_scheduler_step(scheduler, now_ns, &ran));
    assert_int_not_equal(ran, SIZE_MAX);
    return ran;
}

void expect_runs(const char *letters)
{
    char ran[1024];
    size_t count = 0;

    (void)pthread_mutex_lock(&log_lock);
    while (log_expected < log_count && count < sizeof ran - 1)
        ran[count++] = (char)log_runs[log_expected++].number;
    (void)pthread_mutex_unlock(&log_lock);
    ran[count] = '\0';
    assert_string_equal(ran, letters);
}

void expect_step(struct elapse_scheduler *scheduler, uint64_t now_ns, const char *letters)
{
    size_t ran = step(scheduler, now_ns);

    expect_runs(letters);
    assert_int_equal(ran, strlen(letters));
}

size_t ends_of(size_t number)
{
    (void)pthread_mutex_lock(&log_lock);
    size_t count = end_counts[number];
    (void)pthread_mutex_unlock(&log_lock);
    return count;
}

pthread_t end_thread_of(size_t number)
{
    (void)pthread_mutex_lock(&log_lock);
    pthread_t thread = end_threads[number];
    (void)pthread_mutex_unlock(&log_lock);
    return thread;
}

size_t ends(void)
{
    (void)pthread_mutex_lock(&log_lock);
    size_t count = log_ends;
    (void)pthread_mutex_unlock(&log_lock);
    return count;
}

void empty_log(void)
{
    (void)pthread_mutex_lock(&log_lock);
    free(log_runs);
    log_runs = NULL;
    log_count = 0;
    log_room = 0;
    log_expected = 0;
    log_ends = 0;
    memset(end_counts, 0, sizeof end_counts);
    (void)pthread_mutex_unlock(&log_lock);
}

/* ---- real time ---- */

static uint64_t monotonic_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * ELAPSE_SECOND_NS + (uint64_t)now.tv_nsec;
}

void sleep_ns(uint64_t duration_ns)
{
    struct timespec duration = {(time_t)(duration_ns / ELAPSE_SECOND_NS),
                                (long)(duration_ns % ELAPSE_SECOND_NS)};

    (void)nanosleep(&duration, NULL);
}

void wait_until(bool (*met)(void *context), void *context)
{
    uint64_t give_up_ns = monotonic_ns() + PATIENCE_NS;

    while (!met(context)) {
        if (monotonic_ns() > give_up_ns)
            fail_msg("what the test waits for does not come");
        sleep_ns(ELAPSE_MILLISECOND_NS / 5);
    }
}

static bool enough_runs(void *count)
{
    return runs() >= *(size_t *)count;
}

void wait_for_runs(size_t count)
{
    wait_until(enough_runs, &count);
}

void hold(void *context, const struct elapse_run *run)
{
    struct gate *gate = context;

    (void)run;
    atomic_fetch_add(&gate->entered, 1);
    while (!atomic_load(&gate->open))
        sleep_ns(ELAPSE_MILLISECOND_NS / 5);
    atomic_fetch_add(&gate->left, 1);
}

struct elapse_task task_at_gate(struct gate *gate)
{
    return (struct elapse_task){.action = hold, .context = gate};
}

struct entered {
    struct gate *gate;
    unsigned count;
};

static bool enough_entered(void *context)
{
    const struct entered *entered = context;

    return atomic_load(&entered->gate->entered) >= entered->count;
}

void wait_entered(struct gate *gate, unsigned count)
{
    struct entered entered = {gate, count};

    wait_until(enough_entered, &entered);
}

void open_gate(struct gate *gate)
{
    atomic_store(&gate->open, true);
}
