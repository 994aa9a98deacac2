/*
 * Polls of the inbox, on the thread of a runner.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_RUNNER_INBOX_H
#define ELAPSE__CLUSTER_POSTGRES_RUNNER_INBOX_H

#include "../ownership/statements.h"
#include "runner_core.h"

/* Begins a poll if one is due. Requires that neither a statement nor a poll is under way. */
void elapse__runner_poll_inbox(struct elapse__runner *runner, uint64_t now_ms);

/* Takes the result of the poll that is under way. */
void elapse__runner_take_inbox(struct elapse__runner *runner,
                               const struct elapse__statement_result *result);

/* Tells the inbox that the database has notified this session, if it has. */
void elapse__runner_tell_inbox(struct elapse__runner *runner);

/* Gives up a poll that takes too long, and closes the connection. */
void elapse__runner_limit_poll(struct elapse__runner *runner, uint64_t now_ms);

/* Returns when the inbox has something to do next. */
uint64_t elapse__runner_inbox_ms(const struct elapse__runner *runner);

#endif
