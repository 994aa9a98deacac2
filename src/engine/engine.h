/*
 * The engine: the queue and the journal, joined. This header is the door through which the server
 * and the cluster come to both. The engine has no threads, no clock and no waits, so the store and
 * the simulations use the same code. The store (store/store.h) gives it threads and files.
 *
 *      commands --> queue --records--> engine (sink) --> journal --> disk
 *                     ^                  |                 |
 *                     +---- replay ------+---- owner <-----+
 *
 *   sink    passes the queue's groups on, and remembers where the last group ended
 *   owner   answers the journal: replay, cleaning, the facts of a header
 *   life    one run of a process on the directory; before it hands out any job it writes its
 *           number, which is one more than that of the life before; so the name of a lease never
 *           repeats
 *   gate    the position that must be durable before a reply may leave (Q4 of docs/promises.md)
 *
 * Every function requires that one thread at a time calls the engine.
 */
#ifndef ELAPSE__ENGINE_H
#define ELAPSE__ENGINE_H

#include <elapse/error.h>

#include "../queue/queue.h"
#include "journal/journal.h"

/* Returns the present by both clocks, rounded down. */
typedef struct elapse__queue_now elapse__engine_now_function(void);

struct elapse__engine {
    struct elapse__record_sink sink; /* first: the queue's sink is an engine */
    struct elapse__queue *jobs;
    struct elapse__journal *journal;
    struct elapse__record_sink *below; /* the journal's sink */
    elapse__engine_now_function *now;
    const struct elapse__queue_now *batch; /* the present for a caller that does much at once, and
                                              turns the queue itself; NULL: read the clocks */
    int refused;                /* why the journal refused the last group that was begun; or 0 */
    uint64_t last_position;     /* where the last group ended */
    uint64_t previous_position; /* `last_position` before the last group */
    uint64_t epoch_position;
    int64_t header_wall_ms; /* of the newest header that open has found; 0: there was none */
    uint64_t records;       /* how many were appended in this life */
    uint64_t begun_records; /* `records` when the last group was begun */
    uint64_t copies;
    enum elapse__record_purpose purpose; /* of the group that was begun last */
    uint64_t groups;                     /* how many groups of the queue this life has ended */
    int clean_error;                     /* why the last record could not be copied; or 0 */
    uint32_t life;
    uint32_t interval_ms; /* of the journal, once the life has begun */
    bool loading;         /* records come by elapse__engine_load; nothing is cleaned */
    int64_t log_wall_ms;  /* with a replicated log: the newest time that a group has */
    struct elapse__queue_options options; /* of the queue; without its memory */
    struct elapse_allocator memory;       /* of the queue, if the caller gave one */
    bool has_memory;
};

/* Makes the queue. `options` has no sink. Returns false if there is no memory. */
bool elapse__engine_make_jobs(struct elapse__engine *engine, elapse__engine_now_function *now,
                              const struct elapse__queue_options *options);

/* Opens the journal, and replays it into the queue. `options` has no owner. */
bool elapse__engine_open_journal(struct elapse__engine *engine,
                                 const struct elapse__journal_options *options,
                                 struct elapse__journal_refusal *refusal);

/* Begins a life: writes its number, performs the journal's operations until the number is durable,
 * and opens the queue. */
enum elapse_error elapse__engine_begin_life(struct elapse__engine *engine);

/* Appends a record, and replays it: for programs that fill a queue with the records of another
 * queue, before it has a life. Returns 0; EBADMSG if it is no record of this queue, or if there are
 * as many tubes or tokens as there may be; ENOMEM; or the error of the journal's begin. After an
 * error nothing has changed. Requires `loading`. */
int elapse__engine_load(struct elapse__engine *engine, const struct elapse__record *record);

/* Releases the queue and the journal. Requires that no operation of the journal is under way. */
void elapse__engine_free(struct elapse__engine *engine);

/* Returns whether a reply with this gate may leave. */
bool elapse__engine_may_reply(const struct elapse__engine *engine, uint64_t gate);

/* Returns the number of the segment in which this position lies, for statistics. */
uint64_t elapse__engine_segment_of(const struct elapse__engine *engine, uint64_t position);

/* A command of the queue with its arguments. */
typedef struct elapse__queue_answer elapse__engine_command(struct elapse__queue *jobs,
                                                           struct elapse__queue_now now,
                                                           const void *arguments);

/* Runs a command. Returns false if the journal cannot take it now: run it again when operations
 * have completed. The answer's position is the gate of its reply, whatever the answer. */
bool elapse__engine_run(struct elapse__engine *engine, elapse__engine_command *command,
                        const void *arguments, struct elapse__queue_answer *answer);

/* Returns how many bytes the records of a transaction may take at most: so many that its group is
 * not much longer than others, and fits into a segment. */
uint64_t elapse__engine_transaction_bytes_max(const struct elapse__engine *engine);

/* ---- hand-outs ---- */

/* Takes the first job that is due. Its lease begins in elapse__engine_hand_over. Returns whether
 * there is such a job. `*result` is an error, or OK (also if the journal has no room for the lease
 * now).
 * `*gate` is the gate of the reply: the reply does not wait for the lease's own record. */
bool elapse__engine_take(struct elapse__engine *engine, const struct elapse__queue_reserve *reserve,
                         struct elapse__queue_handed *handed, enum elapse__queue_result *result,
                         uint64_t *gate);

/* Takes one job by its id, whatever its due time, as elapse__engine_take does. `*result` may also
 * be GONE or RUNNING. */
bool elapse__engine_take_id(struct elapse__engine *engine, uint64_t id,
                            struct elapse__queue_connection *connection,
                            struct elapse__queue_handed *handed, enum elapse__queue_result *result,
                            uint64_t *gate);

/* Takes up to `reserve->count` jobs, as elapse__engine_take does. Stores in `*count` how many. The
 * caller hands each job over, or takes it back. */
bool elapse__engine_take_many(struct elapse__engine *engine,
                              const struct elapse__queue_reserve *reserve,
                              struct elapse__queue_handed *handed, uint32_t *count,
                              enum elapse__queue_result *result, uint64_t *gate);

/* If a job is ready that the disk cannot read, a reserve whose time is over waits this much longer,
 * because most troubles of a disk are short. */
enum { ELAPSE__ENGINE_READ_PATIENCE_MS = 2000 };

/* Return whether no job is taken now, because the disk could not read several times in a row; and
 * until when, by the boot-time clock. Jobs may be ready meanwhile. */
bool elapse__engine_rests(const struct elapse__engine *engine);
uint64_t elapse__engine_rests_until_ms(const struct elapse__engine *engine);

/* Returns whether the last command or hand-out wrote nothing because the journal has no room now:
 * try it again when operations have completed. */
bool elapse__engine_lacks_room(const struct elapse__engine *engine);

/* The texts of a job as they were read from the journal. */
struct elapse__engine_job {
    struct elapse__queue_text tube, key, tag, group, body, headers;
    int64_t put_ms; /* when the job was put, wall clock */
    int64_t due_ms; /* when it was due, as this record has it */
    void *memory;   /* released by free() */
    /* What went wrong last, which has a record of its own. */
    struct elapse__queue_text error; /* empty: nothing is known */
    int64_t error_ms;                /* when a worker told it, wall clock; 0: nobody told it */
    void *error_memory;              /* released by free() */
};

/* Reads the job and begins its lease, because its reply leaves now. Requires that the gate is
 * durable. Returns 0. Returns ENOENT if the job cannot be handed out after all, because it was
 * cancelled meanwhile, or is damaged and was buried. After another error the job is as if it had
 * not been taken; after EIO, which means that the disk could not read it, other jobs are taken
 * first for a while. */
int elapse__engine_hand_over(struct elapse__engine *engine,
                             const struct elapse__queue_handed *handed,
                             struct elapse__engine_job *job);

/* Hand a job over in two steps, for a caller that performs the reading in between, without a lock.
 * The first step returns 0; or ENOENT: then there is nothing to read, and no second step. */
int elapse__engine_hand_over_begin(struct elapse__engine *engine,
                                   const struct elapse__queue_handed *handed,
                                   struct elapse__journal_reading *reading);
int elapse__engine_hand_over_end(struct elapse__engine *engine,
                                 const struct elapse__queue_handed *handed,
                                 struct elapse__journal_reading *reading,
                                 struct elapse__engine_job *job);

/* Reads a job, whatever its state. Returns 0; ENOENT: there is no such job; EBADMSG: the job is
 * damaged; EIO: the disk could not read it; or another error number. */
int elapse__engine_peek(struct elapse__engine *engine, uint64_t id, struct elapse__engine_job *job);

/* Ends a reading of a job, and takes its texts. Returns 0; EBADMSG or ENOENT: the job is damaged;
 * or another error number. */
int elapse__engine_texts(struct elapse__engine *engine, struct elapse__journal_reading *reading,
                         struct elapse__engine_job *job);

/* Begins to read the error of a job. Returns false if there is nothing to read. */
bool elapse__engine_error_begin(struct elapse__engine *engine,
                                const struct elapse__queue_told *told,
                                struct elapse__journal_reading *reading);

/* Ends that reading; NULL: none has begun. Adds to `job` what went wrong last. An error that cannot
 * be read is left out. */
void elapse__engine_error_end(struct elapse__engine *engine, const struct elapse__queue_told *told,
                              struct elapse__journal_reading *reading,
                              struct elapse__engine_job *job);

/* Reads the error of a job, and adds it to `job`. */
void elapse__engine_error(struct elapse__engine *engine, uint64_t id,
                          struct elapse__engine_job *job);

/* Undoes the taking of a job, because the reply cannot leave: the job is as if it had not been
 * taken. */
void elapse__engine_take_back(struct elapse__engine *engine,
                              const struct elapse__queue_handed *handed);

/* A group of the replicated log (journal/log.h). */
struct elapse__engine_group {
    uint64_t number;
    uint64_t hash, previous_hash;
    const void *bytes;
    size_t size;
};

/* ---- with a replicated log (store/log.h) ---- */

/* Applies the next group of the log. Returns 0; EAGAIN or ENOSPC: there is no room now; EMSGSIZE:
 * no segment here can hold the group; EBADMSG: the bytes are no group of this format, or have a
 * record of another partition. After these errors nothing has changed. After any other error the
 * journal has failed. Requires that the journal follows. */
int elapse__engine_follow(struct elapse__engine *engine, const struct elapse__engine_group *group);

/* Forgets all jobs. Returns 0; EAGAIN or ENOSPC: nothing has changed; after any other error the
 * journal has failed. Requires that the journal follows. */
int elapse__engine_rebuild(struct elapse__engine *engine);

/* Begins a life as the owner of the log. Requires that this node has applied all of the log.
 * Returns 0; EAGAIN or ENOSPC: nothing has changed; EBADMSG: the log contradicts itself. After any
 * other error the journal has failed. */
int elapse__engine_own(struct elapse__engine *engine);

#endif
