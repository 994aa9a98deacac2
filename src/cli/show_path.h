/*
 * elapse show --path: the way of one timer down the levels until it fires.
 */
#ifndef ELAPSE_CLI_SHOW_PATH_H
#define ELAPSE_CLI_SHOW_PATH_H

#include <stdint.h>

#include "message.h"
#include "show_canvas.h"
#include "structure_choice.h"

/* Prints the way of a timer with this deadline; in a wheel alone and in company. */
enum exit_status show_path(const struct show_look *look, const struct structure_choice *choice,
                           uint64_t now, uint64_t deadline);

#endif
