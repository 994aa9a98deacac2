/*
 * A partition of a node whose disk, system or store refuses something.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/cluster/ownership/chain.h"
#include "../../../src/os/os.h"
#include "../../../src/cluster/serve/inner.h"
#include "../../engine/store/directory.h"

enum { ATTEMPTS_A_LINE = 600 };

static struct elapse__serve_options options;

static int set_up(void **state)
{
    struct elapse__cluster *cluster = calloc(1, sizeof *cluster);
    struct elapse__cluster_part *part = calloc(1, sizeof *part);
    assert_non_null(cluster);
    assert_non_null(part);
    cluster->service.loop.peers.log.most = ELAPSE__LOG_ERROR;
    cluster->service.loop.options = &options;
    (void)snprintf(cluster->name, sizeof cluster->name, "n1");
    (void)snprintf(part->directory, sizeof part->directory, "%s/part-0", directory_make());
    part->cluster = cluster;
    *state = part;
    return elapse__os->lock_init(&part->lock) + elapse__os_event_open(&cluster->event);
}

static int tear_down(void **state)
{
    struct elapse__cluster_part *part = *state;

    (void)elapse__os_close(part->cluster->event);
    elapse__lock_free(&part->lock);
    free(part->cluster);
    free(part);
    directory_remove();
    return 0;
}

static int refuse_random(void *bytes, size_t count)
{
    memset(bytes, 0, count);
    return EIO;
}

static void without_a_random_number_a_life_does_not_begin(void **state)
{
    struct elapse__cluster_part *part = *state;
    const struct elapse__os *before = elapse__os;
    struct elapse__os os = *elapse__os;

    os.random_bytes = refuse_random;
    elapse__os = &os;
    assert_false(elapse__part_start(part));
    elapse__os = before;
    assert_null(part->runner);
    assert_string_equal(part->me, "");
}

/* The runner tries again every tenth of a second. */
static void a_disk_that_refuses_has_a_line_each_minute(void **state)
{
    const struct elapse__partition_memory memory = {.system_identifier = 1};
    struct elapse__cluster_part *part = *state;
    char directory[sizeof part->directory];

    memcpy(directory, part->directory, sizeof directory);
    (void)snprintf(part->directory, sizeof part->directory, "/dev/null/none");
    for (unsigned i = 0; i < ATTEMPTS_A_LINE; i++)
        assert_false(elapse__part_calls.remember(part, &memory));
    assert_int_equal(part->notice_count, 1);
    assert_non_null(strstr(part->notices[0].text, "the file cluster"));
    assert_false(elapse__part_calls.remember(part, &memory));
    assert_int_equal(part->notice_count, 2);
    memcpy(part->directory, directory, sizeof directory);
    assert_true(elapse__part_calls.remember(part, &memory));
    assert_int_equal(part->waits, 0);
}

static void a_store_that_takes_nothing_wakes_nobody(void **state)
{
    struct elapse__cluster_part *part = *state;
    struct elapse_queue_options queue;
    part->log = (struct elapse__journal_log){
        .context = part,
        .genesis = 1,
        .next_hash = elapse__chain_next,
        .submit = elapse__part_submit,
        .trim = elapse__part_trim,
    };
    const struct elapse__store_wishes wishes = {.partitions = 1, .log = &part->log};

    elapse_queue_options_init(&queue);
    queue.segment_bytes = 64 << 10;
    assert_int_equal(elapse__store_open(part->directory, &queue, &wishes, &part->store, NULL),
                     ELAPSE_OK);
    assert_true(elapse__part_make_inbox(part));
    atomic_store(&part->cluster->has_inbox, true);
    elapse__part_own_inbox(part); /* which wants to poll at once */
    assert_true(elapse__part_inbox.next_ms(part) == UINT64_MAX);
    elapse__part_free_inbox(part);
    assert_int_equal(elapse_queue_close(part->store), ELAPSE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_a_random_number_a_life_does_not_begin, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_disk_that_refuses_has_a_line_each_minute, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_store_that_takes_nothing_wakes_nobody, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
