/*
 * The clients of the simulated day (day_test.c). Each client has at most one command under way, and
 * a moment when it sends the next one.
 *
 *      producers       RESP: puts of all kinds, cancels, moves, looks
 *      workers         RESP: take up to ten jobs, work on each for a while, and end it in some way
 *      old producers   beanstalkd's protocol: puts
 *      old workers     beanstalkd's protocol: take one job at a time
 *      the keeper      RESP: kicks what was buried, pauses tubes, looks at figures
 */
#ifndef ELAPSE_TESTS_SERVER_DAY_CLIENTS_H
#define ELAPSE_TESTS_SERVER_DAY_CLIENTS_H

#include "day_book.h"
#include "random.h"

enum {
    DAY_AT_ONCE = 10,
    DAY_COMMAND_BYTES = 4096,
    DAY_HEARD_BYTES = 1 << 17,
    DAY_PRODUCERS = 6,
    DAY_WORKERS = 12,
    DAY_OLD_PRODUCERS = 2,
    DAY_OLD_WORKERS = 4,
    DAY_CLIENTS = DAY_PRODUCERS + DAY_WORKERS + DAY_OLD_PRODUCERS + DAY_OLD_WORKERS + 1,
};

/* How the day goes. */
struct day_plan {
    uint64_t puts_a_second; /* on average */
    uint64_t longest_ms;    /* the longest delay of a put */
    uint64_t recurring;     /* how many jobs recur */
    bool puts;              /* producers put; otherwise they do nothing */
    bool takes;             /* workers take; otherwise they finish what they have */
};

extern struct day_plan day_plan;
extern struct random_source day_random;

struct day_client {
    enum day_role { DAY_PRODUCER, DAY_WORKER, DAY_OLD_PRODUCER, DAY_OLD_WORKER, DAY_KEEPER } role;
    enum day_verb {
        DAY_NONE, /* nothing is under way */
        DAY_PUT,
        DAY_CANCEL,
        DAY_MOVE,
        DAY_LOOK,
        DAY_RESERVE,
        DAY_END,
        DAY_FAIL,
        DAY_RELEASE,
        DAY_BURY,
        DAY_EXTEND,
        DAY_KICK,
        DAY_OTHER,
    } verb;
    uint64_t wake_ms;
    uint64_t said_ms;
    uint64_t value;         /* MOVE, RELEASE: the delay */
    struct day_job *job;    /* the job that the command is about */
    struct day_job *victim; /* PUT: the job whose key it takes; NULL: none */
    uint32_t tube;          /* KICK; OLD: how many commands of the beginning were said */
    unsigned held_count;
    struct day_held {
        struct day_job *job;
        uint64_t id;
        uint32_t attempt;
        uint64_t act_ms;
        char lease[40];
        bool was_extended;
    } held[DAY_AT_ONCE], acting;
    char heard[DAY_HEARD_BYTES];
    size_t heard_size;
};

/* Begins a client. Its number decides which role it has. */
void day_client_begin(struct day_client *client, unsigned number);

/* The client begins a new connection, and gives up the jobs that it holds. Requires that no command
 * but a RESERVE is under way, and no reply to that. */
void day_client_reconnect(struct day_client *client);

/* Writes the next command of the client, if its time has come. Returns its bytes; 0: none. */
size_t day_client_say(struct day_client *client, char *to);

void day_client_hear(struct day_client *client, const void *bytes, size_t size);

#endif
