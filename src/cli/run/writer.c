/*
 * The thread that writes: it takes all bytes that wait at once, and gives its own empty buffer for
 * them.
 */
#include "writer.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_CAPACITY = 64 << 10 };

/* Returns false when the output failed, which has been said then. */
static bool write_out(const char *bytes, size_t length)
{
    (void)fwrite(bytes, 1, length, stdout);
    return finish_output() == STATUS_OK;
}

static void *writer_main(void *argument)
{
    struct run_writer *writer = argument;
    char *bytes = NULL;
    size_t capacity = 0;

    (void)pthread_mutex_lock(&writer->lock);
    while (true) {
        while (writer->length == 0 && !writer->ending)
            (void)pthread_cond_wait(&writer->filled, &writer->lock);
        if (writer->length == 0)
            break;
        char *full = writer->bytes;
        size_t length = writer->length;
        size_t full_capacity = writer->capacity;
        writer->bytes = bytes;
        writer->capacity = capacity;
        writer->length = 0;
        bytes = full;
        capacity = full_capacity;
        (void)pthread_cond_broadcast(&writer->taken);
        (void)pthread_mutex_unlock(&writer->lock);

        bool written = write_out(bytes, length);
        (void)pthread_mutex_lock(&writer->lock);
        if (!written) {
            writer->failed = true;
            writer->length = 0;
            (void)pthread_cond_broadcast(&writer->taken);
            writer->when_failed(writer->context);
            break;
        }
    }
    (void)pthread_mutex_unlock(&writer->lock);
    free(bytes);
    return NULL;
}

int run_writer_start(struct run_writer *writer, void (*when_failed)(void *), void *context)
{
    *writer = (struct run_writer){.when_failed = when_failed, .context = context};
    (void)pthread_mutex_init(&writer->lock, NULL);
    (void)pthread_cond_init(&writer->filled, NULL);
    (void)pthread_cond_init(&writer->taken, NULL);
    return pthread_create(&writer->thread, NULL, writer_main, writer);
}

char *run_writer_reserve(struct run_writer *writer, size_t bytes)
{
    (void)pthread_mutex_lock(&writer->lock);
    while (writer->length >= RUN_WRITER_BYTES_MAX && !writer->failed)
        (void)pthread_cond_wait(&writer->taken, &writer->lock);
    if (writer->failed)
        writer->length = 0;
    if (writer->capacity - writer->length < bytes) {
        size_t capacity = writer->capacity > 0 ? writer->capacity : FIRST_CAPACITY;
        while (capacity - writer->length < bytes)
            capacity *= 2;
        char *larger = realloc(writer->bytes, capacity);
        if (larger == NULL)
            out_of_memory();
        writer->bytes = larger;
        writer->capacity = capacity;
    }
    return writer->bytes + writer->length;
}

void run_writer_commit(struct run_writer *writer, size_t bytes)
{
    if (writer->length == 0)
        (void)pthread_cond_signal(&writer->filled);
    writer->length += bytes;
    (void)pthread_mutex_unlock(&writer->lock);
}

bool run_writer_failed(struct run_writer *writer)
{
    (void)pthread_mutex_lock(&writer->lock);
    bool failed = writer->failed;
    (void)pthread_mutex_unlock(&writer->lock);
    return failed;
}

enum exit_status run_writer_finish(struct run_writer *writer)
{
    (void)pthread_mutex_lock(&writer->lock);
    writer->ending = true;
    (void)pthread_cond_signal(&writer->filled);
    (void)pthread_mutex_unlock(&writer->lock);
    (void)pthread_join(writer->thread, NULL);
    (void)pthread_cond_destroy(&writer->taken);
    (void)pthread_cond_destroy(&writer->filled);
    (void)pthread_mutex_destroy(&writer->lock);
    free(writer->bytes);
    return writer->failed ? STATUS_FAILED : STATUS_OK;
}
