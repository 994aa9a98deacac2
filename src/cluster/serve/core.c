/*
 * The core of a partition that this node owns, and what the loop does for a partition's runner.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "inner.h"

#define READING_NS UINT64_C(100000000) /* so often readings are looked at in any case */

enum {
    TWIN_LEASES = 3,   /* an owner that has died is followed by another before that */
    SEARCH_LEASES = 2, /* so long others wait on a new timeline (R4 of src/cluster/ownership/partition.h) */
};

/* ---- the core ---- */

/* S1. */
static bool may_answer(struct elapse__loop *loop)
{
    const struct elapse__cluster_part *part = loop->context;

    return elapse__runner_now_ms() < elapse__runner_answer_until_ms(part->runner);
}

static void free_core(struct elapse__loop *loop, void *argument)
{
    (void)argument;
    elapse__server_free(loop->server);
    loop->server = NULL;
}

/* Runs no command any more, and takes back the bodies that are read: nobody gets them. */
static void take_readings(struct elapse__loop *loop, void *argument)
{
    struct elapse__server_reading *reading;

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

    elapse__loop_with_core(loop, take_readings, NULL);
    while (elapse__body_reader_count(loop->reader) > 0) {
        (void)elapse__os_wait(&watch, 1, READING_NS);
        elapse__body_reader_quiet(loop->reader);
        elapse__loop_with_core(loop, take_readings, NULL);
    }
    elapse__body_reader_stop(loop->reader);
}

/* Releases what there is of it. */
static void free_loop(struct elapse__loop *loop)
{
    if (loop->reader != NULL)
        end_readings(loop);
    elapse__loop_close(loop);
    elapse__loop_with_core(loop, free_core, NULL);
    if (loop->alarm.descriptor != ELAPSE__OS_NO_DESCRIPTOR)
        elapse__os->alarm_close(&loop->alarm);
    free(loop);
}

static bool open_loop(struct elapse__cluster *cluster, struct elapse__loop *loop)
{
    if (!elapse__service_make_core(&cluster->service, loop))
        return false;
    loop->reader = elapse__body_reader_start(loop->store->joint.journal);
    return loop->reader != NULL && elapse__os->alarm_open(&loop->alarm, ELAPSE__OS_BOOTTIME) == 0 &&
           elapse__loop_open(loop);
}

/* Makes the core. It has no passwords: the router knows who may speak to it. */
static bool make_core(struct elapse__cluster_part *part)
{
    struct elapse__cluster *cluster = part->cluster;
    const struct elapse__peers *front = &cluster->service.loop.peers;
    struct elapse__loop *loop = calloc(1, sizeof *loop);

    if (loop == NULL)
        return false;
    loop->options = elapse__cluster_options(cluster);
    loop->peers.log = front->log;
    loop->peers.base = front->base;
    loop->peers.files = front->files;
    loop->peers.outer = &cluster->service.loop.peers;
    for (unsigned i = 0; i < ELAPSE__PEER_RINGS; i++)
        elapse__ring_init(&loop->peers.rings[i]);
    loop->alarm.descriptor = ELAPSE__OS_NO_DESCRIPTOR;
    loop->store = part->store;
    loop->may_answer = may_answer;
    loop->context = part;
    if (!open_loop(cluster, loop)) {
        free_loop(loop);
        return false;
    }
    part->core = loop;
    part->readied = 0;
    return true;
}

void elapse__part_release(struct elapse__cluster_part *part)
{
    struct elapse__loop *loop = part->core;

    if (loop != NULL) {
        elapse__node_owner(part->cluster->node, elapse__runner_now_ms(), part->part,
                           ELAPSE__NODE_NOWHERE, atomic_load(&part->epoch));
        part->core = NULL;
        free_loop(loop);
    }
    elapse__lock(&part->lock);
    part->has_core = false;
    elapse__condition_broadcast(&part->changed);
    elapse__unlock(&part->lock);
}

/* ---- who owns it ---- */

static void tell_router(struct elapse__cluster_part *part)
{
    const struct elapse__partition_figures *seen = &part->figures.partition;
    enum elapse__node_place place = ELAPSE__NODE_NOWHERE;
    uint64_t epoch = seen->epoch;

    if (part->core != NULL && part->cluster->cores_close) {
        epoch = atomic_load(&part->epoch);
    } else if (part->core != NULL) {
        place = ELAPSE__NODE_HERE;
        epoch = atomic_load(&part->epoch);
    } else if (seen->owner[0] != '\0' && seen->address[0] != '\0' &&
               strcmp(seen->address, part->cluster->address) != 0) {
        place = ELAPSE__NODE_THERE;
    }
    elapse__node_owner(part->cluster->node, elapse__runner_now_ms(), part->part, place, epoch);
}

/* R11 of src/cluster/ownership/partition.h: it answers nothing any more, and before it says so for good it
 * may have to wait for the database. */
static void look_at_stop(struct elapse__cluster_part *part)
{
    if (part->figures.partition.stop == ELAPSE__STOP_NONE)
        return;
    elapse__lock(&part->lock);
    part->is_owned = false;
    elapse__unlock(&part->lock);
    elapse__part_release(part);
}

static bool is_another(const struct elapse__partition_figures *left,
                       const struct elapse__partition_figures *right)
{
    return left->role != right->role || left->complaint != right->complaint ||
           strcmp(left->owner, right->owner) != 0 || left->epoch != right->epoch;
}

static void log_change(struct elapse__cluster_part *part,
                       const struct elapse__runner_figures *figures, bool begins_to_mark)
{
    const struct elapse__partition_figures *now = &figures->partition;
    const char *complaint = elapse__cluster_complaint(now->complaint);

    if (begins_to_mark)
        elapse__log(elapse__cluster_log(part->cluster), ELAPSE__LOG_ERROR, ELAPSE__EVENT_CLUSTER,
                    "partition %" PRIu32 ": %s; this node writes so into the database, and ends",
                    part->part, elapse__cluster_stop(now->stop));
    elapse__log(elapse__cluster_log(part->cluster),
                now->complaint == ELAPSE__COMPLAINT_NONE ? ELAPSE__LOG_NOTICE : ELAPSE__LOG_WARNING,
                ELAPSE__EVENT_CLUSTER,
                "partition %" PRIu32 ": %s, epoch %" PRIu64 ", owner %s at %s%s%s%s%s", part->part,
                elapse__cluster_role(now->role), now->epoch,
                now->owner[0] == '\0' ? "nobody" : now->owner,
                now->address[0] == '\0' ? "no address" : now->address,
                complaint[0] == '\0' ? "" : "; the database: ", complaint,
                complaint[0] == '\0' || figures->message[0] == '\0' ? "" : ": ",
                complaint[0] == '\0' ? "" : figures->message);
}

static void look_at_figures(struct elapse__cluster_part *part)
{
    struct elapse__runner_figures figures;

    elapse__runner_figures(part->runner, &figures);
    bool has_changed = is_another(&figures.partition, &part->figures.partition);
    bool begins_to_mark = figures.partition.role == ELAPSE__ROLE_MARKING &&
                          part->figures.partition.role != ELAPSE__ROLE_MARKING;
    bool has_lost_polls = figures.polls_lost > part->figures.polls_lost;
    part->figures = figures;
    if (has_changed)
        log_change(part, &figures, begins_to_mark);
    if (has_lost_polls)
        elapse__log(elapse__cluster_log(part->cluster), ELAPSE__LOG_WARNING, ELAPSE__EVENT_CLUSTER,
                    "partition %" PRIu32 ": the inbox did not answer within %" PRIu32
                    " ms, so the session was ended, %" PRIu64 " times by now",
                    part->part, part->cluster->queue.lease_ms / 8, figures.polls_lost);
}

/* ---- two nodes with one address ---- */

/* Another life has this node's address. An earlier one of this process does not beat any more. */
static bool has_twin(const struct elapse__cluster_part *part)
{
    const struct elapse__partition_figures *seen = &part->figures.partition;

    return seen->role == ELAPSE__ROLE_FOLLOWING && seen->complaint == ELAPSE__COMPLAINT_NONE &&
           seen->owner[0] != '\0' && strcmp(seen->owner, part->me) != 0 &&
           strcmp(seen->address, part->cluster->address) == 0;
}

static void look_for_twin(struct elapse__cluster_part *part)
{
    uint64_t epoch = has_twin(part) ? part->figures.partition.epoch : 0;
    uint64_t now_ms = elapse__runner_now_ms();

    if (epoch != part->twin_epoch) {
        part->twin_epoch = epoch;
        part->twin_ms = now_ms;
        part->has_told_twin = false;
    }
    if (epoch == 0 || part->has_told_twin ||
        now_ms - part->twin_ms < TWIN_LEASES * (uint64_t)part->cluster->queue.lease_ms)
        return;
    part->has_told_twin = true;
    elapse__log(elapse__cluster_log(part->cluster), ELAPSE__LOG_ERROR, ELAPSE__EVENT_CLUSTER,
                "partition %" PRIu32 ": its owner %s has the address of this node, %s: give each "
                "node an address of its own by --advertise; until then nothing reaches that owner "
                "from here",
                part->part, part->figures.partition.owner, part->cluster->address);
}

/* ---- descriptors ---- */

static uint64_t segments_of(const struct elapse__cluster_part *part)
{
    uint64_t followed = atomic_load(&part->segments);
    uint64_t owned = part->core == NULL ? 0 : part->core->peers.segments;

    return owned > followed ? owned : followed;
}

void elapse__cluster_count_files(struct elapse__cluster *cluster)
{
    struct elapse__peers *front = &cluster->service.loop.peers;

    front->held = (uint64_t)cluster->part_count * ELAPSE__PART_FILES;
    front->segments = 0;
    for (uint32_t i = 0; i < cluster->part_count; i++)
        front->segments += segments_of(&cluster->parts[i]);
}

/* ---- what the runner's thread has asked for ---- */

/* What part.c has left, read once. */
struct wishes {
    bool is_owned, is_opened_anew, has_failed, has_lost;
};

static struct wishes take_wishes(struct elapse__cluster_part *part)
{
    elapse__lock(&part->lock);
    struct wishes wishes = {
        .is_owned = part->is_owned,
        .is_opened_anew = part->is_opened_anew,
        .has_failed = part->has_failed,
        .has_lost = part->has_lost,
    };
    part->is_opened_anew = false;
    if (wishes.is_owned && part->core == NULL && !atomic_load(&part->cluster->is_stopping))
        part->has_core = true; /* from now on the runner's thread waits for its end */
    elapse__unlock(&part->lock);
    return wishes;
}

static void start_again(struct elapse__cluster_part *part)
{
    elapse__runner_stop(part->runner);
    part->runner = NULL;
    if (!elapse__part_start(part))
        part->cluster->has_failed = true;
}

/* The journal has failed, or the runner's thread has fenced it, which it says by itself. */
static void look_at_broken(struct elapse__cluster_part *part)
{
    struct elapse_queue *store = part->core->store;

    elapse__store_arrive(store);
    int error = elapse__journal_error(store->joint.journal);
    elapse__store_depart(store);
    if (error == 0)
        return;
    elapse__log(elapse__cluster_log(part->cluster), ELAPSE__LOG_ERROR, ELAPSE__EVENT_STORE,
                "%s: writing or syncing failed: %s", part->directory, elapse__os_error_text(error));
    part->cluster->has_failed = true;
}

void elapse__part_look(struct elapse__cluster_part *part)
{
    struct elapse__cluster *cluster = part->cluster;

    if (part->runner == NULL)
        return;
    struct wishes wishes = take_wishes(part);
    elapse__part_log(part);
    if (wishes.has_failed)
        cluster->has_failed = true;
    if (wishes.has_lost && cluster->search_until_ms == 0)
        cluster->search_until_ms =
            elapse__runner_now_ms() + SEARCH_LEASES * (uint64_t)cluster->queue.lease_ms;
    if (part->core != NULL && part->core->is_broken)
        look_at_broken(part);
    if (!wishes.is_owned)
        elapse__part_release(part);
    else if (part->core == NULL && !atomic_load(&cluster->is_stopping) && !make_core(part))
        cluster->has_failed = true;
    if (wishes.is_opened_anew && !atomic_load(&cluster->is_stopping))
        start_again(part);
    if (part->runner == NULL)
        return;
    look_at_figures(part);
    look_at_stop(part);
    look_for_twin(part);
    tell_router(part);
}
