/*
 * elapse cluster accept-database: lets a node use a database that has another system identifier
 * than the one that it used before, because the database was made anew from the old one: by a
 * major upgrade, or by dump and restore. The node's directory tells whether the new database has
 * all that the node knows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../base/assert.h"
#include "../../cluster/ownership/chain.h"
#include "../../cluster/postgres/repair.h"
#include "../../engine/store/remember.h"
#include "../../engine/store/witness.h"
#include "../../engine/upkeep/local_log.h"
#include "../../os/program.h"
#include "../common/duration.h"
#include "../common/output.h"
#include "cluster.h"

#define NS_PER_MS UINT64_C(1000000)
#define LOOK_NS   (100 * NS_PER_MS)

enum { PATH_BYTES = 4096 };

/* A partition of the directory. Its lock is held until the end. */
struct part {
    uint32_t number;
    char path[PATH_BYTES];
    struct elapse__repair_row row;
    struct elapse__upkeep_local_log log;
    bool has_log;
    bool has_no_copy; /* the node has no directory of the partition */
};

/* The work of the command. */
struct acceptance {
    const struct cluster_options *options;
    struct elapse__repair *session;
    struct elapse__repair_server server;
    struct part *parts;
    uint32_t count;
    struct elapse__store_witness *witnesses; /* of all partitions of the queue */
    struct elapse__schema_why why;
};

static enum exit_status refuse(const struct part *part, const char *text)
{
    return error_of(STATUS_FAILED, "partition %" PRIu32 ": %s", part->number, text);
}

/* ---- looking ---- */

static enum exit_status choose_parts(struct acceptance *work)
{
    const struct cluster_options *options = work->options;
    uint32_t partitions = elapse__repair_queue(work->session)->partitions;

    if (options->has_partition && options->partition >= partitions)
        return usage_error("--partition: the queue has %" PRIu32 ", which count from 0",
                           partitions);
    work->count = options->has_partition ? 1 : partitions;
    work->parts = allocate(work->count * sizeof *work->parts);
    for (uint32_t i = 0; i < work->count; i++) {
        struct part *part = &work->parts[i];
        *part = (struct part){
            .number = options->has_partition ? (uint32_t)options->partition : i,
        };
        int size = snprintf(part->path, sizeof part->path, "%s/part-%" PRIu32, options->data,
                            part->number);
        if (size < 0 || (size_t)size >= sizeof part->path)
            return usage_error("--data: the path is too long");
    }
    return STATUS_OK;
}

/* ---- what the node has seen of partitions ---- */

static uint64_t queue_of(const struct acceptance *work)
{
    return elapse__chain_genesis(elapse__repair_queue(work->session)->identity, 0);
}

static enum exit_status refuse_witnesses(const struct acceptance *work, int error)
{
    return error_of(STATUS_FAILED, "%s/witness: %s", work->options->data,
                    error == EBADMSG ? "the file is damaged, or of another queue"
                                     : elapse__os_error_text(error));
}

static enum exit_status read_witnesses(struct acceptance *work)
{
    uint32_t partitions = elapse__repair_queue(work->session)->partitions;

    work->witnesses = allocate(partitions * sizeof *work->witnesses);
    int error = elapse__store_recall_witnesses(&elapse__files_linux, work->options->data,
                                               queue_of(work), work->witnesses, partitions);
    return error == 0 || error == EBADMSG ? STATUS_OK : refuse_witnesses(work, error);
}

static bool knows_witness(const struct acceptance *work, const struct part *part)
{
    const struct elapse__store_witness *witness = &work->witnesses[part->number];

    return witness->group == 0 || (witness->system_identifier == work->server.system_identifier &&
                                   witness->timeline <= work->server.timeline);
}

/* Lets a witness count in the new database. The node compares the witness with the log there. */
static void accept_witness(const struct acceptance *work, struct elapse__store_witness *witness)
{
    if (witness->group == 0)
        return;
    witness->system_identifier = work->server.system_identifier;
    witness->timeline = work->server.timeline;
}

static enum exit_status change_witnesses(struct acceptance *work)
{
    bool has_changed = false;

    for (uint32_t i = 0; i < work->count; i++) {
        has_changed = has_changed || !knows_witness(work, &work->parts[i]);
        accept_witness(work, &work->witnesses[work->parts[i].number]);
    }
    if (!has_changed)
        return STATUS_OK;
    int error = elapse__store_remember_witnesses(&elapse__files_linux, work->options->data,
                                                 queue_of(work), work->witnesses,
                                                 elapse__repair_queue(work->session)->partitions);
    return error == 0 ? STATUS_OK : refuse_witnesses(work, error);
}

static enum exit_status begin(struct acceptance *work)
{
    const struct cluster_options *options = work->options;

    ELAPSE__ASSERT_THAT(options->host_count, >, 0U);
    for (size_t i = 0; i < options->host_count && work->session == NULL && !work->why.is_connected;
         i++)
        work->session = elapse__repair_open(options->hosts[i], options->queue, &work->why);
    if (work->session == NULL || !elapse__repair_server(work->session, &work->server, &work->why))
        return cluster_refused(&work->why);
    enum exit_status status = choose_parts(work);
    return status == STATUS_OK ? read_witnesses(work) : status;
}

static enum exit_status refuse_old_server(const struct acceptance *work, const struct part *part,
                                          uint64_t timeline)
{
    char text[160];

    (void)snprintf(text, sizeof text,
                   "this is an old server of the same database: it is on timeline %" PRIu32
                   ", and the node has used timeline %" PRIu64,
                   work->server.timeline, timeline);
    return refuse(part, text);
}

/* Compares the last place that the node has seen with the row. The node compares the hash when it
 * is started. */
static enum exit_status check_witness(const struct acceptance *work, const struct part *part)
{
    const struct elapse__store_witness *witness = &work->witnesses[part->number];
    char text[256];

    if (witness->group == 0)
        return STATUS_OK;
    if (witness->system_identifier == work->server.system_identifier &&
        witness->timeline > work->server.timeline)
        return refuse_old_server(work, part, witness->timeline);
    if (witness->epoch > part->row.epoch)
        return refuse(part, "the database is older than what the node has seen: it lacks an owner "
                            "that the node knows");
    if (witness->group <= part->row.last_group)
        return STATUS_OK;
    (void)snprintf(text, sizeof text,
                   "the database ends with group %" PRIu64 ", and the node has seen group %" PRIu64
                   ": restore a later copy",
                   part->row.last_group, witness->group);
    return refuse(part, text);
}

/* Compares what the directory remembers of the partition with the row. */
static enum exit_status check_memory(const struct acceptance *work, const struct part *part)
{
    const struct elapse__store_memory *memory = &part->log.memory;
    const struct elapse__schema_queue *queue = elapse__repair_queue(work->session);

    if (memory->genesis != 0 &&
        memory->genesis != elapse__chain_genesis(queue->identity, part->number))
        return refuse(part, "the directory belongs to another queue or partition");
    /* R7 of partition.h: the server that was the primary before a promotion. */
    if (memory->system_identifier == work->server.system_identifier &&
        memory->timeline > work->server.timeline)
        return refuse_old_server(work, part, memory->timeline);
    if (part->row.stopped[0] != '\0')
        return refuse(part, "it is stopped, because groups are lost: the old database is the one "
                            "to repair");
    if (part->row.epoch < memory->epoch || part->row.epoch < memory->seen_epoch)
        return refuse(part, "the database is older than the directory: it lacks an owner that the "
                            "node knows");
    return STATUS_OK;
}

/* Compares the last group of the directory with the group of that number in the database. Since
 * each group has the hash of the one before, all groups before it are the same, too. */
static enum exit_status check_end(struct acceptance *work, const struct part *part)
{
    const struct elapse__upkeep_local_log *log = &part->log;
    uint64_t hash = 0;
    bool is_there = false;
    char text[256];

    if (log->count == 0)
        return STATUS_OK; /* the node knows of no group */
    const struct elapse__upkeep_local_group *last = &log->groups[log->count - 1];
    if (last->number > part->row.last_group) {
        (void)snprintf(text, sizeof text,
                       "the database ends with group %" PRIu64 ", and the directory with %" PRIu64
                       ": restore a later copy",
                       part->row.last_group, last->number);
        return refuse(part, text);
    }
    if (last->number + 1 < part->row.tail)
        return refuse(part, "the log of the database begins behind the directory, so they cannot "
                            "be compared: set the directory aside, and the node reads the log "
                            "anew");
    if (!elapse__repair_hash(work->session, part->number, &part->row, last->number, &hash,
                             &is_there, &work->why))
        return cluster_refused(&work->why);
    if (!is_there || hash != last->hash)
        return refuse(part, "the database went on with other groups than the directory has");
    return STATUS_OK;
}

/* Compares the directory and what the node has seen with the row. With --followers a node need not
 * have a directory of each partition. */
static enum exit_status look_at_part(struct acceptance *work, struct part *part)
{
    struct elapse__upkeep_fault fault;

    if (!elapse__repair_look(work->session, part->number, &part->row, &work->why))
        return cluster_refused(&work->why);
    part->has_no_copy = !cluster_has_directory(part->path);
    if (part->has_no_copy) {
        enum exit_status status = check_memory(work, part);
        return status == STATUS_OK ? check_witness(work, part) : status;
    }
    part->log.next_hash = elapse__chain_next;
    part->log.from = UINT64_MAX; /* no bytes are wanted */
    part->has_log = elapse__upkeep_local_log_read(part->path, &part->log, &fault);
    if (!part->has_log)
        return refuse(part, fault.text);
    enum exit_status status = check_memory(work, part);
    if (status == STATUS_OK)
        status = check_end(work, part);
    return status == STATUS_OK ? check_witness(work, part) : status;
}

static enum exit_status look_at_parts(struct acceptance *work)
{
    enum exit_status status = STATUS_OK;
    bool has_any = false;

    for (uint32_t i = 0; i < work->count && status == STATUS_OK; i++) {
        struct part *part = &work->parts[i];
        status = look_at_part(work, part);
        has_any = has_any || !part->has_no_copy || work->witnesses[part->number].group > 0;
    }
    if (status == STATUS_OK && !has_any)
        status = error_of(STATUS_FAILED, "%s: no node has used it", work->options->data);
    return status;
}

/* Watches the rows of the new database for a lease and a quarter. An owner writes every quarter of
 * a lease. The old database may not be there any more, so the command does not look at it. */
static enum exit_status watch(struct acceptance *work)
{
    uint64_t begin_ns = elapse__os_monotonic_ns();
    uint64_t limit_ns = elapse__repair_queue(work->session)->lease_ms * NS_PER_MS * 5 / 4;

    output_add_text("the old database is not looked at: all nodes that use it must have ended\n");
    output_add_format("looking for %s whether a node uses this database\n",
                      duration_format(limit_ns).text);
    if (output_finish() != STATUS_OK)
        return STATUS_FAILED;
    while (elapse__os_monotonic_ns() - begin_ns < limit_ns) {
        struct elapse__os_watch nothing = {.file = -1};
        (void)elapse__os_wait(&nothing, 1, LOOK_NS);
        for (uint32_t i = 0; i < work->count; i++) {
            const struct part *part = &work->parts[i];
            struct elapse__repair_row row;
            if (!elapse__repair_look(work->session, part->number, &row, &work->why))
                return cluster_refused(&work->why);
            if (row.epoch != part->row.epoch || row.beat != part->row.beat ||
                row.last_group != part->row.last_group)
                return refuse(part, "a node uses this database: its row changes. End "
                                    "all nodes first");
        }
    }
    return STATUS_OK;
}

/* ---- changing ---- */

static bool is_known(const struct acceptance *work, const struct part *part)
{
    return part->has_no_copy ||
           (part->log.memory.system_identifier == work->server.system_identifier &&
            part->log.memory.timeline <= work->server.timeline);
}

static enum exit_status change(struct acceptance *work)
{
    uint32_t changed = 0;

    ELAPSE__ASSERT(work->options->yes);
    enum exit_status status = change_witnesses(work);
    if (status != STATUS_OK)
        return status;
    for (uint32_t i = 0; i < work->count; i++) {
        const struct part *part = &work->parts[i];
        struct elapse__store_memory memory = part->log.memory;
        if (is_known(work, part))
            continue;
        memory.system_identifier = work->server.system_identifier;
        memory.timeline = work->server.timeline;
        int error = elapse__store_remember(&elapse__files_linux, part->path, &memory);
        if (error != 0)
            return error_of(STATUS_FAILED, "%s/cluster: %s", part->path,
                            elapse__os_error_text(error));
        changed++;
    }
    output_add_format("%" PRIu32 " partition%s of the directory use%s this database now\n", changed,
                      changed == 1 ? "" : "s", changed == 1 ? "s" : "");
    return output_finish();
}

/* Says what was compared. */
static enum exit_status tell(const struct acceptance *work)
{
    output_add_text("database at ");
    output_add_masked(work->server.place);
    output_add_format(", system %" PRIu64 ", timeline %" PRIu32 "\n",
                      work->server.system_identifier, work->server.timeline);
    for (uint32_t i = 0; i < work->count; i++) {
        const struct part *part = &work->parts[i];
        const struct elapse__upkeep_local_log *log = &part->log;
        if (part->has_no_copy) {
            output_add_format("partition %" PRIu32 ": the node has no copy\n", part->number);
            continue;
        }
        output_add_format("partition %" PRIu32 ": the node used system %" PRIu64
                          "; the database has its groups, up to %" PRIu64 "\n",
                          part->number, log->memory.system_identifier,
                          log->count == 0 ? 0 : log->groups[log->count - 1].number);
    }
    return output_finish();
}

static enum exit_status end(struct acceptance *work, enum exit_status status)
{
    for (uint32_t i = 0; work->parts != NULL && i < work->count; i++)
        if (work->parts[i].has_log)
            elapse__upkeep_local_log_free(&work->parts[i].log);
    free(work->parts);
    free(work->witnesses);
    elapse__repair_close(work->session);
    return status;
}

static bool knows_all(const struct acceptance *work)
{
    bool all = true;

    for (uint32_t i = 0; i < work->count; i++)
        all = all && is_known(work, &work->parts[i]) && knows_witness(work, &work->parts[i]);
    return all;
}

enum exit_status cluster_accept_database(const struct cluster_options *options)
{
    struct acceptance work = {.options = options};
    enum exit_status status = begin(&work);

    if (status == STATUS_OK)
        status = look_at_parts(&work);
    if (status == STATUS_OK)
        status = tell(&work);
    if (status == STATUS_OK && knows_all(&work)) {
        output_add_text("nothing is to be accepted: the node has used this database before\n");
        return end(&work, output_finish());
    }
    if (status == STATUS_OK && !options->yes)
        status = error_of(STATUS_FAILED, "nothing has changed: say --yes if this database is made "
                                         "from the one that the nodes used, and that one never "
                                         "comes back");
    if (status == STATUS_OK)
        status = watch(&work);
    if (status == STATUS_OK)
        status = change(&work);
    return end(&work, status);
}
