/*
 * A program that uses an installed library: the wheel, the heap and the scheduler, with their
 * inline functions. Prints the version of the library with which it runs.
 */
#include <stdio.h>
#include <string.h>

#include <elapse/heap.h>
#include <elapse/scheduler.h>
#include <elapse/structure.h>
#include <elapse/version.h>
#include <elapse/wheel.h>

static int wheel_fires(void)
{
    static struct elapse_wheel wheel;
    struct elapse_timer kept, stopped;

    if (elapse_wheel_init(&wheel, 0) != ELAPSE_OK)
        return 0;
    elapse_timer_init(&kept);
    elapse_timer_init(&stopped);
    elapse_wheel_start(&wheel, &kept, elapse_deadline_after(elapse_wheel_now(&wheel), 30));
    elapse_wheel_start(&wheel, &stopped, 20);
    elapse_wheel_prefetch_stop(&stopped);
    if (!elapse_wheel_stop(&wheel, &stopped) || elapse_wheel_count(&wheel) != 1)
        return 0;
    elapse_wheel_advance(&wheel, 29);
    if (elapse_wheel_pop(&wheel) != NULL || !elapse_timer_pending(&kept))
        return 0;
    elapse_wheel_advance(&wheel, 30);
    return elapse_wheel_pop(&wheel) == &kept && elapse_timer_deadline(&kept) == 30;
}

static int heap_fires(void)
{
    struct elapse_heap heap;
    struct elapse_timer timer;
    uint64_t storage[64];

    elapse_timer_init(&timer);
    if (elapse_heap_storage_bytes(1) > sizeof storage ||
        elapse_heap_init(&heap, storage, sizeof storage, 0) != ELAPSE_OK ||
        elapse_heap_start(&heap, &timer, 7) != ELAPSE_OK)
        return 0;
    elapse_heap_advance(&heap, 7);
    return elapse_heap_pop(&heap) == &timer;
}

static void count(void *context, const struct elapse_run *run)
{
    (void)run;
    ++*(int *)context;
}

/* With threads: closing runs the due task, and waits for it. */
static int scheduler_runs(void)
{
    struct elapse_scheduler_options options;
    struct elapse_scheduler *scheduler;
    struct elapse_task task;
    int ran = 0;

    memset(&task, 0, sizeof task);
    task.action = count;
    task.context = &ran;
    elapse_scheduler_options_init(&options);
    if (elapse_scheduler_new(&options, &scheduler) != ELAPSE_OK)
        return 0;
    if (elapse_scheduler_start(scheduler) != ELAPSE_OK ||
        elapse_task_schedule_at(scheduler, &task, 0, NULL) != ELAPSE_OK ||
        elapse_scheduler_close(scheduler, ELAPSE_CLOSE_RUN_DUE, NULL, NULL) != ELAPSE_OK)
        return 0;
    return elapse_scheduler_free(scheduler) == ELAPSE_OK && ran == 1;
}

int main(void)
{
    if (strcmp(elapse_version(), ELAPSE_VERSION_TEXT) != 0) {
        printf("library %s, headers %s\n", elapse_version(), ELAPSE_VERSION_TEXT);
        return 1;
    }
    if (elapse_structure_find("wheel") == NULL || !wheel_fires() || !heap_fires() ||
        !scheduler_runs()) {
        puts("the library does not work");
        return 1;
    }
    puts(elapse_version());
    return 0;
}
