/*
 * Makes monitors and errands. A monitor is a lock with its condition. An errand is a thread that
 * may wait for the database or a name server, because the loop must not wait.
 */
#include "../../base/assert.h"
#include "../../os/os.h"
#include "base.h"

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

static void end_thread(struct elapse__cluster_errand *errand)
{
    elapse__lock(&errand->monitor.lock);
    ELAPSE__ASSERT(!errand->stops);
    errand->stops = true;
    elapse__condition_broadcast(&errand->monitor.changed);
    elapse__unlock(&errand->monitor.lock);
    elapse__os_thread_join(&errand->thread);
    errand->is_running = false;
}

void elapse__cluster_errand_stop(struct elapse__cluster_errand *errand)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    if (errand->is_running)
        end_thread(errand);
    elapse__cluster_monitor_close(&errand->monitor);
}
