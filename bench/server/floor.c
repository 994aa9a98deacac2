/*
 * The floor of the server: what any server of durable puts has to do, and nothing else. It knows
 * one command, `put` of beanstalkd with bodies of one length, and keeps no job.
 *
 *     elapse-bench-server-floor FILE       prints its port, and serves until it is killed
 */
#include <stdlib.h>

#include "floor_loop.h"

enum { RECORD_BYTES = 168 }; /* what the server needs for the same job */

static uint64_t last_id;

static size_t run(struct forming *forming, struct output *output, const char *bytes, size_t size)
{
    size_t used = 0;

    while (used < size && forming->size + RECORD_BYTES <= GROUP_BYTES &&
           output->size + 32 < OUTPUT_BYTES) {
        const char *end = memchr(bytes + used, '\n', size - used);
        if (end == NULL)
            break;
        size_t body = 0;
        for (const char *at = end - 2; *at >= '0' && *at <= '9'; at--)
            body = at[-1] == ' ' ? strtoul(at, NULL, 10) : body;
        size_t whole = (size_t)(end + 1 - (bytes + used)) + body + 2;
        if (used + whole > size)
            break;
        char *record = forming->bytes + forming->size;
        memset(record, 0, RECORD_BYTES);
        memcpy(record, &last_id, sizeof last_id);
        memcpy(record + 48, end + 1, body < RECORD_BYTES - 48 ? body : RECORD_BYTES - 48);
        forming->size += RECORD_BYTES;
        reply_inserted(output, ++last_id);
        used += whole;
    }
    return used;
}

int main(int argc, char **argv)
{
    serve_puts(argc > 1 ? argv[1] : "floor.tmp", run);
}
