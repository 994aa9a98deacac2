#include "top_view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/text.h"
#include "answer.h"
#include "render.h"

enum { NUMBER_COLUMNS = 10, NUMBERS = 6, NAME_COLUMNS_MIN = 8, LINE_BYTES = 400 };

/* ---- reading ---- */

void top_read_counts(struct top_counts *counts, const redisReply *map)
{
    *counts = (struct top_counts){
        .delayed = answer_number(map, "delayed"),
        .ready = answer_number(map, "ready"),
        .reserved = answer_number(map, "reserved"),
        .buried = answer_number(map, "buried"),
        .total_put = answer_number(map, "total_put"),
        .total_done = answer_number(map, "total_done"),
        .total_timeouts = answer_number(map, "total_timeouts"),
        .pause_left_ms = answer_number(map, "pause_left"),
    };
}

void top_read_server(struct top_sample *sample, const redisReply *map)
{
    top_read_counts(&sample->server, map);
    sample->uptime_ms = answer_number(map, "uptime");
    sample->connections = answer_number(map, "connections");
    sample->workers = answer_number(map, "workers");
    sample->waiting = answer_number(map, "waiting");
    sample->log_bytes = answer_number(map, "log_bytes");
    sample->is_disk_full = answer_number(map, "disk_full") != 0;
    sample->takes_no_jobs = answer_number(map, "draining") != 0;
}

void top_add_tube(struct top_sample *sample, const char *name, size_t length, const redisReply *map)
{
    ELAPSE__ASSERT_THAT(sample->tube_count, <, (size_t)TOP_TUBES_MAX);
    struct top_tube *tube = &sample->tubes[sample->tube_count++];
    size_t kept = length < TOP_NAME_BYTES ? length : TOP_NAME_BYTES - 1;
    memcpy(tube->name, name, kept);
    tube->name[kept] = '\0';
    mask_text(tube->name, kept);
    top_read_counts(&tube->counts, map);
}

static int compare(const void *left, const void *right)
{
    const struct top_tube *one = left;
    const struct top_tube *other = right;

    if (one->counts.ready != other->counts.ready)
        return one->counts.ready < other->counts.ready ? 1 : -1;
    if (one->counts.delayed != other->counts.delayed)
        return one->counts.delayed < other->counts.delayed ? 1 : -1;
    return strcmp(one->name, other->name);
}

void top_sort(struct top_sample *sample)
{
    ELAPSE__ASSERT_THAT(sample->tube_count, <=, (size_t)TOP_TUBES_MAX);
    qsort(sample->tubes, sample->tube_count, sizeof sample->tubes[0], compare);
}

/* ---- drawing ---- */

struct canvas {
    struct elapse__buffer *out;
    const struct top_look *look;
    unsigned rows; /* drawn */
};

enum style { PLAIN, STRONG, FAINT };

/* Adds a line, cut to the width. Returns false if there is no row left. */
static bool add_line(struct canvas *canvas, enum style style, const char *text)
{
    const char *codes[] = {[PLAIN] = "", [STRONG] = "\033[1m", [FAINT] = "\033[2m"};
    bool has_style = canvas->look->has_styles && style != PLAIN;
    size_t used;

    if (canvas->look->rows != 0 && canvas->rows + 1 >= canvas->look->rows)
        return false;
    size_t bytes = text_fitting(text, strlen(text), canvas->look->columns, &used);
    while (bytes > 0 && text[bytes - 1] == ' ')
        bytes--;
    buffer_add_text(canvas->out, has_style ? codes[style] : "");
    buffer_add(canvas->out, text, bytes);
    buffer_add_text(canvas->out, has_style ? "\033[0m\n" : "\n");
    canvas->rows++;
    ELAPSE__ASSERT_THAT(used, <=, canvas->look->columns);
    return true;
}

__attribute__((format(printf, 3, 4))) static bool
add_format(struct canvas *canvas, enum style style, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return add_line(canvas, style, text);
}

struct short_number {
    char text[48];
};

/* Writes a number in at most seven columns: 1234567, 12.3M. */
static struct short_number short_number(uint64_t number)
{
    static const char units[] = "MGTPE";
    struct short_number shown;
    uint64_t unit = 1000000;
    size_t place = 0;

    if (number < 10000000) {
        (void)snprintf(shown.text, sizeof shown.text, "%" PRIu64, number);
        return shown;
    }
    while (number / unit >= 1000 && place + 1 < sizeof units - 1) {
        unit *= 1000;
        place++;
    }
    (void)snprintf(shown.text, sizeof shown.text, "%" PRIu64 ".%" PRIu64 "%c", number / unit,
                   number % unit / (unit / 10), units[place]);
    ELAPSE__ASSERT_THAT(strlen(shown.text), <=, 7U);
    return shown;
}

/* Writes by how much a total grows in a second; "-" if there is no earlier sample (`interval_ns` is
 * 0), or if the server was started again after it. */
static struct short_number rate(uint64_t now, uint64_t before, uint64_t interval_ns)
{
    const uint64_t second_ns = 1000000000;
    struct short_number shown = {"-"};

    if (interval_ns == 0 || now < before)
        return shown;
    uint64_t grown = now - before;
    if (grown > UINT64_MAX / second_ns)
        return shown;
    return short_number(grown * second_ns / interval_ns);
}

static const struct top_counts *counts_before(const struct top_sample *before, const char *name)
{
    for (size_t i = 0; before != NULL && i < before->tube_count; i++) {
        if (strcmp(before->tubes[i].name, name) == 0)
            return &before->tubes[i].counts;
    }
    return NULL;
}

static void draw_server(struct canvas *canvas, const struct top_sample *sample,
                        const struct top_sample *before)
{
    const struct top_counts *now = &sample->server;
    const struct top_counts *then = before != NULL ? &before->server : now;
    uint64_t interval_ns = before != NULL ? sample->when_ns - before->when_ns : 0;
    struct elapse__buffer uptime = {.bytes = NULL};

    ELAPSE__ASSERT(before == NULL || sample->when_ns >= before->when_ns);
    render_duration(&uptime, sample->uptime_ms / 1000 * 1000);
    (void)add_format(canvas, STRONG, "elapse %s   up %s%s%s", canvas->look->server,
                     buffer_string(&uptime), sample->is_disk_full ? "   DISK FULL" : "",
                     sample->takes_no_jobs ? "   TAKES NO NEW JOBS" : "");
    elapse__buffer_free(&uptime);
    (void)add_format(canvas, PLAIN, "jobs   delayed %s   ready %s   reserved %s   buried %s",
                     short_number(now->delayed).text, short_number(now->ready).text,
                     short_number(now->reserved).text, short_number(now->buried).text);
    (void)add_format(canvas, PLAIN, "rates  put %s/s   done %s/s   timed out %s/s",
                     rate(now->total_put, then->total_put, interval_ns).text,
                     rate(now->total_done, then->total_done, interval_ns).text,
                     rate(now->total_timeouts, then->total_timeouts, interval_ns).text);
    (void)add_format(canvas, PLAIN,
                     "peers  connections %s   workers %s   waiting %s   log %" PRIu64 " MiB",
                     short_number(sample->connections).text, short_number(sample->workers).text,
                     short_number(sample->waiting).text, sample->log_bytes >> 20);
    (void)add_line(canvas, PLAIN, "");
}

/* Writes a name in `columns` columns: cut, or filled up with blanks. */
static void add_name(char *line, const char *name, size_t columns)
{
    size_t used;
    size_t length = strlen(name);
    size_t bytes = text_fitting(name, length, columns, &used);

    if (bytes < length && columns > 0) {
        bytes = text_fitting(name, length, columns - 1, &used);
        memcpy(line, name, bytes);
        line[bytes++] = '~';
        used++;
    } else {
        memcpy(line, name, bytes);
    }
    ELAPSE__ASSERT_THAT(used, <=, columns);
    memset(line + bytes, ' ', columns - used);
    line[bytes + columns - used] = '\0';
}

/* Draws a row of the table: a name, and as many of the numbers as fit into the columns. */
static bool draw_row(struct canvas *canvas, enum style style, const char *name,
                     const char *const numbers[NUMBERS])
{
    char line[4 * TOP_NAME_BYTES + NUMBERS * 64];
    size_t columns = canvas->look->columns;
    size_t shown = NUMBERS;

    while (shown > 1 && NAME_COLUMNS_MIN + shown * NUMBER_COLUMNS > columns)
        shown--;
    ELAPSE__ASSERT_THAT(shown * NUMBER_COLUMNS, <=, columns);
    size_t name_columns = columns - shown * NUMBER_COLUMNS;
    name_columns = name_columns < TOP_NAME_BYTES ? name_columns : TOP_NAME_BYTES - 1;
    add_name(line, name, name_columns);
    for (size_t i = 0; i < shown; i++) {
        size_t length = strlen(line);
        (void)snprintf(line + length, sizeof line - length, "%*s", NUMBER_COLUMNS, numbers[i]);
    }
    return add_line(canvas, style, line);
}

static bool draw_tube(struct canvas *canvas, const struct top_tube *tube,
                      const struct top_sample *sample, const struct top_sample *before)
{
    const struct top_counts *now = &tube->counts;
    const struct top_counts *then = counts_before(before, tube->name);
    uint64_t interval_ns = then != NULL ? sample->when_ns - before->when_ns : 0;
    const struct short_number texts[NUMBERS] = {
        short_number(now->ready),
        short_number(now->delayed),
        short_number(now->reserved),
        short_number(now->buried),
        rate(now->total_put, then != NULL ? then->total_put : 0, interval_ns),
        rate(now->total_done, then != NULL ? then->total_done : 0, interval_ns),
    };
    const char *numbers[NUMBERS];
    char name[TOP_NAME_BYTES + 16];

    for (size_t i = 0; i < NUMBERS; i++)
        numbers[i] = texts[i].text;
    (void)snprintf(name, sizeof name, "%s%s", now->pause_left_ms > 0 ? "(paused) " : "",
                   tube->name);
    return draw_row(canvas, PLAIN, name, numbers);
}

static void draw_tubes(struct canvas *canvas, const struct top_sample *sample,
                       const struct top_sample *before)
{
    static const char *const titles[NUMBERS] = {"READY",  "DELAYED", "RESERVED",
                                                "BURIED", "PUT/S",   "DONE/S"};
    size_t drawn = 0;
    unsigned rows = canvas->look->rows;
    bool has_rest = false;

    (void)draw_row(canvas, STRONG, "TUBE", titles);
    for (; drawn < sample->tube_count; drawn++) {
        /* The last row says how many tubes are not shown. */
        has_rest = rows != 0 && canvas->rows + 2 >= rows &&
                   (drawn + 1 < sample->tube_count || sample->has_more_tubes);
        if (has_rest || !draw_tube(canvas, &sample->tubes[drawn], sample, before))
            break;
    }
    if (sample->tube_count == 0)
        (void)add_line(canvas, FAINT, "no tubes");
    if (has_rest || sample->has_more_tubes)
        (void)add_format(canvas, FAINT, "and %zu%s more", sample->tube_count - drawn,
                         sample->has_more_tubes ? ", and others," : "");
}

void top_draw(struct elapse__buffer *out, const struct top_look *look,
              const struct top_sample *sample, const struct top_sample *before)
{
    /* The last row is kept for the line that shows the keys or the fault. */
    struct top_look upper = *look;
    struct canvas canvas = {.out = out, .look = &upper};
    char text[LINE_BYTES];

    ELAPSE__ASSERT_THAT(look->columns, >=, 20U);
    if (look->is_live && upper.rows > 1)
        upper.rows--;
    draw_server(&canvas, sample, before);
    draw_tubes(&canvas, sample, before);
    upper.rows = look->rows;
    if (look->fault != NULL)
        (void)snprintf(text, sizeof text, "no news: %s", look->fault);
    else
        (void)snprintf(text, sizeof text, "q: quit");
    if (look->is_live || look->fault != NULL)
        (void)add_line(&canvas, look->fault != NULL ? STRONG : FAINT, text);
    ELAPSE__ASSERT(look->rows == 0 || canvas.rows <= look->rows);
}
