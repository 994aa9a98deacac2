/*
 * Reads a file of passwords, which --auth or --node-password names. The file has one password on
 * each line. Empty lines, and lines that begin with '#', are no passwords. Blanks around a password
 * do not count.
 */
#ifndef ELAPSE__LOOP_TOKENS_H
#define ELAPSE__LOOP_TOKENS_H

#include <stdbool.h>

#include "../core/core.h"

enum { ELAPSE__TOKENS_BYTES_MAX = 1 << 20, ELAPSE__TOKENS_FAULT_BYTES = 256 };

struct elapse__tokens {
    struct elapse__queue_text *texts; /* the passwords; the texts point into `memory` */
    size_t count;
    char *memory;
};

/* Reads a file of secrets, and returns its text, which the caller must free. Returns NULL, and says
 * why in `fault`, if the file cannot be read, is too long, or every user of the machine may read or
 * write it. */
char *elapse__secrets_read(const char *path, size_t *length,
                           char fault[ELAPSE__TOKENS_FAULT_BYTES]);

/* Reads the file. Returns false, and says why in `fault`, if the file cannot be read, is too long,
 * or has no password. */
bool elapse__tokens_read(const char *path, struct elapse__tokens *tokens,
                         char fault[ELAPSE__TOKENS_FAULT_BYTES]);

void elapse__tokens_free(struct elapse__tokens *tokens);

#endif
