/*
 * Messages, and the end of the program when memory runs out.
 */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "text.h"

static const char *command_words = "elapse";
static const char *program_path = "elapse";
static bool is_silent;
static char left_out[8192]; /* the last message that was left out */

void message_set_command(const char *command)
{
    ELAPSE__ASSERT(command != NULL);
    command_words = command;
}

const char *message_command(void)
{
    ELAPSE__ASSERT(command_words[0] != '\0');
    return command_words;
}

void message_set_program(const char *path)
{
    ELAPSE__ASSERT(path != NULL);
    program_path = path;
}

const char *message_program(void)
{
    ELAPSE__ASSERT(program_path[0] != '\0');
    return program_path;
}

__attribute__((format(printf, 1, 0))) static void print_line(const char *format, va_list arguments)
{
    char line[sizeof left_out];

    vsnprintf(line, sizeof line, format, arguments);
    mask_control_characters(line);
    if (is_silent) {
        memcpy(left_out, line, strlen(line) + 1);
        return;
    }
    fprintf(stderr, "%s: %s\n", command_words, line);
}

bool message_silence(bool silent)
{
    bool was_silent = is_silent;

    is_silent = silent;
    return was_silent;
}

const char *message_left_out(void)
{
    return left_out;
}

void print_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

enum exit_status error_of(enum exit_status status, const char *format, ...)
{
    va_list arguments;

    ELAPSE__ASSERT(status != STATUS_OK);
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return status;
}

enum exit_status usage_error(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
    return usage_hint();
}

enum exit_status usage_hint(void)
{
    fprintf(stderr, "Try '%s --help'.\n", command_words);
    return STATUS_USAGE;
}

void require_memory(bool is_there)
{
    if (!is_there) {
        print_error("out of memory");
        exit(STATUS_FAILED);
    }
}

void *allocate(size_t bytes)
{
    return reallocate(NULL, bytes);
}

void *reallocate(void *memory, size_t bytes)
{
    ELAPSE__ASSERT(bytes > 0);
    memory = realloc(memory, bytes);
    require_memory(memory != NULL);
    return memory;
}
