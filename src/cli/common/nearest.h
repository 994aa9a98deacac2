/*
 * Finds the names that are like a word that a user has mistyped: "stat" is like "stats".
 */
#ifndef ELAPSE_CLI_COMMON_NEAREST_H
#define ELAPSE_CLI_COMMON_NEAREST_H

#include <stddef.h>

#include "text.h"

/* How many names are kept, and the longest word and name that are compared. */
enum { NEAREST_MAX = 3, NEAREST_BYTES = 200 };

struct nearest {
    const char *wanted;
    size_t wanted_length;
    size_t count; /* of the names that were found, the nearest first */
    struct {
        size_t distance;
        size_t length;
        char name[NEAREST_BYTES];
    } found[NEAREST_MAX];
};

/* Room for the question. */
struct nearest_question {
    char text[NEAREST_MAX * sizeof(struct quoted) + sizeof "; did you mean , or ?"];
};

/* Begins a search for names like a word, which must outlive the search. */
void nearest_begin(struct nearest *nearest, const char *wanted, size_t length);

/* Looks at a name, and keeps a copy of it if it is like the word: if the name begins with the word,
 * if they differ in capitals alone, or if few letters are wrong, missing, too many or exchanged.
 * Names of more than NEAREST_BYTES are left out. Costs the product of both lengths. */
void nearest_offer(struct nearest *nearest, const char *name, size_t length);

/* Returns "; did you mean 'a', 'b' or 'c'?" with the names that are nearest, all as near as each
 * other; or an empty text if no name is like the word. */
struct nearest_question nearest_ask(const struct nearest *nearest);

#endif
