/*
 * Writes the figures of a server in the text format of Prometheus, version 0.0.4.
 */
#ifndef ELAPSE__HTTP_METRICS_H
#define ELAPSE__HTTP_METRICS_H

#include "status.h"
#include "troubled.h"

struct elapse__http_metrics {
    const char *version;
    const struct elapse__server_statistics *server;
    const struct elapse__histogram *lateness; /* in milliseconds */
    const struct elapse__histogram *syncs;    /* in microseconds */
    const struct elapse__histogram *writes;   /* in bytes */
    uint64_t oldest_overdue_ms;
    uint64_t memory_bytes;
    uint64_t disk_free_bytes;
    bool has_disk;
    uint64_t ended_written, ended_dropped;
    uint64_t tubes;
    uint64_t tubes_left_out; /* tubes for which elapse_jobs has no values */
};

/* Appends all metrics except those of tubes. */
void elapse__http_write_metrics(struct elapse__json *text,
                                const struct elapse__http_metrics *metrics);

/* These functions append elapse_jobs: first the name and the meaning, and then the values of one
 * tube after another. */
void elapse__http_begin_jobs(struct elapse__json *text);
void elapse__http_write_jobs(struct elapse__json *text, struct elapse__queue_text tube,
                             const struct elapse__queue_statistics *counts);

/* For each kept tube, and for the rest together, appends how long and how many jobs wait. Cost:
 * about 1 ms with a thousand tubes. */
void elapse__http_write_troubled(struct elapse__json *text,
                                 const struct elapse__http_troubled *troubled);

#endif
