/*
 * Completes the replies of reserves and looks that have jobs. inner.h explains replies without
 * bytes, hands and the budget.
 */
#ifndef ELAPSE__CORE_HAND_OVER_H
#define ELAPSE__CORE_HAND_OVER_H

#include "inner.h"

/* Does what can be done now for the first reply of a connection: reads the bodies, begins the
 * leases, formats the reply. Returns true if the reply was formatted and released. */
bool elapse__reply_advance(struct elapse__server_reply *reply);

/* Undoes a reply of a closed connection, as far as the budget goes. Returns true when the reply is
 * undone and released. */
bool elapse__reply_undo(struct elapse__server_reply *reply);

/* Releases a reply when the process ends, and leaves its jobs as they are. */
void elapse__reply_drop(struct elapse__server_reply *reply);

#endif
