/*
 * Writes replies in RESP2 and RESP3, the protocol of Redis.
 *
 * A writer appends to memory of the caller. If a reply does not fit into the memory, the writer
 * cuts it off and sets `too_small`. The caller never sends such a reply. A caller that knows the
 * greatest size of the reply need not look at `too_small`.
 */
#ifndef ELAPSE__WIRE_RESP_WRITE_H
#define ELAPSE__WIRE_RESP_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Room for an integer, or for all bytes of a string, an array or a map that are not its
     * content. */
    ELAPSE__WIRE_RESP_FRAME_MAX = 24,
};

struct elapse__wire_resp_writer {
    unsigned char *bytes;
    size_t size;     /* how many bytes were written */
    size_t capacity; /* how many bytes fit into `bytes` */
    bool resp3;      /* the client has said HELLO 3 */
    bool too_small;
};

/* Writes a word of the protocol, which is short and has no control character. */
void elapse__wire_resp_write_word(struct elapse__wire_resp_writer *writer, const char *word);

/* Writes an error. `text` is its code, a blank, and what is wrong. A character that is not
 * printable is written as '?', so the text may repeat words of a client. */
void elapse__wire_resp_write_error(struct elapse__wire_resp_writer *writer, const char *text);

void elapse__wire_resp_write_integer(struct elapse__wire_resp_writer *writer, int64_t value);

/* Both functions write a string of any bytes. */
void elapse__wire_resp_write_bytes(struct elapse__wire_resp_writer *writer, const void *bytes,
                                   size_t size);
void elapse__wire_resp_write_text(struct elapse__wire_resp_writer *writer, const char *text);

/* The two functions write what stands before and after the bytes of a string. The caller appends
 * the bytes between the two calls. */
void elapse__wire_resp_write_bytes_begin(struct elapse__wire_resp_writer *writer, size_t size);
void elapse__wire_resp_write_bytes_end(struct elapse__wire_resp_writer *writer);

/* Writes a null. In RESP2 a null is a string of the length -1. */
void elapse__wire_resp_write_null(struct elapse__wire_resp_writer *writer);

/* Writes a null in the place of an array, as EXEC does. */
void elapse__wire_resp_write_no_array(struct elapse__wire_resp_writer *writer);

/* Writes a boolean. In RESP2 a boolean is the number 1 or 0. */
void elapse__wire_resp_write_boolean(struct elapse__wire_resp_writer *writer, bool value);

/* Writes the head of an array. The caller writes `count` values after it. */
void elapse__wire_resp_write_array(struct elapse__wire_resp_writer *writer, size_t count);

/* Writes the head of a map. The caller writes `pairs` names after it, each followed by its value.
 * In RESP2 a map is an array of the names and values. */
void elapse__wire_resp_write_map(struct elapse__wire_resp_writer *writer, size_t pairs);

#endif
