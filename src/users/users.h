/*
 * Knows the users in the file of --users, and says whether a user may run a command. This room is
 * pure: its caller gives it the text of the file, and a function that makes the digest of a
 * password.
 *
 *      parse.c    the text of the file --> a table of users
 *      rights.c   a user, a command and its arguments --> yes, or what is missing
 *
 * A line is NAME #SHA256[,#SHA256...] RIGHTS [TUBES]. RIGHTS and TUBES are words with commas
 * between them. A tube that ends with '*' stands for all tubes whose names begin with the text
 * before it. Without TUBES the user has all tubes. Empty lines, and lines that begin with '#', are
 * ignored.
 */
#ifndef ELAPSE__USERS_USERS_H
#define ELAPSE__USERS_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../protocol/resp_parse.h"
#include "../protocol/resp_write.h"
#include "rules.h"

enum {
    ELAPSE__DIGEST_BYTES = 32,     /* the bytes of a digest of SHA-256 */
    ELAPSE__USER_NAME_MAX = 64,    /* the most bytes of a name */
    ELAPSE__USER_PASSWORDS_MAX = 4 /* a user has two while one is changed */
};

/* A function that writes the SHA-256 of some bytes. It returns false if there is no memory. */
typedef bool elapse__digest(const void *bytes, size_t size,
                            unsigned char digest[ELAPSE__DIGEST_BYTES]);

struct elapse__user {
    struct elapse__wire_resp_argument name;  /* points into the text of the file */
    struct elapse__wire_resp_argument tubes; /* names with commas between them; empty: all tubes */
    uint32_t line;
    uint8_t rights; /* the bits of enum elapse__right */
    bool has_all_tubes;
    uint8_t digest_count;
    unsigned char digests[ELAPSE__USER_PASSWORDS_MAX][ELAPSE__DIGEST_BYTES];
};

/* The table of users. It begins as zeros. */
struct elapse__users {
    struct elapse__user *users;
    size_t count;
    uint64_t serial; /* differs for each table that the process has had; not 0 */
    elapse__digest *digest;
};

/* ---- parse.c ---- */

struct elapse__users_fault {
    uint32_t line; /* the number of the wrong line, from 1; 0: the fault is in no single line */
    char text[160];
};

/* Makes the table from the text of a file. The text must stay where it is as long as the table is
 * used. If a line is wrong, fills `fault`, makes no table, and returns false. */
bool elapse__users_parse(struct elapse__users *users, const char *text, size_t size,
                         struct elapse__users_fault *fault);

void elapse__users_free(struct elapse__users *users);

/* ---- rights.c ---- */

/* Returns the user with this name. Returns NULL if there is no such user. */
const struct elapse__user *elapse__users_named(const struct elapse__users *users, const void *name,
                                               size_t size);

/* Returns the user with this name and this password, and stores the digest of the password. Returns
 * NULL if there is no such user. Does the same work for each name, so the time does not tell which
 * names exist. */
const struct elapse__user *elapse__users_find(const struct elapse__users *users,
                                              struct elapse__wire_resp_argument name,
                                              struct elapse__wire_resp_argument password,
                                              unsigned char digest[ELAPSE__DIGEST_BYTES]);

/* The identity of a connection, which says who its client is. If it is zeros, no password is
 * needed, or the client is the user "default". */
struct elapse__identity {
    const struct elapse__user *user; /* NULL: the client may do everything */
    uint64_t serial; /* the serial of the table of `user`; 0: the user is in no table */
    unsigned char digest[ELAPSE__DIGEST_BYTES];
};

/* Finds the user of an identity again, by the password, if the table has changed. If the password
 * is no longer in the table, clears the identity and returns false. */
bool elapse__identity_refresh(struct elapse__identity *identity, const struct elapse__users *users);

/* A user whose only right is to be a node. A client that gives a password of --node-password is
 * this user. */
extern const struct elapse__user elapse__user_node;
struct elapse__identity elapse__identity_node(void);

/* A user without rights. If another node names a user whom this node does not know, the command
 * runs as this user. */
extern const struct elapse__user elapse__user_nobody;

/* Write the answer to WHOAMI, a map: the name of the user, its rights, and its tubes or null for
 * all. NULL is the user "default", who may do everything. elapse__user_bytes returns how many bytes
 * the map takes at most. */
size_t elapse__user_bytes(const struct elapse__user *user);
void elapse__user_write(struct elapse__wire_resp_writer *writer, const struct elapse__user *user);

/* Returns whether the user has this right for a tube. */
bool elapse__user_may(const struct elapse__user *user, enum elapse__right right, const void *tube,
                      size_t size);

/* Returns whether the user has this right for all tubes. */
bool elapse__user_may_all(const struct elapse__user *user, enum elapse__right right);

/* What a user lacks to run a command. */
struct elapse__refusal {
    enum elapse__right right;
    struct elapse__wire_resp_argument
        tube;    /* the tube for which the right is missing; empty: all tubes, or any */
    bool of_all; /* the right is needed for all tubes */
};

/* Returns whether a user may run a command with these arguments. The first argument is the name of
 * the command. If the user may not, fills `refusal`. For a command by id, tests only whether the
 * user has the right for any tube. The function that runs the command tests the tube of each job by
 * elapse__user_may. A command with too few arguments is allowed, because it is not run. The
 * function has no effect, so it may be called again when a command is run later. */
bool elapse__user_may_run(const struct elapse__user *user,
                          const struct elapse__wire_resp_argument *arguments, uint32_t count,
                          struct elapse__refusal *refusal);

enum { ELAPSE__REFUSAL_BYTES = 320 };

/* Writes the text of an error that says what a user lacks. The text begins with "NOPERM ". */
void elapse__refusal_write(char text[ELAPSE__REFUSAL_BYTES], const struct elapse__user *user,
                           const struct elapse__refusal *refusal);

#endif
