/*
 * Messages, the check of the output, and the end when memory runs out.
 */
#include "message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"

static void print_line(const char *program, const char *format, va_list arguments)
{
    char line[8192];

    vsnprintf(line, sizeof line, format, arguments);
    mask_control_characters(line);
    fprintf(stderr, "%s: %s\n", program, line);
}

void print_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line("elapse", format, arguments);
    va_end(arguments);
}

enum exit_status usage_error(const char *program, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(program, format, arguments);
    va_end(arguments);
    return usage_hint(program);
}

enum exit_status usage_hint(const char *program)
{
    fprintf(stderr, "Try '%s --help'.\n", program);
    return STATUS_USAGE;
}

enum exit_status finish_output(void)
{
    static bool failed_before;

    if (fflush(stdout) == 0 && !ferror(stdout))
        return STATUS_OK;
    if (!failed_before && errno != EPIPE)
        print_error("standard output: %s", strerror(errno));
    failed_before = true;
    return STATUS_FAILED;
}

void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);

    if (memory == NULL)
        out_of_memory();
    return memory;
}

void out_of_memory(void)
{
    print_error("out of memory");
    exit(STATUS_FAILED);
}
