/*
 * Makes monitors and errands. A monitor is a lock with a condition. An errand is a thread that may
 * wait for the database or a name server, which the loop must not do.
 */
#include <stdio.h>

#include "../../base/assert.h"
#include "../../os/os.h"
#include "base.h"

#define PATIENCE_NS UINT64_C(200000000)

bool elapse__cluster_monitor_open(struct elapse__cluster_monitor *monitor)
{
    ELAPSE__ASSERT_THAT(monitor->made, ==, 0);
    if (elapse__os->lock_init(&monitor->lock) != 0)
        return false;
    monitor->made = 1;
    if (elapse__os->condition_init(&monitor->changed) != 0)
        return false;
    monitor->made = 2;
    return true;
}

void elapse__cluster_monitor_close(struct elapse__cluster_monitor *monitor)
{
    if (monitor->made > 1)
        elapse__condition_free(&monitor->changed);
    if (monitor->made > 0)
        elapse__lock_free(&monitor->lock);
    monitor->made = 0;
}

bool elapse__cluster_errand_start(struct elapse__cluster_errand *errand,
                                  void *(*main)(void *argument), struct elapse__cluster *cluster)
{
    ELAPSE__ASSERT(!errand->stops);
    ELAPSE__ASSERT(!errand->is_running);
    errand->is_running = elapse__cluster_monitor_open(&errand->monitor) &&
                         elapse__os->thread_start(&errand->thread, 0, main, cluster) == 0;
    return errand->is_running;
}

void elapse__cluster_errand_end(struct elapse__cluster_errand *errand)
{
    ELAPSE__ASSERT_LOCK_HELD(&errand->monitor.lock);
    ELAPSE__ASSERT(errand->stops);
    errand->has_ended = true;
    elapse__condition_broadcast(&errand->monitor.changed);
}

void elapse__cluster_errand_rest(struct elapse__cluster_errand *errand, uint64_t until_ns)
{
    ELAPSE__ASSERT_LOCK_HELD(&errand->monitor.lock);
    while (!errand->stops &&
           elapse__condition_wait_until(&errand->monitor.changed, &errand->monitor.lock, until_ns))
        ;
}

void elapse__cluster_errand_note(struct elapse__cluster *cluster,
                                 struct elapse__cluster_errand *errand,
                                 enum elapse__logger_level level, const char *text)
{
    ELAPSE__ASSERT_LOCK_HELD(&errand->monitor.lock);
    errand->has_notice = true;
    errand->notice.level = level;
    (void)snprintf(errand->notice.text, sizeof errand->notice.text, "%s", text);
    elapse__os_event_set(cluster->event);
}

bool elapse__cluster_errand_log(struct elapse__cluster *cluster,
                                struct elapse__cluster_errand *errand)
{
    elapse__lock(&errand->monitor.lock);
    bool has_notice = errand->has_notice;
    const struct elapse__cluster_notice notice = errand->notice;
    errand->has_notice = false;
    elapse__unlock(&errand->monitor.lock);
    if (has_notice)
        elapse__logger(elapse__cluster_logger(cluster), notice.level, ELAPSE__EVENT_CLUSTER, "%s",
                       notice.text);
    return has_notice;
}

/* Returns whether the thread has ended in time. */
static bool end_thread(struct elapse__cluster_errand *errand)
{
    uint64_t until_ns = elapse__os_monotonic_ns() + PATIENCE_NS;

    elapse__lock(&errand->monitor.lock);
    ELAPSE__ASSERT(!errand->stops);
    errand->stops = true;
    elapse__condition_broadcast(&errand->monitor.changed);
    while (!errand->has_ended &&
           elapse__condition_wait_until(&errand->monitor.changed, &errand->monitor.lock, until_ns))
        ;
    bool has_ended = errand->has_ended;
    elapse__unlock(&errand->monitor.lock);
    if (has_ended)
        elapse__os_thread_join(&errand->thread);
    errand->is_running = !has_ended;
    return has_ended;
}

bool elapse__cluster_errand_stop(struct elapse__cluster_errand *errand)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    if (errand->is_running && !end_thread(errand))
        return false;
    elapse__cluster_monitor_close(&errand->monitor);
    return true;
}
