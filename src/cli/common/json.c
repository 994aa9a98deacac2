/*
 * JSON strings.
 */
#include "json.h"

#include <string.h>

#include "../../base/assert.h"
#include "../../base/json_escape.h"

char *json_write_string(char *out, const char *text, size_t length)
{
    char *begin = out;
    size_t done = 0;

    *out++ = '"';
    while (done < length) {
        struct elapse__json_piece piece = elapse__json_escape_next(text + done, length - done);
        memcpy(out, text + done, piece.plain);
        out += piece.plain;
        memcpy(out, piece.escape, piece.escape_size);
        out += piece.escape_size;
        done += piece.taken;
    }
    *out++ = '"';
    size_t written = (size_t)(out - begin);
    ELAPSE__ASSERT(written <= JSON_STRING_ROOM(length));
    return begin + written;
}
