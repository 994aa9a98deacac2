/*
 * COMMAND: the table of commands, as clients read it when they connect, and when their users ask
 * for help.
 */
#include <string.h>

#include "resp.h"

enum { DESCRIBED_BYTES = 1024 }; /* room for one command, in either form */

/* Writes the name in small letters, as clients expect it. */
static void write_name(struct elapse__wire_resp_writer *writer,
                       const struct elapse__resp_command *command)
{
    struct elapse__resp_line line = {.size = 0};

    elapse__resp_add_small(&line, command->name);
    elapse__wire_resp_write_bytes(writer, line.text, line.size);
}

static void write_flags(struct elapse__wire_resp_writer *writer, unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {
        {ELAPSE__RESP_WRITES, "write"},    {ELAPSE__RESP_READS, "readonly"},
        {ELAPSE__RESP_BLOCKS, "blocking"}, {ELAPSE__RESP_FAST, "fast"},
        {ELAPSE__RESP_NO_AUTH, "no_auth"},
    };
    enum { NAMES = sizeof names / sizeof *names };
    size_t count = 0;

    for (size_t i = 0; i < NAMES; i++)
        count += (flags & names[i].flag) != 0;
    elapse__wire_resp_write_array(writer, count);
    for (size_t i = 0; i < NAMES; i++) {
        if ((flags & names[i].flag) != 0)
            elapse__wire_resp_write_word(writer, names[i].name);
    }
}

/* Replies with one command in the form of COMMAND: name, arity, flags, three places of keys (there
 * are none: a key is the name of a job, and lies in its tube), categories, tips, keys, subcommands.
 */
static void reply_information(const struct elapse__resp_call *call,
                              const struct elapse__resp_command *command)
{
    enum { FIELDS = 10, EMPTY = 4 };
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(call->connection, call->session->resp3, DESCRIBED_BYTES);

    elapse__wire_resp_write_array(&writer, FIELDS);
    write_name(&writer, command);
    elapse__wire_resp_write_integer(&writer, command->arity);
    write_flags(&writer, command->flags);
    for (int i = 0; i < 3; i++)
        elapse__wire_resp_write_integer(&writer, 0);
    for (int i = 0; i < EMPTY; i++)
        elapse__wire_resp_write_array(&writer, 0);
    elapse__resp_end(call->connection, &writer);
}

/* Replies with one command in the form of COMMAND DOCS: its name, and a map. The arguments are one
 * text, the syntax. */
static void reply_documentation(const struct elapse__resp_call *call,
                                const struct elapse__resp_command *command)
{
    enum { PAIRS = 4, ARGUMENT_PAIRS = 3 };
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(call->connection, call->session->resp3, DESCRIBED_BYTES);
    bool has_arguments = command->syntax[0] != '\0';

    write_name(&writer, command);
    elapse__wire_resp_write_map(&writer, has_arguments ? PAIRS : PAIRS - 1);
    elapse__wire_resp_write_text(&writer, "summary");
    elapse__wire_resp_write_text(&writer, command->summary);
    elapse__wire_resp_write_text(&writer, "since");
    elapse__wire_resp_write_text(&writer, "0.2.0");
    elapse__wire_resp_write_text(&writer, "group");
    elapse__wire_resp_write_text(&writer, command->group);
    if (has_arguments) {
        elapse__wire_resp_write_text(&writer, "arguments");
        elapse__wire_resp_write_array(&writer, 1);
        elapse__wire_resp_write_map(&writer, ARGUMENT_PAIRS);
        elapse__wire_resp_write_text(&writer, "name");
        elapse__wire_resp_write_text(&writer, command->syntax);
        elapse__wire_resp_write_text(&writer, "type");
        elapse__wire_resp_write_text(&writer, "string");
        elapse__wire_resp_write_text(&writer, "display_text");
        elapse__wire_resp_write_text(&writer, command->syntax);
    }
    elapse__resp_end(call->connection, &writer);
}

static uint32_t count_commands(void)
{
    uint32_t count = 0;

    while (elapse__resp_command_at(count) != NULL)
        count++;
    return count;
}

static void reply_all(const struct elapse__resp_call *call)
{
    uint32_t count = count_commands();

    elapse__resp_reply_array(call, count);
    for (uint32_t i = 0; i < count; i++)
        reply_information(call, elapse__resp_command_at(i));
}

/* The commands that are named behind the subcommand, or all. */
static void reply_some(const struct elapse__resp_call *call)
{
    if (call->count == 2) {
        reply_all(call);
        return;
    }
    elapse__resp_reply_array(call, call->count - 2);
    for (uint32_t i = 2; i < call->count; i++) {
        const struct elapse__resp_command *command = elapse__resp_find(call->arguments[i]);
        if (command == NULL)
            elapse__resp_reply_null(call);
        else
            reply_information(call, command);
    }
}

/* Names that are no command are left out. */
static void reply_documentations(const struct elapse__resp_call *call)
{
    uint32_t found = 0;

    for (uint32_t i = 2; i < call->count; i++)
        found += elapse__resp_find(call->arguments[i]) != NULL;
    elapse__resp_reply_map(call, call->count == 2 ? count_commands() : found);
    for (uint32_t i = 2; i < call->count; i++) {
        const struct elapse__resp_command *command = elapse__resp_find(call->arguments[i]);
        if (command != NULL)
            reply_documentation(call, command);
    }
    for (uint32_t i = 0; call->count == 2 && elapse__resp_command_at(i) != NULL; i++)
        reply_documentation(call, elapse__resp_command_at(i));
}

static void reply_names(const struct elapse__resp_call *call)
{
    elapse__resp_reply_array(call, count_commands());
    for (uint32_t i = 0; elapse__resp_command_at(i) != NULL; i++) {
        struct elapse__wire_resp_writer writer =
            elapse__resp_begin(call->connection, call->session->resp3, DESCRIBED_BYTES);
        write_name(&writer, elapse__resp_command_at(i));
        elapse__resp_end(call->connection, &writer);
    }
}

enum elapse__session_step elapse__resp_command(const struct elapse__resp_call *call)
{
    if (call->count == 1)
        reply_all(call);
    else if (call->count == 2 && elapse__wire_resp_is(call->arguments[1], "COUNT"))
        elapse__resp_reply_integer(call, count_commands());
    else if (call->count == 2 && elapse__wire_resp_is(call->arguments[1], "LIST"))
        reply_names(call);
    else if (elapse__wire_resp_is(call->arguments[1], "INFO"))
        reply_some(call);
    else if (elapse__wire_resp_is(call->arguments[1], "DOCS"))
        reply_documentations(call);
    else
        return elapse__resp_reply_error(call->connection,
                                        "ERR unknown subcommand or wrong number of arguments for",
                                        &call->arguments[1]);
    return ELAPSE__STEP_RAN;
}
