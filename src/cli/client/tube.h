/*
 * A tube that the server may not have: says so, and names tubes that are like it.
 */
#ifndef ELAPSE_CLI_CLIENT_TUBE_H
#define ELAPSE_CLI_CLIENT_TUBE_H

#include "client.h"

/* Prints that there is no such tube, and which tubes have a name like it. Asks the server for at
 * most 10,000 names. Returns STATUS_GONE. */
enum exit_status tube_say_gone(struct client *client, const char *tube);

/* Asks whether the server has the tube. If it has not, says so. Returns STATUS_OK, STATUS_GONE, or
 * after a message the status of a connection that was lost. If the server does not tell, because
 * the user may not look at the tube, the tube counts as there. */
enum exit_status tube_check(struct client *client, const char *tube);

#endif
