/*
 * Opens and closes the copies of partitions while the node runs. Which copies a node is to have
 * says the list of each partition (src/cluster/ownership/replicas.h).
 *
 *      HAS_NO_COPY --wanted, or called--> OPENS_COPY --opened--> HAS_COPY
 *           ^                                |                      |
 *           +------------failed--------------+            not wanted for two leases
 *           +--closed-- CLOSES_COPY <--the runner has ended-- LEAVES_COPY
 *
 *      HAS_NO_COPY --the files are given up--> SETS_ASIDE --done--> HAS_NO_COPY
 *
 * A thread opens or closes the files, because that takes as long as there are jobs. A copy that is
 * closed stays on the disk. The files say so themselves (src/engine/store/left.h), so that the next
 * start need not open them: they have nothing that the log lacked. A node leaves a partition only
 * while it follows, and another life owns the partition and renews its lease. If the node takes the
 * partition over all the same in that moment, it hands the partition over at once.
 */
#include "copies.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"

enum { UNWANTED_LEASES = 2, AGAIN_LEASES = 4 };

/* ---- the thread that works with the files ---- */

static void close_copy(struct elapse__cluster_partition *partition)
{
    elapse__cluster_partition_close(partition->cluster, partition->number);
    if (partition->leaves_compared)
        elapse__cluster_partition_leave(partition);
}

static void *copy_main(void *argument)
{
    struct elapse__cluster_partition *partition = argument;

    elapse__os_thread_name("elapse-copy");
    if (partition->copy == ELAPSE__CLUSTER_OPENS_COPY)
        elapse__cluster_partition_open(partition->cluster, partition->number);
    else if (partition->copy == ELAPSE__CLUSTER_SETS_ASIDE)
        elapse__cluster_set_aside(partition);
    else
        close_copy(partition);
    atomic_store(&partition->is_copied, true);
    elapse__cluster_partition_wake_loop(partition);
    return NULL;
}

/* Starts the thread. If the system refuses a thread, does the work here. */
static void begin(struct elapse__cluster_partition *partition, enum elapse__cluster_copy copy)
{
    ELAPSE__ASSERT(!partition->has_copier);
    ELAPSE__ASSERT(copy != ELAPSE__CLUSTER_HAS_COPY && copy != ELAPSE__CLUSTER_HAS_NO_COPY);
    partition->copy = copy;
    /* Setting them aside leaves the files as they were: what continues them is still known. */
    partition->files_number += copy != ELAPSE__CLUSTER_SETS_ASIDE;
    atomic_store(&partition->is_copied, false);
    partition->has_copier =
        elapse__os->thread_start(&partition->copier, 0, copy_main, partition) == 0;
    if (!partition->has_copier)
        (void)copy_main(partition);
}

static void join(struct elapse__cluster_partition *partition)
{
    if (partition->has_copier)
        elapse__os_thread_join(&partition->copier);
    partition->has_copier = false;
}

static void log_line(struct elapse__cluster_partition *partition, const char *text)
{
    elapse__logger(elapse__cluster_logger(partition->cluster), ELAPSE__LOGGER_NOTICE,
                   ELAPSE__EVENT_CLUSTER, "partition %" PRIu32 ": %s", partition->number, text);
}

static uint64_t leases(const struct elapse__cluster_partition *partition, uint64_t count)
{
    return count * partition->cluster->queue.lease_ms;
}

/* ---- leaving ---- */

/* Returns whether this node only follows the partition, so that nothing is lost but its copy. */
static bool only_follows(const struct elapse__cluster_partition *partition)
{
    const struct elapse__partition_figures *seen = &partition->figures.partition;

    return partition->runner != NULL && partition->core == NULL && partition->seen_out == NULL &&
           !atomic_load(&partition->is_beginning) && seen->role == ELAPSE__ROLE_FOLLOWING &&
           seen->complaint == ELAPSE__COMPLAINT_NONE && seen->owner[0] != '\0' &&
           strcmp(seen->owner, partition->me) != 0;
}

bool elapse__cluster_has_compared(const struct elapse__partition_figures *seen,
                                  uint64_t opened_group)
{
    ELAPSE__ASSERT_THAT(seen->role, ==, ELAPSE__ROLE_FOLLOWING);
    return seen->timeline > 0 &&
           (seen->local.group > opened_group || seen->local.group == seen->last_group);
}

static void look_for_leaving(struct elapse__cluster_partition *partition, uint64_t now_ms)
{
    const struct elapse__partition_figures *seen = &partition->figures.partition;

    if (only_follows(partition) && elapse__cluster_has_compared(seen, partition->opened_group))
        partition->has_compared = true;
    if (partition->is_wanted || partition->is_called || !only_follows(partition) ||
        !partition->has_compared)
        partition->unwanted_ms = 0;
    else if (partition->unwanted_ms == 0)
        partition->unwanted_ms = now_ms;
    if (partition->unwanted_ms == 0 ||
        now_ms - partition->unwanted_ms < leases(partition, UNWANTED_LEASES))
        return;
    log_line(partition, "this node gives up its copy; the files stay");
    partition->copy = ELAPSE__CLUSTER_LEAVES_COPY;
    partition->gave_up = true; /* the callbacks of the runner do nothing more */
    elapse__runner_hand_over(partition->runner);
}

static bool has_ended(struct elapse__cluster_partition *partition)
{
    elapse__lock(&partition->monitor.lock);
    bool ended = partition->has_ended && !partition->is_opening;
    elapse__unlock(&partition->monitor.lock);
    return ended;
}

/* Notes what the files know at their end. Nobody opens them again soon, so the witness has to know
 * it, and the file `left` (src/engine/store/left.h). */
static void note_end_of_copy(struct elapse__cluster_partition *partition)
{
    struct elapse__runner_figures figures;

    elapse__runner_figures(partition->runner, &figures);
    const struct elapse__partition_figures *seen = &figures.partition;
    const struct elapse__partition_witness *known = &seen->known;
    if (known->place.group > 0)
        elapse__cluster_note_witness(partition, known);
    elapse__lock(&partition->monitor.lock);
    bool has_owned = partition->has_owned;
    elapse__unlock(&partition->monitor.lock);
    partition->leaves_compared = partition->has_compared && !has_owned && seen->local_has_hash &&
                                 seen->stop == ELAPSE__STOP_NONE;
    partition->left = (struct elapse__store_left){
        .known = {known->place.group, known->place.hash, known->epoch, known->system_identifier,
                  known->timeline},
        .end_group = seen->local.group,
        .end_hash = seen->local.hash,
    };
}

static void go_on_leaving(struct elapse__cluster_partition *partition)
{
    if (!has_ended(partition))
        return;
    note_end_of_copy(partition);
    elapse__cluster_partition_release(partition);
    elapse__cluster_partition_end(partition);
    begin(partition, ELAPSE__CLUSTER_CLOSES_COPY);
}

/* Makes the partition what it was before it had a copy. */
static void forget_copy(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT(partition->runner == NULL && partition->store == NULL);
    elapse__lock(&partition->monitor.lock);
    partition->has_ended = partition->has_owned = partition->is_owned = false;
    partition->is_opened_anew = false;
    elapse__unlock(&partition->monitor.lock);
    partition->figures = (struct elapse__runner_figures){.has_released = true};
    partition->unwanted_ms = 0;
    partition->has_compared = partition->leaves_compared = false;
    atomic_store(&partition->segments, 0);
    partition->copy = ELAPSE__CLUSTER_HAS_NO_COPY;
}

static void go_on_closing(struct elapse__cluster_partition *partition)
{
    if (!atomic_load(&partition->is_copied))
        return;
    join(partition);
    forget_copy(partition);
}

/* ---- without a copy ---- */

/* Shows what the row says, as far as this node knows it. */
static void show_row(struct elapse__cluster_partition *partition)
{
    struct elapse__cluster_nodes *nodes = &partition->cluster->nodes;
    struct elapse__partition_figures *seen = &partition->figures.partition;

    elapse__lock(&nodes->errand.monitor.lock);
    const struct elapse__balance_row row = nodes->rows[partition->number];
    elapse__unlock(&nodes->errand.monitor.lock);
    seen->epoch = row.epoch;
    seen->last_group = seen->local.group = row.last_group;
    (void)snprintf(seen->owner, sizeof seen->owner, "%s", row.owner);
    (void)snprintf(seen->address, sizeof seen->address, "%s", row.address);
    elapse__cluster_partition_tell(partition);
}

/* ---- giving up files ---- */

/* Returns whether the files of this kind are to be given up, and are those that were looked at. */
static bool are_given_up(const struct elapse__cluster_partition *partition, unsigned kind)
{
    const struct elapse__cluster_files files = elapse__cluster_files(partition, kind);
    const struct elapse__cluster_seen_files *seen = &partition->seen_files[kind];

    return files.has_files && seen->is_given_up &&
           elapse__cluster_are_same_files(&files, &seen->files);
}

/* Returns whether files that were set aside are to be removed some time. Those that an operator has
 * to remove are not waited for. */
static bool has_aside_to_remove(const struct elapse__cluster_partition *partition)
{
    const struct elapse__cluster_files files =
        elapse__cluster_files(partition, ELAPSE__CLUSTER_FILES_ASIDE);
    const struct elapse__cluster_seen_files *seen =
        &partition->seen_files[ELAPSE__CLUSTER_FILES_ASIDE];

    return files.has_files &&
           !(seen->stays && elapse__cluster_are_same_files(&files, &seen->files));
}

static void look_for_setting_aside(struct elapse__cluster_partition *partition, uint64_t now_ms)
{
    ELAPSE__ASSERT(!partition->is_wanted && !partition->is_called);
    if (partition->has_remover || now_ms < partition->next_give_up_ms ||
        !are_given_up(partition, ELAPSE__CLUSTER_FILES_LEFT) || has_aside_to_remove(partition))
        return;
    partition->next_give_up_ms = now_ms + leases(partition, AGAIN_LEASES);
    begin(partition, ELAPSE__CLUSTER_SETS_ASIDE);
}

static void go_on_setting_aside(struct elapse__cluster_partition *partition)
{
    if (!atomic_load(&partition->is_copied))
        return;
    join(partition);
    partition->copy = ELAPSE__CLUSTER_HAS_NO_COPY;
}

static void *remove_main(void *argument)
{
    struct elapse__cluster_partition *partition = argument;

    elapse__os_thread_name("elapse-remove");
    elapse__cluster_remove_aside(partition);
    atomic_store(&partition->is_removed, true);
    elapse__cluster_partition_wake_loop(partition);
    return NULL;
}

static void join_remover(struct elapse__cluster_partition *partition)
{
    if (partition->has_remover)
        elapse__os_thread_join(&partition->remover);
    partition->has_remover = false;
}

/* Removes files that were set aside, also while the node has a copy that it made anew. */
static void look_for_removing(struct elapse__cluster_partition *partition, uint64_t now_ms)
{
    if (partition->has_remover && atomic_load(&partition->is_removed))
        join_remover(partition);
    if (partition->has_remover || partition->has_copier || now_ms < partition->next_give_up_ms ||
        !are_given_up(partition, ELAPSE__CLUSTER_FILES_ASIDE))
        return;
    partition->next_give_up_ms = now_ms + leases(partition, AGAIN_LEASES);
    atomic_store(&partition->is_removed, false);
    partition->has_remover =
        elapse__os->thread_start(&partition->remover, 0, remove_main, partition) == 0;
}

/* ---- joining ---- */

static void look_for_joining(struct elapse__cluster_partition *partition, uint64_t now_ms)
{
    show_row(partition);
    if (!partition->is_wanted && !partition->is_called) {
        look_for_setting_aside(partition, now_ms);
        return;
    }
    if (now_ms < partition->next_copy_ms)
        return;
    log_line(partition, partition->is_wanted ? "this node makes a copy"
                                             : "nobody looks after it, so this node reads its log");
    partition->is_guest = true;
    begin(partition, ELAPSE__CLUSTER_OPENS_COPY);
}

static void go_on_opening(struct elapse__cluster_partition *partition, uint64_t now_ms)
{
    if (!atomic_load(&partition->is_copied))
        return;
    join(partition);
    elapse__lock(&partition->monitor.lock);
    partition->seen_out = partition->out;
    elapse__unlock(&partition->monitor.lock);
    if (partition->seen_out != NULL) {
        partition->figures.partition.role = ELAPSE__ROLE_STOPPED;
        partition->copy = ELAPSE__CLUSTER_HAS_COPY; /* until the node is started again */
        return;
    }
    partition->figures = (struct elapse__runner_figures){.has_released = false};
    if (partition->store != NULL && elapse__cluster_partition_start(partition)) {
        partition->copy = ELAPSE__CLUSTER_HAS_COPY;
        return;
    }
    partition->next_copy_ms = now_ms + leases(partition, AGAIN_LEASES);
    begin(partition, ELAPSE__CLUSTER_CLOSES_COPY);
}

/* ---- all partitions ---- */

static void look(struct elapse__cluster_partition *partition)
{
    const uint64_t now_ms = elapse__runner_now_ms();

    look_for_removing(partition, now_ms);
    switch (partition->copy) {
    case ELAPSE__CLUSTER_HAS_COPY:
        look_for_leaving(partition, now_ms);
        break;
    case ELAPSE__CLUSTER_LEAVES_COPY:
        go_on_leaving(partition);
        break;
    case ELAPSE__CLUSTER_CLOSES_COPY:
        go_on_closing(partition);
        break;
    case ELAPSE__CLUSTER_HAS_NO_COPY:
        look_for_joining(partition, now_ms);
        break;
    case ELAPSE__CLUSTER_OPENS_COPY:
        go_on_opening(partition, now_ms);
        break;
    case ELAPSE__CLUSTER_SETS_ASIDE:
        go_on_setting_aside(partition);
        break;
    }
    if (partition->runner == NULL)
        elapse__cluster_partition_log(partition);
}

void elapse__cluster_copies_look(struct elapse__cluster *cluster)
{
    if (cluster->cores_close || atomic_load(&cluster->is_stopping) ||
        !cluster->nodes.errand.is_running)
        return;
    for (uint32_t i = 0; i < cluster->partition_count; i++)
        look(&cluster->partitions[i]);
}

void elapse__cluster_copies_end(struct elapse__cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        join(&cluster->partitions[i]);
        join_remover(&cluster->partitions[i]);
    }
}
