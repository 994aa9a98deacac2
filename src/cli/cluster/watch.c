/*
 * Finds which partitions have an owner that is alive: those whose row changes between two looks.
 * Times in the row come from clocks of other machines, so they are not compared with this machine's
 * clock.
 */
#include "../../base/assert.h"
#include "cluster.h"

static void note(struct cluster_watched *watched, const struct elapse__status_partition *partition,
                 uint64_t now_ns)
{
    watched->epoch = partition->epoch;
    watched->beat = partition->beat;
    watched->last_group = partition->last_group;
    watched->changed_ns = now_ns;
    watched->unchanged_ns = 0;
}

void cluster_watch_first(struct cluster_watched *watched,
                         const struct elapse__status_partition *partition, uint64_t now_ns)
{
    watched->has_changed = false;
    note(watched, partition, now_ns);
}

void cluster_watch_next(struct cluster_watched *watched,
                        const struct elapse__status_partition *partition, uint64_t now_ns)
{
    ELAPSE__ASSERT_THAT(now_ns, >=, watched->changed_ns);
    if (partition->epoch != watched->epoch || partition->beat != watched->beat ||
        partition->last_group != watched->last_group) {
        watched->has_changed = true;
        note(watched, partition, now_ns);
    }
    watched->unchanged_ns = now_ns - watched->changed_ns;
    ELAPSE__ASSERT_THAT(partition->epoch, ==, watched->epoch);
    ELAPSE__ASSERT_THAT(partition->last_group, ==, watched->last_group);
}

bool cluster_watch_lives(const struct cluster_watched *watched,
                         const struct elapse__status_partition *partition)
{
    return watched->has_changed && partition->owner[0] != '\0' && partition->stopped[0] == '\0';
}
