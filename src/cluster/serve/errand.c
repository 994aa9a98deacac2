/*
 * Threads for what waits.
 */
#include "../../os/os.h"
#include "inner.h"

bool elapse__errand_start(struct elapse__errand *errand, void *(*main)(void *argument),
                          struct elapse__cluster *cluster)
{
    if (elapse__os->lock_init(&errand->lock) != 0)
        return false;
    errand->made = 1;
    if (elapse__os->condition_init(&errand->changed) != 0)
        return false;
    errand->made = 2;
    if (elapse__os->thread_start(&errand->thread, 0, main, cluster) != 0)
        return false;
    errand->made = 3;
    return true;
}

static void end_thread(struct elapse__errand *errand)
{
    elapse__lock(&errand->lock);
    errand->stops = true;
    elapse__condition_broadcast(&errand->changed);
    elapse__unlock(&errand->lock);
    elapse__os_thread_join(&errand->thread);
}

void elapse__errand_stop(struct elapse__errand *errand)
{
    if (errand->made > 2)
        end_thread(errand);
    if (errand->made > 1)
        elapse__condition_free(&errand->changed);
    if (errand->made > 0)
        elapse__lock_free(&errand->lock);
    errand->made = 0;
}
