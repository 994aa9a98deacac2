/*
 * elapse show --step: draws the wheel in one picture after another, as time goes by.
 */
#ifndef ELAPSE_CLI_SHOW_STEP_H
#define ELAPSE_CLI_SHOW_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "../common/message.h"
#include "canvas.h"
#include "model.h"

struct show_steps {
    uint64_t every_ticks; /* 0: from wake-up to wake-up */
    uint64_t until;       /* the last tick to show; ELAPSE_NEVER: no limit */
    uint64_t pause_ns;    /* the pause between two pictures on a terminal */
    bool plays;           /* plays also on a terminal with keys, until the user presses a key */
};

/* Plays until no timer is left that will be due. If standard input is a terminal too, the user can
 * step, go back, play and quit with keys. */
enum exit_status show_step(const struct show_look *look, const struct show_steps *steps,
                           struct show_wheel *show);

#endif
