/*
 * Decides to which user a name and a password belong. The functions are pure.
 *
 * There are three kinds of passwords. Those of --auth belong to the user "default", who may do
 * everything. Those of --node-password belong to other nodes. The file of --users has the passwords
 * of its users.
 */
#ifndef ELAPSE__CORE_ADMIT_H
#define ELAPSE__CORE_ADMIT_H

#include "../../queue/queue.h"
#include "../../users/users.h"

/* All passwords. The struct begins as zeros; then no password is needed. */
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

/* Returns whether the user of this name has this password, and stores in `*identity` who it is. A
 * node gives the name "default". If no password is needed, "default" is the only user, and any
 * password is right. The work is the same whether or not there is such a user, so that the time
 * tells nothing. */
bool elapse__admit(const struct elapse__keys *keys, struct elapse__wire_resp_argument name,
                   struct elapse__wire_resp_argument password, struct elapse__identity *identity);

/* Does the same for the token of "Authorization: Bearer". The token is a password of the user
 * "default", or NAME:PASSWORD. Stores the name and the password that the token has. */
bool elapse__admit_token(const struct elapse__keys *keys, const char *token,
                         struct elapse__wire_resp_argument *name,
                         struct elapse__wire_resp_argument *password,
                         struct elapse__identity *identity);

/* Returns whether `password` is one of `passwords`. Takes the same time for each `password`. */
bool elapse__password_is_among(const struct elapse__queue_text *passwords, size_t count,
                               struct elapse__wire_resp_argument password);

#endif
