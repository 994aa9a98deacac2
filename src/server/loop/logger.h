/*
 * The logger writes the messages of the server to standard error, one line for each event, as text
 * or as JSON. No line has a body or a password in it.
 *
 *     2026-03-01T12:00:00.123Z notice listening: 127.0.0.1:11300
 *     {"time":"2026-03-01T12:00:00.123Z","level":"notice","event":"listening","text":"..."}
 *
 * An event that can repeat without end gets at most ELAPSE__LOGGER_A_MINUTE lines a minute. Each
 * level has this number for itself, so that warnings do not use up the lines of errors. Notices of
 * a cluster get more lines: a node may take over dozens of partitions in a second, and each of them
 * has a line for each change of its role. All lines of a minute fit into a pipe, so that a reader
 * of the log that hangs does not hold up the server. Later the logger says how many events had no
 * line.
 *
 * Only the thread of the loop may call the functions.
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

enum { ELAPSE__LOGGER_A_MINUTE = 20, ELAPSE__LOGGER_CLUSTER_A_MINUTE = 250 };

/* How many lines of one event, at one level, were logged. */
struct elapse__logger_limit {
    uint64_t minute;   /* the minute that `logged` counts, by the monotonic clock */
    uint64_t logged;   /* lines that were logged in that minute */
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
