/*
 * Standard output.
 */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "buffer.h"

enum { PIECE_BYTES = 64 << 10 };

static struct buffer waiting;
static int failure; /* the error of the first write that failed, or 0 */

static void write_waiting(void)
{
    if (failure == 0 && waiting.length > 0)
        failure = elapse__os_write_all(ELAPSE__OS_OUTPUT, waiting.bytes, waiting.length);
    waiting.length = 0;
}

static void write_full_piece(void)
{
    if (waiting.length >= PIECE_BYTES)
        write_waiting();
    ELAPSE__ASSERT(waiting.length < PIECE_BYTES);
}

void output_add(const char *bytes, size_t length)
{
    buffer_add(&waiting, bytes, length);
    write_full_piece();
}

void output_add_text(const char *text)
{
    output_add(text, strlen(text));
}

void output_add_format(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    buffer_add_arguments(&waiting, format, arguments);
    va_end(arguments);
    write_full_piece();
}

bool output_failed(void)
{
    return failure != 0;
}

enum exit_status output_finish(void)
{
    static bool is_reported;

    write_waiting();
    if (failure == 0)
        return STATUS_OK;
    if (!is_reported && failure != EPIPE)
        print_error("standard output: %s", elapse__os_error_text(failure));
    is_reported = true;
    return STATUS_FAILED;
}
