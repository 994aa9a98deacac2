/*
 * elapse: the program. It finds the subcommand and runs it.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <elapse/version.h>

#include "common/command.h"
#include "common/message.h"
#include "common/text.h"

struct command {
    const char *name;
    const char *program; /* what its messages begin with */
    const char *summary;
    command_function *run;
};

static const struct command commands[] = {
    {"run", "elapse run", "make each line of the input a timer, and tell when it fires",
     run_command},
    {"replay", "elapse replay", "run a trace of timers through a structure, and report",
     replay_command},
    {"generate", "elapse generate", "write a trace of a given kind", generate_command},
    {"show", "elapse show", "draw a timing wheel, and what happens in it", show_command},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static enum exit_status print_help(void)
{
    fputs("Usage: elapse COMMAND [ARGUMENT]...\n"
          "       elapse --help | --version\n"
          "\n"
          "Timers: deadlines by the million, each delivered on time.\n"
          "\n"
          "Commands:\n",
          stdout);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("  %-10s %s\n", commands[i].name, commands[i].summary);
    printf("  %-10s %s\n", "help", "show this, or what 'elapse help COMMAND' is about");
    fputs("\n'elapse COMMAND --help' tells more of a command.\n", stdout);
    return finish_output();
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static enum exit_status call_command(const struct command *command, int argc, char **argv)
{
    char program[32];

    snprintf(program, sizeof program, "%s", command->program);
    argv[0] = program;
    return command->run(argc, argv);
}

static enum exit_status unknown_command(const char *name)
{
    return usage_error("elapse", "unknown %s %s", name[0] == '-' ? "option" : "command",
                       quote_string(name).text);
}

/* elapse help [COMMAND]: as "elapse COMMAND --help". */
static enum exit_status help_command(int argc, char **argv)
{
    char help_option[] = "--help";

    if (argc < 2)
        return print_help();
    const struct command *command = find_command(argv[1]);
    if (command == NULL)
        return unknown_command(argv[1]);
    argv[1] = help_option;
    return call_command(command, 2, argv);
}

static enum exit_status run_program(int argc, char **argv)
{
    if (argc < 2)
        return usage_error("elapse", "a command is missing");

    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return print_help();
    if (strcmp(name, "--version") == 0) {
        printf("elapse %s\n", elapse_version());
        return finish_output();
    }
    if (strcmp(name, "help") == 0)
        return help_command(argc - 1, argv + 1);

    const struct command *command = find_command(name);
    if (command == NULL)
        return unknown_command(name);
    return call_command(command, argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    return (int)run_program(argc, argv);
}
