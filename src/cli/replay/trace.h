/*
 * The trace reader. It reads a stream of bytes, and returns one checked operation at a time.
 *
 * A trace is lines of text. Each line ends in LF or CRLF; the last line may have no end:
 *
 *     time_us,op,key,delay_us,tag          the header, exactly this
 *     0,start,order-1,1800000000,paid
 *     2500,restart,order-1,1800000000,
 *     9000,cancel,order-1,0,
 *
 * time_us   microseconds, never less than in the line before
 * op        start, restart or cancel
 * key       any text without a comma; not empty
 * delay_us  microseconds from time_us to the deadline; ignored for cancel, where it may be empty
 * tag       the rest of the line, which is ignored and may contain commas
 *
 * Times and deadlines are at most 2^64 - 2. The reader checks each line by itself. The replay
 * checks whether the operations fit together: for example, a key that is pending cannot be started.
 */
#ifndef ELAPSE_CLI_REPLAY_TRACE_H
#define ELAPSE_CLI_REPLAY_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest line that is accepted, without its end. */
#define TRACE_LINE_BYTES_MAX 65536

/* The latest time and deadline that a trace may have. */
#define TRACE_TIME_US_MAX (UINT64_MAX - 1)

/*
 * Reads 1 to `bytes` bytes of a trace into `buffer`. Returns how many bytes it read, 0 at the end,
 * or -1 if reading failed. After -1, `*error` says why.
 */
typedef ptrdiff_t trace_read_function(void *context, char *buffer, size_t bytes,
                                      const char **error);

enum trace_kind { TRACE_START, TRACE_RESTART, TRACE_CANCEL };

struct trace_operation {
    enum trace_kind kind;
    uint64_t time_us;
    uint64_t delay_us;    /* for start and restart */
    uint64_t deadline_us; /* for start and restart: time_us + delay_us */
    const char *key;      /* without a NUL; valid until the next operation is read */
    size_t key_length;    /* 1 or more */
};

enum trace_result { TRACE_OPERATION, TRACE_END, TRACE_ERROR };

/* A reader takes half a megabyte. The caller may read the first three fields. */
struct trace_reader {
    uint64_t line;    /* the number of the line that was read last; the header is line 1 */
    char error[512];  /* after TRACE_ERROR: the error in the line */
    uint64_t time_us; /* the time of the last operation */

    trace_read_function *read;
    void *context;
    bool ended; /* the source has no more bytes */
    size_t begin;
    size_t end;
    char buffer[8 * TRACE_LINE_BYTES_MAX];
};

/* Prepares the reader, and reads nothing. */
void trace_reader_init(struct trace_reader *reader, trace_read_function *read, void *context);

/* Reads the next operation. Requires that all earlier calls returned TRACE_OPERATION. */
enum trace_result trace_next(struct trace_reader *reader, struct trace_operation *operation);

/* Reports a fault in the line that was read last. Writes `reader->error` as printf does. Returns
 * TRACE_ERROR. */
__attribute__((format(printf, 2, 3))) enum trace_result trace_fault(struct trace_reader *reader,
                                                                    const char *format, ...);

#endif
