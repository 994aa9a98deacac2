#include "workers.h"

#include <stdio.h>

#include "../base/assert.h"
#include "callback.h"
#include "run.h"

/* The longest name that the system allows, and space for "elapse-work-" with any number. */
enum { NAME_BYTES = 16, NUMBERED_BYTES = 24 };

/* What a new thread receives from the thread that makes it. The new thread releases it. */
struct thread_start {
    struct elapse_scheduler *scheduler;
    void *(*main)(void *scheduler);
    char name[NAME_BYTES];
};

static void *thread_main(void *argument)
{
    struct thread_start *start = argument;
    ELAPSE__ASSERT_NO_LOCK_HELD();
    struct elapse_scheduler *scheduler = start->scheduler;
    void *(*main)(void *) = start->main;
    const struct elapse_scheduler_options *options = &scheduler->options;

    elapse__os_thread_name(start->name);
    if (options->thread_started != NULL) {
        struct elapse__callback callback;
        elapse__callback_enter(&callback, scheduler, (struct elapse_handle){0});
        options->thread_started(start->name, options->thread_started_context);
        elapse__callback_leave(&callback);
    }
    elapse__release(&options->allocator, start, sizeof *start);
    return main(scheduler);
}

bool elapse__thread_make(struct elapse_scheduler *scheduler, struct elapse__os_thread *thread,
                         const char *name, void *(*main)(void *scheduler))
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    struct thread_start *start =
        elapse__allocate(memory, _Alignof(struct thread_start), sizeof *start);
    if (start == NULL)
        return false;
    start->scheduler = scheduler;
    start->main = main;
    (void)snprintf(start->name, sizeof start->name, "%.*s", NAME_BYTES - 1, name);
    if (elapse__os->thread_start(thread, scheduler->options.stack_bytes, thread_main, start) == 0)
        return true;
    elapse__release(memory, start, sizeof *start);
    return false;
}

static void *worker_main(void *argument)
{
    struct elapse_scheduler *scheduler = argument;
    struct elapse__queued queued;
    bool busy = false;
    ELAPSE__ASSERT_THAT(scheduler->options.workers, >, 0);
    bool kick;
    while (elapse__work_queue_take(&scheduler->queue, &busy, &queued, &kick)) {
        if (kick)
            elapse__sleeper_kick(&scheduler->sleeper);
        elapse__run_queued(scheduler, queued);
        ELAPSE__ASSERT_NO_LOCK_HELD();
    }
    return NULL;
}

bool elapse__workers_make(struct elapse_scheduler *scheduler, unsigned count)
{
    unsigned made = atomic_load(&scheduler->worker_count);
    ELAPSE__ASSERT_THAT(made, <=, scheduler->options.workers);
    for (; count > 0 && made < scheduler->options.workers; count--) {
        char name[NUMBERED_BYTES];
        (void)snprintf(name, sizeof name, "elapse-work-%u", made);
        elapse__work_queue_count_worker(&scheduler->queue, true);
        /* The count comes first, so that no action sees fewer workers than there are. */
        atomic_store(&scheduler->worker_count, made + 1);
        if (!elapse__thread_make(scheduler, &scheduler->workers[made], name, worker_main)) {
            atomic_store(&scheduler->worker_count, made);
            elapse__work_queue_count_worker(&scheduler->queue, false);
            atomic_fetch_add(&scheduler->refused_threads, 1);
            return false;
        }
        made++;
    }
    return true;
}

void elapse__workers_end(struct elapse_scheduler *scheduler)
{
    unsigned made = atomic_load(&scheduler->worker_count);
    ELAPSE__ASSERT_THAT(made, <=, scheduler->options.workers);
    elapse__work_queue_end(&scheduler->queue, true);
    for (unsigned i = 0; i < made; i++) {
        elapse__os_thread_join(&scheduler->workers[i]);
        elapse__work_queue_count_worker(&scheduler->queue, false);
    }
    elapse__work_queue_end(&scheduler->queue, false);
    atomic_store(&scheduler->worker_count, 0);
}
