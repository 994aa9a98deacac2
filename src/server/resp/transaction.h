/*
 * Transactions: the commands that stand between MULTI and EXEC.
 *
 *           MULTI                      EXEC
 *      none ------> open ---------------------------------> none     all are done, or none
 *                    |   DISCARD, RESET, the end                     (LEASED: a lease has ended)
 *                    |
 *                    | a wrong command, too many of them, no memory, ELAPSE__KEPT_MS of silence
 *                    v
 *                 spoiled ---------------------------------> none    -EXECABORT: nothing is done
 *
 * A command is checked when it comes, and kept. EXEC runs the functions of the commands twice:
 * first to collect their changes, which the queue makes in one group (src/queue/transact.h); then
 * to reply with the answers.
 */
#ifndef ELAPSE__RESP_TRANSACTION_H
#define ELAPSE__RESP_TRANSACTION_H

#include "resp.h"

/* Keeps a command for EXEC, and replies QUEUED or an error. Requires a transaction. */
enum elapse__session_step elapse__resp_queue(const struct elapse__resp_call *call);

/* Notes that a command of the transaction, if there is one, was refused: EXEC will do nothing. */
void elapse__resp_spoil(struct elapse__connection *connection);

/* Spoils the transaction of a client that has said nothing for too long. */
void elapse__resp_kept_too_long(struct elapse__connection *connection);

/* Ends the transaction, if there is one. Nothing of it is done. */
void elapse__resp_transaction_end(struct elapse__connection *connection);

#endif
