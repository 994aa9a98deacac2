/*
 * The queue of an engine, for the files of this room: life.c, hand_out.c and follow.c, which takes
 * records of other journals.
 */
#ifndef ELAPSE__ENGINE_JOBS_H
#define ELAPSE__ENGINE_JOBS_H

#include "engine.h"

enum { ELAPSE__ENGINE_EPOCH_BYTES = 4 };

static inline struct elapse__queue_now elapse__engine_present(const struct elapse__engine *engine)
{
    return engine->batch != NULL ? *engine->batch : engine->now();
}

/* Takes a record of the log. `context` is the engine. */
int elapse__engine_replay(void *context, uint64_t position, const struct elapse__record *record,
                          struct elapse__record_sink *sink);

/* Makes an empty queue by the engine's options. Requires that there is none. Returns false if there
 * is no memory. */
bool elapse__engine_new_jobs(struct elapse__engine *engine);

/* Forgets everything that was replayed. Returns 0 or ENOMEM. `context` is the engine. */
int elapse__engine_forget(void *context);

/* Writes the number of the life. Returns 0 or the error of the sink. */
int elapse__engine_write_epoch(struct elapse__engine *engine, enum elapse__record_purpose purpose);

/* Returns the error number of a result: 0, ENOMEM or EBADMSG. */
int elapse__engine_errno(enum elapse__queue_result result);

#endif
