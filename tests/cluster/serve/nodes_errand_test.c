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

enum { PARTITIONS = 2, LEASE_MS = 20, LOOKS = 60, LOOKS_MAX = 6000 };

/* The database. The lock guards what the thread changes. */
static struct elapse__lock lock;
static const char *address_of_twin;      /* in the row of this node; NULL: it has no row */
static struct elapse__schema_why answer; /* why the database cannot be asked; "": it can */
static const struct elapse__schema_why standby = {.text = "session is read-only"};
static const char *opened; /* the server that was asked last */
static bool has_tables_now, has_lists;
static unsigned looks, beats;
static bool told[PARTITIONS]; /* what the last beat said */

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
        .nodes = calloc(1, sizeof *view->nodes),
        .node_count = address_of_twin != NULL,
        .partitions = calloc(PARTITIONS, sizeof *view->partitions),
        .partition_count = has_tables_now ? PARTITIONS : 0,
        .has_lists = has_lists,
        .timeline = 1,
        .system_identifier = 1,
    };
    (void)snprintf(view->nodes[0].name, sizeof view->nodes[0].name, "n1");
    (void)snprintf(view->nodes[0].address, sizeof view->nodes[0].address, "%s",
                   address_of_twin == NULL ? "" : address_of_twin);
    view->nodes[0].ready = calloc(PARTITIONS, sizeof *view->nodes[0].ready);
    view->nodes[0].unready_since_ms = calloc(PARTITIONS, sizeof(uint64_t));
    for (unsigned i = 0; i < PARTITIONS; i++)
        view->partitions[i].owner = view->partitions[i].preferred = view->partitions[i].target = -1;
    if (has_lists) /* only of the first partition, and without this node */
        view->partitions[0].replicas[view->partitions[0].replica_count++] = -1;
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
    cluster->hosts.count = 1;
    cluster->hosts.texts[0] = "a database";
    (void)snprintf(cluster->name, sizeof cluster->name, "n1");
    (void)snprintf(cluster->address, sizeof cluster->address, "here:1");
    address_of_twin = NULL;
    answer = (struct elapse__schema_why){.text = ""};
    has_tables_now = true;
    has_lists = false;
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

TEST_MAIN("nodes_errand")
