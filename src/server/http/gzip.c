/*
 * A compressed text is one member of gzip. Each piece is compressed by itself and ends at a whole
 * byte. So the 256 KiB of zlib's state are not kept between pieces.
 */
#include "gzip.h"

#include <string.h>

#include <event2/buffer.h>
#include <zlib.h>

#include "../../base/assert.h"

enum {
    LEVEL = 4,
    RAW_WINDOW_BITS = -15, /* without a header of zlib */
    MEMORY_LEVEL = 8,
    HEAD_BYTES = 10,
    END_BYTES = 10,
    FLUSH_BYTES = 16, /* how much longer than zlib's bound a piece may be */
};

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t';
}

/* Returns whether the parameters of a coding refuse it: q=0, q=0.0 and so on. */
static bool is_refused(const char *parameters, const char *end)
{
    while (parameters < end && (is_blank(*parameters) || *parameters == ';'))
        parameters++;
    if (end - parameters < 3 || (*parameters | 0x20) != 'q' || parameters[1] != '=')
        return false;
    for (parameters += 2; parameters < end; parameters++)
        if (*parameters >= '1' && *parameters <= '9')
            return false;
    return true;
}

bool elapse__gzip_is_accepted(const char *value)
{
    static const char name[] = "gzip";

    while (value != NULL && *value != '\0') {
        const char *end = value + strcspn(value, ",");
        while (is_blank(*value))
            value++;
        size_t at = 0;
        while (at < sizeof name - 1 && (value[at] | 0x20) == name[at])
            at++;
        if (at == sizeof name - 1 &&
            (value + at == end || value[at] == ';' || is_blank(value[at])) &&
            !is_refused(value + at, end))
            return true;
        value = *end == ',' ? end + 1 : end;
    }
    return false;
}

bool elapse__gzip_is_taken(struct evhttp_request *request)
{
    return elapse__gzip_is_accepted(
        evhttp_find_header(evhttp_request_get_input_headers(request), "Accept-Encoding"));
}

void elapse__gzip_add_header(struct evhttp_request *request)
{
    /* libevent fails only if there is no memory. */
    (void)evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Encoding", "gzip");
}

/* Compresses a piece to `room`, which has `capacity` bytes. Returns the size, or 0 if there is no
 * memory. */
static size_t compress_piece(const void *bytes, size_t size, unsigned char *room, size_t capacity)
{
    z_stream stream;

    memset(&stream, 0, sizeof stream);
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, RAW_WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return 0;
    stream.next_in = (Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = room;
    stream.avail_out = (uInt)capacity;
    int result = deflate(&stream, Z_SYNC_FLUSH);
    size_t written = capacity - stream.avail_out;
    ELAPSE__ASSERT(result == Z_OK && stream.avail_in == 0 && stream.avail_out > 0);
    (void)result;
    (void)deflateEnd(&stream);
    return written;
}

bool elapse__gzip_add(struct elapse__gzip *gzip, struct evbuffer *to, const void *bytes,
                      size_t size)
{
    static const unsigned char head[HEAD_BYTES] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};
    struct evbuffer_iovec room;
    size_t capacity = HEAD_BYTES + compressBound((uLong)size) + FLUSH_BYTES;
    size_t written = 0;

    ELAPSE__ASSERT(size > 0 && size <= UINT32_MAX / 2);
    if (evbuffer_reserve_space(to, (ev_ssize_t)capacity, &room, 1) != 1)
        return false;
    if (!gzip->has_begun) {
        memcpy(room.iov_base, head, sizeof head);
        written = sizeof head;
    }
    size_t piece =
        compress_piece(bytes, size, (unsigned char *)room.iov_base + written, capacity - written);
    if (piece == 0)
        return false;
    ELAPSE__ASSERT_THAT(written + piece, <=, capacity);
    room.iov_len = written + piece;
    if (evbuffer_commit_space(to, &room, 1) != 0)
        return false;
    gzip->has_begun = true;
    gzip->checksum = (uint32_t)crc32(gzip->checksum, bytes, (uInt)size);
    gzip->size += (uint32_t)size;
    return true;
}

bool elapse__gzip_end(const struct elapse__gzip *gzip, struct evbuffer *to)
{
    unsigned char end[END_BYTES] = {0x03, 0x00}; /* a last block without bytes */

    ELAPSE__ASSERT(gzip->has_begun);
    for (unsigned i = 0; i < 4; i++) {
        end[2 + i] = (unsigned char)(gzip->checksum >> 8 * i);
        end[6 + i] = (unsigned char)(gzip->size >> 8 * i);
    }
    return evbuffer_add(to, end, sizeof end) == 0;
}
