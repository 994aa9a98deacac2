/*
 * The durable queue: a state machine of jobs. It is pure. It has no clock, thread, file or socket:
 * commands and the time come in; answers, and records for the journal, go out. The records go to a
 * sink (engine/journal/record.h). The same calls always have the same effects.
 *
 * The states of a job, and the functions that make each transition:
 *
 *           put                    turn: the due time has come
 *     (none) --> DELAYED -----------------------------------------> READY <-- put, due at once
 *                 ^ ^ ^                                             |   |
 *                 | | | reschedule                                  |   | turn: EXPIRE has passed:
 *                 | | +---------------------------------------------+   | dropped, or the next
 *                 | |                                               |   | occurrence
 *                 | | nack and release with a delay, the retry      |   v
 *                 | | after a back-off, ack of an occurrence        |  (none), DELAYED
 *                 | +------------------------------------ RESERVED <+ reserve
 *                 |                                       |  |  |
 *                 | kick: READY                 to READY: |  |  | bury; the last retry failed
 *                 | reschedule: DELAYED   nack, release,  |  |  v
 *                 +------------------------- the lease's -+  | BURIED <-- bury_damaged; a zone that
 *                                              end, undo     |            cannot be found
 *                                                            | cancel, or replaced by its key
 *                                                            v
 *                                                         SHADOW --> (none): ack, nack, bury, or
 *                                                                    the end of the lease
 *
 * ack ends a job. cancel and cancel_all end a job that is DELAYED, READY or BURIED. A shadow is a
 * reserved job that was cancelled or replaced: it is gone for everybody except its worker, which
 * learns this from `extend`.
 *
 * A job that was put with AWAIT is DELAYED until so many have arrived, or its due time has come; it
 * may have no due time. Then it is as every other job.
 *
 * elapse__queue_check tests the invariants of these states; src/queue/check.c numbers them.
 *
 * Time. Due times are wall-clock milliseconds in the records. A job given with a delay waits by the
 * boot-time clock while the process lives; a job given with a time follows the wall clock, also
 * when that clock is set. The caller rounds the present down, and due times up; the option
 * `present_is_rounded` says that the present is rounded.
 *
 * Groups. Everything that one command changes is in one group of the sink. If the sink refuses to
 * begin, or there is no memory, the command has changed nothing. Only two changes have no record.
 * `turn` goes on without records when the sink refuses: a replay comes to the same result by the
 * clock. And `reserve` delays a job whose record is not to be read now: after a restart the job is
 * ready at once. The diagram does not show this delay.
 *
 * The following holds for every function below, unless it says otherwise:
 * - Threads: one thread at a time.
 * - `now.wall_ms` may go back, because the wall clock was set. If boot_ms goes back, it is taken as
 *   not moving.
 * - Requires that the queue is open: replay_done has been called.
 */
#ifndef ELAPSE__QUEUE_QUEUE_H
#define ELAPSE__QUEUE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/allocator.h>
#include <elapse/cron.h>
#include <elapse/timer.h>

#include "../base/sip_hash.h"
#include "../engine/journal/record.h"
#include "chunks.h"
#include "limits.h"

struct elapse__queue;

/* ---- words ---- */

struct elapse__queue_now {
    uint64_t boot_ms; /* the boot-time clock, rounded down */
    int64_t wall_ms;  /* the wall clock, rounded down */
};

struct elapse__queue_text {
    const void *bytes;
    size_t size;
};

enum elapse__queue_state {
    ELAPSE__QUEUE_FREE, /* no job */
    ELAPSE__QUEUE_DELAYED,
    ELAPSE__QUEUE_READY,
    ELAPSE__QUEUE_RESERVED,
    ELAPSE__QUEUE_BURIED,
    ELAPSE__QUEUE_SHADOW,
};

/* The answers of commands. From KEY_TAKEN on they are errors, and nothing has changed. */
enum elapse__queue_result {
    ELAPSE__QUEUE_OK,
    ELAPSE__QUEUE_SCHEDULED,   /* put: a new job */
    ELAPSE__QUEUE_REPLACED,    /* put: the job that had the key ended, or has a new body */
    ELAPSE__QUEUE_KEPT,        /* put: the job that has the key stays; nothing is stored */
    ELAPSE__QUEUE_KNOWN,       /* put: the token came before; the id is that of its job */
    ELAPSE__QUEUE_WAS_BURIED,  /* put: as KEPT, and the job that has the key is buried */
    ELAPSE__QUEUE_REMOVED,     /* cancel: the job will never be handed out */
    ELAPSE__QUEUE_RUNNING,     /* a worker has the job; put: as KEPT, and a worker has that job */
    ELAPSE__QUEUE_RESCHEDULED, /* reschedule: the job has the new due time */
    ELAPSE__QUEUE_CANCELLED,   /* extend, nack, bury: the job was cancelled while it ran */
    ELAPSE__QUEUE_GONE,        /* there is no such job or lease */
    ELAPSE__QUEUE_KEY_TAKEN,   /* put with IFKEY fail: the job `id` has the key */
    ELAPSE__QUEUE_ARGUMENT,    /* `fault` says which argument is wrong */
    ELAPSE__QUEUE_NO_MEMORY,
    ELAPSE__QUEUE_LIMIT,       /* as many jobs or tubes as there may be */
    ELAPSE__QUEUE_GROUPS_FULL, /* as many groups as there may be */
    ELAPSE__QUEUE_TOKENS_FULL, /* as many tokens as there may be; try again later */
    ELAPSE__QUEUE_REFUSED,     /* the sink refused: the disk is full */
};

struct elapse__queue_answer {
    enum elapse__queue_result result;
    uint32_t left;     /* arrive: how many arrivals are missing now */
    uint64_t id;       /* put, and cancel or reschedule by key: the job; 0: none */
    uint64_t position; /* where the command's records end in the journal; 0: there are none */
    const char *fault; /* ARGUMENT: one English phrase; static */
};

/* The name of one hand-out. No two hand-outs have the same name, in any life of the process. */
struct elapse__queue_lease {
    uint32_t life;
    uint64_t number;
};

/* A connection with the leases that end when the connection ends (beanstalkd's rule). The caller
 * allocates the struct. */
struct elapse__queue_connection {
    struct elapse__ring_node leases;
    uint32_t name; /* for the leases in the ring: names.h; 0: none */
};

/* ---- life ---- */

/* Finds a time zone by its name. The caller of the queue implements it. Returns false if there is
 * no such zone. */
typedef bool elapse__queue_zone_function(void *context, const char *name,
                                         const struct elapse_time_zone **zone);

struct elapse__queue_options {
    /* The allocator, which is copied; NULL: that of the C library. It must not be a user's own,
     * because the caller of the queue may hold a lock. */
    const struct elapse_allocator *memory;
    struct elapse__record_sink *sink;
    struct elapse__hash_secret secret; /* random bytes, which may differ from life to life */
    uint64_t seed;                     /* of the jitter of retries */
    uint32_t partitions, partition;    /* each id is the second modulo the first (0: 1) */
    bool hash_tags;                    /* a tube with braces in its name lies in one partition */
    uint32_t jobs_max, tubes_max, groups_max, tokens_max, body_bytes_max; /* 0: as many as may be */
    /* Programs of 0.2 may run in this cluster: records that they refuse are not written. So a put
     * with headers or a group is refused, and settings of a tube are not durable. */
    bool old_records;
    bool foresees;           /* elapse__queue_foresee and _overdue_ms are wanted */
    bool present_is_rounded; /* `now` is rounded down, so a delay must take a millisecond more */
    elapse__queue_zone_function *find_zone; /* NULL: only "utc" is known */
    void *zone_context;
};

/* The fault of what `old_records` forbids. It may be tried again after an upgrade. */
extern const char elapse__queue_upgrade_first[];

/* Makes a queue, which is not open yet. Returns NULL if there is no memory, or the options are out
 * of range. Cost: some 230 KiB. */
struct elapse__queue *elapse__queue_new(const struct elapse__queue_options *options);

/* Returns the next number of the generator that `seed` began. */
uint64_t elapse__queue_random(struct elapse__queue *queue);

/* Releases a queue and everything in it. Writes no records. The structs of connections may be gone
 * already. */
void elapse__queue_free(struct elapse__queue *queue);

/* Returns whether the record is a record of a queue, and of this partition. Then
 * elapse__queue_replay refuses it only by a limit, or because there is no memory. */
bool elapse__queue_is_own_record(const struct elapse__queue *queue,
                                 const struct elapse__record *record);

/* Takes in a record of the journal, in the order of the log. Requires that the queue is not open.
 * Errors: ARGUMENT if the record is no record of a queue, or of another partition; NO_MEMORY;
 * LIMIT. After an error nothing has changed. */
enum elapse__queue_result elapse__queue_replay(struct elapse__queue *queue, uint64_t position,
                                               const struct elapse__record *record);

/* Prefetches the memory that the replay of this record will need. Call it twice: first for the
 * place in the index; some time later, with `is_near`, for the job; and replay the record some time
 * after that. */
void elapse__queue_replay_fetch(const struct elapse__queue *queue,
                                const struct elapse__record *record, bool is_near);

/* Notes that the ids up to `id` were used, so that no job will get one of them: for the id in a
 * segment's header. */
void elapse__queue_used_id(struct elapse__queue *queue, uint64_t id);

/* Returns the greatest id that may have been given to a job. */
uint64_t elapse__queue_last_id(const struct elapse__queue *queue);

/* Ends the jobs, tokens and settings whose records lie below this position, during a replay: those
 * records are not live, even if the queue has counted them as live. Cost: O(jobs). */
void elapse__queue_forget_below(struct elapse__queue *queue, uint64_t position);

/* Opens the queue. `life` is greater than that of every earlier process on these records, so that
 * no lease's name repeats. Leases whose time is over by the wall clock end at the next turn.
 * Errors: ARGUMENT if a record has a lease of this life or of a later one; NO_MEMORY, after which
 * the call may be repeated. Cost: O(jobs). */
enum elapse__queue_result elapse__queue_replay_done(struct elapse__queue *queue,
                                                    struct elapse__queue_now now, uint32_t life);

/* Called for each record of a segment that is cleaned. If the record is live, appends it again,
 * with the present state of its job. `record` has the body. If the body is NULL and has a size, it
 * is damaged, and the copy has the flag ELAPSE__RECORD_BODY_LOST. Returns OK, also for a record
 * that is not live; REFUSED; or NO_MEMORY. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): a test has one of its own */
enum elapse__queue_result elapse__queue_clean(struct elapse__queue *queue,
                                              struct elapse__queue_now now, uint64_t position,
                                              const struct elapse__record *record);

/* Returns by how many bytes at most the records of all jobs would grow if elapse__queue_clean wrote
 * them again: records grow because jobs that were handed out have counters. Cost: O(1). */
uint64_t elapse__queue_growth_bytes(const struct elapse__queue *queue);

/* Returns how many of the bytes that the sink counts as live may not be live: where the texts of a
 * job beside its body are long, only a bound of their size is known. */
uint64_t elapse__queue_excess_bytes(const struct elapse__queue *queue);

/* ---- time ---- */

struct elapse__queue_turned {
    uint32_t ready;   /* jobs made ready */
    uint32_t ended;   /* leases that ended */
    uint32_t expired; /* jobs or occurrences dropped by EXPIRE */
    uint32_t dropped; /* buried jobs dropped by a limit */
    bool more;        /* call again soon: there is more to do now */
};

/* Does what the time asks for: at most ELAPSE__QUEUE_TURN_MAX jobs, and as many moves of timers.
 * Call it before the commands of a turn of the loop. */
struct elapse__queue_turned elapse__queue_turn(struct elapse__queue *queue,
                                               struct elapse__queue_now now);

/* The earliest times at which `turn` has something to do next, by each clock. */
struct elapse__queue_due {
    uint64_t boot_ms; /* UINT64_MAX: never */
    int64_t wall_ms;  /* INT64_MAX: never */
};
struct elapse__queue_due elapse__queue_next_due(const struct elapse__queue *queue);

/* ---- put ---- */

enum elapse__queue_when {
    ELAPSE__QUEUE_IN,      /* delay_ms from now, by the boot-time clock */
    ELAPSE__QUEUE_AT,      /* at_ms, by the wall clock; a time that has passed is now */
    ELAPSE__QUEUE_EVERY,   /* each period_ms, by the wall clock; the first one period from now */
    ELAPSE__QUEUE_CRON,    /* when `cron` says, in `zone`: "utc" if it is empty */
    ELAPSE__QUEUE_NO_TIME, /* when all have arrived; only with `await` */
};

enum elapse__queue_if_key {
    ELAPSE__QUEUE_REPLACE,
    ELAPSE__QUEUE_KEEP,
    ELAPSE__QUEUE_FAIL,
    ELAPSE__QUEUE_DEBOUNCE,
};

struct elapse__queue_put {
    struct elapse__queue_text tube;
    struct elapse__queue_text body;
    struct elapse__queue_text headers; /* beside the body, not looked at; empty: none */
    struct elapse__queue_text key;     /* empty: none; the same for tag, group and token */
    struct elapse__queue_text tag;
    struct elapse__queue_text group; /* for whom the job is: groups of a tube take turns */
    struct elapse__queue_text token;
    uint64_t token_life_ms; /* 0: ELAPSE__QUEUE_TOKEN_MS; otherwise 1 s to that */
    enum elapse__queue_when when;
    uint64_t delay_ms;
    int64_t at_ms;
    uint64_t period_ms;
    struct elapse__queue_text cron;
    struct elapse__queue_text zone;
    uint32_t await; /* waits for so many arrivals, or for the time, whichever is first; 0: none.
                       Needs a key; not with EVERY, CRON or DEBOUNCE */
    enum elapse__queue_if_key if_key;
    uint64_t debounce_max_ms; /* DEBOUNCE: the job is due no later than this after the first put */
    uint32_t priority;        /* the least is handed out first */
    uint64_t ttr_ms;          /* at least 1 */
    uint64_t expire_ms;       /* 0: never */
    uint32_t retry;           /* hand-outs that may fail before the job is buried; 0: no limit */
    uint64_t backoff_min_ms;  /* 0 and 0: ready again at once */
    uint64_t backoff_max_ms;  /* at least backoff_min_ms */
};

/*
 * Puts a job. If a client sends a put with neither a token nor a key twice, there may be two jobs.
 * If the tube has a job with the key, the answer is:
 *
 *      | if_key   | DELAYED, READY               | RESERVED              | BURIED           |
 *      | REPLACE  | it ends; REPLACED            | shadow; REPLACED      | as DELAYED       |
 *      | KEEP     | KEPT                         | RUNNING               | WAS_BURIED       |
 *      | FAIL     | KEY_TAKEN                    | KEY_TAKEN             | KEY_TAKEN        |
 *      | DEBOUNCE | same id, new body; REPLACED  | as REPLACE            | as REPLACE       |
 *
 * With DEBOUNCE the job is due after delay_ms, but no later than debounce_max_ms after its first
 * put with DEBOUNCE. A token is kept when a job is stored. A put with the same token within the
 * token's life is answered KNOWN.
 */
struct elapse__queue_answer elapse__queue_put(struct elapse__queue *queue,
                                              struct elapse__queue_now now,
                                              const struct elapse__queue_put *put);

/* ---- change by key or id ---- */

/* Returns REMOVED, RUNNING or GONE, or REFUSED. */
struct elapse__queue_answer elapse__queue_cancel_key(struct elapse__queue *queue,
                                                     struct elapse__queue_now now,
                                                     struct elapse__queue_text tube,
                                                     struct elapse__queue_text key);
struct elapse__queue_answer elapse__queue_cancel_id(struct elapse__queue *queue,
                                                    struct elapse__queue_now now, uint64_t id);

/* A new due time: IN with a delay, or AT with a time. The functions return RESCHEDULED, RUNNING or
 * GONE, or an error. */
struct elapse__queue_time {
    enum elapse__queue_when when;
    uint64_t delay_ms;
    int64_t at_ms;
};
struct elapse__queue_answer elapse__queue_reschedule_key(struct elapse__queue *queue,
                                                         struct elapse__queue_now now,
                                                         struct elapse__queue_text tube,
                                                         struct elapse__queue_text key,
                                                         struct elapse__queue_time time);
struct elapse__queue_answer elapse__queue_reschedule_id(struct elapse__queue *queue,
                                                        struct elapse__queue_now now, uint64_t id,
                                                        struct elapse__queue_time time);

/* ---- leases ---- */

/* A job that was handed out. Its body, key and tube's name are read at `position`. */
struct elapse__queue_handed {
    uint64_t id;
    struct elapse__queue_lease lease;
    uint64_t position;
    uint32_t body_size;
    uint32_t priority;
    int64_t due_ms; /* wall clock */
    uint64_t ttr_ms;
    uint32_t attempt; /* from 1 */
    uint32_t missed;  /* occurrences that passed since the hand-out before */
    uint32_t retry;   /* as it was put */
    uint32_t await;   /* arrivals that are missing; 0: the job waited for none, or all have come */
    bool recurring;
    bool is_limited; /* by its tube: the reply waits for the record of the lease, too */
    struct elapse__queue_text tube; /* valid until the next call */
};

struct elapse__queue_reserve {
    const struct elapse__queue_text *tubes;
    size_t tube_count;
    uint32_t count;                              /* at most this many jobs */
    struct elapse__queue_connection *connection; /* NULL: the lease lasts until its ttr */
    bool begin;    /* ttr runs from now on; otherwise from elapse__queue_lease_begin on */
    uint32_t name; /* without a connection, who gets the jobs: names.h; 0: unknown */
    /* Returns for how long the record at this position is not to be read; 0: it may be read now.
     * The job of the record is delayed for that time, without a record. NULL: each record may be
     * read. */
    uint64_t (*unread_ms)(const void *context, struct elapse__queue_now now, uint64_t position);
    const void *context;
};

/* Hands out jobs: of each tube that is not paused the job whose turn it is (turns.c), and of these
 * the one with the least (priority, id) first. Stores them in `handed`, and their number in
 * `*count`, which may be 0. Returns OK, or an error. */
struct elapse__queue_answer elapse__queue_reserve(struct elapse__queue *queue,
                                                  struct elapse__queue_now now,
                                                  const struct elapse__queue_reserve *reserve,
                                                  struct elapse__queue_handed *handed,
                                                  uint32_t *count);

/* Returns whether a job may be handed out for a reserve, as of the last call with `now`. The job
 * may have expired since. Cost: O(tube_count), if any job is ready. */
bool elapse__queue_has_ready(const struct elapse__queue *queue,
                             const struct elapse__queue_reserve *reserve);

/* Returns a number that grows whenever elapse__queue_has_ready may become true of a reserve. */
uint64_t elapse__queue_readied(const struct elapse__queue *queue);

/* Returns how many jobs have become ready. */
uint64_t elapse__queue_came_due(const struct elapse__queue *queue);

/* Returns how many ready jobs limits let run, also in tubes that are paused. */
uint64_t elapse__queue_ready(const struct elapse__queue *queue);

/* Hands out one job that is ready, delayed or buried, whatever its due time. Returns OK, GONE (also
 * if the limit of its tube leaves no place) or RUNNING, or an error. */
struct elapse__queue_answer elapse__queue_reserve_id(struct elapse__queue *queue,
                                                     struct elapse__queue_now now, uint64_t id,
                                                     struct elapse__queue_connection *connection,
                                                     bool begin,
                                                     struct elapse__queue_handed *handed);

/* Names the lease of a job: by the lease's name, or by the connection that has it. */
struct elapse__queue_holder {
    uint64_t id;
    struct elapse__queue_lease lease;
    const struct elapse__queue_connection *connection; /* if not NULL, `lease` is ignored */
    struct elapse__queue_text error; /* nack, bury: what went wrong; is cut; a full disk drops it */
};

/* Begins a lease, and its ttr, because the reply of the hand-out leaves now. Returns OK or GONE. */
enum elapse__queue_result elapse__queue_lease_begin(struct elapse__queue *queue,
                                                    struct elapse__queue_now now,
                                                    struct elapse__queue_holder holder);

/* Undoes a hand-out whose reply could not leave: the job is as if it had not been handed out. If it
 * returns REFUSED, the lease has begun instead, so that its ttr ends it. */
struct elapse__queue_answer elapse__queue_lease_undo(struct elapse__queue *queue,
                                                     struct elapse__queue_now now,
                                                     struct elapse__queue_holder holder);

/* Undoes a hand-out whose reply was not wholly sent, even if its lease has begun. */
struct elapse__queue_answer elapse__queue_lease_withdraw(struct elapse__queue *queue,
                                                         struct elapse__queue_now now,
                                                         struct elapse__queue_holder holder);

/* Ends the job, because its work is done; a recurring job waits for its next occurrence. Returns OK
 * or GONE. */
struct elapse__queue_answer elapse__queue_ack(struct elapse__queue *queue,
                                              struct elapse__queue_now now,
                                              struct elapse__queue_holder holder);

/* Say that the work failed. Return OK, CANCELLED or GONE. The job waits as ATTEMPTS and BACKOFF
 * say: with `least_ms` for that long at least; with a delay for the delay, and then it is no
 * attempt that failed, and ATTEMPTS does not count it. */
struct elapse__queue_answer elapse__queue_nack(struct elapse__queue *queue,
                                               struct elapse__queue_now now,
                                               struct elapse__queue_holder holder);
struct elapse__queue_answer elapse__queue_nack_after(struct elapse__queue *queue,
                                                     struct elapse__queue_now now,
                                                     struct elapse__queue_holder holder,
                                                     uint64_t least_ms);
struct elapse__queue_answer elapse__queue_nack_in(struct elapse__queue *queue,
                                                  struct elapse__queue_now now,
                                                  struct elapse__queue_holder holder,
                                                  uint64_t delay_ms);

/* Ends the lease as beanstalkd's release does: the job is ready after a delay, with `priority`. */
struct elapse__queue_answer elapse__queue_release(struct elapse__queue *queue,
                                                  struct elapse__queue_now now,
                                                  struct elapse__queue_holder holder,
                                                  uint32_t priority, uint64_t delay_ms);

/* Makes the lease last for its ttr from now on. Returns OK, GONE, or CANCELLED: the lease stays as
 * it is. */
struct elapse__queue_answer elapse__queue_extend(struct elapse__queue *queue,
                                                 struct elapse__queue_now now,
                                                 struct elapse__queue_holder holder);

/* Sets the job aside until it is kicked. Returns OK, CANCELLED or GONE. `priority` is its new
 * priority; NULL: the priority stays. */
struct elapse__queue_answer elapse__queue_bury(struct elapse__queue *queue,
                                               struct elapse__queue_now now,
                                               struct elapse__queue_holder holder,
                                               const uint32_t *priority);

/* Deletes as beanstalkd does: acknowledges the job if this connection has it, and cancels the job
 * if nobody has it. Returns GONE if another connection has it. */
struct elapse__queue_answer elapse__queue_delete(struct elapse__queue *queue,
                                                 struct elapse__queue_now now, uint64_t id,
                                                 const struct elapse__queue_connection *connection);

/* Buries a job whose body is damaged, whatever its state. Returns OK, GONE, NO_MEMORY or REFUSED.
 * After REFUSED a lease that had not begun has begun, so that its ttr ends it. */
struct elapse__queue_answer elapse__queue_bury_damaged(struct elapse__queue *queue,
                                                       struct elapse__queue_now now, uint64_t id);

void elapse__queue_connection_init(struct elapse__queue_connection *connection);

/* Ends up to `most` leases of a connection that was closed, as if their ttr had passed. Leases that
 * have not begun are undone. Returns true when no lease is left. */
bool elapse__queue_connection_close(struct elapse__queue *queue, struct elapse__queue_now now,
                                    struct elapse__queue_connection *connection, uint32_t most);

/* Returns when the first lease of the connection ends, by the boot-time clock; UINT64_MAX if no
 * lease has begun. Looks at up to `most` leases, the oldest first. */
uint64_t elapse__queue_connection_soonest(const struct elapse__queue *queue,
                                          const struct elapse__queue_connection *connection,
                                          uint32_t most);

/* ---- kick ---- */

/* Makes a buried or delayed job ready. Returns OK or GONE. */
struct elapse__queue_answer elapse__queue_kick_id(struct elapse__queue *queue,
                                                  struct elapse__queue_now now, uint64_t id);

/* Makes a buried or delayed job ready. Returns OK also for a job that is ready already, RUNNING for
 * a job that a worker has, and GONE only if there is no such job. */
struct elapse__queue_answer elapse__queue_kick_any_id(struct elapse__queue *queue,
                                                      struct elapse__queue_now now, uint64_t id);

enum {
    ELAPSE__QUEUE_KICK_MAX = 1000,         /* jobs that one slice makes ready */
    ELAPSE__QUEUE_KICK_PASS_MAX = 1 << 20, /* jobs that one pass over all jobs chooses */
};

/* A kick under way. Begin with {.wanted = n} and the tube's name; the rest is private. */
struct elapse__queue_kick {
    struct elapse__queue_text tube;
    uint64_t wanted;
    uint32_t pass_max; /* 0: ELAPSE__QUEUE_KICK_PASS_MAX */
    uint64_t kicked;   /* how many jobs were made ready */
    uint64_t position; /* where the last record of the kick ends */
    bool only_buried;  /* delayed jobs are not kicked */
    bool delayed;      /* no job was buried, so the soonest delayed jobs are kicked */
    bool chosen;       /* a pass has ended, and the jobs that it has chosen are kicked */
    bool full;         /* that pass has chosen as many jobs as it could */
    uint32_t cursor;
    uint32_t kept;
    struct elapse__queue_chunks soonest; /* the jobs that the pass has chosen */
};

/* Makes jobs of a tube ready: the buried jobs, the oldest first; if there are none, the soonest
 * delayed jobs, unless `only_buried` is true. Does a slice of the work. Returns OK when all is
 * done; KEPT when it must be called again; or an error, and then the jobs counted in `kicked` are
 * ready. After REFUSED it may be called again, and passes over no job. Cost of n delayed jobs: one
 * pass over all jobs of the queue for each ELAPSE__QUEUE_KICK_PASS_MAX of n, O(log n) for each job
 * of the tube, and 16 bytes of memory for each job of a pass. */
enum elapse__queue_result elapse__queue_kick(struct elapse__queue *queue,
                                             struct elapse__queue_now now,
                                             struct elapse__queue_kick *kick);

/* Releases the memory of a kick, which may be under way. Each kick that was begun needs it. */
void elapse__queue_kick_end(const struct elapse__queue *queue, struct elapse__queue_kick *kick);

/* ---- look ---- */

/* What is known of the last failure of a job, beside its counters. */
struct elapse__queue_told {
    bool lease_ended;  /* by itself */
    uint64_t position; /* of the record whose body is the text of an error; 0: nobody told one */
    uint32_t size;     /* of that record */
};

struct elapse__queue_view {
    uint64_t id;
    uint64_t position;
    enum elapse__queue_state state;
    bool by_wall_clock;
    bool recurring;
    bool has_due;   /* false: it waits for arrivals alone, and due_ms and left_ms are 0 */
    bool waits;     /* DELAYED: for `await` arrivals. Otherwise it was released without them */
    uint32_t await; /* arrivals that are missing; 0: none */
    uint32_t body_size;
    uint32_t priority;
    uint32_t retry;
    int64_t due_ms; /* by the wall clock as it is set now */
    uint64_t ttr_ms;
    uint64_t expire_ms;
    uint64_t backoff_min_ms;
    uint64_t backoff_max_ms;
    uint64_t left_ms; /* DELAYED: until the job is due; RESERVED: until its lease ends; otherwise 0.
                         Never more than the delay or the ttr that was asked for */
    uint64_t release_ms; /* the delay of the last release in this life of the process */
    struct elapse__queue_lease lease; /* number 0: none */
    uint32_t attempts;                /* hand-outs of this occurrence that failed */
    uint32_t missed;                  /* occurrences, since the job was handed out last */
    uint32_t failures;                /* occurrences that failed for good */
    uint32_t reserves;
    uint32_t timeouts;
    uint32_t releases;
    uint32_t buries;
    uint32_t kicks;
    const char *reason; /* BURIED: why; static */
    struct elapse__queue_told told;
    struct elapse__queue_text holder; /* of the lease, if it is known; valid until the next call */
    struct elapse__queue_text tube;   /* valid until the next call; the same for the group */
    struct elapse__queue_text group;  /* empty: none */
};

/* Returns OK, RUNNING for a shadow, or GONE. */
enum elapse__queue_result elapse__queue_look_up_id(struct elapse__queue *queue,
                                                   struct elapse__queue_now now, uint64_t id,
                                                   struct elapse__queue_view *view);
/* Stores where the record of a job lies, and how long its body is. Returns false if there is no
 * such job, also for a shadow. */
bool elapse__queue_locate(const struct elapse__queue *queue, uint64_t id, uint64_t *position,
                          uint32_t *body_size);
/* Returns what is known of the last failure of a job; nothing if there is no such job. */
struct elapse__queue_told elapse__queue_told(const struct elapse__queue *queue, uint64_t id);
enum elapse__queue_result elapse__queue_look_up_key(struct elapse__queue *queue,
                                                    struct elapse__queue_now now,
                                                    struct elapse__queue_text tube,
                                                    struct elapse__queue_text key,
                                                    struct elapse__queue_view *view);

/* ---- asking for memory ahead of commands ---- */

/* A job that a command will look for. */
struct elapse__queue_sought {
    uint64_t id;   /* 0: by its key */
    uint64_t hash; /* of the key */
};

/* How far ahead of its use the memory of a job is asked for. Each step reads what the step before
 * has asked for. */
enum elapse__queue_fetch_step {
    ELAPSE__QUEUE_FETCH_TABLE, /* where the table of ids, or the index of keys, tells of the job */
    ELAPSE__QUEUE_FETCH_KEY,   /* the key record; nothing for an id */
    ELAPSE__QUEUE_FETCH_ENTRY,
    ELAPSE__QUEUE_FETCH_NEIGHBOURS, /* the jobs beside it in the ring of its timer */
    ELAPSE__QUEUE_FETCH_STEPS,
};

/* The memory of fewer jobs mostly is in the caches. With assertions all tests look ahead. */
#ifdef ELAPSE__ASSERTIONS
enum { ELAPSE__QUEUE_FETCH_JOBS_MIN = 1 };
#else
enum { ELAPSE__QUEUE_FETCH_JOBS_MIN = 1 << 15 };
#endif

/* Returns how to look for a job by its key. */
struct elapse__queue_sought elapse__queue_seek_key(const struct elapse__queue *queue,
                                                   struct elapse__queue_text tube,
                                                   struct elapse__queue_text key);

/* Asks the processor for the memory that a command to this job will need. Has no other effect: the
 * job may exist or not. Call it for each of some commands, step by step, before the first of them
 * is run. */
void elapse__queue_fetch(const struct elapse__queue *queue,
                         const struct elapse__queue_sought *sought,
                         enum elapse__queue_fetch_step step);

/* Stores the job of the tube that a reserve would hand out, or the oldest buried job, as
 * beanstalkd's peek-ready and peek-buried do. Returns OK or GONE. */
enum elapse__queue_result elapse__queue_peek_ready(struct elapse__queue *queue,
                                                   struct elapse__queue_now now,
                                                   struct elapse__queue_text name,
                                                   struct elapse__queue_view *view);
enum elapse__queue_result elapse__queue_peek_buried(struct elapse__queue *queue,
                                                    struct elapse__queue_now now,
                                                    struct elapse__queue_text name,
                                                    struct elapse__queue_view *view);

/* Chooses jobs: of a tube (empty: all tubes), in a state (FREE: any), with a tag (empty: any), that
 * recur or all. */
struct elapse__queue_filter {
    struct elapse__queue_text tube;
    enum elapse__queue_state state;
    bool recurring; /* only jobs that were put with EVERY or CRON */
    struct elapse__queue_text tag;
};

/* Looks at up to `most` places of the table of jobs from `*cursor` on, which begins as 0. Stores
 * the jobs that fit the filter in `views`, at most `room` of them, and returns how many. `*cursor`
 * is 0 again at the end. A job that exists from the first call to the last appears exactly once. */
uint32_t elapse__queue_list(struct elapse__queue *queue, struct elapse__queue_now now,
                            const struct elapse__queue_filter *filter, uint32_t *cursor,
                            uint32_t most, struct elapse__queue_view *views, uint32_t room);

/* Cancels the jobs that fit the filter, among up to `most` places from `*cursor` on. Adds to
 * `*removed` and `*running` how many jobs were. The answer is OK or REFUSED. Jobs that are put
 * between the calls may be cancelled or not. */
struct elapse__queue_answer elapse__queue_cancel_all(struct elapse__queue *queue,
                                                     struct elapse__queue_now now,
                                                     const struct elapse__queue_filter *filter,
                                                     uint32_t *cursor, uint32_t most,
                                                     uint64_t *removed, uint64_t *running);

/* Finds the soonest delayed job of a tube, in slices. Begin with {.tube = ...}, and call
 * elapse__queue_peek_delayed until it returns true. Then `id` is the job; 0: there is none. */
struct elapse__queue_soonest {
    struct elapse__queue_text tube;
    uint64_t id;
    uint64_t late;
    uint32_t cursor;
};
bool elapse__queue_peek_delayed(struct elapse__queue *queue, struct elapse__queue_now now,
                                struct elapse__queue_soonest *soonest, uint32_t most);

/* ---- waiting for jobs ---- */

/* A watch of a caller that waits for jobs of a tube. The caller allocates it; the fields are
 * private. */
struct elapse__queue_watch {
    struct elapse__queue_tube *tube;
    struct elapse__ring_node news; /* in the ring for `next`; NULL: in none */
    bool asked;
};

/* Watches a tube that nobody watches, and holds it. Returns OK, or an error of tube_hold. */
enum elapse__queue_result elapse__queue_watch_begin(struct elapse__queue *queue,
                                                    struct elapse__queue_text name,
                                                    struct elapse__queue_watch *watch);
/* Does the same, also if there are as many tubes as tubes_max. */
enum elapse__queue_result elapse__queue_watch_begin_always(struct elapse__queue *queue,
                                                           struct elapse__queue_text name,
                                                           struct elapse__queue_watch *watch);
void elapse__queue_watch_end(struct elapse__queue *queue, struct elapse__queue_watch *watch);

/* Returns the watch of a tube; NULL if there is none. */
struct elapse__queue_watch *elapse__queue_watch_find(const struct elapse__queue *queue,
                                                     struct elapse__queue_text name);

/* Returns the name of the tube, valid as long as the watch. */
struct elapse__queue_text elapse__queue_watch_name(const struct elapse__queue_watch *watch);

/* Asks that elapse__queue_watch_next returns the watch once, as soon as the tube has a job that may
 * be handed out: now, or later. */
void elapse__queue_watch_ask(struct elapse__queue *queue, struct elapse__queue_watch *watch);

/* Returns whether elapse__queue_watch_next has a watch to return. */
bool elapse__queue_watch_has_news(const struct elapse__queue *queue);

/* Returns a watch that has asked and whose tube may have a job to hand out; NULL if there is none.
 */
struct elapse__queue_watch *elapse__queue_watch_next(struct elapse__queue *queue);

/* ---- tubes and statistics ---- */

/* Pauses a tube: no job of the tube is handed out for `delay_ms`; 0 ends a pause. The tube is known
 * while the pause lasts, also without jobs. After a restart the pause ends by the wall clock; with
 * the option `old_records` a restart ends it. Returns OK, GONE if there is no such tube, or an
 * error. */
struct elapse__queue_answer elapse__queue_pause(struct elapse__queue *queue,
                                                struct elapse__queue_now now,
                                                struct elapse__queue_text name, uint64_t delay_ms);

/* Holds a tube: the tube stays, with its statistics, also without jobs. Makes the tube if there is
 * none. Returns OK or an error. Each hold needs a drop. */
enum elapse__queue_result elapse__queue_tube_hold(struct elapse__queue *queue,
                                                  struct elapse__queue_text name);
void elapse__queue_tube_drop(struct elapse__queue *queue, struct elapse__queue_text name);

/* Looks at up to `*most` places of the table of tubes from `*cursor` on, which begins as 0.
 * Subtracts from `*most` how many it has looked at. Returns the name of the first tube that it
 * finds, or an empty text. `*cursor` is 0 again at the end. */
struct elapse__queue_text elapse__queue_tubes(const struct elapse__queue *queue, uint32_t *cursor,
                                              uint32_t *most);

struct elapse__queue_statistics {
    uint64_t delayed, ready, reserved, buried, shadows;
    uint64_t urgent;     /* ready, with a priority below 1024 */
    uint64_t body_bytes; /* of the jobs of one tube, without shadows; 0 for all tubes together */
    uint64_t total_jobs; /* jobs put since the queue was opened, as all counts below */
    uint64_t deletes;    /* acknowledged or deleted */
    uint64_t timeouts;   /* leases that their ttr ended */
    uint64_t cancelled;
    uint64_t replaced;
    uint64_t expired;
    uint64_t dead;             /* buried because no retry was left */
    uint64_t buried_dropped;   /* by a limit of their tube */
    uint64_t missed, failures; /* occurrences */
    uint64_t pauses;
    uint64_t groups, held, running;    /* of one tube. held: ready jobs without a place */
    struct elapse__queue_text held_by; /* of one tube: the limit that holds them; tables.h */
    uint64_t pause_ms, pause_left_ms;  /* of the pause that runs: its length, and what is left */
    uint64_t overdue_ms;               /* how long the oldest ready job of one tube has been due */
};

/* Return the statistics of all tubes together, and of one tube: OK, or GONE. */
struct elapse__queue_statistics elapse__queue_statistics(const struct elapse__queue *queue);
enum elapse__queue_result
elapse__queue_tube_statistics(const struct elapse__queue *queue, struct elapse__queue_now now,
                              struct elapse__queue_text name,
                              struct elapse__queue_statistics *statistics);

/* Returns for how long the oldest ready job has been due. The result may be up to a second too
 * small, and much too small if it should be more than 12 days. Returns 0 unless the option
 * `foresees` was set. */
uint64_t elapse__queue_overdue_ms(struct elapse__queue *queue, struct elapse__queue_now now);

/* Returns whether a put with this token is answered KNOWN, so that it stores nothing. */
bool elapse__queue_knows_token(const struct elapse__queue *queue, struct elapse__queue_now now,
                               struct elapse__queue_text token);

/* Return how many jobs (without shadows), tubes and tokens there are. */
uint64_t elapse__queue_jobs(const struct elapse__queue *queue);
uint64_t elapse__queue_tube_count(const struct elapse__queue *queue);
uint64_t elapse__queue_tokens(const struct elapse__queue *queue);

/* Examines everything. Returns 0, or the number of the first invariant found broken, as numbered in
 * src/queue/check.c. Cost: O(jobs). */
unsigned elapse__queue_check(const struct elapse__queue *queue);

#endif
