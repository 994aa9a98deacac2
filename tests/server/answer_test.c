#include <stdio.h>
/*
 * Tests what a client of HTTP reads: the answers that the server translates from replies of RESP,
 * and the labels and times of metrics.
 */
#include "../../src/server/http/metrics.h"
#include "../../src/server/http/translate.h"
#include "../support/test.h"

/* Translates this reply of RESP to a reserve, and expects this status and this code. */
static void check_error(const char *reply, int status, const char *code)
{
    struct elapse__json json = {.failed = false};
    char text[256] = "";

    assert_int_equal(
        elapse__http_answer(ELAPSE__HTTP_RESERVE, (const uint8_t *)reply, strlen(reply), &json),
        status);
    assert_in_range(elapse__buffer_size(&json.text), 1, sizeof text - 1);
    memcpy(text, elapse__buffer_first(&json.text), elapse__buffer_size(&json.text));
    assert_non_null(strstr(text, code));
    elapse__json_free(&json);
}

TEST(a_fault_of_the_disk_is_no_fault_of_the_caller)
{
    check_error("-DAMAGED the body is damaged\r\n", 500, "\"code\":\"DAMAGED\"");
    check_error("-DISKERROR the disk cannot read\r\n", 503, "\"code\":\"DISK_ERROR\"");
    check_error("-ERR no such thing\r\n", 400, "\"code\":\"BAD_ARGUMENT\"");
    check_error("-STRANGE thing\r\n", 500, "\"code\":\"FAILED\"");
}

/* Expects that the metrics of the tube `name` have the label `label`. */
static void check_label(const char *name, const char *label)
{
    const struct elapse__queue_text tube = {.bytes = (const unsigned char *)name,
                                            .size = strlen(name)};
    const struct elapse__queue_statistics counts = {.ready = 0};
    struct elapse__json json = {.failed = false};

    elapse__http_write_jobs(&json, tube, &counts);
    assert_in_range(elapse__buffer_size(&json.text), strlen(label), 4096);
    assert_memory_equal(elapse__buffer_first(&json.text), label, strlen(label));
    elapse__json_free(&json);
}

TEST(no_two_tubes_have_the_same_label)
{
    check_label("mails", "elapse_jobs{tube=\"mails\",");
    check_label("\xff", "elapse_jobs{tube=\"\\\\xff\",");
    check_label("\\xff", "elapse_jobs{tube=\"\\\\x5cxff\",");
    check_label("\\\xff", "elapse_jobs{tube=\"\\\\\\\\xff\",");
    check_label("\1", "elapse_jobs{tube=\"\\\\x01\",");
    check_label("a\\b\"c\nd\\", "elapse_jobs{tube=\"a\\\\b\\\"c\\nd\\\\\",");
}

/* Buckets end at powers of two; 64 ms is the first time that is not below 0.064 s. */
TEST(a_time_is_in_the_bucket_behind_its_limit)
{
    struct elapse__histogram times = {.count = 0};
    const struct elapse__server_statistics server = {.draining = false};
    const struct elapse__http_metrics metrics = {
        .version = "v", .server = &server, .lateness = &times, .syncs = &times, .writes = &times};
    struct elapse__json json = {.failed = false};

    elapse__histogram_add(&times, 64);
    elapse__http_write_metrics(&json, &metrics);
    assert_true(elapse__buffer_append(&json.text, "", 1));
    const char *text = (const char *)elapse__buffer_first(&json.text);
    assert_non_null(strstr(text, "\nelapse_lateness_seconds_bucket{le=\"0.064\"} 0\n"));
    assert_non_null(strstr(text, "\nelapse_lateness_seconds_bucket{le=\"0.128\"} 1\n"));
    assert_non_null(strstr(text, "\nelapse_lateness_seconds_sum 0.064000\n"));
    elapse__json_free(&json);
}

/* Adds a tube whose name is `number`. */
static void add_troubled(struct elapse__http_troubled *troubled, unsigned number,
                         struct elapse__queue_statistics counts)
{
    char name[16];
    int size = snprintf(name, sizeof name, "%u", number);

    elapse__http_troubled_add(
        troubled,
        (struct elapse__queue_text){.bytes = (const unsigned char *)name, .size = (size_t)size},
        &counts);
}

static struct elapse__http_troubled troubled;

static void check_troubled(const char *line)
{
    struct elapse__json json = {.failed = false};

    elapse__http_write_troubled(&json, &troubled);
    assert_true(elapse__buffer_append(&json.text, "", 1));
    if (strstr((const char *)elapse__buffer_first(&json.text), line) == NULL)
        fail_msg("this line is missing: %s", line);
    elapse__json_free(&json);
}

/* The counts of a tube lie at the limit of trouble. */
TEST(tubes_without_trouble_are_not_kept)
{
    memset(&troubled, 0, sizeof troubled);
    add_troubled(&troubled, 1, (struct elapse__queue_statistics){.overdue_ms = 9999, .ready = 1});
    add_troubled(&troubled, 2, (struct elapse__queue_statistics){.delayed = 1, .reserved = 1});
    assert_int_equal(troubled.tubes, 0);
    assert_int_equal(troubled.count, 0);
    add_troubled(&troubled, 3, (struct elapse__queue_statistics){.overdue_ms = 10000});
    add_troubled(&troubled, 4, (struct elapse__queue_statistics){.pause_left_ms = 1});
    add_troubled(&troubled, 5, (struct elapse__queue_statistics){.held = 7});
    add_troubled(&troubled, 6, (struct elapse__queue_statistics){.buried = 8});
    check_troubled("\nelapse_tubes_in_trouble 4\n");
    check_troubled("\nelapse_tube_overdue_seconds{tube=\"3\"} 10.000\n"
                   "elapse_tube_overdue_seconds{tube=\"6\"} 0.000\n"
                   "elapse_tube_overdue_seconds{tube=\"5\"} 0.000\n"
                   "elapse_tube_overdue_seconds{tube=\"4\"} 0.000\n#");
    check_troubled("\nelapse_tube_buried_jobs{tube=\"6\"} 8\n");
    check_troubled("\nelapse_tube_held_jobs{tube=\"5\"} 7\n");
    check_troubled("\nelapse_rest_overdue_seconds 0.000\n");
}

/* Each tube has one more buried job than another. Which way they come, the worst are kept. */
static void check_worst(bool ascends)
{
    enum { TUBES = ELAPSE__HTTP_TROUBLED_MAX + 2 };

    memset(&troubled, 0, sizeof troubled);
    for (unsigned i = 1; i <= TUBES; i++) {
        unsigned number = ascends ? i : TUBES + 1 - i;
        add_troubled(&troubled, number,
                     (struct elapse__queue_statistics){.buried = number, .held = 10});
        if (i == ELAPSE__HTTP_TROUBLED_MAX)
            check_troubled("\nelapse_rest_buried_jobs 0\n");
    }
    assert_int_equal(troubled.count, ELAPSE__HTTP_TROUBLED_MAX);
    check_troubled("\nelapse_tubes_in_trouble 1002\n");
    check_troubled("\nelapse_rest_buried_jobs 3\n");
    check_troubled("\nelapse_rest_held_jobs 20\n");
    for (unsigned i = 0; i < ELAPSE__HTTP_TROUBLED_MAX; i++)
        assert_int_equal(troubled.kept[troubled.order[i]].trouble.buried, TUBES - i);
}

TEST(the_worst_tubes_are_kept_and_the_rest_added_up)
{
    check_worst(true);
    check_worst(false);
    add_troubled(&troubled, 2000, (struct elapse__queue_statistics){.overdue_ms = 20000});
    check_troubled("\nelapse_tube_overdue_seconds{tube=\"2000\"} 20.000\n");
    check_troubled("\nelapse_rest_buried_jobs 6\n");
    for (unsigned i = 0; i < ELAPSE__HTTP_TROUBLED_MAX; i++)
        add_troubled(&troubled, 3000 + i,
                     (struct elapse__queue_statistics){.overdue_ms = 30000 + i});
    check_troubled("\nelapse_rest_overdue_seconds 20.000\n");
}

TEST_MAIN("answer")
