/*
 * Runs tasks that may take long before the node serves. A task may wait for the database, for a
 * name server, or for the disk. A signal that asks the process to end does not wait for the task.
 */
#include "../../base/assert.h"
#include "../../server/serve/listeners.h"
#include "base.h"

struct task {
    struct elapse__cluster *cluster;
    elapse__cluster_call *call;
    void *context;
    _Atomic bool is_done;
};

static void *work(void *argument)
{
    struct task *task = argument;

    task->call(task->context, 0);
    atomic_store(&task->is_done, true);
    elapse__os_event_set(task->cluster->event);
    return NULL;
}

/* Ends the process while the thread still waits. This does no harm: no client has a promise yet,
 * and the files are as after a crash. */
static _Noreturn void abandon(struct elapse__cluster *cluster)
{
    elapse__os_notify("STOPPING=1");
    elapse__listeners_close(&cluster->service.loop);
    elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_STOPPED,
                   "the node has ended before it was ready");
    elapse__os_end_process(0);
}

void elapse__cluster_begin(struct elapse__cluster *cluster, elapse__cluster_call *call,
                           void *context)
{
    struct task task = {.cluster = cluster, .call = call, .context = context};
    struct elapse__os_thread thread;

    ELAPSE__ASSERT_NO_LOCK_HELD();
    if (elapse__os->thread_start(&thread, 0, work, &task) != 0) {
        call(context, 0);
        return;
    }
    while (!atomic_load(&task.is_done)) {
        struct elapse__os_watch watches[] = {
            {.file = cluster->event, .for_data = true},
            {.file = cluster->service.signals.file, .for_data = true}};
        (void)elapse__os_wait(watches, 2, ELAPSE__OS_FOREVER);
        (void)elapse__os_event_reset(cluster->event);
        if (watches[1].ready && elapse__service_is_asked_to_end(&cluster->service))
            abandon(cluster);
    }
    elapse__os_thread_join(&thread);
    (void)elapse__os_event_reset(cluster->event);
}
