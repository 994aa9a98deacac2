/*
 * elapse show --step: the wheel as time goes by, picture by picture.
 */
#ifndef ELAPSE_CLI_SHOW_STEP_H
#define ELAPSE_CLI_SHOW_STEP_H

#include <stdint.h>

#include "../common/message.h"
#include "canvas.h"
#include "model.h"

struct show_steps {
    uint64_t every_ticks; /* 0: from wake-up to wake-up */
    uint64_t until;       /* no picture of a later tick; ELAPSE_NEVER: no end */
    uint64_t pause_ns;    /* between two pictures on a terminal */
};

/* Plays until no timer is left that will ever be due. */
enum exit_status show_step(const struct show_look *look, const struct show_steps *steps,
                           struct show_wheel *show);

#endif
