/*
 * Makes a router for tests. The test plays the clients and the other ends of the links: it gives
 * texts to the router, and checks the texts that the router sends.
 */
#ifndef ELAPSE_TESTS_ROUTER_FIXTURE_H
#define ELAPSE_TESTS_ROUTER_FIXTURE_H

#include "../../../src/cluster/router/router.h"
#include "../../support/test.h"

enum { LINKS_MAX = 16, TEXT_MAX = 1 << 20 };

struct fixture {
    struct elapse__router_options options;
    struct elapse__router *router;
    uint64_t now;
    struct elapse__router_link *links[LINKS_MAX]; /* the links, in the order of their opening */
    uint32_t link_count;
    bool is_here; /* new links lead to a core of this process */
    char *text;   /* what output_of returned last */
};

/* Begins with two partitions: 0 in this process, 1 elsewhere. Both have open links, links[0] and
 * links[1], whose greetings were answered. */
int set_up(void **state);
int tear_down(void **state);

/* Begins anew with the options in `f`, and opens the links of these options. */
void begin(struct fixture *f);

/* Makes a turn of the router, and checks the invariants. Opens the links that the router wants; the
 * greetings of these are not answered. */
void turn(struct fixture *f);
/* Lets `ms` pass, and does as `turn`. */
void pass(struct fixture *f, uint64_t ms);

struct elapse__router_client *client(struct fixture *f);

/* A client sends a line of words as a command; several lines are several commands. */
void say(struct fixture *f, struct elapse__router_client *from, const char *lines);
/* A client sends these bytes as they are. */
void say_bytes(struct fixture *f, struct elapse__router_client *from, const char *bytes);

/* Returns the bytes that a client has got since the last call. */
const char *got(struct fixture *f, struct elapse__router_client *from);
void expect(struct fixture *f, struct elapse__router_client *from, const char *bytes);

/* Takes all that the router sends on a link. Returns the commands as lines of words. */
const char *sent(struct fixture *f, struct elapse__router_link *link);
void expect_sent(struct fixture *f, struct elapse__router_link *link, const char *lines);
/* The other end of a link answers with these bytes. */
void answer(struct fixture *f, struct elapse__router_link *link, const char *bytes);
/* The other end of a new link answers the greeting. */
void greet(struct fixture *f, struct elapse__router_link *link);
/* The link is cut. */
void cut(struct fixture *f, struct elapse__router_link *link);
/* Returns the last link that was opened. */
struct elapse__router_link *last(struct fixture *f);

/* The first begins the definition of a test that gets the fixture, `f`. The second begins one that
 * also gets a client, `c`. */
#define ROUTER_TEST(function) TEST_GIVEN(function, struct fixture, f, set_up, tear_down)
#define CLIENT_TEST(function)                                                      \
    static void function##_by(struct fixture *f, struct elapse__router_client *c); \
    ROUTER_TEST(function)                                                          \
    {                                                                              \
        function##_by(f, client(f));                                               \
    }                                                                              \
    static void function##_by(struct fixture *f, struct elapse__router_client *c)

#endif
