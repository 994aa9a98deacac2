/*
 * The records of a replay, one for each arming, and the table that finds the
 * latest one of a key.
 */
#ifndef ELAPSE_CLI_REPLAY_RECORDS_H
#define ELAPSE_CLI_REPLAY_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/timer.h>

#include "../common/message.h"

/* A key can be any bytes, so the hash must be good, and is at hand anyway. */
#include <xxhash.h>
#define HASH_FUNCTION(key, length, hash) ((hash) = (unsigned)XXH3_64bits((key), (length)))
#define uthash_fatal(message)            out_of_memory()
#include <uthash.h>
#include <utlist.h>

struct record {
    struct elapse_timer timer; /* first: a timer's record is found by a cast */

    /* What applying knows: judged from these, never from the timer. */
    uint64_t deadline_tick;
    uint64_t deadline_us;
    struct record *next_ended; /* list of those that fired or were stopped */
    bool armed;                /* started, and neither fired nor stopped since */
    bool ended;                /* in the list */
    bool digest_due;           /* fired, and not yet in the digest */

    /* What reading knows. */
    bool is_latest; /* in the table: its key has no later record, nor is cancelled */
    uint64_t trace_deadline_us;

    /* Among all records, whether the structure still has them or not. */
    struct record *prev;
    struct record *next;

    UT_hash_handle hh;
    size_t key_length;
    char key[];
};

/* The table, empty when it is all zero, and the list of the records it has made. */
struct record_table {
    struct record *first;
    struct record *all;
};

/* The latest record of the key, or NULL. */
struct record *record_find(const struct record_table *table, const char *key, size_t length);

/* A new record, now the latest of its key; `older`, which was that, may be NULL. */
struct record *record_new(struct record_table *table, struct record *older, const char *key,
                          size_t length);

/* Takes the record out of the table if it is there; its memory stays. */
void record_forget(struct record_table *table, struct record *record);

/* Forgets and frees the record. */
void record_free(struct record_table *table, struct record *record);

/* Empties the table, and frees every record that is left. */
void record_table_free(struct record_table *table);

#endif
