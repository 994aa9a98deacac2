/*
 * Writes standard output on a thread of its own. The thread takes the buffer with all bytes that
 * wait, and puts the empty buffer that it wrote before in its place.
 */
#include "writer.h"

#include "../../base/assert.h"
#include "../common/output.h"

/* Writes the lines, and empties the buffer. If writing fails, reports it and returns false. */
static bool write_out(struct elapse__buffer *taken)
{
    output_add_buffer(taken);
    elapse__buffer_clear(taken);
    return output_finish() == STATUS_OK;
}

static size_t waiting_bytes(const struct run_writer *writer)
{
    return elapse__buffer_size(&writer->waiting.text);
}

static bool is_full(const struct run_writer *writer)
{
    return waiting_bytes(writer) >= RUN_WRITER_BYTES_MAX && !writer->failed;
}

static void note_failure(struct run_writer *writer)
{
    writer->failed = true;
    elapse__buffer_clear(&writer->waiting.text);
    elapse__os_monitor_wake_all(writer->monitor);
    writer->when_failed(writer->context);
}

static void writer_main(void *argument)
{
    struct run_writer *writer = argument;
    struct elapse__buffer taken = {.bytes = NULL};

    elapse__os_monitor_enter(writer->monitor);
    while (!writer->failed) {
        while (waiting_bytes(writer) == 0 && !writer->ending)
            elapse__os_monitor_wait(writer->monitor);
        if (waiting_bytes(writer) == 0)
            break;
        ELAPSE__ASSERT_THAT(elapse__buffer_size(&taken), ==, 0U);
        struct elapse__buffer full = writer->waiting.text;
        writer->waiting.text = taken;
        taken = full;
        elapse__os_monitor_wake_all(writer->monitor);
        elapse__os_monitor_leave(writer->monitor);

        size_t length = elapse__buffer_size(&taken);
        bool written = write_out(&taken);
        elapse__os_monitor_enter(writer->monitor);
        writer->written += length;
        ELAPSE__ASSERT_THAT(writer->written, <=, writer->added);
        elapse__os_monitor_wake_all(writer->monitor);
        if (!written)
            note_failure(writer);
    }
    writer->ended = true;
    elapse__os_monitor_wake_all(writer->monitor);
    elapse__os_monitor_leave(writer->monitor);
    elapse__buffer_free(&taken);
}

int run_writer_start(struct run_writer *writer, void (*when_failed)(void *), void *context)
{
    ELAPSE__ASSERT(when_failed != NULL);
    *writer = (struct run_writer){.when_failed = when_failed, .context = context};
    int error = elapse__os_monitor_new(&writer->monitor);
    if (error != 0)
        return error;
    return elapse__os_background_start(&writer->thread, writer_main, writer);
}

static struct elapse__json *begin_line(struct run_writer *writer)
{
    ELAPSE__ASSERT(!writer->failed || waiting_bytes(writer) == 0);
    writer->line_begin = waiting_bytes(writer);
    writer->waiting.needs_comma = false;
    elapse__json_open(&writer->waiting, '{');
    return &writer->waiting;
}

struct elapse__json *run_writer_begin(struct run_writer *writer)
{
    elapse__os_monitor_enter(writer->monitor);
    while (is_full(writer) && !writer->never_waits)
        elapse__os_monitor_wait(writer->monitor);
    return begin_line(writer);
}

struct elapse__json *run_writer_begin_now(struct run_writer *writer)
{
    elapse__os_monitor_enter(writer->monitor);
    return begin_line(writer);
}

bool run_writer_is_full(struct run_writer *writer)
{
    elapse__os_monitor_enter(writer->monitor);
    bool result = is_full(writer);
    elapse__os_monitor_leave(writer->monitor);
    return result;
}

void run_writer_end(struct run_writer *writer)
{
    elapse__json_close(&writer->waiting, '}');
    elapse__json_raw(&writer->waiting, "\n");
    require_memory(!writer->waiting.failed);
    ELAPSE__ASSERT_THAT(waiting_bytes(writer), >, writer->line_begin);
    if (writer->line_begin == 0)
        elapse__os_monitor_wake_all(writer->monitor);
    writer->added += waiting_bytes(writer) - writer->line_begin;
    if (writer->failed) /* the line could not be written */
        elapse__buffer_clear(&writer->waiting.text);
    elapse__os_monitor_leave(writer->monitor);
}

bool run_writer_wait(struct run_writer *writer)
{
    elapse__os_monitor_enter(writer->monitor);
    uint64_t end = writer->added;
    while (writer->written < end && !writer->failed && !writer->never_waits)
        elapse__os_monitor_wait(writer->monitor);
    bool is_written = writer->written >= end && !writer->failed;
    elapse__os_monitor_leave(writer->monitor);
    return is_written;
}

bool run_writer_failed(struct run_writer *writer)
{
    elapse__os_monitor_enter(writer->monitor);
    bool failed = writer->failed;
    elapse__os_monitor_leave(writer->monitor);
    return failed;
}

void run_writer_stop_waiting(struct run_writer *writer)
{
    elapse__os_monitor_enter(writer->monitor);
    writer->never_waits = true;
    elapse__os_monitor_wake_all(writer->monitor);
    elapse__os_monitor_leave(writer->monitor);
}

bool run_writer_flush(struct run_writer *writer, uint64_t timeout_ns)
{
    uint64_t when_ns = elapse__os_monotonic_ns() + timeout_ns;

    elapse__os_monitor_enter(writer->monitor);
    writer->ending = true;
    elapse__os_monitor_wake_all(writer->monitor);
    while (!writer->ended && elapse__os_monotonic_ns() < when_ns)
        elapse__os_monitor_wait_until(writer->monitor, when_ns);
    bool ended = writer->ended;
    elapse__os_monitor_leave(writer->monitor);
    return ended;
}

enum exit_status run_writer_finish(struct run_writer *writer)
{
    elapse__os_monitor_enter(writer->monitor);
    writer->ending = true;
    elapse__os_monitor_wake_all(writer->monitor);
    elapse__os_monitor_leave(writer->monitor);
    elapse__os_background_join(writer->thread);
    ELAPSE__ASSERT(writer->ended);
    ELAPSE__ASSERT_THAT(waiting_bytes(writer), ==, 0U);
    elapse__os_monitor_free(writer->monitor);
    elapse__json_free(&writer->waiting);
    return writer->failed ? STATUS_FAILED : STATUS_OK;
}
