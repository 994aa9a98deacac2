/*
 * Changes of jobs as values, and transactions: many changes, of which all are made or none.
 */
#ifndef ELAPSE__QUEUE_TRANSACT_H
#define ELAPSE__QUEUE_TRANSACT_H

#include "arrivals.h"

/* What a change does. Each value names the function of queue.h that does it. */
enum elapse__queue_verb {
    ELAPSE__QUEUE_PUT,           /* put */
    ELAPSE__QUEUE_CANCEL,        /* cancel_key */
    ELAPSE__QUEUE_CANCEL_ID,     /* cancel_id */
    ELAPSE__QUEUE_RESCHEDULE,    /* reschedule_key */
    ELAPSE__QUEUE_RESCHEDULE_ID, /* reschedule_id */
    ELAPSE__QUEUE_KICK_ID,       /* kick_any_id */
    ELAPSE__QUEUE_ARRIVE,        /* arrive */
    ELAPSE__QUEUE_ACK,           /* ack */
    ELAPSE__QUEUE_NACK,          /* nack_after `delay_ms` */
    ELAPSE__QUEUE_NACK_IN,       /* nack_in `delay_ms` */
    ELAPSE__QUEUE_EXTEND,        /* extend */
    ELAPSE__QUEUE_BURY,          /* bury, with the priority that the job has */
    ELAPSE__QUEUE_LEASED,        /* nothing: the whole transaction depends on the lease */
};

struct elapse__queue_change {
    enum elapse__queue_verb verb;
    union {
        struct elapse__queue_put put;
        struct elapse__queue_arrival arrival;
        struct elapse__queue_change_named { /* CANCEL to KICK_ID */
            struct elapse__queue_text tube;
            struct elapse__queue_text key;
            uint64_t id;
            struct elapse__queue_time time;
        } named;
        struct elapse__queue_change_held { /* from ACK on */
            struct elapse__queue_holder holder;
            uint64_t delay_ms;
        } held;
    };
};

/* Makes a change. Requires that it is not LEASED, unless a transaction runs. */
struct elapse__queue_answer elapse__queue_change(struct elapse__queue *queue,
                                                 struct elapse__queue_now now,
                                                 const struct elapse__queue_change *change);

/* Returns how many bytes the records of a change take at most. */
uint64_t elapse__queue_change_bytes(const struct elapse__queue_change *change);

enum { ELAPSE__QUEUE_CHANGES_MAX = 1000 }; /* of one transaction */

/*
 * Makes all changes in one group, in their order, and stores the answer of each; or none of them.
 * Each change finds what those before it have done. First all leases that LEASED names are looked
 * at: if one has ended, or its job was cancelled, the answer is GONE, and nothing has changed. Then
 * room is made for all changes. If there is none, the answer is the error, and nothing has changed.
 * Otherwise the answer is OK; among the answers of changes may be KEY_TAKEN, but no other error.
 * An id that a put of the transaction gave is GONE to the changes behind it.
 */
struct elapse__queue_answer elapse__queue_transact(struct elapse__queue *queue,
                                                   struct elapse__queue_now now,
                                                   const struct elapse__queue_change *changes,
                                                   uint32_t count,
                                                   struct elapse__queue_answer *answers);

#endif
