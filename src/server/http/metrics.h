/*
 * The figures of a server as Prometheus reads them: its text format, version 0.0.4.
 */
#ifndef ELAPSE__HTTP_METRICS_H
#define ELAPSE__HTTP_METRICS_H

#include "status.h"

struct elapse__http_metrics {
    const char *version;
    const struct elapse__server_statistics *server;
    const struct elapse__histogram *lateness; /* milliseconds */
    const struct elapse__histogram *syncs;    /* microseconds */
    const struct elapse__histogram *writes;   /* bytes */
    uint64_t oldest_overdue_ms;
    uint64_t memory_bytes;
    uint64_t disk_free_bytes;
    bool has_disk;
    uint64_t tubes;
    uint64_t tubes_left_out; /* have no elapse_jobs of their own */
};

/* Appends everything but elapse_jobs. */
void elapse__http_write_metrics(struct elapse__json *text,
                                const struct elapse__http_metrics *metrics);

/* Appends what stands before elapse_jobs; then that of a tube. */
void elapse__http_begin_jobs(struct elapse__json *text);
void elapse__http_write_jobs(struct elapse__json *text, struct elapse__queue_text tube,
                             const struct elapse__queue_statistics *counts);

#endif
