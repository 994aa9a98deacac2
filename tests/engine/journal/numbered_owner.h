/*
 * A simple owner of a journal, for tests. It has jobs with numbers. Each job has a value, and a
 * body that is computed from its number.
 *
 * After each command the owner notes a hash of all jobs. After a crash, the jobs must be as they
 * were after some command, and this command must not be older than the last acknowledged one. If
 * that is so, no acknowledged command is lost, no ended job is back, and no command is half done.
 */
#ifndef ELAPSE_TESTS_NUMBERED_OWNER_H
#define ELAPSE_TESTS_NUMBERED_OWNER_H

#include "../../../src/engine/journal/journal.h"

enum { OWNER_JOBS_MAX = 1 << 14, OWNER_COMMANDS_MAX = 1 << 14 };

struct owner_job {
    uint64_t position;
    uint32_t value;
    uint32_t body_size;
    bool is_live;
};

struct owner_command {
    uint64_t position; /* durable as soon as the journal's durable position is there */
    uint64_t hash;     /* of all jobs after this command */
};

struct owner {
    struct elapse__journal *journal;
    const struct elapse_allocator *memory; /* of the journal; NULL: the C library's */
    struct owner_job jobs[OWNER_JOBS_MAX];
    uint32_t job_count; /* numbers are never used again */
    uint32_t live_count;
    uint64_t hash;
    uint64_t live_bytes;

    struct owner_command commands[OWNER_COMMANDS_MAX]; /* the first one stands for the begin */
    uint32_t command_count;
    uint32_t acknowledged; /* index of the last acknowledged command */
    const char *broken;    /* what replay has found wrong */

    /* When cleaning copies a job with the value 1, the copy has a body that is so much longer, and
     * the value 2. So the record grows, as that of a job that was handed out grows by its counters.
     * The hashes do not take note of this. */
    uint32_t growth_bytes;
    uint32_t longer_copies; /* live jobs with the value 1 */

    uint32_t excess_bytes; /* each live job counts for so many bytes too many */

    /* How many records were replayed, and of how many of them `fetch` told before: once, twice. */
    uint64_t replayed, heard, heard_twice;
    uint64_t news[2][64]; /* digests of the records of which `fetch` told last: far, near */
    uint64_t news_count[2];
};

void owner_begin(struct owner *owner);
struct elapse__journal_owner owner_callbacks(struct owner *owner);

/* Opens the journal at `data` of these files, and replays it into an owner that has forgotten all.
 * Returns false if the journal refuses. */
bool owner_open(struct owner *owner, const struct elapse__files *files, unsigned segment_bits,
                uint32_t interval_ms, struct elapse__journal_refusal *refusal);

/* Commands. Each returns 0, or the error of begin. */
int owner_put(struct owner *owner, uint32_t body_size, enum elapse__record_purpose purpose);
int owner_put_durably(struct owner *owner, uint32_t body_size); /* returns when it is durable */
int owner_change(struct owner *owner, uint32_t number, uint32_t value);
int owner_delete(struct owner *owner, uint32_t number);
int owner_replace(struct owner *owner, uint32_t old, uint32_t body_size); /* delete, put, change */

/* Notes which commands the journal acknowledges. */
void owner_acknowledge(struct owner *owner);

/* Forgets all jobs, before they are replayed. */
void owner_forget(struct owner *owner);

/* Searches the command `oldest` and the newer ones for one after which the jobs were as they are
 * now. Returns false if there is none. Forgets the commands after it. */
bool owner_matches(struct owner *owner, uint32_t oldest);

/* Reads the bodies of all live jobs. Returns what is wrong, or NULL. */
const char *owner_read_all(struct owner *owner);

/* Returns a live job, which the random number chooses; OWNER_JOBS_MAX if there is none. */
uint32_t owner_any_live(const struct owner *owner, uint64_t random);

#endif
