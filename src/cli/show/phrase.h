/*
 * Writes numbers as words.
 */
#ifndef ELAPSE_CLI_SHOW_PHRASE_H
#define ELAPSE_CLI_SHOW_PHRASE_H

#include <stdint.h>

/* A few words. */
struct show_phrase {
    char text[80];
};

/* Returns "1 timer", "2 timers". */
struct show_phrase amount_of(uint64_t number, const char *noun);

/* Returns "8192", or "2^61" for a large power of two. */
struct show_phrase ticks_text(uint64_t ticks);

/* Returns the last tick of a level: "127", or "2^61-1" before a large power of two. */
struct show_phrase last_tick_text(uint64_t tick);

/* Returns "[128,255]". */
struct show_phrase range_text(uint64_t first, uint64_t last);

#endif
