/*
 * Texts as JSON strings: what stands as it is, and how the rest is written.
 */
#include "../support/test.h"
#include "json_escape.h"

/* Writes all pieces of a text. Returns how many bytes they have. */
static size_t write_all(const char *text, size_t length, char *out)
{
    size_t size = 0;

    for (size_t done = 0; done < length;) {
        struct elapse__json_piece piece = elapse__json_escape_next(text + done, length - done);
        memcpy(out + size, text + done, piece.plain);
        memcpy(out + size + piece.plain, piece.escape, piece.escape_size);
        size += piece.plain + piece.escape_size;
        done += piece.taken;
    }
    return size;
}

static void check(const char *text, size_t length, const char *expected)
{
    char out[600];
    size_t size = write_all(text, length, out);

    if (size != strlen(expected) || memcmp(out, expected, size) != 0)
        fail_msg("%.*s in place of %s", (int)size, out, expected);
}

TEST(every_ascii_character)
{
    for (unsigned code = 0; code < 0x80; code++) {
        const char text[] = {'a', (char)code, 'b'};
        char expected[16];
        if (code == '\n' || code == '\r' || code == '\t')
            (void)snprintf(expected, sizeof expected, "a\\%cb",
                           code == '\n'   ? 'n'
                           : code == '\r' ? 'r'
                                          : 't');
        else if (code == '"' || code == '\\')
            (void)snprintf(expected, sizeof expected, "a\\%cb", (char)code);
        else if (code < 0x20 || code == 0x7f)
            (void)snprintf(expected, sizeof expected, "a\\u%04xb", code);
        else
            (void)snprintf(expected, sizeof expected, "a%cb", (char)code);
        check(text, sizeof text, expected);
    }
}

TEST(characters_beyond_ascii)
{
    check("\xc2\x80\xc2\x9f\xc2\xa0", 6, "\\u0080\\u009f\xc2\xa0");
    /* NOLINTBEGIN(misc-misleading-bidirectional): the last one is the character behind U+2029 */
    check("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", 12,
          "\xe2\x80\xa7\\u2028\\u2029\xe2\x80\xaa");
    /* NOLINTEND(misc-misleading-bidirectional) */
    check("\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80");
}

TEST(bytes_that_are_no_utf8)
{
    check("a\xff\xfe"
          "b",
          4, "a\\ufffd\\ufffdb");
    check("\xe2\x80", 2, "\\ufffd\\ufffd"); /* the third byte is not read */
}

TEST(a_text_has_few_pieces)
{
    char text[500];

    memset(text, 'x', sizeof text);
    struct elapse__json_piece piece = elapse__json_escape_next(text, sizeof text);
    assert_int_equal(piece.plain, sizeof text);
    assert_int_equal(piece.taken, sizeof text);
    assert_int_equal(piece.escape_size, 0);
    text[400] = '"';
    piece = elapse__json_escape_next(text, sizeof text);
    assert_int_equal(piece.plain, 400);
    assert_int_equal(piece.taken, 401);
}

TEST_MAIN("json_escape")
