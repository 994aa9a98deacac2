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
    const struct elapse__histogram *lateness; /* milliseconds */
    const struct elapse__histogram *syncs;    /* microseconds */
    const struct elapse__histogram *writes;   /* bytes */
    uint64_t oldest_overdue_ms;
    uint64_t memory_bytes;
    uint64_t disk_free_bytes;
    bool has_disk;
    uint64_t ended_written, ended_dropped;
    uint64_t tubes;
    uint64_t tubes_left_out; /* for which elapse_jobs has no values */
};

/* Appends all metrics but those of tubes. */
void elapse__http_write_metrics(struct elapse__json *text,
                                const struct elapse__http_metrics *metrics);

/* Append elapse_jobs: first the name and the meaning, then the values of one tube after another. */
void elapse__http_begin_jobs(struct elapse__json *text);
void elapse__http_write_jobs(struct elapse__json *text, struct elapse__queue_text tube,
                             const struct elapse__queue_statistics *counts);

/* Appends how long, and how many jobs, wait in each tube that is kept, and in the rest together.
 * Cost: some 1 ms with a thousand tubes. */
void elapse__http_write_troubled(struct elapse__json *text,
                                 const struct elapse__http_troubled *troubled);

#endif
