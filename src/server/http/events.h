/*
 * Answers requests for /events.
 */
#ifndef ELAPSE__HTTP_EVENTS_H
#define ELAPSE__HTTP_EVENTS_H

#include "shell.h"

void elapse__http_events_begin(struct elapse__http *http, struct evhttp_request *request);
void elapse__http_events_close(struct elapse__http *http);

#endif
