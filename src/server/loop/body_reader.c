#include "body_reader.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/os.h"
#include "../../os/program.h"

/* A reading, and the reader that gave it to the thread. */
struct item {
    struct elapse__body_reader *reader;
    struct elapse__server_reading *reading;
};

/* A line of readings. The reading that entered first leaves first. */
struct line {
    struct item *items;
    size_t first;
    size_t count;
    size_t capacity;
};

struct elapse__body_thread {
    struct elapse__os_monitor *monitor; /* its lock guards all lines */
    struct elapse__os_background *thread;
    struct line to_read;
    unsigned readers;
    bool ends;
};

struct elapse__body_reader {
    const struct elapse__journal *journal;
    struct elapse__body_thread *thread;
    int descriptor;
    struct line read;
    /* How many readings were given and not taken back; only the loop uses this count. */
    size_t count;
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
    struct item *items = malloc(capacity * sizeof *items);
    if (items == NULL)
        return false;
    for (size_t i = 0; i < line->count; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): without capacity the count is 0 */
        items[i] = line->items[(line->first + i) % line->capacity];
    free(line->items);
    ELAPSE__ASSERT_THAT(line->count, <, capacity);
    *line = (struct line){.items = items, .count = line->count, .capacity = capacity};
    return true;
}

static void line_add(struct line *line, struct item item)
{
    ELAPSE__ASSERT_THAT(line->count, <, line->capacity);
    line->items[(line->first + line->count) % line->capacity] = item;
    line->count++;
}

/* Takes the first item out of the line. If the line is empty, the item has no reading. */
static struct item line_take(struct line *line)
{
    if (line->count == 0)
        return (struct item){.reading = NULL};
    ELAPSE__ASSERT_THAT(line->first, <, line->capacity);
    ELAPSE__ASSERT_THAT(line->count, <=, line->capacity);
    struct item item = line->items[line->first];
    line->first = (line->first + 1) % line->capacity;
    line->count--;
    return item;
}

/* ---- the thread ---- */

static void read_all(void *argument)
{
    struct elapse__body_thread *thread = argument;

    elapse__os_thread_name("elapse-reader");
    elapse__os_monitor_enter(thread->monitor);
    for (;;) {
        struct item item = line_take(&thread->to_read);
        if (item.reading == NULL && thread->ends)
            break;
        if (item.reading == NULL) {
            elapse__os_monitor_wait(thread->monitor);
            continue;
        }
        elapse__os_monitor_leave(thread->monitor);
        elapse__journal_read_perform(item.reader->journal, true, &item.reading->reading, 1);
        elapse__os_monitor_enter(thread->monitor);
        line_add(&item.reader->read, item);
        elapse__os_event_set(item.reader->descriptor);
        elapse__os_monitor_wake_all(thread->monitor); /* wakes a loop that closes its reader */
    }
    elapse__os_monitor_leave(thread->monitor);
}

struct elapse__body_thread *elapse__body_thread_start(void)
{
    struct elapse__body_thread *thread = calloc(1, sizeof *thread);

    if (thread == NULL)
        return NULL;
    if (elapse__os_monitor_new(&thread->monitor) != 0) {
        free(thread);
        return NULL;
    }
    if (elapse__os_background_start(&thread->thread, read_all, thread) != 0) {
        elapse__os_monitor_free(thread->monitor);
        free(thread);
        return NULL;
    }
    return thread;
}

void elapse__body_thread_stop(struct elapse__body_thread *thread)
{
    elapse__os_monitor_enter(thread->monitor);
    ELAPSE__ASSERT_THAT(thread->readers, ==, 0);
    ELAPSE__ASSERT_THAT(thread->to_read.count, ==, 0);
    thread->ends = true;
    elapse__os_monitor_wake_all(thread->monitor);
    elapse__os_monitor_leave(thread->monitor);
    elapse__os_background_join(thread->thread);
    elapse__os_monitor_free(thread->monitor);
    free(thread->to_read.items);
    free(thread);
}

/* ---- the loop ---- */

struct elapse__body_reader *elapse__body_reader_open(struct elapse__body_thread *thread,
                                                     const struct elapse__journal *journal)
{
    struct elapse__body_reader *reader = calloc(1, sizeof *reader);

    if (reader == NULL)
        return NULL;
    reader->journal = journal;
    reader->thread = thread;
    if (elapse__os_event_open(&reader->descriptor) != 0) {
        free(reader);
        return NULL;
    }
    elapse__os_monitor_enter(thread->monitor);
    thread->readers++;
    elapse__os_monitor_leave(thread->monitor);
    return reader;
}

/* Takes the readings of `reader` out of the line. The reading that the thread performs is not in
 * the line. */
static void withdraw(struct elapse__body_reader *reader)
{
    struct line *line = &reader->thread->to_read;

    for (size_t left = line->count; left > 0; left--) {
        struct item item = line_take(line);
        line_add(item.reader == reader ? &reader->read : line, item);
    }
}

void elapse__body_reader_withdraw(struct elapse__body_reader *reader)
{
    elapse__os_monitor_enter(reader->thread->monitor);
    withdraw(reader);
    elapse__os_monitor_leave(reader->thread->monitor);
}

void elapse__body_reader_close(struct elapse__body_reader *reader)
{
    struct elapse__body_thread *thread = reader->thread;

    elapse__os_monitor_enter(thread->monitor);
    withdraw(reader);
    while (reader->read.count < reader->count)
        elapse__os_monitor_wait(thread->monitor);
    ELAPSE__ASSERT_THAT(reader->read.count, ==, reader->count);
    ELAPSE__ASSERT_THAT(thread->readers, >, 0);
    thread->readers--;
    elapse__os_monitor_leave(thread->monitor);
    (void)elapse__os_close(reader->descriptor);
    free(reader->read.items);
    free(reader);
}

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
    struct elapse__body_thread *thread = reader->thread;

    elapse__os_monitor_enter(thread->monitor);
    ELAPSE__ASSERT(!thread->ends);
    ELAPSE__ASSERT_THAT(reader->read.count, <=, reader->count);
    /* The room for the result is made now, so that the thread needs no memory later. */
    bool fits = line_reserve(&thread->to_read, thread->to_read.count + 1) &&
                line_reserve(&reader->read, reader->count + 1);
    if (fits) {
        line_add(&thread->to_read, (struct item){reader, reading});
        reader->count++;
        ELAPSE__ASSERT_THAT(reader->count, <=, reader->read.capacity);
        elapse__os_monitor_wake_all(thread->monitor);
    }
    elapse__os_monitor_leave(thread->monitor);
    return fits;
}

struct elapse__server_reading *elapse__body_reader_take(struct elapse__body_reader *reader)
{
    if (reader->count == 0)
        return NULL;
    elapse__os_monitor_enter(reader->thread->monitor);
    struct item item = line_take(&reader->read);
    elapse__os_monitor_leave(reader->thread->monitor);
    if (item.reading != NULL)
        reader->count--;
    return item.reading;
}
