/*
 * Elapse: the jobs of a durable queue. Putting, changing and looking at one job, the work of a
 * worker, and transactions. <elapse/queue.h> opens the queue and includes this header; it also
 * tells what the words mean, what is promised, and what can go wrong.
 *
 *     struct elapse_put put = {.tube = "orders", .delay_ms = 30 * 60 * 1000,
 *                              .body = "expire", .body_bytes = 6, .key = "4711", .key_bytes = 4};
 *     struct elapse_answer answer;
 *     if (elapse_queue_put(queue, &put, &answer) != ELAPSE_OK)
 *         fprintf(stderr, "%s\n", answer.fault != NULL ? answer.fault : "no job was stored");
 *     ...
 *     if (elapse_queue_cancel(queue, "orders", "4711", 4, &answer) == ELAPSE_OK &&
 *         answer.result == ELAPSE_RESULT_REMOVED)
 *         ...;                                     // nobody will get the job
 *
 * A function changes one job, or those that it is given, and says what became of each. What an
 * operator does with whole tubes is in <elapse/queue.h>.
 *
 * The following holds for every function below, unless its comment says otherwise:
 * - Times are in milliseconds, and their names end in _ms. Times of day are since
 *   1970-01-01T00:00:00Z.
 * - Threads: any thread may call it at any time between open and close.
 * - Pointers must not be NULL unless NULL has a stated meaning. `answer` may be NULL.
 * - Errors: it returns those that its comment lists, without ELAPSE_ERROR_ in front. After an error
 *   nothing has changed.
 * - Since: version 0.1.
 *
 * "Those of every change" are the errors MEMORY; BROKEN; CLOSED, while another thread closes the
 * queue; and DISK_FULL, if even the space that is held for changes is used up. MEMORY and DISK_FULL
 * may come after some seconds, when the journal has had no room and nothing in it has moved for
 * that time.
 */
#ifndef ELAPSE_JOB_H
#define ELAPSE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/attributes.h>
#include <elapse/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A time to wait that never ends. */
#define ELAPSE_QUEUE_FOREVER_MS UINT64_MAX

/* Limits. What exceeds one is refused with ARGUMENT. */
#define ELAPSE_TUBE_BYTES_MAX     200      /* the name of a tube, at least 1 */
#define ELAPSE_JOB_KEY_BYTES_MAX  250      /* a key, a tag, a group or a token */
#define ELAPSE_HEADERS_BYTES_MAX  4096     /* beside a body */
#define ELAPSE_ERROR_BYTES_MAX    1024     /* what a worker tells; what is longer is cut */
#define ELAPSE_JOB_BODY_BYTES_MAX 33554432 /* a body, 32 MiB; segments below 64 MiB hold less */
#define ELAPSE_JOB_DELAY_MS_MAX   INT64_C(9223372036854) /* a delay, 292 years */
#define ELAPSE_RESERVE_MAX        1000 /* jobs, and tubes, of one reserve; jobs of one ack */
#define ELAPSE_CHANGES_MAX        1000 /* changes of a transaction */

/* Part of elapse_queue: <elapse/queue.h> tells how one is opened. */
struct elapse_queue;

/* ---- put ---- */

/* When a job is due. */
enum elapse_due {
    ELAPSE_DUE_IN = 0,    /* delay_ms from now; 0: at once, or without a time if it has `await` */
    ELAPSE_DUE_AT = 1,    /* at_ms, by the wall clock; a time that has passed is now */
    ELAPSE_DUE_EVERY = 2, /* each period_ms, the first time one period from now */
    ELAPSE_DUE_CRON = 3,  /* when `cron` says, in `zone` */
};

/* What a put does if a job of the tube has its key. */
enum elapse_if_key {
    ELAPSE_IF_KEY_DEFAULT =
        0,                  /* REPLACE; KEEP if it has `await`: a put again counts nothing anew */
    ELAPSE_IF_KEY_KEEP = 1, /* the old job stays, and nothing is stored */
    ELAPSE_IF_KEY_FAIL = 2, /* KEY_PENDING */
    /* The old job gets the new body, options and delay, and keeps its id; but it is due no later
     * than debounce_max_ms after the put that made it. If the old job is reserved or buried, does
     * what REPLACE does. Needs IN and a debounce_max_ms of at least delay_ms. */
    ELAPSE_IF_KEY_DEBOUNCE = 3,
    /* The old job ends, and the new one is stored (an upsert). The worker of a reserved one
     * goes on beside the new job. */
    ELAPSE_IF_KEY_REPLACE = 4,
};

/* A job to put. Zeros and NULL are the defaults, except for the tube. */
struct elapse_put {
    const char *tube;  /* the name of its tube, which is made if it does not exist */
    const void *body;  /* copied; may be NULL if body_bytes is 0 */
    size_t body_bytes; /* 0 to options.body_bytes_max */
    const void *key;   /* NULL: none */
    size_t key_bytes;  /* 1 to ELAPSE_JOB_KEY_BYTES_MAX, if there is a key */
    const void *tag;   /* NULL: none; for elapse_queue_cancel_all and elapse_queue_list */
    size_t tag_bytes;  /* 1 to ELAPSE_JOB_KEY_BYTES_MAX, if there is a tag */
    /* NULL: none; otherwise for whom the job is. Within a priority the groups of a tube take turns,
     * one job each; a group is handed out by id. Jobs without a group take one turn together. */
    const void *group;
    size_t group_bytes; /* 1 to ELAPSE_JOB_KEY_BYTES_MAX, if there is a group */
    /* NULL, or data beside the body, which the queue does not look at. By convention an object of
     * JSON with texts, such as traceparent. */
    const void *headers;
    size_t headers_bytes; /* up to ELAPSE_HEADERS_BYTES_MAX */
    /* NULL, or a token. Another put with the same token, while it lives, stores nothing, and
     * answers KNOWN. A put with neither a key nor a token, tried again, may make two jobs. */
    const void *token;
    size_t token_bytes;     /* 1 to ELAPSE_JOB_KEY_BYTES_MAX; without a token not looked at */
    uint64_t token_life_ms; /* how long the token lives: 1,000 to 600,000; 0: 600,000 */
    enum elapse_due due;    /* when it is due. Default ELAPSE_DUE_IN */
    /* 0, or how many have to arrive (elapse_queue_arrive) before the job is ready, unless its due
     * time comes first. With a delay of 0 it has no due time. Needs a key; not with EVERY, CRON or
     * DEBOUNCE. */
    uint32_t await;
    uint64_t delay_ms;         /* IN: up to ELAPSE_JOB_DELAY_MS_MAX */
    int64_t at_ms;             /* AT: by the wall clock */
    uint64_t period_ms;        /* EVERY: 1 to ELAPSE_JOB_DELAY_MS_MAX */
    const char *cron;          /* CRON: an expression as <elapse/cron.h> describes it */
    const char *zone;          /* CRON: NULL or "utc", or a name such as Europe/Berlin */
    enum elapse_if_key if_key; /* default ELAPSE_IF_KEY_DEFAULT */
    uint32_t priority;         /* ready jobs with smaller numbers are handed out first */
    uint64_t debounce_max_ms;  /* DEBOUNCE: at least delay_ms */
    uint64_t ttr_ms;           /* how long a lease lasts; 0: 60,000 */
    uint64_t expire_ms;        /* dropped when due for so long and not handed out; 0: never */
    uint32_t retry; /* hand-outs, with the first, that may fail; then it is buried. 0: no limit. A
                       recurring job is not buried: its next occurrence comes when it is due */
    uint64_t backoff_min_ms; /* the least wait before the first retry; it doubles each time. The
                                wait is chosen at random, up to twice as long */
    uint64_t backoff_max_ms; /* no wait is longer; at least backoff_min_ms */
};

/* What a verb did. */
enum elapse_result {
    ELAPSE_RESULT_DONE = 0,        /* all other verbs: what was asked for is done */
    ELAPSE_RESULT_SCHEDULED = 1,   /* put: the job is stored */
    ELAPSE_RESULT_REPLACED = 2,    /* put: the job is stored, in place of the job with its key */
    ELAPSE_RESULT_KEPT = 3,        /* put: the job with the key stays */
    ELAPSE_RESULT_KNOWN = 4,       /* put, arrive: the token came before */
    ELAPSE_RESULT_BURIED = 5,      /* put: as KEPT, and the job with the key is buried */
    ELAPSE_RESULT_REMOVED = 6,     /* cancel: the job will never be handed out again */
    ELAPSE_RESULT_RUNNING = 7,     /* a worker has the job; put: as KEPT, and a worker has it */
    ELAPSE_RESULT_RESCHEDULED = 8, /* reschedule: the job has its new due time */
    ELAPSE_RESULT_GONE = 9,        /* there is no such job */
    ELAPSE_RESULT_NONE = 10,       /* of many jobs, after an error: nothing has changed */
    ELAPSE_RESULT_CANCELLED = 11,  /* of many jobs: where the call for one job returns that error */
};

/* The answer of a verb. */
struct elapse_answer {
    enum elapse_result result; /* what the verb did */
    /* The job's id; 0: there is none. Ids are below 2^53 and never used again. */
    uint64_t id;
    /* Once this position is durable, so is everything that the answer says. */
    uint64_t position;
    uint32_t left; /* arrive: how many are missing now; otherwise 0 */
    /* After ARGUMENT: which argument is wrong, as an English phrase; otherwise NULL. */
    const char *fault;
};

/*
 * Puts a job: SCHEDULED, REPLACED, KEPT, KNOWN, BURIED or RUNNING.
 * Errors: ARGUMENT (answer->fault says which), KEY_PENDING (answer->id has the key), LIMIT (jobs,
 * tubes or tokens), DISK_FULL; those of every change: MEMORY, BROKEN, CLOSED (also after
 * elapse_queue_stop).
 * Cost: O(1), a lock, and copying the body. It waits while 4 MiB are on their way to the disk.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_queue_put(struct elapse_queue *queue,
                                                                const struct elapse_put *put,
                                                                struct elapse_answer *answer);

/* ---- change ---- */

/* Cancels a job. The result is REMOVED; RUNNING (its worker goes on, its key is free at once, and
 * no other worker gets the job); or GONE. A recurring job has no further occurrence. Errors: those
 * of every change: MEMORY, BROKEN, CLOSED; DISK_FULL. Cost: O(1), a lock. */
ELAPSE_API enum elapse_error elapse_queue_cancel(struct elapse_queue *queue, const char *tube,
                                                 const void *key, size_t key_bytes,
                                                 struct elapse_answer *answer);

/* Cancels the job with this id. Errors: as elapse_queue_cancel. Cost: O(1), a lock. */
ELAPSE_API enum elapse_error elapse_queue_cancel_id(struct elapse_queue *queue, uint64_t id,
                                                    struct elapse_answer *answer);

/* A new due time: IN with delay_ms, or AT with at_ms. */
struct elapse_due_time {
    enum elapse_due due; /* ELAPSE_DUE_IN or ELAPSE_DUE_AT */
    uint64_t delay_ms;   /* IN: from now, up to ELAPSE_JOB_DELAY_MS_MAX */
    int64_t at_ms;       /* AT: by the wall clock; a time that has passed is now */
};

/* Gives a job another due time. The result is RESCHEDULED; RUNNING (a worker has the job, and
 * nothing has changed); or GONE. Errors: ARGUMENT; those of every change: MEMORY, BROKEN, CLOSED;
 * DISK_FULL. Cost: O(1), a lock. */
ELAPSE_API enum elapse_error elapse_queue_reschedule(struct elapse_queue *queue, const char *tube,
                                                     const void *key, size_t key_bytes,
                                                     const struct elapse_due_time *time,
                                                     struct elapse_answer *answer);

/* Reschedules the job with this id. Errors: as elapse_queue_reschedule. Cost: O(1), a lock. */
ELAPSE_API enum elapse_error elapse_queue_reschedule_id(struct elapse_queue *queue, uint64_t id,
                                                        const struct elapse_due_time *time,
                                                        struct elapse_answer *answer);

/* Arrivals at a job that was put with `await`. Zeros and NULL are the defaults, except for the tube
 * and the key. */
struct elapse_arrival {
    const char *tube; /* the tube of the job */
    const void *key;  /* its key */
    size_t key_bytes; /* 1 to ELAPSE_JOB_KEY_BYTES_MAX */
    /* NULL, or a token. Another arrival at this job with the same token, while the token lives,
     * counts nothing, and answers KNOWN. */
    const void *token;
    size_t token_bytes;     /* 1 to ELAPSE_JOB_KEY_BYTES_MAX; without a token not looked at */
    uint64_t token_life_ms; /* how long the token lives: 1,000 to 600,000; 0: 600,000 */
    uint32_t count;         /* how many have arrived; 0: 1. More than are missing: those */
};

/*
 * Counts arrivals at a job. When none is missing any more, the job is ready at once. The result is
 * DONE, and answer->left is how many are missing now; KNOWN: the token came before, and `left` is
 * that of now; or GONE: no job with the key waits for arrivals, because it never did, all have
 * come, its due time has come, or it was kicked or cancelled.
 * Without a token an arrival that is tried again counts twice. In a transaction behind LEASED it
 * counts once without a token, too.
 * Errors: ARGUMENT (answer->fault says which), LIMIT (tokens), DISK_FULL (with a token); those of
 * every change: MEMORY, BROKEN, CLOSED. Cost: O(1), a lock; O(log ready) for the last one.
 */
ELAPSE_API enum elapse_error elapse_queue_arrive(struct elapse_queue *queue,
                                                 const struct elapse_arrival *arrival,
                                                 struct elapse_answer *answer);

/* Makes a buried or delayed job ready now: DONE, also if it is ready already; RUNNING (a worker has
 * it, and nothing has changed) or GONE.
 * Errors: those of every change: MEMORY, BROKEN, CLOSED; DISK_FULL.
 * Cost: O(1), a lock. */
ELAPSE_API enum elapse_error elapse_queue_kick_id(struct elapse_queue *queue, uint64_t id,
                                                  struct elapse_answer *answer);

/* ---- workers ---- */

/* Names one hand-out of a job. No other hand-out ever has the same name, also after a restart. */
struct elapse_lease {
    uint32_t life;   /* which life of the queue: each open begins one */
    uint64_t number; /* which hand-out of that life */
};

/* A job that was handed out. elapse_reserved_free releases it. */
struct elapse_reserved {
    uint64_t id;               /* the job's id */
    struct elapse_lease lease; /* for ack, nack, extend and bury */
    const void *key;           /* NULL: it has none */
    size_t key_bytes;          /* 0 without a key */
    const void *body;          /* never NULL */
    size_t body_bytes;         /* 0: the body is empty */
    const void *tag;           /* NULL: it has none */
    size_t tag_bytes;          /* 0 without a tag */
    const void *group;         /* NULL: it has none */
    size_t group_bytes;        /* 0 without a group */
    const void *headers;       /* NULL: it has none */
    size_t headers_bytes;      /* 0 without headers */
    int64_t due_ms;            /* when it was due, by the wall clock */
    uint64_t ttr_ms;           /* the lease ends so long after the call returned */
    uint64_t position; /* once it is durable, a later life of the queue knows of this hand-out */
    void *memory;      /* private */
    uint32_t priority; /* as it was put */
    uint32_t attempt;  /* of this occurrence, from 1; after a crash it may be too low */
    uint32_t missed;   /* recurring: occurrences that were left out between the one before and
                        * this one; those of a cron expression are counted up to 64 */
    uint32_t retry;    /* as it was put: hand-outs of an occurrence that may fail; 0: no limit */
    uint32_t await;    /* arrivals that are missing: its due time came first; 0: none */
    bool recurring;    /* it comes again */
    char tube[ELAPSE_TUBE_BYTES_MAX + 1]; /* the name of its tube */
};

/*
 * Hands out the ready job of a tube that comes first: the one with the least (priority, id), or, if
 * jobs of the least priority have groups, that of the group whose turn it is. Waits for a job for
 * at most `timeout_ms` (0: it does not wait; ELAPSE_QUEUE_FOREVER_MS: without end). If a job is
 * ready, the call may wait longer: until everything that led to the job is durable, and until the
 * journal has room for the lease. A job whose body is damaged, which its checksum tells, is buried,
 * and the next job is handed out. A job whose body the disk cannot read now is not buried. It is
 * tried again after a second, or up to a minute if other jobs can be read, for as long as it takes.
 * Other jobs are handed out meanwhile. If the time-out comes while there is such a job, the call
 * waits for up to 2 s more. Of the threads that wait, the one that came first is woken first. Each
 * call waits for a sync if something was changed since the last sync. The lease of the last reserve
 * is such a change, so in a loop each call costs a sync. To take more than one job, call
 * elapse_queue_reserve_many.
 * Errors: NOTHING_DUE (time-out), ARGUMENT, DISK_FULL, SYSTEM (time-out, and a job is ready that
 * the disk cannot read); those of every change: MEMORY, BROKEN, CLOSED (also after
 * elapse_queue_stop). Cost: O(log ready), a lock, and reading the body, without the lock.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_queue_reserve(struct elapse_queue *queue,
                                                                    const char *tube,
                                                                    uint64_t timeout_ms,
                                                                    struct elapse_reserved *job);

/* Hands out a job as elapse_queue_reserve does, but of several tubes: the job with the least
 * (priority, id) of all of them. `tube_count` is 1 to 1000.
 * Errors: as elapse_queue_reserve.
 * Cost: O(log ready + tube_count), a lock, and reading the body. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_queue_reserve_any(struct elapse_queue *queue, const char *const *tubes, size_t tube_count,
                         uint64_t timeout_ms, struct elapse_reserved *job);

/*
 * Hands out several jobs at once, of several tubes: waits as elapse_queue_reserve does until a job
 * is ready, and hands out all jobs that are ready then, up to `capacity`, in the order of
 * (priority, id). If the journal has no room for all leases at once, it hands out fewer jobs, but
 * at least one: call it again for the others. Stores the jobs in `jobs`, and their number in
 * `*reserved`; 0 after an error. Each job has a lease of its own, and needs its ack
 * (elapse_queue_ack_many ends them together) and its elapse_reserved_free. All leases begin
 * together: a worker that takes many jobs at once needs a ttr_ms that is long enough for all of
 * them. `capacity` is 1 to ELAPSE_RESERVE_MAX.
 *
 * A reserve waits until all changes before it are durable, the last ack included. So a worker that
 * takes one job at a time waits for a sync or two for each job; with this call it waits so for each
 * batch.
 * Errors: as elapse_queue_reserve.
 * Cost: O(jobs x (log ready + tube_count)), a lock, and reading the bodies, without the lock.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_queue_reserve_many(struct elapse_queue *queue, const char *const *tubes, size_t tube_count,
                          uint64_t timeout_ms, struct elapse_reserved *jobs, size_t capacity,
                          size_t *reserved);

/* Releases the memory of a job that was handed out, but not its lease. A struct of zeros is
 * ignored. Cost: a free. Cannot fail. */
ELAPSE_API void elapse_reserved_free(struct elapse_reserved *job);

/*
 * Ends a job, because its work is done; a recurring job waits for its next occurrence. The call
 * returns before this is durable: after a crash an acknowledged job may be handed out once more,
 * unless answer->position was committed. Errors: GONE (the lease has ended, and the job may have
 * been handed out again; or it is done already); those of every change: MEMORY, BROKEN, CLOSED;
 * DISK_FULL. Cost: O(1), a lock.
 */
ELAPSE_API enum elapse_error elapse_queue_ack(struct elapse_queue *queue, uint64_t id,
                                              struct elapse_lease lease,
                                              struct elapse_answer *answer);

/* A job that a worker has, and the lease on it. */
struct elapse_held {
    uint64_t id;               /* the job's id */
    struct elapse_lease lease; /* as the hand-out gave it */
};

/*
 * Acknowledges several jobs as elapse_queue_ack does, in this order, under one lock. Stores in
 * `results` what became of each job: DONE; or GONE, where elapse_queue_ack returns that error.
 * `count` is 1 to ELAPSE_RESERVE_MAX; `results` has `count` elements, or is NULL. Once
 * answer->position is durable, all acks are. After an error, the jobs before the one that failed
 * have their results, and answer->position is that of their acks. The other jobs have NONE, and
 * keep their leases: try them again. Errors: ARGUMENT (`count`); those of every change: MEMORY,
 * BROKEN, CLOSED; DISK_FULL. Cost: O(count), a lock.
 */
ELAPSE_API enum elapse_error elapse_queue_ack_many(struct elapse_queue *queue,
                                                   const struct elapse_held *held, size_t count,
                                                   enum elapse_result *results,
                                                   struct elapse_answer *answer);

/*
 * Gives a job back, because its work failed: the job waits as its retry and back-off say, and is
 * buried if no retry is left. A recurring job is never buried for this: its occurrence has failed,
 * and the next one comes when it is due, with all retries. Errors: GONE; CANCELLED (the job was
 * cancelled while it ran, and has ended now); those of every change: MEMORY, BROKEN, CLOSED;
 * DISK_FULL. Cost: O(1), a lock.
 */
ELAPSE_API enum elapse_error elapse_queue_nack(struct elapse_queue *queue, uint64_t id,
                                               struct elapse_lease lease,
                                               struct elapse_answer *answer);

/* Does the same, and keeps what went wrong, as elapse_queue_peek shows it, until the next one: the
 * first ELAPSE_ERROR_BYTES_MAX bytes, cut at the end of a character of UTF-8. On a full disk the
 * text is dropped. A kick, a put with DEBOUNCE and the next occurrence forget it.
 * Errors: as elapse_queue_nack. Cost: O(1), a lock. */
ELAPSE_API enum elapse_error elapse_queue_nack_error(struct elapse_queue *queue, uint64_t id,
                                                     struct elapse_lease lease, const void *error,
                                                     size_t error_bytes,
                                                     struct elapse_answer *answer);

/* Gives a job back because the worker asks for time: the job is due again after `delay_ms`, up to
 * ELAPSE_JOB_DELAY_MS_MAX. The hand-out does not count as one that failed: it takes none of the
 * retries, never buries the job, and the next hand-out has the same attempt. Errors: as
 * elapse_queue_nack; ARGUMENT. Cost: O(1), a lock. */
ELAPSE_API enum elapse_error elapse_queue_nack_in(struct elapse_queue *queue, uint64_t id,
                                                  struct elapse_lease lease, uint64_t delay_ms,
                                                  struct elapse_answer *answer);

/*
 * Do for several jobs what elapse_queue_nack, elapse_queue_extend and elapse_queue_bury do for one,
 * as elapse_queue_ack_many acknowledges several: in this order, under one lock. What is stored in
 * `results` is DONE; or GONE or CANCELLED, where the call for one job returns that error. All else,
 * also after an error, is as elapse_queue_ack_many says. Errors: ARGUMENT (`count`); those of every
 * change: MEMORY, BROKEN, CLOSED; DISK_FULL. Cost: O(count), a lock.
 */
ELAPSE_API enum elapse_error elapse_queue_nack_many(struct elapse_queue *queue,
                                                    const struct elapse_held *held, size_t count,
                                                    enum elapse_result *results,
                                                    struct elapse_answer *answer);
ELAPSE_API enum elapse_error elapse_queue_extend_many(struct elapse_queue *queue,
                                                      const struct elapse_held *held, size_t count,
                                                      enum elapse_result *results,
                                                      struct elapse_answer *answer);
ELAPSE_API enum elapse_error elapse_queue_bury_many(struct elapse_queue *queue,
                                                    const struct elapse_held *held, size_t count,
                                                    enum elapse_result *results,
                                                    struct elapse_answer *answer);

/* Begins the lease anew: it lasts ttr_ms from now.
 * Errors: GONE; CANCELLED (stop working: the job was cancelled; the lease ends when it would have);
 * those of every change: MEMORY, BROKEN, CLOSED; DISK_FULL.
 * Cost: O(1), a lock. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error elapse_queue_extend(struct elapse_queue *queue,
                                                                   uint64_t id,
                                                                   struct elapse_lease lease,
                                                                   struct elapse_answer *answer);

/* Sets the job aside until it is kicked.
 * Errors: GONE; CANCELLED (the job was cancelled, and has ended now); those of every change:
 * MEMORY, BROKEN, CLOSED; DISK_FULL. Cost: O(1), a lock. */
ELAPSE_API enum elapse_error elapse_queue_bury(struct elapse_queue *queue, uint64_t id,
                                               struct elapse_lease lease,
                                               struct elapse_answer *answer);

/* Does the same, and keeps what went wrong, as elapse_queue_nack_error does. Errors: as
 * elapse_queue_bury. Cost: O(1), a lock. */
ELAPSE_API enum elapse_error elapse_queue_bury_error(struct elapse_queue *queue, uint64_t id,
                                                     struct elapse_lease lease, const void *error,
                                                     size_t error_bytes,
                                                     struct elapse_answer *answer);

/* ---- transactions ---- */

/* What a change of a transaction does. */
enum elapse_change_verb {
    ELAPSE_CHANGE_PUT = 0,    /* elapse_queue_put of `put` */
    ELAPSE_CHANGE_CANCEL = 1, /* elapse_queue_cancel; elapse_queue_cancel_id if `tube` is NULL */
    ELAPSE_CHANGE_RESCHEDULE = 2, /* elapse_queue_reschedule, or _id, to `time` */
    ELAPSE_CHANGE_KICK_ID = 3,    /* elapse_queue_kick_id */
    ELAPSE_CHANGE_ACK = 4,        /* elapse_queue_ack of `id` and `lease`, as all up to LEASED */
    ELAPSE_CHANGE_NACK = 5,       /* elapse_queue_nack */
    ELAPSE_CHANGE_NACK_IN = 6,    /* elapse_queue_nack_in, with `delay_ms` */
    ELAPSE_CHANGE_EXTEND = 7,     /* elapse_queue_extend */
    ELAPSE_CHANGE_BURY = 8,       /* elapse_queue_bury */
    ELAPSE_CHANGE_LEASED = 9,     /* nothing: the transaction depends on the lease */
    ELAPSE_CHANGE_ARRIVE = 10,    /* elapse_queue_arrive of `arrival` */
};

/* A change of a transaction. Fields that its verb does not name are ignored. */
struct elapse_change {
    enum elapse_change_verb verb;         /* what it does */
    const struct elapse_put *put;         /* PUT: the job */
    const struct elapse_arrival *arrival; /* ARRIVE: at which job, and how many */
    const char *tube;            /* CANCEL, RESCHEDULE: the tube of the key; NULL: by `id` */
    const void *key;             /* CANCEL, RESCHEDULE: the key of the job */
    size_t key_bytes;            /* its size */
    uint64_t id;                 /* the job, of all verbs but PUT and ARRIVE */
    struct elapse_lease lease;   /* ACK to LEASED: the lease of the job */
    struct elapse_due_time time; /* RESCHEDULE: the new due time */
    uint64_t delay_ms;           /* NACK_IN: how long the worker asks for */
    const void *error;  /* NACK, BURY: what went wrong, as elapse_queue_nack_error; NULL: nothing */
    size_t error_bytes; /* its size */
};

/* What became of a change of a transaction. */
struct elapse_change_answer {
    enum elapse_error error;   /* as of the verb alone: OK, GONE, CANCELLED or KEY_PENDING */
    enum elapse_result result; /* as of the verb alone */
    uint64_t id;               /* the job; 0: there is none */
    uint32_t left;             /* ARRIVE: how many are missing now */
};

/*
 * Makes all changes, in their order, or none of them: they become durable together, and nobody sees
 * a part of them. Stores in `answers` what became of each; an error there stops nothing. A change
 * finds what those before it have done; but a job that the transaction itself puts has no id for
 * them. `count` is 1 to ELAPSE_CHANGES_MAX.
 * First the leases of all changes LEASED are looked at. If one has ended, or its job was cancelled,
 * the call returns GONE, and nothing has changed. So a worker that acknowledges a job and puts the
 * next one, behind LEASED, does so exactly once.
 * Then room is made for everything, as if each put made a job and nothing ended.
 * After an error nothing has changed.
 * Errors: GONE (a lease has ended), ARGUMENT (answer->fault says which; also if the changes are
 * longer than a quarter of a segment), LIMIT (jobs, tubes, groups or tokens), DISK_FULL; those of
 * every change: MEMORY, BROKEN, CLOSED (also after elapse_queue_stop, if one of them is a put).
 * Cost: O(count), a lock, and copying the bodies.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_queue_transact(struct elapse_queue *queue, const struct elapse_change *changes, size_t count,
                      struct elapse_change_answer *answers, struct elapse_answer *answer);

/* ---- look ---- */

/* The states of a job. */
enum elapse_job_state {
    ELAPSE_JOB_ANY = 0,      /* in a filter: all states */
    ELAPSE_JOB_DELAYED = 1,  /* it waits until it is due */
    ELAPSE_JOB_READY = 2,    /* it is due, and waits for a worker */
    ELAPSE_JOB_RESERVED = 3, /* a worker has it */
    ELAPSE_JOB_BURIED = 4,   /* it is set aside until it is kicked */
};

/* A job without its body. */
struct elapse_job {
    uint64_t id;               /* never 0 */
    size_t body_bytes;         /* the length of its body */
    int64_t due_ms;            /* by the wall clock, as it is now; 0 without a due time */
    uint64_t ttr_ms;           /* how long a lease lasts */
    uint64_t left_ms;          /* DELAYED: until it is due; RESERVED: until the lease ends; or 0 */
    const char *reason;        /* BURIED: why, an English phrase; otherwise NULL */
    struct elapse_lease lease; /* RESERVED: the worker's, also one of an earlier life */
    enum elapse_job_state state;          /* never ELAPSE_JOB_ANY */
    uint32_t priority;                    /* as it was put */
    uint32_t attempts;                    /* hand-outs of this occurrence that failed */
    uint32_t missed;                      /* occurrences that passed since the last hand-out */
    uint32_t failures;                    /* occurrences that failed for good */
    uint32_t await;                       /* arrivals that are missing; 0: none */
    bool waits;                           /* DELAYED: for `await` arrivals, or its due time */
    bool has_due;                         /* false: it waits for arrivals alone */
    bool recurring;                       /* put with EVERY or CRON */
    char tube[ELAPSE_TUBE_BYTES_MAX + 1]; /* the name of its tube */
};

/* Looks up the job with a key. Errors: GONE, BROKEN, CLOSED. Cost: O(1), a lock. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_queue_look_up(struct elapse_queue *queue, const char *tube, const void *key,
                     size_t key_bytes, struct elapse_job *job);

/* Looks up the job with an id. Errors: GONE, BROKEN, CLOSED. Cost: O(1), a lock. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_queue_look_up_id(struct elapse_queue *queue, uint64_t id, struct elapse_job *job);

/* What a job consists of. elapse_content_free releases it. */
struct elapse_content {
    const void *key;      /* NULL: it has none */
    size_t key_bytes;     /* 0 without a key */
    const void *tag;      /* NULL: it has none */
    size_t tag_bytes;     /* 0 without a tag */
    const void *group;    /* NULL: it has none */
    size_t group_bytes;   /* 0 without a group */
    const void *headers;  /* NULL: it has none */
    size_t headers_bytes; /* 0 without headers */
    const void *body;     /* never NULL */
    size_t body_bytes;    /* 0: the body is empty */
    const void *error;    /* what went wrong last; NULL: nothing is known */
    size_t error_bytes;   /* 0 without an error */
    int64_t error_ms;   /* when a worker told it, by the wall clock; 0: the lease ended by itself */
    void *memory;       /* private */
    void *error_memory; /* private */
};

/* Reads a job, whatever its state, and changes nothing. Errors: GONE; DAMAGED (it cannot be read).
 * Cost: O(body), a lock, and reading the body. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_queue_peek(struct elapse_queue *queue, uint64_t id, struct elapse_content *content);

/* Releases the memory of a job that was read. Zeros are ignored. Cost: O(1). Cannot fail. */
ELAPSE_API void elapse_content_free(struct elapse_content *content);

#ifdef __cplusplus
}
#endif

#endif
