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

enum { NUMBERS = 8, NAME_COLUMNS_MIN = 12, LINE_BYTES = 400 };

/* The columns of numbers, the most important ones first, and their widths. */
static const char *const titles[NUMBERS] = {"READY",   "BURIED",   "OVERDUE", "HELD",
                                            "DELAYED", "RESERVED", "PUT/S",   "DONE/S"};
static const unsigned char widths[NUMBERS] = {9, 8, 9, 8, 9, 9, 8, 8};

enum { OVERDUE = 2 };

/* A ready job is overdue when it has waited for so long. TUBES TROUBLE uses the same time. */
#define OVERDUE_MS 10000

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
        .held = answer_number(map, "held"),
        .overdue_ms = answer_number(map, "overdue"),
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

struct top_tube *top_add_tube(struct top_sample *sample, const redisReply *map)
{
    const redisReply *name = answer_member(map, "tube");

    ELAPSE__ASSERT_THAT(sample->tube_count, <, (size_t)TOP_TUBES_MAX);
    if (name == NULL || !answer_is_text(name) || name->len >= TOP_NAME_BYTES)
        return NULL;
    for (size_t i = 0; i < sample->tube_count; i++) {
        if (sample->tubes[i].length == name->len &&
            memcmp(sample->tubes[i].name, name->str, name->len) == 0)
            return &sample->tubes[i];
    }
    struct top_tube *tube = &sample->tubes[sample->tube_count++];
    memcpy(tube->name, name->str, name->len);
    tube->name[name->len] = '\0';
    tube->length = name->len;
    top_read_counts(&tube->counts, map);
    return tube;
}

void top_read_totals(struct top_tube *tube, const redisReply *map)
{
    tube->counts.total_put = answer_number(map, "total_put");
    tube->counts.total_done = answer_number(map, "total_done");
    tube->counts.total_timeouts = answer_number(map, "total_timeouts");
}

const char *top_order_name(enum top_order order)
{
    static const char *const names[TOP_ORDERS] = {"trouble", "ready",   "buried",
                                                  "overdue", "delayed", "name"};

    ELAPSE__ASSERT(order < TOP_ORDERS);
    return names[order];
}

static bool is_in_trouble(const struct top_counts *counts)
{
    return counts->buried > 0 || counts->overdue_ms >= OVERDUE_MS || counts->held > 0 ||
           counts->pause_left_ms > 0;
}

/* Returns the number by which an order compares tubes. The greatest comes first. */
static uint64_t weight(const struct top_tube *tube, enum top_order order)
{
    switch (order) {
    case TOP_BY_TROUBLE:
        return is_in_trouble(&tube->counts);
    case TOP_BY_BURIED:
        return tube->counts.buried;
    case TOP_BY_OVERDUE:
        return tube->counts.overdue_ms;
    case TOP_BY_DELAYED:
        return tube->counts.delayed;
    case TOP_BY_READY:
        return tube->counts.ready;
    default:
        return 0;
    }
}

static enum top_order sort_order; /* the order, because qsort passes no context */

static int compare(const void *left, const void *right)
{
    const struct top_tube *one = left;
    const struct top_tube *other = right;
    uint64_t one_weight = weight(one, sort_order);
    uint64_t other_weight = weight(other, sort_order);

    if (one_weight != other_weight)
        return one_weight < other_weight ? 1 : -1;
    if (sort_order != TOP_BY_NAME && one->counts.ready != other->counts.ready)
        return one->counts.ready < other->counts.ready ? 1 : -1;
    if (sort_order != TOP_BY_NAME && one->counts.delayed != other->counts.delayed)
        return one->counts.delayed < other->counts.delayed ? 1 : -1;
    return strcmp(one->name, other->name);
}

void top_sort(struct top_sample *sample, enum top_order order)
{
    ELAPSE__ASSERT_THAT(sample->tube_count, <=, (size_t)TOP_TUBES_MAX);
    ELAPSE__ASSERT(order < TOP_ORDERS);
    sort_order = order;
    qsort(sample->tubes, sample->tube_count, sizeof sample->tubes[0], compare);
}

/* ---- drawing ---- */

struct canvas {
    struct elapse__buffer *out;
    const struct top_look *look;
    unsigned rows; /* how many rows were drawn */
};

enum style { PLAIN, STRONG, FAINT, MARKED };

/* Adds a line, and cuts it to the width. Returns false if there is no row left. */
static bool add_line(struct canvas *canvas, enum style style, const char *text)
{
    const char *codes[] = {
        [PLAIN] = "", [STRONG] = "\033[1m", [FAINT] = "\033[2m", [MARKED] = "\033[7m"};
    bool has_style = canvas->look->has_styles && style != PLAIN;
    size_t used;

    if (canvas->look->rows != 0 && canvas->rows + 1 >= canvas->look->rows)
        return false;
    size_t bytes = text_fitting(text, strlen(text), canvas->look->columns, &used);
    bool is_cut = text[bytes + strspn(text + bytes, " ")] != '\0';
    if (is_cut)
        bytes = text_fitting(text, strlen(text), canvas->look->columns - 1, &used);
    while (!is_cut && bytes > 0 && text[bytes - 1] == ' ')
        bytes--;
    buffer_add_text(canvas->out, has_style ? codes[style] : "");
    buffer_add(canvas->out, text, bytes);
    buffer_add_text(canvas->out, is_cut ? "~" : "");
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

/* Adds parts with three blanks between them. Uses as many lines as they need. */
static void add_parts(struct canvas *canvas, enum style style, char *text)
{
    static const char between[] = "   ";
    char *begin = text;

    while (begin != NULL) {
        char *end = NULL;
        char *next = strstr(begin, between);
        for (; next != NULL; next = strstr(next + 1, between)) {
            if (text_columns(begin, (size_t)(next - begin)) <= canvas->look->columns)
                end = next;
        }
        if (text_columns(begin, strlen(begin)) <= canvas->look->columns)
            end = NULL;
        if (end != NULL)
            *end = '\0';
        (void)add_line(canvas, style, begin);
        begin = end != NULL ? end + sizeof between - 1 : NULL;
    }
}

__attribute__((format(printf, 3, 4))) static void
add_parts_of(struct canvas *canvas, enum style style, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    add_parts(canvas, style, text);
}

struct short_number {
    char text[48];
};

/* Writes a number in at most seven columns, such as 1234567 or 12.3M. */
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

/* Writes how much a total grows in a second. Writes "-" if there is no earlier sample
 * (`interval_ns` is 0), or if the server has restarted since. */
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

/* In a window with fewer rows than this, the tubes take the place of some facts about the
 * server. */
enum { LOW_ROWS = 14 };

static void draw_server(struct canvas *canvas, const struct top_sample *sample,
                        const struct top_sample *before)
{
    const struct top_counts *now = &sample->server;
    const struct top_counts *then = before != NULL ? &before->server : now;
    uint64_t interval_ns = before != NULL ? sample->when_ns - before->when_ns : 0;
    struct elapse__buffer uptime = {.bytes = NULL};

    ELAPSE__ASSERT(before == NULL || sample->when_ns >= before->when_ns);
    render_duration(&uptime, sample->uptime_ms / 1000 * 1000);
    add_parts_of(canvas, STRONG, "elapse %s   up %s%s%s", canvas->look->server,
                 buffer_string(&uptime), sample->is_disk_full ? "   DISK FULL" : "",
                 sample->takes_no_jobs ? "   TAKES NO NEW JOBS" : "");
    elapse__buffer_free(&uptime);
    add_parts_of(canvas, PLAIN, "jobs   delayed %s   ready %s   reserved %s   buried %s",
                 short_number(now->delayed).text, short_number(now->ready).text,
                 short_number(now->reserved).text, short_number(now->buried).text);
    if (canvas->look->rows != 0 && canvas->look->rows < LOW_ROWS)
        return; /* in a low window the tubes are more important */
    add_parts_of(canvas, PLAIN, "rates  put %s/s   done %s/s   timed out %s/s",
                 rate(now->total_put, then->total_put, interval_ns).text,
                 rate(now->total_done, then->total_done, interval_ns).text,
                 rate(now->total_timeouts, then->total_timeouts, interval_ns).text);
    add_parts_of(canvas, PLAIN,
                 "peers  connections %s   workers %s   waiting %s   log %" PRIu64 " MiB",
                 short_number(sample->connections).text, short_number(sample->workers).text,
                 short_number(sample->waiting).text, sample->log_bytes >> 20);
    (void)add_line(canvas, PLAIN, "");
}

/* Writes a name in `columns` columns. Cuts it, or fills it up with blanks. */
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

/* Returns how many numbers have room beside a name. */
static size_t numbers_shown(const struct canvas *canvas, size_t *number_columns)
{
    size_t shown = 0;

    *number_columns = 0;
    while (shown < NUMBERS &&
           NAME_COLUMNS_MIN + *number_columns + widths[shown] <= canvas->look->columns)
        *number_columns += widths[shown++];
    ELAPSE__ASSERT_THAT(NAME_COLUMNS_MIN + *number_columns, <=, canvas->look->columns);
    return shown;
}

/* Draws a row of the table: a name, and as many numbers as fit into the columns. */
static bool draw_row(struct canvas *canvas, enum style style, const char *name,
                     const char *const numbers[NUMBERS])
{
    char line[4 * TOP_NAME_BYTES + NUMBERS * 64];
    size_t number_columns;
    size_t shown = numbers_shown(canvas, &number_columns);
    size_t name_columns = canvas->look->columns - number_columns;

    name_columns = name_columns < TOP_NAME_BYTES ? name_columns : TOP_NAME_BYTES - 1;
    add_name(line, name, name_columns);
    for (size_t i = 0; i < shown; i++) {
        size_t length = strlen(line);
        ELAPSE__ASSERT_THAT(length + widths[i], <, sizeof line);
        (void)snprintf(line + length, sizeof line - length, "%*s", (int)widths[i], numbers[i]);
    }
    return add_line(canvas, style, line);
}

/* Writes a duration in at most seven columns, such as 59s, 12m, 3h or 12d. */
static struct short_number short_duration(uint64_t milliseconds)
{
    struct short_number shown;
    uint64_t seconds = milliseconds / 1000;
    uint64_t minute = 60, hour = 60 * minute, day = 24 * hour;

    if (milliseconds == 0)
        return (struct short_number){"-"};
    (void)snprintf(shown.text, sizeof shown.text, "%" PRIu64 "%s",
                   seconds < 2 * minute ? seconds
                   : seconds < 2 * hour ? seconds / minute
                   : seconds < 2 * day  ? seconds / hour
                                        : seconds / day,
                   seconds < 2 * minute ? "s"
                   : seconds < 2 * hour ? "m"
                   : seconds < 2 * day  ? "h"
                                        : "d");
    return shown;
}

static bool draw_tube(struct canvas *canvas, enum style style, const struct top_tube *tube,
                      const struct top_sample *sample, const struct top_sample *before)
{
    const struct top_counts *now = &tube->counts;
    const struct top_counts *then = counts_before(before, tube->name);
    uint64_t interval_ns = then != NULL ? sample->when_ns - before->when_ns : 0;
    const struct short_number texts[NUMBERS] = {
        short_number(now->ready),
        short_number(now->buried),
        short_duration(now->overdue_ms),
        short_number(now->held),
        short_number(now->delayed),
        short_number(now->reserved),
        rate(now->total_put, then != NULL ? then->total_put : 0, interval_ns),
        rate(now->total_done, then != NULL ? then->total_done : 0, interval_ns),
    };
    const char *numbers[NUMBERS];
    char name[TOP_NAME_BYTES + 16];

    for (size_t i = 0; i < NUMBERS; i++)
        numbers[i] = texts[i].text;
    if (now->pause_left_ms > 0)
        numbers[OVERDUE] = "paused";
    int length = snprintf(name, sizeof name, "%s%s", style == MARKED ? ">" : "", tube->name);
    ELAPSE__ASSERT_THAT((size_t)length, <, sizeof name);
    mask_text(name, (size_t)length);
    return draw_row(canvas, style, name, numbers);
}

static void draw_tubes(struct canvas *canvas, const struct top_sample *sample,
                       const struct top_sample *before)
{
    const struct top_look *look = canvas->look;
    unsigned rows = look->rows;
    size_t number_columns;
    size_t shown = numbers_shown(canvas, &number_columns);
    bool has_rest = false;

    (void)draw_row(canvas, STRONG, "TUBE", titles);
    if (shown < NUMBERS)
        (void)add_format(canvas, FAINT, "no room: from %s on", titles[shown]);
    /* The selected tube has to be on the picture, so some tubes before it may be left out. */
    size_t room = rows == 0                 ? sample->tube_count
                  : rows > canvas->rows + 2 ? rows - canvas->rows - 2
                                            : 1;
    size_t first = look->has_selected && look->selected >= room ? look->selected - room + 1 : 0;
    size_t drawn = first;
    for (; drawn < sample->tube_count; drawn++) {
        /* The last row says how many tubes are not shown. */
        has_rest = rows != 0 && canvas->rows + 2 >= rows &&
                   (drawn + 1 < sample->tube_count || sample->has_more_tubes || first > 0);
        enum style style = look->has_selected && look->selected == drawn ? MARKED : PLAIN;
        if (has_rest || !draw_tube(canvas, style, &sample->tubes[drawn], sample, before))
            break;
    }
    if (sample->tube_count == 0)
        (void)add_line(canvas, FAINT, "no tubes");
    if (has_rest || sample->has_more_tubes)
        (void)add_format(canvas, FAINT, "and %zu%s more", sample->tube_count - drawn + first,
                         sample->has_more_tubes ? ", and others," : "");
}

/* Draws the last line: the fault, the hint or the keys. */
static void draw_last(struct canvas *canvas)
{
    const struct top_look *look = canvas->look;

    if (look->fault != NULL)
        (void)add_format(canvas, STRONG, "no news: %s", look->fault);
    else if (look->is_live && look->hint != NULL)
        (void)add_line(canvas, STRONG, look->hint);
    else if (look->is_live && look->keys != NULL && look->columns >= 72)
        (void)add_line(canvas, FAINT, look->keys);
    else if (look->is_live && look->columns >= 72)
        (void)add_format(canvas, FAINT,
                         "q: quit  s: sort (%s)  /: filter  Enter: jobs  k: kick  p: pause",
                         top_order_name(look->order));
    else if (look->is_live && look->columns >= 38)
        (void)add_line(canvas, FAINT, "q quit s sort / filter k kick p pause");
    else if (look->is_live)
        (void)add_line(canvas, FAINT, "q: quit");
}

void top_draw_text(struct elapse__buffer *out, const struct top_look *look, const char *title,
                   const char *text)
{
    struct top_look upper = *look;
    struct canvas canvas = {.out = out, .look = &upper};
    char line[LINE_BYTES * 4];
    size_t place = 0;

    ELAPSE__ASSERT_THAT(look->columns, >=, 20U);
    if (look->is_live && upper.rows > 1)
        upper.rows--;
    (void)add_line(&canvas, STRONG, title);
    size_t room = upper.rows > 3 ? upper.rows - 3 : 1;
    size_t first = look->has_selected && look->selected >= room ? look->selected - room + 1 : 0;
    size_t hidden = 0;
    for (; *text != '\0'; place++) {
        size_t length = strcspn(text, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)length, text);
        bool is_full = upper.rows != 0 && canvas.rows + 2 >= upper.rows;
        hidden += place < first || is_full;
        if (place >= first && !is_full)
            (void)add_line(&canvas, look->has_selected && look->selected == place ? MARKED : PLAIN,
                           line);
        text += length + (text[length] == '\n');
    }
    if (hidden > 0)
        (void)add_format(&canvas, FAINT, "and %zu more lines", hidden);
    upper.rows = look->rows;
    draw_last(&canvas);
}

void top_draw(struct elapse__buffer *out, const struct top_look *look,
              const struct top_sample *sample, const struct top_sample *before)
{
    /* The last row is for the line with the keys or the fault. */
    struct top_look upper = *look;
    struct canvas canvas = {.out = out, .look = &upper};

    ELAPSE__ASSERT_THAT(look->columns, >=, 20U);
    ELAPSE__ASSERT(!look->has_selected || look->selected == 0 ||
                   look->selected < sample->tube_count);
    if (look->is_live && upper.rows > 1)
        upper.rows--;
    draw_server(&canvas, sample, before);
    if (look->filter != NULL && *look->filter != '\0')
        (void)add_format(&canvas, STRONG, "tubes that begin with '%s'", look->filter);
    draw_tubes(&canvas, sample, before);
    upper.rows = look->rows;
    draw_last(&canvas);
    ELAPSE__ASSERT(look->rows == 0 || canvas.rows <= look->rows);
}
