/*
 * What the tests of the core share: a server on a simulated disk, whose clocks and commits the test
 * makes, and clients that are bytes. After each step the invariants of the core, of the queue and
 * of the journal are examined.
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
    bool more; /* the answer of the last turn */
};

extern struct fixture f;
/* Set by a test before it calls `serve`. */
extern struct elapse__server_options options;

int set_up(void **state);
int tear_down(void **state);

/* Makes the server again, with `options`. */
void serve(void);

struct elapse__queue_now present(void);
/* Both clocks go on; then turns. */
void pass(uint64_t ms);
/* Turns and readings until nothing is left to do; nothing becomes durable. */
void rest(void);
/* Everything becomes durable, and then rest. */
void commit(void);
/* One turn. */
void turn(void);

/* A client whose leases end with it, and one whose leases do not. */
void connect(struct client *client);
void connect_free(struct client *client);
void say(struct client *client, const char *text);
void say_bytes(struct client *client, const void *bytes, size_t size);
/* Takes up to `most` bytes of the output. */
const char *hear_some(struct client *client, size_t most);
/* Expects this output, all there is. */
void expect(struct client *client, const char *text);
void hang_up(struct client *client);

/* Returns the state of a job. */
enum elapse__queue_state state_of(uint64_t id);
struct elapse__queue_view look_at(uint64_t id);

#define SERVER_TEST(function) TEST_WITH(function, set_up, tear_down)

#endif
