/*
 * Elapse: going through the tasks of a scheduler, some at a time, while other threads change them.
 * <elapse/scheduler.h> makes the scheduler and includes this header.
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
 * - Threads: any thread may call it at any time between new and free, also from inside an action or
 *   a destructor. One cursor must not be used by two threads at once.
 * - Pointers must not be NULL unless NULL has a stated meaning.
 * - Errors: it cannot fail.
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

/* How much of a key is listed, in bytes. */
#define ELAPSE_LISTED_KEY_BYTES 64

/* How far a list has come. Begin with zeros. It owns nothing, so a list may be left at any point.
 * All fields are private. */
struct elapse_list_cursor {
    uint32_t shard;
    uint32_t index;
};

/* A task, as it was when it was listed. */
struct elapse_listed {
    struct elapse_handle handle;       /* names the task */
    enum elapse_task_state state;      /* PENDING or RUNNING */
    enum elapse_recurrence recurrence; /* NEVER: it runs once */
    bool runs_again;                   /* RUNNING: it recurs, or was rescheduled meanwhile */
    bool wall_clock;                   /* deadline_ns is a wall-clock time */
    /* The deadline, rounded up to a tick, for which it is pending or was begun. */
    uint64_t deadline_ns;
    elapse_action_function *action; /* as scheduled */
    /* As scheduled. It may be destroyed as soon as the task ends, which may be before the call
     * returns. */
    void *context;
    uint64_t period_ns; /* PERIOD and AFTER_EACH */
    size_t key_bytes;   /* length of the whole key; 0: the task has no key */
    /* The first bytes of the key. elapse_task_key copies the whole key if it is longer. */
    unsigned char key[ELAPSE_LISTED_KEY_BYTES];
};

/*
 * Stores the next tasks in `listed`, up to `capacity` of them, in no particular order. Tasks that
 * are pending and tasks that are running are listed. Returns how many were stored. Returns 0 only
 * when the list has come to its end. Requires a capacity above 0.
 * Cost: all calls of a list together take O(places that tasks have had since the last trim). Each
 * holding of a lock examines at most 256 of them.
 */
ELAPSE_API size_t elapse_task_list(struct elapse_scheduler *scheduler,
                                   struct elapse_list_cursor *cursor, struct elapse_listed *listed,
                                   size_t capacity);

/*
 * Lists as elapse_task_list does, but only the tasks with a key that begins with the `prefix_bytes`
 * bytes at `prefix`; NULL and 0: all tasks with a key.
 * Cost: as elapse_task_list; it examines tasks with other keys too.
 */
ELAPSE_API size_t elapse_task_list_keys(struct elapse_scheduler *scheduler, const void *prefix,
                                        size_t prefix_bytes, struct elapse_list_cursor *cursor,
                                        struct elapse_listed *listed, size_t capacity);

/*
 * Copies the key of a task to `key`, up to `capacity` bytes. Returns the length of the whole key; 0
 * if the task has no key or is gone. `key` may be NULL if `capacity` is 0.
 * Cost: O(key), a lock.
 */
ELAPSE_API size_t elapse_task_key(struct elapse_scheduler *scheduler, struct elapse_handle handle,
                                  void *key, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
