/*
 * Elapse: lists of the tasks of a scheduler. A list goes through all tasks, some at a time, while
 * other threads change them. <elapse/scheduler.h> makes the scheduler and includes this header.
 *
 *     struct elapse_list_cursor cursor = {0};
 *     struct elapse_listed listed[64];
 *     size_t count;
 *
 *     while ((count = elapse_task_list(scheduler, &cursor, listed, 64)) > 0)
 *         for (size_t i = 0; i < count; i++)
 *             printf("due at %" PRIu64 "\n", listed[i].deadline_ns);
 *
 * A list is not a picture of one moment. A task that exists from the first call to the last is
 * listed exactly once, however often it is rescheduled meanwhile. A task that is scheduled or ends
 * meanwhile is listed once or not at all. No handle is listed twice.
 *
 * The following holds for every function below, unless its comment says otherwise:
 * - Threads: any thread may call the function at any time between new and free, also from inside an
 *   action or a destructor. Two threads must not use one cursor at the same time.
 * - Pointers must not be NULL unless NULL has a stated meaning.
 * - Errors: the function cannot fail.
 * - Since: version 0.1.
 */
#ifndef ELAPSE_LIST_H
#define ELAPSE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/attributes.h>
#include <elapse/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many bytes of a key a list stores. */
#define ELAPSE_LISTED_KEY_BYTES 64

/* The place up to which a list has come. Begin with zeros. A cursor owns nothing, so a list may be
 * left at any point. All fields are private. */
struct elapse_list_cursor {
    uint32_t shard;
    uint32_t index;
};

/* A task, as it was when it was listed. */
struct elapse_listed {
    struct elapse_handle handle;       /* the handle of the task */
    enum elapse_task_state state;      /* PENDING or RUNNING */
    enum elapse_recurrence recurrence; /* NEVER: it runs once */
    bool runs_again;                   /* RUNNING: the task recurs, or was rescheduled meanwhile */
    bool wall_clock;                   /* deadline_ns is a wall-clock time */
    /* The deadline for which the task is pending or was begun, rounded up to a tick. */
    uint64_t deadline_ns;
    elapse_action_function *action; /* the action with which the task was scheduled */
    /* The context with which the task was scheduled. The context may be destroyed as soon as the
     * task ends, which may be before the call returns. */
    void *context;
    uint64_t period_ns; /* PERIOD and AFTER_EACH: the period */
    size_t key_bytes;   /* the length of the whole key; 0: the task has no key */
    /* The first bytes of the key. elapse_task_key copies the whole key if it is longer. */
    unsigned char key[ELAPSE_LISTED_KEY_BYTES];
};

/*
 * Stores the next tasks in `listed`, in no particular order, but at most `capacity` of them. Lists
 * tasks that are pending and tasks that are running. Returns how many tasks were stored. Returns 0
 * only if the list has come to its end. Requires a capacity above 0.
 * Cost: all calls of a list together take O(places that tasks have had since the last trim). A call
 * holds a lock for at most 256 places at a time.
 */
ELAPSE_API size_t elapse_task_list(struct elapse_scheduler *scheduler,
                                   struct elapse_list_cursor *cursor, struct elapse_listed *listed,
                                   size_t capacity);

/*
 * Lists tasks as elapse_task_list does, but only tasks with a key that begins with the
 * `prefix_bytes` bytes at `prefix`. If `prefix` is NULL and `prefix_bytes` is 0, lists all tasks
 * with a key.
 * Cost: that of elapse_task_list. The call examines tasks with other keys too.
 */
ELAPSE_API size_t elapse_task_list_keys(struct elapse_scheduler *scheduler, const void *prefix,
                                        size_t prefix_bytes, struct elapse_list_cursor *cursor,
                                        struct elapse_listed *listed, size_t capacity);

/*
 * Copies the key of a task to `key`, but at most `capacity` bytes of it. Returns the length of the
 * whole key. Returns 0 if the task has no key or is gone. `key` may be NULL if `capacity` is 0.
 * Cost: O(key), a lock.
 */
ELAPSE_API size_t elapse_task_key(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                                  void *key, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
