/*
 * The life of a partition: its store and its runner.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../ownership/chain.h"
#include "../../engine/store/remember.h"
#include "inner.h"

/* ---- the store ---- */

void elapse__part_count_files(struct elapse__cluster_part *part)
{
    struct elapse__journal_figures figures;

    elapse__store_arrive(part->store);
    elapse__journal_figures(part->store->joint.journal, &figures);
    elapse__store_depart(part->store);
    atomic_store(&part->segments, figures.head - figures.tail + 1);
}

enum elapse_error elapse__part_open_store(struct elapse__cluster_part *part,
                                          struct elapse_queue_fault *fault)
{
    const struct elapse__cluster *cluster = part->cluster;
    const struct elapse_queue_options queue =
        elapse__service_queue_options(elapse__cluster_options(cluster));
    const struct elapse__store_wishes wishes = {
        .foresees = elapse__service_wants_http(&cluster->service.loop),
        .partitions = cluster->queue.parts,
        .partition = part->part,
        .log = &part->log,
    };

    enum elapse_error error =
        elapse__store_open(part->directory, &queue, &wishes, &part->store, fault);

    if (error == ELAPSE_OK)
        elapse__part_count_files(part);
    return error;
}

/* ---- opening: on the thread of the loop ---- */

static bool make_directories(struct elapse__cluster_part *part)
{
    struct elapse__cluster *cluster = part->cluster;
    const char *outer = elapse__cluster_options(cluster)->directory;
    int size =
        snprintf(part->directory, sizeof part->directory, "%s/part-%" PRIu32, outer, part->part);
    int error = elapse__files_linux.make_directory(outer);

    if (error == 0 && size > 0 && (size_t)size < sizeof part->directory)
        return true;
    elapse__log(elapse__cluster_log(cluster), ELAPSE__LOG_ERROR, ELAPSE__EVENT_STORE, "%s: %s",
                outer, error == 0 ? "the path is too long" : elapse__os_error_text(error));
    return false;
}

static bool make_locks(struct elapse__cluster_part *part)
{
    if (elapse__os->lock_init(&part->lock) != 0)
        return false;
    part->made = 1;
    if (elapse__os->condition_init(&part->changed) != 0)
        return false;
    part->made = 2;
    return true;
}

static bool refuse(struct elapse__cluster_part *part, const char *what, int error)
{
    elapse__log(elapse__cluster_log(part->cluster), ELAPSE__LOG_ERROR, ELAPSE__EVENT_CLUSTER,
                "%s: %s: %s", part->directory, what, elapse__os_error_text(error));
    return false;
}

/* Files of another queue, or partition, would not lead to the log: they would be emptied. */
static bool belongs_here(struct elapse__cluster_part *part)
{
    struct elapse__store_memory memory;
    int error = elapse__store_recall(&elapse__files_linux, part->directory, &memory);

    if (error != 0)
        return refuse(part, "the file cluster", error);
    if (memory.genesis == 0 || memory.genesis == part->log.genesis)
        return true;
    part->cluster->is_refused = true;
    elapse__log(elapse__cluster_log(part->cluster), ELAPSE__LOG_ERROR, ELAPSE__EVENT_STORE,
                "%s: it has jobs of another queue, or of another partition than %" PRIu32
                " of queue %s: give another --data or --queue",
                part->directory, part->part, elapse__cluster_options(part->cluster)->queue);
    return false;
}

bool elapse__part_open(struct elapse__cluster *cluster, uint32_t number)
{
    struct elapse__cluster_part *part = &cluster->parts[number];
    struct elapse_queue_fault fault;

    *part = (struct elapse__cluster_part){.cluster = cluster, .part = number};
    elapse__ring_init(&part->dirty);
    part->log = (struct elapse__journal_log){
        .context = part,
        .genesis = elapse__chain_genesis(cluster->queue.identity, number),
        .next_hash = elapse__chain_next,
        .submit = elapse__part_submit,
        .trim = elapse__part_trim,
    };
    if (!make_locks(part) || !make_directories(part) || !elapse__part_make_inbox(part) ||
        !belongs_here(part))
        return false;
    enum elapse_error error = elapse__part_open_store(part, &fault);
    if (error == ELAPSE_OK)
        return true;
    cluster->is_refused = error == ELAPSE_ERROR_IN_USE;
    elapse__log(elapse__cluster_log(cluster), ELAPSE__LOG_ERROR, ELAPSE__EVENT_STORE, "%s",
                fault.text);
    return false;
}

/* ---- the runner ---- */

/* No two lives ever have the same name. */
static int name_life(struct elapse__cluster_part *part)
{
    uint64_t number;
    int error = elapse__os->random_bytes(&number, sizeof number);

    if (error == 0)
        (void)snprintf(part->me, sizeof part->me, "%.40s/%016" PRIx64, part->cluster->name, number);
    return error;
}

bool elapse__part_start(struct elapse__cluster_part *part)
{
    const struct elapse__cluster *cluster = part->cluster;
    const struct elapse__serve_options *serve = elapse__cluster_options(cluster);
    struct elapse__store_memory memory;
    struct elapse__store_place place;
    int error = elapse__store_recall(&elapse__files_linux, part->directory, &memory);

    if (error != 0)
        return refuse(part, "the file cluster", error);
    error = name_life(part);
    if (error != 0)
        return refuse(part, "no random number for the name of this node's life", error);
    elapse__store_place(part->store, &place);
    part->gave_up = false;
    const struct elapse__runner_options options = {
        .partition =
            {
                .owner = elapse__part_owner(part),
                .me = part->me,
                .hosts = cluster->hosts.count,
                .lease_ms = cluster->queue.lease_ms,
                .single_copy = serve->single_copy,
                .genesis = part->log.genesis,
                .memory = {memory.system_identifier, memory.timeline, memory.epoch,
                           memory.seen_epoch},
                .local = {place.local_group, place.local_hash},
                .confirmed = {place.confirmed_group, place.confirmed_hash},
            },
        .calls = elapse__part_calls,
        .inbox = elapse__part_inbox,
        .hosts = cluster->hosts.texts,
        .queue = serve->queue,
        .part = part->part,
        .address = cluster->address,
    };
    error = elapse__runner_start(&part->runner, &options);
    return error == 0 || refuse(part, "a thread", error);
}

/* Waits until the runner's thread calls nothing more, and has a store, or none. */
static void end_runner(struct elapse__cluster_part *part)
{
    elapse__runner_hand_over(part->runner);
    elapse__lock(&part->lock);
    while (!part->has_ended || part->is_opening)
        elapse__condition_wait(&part->changed, &part->lock);
    elapse__unlock(&part->lock);
    /* From now on no thread of the store submits to the runner. */
    if (part->store != NULL && part->has_owned)
        (void)elapse__store_fenced(part->store, atomic_load(&part->epoch));
    elapse__runner_stop(part->runner);
    part->runner = NULL;
}

bool elapse__part_close(struct elapse__cluster_part *part)
{
    bool is_durable = true;

    ELAPSE__ASSERT(part->core == NULL);
    if (part->runner != NULL)
        end_runner(part);
    if (part->store != NULL)
        is_durable = elapse_queue_close(part->store) == ELAPSE_OK;
    part->store = NULL;
    if (part->made > 0)
        elapse__part_log(part);
    elapse__part_free_inbox(part);
    if (part->made > 1)
        elapse__condition_free(&part->changed);
    if (part->made > 0)
        elapse__lock_free(&part->lock);
    part->made = 0;
    return is_durable;
}
