/*
 * Makes and frees the core of a partition that this node owns. Does what the partition's runner
 * asks of the loop's thread. The core is the pure state machine that serves the partition
 * (src/server/core). The runner is the thread that talks to the database
 * (src/cluster/postgres/runner.h).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../server/loop/ended_log.h"
#include "core.h"

#define READING_NS UINT64_C(100000000) /* the longest pause before the loop looks at readings */

enum {
    TWIN_LEASES = 3,   /* after so many leases another node has replaced a dead owner */
    SEARCH_LEASES = 2, /* after so many leases other nodes take over on a new timeline */
};

/* ---- the core ---- */

/* Returns whether bytes of the core may leave now (S1 of inner.h). */
static bool may_answer(struct elapse__loop *loop)
{
    const struct elapse__cluster_partition *partition = loop->context;

    return elapse__runner_now_ms() < elapse__runner_answer_until_ms(partition->runner);
}

static void free_core(struct elapse__loop *loop, void *argument)
{
    (void)argument;
    elapse__server_free(loop->server);
    loop->server = NULL;
}

/* Stops the core. Ends all readings of bodies that are done or have not begun. Nobody gets these
 * bodies. */
static void take_readings(struct elapse__loop *loop, void *argument)
{
    struct elapse__server_reading *reading;

    ELAPSE__ASSERT_LOCK_HELD(&loop->store->lock);
    (void)argument;
    elapse__server_stop(loop->server);
    while ((reading = elapse__body_reader_take(loop->reader)) != NULL)
        elapse__server_reading_done(loop->server, elapse__store_now(), reading);
    while ((reading = elapse__server_reading(loop->server)) != NULL)
        elapse__server_reading_done(loop->server, elapse__store_now(), reading);
}

static void end_readings(struct elapse__loop *loop)
{
    struct elapse__os_watch watch = {.file = elapse__body_reader_descriptor(loop->reader),
                                     .for_data = true};

    /* Takes back the readings that have not begun. The partition must not wait while a slow disk
     * reads for other partitions. */
    elapse__body_reader_withdraw(loop->reader);
    elapse__loop_with_core(loop, take_readings, NULL);
    while (elapse__body_reader_count(loop->reader) > 0) {
        (void)elapse__os_wait(&watch, 1, READING_NS);
        elapse__body_reader_quiet(loop->reader);
        elapse__loop_with_core(loop, take_readings, NULL);
    }
    ELAPSE__ASSERT_THAT(elapse__body_reader_count(loop->reader), ==, 0);
    elapse__body_reader_close(loop->reader);
}

/* Frees a core, even if it was only partly made. */
static void free_loop(struct elapse__loop *loop)
{
    if (loop->reader != NULL)
        end_readings(loop);
    elapse__loop_close(loop);
    if (loop->ended != NULL)
        elapse__ended_source_close(loop->ended, false);
    elapse__loop_with_core(loop, free_core, NULL);
    if (loop->alarm.descriptor != ELAPSE__OS_NO_DESCRIPTOR)
        elapse__os->alarm_close(&loop->alarm);
    free(loop);
}

static bool open_loop(struct elapse__cluster *cluster, struct elapse__loop *loop)
{
    if (!elapse__service_make_core(&cluster->service, loop))
        return false;
    loop->reader =
        elapse__body_reader_open(cluster->service.loop.body_thread, loop->store->engine.journal);
    return loop->reader != NULL && elapse__os->alarm_open(&loop->alarm, ELAPSE__OS_BOOTTIME) == 0 &&
           elapse__loop_open(loop);
}

/* Makes the core. The core has no passwords, because the router knows who may use it. */
static bool make_core(struct elapse__cluster_partition *partition)
{
    struct elapse__cluster *cluster = partition->cluster;
    const struct elapse__peers *front = &cluster->service.loop.peers;
    struct elapse__loop *loop = calloc(1, sizeof *loop);

    ELAPSE__ASSERT(partition->core == NULL && partition->runner != NULL);
    if (loop == NULL)
        return false;
    loop->options = elapse__cluster_options(cluster);
    loop->peers.logger = front->logger;
    loop->peers.base = front->base;
    loop->peers.files = front->files;
    loop->peers.outer = &cluster->service.loop.peers;
    for (unsigned i = 0; i < ELAPSE__PEER_RINGS; i++)
        elapse__ring_init(&loop->peers.rings[i]);
    loop->alarm.descriptor = ELAPSE__OS_NO_DESCRIPTOR;
    loop->store = partition->store;
    loop->may_answer = may_answer;
    loop->context = partition;
    if (!open_loop(cluster, loop)) {
        free_loop(loop);
        return false;
    }
    partition->core = loop;
    partition->readied = 0;
    return true;
}

void elapse__cluster_partition_release(struct elapse__cluster_partition *partition)
{
    struct elapse__loop *loop = partition->core;

    if (loop != NULL) {
        elapse__router_owner(partition->cluster->router, elapse__runner_now_ms(), partition->number,
                             ELAPSE__ROUTER_NOWHERE, atomic_load(&partition->epoch));
        partition->core = NULL;
        free_loop(loop);
    }
    elapse__lock(&partition->monitor.lock);
    partition->has_core = false;
    elapse__condition_broadcast(&partition->monitor.changed);
    elapse__unlock(&partition->monitor.lock);
    ELAPSE__ASSERT_THAT(elapse__cluster_partition_check(partition), ==, 0);
}

/* ---- who owns the partition ---- */

void elapse__cluster_partition_tell(struct elapse__cluster_partition *partition)
{
    const struct elapse__partition_figures *seen = &partition->figures.partition;
    enum elapse__router_place place = ELAPSE__ROUTER_NOWHERE;
    uint64_t epoch = seen->epoch;

    if (partition->core != NULL &&
        (partition->cluster->cores_close || partition->moving != ELAPSE__CLUSTER_STAYS)) {
        epoch = atomic_load(&partition->epoch);
    } else if (partition->core != NULL) {
        place = ELAPSE__ROUTER_HERE;
        epoch = atomic_load(&partition->epoch);
    } else if (partition->seen_out == NULL && seen->owner[0] != '\0' && seen->address[0] != '\0' &&
               strcmp(seen->address, partition->cluster->address) != 0) {
        place = ELAPSE__ROUTER_THERE;
    }
    ELAPSE__ASSERT(place == ELAPSE__ROUTER_NOWHERE || epoch > 0);
    elapse__router_owner(partition->cluster->router, elapse__runner_now_ms(), partition->number,
                         place, epoch);
}

/* Frees the core of a partition that has to stop. From now on nothing is answered for the
 * partition. The runner may call `stopped` only later, because it first writes a mark into the
 * database (R11 of src/cluster/ownership/partition.h). */
static void look_at_stop(struct elapse__cluster_partition *partition)
{
    if (partition->figures.partition.stop == ELAPSE__STOP_NONE)
        return;
    elapse__lock(&partition->monitor.lock);
    partition->is_owned = false;
    elapse__unlock(&partition->monitor.lock);
    elapse__cluster_partition_release(partition);
    ELAPSE__ASSERT(partition->core == NULL);
}

static bool is_another(const struct elapse__partition_figures *left,
                       const struct elapse__partition_figures *right)
{
    return left->role != right->role || left->complaint != right->complaint ||
           strcmp(left->owner, right->owner) != 0 || left->epoch != right->epoch;
}

/* Returns whether the database says something else than the last line of the log, which is a lease
 * old. The first message may say only that the connection was lost, and the next one why there is
 * no other. */
static bool says_more(const struct elapse__cluster_partition *partition,
                      const struct elapse__runner_figures *figures)
{
    return figures->partition.complaint != ELAPSE__COMPLAINT_NONE && figures->message[0] != '\0' &&
           strcmp(figures->message, partition->said) != 0 &&
           elapse__runner_now_ms() - partition->said_ms >= partition->cluster->queue.lease_ms;
}

static void log_change(struct elapse__cluster_partition *partition,
                       const struct elapse__runner_figures *figures, bool begins_to_mark)
{
    partition->said_ms = elapse__runner_now_ms();
    memcpy(partition->said, figures->message, sizeof partition->said);

    const struct elapse__partition_figures *now = &figures->partition;
    const char *complaint = elapse__cluster_complaint(now->complaint);
    char server[ELAPSE__NODE_ADDRESS_BYTES];

    ELAPSE__ASSERT_THAT(now->complaint_host, <, partition->cluster->hosts.count);
    elapse__hosts_place(partition->cluster->hosts.texts[now->complaint_host], server,
                        sizeof server);
    ELAPSE__ASSERT(!begins_to_mark || now->stop != ELAPSE__STOP_NONE);
    if (begins_to_mark)
        elapse__logger(elapse__cluster_logger(partition->cluster), ELAPSE__LOGGER_ERROR,
                       ELAPSE__EVENT_CLUSTER,
                       "partition %" PRIu32 ": %s; this node writes so into the database",
                       partition->number, elapse__cluster_stop(now->stop));
    elapse__logger(elapse__cluster_logger(partition->cluster),
                   now->complaint == ELAPSE__COMPLAINT_NONE ? ELAPSE__LOGGER_NOTICE
                                                            : ELAPSE__LOGGER_WARNING,
                   ELAPSE__EVENT_CLUSTER,
                   "partition %" PRIu32 ": %s, epoch %" PRIu64 ", owner %s at %s%s%s%s%s%s%s",
                   partition->number, elapse__cluster_role(now->role), now->epoch,
                   now->owner[0] == '\0' ? "nobody" : now->owner,
                   now->address[0] == '\0' ? "no address" : now->address,
                   complaint[0] == '\0' ? "" : "; the database at ",
                   complaint[0] == '\0' ? "" : server, complaint[0] == '\0' ? "" : ": ", complaint,
                   complaint[0] == '\0' || figures->message[0] == '\0' ? "" : ": ",
                   complaint[0] == '\0' ? "" : figures->message);
}

/* Logs the present result of the comparison of clocks (R12 of
 * src/cluster/ownership/partition.h). */
static void log_clock(struct elapse__cluster_partition *partition,
                      const struct elapse__partition_figures *now)
{
    const char *words = elapse__cluster_clock(now->clock);

    elapse__logger(
        elapse__cluster_logger(partition->cluster),
        words[0] == '\0' ? ELAPSE__LOGGER_NOTICE : ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_CLUSTER,
        "partition %" PRIu32 ": %s; this node's wall clock minus the database's: %" PRId64 " ms",
        partition->number, words[0] == '\0' ? "the clocks agree again" : words, now->ahead_ms);
}

static void look_at_figures(struct elapse__cluster_partition *partition)
{
    struct elapse__runner_figures figures;

    elapse__runner_figures(partition->runner, &figures);
    bool has_changed = is_another(&figures.partition, &partition->figures.partition) ||
                       says_more(partition, &figures);
    bool begins_to_mark = figures.partition.role == ELAPSE__ROLE_MARKING &&
                          partition->figures.partition.role != ELAPSE__ROLE_MARKING;
    bool has_other_clock = figures.partition.clock != partition->figures.partition.clock;
    bool has_lost_polls = figures.polls_lost > partition->figures.polls_lost;
    bool has_lost_witness =
        figures.partition.witness_losses > partition->figures.partition.witness_losses;
    partition->figures = figures;
    if (has_changed)
        log_change(partition, &figures, begins_to_mark);
    if (has_other_clock)
        log_clock(partition, &figures.partition);
    if (has_lost_witness)
        elapse__logger(elapse__cluster_logger(partition->cluster), ELAPSE__LOGGER_ERROR,
                       ELAPSE__EVENT_CLUSTER,
                       "partition %" PRIu32
                       ": this node has seen groups that the database lacks, and never had them; "
                       "others have gone on, and so does this node; elapse cluster status shows it",
                       partition->number);
    if (has_lost_polls)
        elapse__logger(elapse__cluster_logger(partition->cluster), ELAPSE__LOGGER_WARNING,
                       ELAPSE__EVENT_CLUSTER,
                       "partition %" PRIu32 ": the inbox did not answer within %" PRIu32
                       " ms, so the session was ended, %" PRIu64 " times by now",
                       partition->number, partition->cluster->queue.lease_ms / 8,
                       figures.polls_lost);
}

/* ---- two nodes with one address ---- */

/* Returns whether the owner is another life with this node's address. It may be an earlier life of
 * this process, but such a life does not renew its lease. After TWIN_LEASES leases it owns
 * nothing. */
static bool has_twin(const struct elapse__cluster_partition *partition)
{
    const struct elapse__partition_figures *seen = &partition->figures.partition;

    return seen->role == ELAPSE__ROLE_FOLLOWING && seen->complaint == ELAPSE__COMPLAINT_NONE &&
           seen->owner[0] != '\0' && strcmp(seen->owner, partition->me) != 0 &&
           strcmp(seen->address, partition->cluster->address) == 0;
}

static void look_for_twin(struct elapse__cluster_partition *partition)
{
    uint64_t epoch = has_twin(partition) ? partition->figures.partition.epoch : 0;
    uint64_t now_ms = elapse__runner_now_ms();

    if (epoch != partition->twin_epoch) {
        partition->twin_epoch = epoch;
        partition->twin_ms = now_ms;
        partition->has_told_twin = false;
    }
    ELAPSE__ASSERT_THAT(now_ms, >=, partition->twin_ms);
    if (epoch == 0 || partition->has_told_twin ||
        now_ms - partition->twin_ms < TWIN_LEASES * (uint64_t)partition->cluster->queue.lease_ms)
        return;
    partition->has_told_twin = true;
    elapse__logger(
        elapse__cluster_logger(partition->cluster), ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_CLUSTER,
        "partition %" PRIu32 ": its owner %s has the address of this node, %s: give each "
        "node an address of its own by --advertise; until then nothing reaches that owner "
        "from here",
        partition->number, partition->figures.partition.owner, partition->cluster->address);
}

/* ---- descriptors ---- */

static uint64_t segments_of(const struct elapse__cluster_partition *partition)
{
    uint64_t followed = atomic_load(&partition->segments);
    uint64_t owned = partition->core == NULL ? 0 : partition->core->peers.segments;

    return owned > followed ? owned : followed;
}

void elapse__cluster_count_files(struct elapse__cluster *cluster)
{
    struct elapse__peers *front = &cluster->service.loop.peers;

    ELAPSE__ASSERT_THAT(cluster->partition_count, <=, cluster->queue.partitions);
    front->held = (uint64_t)cluster->partition_count * ELAPSE__CLUSTER_PARTITION_FILES;
    front->segments = 0;
    for (uint32_t i = 0; i < cluster->partition_count; i++)
        front->segments += segments_of(&cluster->partitions[i]);
}

/* ---- what the runner's thread has asked for ---- */

/* What the callbacks of the runner (partition.c) ask of the loop, copied while the lock is held. */
struct wishes {
    bool is_owned, is_opened_anew, has_failed, has_lost;
    const char *out;
};

static struct wishes take_wishes(struct elapse__cluster_partition *partition)
{
    elapse__lock(&partition->monitor.lock);
    ELAPSE__ASSERT(partition->core == NULL || partition->has_core); /* S2 */
    struct wishes wishes = {
        .is_owned = partition->is_owned,
        .is_opened_anew = partition->is_opened_anew,
        .has_failed = partition->has_failed,
        .has_lost = partition->has_lost,
        .out = partition->out,
    };
    partition->is_opened_anew = false;
    if (wishes.is_owned && partition->core == NULL &&
        !atomic_load(&partition->cluster->is_stopping))
        partition->has_core = true; /* the runner's thread waits until this is false */
    elapse__unlock(&partition->monitor.lock);
    return wishes;
}

static void start_again(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT(partition->core == NULL); /* S3 */
    elapse__runner_stop(partition->runner);
    partition->runner = NULL;
    if (!elapse__cluster_partition_start(partition))
        partition->cluster->has_failed = true;
}

/* Ends the process if the journal has failed. If the core is broken because the runner's thread has
 * fenced the store, does nothing: that thread tells the loop what to do. */
static void look_at_broken(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT(partition->core->is_broken);
    struct elapse_queue *store = partition->core->store;

    elapse__store_arrive(store);
    int error = elapse__journal_error(store->engine.journal);
    elapse__store_depart(store);
    if (error == 0)
        return;
    elapse__logger(elapse__cluster_logger(partition->cluster), ELAPSE__LOGGER_ERROR,
                   ELAPSE__EVENT_STORE, "%s: writing or syncing failed: %s", partition->directory,
                   elapse__os_error_text(error));
    partition->cluster->has_failed = true;
}

static bool is_any_left(const struct elapse__cluster *cluster)
{
    bool is_left = false;

    for (uint32_t i = 0; i < cluster->partition_count; i++)
        is_left = is_left || cluster->partitions[i].seen_out == NULL;
    return is_left;
}

void elapse__cluster_search(struct elapse__cluster *cluster)
{
    if (cluster->search_until_ms == 0)
        cluster->search_until_ms =
            elapse__runner_now_ms() + SEARCH_LEASES * (uint64_t)cluster->queue.lease_ms;
}

void elapse__cluster_partition_look(struct elapse__cluster_partition *partition)
{
    struct elapse__cluster *cluster = partition->cluster;

    if (partition->runner == NULL)
        return;
    struct wishes wishes = take_wishes(partition);
    elapse__cluster_partition_log(partition);
    partition->seen_out = wishes.out;
    if (wishes.has_failed || !is_any_left(cluster))
        cluster->has_failed = true;
    if (wishes.has_lost)
        elapse__cluster_search(cluster);
    if (partition->core != NULL && partition->core->is_broken)
        look_at_broken(partition);
    if (!wishes.is_owned)
        elapse__cluster_partition_release(partition);
    else if (partition->core == NULL && !atomic_load(&cluster->is_stopping) &&
             !make_core(partition))
        cluster->has_failed = true;
    if (wishes.is_opened_anew && !atomic_load(&cluster->is_stopping))
        start_again(partition);
    if (partition->runner == NULL)
        return;
    look_at_figures(partition);
    look_at_stop(partition);
    look_for_twin(partition);
    elapse__cluster_partition_tell(partition);
}
