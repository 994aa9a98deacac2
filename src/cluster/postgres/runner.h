/*
 * A runner is a thread for one partition. It joins three parts: the state machine, which decides
 * (src/cluster/ownership/partition.h), the session in the database (link.h), and the clock.
 *
 *      any thread --> elapse__runner_submit, _trim, ... --> the runner's thread --> the database
 *                     callbacks on the runner's thread <--'
 *
 * Threads: any thread may call these functions, from within callbacks too, unless a function says
 * otherwise. Callbacks come one at a time, on the runner's thread, which holds no lock then. While
 * a callback runs, the partition sends no statement. A lease that is not renewed ends after
 * lease_ms, so callbacks must be short.
 *
 * Times in milliseconds are those of the boot-time clock.
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_RUNNER_H
#define ELAPSE__CLUSTER_POSTGRES_RUNNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../ownership/partition.h"

/* Callbacks in addition to those of struct elapse__partition_owner. They get the same context. */
struct elapse__runner_calls {
    /* Writes the memory to the disk. Returns whether the disk has it. If not, the runner calls
     * again. Until the disk has the memory, nothing is answered (R7). */
    bool (*remember)(void *context, const struct elapse__partition_memory *memory);

    /* The partition is about to be handed over. After this callback has returned, nothing may be
     * answered any more, because another node may own the partition at once. */
    void (*releasing)(void *context);

    /* The runner has handed the partition over, or has given up. This is the last callback. */
    void (*ended)(void *context);

    /* The cluster's time has changed, or is no longer borrowed. Called before `own`, and after each
     * change. May be NULL. */
    void (*time_set)(void *context, const struct elapse__clock_time *time);

    /* The role, the owner or the epoch has changed. May be NULL. */
    void (*changed)(void *context);

    /* The witness has changed (R11 of partition.h). The partition does not wait for the disk to
     * have it. May be NULL. */
    void (*witnessed)(void *context, const struct elapse__partition_witness *witness);
};

struct elapse__inbox_poll;
struct elapse__inbox_row;

/* The functions of the partition's inbox (src/cluster/inbox/inbox.h). They take the lock of the
 * inbox. The runner calls them while this node owns the partition, with the same context. */
struct elapse__runner_inbox {
    /* NULL if the partition has no inbox. */
    bool (*ask)(void *context, uint64_t now_ms, struct elapse__inbox_poll *poll);
    void (*came)(void *context, uint64_t now_ms, uint64_t serial,
                 const struct elapse__inbox_row *rows, size_t count);
    void (*failed)(void *context, uint64_t now_ms, uint64_t serial);
    void (*told)(void *context, uint64_t now_ms);
    uint64_t (*next_ms)(void *context);
};

struct elapse__runner_options {
    struct elapse__partition_options partition; /* the runner's thread calls its callbacks */
    struct elapse__runner_calls calls;
    struct elapse__runner_inbox inbox;
    const char *const *hosts; /* partition.hosts strings for elapse__database_link_refuse_host */
    const char *queue;        /* a valid name (names.h) */
    uint32_t number;          /* the number of the partition */
    const char *address;      /* where clients and other nodes reach this node */
};

struct elapse__runner;

/* Starts the thread. Copies the texts. Returns 0, or an error number of errno.h and stores NULL.
 * Stores `*runner` before the first callback comes, which may be before this function returns. */
int elapse__runner_start(struct elapse__runner **runner,
                         const struct elapse__runner_options *options);

/* Submits a group as the owner in `epoch`, which the last callback `own` has named. Returns false,
 * and takes nothing, if this node does not own the partition in that epoch any more. If not,
 * exactly one of these callbacks follows: confirmed, fenced with this group, or stopped. None
 * follows if elapse__runner_stop comes first. Until then the bytes must not change. Requires that
 * no other group waits for its callback. */
bool elapse__runner_submit(struct elapse__runner *runner, uint64_t epoch,
                           const struct elapse__partition_group *group);

/* Says that groups below `tail` are needed no more. Called by the owner in this epoch. */
void elapse__runner_trim(struct elapse__runner *runner, uint64_t epoch, uint64_t tail);

/* Called when the owner has sent word of a new group: reads the row at once. */
void elapse__runner_news(struct elapse__runner *runner);

/* Asks the inbox again. Called when the result of elapse__inbox_next_ms has changed. */
void elapse__runner_wake(struct elapse__runner *runner);

/* Says that the caller has put aside and forgotten what was not confirmed. Called after the
 * callback `fenced`, or within it. */
void elapse__runner_aside(struct elapse__runner *runner);

/* Called when the process is about to end: hands the partition over, and then calls `ended`. This
 * takes at most a third of the lease, and no more than ELAPSE__RUNNER_HAND_OVER_MS, because the
 * service manager does not wait for ever. elapse__runner_figures tells whether the database has
 * written the hand-over. */
void elapse__runner_hand_over(struct elapse__runner *runner);

/* Hands the partition over to another node, and goes on as a follower: the callback `fenced` comes.
 * Called by an owner that has answered all commands and has no group that is not confirmed. Does
 * nothing if this node does not own the partition. */
void elapse__runner_move(struct elapse__runner *runner);

/* Says which node is to own the partition next (elapse__partition_expect). */
void elapse__runner_expect(struct elapse__runner *runner,
                           enum elapse__partition_next_owner next_owner);

/* Returns the time before which answers may leave, or 0 if no answer may leave. Cost: one atomic
 * load. */
uint64_t elapse__runner_answer_until_ms(const struct elapse__runner *runner);

/* Returns the time by the clock of elapse__runner_answer_until_ms. */
uint64_t elapse__runner_now_ms(void);

enum { ELAPSE__RUNNER_MESSAGE_BYTES = 256, ELAPSE__RUNNER_HAND_OVER_MS = 20000 };

struct elapse__runner_figures {
    struct elapse__partition_figures partition;
    char message[ELAPSE__RUNNER_MESSAGE_BYTES]; /* what the server said at the last complaint */
    bool has_released;   /* the database has written that this life owns nothing any more */
    uint64_t polls_lost; /* polls of the inbox that took longer than an eighth of the lease */
};

void elapse__runner_figures(struct elapse__runner *runner, struct elapse__runner_figures *figures);

/* Ends the thread, and frees the runner. If handing over has begun, waits for its end first. No
 * callback comes afterwards. Requires that no other thread uses the runner, and that no callback
 * calls this function. */
void elapse__runner_stop(struct elapse__runner *runner);

#endif
