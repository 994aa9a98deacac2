/*
 * Tests a partition of a node when the disk, the system or the store refuses something.
 */
#include <errno.h>

#include "../../../src/cluster/ownership/chain.h"
#include "../../../src/cluster/serve/life.h"
#include "../../../src/os/os.h"
#include "../../engine/store/directory.h"
#include "../../support/test.h"

enum { ATTEMPTS_A_LINE = 600 };

static struct elapse__loop_options options;

static int set_up(void **state)
{
    struct elapse__cluster *cluster = calloc(1, sizeof *cluster);
    struct elapse__cluster_partition *partition = calloc(1, sizeof *partition);
    assert_non_null(cluster);
    assert_non_null(partition);
    cluster->service.loop.peers.logger.most = ELAPSE__LOGGER_ERROR;
    cluster->service.loop.options = &options;
    (void)snprintf(cluster->name, sizeof cluster->name, "n1");
    (void)snprintf(partition->directory, sizeof partition->directory, "%s/part-0",
                   directory_make());
    partition->cluster = cluster;
    *state = partition;
    return elapse__os->lock_init(&partition->monitor.lock) + elapse__os_event_open(&cluster->event);
}

static int tear_down(void **state)
{
    struct elapse__cluster_partition *partition = *state;

    (void)elapse__os_close(partition->cluster->event);
    elapse__lock_free(&partition->monitor.lock);
    free(partition->cluster);
    free(partition);
    directory_remove();
    return 0;
}

static int refuse_random(void *bytes, size_t count)
{
    memset(bytes, 0, count);
    return EIO;
}

TEST_WITH(without_a_random_number_a_life_does_not_begin, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;
    const struct elapse__os *before = elapse__os;
    struct elapse__os os = *elapse__os;

    os.random_bytes = refuse_random;
    elapse__os = &os;
    assert_false(elapse__cluster_partition_start(partition));
    elapse__os = before;
    assert_null(partition->runner);
    assert_string_equal(partition->me, "");
}

/* The runner tries again every tenth of a second. */
TEST_WITH(a_disk_that_refuses_has_a_line_each_minute, set_up, tear_down)
{
    const struct elapse__partition_memory memory = {.system_identifier = 1};
    struct elapse__cluster_partition *partition = *state;
    char directory[sizeof partition->directory];

    memcpy(directory, partition->directory, sizeof directory);
    (void)snprintf(partition->directory, sizeof partition->directory, "/dev/null/none");
    for (unsigned i = 0; i < ATTEMPTS_A_LINE; i++)
        assert_false(elapse__cluster_partition_calls.remember(partition, &memory));
    assert_int_equal(partition->notice_count, 1);
    assert_non_null(strstr(partition->notices[0].text, "the file cluster"));
    assert_false(elapse__cluster_partition_calls.remember(partition, &memory));
    assert_int_equal(partition->notice_count, 2);
    memcpy(partition->directory, directory, sizeof directory);
    assert_true(elapse__cluster_partition_calls.remember(partition, &memory));
    assert_int_equal(partition->waits, 0);
}

TEST_WITH(a_store_that_takes_nothing_wakes_nobody, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;
    struct elapse_queue_options queue;
    partition->log = (struct elapse__journal_log){
        .context = partition,
        .genesis = 1,
        .next_hash = elapse__chain_next,
        .submit = elapse__cluster_partition_submit,
        .trim = elapse__cluster_partition_trim,
    };
    const struct elapse__store_wishes wishes = {.partitions = 1, .log = &partition->log};

    elapse_queue_options_init(&queue);
    queue.segment_bytes = 64 << 10;
    assert_int_equal(
        elapse__store_open(partition->directory, &queue, &wishes, &partition->store, NULL),
        ELAPSE_OK);
    assert_true(elapse__cluster_partition_make_inbox(partition));
    atomic_store(&partition->cluster->has_inbox, true);
    elapse__cluster_partition_own_inbox(partition); /* which wants to poll at once */
    assert_true(elapse__cluster_partition_inbox_calls.next_ms(partition) == UINT64_MAX);
    elapse__cluster_partition_free_inbox(partition);
    assert_int_equal(elapse_queue_close(partition->store), ELAPSE_OK);
}

TEST_MAIN("hosted")
