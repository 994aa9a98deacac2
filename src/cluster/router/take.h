/*
 * The highest layer of the router. Takes commands and answers, each by the kind of its command, and
 * gives clients their turns.
 */
#ifndef ELAPSE__ROUTER_TAKE_H
#define ELAPSE__ROUTER_TAKE_H

#include "kinds.h"

/* ---- take.c ---- */

enum elapse__router_taken {
    ELAPSE__ROUTER_TAKEN,
    ELAPSE__ROUTER_TAKEN_LATER, /* the client waits in `blocked` of a lane, or for a reply */
};

/* Makes fragments of a command. */
enum elapse__router_taken elapse__router_take(struct elapse__router_client *client,
                                              const struct elapse__wire_resp_argument *arguments,
                                              uint32_t count);

/* ---- answer.c ---- */

/* Called when a fragment has ended. Adds its answer or its error to the reply of its command. */
elapse__router_fragment_ended elapse__router_command_answer;

/* ---- client.c ---- */

/* Gives a client of the ring `work` its turn. Returns whether the client has more to do. */
bool elapse__router_client_work(struct elapse__router_client *client);

#endif
