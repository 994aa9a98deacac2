/*
 * What the runner and the store of a partition call. Unless a comment says otherwise, this runs on
 * the runner's thread.
 */
#include <inttypes.h>

#include "../../engine/store/remember.h"
#include "inner.h"

#define NS_PER_MS UINT64_C(1000000)
#define AGAIN_NS  (100 * NS_PER_MS) /* after a full disk */

enum { CLOCK_BEHIND_MS = 1000, WAITS_A_LINE = 600 /* of a full disk: once a minute */ };

static struct elapse__cluster_part *part_of(void *context)
{
    return context;
}

/* The process has to end. */
static void fail(struct elapse__cluster_part *part)
{
    part->gave_up = true;
    elapse__lock(&part->lock);
    part->has_failed = true;
    elapse__unlock(&part->lock);
    elapse__part_wake_loop(part);
}

/* The process has to end when the other partitions have looked, too. */
static void fail_after_search(struct elapse__cluster_part *part)
{
    part->gave_up = true;
    elapse__lock(&part->lock);
    part->has_lost = true;
    elapse__unlock(&part->lock);
}

static bool is_stopping(const struct elapse__cluster_part *part)
{
    return atomic_load(&part->cluster->is_stopping);
}

/* ---- the store ---- */

/* On a thread of the store. */
bool elapse__part_submit(void *context, const void *bytes, size_t size, uint64_t position)
{
    struct elapse__cluster_part *part = part_of(context);
    struct elapse__partition_group group = {.bytes = bytes, .size = size};

    elapse__part_attach_inbox(part, position, &group);
    return elapse__runner_submit(part->runner, atomic_load(&part->epoch), &group);
}

/* With the store's lock, and so without another one (S4). */
void elapse__part_trim(void *context, uint64_t tail)
{
    struct elapse__cluster_part *part = part_of(context);

    atomic_store(&part->tail, tail);
}

/* Returns whether a step of the store is to be tried again: it has waited for a full disk. */
static bool waits_for_room(struct elapse__cluster_part *part, enum elapse_error error)
{
    struct elapse__os_watch nothing = {.file = -1};

    if (error == ELAPSE_OK)
        part->waits = 0;
    if ((error != ELAPSE_ERROR_DISK_FULL && error != ELAPSE_ERROR_MEMORY) || is_stopping(part))
        return false;
    if (part->waits++ % WAITS_A_LINE == 0)
        elapse__part_say(part, ELAPSE__LOG_ERROR, "partition %" PRIu32 " waits: %s: %s", part->part,
                         part->directory, elapse_error_text(error));
    (void)elapse__os_wait(&nothing, 1, AGAIN_NS);
    return true;
}

/* A step of the store has failed for good. A node that stops need not take it. */
static void give_up(struct elapse__cluster_part *part, const char *what, enum elapse_error error)
{
    part->gave_up = true;
    if (is_stopping(part))
        return;
    elapse__part_say(part, ELAPSE__LOG_ERROR, "partition %" PRIu32 ": %s: %s: %s", part->part,
                     part->directory, what, elapse_error_text(error));
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
    } while (waits_for_room(part, error));
    if (error != ELAPSE_OK)
        give_up(part, "a group of the log cannot be applied", error);
    else
        elapse__part_count_files(part);
}

static void on_rebuild(void *context, uint64_t tail)
{
    struct elapse__cluster_part *part = part_of(context);
    enum elapse_error error = ELAPSE_OK;

    if (part->gave_up)
        return;
    elapse__part_say(part, ELAPSE__LOG_NOTICE,
                     "partition %" PRIu32
                     ": the files do not lead to the log, which is read again from group "
                     "%" PRIu64,
                     part->part, tail);
    do {
        error = elapse__store_rebuild(part->store);
    } while (waits_for_room(part, error));
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
        elapse__part_say(part, ELAPSE__LOG_WARNING,
                         "partition %" PRIu32 ": the wall clock is %" PRId64
                         " ms behind that of the owner "
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
    } while (waits_for_room(part, error));
    if (error != ELAPSE_OK) {
        give_up(part, "the life of an owner cannot begin", error);
        return;
    }
    elapse__lock(&part->lock);
    part->has_owned = part->is_owned = true;
    elapse__unlock(&part->lock);
    elapse__part_wake_loop(part);
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
        elapse__part_wake_loop(part);
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
    if (elapse__part_open_store(part, &fault) == ELAPSE_OK)
        return true;
    elapse__part_say(part, ELAPSE__LOG_ERROR, "%s", fault.text);
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
    elapse__part_wake_loop(part);
}

static void on_fenced(void *context, const struct elapse__partition_group *group)
{
    struct elapse__cluster_part *part = part_of(context);

    (void)group; /* the store has it */
    if (elapse__store_fenced(part->store, atomic_load(&part->epoch)) != ELAPSE_OK)
        elapse__part_say(part, ELAPSE__LOG_ERROR,
                         "partition %" PRIu32 ": %s: what was not confirmed could not be put aside",
                         part->part, part->directory);
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
    elapse__part_wake_loop(part);
}

static void on_stopped(void *context, enum elapse__partition_stop stop)
{
    struct elapse__cluster_part *part = part_of(context);
    struct elapse__runner_figures figures;

    (void)elapse__store_fenced(part->store, atomic_load(&part->epoch));
    elapse__part_disown_inbox(part);
    wait_for_release(part);
    elapse__runner_figures(part->runner, &figures);
    elapse__part_say(part, ELAPSE__LOG_ERROR, "partition %" PRIu32 " cannot go on: %s%s%s",
                     part->part, elapse__cluster_stop(stop),
                     figures.partition.mark[0] == '\0' ? "" : ": ", figures.partition.mark);
    if (stop == ELAPSE__STOP_LOST_GROUPS || stop == ELAPSE__STOP_MARKED)
        fail_after_search(part);
    else
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
        .seen_epoch = memory->seen_epoch,
        .genesis = part->log.genesis,
    };
    int error = elapse__store_remember(&elapse__files_linux, part->directory, &kept);

    if (error == 0)
        part->waits = 0;
    else if (part->waits++ % WAITS_A_LINE == 0)
        elapse__part_say(part, ELAPSE__LOG_ERROR, "%s: the file cluster cannot be written: %s",
                         part->directory, elapse__os_error_text(error));
    return error == 0;
}

/* The runner shows the time 0 by now, so nothing is answered any more (S1). */
static void on_releasing(void *context)
{
    elapse__part_wake_loop(part_of(context));
}

static void on_ended(void *context)
{
    note_end(part_of(context));
}

static void on_changed(void *context)
{
    elapse__part_wake_loop(part_of(context));
}

struct elapse__partition_owner elapse__part_owner(struct elapse__cluster_part *part)
{
    return (struct elapse__partition_owner){part,         on_apply,  on_rebuild, on_own,
                                            on_confirmed, on_fenced, on_stopped};
}

const struct elapse__runner_calls elapse__part_calls = {on_remember, on_releasing, on_ended,
                                                        on_changed};
