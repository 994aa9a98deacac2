/*
 * Arrivals: what a job that was put with `await` waits for.
 */
#ifndef ELAPSE__QUEUE_ARRIVALS_H
#define ELAPSE__QUEUE_ARRIVALS_H

#include "queue.h"

struct elapse__queue_arrival {
    struct elapse__queue_text tube;
    struct elapse__queue_text key;
    uint32_t count;                  /* at least 1; more than are missing: those that are missing */
    struct elapse__queue_text token; /* empty: none */
    uint64_t token_life_ms;          /* 0: ELAPSE__QUEUE_TOKEN_MS; otherwise 1 s to that */
};

/* Takes arrivals off the number that the job with the key waits for. When none is missing any more,
 * the job is ready at once. Returns OK, and `left`; KNOWN, if the token came before to this key:
 * nothing is taken off, and `left` is that of now, 0 if the job no longer waits; GONE, if no job
 * with the key waits for arrivals; or an error. */
struct elapse__queue_answer elapse__queue_arrive(struct elapse__queue *queue,
                                                 struct elapse__queue_now now,
                                                 const struct elapse__queue_arrival *arrival);

#endif
