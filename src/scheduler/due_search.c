#include "due_search.h"

#include "../base/assert.h"

/* Returns the wake_ticks of a shard. */
static struct elapse__ticks wakes_of(const struct elapse__shard *shard)
{
    return (struct elapse__ticks){
        .monotonic = atomic_load(&shard->wake_tick),
        .wall_clock = atomic_load(&shard->wall_clock.wake_tick),
    };
}

struct elapse__ticks elapse__earliest_wakes(const struct elapse_scheduler *scheduler)
{
    struct elapse__ticks earliest = {ELAPSE_NEVER, ELAPSE_NEVER};
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        struct elapse__ticks wakes = wakes_of(&scheduler->shards[i]);
        earliest.monotonic =
            wakes.monotonic < earliest.monotonic ? wakes.monotonic : earliest.monotonic;
        if (wakes.wall_clock < earliest.wall_clock)
            earliest.wall_clock = wakes.wall_clock;
    }
    return earliest;
}

uint64_t elapse__earliest_cascade(const struct elapse_scheduler *scheduler)
{
    uint64_t earliest = ELAPSE_NEVER;
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        uint64_t tick = atomic_load(&scheduler->shards[i].cascade_tick);
        earliest = tick < earliest ? tick : earliest;
    }
    return earliest;
}

bool elapse__may_be_due(const struct elapse__shard *shard, struct elapse__ticks now)
{
    struct elapse__ticks wakes = wakes_of(shard);
    return wakes.monotonic <= now.monotonic || wakes.wall_clock <= now.wall_clock;
}

bool elapse__is_anything_due(const struct elapse_scheduler *scheduler, struct elapse__ticks now)
{
    struct elapse__ticks earliest = elapse__earliest_wakes(scheduler);
    return earliest.monotonic <= now.monotonic || earliest.wall_clock <= now.wall_clock;
}

struct elapse__shard *elapse__first_due(struct elapse_scheduler *scheduler,
                                        struct elapse__ticks now, struct elapse__ticks *until)
{
    struct elapse__ticks least = {ELAPSE_NEVER, ELAPSE_NEVER};
    struct elapse__shard *monotonic = NULL;
    struct elapse__shard *wall_clock = NULL;
    /* Each wake_tick is read once, because other threads may lower it meanwhile. */
    for (unsigned i = 0; i < scheduler->options.shards; i++) {
        struct elapse__ticks wakes = wakes_of(&scheduler->shards[i]);
        if (wakes.monotonic <= now.monotonic && wakes.monotonic < least.monotonic) {
            least.monotonic = wakes.monotonic;
            monotonic = &scheduler->shards[i];
        }
        if (wakes.wall_clock <= now.wall_clock && wakes.wall_clock < least.wall_clock) {
            least.wall_clock = wakes.wall_clock;
            wall_clock = &scheduler->shards[i];
        }
    }
    bool by_wall_clock =
        wall_clock != NULL && (monotonic == NULL || atomic_load(&scheduler->wall_clock_first));
    if (monotonic != NULL && wall_clock != NULL)
        atomic_store(&scheduler->wall_clock_first, !by_wall_clock);
    *until = by_wall_clock ? (struct elapse__ticks){ELAPSE_NEVER, least.wall_clock}
                           : (struct elapse__ticks){least.monotonic, ELAPSE_NEVER};
    return by_wall_clock ? wall_clock : monotonic;
}
