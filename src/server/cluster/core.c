/*
 * The core of a partition that this node owns, and what the loop does for a partition's runner.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "inner.h"

#define READING_NS UINT64_C(100000000) /* so often readings are looked at in any case */

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

static bool is_another(const struct elapse__partition_figures *left,
                       const struct elapse__partition_figures *right)
{
    return left->role != right->role || left->complaint != right->complaint ||
           strcmp(left->owner, right->owner) != 0 || left->epoch != right->epoch;
}

static void log_change(struct elapse__cluster_part *part,
                       const struct elapse__runner_figures *figures)
{
    const struct elapse__partition_figures *now = &figures->partition;
    const char *complaint = elapse__cluster_complaint(now->complaint);

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
    part->figures = figures;
    if (has_changed)
        log_change(part, &figures);
}

/* ---- what the runner's thread has asked for ---- */

/* What part.c has left, read once. */
struct wishes {
    bool is_owned, is_opened_anew, has_failed, has_notice;
    enum elapse__log_level notice_level;
    char notice[ELAPSE__PART_NOTICE_BYTES];
};

static struct wishes take_wishes(struct elapse__cluster_part *part)
{
    elapse__lock(&part->lock);
    struct wishes wishes = {
        .is_owned = part->is_owned,
        .is_opened_anew = part->is_opened_anew,
        .has_failed = part->has_failed,
        .has_notice = part->has_notice,
        .notice_level = part->notice_level,
    };
    if (wishes.has_notice)
        memcpy(wishes.notice, part->notice, sizeof wishes.notice);
    part->has_notice = false;
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
    if (wishes.has_notice)
        elapse__log(elapse__cluster_log(cluster), wishes.notice_level, ELAPSE__EVENT_CLUSTER, "%s",
                    wishes.notice);
    if (wishes.has_failed)
        cluster->has_failed = true;
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
    tell_router(part);
}
