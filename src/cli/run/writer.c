/*
 * The thread that writes. It takes all bytes that wait at once, and leaves the empty buffer that it
 * wrote last in their place.
 */
#include "writer.h"

#include "../../base/assert.h"
#include "../common/output.h"

/* Writes and empties the buffer. Returns false if that failed, which has been reported. */
static bool write_out(struct buffer *taken)
{
    output_add(taken->bytes, taken->length);
    taken->length = 0;
    return output_finish() == STATUS_OK;
}

static void note_failure(struct run_writer *writer)
{
    writer->failed = true;
    writer->waiting.length = 0;
    elapse__os_monitor_wake_all(writer->monitor);
    writer->when_failed(writer->context);
}

static void writer_main(void *argument)
{
    struct run_writer *writer = argument;
    struct buffer taken = {.bytes = NULL};

    elapse__os_monitor_enter(writer->monitor);
    while (!writer->failed) {
        while (writer->waiting.length == 0 && !writer->ending)
            elapse__os_monitor_wait(writer->monitor);
        if (writer->waiting.length == 0)
            break;
        ELAPSE__ASSERT(taken.length == 0);
        struct buffer full = writer->waiting;
        writer->waiting = taken;
        taken = full;
        elapse__os_monitor_wake_all(writer->monitor);
        elapse__os_monitor_leave(writer->monitor);

        size_t length = taken.length;
        bool written = write_out(&taken);
        elapse__os_monitor_enter(writer->monitor);
        writer->written += length;
        elapse__os_monitor_wake_all(writer->monitor);
        if (!written)
            note_failure(writer);
    }
    writer->ended = true;
    elapse__os_monitor_wake_all(writer->monitor);
    elapse__os_monitor_leave(writer->monitor);
    buffer_free(&taken);
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

char *run_writer_reserve(struct run_writer *writer, size_t bytes)
{
    elapse__os_monitor_enter(writer->monitor);
    while (writer->waiting.length >= RUN_WRITER_BYTES_MAX && !writer->failed &&
           !writer->never_waits)
        elapse__os_monitor_wait(writer->monitor);
    if (writer->failed)
        writer->waiting.length = 0;
    return buffer_reserve(&writer->waiting, bytes);
}

char *run_writer_reserve_now(struct run_writer *writer, size_t bytes)
{
    elapse__os_monitor_enter(writer->monitor);
    if (writer->failed)
        writer->waiting.length = 0;
    return buffer_reserve(&writer->waiting, bytes);
}

bool run_writer_is_full(struct run_writer *writer)
{
    elapse__os_monitor_enter(writer->monitor);
    bool is_full = writer->waiting.length >= RUN_WRITER_BYTES_MAX && !writer->failed;
    elapse__os_monitor_leave(writer->monitor);
    return is_full;
}

void run_writer_commit(struct run_writer *writer, size_t bytes)
{
    ELAPSE__ASSERT(bytes > 0);
    ELAPSE__ASSERT(bytes <= writer->waiting.capacity - writer->waiting.length);
    if (writer->waiting.length == 0)
        elapse__os_monitor_wake_all(writer->monitor);
    writer->waiting.length += bytes;
    writer->added += bytes;
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
    elapse__os_monitor_free(writer->monitor);
    buffer_free(&writer->waiting);
    return writer->failed ? STATUS_FAILED : STATUS_OK;
}
