/*
 * A router whose clients and links are in the hands of a test: texts in, texts out.
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
    struct elapse__router_link *links[LINKS_MAX]; /* that were opened, in their order */
    uint32_t link_count;
    bool is_here; /* links that are opened lead to a core of this process */
    char *text;   /* what output_of returned last */
};

/* Two partitions: 0 is here, 1 is there. Both have open links, which were greeted: links[0] and
 * links[1]. */
int set_up(void **state);
int tear_down(void **state);

/* Begins anew, with other options, and the links that follow. */
void begin(struct fixture *f);

/* A turn, and the invariants. Opens the links that are wanted; they are not greeted. */
void turn(struct fixture *f);
/* Lets time pass first. */
void pass(struct fixture *f, uint64_t ms);

struct elapse__router_client *client(struct fixture *f);

/* A client sends a line of words as a command; several lines are several commands. */
void say(struct fixture *f, struct elapse__router_client *from, const char *lines);
/* Bytes as they are. */
void say_bytes(struct fixture *f, struct elapse__router_client *from, const char *bytes);

/* What a client has got since the last call, all of it sent. */
const char *got(struct fixture *f, struct elapse__router_client *from);
void expect(struct fixture *f, struct elapse__router_client *from, const char *bytes);

/* What a link has to send, all of it sent; commands as lines of words. */
const char *sent(struct fixture *f, struct elapse__router_link *link);
void expect_sent(struct fixture *f, struct elapse__router_link *link, const char *lines);
/* The other end answers. */
void answer(struct fixture *f, struct elapse__router_link *link, const char *bytes);
/* The other end of a link that was just opened takes the greeting. */
void greet(struct fixture *f, struct elapse__router_link *link);
/* The link is cut. */
void cut(struct fixture *f, struct elapse__router_link *link);
/* The last link that was opened. */
struct elapse__router_link *last(struct fixture *f);

/* Begin the definition of a test that gets the fixture, `f`, and one that also gets a client, `c`.
 */
#define ROUTER_TEST(function) TEST_GIVEN(function, struct fixture, f, set_up, tear_down)
#define CLIENT_TEST(function)                                                      \
    static void function##_by(struct fixture *f, struct elapse__router_client *c); \
    ROUTER_TEST(function)                                                          \
    {                                                                              \
        function##_by(f, client(f));                                               \
    }                                                                              \
    static void function##_by(struct fixture *f, struct elapse__router_client *c)

#endif
