#include "workers.h"

#include <signal.h>
#include <stdio.h>

#include "delivery.h"
#include "inside.h"

/* What the system allows, and "elapse-work-" with any number. */
enum { NAME_BYTES = 16, NUMBERED_BYTES = 24 };

/* What a new thread has to know; made by its maker, released by itself. */
struct birth {
    struct elapse_scheduler *scheduler;
    void *(*main)(void *scheduler);
    char name[NAME_BYTES];
};

static void *be_born(void *argument)
{
    struct birth *birth = argument;
    struct elapse_scheduler *scheduler = birth->scheduler;
    void *(*main)(void *) = birth->main;
    const struct elapse_scheduler_options *options = &scheduler->options;

    (void)pthread_setname_np(pthread_self(), birth->name);
    if (options->thread_started != NULL) {
        struct elapse__inside inside;
        elapse__enter(&inside, scheduler, (struct elapse_handle){0});
        options->thread_started(birth->name, options->thread_started_context);
        elapse__leave(&inside);
    }
    elapse__release(&options->allocator, birth, sizeof *birth);
    return main(scheduler);
}

static int create(pthread_t *thread, struct birth *birth, size_t stack_bytes)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    if (stack_bytes != 0)
        error = pthread_attr_setstacksize(&attributes, stack_bytes);
    if (error == 0) {
        sigset_t all;
        sigset_t before;
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(thread, &attributes, be_born, birth);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    (void)pthread_attr_destroy(&attributes);
    return error;
}

bool elapse__thread_make(struct elapse_scheduler *scheduler, pthread_t *thread, const char *name,
                         void *(*main)(void *scheduler))
{
    const struct elapse_allocator *memory = &scheduler->options.allocator;
    struct birth *birth = elapse__allocate(memory, _Alignof(struct birth), sizeof *birth);
    if (birth == NULL)
        return false;
    birth->scheduler = scheduler;
    birth->main = main;
    (void)snprintf(birth->name, sizeof birth->name, "%.*s", NAME_BYTES - 1, name);
    if (create(thread, birth, scheduler->options.stack_bytes) == 0)
        return true;
    elapse__release(memory, birth, sizeof *birth);
    return false;
}

static void *worker_main(void *argument)
{
    struct elapse_scheduler *scheduler = argument;
    struct elapse_handle handle;
    bool busy = false;
    bool kick;
    while (elapse__work_queue_take(&scheduler->queue, &busy, &handle, &kick)) {
        if (kick)
            elapse__sleeper_kick(&scheduler->sleeper);
        elapse__run_queued(scheduler, handle);
    }
    return NULL;
}

bool elapse__workers_make(struct elapse_scheduler *scheduler, unsigned count)
{
    unsigned made = atomic_load(&scheduler->worker_count);
    for (; count > 0 && made < scheduler->options.workers; count--) {
        char name[NUMBERED_BYTES];
        (void)snprintf(name, sizeof name, "elapse-work-%u", made);
        elapse__work_queue_count_worker(&scheduler->queue, true);
        /* Before it runs, so that no action sees fewer workers than there are. */
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
    elapse__work_queue_end(&scheduler->queue, true);
    for (unsigned i = 0; i < made; i++) {
        (void)pthread_join(scheduler->workers[i], NULL);
        elapse__work_queue_count_worker(&scheduler->queue, false);
    }
    elapse__work_queue_end(&scheduler->queue, false);
    atomic_store(&scheduler->worker_count, 0);
}
