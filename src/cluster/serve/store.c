/*
 * Opens the store of a partition: its journal and its queue (src/engine/store).
 */
#include "store.h"
#include "../../base/assert.h"

void elapse__cluster_partition_count_files(struct elapse__cluster_partition *partition)
{
    struct elapse__journal_figures figures;

    elapse__store_arrive(partition->store);
    elapse__journal_figures(partition->store->engine.journal, &figures);
    elapse__store_depart(partition->store);
    ELAPSE__ASSERT_THAT(figures.head, >=, figures.tail);
    atomic_store(&partition->segments, figures.head - figures.tail + 1);
}

enum elapse_error elapse__cluster_partition_open_store(struct elapse__cluster_partition *partition,
                                                       struct elapse_queue_fault *fault)
{
    const struct elapse__cluster *cluster = partition->cluster;
    const struct elapse_queue_options queue =
        elapse__service_queue_options(elapse__cluster_options(cluster));
    const struct elapse__store_wishes wishes = {
        .foresees = elapse__service_wants_http(&cluster->service.loop),
        .partitions = cluster->queue.partitions,
        .partition = partition->number,
        .hash_tags = cluster->queue.hash_tags == ELAPSE__SCHEMA_TAGS_ON,
        .log = &partition->log,
        .turns_itself = true,
        .new_records = cluster->queue.level > 0,
    };

    ELAPSE__ASSERT(partition->store == NULL);
    ELAPSE__ASSERT_THAT(partition->number, <, cluster->queue.partitions);
    ELAPSE__ASSERT_THAT(elapse__cluster_partition_check(partition), ==, 0);
    enum elapse_error error =
        elapse__store_open(partition->directory, &queue, &wishes, &partition->store, fault);

    if (error == ELAPSE_OK)
        elapse__cluster_partition_count_files(partition);
    return error;
}
