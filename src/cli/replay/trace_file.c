/*
 * Reads the bytes of a trace. A file in the gzip format is a row of members. After the last member
 * there may be zeros. Any other bytes after a member are damage:
 *
 *     | member | member | member | 0 0 0 |
 *
 * gzread of zlib treats such damage as the end of the file. So this file reads the members one by
 * one, with inflate of zlib.
 */
#include "trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"

/* Returns an error if the descriptor cannot be that of a trace. Stores the kind of file in
 * `file->status`. */
static int check(struct trace_file *file, int descriptor)
{
    int error = elapse__os_status_of_file(descriptor, &file->status);

    if (error == 0 && file->status.kind == ELAPSE__OS_DIRECTORY)
        error = EISDIR;
    return error;
}

const char *trace_file_open(struct trace_file *file, const char *path)
{
    bool is_standard_input = strcmp(path, "-") == 0;
    int descriptor;
    int error = is_standard_input ? elapse__os_duplicate(ELAPSE__OS_INPUT, &descriptor)
                                  : elapse__os_open_to_read(path, &descriptor);

    if (error != 0)
        return elapse__os_error_text(error);
    memset(file, 0, offsetof(struct trace_file, buffer));
    file->descriptor = descriptor;
    error = check(file, descriptor);
    if (error != 0) {
        (void)elapse__os_close(descriptor);
        return elapse__os_error_text(error);
    }
    return NULL;
}

/* ---- the bytes of the file ---- */

static ptrdiff_t fail(struct trace_file *file, const char **error, const char *text)
{
    ELAPSE__ASSERT(text[0] != '\0');
    file->failed = true;
    *error = text;
    return -1;
}

/* Reports that the byte at `offset` belongs neither to a member nor to the zeros after it. */
static ptrdiff_t fail_at(struct trace_file *file, const char **error, uint64_t offset)
{
    (void)snprintf(file->error, sizeof file->error, "the gzip data is damaged at byte %" PRIu64,
                   offset);
    return fail(file, error, file->error);
}

static void use(struct trace_file *file, size_t bytes)
{
    ELAPSE__ASSERT(bytes <= file->end - file->begin);
    file->begin += bytes;
    file->consumed += bytes;
}

/* Reads until the buffer has `bytes` bytes, or the file has ended. Returns 0, or the error. */
static int want(struct trace_file *file, size_t bytes)
{
    ELAPSE__ASSERT(bytes <= sizeof file->buffer);
    while (file->end - file->begin < bytes && !file->ended) {
        size_t got;
        if (file->begin > 0) {
            memmove(file->buffer, file->buffer + file->begin, file->end - file->begin);
            file->end -= file->begin;
            file->begin = 0;
        }
        int error = elapse__os_read_waiting(file->descriptor, file->buffer + file->end,
                                            sizeof file->buffer - file->end, &got);
        if (error != 0)
            return error;
        file->end += got;
        file->ended = got == 0;
    }
    return 0;
}

/* ---- members ---- */

/* Decides whether the file is compressed. Returns the error of zlib, or 0. */
static int begin(struct trace_file *file)
{
    const unsigned char *bytes = file->buffer + file->begin;
    /* 15 stands for 32 KiB of history, and 16 for the gzip format. */
    enum { GZIP_WINDOW_BITS = 15 + 16 };

    ELAPSE__ASSERT(file->place == TRACE_FILE_BEGINNING);
    file->place = TRACE_FILE_PLAIN;
    if (file->end - file->begin < 2 || bytes[0] != 0x1f || bytes[1] != 0x8b)
        return Z_OK;
    file->place = TRACE_FILE_MEMBER;
    return inflateInit2(&file->stream, GZIP_WINDOW_BITS);
}

static ptrdiff_t read_plain(struct trace_file *file, char *buffer, size_t bytes)
{
    size_t available = file->end - file->begin;
    size_t count = available < bytes ? available : bytes;

    ELAPSE__ASSERT(file->place == TRACE_FILE_PLAIN);
    memcpy(buffer, file->buffer + file->begin, count);
    use(file, count);
    return (ptrdiff_t)count;
}

/* Decompresses the bytes of a member that are in the buffer. Returns how many bytes came out, which
 * may be 0. */
static ptrdiff_t read_member(struct trace_file *file, char *buffer, size_t bytes,
                             const char **error)
{
    z_stream *stream = &file->stream;
    size_t available = file->end - file->begin;

    ELAPSE__ASSERT(file->place == TRACE_FILE_MEMBER);
    if (available == 0)
        return fail(file, error, "the gzip data is cut short");
    stream->next_in = file->buffer + file->begin;
    stream->avail_in = (uInt)available;
    stream->next_out = (Bytef *)buffer;
    stream->avail_out = (uInt)bytes;
    uint64_t member = file->consumed - stream->total_in;
    int code = inflate(stream, Z_NO_FLUSH);
    use(file, available - stream->avail_in);
    if (code == Z_STREAM_END)
        file->place = TRACE_FILE_AFTER_MEMBER;
    else if (code == Z_DATA_ERROR && member > 0 && stream->total_out == 0)
        return fail_at(file, error, member);
    else if (code == Z_DATA_ERROR || code == Z_NEED_DICT)
        return fail(file, error, "the gzip data is damaged");
    else if (code != Z_OK && code != Z_BUF_ERROR)
        return fail(file, error, "there is no memory");
    return (ptrdiff_t)(bytes - stream->avail_out);
}

/* Takes a byte after a member. Returns a negative result if the byte is damage. */
static ptrdiff_t pass_boundary(struct trace_file *file, const char **error)
{
    unsigned char byte = file->buffer[file->begin];

    ELAPSE__ASSERT(file->begin < file->end);
    if (byte == 0) {
        file->place = TRACE_FILE_PADDING;
        use(file, 1);
        return 0;
    }
    if (file->place == TRACE_FILE_PADDING || byte != 0x1f)
        return fail_at(file, error, file->consumed);
    file->place = TRACE_FILE_MEMBER;
    (void)inflateReset(&file->stream); /* cannot fail: the stream was initialised */
    return 0;
}

ptrdiff_t trace_file_read(void *context, char *buffer, size_t bytes, const char **error)
{
    struct trace_file *file = context;
    ptrdiff_t got = 0;

    ELAPSE__ASSERT(bytes > 0);
    while (got == 0) {
        int failure = want(file, file->place == TRACE_FILE_BEGINNING ? 2 : 1);
        if (failure != 0)
            return fail(file, error, elapse__os_error_text(failure));
        bool is_empty = file->begin == file->end;
        if (file->place == TRACE_FILE_BEGINNING && begin(file) != Z_OK)
            return fail(file, error, "there is no memory");
        if (is_empty && file->place != TRACE_FILE_MEMBER)
            return 0;
        if (file->place == TRACE_FILE_PLAIN)
            got = read_plain(file, buffer, bytes);
        else if (file->place == TRACE_FILE_MEMBER)
            got = read_member(file, buffer, bytes, error);
        else
            got = pass_boundary(file, error);
    }
    return got;
}

bool trace_file_is_at(const struct trace_file *file, const char *path)
{
    struct elapse__os_status other;

    return file->status.kind == ELAPSE__OS_REGULAR &&
           elapse__os_status_of_path(path, &other) == 0 &&
           memcmp(other.identity, file->status.identity, sizeof other.identity) == 0;
}

bool trace_file_rest_is_damaged(struct trace_file *file)
{
    char buffer[16384];
    const char *error;

    ELAPSE__ASSERT(file->descriptor >= 0);
    if (file->status.bytes == 0 || file->failed || file->place == TRACE_FILE_PLAIN)
        return false;
    while (trace_file_read(file, buffer, sizeof buffer, &error) > 0)
        continue;
    return file->failed;
}

double trace_file_progress(const struct trace_file *file)
{
    ELAPSE__ASSERT(file->descriptor >= 0);
    if (file->status.bytes == 0)
        return -1;
    double part = (double)file->consumed / (double)file->status.bytes;
    return part < 1 ? part : 1;
}

void trace_file_close(struct trace_file *file)
{
    ELAPSE__ASSERT(file->descriptor >= 0);
    if (file->stream.state != NULL)
        (void)inflateEnd(&file->stream);
    (void)elapse__os_close(file->descriptor);
}
