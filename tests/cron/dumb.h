/*
 * A simple model of cron expressions. It makes an expression at random out of items, and writes
 * it as text. Then a test asks it about one local time after the other. The model tries its items
 * one by one, by the rules of the manual. It shares no code with the library.
 */
#ifndef ELAPSE_TESTS_DUMB_H
#define ELAPSE_TESTS_DUMB_H

#include "random.h"

enum { DUMB_ITEMS_MAX = 3, DUMB_FIELDS = 6, DUMB_TEXT_BYTES = 256 };

enum dumb_kind {
    DUMB_STAR,            /* * or *\/step */
    DUMB_RANGE,           /* first-last or first-last/step */
    DUMB_VALUE,           /* first */
    DUMB_VALUE_STEP,      /* first/step */
    DUMB_LAST,            /* L, L-first */
    DUMB_LAST_WORKING,    /* LW */
    DUMB_NEAREST_WEEKDAY, /* firstW */
    DUMB_LAST_WEEKDAY,    /* firstL */
    DUMB_NUMBERED,        /* first#step */
};

struct dumb_item {
    enum dumb_kind kind;
    int first, last, step;
};

struct dumb_field {
    struct dumb_item items[DUMB_ITEMS_MAX];
    unsigned count;
};

/* second, minute, hour, day, month, weekday */
struct dumb_cron {
    struct dumb_field fields[DUMB_FIELDS];
    bool has_seconds;
    char text[DUMB_TEXT_BYTES];
};

/* A local time, and what the rules need to know of its month. */
struct dumb_time {
    int second, minute, hour, day, month, weekday; /* weekday: 0 is Sunday */
    int month_length;
};

void dumb_make(struct dumb_cron *cron, struct random_source *random, bool has_seconds);
bool dumb_matches(const struct dumb_cron *cron, const struct dumb_time *time);

#endif
