/*
 * Tells the caller of a queue which jobs have ended, for a log of them.
 */
#ifndef ELAPSE__QUEUE_ENDED_H
#define ELAPSE__QUEUE_ENDED_H

#include "queue.h"

enum elapse__queue_outcome {
    ELAPSE__OUTCOME_DONE,      /* a worker has said ACK */
    ELAPSE__OUTCOME_FAILED,    /* an occurrence of a recurring job whose last attempt has failed */
    ELAPSE__OUTCOME_CANCELLED, /* or deleted; a worker may still have it */
    ELAPSE__OUTCOME_REPLACED,  /* another job has its key now; a worker may still have it */
    ELAPSE__OUTCOME_EXPIRED,   /* nobody took it in time */
    ELAPSE__OUTCOME_DROPPED,   /* it was buried, and a limit of its tube has dropped it */
};

/* A job that ends, or an occurrence of a recurring job. */
struct elapse__queue_ended {
    uint64_t id;
    uint64_t
        position; /* of its record, which has key and tag, and is live until the call returns */
    uint32_t body_size;
    enum elapse__queue_outcome outcome;
    uint32_t attempts; /* hand-outs of this occurrence */
    bool recurring;
    bool was_begun;   /* a worker had it */
    int64_t begun_ms; /* when its lease began, or was extended last */
    int64_t due_ms;   /* these times are of the wall clock */
    int64_t ended_ms;
    struct elapse__queue_text tube; /* valid during the call */
};

typedef void elapse__queue_ended_function(void *context, const struct elapse__queue_ended *ended);

/* Calls `ended` for each job that ends from now on, in the middle of the command that ends it: the
 * function calls nothing of the queue. NULL: nobody wants to know. Jobs whose end is replayed are
 * not told. */
void elapse__queue_on_end(struct elapse__queue *queue, elapse__queue_ended_function *ended,
                          void *context);

#endif
