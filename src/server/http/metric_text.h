/*
 * Writes the pieces of a metric in the text format of Prometheus.
 */
#ifndef ELAPSE__HTTP_METRIC_TEXT_H
#define ELAPSE__HTTP_METRIC_TEXT_H

#include "../../base/json_writer.h"

/* Appends text of at most 1023 bytes. */
__attribute__((format(printf, 2, 3))) void elapse__metric_add(struct elapse__json *text,
                                                              const char *format, ...);

/* Appends the name, the type and the meaning of a metric, which stand before its values. */
void elapse__metric_begin(struct elapse__json *text, const char *name, const char *type,
                          const char *help);

#endif
