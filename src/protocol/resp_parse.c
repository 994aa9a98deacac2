/*
 * A command that is whole and within the limits, as nearly all are, is read at once, without a
 * state. The parser reads all other commands, and knows what is wrong with them.
 *
 * The parser looks for the end of the command, header by header, and stores the arguments that it
 * passes. If the command came in pieces, its bytes may have moved since the first arguments were
 * stored. So when the command is whole, the same loop stores all arguments again.
 */
#include "resp_parse.h"

#include <string.h>

#include "../base/assert.h"

enum {
    /* The longest numbers are those of "*1048576\r\n" and "$536870912\r\n". */
    DIGITS_MAX = 9,
};

enum header {
    HEADER_WHOLE,
    HEADER_PART,
    HEADER_WRONG,
};

size_t elapse__wire_resp_bytes_max(const struct elapse__wire_resp_parser *parser)
{
    return (size_t)parser->argument_bytes_max + ELAPSE__WIRE_RESP_OTHER_BYTES_MAX;
}

/* Reads the number and the end of a header from `*at` on, which is the place after the header's
 * mark. Moves `*at` only if the header is whole. A number that begins with 0 must have no other
 * digit. */
static enum header read_number(const unsigned char *bytes, size_t size, size_t *at, uint32_t *value)
{
    size_t place = *at;
    uint32_t number = 0;

    while (place < size && bytes[place] >= '0' && bytes[place] <= '9') {
        if (place - *at == DIGITS_MAX || (place > *at && number == 0))
            return HEADER_WRONG;
        number = number * 10 + (uint32_t)(bytes[place++] - '0');
    }
    if (place == size)
        return HEADER_PART;
    if (place == *at || bytes[place] != '\r')
        return HEADER_WRONG;
    if (place + 1 == size)
        return HEADER_PART;
    if (bytes[place + 1] != '\n')
        return HEADER_WRONG;
    *value = number;
    *at = place + 2;
    return HEADER_WHOLE;
}

/* Reads the header of the command, which has the number of arguments. */
static enum header read_count(struct elapse__wire_resp_parser *parser, const unsigned char *bytes,
                              size_t size)
{
    size_t at = 1;
    uint32_t count = 0;

    ELAPSE__ASSERT(parser->at == 0);
    if (size == 0)
        return HEADER_PART;
    if (bytes[0] != '*')
        return HEADER_WRONG;
    enum header header = read_number(bytes, size, &at, &count);
    if (header != HEADER_WHOLE)
        return header;
    if (count == 0 || count > ELAPSE__WIRE_RESP_REFUSED_ARGUMENTS_MAX)
        return HEADER_WRONG;
    if (count > ELAPSE__WIRE_RESP_ARGUMENTS_MAX)
        parser->refused = ELAPSE__WIRE_RESP_TOO_MANY;
    parser->count = count;
    parser->at = at;
    return HEADER_WHOLE;
}

/* Reads the header of the next argument, which has the size of the argument. */
static enum header read_size(struct elapse__wire_resp_parser *parser, const unsigned char *bytes,
                             size_t size)
{
    size_t at = parser->at;
    uint32_t bulk = 0;

    ELAPSE__ASSERT(!parser->in_bulk);
    ELAPSE__ASSERT_THAT(at, <=, size);

    if (at == size)
        return HEADER_PART;
    if (bytes[at++] != '$')
        return HEADER_WRONG;
    enum header header = read_number(bytes, size, &at, &bulk);
    if (header != HEADER_WHOLE)
        return header;
    if (bulk > ELAPSE__WIRE_RESP_REFUSED_BYTES_MAX)
        return HEADER_WRONG;
    if (parser->refused == ELAPSE__WIRE_RESP_MORE &&
        (bulk > parser->argument_bytes_max || at + bulk + 2 > elapse__wire_resp_bytes_max(parser)))
        parser->refused = ELAPSE__WIRE_RESP_TOO_LONG;
    parser->bulk = bulk;
    parser->in_bulk = true;
    parser->at = at;
    return HEADER_WHOLE;
}

/* Steps over the bytes of an argument that have come, because the command is refused. Does not step
 * over the two bytes after the argument, which have to be the end of a line. */
static void skip(struct elapse__wire_resp_parser *parser, size_t size)
{
    size_t there = size - parser->at;
    uint32_t some = there < parser->bulk ? (uint32_t)there : parser->bulk;

    parser->at += some;
    parser->bulk -= some;
}

/* Stores the argument if all of it has come. Returns whether all of it has come. Sets `*wrong` if
 * the argument does not end with \r\n. */
static bool read_bulk(struct elapse__wire_resp_parser *parser, const unsigned char *bytes,
                      size_t size, struct elapse__wire_resp_argument *arguments, bool *wrong)
{
    ELAPSE__ASSERT(parser->in_bulk);
    ELAPSE__ASSERT_THAT(parser->at, <=, size);
    if (parser->refused != ELAPSE__WIRE_RESP_MORE)
        skip(parser, size);
    else
        ELAPSE__ASSERT_THAT(parser->whole, <, (uint32_t)ELAPSE__WIRE_RESP_ARGUMENTS_MAX);
    if (size - parser->at < (size_t)parser->bulk + 2)
        return false;
    const unsigned char *end = bytes + parser->at + parser->bulk;
    if (end[0] != '\r' || end[1] != '\n') {
        *wrong = true;
        return false;
    }
    if (parser->refused == ELAPSE__WIRE_RESP_MORE)
        arguments[parser->whole] =
            (struct elapse__wire_resp_argument){.bytes = bytes + parser->at, .size = parser->bulk};
    parser->at += (size_t)parser->bulk + 2;
    parser->whole++;
    parser->in_bulk = false;
    return true;
}

/* Returns whether a line ends here. Compares both bytes at once. */
static bool is_line_end(const unsigned char *at)
{
    return memcmp(at, "\r\n", 2) == 0;
}

/* Reads a number of any length, and the end of its line, as read_line does. */
static const unsigned char *read_long_line(const unsigned char *at, const unsigned char *end,
                                           uint32_t *value)
{
    const unsigned char *first = at;
    uint32_t number = 0, digit;

    while (at < end && (digit = (uint32_t)*at - '0') <= 9) {
        number = number * 10 + digit;
        at++;
    }
    *value = number;
    if (at == first || at - first > DIGITS_MAX || (*first == '0' && at - first > 1) ||
        end - at < 2 || !is_line_end(at))
        return NULL;
    return at + 2;
}

/* Reads a number and the end of its line. Returns the place after the line. Returns NULL if the
 * line is not whole, or is wrong. Most numbers have one digit: without a loop they take 10
 * instructions, with it 45. */
static inline const unsigned char *read_line(const unsigned char *at, const unsigned char *end,
                                             uint32_t *value)
{
    if (end - at < 3 || !is_line_end(at + 1) || (uint32_t)*at - '0' > 9)
        return read_long_line(at, end, value);
    *value = (uint32_t)*at - '0';
    return at + 3;
}

/* Reads a whole command within the limits. If there is no such command, returns false, and changes
 * nothing but `arguments`. */
static bool read_at_once(const struct elapse__wire_resp_parser *parser, const unsigned char *bytes,
                         size_t size, struct elapse__wire_resp_argument *arguments,
                         struct elapse__wire_resp_parsed *parsed)
{
    const unsigned char *end = bytes + size, *at;
    uint32_t count, bulk;

    if (size == 0 || bytes[0] != '*' || (at = read_line(bytes + 1, end, &count)) == NULL ||
        count == 0 || count > ELAPSE__WIRE_RESP_ARGUMENTS_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (at == end || *at != '$' || (at = read_line(at + 1, end, &bulk)) == NULL ||
            bulk > parser->argument_bytes_max || (size_t)(end - at) < (size_t)bulk + 2 ||
            !is_line_end(at + bulk))
            return false;
        arguments[i] = (struct elapse__wire_resp_argument){.bytes = at, .size = bulk};
        at += bulk + 2;
    }
    *parsed = (struct elapse__wire_resp_parsed){
        .outcome = ELAPSE__WIRE_RESP_COMMAND, .count = count, .consumed = (size_t)(at - bytes)};
    return parsed->consumed <= elapse__wire_resp_bytes_max(parser);
}

static void begin_anew(struct elapse__wire_resp_parser *parser)
{
    *parser = (struct elapse__wire_resp_parser){.argument_bytes_max = parser->argument_bytes_max};
}

static struct elapse__wire_resp_parsed broken(const char *error)
{
    return (struct elapse__wire_resp_parsed){.outcome = ELAPSE__WIRE_RESP_BROKEN, .error = error};
}

/* Returns the outcome MORE, which says that the bytes end before the end of the command. */
static struct elapse__wire_resp_parsed more(struct elapse__wire_resp_parser *parser, size_t size)
{
    struct elapse__wire_resp_parsed parsed = {.outcome = ELAPSE__WIRE_RESP_MORE};

    parsed.wanted = parser->in_bulk ? parser->at + parser->bulk + 2 : size + 1;
    if (parser->refused != ELAPSE__WIRE_RESP_MORE) {
        parsed.consumed = parser->at;
        if (!parser->in_bulk)
            parsed.wanted -= parser->at;
        else
            parsed.wanted = parser->bulk > 0 ? 1 : 2;
        parser->at = 0;
    }
    ELAPSE__ASSERT_THAT(parsed.wanted, >, size - parsed.consumed);
    ELAPSE__ASSERT_THAT(parsed.wanted, <=, elapse__wire_resp_bytes_max(parser));
    return parsed;
}

/* Reads a line that begins as an empty line does, and stands in the place of a command. */
static struct elapse__wire_resp_parsed read_empty_line(struct elapse__wire_resp_parser *parser,
                                                       const unsigned char *bytes, size_t size)
{
    ELAPSE__ASSERT(bytes[0] == '\r');
    if (size == 1)
        return more(parser, size);
    if (bytes[1] != '\n')
        return broken("expected '*'");
    return (struct elapse__wire_resp_parsed){.outcome = ELAPSE__WIRE_RESP_EMPTY, .consumed = 2};
}

struct elapse__wire_resp_parsed
elapse__wire_resp_parse(struct elapse__wire_resp_parser *parser, const unsigned char *bytes,
                        size_t size, struct elapse__wire_resp_argument *arguments)
{
    bool in_pieces = parser->count != 0;
    bool wrong = false;
    struct elapse__wire_resp_parsed parsed;

    ELAPSE__ASSERT_THAT(parser->argument_bytes_max, <=, ELAPSE__WIRE_RESP_REFUSED_BYTES_MAX);
    ELAPSE__ASSERT_THAT(parser->at, <=, size);
    if (!in_pieces && read_at_once(parser, bytes, size, arguments, &parsed))
        return parsed;
    if (parser->count == 0 && size > 0 && bytes[0] == '\r')
        return read_empty_line(parser, bytes, size);
    if (parser->count == 0) {
        enum header header = read_count(parser, bytes, size);
        if (header == HEADER_WRONG)
            return broken(bytes[0] == '*' ? "invalid multibulk length" : "expected '*'");
        if (header == HEADER_PART)
            return more(parser, size);
    }
    while (parser->whole < parser->count) {
        if (!parser->in_bulk) {
            enum header header = read_size(parser, bytes, size);
            if (header == HEADER_WRONG)
                return broken(bytes[parser->at] == '$' ? "invalid bulk length" : "expected '$'");
            if (header == HEADER_PART)
                return more(parser, size);
        }
        if (!read_bulk(parser, bytes, size, arguments, &wrong))
            return wrong ? broken("an argument does not end where its length says")
                         : more(parser, size);
    }

    parsed = (struct elapse__wire_resp_parsed){
        .outcome =
            parser->refused == ELAPSE__WIRE_RESP_MORE ? ELAPSE__WIRE_RESP_COMMAND : parser->refused,
        .count = parser->count,
        .consumed = parser->at,
    };
    begin_anew(parser);
    if (in_pieces && parsed.outcome == ELAPSE__WIRE_RESP_COMMAND)
        parsed = elapse__wire_resp_parse(parser, bytes, parsed.consumed, arguments);
    ELAPSE__ASSERT_THAT(parsed.consumed, <=, size);
    ELAPSE__ASSERT(parsed.outcome != ELAPSE__WIRE_RESP_MORE);
    return parsed;
}
