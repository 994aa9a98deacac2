/*
 * Tests of what a client of HTTP reads: answers, which the server translates from replies of RESP,
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

TEST_MAIN("answer")
