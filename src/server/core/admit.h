/*
 * Decides whose name and password these are. Pure.
 *
 * Three kinds of passwords: those of --auth, of the user "default", who may do everything; those of
 * --node-password, of other nodes; those of the users of --users.
 */
#ifndef ELAPSE__CORE_ADMIT_H
#define ELAPSE__CORE_ADMIT_H

#include "../../queue/queue.h"
#include "../../users/users.h"

/* All passwords. Begins as zeros: none is needed. */
struct elapse__keys {
    const struct elapse__queue_text *passwords;
    size_t password_count;
    const struct elapse__queue_text *node_passwords;
    size_t node_password_count;
    const struct elapse__users *users; /* NULL: there is no file of users */
};

/* Returns whether a client has to give a password. */
static inline bool elapse__keys_are_needed(const struct elapse__keys *keys)
{
    return keys->password_count > 0 || keys->users != NULL;
}

/* Returns whether this user has this password (nodes say that they are default), and stores who it
 * is. If no password is needed, there is the user default alone, and any password is right. Does
 * the same work whether or not there is such a user. */
bool elapse__admit(const struct elapse__keys *keys, struct elapse__wire_resp_argument name,
                   struct elapse__wire_resp_argument password, struct elapse__identity *identity);

/* Splits the token of "Authorization: Bearer", which is a password of the user default or
 * NAME:PASSWORD, and does the same. Stores which name and which password it has. */
bool elapse__admit_token(const struct elapse__keys *keys, const char *token,
                         struct elapse__wire_resp_argument *name,
                         struct elapse__wire_resp_argument *password,
                         struct elapse__identity *identity);

/* Returns whether `password` is one of `passwords`. Takes the same time for each `password`. */
bool elapse__password_is_among(const struct elapse__queue_text *passwords, size_t count,
                               struct elapse__wire_resp_argument password);

#endif
