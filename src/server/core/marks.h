/*
 * The marks and leavings of a connection. `held` is the buffer of bytes that may not leave yet. A
 * mark says which gate some bytes of `held` have: the position of the journal that must be durable
 * before they leave. A leaving is a hand-out whose reply is on its way to the client. inner.h has a
 * picture.
 */
#ifndef ELAPSE__CORE_MARKS_H
#define ELAPSE__CORE_MARKS_H

#include "inner.h"

/* Adds a mark with the gate of the reply that the running command has appended to `held`. If that
 * gate lies in the same group as the gate of the last mark, extends the last mark instead. */
void elapse__reply_marks_close_reply(struct elapse__connection *connection);

/* Puts a reply without bytes behind the last mark. Returns false if there is no memory. */
bool elapse__reply_marks_add_reply(struct elapse__connection *connection,
                                   struct elapse__server_reply *reply);

/* These two functions drop the first mark and the last mark. Both require that there is a mark. */
void elapse__reply_marks_drop_first(struct elapse__connection *connection);
void elapse__reply_marks_drop_last(struct elapse__connection *connection);

/* Returns mark number `place`, counted from 0. Requires that there are more than `place` marks. */
struct elapse__reply_mark *elapse__reply_marks_at(const struct elapse__connection *connection,
                                                  uint32_t place);

/* Returns whether the first mark waits only for its gate. */
bool elapse__reply_marks_wait_for_journal(const struct elapse__connection *connection);

/* Adds a hand-out whose reply ends where `out` ends now. Returns false if there is no memory. */
bool elapse__leavings_add(struct elapse__connection *connection,
                          const struct elapse__queue_handed *handed);

/* Returns the oldest leaving. Requires that there is one. */
struct elapse__leaving *elapse__leavings_first(const struct elapse__connection *connection);

/* Drops the oldest leaving. Requires that there is one. */
void elapse__leavings_drop_first(struct elapse__connection *connection);

#endif
