/*
 * The upper floor of the queue (inner.h has the floors): functions that several commands share. A
 * group is the records of one command.
 */
#ifndef ELAPSE__QUEUE_COMMANDS_H
#define ELAPSE__QUEUE_COMMANDS_H

#include "moves.h"

/* cancel.c: cancels an entry within a group. Returns REMOVED or RUNNING. */
enum elapse__queue_result elapse__queue_cancel_entry(struct elapse__queue *queue,
                                                     struct elapse__queue_entry *entry);

/* occurrence.c: ends the occurrence of a job: the job waits for its next occurrence, or ends. Call
 * it within a group; if `write` is false, it writes no records. */
void elapse__queue_end_occurrence(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                  bool write);

/* occurrence.c: called when a hand-out failed. The job waits for its retry, at least for
 * `least_ms`, or is buried. Within a group, or without records if `write` is false. */
void elapse__queue_fail_attempt(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                uint64_t least_ms, bool write);

/* occurrence.c: returns whether the time of the job's EXPIRE has passed. */
bool elapse__queue_has_expired(const struct elapse__queue *queue,
                               const struct elapse__queue_entry *entry);

/* occurrence.c: drops a job that has expired, or only its occurrence if it recurs. Makes a group of
 * its own. */
void elapse__queue_drop_expired(struct elapse__queue *queue, struct elapse__queue_entry *entry);

/* look_up.c: describes a job. */
void elapse__queue_fill_view(const struct elapse__queue *queue,
                             const struct elapse__queue_entry *entry,
                             struct elapse__queue_view *view);

/* Returns the answer of a command that wrote nothing. */
static inline struct elapse__queue_answer elapse__queue_say(enum elapse__queue_result result,
                                                            uint64_t id)
{
    return (struct elapse__queue_answer){.result = result, .id = id};
}

/* Returns the answer of a command with a wrong argument. */
static inline struct elapse__queue_answer elapse__queue_fault(const char *fault)
{
    ELAPSE__ASSERT(fault[0] != '\0');
    return (struct elapse__queue_answer){.result = ELAPSE__QUEUE_ARGUMENT, .fault = fault};
}

#endif
