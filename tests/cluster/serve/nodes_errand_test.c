/*
 * Tests the thread that tells the other nodes of this one. The linker puts functions of this file
 * into the places of those that ask the database.
 */
#include <string.h>

#include "../../../src/cluster/postgres/nodes.h"
#include "../../../src/cluster/serve/base.h"
#include "../../../src/os/os.h"
#include "../../../src/os/program.h"
#include "../../support/test.h"

#define NS_PER_MS UINT64_C(1000000)

enum { PARTITIONS = 2, NODES = 3, LEASE_MS = 20, LOOKS = 60, LOOKS_MAX = 6000 };

/* The database. The lock guards what the thread changes. */
static struct elapse__lock lock;
static const char *address_of_twin;      /* in the row of this node; NULL: it has no row */
static struct elapse__schema_why answer; /* why the database cannot be asked; "": it can */
static const struct elapse__schema_why standby = {.text = "session is read-only"};
static const char *opened; /* the server that was asked last */
static bool has_tables_now, has_lists;
static struct elapse__balance_row row_of_all;
static bool has_others; /* n2 owns all, and n3 follows */
static unsigned looks, beats;
static bool told[PARTITIONS]; /* what the last beat said */

static void make_node(struct elapse__balance_node *node, unsigned number)
{
    (void)snprintf(node->name, sizeof node->name, "n%u", number + 1);
    (void)snprintf(node->address, sizeof node->address, "%s",
                   address_of_twin == NULL ? "here:1" : address_of_twin);
    node->ready = calloc(PARTITIONS, sizeof *node->ready);
    node->unready_since_ms = calloc(PARTITIONS, sizeof *node->unready_since_ms);
    assert_non_null(node->ready);
    assert_non_null(node->unready_since_ms);
    memset(node->ready, number > 0, PARTITIONS);
    node->lives = true;
}

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
struct elapse__nodes_session *__wrap_elapse__nodes_open(const char *host, const char *queue,
                                                        uint32_t limit_ms,
                                                        struct elapse__schema_why *why);
void __wrap_elapse__nodes_close(struct elapse__nodes_session *session);
bool __wrap_elapse__nodes_look(struct elapse__nodes_session *session,
                               struct elapse__balance_view *view, bool *has_tables,
                               struct elapse__schema_why *why);
bool __wrap_elapse__nodes_beat(struct elapse__nodes_session *session,
                               const struct elapse__balance_node *node,
                               struct elapse__schema_why *why);

struct elapse__nodes_session *__wrap_elapse__nodes_open(const char *host, const char *queue,
                                                        uint32_t limit_ms,
                                                        struct elapse__schema_why *why)
{
    (void)queue, (void)limit_ms;
    opened = host;
    *why = strcmp(host, "a standby") == 0 ? standby : answer;
    return why->text[0] != '\0'
               ? NULL
               : (struct elapse__nodes_session *)(void *)told; /* is not looked into */
}

void __wrap_elapse__nodes_close(struct elapse__nodes_session *session)
{
    (void)session;
}

bool __wrap_elapse__nodes_look(struct elapse__nodes_session *session,
                               struct elapse__balance_view *view, bool *has_tables,
                               struct elapse__schema_why *why)
{
    (void)session, (void)why;
    elapse__nodes_free(view);
    *view = (struct elapse__balance_view){
        .nodes = calloc(NODES, sizeof *view->nodes),
        .node_count = has_others ? NODES : address_of_twin != NULL,
        .partitions = calloc(PARTITIONS, sizeof *view->partitions),
        .partition_count = has_tables_now ? PARTITIONS : 0,
        .has_lists = has_lists,
        .timeline = 1,
        .system_identifier = 1,
    };
    for (unsigned i = 0; i < view->node_count; i++)
        make_node(&view->nodes[i], i);
    for (unsigned i = 0; i < PARTITIONS; i++)
        view->partitions[i] = (struct elapse__balance_partition){
            .owner = has_others ? 1 : -1, .preferred = -1, .target = -1, .row = row_of_all};
    if (has_lists) { /* only of the first partition, and without this node */
        view->partitions[0].replica_count = 2;
        view->partitions[0].replicas[0] = has_others ? 1 : -1;
        view->partitions[0].replicas[1] = has_others ? 2 : -1;
    }
    elapse__lock(&lock);
    looks++;
    elapse__unlock(&lock);
    *has_tables = has_tables_now;
    return true;
}

bool __wrap_elapse__nodes_beat(struct elapse__nodes_session *session,
                               const struct elapse__balance_node *node,
                               struct elapse__schema_why *why)
{
    (void)session, (void)why;
    elapse__lock(&lock);
    beats++;
    memcpy(told, node->ready, sizeof told);
    elapse__unlock(&lock);
    return true;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static struct elapse__loop_options options;

static int set_up(void **state)
{
    struct elapse__cluster *cluster = calloc(1, sizeof *cluster);
    assert_non_null(cluster);
    options = (struct elapse__loop_options){.queue = "test", .followers = 1};
    cluster->service.loop.options = &options;
    cluster->service.loop.peers.logger.most = ELAPSE__LOGGER_ERROR;
    cluster->queue.partitions = cluster->partition_count = PARTITIONS;
    cluster->queue.lease_ms = LEASE_MS;
    cluster->partitions = calloc(PARTITIONS, sizeof *cluster->partitions);
    assert_non_null(cluster->partitions);
    cluster->partitions[0].cluster = cluster;
    cluster->hosts.count = 1;
    cluster->hosts.texts[0] = "a database";
    (void)snprintf(cluster->name, sizeof cluster->name, "n1");
    (void)snprintf(cluster->address, sizeof cluster->address, "here:1");
    address_of_twin = NULL;
    answer = (struct elapse__schema_why){.text = ""};
    has_tables_now = true;
    has_lists = has_others = false;
    row_of_all = (struct elapse__balance_row){.last_group = 0};
    looks = beats = 0;
    *state = cluster;
    return elapse__os->lock_init(&lock) + elapse__os_event_open(&cluster->event);
}

static int tear_down(void **state)
{
    struct elapse__cluster *cluster = *state;

    elapse__cluster_nodes_free(cluster);
    (void)elapse__os_close(cluster->event);
    elapse__lock_free(&lock);
    free(cluster->partitions);
    free(cluster);
    return 0;
}

static void read_lists(struct elapse__cluster *cluster)
{
    struct elapse__schema_why why = {.text = ""};
    assert_true(elapse__cluster_read_lists(cluster, 0, &why));
}

/* Begins the thread. This node has a copy of each partition, and is ready for the first one. */
static void begin(struct elapse__cluster *cluster)
{
    read_lists(cluster);
    looks = 0;
    cluster->nodes.ready[0] = true;
    memset(cluster->nodes.has_copy, true, PARTITIONS);
    assert_true(elapse__cluster_errand_start(&cluster->nodes.errand, elapse__cluster_errand_nodes,
                                             cluster));
}

static unsigned read_count(const unsigned *count)
{
    elapse__lock(&lock);
    unsigned now = *count;
    elapse__unlock(&lock);
    return now;
}

static void rest(void)
{
    struct elapse__os_watch nothing = {.file = -1};
    (void)elapse__os_wait(&nothing, 1, NS_PER_MS);
}

/* Takes the line that the thread has left, as the loop does. Returns whether it has these words. */
static bool take_line(struct elapse__cluster *cluster, const char *words)
{
    struct elapse__cluster_errand *errand = &cluster->nodes.errand;

    elapse__lock(&errand->monitor.lock);
    bool has_words = errand->has_notice && strstr(errand->notice.text, words) != NULL;
    if (has_words)
        errand->has_notice = false;
    elapse__unlock(&errand->monitor.lock);
    return has_words;
}

/* Ends the thread, as elapse__cluster_errand_stop does, but however long that takes. */
static void end(struct elapse__cluster *cluster)
{
    struct elapse__cluster_errand *errand = &cluster->nodes.errand;

    elapse__lock(&errand->monitor.lock);
    errand->stops = true;
    elapse__condition_broadcast(&errand->monitor.changed);
    while (!errand->has_ended)
        elapse__condition_wait(&errand->monitor.changed, &errand->monitor.lock);
    elapse__unlock(&errand->monitor.lock);
    elapse__os_thread_join(&errand->thread);
    elapse__cluster_monitor_close(&errand->monitor);
}

TEST_WITH(two_states_that_last_have_a_line_each, set_up, tear_down)
{
    struct elapse__cluster *cluster = *state;
    unsigned twins = 0, lists = 0;

    address_of_twin = "there:1";
    begin(cluster);
    for (unsigned now = 0; now < LOOKS || (now < LOOKS_MAX && (twins == 0 || lists == 0));
         now = read_count(&looks)) {
        rest();
        twins += take_line(cluster, "has the name of this node");
        lists += take_line(cluster, "--followers does nothing");
    }
    end(cluster);
    assert_int_equal(twins, 1);
    assert_int_equal(lists, 1);
}

static bool has_told_ready(uint32_t partition)
{
    elapse__lock(&lock);
    bool is_ready = told[partition];
    elapse__unlock(&lock);
    return is_ready;
}

/* The second round comes after six minutes. */
TEST_WITH(a_life_tells_of_itself_at_once, set_up, tear_down)
{
    struct elapse__cluster *cluster = *state;

    cluster->queue.lease_ms = 3600000;
    begin(cluster);
    while (read_count(&beats) == 0)
        rest();
    end(cluster);
}

TEST_WITH(a_node_that_ends_is_ready_for_nothing, set_up, tear_down)
{
    struct elapse__cluster *cluster = *state;

    begin(cluster);
    while (read_count(&beats) == 0)
        rest();
    assert_true(has_told_ready(0));
    end(cluster);
    assert_false(has_told_ready(0) || has_told_ready(1));
}

TEST_WITH(a_node_that_has_told_nothing_takes_no_leave, set_up, tear_down)
{
    struct elapse__cluster *cluster = *state;

    has_tables_now = false;
    begin(cluster);
    while (read_count(&looks) == 0)
        rest();
    end(cluster);
    assert_int_equal(beats, 0);
}

/* While it hands its partitions over, other nodes cannot count on it. */
TEST_WITH(a_node_that_stops_is_ready_for_nothing, set_up, tear_down)
{
    struct elapse__cluster *cluster = *state;
    struct elapse__loop *core = calloc(1, sizeof *core);
    assert_non_null(core);

    begin(cluster);
    for (uint32_t i = 0; i < PARTITIONS; i++)
        assert_int_equal(elapse__os->lock_init(&cluster->partitions[i].monitor.lock), 0);
    cluster->partitions[0].runner = (struct elapse__runner *)(void *)cluster; /* is not used */
    cluster->partitions[0].core = core;
    cluster->partitions[0].figures.partition.role = ELAPSE__ROLE_OWNING;
    elapse__cluster_errand_nodes_look(cluster);
    assert_true(cluster->nodes.ready[0]);
    cluster->cores_close = true;
    elapse__cluster_errand_nodes_look(cluster);
    assert_false(cluster->nodes.ready[0]);
    end(cluster);
    for (uint32_t i = 0; i < PARTITIONS; i++)
        elapse__lock_free(&cluster->partitions[i].monitor.lock);
    free(core);
}

static void expect_wishes(const struct elapse__cluster *cluster, bool first, bool second)
{
    assert_int_equal(cluster->nodes.wants[0], first);
    assert_int_equal(cluster->nodes.wants[1], second);
}

TEST_WITH(a_node_begins_with_the_copies_that_the_lists_give_it, set_up, tear_down)
{
    has_lists = true;
    read_lists(*state);
    expect_wishes(*state, false, true);
}

TEST_WITH(a_node_begins_with_all_copies_where_there_are_no_tables, set_up, tear_down)
{
    has_tables_now = false;
    read_lists(*state);
    expect_wishes(*state, true, true);
}

/* It would make copies of all partitions, and could run out of memory. */
TEST_WITH(a_node_does_not_begin_before_it_has_read_the_lists, set_up, tear_down)
{
    struct elapse__cluster *cluster = *state;
    struct elapse__schema_why why = {.text = ""};

    has_lists = true;
    answer = (struct elapse__schema_why){.text = "too many clients already"};
    cluster->hosts.texts[1] = "a standby";
    cluster->hosts.count = 2;
    assert_false(elapse__cluster_read_lists(cluster, 0, &why));
    assert_string_equal(why.text, "too many clients already"); /* the server's own words */
    assert_string_equal(opened, "a standby");
    assert_false(elapse__cluster_read_lists(cluster, 1, &why));
    assert_string_equal(why.text, "session is read-only");
    assert_string_equal(opened, "a database");
    answer.text[0] = '\0';
    assert_true(elapse__cluster_read_lists(cluster, 1, &why));
    expect_wishes(cluster, false, true);
}

/* Whichever server is asked first. */
TEST_WITH(a_node_without_the_right_to_read_the_lists_has_all_copies, set_up, tear_down)
{
    answer = (struct elapse__schema_why){.text = "permission denied", .lacks_right = true};
    read_lists(*state);
    expect_wishes(*state, true, true);
    ((struct elapse__cluster *)*state)->hosts.texts[0] = "a standby";
    ((struct elapse__cluster *)*state)->hosts.texts[1] = "a database";
    ((struct elapse__cluster *)*state)->hosts.count = 2;
    read_lists(*state);
    expect_wishes(*state, true, true);
}

/* Tells the thread of files that were set aside, which end with a group of this system. Returns
 * what it says of them. */
static struct elapse__cluster_seen_files ask_of_files(struct elapse__cluster *cluster,
                                                      uint64_t system_identifier)
{
    struct elapse__cluster_nodes *nodes = &cluster->nodes;

    has_lists = has_others = true;
    options.keep_left_ns = 3600 * 1000 * NS_PER_MS;
    assert_int_equal(elapse__os->lock_init(&cluster->partitions[0].monitor.lock), 0);
    begin(cluster);
    elapse__lock(&nodes->errand.monitor.lock);
    nodes->is_calm = true;
    nodes->files[ELAPSE__CLUSTER_FILES_ASIDE] =
        (struct elapse__cluster_files){true, 0, {{8, 88}, 2, system_identifier, 1}};
    elapse__unlock(&nodes->errand.monitor.lock);
    for (unsigned from = read_count(&looks); read_count(&looks) < from + LOOKS;)
        rest();
    elapse__lock(&nodes->errand.monitor.lock);
    const struct elapse__cluster_seen_files seen = nodes->seen_files[ELAPSE__CLUSTER_FILES_ASIDE];
    elapse__unlock(&nodes->errand.monitor.lock);
    end(cluster);
    elapse__lock_free(&cluster->partitions[0].monitor.lock);
    return seen;
}

TEST_WITH(files_of_another_system_are_told_of_once, set_up, tear_down)
{
    struct elapse__cluster *cluster = *state;

    const struct elapse__cluster_seen_files seen = ask_of_files(cluster, 2);
    assert_true(seen.stays && !seen.is_given_up);
    assert_int_equal(cluster->partitions[0].notice_count, 1);
    assert_non_null(strstr(cluster->partitions[0].notices[0].text,
                           "that were set aside stay, although it has left them: they are of "
                           "another system"));
}

TEST_WITH(files_that_the_log_has_wait_for_their_time, set_up, tear_down)
{
    struct elapse__cluster *cluster = *state;

    row_of_all = (struct elapse__balance_row){.last_group = 8, .last_hash = 88};
    const struct elapse__cluster_seen_files seen = ask_of_files(cluster, 1);
    assert_false(seen.stays || seen.is_given_up);
    assert_true(seen.is_continued);
    assert_int_equal(cluster->partitions[0].notice_count, 0);
}

TEST_MAIN("nodes_errand")
