/*
 * The cores of a server, or of a node.
 */
#include "cores.h"

#include <string.h>

#include "../loop/cluster.h"

enum { PLACES = 1 << 14 }; /* of tubes, most of which may be free */

bool elapse__http_with_core(struct elapse__loop *loop, uint32_t place,
                            void (*call)(struct elapse__loop *loop, void *argument), void *argument)
{
    const struct elapse__loop_cluster *cluster = loop->cluster;

    if (place >= (cluster == NULL ? 1 : cluster->partitions))
        return false;
    if (cluster == NULL)
        elapse__loop_with_core(loop, call, argument);
    else
        (void)cluster->with_core(cluster->context, place, call, argument);
    return true;
}

void elapse__http_each_core(struct elapse__loop *loop,
                            void (*call)(struct elapse__loop *loop, void *argument), void *argument)
{
    for (uint32_t place = 0; elapse__http_with_core(loop, place, call, argument); place++)
        ;
}

/* ---- tubes ---- */

static void take_names(struct elapse__loop *loop, void *argument)
{
    struct elapse__http_names *names = argument;
    uint32_t places = PLACES;

    while (names->count < ELAPSE__HTTP_NAMES && places > 0) {
        struct elapse__queue_text name =
            elapse__queue_tubes(loop->store->engine.jobs, &names->cursor, &places);
        if (name.size > 0) {
            memcpy(names->bytes[names->count], name.bytes, name.size);
            names->sizes[names->count++] = name.size;
        }
        if (names->cursor == 0)
            break;
    }
}

bool elapse__http_next_names(struct elapse__loop *loop, struct elapse__http_names *names)
{
    names->count = 0;
    names->found_at = names->place;
    if (!elapse__http_with_core(loop, names->place, take_names, names)) {
        names->place = 0;
        names->cursor = 0;
        return false;
    }
    /* A partition that this node has lost meanwhile has no more names. */
    if (names->count == 0)
        names->cursor = 0;
    if (names->cursor == 0)
        names->place++;
    return true;
}

/* A sum over cores, and the first of them that has the tube. */
struct tube_sum {
    struct elapse__queue_text name;
    struct elapse__queue_statistics *counts;
    uint32_t place;
    uint32_t first;
    bool is_found;
};

static void add_tube(struct elapse__loop *loop, void *argument)
{
    struct tube_sum *sum = argument;
    struct elapse__queue_statistics counts;

    if (elapse__queue_tube_statistics(loop->store->engine.jobs, elapse__store_now(), sum->name,
                                      &counts) != ELAPSE__QUEUE_OK)
        return;
    elapse__http_add_counts(sum->counts, &counts);
    if (!sum->is_found)
        sum->first = sum->place;
    sum->is_found = true;
}

bool elapse__http_count_tube(struct elapse__loop *loop, const struct elapse__http_names *names,
                             size_t which, struct elapse__queue_statistics *counts)
{
    struct tube_sum sum = {.name = {.bytes = names->bytes[which], .size = names->sizes[which]},
                           .counts = counts};

    *counts = (struct elapse__queue_statistics){.total_jobs = 0};
    while (elapse__http_with_core(loop, sum.place, add_tube, &sum))
        sum.place++;
    return sum.is_found && sum.first == names->found_at;
}

/* ---- the cluster ---- */

/* The texts stay where they are until the next call. */
static void show_partition(void *context, uint32_t partition,
                           struct elapse__http_partition *figures)
{
    static struct elapse__loop_partition seen;
    const struct elapse__loop_cluster *cluster = context;

    cluster->partition(cluster->context, partition, &seen);
    *figures = (struct elapse__http_partition){
        .role = seen.role,
        .complaint = seen.complaint,
        .owner = seen.owner,
        .address = seen.address,
        .epoch = seen.epoch,
        .last_group = seen.last_group,
        .lag = seen.last_group > seen.local_group ? seen.last_group - seen.local_group : 0,
        .tail = seen.tail,
        .number = partition,
        .is_owned = seen.is_owned,
        .may_answer = seen.may_answer,
    };
}

bool elapse__http_cluster_look(struct elapse__loop *loop, struct elapse__http_cluster *shown)
{
    const struct elapse__loop_cluster *cluster = loop->cluster;
    struct elapse__loop_router router;

    if (cluster == NULL)
        return false;
    cluster->router(cluster->context, &router);
    *shown = (struct elapse__http_cluster){
        .queue = cluster->queue,
        .node = cluster->node,
        .partitions = cluster->partitions,
        .router = {.clients = router.clients,
                   .waiting = router.waiting,
                   .total_clients = router.total_clients,
                   .commands = router.commands,
                   .sent = router.sent,
                   .sent_again = router.sent_again,
                   .unknown = router.unknown,
                   .try_again = router.try_again,
                   .links_lost = router.links_lost},
        .partition = show_partition,
        .context = (void *)(uintptr_t)cluster,
    };
    return true;
}
