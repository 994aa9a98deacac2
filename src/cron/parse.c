/*
 * Reading a cron expression, from left to right and each character once; the first that
 * is wrong ends it. The grammar, with no blank inside a field:
 *
 *     expression  = [second] minute hour day month weekday | "@" name
 *     field       = item {"," item}
 *     item        = ("*" | "?" | value ["-" value]) ["/" step]
 *                 | "L" ["-" number | "W"] | number "W"           in days of the month
 *                 | value "L" | value "#" number                  in days of the week
 *
 * Letters and digits are those of ASCII whatever the locale.
 */
#include <elapse/cron.h>

#include <string.h>

#include "../base/assert.h"
#include "days.h"

enum field_name { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field {
    unsigned low;
    unsigned high;     /* the greatest value that can be written */
    unsigned end;      /* as far as * and value/step go: a week ends with Saturday */
    const char *names; /* three letters for each value from the lowest; or NULL */
    const char *values;
} fields[FIELDS] = {
    [SECOND] = {0, 59, 59, NULL, "a second is a number from 0 to 59"},
    [MINUTE] = {0, 59, 59, NULL, "a minute is a number from 0 to 59"},
    [HOUR] = {0, 23, 23, NULL, "an hour is a number from 0 to 23"},
    [DAY] = {1, 31, 31, NULL, "a day of the month is a number from 1 to 31"},
    [MONTH] = {1, 12, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC",
               "a month is a number from 1 to 12 or a name from JAN to DEC"},
    [WEEKDAY] = {0, 7, 6, "SUNMONTUEWEDTHUFRISAT",
                 "a day of the week is a number from 0 to 7 or a name from SUN to SAT"},
};

static const struct {
    const char *name;
    const char *expression;
} shorthands[] = {
    {"YEARLY", "0 0 1 1 *"}, {"ANNUALLY", "0 0 1 1 *"}, {"MONTHLY", "0 0 1 * *"},
    {"WEEKLY", "0 0 * * 0"}, {"DAILY", "0 0 * * *"},    {"MIDNIGHT", "0 0 * * *"},
    {"HOURLY", "0 * * * *"},
};

/* Every number that may be written is below this. */
enum { TOO_GREAT = 1000 };

struct reader {
    const char *text;
    size_t at;
    struct elapse_cron_fault fault;
};

/* Always false. */
static bool fail_at(struct reader *reader, size_t position, const char *text)
{
    reader->fault.position = position;
    reader->fault.text = text;
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A small letter as a capital, anything else as it is. */
static char capital(char c)
{
    static const char capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (c < 'a' || c > 'z')
        return c;
    return capitals[c - 'a'];
}

static bool is_letter(char c)
{
    return capital(c) >= 'A' && capital(c) <= 'Z';
}

static char peek(const struct reader *reader)
{
    return capital(reader->text[reader->at]);
}

/* Steps over this character, which may be any but the terminator, if it comes next. */
static bool take(struct reader *reader, char c)
{
    if (peek(reader) != c)
        return false;
    reader->at++;
    return true;
}

static void skip_blanks(struct reader *reader)
{
    while (is_blank(peek(reader)))
        reader->at++;
}

/* Whether the capitals of `word` come next; the terminator is none. */
static bool follows(const struct reader *reader, const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (capital(reader->text[reader->at + i]) != word[i])
            return false;
    }
    return true;
}

/* What is wrong about a character where neither it nor a value can stand. */
static const char *misplaced(enum field_name name, char c)
{
    switch (c) {
    case '\0':
    case ' ':
    case '\t':
    case ',':
        return "something is missing here";
    case '?':
        if (name != DAY && name != WEEKDAY)
            return "? stands for days only";
        break;
    case 'L':
        if (name == DAY)
            return "L stands alone here: L, L-3 or LW";
        if (name == WEEKDAY)
            return "L goes with one day of the week, as in 5L";
        return "L goes with days only";
    case 'W':
        if (name == DAY)
            return "W goes with one day of the month, as in 15W or LW";
        return "W goes with days of the month only";
    case '#':
        if (name == WEEKDAY)
            return "# goes with one day of the week, as in 5#2";
        return "# goes with days of the week only";
    default:
        break;
    }
    return NULL;
}

/* Reads digits: a number up to TOO_GREAT, which stands for all from there on. */
static unsigned read_digits(struct reader *reader)
{
    unsigned number = 0;
    for (; is_digit(peek(reader)); reader->at++) {
        number = 10 * number + (unsigned)(peek(reader) - '0');
        if (number > TOO_GREAT)
            number = TOO_GREAT;
    }
    return number;
}

/* Reads a number from `low` to `high`; `fault` says what it should be. */
static bool read_number(struct reader *reader, unsigned low, unsigned high, const char *fault,
                        unsigned *number)
{
    size_t start = reader->at;
    if (!is_digit(peek(reader)))
        return fail_at(reader, start, fault);
    *number = read_digits(reader);
    if (*number < low || *number > high)
        return fail_at(reader, start, fault);
    return true;
}

/* Reads one of the field's names, which L may follow: FRIL is the last Friday. */
static bool read_name(struct reader *reader, enum field_name name, unsigned *value)
{
    const char *names = fields[name].names;
    for (unsigned i = 0; names != NULL && names[3 * (size_t)i] != '\0'; i++) {
        if (!follows(reader, names + 3 * (size_t)i, 3))
            continue;
        const char *behind = reader->text + reader->at + 3;
        if (is_letter(*behind) && (capital(*behind) != 'L' || is_letter(behind[1])))
            break;
        reader->at += 3;
        *value = fields[name].low + i;
        return true;
    }
    const char *fault =
        is_letter(reader->text[reader->at + 1]) ? NULL : misplaced(name, peek(reader));
    if (fault == NULL)
        fault = names != NULL ? "there is no such name" : fields[name].values;
    return fail_at(reader, reader->at, fault);
}

static bool read_value(struct reader *reader, enum field_name name, unsigned *value)
{
    const struct field *field = &fields[name];
    char c = peek(reader);
    if (is_digit(c))
        return read_number(reader, field->low, field->high, field->values, value);
    if (is_letter(c))
        return read_name(reader, name, value);
    const char *fault = misplaced(name, c);
    return fail_at(reader, reader->at, fault != NULL ? fault : field->values);
}

/* Reads the rest of L in a day of the month: the last, L-3, LW. */
static bool read_last_day(struct reader *reader, struct elapse_cron *cron)
{
    if (take(reader, 'W')) {
        cron->last_working_day = true;
        return true;
    }
    unsigned before = 0;
    if (take(reader, '-') &&
        !read_number(reader, 1, 30, "before the last day there are 1 to 30", &before))
        return false;
    cron->days_before_last |= UINT32_C(1) << before;
    return true;
}

/* Reads the rest of a value whose meaning depends on the month: 15W, 5L, 5#2. `*special`
 * is whether it is one. */
static bool read_special(struct reader *reader, enum field_name name, unsigned value,
                         struct elapse_cron *cron, bool *special)
{
    unsigned n;
    uint8_t weekday = (uint8_t)(1U << value % 7);

    *special = true;
    if (name == DAY && take(reader, 'W')) {
        cron->nearest_weekdays |= UINT32_C(1) << value;
        return true;
    }
    if (name == WEEKDAY && take(reader, 'L')) {
        cron->last_weekdays |= weekday;
        return true;
    }
    if (name == WEEKDAY && take(reader, '#')) {
        if (!read_number(reader, 1, 5, "a day of the week comes in a month as #1 to #5", &n))
            return false;
        cron->numbered_weekdays[n - 1] |= weekday;
        return true;
    }
    *special = false;
    return true;
}

/* Reads the end of a range that begins with `first`. */
static bool read_range_end(struct reader *reader, enum field_name name, unsigned first,
                           unsigned *last)
{
    size_t start = reader->at;
    bool is_name = is_letter(peek(reader));
    if (!read_value(reader, name, last))
        return false;
    /* SUN is the first day of the week and, as 7 is, the one after the last. */
    if (name == WEEKDAY && is_name && *last == 0 && first > 0)
        *last = 7;
    if (*last < first)
        return fail_at(reader, start, "the range runs backwards");
    return true;
}

static bool read_item(struct reader *reader, enum field_name name, struct elapse_cron *cron,
                      uint64_t *values)
{
    const struct field *field = &fields[name];
    bool is_day = name == DAY || name == WEEKDAY;
    unsigned first = field->low;
    unsigned last = field->end;
    unsigned step = 1;
    bool is_range = true;

    if (name == DAY && take(reader, 'L'))
        return read_last_day(reader, cron);
    if (!take(reader, '*') && !(is_day && take(reader, '?'))) {
        bool special;
        if (!read_value(reader, name, &first) || !read_special(reader, name, first, cron, &special))
            return false;
        if (special)
            return true;
        is_range = take(reader, '-');
        if (is_range && !read_range_end(reader, name, first, &last))
            return false;
    }
    if (take(reader, '/')) {
        /* A greater step is one of another unit: every 90 minutes are no matter for the
         * field of minutes. */
        size_t start = reader->at;
        if (!read_number(reader, 0, field->end - field->low + 1,
                         "a step is a number no greater than the field has values", &step))
            return false;
        if (step == 0)
            return fail_at(reader, start, "a step is at least 1");
    } else if (!is_range) {
        last = first;
    }
    ELAPSE__ASSERT(first < 64 && last < 64 && step > 0);
    /* 7/2 begins after the end; it is 7. */
    *values |= UINT64_C(1) << first;
    for (unsigned value = first; value <= last; value += step)
        *values |= UINT64_C(1) << value;
    return true;
}

/* Reads a field and the blanks behind it. */
static bool read_field(struct reader *reader, enum field_name name, struct elapse_cron *cron,
                       uint64_t *values)
{
    *values = 0;
    do {
        if (!read_item(reader, name, cron, values))
            return false;
    } while (take(reader, ','));

    char c = peek(reader);
    if (c != '\0' && !is_blank(c)) {
        const char *fault = misplaced(name, c);
        if (fault == NULL)
            fault = "this should be a comma or the end of the field";
        return fail_at(reader, reader->at, fault);
    }
    skip_blanks(reader);
    return true;
}

/* How many fields there are. One too many, or the end where there are too few, is a
 * fault. */
static bool count_fields(struct reader *reader, unsigned *count)
{
    const char *text = reader->text;
    size_t end = reader->at;

    *count = 0;
    for (size_t at = reader->at; text[at] != '\0';) {
        if (*count == FIELDS)
            return fail_at(reader, at, "there are more than six fields");
        ++*count;
        while (text[at] != '\0' && !is_blank(text[at]))
            at++;
        end = at;
        while (is_blank(text[at]))
            at++;
    }
    if (*count == 0)
        return fail_at(reader, end, "the expression is empty");
    if (*count < FIELDS - 1)
        return fail_at(reader, end, "there are fewer than five fields");
    return true;
}

static bool read_fields(struct reader *reader, struct elapse_cron *cron)
{
    uint64_t values[FIELDS] = {[SECOND] = 1};
    size_t starts[FIELDS] = {0};
    unsigned count;

    if (!count_fields(reader, &count))
        return false;
    for (unsigned name = FIELDS - count; name < FIELDS; name++) {
        starts[name] = reader->at;
        if (!read_field(reader, (enum field_name)name, cron, &values[name]))
            return false;
    }
    ELAPSE__ASSERT(reader->text[reader->at] == '\0');
    cron->seconds = values[SECOND];
    cron->minutes = values[MINUTE];
    cron->hours = (uint32_t)values[HOUR];
    cron->days = (uint32_t)values[DAY];
    cron->months = (uint16_t)values[MONTH];
    cron->weekdays = (uint8_t)((values[WEEKDAY] | values[WEEKDAY] >> 7) & 0x7f);
    cron->days_restricted = strchr("*?", reader->text[starts[DAY]]) == NULL;
    cron->weekdays_restricted = strchr("*?", reader->text[starts[WEEKDAY]]) == NULL;
    if (!elapse__cron_names_a_day(cron))
        return fail_at(reader, starts[DAY], "this day never comes");
    return true;
}

/* Reads the rest after @. */
static bool read_shorthand(struct reader *reader, struct elapse_cron *cron)
{
    size_t start = reader->at - 1;
    for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++) {
        size_t length = strlen(shorthands[i].name);
        if (!follows(reader, shorthands[i].name, length))
            continue;
        char behind = reader->text[reader->at + length];
        if (behind != '\0' && !is_blank(behind))
            break;
        reader->at += length;
        skip_blanks(reader);
        if (peek(reader) != '\0')
            return fail_at(reader, reader->at, "nothing may follow here");
        struct reader known = {.text = shorthands[i].expression};
        return read_fields(&known, cron);
    }
    return fail_at(reader, start, "there is no such name");
}

static bool read_expression(struct reader *reader, struct elapse_cron *cron)
{
    if (reader->text == NULL)
        return fail_at(reader, 0, "there is no expression");
    if (memchr(reader->text, '\0', ELAPSE_CRON_LENGTH_MAX + 1) == NULL)
        return fail_at(reader, ELAPSE_CRON_LENGTH_MAX, "the expression is too long");
    skip_blanks(reader);
    if (take(reader, '@'))
        return read_shorthand(reader, cron);
    return read_fields(reader, cron);
}

enum elapse_error elapse_cron_parse(struct elapse_cron *cron, const char *expression,
                                    struct elapse_cron_fault *fault)
{
    struct reader reader = {.text = expression};
    struct elapse_cron parsed = {0};

    if (read_expression(&reader, &parsed)) {
        *cron = parsed;
        return ELAPSE_OK;
    }
    ELAPSE__ASSERT(reader.fault.text != NULL);
    if (fault != NULL)
        *fault = reader.fault;
    return ELAPSE_ERROR_ARGUMENT;
}
