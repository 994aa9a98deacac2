/*
 * Looks quickly at a command whose turn has not come yet. Finds which job the command names, and
 * where the command ends. The answer is a guess, because the parsers decide what a command is. So
 * the only use of the answer is to ask for memory before it is needed.
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
    size_t size; /* the bytes of the command; 0: some have not come, or the guess failed */
    uint64_t id; /* the id of the job; 0: the command names no id */
    struct elapse__wire_resp_argument tube, key; /* of size 0: the command names no key */
};

/* Looks at the command at the beginning of `bytes`, and returns the guess. Cost: O(arguments), or
 * the length of a line. */
struct elapse__wire_ahead elapse__wire_look_ahead(const unsigned char *bytes, size_t size);

#endif
