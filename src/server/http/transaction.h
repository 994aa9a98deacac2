/*
 * A transaction is one request with many commands. It becomes MULTI, the commands, and EXEC.
 *
 *      POST /api/v1/transaction {"commands":[{"command":"ack","jobs":[...]},
 *                                            {"command":"put","tube":"mails","body":"b"}]}
 *      200 {"results":[{"results":["ok"]},{"id":"7","result":"scheduled"}]}
 *      409 {"error":{"code":"LEASE_ENDED",...}}     a lease of a command "leased" has ended
 */
#ifndef ELAPSE__HTTP_TRANSACTION_H
#define ELAPSE__HTTP_TRANSACTION_H

#include "translate.h"

/* The commands of a transaction. The struct begins as zeros. */
struct elapse__http_parts {
    enum elapse__http_operation *answered_as; /* of each command; the owner frees it by free() */
    size_t count;
};

/* Appends the commands to `command`. On failure returns false, and stores why. */
bool elapse__http_translate_transaction(const struct elapse__http_request *request,
                                        struct elapse__buffer *command,
                                        struct elapse__http_parts *parts,
                                        struct elapse__http_fault *fault);

/* Returns how many replies come: to MULTI, to each command, and to EXEC. */
static inline uint64_t elapse__http_transaction_replies(const struct elapse__http_parts *parts)
{
    return (uint64_t)parts->count + 2;
}

/* Appends the body of the answer. Requires all replies, or only the reply to MULTI if that is an
 * error. Returns the status. */
int elapse__http_answer_transaction(const struct elapse__http_parts *parts, const uint8_t *bytes,
                                    size_t size, struct elapse__json *json);

#endif
