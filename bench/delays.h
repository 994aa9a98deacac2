/*
 * The delays of recorded traces, for Lmix.
 */
#ifndef BENCH_DELAYS_H
#define BENCH_DELAYS_H

#include <stddef.h>
#include <stdint.h>

struct delays {
    uint32_t *ticks; /* of 1 ms, at least 1; released with free */
    size_t count;
    size_t room;
};

/*
 * Adds the delay of every line of a trace that starts a timer. A trace is what `elapse replay`
 * reads, uncompressed: time_us,op,key,delay_us,tag. Ends the program with a message that names the
 * line if it is not like that, or if the file cannot be read.
 */
void delays_read(struct delays *delays, const char *path);

#endif
