/*
 * Answers requests for the metrics, which are called scrapes, and for the forecast.
 */
#ifndef ELAPSE__HTTP_SCRAPE_H
#define ELAPSE__HTTP_SCRAPE_H

#include "shell.h"

void elapse__http_metrics_begin(struct elapse__http *http, struct evhttp_request *request);
void elapse__http_metrics_close(struct elapse__http *http);
void elapse__http_send_forecast(struct elapse__http *http, struct evhttp_request *request);

#endif
