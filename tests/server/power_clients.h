/*
 * Clients of both protocols that the power test drives, and the book that they keep. Each has
 * commands under way, whose outcome is open; a reply says which it was, and nothing else does: not
 * a crash, not the end of a connection. The promises have the numbers of docs/promises.md.
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
        POWER_OTHER,
    } verb;
    unsigned job;  /* PUT, END, LOOK */
    uint64_t step; /* when it was sent */
};

struct power_client {
    bool speaks_resp;
    struct power_command commands[POWER_UNDER_WAY];
    unsigned first, count;
    char heard[POWER_HEARD_BYTES]; /* of replies that are not whole */
    size_t heard_size;
};

struct power_figures {
    uint64_t commands, replies, acknowledged, handed_out, ended;
};

/* The first promise that was broken; "" if none. */
extern char power_violation[200];
extern struct power_figures power_figures;
/* Milliseconds, which never go back. */
extern uint64_t power_now_ms;

/* Forgets all jobs. */
void power_begin(void);

/* A connection begins; what was under way on the one before has an open outcome. */
void power_connect(struct power_client *client, bool speaks_resp);

/* Writes the next command. Returns its bytes; 0: enough is under way. */
size_t power_say(struct power_client *client, struct random_source *random, char *to);

/* Writes a RESERVE of all tubes: for the end, when every job is ready. */
size_t power_say_reserve(struct power_client *client, char *to);

/* Takes bytes of replies. */
void power_hear(struct power_client *client, const void *bytes, size_t size);

/* Everything was handed out: what was acknowledged, and nobody ended, must have been seen since
 * power_look_for_all. */
void power_look_for_all(void);
void power_find_missing(void);

#endif
