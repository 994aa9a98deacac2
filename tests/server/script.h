/*
 * Reads any bytes as a script. A script is a list of steps, in which clients, the disk and the
 * clock do something to a server. After each step the invariants of the core, the queue and the
 * journal must be true. At the end all clients go, and nothing of them may be left.
 */
#ifndef ELAPSE_TESTS_SERVER_SCRIPT_H
#define ELAPSE_TESTS_SERVER_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

/* The lower three bits of a step's first byte; the upper five are its `size`. */
enum {
    SCRIPT_SEND,       /* a client, a number of bytes and these bytes follow: it sends them */
    SCRIPT_SEND_AGAIN, /* the same, so that sending is twice as frequent */
    SCRIPT_WORK,       /* the journal does `size` + 1 operations */
    SCRIPT_PASS,       /* time passes: 2 to the power of `size`, in milliseconds, up to 2^17 */
    SCRIPT_HEAR,       /* a client follows: it reads `size` * 32 + 1 bytes */
    SCRIPT_CLOSE,      /* a client follows: it closes, or half closes if `size` is odd */
    SCRIPT_READ,       /* one body that was asked for is read; if `size` is odd, all are */
    SCRIPT_TURN,       /* the core makes `size` turns */
    SCRIPT_STEPS,
    SCRIPT_CLIENTS = 6,
};

/* Runs a script. Aborts if something does not hold. */
void script_run(const uint8_t *bytes, size_t size);

/* How many commands the last script has run. */
extern uint64_t script_commands;

#endif
