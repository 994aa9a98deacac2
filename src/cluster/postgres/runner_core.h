/*
 * The state of a runner. runner.h says what a runner is. A file calls only the files below it:
 *
 *      runner_life.c       the beginning and the end; requests of other threads
 *      runner_loop.c       the thread
 *      runner_inbox.c      polls of the inbox
 *      runner_clock.c      the clock
 */
#ifndef ELAPSE__CLUSTER_POSTGRES_RUNNER_CORE_H
#define ELAPSE__CLUSTER_POSTGRES_RUNNER_CORE_H

#include <stdatomic.h>

#include "../../os/lock.h"
#include "../../os/os.h"
#include "../inbox/inbox.h"
#include "runner.h"

struct elapse__database_link;

/* What other threads have asked the runner to do. */
struct elapse__runner_requests {
    bool has_news, is_aside, hands_over, stops, moves;
    bool expects; /* `next_owner` was told */
    enum elapse__partition_next_owner next_owner;
    bool has_group;
    struct elapse__partition_group group;
    uint64_t tail; /* 0: none */
};

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): grouped by meaning */
struct elapse__runner {
    /* Only the runner's thread uses these fields. */
    struct elapse__partition_owner owner; /* the callbacks of the caller */
    struct elapse__runner_calls calls;
    struct elapse__partition *partition;
    struct elapse__database_link *link;
    struct elapse__runner_inbox inbox;
    struct elapse__inbox_row *rows; /* room for ELAPSE__INBOX_ROWS_MAX rows, if there is an inbox */
    bool polls;                     /* a poll of the inbox is under way */
    uint64_t poll_serial, polled_ms;
    uint32_t lease_ms;
    uint64_t remembered_mark;
    struct elapse__partition_witness told_witness;
    struct elapse__clock_time told_time; /* `time_set` was called with it, if it is known */
    uint64_t remember_ms;                /* no call of `remember` before this time */
    bool hands_over;                     /* elapse__runner_hand_over was called */
    uint64_t give_up_ms;                 /* when the runner gives up handing over */
    bool releases;                       /* RELEASE is under way */
    bool has_released;                   /* RELEASE was done */
    uint64_t polls_lost;
    uint64_t complaints; /* the count of the partition's complaints when `message` was written */
    char message[ELAPSE__RUNNER_MESSAGE_BYTES];
    bool is_stopping;                   /* elapse__runner_stop was called */
    struct elapse__runner_figures seen; /* the figures at the last callback `changed` */

    struct elapse__os_thread thread;
    int event; /* a file that is ready when there are requests */
    _Atomic uint64_t answer_until_ms;

    struct elapse__lock lock; /* guards the fields below */
    struct elapse__runner_requests requests;
    uint64_t epoch;    /* the epoch in which this node owns the partition; 0: it does not own it */
    bool is_in_flight; /* a group was submitted, and its callback has not begun */
    struct elapse__runner_figures figures;
};

static inline bool elapse__runner_has_inbox(const struct elapse__runner *runner)
{
    return runner->inbox.ask != NULL;
}

#endif
