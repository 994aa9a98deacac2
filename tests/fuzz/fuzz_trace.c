/*
 * libFuzzer target for the trace reader. It reads any bytes, in pieces of any size, to the end of
 * the trace or to one error. Every operation that it returns is valid, and the size of the pieces
 * makes no difference.
 *
 * The first byte chooses the size of the pieces in which the reader gets the rest, and whether
 * reading fails at the end. So the boundaries of pieces fall at all places of a line.
 */
#include <string.h>

#include "fuzz.h"
#include "replay/trace.h"

struct input {
    const uint8_t *data;
    size_t left;
    size_t piece; /* the most bytes that are given at once */
    bool fails;   /* there is an error instead of the end */
};

static ptrdiff_t read_piece(void *context, char *buffer, size_t bytes, const char **error)
{
    struct input *input = context;
    size_t length = input->left < input->piece ? input->left : input->piece;

    require(bytes > 0);
    if (input->left == 0 && input->fails) {
        *error = "the source fails";
        return -1;
    }
    if (length > bytes)
        length = bytes;
    if (length > 0)
        memcpy(buffer, input->data, length);
    input->data += length;
    input->left -= length;
    return (ptrdiff_t)length;
}

/* Checks the promises of trace.h for an operation that was read after one at `before_us`. */
static void check_operation(const struct trace_operation *operation, uint64_t before_us)
{
    require(operation->time_us >= before_us && operation->time_us <= TRACE_TIME_US_MAX);
    require(operation->key_length > 0 && operation->key_length <= TRACE_LINE_BYTES_MAX);
    require(memchr(operation->key, ',', operation->key_length) == NULL);
    require(memchr(operation->key, '\n', operation->key_length) == NULL);
    require(memchr(operation->key, '\0', operation->key_length) == NULL);
    if (operation->kind == TRACE_CANCEL)
        return;
    require(operation->kind == TRACE_START || operation->kind == TRACE_RESTART);
    require(operation->delay_us <= TRACE_TIME_US_MAX - operation->time_us);
    require(operation->deadline_us == operation->time_us + operation->delay_us);
}

static bool are_equal(const struct trace_operation *left, const struct trace_operation *right)
{
    return left->kind == right->kind && left->time_us == right->time_us &&
           left->delay_us == right->delay_us && left->deadline_us == right->deadline_us &&
           left->key_length == right->key_length &&
           memcmp(left->key, right->key, left->key_length) == 0;
}

/* Reads an operation from both readers. Returns false when one has ended. */
static bool step(struct trace_reader *reader, struct trace_reader *whole, bool fails)
{
    struct trace_operation operation;
    struct trace_operation expected;
    uint64_t before_us = reader->time_us;
    uint64_t line = reader->line;
    enum trace_result result = trace_next(reader, &operation);
    enum trace_result wanted = trace_next(whole, &expected);

    if (result == TRACE_OPERATION) {
        check_operation(&operation, before_us);
        require(reader->line == line + 1 || (line == 0 && reader->line == 2));
        require(wanted == TRACE_OPERATION && are_equal(&operation, &expected));
        return true;
    }
    require(result == TRACE_ERROR || (result == TRACE_END && !fails));
    require((result == TRACE_ERROR) == (reader->error[0] != '\0'));
    for (const char *c = reader->error; *c != '\0'; c++)
        require(*c >= 0x20 && *c < 0x7f);
    /* A source that fails cuts off the last line; otherwise both readers give the same result. */
    require(fails || (result == wanted && reader->line == whole->line));
    require(fails || strcmp(reader->error, whole->error) == 0);
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct trace_reader reader; /* half a megabyte: too much for each run */
    static struct trace_reader whole;

    if (size == 0)
        return 0;
    struct input input = {
        .data = data + 1,
        .left = size - 1,
        .piece = (size_t)(data[0] & 127) + 1,
        .fails = data[0] >= 128,
    };
    struct input at_once = {.data = data + 1, .left = size - 1, .piece = SIZE_MAX};
    trace_reader_init(&reader, read_piece, &input);
    trace_reader_init(&whole, read_piece, &at_once);
    while (step(&reader, &whole, input.fails))
        ;
    return 0;
}
