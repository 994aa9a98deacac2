#include "body_reader.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"

/* Readings in their order. */
struct line {
    struct elapse__server_reading **items;
    size_t first;
    size_t count;
    size_t capacity;
};

struct elapse__body_reader {
    const struct elapse__journal *journal;
    struct elapse__os_monitor *monitor;
    struct elapse__os_background *thread;
    int descriptor;
    struct line to_read;
    struct line read;
    size_t count; /* readings given and not taken back; only the loop uses it */
    bool ends;
};

/* ---- a line ---- */

/* Makes room for `wanted` readings. Returns false if there is no memory. */
static bool line_reserve(struct line *line, size_t wanted)
{
    size_t capacity = line->capacity == 0 ? 64 : line->capacity;

    if (wanted <= line->capacity)
        return true;
    while (capacity < wanted)
        capacity *= 2;
    struct elapse__server_reading **items =
        malloc(capacity * sizeof(struct elapse__server_reading *));
    if (items == NULL)
        return false;
    for (size_t i = 0; i < line->count; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): none in a line without capacity */
        items[i] = line->items[(line->first + i) % line->capacity];
    free(line->items);
    ELAPSE__ASSERT_THAT(line->count, <, capacity);
    *line = (struct line){.items = items, .count = line->count, .capacity = capacity};
    return true;
}

static void line_add(struct line *line, struct elapse__server_reading *reading)
{
    ELAPSE__ASSERT_THAT(line->count, <, line->capacity);
    line->items[(line->first + line->count) % line->capacity] = reading;
    line->count++;
}

static struct elapse__server_reading *line_take(struct line *line)
{
    if (line->count == 0)
        return NULL;
    ELAPSE__ASSERT_THAT(line->first, <, line->capacity);
    ELAPSE__ASSERT_THAT(line->count, <=, line->capacity);
    struct elapse__server_reading *reading = line->items[line->first];
    line->first = (line->first + 1) % line->capacity;
    line->count--;
    return reading;
}

/* ---- the thread ---- */

static void read_all(void *argument)
{
    struct elapse__body_reader *reader = argument;

    elapse__os_monitor_enter(reader->monitor);
    for (;;) {
        struct elapse__server_reading *reading = line_take(&reader->to_read);
        if (reading == NULL && reader->ends)
            break;
        if (reading == NULL) {
            elapse__os_monitor_wait(reader->monitor);
            continue;
        }
        elapse__os_monitor_leave(reader->monitor);
        elapse__journal_read_perform(reader->journal, true, &reading->reading, 1);
        elapse__os_monitor_enter(reader->monitor);
        line_add(&reader->read, reading);
        elapse__os_event_set(reader->descriptor);
    }
    elapse__os_monitor_leave(reader->monitor);
}

struct elapse__body_reader *elapse__body_reader_start(const struct elapse__journal *journal)
{
    struct elapse__body_reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL)
        return NULL;
    reader->journal = journal;
    if (elapse__os_event_open(&reader->descriptor) != 0) {
        free(reader);
        return NULL;
    }
    if (elapse__os_monitor_new(&reader->monitor) != 0) {
        (void)elapse__os_close(reader->descriptor);
        free(reader);
        return NULL;
    }
    if (elapse__os_background_start(&reader->thread, read_all, reader) != 0) {
        elapse__os_monitor_free(reader->monitor);
        (void)elapse__os_close(reader->descriptor);
        free(reader);
        return NULL;
    }
    return reader;
}

void elapse__body_reader_stop(struct elapse__body_reader *reader)
{
    elapse__os_monitor_enter(reader->monitor);
    reader->ends = true;
    elapse__os_monitor_wake_all(reader->monitor);
    elapse__os_monitor_leave(reader->monitor);
    elapse__os_background_join(reader->thread);
    ELAPSE__ASSERT_THAT(reader->to_read.count, ==, 0);
    ELAPSE__ASSERT_THAT(reader->read.count, ==, reader->count);
    elapse__os_monitor_free(reader->monitor);
    (void)elapse__os_close(reader->descriptor);
    free(reader->to_read.items);
    free(reader->read.items);
    free(reader);
}

/* ---- the loop ---- */

int elapse__body_reader_descriptor(const struct elapse__body_reader *reader)
{
    return reader->descriptor;
}

void elapse__body_reader_quiet(const struct elapse__body_reader *reader)
{
    (void)elapse__os_event_reset(reader->descriptor);
}

size_t elapse__body_reader_count(const struct elapse__body_reader *reader)
{
    return reader->count;
}

bool elapse__body_reader_give(struct elapse__body_reader *reader,
                              struct elapse__server_reading *reading)
{
    elapse__os_monitor_enter(reader->monitor);
    ELAPSE__ASSERT(!reader->ends);
    ELAPSE__ASSERT_THAT(reader->to_read.count + reader->read.count, <=, reader->count);
    /* Room for the result is made now, so that the thread needs no memory. */
    bool fits = line_reserve(&reader->to_read, reader->to_read.count + 1) &&
                line_reserve(&reader->read, reader->count + 1);
    if (fits) {
        line_add(&reader->to_read, reading);
        reader->count++;
        ELAPSE__ASSERT_THAT(reader->count, <=, reader->read.capacity);
        elapse__os_monitor_wake_all(reader->monitor);
    }
    elapse__os_monitor_leave(reader->monitor);
    return fits;
}

struct elapse__server_reading *elapse__body_reader_take(struct elapse__body_reader *reader)
{
    if (reader->count == 0)
        return NULL;
    elapse__os_monitor_enter(reader->monitor);
    struct elapse__server_reading *reading = line_take(&reader->read);
    elapse__os_monitor_leave(reader->monitor);
    if (reading != NULL)
        reader->count--;
    return reading;
}
