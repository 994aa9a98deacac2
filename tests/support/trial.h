/*
 * A trial: runs one structure in step with the oracle (oracle.h). Each operation is done on both,
 * and each answer of the structure is checked against the promises (docs/promises.md). Timers that
 * are not pending are released (released.h), so that every trial checks promise 12.
 */
#ifndef ELAPSE_TESTS_TRIAL_H
#define ELAPSE_TESTS_TRIAL_H

#include "kind.h"
#include "operation.h"
#include "oracle.h"

struct trial_options {
    const struct kind *kind;
    uint64_t origin;
    size_t timers;   /* up to ORACLE_CAPACITY */
    size_t capacity; /* of the storage at first. When the storage is full, it doubles */
};

struct trial {
    const struct kind *kind;
    const struct elapse_structure *structure;
    void *instance;
    void *storage;
    size_t capacity;
    size_t timer_count;
    struct elapse_timer *timers;
    bool check_each; /* call check after each operation */
    bool cascaded;   /* cascade has just said that the next pop moves no timer */
    bool popped_all; /* the last operation popped until NULL */
    uint64_t starts;
    uint64_t postponements;
    /* Since the structure was last empty: timers stopped, or moved to another
     * deadline, and spurious wake-ups. */
    uint64_t disturbances;
    uint64_t spurious_wake_ups;
    char failure[200];    /* what went wrong; empty: nothing */
    struct oracle oracle; /* the last member: its entries beyond `count` have no meaning */
};

/* Makes a trial of a fresh structure. Ends the program if there is no memory. */
void trial_open(struct trial *trial, const struct trial_options *options);

void trial_close(struct trial *trial);

/* Does one operation. Returns false if the structure broke a promise; `failure` says how. */
bool trial_apply(struct trial *trial, const struct operation *operation);

/* Advances to `next` and pops, until `next` is ELAPSE_NEVER. Returns false if the structure broke a
 * promise. */
bool trial_run_to_end(struct trial *trial);

/* Runs the trial to its end, inspects the structure, and clears it. */
bool trial_finish(struct trial *trial);

#endif
