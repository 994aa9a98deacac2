/*
 * What the tests of RESP share: clients that speak it, over the fixture of the core.
 *
 * Commands are words between blanks. 'A word with blanks' stands between quotation marks. Replies
 * are RESP, with a bar in place of each line end: "*2|:1|+scheduled|".
 */
#ifndef ELAPSE_TESTS_SERVER_TALK_H
#define ELAPSE_TESTS_SERVER_TALK_H

#include "fixture.h"

/* Sets up a server that speaks RESP alone. */
int set_up_resp(void **state);

/* The one client of most tests; the fixture connects it. */
extern struct client c;

/* Sends a command. */
void ask(struct client *client, const char *words);
/* Sends one with these arguments, which may have any bytes. */
void ask_bytes(struct client *client, unsigned count, const char *const *arguments,
               const size_t *sizes);

/* Sends a command `count` times, at once: "%u" in it is the number, from 0. Everything becomes
 * durable, and the replies are not looked at. */
void ask_many(struct client *client, unsigned count, const char *words);

/* Everything becomes durable. Expects that all output since is this reply. */
void hear(struct client *client, const char *reply);

/* Sends a command, and expects this reply, which comes when everything is durable. */
void answers(struct client *client, const char *words, const char *reply);

/* The same, but only the beginning of the reply counts. */
void begins(struct client *client, const char *words, const char *reply);

/* The same for the client `c`. */
void says(const char *words, const char *reply);

#define RESP_TEST(function) TEST_WITH(function, set_up_resp, tear_down)

#endif
