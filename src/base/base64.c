#include "base64.h"

#include <stdint.h>
#include <string.h>

#include "../base/assert.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *elapse__base64_write(char *out, const unsigned char *bytes, size_t count)
{
    const char *begin = out;

    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t bits = (uint32_t)bytes[i] << 16;
        if (left > 1)
            bits |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2)
            bits |= bytes[i + 2];
        *out++ = alphabet[bits >> 18 & 63];
        *out++ = alphabet[bits >> 12 & 63];
        out[0] = out[1] = '=';
        if (left > 1)
            out[0] = alphabet[bits >> 6 & 63];
        if (left > 2)
            out[1] = alphabet[bits & 63];
        out += 2;
    }
    ELAPSE__ASSERT_THAT((size_t)(out - begin), ==, ELAPSE__BASE64_ROOM(count));
    (void)begin; /* only assertions use it */
    return out;
}

/* Reads four characters: the first `characters` of them must be of the alphabet, and the others
 * '='. Returns false if they are not. */
static bool read_four(const char *text, unsigned characters, uint32_t *bits)
{
    *bits = 0;
    for (unsigned i = 0; i < 4; i++) {
        /* strchr would find a NUL, too: the NUL that ends the alphabet. So a NUL is refused
         * before. */
        const char *place = i < characters && text[i] != '\0' ? strchr(alphabet, text[i]) : NULL;
        if (i < characters ? place == NULL : text[i] != '=')
            return false;
        *bits = *bits << 6 | (i < characters ? (uint32_t)(place - alphabet) : 0);
    }
    return true;
}

bool elapse__base64_read(const char *text, size_t length, unsigned char *bytes, size_t *count)
{
    *count = 0;
    if (length % 4 != 0)
        return false;
    for (size_t i = 0; i < length; i += 4) {
        bool is_last = i + 4 == length;
        unsigned padding = is_last ? (text[i + 3] == '=') + (unsigned)(text[i + 2] == '=') : 0;
        uint32_t bits;
        if (!read_four(text + i, 4 - padding, &bits))
            return false;
        for (unsigned byte = 0; byte < 3 - padding; byte++)
            bytes[(*count)++] = (unsigned char)(bits >> (16 - 8 * byte));
        if ((bits & (padding == 2 ? 0xFFFFU : padding == 1 ? 0xFFU : 0U)) != 0)
            return false; /* the last character has bits that belong to no byte */
    }
    ELAPSE__ASSERT_THAT(*count, <=, length / 4 * 3);
    return true;
}
