/*
 * Numbers in the words of "elapse show".
 */
#ifndef ELAPSE_CLI_SHOW_PHRASE_H
#define ELAPSE_CLI_SHOW_PHRASE_H

#include <stdint.h>

/* A few words, or a number with its noun. */
struct show_phrase {
    char text[80];
};

/* "1 timer", "2 timers". */
struct show_phrase amount_of(uint64_t number, const char *noun);

/* "8192" or, where that is longer, "2^61". */
struct show_phrase ticks_text(uint64_t ticks);

/* The last tick of a level: "127" or, where that is longer, "2^61-1". */
struct show_phrase last_tick_text(uint64_t tick);

/* "[128,255]" */
struct show_phrase range_text(uint64_t first, uint64_t last);

#endif
