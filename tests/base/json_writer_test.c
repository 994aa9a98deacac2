/*
 * The writer of JSON: commas, names, and each kind of value.
 */
#include "../support/test.h"
#include "json_writer.h"

static void check(struct elapse__json *json, const char *expected)
{
    assert_false(json->failed);
    assert_int_equal(elapse__buffer_size(&json->text), strlen(expected));
    assert_memory_equal(elapse__buffer_first(&json->text), expected, strlen(expected));
    elapse__json_free(json);
}

TEST(values_have_commas_between)
{
    struct elapse__json json = {.failed = false};

    elapse__json_open(&json, '{');
    elapse__json_unsigned_member(&json, "a", UINT64_MAX);
    elapse__json_name(&json, "b");
    elapse__json_open(&json, '[');
    elapse__json_signed(&json, INT64_MIN);
    elapse__json_signed(&json, 7);
    elapse__json_null(&json);
    elapse__json_open(&json, '[');
    elapse__json_close(&json, ']');
    elapse__json_close(&json, ']');
    elapse__json_open_member(&json, "c");
    elapse__json_close(&json, '}');
    elapse__json_boolean_member(&json, "d", true);
    elapse__json_real_member(&json, "e", 0.125);
    elapse__json_text_member(&json, "f", "a\"b\n");
    elapse__json_close(&json, '}');
    check(&json, "{\"a\":18446744073709551615,\"b\":[-9223372036854775808,7,null,[]],\"c\":{},"
                 "\"d\":true,\"e\":0.12,\"f\":\"a\\\"b\\n\"}");
}

TEST(bytes_that_are_no_text_become_base64)
{
    struct elapse__json json = {.failed = false};

    elapse__json_open(&json, '{');
    elapse__json_bytes_member(&json, "a", "\xc3\xa4", 2);
    elapse__json_bytes_member(&json, "b", "\xff\xfe", 2);
    elapse__json_bytes_member(&json, "c", "", 0);
    elapse__json_close(&json, '}');
    check(&json, "{\"a\":\"\xc3\xa4\",\"b_base64\":\"//4=\",\"c\":\"\"}");
}

TEST_MAIN("json_writer")
