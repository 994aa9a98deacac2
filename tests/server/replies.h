/*
 * Functions with which clients of tests read replies of both protocols, part by part. If a part has
 * not come yet, a function sets `is_short`. Then all parts taken so far are not valid, and the
 * client reads the reply again when more bytes have come.
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

/* Takes `size` bytes and the end of a line behind them. */
const char *reply_bytes(struct reply *reply, size_t size);

/* Takes a value of RESP if it is a number or a string. Of an array it takes only the first line. */
const char *reply_value(struct reply *reply, size_t *size);

/* Takes a whole value of RESP, also an array with all its items. Returns its first line. */
const char *reply_skip(struct reply *reply);

/* Returns whether a line begins with `word`. */
bool reply_begins(const char *line, const char *word);

#endif
