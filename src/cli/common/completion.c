/*
 * Writes completions for shells. Each subcommand runs once, with an observer. The function
 * options_read gives the table of options of the subcommand to the observer. Then the subcommand
 * ends without an effect.
 */
#include "completion.h"

#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "options.h"
#include "output.h"
#include "text.h"

/* ---- what all shells have in common ---- */

typedef void print_line_function(const void *context, const struct command_line *line);

/* Calls `print` with the options of the subcommand. */
static void with_options(const struct command *command, print_line_function *print)
{
    char name[64];
    char *arguments[] = {name, NULL};
    int length = snprintf(name, sizeof name, "elapse %s", command->name);

    ELAPSE__ASSERT(length > 0 && (size_t)length < sizeof name);
    (void)length; /* used only by the assertion */
    ELAPSE__ASSERT(command->run != NULL);
    options_observe(print, command);
    (void)command->run(1, arguments);
    options_observe(NULL, NULL);
}

static void for_each(const struct command *commands, size_t count, print_line_function *print)
{
    for (size_t i = 0; i < count; i++)
        with_options(&commands[i], print);
}

/* Prints the text up to its first ';' or '('. Leaves out characters that a shell reads as quotes.
 */
static void print_summary(const char *text)
{
    size_t length = strcspn(text, ";(");

    while (length > 0 && text[length - 1] == ' ')
        length--;
    for (; length > 0; length--, text++) {
        if (strchr("'\"`\\$[]:", *text) == NULL)
            output_add(text, 1);
    }
}

/* Returns whether the value of the option is the name of a file. */
static bool takes_file(const struct command_option *option)
{
    return option->value != NULL && strstr(option->value, "FILE") != NULL;
}

/* Returns whether the command takes the name of a tube as its first argument, or as any
 * argument. */
static bool takes_tube(const struct command_line *line)
{
    return strstr(line->help->usage, " TUBE") != NULL || strstr(line->help->usage, "[TUBE") != NULL;
}

static bool takes_tubes(const struct command_line *line)
{
    return strstr(line->help->usage, " TUBE...") != NULL;
}

/* The arguments of the command that asks the server in ELAPSE_SERVER for its tubes. The command
 * ends after a second if the server does not answer. */
#define LIST_TUBES "list --limit 1000 --timeout 1s 2>/dev/null"

/* ---- bash ---- */

/* Prints a branch of a case statement for each option whose values are words. */
static void print_bash_words(const void *context, const struct command_line *line)
{
    const struct command *command = context;

    for (size_t i = 0; i < line->option_count; i++) {
        if (line->options[i].words != NULL)
            output_add_format("        '%s --%s') words='%s' ;;\n", command->name,
                              line->options[i].name, line->options[i].words);
    }
}

static void print_bash_case(const void *context, const struct command_line *line)
{
    const struct command *command = context;

    output_add_format("        %s) options='", command->name);
    for (size_t i = 0; i < line->option_count; i++) {
        if (line->options[i].name != NULL)
            output_add_format("--%s ", line->options[i].name);
    }
    output_add_format("--help --version'%s ;;\n", takes_tubes(line)  ? " tubes=9999"
                                                  : takes_tube(line) ? " tubes=2"
                                                                     : "");
}

static void print_bash(const struct command *commands, size_t count)
{
    output_add_text("# Completion of elapse for bash, written by: elapse completion bash\n"
                    "_elapse()\n"
                    "{\n"
                    "    local word=${COMP_WORDS[COMP_CWORD]} options= words= tubes=0\n"
                    "    COMPREPLY=()\n"
                    "    if ((COMP_CWORD == 1)); then\n"
                    "        COMPREPLY=($(compgen -W '");
    for (size_t i = 0; i < count; i++)
        output_add_format("%s ", commands[i].name);
    output_add_text("completion help --help --version' -- \"$word\"))\n"
                    "        return\n"
                    "    fi\n"
                    "    case ${COMP_WORDS[1]} in\n");
    for_each(commands, count, print_bash_case);
    output_add_text("        completion) options='bash zsh fish' ;;\n"
                    "        help) options='");
    for (size_t i = 0; i < count; i++)
        output_add_format("%s%s", i > 0 ? " " : "", commands[i].name);
    output_add_text("' ;;\n"
                    "    esac\n"
                    "    case \"${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD - 1]}\" in\n");
    for_each(commands, count, print_bash_words);
    output_add_text("    esac\n"
                    "    if [[ -n $words ]]; then\n"
                    "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                    "    elif [[ $word == -* || ${COMP_WORDS[1]} == @(completion|help) ]]; then\n"
                    "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                    "    else\n"
                    "        local IFS=$'\\n'\n"
                    "        ((COMP_CWORD > tubes)) ||\n"
                    "            words=$(\"${COMP_WORDS[0]}\" " LIST_TUBES ")\n"
                    "        COMPREPLY=($(compgen -W \"$words\" -- \"$word\")\n"
                    "            $(compgen -f -- \"$word\"))\n"
                    "    fi\n"
                    "}\n"
                    "complete -o filenames -F _elapse elapse\n");
}

/* ---- zsh ---- */

static void print_zsh_case(const void *context, const struct command_line *line)
{
    const struct command *command = context;

    output_add_format("        %s)\n            _arguments", command->name);
    for (size_t i = 0; i < line->option_count; i++) {
        const struct command_option *option = &line->options[i];
        if (option->name == NULL)
            continue;
        output_add_format(" \\\n                '--%s%s[", option->name,
                          option->value != NULL && option->kind != OPTION_REST ? "=" : "");
        print_summary(option->help);
        output_add_text("]");
        if (option->kind == OPTION_REST)
            output_add_text(":*:::program:_normal");
        else if (option->words != NULL)
            output_add_format(":value:(%s)", option->words);
        else if (option->value != NULL)
            output_add_format(":%s:%s", "value", takes_file(option) ? "_files" : "");
        output_add_text("'");
    }
    output_add_text(" \\\n                '(-h --help)'{-h,--help}'[show the help]'"
                    " \\\n                '--version[show the version]'"
                    " \\\n                ");
    output_add_format("'*:%s\n            ;;\n",
                      takes_tube(line) ? "tube:_elapse_tubes'" : "file:_files'");
}

static void print_zsh(const struct command *commands, size_t count)
{
    output_add_text("#compdef elapse\n"
                    "# Completion of elapse for zsh, written by: elapse completion zsh\n"
                    "_elapse_tubes()\n"
                    "{\n"
                    "    local -a tubes\n"
                    "    tubes=(${(f)\"$(elapse " LIST_TUBES ")\"})\n"
                    "    compadd -a tubes\n"
                    "    _files\n"
                    "}\n"
                    "_elapse()\n"
                    "{\n"
                    "    local -a commands\n"
                    "    commands=(\n");
    for (size_t i = 0; i < count; i++) {
        output_add_format("        '%s:", commands[i].name);
        print_summary(commands[i].summary);
        output_add_text("'\n");
    }
    output_add_text("        'completion:write the completion for a shell'\n"
                    "        'help:show the help of a command'\n"
                    "    )\n"
                    "    if ((CURRENT == 2)); then\n"
                    "        _describe command commands\n"
                    "        return\n"
                    "    fi\n"
                    "    local command=${words[2]}\n"
                    "    shift words\n"
                    "    ((CURRENT--))\n"
                    "    case $command in\n");
    for_each(commands, count, print_zsh_case);
    output_add_text("        completion) _values shell bash zsh fish ;;\n"
                    "        help) _describe command commands ;;\n"
                    "    esac\n"
                    "}\n"
                    "_elapse \"$@\"\n");
}

/* ---- fish ---- */

static void print_fish_lines(const void *context, const struct command_line *line)
{
    const struct command *command = context;

    for (size_t i = 0; i < line->option_count; i++) {
        const struct command_option *option = &line->options[i];
        if (option->name == NULL)
            continue;
        output_add_format("complete -c elapse -n '__fish_seen_subcommand_from %s' -l %s%s",
                          command->name, option->name,
                          option->value == NULL ? ""
                          : takes_file(option)  ? " -r -F"
                                                : " -x");
        if (option->words != NULL)
            output_add_format(" -a '%s'", option->words);
        output_add_text(" -d '");
        print_summary(option->help);
        output_add_text("'\n");
    }
    if (takes_tube(line))
        output_add_format("complete -c elapse -n '__fish_seen_subcommand_from %s' -a "
                          "'(elapse " LIST_TUBES ")'\n",
                          command->name);
}

static void print_fish(const struct command *commands, size_t count)
{
    output_add_text("# Completion of elapse for fish, written by: elapse completion fish\n");
    for (size_t i = 0; i < count; i++) {
        output_add_format("complete -c elapse -n __fish_use_subcommand -f -a %s -d '",
                          commands[i].name);
        print_summary(commands[i].summary);
        output_add_text("'\n");
    }
    output_add_text("complete -c elapse -n __fish_use_subcommand -f -a completion -d "
                    "'write the completion for a shell'\n"
                    "complete -c elapse -n __fish_use_subcommand -f -a help -d "
                    "'show the help of a command'\n"
                    "complete -c elapse -n '__fish_seen_subcommand_from completion' -f -a "
                    "'bash zsh fish'\n"
                    "complete -c elapse -s h -l help -d 'show the help'\n"
                    "complete -c elapse -l version -d 'show the version'\n");
    for_each(commands, count, print_fish_lines);
}

enum exit_status completion_print(const char *shell, const struct command *commands, size_t count)
{
    static const struct {
        const char *shell;
        void (*print)(const struct command *commands, size_t count);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

    ELAPSE__ASSERT(count > 0);
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shell, shells[i].shell) == 0) {
            shells[i].print(commands, count);
            return output_finish();
        }
    }
    return usage_error("there is no completion for %s, only for bash, zsh and fish",
                       quote_string(shell).text);
}
