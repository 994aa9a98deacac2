/*
 * Any bytes as a script of what clients, disk and clock do to a server. The invariants of the core,
 * the queue and the journal hold after each step; at the end all clients are gone, and nothing of
 * them is left.
 */
#ifndef ELAPSE_TESTS_SERVER_SCRIPT_H
#define ELAPSE_TESTS_SERVER_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

/* The lower three bits of a step's first byte; the upper five are its `size`. */
enum {
    SCRIPT_SEND,       /* then a client, and how many bytes, and the bytes */
    SCRIPT_SEND_AGAIN, /* the same */
    SCRIPT_WORK,       /* the journal does `size` + 1 operations */
    SCRIPT_PASS,       /* time passes: 2 to the power of `size`, in milliseconds, up to 2^17 */
    SCRIPT_HEAR,       /* then a client: it reads `size` * 32 + 1 bytes */
    SCRIPT_CLOSE,      /* then a client: it closes, or half closes if `size` is odd */
    SCRIPT_READ,       /* a body that was asked for is read; an odd `size`: all of them */
    SCRIPT_TURN,       /* `size` turns */
    SCRIPT_STEPS,
    SCRIPT_CLIENTS = 6,
};

/* Runs a script, and aborts if something does not hold. */
void script_run(const uint8_t *bytes, size_t size);

/* How many commands the last script has run. */
extern uint64_t script_commands;

#endif
