/*
 * The program elapse: finds the subcommand and runs it.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../base/assert.h"
#include "../os/program.h"
#include "common/command.h"
#include "common/completion.h"
#include "common/lacks.h"
#include "common/message.h"
#include "common/nearest.h"
#include "common/options.h"
#include "common/output.h"
#include "common/text.h"

/* The commands that speak to a server: X(name, summary, function). */
/* clang-format off */
#define CLIENT_COMMANDS(X)                                                                        \
    X("put",        "put a job on a server", put_command)                                         \
    X("cancel",     "cancel jobs on a server", cancel_command)                                    \
    X("reschedule", "give a job on a server another due time", reschedule_command)                \
    X("kick",       "make buried jobs of a server ready", verb_command)                           \
    X("pause",      "hand out nothing of a tube for a while", verb_command)                       \
    X("resume",     "end the pause of a tube", verb_command)                                      \
    X("limit",      "limit how many jobs of a tube run, or show its limits", verb_command)        \
    X("arrive",     "take arrivals off the number that a job waits for", verb_command)            \
    X("lookup",     "show a job on a server", lookup_command)                                     \
    X("list",       "list the jobs of a tube on a server, or its tubes", list_command)            \
    X("find",       "find jobs on a server by their key, in all tubes", find_command)             \
    X("groups",     "list the groups of a tube, and count their jobs", groups_command)            \
    X("stats",      "count the jobs of a server, or of a tube", stats_command)                    \
    X("history",    "show what a server did in each of the last minutes", history_command)        \
    X("top",        "watch a server: its jobs, its tubes, and how fast they change", top_command) \
    X("clients",    "list who is connected to a server, and who holds leases", clients_command)   \
    X("whoami",     "show as whom a server knows you, and what you may do", whoami_command)       \
    X("work",       "have the jobs of a server done by a program or a web hook", work_command)    \
    X("reserve",    "take jobs from a server, to do them by hand", verb_command)                  \
    X("ack",        "say that jobs are done", verb_command)                                       \
    X("nack",       "say that jobs have failed", verb_command)                                    \
    X("bury",       "set jobs aside that cannot be done", verb_command)                           \
    X("extend",     "begin the leases of jobs anew", verb_command)

static const struct command commands[] = {
    {"run", "make each line of the input a timer, and print when it fires", run_command},
#ifdef ELAPSE_HAS_SERVER
    {"serve", "serve a durable queue to clients of beanstalkd and of Redis", serve_command},
    {"password", "draw a password for a user of a server", password_command},
#endif
    {"cluster", "make, show or repair the queue of a cluster in its database", cluster_command},
#ifdef ELAPSE_HAS_CLIENT
#define ROW(name, summary, run) {name, summary, run},
    CLIENT_COMMANDS(ROW)
#endif
    {"replay", "run a trace of timers through a structure, and report", replay_command},
    {"generate", "write a trace of a given kind", generate_command},
    {"cron", "check a cron expression, and list its next times", cron_command},
    {"check", "find damage in the directory of a durable queue", check_command},
    {"export", "print the jobs of a durable queue as lines of JSON", export_command},
    {"ended", "find jobs that have ended", ended_command},
    {"import", "add jobs to a durable queue, from lines of JSON", import_command},
    {"backup", "copy the directory of a durable queue, also while it is in use", backup_command},
    {"show", "draw a timing wheel, and what happens in it", show_command},
};

/* The commands that this program was built without. */
static const struct {
    const char *name;
    const char *why;
} lacking[] = {
#ifndef ELAPSE_HAS_SERVER
    {"serve", LACKS_SERVER},
    {"password", LACKS_SERVER},
#endif
#ifndef ELAPSE_HAS_CLIENT
#define LACKING_ROW(name, summary, run) {name, LACKS_CLIENT},
    CLIENT_COMMANDS(LACKING_ROW)
#endif
    {NULL, NULL},
};
/* clang-format on */

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static enum exit_status print_help(void)
{
    output_add_text("Usage: elapse COMMAND [ARGUMENT]...\n"
                    "       elapse --help | --version\n"
                    "\n"
                    "Timers: deadlines by the million, each delivered on time.\n"
                    "\n"
                    "Commands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        output_add_format("  %-10s %s\n", commands[i].name, commands[i].summary);
    output_add_format("  %-10s %s\n", "completion", "write the completion for bash, zsh or fish");
    output_add_format("  %-10s %s\n", "help", "show this, or the help of a command");
    output_add_text("\n'elapse COMMAND --help' shows the options of a command.\n");
    return output_finish();
}

static const struct command *command_of_name(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

/* Calls a command. Its messages, and those of getopt, begin with "elapse" and the name of the
 * command. */
static enum exit_status call_command(const struct command *command, int argc, char **argv)
{
    static char words[32];

    int length = snprintf(words, sizeof words, "elapse %s", command->name);
    ELAPSE__ASSERT(length > 0 && (size_t)length < sizeof words);
    ELAPSE__ASSERT(argc >= 1);
    (void)length; /* used only by the assertion */
    message_set_command(words);
    argv[0] = words;
    return command->run(argc, argv);
}

static enum exit_status unknown_command(const char *name)
{
    ELAPSE__ASSERT(command_of_name(name) == NULL);
    for (size_t i = 0; lacking[i].name != NULL; i++) {
        if (strcmp(lacking[i].name, name) == 0) {
            print_error("%s: %s", name, lacking[i].why);
            return STATUS_USAGE;
        }
    }
    struct nearest nearest;
    nearest_begin(&nearest, name, strlen(name));
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        nearest_offer(&nearest, commands[i].name, strlen(commands[i].name));
    return usage_error("unknown %s %s%s", name[0] == '-' ? "option" : "command",
                       quote_string(name).text, nearest_ask(&nearest).text);
}

static enum exit_status completion_command(int argc, char **argv);

/* Runs elapse help [COMMAND], which does the same as elapse COMMAND --help. */
static enum exit_status help_command(int argc, char **argv)
{
    char help_option[] = "--help";

    if (argc < 2)
        return print_help();
    if (strcmp(argv[1], "completion") == 0) {
        argv[1] = help_option;
        return completion_command(2, argv);
    }
    const struct command *command = command_of_name(argv[1]);
    if (command == NULL)
        return unknown_command(argv[1]);
    argv[1] = help_option;
    return call_command(command, 2, argv);
}

static const char completion_help[] =
    "Usage: elapse completion bash|zsh|fish\n"
    "\n"
    "Writes the completion of this program for a shell to standard output.\n"
    "\n"
    "Options:\n"
    "  -h, --help  show this\n"
    "  --version   show the version\n"
    "\n"
    "Example:\n"
    "  source <(elapse completion bash)\n";

/* Runs elapse completion SHELL. This command is not in the table of commands, because it prints
 * completions for the commands of the table. */
static enum exit_status completion_command(int argc, char **argv)
{
    ELAPSE__ASSERT(argc >= 1);
    message_set_command("elapse completion");
    if (argc != 2)
        return usage_error("give one shell: bash, zsh or fish");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        output_add_text(completion_help);
        return output_finish();
    }
    if (strcmp(argv[1], "--version") == 0)
        return options_print_version();
    return completion_print(argv[1], commands, COMMAND_COUNT);
}

static enum exit_status run_program(int argc, char **argv)
{
    if (argc < 2)
        return usage_error("a command is missing");

    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return print_help();
    if (strcmp(name, "--version") == 0)
        return options_print_version();
    if (strcmp(name, "help") == 0)
        return help_command(argc - 1, argv + 1);
    if (strcmp(name, "completion") == 0)
        return completion_command(argc - 1, argv + 1);

    const struct command *command = command_of_name(name);
    if (command == NULL)
        return unknown_command(name);
    return call_command(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    elapse__os_hold_standard_files();
    if (argc > 0 && argv[0][0] != '\0')
        message_set_program(argv[0]);
    return (int)run_program(argc, argv);
}
