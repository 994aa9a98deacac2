/*
 * Reads commands in RESP, the protocol of Redis: arrays of bulk strings. Bytes in, arguments out.
 *
 *      *3\r\n $6\r\nCANCEL\r\n $6\r\norders\r\n $4\r\n4711\r\n
 *
 * The caller keeps the bytes in one piece, from the beginning of the command on. A parser remembers
 * how far it has read, so a command that comes in many pieces is read at most twice. It allocates
 * nothing and copies nothing, and it says how many bytes it needs only after it has checked them
 * against the limits.
 *
 * Wrong bytes are one of these:
 *   refused   The command is well formed, but longer than a limit. Its bytes are consumed as they
 *             come and never kept; the connection goes on.
 *   broken    The bytes are no RESP, or a number in them is beyond all reason. The bytes after them
 *             cannot be understood, so the connection has to be closed.
 *
 * Commands that are not arrays (what Redis calls inline commands) are broken, because on the same
 * port beanstalkd's protocol has such lines. An empty line between commands is ignored; redis-cli
 * --pipe sends one.
 */
#ifndef ELAPSE__WIRE_RESP_PARSE_H
#define ELAPSE__WIRE_RESP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* How many arguments a command may have, with its name. An ACK of the jobs of the largest
     * RESERVE has 2,001. */
    ELAPSE__WIRE_RESP_ARGUMENTS_MAX = 2048,
    /* How many bytes a command may have beside its longest argument: room for 2,048 keys and their
     * headers. */
    ELAPSE__WIRE_RESP_OTHER_BYTES_MAX = 600 << 10,
    /* A command that exceeds these limits is broken, not refused. */
    ELAPSE__WIRE_RESP_REFUSED_ARGUMENTS_MAX = 1 << 20,
    ELAPSE__WIRE_RESP_REFUSED_BYTES_MAX = 512 << 20,
};

struct elapse__wire_resp_argument {
    const unsigned char *bytes; /* in the caller's bytes; never NULL */
    uint32_t size;
};

enum elapse__wire_resp_outcome {
    ELAPSE__WIRE_RESP_MORE,     /* the command is not whole yet */
    ELAPSE__WIRE_RESP_COMMAND,  /* `count` arguments */
    ELAPSE__WIRE_RESP_EMPTY,    /* an empty line in place of a command: it means nothing */
    ELAPSE__WIRE_RESP_TOO_MANY, /* refused: more than ELAPSE__WIRE_RESP_ARGUMENTS_MAX */
    ELAPSE__WIRE_RESP_TOO_LONG, /* refused: an argument, or all together, have too many bytes */
    ELAPSE__WIRE_RESP_BROKEN,   /* `error` says why */
};

struct elapse__wire_resp_parsed {
    enum elapse__wire_resp_outcome outcome;
    uint32_t count;
    /* How many bytes the caller has to drop: those of a whole command or line, and those that have
     * come of a refused command, with MORE too. The next call begins after them. */
    size_t consumed;
    /* With MORE: the next call needs at least so many bytes after those consumed. At most what
     * elapse__wire_resp_bytes_max returns. */
    size_t wanted;
    const char *error; /* BROKEN: a phrase; static */
};

/* The fields are private. A new parser is all zeros but for `argument_bytes_max`. */
struct elapse__wire_resp_parser {
    uint32_t
        argument_bytes_max; /* the longest argument; up to ELAPSE__WIRE_RESP_REFUSED_BYTES_MAX */
    uint32_t count;         /* arguments of the command; 0: its header has not come */
    uint32_t whole;         /* arguments that have come */
    uint32_t bulk;          /* bytes of the next argument */
    bool in_bulk;           /* the header of the next argument has come */
    enum elapse__wire_resp_outcome refused; /* MORE: not refused */
    size_t at;                              /* bytes read */
};

/* Returns the most bytes that a command has, and so the most that a caller has to keep. */
size_t elapse__wire_resp_bytes_max(const struct elapse__wire_resp_parser *parser);

/*
 * Reads on. `bytes` begin after the bytes that the last call has consumed. They may lie elsewhere
 * than at the last call. `arguments` has room for ELAPSE__WIRE_RESP_ARGUMENTS_MAX, and is filled
 * when the outcome is COMMAND. After BROKEN the parser must not be called again.
 */
struct elapse__wire_resp_parsed
elapse__wire_resp_parse(struct elapse__wire_resp_parser *parser, const unsigned char *bytes,
                        size_t size, struct elapse__wire_resp_argument *arguments);

#endif
