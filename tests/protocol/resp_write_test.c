/*
 * The writer of RESP: each kind of value in both versions, and memory that is too small at each
 * size.
 */
#include "../support/test.h"
#include "resp_write.h"

static unsigned char memory[512];

static struct elapse__wire_resp_writer writer_of(bool resp3)
{
    memset(memory, 0xee, sizeof memory);
    return (struct elapse__wire_resp_writer){
        .bytes = memory, .capacity = sizeof memory, .resp3 = resp3};
}

static void expect(const struct elapse__wire_resp_writer *writer, const char *text)
{
    assert_false(writer->too_small);
    assert_int_equal(writer->size, strlen(text));
    assert_memory_equal(writer->bytes, text, strlen(text));
}

static void write_all(struct elapse__wire_resp_writer *writer)
{
    elapse__wire_resp_write_array(writer, 3);
    elapse__wire_resp_write_word(writer, "scheduled");
    elapse__wire_resp_write_error(writer, "ERR unknown command 'a\r\nb\x7f'");
    elapse__wire_resp_write_map(writer, 2);
    elapse__wire_resp_write_text(writer, "due");
    elapse__wire_resp_write_null(writer);
    elapse__wire_resp_write_bytes(writer, "\r\n", 2);
    elapse__wire_resp_write_boolean(writer, true);
    elapse__wire_resp_write_boolean(writer, false);
    elapse__wire_resp_write_bytes(writer, NULL, 0);
}

static const char all_2[] = "*3\r\n+scheduled\r\n-ERR unknown command 'a??b?'\r\n"
                            "*4\r\n$3\r\ndue\r\n$-1\r\n$2\r\n\r\n\r\n:1\r\n:0\r\n$0\r\n\r\n";
static const char all_3[] = "*3\r\n+scheduled\r\n-ERR unknown command 'a??b?'\r\n"
                            "%2\r\n$3\r\ndue\r\n_\r\n$2\r\n\r\n\r\n#t\r\n#f\r\n$0\r\n\r\n";

TEST(both_versions)
{
    for (unsigned resp3 = 0; resp3 <= 1; resp3++) {
        struct elapse__wire_resp_writer writer = writer_of(resp3 != 0);
        write_all(&writer);
        expect(&writer, resp3 != 0 ? all_3 : all_2);
    }
}

TEST(integers)
{
    static const struct {
        int64_t value;
        const char *text;
    } cases[] = {
        {0, ":0\r\n"},
        {9, ":9\r\n"},
        {10, ":10\r\n"},
        {-1, ":-1\r\n"},
        {INT64_MAX, ":9223372036854775807\r\n"},
        {INT64_MIN, ":-9223372036854775808\r\n"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct elapse__wire_resp_writer writer = writer_of(false);
        elapse__wire_resp_write_integer(&writer, cases[i].value);
        expect(&writer, cases[i].text);
        assert_true(writer.size <= ELAPSE__WIRE_RESP_FRAME_MAX);
    }
}

TEST(bytes_in_two_steps)
{
    struct elapse__wire_resp_writer writer = writer_of(false);

    elapse__wire_resp_write_bytes_begin(&writer, 65535);
    elapse__wire_resp_write_bytes_end(&writer);
    expect(&writer, "$65535\r\n\r\n");
}

/* Nothing is written behind the end, and too little room is always noticed. */
TEST(too_small)
{
    for (size_t capacity = 0; capacity <= sizeof all_2 - 1; capacity++) {
        struct elapse__wire_resp_writer writer = writer_of(false);
        writer.capacity = capacity;
        write_all(&writer);
        assert_int_equal(writer.too_small, capacity < sizeof all_2 - 1);
        assert_true(writer.size <= capacity);
        for (size_t place = capacity; place < sizeof memory; place++)
            assert_int_equal(memory[place], 0xee);
    }
}

TEST_MAIN("resp_write")
