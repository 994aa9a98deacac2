/*
 * Keeps the worst of the tubes that need attention, and adds up the rest.
 */
#ifndef ELAPSE__HTTP_TROUBLED_H
#define ELAPSE__HTTP_TROUBLED_H

#include "../../queue/queue.h"

enum { ELAPSE__HTTP_TROUBLED_MAX = 1000 };

struct elapse__http_trouble {
    uint64_t overdue_ms; /* how long the oldest ready job has been due */
    uint64_t buried;     /* buried jobs */
    uint64_t held;       /* ready jobs that wait because of a limit */
};

struct elapse__http_troubled_tube {
    struct elapse__http_trouble trouble;
    size_t name_size;
    unsigned char name[ELAPSE__QUEUE_TUBE_BYTES_MAX];
};

/* The struct begins as zeros. */
struct elapse__http_troubled {
    uint64_t tubes;                                                    /* in trouble, kept or not */
    size_t count;                                                      /* how many tubes are kept */
    struct elapse__http_troubled_tube kept[ELAPSE__HTTP_TROUBLED_MAX]; /* in no order */
    uint16_t order[ELAPSE__HTTP_TROUBLED_MAX]; /* indexes into `kept`, the worst tube first */
    struct elapse__http_trouble rest; /* of the others: the longest overdue_ms, and sums of jobs */
};

/* Counts the tube if elapse__server_is_in_trouble. Keeps the tube if it is among the worst so far.
 * The longest overdue tubes come first, then those with the most buried jobs, then those with the
 * most held jobs. Each tube may come once. Cost: at most some microseconds. */
void elapse__http_troubled_add(struct elapse__http_troubled *troubled,
                               struct elapse__queue_text name,
                               const struct elapse__queue_statistics *counts);

#endif
