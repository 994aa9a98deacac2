/*
 * Keeps the tubes that are worst off, of those that somebody should look at, and adds up the rest.
 */
#ifndef ELAPSE__HTTP_TROUBLED_H
#define ELAPSE__HTTP_TROUBLED_H

#include "../../queue/queue.h"

enum { ELAPSE__HTTP_TROUBLED_MAX = 1000 };

struct elapse__http_trouble {
    uint64_t overdue_ms; /* how long the oldest ready job has been due */
    uint64_t buried;     /* jobs */
    uint64_t held;       /* ready jobs that a limit holds back */
};

struct elapse__http_troubled_tube {
    struct elapse__http_trouble trouble;
    size_t name_size;
    unsigned char name[ELAPSE__QUEUE_TUBE_BYTES_MAX];
};

/* Begins as zeros. */
struct elapse__http_troubled {
    uint64_t tubes;                                                    /* in trouble, kept or not */
    size_t count;                                                      /* of tubes that are kept */
    struct elapse__http_troubled_tube kept[ELAPSE__HTTP_TROUBLED_MAX]; /* in no order */
    uint16_t order[ELAPSE__HTTP_TROUBLED_MAX]; /* indexes into `kept`, the worst tube first */
    struct elapse__http_trouble rest; /* of tubes that are not kept: the longest overdue_ms, and the
                                       * sums of the jobs */
};

/* Counts the tube if elapse__server_is_in_trouble. Keeps the tube if it is among the worst so far:
 * the longest overdue come first, then those with the most buried jobs, then those with the most
 * jobs held back. Each tube may come once. Cost: some microseconds at most. */
void elapse__http_troubled_add(struct elapse__http_troubled *troubled,
                               struct elapse__queue_text name,
                               const struct elapse__queue_statistics *counts);

#endif
