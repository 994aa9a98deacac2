/*
 * What the calling thread is inside of: the actions, destructors and hooks whose calls
 * lie on its stack, innermost first.
 */
#ifndef ELAPSE__INSIDE_H
#define ELAPSE__INSIDE_H

#include "scheduler.h"

struct elapse__inside {
    const struct elapse__inside *outer;
    const struct elapse_scheduler *scheduler;
    struct elapse_handle handle; /* of the task whose action it is; zeros if it is none */
};

/* From here until leave, with the same struct, the thread is inside. */
void elapse__enter(struct elapse__inside *inside, const struct elapse_scheduler *scheduler,
                   struct elapse_handle handle);
void elapse__leave(const struct elapse__inside *inside);

/* Calls the destructor, unless it is NULL, as inside. No lock is held. */
void elapse__destroy(const struct elapse_scheduler *scheduler, elapse_destroy_function *destroy,
                     void *context);

/* Lets go of what remains of a task: releases memory, then destroys the context. */
void elapse__let_go(const struct elapse_scheduler *scheduler,
                    const struct elapse__remains *remains);

bool elapse__is_inside(const struct elapse_scheduler *scheduler);
bool elapse__is_inside_task(const struct elapse_scheduler *scheduler, struct elapse_handle handle);

#endif
