/*
 * Handles a tube that the server may not have. Says that it does not exist, and names tubes with
 * similar names.
 */
#ifndef ELAPSE_CLI_CLIENT_TUBE_H
#define ELAPSE_CLI_CLIENT_TUBE_H

#include "client.h"

/* Prints that there is no such tube, and which tubes have similar names. Asks the server for at
 * most 10,000 names. Returns STATUS_GONE. */
enum exit_status tube_say_gone(struct client *client, const char *tube);

/* Asks whether the server has the tube. If not, says so. Returns STATUS_OK or STATUS_GONE. If the
 * connection was lost, prints a message and returns the status for it. If the user may not look at
 * the tube, returns STATUS_OK, because the server does not say whether the tube exists. */
enum exit_status tube_check(struct client *client, const char *tube);

#endif
