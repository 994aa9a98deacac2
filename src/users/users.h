/*
 * Who may do what: the users of the file of --users, and what a command may do as one of them.
 * Pure: the text of the file comes in, and the digest of passwords is a function that the shell
 * gives.
 *
 *      parse.c    the text of the file --> a table of users
 *      rights.c   a user, a command and its arguments --> yes, or what is missing
 *
 * A line is NAME #SHA256[,#SHA256...] RIGHTS [TUBES]. RIGHTS and TUBES are words with commas
 * between them. A tube that ends with '*' stands for all tubes that begin so; without TUBES the
 * user has all tubes. Empty lines, and lines that begin with '#', say nothing.
 */
#ifndef ELAPSE__USERS_USERS_H
#define ELAPSE__USERS_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../protocol/resp_parse.h"
#include "rules.h"

enum {
    ELAPSE__DIGEST_BYTES = 32,     /* of SHA-256 */
    ELAPSE__USER_NAME_MAX = 64,    /* bytes */
    ELAPSE__USER_PASSWORDS_MAX = 4 /* of one user: to change one, add the new one first */
};

/* Writes the SHA-256 of some bytes. Returns false if there is no memory. */
typedef bool elapse__digest(const void *bytes, size_t size,
                            unsigned char digest[ELAPSE__DIGEST_BYTES]);

struct elapse__user {
    struct elapse__wire_resp_argument name;  /* into the text of the file */
    struct elapse__wire_resp_argument tubes; /* with commas; empty: all */
    uint32_t line;
    uint8_t rights; /* enum elapse__right */
    bool has_all_tubes;
    uint8_t digest_count;
    unsigned char digests[ELAPSE__USER_PASSWORDS_MAX][ELAPSE__DIGEST_BYTES];
};

/* The table. Begins as zeros. */
struct elapse__users {
    struct elapse__user *users;
    size_t count;
    uint64_t serial; /* differs for each table that the process has had; not 0 */
    elapse__digest *digest;
};

/* ---- parse.c ---- */

struct elapse__users_fault {
    uint32_t line; /* from 1; 0: the file as a whole */
    char text[160];
};

/* Reads the text of a file, which stays where it is as long as the table. If a line is wrong, fills
 * `fault` and returns false; there is no table then. */
bool elapse__users_parse(struct elapse__users *users, const char *text, size_t size,
                         struct elapse__users_fault *fault);

void elapse__users_free(struct elapse__users *users);

/* ---- rights.c ---- */

/* Returns the user of this name; NULL: there is none. */
const struct elapse__user *elapse__users_named(const struct elapse__users *users, const void *name,
                                               size_t size);

/* Returns the user with this name and this password, and stores the digest of the password; NULL:
 * there is none. Does the same work for each name. */
const struct elapse__user *elapse__users_find(const struct elapse__users *users,
                                              struct elapse__wire_resp_argument name,
                                              struct elapse__wire_resp_argument password,
                                              unsigned char digest[ELAPSE__DIGEST_BYTES]);

/* Who a connection is. Zeros: everybody where no password is needed, or the user "default". */
struct elapse__identity {
    const struct elapse__user *user; /* NULL: may do everything */
    uint64_t serial;                 /* of the table that `user` is in; 0: in none */
    unsigned char digest[ELAPSE__DIGEST_BYTES];
};

/* Finds the user of an identity again, if the table is another one than before: by its password.
 * Returns false if the password is no longer in the table, and then clears the identity. */
bool elapse__identity_refresh(struct elapse__identity *identity, const struct elapse__users *users);

/* A user with the right to be a node alone: who gives a password of --node-password. */
extern const struct elapse__user elapse__user_node;
struct elapse__identity elapse__identity_node(void);

/* A user without rights: one that a node names and this node does not know. */
extern const struct elapse__user elapse__user_nobody;

/* Returns whether the user has this right for a tube. */
bool elapse__user_may(const struct elapse__user *user, enum elapse__right right, const void *tube,
                      size_t size);

/* Returns whether the user has this right for all tubes. */
bool elapse__user_may_all(const struct elapse__user *user, enum elapse__right right);

/* What a user lacks. */
struct elapse__refusal {
    enum elapse__right right;
    struct elapse__wire_resp_argument tube; /* no bytes: for all tubes, or for any */
    bool of_all;                            /* the right is needed for all tubes */
};

/* Returns whether a user may run a command with these arguments, of which the first one is its
 * name. If not, fills `refusal`. Of a command by id only the right is tested: who runs the command
 * tests the tube of each job by elapse__user_may. A command with too few arguments is allowed,
 * because nobody runs it. Pure and repeatable: it may be asked again when a command is run later.
 */
bool elapse__user_may_run(const struct elapse__user *user,
                          const struct elapse__wire_resp_argument *arguments, uint32_t count,
                          struct elapse__refusal *refusal);

enum { ELAPSE__REFUSAL_BYTES = 320 };

/* Writes what a user lacks as the text of an error, which begins with "NOPERM ". */
void elapse__refusal_write(char text[ELAPSE__REFUSAL_BYTES], const struct elapse__user *user,
                           const struct elapse__refusal *refusal);

#endif
