/*
 * Keeps the tubes that connections use, and the reserves that wait in them.
 */
#include <stdlib.h>

#include "tubes.h"

static struct elapse__server_tube *get_tube(struct elapse__server *server,
                                            struct elapse__queue_text name, bool always,
                                            enum elapse__queue_result *result)
{
    struct elapse__queue *jobs = server->engine->jobs;
    struct elapse__server_tube *tube = elapse__server_tube_of(elapse__queue_watch_find(jobs, name));

    *result = ELAPSE__QUEUE_OK;
    if (tube == NULL) {
        tube = calloc(1, sizeof *tube);
        if (tube == NULL)
            *result = ELAPSE__QUEUE_NO_MEMORY;
        else
            *result = always ? elapse__queue_watch_begin_always(jobs, name, &tube->watch)
                             : elapse__queue_watch_begin(jobs, name, &tube->watch);
        if (*result != ELAPSE__QUEUE_OK) {
            free(tube);
            return NULL;
        }
        elapse__ring_init(&tube->waiters);
    }
    tube->references++;
    return tube;
}

struct elapse__server_tube *elapse__server_tube_get(struct elapse__server *server,
                                                    struct elapse__queue_text name,
                                                    enum elapse__queue_result *result)
{
    return get_tube(server, name, false, result);
}

struct elapse__server_tube *elapse__server_tube_get_always(struct elapse__server *server,
                                                           struct elapse__queue_text name,
                                                           enum elapse__queue_result *result)
{
    return get_tube(server, name, true, result);
}

void elapse__server_tube_give(struct elapse__server *server, struct elapse__server_tube *tube)
{
    ELAPSE__ASSERT_THAT(tube->references, >, 0);
    if (--tube->references > 0)
        return;
    ELAPSE__ASSERT(elapse__ring_empty(&tube->waiters));
    ELAPSE__ASSERT_THAT(tube->figures.using + tube->figures.watching, ==, 0U);
    elapse__queue_watch_end(server->engine->jobs, &tube->watch);
    free(tube);
}

struct elapse__queue_text elapse__server_tube_name(const struct elapse__server_tube *tube)
{
    return elapse__queue_watch_name(&tube->watch);
}

void elapse__server_tube_use(struct elapse__server_tube *tube, int change)
{
    ELAPSE__ASSERT(change > 0 || tube->figures.using > 0);
    tube->figures.using += (uint32_t)change;
}

void elapse__server_tube_watch(struct elapse__server_tube *tube, int change)
{
    ELAPSE__ASSERT(change > 0 || tube->figures.watching > 0);
    tube->figures.watching += (uint32_t)change;
}

struct elapse__server_tube_figures elapse__server_tube_figures(const struct elapse__server *server,
                                                               struct elapse__queue_text name)
{
    const struct elapse__server_tube *tube =
        elapse__server_tube_of(elapse__queue_watch_find(server->engine->jobs, name));
    return tube == NULL ? (struct elapse__server_tube_figures){0} : tube->figures;
}

/* ---- waiting ---- */

void elapse__reply_wait(struct elapse__server_reply *reply, bool in_front)
{
    struct elapse__queue *jobs = reply->connection->server->engine->jobs;

    ELAPSE__ASSERT(reply->state == ELAPSE__REPLY_NOTHING || reply->state == ELAPSE__REPLY_READING);
    ELAPSE__ASSERT_THAT(reply->hand_count, ==, 0);
    reply->state = ELAPSE__REPLY_WAITING;
    reply->gate = UINT64_MAX;
    reply->connection->waiting++;
    reply->connection->server->figures.waiting++;
    for (uint32_t i = 0; i < reply->waiter_count; i++) {
        struct elapse__waiter *waiter = &reply->waiters[i];
        if (in_front)
            elapse__ring_prepend(&waiter->tube->waiters, &waiter->ring_node);
        else
            elapse__ring_append(&waiter->tube->waiters, &waiter->ring_node);
        waiter->tube->figures.waiting++;
        elapse__queue_watch_ask(jobs, &waiter->tube->watch);
    }
}

void elapse__reply_stop_waiting(struct elapse__server_reply *reply)
{
    struct elapse__server *server = reply->connection->server;

    if (reply->state != ELAPSE__REPLY_WAITING)
        return;
    (void)elapse_wheel_stop(&server->wheel, &reply->alarm.timer);
    ELAPSE__ASSERT_THAT(reply->connection->waiting, >, 0);
    reply->connection->waiting--;
    ELAPSE__ASSERT_THAT(server->figures.waiting, >, 0);
    server->figures.waiting--;
    for (uint32_t i = 0; i < reply->waiter_count; i++) {
        elapse__ring_leave(&reply->waiters[i].ring_node);
        ELAPSE__ASSERT_THAT(reply->waiters[i].tube->figures.waiting, >, 0U);
        reply->waiters[i].tube->figures.waiting--;
    }
    reply->state = ELAPSE__REPLY_NOTHING;
}
