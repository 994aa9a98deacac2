/*
 * Reads a cron expression from left to right, each character once. Stops at the first character
 * that is wrong. This is the grammar; there are no blanks inside a field:
 *
 *     expression  = [second] minute hour day month weekday | "@" name
 *                 | "@every" blank number unit {number unit}
 *     field       = item {"," item}
 *     item        = ("*" | "?" | value ["-" value]) ["/" step]
 *                 | "L" ["-" number | "W"] | number "W"           in days of the month
 *                 | value "L" | value "#" number                  in days of the week
 *
 * Each function that reads records a fault in the reader, and then returns false. The expression is
 * copied to the caller only if all of it is right.
 */
#include <elapse/cron.h>

#include <string.h>

#include "../base/assert.h"
#include "month_days.h"
#include "reader.h"

#define EVERY_S_MAX (INT64_C(500) * 366 * 86400)

enum field_name { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field {
    unsigned low;
    unsigned high;      /* the greatest value that can be written */
    unsigned end;       /* the last value of * and of value/step: for days of the week, Saturday */
    const char *names;  /* three letters for each value, from the lowest on; or NULL */
    const char *values; /* what to say about a value that the field does not have */
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

/* Returns what is wrong about a character that may not stand at its place, where a value may not
 * stand either. Returns NULL if there is nothing more precise to say. */
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
            return "? is allowed only in the fields for days";
        break;
    case 'L':
        if (name == DAY)
            return "L begins an item here: L, L-3 or LW";
        if (name == WEEKDAY)
            return "L follows one day of the week, as in 5L";
        return "L is allowed only in the fields for days";
    case 'W':
        if (name == DAY)
            return "W follows one day of the month or L, as in 15W or LW";
        return "W is allowed only in the field for days of the month";
    case '#':
        if (name == WEEKDAY)
            return "# follows one day of the week, as in 5#2";
        return "# is allowed only in the field for days of the week";
    default:
        break;
    }
    return NULL;
}

/* Reads one of the field's names. L may follow the name: FRIL is the last Friday. */
static bool read_name(struct elapse__reader *reader, enum field_name name, unsigned *value)
{
    const char *names = fields[name].names;
    ELAPSE__ASSERT(elapse__is_letter(elapse__reader_peek(reader)));
    for (unsigned i = 0; names != NULL && names[3 * (size_t)i] != '\0'; i++) {
        if (!elapse__reader_follows(reader, names + 3 * (size_t)i, 3))
            continue;
        const char *after = reader->text + reader->at + 3;
        if (elapse__is_letter(*after) &&
            (elapse__capital(*after) != 'L' || elapse__is_letter(after[1])))
            break;
        reader->at += 3;
        *value = fields[name].low + i;
        return true;
    }
    const char *fault = elapse__is_letter(reader->text[reader->at + 1])
                            ? NULL
                            : misplaced(name, elapse__reader_peek(reader));
    if (fault == NULL)
        fault = names != NULL ? "there is no such name" : fields[name].values;
    return elapse__reader_fail(reader, reader->at, fault);
}

/* Reads a number or a name. */
static bool read_value(struct elapse__reader *reader, enum field_name name, unsigned *value)
{
    const struct field *field = &fields[name];
    char c = elapse__reader_peek(reader);
    if (elapse__is_digit(c))
        return elapse__reader_number(reader, field->low, field->high, field->values, value);
    if (elapse__is_letter(c))
        return read_name(reader, name, value);
    const char *fault = misplaced(name, c);
    return elapse__reader_fail(reader, reader->at, fault != NULL ? fault : field->values);
}

/* Reads what follows L in the days of the month: L, L-3, LW. */
static bool read_last_day(struct elapse__reader *reader, struct elapse_cron *cron)
{
    if (elapse__reader_take(reader, 'W')) {
        cron->last_working_day = true;
        return true;
    }
    unsigned before = 0;
    if (elapse__reader_take(reader, '-') &&
        !elapse__reader_number(reader, 1, 30, "L- is followed by a number from 1 to 30", &before))
        return false;
    ELAPSE__ASSERT(before <= 30);
    cron->days_before_last |= UINT32_C(1) << before;
    return true;
}

/* Reads an ending that makes the meaning of a value depend on the month: 15W, 5L, 5#2. Stores in
 * `*special` whether there was such an ending. */
static bool read_special(struct elapse__reader *reader, enum field_name name, unsigned value,
                         struct elapse_cron *cron, bool *special)
{
    unsigned n;
    uint8_t weekday = (uint8_t)(1U << value % 7);

    ELAPSE__ASSERT(value >= fields[name].low);
    ELAPSE__ASSERT(value <= fields[name].high);
    *special = true;
    if (name == DAY && elapse__reader_take(reader, 'W')) {
        cron->nearest_weekdays |= UINT32_C(1) << value;
        return true;
    }
    if (name == WEEKDAY && elapse__reader_take(reader, 'L')) {
        cron->last_weekdays |= weekday;
        return true;
    }
    if (name == WEEKDAY && elapse__reader_take(reader, '#')) {
        if (!elapse__reader_number(reader, 1, 5, "# is followed by a number from 1 to 5", &n))
            return false;
        ELAPSE__ASSERT(n >= 1);
        ELAPSE__ASSERT(n <= 5);
        cron->numbered_weekdays[n - 1] |= weekday;
        return true;
    }
    *special = false;
    return true;
}

/* Reads the end of a range that begins with `first`. */
static bool read_range_end(struct elapse__reader *reader, enum field_name name, unsigned first,
                           unsigned *last)
{
    bool is_name = elapse__is_letter(elapse__reader_peek(reader));
    if (!read_value(reader, name, last))
        return false;
    /* SUN at the end of a range is the day after Saturday, as 7 is. */
    if (name == WEEKDAY && is_name && *last == 0 && first > 0)
        *last = 7;
    ELAPSE__ASSERT(*last <= fields[name].high);
    return true;
}

/* Adds every `step`th value from `first` to `last`. If `last` is less than `first`, the range and
 * its steps go on from the end of the field to the beginning of the field. */
static void add_range(enum field_name name, unsigned first, unsigned last, unsigned step,
                      uint64_t *values)
{
    const struct field *field = &fields[name];
    unsigned count = field->end - field->low + 1;

    ELAPSE__ASSERT(first >= field->low);
    ELAPSE__ASSERT(first <= field->high);
    ELAPSE__ASSERT(last <= field->high);
    ELAPSE__ASSERT(step >= 1);
    /* In 7/2 the first value is above the end of the field. This value counts all the same. */
    *values |= UINT64_C(1) << first;
    bool wraps = last < first;
    unsigned end = wraps ? last + count : last;
    for (unsigned value = first; value <= end; value += step)
        *values |= UINT64_C(1) << (wraps && value > field->end ? value - count : value);
}

/* Reads one item of a list. Adds its values to `*values`, or its special days to `cron`. */
static bool read_item(struct elapse__reader *reader, enum field_name name, struct elapse_cron *cron,
                      uint64_t *values)
{
    const struct field *field = &fields[name];
    bool is_day = name == DAY || name == WEEKDAY;
    unsigned first = field->low;
    unsigned last = field->end;
    unsigned step = 1;
    bool is_range = true;
    bool is_bounded = false; /* the text gives both ends of the range */

    if (name == DAY && elapse__reader_take(reader, 'L'))
        return read_last_day(reader, cron);
    if (!elapse__reader_take(reader, '*') && !(is_day && elapse__reader_take(reader, '?'))) {
        bool special;
        if (!read_value(reader, name, &first) || !read_special(reader, name, first, cron, &special))
            return false;
        if (special)
            return true;
        is_range = elapse__reader_take(reader, '-');
        if (is_range && !read_range_end(reader, name, first, &last))
            return false;
        is_bounded = is_range;
    }
    if (elapse__reader_take(reader, '/')) {
        /* A step that is greater than the field is refused, because a field cannot say "every 90
         * minutes". */
        size_t start = reader->at;
        if (!elapse__reader_number(reader, 0, field->end - field->low + 1,
                                   "a step is a number, at most the number of values in the field",
                                   &step))
            return false;
        if (step == 0)
            return elapse__reader_fail(reader, start, "a step is at least 1");
    } else if (!is_range) {
        last = first;
    }
    if (name == WEEKDAY && is_bounded && first == 7 && last < 7)
        first = 0; /* 7-2 means SUN-TUE */
    if (!is_bounded && last < first)
        last = first; /* in 7/2, the first value is above the end of the field */
    add_range(name, first, last, step, values);
    return true;
}

/* Reads a field and the blanks after it. */
static bool read_field(struct elapse__reader *reader, enum field_name name,
                       struct elapse_cron *cron, uint64_t *values)
{
    ELAPSE__ASSERT(name < FIELDS);
    *values = 0;
    do {
        if (!read_item(reader, name, cron, values))
            return false;
    } while (elapse__reader_take(reader, ','));

    char c = elapse__reader_peek(reader);
    if (c != '\0' && !elapse__is_blank(c)) {
        const char *fault = misplaced(name, c);
        if (fault == NULL)
            fault = "this should be a comma or the end of the field";
        return elapse__reader_fail(reader, reader->at, fault);
    }
    elapse__reader_skip_blanks(reader);
    return true;
}

/* Counts the fields. Fails at the seventh field, or at the end of the text if there are fewer
 * than five. */
static bool count_fields(struct elapse__reader *reader, unsigned *count)
{
    const char *text = reader->text;
    size_t end = reader->at;

    *count = 0;
    for (size_t at = reader->at; text[at] != '\0';) {
        if (*count == FIELDS)
            return elapse__reader_fail(reader, at, "there are more than six fields");
        ++*count;
        while (text[at] != '\0' && !elapse__is_blank(text[at]))
            at++;
        end = at;
        while (elapse__is_blank(text[at]))
            at++;
    }
    if (*count == 0)
        return elapse__reader_fail(reader, end, "the expression is empty");
    if (*count < FIELDS - 1)
        return elapse__reader_fail(reader, end, "there are fewer than five fields");
    ELAPSE__ASSERT(*count <= FIELDS);
    return true;
}

static bool read_fields(struct elapse__reader *reader, struct elapse_cron *cron)
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
    ELAPSE__ASSERT(values[SECOND] != 0);
    ELAPSE__ASSERT(values[MINUTE] != 0);
    ELAPSE__ASSERT(values[HOUR] != 0);
    ELAPSE__ASSERT(values[MONTH] != 0);
    cron->seconds = values[SECOND];
    cron->minutes = values[MINUTE];
    cron->hours = (uint32_t)values[HOUR];
    cron->days = (uint32_t)values[DAY];
    cron->months = (uint16_t)values[MONTH];
    cron->weekdays = (uint8_t)((values[WEEKDAY] | values[WEEKDAY] >> 7) & 0x7f);
    cron->hours_open = reader->text[starts[HOUR]] == '*';
    cron->days_restricted = strchr("*?", reader->text[starts[DAY]]) == NULL;
    cron->weekdays_restricted = strchr("*?", reader->text[starts[WEEKDAY]]) == NULL;
    if (!elapse__cron_names_a_day(cron))
        return elapse__reader_fail(reader, starts[DAY], "this day never comes");
    return true;
}

/* Reads the duration after @every, up to the end of the text. */
static bool read_period(struct elapse__reader *reader, struct elapse_cron *cron)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {{'W', 7 * INT64_C(86400)}, {'D', 86400}, {'H', 3600}, {'M', 60}, {'S', 1}};
    enum { UNIT_COUNT = sizeof units / sizeof units[0], DIGITS_MAX = 9 };
    const char *const fault = "@every is followed by a duration, as in 1h30m: w d h m s";
    size_t start = reader->at;
    size_t unit = 0;

    for (; elapse__is_digit(elapse__reader_peek(reader)); unit++) {
        int64_t number = 0;
        unsigned digits = 0;
        for (; elapse__is_digit(elapse__reader_peek(reader)); reader->at++, digits++)
            number = digits < DIGITS_MAX ? 10 * number + (elapse__reader_peek(reader) - '0') : 0;
        while (unit < UNIT_COUNT && units[unit].letter != elapse__reader_peek(reader))
            unit++;
        if (unit == UNIT_COUNT)
            return elapse__reader_fail(reader, reader->at, fault);
        if (digits > DIGITS_MAX)
            return elapse__reader_fail(reader, start, "the duration is longer than 500 years");
        reader->at++;
        cron->every_s += number * units[unit].seconds;
        ELAPSE__ASSERT(cron->every_s >= 0);
    }
    if (reader->at == start)
        return elapse__reader_fail(reader, start, fault);
    elapse__reader_skip_blanks(reader);
    if (elapse__reader_peek(reader) != '\0')
        return elapse__reader_fail(reader, reader->at, "nothing may follow here");
    if (cron->every_s == 0)
        return elapse__reader_fail(reader, start, "the duration is zero");
    if (cron->every_s > EVERY_S_MAX)
        return elapse__reader_fail(reader, start, "the duration is longer than 500 years");
    return true;
}

/* Reads what follows the character @. */
static bool read_shorthand(struct elapse__reader *reader, struct elapse_cron *cron)
{
    ELAPSE__ASSERT(reader->at >= 1);
    size_t start = reader->at - 1;
    if (elapse__reader_follows(reader, "EVERY", 5) &&
        !elapse__is_letter(reader->text[reader->at + 5])) {
        reader->at += 5;
        elapse__reader_skip_blanks(reader);
        return read_period(reader, cron);
    }
    for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++) {
        size_t length = strlen(shorthands[i].name);
        if (!elapse__reader_follows(reader, shorthands[i].name, length))
            continue;
        char after = reader->text[reader->at + length];
        if (after != '\0' && !elapse__is_blank(after))
            break;
        reader->at += length;
        elapse__reader_skip_blanks(reader);
        if (elapse__reader_peek(reader) != '\0')
            return elapse__reader_fail(reader, reader->at, "nothing may follow here");
        struct elapse__reader known = {.text = shorthands[i].expression};
        return read_fields(&known, cron);
    }
    return elapse__reader_fail(reader, start, "there is no such name");
}

static bool read_expression(struct elapse__reader *reader, struct elapse_cron *cron)
{
    if (reader->text == NULL)
        return elapse__reader_fail(reader, 0, "there is no expression");
    if (memchr(reader->text, '\0', ELAPSE_CRON_LENGTH_MAX + 1) == NULL)
        return elapse__reader_fail(reader, ELAPSE_CRON_LENGTH_MAX, "the expression is too long");
    elapse__reader_skip_blanks(reader);
    if (elapse__reader_take(reader, '@'))
        return read_shorthand(reader, cron);
    return read_fields(reader, cron);
}

enum elapse_error elapse_cron_parse(struct elapse_cron *cron, const char *expression,
                                    struct elapse_cron_fault *fault)
{
    struct elapse__reader reader = {.text = expression};
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
