/*
 * The floors: the same bytes written, synced and read, without a queue.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../measure.h"
#include "queue_bench.h"

enum { CHUNK_BYTES = 1 << 20 };

static void write_all(int file, const unsigned char *bytes, size_t count, uint64_t offset)
{
    while (count > 0) {
        ssize_t done = pwrite(file, bytes, count, (off_t)offset);
        require(done > 0, "a write of the floor failed");
        bytes += done;
        offset += (uint64_t)done;
        count -= (size_t)done;
    }
}

/* As the journal's files: of a segment's size, and written once. */
static int make_file(const char *directory, unsigned char *zeros)
{
    char path[PATH_BYTES + 16];
    snprintf(path, sizeof path, "%s/floor", directory);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(file >= 0, "the file of the floor cannot be made");
    for (uint64_t at = 0; at < SEGMENT_BYTES; at += CHUNK_BYTES)
        write_all(file, zeros, CHUNK_BYTES, at);
    require(fsync(file) == 0, "the file of the floor cannot be synced");
    return file;
}

double floor_write(const char *directory, uint64_t records, size_t record_bytes, unsigned group)
{
    size_t group_bytes = group * record_bytes + COMMIT_RECORD_BYTES;
    size_t bytes = group_bytes > CHUNK_BYTES ? group_bytes : CHUNK_BYTES;
    unsigned char *buffer = calloc(1, bytes);
    unsigned char *record = calloc(1, record_bytes);
    require(buffer != NULL && record != NULL && group_bytes < SEGMENT_BYTES, "no memory");
    int file = make_file(directory, buffer);

    uint64_t offset = 0;
    uint64_t began = clock_ns();
    for (uint64_t done = 0; done < records; done += group) {
        for (unsigned i = 0; i < group; i++)
            memcpy(buffer + i * record_bytes, record, record_bytes);
        if (offset + group_bytes > SEGMENT_BYTES)
            offset = 0;
        write_all(file, buffer, group_bytes, offset);
        require(fdatasync(file) == 0, "a sync of the floor failed");
        offset += group_bytes;
    }
    double seconds = (double)(clock_ns() - began) / 1e9;
    close(file);
    free(buffer);
    free(record);
    return (double)records / seconds;
}

static unsigned char chunk[CHUNK_BYTES];

static bool read_file(int file)
{
    ssize_t done;
    while ((done = read(file, chunk, sizeof chunk)) > 0)
        ;
    return done == 0;
}

double floor_read(const char *directory)
{
    uint64_t began = clock_ns();
    require(place_each_file(directory, read_file), "the files cannot be read");
    return (double)(clock_ns() - began) / 1e9;
}
