/*
 * Opens the files of a partition, starts its runner, and closes both. The runner is the thread that
 * talks to the database (src/cluster/postgres/runner.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../engine/store/remember.h"
#include "../ownership/chain.h"
#include "life.h"

/* ---- opening: on any thread, but only one for each partition ---- */

static bool make_directories(struct elapse__cluster_partition *partition)
{
    struct elapse__cluster *cluster = partition->cluster;
    ELAPSE__ASSERT_THAT(partition->directory[0], ==, '\0');
    const char *outer = elapse__cluster_options(cluster)->directory;
    int size = snprintf(partition->directory, sizeof partition->directory, "%s/part-%" PRIu32,
                        outer, partition->number);
    int error = elapse__files_linux.make_directory(outer);

    if (error == 0 && size > 0 && (size_t)size < sizeof partition->directory)
        return true;
    elapse__cluster_partition_say(partition, ELAPSE__LOGGER_ERROR, "%s: %s", outer,
                                  error == 0 ? "the path is too long"
                                             : elapse__os_error_text(error));
    return false;
}

static bool refuse(struct elapse__cluster_partition *partition, const char *what, int error)
{
    ELAPSE__ASSERT_THAT(error, !=, 0);
    elapse__cluster_partition_say(partition, ELAPSE__LOGGER_ERROR, "%s: %s: %s",
                                  partition->directory, what, elapse__os_error_text(error));
    return false;
}

/* Called when the file `cluster` cannot be read. If the file itself is at fault, the node can go on
 * without the partition. */
static bool refuse_memory(struct elapse__cluster_partition *partition, int error)
{
    char text[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES + 64];
    bool is_no_such_file = error == EISDIR || error == ELOOP || error == ESPIPE;

    if (error != EBADMSG && !is_no_such_file)
        return refuse(partition, "the file cluster", error);
    (void)snprintf(text, sizeof text, "%s/cluster: %s", partition->directory,
                   is_no_such_file ? "it is no plain file" : "the file is damaged");
    (void)elapse__cluster_partition_goes_without_files(partition, ELAPSE_ERROR_DAMAGED, text);
    return false;
}

/* Returns whether the files are those of this partition and queue. The log would not continue other
 * files, and the runner would empty them. */
static bool belongs_here(struct elapse__cluster_partition *partition)
{
    struct elapse__store_memory memory;
    ELAPSE__ASSERT_THAT(partition->log.genesis, !=, 0);
    int error = elapse__store_recall(&elapse__files_linux, partition->directory, &memory);

    if (error != 0)
        return refuse_memory(partition, error);
    if (memory.genesis == 0 || memory.genesis == partition->log.genesis)
        return true;
    atomic_store(&partition->cluster->is_refused, true);
    elapse__cluster_partition_say(
        partition, ELAPSE__LOGGER_ERROR,
        "%s: it has jobs of another queue, or of another partition than %" PRIu32
        " of queue %s: give another --data or --queue",
        partition->directory, partition->number,
        elapse__cluster_options(partition->cluster)->queue);
    return false;
}

/* The files are going to change, so that they have to be compared with the log again. */
static bool forget_left(struct elapse__cluster_partition *partition)
{
    int error = elapse__store_forget_left(&elapse__files_linux, partition->directory);

    partition->is_left = false;
    return error == 0 || refuse(partition, "the file left", error);
}

bool elapse__cluster_partition_make(struct elapse__cluster *cluster, uint32_t number)
{
    struct elapse__cluster_partition *partition = &cluster->partitions[number];

    ELAPSE__ASSERT_THAT(number, <, cluster->queue.partitions);
    *partition = (struct elapse__cluster_partition){.cluster = cluster, .number = number};
    elapse__ring_init(&partition->dirty);
    partition->log = (struct elapse__journal_log){
        .context = partition,
        .genesis = elapse__chain_genesis(cluster->queue.identity, number),
        .next_hash = elapse__chain_next,
        .submit = elapse__cluster_partition_submit,
        .trim = elapse__cluster_partition_trim,
    };
    return elapse__cluster_monitor_open(&partition->monitor) && make_directories(partition) &&
           elapse__cluster_partition_make_inbox(partition);
}

void elapse__cluster_partition_open(void *context, uint32_t number)
{
    struct elapse__cluster *cluster = context;
    struct elapse__cluster_partition *partition = &cluster->partitions[number];
    struct elapse_queue_fault fault;

    ELAPSE__ASSERT(partition->inbox != NULL && partition->store == NULL);
    if (!belongs_here(partition) || !forget_left(partition))
        return;
    enum elapse_error error = elapse__cluster_partition_open_store(partition, &fault);
    /* Options that are wrong are no fault of the files, and the other partitions have them, too. */
    if (error == ELAPSE_OK ||
        (error != ELAPSE_ERROR_ARGUMENT &&
         elapse__cluster_partition_goes_without_files(partition, error, fault.text)))
        return;
    if (error == ELAPSE_ERROR_IN_USE)
        atomic_store(&cluster->is_refused, true);
    elapse__cluster_partition_say(partition, ELAPSE__LOGGER_ERROR, "%s",
                                  fault.text[0] == '\0' ? elapse_error_text(error) : fault.text);
}

/* ---- the runner ---- */

/* Makes the name of the life that begins. No two lives have the same name. Returns 0, or the error
 * of the system. */
static int name_life(struct elapse__cluster_partition *partition)
{
    uint64_t number;
    ELAPSE__ASSERT_THAT(partition->cluster->name[0], !=, '\0');
    int error = elapse__os->random_bytes(&number, sizeof number);

    if (error == 0)
        (void)snprintf(partition->me, sizeof partition->me, "%.40s/%016" PRIx64,
                       partition->cluster->name, number);
    return error;
}

/* Returns the cluster's time as other partitions of this node know it. */
static struct elapse__clock_time time_of(struct elapse__cluster *cluster)
{
    elapse__lock(&cluster->nodes.errand.monitor.lock);
    const struct elapse__clock_time time = cluster->nodes.time;
    elapse__unlock(&cluster->nodes.errand.monitor.lock);
    return time;
}

bool elapse__cluster_partition_start(struct elapse__cluster_partition *partition)
{
    struct elapse__cluster *cluster = partition->cluster;
    const struct elapse__loop_options *serve = elapse__cluster_options(cluster);
    struct elapse__store_memory memory;
    struct elapse__store_place place;
    /* S3: no runner has used the store yet. */
    ELAPSE__ASSERT(partition->runner == NULL && partition->core == NULL);
    ELAPSE__ASSERT(!partition->has_owned);
    ELAPSE__ASSERT_THAT(elapse__cluster_partition_check(partition), ==, 0);
    ELAPSE__ASSERT_NO_LOCK_HELD();
    int error = elapse__store_recall(&elapse__files_linux, partition->directory, &memory);

    if (error != 0)
        return refuse(partition, "the file cluster", error);
    error = name_life(partition);
    if (error != 0)
        return refuse(partition, "no random number for the name of this node's life", error);
    elapse__store_place(partition->store, &place);
    ELAPSE__ASSERT_THAT(place.local_group, <=, place.confirmed_group + 1);
    partition->gave_up = false;
    partition->opened_group = place.local_group;
    partition->told_owner = ELAPSE__NEXT_OWNER_ANY;
    const struct elapse__runner_options options = {
        .partition =
            {
                .owner = elapse__cluster_partition_owner(partition),
                .me = partition->me,
                .hosts = cluster->hosts.count,
                .lease_ms = cluster->queue.lease_ms,
                .single_copy = serve->single_copy,
                .is_guest = partition->is_guest,
                .genesis = partition->log.genesis,
                .memory = {memory.system_identifier, memory.timeline, memory.epoch,
                           memory.seen_epoch},
                .local = {place.local_group, place.local_hash},
                .confirmed = {place.confirmed_group, place.confirmed_hash},
                .witness = elapse__cluster_witness(partition),
                .time = time_of(cluster),
            },
        .calls = elapse__cluster_partition_calls,
        .inbox = elapse__cluster_partition_inbox_calls,
        .hosts = cluster->hosts.texts,
        .queue = serve->queue,
        .number = partition->number,
        .address = cluster->address,
    };
    error = elapse__runner_start(&partition->runner, &options);
    return error == 0 || refuse(partition, "a thread", error);
}

/* Hands the partition over. Waits until the runner calls nothing more, and is not about to open the
 * store. */
void elapse__cluster_partition_end(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT(partition->core == NULL); /* S2 */
    if (partition->runner == NULL)
        return;
    elapse__runner_hand_over(partition->runner);
    elapse__lock(&partition->monitor.lock);
    while (!partition->has_ended || partition->is_opening)
        elapse__condition_wait(&partition->monitor.changed, &partition->monitor.lock);
    elapse__unlock(&partition->monitor.lock);
    elapse__cluster_partition_end_beginning(partition);
    /* From now on no thread of the store submits groups to the runner. */
    if (partition->store != NULL && partition->has_owned)
        (void)elapse__store_fenced(partition->store, atomic_load(&partition->epoch));
    elapse__runner_stop(partition->runner);
    partition->runner = NULL;
}

void elapse__cluster_partition_close(void *context, uint32_t number)
{
    struct elapse__cluster *cluster = context;
    struct elapse__cluster_partition *partition = &cluster->partitions[number];

    ELAPSE__ASSERT(partition->core == NULL && partition->runner == NULL);
    partition->is_durable =
        partition->store == NULL || elapse_queue_close(partition->store) == ELAPSE_OK;
    partition->store = NULL;
}

void elapse__cluster_partition_leave(struct elapse__cluster_partition *partition)
{
    const char *directory = partition->directory;
    int error = EIO;

    ELAPSE__ASSERT(partition->store == NULL && !partition->is_left);
    if (partition->is_durable)
        error = elapse__store_remember_left(&elapse__files_linux, directory, &partition->left);
    if (error == 0)
        error = elapse__store_recall_left(&elapse__files_linux, directory, &partition->left,
                                          &partition->is_left);
    if (error != 0)
        elapse__cluster_partition_say(
            partition, ELAPSE__LOGGER_WARNING,
            "%s/left cannot be written: %s: the next start opens the files once more", directory,
            elapse__os_error_text(error));
}

bool elapse__cluster_partition_free(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT(partition->store == NULL);
    if (partition->monitor.made > 0)
        elapse__cluster_partition_log(partition);
    elapse__cluster_partition_free_inbox(partition);
    elapse__cluster_monitor_close(&partition->monitor);
    return partition->is_durable;
}
