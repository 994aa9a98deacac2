#include "replies.h"

#include <stdlib.h>
#include <string.h>

const char *reply_line(struct reply *reply, size_t *size)
{
    for (const char *at = reply->at; at + 1 < reply->end; at++) {
        if (at[0] != '\r' || at[1] != '\n')
            continue;
        const char *line = reply->at;
        *size = (size_t)(at - line);
        reply->at = at + 2;
        return line;
    }
    reply->is_short = true;
    *size = 0;
    return "";
}

const char *reply_bytes(struct reply *reply, size_t size)
{
    const char *bytes = reply->at;

    if ((size_t)(reply->end - reply->at) < size + 2) {
        reply->is_short = true;
        return "";
    }
    reply->at += size + 2;
    return bytes;
}

const char *reply_value(struct reply *reply, size_t *size)
{
    const char *line = reply_line(reply, size);

    if (reply->is_short || *size == 0)
        return "";
    if (line[0] != '$' || line[1] == '-') {
        --*size;
        return line + 1;
    }
    *size = strtoul(line + 1, NULL, 10);
    return reply_bytes(reply, *size);
}

const char *reply_skip(struct reply *reply)
{
    size_t size;
    const char *line = reply_line(reply, &size);

    if (reply->is_short)
        return "";
    if (line[0] == '$' && line[1] != '-')
        (void)reply_bytes(reply, strtoul(line + 1, NULL, 10));
    else if ((line[0] == '*' || line[0] == '%') && line[1] != '-')
        for (unsigned long i = strtoul(line + 1, NULL, 10) << (line[0] == '%');
             i > 0 && !reply->is_short; i--)
            (void)reply_skip(reply);
    return line;
}

bool reply_begins(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}
