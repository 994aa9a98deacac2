/*
 * Reads commands in RESP, the protocol of Redis. A command is an array of bulk strings. The parser
 * takes bytes, and returns the arguments of a command.
 *
 *      *3\r\n $6\r\nCANCEL\r\n $6\r\norders\r\n $4\r\n4711\r\n
 *
 * The caller keeps the bytes in one piece, from the beginning of the command on. A parser remembers
 * how far it has read, so a command that comes in many pieces is read at most twice. A parser
 * allocates nothing and copies nothing. It checks the size of a command against the limits before
 * it says how many bytes it needs.
 *
 * Wrong bytes are one of these:
 *     refused   The command is well formed, but exceeds a limit. Its bytes are consumed as they
 * come, and are never kept. The connection goes on. broken    The bytes are no RESP, or a number in
 * them is far too large. The bytes after them cannot be understood, so the connection must be
 * closed.
 *
 * A command that is not an array (Redis calls it an inline command) is broken, because clients of
 * beanstalkd send such lines to the same port. An empty line between commands is ignored, because
 * redis-cli --pipe sends one.
 */
#ifndef ELAPSE__WIRE_RESP_PARSE_H
#define ELAPSE__WIRE_RESP_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* The greatest number of arguments of a command, with its name. An ACK of all jobs of the
     * largest RESERVE has 2,001 arguments. */
    ELAPSE__WIRE_RESP_ARGUMENTS_MAX = 2048,
    /* The greatest number of bytes that a command may have beside its longest argument. These bytes
     * have room for 2,048 keys and their headers. */
    ELAPSE__WIRE_RESP_OTHER_BYTES_MAX = 600 << 10,
    /* A command that exceeds these limits is broken, not refused. */
    ELAPSE__WIRE_RESP_REFUSED_ARGUMENTS_MAX = 1 << 20,
    ELAPSE__WIRE_RESP_REFUSED_BYTES_MAX = 512 << 20,
};

struct elapse__wire_resp_argument {
    const unsigned char *bytes; /* points into the bytes of the caller; never NULL */
    uint32_t size;
};

enum elapse__wire_resp_outcome {
    ELAPSE__WIRE_RESP_MORE,     /* the command is not whole yet */
    ELAPSE__WIRE_RESP_COMMAND,  /* a whole command with `count` arguments */
    ELAPSE__WIRE_RESP_EMPTY,    /* an empty line in place of a command: it means nothing */
    ELAPSE__WIRE_RESP_TOO_MANY, /* refused: more than ELAPSE__WIRE_RESP_ARGUMENTS_MAX */
    ELAPSE__WIRE_RESP_TOO_LONG, /* refused: an argument, or all together, have too many bytes */
    ELAPSE__WIRE_RESP_BROKEN,   /* `error` says why */
};

struct elapse__wire_resp_parsed {
    enum elapse__wire_resp_outcome outcome;
    uint32_t count;
    /* How many bytes the caller must drop. These are the bytes of a whole command or line, and the
     * bytes of a refused command that have come, also if the outcome is MORE. The next call begins
     * after these bytes. */
    size_t consumed;
    /* With MORE: the least number of bytes after the consumed bytes that the next call needs. This
     * number is at most elapse__wire_resp_bytes_max. */
    size_t wanted;
    const char *error; /* BROKEN: a phrase that says what is wrong; static */
};

/* The fields are private. A new parser is all zeros but for `argument_bytes_max`. */
struct elapse__wire_resp_parser {
    uint32_t argument_bytes_max; /* the most bytes of an argument: up to
                                    ELAPSE__WIRE_RESP_REFUSED_BYTES_MAX */
    uint32_t count; /* the number of arguments; 0: the header of the command has not come */
    uint32_t whole; /* how many arguments have come */
    uint32_t bulk;  /* how many bytes the next argument has */
    bool in_bulk;   /* the header of the next argument has come */
    enum elapse__wire_resp_outcome refused; /* why the command is refused; MORE: it is not */
    size_t at;                              /* how many bytes were read */
};

/* Returns the greatest number of bytes of a command. A caller never has to keep more bytes. */
size_t elapse__wire_resp_bytes_max(const struct elapse__wire_resp_parser *parser);

/*
 * Goes on parsing. `bytes` must begin after the bytes that the last call has consumed. The address
 * of the bytes may differ from that of the last call. `arguments` must have room for
 * ELAPSE__WIRE_RESP_ARGUMENTS_MAX arguments. They are filled in if the outcome is COMMAND. After
 * BROKEN the parser must not be called again.
 */
struct elapse__wire_resp_parsed
elapse__wire_resp_parse(struct elapse__wire_resp_parser *parser, const unsigned char *bytes,
                        size_t size, struct elapse__wire_resp_argument *arguments);

#endif
