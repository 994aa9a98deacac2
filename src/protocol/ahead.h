/*
 * A quick look at a command that has not its turn yet: which job it names, and where it ends. The
 * answer is a guess, from which nothing but a request for memory may follow: the parsers decide
 * what a command is.
 *
 *      delete 4711\r\n                                               an id
 *      *2\r\n $8\r\nCANCELID\r\n $4\r\n4711\r\n                      an id
 *      *3\r\n $6\r\nCANCEL\r\n $6\r\norders\r\n $2\r\nk1\r\n         a tube and a key
 *      put 0 0 60 2\r\nab\r\n                                        no job
 */
#ifndef ELAPSE__WIRE_AHEAD_H
#define ELAPSE__WIRE_AHEAD_H

#include "resp_parse.h"

struct elapse__wire_ahead {
    size_t size; /* bytes of the command; 0: they are not all here, or the guess fails */
    uint64_t id; /* 0: none */
    struct elapse__wire_resp_argument tube, key; /* size 0: none */
};

/* Looks at the command at the beginning of `bytes`. Cost: O(arguments), or the length of a line. */
struct elapse__wire_ahead elapse__wire_look_ahead(const unsigned char *bytes, size_t size);

#endif
