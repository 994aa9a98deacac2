/*
 * Calls a function for several partitions at the same time, because each call mostly waits for the
 * disk.
 */
#include "../../base/assert.h"
#include "../../os/os.h"
#include "base.h"

struct crew {
    elapse__cluster_call *call;
    void *context;
    uint32_t count;
    _Atomic uint32_t next;
};

static void *work(void *argument)
{
    struct crew *crew = argument;
    uint32_t number;

    ELAPSE__ASSERT_NO_LOCK_HELD();
    while ((number = atomic_fetch_add(&crew->next, 1)) < crew->count)
        crew->call(crew->context, number);
    return NULL;
}

void elapse__cluster_each(uint32_t count, elapse__cluster_call *call, void *context)
{
    struct crew crew = {.call = call, .context = context, .count = count};
    struct elapse__os_thread threads[ELAPSE__CLUSTER_TOGETHER - 1];
    uint32_t started = 0;

    ELAPSE__ASSERT_THAT(count, <, UINT32_MAX - ELAPSE__CLUSTER_TOGETHER);
    while (started + 1 < count && started < ELAPSE__CLUSTER_TOGETHER - 1 &&
           elapse__os->thread_start(&threads[started], 0, work, &crew) == 0)
        started++;
    (void)work(&crew);
    while (started > 0)
        elapse__os_thread_join(&threads[--started]);
}
