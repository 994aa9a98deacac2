/*
 * Draws the picture of "elapse top": counts of a server and of its tubes, and how fast they change.
 * Nothing here has an effect: figures come in, lines go out.
 */
#ifndef ELAPSE_CLI_CLIENT_TOP_VIEW_H
#define ELAPSE_CLI_CLIENT_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "../common/buffer.h"

/* The most tubes that are asked for and shown. */
enum { TOP_TUBES_MAX = 1000, TOP_NAME_BYTES = 201 };

/* Counts of a tube or of the server. */
struct top_counts {
    uint64_t delayed;
    uint64_t ready;
    uint64_t reserved;
    uint64_t buried;
    uint64_t total_put;
    uint64_t total_done;
    uint64_t total_timeouts;
    uint64_t pause_left_ms;
};

struct top_tube {
    char name[TOP_NAME_BYTES]; /* without control characters, cut */
    struct top_counts counts;
};

/* What was seen at one moment. */
struct top_sample {
    uint64_t when_ns;
    struct top_counts server;
    uint64_t uptime_ms;
    uint64_t connections;
    uint64_t workers;
    uint64_t waiting;
    uint64_t log_bytes;
    bool is_disk_full;
    bool takes_no_jobs;
    struct top_tube tubes[TOP_TUBES_MAX];
    size_t tube_count;
    bool has_more_tubes;
};

/* How the picture is drawn. */
struct top_look {
    unsigned columns; /* at least 20 */
    unsigned rows;    /* 0: any number */
    bool has_styles;  /* bold and faint, which suit a dark and a light terminal */
    bool is_live;     /* the last line tells the keys */
    const char *server;
    const char *fault; /* why there is no new sample; NULL: there is one */
};

/* Reads the map of STATS. */
void top_read_counts(struct top_counts *counts, const redisReply *map);
void top_read_server(struct top_sample *sample, const redisReply *map);

/* Adds a tube with this name. Requires that there are fewer than TOP_TUBES_MAX. */
void top_add_tube(struct top_sample *sample, const char *name, size_t length,
                  const redisReply *map);

/* Sorts the tubes: by ready jobs from the most on, then by delayed jobs likewise, then by name. */
void top_sort(struct top_sample *sample);

/* Draws the sample, and how fast the counts have changed since the sample `before`, which may be
 * NULL. No line is wider than the look, and the picture has no more lines than the look has rows.
 */
void top_draw(struct elapse__buffer *out, const struct top_look *look,
              const struct top_sample *sample, const struct top_sample *before);

#endif
