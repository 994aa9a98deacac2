/*
 * Reads a command line by getopt_long. The table of options is translated into a table of
 * getopt_long.
 */
#include "options.h"

#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <elapse/version.h>

#include "../../os/program.h"
#include "duration.h"
#include "output.h"
#include "text.h"

/* What getopt_long returns. For an option of the table: FOUND_OPTION + its place in the table. */
enum { FOUND_OPTION = 256, FOUND_VERSION = FOUND_OPTION + OPTIONS_MAX, FOUND_HELP = 'h' };

/* The longest file of options. */
enum { FILE_BYTES_MAX = 1 << 20 };

/* The text that options_label returns. It has room for a file, the number of a line and the name of
 * an option. */
static char label[512];

const char *options_label(void)
{
    ELAPSE__ASSERT(label[0] != '\0');
    return label;
}

static const struct command_option common_options[] = {
    {.name = "help", .letter = 'h', .help = "show this"},
    {.name = "version", .help = "show the version"},
};

enum { COMMON_COUNT = sizeof common_options / sizeof common_options[0] };

enum exit_status options_print_version(void)
{
    output_add_format("elapse %s\n", elapse_version());
    return output_finish();
}

/* ---- the help ---- */

enum { HELP_COLUMNS = 80, LEFT_BYTES = 40 };

/* The left column of an option: "  --tick DURATION". */
struct left_column {
    char text[LEFT_BYTES];
};

static struct left_column left_column(const struct command_option *option)
{
    struct left_column left;
    char letter[] = "-?, ";

    letter[1] = option->letter;
    letter[2] = option->name != NULL ? ',' : '\0';
    int length =
        snprintf(left.text, sizeof left.text, "  %s%s%s%s%s", option->letter != 0 ? letter : "",
                 option->name != NULL ? "--" : "", option->name != NULL ? option->name : "",
                 option->value != NULL ? " " : "", option->value != NULL ? option->value : "");
    ELAPSE__ASSERT(length > 0);
    ELAPSE__ASSERT((size_t)length < sizeof left.text);
    (void)length; /* used only by assertions */
    return left;
}

/* Prints the option. Its help begins at `column`, and is broken between words. */
static void print_option(const struct command_option *option, size_t column)
{
    struct left_column left = left_column(option);
    size_t position = strlen(left.text);
    const char *rest = option->help;

    output_add_text(left.text);
    while (*rest != '\0') {
        size_t word = strcspn(rest, " ");
        bool is_first = rest == option->help;
        if (!is_first && position + 1 + word > HELP_COLUMNS) {
            output_add_text("\n");
            position = 0;
        }
        size_t blanks = position < column ? column - position : 1;
        output_add_format("%*s%.*s", (int)blanks, "", (int)word, rest);
        position += blanks + word;
        rest += word + (rest[word] == ' ');
    }
    output_add_text("\n");
}

static enum exit_status print_help(const struct command_line *line)
{
    size_t widest = 0;

    for (size_t i = 0; i < line->option_count; i++) {
        size_t width = strlen(left_column(&line->options[i]).text);
        widest = width > widest ? width : widest;
    }
    output_add_text(line->help->usage);
    output_add_text("\n");
    output_add_text(line->help->purpose);
    output_add_text("\nOptions:\n");
    for (size_t i = 0; i < line->option_count; i++)
        print_option(&line->options[i], widest + 2);
    for (size_t i = 0; i < COMMON_COUNT; i++)
        print_option(&common_options[i], widest + 2);
    output_add_text("\n");
    output_add_text(line->help->example);
    return output_finish();
}

/* ---- values ---- */

static enum exit_status read_number(const struct command_option *option, const char *value)
{
    if (parse_number(value, option->least, option->most, option->number))
        return STATUS_OK;
    return usage_error("%s: %s is not a whole number from %" PRIu64 " to %" PRIu64, label,
                       quote_string(value).text, option->least, option->most);
}

static enum exit_status read_duration(const struct command_option *option, const char *value)
{
    uint64_t duration_ns;
    const char *fault = duration_parse(value, &duration_ns);

    ELAPSE__ASSERT(option->kind == OPTION_DURATION);
    if (fault != NULL)
        return usage_error("%s: %s: %s", label, quote_string(value).text, fault);
    if (duration_ns < option->least || duration_ns > option->most)
        return usage_error("%s: %s is not from %s to %s", label, quote_string(value).text,
                           duration_format(option->least).text, duration_format(option->most).text);
    *option->number = duration_ns;
    return STATUS_OK;
}

/* Reads a number of bytes: 1000, 64K, 16M, 2G. */
static bool parse_bytes(const char *text, uint64_t *bytes)
{
    static const char units[] = "KMG";
    size_t length = strlen(text);
    char digits[24];
    unsigned shift = 0;

    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, text, length + 1);
    const char *unit = strchr(units, digits[length - 1]);
    if (unit != NULL) {
        shift = 10 * (unsigned)(unit - units + 1);
        digits[length - 1] = '\0';
    }
    if (!parse_number(digits, 1, UINT64_MAX >> shift, bytes))
        return false;
    ELAPSE__ASSERT_THAT(*bytes, <=, UINT64_MAX >> shift);
    *bytes <<= shift;
    return true;
}

static enum exit_status read_bytes(const struct command_option *option, const char *value)
{
    if (parse_bytes(value, option->number) && *option->number <= option->most)
        return STATUS_OK;
    return usage_error("%s: %s is not a number of bytes from 1 to %" PRIu64 ", or with K, M or G",
                       label, quote_string(value).text, option->most);
}

static enum exit_status read_value(const struct command_option *option, const char *value)
{
    ELAPSE__ASSERT(label[0] != '\0');
    if (option->given != NULL)
        *option->given = true;
    switch (option->kind) {
    case OPTION_FLAG:
        *option->flag = true;
        return STATUS_OK;
    case OPTION_TEXT:
        *option->text = value;
        return STATUS_OK;
    case OPTION_NUMBER:
        return read_number(option, value);
    case OPTION_DURATION:
        return read_duration(option, value);
    case OPTION_BYTES:
        return read_bytes(option, value);
    case OPTION_FUNCTION:
        return option->read(option->context, value);
    case OPTION_REST:
        break;
    }
    ELAPSE__ASSERT(option->kind != OPTION_REST); /* it is not in the table of getopt */
    return STATUS_USAGE;
}

/* ---- the command line ---- */

/* The table in the form of getopt_long, and the letters of the options. */
struct getopt_table {
    struct option options[OPTIONS_MAX + COMMON_COUNT + 1];
    char letters[2 * OPTIONS_MAX + 2];
};

static void translate(const struct command_line *line, struct getopt_table *table)
{
    struct option *entry = table->options;
    char *letters = table->letters;

    ELAPSE__ASSERT(line->option_count <= OPTIONS_MAX);
    for (size_t i = 0; i < line->option_count; i++) {
        const struct command_option *option = &line->options[i];
        bool takes_value = option->kind != OPTION_FLAG;
        ELAPSE__ASSERT(takes_value == (option->value != NULL));
        if (option->kind == OPTION_REST)
            continue;
        if (option->name != NULL)
            *entry++ = (struct option){option->name, takes_value ? required_argument : no_argument,
                                       NULL, FOUND_OPTION + (int)i};
        if (option->letter != 0) {
            *letters++ = option->letter;
            if (takes_value)
                *letters++ = ':';
        }
    }
    *entry++ = (struct option){"help", no_argument, NULL, FOUND_HELP};
    *entry++ = (struct option){"version", no_argument, NULL, FOUND_VERSION};
    *entry = (struct option){NULL, 0, NULL, 0};
    *letters++ = FOUND_HELP;
    *letters = '\0';
}

/* Returns the option for the result of getopt_long, or NULL after an error. */
static const struct command_option *find_option(const struct command_line *line, int found)
{
    ELAPSE__ASSERT(found < FOUND_OPTION || (size_t)(found - FOUND_OPTION) < line->option_count);
    if (found >= FOUND_OPTION)
        return &line->options[found - FOUND_OPTION];
    for (size_t i = 0; i < line->option_count; i++) {
        if (found != '?' && line->options[i].letter == found)
            return &line->options[i];
    }
    return NULL;
}

/* Cuts off the option that takes the rest of the command line. Returns how many words are left. */
static int cut_rest(const struct command_line *line, int argc, char **argv)
{
    const struct command_option *rest = NULL;

    for (size_t i = 0; i < line->option_count; i++) {
        if (line->options[i].kind == OPTION_REST)
            rest = &line->options[i];
    }
    for (int i = 1; rest != NULL && i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strncmp(argv[i], "--", 2) == 0 && strcmp(argv[i] + 2, rest->name) == 0) {
            *rest->rest = argv + i + 1;
            argv[i] = NULL;
            return i;
        }
    }
    return argc;
}

static struct {
    void (*call)(const void *context, const struct command_line *line);
    const void *context;
} observer;

void options_observe(void (*call)(const void *context, const struct command_line *line),
                     const void *context)
{
    observer.call = call;
    observer.context = context;
}

/* Reads the value of an option of the command line. */
static enum exit_status read_seen(struct command_line *line, const struct command_option *option)
{
    ELAPSE__ASSERT_THAT((size_t)(option - line->options), <, line->option_count);
    line->seen[option - line->options] = true;
    if (option->name != NULL)
        (void)snprintf(label, sizeof label, "--%s", option->name);
    else
        (void)snprintf(label, sizeof label, "-%c", option->letter);
    return read_value(option, optarg);
}

bool options_read(struct command_line *line, int argc, char **argv, enum exit_status *status)
{
    struct getopt_table table;
    int found;

    if (observer.call != NULL) {
        observer.call(observer.context, line);
        *status = STATUS_OK;
        return false;
    }
    ELAPSE__ASSERT(argc >= 1);
    ELAPSE__ASSERT(strcmp(argv[0], message_command()) == 0);
    argc = cut_rest(line, argc, argv);
    translate(line, &table);
    *status = STATUS_OK;
    while ((found = getopt_long(argc, argv, table.letters, table.options, NULL)) != -1) {
        if (found == FOUND_HELP || found == FOUND_VERSION) {
            *status = found == FOUND_HELP ? print_help(line) : options_print_version();
            return false;
        }
        const struct command_option *option = find_option(line, found);
        *status = option != NULL ? read_seen(line, option) : usage_hint();
        if (*status != STATUS_OK)
            return false;
    }
    ELAPSE__ASSERT(optind <= argc);
    line->arguments = argv + optind;
    line->argument_count = argc - optind;
    return true;
}

enum exit_status options_check_count(const struct command_line *line, int most)
{
    ELAPSE__ASSERT(most >= 0 && line->argument_count >= 0);
    if (line->argument_count <= most)
        return STATUS_OK;
    return usage_error("unknown argument %s", quote_string(line->arguments[most]).text);
}

/* ---- a file of options ---- */

/* Cuts the blanks around a text. */
static char *trim(char *text)
{
    char *end = text + strlen(text);

    while (end > text && isspace((unsigned char)end[-1]))
        *--end = '\0';
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static enum exit_status read_flag_text(const struct command_option *option, const char *value)
{
    bool is_on = strcmp(value, "yes") == 0;

    ELAPSE__ASSERT(option->kind == OPTION_FLAG);
    if (!is_on && strcmp(value, "no") != 0)
        return usage_error("%s: %s is not yes or no", label, quote_string(value).text);
    if (option->given != NULL)
        *option->given = true;
    *option->flag = is_on;
    return STATUS_OK;
}

/* Reads one line, "NAME = VALUE". `place` is the file and the line. */
static enum exit_status read_file_line(struct command_line *line, char *text, const char *place)
{
    const struct command_option *option = NULL;
    char *equals = strchr(text, '=');

    if (equals == NULL)
        return usage_error("%s: a line is NAME = VALUE", place);
    *equals = '\0';
    const char *name = trim(text);
    const char *value = trim(equals + 1);
    for (size_t i = 0; i < line->option_count; i++) {
        if (line->options[i].name != NULL && strcmp(line->options[i].name, name) == 0)
            option = &line->options[i];
    }
    if (option == NULL || option->kind == OPTION_REST)
        return usage_error("%s: there is no option %s", place, quote_string(name).text);
    if (line->seen[option - line->options])
        return STATUS_OK;
    (void)snprintf(label, sizeof label, "%s: %s", place, name);
    return option->kind == OPTION_FLAG ? read_flag_text(option, value) : read_value(option, value);
}

/* Reads the lines of a text, which ends in a NUL and is changed. */
static enum exit_status read_lines(struct command_line *line, const char *path, char *text)
{
    enum exit_status status = STATUS_OK;
    unsigned number = 0;
    char place[400];

    while (text != NULL && status == STATUS_OK) {
        char *next = strchr(text, '\n');
        if (next != NULL)
            *next++ = '\0';
        char *words = trim(text);
        (void)snprintf(place, sizeof place, "%.380s:%u", path, ++number);
        if (*words != '\0' && *words != '#')
            status = read_file_line(line, words, place);
        text = next;
    }
    return status;
}

enum exit_status options_read_file(struct command_line *line, const char *path)
{
    size_t length;
    char *text = allocate(FILE_BYTES_MAX + 1);
    ELAPSE__ASSERT(line->file_text == NULL);
    line->file_text = text;
    int error = elapse__os_read_path(path, text, FILE_BYTES_MAX, &length);

    if (error != 0)
        return usage_error("the file of options %s: %s", path, elapse__os_error_text(error));
    text[length] = '\0';
    if (length == FILE_BYTES_MAX || strlen(text) != length)
        return usage_error("%s: this is no file of options", path);
    return read_lines(line, path, text);
}
