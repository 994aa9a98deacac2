/*
 * Writes the reply of HISTORY, which is a map. The value of each field is an array with one element
 * for each minute. In this form a day takes some 110 kB. A map for each minute would take four
 * times as much.
 */
#ifndef ELAPSE__PROTOCOL_HISTORY_REPLY_H
#define ELAPSE__PROTOCOL_HISTORY_REPLY_H

#include "../base/history.h"
#include "resp_write.h"

enum { ELAPSE__HISTORY_COST = 500 }; /* a reply takes as long as this many short commands */

/* The variable is the number of fields. The function returns how many bytes the head and one field
 * of `count` minutes may take. */
extern const unsigned elapse__history_fields;
size_t elapse__history_field_bytes(unsigned count);

/* Writes the head of the map. The caller writes each field after it, from field 0 on. */
void elapse__history_write_head(struct elapse__wire_resp_writer *writer);

/* Writes the name of a field, and its values in the last `count` minutes. The oldest value comes
 * first. Requires that the history has `count` minutes. */
void elapse__history_write_field(struct elapse__wire_resp_writer *writer,
                                 const struct elapse__history *history, unsigned count,
                                 unsigned field);

#endif
