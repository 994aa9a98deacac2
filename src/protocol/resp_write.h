/*
 * Writes replies in RESP2 and RESP3, the protocol of Redis.
 *
 * A writer appends to memory of the caller. If a reply does not fit, it is cut off, and `too_small`
 * is set; the caller never sends such a reply. A caller that knows the greatest size of the reply
 * need not look at `too_small`.
 */
#ifndef ELAPSE__WIRE_RESP_WRITE_H
#define ELAPSE__WIRE_RESP_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Room for an integer, and for everything of a string, an array or a map that is not its
     * content. */
    ELAPSE__WIRE_RESP_FRAME_MAX = 24,
};

struct elapse__wire_resp_writer {
    unsigned char *bytes;
    size_t size;     /* bytes written */
    size_t capacity; /* of `bytes` */
    bool resp3;      /* the client has said HELLO 3 */
    bool too_small;
};

/* Writes a word of the protocol, which is short and has no control character. */
void elapse__wire_resp_write_word(struct elapse__wire_resp_writer *writer, const char *word);

/* Writes an error: its code, a blank, and its text. Characters that are not printable are written
 * as '?', so that words of a client may be repeated in it. */
void elapse__wire_resp_write_error(struct elapse__wire_resp_writer *writer, const char *text);

void elapse__wire_resp_write_integer(struct elapse__wire_resp_writer *writer, int64_t value);

/* Write a string of any bytes. */
void elapse__wire_resp_write_bytes(struct elapse__wire_resp_writer *writer, const void *bytes,
                                   size_t size);
void elapse__wire_resp_write_text(struct elapse__wire_resp_writer *writer, const char *text);

/* Write what stands before and after the bytes of a string. The caller appends the bytes. */
void elapse__wire_resp_write_bytes_begin(struct elapse__wire_resp_writer *writer, size_t size);
void elapse__wire_resp_write_bytes_end(struct elapse__wire_resp_writer *writer);

/* Writes a null, which in RESP2 is a string of the length -1. */
void elapse__wire_resp_write_null(struct elapse__wire_resp_writer *writer);

/* Writes null in the place of an array, as EXEC does. */
void elapse__wire_resp_write_no_array(struct elapse__wire_resp_writer *writer);

/* Writes a boolean, which in RESP2 is 1 or 0. */
void elapse__wire_resp_write_boolean(struct elapse__wire_resp_writer *writer, bool value);

/* Writes the head of an array: `count` values follow. */
void elapse__wire_resp_write_array(struct elapse__wire_resp_writer *writer, size_t count);

/* Writes the head of a map: `pairs` names and values follow, in turn. RESP2 has an array of both.
 */
void elapse__wire_resp_write_map(struct elapse__wire_resp_writer *writer, size_t pairs);

#endif
