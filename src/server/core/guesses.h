/*
 * Wrong passwords: how long each answer waits, and what the log says. It is pure: times come in.
 *
 * Guessing is slow, and nobody is locked out: a right password is answered at once, from any place.
 * A place is a number for the address of a client: src/os/sockets.h. Places share an entry of the
 * table if there are very many: then their wrong passwords count together.
 */
#ifndef ELAPSE__CORE_GUESSES_H
#define ELAPSE__CORE_GUESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "../../protocol/resp_options.h"

enum {
    ELAPSE__GUESS_MS = 500,        /* the answer to a wrong password waits */
    ELAPSE__GUESS_LONG_MS = 5000,  /* it waits, of a place that guesses often */
    ELAPSE__GUESSES_A_SECOND = 10, /* of a place, before it guesses often */
    ELAPSE__GUESS_PLACES = 256,
};

struct elapse__guess_place {
    uint64_t place;
    uint64_t since_ms; /* where the second begins in which `count` were wrong */
    uint32_t count;
    uint32_t unsaid; /* wrong passwords that the log does not know yet */
};

/* Begins as zeros. */
struct elapse__guesses {
    struct elapse__guess_place places[ELAPSE__GUESS_PLACES];
};

/* Notes a wrong password. Returns how many milliseconds its answer waits. */
uint64_t elapse__guesses_note(struct elapse__guesses *guesses, uint64_t place, uint64_t now_ms);

/* Stores a place with wrong passwords that were not taken yet, and how many. Returns false if there
 * is none. Called once a second, it makes a line a second for a place. */
bool elapse__guesses_take(struct elapse__guesses *guesses, uint64_t *place, uint32_t *count);

#endif
