/*
 * The middle floor of the queue (inner.h has the floors): moves a job between its states, writes
 * the records of these moves, and makes jobs. A group is the records of one command, and a sink
 * takes them. A side record, a tick and a due time are as in job.h and inner.h.
 */
#ifndef ELAPSE__QUEUE_MOVES_H
#define ELAPSE__QUEUE_MOVES_H

#include "tables.h"

/* ---- watches (watch.c) ---- */

/* Notes that the tube may have another job to hand out, so that its watch has news. */
void elapse__queue_watch_tell(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* ---- states (state.c) ---- */

static inline bool elapse__queue_is_leased(enum elapse__queue_state state)
{
    return state == ELAPSE__QUEUE_RESERVED || state == ELAPSE__QUEUE_SHADOW;
}

/* Returns the due time of a job; for a leased job, the due time that it had before the lease. */
struct elapse__queue_tick elapse__queue_due_of(const struct elapse__queue *queue,
                                               const struct elapse__queue_entry *entry);

/* Adds a job that is DELAYED or READY to the counters. Requires that the deadline of its timer is
 * set, and that it is in no counter. */
void elapse__queue_count_in(struct elapse__queue *queue, struct elapse__queue_entry *entry);

/* Takes a job out of its state. The job is in no state until one of the functions below puts it
 * into another. If the job is reserved, its lease ends. */
void elapse__queue_leave_state(struct elapse__queue *queue, struct elapse__queue_entry *entry);
void elapse__queue_enter_delayed(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                 struct elapse__queue_tick due);

/* Makes a job DELAYED while records are replayed: `due` is a tick of the wall clock, and no timer
 * is started. */
void elapse__queue_enter_replayed(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                  struct elapse__queue_tick due);

void elapse__queue_enter_buried(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                struct elapse__queue_tick due, enum elapse__queue_reason reason);

/* Makes a job RESERVED. Requires that it has a side record without a lease. The caller gives the
 * lease its name. */
void elapse__queue_enter_reserved(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                  struct elapse__queue_tick due,
                                  const struct elapse__queue_connection *connection);

/* Makes a job DELAYED, or READY if its time has come. Without memory for the heap the job is
 * DELAYED for 100 ms more. */
void elapse__queue_enter_waiting(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                 struct elapse__queue_tick due);

/* Makes a reserved job a shadow: its lease goes on, and its key is free. Its record is dead, unless
 * it `keeps_record`. */
void elapse__queue_become_shadow(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                 bool keeps_record);

/* Returns whether the job has a record that counts as live. */
static inline bool elapse__queue_has_record(const struct elapse__queue_entry *entry)
{
    return elapse__queue_state_of(entry) != ELAPSE__QUEUE_SHADOW ||
           (entry->tube_state & ELAPSE__QUEUE_HAS_PLACE) != 0;
}

/* Ends a job or a shadow in any state. */
void elapse__queue_end_job(struct elapse__queue *queue, struct elapse__queue_entry *entry);

/* Makes sure that a job can wait until `due`. A job that is due now becomes ready, and needs room
 * in the heap. Returns false if there is no memory. */
bool elapse__queue_waiting_room(struct elapse__queue *queue,
                                const struct elapse__queue_entry *entry,
                                struct elapse__queue_tick due);

/* pass.c: a job of the tube could not become ready, for want of memory, and is tried again at
 * `due`, after `wait_ms`. If the groups of the tube have an order, the tube hands out nothing until
 * then. */
void elapse__queue_order_waits(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                               struct elapse__queue_tick due, uint64_t wait_ms);

/* Starts the timer of a lease, for `lasts_ms` from now. */
void elapse__queue_start_lease(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                               uint64_t lasts_ms);

/* Starts the timer of a lease, for the ttr of its job from now. */
void elapse__queue_start_ttr(struct elapse__queue *queue, struct elapse__queue_entry *entry);

/* Tells the sink that the record at the entry's position is live, or is not live any more. */
void elapse__queue_count_live(struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                              bool live);

/* ---- records (write.c) ---- */

enum { ELAPSE__QUEUE_SMALL_MAX = 128 }; /* the most bytes that the fields of a CHANGE take */

/* Describes the present state of a job, without its texts. */
void elapse__queue_describe(const struct elapse__queue *queue,
                            const struct elapse__queue_entry *entry,
                            struct elapse__queue_fields *fields);

/* Describes the present state in fields that have the rest of the job: the state itself, and what a
 * side record has. Requires that the other fields of a CHANGE are zero. */
void elapse__queue_describe_state(const struct elapse__queue *queue,
                                  const struct elapse__queue_entry *entry,
                                  struct elapse__queue_fields *fields);

/* Begins a group of `small_records` small records, and of `bytes` bytes beside them. Returns false
 * if the sink refuses. A transaction has begun one group for all its changes: then this returns
 * true, and elapse__queue_end returns 0. */
bool elapse__queue_begin(struct elapse__queue *queue, uint32_t small_records, uint64_t bytes,
                         enum elapse__record_purpose purpose);

/* Begins a group of one small record, for a command that must go on when the disk is full. */
static inline bool elapse__queue_begin_relief(struct elapse__queue *queue)
{
    return elapse__queue_begin(queue, 1, 0, ELAPSE__RECORD_FOR_RELIEF);
}

/* Ends the group. Returns the position after it. */
uint64_t elapse__queue_end(struct elapse__queue *queue);
void elapse__queue_write_state(struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                               enum elapse__record_type type);

/* Appends a CHANGE with the present state of a job and the text of an error, which was told at this
 * time. It counts as live. Requires room for one more error. */
void elapse__queue_write_error(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                               struct elapse__queue_text text, int64_t error_ms);
void elapse__queue_write_delete(struct elapse__queue *queue, uint64_t id);

/* Appends a PUT, and makes it the record of the job. Behind the job's body `body` has its headers.
 * `flags` are those of the record. */
void elapse__queue_write_put(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                             const struct elapse__queue_fields *fields,
                             struct elapse__queue_text body, uint8_t flags);

/* Appends a TOKEN, which counts as live. Returns its position; its size is in `*size`. */
uint64_t elapse__queue_write_token(struct elapse__queue *queue,
                                   const struct elapse__queue_fields *fields, uint32_t *size);

/* Appends a TUBE with the settings of a tube. Requires that it has a record. The tube may end by
 * that, if its settings say nothing. */
void elapse__queue_write_tube(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* ---- moves with their records (move.c); within a group, or without records if not `write` ---- */

/* Makes a job in any state but SHADOW wait until `due`, or READY if `due` has come. Writes a record
 * if `write`. */
void elapse__queue_wait_again(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                              struct elapse__queue_tick due, bool write);

/* Ends a shadow, because its lease ends. If its record is live, writes in a group of its own
 * that it has ended; if the sink refuses, a replay learns it from the lease's end. */
void elapse__queue_end_shadow(struct elapse__queue *queue, struct elapse__queue_entry *entry);

/* Makes a job in any state but SHADOW BURIED. It keeps its due time. Writes a record if `write`. */
void elapse__queue_bury_job(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                            enum elapse__queue_reason reason, bool write);

/* ---- new jobs (build.c) ---- */

/* Makes a job. A field `id` of 0 says that the job will take the place of another one. */
enum elapse__queue_result elapse__queue_build(struct elapse__queue *queue,
                                              const struct elapse__queue_fields *fields,
                                              struct elapse__queue_built *built,
                                              const char **fault);

/* Undoes elapse__queue_build. */
void elapse__queue_build_undo(struct elapse__queue *queue, struct elapse__queue_built *built);

/* Gives the entry its id and its key, and enters it into the indexes. It is in no state yet. */
void elapse__queue_build_enter(struct elapse__queue *queue, struct elapse__queue_built *built,
                               uint64_t id);

/* Gives `old` what was built, in place of what it had. `old` keeps its place and its id. Requires
 * that `old` is in no state. */
void elapse__queue_build_replace(struct elapse__queue *queue, struct elapse__queue_built *built,
                                 struct elapse__queue_entry *old);

#endif
