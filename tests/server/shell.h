/*
 * A shell (the part of a server around its core) for tests that use the core without sockets. It
 * makes turns of the core, reads bodies for it, and ends connections.
 */
#ifndef ELAPSE_TESTS_SERVER_SHELL_H
#define ELAPSE_TESTS_SERVER_SHELL_H

#include "core/core.h"

enum { SHELL_READINGS_MAX = 4096 };

struct shell {
    struct elapse__engine *engine;
    struct elapse__server *server; /* NULL: the process has ended */
    /* Closes a connection that has come to its end: calls elapse__connection_closed. */
    void (*shut)(struct elapse__connection *connection);
    struct elapse__server_reading *readings[SHELL_READINGS_MAX];
    unsigned reading_count;
};

/* Makes a turn of the core, and does what it asks for. Returns whether there is more to do now. */
bool shell_turn(struct shell *shell, struct elapse__queue_now now);

/* Reads one body that was asked for. Returns whether there was one. */
bool shell_read_one(struct shell *shell, struct elapse__queue_now now);

/* Gives up all readings, because the process ends. */
void shell_give_up_readings(struct shell *shell, struct elapse__queue_now now);

#endif
