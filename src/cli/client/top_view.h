/*
 * Draws the picture of "elapse top": counts of a server and of its tubes, and how fast they change.
 * No function here has an effect: figures come in, and lines go out.
 */
#ifndef ELAPSE_CLI_CLIENT_TOP_VIEW_H
#define ELAPSE_CLI_CLIENT_TOP_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "../common/buffer.h"

/* The most tubes that elapse top asks for and shows. */
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
    char name[TOP_NAME_BYTES]; /* the unchanged name, at most 200 bytes */
    size_t length;
    struct top_counts counts;
};

/* What elapse top saw at one moment. */
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

/* The orders of the tubes. */
enum top_order {
    TOP_BY_TROUBLE, /* first tubes that need attention, then by ready jobs */
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
    unsigned rows;    /* 0: no limit */
    bool has_styles;  /* uses bold and faint, which suit dark and light terminals */
    bool is_live;     /* the last line names the keys */
    const char *server;
    const char *fault;  /* why there is no new sample; NULL: there is one */
    const char *hint;   /* the last line instead of the keys; NULL: the keys */
    const char *keys;   /* what a wide picture says about keys; NULL: those of the tubes */
    const char *filter; /* shows only tubes whose names begin so; NULL: shows all */
    enum top_order order;
    bool has_selected;
    size_t selected; /* the place of the tube that is on the picture and highlighted */
};

/* Reads the map of STATS. */
void top_read_counts(struct top_counts *counts, const redisReply *map);
void top_read_server(struct top_sample *sample, const redisReply *map);

/* Adds a tube from its map in TUBES with COUNTS, unless the tube was added before. Requires that
 * there are fewer than TOP_TUBES_MAX tubes. Returns the tube, or NULL if the map has no name. */
struct top_tube *top_add_tube(struct top_sample *sample, const redisReply *map);

/* Adds the totals from the map of STATS. */
void top_read_totals(struct top_tube *tube, const redisReply *map);

/* Returns the name of an order. */
const char *top_order_name(enum top_order order);

/* Sorts the tubes in an order. Tubes that are equal in it are sorted by ready jobs, then by delayed
 * jobs, from the most on, and then by name. */
void top_sort(struct top_sample *sample, enum top_order order);

/* Draws lines of text so that the selected line is in the window and highlighted. A line that is
 * cut ends with '~'. `title` is the first line. The text has no control characters except line
 * ends. */
void top_draw_text(struct elapse__buffer *out, const struct top_look *look, const char *title,
                   const char *text);

/* Draws the sample, and how fast the counts have changed since the sample `before`, which may be
 * NULL. No line is wider than the look says, and there are no more lines than its rows. A line that
 * is cut ends with '~'. Columns without room are named. */
void top_draw(struct elapse__buffer *out, const struct top_look *look,
              const struct top_sample *sample, const struct top_sample *before);

#endif
