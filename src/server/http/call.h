/*
 * Runs the requests that become commands of the core.
 */
#ifndef ELAPSE__HTTP_CALL_H
#define ELAPSE__HTTP_CALL_H

#include "routes.h"
#include "shell.h"

void elapse__http_call_begin(struct elapse__http *http, struct evhttp_request *request,
                             const struct elapse__http_route *route);

/* Ends all calls. Requires that no pipe has a peer. */
void elapse__http_calls_close(struct elapse__http *http);

#endif
