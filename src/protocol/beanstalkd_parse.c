#include "beanstalkd.h"

#include <string.h>

#include "../base/assert.h"
#include "../base/decimal.h"

/* The shape of a command: the arguments that follow its verb. */
enum shape {
    SHAPE_NOTHING,
    SHAPE_ANYTHING, /* the rest of the line is ignored */
    SHAPE_PUT,
    SHAPE_ID,
    SHAPE_ID_PRIORITY,
    SHAPE_ID_PRIORITY_DELAY,
    SHAPE_TUBE,
    SHAPE_TUBE_DELAY,
    SHAPE_BOUND,
    SHAPE_TIMEOUT,
    SHAPE_FOR_EVER,
};

struct word {
    const char *text;
    uint8_t size;
    enum elapse__wire_beanstalkd_verb verb;
    enum shape shape;
};

#define WORD(text) text, sizeof(text) - 1

/* The words of the verbs. A line has the verb of the first word in this table with which the line
 * begins. If a word ends with a blank, the line must have the blank, too. */
static const struct word words[] = {
    {WORD("put "), ELAPSE__WIRE_BEANSTALKD_PUT, SHAPE_PUT},
    {WORD("reserve-with-timeout "), ELAPSE__WIRE_BEANSTALKD_RESERVE_WITH_TIMEOUT, SHAPE_TIMEOUT},
    {WORD("reserve-job "), ELAPSE__WIRE_BEANSTALKD_RESERVE_JOB, SHAPE_ID},
    {WORD("reserve"), ELAPSE__WIRE_BEANSTALKD_RESERVE, SHAPE_FOR_EVER},
    {WORD("delete "), ELAPSE__WIRE_BEANSTALKD_DELETE, SHAPE_ID},
    {WORD("release "), ELAPSE__WIRE_BEANSTALKD_RELEASE, SHAPE_ID_PRIORITY_DELAY},
    {WORD("bury "), ELAPSE__WIRE_BEANSTALKD_BURY, SHAPE_ID_PRIORITY},
    {WORD("touch "), ELAPSE__WIRE_BEANSTALKD_TOUCH, SHAPE_ID},
    {WORD("use "), ELAPSE__WIRE_BEANSTALKD_USE, SHAPE_TUBE},
    {WORD("watch "), ELAPSE__WIRE_BEANSTALKD_WATCH, SHAPE_TUBE},
    {WORD("ignore "), ELAPSE__WIRE_BEANSTALKD_IGNORE, SHAPE_TUBE},
    {WORD("kick "), ELAPSE__WIRE_BEANSTALKD_KICK, SHAPE_BOUND},
    {WORD("kick-job "), ELAPSE__WIRE_BEANSTALKD_KICK_JOB, SHAPE_ID},
    {WORD("peek "), ELAPSE__WIRE_BEANSTALKD_PEEK, SHAPE_ID},
    {WORD("peek-ready"), ELAPSE__WIRE_BEANSTALKD_PEEK_READY, SHAPE_NOTHING},
    {WORD("peek-delayed"), ELAPSE__WIRE_BEANSTALKD_PEEK_DELAYED, SHAPE_NOTHING},
    {WORD("peek-buried"), ELAPSE__WIRE_BEANSTALKD_PEEK_BURIED, SHAPE_NOTHING},
    {WORD("stats-job "), ELAPSE__WIRE_BEANSTALKD_STATS_JOB, SHAPE_ID},
    {WORD("stats-tube "), ELAPSE__WIRE_BEANSTALKD_STATS_TUBE, SHAPE_TUBE},
    {WORD("stats"), ELAPSE__WIRE_BEANSTALKD_STATS, SHAPE_NOTHING},
    {WORD("list-tubes-watched"), ELAPSE__WIRE_BEANSTALKD_LIST_TUBES_WATCHED, SHAPE_NOTHING},
    {WORD("list-tube-used"), ELAPSE__WIRE_BEANSTALKD_LIST_TUBE_USED, SHAPE_NOTHING},
    {WORD("list-tubes"), ELAPSE__WIRE_BEANSTALKD_LIST_TUBES, SHAPE_NOTHING},
    {WORD("pause-tube"), ELAPSE__WIRE_BEANSTALKD_PAUSE_TUBE, SHAPE_TUBE_DELAY},
    {WORD("quit"), ELAPSE__WIRE_BEANSTALKD_QUIT, SHAPE_ANYTHING},
};

/* The part of a line that has not been read yet. */
struct rest {
    const char *next;
    const char *end;
};

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

static bool next_is_digit(const struct rest *rest)
{
    return rest->next < rest->end && is_digit(*rest->next);
}

/* Reads digits. Returns false if there is no digit, or if the number is above `most`. */
static bool read_digits(struct rest *rest, uint64_t most, uint64_t *number)
{
    const char *at = rest->next;

    while (at < rest->end && is_digit(*at))
        at++;
    if (!elapse__decimal_read(rest->next, (size_t)(at - rest->next), most, number))
        return false;
    rest->next = at;
    return true;
}

static void skip_blanks(struct rest *rest)
{
    while (rest->next < rest->end && *rest->next == ' ')
        rest->next++;
}

static bool read_u64(struct rest *rest, uint64_t *number)
{
    skip_blanks(rest);
    return read_digits(rest, UINT64_MAX, number);
}

static bool read_u32(struct rest *rest, uint32_t *number)
{
    uint64_t wide = 0;
    skip_blanks(rest);
    bool good = read_digits(rest, UINT32_MAX, &wide);
    *number = (uint32_t)wide;
    return good;
}

/* Reads the number of kick or reserve-with-timeout: white space, a sign and digits, each of which
 * may be missing. Returns false if the number is above `most`, or below -`least`. */
static bool read_laxly(struct rest *rest, uint64_t most, uint64_t least, bool *found,
                       bool *negative, uint64_t *number)
{
    while (rest->next < rest->end &&
           (*rest->next == ' ' || (*rest->next >= '\t' && *rest->next <= '\r')))
        rest->next++;
    *negative = rest->next < rest->end && *rest->next == '-';
    if (*negative || (rest->next < rest->end && *rest->next == '+'))
        rest->next++;
    *found = next_is_digit(rest);
    *number = 0;
    return !*found || read_digits(rest, *negative ? least : most, number);
}

static bool read_bound(struct rest *rest, uint64_t *bound)
{
    bool found = false;
    bool negative = false;
    if (!read_laxly(rest, UINT64_MAX, UINT64_MAX, &found, &negative, bound) || !found)
        return false;
    if (negative)
        *bound = 0 - *bound;
    return true;
}

static bool read_timeout(struct rest *rest, struct elapse__wire_beanstalkd_command *command)
{
    bool found = false;
    bool negative = false;
    uint64_t least = (uint64_t)INT64_MAX + 1;
    if (!read_laxly(rest, INT64_MAX, least, &found, &negative, &command->timeout_s))
        return false;
    command->for_ever = negative && command->timeout_s > 0;
    if (command->for_ever)
        command->timeout_s = 0;
    return true;
}

static bool is_of_name(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           is_digit(letter) || (letter != '\0' && strchr("-+/;.$_()", letter) != NULL);
}

static bool read_tube(struct rest *rest, struct elapse__wire_beanstalkd_command *command)
{
    const char *begin = rest->next;
    while (rest->next < rest->end && is_of_name(*rest->next))
        rest->next++;
    size_t size = (size_t)(rest->next - begin);
    if (size < 1 || size > ELAPSE__WIRE_BEANSTALKD_TUBE_BYTES_MAX || *begin == '-')
        return false;
    command->tube = begin;
    command->tube_size = (uint32_t)size;
    return true;
}

/* Reads the arguments. Returns false if they are not well-formed. */
static bool read_arguments(struct rest *rest, enum shape shape,
                           struct elapse__wire_beanstalkd_command *command)
{
    switch (shape) {
    case SHAPE_ANYTHING:
        return true;
    case SHAPE_BOUND:
        return read_bound(rest, &command->bound);
    case SHAPE_TIMEOUT:
        return read_timeout(rest, command);
    case SHAPE_NOTHING:
        break;
    case SHAPE_FOR_EVER:
        command->for_ever = true;
        break;
    case SHAPE_PUT:
        if (!read_u32(rest, &command->priority) || !read_u32(rest, &command->delay_s) ||
            !read_u32(rest, &command->ttr_s) || !read_u32(rest, &command->body_size))
            return false;
        break;
    case SHAPE_ID:
        if (!read_u64(rest, &command->id))
            return false;
        break;
    case SHAPE_ID_PRIORITY:
        if (!read_u64(rest, &command->id) || !read_u32(rest, &command->priority))
            return false;
        break;
    case SHAPE_ID_PRIORITY_DELAY:
        if (!read_u64(rest, &command->id) || !read_u32(rest, &command->priority) ||
            !read_u32(rest, &command->delay_s))
            return false;
        break;
    case SHAPE_TUBE:
        if (!read_tube(rest, command))
            return false;
        break;
    case SHAPE_TUBE_DELAY:
        skip_blanks(rest);
        if (!read_tube(rest, command) || !read_u32(rest, &command->delay_s))
            return false;
        break;
    }
    return rest->next == rest->end;
}

/* Reads a line whose "\r\n" was left out. */
static void read_line(const char *line, size_t size,
                      struct elapse__wire_beanstalkd_command *command)
{
    const struct elapse__wire_beanstalkd_command bad = {.verb = ELAPSE__WIRE_BEANSTALKD_BAD_FORMAT};

    *command = bad;
    if (memchr(line, '\0', size) != NULL)
        return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const struct word *word = &words[i];
        if (size < word->size || *line != *word->text || memcmp(line, word->text, word->size) != 0)
            continue;
        struct rest rest = {line + word->size, line + size};
        if (read_arguments(&rest, word->shape, command))
            command->verb = word->verb;
        else
            *command = bad;
        return;
    }
    command->verb = ELAPSE__WIRE_BEANSTALKD_UNKNOWN;
}

/* Returns the size of the first line, with its \r\n, or 0 if the line does not end within `size`
 * bytes. The first `from` bytes were searched before. */
static size_t find_end(const unsigned char *bytes, size_t from, size_t size)
{
    /* The last byte that was searched before may be the \r. */
    for (size_t at = from > 0 ? from - 1 : 0; at + 1 < size; at++) {
        const unsigned char *found = memchr(bytes + at, '\r', size - 1 - at);
        if (found == NULL)
            return 0;
        at = (size_t)(found - bytes);
        if (bytes[at + 1] == '\n')
            return at + 2;
    }
    return 0;
}

static struct elapse__wire_beanstalkd_parsed not_whole(size_t consumed, size_t wanted)
{
    return (struct elapse__wire_beanstalkd_parsed){.consumed = consumed, .wanted = wanted};
}

static struct elapse__wire_beanstalkd_parsed whole(struct elapse__wire_beanstalkd_parser *parser,
                                                   size_t consumed)
{
    ELAPSE__ASSERT_THAT(consumed, >, 0U);
    parser->searched = 0;
    parser->skips_line = false;
    parser->skips_body = false;
    return (struct elapse__wire_beanstalkd_parsed){.whole = true, .consumed = consumed};
}

static struct elapse__wire_beanstalkd_parsed
skip_line(struct elapse__wire_beanstalkd_parser *parser, const unsigned char *bytes, size_t size,
          struct elapse__wire_beanstalkd_command *command)
{
    size_t end = find_end(bytes, 0, size);
    parser->skips_line = true;
    if (end > 0) {
        *command =
            (struct elapse__wire_beanstalkd_command){.verb = ELAPSE__WIRE_BEANSTALKD_BAD_FORMAT};
        return whole(parser, end);
    }
    /* If the last byte is \r, its \n may still come. */
    bool keep = size > 0 && bytes[size - 1] == '\r';
    return not_whole(keep ? size - 1 : size, keep ? 2 : 1);
}

static struct elapse__wire_beanstalkd_parsed
skip_body(struct elapse__wire_beanstalkd_parser *parser, size_t size, size_t before,
          struct elapse__wire_beanstalkd_command *command)
{
    uint64_t here = size - before;

    ELAPSE__ASSERT_THAT(before, <=, size);
    ELAPSE__ASSERT_THAT(parser->skip, >, 0U);
    if (here < parser->skip) {
        parser->skips_body = true;
        parser->skip -= here;
        return not_whole(size, 1);
    }
    *command = (struct elapse__wire_beanstalkd_command){.verb = ELAPSE__WIRE_BEANSTALKD_TOO_BIG};
    return whole(parser, before + (size_t)parser->skip);
}

size_t elapse__wire_beanstalkd_bytes_max(const struct elapse__wire_beanstalkd_parser *parser)
{
    return (size_t)ELAPSE__WIRE_BEANSTALKD_LINE_BYTES_MAX + parser->body_bytes_max + 2;
}

struct elapse__wire_beanstalkd_parsed
elapse__beanstalkd_parse(struct elapse__wire_beanstalkd_parser *parser, const unsigned char *bytes,
                         size_t size, struct elapse__wire_beanstalkd_command *command)
{
    ELAPSE__ASSERT(!parser->skips_line || !parser->skips_body);
    if (parser->skips_line)
        return skip_line(parser, bytes, size, command);
    if (parser->skips_body)
        return skip_body(parser, size, 0, command);
    ELAPSE__ASSERT_THAT(parser->searched, <=, size);
    size_t most = size < ELAPSE__WIRE_BEANSTALKD_LINE_BYTES_MAX
                      ? size
                      : ELAPSE__WIRE_BEANSTALKD_LINE_BYTES_MAX;
    size_t line = find_end(bytes, parser->searched, most);
    if (line == 0 && most == ELAPSE__WIRE_BEANSTALKD_LINE_BYTES_MAX)
        return skip_line(parser, bytes, size, command);
    if (line == 0) {
        parser->searched = most;
        return not_whole(0, size + 1);
    }
    read_line((const char *)bytes, line - 2, command);
    if (command->verb != ELAPSE__WIRE_BEANSTALKD_PUT)
        return whole(parser, line);
    if (command->body_size > parser->body_bytes_max) {
        parser->skip = (uint64_t)command->body_size + 2;
        return skip_body(parser, size, line, command);
    }
    /* The line is read once more when the body has come. Then its end is found at once. */
    size_t end = line + command->body_size + 2;
    ELAPSE__ASSERT_THAT(end, <=, elapse__wire_beanstalkd_bytes_max(parser));
    parser->searched = line - 2;
    if (size < end)
        return not_whole(0, end);
    if (bytes[end - 2] != '\r' || bytes[end - 1] != '\n')
        *command =
            (struct elapse__wire_beanstalkd_command){.verb = ELAPSE__WIRE_BEANSTALKD_EXPECTED_CRLF};
    else
        command->body = bytes + line;
    return whole(parser, end);
}
