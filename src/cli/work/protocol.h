/*
 * Writes what a worker asks the server, and reads the answers. No function here has an effect.
 */
#ifndef ELAPSE_CLI_WORK_PROTOCOL_H
#define ELAPSE_CLI_WORK_PROTOCOL_H

#include <hiredis/hiredis.h>

#include "../client/request.h"
#include "worker.h"

#define PROTOCOL_WAIT_NS UINT64_C(10000000000) /* how long a reserve waits for a job */

/* Writes a request that reserves up to `count` jobs of these tubes. With `waits`, the server waits
 * until there is a job, up to PROTOCOL_WAIT_NS. */
void protocol_reserve(struct request *request, char *const *tubes, size_t tube_count, size_t count,
                      bool waits);

/* Writes the request that an effect (worker.h) asks for: a look, an extension, or how the work
 * ended. */
void protocol_ask_about(struct request *request, const struct work_effect *effect);

/* Reads the answer to how the work ended, or the answer to an extension for job number `place` of
 * it. */
enum work_answer protocol_read_word(const redisReply *reply, size_t place);

/* Reads the answer to a look: whether the job still has this lease, and how long its leases
 * last. */
enum work_answer protocol_read_look(const redisReply *reply, const char *lease, uint64_t *ttr_ns);

#endif
