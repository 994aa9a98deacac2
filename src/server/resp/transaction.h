/*
 * Transactions. A transaction is the commands between MULTI and EXEC.
 *
 *           MULTI                      EXEC
 *      none ------> open ---------------------------------> none     all are done, or none
 *                    |   DISCARD, RESET, the end                     (LEASED: a lease has ended)
 *                    |
 *                    | a wrong command, too many of them, no memory, ELAPSE__KEPT_MS of silence
 *                    v
 *                 spoiled ---------------------------------> none    -EXECABORT: nothing is done
 *
 * A command is checked and kept when it comes. EXEC runs the functions of the commands twice. The
 * first time, they collect the changes, and the queue makes all changes in one group
 * (src/queue/transact.h). The second time, they reply with the answers.
 */
#ifndef ELAPSE__RESP_TRANSACTION_H
#define ELAPSE__RESP_TRANSACTION_H

#include "resp.h"

/* Keeps a command for EXEC, and replies with QUEUED or with an error. Requires that the connection
 * has a transaction. */
enum elapse__session_step elapse__resp_queue(const struct elapse__resp_call *call);

/* Spoils the transaction, if there is one, because one of its commands was refused. The EXEC of a
 * spoiled transaction does nothing. */
void elapse__resp_spoil(struct elapse__connection *connection);

/* Spoils the transaction of a client that has sent nothing for too long. */
void elapse__resp_kept_too_long(struct elapse__connection *connection);

/* Ends the transaction, if there is one. None of its commands is done. */
void elapse__resp_transaction_end(struct elapse__connection *connection);

#endif
