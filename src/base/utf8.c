#include "utf8.h"

#include <stdint.h>
#include <string.h>

#include "assert.h"

size_t elapse__utf8_size(const void *text, size_t length)
{
    const unsigned char *bytes = text;
    static const struct {
        unsigned char mask;
        unsigned char lead;
        /* The least code point of this form; smaller code points have a shorter form. */
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    ELAPSE__ASSERT_THAT(length, >, 0U);
    for (size_t count = 1; count <= sizeof forms / sizeof forms[0]; count++) {
        unsigned char mask = forms[count - 1].mask;
        if ((bytes[0] & mask) != forms[count - 1].lead)
            continue;
        if (count > length)
            return 0;
        uint32_t code_point = bytes[0] & (unsigned char)~mask;
        for (size_t i = 1; i < count; i++) {
            if ((bytes[i] & 0xc0) != 0x80)
                return 0;
            code_point = code_point << 6 | (bytes[i] & 0x3f);
        }
        bool is_surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
        bool is_valid =
            code_point >= forms[count - 1].least && code_point <= 0x10ffff && !is_surrogate;
        return is_valid ? count : 0;
    }
    return 0;
}

/* Returns whether eight bytes are all ASCII. */
static bool are_ascii(const unsigned char *text)
{
    uint64_t bytes;

    memcpy(&bytes, text, sizeof bytes);
    return (bytes & UINT64_C(0x8080808080808080)) == 0;
}

bool elapse__utf8_is(const void *text, size_t length)
{
    const unsigned char *bytes = text;
    size_t i = 0;

    while (i < length) {
        if (length - i >= 8 && are_ascii(bytes + i)) {
            i += 8;
            continue;
        }
        size_t size = elapse__utf8_size(bytes + i, length - i);
        if (size == 0)
            return false;
        i += size;
    }
    ELAPSE__ASSERT_THAT(i, ==, length);
    return true;
}
