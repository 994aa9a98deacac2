/*
 * A thread for one partition: it joins the state machine, which decides (partition.h), with the
 * session in the database (link.h) and the clock.
 *
 *      any thread --> elapse__runner_submit, _trim, ... --> the runner's thread --> the database
 *                     callbacks on the runner's thread <--'
 *
 * Threads: any thread may call these functions, from within callbacks too, unless they say
 * otherwise. Callbacks come one at a time, on the runner's thread, without a lock held. While one
 * runs, the partition stands still: a lease that is not renewed ends after lease_ms.
 *
 * Times in milliseconds are those of the boot-time clock.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_RUNNER_H
#define ELAPSE__CLUSTER_POSTGRES_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../ownership/partition.h"

/* Callbacks beside those of struct elapse__partition_owner, with the same context. */
struct elapse__runner_calls {
    /* Writes the memory to the disk. Returns whether the disk has it; if not, this function is
     * called again. Until then nothing is answered (R7). */
    bool (*remember)(void *context, const struct elapse__partition_memory *memory);

    /* The partition is about to be handed over. After this call has returned, nothing is answered
     * any more: another node may own the partition at once. */
    void (*releasing)(void *context);

    /* The runner has handed over, or given up doing so: the last call. */
    void (*ended)(void *context);

    /* The cluster's time has changed: it is the boot-time clock plus `offset_ms`. Called before
     * `own`, and after each change. NULL: nobody wants to know. */
    void (*time_set)(void *context, int64_t offset_ms);

    /* The role, the owner or the epoch has changed. NULL: nobody wants to know. */
    void (*changed)(void *context);
};

struct elapse__inbox_poll;
struct elapse__inbox_row;

/* The functions of the partition's inbox: src/cluster/inbox/inbox.h. They take the lock of the
 * inbox. They are called while this node owns the partition, with the same context. */
struct elapse__runner_inbox {
    /* NULL: there is no inbox. */
    bool (*ask)(void *context, uint64_t now_ms, struct elapse__inbox_poll *poll);
    void (*came)(void *context, uint64_t now_ms, uint64_t serial,
                 const struct elapse__inbox_row *rows, size_t count);
    void (*failed)(void *context, uint64_t now_ms, uint64_t serial);
    uint64_t (*next_ms)(void *context);
};

struct elapse__runner_options {
    struct elapse__partition_options partition; /* its callbacks come from the runner's thread */
    struct elapse__runner_calls calls;
    struct elapse__runner_inbox inbox;
    const char *const *hosts; /* connection strings that elapse__database_link_refuse_host accepts;
                                 there are partition.hosts of them */
    const char *queue;        /* a name that is valid */
    uint32_t number;          /* of the partition */
    const char *address;      /* where clients and other nodes reach this node */
};

struct elapse__runner;

/* Starts the thread. Copies the texts. Returns 0; or an error number of errno.h, and stores NULL.
 * `*runner` is stored before the first call comes, which may be before this returns. */
int elapse__runner_start(struct elapse__runner **runner,
                         const struct elapse__runner_options *options);

/* Submits a group as the owner in `epoch`, which the last call of `own` named. Returns false, and
 * takes nothing, if this node does not own the partition in that epoch any more. Otherwise exactly
 * one of these calls follows: confirmed, fenced with this group, or stopped; none, if
 * elapse__runner_stop comes first. Until then the bytes stay where they are. Requires that no other
 * group waits for its call. */
bool elapse__runner_submit(struct elapse__runner *runner, uint64_t epoch,
                           const struct elapse__partition_group *group);

/* Groups below `tail` are needed no more, as the owner in this epoch knows. */
void elapse__runner_trim(struct elapse__runner *runner, uint64_t epoch, uint64_t tail);

/* The owner says that there is news: reads the row at once. */
void elapse__runner_news(struct elapse__runner *runner);

/* Asks the inbox again, because elapse__inbox_next_ms has changed. */
void elapse__runner_wake(struct elapse__runner *runner);

/* Says that what was not confirmed is put aside, and forgotten. Called after the call `fenced`, or
 * within it. */
void elapse__runner_aside(struct elapse__runner *runner);

/* The process is about to end: hands over, and then calls `ended`. This takes a third of the lease
 * at most, and no more than ELAPSE__RUNNER_HAND_OVER_MS: the service manager does not wait for
 * ever. elapse__runner_figures tells whether the database has written the hand-over. */
void elapse__runner_hand_over(struct elapse__runner *runner);

/* Returns until when answers may leave, strictly before that time; 0: not at all. Cost: one atomic
 * load. */
uint64_t elapse__runner_answer_until_ms(const struct elapse__runner *runner);

/* Returns the time by the clock of elapse__runner_answer_until_ms. */
uint64_t elapse__runner_now_ms(void);

enum { ELAPSE__RUNNER_MESSAGE_BYTES = 256, ELAPSE__RUNNER_HAND_OVER_MS = 20000 };

struct elapse__runner_figures {
    struct elapse__partition_figures partition;
    char message[ELAPSE__RUNNER_MESSAGE_BYTES]; /* what the server of the last complaint has said */
    bool has_released;   /* the database has written that this life owns the partition no more */
    uint64_t polls_lost; /* of the inbox, which took longer than an eighth of the lease */
};

void elapse__runner_figures(struct elapse__runner *runner, struct elapse__runner_figures *figures);

/* Ends the thread, and frees the runner. If handing over has begun, waits until that has ended.
 * Afterwards no callback comes. Requires that no other thread uses it, and that it is not called
 * from a callback. */
void elapse__runner_stop(struct elapse__runner *runner);

#endif
