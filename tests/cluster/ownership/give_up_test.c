/*
 * Tests when files of a copy are given up: the rules G1 to G8 of give_up.h.
 */
#include <stdio.h>
#include <string.h>

/* <cmocka.h> needs these headers before it. */
#include "../../../src/cluster/ownership/give_up.h"
#include "../../support/test.h"

enum { NODES = 4, ME = 3, KEEP_MS = 6000 };

static struct elapse__balance_node nodes[NODES];
static struct elapse__balance_partition partition;
static bool ready[NODES][1];
static struct elapse__balance_view view;
static struct elapse__give_up_options options;
static struct elapse__give_up files;
static uint64_t now_ms;

static const struct elapse__partition_witness end = {{8, 88}, 2, 7, 3};

/* Node 0 owns the partition, node 1 follows, and this node is to have no copy. The log goes on
 * behind its files, which have been there for long enough. */
static int set_up(void **state)
{
    (void)state;
    memset(nodes, 0, sizeof nodes);
    memset(ready, 0, sizeof ready);
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(nodes[i].name, sizeof nodes[i].name, "node%d", i);
        nodes[i].lives = true;
        nodes[i].ready = ready[i];
    }
    ready[0][0] = ready[1][0] = true;
    partition = (struct elapse__balance_partition){
        .preferred = -1,
        .target = -1,
        .replica_count = 2,
        .replicas = {0, 1},
        .row = {.epoch = 2, .beat = 5, .last_group = 9, .last_hash = 99},
    };
    view = (struct elapse__balance_view){
        .nodes = nodes,
        .node_count = NODES,
        .partitions = &partition,
        .partition_count = 1,
        .timeline = 3,
        .system_identifier = 7,
        .has_lists = true,
    };
    options = (struct elapse__give_up_options){1, KEEP_MS, true};
    now_ms = 1000;
    elapse__give_up_begin(&files, &end, false, now_ms);
    now_ms += KEEP_MS;
    return 0;
}

static void take(void)
{
    partition.row.beat++;
    elapse__give_up_take(&files, &view, &partition.row, now_ms);
}

/* Takes the row, and answers with this hash if the log is asked. */
static void compare(bool has_group, uint64_t hash)
{
    uint64_t group;
    take();
    if (!files.is_unknown && elapse__watch_doubts(&files.end, &group)) {
        assert_int_equal(group, files.end.witness.place.group + 1);
        elapse__give_up_prove(&files, has_group, hash);
    }
}

static enum elapse__give_up_answer ask(void)
{
    return elapse__give_up_ask(&files, &view, 0, ME, &options, now_ms);
}

static void expect(enum elapse__give_up_answer answer)
{
    assert_string_equal(elapse__give_up_words(ask()), elapse__give_up_words(answer));
}

#define GIVE_UP_TEST(function) TEST_WITH(function, set_up, NULL)

GIVE_UP_TEST(files_that_others_have_are_given_up)
{
    expect(ELAPSE__GIVE_UP_NOT_COMPARED);
    compare(true, 88);
    expect(ELAPSE__GIVE_UP_YES);
    files.has_files = false;
    expect(ELAPSE__GIVE_UP_NO_FILES);
}

GIVE_UP_TEST(a_node_that_is_to_have_a_copy_keeps_its_files)
{
    compare(true, 88);
    partition.replicas[1] = ME;
    expect(ELAPSE__GIVE_UP_NAMED);
    partition.replica_count = 0;
    expect(ELAPSE__GIVE_UP_NAMED);
    set_up(NULL);
    compare(true, 88);
    options.followers = 0;
    expect(ELAPSE__GIVE_UP_NAMED);
    options.followers = 1;
    view.has_lists = false;
    expect(ELAPSE__GIVE_UP_NAMED);
    view.has_lists = true;
    assert_int_equal(elapse__give_up_ask(&files, &view, 0, -1, &options, now_ms),
                     ELAPSE__GIVE_UP_NAMED);
}

/* Nobody opens files that are aside, so a copy that was made anew is one of those that count. */
GIVE_UP_TEST(a_node_that_made_its_copy_anew_removes_its_old_files)
{
    elapse__give_up_begin(&files, &end, true, now_ms);
    now_ms += KEEP_MS;
    compare(true, 88);
    partition.replicas[1] = ME;
    expect(ELAPSE__GIVE_UP_FEW_COPIES);
    ready[ME][0] = true;
    expect(ELAPSE__GIVE_UP_YES);
    partition.owner = ME;
    expect(ELAPSE__GIVE_UP_YES);
    partition.replica_count = 0;
    expect(ELAPSE__GIVE_UP_NAMED);
}

GIVE_UP_TEST(the_owner_and_its_followers_live_and_are_ready)
{
    compare(true, 88);
    ready[1][0] = false;
    expect(ELAPSE__GIVE_UP_FEW_COPIES);
    ready[1][0] = true;
    nodes[1].lives = false;
    expect(ELAPSE__GIVE_UP_FEW_COPIES);
    nodes[1].lives = true;
    options.followers = 2;
    expect(ELAPSE__GIVE_UP_FEW_COPIES);
    ready[2][0] = true; /* it is ready, but no member, and may leave at any time */
    expect(ELAPSE__GIVE_UP_FEW_COPIES);
    partition.replicas[partition.replica_count++] = 2;
    expect(ELAPSE__GIVE_UP_YES);
}

/* A member that cannot make its copy does not keep the files of others for ever. */
GIVE_UP_TEST(a_member_that_is_not_ready_does_not_matter_if_enough_are)
{
    compare(true, 88);
    partition.replicas[partition.replica_count++] = 2;
    expect(ELAPSE__GIVE_UP_YES);
}

GIVE_UP_TEST(nothing_is_given_up_without_an_owner)
{
    compare(true, 88);
    ready[2][0] = true;
    partition.replicas[partition.replica_count++] = 2;
    partition.owner = -1;
    expect(ELAPSE__GIVE_UP_NO_OWNER);
    partition.owner = ME; /* it is not ready */
    expect(ELAPSE__GIVE_UP_NO_OWNER);
    partition.owner = 0;
    nodes[0].lives = false;
    expect(ELAPSE__GIVE_UP_NO_OWNER);
    nodes[0].lives = true;
    ready[0][0] = false;
    expect(ELAPSE__GIVE_UP_NO_OWNER);
}

GIVE_UP_TEST(nothing_is_given_up_while_groups_are_lost)
{
    compare(true, 88);
    partition.is_stopped = true;
    expect(ELAPSE__GIVE_UP_MARKED);
    partition.is_stopped = false;
    partition.has_missed = true;
    expect(ELAPSE__GIVE_UP_MARKED);
}

GIVE_UP_TEST(nothing_is_given_up_while_the_view_is_not_calm)
{
    compare(true, 88);
    options.is_calm = false;
    expect(ELAPSE__GIVE_UP_NOT_CALM);
    options.is_calm = true;
    view.is_paused = true;
    expect(ELAPSE__GIVE_UP_NOT_CALM);
}

/* The wrong standby was promoted, and the owner went on: the log is as long, and is another one. */
GIVE_UP_TEST(files_that_the_log_does_not_continue_stay)
{
    compare(true, 80);
    expect(ELAPSE__GIVE_UP_OTHER_LOG);
    elapse__give_up_begin(&files, &end, false, 0);
    partition.row.last_group = 8;
    partition.row.last_hash = 80;
    take();
    expect(ELAPSE__GIVE_UP_OTHER_LOG);
    elapse__give_up_begin(&files, &end, false, 0);
    partition.row.last_group = 7;
    take();
    expect(ELAPSE__GIVE_UP_OTHER_LOG);
}

GIVE_UP_TEST(the_last_group_of_the_row_may_be_their_end)
{
    partition.row.last_group = 8;
    partition.row.last_hash = 88;
    take();
    expect(ELAPSE__GIVE_UP_YES);
}

/* The log was trimmed while nobody compared. Such files are compared by an operator. */
GIVE_UP_TEST(files_that_cannot_be_compared_stay)
{
    compare(false, 0);
    expect(ELAPSE__GIVE_UP_UNKNOWN);
    elapse__give_up_connect(&files);
    compare(true, 88);
    expect(ELAPSE__GIVE_UP_UNKNOWN);
}

/* The log is trimmed behind the end of the files, and then the session is lost. */
GIVE_UP_TEST(a_place_that_continues_them_stands_for_their_end)
{
    compare(true, 88);
    partition.row.last_group = 20;
    partition.row.last_hash = 200;
    take();
    assert_int_equal(files.end.witness.place.group, 9); /* durable, as the row went on */
    elapse__give_up_connect(&files);
    take();
    expect(ELAPSE__GIVE_UP_NOT_COMPARED);
    compare(true, 99);
    expect(ELAPSE__GIVE_UP_YES);
    elapse__give_up_connect(&files);
    compare(true, 98);
    expect(ELAPSE__GIVE_UP_OTHER_LOG);
}

GIVE_UP_TEST(another_database_says_nothing_of_them)
{
    view.system_identifier = 8;
    take();
    expect(ELAPSE__GIVE_UP_OTHER_SYSTEM);
    view.system_identifier = 7;
    view.timeline = 2;
    take();
    expect(ELAPSE__GIVE_UP_NOT_COMPARED);
    view.timeline = 3;
    compare(true, 88);
    expect(ELAPSE__GIVE_UP_YES);
}

/* There is nothing to compare. */
GIVE_UP_TEST(files_without_a_group_are_of_any_system)
{
    const struct elapse__partition_witness none = {.system_identifier = 7};

    elapse__give_up_begin(&files, &none, false, 0);
    view.system_identifier = 8;
    take();
    expect(ELAPSE__GIVE_UP_YES);
}

GIVE_UP_TEST(files_are_kept_for_a_while)
{
    now_ms = 1000 + KEEP_MS / 6 - 1;
    compare(true, 88);
    expect(ELAPSE__GIVE_UP_EARLY);
    now_ms++;
    expect(ELAPSE__GIVE_UP_YES);
    elapse__give_up_begin(&files, &end, true, now_ms);
    compare(true, 88);
    now_ms += KEEP_MS - 1;
    expect(ELAPSE__GIVE_UP_EARLY);
    now_ms++;
    expect(ELAPSE__GIVE_UP_YES);
    partition.is_stopped = true; /* the questions are asked again */
    expect(ELAPSE__GIVE_UP_MARKED);
}

TEST_MAIN("give_up")
