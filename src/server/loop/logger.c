#include "logger.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../base/assert.h"
#include "../../os/program.h"

#define NS_PER_SECOND UINT64_C(1000000000)
#define NS_PER_MINUTE (60 * NS_PER_SECOND)

enum { TEXT_BYTES = 1024, TIME_BYTES = 40, LINE_BYTES = 6 * TEXT_BYTES + 256 };

static const char *const level_names[ELAPSE__LOGGER_LEVELS] = {
    [ELAPSE__LOGGER_ERROR] = "error",
    [ELAPSE__LOGGER_WARNING] = "warning",
    [ELAPSE__LOGGER_NOTICE] = "notice",
    [ELAPSE__LOGGER_DEBUG] = "debug",
};

/* The names of events. An event that can repeat without end is limited, so that it does not fill
 * the disk. */
static const struct {
    const char *name;
    bool is_limited;
} events[ELAPSE__LOGGER_EVENTS] = {
    [ELAPSE__EVENT_STARTING] = {"starting", false},
    [ELAPSE__EVENT_LISTENING] = {"listening", false},
    [ELAPSE__EVENT_READY] = {"ready", false},
    [ELAPSE__EVENT_STOPPING] = {"stopping", false},
    [ELAPSE__EVENT_STOPPED] = {"stopped", false},
    [ELAPSE__EVENT_OPTION] = {"option", false},
    [ELAPSE__EVENT_CLOCK] = {"clock", true},
    [ELAPSE__EVENT_STORE] = {"store", true},
    [ELAPSE__EVENT_RELOADED] = {"reloaded", true},
    [ELAPSE__EVENT_REFUSING_PUTS] = {"refusing-puts", true},
    [ELAPSE__EVENT_CONNECTED] = {"connected", true},
    [ELAPSE__EVENT_CLOSED] = {"closed", true},
    [ELAPSE__EVENT_REFUSED] = {"refused", true},
    [ELAPSE__EVENT_ACCEPT] = {"accept", true},
    [ELAPSE__EVENT_TLS] = {"tls", true},
    [ELAPSE__EVENT_PASSWORD] = {"password", true},
    [ELAPSE__EVENT_CLUSTER] = {"cluster", true},
    [ELAPSE__EVENT_DISK] = {"disk", true},
    [ELAPSE__EVENT_OLD_NAME] = {"old_name", true},
    [ELAPSE__EVENT_ENDED] = {"ended", true},
};

/* Writes the wall-clock time in the form of RFC 3339. */
static void write_time(char text[TIME_BYTES])
{
    uint64_t now_ns = elapse__os_wall_clock_ns();
    time_t seconds = (time_t)(now_ns / NS_PER_SECOND);
    const struct tm *date = gmtime(&seconds);
    size_t length = date == NULL ? 0 : strftime(text, TIME_BYTES, "%Y-%m-%dT%H:%M:%S", date);

    (void)snprintf(text + length, TIME_BYTES - length, ".%03uZ",
                   (unsigned)(now_ns / 1000000 % 1000));
}

/* Copies the text as the inside of a JSON string. Control characters become '?'. Bytes outside
 * ASCII become '?', too, because they may not be valid UTF-8. */
static void write_json_text(char *to, size_t capacity, const char *text)
{
    size_t length = 0;

    for (; *text != '\0' && length + 3 < capacity; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            to[length++] = '\\';
        to[length++] = (char)(byte < ' ' || byte >= 0x7f ? '?' : byte);
    }
    to[length] = '\0';
}

static void write_line(const struct elapse__logger *logger, enum elapse__logger_level level,
                       enum elapse__logger_event event, const char *text)
{
    char when[TIME_BYTES];
    char line[LINE_BYTES];
    char quoted[2 * TEXT_BYTES];
    int length;

    write_time(when);
    write_json_text(quoted, sizeof quoted, text);
    if (logger->json)
        length = snprintf(line, sizeof line,
                          "{\"time\":\"%s\",\"level\":\"%s\",\"event\":\"%s\",\"text\":\"%s\"}\n",
                          when, level_names[level], events[event].name, quoted);
    else
        length = snprintf(line, sizeof line, "%s %s %s: %s\n", when, level_names[level],
                          events[event].name, text);
    ELAPSE__ASSERT(length > 0 && (size_t)length < sizeof line);
    (void)elapse__os_write_all(ELAPSE__OS_ERRORS, line, (size_t)length);
}

static uint64_t lines_a_minute(enum elapse__logger_event event, enum elapse__logger_level level)
{
    return event == ELAPSE__EVENT_CLUSTER && level == ELAPSE__LOGGER_NOTICE
               ? ELAPSE__LOGGER_CLUSTER_A_MINUTE
               : ELAPSE__LOGGER_A_MINUTE;
}

/* Returns whether the event may be logged now. At the first event of a minute, logs how many events
 * were left out since the last line of this event. */
static bool is_within_limit(struct elapse__logger *logger, enum elapse__logger_level level,
                            enum elapse__logger_event event)
{
    struct elapse__logger_limit *limit = &logger->limits[event][level];
    uint64_t minute = elapse__os_monotonic_ns() / NS_PER_MINUTE + 1;

    if (!events[event].is_limited || level == ELAPSE__LOGGER_DEBUG)
        return true;
    if (limit->minute != minute) {
        uint64_t withheld = limit->withheld;
        char text[TEXT_BYTES];
        limit->minute = minute;
        limit->logged = 0;
        limit->withheld = 0;
        (void)snprintf(text, sizeof text, "%" PRIu64 " more of these events were not logged",
                       withheld);
        if (withheld > 0)
            write_line(logger, level, event, text);
    }
    ELAPSE__ASSERT_THAT(limit->minute, ==, minute);
    ELAPSE__ASSERT_THAT(limit->logged, <=, lines_a_minute(event, level));
    if (limit->logged == lines_a_minute(event, level)) {
        limit->withheld++;
        return false;
    }
    limit->logged++;
    return true;
}

void elapse__logger(struct elapse__logger *logger, enum elapse__logger_level level,
                    enum elapse__logger_event event, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list arguments;

    ELAPSE__ASSERT_THAT(event, <, ELAPSE__LOGGER_EVENTS);
    ELAPSE__ASSERT_THAT(level, <, ELAPSE__LOGGER_LEVELS);
    if (level > logger->most || !is_within_limit(logger, level, event))
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *byte = text; *byte != '\0'; byte++)
        if ((unsigned char)*byte < ' ' || *byte == 0x7f)
            *byte = '?';
    write_line(logger, level, event, text);
}
