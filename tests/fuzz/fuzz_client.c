/*
 * libFuzzer target for the commands that speak to a server. The first byte chooses the command, the
 * second how the rest comes in pieces; the rest is what the server sends, and then it closes.
 *
 * Checks that the command ends, whatever comes. If it has failed, it says why, on lines of its own.
 * Its output has no control character, and with --json it is lines of JSON.
 *
 * The commands are those of the program. The linker gives them sockets, files and an output of
 * this file (--wrap).
 */
#define _GNU_SOURCE /* open_memstream; and that stderr can be set */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "../../src/os/program.h"
#include "../../src/os/sockets.h"
#include "common/buffer.h"
#include "common/command.h"
#include "common/text.h"
#include "fuzz.h"

enum { HEAD_BYTES = 2, WORDS_MAX = 12, SOCKET = 1000 };

/* Standard input, and how many lines it has. */
static const char input[] = "one\ntwo\nthree";
enum { PUT_LINES = 3 };

static const struct trial {
    enum exit_status (*run)(int argc, char **argv);
    const char *words[WORDS_MAX]; /* the first is that of the command */
    bool is_json;
} trials[] = {
    {put_command, {"put", "t", "x", "--key", "k"}, false},
    {put_command, {"put", "t", "x", "--ifkey", "keep", "--key", "k", "--json"}, true},
    {put_command, {"put", "t", "--lines"}, false},
    {put_command, {"put", "t", "--lines", "--json"}, true},
    {cancel_command, {"cancel", "t", "one", "two"}, false},
    {cancel_command, {"cancel", "--id", "1", "2", "--json"}, true},
    {cancel_command, {"cancel", "t", "--all"}, false},
    {cancel_command, {"cancel", "t", "--all", "--json"}, true},
    {reschedule_command, {"reschedule", "t", "k", "--in", "1s"}, false},
    {reschedule_command, {"reschedule", "--id", "1", "--in", "1s", "--json"}, true},
    {lookup_command, {"lookup", "t", "k"}, false},
    {lookup_command, {"lookup", "--id", "1", "--json"}, true},
    {list_command, {"list", "t"}, false},
    {list_command, {"list", "t", "--limit", "3", "--json"}, true},
    {list_command, {"list"}, false},
    {list_command, {"list", "--json"}, true},
    {list_command, {"list", "t", "--newest", "--columns", "id,error,body"}, false},
    {list_command, {"list", "t", "--columns", "key,id", "--json"}, true},
    {find_command, {"find", "k"}, false},
    {find_command, {"find", "k", "--json"}, true},
    {groups_command, {"groups", "t"}, false},
    {groups_command, {"groups", "t", "--json"}, true},
    {clients_command, {"clients"}, false},
    {clients_command, {"clients", "--json"}, true},
    {stats_command, {"stats"}, false},
    {stats_command, {"stats", "t", "--json"}, true},
    {top_command, {"top", "--once"}, false},
    {stats_command, {"stats", "--token-file", "password"}, false},
    {put_command, {"put", "t", "--lines", "--token-file", "password"}, false},
    {verb_command, {"kick", "t", "1"}, false},
    {verb_command, {"kick", "t", "--all", "--json"}, true},
    {verb_command, {"kick", "--id", "1", "2"}, false},
    {verb_command, {"pause", "t", "1s"}, false},
    {verb_command, {"limit", "t", "--json"}, true},
    {verb_command, {"reserve", "t", "--count", "2"}, false},
    {verb_command, {"reserve", "t", "--json"}, true},
    {verb_command, {"ack", "1", "1-1", "2", "1-2"}, false},
    {verb_command, {"nack", "1", "1-1", "--error", "no", "--json"}, true},
};

enum { TRIALS = sizeof trials / sizeof trials[0] };

/* ---- the system ---- */

static struct {
    const uint8_t *data;
    size_t left;
    size_t piece;
    bool has_come; /* a piece has come since the last wait */
    const char *input;
    struct elapse__buffer output;
} fake;

const char *__wrap_elapse__os_resolve(const char *host, const char *port,
                                      struct elapse__os_address *addresses, size_t *count);
int __wrap_elapse__os_connect_to(const struct elapse__os_address *address, int *result);
int __wrap_elapse__os_connect_error(int socket);
int __wrap_elapse__os_receive(int socket, void *buffer, size_t bytes, size_t *got);
int __wrap_elapse__os_send(int socket, const void *bytes, size_t count, size_t *sent);
int __wrap_elapse__os_close(int file);
int __wrap_elapse__os_wait(struct elapse__os_watch *watches, size_t count, uint64_t timeout_ns);
int __wrap_elapse__os_read_path(const char *path, void *buffer, size_t bytes, size_t *got);
int __wrap_elapse__os_read(int file, void *buffer, size_t bytes, size_t *got);
int __wrap_elapse__os_write_all(int file, const void *bytes, size_t count);

const char *__wrap_elapse__os_resolve(const char *host, const char *port,
                                      struct elapse__os_address *addresses, size_t *count)
{
    (void)host;
    (void)port;
    memset(addresses, 0, sizeof *addresses);
    *count = 1;
    return NULL;
}

int __wrap_elapse__os_connect_to(const struct elapse__os_address *address, int *result)
{
    (void)address;
    *result = SOCKET;
    return 0;
}

int __wrap_elapse__os_connect_error(int socket)
{
    require(socket == SOCKET);
    return 0;
}

/* Receives one piece, and then nothing before the command has waited. After the last piece the
 * connection ends. */
int __wrap_elapse__os_receive(int socket, void *buffer, size_t bytes, size_t *got)
{
    require(socket == SOCKET && bytes > 0);
    if (fake.has_come)
        return EAGAIN;
    *got = fake.left < fake.piece ? fake.left : fake.piece;
    *got = *got < bytes ? *got : bytes;
    if (*got > 0)
        memcpy(buffer, fake.data, *got);
    fake.data += *got;
    fake.left -= *got;
    fake.has_come = true;
    return 0;
}

int __wrap_elapse__os_send(int socket, const void *bytes, size_t count, size_t *sent)
{
    require(socket == SOCKET && bytes != NULL);
    *sent = count;
    return 0;
}

int __wrap_elapse__os_close(int file)
{
    require(file == SOCKET);
    return 0;
}

int __wrap_elapse__os_wait(struct elapse__os_watch *watches, size_t count, uint64_t timeout_ns)
{
    (void)timeout_ns;
    for (size_t i = 0; i < count; i++)
        watches[i].ready = watches[i].file >= 0;
    fake.has_come = false;
    return 0;
}

int __wrap_elapse__os_read_path(const char *path, void *buffer, size_t bytes, size_t *got)
{
    static const char password[] = "sesame\n";

    require(strcmp(path, "password") == 0);
    *got = sizeof password - 1;
    require(*got < bytes);
    memcpy(buffer, password, *got);
    return 0;
}

int __wrap_elapse__os_read(int file, void *buffer, size_t bytes, size_t *got)
{
    require(file == ELAPSE__OS_INPUT);
    *got = strlen(fake.input) < bytes ? strlen(fake.input) : bytes;
    memcpy(buffer, fake.input, *got);
    fake.input += *got;
    return 0;
}

int __wrap_elapse__os_write_all(int file, const void *bytes, size_t count)
{
    require(file == ELAPSE__OS_OUTPUT);
    buffer_add(&fake.output, bytes, count);
    return 0;
}

/* ---- what was printed ---- */

static size_t count_lines(const char *text, size_t size)
{
    size_t count = 0;

    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    return count;
}

/* Calls check(line, size, context) for each line. */
static void each_line(const char *text, size_t size,
                      void (*check)(char *line, size_t size, const void *context),
                      const void *context)
{
    while (size > 0) {
        const char *end = memchr(text, '\n', size);
        require(end != NULL);
        size_t length = (size_t)(end - text);
        char *line = malloc(length + 1);
        require(line != NULL);
        memcpy(line, text, length);
        line[length] = '\0';
        check(line, length, context);
        free(line);
        text = end + 1;
        size -= length + 1;
    }
}

/* Checks that a line has nothing that a terminal would take for a command. */
static void check_harmless(const char *line, size_t size)
{
    char *masked = malloc(size + 1);

    require(masked != NULL);
    memcpy(masked, line, size + 1);
    mask_text(masked, size);
    require(memcmp(masked, line, size) == 0);
    free(masked);
}

static void check_output(char *line, size_t size, const void *context)
{
    const struct trial *trial = context;

    check_harmless(line, size);
    if (!trial->is_json)
        return;
    json_error_t error;
    json_t *value = json_loadb(line, size, JSON_ALLOW_NUL, &error);
    require(json_is_object(value));
    json_decref(value);
}

static void check_message(char *line, size_t size, const void *context)
{
    const char *command = context;
    char hint[64];

    check_harmless(line, size);
    (void)snprintf(hint, sizeof hint, "Try '%s --help'.", command);
    if (strcmp(line, hint) == 0)
        return;
    require(strncmp(line, command, strlen(command)) == 0);
    require(strncmp(line + strlen(command), ": ", 2) == 0 && strlen(line) > strlen(command) + 2);
}

/* ---- a trial ---- */

static enum exit_status run(const struct trial *trial, char *command, char **messages,
                            size_t *messages_size)
{
    char words[WORDS_MAX][32];
    char *argv[WORDS_MAX + 1] = {command};
    int argc = 1;
    FILE *before = stderr;

    for (; trial->words[argc] != NULL; argc++) {
        (void)snprintf(words[argc], sizeof words[argc], "%s", trial->words[argc]);
        argv[argc] = words[argc];
    }
    optind = 0; /* getopt begins anew */
    message_set_command(command);
    stderr = open_memstream(messages, messages_size);
    require(stderr != NULL);
    enum exit_status status = trial->run(argc, argv);
    require(fclose(stderr) == 0);
    stderr = before;
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char command[32];
    char *messages = NULL;
    size_t messages_size = 0;

    if (size < HEAD_BYTES)
        return 0;
    const struct trial *trial = &trials[data[0] % TRIALS];
    fake.data = data + HEAD_BYTES;
    fake.left = size - HEAD_BYTES;
    fake.piece = data[1] == 255 ? SIZE_MAX : data[1] + 1u;
    fake.has_come = false;
    fake.input = input;
    elapse__buffer_clear(&fake.output);
    (void)snprintf(command, sizeof command, "elapse %s", trial->words[0]);
    enum exit_status status = run(trial, command, &messages, &messages_size);
    require(status <= STATUS_UNKNOWN);
    if (status == STATUS_OK)
        require(messages_size == 0);
    else if (status == STATUS_GONE || status == STATUS_TAKEN)
        require(fake.output.end + messages_size > 0);
    else
        require(messages_size > 0);
    if (trial->run == put_command)
        require(count_lines((const char *)fake.output.bytes, fake.output.end) <= PUT_LINES);
    each_line((const char *)fake.output.bytes, fake.output.end, check_output, trial);
    each_line(messages, messages_size, check_message, command);
    free(messages);
    return 0;
}
