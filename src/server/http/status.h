/*
 * Writes the state of a server as one object of JSON, for the events of the page.
 */
#ifndef ELAPSE__HTTP_STATUS_H
#define ELAPSE__HTTP_STATUS_H

#include "../../base/json_writer.h"
#include "../../queue/forecast.h"
#include "../../queue/picture.h"
#include "../core/core.h"
#include "cluster.h"
#include "window.h"

enum {
    ELAPSE__HTTP_STATUS_TUBES = 200,
};

/* How often something happens in a second. */
struct elapse__http_rates {
    double put, cancelled, handed_out, acknowledged, due;
};

struct elapse__http_tube {
    unsigned char name[ELAPSE__QUEUE_TUBE_BYTES_MAX];
    size_t name_size;
    struct elapse__queue_statistics counts;
    struct elapse__http_rates rates;
    uint64_t oldest_overdue_ms;
    uint64_t change; /* how often it has happened since the last look */
    bool is_in_trouble;
};

struct elapse__http_status {
    int64_t now_ms; /* wall-clock time */
    const char *version;
    const char *durability;
    uint64_t disk_free_bytes;
    bool has_disk; /* whether the free bytes of the disk are known */
    uint64_t memory_bytes;
    struct elapse__server_statistics server;
    uint64_t oldest_overdue_ms;
    const struct elapse__http_window *lateness;   /* in milliseconds */
    const struct elapse__http_window *sync_times; /* in microseconds */
    double syncs;                                 /* per second */
    struct elapse__http_rates rates;
    struct elapse__queue_forecast forecast;
    bool has_long_forecast; /* the caller wants days and hours */
    uint64_t wheel_ms;
    struct elapse__queue_wheel_level levels[ELAPSE__QUEUE_WHEEL_LEVELS];
    const struct elapse__http_tube *tubes;
    size_t tube_count;
    uint64_t tubes_total;
    uint64_t tubes_in_trouble;                  /* tubes that are elapse__server_is_in_trouble */
    const struct elapse__loop_cluster *cluster; /* NULL: the server is in no cluster */
};

/* Appends the object. */
void elapse__http_write_status(struct elapse__json *json, const struct elapse__http_status *status);

/* Appends the members "seconds" and "minutes". If `is_long`, appends "hours" and "days", too. */
void elapse__http_write_forecast(struct elapse__json *json,
                                 const struct elapse__queue_forecast *forecast, bool is_long);

#endif
