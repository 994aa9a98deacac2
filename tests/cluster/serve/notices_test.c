/*
 * Lines for the log from the thread of a runner: none is lost while there is room, and then the
 * oldest ones are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/os/os.h"
#include "../../../src/cluster/serve/inner.h"

static struct elapse__cluster_part *set_up(void)
{
    struct elapse__cluster *cluster = calloc(1, sizeof *cluster);
    struct elapse__cluster_part *part = calloc(1, sizeof *part);
    assert_non_null(cluster);
    assert_non_null(part);
    assert_int_equal(elapse__os->lock_init(&part->lock), 0);
    assert_int_equal(elapse__os_event_open(&cluster->event), 0);
    cluster->service.loop.peers.log.most = ELAPSE__LOG_DEBUG;
    part->cluster = cluster;
    return part;
}

static void tear_down(struct elapse__cluster_part *part)
{
    (void)elapse__os_close(part->cluster->event);
    elapse__lock_free(&part->lock);
    free(part->cluster);
    free(part);
}

static void say(struct elapse__cluster_part *part, unsigned count)
{
    for (unsigned i = 1; i <= count; i++)
        elapse__part_say(part, ELAPSE__LOG_NOTICE, "line %u", i);
}

static void lines_wait_in_their_order(void **state)
{
    struct elapse__cluster_part *part = set_up();

    (void)state;
    say(part, ELAPSE__PART_NOTICES);
    assert_int_equal(part->notice_count, ELAPSE__PART_NOTICES);
    assert_int_equal(part->notices_lost, 0);
    assert_string_equal(part->notices[0].text, "line 1");
    assert_string_equal(part->notices[ELAPSE__PART_NOTICES - 1].text, "line 8");
    elapse__part_log(part);
    assert_int_equal(part->notice_count, 0);
    tear_down(part);
}

static void the_oldest_lines_make_room(void **state)
{
    struct elapse__cluster_part *part = set_up();

    (void)state;
    say(part, ELAPSE__PART_NOTICES + 2);
    assert_int_equal(part->notice_count, ELAPSE__PART_NOTICES);
    assert_int_equal(part->notices_lost, 2);
    assert_string_equal(part->notices[0].text, "line 3");
    assert_string_equal(part->notices[ELAPSE__PART_NOTICES - 1].text, "line 10");
    elapse__part_log(part);
    assert_int_equal(part->notice_count, 0);
    assert_int_equal(part->notices_lost, 0);
    tear_down(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_wait_in_their_order),
        cmocka_unit_test(the_oldest_lines_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
