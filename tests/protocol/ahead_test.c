/*
 * The quick look at a command: against lines with their answers, cut at every byte, and against the
 * parser on bytes that were changed at random.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/test.h"
#include "ahead.h"

struct example {
    const char *bytes;
    size_t size; /* of the first command */
    uint64_t id;
    const char *tube, *key;
};

static const struct example examples[] = {
    {"delete 4711\r\ndelete 5\r\n", 13, 4711, "", ""},
    {"bury 9007199254740991 1024\r\n", 28, 9007199254740991, "", ""},
    {"put 0 0 60 2\r\nab\r\ndelete 1\r\n", 18, 0, "", ""},
    {"put 0 0 60 9\r\nab\r\n", 0, 0, "", ""},
    {"put 0 0 60 9999999999999999\r\nab\r\n", 0, 0, "", ""},
    {"put \r\nab\r\n", 6, 0, "", ""},
    {"reserve\r\n", 9, 0, "", ""},
    {"use mails\r\n", 11, 0, "", ""},
    {"delete 99999999999999999999\r\n", 29, 0, "", ""},
    {"\r\n", 2, 0, "", ""},
    {"*2\r\n$8\r\nCANCELID\r\n$4\r\n4711\r\n", 28, 4711, "", ""},
    {"*4\r\n$3\r\nACK\r\n$2\r\n12\r\n$3\r\n1-2\r\n$2\r\n13\r\n", 38, 12, "", ""},
    {"*3\r\n$6\r\nCANCEL\r\n$6\r\norders\r\n$2\r\nk1\r\n*1\r\n", 36, 0, "orders", "k1"},
    {"*3\r\n$6\r\nlookup\r\n$2\r\n12\r\n$2\r\n34\r\n", 32, 0, "12", "34"},
    {"*5\r\n$10\r\nRESCHEDULE\r\n$1\r\nt\r\n$1\r\nk\r\n$2\r\nIN\r\n$2\r\n1s\r\n", 51, 0, "t", "k"},
    {"*3\r\n$3\r\nPUT\r\n$1\r\nt\r\n$4\r\nbody\r\n", 30, 0, "", ""},
    {"*1\r\n$4\r\nPING\r\n", 14, 0, "", ""},
    {"*0\r\n", 0, 0, "", ""},
    {"*17\r\n", 0, 0, "", ""},
    {"*2\r\n$8\r\nCANCELID\r\n$5\r\n4711\r\n", 0, 0, "", ""},
    {"*2\r\n$9999999999999999\r\nx\r\n", 0, 0, "", ""},
    {"*2\r\n$x\r\n", 0, 0, "", ""},
    {"*2\r\n:2\r\n", 0, 0, "", ""},
};

static void assert_text(struct elapse__wire_resp_argument argument, const char *text)
{
    assert_int_equal(argument.size, strlen(text));
    if (argument.size > 0)
        assert_memory_equal(argument.bytes, text, argument.size);
}

TEST(commands_tell_which_job_they_name)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const struct example *example = &examples[i];
        struct elapse__wire_ahead ahead =
            elapse__wire_look_ahead((const unsigned char *)example->bytes, strlen(example->bytes));
        assert_int_equal(ahead.size, example->size);
        assert_int_equal(ahead.id, example->id);
        assert_text(ahead.tube, example->tube);
        assert_text(ahead.key, example->key);
    }
}

/* A block of its own for each cut, so that valgrind sees a byte that is read behind it. */
TEST(a_command_that_is_not_whole_tells_nothing)
{
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        const struct example *example = &examples[i];
        for (size_t size = 0; size <= strlen(example->bytes); size++) {
            unsigned char *bytes = malloc(size + 1);
            assert_non_null(bytes);
            bytes = memcpy(realloc(bytes, size == 0 ? 1 : size), example->bytes, size);
            struct elapse__wire_ahead ahead = elapse__wire_look_ahead(bytes, size);
            assert_int_equal(ahead.size, size < example->size ? 0 : example->size);
            assert_int_equal(ahead.id, size < example->size ? 0 : example->id);
            free(bytes);
        }
    }
}

/* Where the parser finds a command, the look ends at the same byte, if it does not give up. */
TEST(the_look_ends_where_the_command_ends)
{
    static const char seed[] = "*3\r\n$6\r\nCANCEL\r\n$6\r\norders\r\n$12\r\nk1k1k1k1k1k1\r\n"
                               "*2\r\n$8\r\nCANCELID\r\n$4\r\n4711\r\n*12\r\n$1\r\n1\r\n\r\n";
    static const char letters[] = "*$\r\n0123456789-aK";
    static struct elapse__wire_resp_argument arguments[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];
    uint64_t random = 1;
    uint32_t told = 0;
    for (uint32_t round = 0; round < 100000; round++) {
        unsigned char bytes[sizeof seed - 1];
        struct elapse__wire_resp_parser parser = {.argument_bytes_max = 1000};
        memcpy(bytes, seed, sizeof bytes);
        for (uint32_t i = 0; i < round % 4; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            bytes[(random >> 33) % sizeof bytes] =
                (unsigned char)letters[(random >> 20) % (sizeof letters - 1)];
        }
        struct elapse__wire_resp_parsed parsed =
            elapse__wire_resp_parse(&parser, bytes, sizeof bytes, arguments);
        struct elapse__wire_ahead ahead = elapse__wire_look_ahead(bytes, sizeof bytes);
        assert_true(ahead.size <= sizeof bytes);
        if (parsed.outcome != ELAPSE__WIRE_RESP_COMMAND || ahead.size == 0)
            continue;
        assert_int_equal(ahead.size, parsed.consumed);
        told++;
    }
    assert_true(told > 50000);
}

TEST_MAIN("ahead")
