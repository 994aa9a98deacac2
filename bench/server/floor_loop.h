/*
 * What the two floors of the server share: an epoll loop, a thread that writes and syncs what came
 * in groups, and replies that wait for it.
 */
#ifndef BENCH_FLOOR_LOOP_H
#define BENCH_FLOOR_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { GROUP_BYTES = 4 << 20, OUTPUT_BYTES = 4 << 20 };

/* The group that forms: GROUP_BYTES, of which `size` are records. */
struct forming {
    char *bytes;
    size_t size;
};

/* The replies of a connection: OUTPUT_BYTES, of which `size` wait. */
struct output {
    char *bytes;
    size_t size;
};

/* Runs all whole commands for which there is room. Adds their records and their replies. Returns
 * how many bytes the commands were. */
typedef size_t run_function(struct forming *forming, struct output *output, const char *bytes,
                            size_t size);

/* Prints the port, and serves until the process is killed. Groups go to the file. */
_Noreturn void serve_puts(const char *file, run_function *run);

/* Says what has failed, and ends the program. */
_Noreturn void stop(const char *what);

/* Adds the reply to a put. Requires that there is room for 32 bytes. */
static inline void reply_inserted(struct output *output, uint64_t id)
{
    char text[24];
    unsigned digits = 0;
    char *reply = output->bytes + output->size;

    for (; id > 0; id /= 10)
        text[digits++] = (char)('0' + id % 10);
    memcpy(reply, "INSERTED ", 9);
    for (unsigned i = 0; i < digits; i++)
        reply[9 + i] = text[digits - 1 - i];
    memcpy(reply + 9 + digits, "\r\n", 2);
    output->size += 11 + digits;
}

#endif
