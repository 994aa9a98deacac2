/*
 * elapse cluster append-lost appends groups that the database lost, from the directory of a node.
 * elapse cluster accept-loss accepts their loss. A mark is a text in the partition's row. It says
 * that groups are lost, and stops the partition until an operator has decided.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../cluster/ownership/chain.h"
#include "../../cluster/postgres/repair.h"
#include "../../engine/upkeep/local_log.h"
#include "../../os/program.h"
#include "../common/duration.h"
#include "../common/output.h"
#include "cluster.h"

#define NS_PER_MS UINT64_C(1000000)
#define LOOK_NS   (100 * NS_PER_MS)

/* The work of append-lost and of accept-loss. */
struct repair {
    const struct cluster_options *options;
    struct elapse__repair *session;
    uint32_t partition;
    struct elapse__repair_row row;
    struct elapse__repair_server server;
    struct elapse__upkeep_local_log log; /* valid if --data was given */
    bool has_log;
    const struct elapse__upkeep_local_group *anew; /* if the log begins anew: its first group */
    uint64_t end;    /* if the log begins anew: its last group before */
    uint64_t common; /* the last group that is the same in the database and the directory */
    uint64_t last;   /* the last group of the directory */
    struct elapse__schema_why why;
};

static enum exit_status refuse(const char *text)
{
    return error_of(STATUS_FAILED, "%s", text);
}

/* ---- beginning ---- */

static enum exit_status choose_partition(struct repair *repair)
{
    uint32_t partitions = elapse__repair_queue(repair->session)->partitions;

    if (!repair->options->has_partition && partitions > 1)
        return usage_error("--partition is missing: the queue has %" PRIu32 " partitions",
                           partitions);
    if (repair->options->partition >= partitions)
        return usage_error("--partition: the queue has %" PRIu32 ", which count from 0",
                           partitions);
    ELAPSE__ASSERT(repair->options->has_partition || repair->options->partition == 0);
    repair->partition = (uint32_t)repair->options->partition;
    return STATUS_OK;
}

static void tell_server(const struct repair *repair)
{
    output_add_text("database at ");
    output_add_masked(repair->server.place);
    output_add_format(", timeline %" PRIu32 "\n", repair->server.timeline);
}

static enum exit_status begin(struct repair *repair)
{
    const struct cluster_options *options = repair->options;

    ELAPSE__ASSERT_THAT(options->host_count, >, 0U);
    for (size_t i = 0;
         i < options->host_count && repair->session == NULL && !repair->why.is_connected; i++)
        repair->session = elapse__repair_open(options->hosts[i], options->queue, &repair->why);
    if (repair->session == NULL)
        return cluster_refused(&repair->why);
    enum exit_status status = choose_partition(repair);
    if (status != STATUS_OK)
        return status;
    if (!elapse__repair_server(repair->session, &repair->server, &repair->why) ||
        !elapse__repair_look(repair->session, repair->partition, &repair->row, &repair->why))
        return cluster_refused(&repair->why);
    tell_server(repair);
    return output_finish();
}

static enum exit_status end(struct repair *repair, enum exit_status status)
{
    if (repair->has_log)
        elapse__upkeep_local_log_free(&repair->log);
    elapse__repair_close(repair->session);
    return status;
}

/* ---- the directory ---- */

/* Stores whether the database has this group with the hash that the directory has. */
static bool compare(struct repair *repair, const struct elapse__upkeep_local_group *group,
                    bool *is_same)
{
    uint64_t hash = 0;
    bool is_there = false;

    if (!elapse__repair_hash(repair->session, repair->partition, &repair->row, group->number, &hash,
                             &is_there, &repair->why))
        return false;
    *is_same = is_there && hash == group->hash;
    return true;
}

/* Finds the last group that is the same in the database and in the directory. All groups before
 * such a group are the same, too. Stores the index of the group plus 1, or 0 if there is no such
 * group. */
static bool find_common(struct repair *repair, size_t *found)
{
    const struct elapse__upkeep_local_log *log = &repair->log;
    size_t low = 0, high = log->count;
    bool is_same = false;

    /* Groups that the database's log does not have any more cannot be compared. */
    while (low < log->count && log->groups[low].number + 1 < repair->row.tail)
        low++;
    size_t first = low;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (!compare(repair, &log->groups[middle], &is_same))
            return false;
        if (is_same)
            low = middle + 1;
        else
            high = middle;
    }
    ELAPSE__ASSERT_THAT(low, <=, log->count);
    *found = low > first ? low : 0;
    return true;
}

/* Called when the directory lacks the first groups that the database lost. If the user has asked
 * for it, plans to begin the log anew with the groups of the directory. If not, refuses. A node can
 * start from its directory alone, so these groups have all jobs, as a log has them from its tail
 * on. Hashes cannot tell whether the database has gone on with other groups. */
static enum exit_status begin_anew(struct repair *repair)
{
    const struct elapse__upkeep_local_log *log = &repair->log;
    const struct elapse__store_memory *memory = &log->memory;
    const struct elapse__upkeep_local_group *first = &log->groups[log->groups[0].bytes == NULL];
    uint64_t known = memory->epoch > memory->seen_epoch ? memory->epoch : memory->seen_epoch;
    bool is_whole =
        first < log->groups + log->count && !(first > log->groups && first[-1].has_records);
    char text[400];

    ELAPSE__ASSERT_THAT(log->groups[0].number, >, repair->row.last_group);
    if (is_whole && repair->options->begin_anew && repair->row.epoch <= known) {
        repair->anew = first;
        repair->end = repair->row.last_group;
        repair->common = first->number - 1;
        return STATUS_OK;
    }
    if (is_whole && repair->options->begin_anew)
        (void)snprintf(text, sizeof text,
                       "an owner of epoch %" PRIu64
                       ", of which the directory knows nothing, may have gone on",
                       repair->row.epoch);
    else
        (void)snprintf(
            text, sizeof text,
            "the directory begins with group %" PRIu64
            " of the log, and the database ends with %" PRIu64 ": what lies between is not here%s",
            log->groups[0].number + (log->groups[0].bytes == NULL), repair->row.last_group,
            is_whole ? ". All jobs of the directory are in its groups from there on: "
                       "with --begin-anew they become the whole log, and what the "
                       "database has is given up"
                     : "");
    return refuse(text);
}

static enum exit_status find_place(struct repair *repair)
{
    const struct elapse__upkeep_local_log *log = &repair->log;
    const struct elapse__repair_row *row = &repair->row;
    char text[256];
    size_t found = 0;

    if (log->count == 0)
        return refuse("the directory has no groups of the log");
    repair->last = log->groups[log->count - 1].number;
    if (!find_common(repair, &found))
        return cluster_refused(&repair->why);
    if (found > 0) {
        repair->common = log->groups[found - 1].number;
        ELAPSE__ASSERT_THAT(repair->common, <=, repair->last);
        ELAPSE__ASSERT_THAT(repair->common, <=, row->last_group);
        return STATUS_OK;
    }
    const struct elapse__upkeep_local_group *first = &log->groups[0];
    ELAPSE__ASSERT_THAT(first->number, <=, repair->last);
    bool is_whole = first->bytes != NULL || first->number <= row->last_group;
    if (is_whole && first->number == row->last_group + 1 &&
        first->previous_hash == row->last_hash) {
        repair->common = row->last_group;
        return STATUS_OK;
    }
    if (repair->last + 1 >= row->tail && (!is_whole || first->number > row->last_group + 1))
        return begin_anew(repair);
    if (repair->last + 1 < row->tail)
        (void)snprintf(text, sizeof text,
                       "the directory ends with group %" PRIu64
                       " of the log, of which the database has no more than groups %" PRIu64
                       " to %" PRIu64,
                       repair->last, row->tail, row->last_group);
    else
        (void)snprintf(text, sizeof text,
                       "the database went on with other groups, up to %" PRIu64
                       ": it has none of those of the directory, %" PRIu64 " to %" PRIu64,
                       row->last_group, first->number, repair->last);
    return refuse(text);
}

/* Refuses a directory of another log. A directory whose node has followed no log yet has no genesis
 * and no timeline. */
static enum exit_status check_memory(struct repair *repair)
{
    const struct elapse__store_memory *memory = &repair->log.memory;
    const struct elapse__schema_queue *queue = elapse__repair_queue(repair->session);

    if (memory->genesis != 0 &&
        memory->genesis != elapse__chain_genesis(queue->identity, repair->partition))
        return refuse("the directory belongs to another queue or partition");
    if (!elapse__repair_knows(&repair->server, memory->system_identifier, memory->timeline,
                              &repair->why))
        return cluster_refused(&repair->why);
    return STATUS_OK;
}

/* The directories of the partition: `part-N`, and those that the node has set aside. */
struct search {
    struct repair *repair;
    char path[4096];                   /* of the one that was chosen */
    char inner[4096];                  /* of the one that is looked at */
    struct elapse__upkeep_fault fault; /* why the first one that cannot be read cannot be read */
    bool has_fault;
    bool is_unreadable; /* a directory is there and cannot be read; `fault` is of the first such */
};

static uint64_t last_of(const struct elapse__upkeep_local_log *log)
{
    return log->count == 0 ? 0 : log->groups[log->count - 1].number;
}

/* Reads the log of the directory `inner`. Keeps it if it ends with a later group than the one that
 * was read before. */
static void look_in(struct search *search)
{
    struct repair *repair = search->repair;
    struct elapse__upkeep_local_log log = {.next_hash = elapse__chain_next,
                                           .from = repair->row.last_group + 1};
    struct elapse__upkeep_fault fault;

    if (!elapse__upkeep_local_log_read(search->inner, &log, &fault)) {
        bool is_there = cluster_has_directory(search->inner);
        if (!search->has_fault || (is_there && !search->is_unreadable))
            search->fault = fault;
        search->has_fault = true;
        search->is_unreadable = search->is_unreadable || is_there;
        return;
    }
    if (repair->has_log && last_of(&log) <= last_of(&repair->log)) {
        elapse__upkeep_local_log_free(&log);
        return;
    }
    if (repair->has_log)
        elapse__upkeep_local_log_free(&repair->log);
    repair->log = log;
    repair->has_log = true;
    (void)snprintf(search->path, sizeof search->path, "%s", search->inner);
}

static bool name_inner(struct search *search, const char *name)
{
    int size =
        snprintf(search->inner, sizeof search->inner, "%s/%s", search->repair->options->data, name);

    return size > 0 && (size_t)size < sizeof search->inner;
}

static int look_at_name(void *context, const char *name)
{
    struct search *search = context;
    char first[32];
    (void)snprintf(first, sizeof first, "part-%" PRIu32 ".left-", search->repair->partition);

    if (strncmp(name, first, strlen(first)) == 0 && name_inner(search, name))
        look_in(search);
    return 0;
}

/* Reads the directory of the partition, or one that the node has set aside, if that has later
 * groups. */
static enum exit_status read_directory(struct repair *repair)
{
    struct search search = {.repair = repair};
    char name[32];
    int directory;
    (void)snprintf(name, sizeof name, "part-%" PRIu32, repair->partition);

    if (!name_inner(&search, name))
        return usage_error("--data: the path is too long");
    ELAPSE__ASSERT(!repair->has_log);
    look_in(&search);
    bool is_first = repair->has_log;
    uint64_t first = is_first ? last_of(&repair->log) : 0;
    if (elapse__files_linux.open_directory(repair->options->data, &directory) == 0) {
        (void)elapse__files_linux.list(directory, look_at_name, &search);
        elapse__files_linux.close(directory);
    }
    /* What cannot be read may have the groups that are lost. */
    if (!repair->has_log ||
        (search.is_unreadable && last_of(&repair->log) <= repair->row.last_group))
        return refuse(search.fault.text);
    if (search.is_unreadable) {
        output_add_text("a directory was left out that cannot be read: ");
        output_add_masked(search.fault.text);
        output_add_text("\n");
    }
    if (!is_first || last_of(&repair->log) > first) {
        output_add_text("the directory that was set aside: ");
        output_add_masked(search.path);
        output_add_text("\n");
    }
    enum exit_status status = check_memory(repair);
    return status == STATUS_OK ? find_place(repair) : status;
}

/* Prints a mark, unless it is empty. The mark says up to which group its node knows the log. */
static void tell_words(const struct repair *repair, const char *what, const char *text)
{
    if (text[0] == '\0')
        return;
    output_add_format("partition %" PRIu32 " %s: ", repair->partition, what);
    output_add_masked(text);
    output_add_text("\n");
}

static enum exit_status tell_mark(const struct repair *repair)
{
    tell_words(repair, "was stopped", repair->row.stopped);
    tell_words(repair, "went on without groups", repair->row.missed);
    return output_finish();
}

/* Writes the row once more. An earlier run may have changed the row without learning whether a
 * standby has the change. */
static enum exit_status confirm(struct repair *repair)
{
    if (!elapse__repair_write_again(repair->session, repair->partition, &repair->why) ||
        !elapse__repair_commit(repair->session, repair->options->single_copy, &repair->why))
        return cluster_refused(&repair->why);
    return STATUS_OK;
}

/* ---- append-lost ---- */

/* Watches the row for a lease and a quarter. An owner writes every quarter of a lease. */
static enum exit_status watch(struct repair *repair)
{
    const struct elapse__schema_queue *queue = elapse__repair_queue(repair->session);
    uint64_t begin_ns = elapse__os_monotonic_ns();
    uint64_t limit_ns = queue->lease_ms * NS_PER_MS * 5 / 4;
    struct elapse__repair_row row;

    output_add_format("looking for %s whether a node lives\n", duration_format(limit_ns).text);
    if (output_finish() != STATUS_OK)
        return STATUS_FAILED;
    while (elapse__os_monotonic_ns() - begin_ns < limit_ns) {
        struct elapse__os_watch nothing = {.file = -1};
        (void)elapse__os_wait(&nothing, 1, LOOK_NS);
        if (!elapse__repair_look(repair->session, repair->partition, &row, &repair->why))
            return cluster_refused(&repair->why);
        if (row.epoch != repair->row.epoch || row.beat != repair->row.beat ||
            row.last_group != repair->row.last_group)
            return refuse("a node lives: the row of the partition changes. End all nodes first");
    }
    return STATUS_OK;
}

static enum exit_status check_place(const struct repair *repair)
{
    char text[256];

    if (repair->common < repair->row.last_group && repair->common < repair->last) {
        (void)snprintf(text, sizeof text,
                       "the database went on with other groups behind group %" PRIu64
                       ", up to %" PRIu64 ": those of the directory, up to %" PRIu64
                       ", do not fit behind them",
                       repair->common, repair->row.last_group, repair->last);
        return refuse(text);
    }
    if (repair->last <= repair->row.last_group && repair->row.stopped[0] != '\0') {
        (void)snprintf(text, sizeof text,
                       "nothing can be appended: the database has all groups of this directory, "
                       "up to %" PRIu64 ". That of another node may have more; or go on without "
                       "them by accept-loss --yes",
                       repair->last);
        return refuse(text);
    }
    return STATUS_OK;
}

/* Appends the groups after the last group of the database. All of them continue the log, because
 * the hashes of the directory's groups were checked. */
static bool append_all(struct repair *repair)
{
    const struct elapse__upkeep_local_log *log = &repair->log;

    ELAPSE__ASSERT_THAT(repair->common, ==, repair->row.last_group);

    for (size_t i = 0; i < log->count; i++) {
        const struct elapse__upkeep_local_group *group = &log->groups[i];
        const struct elapse__statement statement = {
            .group = group->number,
            .hash = group->hash,
            .previous_hash = group->previous_hash,
            .bytes = group->bytes,
            .size = group->size,
        };
        if (group->number > repair->row.last_group &&
            !elapse__repair_append(repair->session, repair->partition, &repair->row, &statement,
                                   &repair->why))
            return false;
    }
    return true;
}

/* Returns the mark if it has to stay, because its node knows more groups than the directory has. If
 * not, returns "". */
static const char *kept(const struct repair *repair, const char *mark)
{
    return elapse__repair_marked_group(mark) > repair->last ? mark : "";
}

static bool keep_marks(struct repair *repair)
{
    const char *stopped = kept(repair, repair->row.stopped);
    const char *missed = kept(repair, repair->row.missed);

    return (stopped[0] == '\0' && missed[0] == '\0') ||
           elapse__repair_keep_marks(repair->session, repair->partition, stopped, missed,
                                     &repair->why);
}

static void tell_anew(const struct repair *repair)
{
    if (repair->anew == NULL)
        return;
    uint64_t between = repair->anew->number - repair->end - 1;
    output_add_format("partition %" PRIu32 ": the log begins anew with group %" PRIu64
                      "; that of the database, up to group %" PRIu64
                      ", is given up, and the %" PRIu64 " group%s between %s in neither\n",
                      repair->partition, repair->anew->number, repair->end, between,
                      between == 1 ? "" : "s", between == 1 ? "is" : "are");
}

/* Prints what was appended. If a mark stays, prints why, and returns STATUS_FAILED. */
static enum exit_status tell_appended(const struct repair *repair)
{
    uint64_t count = repair->last - repair->row.last_group;
    bool is_stopped = kept(repair, repair->row.stopped)[0] != '\0';
    char text[256];

    ELAPSE__ASSERT_THAT(repair->last, >, repair->row.last_group);
    tell_anew(repair);
    output_add_format("partition %" PRIu32 ": %" PRIu64
                      " group%s appended again, up to group %" PRIu64 "%s\n",
                      repair->partition, count, count == 1 ? " is" : "s are", repair->last,
                      is_stopped ? "" : "; nodes may own it again");
    enum exit_status status = output_finish();
    if (status != STATUS_OK || !is_stopped)
        return status;
    (void)snprintf(text, sizeof text,
                   "partition %" PRIu32 " stays stopped: the mark names group %" PRIu64
                   ", and this directory ends with %" PRIu64
                   ". Try another node's directory, or go on without the others by "
                   "accept-loss --yes",
                   repair->partition, elapse__repair_marked_group(repair->row.stopped),
                   repair->last);
    return refuse(text);
}

static bool begin_log(struct repair *repair)
{
    const struct elapse__upkeep_local_group *anew = repair->anew;

    return anew == NULL ||
           elapse__repair_begin_anew(repair->session, repair->partition, anew->number,
                                     anew->previous_hash, &repair->row, &repair->why);
}

static enum exit_status append(struct repair *repair)
{
    ELAPSE__ASSERT(repair->has_log);
    ELAPSE__ASSERT_THAT(repair->last, >, repair->row.last_group);
    if (!elapse__repair_begin(repair->session, repair->partition, &repair->row, &repair->why) ||
        !begin_log(repair) || !append_all(repair) || !keep_marks(repair) ||
        !elapse__repair_commit(repair->session, repair->options->single_copy, &repair->why))
        return cluster_refused(&repair->why);
    return tell_appended(repair);
}

/* Ends append-lost when the database has all groups of the directory. */
static enum exit_status end_with_all(struct repair *repair)
{
    enum exit_status status = confirm(repair);

    ELAPSE__ASSERT_THAT(repair->last, <=, repair->row.last_group);
    if (status != STATUS_OK)
        return status;
    output_add_format("partition %" PRIu32 ": nothing is to be appended: the database has all "
                      "groups of this directory, up to %" PRIu64 "\n",
                      repair->partition, repair->last);
    return output_finish();
}

enum exit_status cluster_append_lost(const struct cluster_options *options)
{
    struct repair repair = {.options = options};
    enum exit_status status = begin(&repair);

    if (status == STATUS_OK)
        status = tell_mark(&repair);
    if (status == STATUS_OK)
        status = read_directory(&repair);
    if (status == STATUS_OK)
        status = check_place(&repair);
    if (status == STATUS_OK &&
        !elapse__repair_trust(repair.session, options->single_copy, &repair.why))
        status = cluster_refused(&repair.why);
    if (status == STATUS_OK && repair.last <= repair.row.last_group)
        return end(&repair, end_with_all(&repair));
    if (status == STATUS_OK)
        status = watch(&repair);
    if (status == STATUS_OK)
        status = append(&repair);
    return end(&repair, status);
}

/* ---- accept-loss ---- */

static void tell_loss(const struct repair *repair)
{
    uint64_t count = repair->last - repair->common;

    ELAPSE__ASSERT_THAT(repair->common, <=, repair->last);
    if (repair->has_log)
        output_add_format("the directory has %" PRIu64 " group%s that the database lacks\n", count,
                          count == 1 ? "" : "s");
}

/* Lets the partition go on. If the partition has gone on without the groups before, forgets the
 * mark about them. */
static bool change(struct repair *repair)
{
    if (repair->row.stopped[0] == '\0')
        return elapse__repair_forget(repair->session, repair->partition, &repair->why);
    return elapse__repair_begin(repair->session, repair->partition, &repair->row, &repair->why);
}

static enum exit_status accept(struct repair *repair)
{
    ELAPSE__ASSERT(repair->options->yes);
    if (!change(repair) ||
        !elapse__repair_commit(repair->session, repair->options->single_copy, &repair->why))
        return cluster_refused(&repair->why);
    output_add_format("the loss is accepted, and nodes may own the partition. A node that knows "
                      "of lost groups ends until its directory part-%" PRIu32 " is set aside: its "
                      "log has the command\n",
                      repair->partition);
    return output_finish();
}

/* Ends accept-loss when no node misses groups. */
static enum exit_status accept_nothing(struct repair *repair)
{
    static const char words[] =
        "no node misses groups of the partition: there is nothing to accept";

    ELAPSE__ASSERT(repair->row.stopped[0] == '\0' && repair->row.missed[0] == '\0');
    if (!repair->options->yes)
        return refuse(words);
    enum exit_status status = confirm(repair);
    if (status != STATUS_OK)
        return status;
    output_add_format("%s\n", words);
    return output_finish();
}

/* Shows the loss, or accepts it. */
static enum exit_status show_or_accept(struct repair *repair)
{
    enum exit_status status = tell_mark(repair);

    if (status == STATUS_OK && repair->options->data != NULL)
        status = read_directory(repair);
    if (status != STATUS_OK)
        return status;
    tell_loss(repair);
    status = output_finish();
    if (status == STATUS_OK && !repair->options->yes)
        return refuse("nothing has changed: say --yes to go on without the lost groups");
    return status == STATUS_OK ? accept(repair) : status;
}

enum exit_status cluster_accept_loss(const struct cluster_options *options)
{
    struct repair repair = {.options = options};
    enum exit_status status = begin(&repair);

    if (status != STATUS_OK)
        return end(&repair, status);
    bool is_missed = repair.row.stopped[0] != '\0' || repair.row.missed[0] != '\0';
    return end(&repair, is_missed ? show_or_accept(&repair) : accept_nothing(&repair));
}
