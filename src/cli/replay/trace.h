/*
 * The trace reader: a stream of bytes in, one checked operation at a time out.
 *
 * A trace is lines of text, ended by LF or CRLF (the last one may lack it):
 *
 *     time_us,op,key,delay_us,tag          the header, exactly this
 *     0,start,order-1,1800000000,paid
 *     2500,restart,order-1,1800000000,
 *     9000,cancel,order-1,0,
 *
 * time_us   microseconds, never less than in the line before
 * op        start, restart or cancel
 * key       any text without a comma; not empty
 * delay_us  microseconds from time_us to the deadline; for cancel it means
 *           nothing, and may be empty
 * tag       the rest of the line, which may hold commas and means nothing here
 *
 * Both sums and times reach up to 2^64 - 2. What a trace's operations mean for
 * each other (a start of a pending key, and so on) is the replay's to judge.
 */
#ifndef ELAPSE_CLI_REPLAY_TRACE_H
#define ELAPSE_CLI_REPLAY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest line that is accepted, without its line end. */
#define TRACE_LINE_BYTES_MAX 65536

/* The latest time and deadline that a trace may name. */
#define TRACE_TIME_US_MAX (UINT64_MAX - 1)

/*
 * Where the bytes come from: fills `buffer` with 1 to `bytes` bytes and returns
 * how many; 0 at the end; -1 when reading failed, with `*error` saying how.
 */
typedef ptrdiff_t trace_read_function(void *context, char *buffer, size_t bytes,
                                      const char **error);

enum trace_kind { TRACE_START, TRACE_RESTART, TRACE_CANCEL };

struct trace_operation {
    enum trace_kind kind;
    uint64_t time_us;
    uint64_t delay_us;    /* start, restart */
    uint64_t deadline_us; /* start, restart: time_us + delay_us */
    const char *key;      /* not ended by NUL; valid until the next is read */
    size_t key_length;    /* 1 or more */
};

enum trace_result { TRACE_OPERATION, TRACE_END, TRACE_ERROR };

/* About half a megabyte; some fields are the reader's own. */
struct trace_reader {
    uint64_t line;    /* number of the line read last, the header's is 1 */
    char error[512];  /* after TRACE_ERROR: what is wrong in that line */
    uint64_t time_us; /* of the last operation */

    trace_read_function *read;
    void *context;
    bool ended; /* the source has no more bytes */
    size_t begin;
    size_t end;
    char buffer[8 * TRACE_LINE_BYTES_MAX];
};

/* Begins a trace; nothing is read yet. */
void trace_reader_init(struct trace_reader *reader, trace_read_function *read, void *context);

/* Reads the next line. After TRACE_ERROR and TRACE_END it may not be called
 * again. */
enum trace_result trace_next(struct trace_reader *reader, struct trace_operation *operation);

/* Gives the line read last as the place of a fault that the caller found in it:
 * writes `reader->error` as printf would, and returns TRACE_ERROR. */
__attribute__((format(printf, 2, 3))) enum trace_result trace_fault(struct trace_reader *reader,
                                                                    const char *format, ...);

#endif
