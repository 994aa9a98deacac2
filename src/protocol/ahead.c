#include "ahead.h"

#include <string.h>

enum {
    ARGUMENTS_MAX = 16, /* a command with more arguments is not looked at: it names many jobs */
    LINE_BYTES = 256,
    LONG_DIGITS = 17, /* every id and every size has fewer digits */
};

struct reader {
    const unsigned char *at, *end;
    bool failed;
};

/* Reads a number, up to a byte that is no digit. Fails if there is no digit, or if there are
 * LONG_DIGITS of them. */
static uint64_t read_digits(struct reader *reader)
{
    const unsigned char *begin = reader->at;
    uint64_t number = 0;

    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' &&
           reader->at - begin < LONG_DIGITS)
        number = number * 10 + (*reader->at++ - '0');
    reader->failed |= reader->at == begin || reader->at - begin == LONG_DIGITS;
    return number;
}

/* Reads a letter, a number and the end of a line. Returns the number, or 0 if one of the three is
 * missing. */
static uint64_t read_header(struct reader *reader, unsigned char letter)
{
    if (reader->at == reader->end || *reader->at != letter) {
        reader->failed = true;
        return 0;
    }
    reader->at++;
    uint64_t number = read_digits(reader);
    reader->failed |= reader->end - reader->at < 2 || *reader->at != '\r';
    if (reader->failed)
        return 0;
    reader->at += 2;
    return number;
}

static struct elapse__wire_resp_argument read_argument(struct reader *reader)
{
    uint64_t size = read_header(reader, '$');

    reader->failed |= (uint64_t)(reader->end - reader->at) < size + 2 || size > UINT32_MAX;
    if (reader->failed)
        return (struct elapse__wire_resp_argument){0};
    struct elapse__wire_resp_argument argument = {reader->at, (uint32_t)size};
    reader->at += size + 2;
    return argument;
}

static uint64_t id_in(struct elapse__wire_resp_argument argument)
{
    struct reader reader = {argument.bytes, argument.bytes + argument.size, false};
    uint64_t id = read_digits(&reader);
    return reader.failed || reader.at != reader.end ? 0 : id;
}

/* Returns whether the command has a tube and a key as its first arguments. CANCEL, LOOKUP, ARRIVE
 * and RESCHEDULE have. */
static bool takes_key(struct elapse__wire_resp_argument name)
{
    unsigned first = name.size == 6 ? name.bytes[0] & 0x5fU : 0;
    return name.size == 10 || first == 'C' || first == 'L' || first == 'A';
}

static struct elapse__wire_ahead look_at_resp(const unsigned char *bytes, size_t size)
{
    struct reader reader = {bytes, bytes + size, false};
    struct elapse__wire_resp_argument arguments[3] = {0};
    struct elapse__wire_ahead ahead = {0};
    uint64_t count = read_header(&reader, '*');

    if (count == 0 || count > ARGUMENTS_MAX)
        return ahead;
    for (uint64_t i = 0; i < count && !reader.failed; i++) {
        struct elapse__wire_resp_argument argument = read_argument(&reader);
        if (i < sizeof arguments / sizeof *arguments)
            arguments[i] = argument;
    }
    if (reader.failed)
        return ahead;
    ahead.size = (size_t)(reader.at - bytes);
    if (count > 2 && takes_key(arguments[0])) {
        ahead.tube = arguments[1];
        ahead.key = arguments[2];
    } else if (count > 1) {
        ahead.id = id_in(arguments[1]);
    }
    return ahead;
}

/* Looks at a line that begins with "put". Its last number is the size of the body. */
static struct elapse__wire_ahead look_at_put(const unsigned char *bytes, size_t size,
                                             const unsigned char *line_end)
{
    struct elapse__wire_ahead ahead = {0};
    const unsigned char *number = line_end;

    while (number > bytes && number[-1] != ' ')
        number--;
    struct reader reader = {number, line_end, false};
    uint64_t body = read_digits(&reader);
    size_t begin = (size_t)(line_end - bytes) + 2;
    if (!reader.failed && begin <= size && body + 2 <= size - begin)
        ahead.size = begin + (size_t)body + 2;
    return ahead;
}

static struct elapse__wire_ahead look_at_line(const unsigned char *bytes, size_t size)
{
    struct elapse__wire_ahead ahead = {0};
    const unsigned char *line_end = memchr(bytes, '\r', size < LINE_BYTES ? size : LINE_BYTES);

    if (line_end == NULL || (size_t)(line_end - bytes) + 2 > size)
        return ahead;
    if (line_end - bytes > 4 && memcmp(bytes, "put ", 4) == 0)
        return look_at_put(bytes, size, line_end);
    ahead.size = (size_t)(line_end - bytes) + 2;
    const unsigned char *space = memchr(bytes, ' ', (size_t)(line_end - bytes));
    if (space != NULL) {
        struct reader reader = {space + 1, line_end, false};
        uint64_t id = read_digits(&reader);
        ahead.id = reader.failed ? 0 : id;
    }
    return ahead;
}

struct elapse__wire_ahead elapse__wire_look_ahead(const unsigned char *bytes, size_t size)
{
    return size > 0 && bytes[0] == '*' ? look_at_resp(bytes, size) : look_at_line(bytes, size);
}
