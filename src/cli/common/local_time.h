/*
 * The local time of the user.
 */
#ifndef ELAPSE_CLI_COMMON_LOCAL_TIME_H
#define ELAPSE_CLI_COMMON_LOCAL_TIME_H

#include <stdbool.h>

#include "message.h"

/* Returns whether the zone in TZ exists. If it does not, prints an error and stores its status,
 * because the C library would take the zone for UTC without a message. */
bool local_time_is_known(enum exit_status *status);

#endif
