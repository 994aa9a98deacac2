/*
 * The table of commands: the dispatch, the error texts and COMMAND come from it. The table is
 * ordered by the length of the names, so that few names have to be compared; within a length,
 * frequent ones come first. tests/server/resp/client_test.c tests that each command is found.
 */
#include <string.h>

#include "commands.h"
#include "reply.h"

enum {
    WRITES = ELAPSE__RESP_WRITES | ELAPSE__RESP_FAST,
    CHANGES = WRITES | ELAPSE__RESP_QUEUES,
    SWEEPS = ELAPSE__RESP_WRITES, /* a command whose time grows with the number of jobs */
    READS = ELAPSE__RESP_READS | ELAPSE__RESP_FAST,
    CLIENT = ELAPSE__RESP_READS | ELAPSE__RESP_FAST,
    QUEUED = CLIENT | ELAPSE__RESP_QUEUES,
    CONTROLS = CLIENT | ELAPSE__RESP_CONTROLS,
    BEFORE_AUTH = CLIENT | ELAPSE__RESP_NO_AUTH,
    ALWAYS = BEFORE_AUTH | ELAPSE__RESP_CONTROLS,
    NEW = ELAPSE__RESP_SINCE_0_3,
    LENGTH_MIN = 3,
    LENGTH_MAX = 12,
};

#define IN_OR_AT "IN duration | AT milliseconds"

static elapse__resp_function describe;

static const struct elapse__resp_command commands[] = {
    {"PUT", elapse__resp_put, -3, CHANGES, ELAPSE__VERB_PUT, "jobs",
     "tube body [IN duration | AT milliseconds | EVERY duration | CRON expression [ZONE zone]] "
     "[KEY key] [AWAIT count] [TAG tag] [GROUP group] "
     "[IFKEY REPLACE | KEEP | FAIL | DEBOUNCE MAX duration] "
     "[PRIORITY number] "
     "[TTR duration] [EXPIRE duration] [ATTEMPTS count] [BACKOFF min max] [TOKEN token [FOR "
     "duration]] [HEADERS headers]",
     "Puts a job, due at once unless it says when, or how many have to arrive"},
    {"ACK", elapse__resp_ack, -3, CHANGES, ELAPSE__VERB_ACK, "workers", "id lease [id lease ...]",
     "Ends jobs whose work is done"},
    {"NACK", elapse__resp_nack, -3, CHANGES, ELAPSE__VERB_NACK, "workers",
     "id lease [id lease ...] [IN duration | AFTER duration] [ERROR text]",
     "Gives jobs back, to be tried again"},
    {"PING", elapse__resp_ping, -1, QUEUED, ELAPSE__VERB_OTHER, "connection", "[message]",
     "Answers PONG, or the message"},
    {"BURY", elapse__resp_bury, -3, CHANGES, ELAPSE__VERB_BURY, "workers",
     "id lease [id lease ...] [ERROR text]", "Sets jobs aside until somebody kicks them"},
    {"KICK", elapse__resp_kick, -3, SWEEPS, ELAPSE__VERB_KICK, "jobs", "tube count [BURIED]",
     "Makes buried jobs ready; if there are none, delayed ones, unless it says BURIED"},
    {"LIST", elapse__resp_list, -2, ELAPSE__RESP_READS, ELAPSE__VERB_LIST, "look",
     "tube [STATE state [SOONEST | NEWEST]] [TAG tag] [RECURRING] [CURSOR cursor] [COUNT count] "
     "[KEYS] [BODY bytes]",
     "Lists jobs of a tube"},
    {"FIND", elapse__resp_find_key, -2, ELAPSE__RESP_READS | NEW, ELAPSE__VERB_LIST, "look",
     "key [CURSOR cursor] [COUNT count]", "Lists the jobs that have a key, in all tubes"},
    {"ECHO", elapse__resp_echo, 2, QUEUED, ELAPSE__VERB_OTHER, "connection", "message",
     "Answers the message"},
    {"AUTH", elapse__resp_auth, -2, BEFORE_AUTH, ELAPSE__VERB_OTHER, "connection",
     "[user] password", "Says who the client is"},
    {"INFO", elapse__resp_info, -1, CLIENT, ELAPSE__VERB_OTHER, "server", "[section ...]",
     "Describes the server, as clients of Redis read it"},
    {"EXEC", elapse__resp_exec, 1, CONTROLS | NEW, ELAPSE__VERB_OTHER, "transactions", "",
     "Does all commands since MULTI, or none"},
    {"QUIT", elapse__resp_quit, -1, ALWAYS, ELAPSE__VERB_OTHER, "connection", "",
     "Ends the connection"},
    {"HELLO", elapse__resp_hello, -1, BEFORE_AUTH, ELAPSE__VERB_OTHER, "connection",
     "[version [AUTH user password] [SETNAME name]]", "Chooses RESP2 or RESP3"},
    {"STATS", elapse__resp_stats, -1, READS, ELAPSE__VERB_STATS, "look", "[tube]",
     "Counts the jobs of the server, or of a tube"},
    {"TUBES", elapse__resp_tubes, -1, ELAPSE__RESP_READS, ELAPSE__VERB_LIST_TUBES, "look",
     "[PREFIX beginning] [TROUBLE] [COUNTS] [CURSOR cursor] [COUNT count]", "Lists the tubes"},
    {"PAUSE", elapse__resp_pause, 3, WRITES, ELAPSE__VERB_PAUSE_TUBE, "jobs", "tube duration",
     "Hands out nothing of a tube for so long; 0s ends a pause"},
    {"MULTI", elapse__resp_multi, 1, CONTROLS | NEW, ELAPSE__VERB_OTHER, "transactions", "",
     "Begins a transaction: the commands up to EXEC wait for it"},
    {"WATCH", elapse__resp_watch, -2, CONTROLS | NEW, ELAPSE__VERB_OTHER, "transactions",
     "key [key ...]", "Answers that LEASED guards transactions here"},
    {"LIMIT", elapse__resp_limit, -2, WRITES | NEW, ELAPSE__VERB_PAUSE_TUBE, "jobs",
     "tube [CONCURRENCY count] [GROUPCONCURRENCY count] "
     "[RATE count PER duration [BURST count]] [GROUPRATE count PER duration [BURST count]] "
     "[GROUPORDER] [BURIED count] [BURIED AGE duration] | NONE",
     "Limits how many jobs of a tube run at a time, begin in a time, and stay buried"},
    {"CLOCK", elapse__resp_clock, -1, WRITES | NEW, ELAPSE__VERB_OTHER, "server",
     "[ADVANCE duration]",
     "Tells the server's wall-clock time; with --test-clock also moves it forward"},
    {"RESET", elapse__resp_reset, 1, ALWAYS, ELAPSE__VERB_OTHER, "connection", "",
     "Makes the connection as it was at its beginning"},
    {"GROUPS", elapse__resp_groups, -2, ELAPSE__RESP_READS | NEW, ELAPSE__VERB_LIST, "look",
     "tube [HELD] [CURSOR cursor] [COUNT count]", "Lists groups of a tube"},
    {"CANCEL", elapse__resp_cancel, -3, CHANGES, ELAPSE__VERB_CANCEL, "jobs", "tube key [key ...]",
     "Cancels jobs by their keys"},
    {"ARRIVE", elapse__resp_arrive, -3, CHANGES | NEW, ELAPSE__VERB_ARRIVE, "jobs",
     "tube key [count] [TOKEN token [FOR duration]]",
     "Takes arrivals off the number that a job waits for"},
    {"EXTEND", elapse__resp_extend, -3, CHANGES, ELAPSE__VERB_EXTEND, "workers",
     "id lease [id lease ...]", "Begins leases anew: they last for TTR from now"},
    {"KICKID", elapse__resp_kick_id, 2, CHANGES, ELAPSE__VERB_KICK_ID, "jobs", "id",
     "Makes a buried or delayed job ready"},
    {"LEASED", elapse__resp_leased, -3, CHANGES | NEW, ELAPSE__VERB_OTHER, "transactions",
     "id lease [id lease ...]", "Lets a transaction do nothing if a lease has ended"},
    {"LOOKUP", elapse__resp_look_up, 3, READS, ELAPSE__VERB_LOOK_UP, "look", "tube key",
     "Shows the job that has a key"},
    {"SELECT", elapse__resp_select, 2, QUEUED, ELAPSE__VERB_OTHER, "connection", "0",
     "Chooses the one database that there is"},
    {"CLIENT", elapse__resp_client, -2, QUEUED, ELAPSE__VERB_OTHER, "connection",
     "subcommand [argument ...]", "Names the connection, and tells about it"},
    {"WHOAMI", elapse__resp_whoami, 1, CLIENT | NEW, ELAPSE__VERB_OTHER, "connection", "",
     "Tells which user the client is, and what it may do"},
    {"CONFIG", elapse__resp_config, -2, CLIENT, ELAPSE__VERB_OTHER, "server", "GET name ...",
     "Answers that there is nothing to configure"},
    {"DISCARD", elapse__resp_discard, 1, CONTROLS | NEW, ELAPSE__VERB_OTHER, "transactions", "",
     "Forgets the commands since MULTI"},
    {"RESERVE", elapse__resp_reserve, -2, ELAPSE__RESP_WRITES | ELAPSE__RESP_BLOCKS,
     ELAPSE__VERB_RESERVE, "workers",
     "tube [tube ...] [COUNT count] [WAIT duration] [DETAILS] [HOLDER who]",
     "Hands out jobs that are ready, the least priority first"},
    {"HISTORY", elapse__resp_history, -1, ELAPSE__RESP_READS | NEW, ELAPSE__VERB_OTHER, "look",
     "[COUNT minutes]", "Tells of each minute of the last day what the server has done"},
    {"COMMAND", describe, -1, CLIENT, ELAPSE__VERB_OTHER, "server",
     "[COUNT | LIST | INFO [name ...] | DOCS [name ...]]", "Describes the commands"},
    {"CANCELID", elapse__resp_cancel_id, -2, CHANGES, ELAPSE__VERB_CANCEL_ID, "jobs", "id [id ...]",
     "Cancels jobs by their ids"},
    {"LOOKUPID", elapse__resp_look_up_id, 2, READS, ELAPSE__VERB_LOOK_UP_ID, "look", "id",
     "Shows the job that has an id"},
    {"RECURRING", elapse__resp_recurring, -1, ELAPSE__RESP_READS | NEW, ELAPSE__VERB_LIST, "look",
     "[CURSOR cursor] [COUNT count] [KEYS] [BODY bytes]",
     "Lists the jobs of all tubes that come again and again"},
    {"CANCELALL", elapse__resp_cancel_all, -2, SWEEPS, ELAPSE__VERB_CANCEL_ALL, "jobs",
     "tube [STATE state] [TAG tag]", "Cancels all jobs of a tube, or those that fit"},
    {"RESCHEDULE", elapse__resp_reschedule, 5, CHANGES, ELAPSE__VERB_RESCHEDULE, "jobs",
     "tube key " IN_OR_AT, "Gives a job another due time, by its key"},
    {"RESCHEDULEID", elapse__resp_reschedule_id, 4, CHANGES, ELAPSE__VERB_RESCHEDULE_ID, "jobs",
     "id " IN_OR_AT, "Gives a job another due time, by its id"},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

/* In the table, names of n letters begin at place first_of_length[n] and end before
 * first_of_length[n + 1]. */
static const uint8_t first_of_length[LENGTH_MAX + 2] = {
    [3] = 0,  [4] = 2,   [5] = 13,  [6] = 22,  [7] = 33,        [8] = 37,
    [9] = 39, [10] = 41, [11] = 42, [12] = 42, [13] = COMMANDS,
};

const struct elapse__resp_command *elapse__resp_find(struct elapse__wire_resp_argument name)
{
    if (name.size < LENGTH_MIN || name.size > LENGTH_MAX)
        return NULL;
    ELAPSE__ASSERT_THAT(first_of_length[name.size], <=, first_of_length[name.size + 1]);
    for (unsigned i = first_of_length[name.size]; i < first_of_length[name.size + 1]; i++) {
        ELAPSE__ASSERT_THAT(strlen(commands[i].name), ==, name.size);
        if (elapse__wire_resp_is(name, commands[i].name))
            return &commands[i];
    }
    return NULL;
}

const struct elapse__resp_command *elapse__resp_command_at(unsigned place)
{
    return place < COMMANDS ? &commands[place] : NULL;
}

/* ---- COMMAND ---- */

enum { DESCRIBED_BYTES = 1024 }; /* room for one command in COMMAND or in COMMAND DOCS */

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

/* Replies with one command in the form of COMMAND: name, arity, flags, three places of keys (0: a
 * key of this server is the name of a job in a tube, and no key of Redis), categories, tips, keys,
 * subcommands. */
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
    elapse__wire_resp_write_text(&writer, (command->flags & ELAPSE__RESP_SINCE_0_3) != 0 ? "0.3.0"
                                                                                         : "0.2.0");
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

static void reply_all(const struct elapse__resp_call *call)
{
    elapse__resp_reply_array(call, COMMANDS);
    for (uint32_t i = 0; i < COMMANDS; i++)
        reply_information(call, &commands[i]);
}

/* Replies with the commands that are named after the subcommand, or with all commands if none is
 * named. */
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

/* Replies to COMMAND DOCS. Names that are no command are left out. */
static void reply_documentations(const struct elapse__resp_call *call)
{
    uint32_t found = 0;

    for (uint32_t i = 2; i < call->count; i++)
        found += elapse__resp_find(call->arguments[i]) != NULL;
    elapse__resp_reply_map(call, call->count == 2 ? COMMANDS : found);
    for (uint32_t i = 2; i < call->count; i++) {
        const struct elapse__resp_command *command = elapse__resp_find(call->arguments[i]);
        if (command != NULL)
            reply_documentation(call, command);
    }
    for (uint32_t i = 0; call->count == 2 && i < COMMANDS; i++)
        reply_documentation(call, &commands[i]);
}

static void reply_names(const struct elapse__resp_call *call)
{
    elapse__resp_reply_array(call, COMMANDS);
    for (uint32_t i = 0; i < COMMANDS; i++) {
        struct elapse__wire_resp_writer writer =
            elapse__resp_begin(call->connection, call->session->resp3, DESCRIBED_BYTES);
        write_name(&writer, &commands[i]);
        elapse__resp_end(call->connection, &writer);
    }
}

static enum elapse__session_step describe(const struct elapse__resp_call *call)
{
    if (call->count == 1)
        reply_all(call);
    else if (call->count == 2 && elapse__wire_resp_is(call->arguments[1], "COUNT"))
        elapse__resp_reply_integer(call, COMMANDS);
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
