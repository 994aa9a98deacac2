#include "workers.h"

#include <stdio.h>

#include "../base/assert.h"
#include "callback.h"
#include "run.h"

/* NAME_BYTES has room for the longest name that the system allows, NUMBERED_BYTES for
 * "elapse-work-" with any number. */
enum { NAME_BYTES = 16, NUMBERED_BYTES = 24 };

/* What a new thread receives from the thread that makes it. The new thread releases it. */
struct thread_start {
    struct elapse_scheduler *scheduler;
    void *(*main)(void *argument);
    void *argument;
    char name[NAME_BYTES];
};

static void *thread_main(void *argument)
{
    struct thread_start *start = argument;
    ELAPSE__ASSERT_NO_LOCK_HELD();
    struct elapse_scheduler *scheduler = start->scheduler;
    void *(*main)(void *) = start->main;
    void *main_argument = start->argument;
    const struct elapse_scheduler_options *options = &scheduler->options;

    elapse__os_thread_name(start->name);
    if (options->thread_started != NULL) {
        struct elapse__callback callback;
        elapse__callback_enter(&callback, scheduler, (struct elapse_handle){0});
        options->thread_started(start->name, options->thread_started_context);
        elapse__callback_leave(&callback);
    }
    elapse__release(&options->allocator, start, sizeof *start);
    return main(main_argument);
}

bool elapse__thread_make(struct elapse_scheduler *scheduler, struct elapse__os_thread *thread,
                         const char *name, void *(*main)(void *argument), void *argument)
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    struct thread_start *start =
        elapse__allocate(memory, _Alignof(struct thread_start), sizeof *start);
    if (start == NULL)
        return false;
    start->scheduler = scheduler;
    start->main = main;
    start->argument = argument;
    (void)snprintf(start->name, sizeof start->name, "%.*s", NAME_BYTES - 1, name);
    if (elapse__os->thread_start(thread, scheduler->options.stack_bytes, thread_main, start) == 0)
        return true;
    elapse__release(memory, start, sizeof *start);
    return false;
}

/* Joins the thread of a worker. After that the number of the worker is free. Does nothing if
 * `number` is ELAPSE__NO_WORKER. */
static void join_worker(struct elapse_scheduler *scheduler, unsigned number)
{
    if (number == ELAPSE__NO_WORKER)
        return;
    ELAPSE__ASSERT_NO_LOCK_HELD();
    ELAPSE__ASSERT_THAT(number, <, scheduler->options.workers);
    struct elapse__worker_thread *thread = &scheduler->workers[number];
    ELAPSE__ASSERT(atomic_load(&thread->is_used));
    elapse__os_thread_join(&thread->os);
    atomic_store(&thread->is_used, false);
}

static void *worker_main(void *argument)
{
    struct elapse__worker_thread *thread = argument;
    struct elapse_scheduler *scheduler = thread->scheduler;
    struct elapse__worker worker = {
        .number = (unsigned)(thread - scheduler->workers),
        .to_join = ELAPSE__NO_WORKER,
    };
    struct elapse__queued queued;
    bool kick;
    ELAPSE__ASSERT_THAT(worker.number, <, scheduler->options.workers);
    while (elapse__work_queue_take(&scheduler->queue, &worker, &queued, &kick)) {
        if (kick)
            elapse__sleeper_kick(&scheduler->sleeper);
        elapse__run_queued(scheduler, queued);
        ELAPSE__ASSERT_NO_LOCK_HELD();
    }
    join_worker(scheduler, worker.to_join);
    return NULL;
}

/* Returns a number that no worker has. Requires that there are fewer workers than there may be. If
 * workers that have left still use all free numbers, waits until the last of these workers has
 * ended. */
static unsigned free_number(struct elapse_scheduler *scheduler)
{
    const unsigned numbers = scheduler->options.workers;
    for (unsigned i = 0; i < numbers; i++) {
        unsigned number = (scheduler->next_worker + i) % numbers;
        if (!atomic_load(&scheduler->workers[number].is_used)) {
            scheduler->next_worker = (number + 1) % numbers;
            return number;
        }
    }
    unsigned left = elapse__work_queue_take_left(&scheduler->queue);
    ELAPSE__ASSERT_THAT(left, !=, ELAPSE__NO_WORKER);
    join_worker(scheduler, left);
    return left;
}

static bool make_worker(struct elapse_scheduler *scheduler)
{
    unsigned number = free_number(scheduler);
    struct elapse__worker_thread *thread = &scheduler->workers[number];
    char name[NUMBERED_BYTES];
    (void)snprintf(name, sizeof name, "elapse-work-%u", number);
    /* The worker is counted before it is made, so that no action sees fewer workers than there
     * are. */
    elapse__work_queue_expect_worker(&scheduler->queue);
    atomic_store(&thread->is_used, true);
    bool made = elapse__thread_make(scheduler, &thread->os, name, worker_main, thread);
    if (!made) {
        atomic_store(&thread->is_used, false);
        atomic_fetch_add(&scheduler->refused_threads, 1);
    }
    elapse__work_queue_worker_made(&scheduler->queue, made);
    return made;
}

bool elapse__workers_make(struct elapse_scheduler *scheduler, unsigned count)
{
    for (; count > 0; count--) {
        if (elapse__work_queue_workers(&scheduler->queue) >= scheduler->options.workers)
            break;
        if (!make_worker(scheduler))
            return false;
    }
    return true;
}

void elapse__workers_end(struct elapse_scheduler *scheduler)
{
    elapse__work_queue_end(&scheduler->queue);
    /* The worker that left last comes first: it joins the worker that left before it, and so on. */
    join_worker(scheduler, elapse__work_queue_take_left(&scheduler->queue));
    for (unsigned i = 0; i < scheduler->options.workers; i++) {
        if (atomic_load(&scheduler->workers[i].is_used))
            join_worker(scheduler, i);
    }
    elapse__work_queue_forget_workers(&scheduler->queue);
}
