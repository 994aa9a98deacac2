/*
 * Tests the lines that the thread of a runner leaves for the log. None is lost while there is room.
 * Without room the oldest lines are lost.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../../src/cluster/serve/base.h"
#include "../../../src/os/os.h"
#include "../../support/test.h"

static struct elapse__cluster_partition *set_up(void)
{
    struct elapse__cluster *cluster = calloc(1, sizeof *cluster);
    struct elapse__cluster_partition *partition = calloc(1, sizeof *partition);
    assert_non_null(cluster);
    assert_non_null(partition);
    assert_int_equal(elapse__os->lock_init(&partition->monitor.lock), 0);
    assert_int_equal(elapse__os_event_open(&cluster->event), 0);
    cluster->service.loop.peers.logger.most = ELAPSE__LOGGER_DEBUG;
    partition->cluster = cluster;
    return partition;
}

static void tear_down(struct elapse__cluster_partition *partition)
{
    (void)elapse__os_close(partition->cluster->event);
    elapse__lock_free(&partition->monitor.lock);
    free(partition->cluster);
    free(partition);
}

static void say(struct elapse__cluster_partition *partition, unsigned count)
{
    for (unsigned i = 1; i <= count; i++)
        elapse__cluster_partition_say(partition, ELAPSE__LOGGER_NOTICE, "line %u", i);
}

TEST(lines_wait_in_their_order)
{
    struct elapse__cluster_partition *partition = set_up();

    say(partition, ELAPSE__CLUSTER_PARTITION_NOTICES);
    assert_int_equal(partition->notice_count, ELAPSE__CLUSTER_PARTITION_NOTICES);
    assert_int_equal(partition->notices_lost, 0);
    assert_string_equal(partition->notices[0].text, "line 1");
    assert_string_equal(partition->notices[ELAPSE__CLUSTER_PARTITION_NOTICES - 1].text, "line 8");
    elapse__cluster_partition_log(partition);
    assert_int_equal(partition->notice_count, 0);
    tear_down(partition);
}

TEST(the_oldest_lines_make_room)
{
    struct elapse__cluster_partition *partition = set_up();

    say(partition, ELAPSE__CLUSTER_PARTITION_NOTICES + 2);
    assert_int_equal(partition->notice_count, ELAPSE__CLUSTER_PARTITION_NOTICES);
    assert_int_equal(partition->notices_lost, 2);
    assert_string_equal(partition->notices[0].text, "line 3");
    assert_string_equal(partition->notices[ELAPSE__CLUSTER_PARTITION_NOTICES - 1].text, "line 10");
    elapse__cluster_partition_log(partition);
    assert_int_equal(partition->notice_count, 0);
    assert_int_equal(partition->notices_lost, 0);
    tear_down(partition);
}

TEST_MAIN("notices")
