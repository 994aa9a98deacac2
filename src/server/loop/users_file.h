/*
 * Reads the file of --users. src/users/users.h says what its lines are.
 */
#ifndef ELAPSE__LOOP_USERS_FILE_H
#define ELAPSE__LOOP_USERS_FILE_H

#include "../../users/users.h"
#include "tokens.h"

struct elapse__users_file {
    struct elapse__users users;
    char *memory; /* the text that the users point into */
};

/* Reads the file into a table with this serial. If the file cannot be read or a line is wrong,
 * returns false, and says why in `fault`, with the number of the line. */
bool elapse__users_file_read(const char *path, uint64_t serial, struct elapse__users_file *file,
                             char fault[ELAPSE__TOKENS_FAULT_BYTES]);

void elapse__users_file_free(struct elapse__users_file *file);

/* Writes the SHA-256 of a password. This function is an elapse__digest. */
bool elapse__users_digest(const void *bytes, size_t size,
                          unsigned char digest[ELAPSE__DIGEST_BYTES]);

#endif
