/*
 * Writes standard output.
 */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "buffer.h"

enum { PIECE_BYTES = 64 << 10 };

static struct elapse__json waiting;
static int failure; /* the error of the first write that failed, or 0 */

static void write_waiting(void)
{
    size_t size = elapse__buffer_size(&waiting.text);

    if (failure == 0 && size > 0)
        failure =
            elapse__os_write_all(ELAPSE__OS_OUTPUT, elapse__buffer_first(&waiting.text), size);
    elapse__buffer_clear(&waiting.text);
}

static void write_full_piece(void)
{
    if (elapse__buffer_size(&waiting.text) >= PIECE_BYTES)
        write_waiting();
    ELAPSE__ASSERT_THAT(elapse__buffer_size(&waiting.text), <, PIECE_BYTES);
}

void output_add(const char *bytes, size_t length)
{
    buffer_add(&waiting.text, bytes, length);
    write_full_piece();
}

void output_add_masked(const char *text)
{
    buffer_add_masked(&waiting.text, text, strlen(text));
    write_full_piece();
}

void output_add_buffer(const struct elapse__buffer *buffer)
{
    if (elapse__buffer_size(buffer) > 0)
        output_add((const char *)elapse__buffer_first(buffer), elapse__buffer_size(buffer));
}

void output_add_text(const char *text)
{
    output_add(text, strlen(text));
}

void output_add_format(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    require_memory(elapse__buffer_format_arguments(&waiting.text, format, arguments));
    va_end(arguments);
    write_full_piece();
}

struct elapse__json *output_begin_json(void)
{
    waiting.needs_comma = false;
    return &waiting;
}

void output_end_json(void)
{
    ELAPSE__ASSERT(waiting.needs_comma); /* a value was written completely */
    elapse__json_raw(&waiting, "\n");
    require_memory(!waiting.failed);
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
    ELAPSE__ASSERT_THAT(elapse__buffer_size(&waiting.text), ==, 0U);
    if (failure == 0)
        return STATUS_OK;
    if (!is_reported && failure != EPIPE)
        print_error("standard output: %s", elapse__os_error_text(failure));
    is_reported = true;
    return STATUS_FAILED;
}
