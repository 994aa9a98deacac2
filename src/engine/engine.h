/*
 * The engine joins the queue and the journal. The server and the cluster use both through this
 * header only. The engine has no threads and no clock, and never waits. So the store and the
 * simulations can use the same code. The store (store/store.h) gives the engine threads and files.
 *
 *      commands --> queue --records--> engine (sink) --> journal --> disk
 *                     ^                  |                 |
 *                     +---- replay ------+---- owner <-----+
 *
 *   sink    takes records from the queue, and passes their groups on to the journal
 *   owner   the functions that the journal calls: replay, cleaning, the facts of a header
 *   life    one run of a process on the directory. Before a life hands out a job, it writes its
 *           number, which is one more than that of the life before. So the name of a lease never
 *           repeats.
 *   gate    the position of the journal up to which everything must be durable before a reply may
 *           leave (Q4 of docs/promises.md)
 *
 * Every function requires that no other thread calls the engine at the same time.
 */
#ifndef ELAPSE__ENGINE_H
#define ELAPSE__ENGINE_H

#include <elapse/error.h>

#include "../queue/queue.h"
#include "journal/journal.h"

/* Returns the present by both clocks, rounded down to milliseconds. */
typedef struct elapse__queue_now elapse__engine_now_function(void);

struct elapse__engine {
    struct elapse__record_sink sink; /* must be first, because the queue's sink is an engine */
    struct elapse__queue *jobs;
    struct elapse__journal *journal;
    struct elapse__record_sink *below; /* the sink of the journal, which gets the records */
    elapse__engine_now_function *now;
    const struct elapse__queue_now
        *batch;                 /* the present during a batch of commands; NULL: read the clocks */
    int refused;                /* why the journal refused the last group; 0: it did not */
    uint64_t last_position;     /* where the last group ended */
    uint64_t previous_position; /* `last_position` before the last group */
    uint64_t epoch_position;
    int64_t header_wall_ms; /* the time of the newest header that open has found; 0: none */
    uint64_t records;       /* how many records this life has appended */
    uint64_t begun_records; /* the value of `records` when the last group was begun */
    uint64_t copies;
    enum elapse__record_purpose purpose; /* the purpose of the last group that was begun */
    uint64_t groups;                     /* how many groups of the queue this life has ended */
    int clean_error;                     /* why the last record could not be copied; 0: no error */
    uint32_t life;
    uint32_t interval_ms; /* the journal's interval between syncs, once the life has begun */
    bool loading;         /* records come by elapse__engine_load, and nothing is cleaned */
    int64_t log_wall_ms;  /* with a replicated log: the newest time of any group */
    struct elapse__queue_options options; /* the options of the queue, without its memory */
    struct elapse_allocator memory;       /* the memory of the queue, if the caller gave one */
    bool has_memory;
};

/* Makes the queue. Sets the sink itself. Returns false if there is no memory. */
bool elapse__engine_make_jobs(struct elapse__engine *engine, elapse__engine_now_function *now,
                              const struct elapse__queue_options *options);

/* Opens the journal, and replays it into the queue. Sets the owner itself. */
bool elapse__engine_open_journal(struct elapse__engine *engine,
                                 const struct elapse__journal_options *options,
                                 struct elapse__journal_refusal *refusal);

/* Begins a life. Writes its number, performs the journal's operations until the number is durable,
 * and opens the queue. */
enum elapse_error elapse__engine_begin_life(struct elapse__engine *engine);

/* Replays a record, and appends it to the journal. It is for programs that fill a queue with the
 * records of another queue, before the queue has a life. Requires `loading`. Returns 0 or an error
 * number:
 *  - EBADMSG: it is no record of this queue, or there are as many tubes or tokens as there may be.
 *  - ENOMEM: there is no memory.
 *  - Another number: the journal could not begin a group.
 * After an error nothing has changed. */
int elapse__engine_load(struct elapse__engine *engine, const struct elapse__record *record);

/* Frees the queue and the journal. Requires that no operation of the journal is under way. */
void elapse__engine_free(struct elapse__engine *engine);

/* Returns whether a reply with this gate may leave. */
bool elapse__engine_may_reply(const struct elapse__engine *engine, uint64_t gate);

/* Returns the number of the segment in which this position lies, for statistics. */
uint64_t elapse__engine_segment_of(const struct elapse__engine *engine, uint64_t position);

/* A command of the queue with its arguments. */
typedef struct elapse__queue_answer elapse__engine_command(struct elapse__queue *jobs,
                                                           struct elapse__queue_now now,
                                                           const void *arguments);

/* Runs a command. Returns false if the journal cannot take the command now. Then run it again when
 * operations have completed. The answer's position is the gate of the reply, whatever the answer
 * is. */
bool elapse__engine_run(struct elapse__engine *engine, elapse__engine_command *command,
                        const void *arguments, struct elapse__queue_answer *answer);

/* Returns how many bytes the records of a transaction may take at most. Its group is then not much
 * longer than others, and fits into a segment. */
uint64_t elapse__engine_transaction_bytes_max(const struct elapse__engine *engine);

/* ---- hand-outs ---- */

/* Takes the first job that is due. Its lease begins only in elapse__engine_hand_over. Returns
 * whether there is such a job. `*result` is an error, or OK. It is OK also if the journal has no
 * room for the lease now. `*gate` is the gate of the reply. The reply does not wait until the
 * lease's own record is durable. */
bool elapse__engine_take(struct elapse__engine *engine, const struct elapse__queue_reserve *reserve,
                         struct elapse__queue_handed *handed, enum elapse__queue_result *result,
                         uint64_t *gate);

/* Takes one job by its id, whenever it is due. The rest is as in elapse__engine_take. `*result` may
 * also be GONE or RUNNING. */
bool elapse__engine_take_id(struct elapse__engine *engine, uint64_t id,
                            struct elapse__queue_connection *connection,
                            struct elapse__queue_handed *handed, enum elapse__queue_result *result,
                            uint64_t *gate);

/* Takes up to `reserve->count` jobs, and stores in `*count` how many. The rest is as in
 * elapse__engine_take. The caller has to hand over or take back each of these jobs. */
bool elapse__engine_take_many(struct elapse__engine *engine,
                              const struct elapse__queue_reserve *reserve,
                              struct elapse__queue_handed *handed, uint32_t *count,
                              enum elapse__queue_result *result, uint64_t *gate);

/* How much longer a reserve waits after its time is over if the disk cannot read a job that is
 * ready. Most troubles of a disk are short. */
enum { ELAPSE__ENGINE_READ_PATIENCE_MS = 2000 };

/* elapse__engine_rests returns whether the engine takes no job now, because the disk could not read
 * several times in a row. elapse__engine_rests_until_ms returns when that ends, by the boot-time
 * clock. Jobs may be ready meanwhile. */
bool elapse__engine_rests(const struct elapse__engine *engine);
uint64_t elapse__engine_rests_until_ms(const struct elapse__engine *engine);

/* Returns whether the last command or hand-out wrote nothing because the journal has no room now.
 * Then try again when operations have completed. */
bool elapse__engine_lacks_room(const struct elapse__engine *engine);

/* The texts of a job as they were read from the journal. */
struct elapse__engine_job {
    struct elapse__queue_text tube, key, tag, group, body, headers;
    struct elapse__queue_text cron, zone; /* of CRON; empty: none */
    uint64_t every_ms;                    /* of EVERY; 0: none */
    int64_t put_ms;                       /* wall-clock time of the put */
    int64_t due_ms;                       /* when the job was due, from this record */
    void *memory;                         /* to be released by free() */
    /* The last error of the job, which has a record of its own. */
    struct elapse__queue_text error; /* empty: no error is known */
    int64_t error_ms;                /* wall-clock time of the worker's report; 0: no report */
    void *error_memory;              /* to be released by free() */
};

/* Reads the job, and begins its lease. Called when the reply leaves. Requires that everything up to
 * the gate is durable. Returns 0, or ENOENT if the job cannot be handed out after all: it was
 * cancelled meanwhile, or it is damaged and was buried. After another error the job is as if it had
 * not been taken. After EIO the disk could not read the job, and other jobs are taken first for a
 * while. */
int elapse__engine_hand_over(struct elapse__engine *engine,
                             const struct elapse__queue_handed *handed,
                             struct elapse__engine_job *job);

/* These functions hand a job over in two steps. The caller performs the reading in between, without
 * a lock. The first step returns 0, or ENOENT if there is nothing to read. After ENOENT there is no
 * second step. */
int elapse__engine_hand_over_begin(struct elapse__engine *engine,
                                   const struct elapse__queue_handed *handed,
                                   struct elapse__journal_reading *reading);
int elapse__engine_hand_over_end(struct elapse__engine *engine,
                                 const struct elapse__queue_handed *handed,
                                 struct elapse__journal_reading *reading,
                                 struct elapse__engine_job *job);

/* Reads a job, whatever its state is. Returns 0, ENOENT if there is no such job, EBADMSG if the job
 * is damaged, EIO if the disk could not read it, or another error number. */
int elapse__engine_peek(struct elapse__engine *engine, uint64_t id, struct elapse__engine_job *job);

/* Ends a reading of a job, and takes its texts. Returns 0, EBADMSG or ENOENT if the job is damaged,
 * or another error number. */
int elapse__engine_texts(struct elapse__engine *engine, struct elapse__journal_reading *reading,
                         struct elapse__engine_job *job);

/* Begins to read the error of a job. Returns false if there is nothing to read. */
bool elapse__engine_error_begin(struct elapse__engine *engine,
                                const struct elapse__queue_told *told,
                                struct elapse__journal_reading *reading);

/* Ends the reading of an error, and adds the error to `job`. `reading` is NULL if none has begun.
 * An error that cannot be read is left out. */
void elapse__engine_error_end(struct elapse__engine *engine, const struct elapse__queue_told *told,
                              struct elapse__journal_reading *reading,
                              struct elapse__engine_job *job);

/* Reads the error of a job, and adds it to `job`. */
void elapse__engine_error(struct elapse__engine *engine, uint64_t id,
                          struct elapse__engine_job *job);

/* Undoes the taking of a job whose reply cannot leave. The job is as if it had not been taken. */
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

/* Applies the next group of the log. Requires that the journal follows a log. Returns 0 or an error
 * number:
 *  - EAGAIN or ENOSPC: there is no room now.
 *  - EMSGSIZE: no segment here can hold the group.
 *  - EBADMSG: the bytes are no group of this format, or have a record of another partition.
 * After these errors nothing has changed. After any other error the journal has failed. */
int elapse__engine_follow(struct elapse__engine *engine, const struct elapse__engine_group *group);

/* Forgets all jobs. Requires that the journal follows a log. Returns 0. After EAGAIN or ENOSPC
 * nothing has changed. After any other error the journal has failed. */
int elapse__engine_rebuild(struct elapse__engine *engine);

/* Begins a life as the owner of the log. Requires that this node has applied all groups of the log.
 * Returns 0. After EAGAIN or ENOSPC nothing has changed. EBADMSG says that the log contradicts
 * itself. After any other error the journal has failed. */
int elapse__engine_own(struct elapse__engine *engine);

#endif
