#include "json_text.h"

#include <stdbool.h>

#include "../../base/base64.h"
#include "../../base/utf8.h"
#include "json.h"

void json_add_text(struct buffer *buffer, const char *name, const char *text, size_t length)
{
    bool is_plain = elapse__utf8_is(text, length);

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
