/*
 * Counts wrong passwords. Says how long each answer to a wrong password waits, and what goes into
 * the log. The functions are pure: the caller gives the time.
 *
 * Because answers wait, to guess passwords takes long. Nobody is locked out: a right password is
 * answered at once, from any place. A place is a number for the address of a client:
 * src/os/sockets.h. If there are very many places, several share an entry of the table, and their
 * wrong passwords are counted together.
 */
#ifndef ELAPSE__CORE_GUESSES_H
#define ELAPSE__CORE_GUESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "../../protocol/resp_options.h"

enum {
    ELAPSE__GUESS_MS = 500,        /* how long the answer to a wrong password waits */
    ELAPSE__GUESS_LONG_MS = 5000,  /* how long the answer waits for a place that guesses often */
    ELAPSE__GUESSES_A_SECOND = 10, /* a place with more wrong passwords in a second guesses often */
    ELAPSE__GUESS_PLACES = 256,
};

struct elapse__guess_place {
    uint64_t place;
    uint64_t since_ms; /* the beginning of the second in which `count` passwords were wrong */
    uint32_t count;
    uint32_t unsaid; /* wrong passwords that the log has not got yet */
};

/* The struct begins as zeros. */
struct elapse__guesses {
    uint64_t total; /* wrong passwords since the start */
    struct elapse__guess_place places[ELAPSE__GUESS_PLACES];
};

/* Counts a wrong password. Returns how many milliseconds its answer waits. */
uint64_t elapse__guesses_note(struct elapse__guesses *guesses, uint64_t place, uint64_t now_ms);

/* Takes a place that has wrong passwords which the log has not got yet. Stores the place, and how
 * many wrong passwords it has. Returns false if there is no such place. The caller takes all places
 * once a second, so the log gets at most one line a second for a place. */
bool elapse__guesses_take(struct elapse__guesses *guesses, uint64_t *place, uint32_t *count);

#endif
