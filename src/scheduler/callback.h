/*
 * Calls the user's code, and knows which actions, destructors and hooks the calling thread is in.
 * Each of these calls has a struct elapse__callback on the stack of the thread. The structs form a
 * chain that begins with the innermost call.
 */
#ifndef ELAPSE__CALLBACK_H
#define ELAPSE__CALLBACK_H

#include "scheduler.h"
#include "shard_steps.h"

struct elapse__callback {
    const struct elapse__callback *outer;
    const struct elapse_scheduler *scheduler;
    struct elapse_handle handle; /* the task whose action or destructor runs; zeros: no task */
};

/* Call enter before the user's code and leave after it, with the same struct. Both require that no
 * lock is held. */
void elapse__callback_enter(struct elapse__callback *callback,
                            const struct elapse_scheduler *scheduler, struct elapse_handle handle);
void elapse__callback_leave(const struct elapse__callback *callback);

/* Calls the destructor, if there is one. `handle` is the handle that the task had; zeros if the
 * task had none. Requires that no lock is held. */
void elapse__destroy(const struct elapse_scheduler *scheduler,
                     const struct elapse__destructor *destructor, void *context,
                     enum elapse_end reason, struct elapse_handle handle);

/* Releases the memory that an ended task leaves behind, then destroys its context. Requires that
 * no lock is held. */
void elapse__ended_task_dispose(struct elapse_scheduler *scheduler,
                                struct elapse__ended_task *ended);

/* Returns how often destructors have released their keys since closing began. */
uint64_t elapse__keys_released(struct elapse_scheduler *scheduler);

/* Waits until elapse__keys_released would not return `before` any more, but no longer than until
 * `until_ns` by the monotonic clock; ELAPSE_NEVER: without end. Returns false if that time came
 * first. */
bool elapse__wait_for_released_key(struct elapse_scheduler *scheduler, uint64_t before,
                                   uint64_t until_ns);

/* Returns whether this scheduler has called the user's code on this thread, and the code has not
 * returned. */
bool elapse__in_callback(const struct elapse_scheduler *scheduler);

/* Returns whether the calling thread is inside the action or the destructor of this task. */
bool elapse__in_action_of(const struct elapse_scheduler *scheduler, struct elapse_handle handle);

#endif
