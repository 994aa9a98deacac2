/*
 * What a user does with a scheduler, from new to free, while something fails: and what
 * must hold all the same.
 */
#ifndef ELAPSE_TESTS_SCENARIO_H
#define ELAPSE_TESTS_SCENARIO_H

#include "inject.h"

struct scenario {
    bool manual;   /* time is manual: no threads */
    bool onward;   /* all that follows the first failure fails too */
    bool memory;   /* it is memory that fails */
    unsigned turn; /* what is done in turns: how it is closed */
};

/* Plays it, and checks that nothing is lost and nothing left behind. */
void scenario_play(const struct scenario *scenario);

#endif
