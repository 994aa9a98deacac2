/*
 * The logger: the messages of the server, one line an event on standard error, as text or as JSON.
 * No line has a body or a password in it.
 *
 *     2026-03-01T12:00:00.123Z notice listening: 127.0.0.1:11300
 *     {"time":"2026-03-01T12:00:00.123Z","level":"notice","event":"listening","text":"..."}
 *
 * Of an event that can repeat without end, ELAPSE__LOGGER_A_MINUTE lines a minute are logged, of
 * each level: warnings use up no line of an error. Then the logger says how many more events there
 * were.
 *
 * Requires, for every function: one thread, that of the loop.
 */
#ifndef ELAPSE__LOOP_LOGGER_H
#define ELAPSE__LOOP_LOGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum elapse__logger_level {
    ELAPSE__LOGGER_ERROR,
    ELAPSE__LOGGER_WARNING,
    ELAPSE__LOGGER_NOTICE,
    ELAPSE__LOGGER_DEBUG,
    ELAPSE__LOGGER_LEVELS,
};

enum elapse__logger_event {
    ELAPSE__EVENT_STARTING,
    ELAPSE__EVENT_LISTENING,
    ELAPSE__EVENT_READY,
    ELAPSE__EVENT_STOPPING,
    ELAPSE__EVENT_STOPPED,
    ELAPSE__EVENT_OPTION,
    ELAPSE__EVENT_CLOCK,
    ELAPSE__EVENT_STORE,
    ELAPSE__EVENT_RELOADED,
    ELAPSE__EVENT_REFUSING_PUTS,
    ELAPSE__EVENT_CONNECTED,
    ELAPSE__EVENT_CLOSED,
    ELAPSE__EVENT_REFUSED,
    ELAPSE__EVENT_ACCEPT,
    ELAPSE__EVENT_TLS,
    ELAPSE__EVENT_PASSWORD,
    ELAPSE__EVENT_CLUSTER,
    ELAPSE__EVENT_DISK,
    ELAPSE__EVENT_OLD_NAME,
    ELAPSE__EVENT_ENDED,
    ELAPSE__LOGGER_EVENTS,
};

enum { ELAPSE__LOGGER_A_MINUTE = 20 };

/* Of one event, at one level. */
struct elapse__logger_limit {
    uint64_t minute;   /* the minute of the monotonic clock */
    uint64_t logged;   /* in that minute */
    uint64_t withheld; /* events without a line since the last line */
};

struct elapse__logger {
    bool json;
    enum elapse__logger_level most; /* less important events are not logged */
    struct elapse__logger_limit limits[ELAPSE__LOGGER_EVENTS][ELAPSE__LOGGER_LEVELS];
};

/* Logs an event, with a text in the manner of printf. A control character of the text becomes '?'.
 */
__attribute__((format(printf, 4, 5))) void elapse__logger(struct elapse__logger *logger,
                                                          enum elapse__logger_level level,
                                                          enum elapse__logger_event event,
                                                          const char *format, ...);

#endif
