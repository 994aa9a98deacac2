/*
 * The layer above the kinds of commands: each command is taken, and each answer, by its kind; and
 * above that, clients are worked on.
 */
#ifndef ELAPSE__ROUTER_TAKE_H
#define ELAPSE__ROUTER_TAKE_H

#include "kinds.h"

/* ---- take.c ---- */

enum elapse__router_taken {
    ELAPSE__ROUTER_TAKEN,
    ELAPSE__ROUTER_TAKEN_LATER, /* the client is in the `blocked` ring of a lane, or a reply wakes
                                   it */
};

/* Makes a command into fragments. */
enum elapse__router_taken elapse__router_take(struct elapse__router_client *client,
                                              const struct elapse__wire_resp_argument *arguments,
                                              uint32_t count);

/* ---- answer.c ---- */

/* Takes the end of a fragment into the reply of its command. */
elapse__router_fragment_ended elapse__router_command_answer;

/* ---- client.c ---- */

/* Gives a client of the ring `work` its turn. Returns whether it has more to do. */
bool elapse__router_client_work(struct elapse__router_client *client);

#endif
