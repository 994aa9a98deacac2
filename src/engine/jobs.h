/*
 * Declares the functions for the queue of an engine. The files life.c, hand_out.c and follow.c of
 * this room use them.
 */
#ifndef ELAPSE__ENGINE_JOBS_H
#define ELAPSE__ENGINE_JOBS_H

#include "engine.h"

enum { ELAPSE__ENGINE_EPOCH_BYTES = 4 };

static inline struct elapse__queue_now elapse__engine_present(const struct elapse__engine *engine)
{
    return engine->batch != NULL ? *engine->batch : engine->now();
}

/* Replays a record of the log into the queue. `context` is the engine. */
int elapse__engine_replay(void *context, uint64_t position, const struct elapse__record *record,
                          struct elapse__record_sink *sink);

/* Makes an empty queue with the engine's options. Requires that the engine has no queue. Returns
 * false if there is no memory. */
bool elapse__engine_new_jobs(struct elapse__engine *engine);

/* Forgets everything that was replayed. `context` is the engine. Returns 0 or ENOMEM. */
int elapse__engine_forget(void *context);

/* Writes the number of the life. Returns 0, or the error of the sink. */
int elapse__engine_write_epoch(struct elapse__engine *engine, enum elapse__record_purpose purpose);

/* Returns the error number for a result: 0, ENOMEM or EBADMSG. */
int elapse__engine_errno(enum elapse__queue_result result);

#endif
