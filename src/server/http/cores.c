/*
 * Calls each core of a server or of a node, and adds up the counts of tubes over the cores.
 */
#include "cores.h"

#include <string.h>

#include "../../base/assert.h"
#include "cluster.h"

enum { SLICE_PLACES = 1 << 14 }; /* places in the table of tubes, most of which may be free */

static uint32_t core_count(const struct elapse__loop *loop)
{
    return loop->cluster == NULL ? 1 : loop->cluster->partitions;
}

static void with_core(struct elapse__loop *loop, uint32_t place,
                      void (*call)(struct elapse__loop *loop, void *argument), void *argument)
{
    const struct elapse__loop_cluster *cluster = loop->cluster;

    ELAPSE__ASSERT_THAT(place, <, core_count(loop));
    if (cluster == NULL)
        elapse__loop_with_core(loop, call, argument);
    else
        (void)cluster->with_core(cluster->context, place, call, argument);
}

void elapse__http_each_core(struct elapse__loop *loop,
                            void (*call)(struct elapse__loop *loop, void *argument), void *argument)
{
    for (uint32_t place = 0; place < core_count(loop); place++)
        with_core(loop, place, call, argument);
}

/* ---- tubes ---- */

static void take_slice(struct elapse__loop *loop, void *argument)
{
    struct elapse__http_tubes *tubes = argument;
    struct elapse__queue *jobs = loop->store->engine.jobs;
    struct elapse__queue_now now = elapse__store_now();
    uint32_t places = SLICE_PLACES;

    tubes->is_there = true;
    while (tubes->count < ELAPSE__HTTP_TUBES && places > 0) {
        struct elapse__queue_text name = elapse__queue_tubes(jobs, &tubes->cursor, &places);
        if (name.size > 0 &&
            elapse__queue_tube_statistics(jobs, now, name, &tubes->counts[tubes->count]) ==
                ELAPSE__QUEUE_OK) {
            ELAPSE__ASSERT_THAT(name.size, <=, ELAPSE__QUEUE_TUBE_BYTES_MAX);
            memcpy(tubes->names[tubes->count], name.bytes, name.size);
            tubes->sizes[tubes->count++] = name.size;
        }
        if (tubes->cursor == 0)
            break;
    }
}

/* The sum of a tube's counts over the cores. */
struct tube_sum {
    struct elapse__queue_text name;
    struct elapse__queue_statistics counts;
    uint32_t core;  /* the number of the core that is being looked at */
    uint32_t first; /* the first core that has the tube */
    bool is_found;
};

static void add_tube(struct elapse__loop *loop, void *argument)
{
    struct tube_sum *sum = argument;
    struct elapse__queue_statistics counts;

    if (elapse__queue_tube_statistics(loop->store->engine.jobs, elapse__store_now(), sum->name,
                                      &counts) != ELAPSE__QUEUE_OK)
        return;
    elapse__http_add_counts(&sum->counts, &counts);
    if (!sum->is_found)
        sum->first = sum->core;
    sum->is_found = true;
}

/* Stores the counts of a tube in all cores. Returns false if an earlier core has the tube too, or
 * if the tube does not exist any more. */
static bool add_up(struct elapse__loop *loop, const struct elapse__http_tubes *tubes,
                   struct elapse__queue_text name, struct elapse__queue_statistics *counts)
{
    struct tube_sum sum = {.name = name};

    for (; sum.core < core_count(loop); sum.core++)
        with_core(loop, sum.core, add_tube, &sum);
    ELAPSE__ASSERT_THAT(sum.first, <, core_count(loop));
    *counts = sum.counts;
    return sum.is_found && sum.first == tubes->core;
}

bool elapse__http_next_tubes(struct elapse__loop *loop, struct elapse__http_tubes *tubes,
                             void (*call)(void *argument, struct elapse__queue_text name,
                                          const struct elapse__queue_statistics *counts),
                             void *argument)
{
    tubes->count = 0;
    tubes->is_there = false;
    with_core(loop, tubes->core, take_slice, tubes);
    ELAPSE__ASSERT(tubes->is_there || tubes->count == 0);
    ELAPSE__ASSERT_THAT(tubes->count, <=, ELAPSE__HTTP_TUBES);
    for (size_t i = 0; i < tubes->count; i++) {
        struct elapse__queue_text name = {.bytes = tubes->names[i], .size = tubes->sizes[i]};
        if (core_count(loop) == 1 || add_up(loop, tubes, name, &tubes->counts[i]))
            call(argument, name, &tubes->counts[i]);
    }
    if (tubes->is_there && tubes->cursor != 0)
        return true;
    tubes->cursor = 0;
    tubes->core = (tubes->core + 1) % core_count(loop);
    return tubes->core != 0;
}
