/*
 * The thread that tells the other nodes of this one, reads what they say, and balances the
 * partitions while this node owns partition 0 (src/cluster/ownership/balance.h). It has a session
 * of its own in the database. The other threads do not wait for it.
 *
 *      the loop --ready, clock--> this thread --elapse.node--> the database
 *      the loop <--next owners, moves-- this thread <--elapse.node, elapse.place-- the database
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/version.h>

#include "../../base/assert.h"
#include "../ownership/replicas.h"
#include "../postgres/nodes.h"
#include "giving.h"
#include "watches.h"

enum {
    BEATS_A_LEASE = 2,
    LOOKS_A_LEASE = 10,
    MOVING_LOOKS_A_LEASE = 20, /* while a partition moves */
    SEEN_LOOKS = 2,            /* so many looks later all nodes have seen a target */
    CALM_LEASES = 2,
    NO_TABLES_LEASES = 2,
    FAR_GROUPS = 64 * ELAPSE__BALANCE_READY_GROUPS, /* a node that lacks more is not ready */
};

#define NS_PER_MS UINT64_C(1000000)

/* The lines that this thread has for the log. Each is said anew only with other words, because what
 * it tells of may last, and other lines may come in between. */
enum line {
    LINE_LACKS_RIGHT,
    LINE_NO_TABLES,
    LINE_NO_LISTS,
    LINE_TWIN,
    LINE_OTHER_SYSTEM,
    LINES,
};

/* What only this thread uses. */
struct work {
    struct elapse__cluster *cluster;
    struct elapse__nodes_session *session; /* NULL: there is none */
    unsigned host;                         /* where the next session is tried */
    struct elapse__balance_view *view; /* that of the cluster, which this thread alone changes */
    struct elapse__balance balance;
    struct elapse__balance_node me;
    bool *told;         /* what the database has of me.ready */
    uint64_t *since_ms; /* for each partition: when its target was first seen; 0: there is none */
    uint64_t beat_ms;   /* when the next beat is due */
    uint64_t calm_ms;   /* when the database will have had the same timeline for long enough */
    bool has_tables, is_calm, balances;
    bool has_beaten;                 /* in this session */
    struct elapse__watches *watches; /* of all partitions */
    struct elapse__giving *giving;   /* of files of copies that were left */
    char said[LINES][ELAPSE__CLUSTER_PARTITION_NOTICE_BYTES]; /* the last one of each kind */
};

static uint32_t lease_ms(const struct work *work)
{
    return work->cluster->queue.lease_ms;
}

/* Leaves a line for the log, unless the last one of this kind had the same words. While the loop
 * has not taken the line before, does nothing: the next round says this one. */
static void say(struct work *work, enum line line, enum elapse__logger_level level,
                const char *text)
{
    struct elapse__cluster_errand *errand = &work->cluster->nodes.errand;

    ELAPSE__ASSERT_THAT((size_t)line, <, LINES);
    if (strcmp(work->said[line], text) == 0)
        return;
    elapse__lock(&errand->monitor.lock);
    if (!errand->has_notice) {
        elapse__cluster_errand_note(work->cluster, errand, level, text);
        (void)snprintf(work->said[line], sizeof work->said[line], "%s", text);
    }
    elapse__unlock(&errand->monitor.lock);
}

/* ---- the session ---- */

static void close_session(struct work *work)
{
    elapse__nodes_close(work->session);
    work->session = NULL;
    work->has_tables = work->has_beaten = false; /* each session looks before it writes */
    work->view->timeline = 0;
}

/* Connects to a server that takes writes, if there is one. Tries each server once. */
static bool open_session(struct work *work)
{
    const struct elapse__cluster *cluster = work->cluster;
    struct elapse__schema_why why = {.text = ""};

    for (unsigned i = 0;
         i < cluster->hosts.count && work->session == NULL && !atomic_load(&cluster->is_stopping);
         i++) {
        work->session =
            elapse__nodes_open(cluster->hosts.texts[work->host],
                               elapse__cluster_options(cluster)->queue, lease_ms(work), &why);
        if (work->session == NULL)
            work->host = (work->host + 1) % cluster->hosts.count;
    }
    if (work->session != NULL) {
        elapse__watches_connect(work->watches);
        elapse__giving_connect(work->giving);
    }
    return work->session != NULL;
}

/* Called when a statement has failed. The runners complain of a database that does not answer, so
 * only what concerns this thread alone is said. */
static void lose_session(struct work *work, const struct elapse__schema_why *why)
{
    char text[ELAPSE__SCHEMA_WHY_BYTES + 80];

    if (why->lacks_right) {
        (void)snprintf(text, sizeof text, "the nodes of the queue cannot be told of this one: %s",
                       why->text);
        say(work, LINE_LACKS_RIGHT, ELAPSE__LOGGER_WARNING, text);
    }
    close_session(work);
    work->host = (work->host + 1) % work->cluster->hosts.count;
}

/* ---- one round ---- */

/* Copies what the loop knows. */
static void take_facts(struct work *work)
{
    struct elapse__cluster_nodes *nodes = &work->cluster->nodes;

    elapse__lock(&nodes->errand.monitor.lock);
    memcpy(work->me.ready, nodes->ready, work->cluster->queue.partitions * sizeof *nodes->ready);
    elapse__watches_note_copies(work->watches, nodes->has_copy);
    elapse__giving_note_files(work->giving);
    work->me.ahead_ms = nodes->ahead_ms;
    work->is_calm = nodes->is_calm;
    work->balances = nodes->balances;
    elapse__unlock(&nodes->errand.monitor.lock);
}

static bool beat(struct work *work, uint64_t now_ms, struct elapse__schema_why *why)
{
    const size_t size = work->cluster->queue.partitions * sizeof *work->told;

    if (now_ms < work->beat_ms && memcmp(work->told, work->me.ready, size) == 0)
        return true;
    if (!elapse__nodes_beat(work->session, &work->me, why))
        return false;
    memcpy(work->told, work->me.ready, size);
    work->has_beaten = true;
    work->beat_ms = now_ms + lease_ms(work) / BEATS_A_LEASE;
    return true;
}

/* Begins to be wary when the database has another timeline than before. */
static void note_timeline(struct work *work, uint32_t before, uint64_t now_ms)
{
    if (before == work->view->timeline)
        return;
    work->calm_ms = now_ms + (uint64_t)CALM_LEASES * lease_ms(work);
    work->balance = (struct elapse__balance){.is_uneven = false};
}

/* Replaces the view. The loop's thread reads the view under the lock. */
static void show_view(struct work *work, const struct elapse__balance_view *seen)
{
    struct elapse__cluster_nodes *nodes = &work->cluster->nodes;

    elapse__lock(&nodes->errand.monitor.lock);
    struct elapse__balance_view old = nodes->view;
    nodes->view = *seen;
    nodes->seen_ms = elapse__runner_now_ms();
    elapse__unlock(&nodes->errand.monitor.lock);
    elapse__nodes_free(&old);
}

/* Tells the loop which partitions to hand over, and whom to expect as the next owners. */
static void publish(struct work *work, uint64_t now_ms)
{
    struct elapse__cluster_nodes *nodes = &work->cluster->nodes;
    const uint64_t seen_after_ms = (uint64_t)SEEN_LOOKS * lease_ms(work) / LOOKS_A_LEASE;
    const int me = elapse__balance_find(work->view, work->me.name);
    bool has_changed = false;

    elapse__lock(&nodes->errand.monitor.lock);
    for (uint32_t i = 0; i < work->view->partition_count; i++) {
        const struct elapse__balance_partition *row = &work->view->partitions[i];
        enum elapse__partition_next_owner next = elapse__balance_expect(work->view, i, me);
        bool leaves =
            row->has_target && me >= 0 && row->owner == me && next == ELAPSE__NEXT_OWNER_THERE;
        if (!leaves)
            work->since_ms[i] = 0;
        else if (work->since_ms[i] == 0)
            work->since_ms[i] = now_ms;
        leaves = leaves && now_ms - work->since_ms[i] >= seen_after_ms;
        has_changed = has_changed || nodes->next_owners[i] != next || nodes->leaves[i] != leaves;
        nodes->next_owners[i] = next;
        nodes->leaves[i] = leaves;
        has_changed =
            elapse__watches_publish(work->watches, work->view, i, me, now_ms) || has_changed;
    }
    has_changed = elapse__giving_publish(work->giving) || has_changed;
    bool is_drained = me >= 0 && work->view->nodes[me].drains;
    has_changed = has_changed || nodes->is_drained != is_drained;
    nodes->is_drained = is_drained;
    elapse__unlock(&nodes->errand.monitor.lock);
    if (has_changed)
        elapse__os_event_set(work->cluster->event);
}

/* Expects any next owner, because this node does not know what the others want. */
static void publish_nothing(struct work *work)
{
    struct elapse__cluster_nodes *nodes = &work->cluster->nodes;

    show_view(work, &(struct elapse__balance_view){.nodes = NULL});
    elapse__lock(&nodes->errand.monitor.lock);
    for (uint32_t i = 0; i < work->cluster->queue.partitions; i++) {
        nodes->next_owners[i] = ELAPSE__NEXT_OWNER_ANY;
        nodes->leaves[i] = false;
        work->since_ms[i] = 0;
    }
    elapse__giving_publish_nothing(work->giving);
    elapse__unlock(&nodes->errand.monitor.lock);
    elapse__os_event_set(work->cluster->event);
}

/* Sets or takes away a target, if this node is the balancer and a target has to change. */
static bool balance(struct work *work, uint64_t now_ms, struct elapse__schema_why *why)
{
    const struct elapse__loop_options *serve = elapse__cluster_options(work->cluster);
    const struct elapse__balance_options options = {
        .lease_ms = lease_ms(work),
        .balance_after_ms = serve->balance_after_ns / NS_PER_MS,
        .is_calm = work->is_calm && now_ms >= work->calm_ms,
    };
    struct elapse__balance_move move;

    if (!work->balances) {
        work->balance = (struct elapse__balance){.is_uneven = false};
        return true;
    }
    if (!elapse__balance_next(&work->balance, work->view, &options, now_ms, &move))
        return true;
    ELAPSE__ASSERT(move.target < (int)work->view->node_count);
    return elapse__nodes_set_target(work->session, move.partition,
                                    move.target < 0 ? "" : work->view->nodes[move.target].name,
                                    why);
}

/* Writes a list of replicas, if this node is the balancer and a list has to change. */
static bool assign(struct work *work, uint64_t now_ms, struct elapse__schema_why *why)
{
    const struct elapse__loop_options *serve = elapse__cluster_options(work->cluster);
    const struct elapse__replicas_options options = {
        .followers = (uint32_t)serve->followers,
        .replace_after_ms = serve->replace_after_ns / NS_PER_MS,
        .is_calm = work->is_calm && now_ms >= work->calm_ms,
        .now_ms = now_ms,
    };
    const char *names[ELAPSE__BALANCE_REPLICAS_MAX];
    struct elapse__replicas_change change;
    uint32_t count = 0;

    if (options.followers > 0 && !work->view->has_lists)
        say(work, LINE_NO_LISTS, ELAPSE__LOGGER_NOTICE,
            "all nodes follow all partitions, and --followers does nothing, while nodes of 0.2 may "
            "run: elapse cluster upgrade says that there are none");
    if (!work->balances || !elapse__replicas_next(work->view, &options, &change))
        return true;
    for (uint32_t i = 0; i < change.count; i++)
        if (change.nodes[i] >= 0)
            names[count++] = work->view->nodes[change.nodes[i]].name;
    return elapse__nodes_set_replicas(work->session, change.partition, names, count, why);
}

/* Warns if another node writes the row of this one. */
static void look_for_twin(struct work *work)
{
    const int me = elapse__balance_find(work->view, work->me.name);
    char text[ELAPSE__CLUSTER_PARTITION_NOTICE_BYTES];

    if (me < 0 || strcmp(work->view->nodes[me].address, work->me.address) == 0)
        return;
    (void)snprintf(text, sizeof text,
                   "the node at %s has the name of this node, %s: give each node a name of its own "
                   "by --node; until then partitions are not balanced rightly",
                   work->view->nodes[me].address, work->me.name);
    say(work, LINE_TWIN, ELAPSE__LOGGER_WARNING, text);
}

/* Decides which files of copies that this node has left are given up. */
static bool give_up(struct work *work, uint64_t now_ms, struct elapse__schema_why *why)
{
    return elapse__giving_take(work->giving, work->view, work->session, now_ms, why) &&
           elapse__giving_decide(
               work->giving, work->view, work->me.name, work->has_beaten ? work->told : NULL,
               work->is_calm && now_ms >= work->calm_ms, work->session, now_ms, why);
}

static bool do_round(struct work *work, struct elapse__schema_why *why)
{
    uint64_t now_ms = elapse__runner_now_ms();
    uint32_t timeline = work->view->timeline;
    struct elapse__balance_view seen = {.nodes = NULL};

    take_facts(work);
    if (work->has_tables && !beat(work, now_ms, why))
        return false;
    bool had_tables = work->has_tables;
    if (!elapse__nodes_look(work->session, &seen, &work->has_tables, why))
        return false;
    elapse__replicas_note(&seen, work->view, now_ms);
    show_view(work, &seen);
    if (!work->has_tables) {
        say(work, LINE_NO_TABLES, ELAPSE__LOGGER_NOTICE,
            "the database has no table of nodes, so partitions are not balanced: elapse cluster "
            "upgrade makes it");
        publish_nothing(work);
        return true;
    }
    note_timeline(work, timeline, now_ms);
    if (!had_tables) /* the other nodes may still see what an earlier life has told */
        return beat(work, now_ms, why);
    look_for_twin(work);
    if (!elapse__watches_take(work->watches, work->view, work->session, now_ms, why))
        return false;
    if (elapse__watches_is_other_system(work->watches))
        say(work, LINE_OTHER_SYSTEM, ELAPSE__LOGGER_WARNING,
            "the database is another system than the one that this node has watched, so the node "
            "does not use it: elapse cluster accept-database lets it");
    if (!give_up(work, now_ms, why))
        return false;
    publish(work, now_ms);
    return balance(work, now_ms, why) && assign(work, now_ms, why);
}

static bool is_moving(const struct work *work)
{
    for (uint32_t i = 0; i < work->view->partition_count; i++)
        if (work->view->partitions[i].has_target)
            return true;
    return false;
}

static uint64_t pause_ms(const struct work *work)
{
    if (work->session == NULL)
        return lease_ms(work) / LOOKS_A_LEASE + 100;
    if (!work->has_tables)
        return (uint64_t)NO_TABLES_LEASES * lease_ms(work);
    return lease_ms(work) / (is_moving(work) ? MOVING_LOOKS_A_LEASE : LOOKS_A_LEASE) + 1;
}

/* ---- the thread ---- */

static bool make_work(struct work *work)
{
    const struct elapse__cluster *cluster = work->cluster;
    const uint32_t partitions = cluster->queue.partitions;

    ELAPSE__ASSERT_THAT(partitions, >, 0);
    (void)snprintf(work->me.name, sizeof work->me.name, "%s", cluster->name);
    (void)snprintf(work->me.address, sizeof work->me.address, "%s", cluster->address);
    (void)snprintf(work->me.version, sizeof work->me.version, "%s", elapse_version());
    (void)snprintf(work->me.zone, sizeof work->me.zone, "%s",
                   elapse__cluster_options(cluster)->zone != NULL
                       ? elapse__cluster_options(cluster)->zone
                       : "");
    work->me.ready = calloc(partitions, sizeof *work->me.ready);
    work->told = calloc(partitions, sizeof *work->told);
    work->watches = elapse__watches_new(work->cluster);
    work->giving = elapse__giving_new(work->cluster);
    work->since_ms = calloc(partitions, sizeof *work->since_ms);
    return work->me.ready != NULL && work->told != NULL && work->since_ms != NULL &&
           work->watches != NULL && work->giving != NULL;
}

static void free_work(struct work *work)
{
    close_session(work);
    free(work->me.ready);
    free(work->told);
    free(work->since_ms);
    elapse__watches_free(work->watches);
    elapse__giving_free(work->giving);
}

static void do_rounds(struct work *work)
{
    struct elapse__cluster_errand *errand = &work->cluster->nodes.errand;

    elapse__lock(&errand->monitor.lock);
    while (!errand->stops) {
        struct elapse__schema_why why = {.text = ""};
        elapse__unlock(&errand->monitor.lock);
        if ((work->session != NULL || open_session(work)) && !do_round(work, &why)) {
            lose_session(work, &why);
            publish_nothing(work);
        }
        uint64_t again_ns = elapse__os_monotonic_ns() + pause_ms(work) * NS_PER_MS;
        elapse__lock(&errand->monitor.lock);
        elapse__cluster_errand_rest(errand, again_ns);
    }
    elapse__unlock(&errand->monitor.lock);
}

/* Tells the other nodes that this one is ready for nothing any more. Otherwise they would count on
 * it for as long as they believe that it lives. Nobody waits for long for this thread
 * (elapse__cluster_errand_stop), so the database may be away. */
static void take_leave(struct work *work)
{
    struct elapse__schema_why why = {.text = ""};

    memset(work->me.ready, false, work->cluster->queue.partitions * sizeof *work->me.ready);
    if (work->has_tables)
        (void)beat(work, elapse__runner_now_ms(), &why);
}

void *elapse__cluster_errand_nodes(void *argument)
{
    struct elapse__cluster *cluster = argument;
    struct work work = {.cluster = cluster, .view = &cluster->nodes.view};

    elapse__os_thread_name("elapse-nodes");
    if (make_work(&work)) {
        do_rounds(&work);
        take_leave(&work);
    }
    free_work(&work);
    elapse__lock(&cluster->nodes.errand.monitor.lock);
    while (!cluster->nodes.errand.stops)
        elapse__condition_wait(&cluster->nodes.errand.monitor.changed,
                               &cluster->nodes.errand.monitor.lock);
    elapse__cluster_errand_end(&cluster->nodes.errand);
    elapse__unlock(&cluster->nodes.errand.monitor.lock);
    return NULL;
}

/* ---- the loop's side ---- */

static bool make_arrays(struct elapse__cluster *cluster)
{
    struct elapse__cluster_nodes *nodes = &cluster->nodes;
    const uint32_t partitions = cluster->queue.partitions;

    if (nodes->ready != NULL)
        return true;
    nodes->ready = calloc(partitions, sizeof *nodes->ready);
    nodes->leaves = calloc(partitions, sizeof *nodes->leaves);
    nodes->next_owners = calloc(partitions, sizeof *nodes->next_owners);
    nodes->has_copy = calloc(partitions, sizeof *nodes->has_copy);
    nodes->wants = calloc(partitions, sizeof *nodes->wants);
    nodes->calls = calloc(partitions, sizeof *nodes->calls);
    nodes->rows = calloc(partitions, sizeof *nodes->rows);
    nodes->files = calloc((size_t)partitions * ELAPSE__CLUSTER_FILES, sizeof *nodes->files);
    nodes->seen_files =
        calloc((size_t)partitions * ELAPSE__CLUSTER_FILES, sizeof *nodes->seen_files);
    return nodes->ready != NULL && nodes->leaves != NULL && nodes->next_owners != NULL &&
           nodes->has_copy != NULL && nodes->wants != NULL && nodes->calls != NULL &&
           nodes->rows != NULL && nodes->files != NULL && nodes->seen_files != NULL;
}

/* Reads the lists from a server that takes writes: this one, or else the others in turn. Returns
 * false if no server tells, with the words of the first one, or of one that denies the right. */
static bool look_at_lists(const struct elapse__cluster *cluster, unsigned first,
                          struct elapse__balance_view *view, bool *has_tables,
                          struct elapse__schema_why *why)
{
    const char *queue = elapse__cluster_options(cluster)->queue;
    bool is_read = false;

    *why = (struct elapse__schema_why){.text = ""};
    for (unsigned i = 0; i < cluster->hosts.count && !is_read && !why->lacks_right; i++) {
        struct elapse__schema_why here = {.text = ""};
        struct elapse__nodes_session *session = elapse__nodes_open(
            cluster->hosts.texts[(first + i) % cluster->hosts.count], queue, 0, &here);
        is_read = session != NULL && elapse__nodes_look(session, view, has_tables, &here);
        elapse__nodes_close(session);
        if (i == 0 || here.lacks_right)
            *why = here;
    }
    return is_read;
}

/* Notes of which partitions this node is to have copies. Without lists these are all. */
static void take_lists(struct elapse__cluster *cluster, const struct elapse__balance_view *view)
{
    const bool has_view = view->partition_count > 0;
    const int me = elapse__balance_find(view, cluster->name);

    ELAPSE__ASSERT(!has_view || view->partition_count == cluster->queue.partitions);
    for (uint32_t i = 0; i < cluster->queue.partitions; i++) {
        cluster->nodes.wants[i] = !has_view || elapse__replicas_wants(view, i, me);
        if (has_view)
            cluster->nodes.rows[i] = view->partitions[i].row;
    }
}

bool elapse__cluster_read_lists(struct elapse__cluster *cluster, unsigned host,
                                struct elapse__schema_why *why)
{
    struct elapse__balance_view view = {.nodes = NULL};
    bool has_tables = false;

    bool is_read = look_at_lists(cluster, host, &view, &has_tables, why);
    ELAPSE__ASSERT(is_read || view.partition_count == 0);
    if (!is_read && !why->lacks_right)
        return false;
    if (view.partition_count > 0 && view.partition_count != cluster->queue.partitions) {
        (void)snprintf(
            why->text, sizeof why->text,
            "the servers of --cluster have different queues of this name: one has %" PRIu32
            " partitions, and another one %" PRIu32,
            cluster->queue.partitions, view.partition_count);
        elapse__nodes_free(&view);
        return false;
    }
    /* Only now: another question may find a queue with other partitions. */
    if (!make_arrays(cluster)) {
        (void)snprintf(why->text, sizeof why->text, "there is no memory");
        elapse__nodes_free(&view);
        return false;
    }
    if (!is_read)
        elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_WARNING,
                       ELAPSE__EVENT_CLUSTER,
                       "this node makes a copy of each partition, because it cannot read which "
                       "ones it is to have: %s",
                       why->text);
    take_lists(cluster, &view);
    elapse__nodes_free(&view);
    return true;
}

void elapse__cluster_nodes_free(struct elapse__cluster *cluster)
{
    elapse__nodes_free(&cluster->nodes.view);
    free(cluster->nodes.ready);
    free(cluster->nodes.leaves);
    free(cluster->nodes.next_owners);
    free(cluster->nodes.has_copy);
    free(cluster->nodes.wants);
    free(cluster->nodes.calls);
    free(cluster->nodes.rows);
    free(cluster->nodes.files);
    free(cluster->nodes.seen_files);
}

/* Returns whether this node has almost all of the log. While the owner is busy, the node lacks many
 * groups whenever it has read the row, and a moment later none. So it counts for half of a lease
 * that the node was near the end, unless the node is very far behind. */
static bool is_near_the_end(struct elapse__cluster_partition *partition)
{
    const struct elapse__partition_figures *seen = &partition->figures.partition;
    const uint64_t now_ms = elapse__runner_now_ms();

    if (seen->last_group <= seen->local.group + ELAPSE__BALANCE_READY_GROUPS)
        partition->near_until_ms = now_ms + partition->cluster->queue.lease_ms / 2;
    else if (seen->last_group > seen->local.group + FAR_GROUPS)
        partition->near_until_ms = 0;
    return now_ms < partition->near_until_ms;
}

/* Returns whether this node owns the partition, or could own it at once. */
static bool is_ready(struct elapse__cluster_partition *partition)
{
    const struct elapse__partition_figures *seen = &partition->figures.partition;

    if (partition->runner == NULL || partition->seen_out != NULL ||
        seen->complaint != ELAPSE__COMPLAINT_NONE)
        return false;
    if (partition->core != NULL)
        return seen->role == ELAPSE__ROLE_OWNING;
    return elapse__cluster_could_take_over(partition, seen) && seen->timeline > 0 &&
           is_near_the_end(partition);
}

static bool complains(const struct elapse__cluster_partition *partition)
{
    return partition->runner != NULL && partition->seen_out == NULL &&
           partition->figures.partition.complaint != ELAPSE__COMPLAINT_NONE;
}

/* Tells the thread which files of the partition there are, and takes what it knows of them. While
 * they change, tells nothing new. */
static void exchange_files(struct elapse__cluster_nodes *nodes,
                           struct elapse__cluster_partition *partition)
{
    const size_t first = (size_t)partition->number * ELAPSE__CLUSTER_FILES;

    ELAPSE__ASSERT_LOCK_HELD(&nodes->errand.monitor.lock);
    if (partition->has_copier || partition->has_remover)
        return;
    for (unsigned i = 0; i < ELAPSE__CLUSTER_FILES; i++) {
        nodes->files[first + i] = elapse__cluster_files(partition, i);
        partition->seen_files[i] = nodes->seen_files[first + i];
    }
    partition->shown_files = partition->is_aside ? 2 : partition->is_left;
}

void elapse__cluster_errand_nodes_look(struct elapse__cluster *cluster)
{
    struct elapse__cluster_nodes *nodes = &cluster->nodes;
    int64_t ahead_ms = 0;
    bool is_calm = true;

    if (!nodes->errand.is_running)
        return;
    elapse__lock(&nodes->errand.monitor.lock);
    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        struct elapse__cluster_partition *partition = &cluster->partitions[i];
        const int64_t partition_ahead_ms = partition->figures.partition.ahead_ms;
        nodes->ready[i] = !cluster->cores_close && is_ready(partition);
        nodes->has_copy[i] =
            elapse__cluster_has_copy(partition->copy) && partition->seen_out == NULL;
        exchange_files(nodes, partition);
        is_calm = is_calm && !complains(partition);
        if (llabs(partition_ahead_ms) > llabs(ahead_ms))
            ahead_ms = partition_ahead_ms;
        partition->wanted_owner = nodes->next_owners[i];
        partition->is_to_move = nodes->leaves[i];
        partition->is_wanted = nodes->wants[i];
        partition->is_called = nodes->calls[i];
    }
    nodes->ahead_ms = ahead_ms;
    nodes->is_calm = is_calm;
    cluster->service.loop.is_drained = nodes->is_drained;
    nodes->balances = cluster->partitions[0].core != NULL && !cluster->cores_close;
    cluster->marked = nodes->marked;
    elapse__unlock(&nodes->errand.monitor.lock);
    (void)elapse__cluster_errand_log(cluster, &nodes->errand);
}
