/*
 * A partition: its store, and the calls of its runner. Unless a comment says otherwise, this
 * runs on the runner's thread.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../cluster/chain.h"
#include "../../store/remember.h"
#include "inner.h"

#define NS_PER_MS UINT64_C(1000000)
#define AGAIN_NS  (100 * NS_PER_MS) /* after a full disk */

enum { CLOCK_BEHIND_MS = 1000 };

static struct elapse__cluster_part *part_of(void *context)
{
    return context;
}

/* The loop has something to look at. */
static void wake_loop(struct elapse__cluster_part *part)
{
    elapse__os_event_set(part->cluster->event);
}

/* Leaves a line for the log, in place of one that is still there. */
__attribute__((format(printf, 3, 4))) static void
say(struct elapse__cluster_part *part, enum elapse__log_level level, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    elapse__lock(&part->lock);
    part->has_notice = true;
    part->notice_level = level;
    (void)vsnprintf(part->notice, sizeof part->notice, format, arguments);
    elapse__unlock(&part->lock);
    va_end(arguments);
    wake_loop(part);
}

/* The process has to end. */
static void fail(struct elapse__cluster_part *part)
{
    part->gave_up = true;
    elapse__lock(&part->lock);
    part->has_failed = true;
    elapse__unlock(&part->lock);
    wake_loop(part);
}

static bool is_stopping(const struct elapse__cluster_part *part)
{
    return atomic_load(&part->cluster->is_stopping);
}

/* ---- the store ---- */

/* On a thread of the store. */
static bool on_submit(void *context, const void *bytes, size_t size, uint64_t position)
{
    struct elapse__cluster_part *part = part_of(context);
    struct elapse__partition_group group = {.bytes = bytes, .size = size};

    elapse__part_attach_inbox(part, position, &group);
    return elapse__runner_submit(part->runner, atomic_load(&part->epoch), &group);
}

/* With the store's lock, and so without another one (S4). */
static void on_trim(void *context, uint64_t tail)
{
    struct elapse__cluster_part *part = part_of(context);

    atomic_store(&part->tail, tail);
}

/* On any thread, while there is no runner or it waits in a call. */
static enum elapse_error open_store(struct elapse__cluster_part *part,
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

    return elapse__store_open(part->directory, &queue, &wishes, &part->store, fault);
}

/* Returns whether a full disk is waited for; false: the process ends. */
static bool waits_for_room(struct elapse__cluster_part *part, enum elapse_error error)
{
    struct elapse__os_watch nothing = {.file = -1};

    if ((error != ELAPSE_ERROR_DISK_FULL && error != ELAPSE_ERROR_MEMORY) || is_stopping(part))
        return false;
    say(part, ELAPSE__LOG_ERROR, "partition %" PRIu32 " waits: %s: %s", part->part, part->directory,
        elapse_error_text(error));
    (void)elapse__os_wait(&nothing, 1, AGAIN_NS);
    return true;
}

/* A step of the store has failed for good. A node that stops need not take it. */
static void give_up(struct elapse__cluster_part *part, const char *what, enum elapse_error error)
{
    part->gave_up = true;
    if (is_stopping(part))
        return;
    say(part, ELAPSE__LOG_ERROR, "partition %" PRIu32 ": %s: %s: %s", part->part, part->directory,
        what, elapse_error_text(error));
    fail(part);
}

/* ---- the runner's calls ---- */

static void on_apply(void *context, const struct elapse__log_row *row, uint64_t hash)
{
    struct elapse__cluster_part *part = part_of(context);
    const struct elapse__store_group group = {.number = row->group,
                                              .hash = hash,
                                              .previous_hash = row->hash_of_previous,
                                              .bytes = row->bytes,
                                              .size = row->size};
    enum elapse_error error = ELAPSE_OK;

    if (part->gave_up)
        return;
    do {
        error = elapse__store_follow(part->store, &group);
    } while (error != ELAPSE_OK && waits_for_room(part, error));
    if (error != ELAPSE_OK)
        give_up(part, "a group of the log cannot be applied", error);
}

static void on_rebuild(void *context, uint64_t tail)
{
    struct elapse__cluster_part *part = part_of(context);
    enum elapse_error error = ELAPSE_OK;

    if (part->gave_up)
        return;
    say(part, ELAPSE__LOG_NOTICE,
        "partition %" PRIu32 ": the files do not lead to the log, which is read again from group "
        "%" PRIu64,
        part->part, tail);
    do {
        error = elapse__store_rebuild(part->store);
    } while (error != ELAPSE_OK && waits_for_room(part, error));
    if (error != ELAPSE_OK)
        give_up(part, "the files cannot be emptied", error);
}

/* Jobs become due by the wall clock after a take-over. */
static void compare_clocks(struct elapse__cluster_part *part)
{
    struct elapse__store_place place;
    int64_t now_ms = (int64_t)(elapse__os_wall_clock_ns() / NS_PER_MS);

    elapse__store_place(part->store, &place);
    if (now_ms + CLOCK_BEHIND_MS < place.wall_ms)
        say(part, ELAPSE__LOG_WARNING,
            "partition %" PRIu32 ": the wall clock is %" PRId64 " ms behind that of the owner "
            "before: jobs become due so much too late",
            part->part, place.wall_ms - now_ms);
}

static void on_own(void *context, uint64_t epoch)
{
    struct elapse__cluster_part *part = part_of(context);
    enum elapse_error error = ELAPSE_OK;

    if (part->gave_up)
        return;
    compare_clocks(part);
    atomic_store(&part->epoch, epoch); /* the first group may come before own returns */
    atomic_store(&part->tail, 0);
    elapse__part_own_inbox(part);
    do {
        error = elapse__store_own(part->store);
    } while (error != ELAPSE_OK && waits_for_room(part, error));
    if (error != ELAPSE_OK) {
        give_up(part, "the life of an owner cannot begin", error);
        return;
    }
    elapse__lock(&part->lock);
    part->has_owned = part->is_owned = true;
    elapse__unlock(&part->lock);
    wake_loop(part);
}

static void on_confirmed(void *context, uint64_t group)
{
    struct elapse__cluster_part *part = part_of(context);
    uint64_t tail = atomic_exchange(&part->tail, 0);

    (void)group;
    elapse__part_confirm_inbox(part);
    elapse__store_confirmed(part->store);
    if (tail > 0)
        elapse__runner_trim(part->runner, atomic_load(&part->epoch), tail);
}

/* Waits until the loop has freed the core (S2). */
static void wait_for_release(struct elapse__cluster_part *part)
{
    elapse__lock(&part->lock);
    part->is_owned = false;
    while (part->has_core) {
        wake_loop(part);
        elapse__condition_wait(&part->changed, &part->lock);
    }
    elapse__unlock(&part->lock);
}

/* What was confirmed, but not written, and what was not confirmed, is in the store no more. */
static bool open_anew(struct elapse__cluster_part *part)
{
    struct elapse_queue_fault fault;

    (void)elapse_queue_close(part->store);
    part->store = NULL;
    part->has_owned = false;
    if (open_store(part, &fault) == ELAPSE_OK)
        return true;
    say(part, ELAPSE__LOG_ERROR, "%s", fault.text);
    fail(part);
    return false;
}

static void replace_store(struct elapse__cluster_part *part)
{
    elapse__lock(&part->lock);
    part->is_opening = !is_stopping(part) && !part->gave_up;
    bool opens = part->is_opening;
    elapse__unlock(&part->lock);
    if (!opens)
        return;
    bool is_open = open_anew(part);
    elapse__lock(&part->lock);
    part->is_opening = false;
    part->is_opened_anew = is_open;
    elapse__condition_broadcast(&part->changed);
    elapse__unlock(&part->lock);
    wake_loop(part);
}

static void on_fenced(void *context, const struct elapse__partition_group *group)
{
    struct elapse__cluster_part *part = part_of(context);

    (void)group; /* the store has it */
    if (elapse__store_fenced(part->store, atomic_load(&part->epoch)) != ELAPSE_OK)
        say(part, ELAPSE__LOG_ERROR,
            "partition %" PRIu32 ": %s: what was not confirmed could not be put aside", part->part,
            part->directory);
    elapse__part_disown_inbox(part);
    wait_for_release(part);
    replace_store(part);
    part->gave_up = true; /* of this runner */
}

static void note_end(struct elapse__cluster_part *part)
{
    elapse__lock(&part->lock);
    part->has_ended = true;
    elapse__condition_broadcast(&part->changed);
    elapse__unlock(&part->lock);
    wake_loop(part);
}

static void on_stopped(void *context, enum elapse__partition_stop stop)
{
    struct elapse__cluster_part *part = part_of(context);

    (void)elapse__store_fenced(part->store, atomic_load(&part->epoch));
    elapse__part_disown_inbox(part);
    wait_for_release(part);
    say(part, ELAPSE__LOG_ERROR, "partition %" PRIu32 " cannot go on: %s", part->part,
        elapse__cluster_stop(stop));
    fail(part);
    note_end(part);
}

static bool on_remember(void *context, const struct elapse__partition_memory *memory)
{
    struct elapse__cluster_part *part = part_of(context);
    const struct elapse__store_memory kept = {
        .system_identifier = memory->system_identifier,
        .timeline = memory->timeline,
        .epoch = memory->epoch,
    };
    int error = elapse__store_remember(&elapse__files_linux, part->directory, &kept);

    if (error != 0)
        say(part, ELAPSE__LOG_ERROR, "%s: the file cluster cannot be written: %s", part->directory,
            elapse__os_error_text(error));
    return error == 0;
}

/* The runner shows the time 0 by now, so nothing is answered any more (S1). */
static void on_releasing(void *context)
{
    wake_loop(part_of(context));
}

static void on_ended(void *context)
{
    note_end(part_of(context));
}

static void on_changed(void *context)
{
    wake_loop(part_of(context));
}

/* ---- life: on the thread of the loop ---- */

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
        .submit = on_submit,
        .trim = on_trim,
    };
    if (!make_locks(part) || !make_directories(part) ||
        (cluster->has_inbox && !elapse__part_make_inbox(part)))
        return false;
    if (open_store(part, &fault) == ELAPSE_OK)
        return true;
    elapse__log(elapse__cluster_log(cluster), ELAPSE__LOG_ERROR, ELAPSE__EVENT_STORE, "%s",
                fault.text);
    return false;
}

static bool refuse(struct elapse__cluster_part *part, const char *what, int error)
{
    elapse__log(elapse__cluster_log(part->cluster), ELAPSE__LOG_ERROR, ELAPSE__EVENT_CLUSTER,
                "%s: %s: %s", part->directory, what, elapse__os_error_text(error));
    return false;
}

/* No two lives ever have the same name. */
static void name_life(struct elapse__cluster_part *part)
{
    uint64_t number = 0;

    (void)elapse__os->random_bytes(&number, sizeof number);
    (void)snprintf(part->me, sizeof part->me, "%.40s/%016" PRIx64, part->cluster->name, number);
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
    name_life(part);
    elapse__store_place(part->store, &place);
    part->gave_up = false;
    const struct elapse__runner_options options = {
        .partition =
            {
                .owner = {part, on_apply, on_rebuild, on_own, on_confirmed, on_fenced, on_stopped},
                .me = part->me,
                .hosts = cluster->hosts.count,
                .lease_ms = cluster->queue.lease_ms,
                .single_copy = serve->single_copy,
                .genesis = part->log.genesis,
                .memory = {memory.system_identifier, memory.timeline, memory.epoch},
                .local = {place.local_group, place.local_hash},
                .confirmed = {place.confirmed_group, place.confirmed_hash},
            },
        .calls = {on_remember, on_releasing, on_ended, on_changed},
        .inbox =
            part->inbox != NULL ? elapse__part_inbox : (struct elapse__runner_inbox){.ask = NULL},
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
    elapse__part_free_inbox(part);
    if (part->made > 1)
        elapse__condition_free(&part->changed);
    if (part->made > 0)
        elapse__lock_free(&part->lock);
    part->made = 0;
    return is_durable;
}
