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
    uint64_t held;       /* ready jobs that a limit holds back */
    uint64_t overdue_ms; /* for how long the oldest ready job has been due */
};

struct top_tube {
    char name[TOP_NAME_BYTES]; /* as it is, at most 200 bytes */
    size_t length;
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

/* In which order the tubes come. */
enum top_order {
    TOP_BY_TROUBLE, /* those that somebody should look at, then by ready jobs */
    TOP_BY_READY,
    TOP_BY_BURIED,
    TOP_BY_OVERDUE,
    TOP_BY_DELAYED,
    TOP_BY_NAME,
    TOP_ORDERS,
};

/* How the picture is drawn. */
struct top_look {
    unsigned columns; /* at least 20 */
    unsigned rows;    /* 0: any number */
    bool has_styles;  /* bold and faint, which suit a dark and a light terminal */
    bool is_live;     /* the last line tells the keys */
    const char *server;
    const char *fault;  /* why there is no new sample; NULL: there is one */
    const char *hint;   /* the last line, in place of the keys; NULL: the keys */
    const char *keys;   /* what a wide picture tells of the keys; NULL: those of the tubes */
    const char *filter; /* only tubes whose names begin so are there; NULL: all */
    enum top_order order;
    bool has_selected;
    size_t selected; /* the place of a tube, which the picture shows and marks */
};

/* Reads the map of STATS. */
void top_read_counts(struct top_counts *counts, const redisReply *map);
void top_read_server(struct top_sample *sample, const redisReply *map);

/* Adds a tube by its map of TUBES with COUNTS, unless it is there already. Requires that there are
 * fewer than TOP_TUBES_MAX. Returns the tube; NULL: the map has no name. */
struct top_tube *top_add_tube(struct top_sample *sample, const redisReply *map);

/* Adds the totals of the map of STATS. */
void top_read_totals(struct top_tube *tube, const redisReply *map);

/* Returns the name of an order. */
const char *top_order_name(enum top_order order);

/* Sorts the tubes in an order, those that are alike by ready jobs from the most on, then by delayed
 * jobs likewise, then by name. */
void top_sort(struct top_sample *sample, enum top_order order);

/* Draws lines of text, the place of one marked, so that a window of this look shows it. A line that
 * is cut ends with '~'. `title` is the first line. The text has no control characters but line
 * ends. */
void top_draw_text(struct elapse__buffer *out, const struct top_look *look, const char *title,
                   const char *text);

/* Draws the sample, and how fast the counts have changed since the sample `before`, which may be
 * NULL. No line is wider than the look, and the picture has no more lines than the look has rows.
 * What is cut ends with '~', and columns that have no room are named. */
void top_draw(struct elapse__buffer *out, const struct top_look *look,
              const struct top_sample *sample, const struct top_sample *before);

#endif
