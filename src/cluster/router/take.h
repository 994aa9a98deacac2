/*
 * The highest layer. Takes commands and answers, each by the kind of the command, and gives clients
 * their turns.
 */
#ifndef ELAPSE__ROUTER_TAKE_H
#define ELAPSE__ROUTER_TAKE_H

#include "kinds.h"

/* ---- take.c ---- */

enum elapse__router_taken {
    ELAPSE__ROUTER_TAKEN,
    ELAPSE__ROUTER_TAKEN_LATER, /* the client is in the ring `blocked` of a lane, or goes on after a
                                   reply */
};

/* Makes a command into fragments. */
enum elapse__router_taken elapse__router_take(struct elapse__router_client *client,
                                              const struct elapse__wire_resp_argument *arguments,
                                              uint32_t count);

/* ---- answer.c ---- */

/* Called when a fragment has ended. Adds its answer or error to the reply of its command. */
elapse__router_fragment_ended elapse__router_command_answer;

/* ---- client.c ---- */

/* Gives a client of the ring `work` its turn. Returns whether it has more to do. */
bool elapse__router_client_work(struct elapse__router_client *client);

#endif
