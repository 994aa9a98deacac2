/*
 * elapse show --path: draws the way of one timer down the levels until it fires.
 */
#ifndef ELAPSE_CLI_SHOW_PATH_H
#define ELAPSE_CLI_SHOW_PATH_H

#include <stdint.h>

#include "../common/message.h"
#include "../common/structure_choice.h"
#include "canvas.h"

/* Prints the way of a timer with this deadline. In a wheel prints it twice: for the timer alone,
 * and for the timer among others. */
enum exit_status show_path(const struct show_look *look, const struct structure_choice *choice,
                           uint64_t now, uint64_t deadline);

#endif
