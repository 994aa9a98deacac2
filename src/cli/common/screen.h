/*
 * Prepares a terminal for pictures that replace each other. Keys are read one by one. Signals that
 * would end or stop the program are handled between two pictures, so that the terminal can be
 * restored first.
 */
#ifndef ELAPSE_CLI_COMMON_SCREEN_H
#define ELAPSE_CLI_COMMON_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "../../os/program.h"
#include "message.h"

struct screen {
    const char *begin; /* the text that prepares the terminal */
    const char *end;   /* the text that restores the terminal */
    bool has_keys;     /* standard input is a terminal, too */
    struct elapse__os_signals signals;
};

/* Prepares the terminal. Returns STATUS_OK; or, after a message, another status. */
enum exit_status screen_open(struct screen *screen, const char *begin, const char *end);

/* Restores the terminal. */
void screen_close(struct screen *screen);

/* Why screen_wait returns. */
enum screen_event {
    SCREEN_TIMEOUT,
    SCREEN_KEY,    /* `*key` is the key, or 'q' if the terminal has gone */
    SCREEN_REDRAW, /* the contents and the size of the window are unknown */
    SCREEN_NOTHING,
};

/* Waits for a key or a signal. Obeys a signal, so the program may end or stop here. */
enum screen_event screen_wait(struct screen *screen, uint64_t timeout_ns, char *key);

#endif
