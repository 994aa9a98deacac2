/*
 * Writes the reply of HISTORY: a map from the name of each field to an array, with one place for
 * each minute. So a day takes some 60 kB, and a map for each minute would take six times as much.
 */
#ifndef ELAPSE__PROTOCOL_HISTORY_REPLY_H
#define ELAPSE__PROTOCOL_HISTORY_REPLY_H

#include "../base/history.h"
#include "resp_write.h"

/* How many fields there are, and how many bytes the head and one field of `count` minutes may take.
 */
extern const unsigned elapse__history_fields;
size_t elapse__history_field_bytes(unsigned count);

/* Writes the head of the map; behind it comes each field, from 0 on. */
void elapse__history_write_head(struct elapse__wire_resp_writer *writer);

/* Writes the name of a field, and its values in the last `count` minutes, the oldest one first.
 * Requires that the history has so many. */
void elapse__history_write_field(struct elapse__wire_resp_writer *writer,
                                 const struct elapse__history *history, unsigned count,
                                 unsigned field);

#endif
