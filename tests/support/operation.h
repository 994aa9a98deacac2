/*
 * One operation on a structure, as data, so that a run can be recorded, shrunk, printed and
 * repeated. The comment of each operation says what `timer`, `first` and `second` mean.
 */
#ifndef ELAPSE_TESTS_OPERATION_H
#define ELAPSE_TESTS_OPERATION_H

#include <stdint.h>
#include <stdio.h>

enum operation_kind {
    OPERATION_START,         /* timer, first: deadline */
    OPERATION_START_WINDOW,  /* timer, first: earliest, second: latest */
    OPERATION_STOP,          /* timer */
    OPERATION_ADVANCE,       /* first: now */
    OPERATION_POP,           /* once */
    OPERATION_POP_ALL,       /* again and again, until NULL */
    OPERATION_CASCADE,       /* once; first: max_moves */
    OPERATION_CASCADE_ALL,   /* again and again, until true; first: max_moves, not 0 */
    OPERATION_CASCADE_AHEAD, /* of a wheel, once; first: max_moves */
    OPERATION_FOLLOW_NEXT,   /* advance to next, pop until NULL */
    OPERATION_INSPECT,       /* compare everything that can be asked */
    OPERATION_STOP_VISITED,  /* for_each stops timers whose number % first == 0 */
    OPERATION_CLEAR,
    OPERATION_KINDS
};

struct operation {
    enum operation_kind kind;
    unsigned timer;
    uint64_t first;
    uint64_t second;
};

/* Prints the operation on a line, as a person would write the call. */
void operation_print(FILE *out, const struct operation *operation);

#endif
