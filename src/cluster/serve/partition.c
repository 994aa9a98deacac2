/*
 * The functions that the runner and the store of a partition call. The runner is the thread that
 * talks to the database (src/cluster/postgres/runner.h). These functions run on its thread, unless
 * a comment says otherwise. Most of them call the store. What they ask of the loop is done in
 * core.c.
 */
#include <inttypes.h>

#include "../../base/assert.h"
#include "../../engine/store/remember.h"
#include "life.h"

#define NS_PER_MS UINT64_C(1000000)
#define AGAIN_NS  (100 * NS_PER_MS) /* the pause after a refusal of a full disk */

enum {
    CLOCK_BEHIND_MS = 1000,
    WAITS_A_LINE = 600, /* one line in the log for so many pauses of AGAIN_NS, a minute */
    NO_ROOM_LEASES = 4, /* how long a node without room leaves the partition to other nodes */
};

static struct elapse__cluster_partition *partition_of(void *context)
{
    return context;
}

/* Asks the loop to end the process. */
static void fail(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    partition->gave_up = true;
    elapse__lock(&partition->monitor.lock);
    partition->has_failed = true;
    elapse__unlock(&partition->monitor.lock);
    elapse__cluster_partition_wake_loop(partition);
}

/* Asks the loop to end the process, but only after the other partitions have looked for lost
 * groups. */
static void fail_after_search(struct elapse__cluster_partition *partition)
{
    partition->gave_up = true;
    elapse__lock(&partition->monitor.lock);
    partition->has_lost = true;
    elapse__unlock(&partition->monitor.lock);
}

/* Ends the partition on this node, and logs why. The node keeps its other partitions. `detail` may
 * be empty. */
static void go_without(struct elapse__cluster_partition *partition, const char *why,
                       const char *detail)
{
    partition->gave_up = true;
    elapse__lock(&partition->monitor.lock);
    partition->out = why;
    elapse__unlock(&partition->monitor.lock);
    elapse__cluster_partition_say(
        partition, ELAPSE__LOGGER_ERROR,
        "partition %" PRIu32 " cannot go on: %s%s%s. This node goes on without it, until it is "
        "started again",
        partition->number, why, detail[0] == '\0' ? "" : ": ", detail);
    elapse__cluster_partition_wake_loop(partition);
}

static bool is_stopping(const struct elapse__cluster_partition *partition)
{
    return atomic_load(&partition->cluster->is_stopping);
}

bool elapse__cluster_partition_goes_without_files(struct elapse__cluster_partition *partition,
                                                  enum elapse_error error, const char *detail)
{
    if (error != ELAPSE_ERROR_DAMAGED && error != ELAPSE_ERROR_FORMAT &&
        error != ELAPSE_ERROR_ARGUMENT)
        return false;
    go_without(partition, "its directory does not fit the log, or is damaged", detail);
    if (partition->runner != NULL)
        elapse__runner_hand_over(partition->runner);
    return true;
}

/* ---- the store ---- */

/* Called on a thread of the store. */
bool elapse__cluster_partition_submit(void *context, const void *bytes, size_t size,
                                      uint64_t position)
{
    struct elapse__cluster_partition *partition = partition_of(context);
    struct elapse__partition_group group = {.bytes = bytes, .size = size};

    ELAPSE__ASSERT_THAT(size, >, 0);
    ELAPSE__ASSERT_THAT(atomic_load(&partition->epoch), >, 0);
    ELAPSE__ASSERT_NO_LOCK_HELD(); /* S4 */
    elapse__cluster_partition_attach_inbox(partition, position, &group);
    return elapse__runner_submit(partition->runner, atomic_load(&partition->epoch), &group);
}

/* Called while the store's lock is held, so it must take no other lock (S4). */
void elapse__cluster_partition_trim(void *context, uint64_t tail)
{
    struct elapse__cluster_partition *partition = partition_of(context);

    ELAPSE__ASSERT_THAT(tail, >, 0);
    atomic_store(&partition->tail, tail);
}

static bool lacks_room(enum elapse_error error)
{
    return error == ELAPSE_ERROR_DISK_FULL || error == ELAPSE_ERROR_MEMORY;
}

/* Called after each attempt at a step of the store. If the disk or the memory had no room, waits a
 * moment and returns true. Then the caller tries again. */
static bool waits_for_room(struct elapse__cluster_partition *partition, enum elapse_error error)
{
    struct elapse__os_watch nothing = {.file = -1};

    if (error == ELAPSE_OK)
        partition->waits = 0;
    if (!lacks_room(error) || is_stopping(partition))
        return false;
    if (partition->waits++ % WAITS_A_LINE == 0)
        elapse__cluster_partition_say(partition, ELAPSE__LOGGER_ERROR,
                                      "partition %" PRIu32 " waits: %s: %s", partition->number,
                                      partition->directory, elapse_error_text(error));
    ELAPSE__ASSERT_NO_LOCK_HELD();
    (void)elapse__os_wait(&nothing, 1, AGAIN_NS);
    return true;
}

/* Called when a step of the store has failed and will not be tried again. Says nothing if the node
 * is stopping anyway. */
static void give_up(struct elapse__cluster_partition *partition, const char *what,
                    enum elapse_error error)
{
    ELAPSE__ASSERT_THAT(error, !=, ELAPSE_OK);
    partition->gave_up = true;
    if (is_stopping(partition) ||
        elapse__cluster_partition_goes_without_files(partition, error, what))
        return;
    elapse__cluster_partition_say(partition, ELAPSE__LOGGER_ERROR,
                                  "partition %" PRIu32 ": %s: %s: %s", partition->number,
                                  partition->directory, what, elapse_error_text(error));
    fail(partition);
}

/* ---- callbacks of the runner ---- */

static void on_apply(void *context, const struct elapse__partition_log_row *row, uint64_t hash)
{
    struct elapse__cluster_partition *partition = partition_of(context);
    const struct elapse__engine_group group = {.number = row->group,
                                               .hash = hash,
                                               .previous_hash = row->hash_of_previous,
                                               .bytes = row->bytes,
                                               .size = row->size};
    enum elapse_error error = ELAPSE_OK;

    ELAPSE__ASSERT_THAT(row->group, >, 0);
    ELAPSE__ASSERT_THAT(elapse__cluster_partition_check(partition), ==, 0);
    if (partition->gave_up)
        return;
    do {
        error = elapse__store_follow(partition->store, &group);
    } while (waits_for_room(partition, error));
    if (error != ELAPSE_OK)
        give_up(partition, "a group of the log cannot be applied", error);
    else
        elapse__cluster_partition_count_files(partition);
}

static void on_rebuild(void *context, uint64_t tail)
{
    struct elapse__cluster_partition *partition = partition_of(context);
    enum elapse_error error = ELAPSE_OK;

    ELAPSE__ASSERT_THAT(tail, >, 0);
    ELAPSE__ASSERT(!partition->has_owned); /* S3 */
    if (partition->gave_up)
        return;
    elapse__cluster_partition_say(
        partition, ELAPSE__LOGGER_NOTICE,
        "partition %" PRIu32 ": the files do not lead to the log, which is read again from group "
        "%" PRIu64,
        partition->number, tail);
    do {
        error = elapse__store_rebuild(partition->store);
    } while (waits_for_room(partition, error));
    if (error != ELAPSE_OK)
        give_up(partition, "the files cannot be emptied", error);
}

/* Warns if the cluster's time is behind the time of the previous owner. After a take-over jobs
 * become due by the cluster's time. */
static void compare_clocks(struct elapse__cluster_partition *partition)
{
    struct elapse__store_place place;
    int64_t now_ms = elapse__store_now().wall_ms;

    elapse__store_place(partition->store, &place);
    if (now_ms + CLOCK_BEHIND_MS < place.wall_ms)
        elapse__cluster_partition_say(partition, ELAPSE__LOGGER_WARNING,
                                      "partition %" PRIu32 ": the cluster's time is %" PRId64
                                      " ms behind that of the owner "
                                      "before: jobs become due so much too late",
                                      partition->number, place.wall_ms - now_ms);
}

/* Hands the partition over, because there is no room for its service. Other nodes would never take
 * it over, because this node beats. `fenced` comes next. */
static void leave_for_room(struct elapse__cluster_partition *partition)
{
    const uint64_t limit_ms = (uint64_t)NO_ROOM_LEASES * partition->cluster->queue.lease_ms;

    elapse__cluster_partition_say(partition, ELAPSE__LOGGER_ERROR,
                                  "partition %" PRIu32 " is left to other nodes: %s has had no "
                                  "room for its service for a lease",
                                  partition->number, partition->directory);
    atomic_store(&partition->no_room_until_ms, elapse__runner_now_ms() + limit_ms);
    /* The loop tells the runner the same later (elapse__cluster_moves_look). */
    elapse__runner_expect(partition->runner, ELAPSE__NEXT_OWNER_THERE);
    elapse__runner_move(partition->runner);
}

/* Brings the store into service, which passes over every job. Tries for a lease if there is no
 * room. */
static void begin_to_serve(struct elapse__cluster_partition *partition)
{
    uint64_t begun_ms = elapse__runner_now_ms();
    uint64_t lease_ms = partition->cluster->queue.lease_ms;
    enum elapse_error error = ELAPSE_OK;

    do {
        error = elapse__store_own(partition->store);
    } while (!atomic_load(&partition->ends_beginning) &&
             elapse__runner_now_ms() - begun_ms < lease_ms && waits_for_room(partition, error));
    if (lacks_room(error) && !is_stopping(partition) && !atomic_load(&partition->ends_beginning)) {
        leave_for_room(partition); /* the partition is still beginning, and ends so (S5) */
        return;
    }
    atomic_store(&partition->is_beginning, false);
    if (error != ELAPSE_OK) {
        if (!atomic_load(&partition->ends_beginning))
            give_up(partition, "the life of an owner cannot begin", error);
        return;
    }
    elapse__store_time_was_set(partition->store); /* the time may have been set meanwhile */
    uint64_t took_ms = elapse__runner_now_ms() - begun_ms;
    if (took_ms > partition->cluster->queue.lease_ms / 4)
        elapse__cluster_partition_say(partition, ELAPSE__LOGGER_NOTICE,
                                      "partition %" PRIu32 ": it took %" PRIu64
                                      " ms to bring its jobs into service",
                                      partition->number, took_ms);
    elapse__lock(&partition->monitor.lock);
    partition->is_owned = true;
    elapse__unlock(&partition->monitor.lock);
    elapse__cluster_partition_wake_loop(partition);
    elapse__runner_wake(partition->runner); /* rows of the inbox can be asked for */
}

static void *begin_main(void *context)
{
    elapse__os_thread_name("elapse-begin");
    begin_to_serve(partition_of(context));
    return NULL;
}

/* Starts the thread that brings the store into service (S5). If the system refuses a thread, this
 * thread does the work. */
static void start_to_serve(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT(!partition->has_beginner);
    atomic_store(&partition->ends_beginning, false);
    atomic_store(&partition->is_beginning, true);
    partition->has_beginner =
        elapse__os->thread_start(&partition->beginner, 0, begin_main, partition) == 0;
    if (!partition->has_beginner)
        begin_to_serve(partition);
}

void elapse__cluster_partition_end_beginning(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    if (partition->has_beginner) {
        atomic_store(&partition->ends_beginning, true);
        elapse__os_thread_join(&partition->beginner);
        partition->has_beginner = false;
    }
    atomic_store(&partition->is_beginning, false); /* it may have ended without room */
}

static void on_own(void *context, uint64_t epoch)
{
    struct elapse__cluster_partition *partition = partition_of(context);

    ELAPSE__ASSERT_THAT(epoch, >, atomic_load(&partition->epoch));
    ELAPSE__ASSERT(!partition->has_owned); /* S3 */
    if (partition->gave_up)
        return;
    compare_clocks(partition);
    atomic_store(&partition->epoch, epoch); /* the first group may come before `own` returns */
    atomic_store(&partition->tail, 0);
    elapse__cluster_partition_own_inbox(partition);
    elapse__lock(&partition->monitor.lock);
    partition->has_owned = true;
    elapse__unlock(&partition->monitor.lock);
    start_to_serve(partition);
}

static void on_confirmed(void *context, uint64_t group)
{
    struct elapse__cluster_partition *partition = partition_of(context);
    uint64_t tail = atomic_exchange(&partition->tail, 0);

    ELAPSE__ASSERT_THAT(group, >, 0);
    ELAPSE__ASSERT(partition->has_owned); /* S2 */
    (void)group;
    elapse__cluster_partition_confirm_inbox(partition);
    elapse__store_confirmed(partition->store);
    if (tail > 0)
        elapse__runner_trim(partition->runner, atomic_load(&partition->epoch), tail);
}

/* Waits until the loop has freed the core (S2). */
static void wait_for_release(struct elapse__cluster_partition *partition)
{
    elapse__lock(&partition->monitor.lock);
    partition->is_owned = false;
    while (partition->has_core) {
        elapse__cluster_partition_wake_loop(partition);
        elapse__condition_wait(&partition->monitor.changed, &partition->monitor.lock);
    }
    elapse__unlock(&partition->monitor.lock);
    ELAPSE__ASSERT_THAT(elapse__cluster_partition_check(partition), ==, 0);
}

/* Closes the store, and opens it from its files. The store then lacks all groups that were not
 * confirmed, and those that were confirmed but not yet written. */
static bool open_anew(struct elapse__cluster_partition *partition)
{
    struct elapse_queue_fault fault;

    (void)elapse_queue_close(partition->store);
    partition->store = NULL;
    enum elapse_error error = elapse__cluster_partition_open_store(partition, &fault);
    if (error == ELAPSE_OK)
        return true;
    if (elapse__cluster_partition_goes_without_files(partition, error, fault.text))
        return false;
    elapse__cluster_partition_say(partition, ELAPSE__LOGGER_ERROR, "%s", fault.text);
    fail(partition);
    return false;
}

static void replace_store(struct elapse__cluster_partition *partition)
{
    elapse__lock(&partition->monitor.lock);
    ELAPSE__ASSERT(!partition->has_core && !partition->is_owned); /* S2 */
    partition->is_opening = !is_stopping(partition) && !partition->gave_up;
    bool opens = partition->is_opening;
    if (opens)
        partition->has_owned = false;
    elapse__unlock(&partition->monitor.lock);
    if (!opens)
        return;
    bool is_open = open_anew(partition);
    elapse__lock(&partition->monitor.lock);
    partition->is_opening = false;
    partition->is_opened_anew = is_open;
    elapse__condition_broadcast(&partition->monitor.changed);
    elapse__unlock(&partition->monitor.lock);
    ELAPSE__ASSERT_THAT(elapse__cluster_partition_check(partition), ==, 0);
    elapse__cluster_partition_wake_loop(partition);
}

static void on_fenced(void *context, const struct elapse__partition_group *group)
{
    struct elapse__cluster_partition *partition = partition_of(context);

    ELAPSE__ASSERT_THAT(elapse__runner_answer_until_ms(partition->runner), ==, 0); /* S1 */
    (void)group; /* the store puts the group aside by itself */
    elapse__cluster_partition_end_beginning(partition);
    if (elapse__store_fenced(partition->store, atomic_load(&partition->epoch)) != ELAPSE_OK)
        elapse__cluster_partition_say(partition, ELAPSE__LOGGER_ERROR,
                                      "partition %" PRIu32
                                      ": %s: what was not confirmed could not be put aside",
                                      partition->number, partition->directory);
    elapse__cluster_partition_disown_inbox(partition);
    wait_for_release(partition);
    replace_store(partition);
    partition->gave_up = true; /* this runner does nothing more */
}

static void note_end(struct elapse__cluster_partition *partition)
{
    elapse__lock(&partition->monitor.lock);
    partition->has_ended = true;
    elapse__condition_broadcast(&partition->monitor.changed);
    elapse__unlock(&partition->monitor.lock);
    ELAPSE__ASSERT_THAT(elapse__cluster_partition_check(partition), ==, 0);
    elapse__cluster_partition_wake_loop(partition);
}

/* Called when groups are lost and the row has no mark: an operator has accepted the loss, or other
 * nodes have gone on. Then nothing but the files of this node keeps it from following. Tells the
 * operator what to do with them. */
static void tell_way_out(struct elapse__cluster_partition *partition, uint64_t group)
{
    const char *outer = elapse__cluster_options(partition->cluster)->directory;

    elapse__cluster_partition_say(
        partition, ELAPSE__LOGGER_ERROR,
        "partition %" PRIu32 ": others go on without these groups, as after accept-loss. To start "
        "this node, set its directory aside, which keeps it: mv '%s' '%s/lost-%" PRIu32 "-%" PRIu64
        "'",
        partition->number, partition->directory, outer, partition->number, group);
    elapse__cluster_partition_say(
        partition, ELAPSE__LOGGER_ERROR,
        "partition %" PRIu32 ": the node then reads the log anew, and the jobs that were lost can "
        "still be seen: elapse export '%s/lost-%" PRIu32 "-%" PRIu64 "'",
        partition->number, outer, partition->number, group);
}

static void on_stopped(void *context, enum elapse__partition_stop stop)
{
    struct elapse__cluster_partition *partition = partition_of(context);
    struct elapse__runner_figures figures;

    ELAPSE__ASSERT_THAT(stop, !=, ELAPSE__STOP_NONE);
    ELAPSE__ASSERT_THAT(elapse__runner_answer_until_ms(partition->runner), ==, 0); /* S1 */
    elapse__cluster_partition_end_beginning(partition);
    (void)elapse__store_fenced(partition->store, atomic_load(&partition->epoch));
    elapse__cluster_partition_disown_inbox(partition);
    wait_for_release(partition);
    elapse__runner_figures(partition->runner, &figures);
    if (stop == ELAPSE__STOP_LOST_GROUPS || stop == ELAPSE__STOP_MARKED) {
        elapse__cluster_partition_say(
            partition, ELAPSE__LOGGER_ERROR, "partition %" PRIu32 " cannot go on: %s%s%s",
            partition->number, elapse__cluster_stop(stop),
            figures.partition.mark[0] == '\0' ? "" : ": ", figures.partition.mark);
        if (stop == ELAPSE__STOP_LOST_GROUPS && figures.partition.mark[0] == '\0')
            tell_way_out(partition, figures.partition.confirmed.group);
        fail_after_search(partition);
    } else {
        go_without(partition, elapse__cluster_stop(stop),
                   stop == ELAPSE__STOP_REFUSED ? figures.message : "");
    }
    note_end(partition);
}

static bool on_remember(void *context, const struct elapse__partition_memory *memory)
{
    struct elapse__cluster_partition *partition = partition_of(context);
    const struct elapse__store_memory kept = {
        .system_identifier = memory->system_identifier,
        .timeline = memory->timeline,
        .epoch = memory->epoch,
        .seen_epoch = memory->seen_epoch,
        .genesis = partition->log.genesis,
    };
    ELAPSE__ASSERT_THAT(memory->system_identifier, !=, 0);
    ELAPSE__ASSERT_NO_LOCK_HELD();
    int error = elapse__store_remember(&elapse__files_linux, partition->directory, &kept);

    if (error == 0)
        partition->waits = 0;
    else if (partition->waits++ % WAITS_A_LINE == 0)
        elapse__cluster_partition_say(partition, ELAPSE__LOGGER_ERROR,
                                      "%s: the file cluster cannot be written: %s",
                                      partition->directory, elapse__os_error_text(error));
    return error == 0;
}

static void on_releasing(void *context)
{
    struct elapse__cluster_partition *partition = partition_of(context);

    /* S1: from now on nothing is answered. */
    ELAPSE__ASSERT_THAT(elapse__runner_answer_until_ms(partition->runner), ==, 0);
    elapse__cluster_partition_wake_loop(partition);
}

static void on_ended(void *context)
{
    struct elapse__cluster_partition *partition = partition_of(context);

    ELAPSE__ASSERT_THAT(elapse__runner_answer_until_ms(partition->runner), ==, 0); /* S1 */
    note_end(partition);
}

/* Passes on the cluster's time (R12 of src/cluster/ownership/partition.h). Reads `store` without
 * the lock, because only this thread replaces the store. */
static void on_time_set(void *context, const struct elapse__clock_time *time)
{
    struct elapse__cluster_partition *partition = partition_of(context);
    struct elapse__cluster_nodes *nodes = &partition->cluster->nodes;

    elapse__lock(&nodes->errand.monitor.lock);
    bool is_taken = !time->is_borrowed || !nodes->time.is_known || nodes->time.is_borrowed;
    if (is_taken) {
        nodes->time = *time;
        elapse__store_set_time(time->offset_ms); /* that of all partitions */
    }
    elapse__unlock(&nodes->errand.monitor.lock);
    if (!is_taken)
        return;
    if (partition->store != NULL && !atomic_load(&partition->is_beginning)) /* S5 */
        elapse__store_time_was_set(partition->store);
}

static void on_changed(void *context)
{
    elapse__cluster_partition_wake_loop(partition_of(context));
}

static void on_witnessed(void *context, const struct elapse__partition_witness *witness)
{
    elapse__cluster_note_witness(partition_of(context), witness);
}

struct elapse__partition_owner
elapse__cluster_partition_owner(struct elapse__cluster_partition *partition)
{
    return (struct elapse__partition_owner){partition,    on_apply,  on_rebuild, on_own,
                                            on_confirmed, on_fenced, on_stopped};
}

const struct elapse__runner_calls elapse__cluster_partition_calls = {
    on_remember, on_releasing, on_ended, on_time_set, on_changed, on_witnessed};
