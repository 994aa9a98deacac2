/*
 * The records of a replay, one for each arming (replay.h), and a table that finds the latest record
 * of a key.
 */
#ifndef ELAPSE_CLI_REPLAY_RECORDS_H
#define ELAPSE_CLI_REPLAY_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/timer.h>

#include "../common/message.h"

/* uthash needs a good hash, because a key may be any bytes. */
#include <xxhash.h>
#define HASH_FUNCTION(key, length, hash) ((hash) = (unsigned)XXH3_64bits((key), (length)))
#define uthash_malloc(bytes)             allocate(bytes)
#include <uthash.h>
#include <utlist.h>

struct record {
    struct elapse_timer timer; /* must be first, so that a cast finds the record of a timer */

    /* Only the stage that applies uses these fields. */
    uint64_t deadline_tick;
    uint64_t deadline_us;
    struct record *next_ended; /* in the list of records that have fired or were stopped */
    bool armed;                /* started, and neither fired nor stopped since */
    bool ended;                /* is in that list */
    bool digest_due;           /* fired, but not in the digest yet */

    /* Only the stage that reads uses these fields. */
    bool is_latest; /* in the table: no later record has its key, and it was not cancelled */
    uint64_t trace_deadline_us;

    /* The neighbours in the list of all records. */
    struct record *prev;
    struct record *next;

    UT_hash_handle hh;
    size_t key_length;
    char key[];
};

/* The table and the list of all records. Both are empty if they are zeros. */
struct record_table {
    struct record *first;
    struct record *all;
};

/* Returns the latest record of the key, or NULL. */
struct record *record_find(const struct record_table *table, const char *key, size_t length);

/* Returns a new record, which is the latest of its key. `older` is the record of the key before it,
 * or NULL. */
struct record *record_new(struct record_table *table, struct record *older, const char *key,
                          size_t length);

/* Removes the record from the table, but keeps its memory. */
void record_forget(struct record_table *table, struct record *record);

/* Removes the record from the table and the list, and frees it. */
void record_free(struct record_table *table, struct record *record);

/* Frees all records. */
void record_table_free(struct record_table *table);

#endif
