#include "json_text.h"

#include <stdbool.h>

#include "../../protocol/base64.h"
#include "json.h"
#include "text.h"

static bool is_utf8(const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t character = character_length(text + at, length - at);
        if (character == 0)
            return false;
        at += character;
    }
    return true;
}

void json_add_text(struct buffer *buffer, const char *name, const char *text, size_t length)
{
    bool is_plain = is_utf8(text, length);

    buffer_add_format(buffer, "\"%s%s\":", name, is_plain ? "" : "_base64");
    if (is_plain) {
        char *out = buffer_reserve(buffer, JSON_STRING_ROOM(length));
        char *end = json_write_string(out, text, length);
        *end = '\0';
        buffer->length += (size_t)(end - out);
        return;
    }
    char *out = buffer_reserve(buffer, ELAPSE__BASE64_ROOM(length) + 2);
    char *end = out;
    *end++ = '"';
    end = elapse__base64_write(end, (const unsigned char *)text, length);
    *end++ = '"';
    *end = '\0';
    buffer->length += (size_t)(end - out);
}
