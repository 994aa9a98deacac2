/*
 * Reads one line. The line may have any bytes. Never reads a byte outside the line.
 */
#include "line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <elapse/scheduler.h>

#include "../../base/assert.h"
#include "../../base/utf8.h"
#include "../common/duration.h"
#include "../common/text.h"

/* The part of the line that has not been read yet. */
struct rest {
    const char *at;
    const char *end;
};

struct word {
    const char *text;
    size_t length;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct run_line_fault *fault,
                                                       const char *format, ...)
{
    ELAPSE__ASSERT(format[0] != '\0');
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    return false;
}

void run_line_too_long(struct run_line_fault *fault)
{
    (void)fail(fault, "the line is longer than %d bytes", (int)RUN_LINE_BYTES_MAX);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct rest *rest)
{
    ELAPSE__ASSERT(rest->at <= rest->end);
    while (rest->at < rest->end && is_blank(*rest->at))
        rest->at++;
}

/* Returns the next word, which is empty at the end of the line. */
static struct word take_word(struct rest *rest)
{
    skip_blanks(rest);
    struct word word = {rest->at, 0};
    while (rest->at < rest->end && !is_blank(*rest->at))
        rest->at++;
    word.length = (size_t)(rest->at - word.text);
    ELAPSE__ASSERT(rest->at <= rest->end);
    return word;
}

/* ---- the parts of a line ---- */

static bool read_duration(struct word word, uint64_t *duration_ns, struct run_line_fault *fault)
{
    char text[128];

    if (word.length == 0)
        return fail(fault, "a duration is missing");
    if (word.length >= sizeof text)
        return fail(fault, "the duration %s is too long", quote_text(word.text, word.length).text);
    memcpy(text, word.text, word.length);
    text[word.length] = '\0';
    const char *error = duration_parse(text, duration_ns);
    return error == NULL ||
           fail(fault, "the duration %s: %s", quote_text(word.text, word.length).text, error);
}

static bool read_period(struct word word, uint64_t *period_ns, struct run_line_fault *fault)
{
    if (!read_duration(word, period_ns, fault))
        return false;
    if (*period_ns == 0)
        return fail(fault, "the period is zero");
    if (*period_ns > (uint64_t)ELAPSE_PERIOD_NS_MAX)
        return fail(fault, "the period is longer than 292 years");
    return true;
}

static bool read_time(struct word word, struct run_line *line, struct run_line_fault *fault)
{
    if (word.length == 0)
        return fail(fault, "a time is missing");
    line->unix_ns = 0;
    line->is_local = timestamp_parse_local(word.text, word.length, &line->local);
    if (line->is_local)
        return true;
    const char *error = timestamp_parse(word.text, word.length, &line->unix_ns);
    return error == NULL || fail(fault, "%s: %s", quote_text(word.text, word.length).text, error);
}

static bool read_cron(struct rest *rest, struct run_line *line, struct run_line_fault *fault)
{
    char expression[ELAPSE_CRON_LENGTH_MAX + 2];
    struct elapse_cron_fault wrong;

    ELAPSE__ASSERT(rest->at <= rest->end);
    skip_blanks(rest);
    if (rest->at == rest->end || *rest->at != '"')
        return fail(fault, "a cron expression between double quotes is missing");
    const char *begin = rest->at + 1;
    const char *quote = memchr(begin, '"', (size_t)(rest->end - begin));
    if (quote == NULL)
        return fail(fault, "the cron expression lacks its closing quote");
    if (quote + 1 < rest->end && !is_blank(quote[1]))
        return fail(fault, "a blank is missing after the closing quote");
    size_t length = (size_t)(quote - begin);
    if (length >= sizeof expression)
        return fail(fault, "the cron expression is longer than %d characters",
                    (int)ELAPSE_CRON_LENGTH_MAX);
    memcpy(expression, begin, length);
    expression[length] = '\0';
    rest->at = quote + 1;
    line->cron_text = begin;
    line->cron_bytes = length;
    if (elapse_cron_parse(&line->cron, expression, &wrong) != ELAPSE_OK)
        return fail(fault, "the cron expression %s: at character %zu: %s",
                    quote_text(begin, length).text, wrong.position + 1, wrong.text);
    return true;
}

static bool read_key(struct rest *rest, struct run_line *line, struct run_line_fault *fault)
{
    struct word key = take_word(rest);

    if (key.length == 0)
        return fail(fault, "a key is missing");
    if (key.length > RUN_KEY_BYTES_MAX)
        return fail(fault, "the key is longer than %d bytes", (int)RUN_KEY_BYTES_MAX);
    line->key = key.text;
    line->key_bytes = key.length;
    return true;
}

static bool read_payload(struct rest *rest, struct run_line *line, struct run_line_fault *fault)
{
    if (rest->at < rest->end)
        rest->at++; /* the blank that ended the key */
    ELAPSE__ASSERT(rest->at <= rest->end);
    line->payload = rest->at;
    line->payload_bytes = (size_t)(rest->end - rest->at);
    if (line->kind == RUN_LINE_CANCEL) {
        skip_blanks(rest);
        if (rest->at < rest->end)
            return fail(fault, "there is more after the key");
        line->payload_bytes = 0;
    }
    if (line->payload_bytes > RUN_PAYLOAD_BYTES_MAX)
        return fail(fault, "the payload is longer than %d bytes", (int)RUN_PAYLOAD_BYTES_MAX);
    return true;
}

/* ---- the line ---- */

static const struct {
    const char *name;
    size_t length;
    enum run_line_kind kind;
} verbs[] = {
    {"in", 2, RUN_LINE_IN},     {"cancel", 6, RUN_LINE_CANCEL},
    {"at", 2, RUN_LINE_AT},     {"every", 5, RUN_LINE_EVERY},
    {"cron", 4, RUN_LINE_CRON}, {"after-each", 10, RUN_LINE_AFTER_EACH},
    {"list", 4, RUN_LINE_LIST},
};

enum { VERB_COUNT = sizeof verbs / sizeof verbs[0] };

/* Reads the zone of cron[Europe/Berlin]. */
static bool read_zone(struct word word, struct run_line *line, struct run_line_fault *fault)
{
    enum { OPENING = 5 }; /* the length of "cron[" */
    char name[256];

    ELAPSE__ASSERT(word.length >= OPENING);
    if (word.text[word.length - 1] != ']')
        return fail(fault, "%s lacks its closing bracket", quote_text(word.text, word.length).text);
    size_t length = word.length - OPENING - 1;
    if (length < sizeof name) {
        memcpy(name, word.text + OPENING, length);
        name[length] = '\0';
        line->zone_text = word.text + OPENING;
        line->zone_bytes = length;
        if (elapse_time_zone_find(name, &line->zone) == ELAPSE_OK)
            return true;
    }
    return fail(fault, "there is no time zone %s", quote_text(word.text + OPENING, length).text);
}

static bool read_verb(struct word word, struct run_line *line, struct run_line_fault *fault)
{
    if (word.length > 5 && memcmp(word.text, "cron[", 5) == 0) {
        line->kind = RUN_LINE_CRON;
        return read_zone(word, line, fault);
    }
    ELAPSE__ASSERT(word.length > 0);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (word.length == verbs[i].length && memcmp(word.text, verbs[i].name, word.length) == 0) {
            line->kind = verbs[i].kind;
            return true;
        }
    }
    return fail(fault, "%s is none of in, at, every, after-each, cron, cancel, list",
                quote_text(word.text, word.length).text);
}

/* Reads what stands between the verb and the key. */
static bool read_when(struct rest *rest, struct run_line *line, struct run_line_fault *fault)
{
    switch (line->kind) {
    case RUN_LINE_IN:
        return read_duration(take_word(rest), &line->duration_ns, fault);
    case RUN_LINE_EVERY:
    case RUN_LINE_AFTER_EACH:
        return read_period(take_word(rest), &line->duration_ns, fault);
    case RUN_LINE_AT:
        return read_time(take_word(rest), line, fault);
    case RUN_LINE_CRON:
        if (!read_cron(rest, line, fault))
            return false;
        elapse_cron_set_time_zone(&line->cron, line->zone);
        return true;
    case RUN_LINE_CANCEL:
    case RUN_LINE_LIST:
    case RUN_LINE_NOTHING:
        break;
    }
    return true;
}

bool run_line_parse(struct run_line *line, const char *text, size_t length,
                    struct run_line_fault *fault)
{
    struct rest rest = {text, text + length};

    line->kind = RUN_LINE_NOTHING;
    line->zone = NULL;
    if (length > RUN_LINE_BYTES_MAX) {
        run_line_too_long(fault);
        return false;
    }
    skip_blanks(&rest);
    if (rest.at == rest.end || *rest.at == '#')
        return true;
    if (memchr(text, '\0', length) != NULL)
        return fail(fault, "there is a NUL byte");
    if (!elapse__utf8_is(text, length))
        return fail(fault, "it is not UTF-8");
    if (!read_verb(take_word(&rest), line, fault))
        return false;
    if (line->kind == RUN_LINE_LIST) {
        skip_blanks(&rest);
        return rest.at == rest.end || fail(fault, "there is more after the word list");
    }
    return read_when(&rest, line, fault) && read_key(&rest, line, fault) &&
           read_payload(&rest, line, fault);
}
