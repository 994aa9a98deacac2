/*
 * Lets callers wait for jobs of a tube. A caller asks once for news of its watch. When the tube has
 * a job that can be handed out, the watch is put into the ring of news. This costs one comparison
 * for each job that becomes ready.
 */
#include "moves.h"

void elapse__queue_watch_tell(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    struct elapse__queue_watch *watch = tube->watch;
    if (watch == NULL || !watch->asked || !elapse__queue_may_hand_out(tube))
        return;
    ELAPSE__ASSERT(watch->tube == tube);
    ELAPSE__ASSERT(watch->news.next == NULL); /* a watch with news does not ask */
    watch->asked = false;
    elapse__ring_append(&queue->watch_news, &watch->news);
}

/* Holds a tube and watches it; if `always`, also if there are as many tubes as tubes_max. */
static enum elapse__queue_result begin(struct elapse__queue *queue, struct elapse__queue_text name,
                                       bool always, struct elapse__queue_watch *watch)
{
    enum elapse__queue_result result = elapse__queue_hold_tube(queue, name, always);
    if (result != ELAPSE__QUEUE_OK)
        return result;
    *watch = (struct elapse__queue_watch){.tube = elapse__queue_tube_find(queue, name)};
    ELAPSE__ASSERT(watch->tube->watch == NULL);
    ELAPSE__ASSERT_THAT(watch->tube->holds, >, 0); /* invariant 13: a watched tube stays */
    watch->tube->watch = watch;
    return ELAPSE__QUEUE_OK;
}

enum elapse__queue_result elapse__queue_watch_begin(struct elapse__queue *queue,
                                                    struct elapse__queue_text name,
                                                    struct elapse__queue_watch *watch)
{
    return begin(queue, name, false, watch);
}

enum elapse__queue_result elapse__queue_watch_begin_always(struct elapse__queue *queue,
                                                           struct elapse__queue_text name,
                                                           struct elapse__queue_watch *watch)
{
    return begin(queue, name, true, watch);
}

static void take_out(struct elapse__queue_watch *watch)
{
    if (watch->news.next == NULL)
        return;
    (void)elapse__ring_remove(&watch->news);
    watch->news.next = NULL;
}

void elapse__queue_watch_end(struct elapse__queue *queue, struct elapse__queue_watch *watch)
{
    struct elapse__queue_tube *tube = watch->tube;
    ELAPSE__ASSERT(tube->watch == watch);
    take_out(watch);
    tube->watch = NULL;
    elapse__queue_tube_release(queue, tube);
}

struct elapse__queue_watch *elapse__queue_watch_find(const struct elapse__queue *queue,
                                                     struct elapse__queue_text name)
{
    const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, name);
    return tube == NULL ? NULL : tube->watch;
}

struct elapse__queue_text elapse__queue_watch_name(const struct elapse__queue_watch *watch)
{
    return (struct elapse__queue_text){watch->tube->name, watch->tube->name_size};
}

void elapse__queue_watch_ask(struct elapse__queue *queue, struct elapse__queue_watch *watch)
{
    if (watch->news.next != NULL)
        return;
    watch->asked = true;
    elapse__queue_watch_tell(queue, watch->tube);
}

bool elapse__queue_watch_has_news(const struct elapse__queue *queue)
{
    return !elapse__ring_empty(&queue->watch_news);
}

struct elapse__queue_watch *elapse__queue_watch_next(struct elapse__queue *queue)
{
    if (elapse__ring_empty(&queue->watch_news))
        return NULL;
    struct elapse__queue_watch *watch = (void *)((unsigned char *)queue->watch_news.next -
                                                 offsetof(struct elapse__queue_watch, news));
    ELAPSE__ASSERT(!watch->asked);
    ELAPSE__ASSERT(watch->tube->watch == watch);
    take_out(watch);
    return watch;
}
