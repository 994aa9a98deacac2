/*
 * Finds names that are similar to a word that a user has mistyped: "stat" is similar to "stats".
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
    size_t count; /* how many names were found; the nearest comes first */
    struct {
        size_t distance;
        size_t length;
        char name[NEAREST_BYTES];
    } found[NEAREST_MAX];
};

/* Room for the text "; did you mean ...?". */
struct nearest_question {
    char text[NEAREST_MAX * sizeof(struct quoted) + sizeof "; did you mean , or ?"];
};

/* Begins a search for names similar to a word. The word must not change during the search. */
void nearest_begin(struct nearest *nearest, const char *wanted, size_t length);

/* Looks at a name, and keeps a copy if it is similar to the word. It is if it begins with the word,
 * if only upper and lower case differ, or if few letters are wrong, missing, too many or exchanged.
 * Leaves names of more than NEAREST_BYTES out. Cost: the product of both lengths. */
void nearest_offer(struct nearest *nearest, const char *name, size_t length);

/* Returns "; did you mean 'a', 'b' or 'c'?" with the nearest names, which all have the same
 * distance. Returns an empty text if no name is similar to the word. */
struct nearest_question nearest_ask(const struct nearest *nearest);

#endif
