/*
 * Keeps the witnesses of all partitions (R11 of src/cluster/ownership/partition.h), and has the
 * thread that writes them to the disk. It writes them at most once in a tenth of a lease, all at
 * once. What the disk lacks of them is lost with this process. That costs evidence, and only if the
 * groups of that moment are lost, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../ownership/chain.h"
#include "base.h"

#define NS_PER_MS UINT64_C(1000000)

enum { WRITES_A_LEASE = 10 };

/* Names the queue in the file. */
static uint64_t queue_of(const struct elapse__cluster *cluster)
{
    return elapse__chain_genesis(cluster->queue.identity, 0);
}

static const char *directory_of(const struct elapse__cluster *cluster)
{
    return elapse__cluster_options(cluster)->directory;
}

/* Takes what directories say that were left. A crash may have come before the file `witness` had
 * it. */
static void take_left(struct elapse__cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        const struct elapse__store_witness *known = &cluster->partitions[i].left.known;
        struct elapse__store_witness *seen = &cluster->witnesses.seen[i];
        bool is_same_system =
            seen->group == 0 || seen->system_identifier == known->system_identifier;
        if (!cluster->partitions[i].is_left || !is_same_system || known->group <= seen->group)
            continue;
        *seen = *known;
        cluster->witnesses.has_changed = true;
    }
}

bool elapse__cluster_witnesses_make(struct elapse__cluster *cluster)
{
    struct elapse__cluster_witnesses *witnesses = &cluster->witnesses;
    const uint32_t partitions = cluster->queue.partitions;

    ELAPSE__ASSERT(witnesses->seen == NULL);
    ELAPSE__ASSERT_THAT(partitions, >, 0);
    witnesses->seen = calloc(partitions, sizeof *witnesses->seen);
    if (witnesses->seen == NULL)
        return false;
    int error = elapse__store_recall_witnesses(&elapse__files_linux, directory_of(cluster),
                                               queue_of(cluster), witnesses->seen, partitions);
    if (error != 0)
        elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_WARNING,
                       ELAPSE__EVENT_CLUSTER,
                       "%s/witness: what this node has seen of partitions is forgotten: %s",
                       directory_of(cluster),
                       error == EBADMSG ? "the file is damaged, or of another queue"
                                        : elapse__os_error_text(error));
    take_left(cluster);
    return true;
}

void elapse__cluster_witnesses_free(struct elapse__cluster *cluster)
{
    free(cluster->witnesses.seen);
    cluster->witnesses.seen = NULL;
}

struct elapse__partition_witness
elapse__cluster_witness(const struct elapse__cluster_partition *partition)
{
    struct elapse__cluster_witnesses *witnesses = &partition->cluster->witnesses;

    elapse__lock(&witnesses->errand.monitor.lock);
    const struct elapse__store_witness seen = witnesses->seen[partition->number];
    elapse__unlock(&witnesses->errand.monitor.lock);
    return (struct elapse__partition_witness){
        {seen.group, seen.hash}, seen.epoch, seen.system_identifier, (uint32_t)seen.timeline};
}

void elapse__cluster_note_witness(const struct elapse__cluster_partition *partition,
                                  const struct elapse__partition_witness *witness)
{
    struct elapse__cluster_witnesses *witnesses = &partition->cluster->witnesses;
    struct elapse__store_witness seen = {.group = 0};

    if (witness->place.group > 0)
        seen = (struct elapse__store_witness){witness->place.group, witness->place.hash,
                                              witness->epoch, witness->system_identifier,
                                              witness->timeline};
    elapse__lock(&witnesses->errand.monitor.lock);
    if (memcmp(&witnesses->seen[partition->number], &seen, sizeof seen) != 0) {
        witnesses->seen[partition->number] = seen;
        witnesses->has_changed = true;
        elapse__condition_broadcast(&witnesses->errand.monitor.changed);
    }
    elapse__unlock(&witnesses->errand.monitor.lock);
}

/* ---- the thread ---- */

/* Leaves a line for the log when the disk begins to refuse. */
static void note_error(struct elapse__cluster *cluster, int error, int *before)
{
    struct elapse__cluster_witnesses *witnesses = &cluster->witnesses;
    char text[ELAPSE__CLUSTER_PARTITION_NOTICE_BYTES];

    ELAPSE__ASSERT_LOCK_HELD(&witnesses->errand.monitor.lock);
    if (error != 0)
        witnesses->has_changed = true; /* is tried again */
    if (error != 0 && *before == 0) {
        (void)snprintf(text, sizeof text, "%s/witness cannot be written: %s", directory_of(cluster),
                       elapse__os_error_text(error));
        elapse__cluster_errand_note(cluster, &witnesses->errand, ELAPSE__LOGGER_ERROR, text);
    }
    *before = error;
}

/* Writes what has changed, if something has. Waits, so that the next write comes no earlier than a
 * tenth of a lease later, unless the thread has to stop. */
static void write_once(struct elapse__cluster *cluster, struct elapse__store_witness *copy,
                       int *error)
{
    struct elapse__cluster_errand *errand = &cluster->witnesses.errand;
    const uint32_t count = cluster->queue.partitions;

    ELAPSE__ASSERT_LOCK_HELD(&errand->monitor.lock);
    memcpy(copy, cluster->witnesses.seen, count * sizeof *copy);
    cluster->witnesses.has_changed = false;
    elapse__unlock(&errand->monitor.lock);
    int now = elapse__store_remember_witnesses(&elapse__files_linux, directory_of(cluster),
                                               queue_of(cluster), copy, count);
    const uint64_t again_ns =
        elapse__os_monotonic_ns() + (cluster->queue.lease_ms / WRITES_A_LEASE + 1) * NS_PER_MS;
    elapse__lock(&errand->monitor.lock);
    note_error(cluster, now, error);
    elapse__cluster_errand_rest(errand, again_ns);
}

void *elapse__cluster_errand_witnesses(void *argument)
{
    struct elapse__cluster *cluster = argument;
    struct elapse__cluster_errand *errand = &cluster->witnesses.errand;
    struct elapse__store_witness *copy = calloc(cluster->queue.partitions, sizeof *copy);
    int error = 0;

    elapse__os_thread_name("elapse-witness");
    elapse__lock(&errand->monitor.lock);
    while (!errand->stops) {
        if (cluster->witnesses.has_changed && copy != NULL)
            write_once(cluster, copy, &error);
        else
            elapse__condition_wait(&errand->monitor.changed, &errand->monitor.lock);
    }
    if (cluster->witnesses.has_changed && copy != NULL && error == 0)
        write_once(cluster, copy, &error);
    elapse__cluster_errand_end(errand);
    elapse__unlock(&errand->monitor.lock);
    free(copy);
    return NULL;
}

/* ---- the loop's side ---- */

void elapse__cluster_witnesses_look(struct elapse__cluster *cluster)
{
    if (cluster->witnesses.errand.is_running)
        (void)elapse__cluster_errand_log(cluster, &cluster->witnesses.errand);
}
