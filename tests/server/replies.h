/*
 * Replies of both protocols, taken apart by clients of tests. A reply may not have come as a whole:
 * then `is_short` is set, and what was taken means nothing.
 */
#ifndef ELAPSE_TESTS_SERVER_REPLIES_H
#define ELAPSE_TESTS_SERVER_REPLIES_H

#include <stdbool.h>
#include <stddef.h>

struct reply {
    const char *at, *end;
    bool is_short;
};

/* Takes a line without its end. */
const char *reply_line(struct reply *reply, size_t *size);

/* Takes bytes, and the end of a line behind them. */
const char *reply_bytes(struct reply *reply, size_t size);

/* Takes a number, or a string as it is; of another value only the begin. */
const char *reply_value(struct reply *reply, size_t *size);

/* Takes a whole value of RESP, whatever it has inside. Returns its first line. */
const char *reply_skip(struct reply *reply);

/* Whether a line begins so. */
bool reply_begins(const char *line, const char *word);

#endif
