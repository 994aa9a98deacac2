/*
 * UTF-8: every character, and what only looks like one.
 */
#include "../support/test.h"
#include "utf8.h"

/* Writes a character in a form of so many bytes. */
static void write_form(unsigned char *out, uint32_t character, size_t bytes)
{
    static const unsigned char leads[] = {0, 0x00, 0xc0, 0xe0, 0xf0};

    for (size_t i = bytes - 1; i > 0; i--) {
        out[i] = (unsigned char)(0x80 | (character & 0x3f));
        character >>= 6;
    }
    out[0] = (unsigned char)(leads[bytes] | character);
}

TEST(every_character_has_one_form)
{
    static const uint32_t ends[] = {0, 0x80, 0x800, 0x10000, 0x200000};

    for (uint32_t character = 0; character < 0x200000; character++) {
        bool exists = character <= 0x10ffff && (character < 0xd800 || character > 0xdfff);
        for (size_t bytes = 1; bytes <= 4; bytes++) {
            unsigned char text[4];
            if (character >= ends[bytes])
                continue;
            write_form(text, character, bytes);
            bool is_shortest = character >= ends[bytes - 1];
            size_t expected = exists && is_shortest ? bytes : 0;
            if (elapse__utf8_size(text, bytes) != expected)
                fail_msg("U+%04X in %zu bytes", character, bytes);
            if (bytes > 1 && elapse__utf8_size(text, bytes - 1) != 0)
                fail_msg("U+%04X, cut", character);
        }
    }
}

TEST(bytes_that_begin_nothing)
{
    for (unsigned first = 0x80; first < 0x100; first++) {
        const unsigned char text[] = {(unsigned char)first, 'a', 'b', 'c'};
        assert_int_equal(elapse__utf8_size(text, sizeof text), 0);
        assert_false(elapse__utf8_is(text, sizeof text));
    }
    assert_int_equal(elapse__utf8_size("\xf8\x88\x80\x80\x80", 5), 0);
}

/* A fault at each place of a text that is otherwise long and plain. */
TEST(a_text_is_checked_to_its_end)
{
    char text[40];

    assert_true(elapse__utf8_is("", 0));
    for (size_t length = 1; length <= sizeof text; length++) {
        for (size_t at = 0; at < length; at++) {
            memset(text, 'a', sizeof text);
            assert_true(elapse__utf8_is(text, length));
            text[at] = '\x80';
            assert_false(elapse__utf8_is(text, length));
            if (at == 0)
                continue;
            text[at - 1] = '\xc3';
            assert_true(elapse__utf8_is(text, length));
            assert_false(elapse__utf8_is(text, at));
        }
    }
}

TEST_MAIN("utf8")
