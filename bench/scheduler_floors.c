/*
 * The floors of the scheduler's workloads: the work that even the simplest scheduler must do. It
 * reads the clock where a delay becomes a deadline, takes and releases a lock, and puts a node of
 * one cache line into a list, takes it out, or writes to it. There is one lock, and no other
 * thread wants it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "scheduler_bench.h"

enum {
    LISTS = 64,
    BLOCK_NODES = 1024, /* nodes are allocated in blocks of 64 KiB, as tasks are */
};

struct floor_task {
    struct floor_task *next;
    struct floor_task *previous;
    uint64_t deadline_ns;
    elapse_action_function *action;
    void *context;
    uint64_t unused[3];
};

_Static_assert(sizeof(struct floor_task) == SCHEDULER_NODE_BYTES, "as large as a task");

/* The data of a floor: a lock, the lists, and the blocks of nodes. */
struct ground {
    pthread_mutex_t lock;
    struct floor_task lists[LISTS]; /* heads of rings */
    struct floor_task **blocks;
    size_t block_count;
    pthread_t companion;
    pthread_mutex_t companion_stays;
};

/* ---- the data of a floor ---- */

/*
 * While a process has one thread, the C library takes locks without atomic instructions. A
 * scheduler has more threads. So a floor has a second thread, too, which sleeps.
 */
static void *keep_company(void *argument)
{
    struct ground *ground = argument;
    (void)pthread_mutex_lock(&ground->companion_stays);
    (void)pthread_mutex_unlock(&ground->companion_stays);
    return NULL;
}

static struct ground *begin_ground(size_t nodes)
{
    struct ground *ground = workspace_allocate(sizeof *ground);
    ground->blocks = workspace_allocate((nodes / BLOCK_NODES + 1) * sizeof(struct floor_task *));
    for (size_t i = 0; i < LISTS; i++) {
        ground->lists[i].next = &ground->lists[i];
        ground->lists[i].previous = &ground->lists[i];
    }
    (void)pthread_mutex_init(&ground->lock, NULL);
    (void)pthread_mutex_init(&ground->companion_stays, NULL);
    (void)pthread_mutex_lock(&ground->companion_stays);
    if (pthread_create(&ground->companion, NULL, keep_company, ground) != 0)
        must(ELAPSE_ERROR_SYSTEM, "thread");
    return ground;
}

static void end_ground(struct ground *ground)
{
    (void)pthread_mutex_unlock(&ground->companion_stays);
    (void)pthread_join(ground->companion, NULL);
    for (size_t i = 0; i < ground->block_count; i++)
        free(ground->blocks[i]);
    free(ground->blocks);
    free(ground);
}

/* Returns the node with this number. Requires that numbers are asked for in order. */
static inline struct floor_task *take_node(struct ground *ground, size_t number)
{
    if (number % BLOCK_NODES == 0) {
        struct floor_task *block = aligned_alloc(SCHEDULER_NODE_BYTES, BLOCK_NODES * sizeof *block);
        if (block == NULL)
            must(ELAPSE_ERROR_MEMORY, "floor");
        ground->blocks[ground->block_count++] = block;
    }
    return &ground->blocks[number / BLOCK_NODES][number % BLOCK_NODES];
}

static inline void append(struct floor_task *list, struct floor_task *node)
{
    node->next = list;
    node->previous = list->previous;
    list->previous->next = node;
    list->previous = node;
}

static inline void unlink_node(struct floor_task *node)
{
    node->previous->next = node->next;
    node->next->previous = node->previous;
    node->next = NULL;
}

/* ---- S1, S2, S6 ---- */

/* Chooses the list by the delay, as in a wheel of one level. */
static void fill_ground(struct ground *ground, size_t count, struct floor_task **nodes)
{
    struct generator generator = {GENERATOR_SEED};
    for (size_t i = 0; i < count; i++) {
        uint64_t delay_ns = far_delay_ns(&generator);
        uint64_t deadline_ns = clock_ns() + delay_ns;
        (void)pthread_mutex_lock(&ground->lock);
        struct floor_task *node = take_node(ground, i);
        node->deadline_ns = deadline_ns;
        node->action = never_run;
        node->context = NULL;
        append(&ground->lists[delay_ns / COARSE_TICK_NS % LISTS], node);
        nodes[i] = node;
        (void)pthread_mutex_unlock(&ground->lock);
    }
}

void run_floor_schedule(struct workspace *workspace, double *figures)
{
    size_t count = workspace->timers;
    struct floor_task **nodes = workspace_allocate(count * sizeof(struct floor_task *));
    forget_free_memory();
    struct ground *ground = begin_ground(count);
    uint64_t began = clock_ns();
    fill_ground(ground, count, nodes);
    uint64_t ended = clock_ns();
    figures[S1_SCHEDULE] = ns_each(began, ended, count);
    end_ground(ground);
    free(nodes);
}

void run_floor_cancel(struct workspace *workspace, double *figures)
{
    size_t count = workspace->timers;
    struct floor_task **nodes = workspace_allocate(count * sizeof(struct floor_task *));
    struct floor_task **shuffled = workspace_allocate(count * sizeof(struct floor_task *));
    forget_free_memory();
    struct ground *ground = begin_ground(count);
    fill_ground(ground, count, nodes);
    for (size_t i = 0; i < count; i++)
        shuffled[i] = nodes[workspace->stop_order[i]];

    uint64_t began = clock_ns();
    for (size_t i = 0; i < count; i++) {
        struct floor_task *node = shuffled[i];
        (void)pthread_mutex_lock(&ground->lock);
        unlink_node(node);
        (void)pthread_mutex_unlock(&ground->lock);
    }
    uint64_t ended = clock_ns();
    figures[0] = ns_each(began, ended, count);

    size_t left = 0;
    for (size_t i = 0; i < LISTS; i++)
        left += ground->lists[i].next != &ground->lists[i];
    check_count("lists with nodes left in S2", "floor", left, 0);
    end_ground(ground);
    free(shuffled);
    free(nodes);
}

void run_floor_reschedule(struct workspace *workspace, double *figures)
{
    struct floor_task **nodes = workspace_allocate(RESCHEDULE_TASKS * sizeof(struct floor_task *));
    struct generator generator = {GENERATOR_SEED};
    uint64_t most_ns = (uint64_t)seconds_to_ns(workspace->seconds);
    uint64_t done = 0;
    forget_free_memory();
    struct ground *ground = begin_ground(RESCHEDULE_TASKS);
    fill_ground(ground, RESCHEDULE_TASKS, nodes);

    uint64_t began = clock_ns();
    uint64_t ended = began;
    for (; done < RESCHEDULES_MOST && ended - began < most_ns; ended = clock_ns()) {
        for (unsigned i = 0; i < RESCHEDULES_AT_ONCE; i++) {
            struct floor_task *node = nodes[below(&generator, RESCHEDULE_TASKS)];
            uint64_t deadline_ns = clock_ns() + RESCHEDULE_DELAY_NS;
            (void)pthread_mutex_lock(&ground->lock);
            node->deadline_ns = deadline_ns;
            (void)pthread_mutex_unlock(&ground->lock);
        }
        done += RESCHEDULES_AT_ONCE;
    }
    figures[0] = ns_each(began, ended, done);
    end_ground(ground);
    free(nodes);
}

/* ---- S3 ---- */

/* A thread that knows the number of timers of each tick, and wakes up for the ticks that have
 * some. */
struct counter {
    uint64_t tick_ns;
    uint64_t first_tick;
    size_t ticks;
    const uint32_t *counts; /* timers by tick */
    uint64_t *woken_ns;     /* when the thread reached that tick */
    uint64_t counted;
};

static void *sleep_and_count(void *argument)
{
    struct counter *counter = argument;
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    for (size_t i = 0; i < counter->ticks; i++) {
        if (counter->counts[i] == 0)
            continue;
        sleep_until_ns((counter->first_tick + i) * counter->tick_ns);
        counter->woken_ns[i] = clock_ns();
        counter->counted += counter->counts[i];
    }
    return NULL;
}

static void deliver(struct workspace *workspace, uint64_t tick_ns, double *figures)
{
    size_t count = workspace->timers;
    uint64_t span_ns = (uint64_t)seconds_to_ns(workspace->seconds);
    size_t ticks = span_ns / tick_ns + 2;
    struct note *notes = workspace_allocate(count * sizeof *notes);
    uint32_t *counts = workspace_allocate(ticks * sizeof *counts);
    uint64_t *woken_ns = workspace_allocate(ticks * sizeof *woken_ns);
    struct generator generator = {GENERATOR_SEED};
    /* Counting the timers beforehand takes a moment. */
    uint64_t start_ns = clock_ns() + ELAPSE_SECOND_NS / 4;
    struct counter counter = {
        .tick_ns = tick_ns,
        .first_tick = start_ns / tick_ns,
        .ticks = ticks,
        .counts = counts,
        .woken_ns = woken_ns,
    };
    for (size_t i = 0; i < count; i++) {
        notes[i].deadline_ns = start_ns + below(&generator, span_ns);
        counts[(notes[i].deadline_ns + tick_ns - 1) / tick_ns - counter.first_tick]++;
    }

    pthread_t thread;
    uint64_t cpu_ns = process_cpu_ns();
    if (pthread_create(&thread, NULL, sleep_and_count, &counter) != 0)
        must(ELAPSE_ERROR_SYSTEM, "thread");
    (void)pthread_join(thread, NULL);
    figures[S3_CPU] = (double)(process_cpu_ns() - cpu_ns) / 1e9;

    check_count("timers counted in S3", "floor", counter.counted, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t tick = (notes[i].deadline_ns + tick_ns - 1) / tick_ns;
        notes[i].noted_ns = woken_ns[tick - counter.first_tick];
        notes[i].runs = 1;
    }
    figure_lateness("floor", notes, count, figures);
    free(notes);
    free(counts);
    free(woken_ns);
}

void run_floor_deliver(struct workspace *workspace, double *figures)
{
    deliver(workspace, COARSE_TICK_NS, figures);
}

void run_floor_deliver_fine(struct workspace *workspace, double *figures)
{
    deliver(workspace, FINE_TICK_NS, figures);
}

/* ---- S4 ---- */

void run_floor_sleep(struct workspace *workspace, double *figures)
{
    figure_idleness(workspace->seconds, figures);
}
