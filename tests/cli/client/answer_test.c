/*
 * Tests what a reply means for a command: the bytes of a reply go in, and a status and a text come
 * out.
 */

/* Both cmocka and the program have a function of this name. */
#define print_error cmocka_print_error
#undef print_error

#include "../../support/test.h"
#include "client/answer.h"
#include "client/render.h"
#include "client/request.h"

static redisReply *reply_of(const char *bytes)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();

    assert_non_null(reader);
    assert_int_equal(redisReaderFeed(reader, bytes, strlen(bytes)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    assert_non_null(reply);
    redisReaderFree(reader);
    return reply;
}

static enum exit_status put_status(const char *bytes, bool keeps)
{
    redisReply *reply = reply_of(bytes);
    enum exit_status status = answer_to_put(reply, keeps).status;

    freeReplyObject(reply);
    return status;
}

TEST(test_put)
{
    redisReply *reply = reply_of("*2\r\n:17\r\n+scheduled\r\n");
    struct answer answer = answer_to_put(reply, false);

    assert_int_equal(answer.id, 17);
    assert_string_equal(answer.word, "scheduled");
    assert_null(answer.error);
    freeReplyObject(reply);
    assert_int_equal(put_status("*2\r\n:1\r\n+replaced\r\n", false), STATUS_OK);
    assert_int_equal(put_status("*2\r\n:1\r\n+known\r\n", false), STATUS_OK);
    assert_int_equal(put_status("*2\r\n:1\r\n+kept\r\n", false), STATUS_TAKEN);
    assert_int_equal(put_status("*2\r\n:1\r\n+kept\r\n", true), STATUS_OK);
    assert_int_equal(put_status("*2\r\n:1\r\n+running\r\n", true), STATUS_TAKEN);
    assert_int_equal(put_status("*2\r\n:1\r\n+buried\r\n", true), STATUS_TAKEN);
    assert_int_equal(put_status("-BUSYKEY 3 has this key\r\n", true), STATUS_TAKEN);
    assert_int_equal(put_status("-LIMIT x\r\n", false), STATUS_FULL);
    assert_int_equal(put_status("-OOM x\r\n", false), STATUS_FULL);
    assert_int_equal(put_status("-DISKFULL x\r\n", false), STATUS_FULL);
    assert_int_equal(put_status("-DRAINING x\r\n", false), STATUS_FULL);
    assert_int_equal(put_status("-ERR x\r\n", false), STATUS_USAGE);
    assert_int_equal(put_status("-NOAUTH x\r\n", false), STATUS_NOT_AUTHORISED);
    assert_int_equal(put_status("-TRYAGAIN x\r\n", false), STATUS_NO_SERVER);
    assert_int_equal(put_status("-UNKNOWN x\r\n", false), STATUS_UNKNOWN);
    assert_int_equal(put_status("-OTHER x\r\n", false), STATUS_FAILED);
    reply = reply_of("-\r\n");
    assert_true(strlen(answer_to_put(reply, false).error) > 0);
    freeReplyObject(reply);
    /* Replies that no PUT has. */
    assert_int_equal(put_status("+OK\r\n", false), STATUS_FAILED);
    assert_int_equal(put_status("*0\r\n", false), STATUS_FAILED);
    assert_int_equal(put_status("*2\r\n+scheduled\r\n:1\r\n", false), STATUS_FAILED);
    assert_int_equal(put_status("*2\r\n:-1\r\n+scheduled\r\n", false), STATUS_FAILED);
    assert_int_equal(put_status("*2\r\n:1\r\n+\x1b[2J\r\n", false), STATUS_FAILED);
}

static enum exit_status word_status(const char *bytes, bool running_is_well)
{
    redisReply *reply = reply_of(bytes);
    enum exit_status status = answer_of_word(reply, running_is_well).status;

    freeReplyObject(reply);
    return status;
}

TEST(test_words)
{
    assert_int_equal(word_status("+removed\r\n", true), STATUS_OK);
    assert_int_equal(word_status("+running\r\n", true), STATUS_OK);
    assert_int_equal(word_status("+running\r\n", false), STATUS_TAKEN);
    assert_int_equal(word_status("+gone\r\n", true), STATUS_GONE);
    assert_int_equal(word_status("+rescheduled\r\n", false), STATUS_OK);
    assert_int_equal(word_status(":1\r\n", false), STATUS_FAILED);
    assert_int_equal(word_status("+\r\n", true), STATUS_FAILED);
    assert_int_equal(word_status("+a\"b\r\n", true), STATUS_FAILED);
}

TEST(test_many_parts)
{
    assert_int_equal(answer_join(STATUS_OK, STATUS_OK), STATUS_OK);
    assert_int_equal(answer_join(STATUS_OK, STATUS_GONE), STATUS_GONE);
    assert_int_equal(answer_join(STATUS_GONE, STATUS_OK), STATUS_GONE);
    assert_int_equal(answer_join(STATUS_GONE, STATUS_FULL), STATUS_GONE);
    assert_int_equal(answer_join(STATUS_GONE, STATUS_UNKNOWN), STATUS_UNKNOWN);
    assert_int_equal(answer_join(STATUS_UNKNOWN, STATUS_FULL), STATUS_UNKNOWN);
}

TEST(test_lost_connections)
{
    assert_int_equal(answer_status_of_fault(CONNECTION_WORKS), STATUS_OK);
    assert_int_equal(answer_status_of_fault(CONNECTION_REFUSED), STATUS_NO_SERVER);
    assert_int_equal(answer_status_of_fault(CONNECTION_STRANGE), STATUS_NO_SERVER);
    assert_int_equal(answer_status_of_fault(CONNECTION_NOT_AUTHORISED), STATUS_NOT_AUTHORISED);
    assert_int_equal(answer_status_of_fault(CONNECTION_BROKEN), STATUS_UNKNOWN);
}

TEST(test_maps)
{
    static const char bytes[] = "*14\r\n$2\r\nid\r\n:1234\r\n$5\r\nlease\r\n$-1\r\n"
                                "$9\r\nrecurring\r\n:1\r\n$4\r\nbody\r\n$3\r\na\tb\r\n"
                                "$3\r\nkey\r\n$1\r\n\xff\r\n$4\r\nleft\r\n:5025000\r\n"
                                "$3\r\ndue\r\n:1500\r\n";
    redisReply *map = reply_of(bytes);
    struct elapse__json json = {.failed = false};
    struct elapse__buffer lines = {.bytes = NULL};

    assert_int_equal(answer_number(map, "id"), 1234);
    assert_int_equal(answer_number(map, "lease"), 0);
    assert_int_equal(answer_number(map, "nothing"), 0);
    assert_null(answer_member(map, "i"));
    render_json(&json, map);
    assert_string_equal(buffer_string(&json.text),
                        "{\"id\":1234,\"lease\":null,\"recurring\":true,\"body\":\"a\\tb\","
                        "\"key_base64\":\"/w==\",\"left\":5025000,\"due\":1500}");
    render_lines(&lines, map);
    assert_string_equal(buffer_string(&lines), "id         1234\nlease      -\nrecurring  yes\n"
                                               "body       a?b\nkey        ?\nleft       1h 23m\n"
                                               "due        1970-01-01T00:00:01.500Z\n");
    elapse__json_free(&json);
    elapse__buffer_free(&lines);
    freeReplyObject(map);
}

/* What would need escapes as a name is none. */
TEST(test_strange_names)
{
    static const char bytes[] = "*8\r\n$4\r\n\x1b[2J\r\n:1\r\n$2\r\nid\r\n:2\r\n"
                                "$3\r\na\"b\r\n:3\r\n$0\r\n\r\n:4\r\n";
    redisReply *map = reply_of(bytes);
    struct elapse__json json = {.failed = false};
    struct elapse__buffer out = {.bytes = NULL};

    render_json(&json, map);
    assert_string_equal(buffer_string(&json.text), "{\"id\":2}");
    elapse__json_free(&json);
    render_lines(&out, map);
    assert_string_equal(buffer_string(&out), "id  2\n");
    elapse__buffer_free(&out);
    freeReplyObject(map);
}

/* A terminal takes U+009B for the begin of a command, and many take the byte 9b alone. */
TEST(test_texts_for_a_terminal)
{
    static const struct {
        const char *text;
        const char *masked;
    } cases[] = {
        {"", ""},
        {"plain ~ text", "plain ~ text"},
        {"\x1b[2J\x1f\x7f", "?[2J??"},
        {"\xc2\x80\xc2\x9b\xc2\x9f", "??????"},
        {"\xc2\xa0gr\xc3\xb6\xc3\x9f \xf0\x9f\x98\x80",
         "\xc2\xa0gr\xc3\xb6\xc3\x9f \xf0\x9f\x98\x80"},
        {"\x9b[2J\xff\xc2", "?[2J??"},
        {"\xc2\x1b\xe2\x82z", "????z"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char bytes[64];
        struct elapse__buffer out = {.bytes = NULL};
        (void)snprintf(bytes, sizeof bytes, "$%zu\r\n%s\r\n", strlen(cases[i].text), cases[i].text);
        redisReply *reply = reply_of(bytes);
        render_text(&out, reply);
        assert_string_equal(buffer_string(&out), cases[i].masked);
        elapse__buffer_free(&out);
        freeReplyObject(reply);
    }
}

TEST(test_durations)
{
    static const struct {
        uint64_t milliseconds;
        const char *text;
    } cases[] = {
        {0, "0"},      {1, "1ms"},      {999, "999ms"},   {1000, "1s"},        {1500, "1s 500ms"},
        {60000, "1m"}, {3600001, "1h"}, {86400000, "1d"}, {90061000, "1d 1h"}, {86460000, "1d"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct elapse__buffer out = {.bytes = NULL};
        render_duration(&out, cases[i].milliseconds);
        assert_string_equal(buffer_string(&out), cases[i].text);
        elapse__buffer_free(&out);
    }
}

TEST(test_requests)
{
    static struct request request;
    struct elapse__buffer out = {.bytes = NULL};

    request_add_text(&request, "PUT");
    request_add(&request, "\0\r\n", 3);
    request_add(&request, "", 0);
    request_add_number(&request, UINT64_MAX);
    request_write(&request, &out);
    const char expected[] = "*4\r\n$3\r\nPUT\r\n$3\r\n\0\r\n\r\n$0\r\n\r\n$20\r\n"
                            "18446744073709551615\r\n";
    assert_int_equal(out.end, sizeof expected - 1);
    assert_memory_equal(out.bytes, expected, out.end);
    elapse__buffer_free(&out);
    request_free(&request);
}

TEST_MAIN("answer")
