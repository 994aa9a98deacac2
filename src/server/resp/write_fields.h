/*
 * Writes the fields of replies: a macro for each kind of src/protocol/reply_fields.h.
 */
#ifndef ELAPSE__RESP_WRITE_FIELDS_H
#define ELAPSE__RESP_WRITE_FIELDS_H

#include "../../protocol/reply_fields.h"
#include "reply.h"

#define ELAPSE__RESP_WRITE_ID(writer, value)        elapse__resp_write_number(writer, value)
#define ELAPSE__RESP_WRITE_NUMBER(writer, value)    elapse__resp_write_number(writer, value)
#define ELAPSE__RESP_WRITE_DURATION(writer, value)  elapse__resp_write_number(writer, value)
#define ELAPSE__RESP_WRITE_MOMENT(writer, value)    elapse__wire_resp_write_integer(writer, value)
#define ELAPSE__RESP_WRITE_YES_OR_NO(writer, value) elapse__wire_resp_write_boolean(writer, value)
#define ELAPSE__RESP_WRITE_TEXT(writer, value) \
    elapse__wire_resp_write_bytes(writer, (value).bytes, (value).size)
#define ELAPSE__RESP_WRITE_NAME(writer, value)  elapse__resp_write_name(writer, value)
#define ELAPSE__RESP_WRITE_LEASE(writer, value) elapse__resp_write_lease(writer, value)

/* In the place of X: counts the rows. */
#define ELAPSE__RESP_COUNT_ROW(...) +1

/* Writes a number. RESP has none above INT64_MAX, which stands for all of these. */
void elapse__resp_write_number(struct elapse__wire_resp_writer *writer, uint64_t value);

/* Writes a key or a tag; null if it is empty. */
void elapse__resp_write_name(struct elapse__wire_resp_writer *writer,
                             struct elapse__queue_text text);

/* Writes a lease, "<life>-<number>"; null if its number is 0, which no lease has. */
void elapse__resp_write_lease(struct elapse__wire_resp_writer *writer,
                              struct elapse__queue_lease lease);

#endif
