/*
 * What the tests of the core share: a server on a simulated disk, and clients that have no sockets
 * and only exchange bytes. The test sets the clocks, and decides when the journal makes records
 * durable. After each step the fixture checks the invariants of the core, the queue and the
 * journal.
 */
#ifndef ELAPSE_TESTS_SERVER_FIXTURE_H
#define ELAPSE_TESTS_SERVER_FIXTURE_H

#include "../support/test.h"
#include "core/core.h"
#include "lines.h"

struct client {
    struct elapse__connection *connection;
    bool attended; /* the core has asked for attention */
};

struct fixture {
    struct elapse__engine engine;
    struct elapse__server *server;
    bool more; /* the last turn said that there is more to do */
};

extern struct fixture f;
/* Set by a test before it calls `serve`. */
extern struct elapse__server_options options;

/* The most tubes that the next `set_up` allows; 0: as many as may be. */
extern uint32_t tubes_max;

int set_up(void **state);
int tear_down(void **state);

/* Makes the server again, with `options`. */
void serve(void);

struct elapse__queue_now present(void);
/* Sets both clocks forward by `ms`, and runs turns of the core. */
void pass(uint64_t ms);
/* Runs turns and reads bodies until nothing is left to do. Nothing becomes durable. */
void rest(void);
/* Makes everything durable, and then does as `rest`. */
void commit(void);
/* Runs one turn of the core. */
void turn(void);

/* Connects a client: `connect` one whose leases end with its connection, `connect_free` one whose
 * leases do not. */
void connect(struct client *client);
void connect_free(struct client *client);
void say(struct client *client, const char *text);
void say_bytes(struct client *client, const void *bytes, size_t size);
/* Takes up to `most` bytes of the client's output. */
const char *hear_some(struct client *client, size_t most);
/* Takes all output of the client, and expects this text. */
void expect(struct client *client, const char *text);
void hang_up(struct client *client);

/* Returns the state of a job. */
enum elapse__queue_state state_of(uint64_t id);
struct elapse__queue_view look_at(uint64_t id);

#define SERVER_TEST(function) TEST_WITH(function, set_up, tear_down)

#endif
