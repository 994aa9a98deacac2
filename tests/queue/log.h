/*
 * A log in memory, to which the queue of a test writes. It keeps the records in order and counts
 * live bytes. A test can replay it into another queue, and clean it from its oldest record on.
 */
#ifndef ELAPSE_TESTS_QUEUE_LOG_H
#define ELAPSE_TESTS_QUEUE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queue.h"

struct log_record {
    struct elapse__record record; /* owns fields and body */
    uint64_t position;
    int64_t live; /* bytes that count as live */
    unsigned group;
};

struct log {
    struct elapse__record_sink sink; /* first: a cast leads to the log */
    struct log_record *records;
    size_t count, room;
    size_t tail; /* records before this one were cleaned away */
    uint64_t next_position;
    unsigned groups;
    bool in_group;
    uint64_t group_left; /* bytes that the open group may still take */
    unsigned refusals;   /* how many of the next groups are refused */
    int refusal;         /* with this error; 0: the disk is full */
    unsigned begins;
    enum elapse__record_purpose purpose; /* of the last group */
};

void log_init(struct log *log);
void log_free(struct log *log);

/* Replays all records from the tail on. Returns the first result that is not OK, or OK. */
enum elapse__queue_result log_replay(const struct log *log, struct elapse__queue *queue);

/* Lets the queue clean the `records` oldest records, and drops them. Returns false if the queue
 * failed to clean a record; that record is then still there. */
bool log_clean(struct log *log, struct elapse__queue *queue, struct elapse__queue_now now,
               size_t records);

bool log_is_put(const struct log *log, uint64_t position);

/* The first returns the live bytes of the records of jobs from the tail on, the second those of the
 * dropped records of jobs and tubes, which must be 0. Tokens are left out, because the moment of
 * their end depends on the rounding of two clocks. */
int64_t log_live(const struct log *log);
int64_t log_live_dropped(const struct log *log);

/* Returns the body of the record at a position; its size is 0 if there is no such record. */
struct elapse__queue_text log_body(const struct log *log, uint64_t position);

/* Returns how many records of a type the log has from the tail on. */
size_t log_records(const struct log *log, enum elapse__record_type type);

#endif
