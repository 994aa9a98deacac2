/*
 * The upper floor of the queue (inner.h has the floors): functions that several commands share. A
 * group is the records of one command.
 */
#ifndef ELAPSE__QUEUE_COMMANDS_H
#define ELAPSE__QUEUE_COMMANDS_H

#include "arrivals.h"
#include "moves.h"

/* cancel.c: cancels an entry within a group. Returns REMOVED or RUNNING. */
enum elapse__queue_result elapse__queue_cancel_entry(struct elapse__queue *queue,
                                                     struct elapse__queue_entry *entry);

/* cancel.c: returns what is wrong with a new due time, or NULL. */
const char *elapse__queue_time_fault(struct elapse__queue_time time);

/* tell.c: tells who asked for it that a job ends, or its occurrence. Call it before the end. */
void elapse__queue_tell(const struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                        enum elapse__queue_outcome outcome);

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

/* dead_letters.c: drops buried jobs of the tube that are beyond its limits, the oldest first, each
 * in a group of its own. Examines up to `*most` jobs, and takes them off. Sets the alarm for the
 * rest. Returns how many were dropped. */
uint32_t elapse__queue_drop_buried(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                                   uint32_t *most);

/* look_up.c: describes a job. */
void elapse__queue_fill_view(const struct elapse__queue *queue,
                             const struct elapse__queue_entry *entry,
                             struct elapse__queue_view *view);

/* put.c: returns a phrase that says what is wrong with a put; NULL if nothing is, as far as the put
 * alone tells. */
const char *elapse__queue_put_fault(const struct elapse__queue *queue,
                                    const struct elapse__queue_put *put);

/* put.c: allocates what a put needs, for a transaction. Requires a put without a fault. Returns OK;
 * or ARGUMENT with `*fault`, NO_MEMORY or LIMIT: then nothing has changed. The texts of the put
 * stay valid. */
enum elapse__queue_result elapse__queue_put_prepare(struct elapse__queue *queue,
                                                    const struct elapse__queue_put *put,
                                                    struct elapse__queue_prepared *prepared,
                                                    const char **fault);

/* put.c: releases what was prepared. */
void elapse__queue_put_unprepare(struct elapse__queue *queue,
                                 struct elapse__queue_prepared *prepared);

/* put.c: returns how many bytes the records of this put take at most. */
uint64_t elapse__queue_put_bytes(const struct elapse__queue_put *put);

/* put.c: returns what is wrong with a token, which may be empty, and with its life; or NULL. */
const char *elapse__queue_token_fault(struct elapse__queue_text token, uint64_t life_ms);

/* put.c: writes a TOKEN with these fields, and links the token that was made for it. A life of 0 is
 * the default. Within a group. */
void elapse__queue_keep_token(struct elapse__queue *queue, uint32_t number,
                              struct elapse__hash_128 hash, struct elapse__queue_fields fields,
                              uint64_t life_ms);

/* arrive.c: returns what is wrong with an arrival, or NULL. */
const char *elapse__queue_arrival_fault(const struct elapse__queue *queue,
                                        const struct elapse__queue_arrival *arrival);

/* arrive.c: returns whether an earlier arrival at this key has had the token. Stores the hash of
 * the token if the arrival has one. */
bool elapse__queue_arrival_is_known(const struct elapse__queue *queue,
                                    const struct elapse__queue_arrival *arrival,
                                    struct elapse__hash_128 *hash);

/* arrive.c: returns how many bytes the TOKEN of an arrival takes at most; 0: it has no token. */
uint64_t elapse__queue_arrival_token_bytes(const struct elapse__queue_arrival *arrival);

/* Returns the job with an id that a client gave, or NULL. A client that guesses the id of a job
 * that its own transaction has put finds no job: room was made for the jobs that were there. */
static inline struct elapse__queue_entry *elapse__queue_named(const struct elapse__queue *queue,
                                                              uint64_t id)
{
    if (queue->transaction != NULL && id > queue->transaction->last_id)
        return NULL;
    return elapse__queue_entry_find(&queue->jobs, id);
}

/* cancel.c: cancels a job that was found. Its records are a group of their own. NULL: there is no
 * such job, and the answer is GONE. Requires that the queue has the present time. */
struct elapse__queue_answer elapse__queue_cancel_found(struct elapse__queue *queue,
                                                       struct elapse__queue_entry *entry);

/* pass.c: begins to move the groups of a tube to where its limits want them, also while they are
 * moved already. Until that is done the tube hands out nothing. Requires that the tube has
 * settings. */
void elapse__queue_groups_begin(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* pass.c: moves groups of all tubes where that has begun. Takes up to `*most` steps, and takes them
 * off: a place of the table is one, and the end of a tube's move, which is told as news. An alarm
 * goes on if that is not the end. Tubes may lose their settings, and end, by that. */
void elapse__queue_groups_move(struct elapse__queue *queue, uint32_t *most);

/* pass.c: after a start, a tube whose groups have an order hands out nothing until all is ready
 * that was due then: jobs become ready by their due times, and of a thousand at a time. The first
 * begins that; the second ends it when it is time, and returns whether it has to be called again
 * soon. `most` is as above; up to TURN_MAX tubes that begin to be moved come beside. */
void elapse__queue_open_order(struct elapse__queue *queue);
bool elapse__queue_catch_up(struct elapse__queue *queue, uint32_t *most);

/* lease.c: returns whether a worker holds this lease, of a job that was not cancelled. */
bool elapse__queue_is_leased_by(struct elapse__queue *queue, struct elapse__queue_now now,
                                const struct elapse__queue_holder *holder);

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
