/*
 * Finds jobs in an order, and the jobs that have a key, in whatever tube.
 */
#ifndef ELAPSE__QUEUE_FIND_H
#define ELAPSE__QUEUE_FIND_H

#include "queue.h"

enum { ELAPSE__QUEUE_FIRST_MAX = 1000 };

enum elapse__queue_order {
    ELAPSE__QUEUE_SOONEST, /* delayed jobs, the one that is due first at the front */
    ELAPSE__QUEUE_NEWEST,  /* buried jobs, the one that was buried last at the front; after a start
                              of the queue, in the order in which the start has found them */
};

/* A search for the first jobs of a tube in an order. Begin with zeros, the tube, the order and
 * `most`. Other fields but `count` and `ids` are private. 16 KiB. */
struct elapse__queue_first {
    struct elapse__queue_text tube; /* set it before each call: its bytes may have moved */
    enum elapse__queue_order order;
    uint32_t most; /* 1 to ELAPSE__QUEUE_FIRST_MAX */
    uint32_t cursor;
    uint32_t count; /* of ids, when the search has ended */
    uint64_t late[ELAPSE__QUEUE_FIRST_MAX];
    uint64_t ids[ELAPSE__QUEUE_FIRST_MAX];
};

/* Goes on with a search. Returns true if it has ended: then `ids` are the jobs, the first one at
 * the front. They had the state in the moment in which they were found: look each one up. SOONEST
 * looks at up to `places` places of the table of jobs in a call, and NEWEST ends with the first
 * call. A job that becomes delayed during the search may be missed. */
bool elapse__queue_find_first(struct elapse__queue *queue, struct elapse__queue_now now,
                              struct elapse__queue_first *first, uint32_t places);

/* Looks for a job with this key in up to `*most` places of the table of tubes from `*cursor` on,
 * which begins as 0. Returns whether it found one, and stores it in `*view`. `*cursor` is 0 again
 * at the end. A tube that exists from the first call to the last is looked at exactly once. */
bool elapse__queue_find_key(struct elapse__queue *queue, struct elapse__queue_now now,
                            struct elapse__queue_text key, uint32_t *cursor, uint32_t *most,
                            struct elapse__queue_view *view);

/* ---- who holds leases ---- */

enum { ELAPSE__QUEUE_HOLDING_TUBES = 4 };

/* What somebody holds. */
struct elapse__queue_holding {
    uint32_t leases;
    uint32_t tube_count;                         /* of `tubes`; more tubes are left out */
    uint32_t tubes[ELAPSE__QUEUE_HOLDING_TUBES]; /* for elapse__queue_holding_tube */
    uint64_t oldest_ms; /* for how long the oldest lease has lasted, since it was extended last */
};

/* Returns how many names there may be: their numbers are below. */
uint32_t elapse__queue_names(const struct elapse__queue *queue);

/* Adds up what each holder has, among up to `places` places of the table of jobs from `*cursor` on,
 * which begins as 0. `holdings` begin as zeros, and have a place for each number of a name below
 * `count`, at least 1; place 0 is for names that are not known, or that came later. Returns true if
 * the pass has ended. A lease that begins or ends meanwhile may be counted or not. */
bool elapse__queue_find_holders(struct elapse__queue *queue, struct elapse__queue_now now,
                                uint32_t *cursor, uint32_t places,
                                struct elapse__queue_holding *holdings, uint32_t count);

/* Return the name with this number, and the name of a tube of a holding; an empty text if it has
 * ended. Valid until the next call that changes something. */
struct elapse__queue_text elapse__queue_name_at(const struct elapse__queue *queue, uint32_t number);
struct elapse__queue_text elapse__queue_holding_tube(const struct elapse__queue *queue,
                                                     uint32_t number);

#endif
