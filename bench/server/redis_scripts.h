/*
 * Timers in Redis, as they are usually made: a sorted set of names by due time, a hash of bodies,
 * and scripts in Lua that change both at once. With leases, a second sorted set has what workers
 * have in hand, by the time at which it would be handed out again.
 */
#ifndef ELAPSE_BENCH_SERVER_REDIS_SCRIPTS_H
#define ELAPSE_BENCH_SERVER_REDIS_SCRIPTS_H

#include <stddef.h>
#include <stdint.h>

enum redis_script {
    REDIS_PUT,    /* name, due, body -> 1 */
    REDIS_CANCEL, /* name -> how many were there */
    REDIS_TAKE,   /* now, at most -> bodies; deletes them */
    REDIS_LEASE,  /* now, at most, until -> names, bodies; they move to the second set */
    REDIS_ACK,    /* name... -> how many were there */
    REDIS_SCRIPTS
};

/* Loads all scripts into the server at this port. */
void redis_scripts_load(uint16_t port);

/* Writes the beginning of a call that has so many arguments more. Returns its bytes. */
size_t redis_script_write(char *to, enum redis_script script, size_t arguments);

enum { REDIS_CALL_BYTES_MAX = 160 };

#endif
