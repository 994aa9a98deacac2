/*
 * Clients of both protocols for the power test, and the book in which they note what they know of
 * each job. The result of a command that has no reply is unknown. Only a reply tells the result:
 * neither a crash nor the end of a connection does. The promises have the numbers of
 * docs/promises.md.
 */
#ifndef ELAPSE_TESTS_POWER_CLIENTS_H
#define ELAPSE_TESTS_POWER_CLIENTS_H

#include "random.h"

enum { POWER_COMMAND_BYTES = 4096, POWER_UNDER_WAY = 32, POWER_HEARD_BYTES = 1 << 17 };

/* A command whose reply has not come. */
struct power_command {
    enum power_verb {
        POWER_PUT,
        POWER_RESERVE,
        POWER_END, /* delete, ACK, CANCELID: nobody gets the job any more */
        POWER_LOOK,
        POWER_EXEC,
        POWER_OTHER,
    } verb;
    unsigned job;  /* PUT, END, LOOK; EXEC: the number of the chain */
    uint64_t step; /* when it was sent */
};

struct power_client {
    bool speaks_resp;
    struct power_command commands[POWER_UNDER_WAY];
    unsigned first, count;
    char heard[POWER_HEARD_BYTES]; /* the bytes of a reply that is not whole yet */
    size_t heard_size;
};

struct power_figures {
    uint64_t commands, replies, acknowledged, handed_out, ended, chained, stopped;
};

/* The first promise that was broken; "" if none. */
extern char power_violation[200];
extern struct power_figures power_figures;
/* The time in milliseconds; it never goes back. */
extern uint64_t power_now_ms;

/* Forgets all jobs. */
void power_begin(void);

/* The client begins a connection. Commands that were under way on the one before keep an open
 * outcome. */
void power_connect(struct power_client *client, bool speaks_resp);

/* Writes the next command of the client. Returns its bytes; 0: enough commands are under way. */
size_t power_say(struct power_client *client, struct random_source *random, char *to);

/* Writes a RESERVE of all tubes. The end of a run uses it, when every job is ready. */
size_t power_say_reserve(struct power_client *client, char *to);

/* Takes bytes of replies, and checks each whole reply against the book. */
void power_hear(struct power_client *client, const void *bytes, size_t size);

/* Between the two calls, the caller hands out all jobs. power_find_missing reports a job whose put
 * was acknowledged, that nobody ended, and that was not handed out since power_look_for_all. */
void power_look_for_all(void);
void power_find_missing(void);

#endif
