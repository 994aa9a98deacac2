/*
 * Elapse: the durable queue. Jobs with a due time that survive the end of the process.
 *
 *     struct elapse_queue *queue;
 *     struct elapse_queue_fault fault;
 *     struct elapse_put put = {.tube = "orders", .delay_ms = 30 * 60 * 1000,
 *                              .body = "expire", .body_bytes = 6, .key = "4711", .key_bytes = 4};
 *     struct elapse_answer answer;
 *     struct elapse_reserved job;
 *     if (elapse_queue_open("orders-data", NULL, &queue, &fault) != ELAPSE_OK)
 *         fprintf(stderr, "%s\n", fault.text);
 *     if (elapse_queue_put(queue, &put, &answer) == ELAPSE_OK &&
 *         elapse_queue_commit(queue, answer.position, ELAPSE_QUEUE_FOREVER_MS) == ELAPSE_OK)
 *         ...;                                // the job is on the disk: it cannot be lost
 *     while (elapse_queue_reserve(queue, "orders", ELAPSE_QUEUE_FOREVER_MS, &job) == ELAPSE_OK) {
 *         work(job.body, job.body_bytes);          // a thread does this; it ends after the stop
 *         (void)elapse_queue_ack(queue, job.id, job.lease, NULL);
 *         elapse_reserved_free(&job);
 *     }
 *     elapse_queue_stop(queue);
 *     ...;                                         // join the threads that work
 *     elapse_queue_close(queue);
 *
 * Words. A job is a body of bytes with a due time, in a tube, which is a queue with a name. A key
 * is a name for a job, unique among the live jobs of its tube. A job is delayed until it is due,
 * then ready; reserve hands it to a worker, under a lease; then it is reserved. The lease lasts for
 * ttr_ms (time to run). A job that is set aside is buried.
 *
 *              put            due               reserve              ack
 *      (none) ----> delayed ------> ready -----------------> reserved ---> gone
 *                      ^              ^                        | | |
 *                      |              +-- the lease has ended -+ | |
 *                      +-- nack: tried again after a back-off ---+ |
 *                                           buried <-- bury, or no retry is left
 *
 * Promises (docs/promises.md has all of them, as Q1 to Q15):
 * - Never early: no job is handed out before its due time, unless it was kicked.
 * - Never lost: once its position is committed, a job is handed out until it is acknowledged,
 *   cancelled or replaced, or dropped by its own expire_ms or, buried, by a limit of its tube.
 * - Never back: once its position is committed, a cancel or an ack holds.
 * - At least once: a job whose lease has ended is handed out again.
 *
 * Positions. Each change has a position. It is durable when elapse_queue_commit with that position,
 * or a greater one, has returned OK. Many threads that commit share one write and one sync of the
 * disk. A job is handed out only when everything that led to it is durable.
 *
 * What can go wrong, and what to do
 * - The disk is full. Symptom: put answers DISK_FULL. Everything else goes on, and nothing is lost.
 *   Only if very many jobs are then handed out and not acknowledged (600,000 with segments of
 *   64 MiB), reserve answers DISK_FULL too. Remedy: acknowledge or cancel jobs, or make room.
 * - Syncing the disk fails. Symptom: commit and all changes answer BROKEN, for good; the contents
 *   of the disk are uncertain from the last committed position on. Remedy: close the queue, replace
 *   the disk if it is at fault, and open again: committed jobs are there.
 * - A second process opens the directory. Symptom: open answers IN_USE. Remedy: ask the first.
 * - A directory is copied while it is in use. Symptom: open may answer DAMAGED. Remedy: copy it
 *   when it is closed. Two copies that are both used hand out the same jobs: use one.
 * - A network file system. Hazard: it may say that data is safe when it is not, and may grant the
 *   lock to two machines. Remedy: use a local disk.
 * - Durability below SYNC. Hazard: with INTERVAL, a power cut loses what was committed during the
 *   last interval_ms; the end of the process loses nothing. With MEMORY, close and the end of the
 *   process lose everything. Remedy: SYNC, which is the default.
 * - The wall clock is set back or forward. Symptom: jobs put with a time, and recurring ones, come
 *   later or earlier, as the clock says; jobs put with a delay do not move while the process lives.
 *   While the process is down, delays go on by the wall clock too. Remedy: keep the clock right.
 * - The queue is closed while a worker has a job. Hazard: its ack comes after the end, and uses
 *   memory that was released. Symptom: a crash, or anything else. Remedy: elapse_queue_stop, which
 *   ends the waiting; then join the workers; then close.
 * - The process forks. Hazard: the child has the memory of the queue, but not its threads. Remedy:
 *   the child must not call any function of it.
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
 *
 * <elapse/job.h> has what is done to one job: put, cancel, reserve, ack and their kin. This header
 * includes it.
 *
 * Link with elapse-queue, which needs elapse and xxHash.
 */
#ifndef ELAPSE_QUEUE_H
#define ELAPSE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/attributes.h>
#include <elapse/error.h>
#include <elapse/job.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A durable queue. Its contents are private to the library. */
struct elapse_queue;

/* ---- life ---- */

/* When a change counts as durable. */
enum elapse_durability {
    ELAPSE_DURABILITY_SYNC = 0, /* when the disk has it */
    /* When the operating system has it; the disk follows within interval_ms. */
    ELAPSE_DURABILITY_INTERVAL = 1,
    /* At once. There are no files: close ends all jobs, and so does the end of the process. All
     * else is as with SYNC, and each queue is one of its own. If the process has no memory, or no
     * descriptor, for another segment, it is as if the disk were full. */
    ELAPSE_DURABILITY_MEMORY = 2,
};

/* Options of a queue. elapse_queue_options_init sets the defaults. */
struct elapse_queue_options {
    size_t struct_bytes;               /* set by elapse_queue_options_init; leave it */
    enum elapse_durability durability; /* default ELAPSE_DURABILITY_SYNC */
    uint32_t interval_ms;              /* INTERVAL alone: 1 to 60,000. Default 50 */
    /* The size of each file of a new queue: a power of two from 16 KiB to 64 MiB. An existing queue
     * keeps its own. The directory takes four such files at least; with MEMORY they are memory, so
     * choose less for a small queue. Default 67,108,864. */
    uint32_t segment_bytes;
    uint32_t body_bytes_max; /* the longest body, up to ELAPSE_JOB_BODY_BYTES_MAX. Default 65,535 */
    uint32_t jobs_max;       /* most jobs, up to 268,435,455, which is the default */
    uint32_t tubes_max;      /* most tubes, up to 16,777,215, which is the default */
    uint32_t groups_max;     /* most groups of jobs, up to 16,777,215, which is the default */
    uint32_t tokens_max;     /* most tokens, up to 10,000,000, which is the default */
};

/* elapse_queue_options_init calls this, with the size of the caller's struct. */
ELAPSE_API void elapse_queue_options_init_sized(struct elapse_queue_options *options,
                                                size_t options_bytes);

/* Sets all options to their defaults. Always begin with it. Cost: O(1). Cannot fail. */
static inline void elapse_queue_options_init(struct elapse_queue_options *options)
{
    elapse_queue_options_init_sized(options, sizeof *options);
}

/* Why a queue could not be opened. */
struct elapse_queue_fault {
    char text[512]; /* an English sentence that names the file, and the offset if there is one */
};

/*
 * Opens the queue in a directory, which is made if it does not exist, and stores it in `*queue`.
 * Its jobs are as they were; what became due meanwhile is ready. With ELAPSE_DURABILITY_MEMORY the
 * queue is a new one, and `directory` is not used and may be NULL. `options` NULL: all defaults.
 * `fault` NULL: no text is stored. Makes three threads. A fourth reads the files, and ends before
 * the function returns. After an error `*queue` is NULL.
 * Errors: ABI (options were initialised by another version), ARGUMENT, MEMORY, SYSTEM (a call of
 * the operating system failed), DISK_FULL, IN_USE (another process has the directory, or this one
 * has opened it before), DAMAGED (a file has changed, or is missing), FORMAT (a newer version wrote
 * it), BROKEN (writing failed).
 * Cost: reading all changes since the oldest live job.
 */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_queue_open(const char *directory, const struct elapse_queue_options *options,
                  struct elapse_queue **queue, struct elapse_queue_fault *fault);

/*
 * Stops handing out and putting, for the rest of this life: reserves that wait, and those that come
 * later, answer CLOSED, and so do puts. A reserve that has found its job by now may still return
 * it. Everything else goes on, above all ack, nack, extend, bury and commit. So a worker that has a
 * job can finish it, and its loop ends at the next reserve. Call it before you join the workers,
 * and join them before elapse_queue_close. It may be called more than once. Cost: O(threads that
 * wait), a lock. Cannot fail.
 */
ELAPSE_API void elapse_queue_stop(struct elapse_queue *queue);

/*
 * Closes the queue: makes everything durable, ends all threads, and releases all memory. Calls that
 * are under way in other threads end first: those that wait return CLOSED, and so may those that
 * work in slices; a commit whose position is durable by then returns OK. Requires that no thread
 * begins a call on the queue any more, also not the ack of a job that it has: elapse_queue_stop
 * ends the loops of workers. NULL is ignored. Errors: BROKEN (not everything became durable); the
 * queue is closed all the same. Cost: writing and syncing the changes that are not durable yet.
 */
ELAPSE_API enum elapse_error elapse_queue_close(struct elapse_queue *queue);

/* ---- durability ---- */

/* Waits until everything up to `position` is durable, for at most `timeout_ms` (0: it does not
 * wait).
 * Errors: TIMEOUT; BROKEN: it may be durable or not, and the next open tells; CLOSED.
 * Cost: at most two writes and syncs of the disk, shared by all threads that wait. */
ELAPSE_API ELAPSE_MUST_CHECK enum elapse_error
elapse_queue_commit(struct elapse_queue *queue, uint64_t position, uint64_t timeout_ms);

/* Returns the position up to which everything is durable. Cost: O(1), a lock. Cannot fail. */
ELAPSE_API uint64_t elapse_queue_durable(struct elapse_queue *queue);

/* ---- tubes ---- */

/*
 * Makes up to `count` jobs of a tube ready: the buried jobs, the oldest first; or, if no job is
 * buried, the soonest delayed jobs. Stores in `*kicked` how many. After an error, the jobs counted
 * there are ready.
 * Errors: ARGUMENT; those of every change: MEMORY, BROKEN, CLOSED; DISK_FULL.
 * Cost: O(count); for delayed ones O(jobs log(count)), and 16 bytes of memory for each of them
 * while the call lasts; in slices, each holding the lock. Above 2^20 jobs, so much for each 2^20.
 */
ELAPSE_API enum elapse_error elapse_queue_kick(struct elapse_queue *queue, const char *tube,
                                               uint64_t count, uint64_t *kicked,
                                               struct elapse_answer *answer);

/*
 * Pauses a tube: no job of the tube is handed out for `pause_ms`; 0 ends a pause. The tube is known
 * while the pause lasts, also without jobs. A pause goes on after a restart, and then ends by the
 * wall clock.
 * Errors: GONE (no such tube), ARGUMENT; those of every change: MEMORY, BROKEN, CLOSED, DISK_FULL.
 * Cost: O(1), a lock.
 */
ELAPSE_API enum elapse_error elapse_queue_pause(struct elapse_queue *queue, const char *tube,
                                                uint64_t pause_ms, struct elapse_answer *answer);

/* The limits of a tube; 0: none. */
struct elapse_limits {
    uint32_t concurrency; /* so many jobs run at a time */
    uint32_t rate;        /* so many are handed out in rate_per_ms: up to 100,000,000 */
    uint32_t rate_burst;  /* so many at once after a rest; 0: the least, 1 or a millisecond's */
    uint32_t group_concurrency; /* so many jobs of each group run at a time; no limit for others */
    uint64_t rate_per_ms;       /* up to 366 days */
    uint64_t buried_age_ms;     /* jobs that have been buried for so long are dropped */
    uint32_t buried;            /* so many are buried: the oldest beyond are dropped */
    uint32_t group_rate;        /* so many of each group are handed out in group_rate_per_ms */
    uint32_t group_rate_burst;  /* as rate_burst, of each group */
    uint64_t group_rate_per_ms; /* up to 366 days */
    bool group_order; /* a group hands out nothing while a job of it runs, or waits for its retry */
};

/*
 * Sets all limits of a tube. A job runs from its hand-out until its lease ends, cancelled or not.
 * What runs goes on. Limits outlast restarts. A hand-out of a limited tube may wait for the disk.
 * Errors: ARGUMENT (`fault` says what), MEMORY, LIMIT, DISK_FULL, BROKEN, CLOSED.
 * Cost: O(1), a lock; O(groups), in slices, without hand-outs, if what holds for each group
 * changes.
 */
ELAPSE_API enum elapse_error elapse_queue_limit(struct elapse_queue *queue, const char *tube,
                                                const struct elapse_limits *limits,
                                                struct elapse_answer *answer);

/* ---- many jobs ---- */

/* Which jobs: those of a tube, in a state, with a tag. Zeros and NULL: all jobs. */
struct elapse_job_filter {
    const char *tube;            /* NULL: all tubes */
    enum elapse_job_state state; /* ELAPSE_JOB_ANY: all states */
    const void *tag;             /* NULL: any, or none */
    size_t tag_bytes;            /* the length of the tag */
};

/*
 * Lists jobs, in no order: stores up to `capacity` in `jobs`, and returns how many. `*cursor`
 * begins as 0. Go on until 0 is returned. A job that is there from the first call to the last is
 * listed exactly once. `filter` NULL: all jobs. Returns 0 also when the queue is broken, or closes.
 * Requires a capacity above 0, and a state of enum elapse_job_state.
 * Cost: all calls together take O(most jobs there ever were); each holding of the lock examines at
 * most 256. Cannot fail.
 */
ELAPSE_API size_t elapse_queue_list(struct elapse_queue *queue,
                                    const struct elapse_job_filter *filter, uint64_t *cursor,
                                    struct elapse_job *jobs, size_t capacity);

/*
 * Cancels all jobs that the filter names. Stores how many were removed, and how many have a worker
 * that goes on; either may be NULL. A job put meanwhile may be cancelled or not. After an error the
 * jobs counted are cancelled. Requires a state of enum elapse_job_state.
 * Errors: those of every change: MEMORY, BROKEN, CLOSED; DISK_FULL.
 * Cost: O(jobs), in slices, each holding the lock.
 */
ELAPSE_API enum elapse_error elapse_queue_cancel_all(struct elapse_queue *queue,
                                                     const struct elapse_job_filter *filter,
                                                     uint64_t *removed, uint64_t *running,
                                                     struct elapse_answer *answer);

/* ---- counts ---- */

/* What a queue, or one tube, counts. */
struct elapse_queue_counts {
    /* Now. */
    uint64_t delayed;
    uint64_t ready;
    uint64_t reserved;
    uint64_t buried;
    /* Since open. */
    uint64_t put;            /* jobs stored */
    uint64_t done;           /* jobs acknowledged */
    uint64_t timeouts;       /* leases that their ttr ended */
    uint64_t cancelled;      /* jobs cancelled */
    uint64_t replaced;       /* jobs replaced by another one with their key */
    uint64_t expired;        /* jobs or occurrences dropped by expire_ms */
    uint64_t dead;           /* jobs buried because no retry was left */
    uint64_t buried_dropped; /* buried jobs dropped by a limit of their tube */
    uint64_t missed;         /* occurrences that passed */
    /* The files; 0 for one tube. */
    uint64_t segments;   /* in use */
    uint64_t file_bytes; /* of the segments in use, and the spare ones */
    uint64_t live_bytes; /* records of live jobs; up to 120 too many for a long tube, key or tag */
    uint64_t groups;     /* written and synced since open */
    /* Of one tube; 0 for the whole queue. */
    uint64_t job_groups; /* groups of jobs */
    uint64_t held;       /* ready jobs that wait for a place: see elapse_queue_limit */
    uint64_t running;    /* jobs that a worker has, cancelled ones included */
};

/* Stores the counts of the whole queue, or of one tube. `tube` NULL: the whole queue.
 * Errors: GONE (there is no such tube), BROKEN, CLOSED.
 * Cost: O(1), a lock. */
ELAPSE_API enum elapse_error elapse_queue_statistics(struct elapse_queue *queue, const char *tube,
                                                     struct elapse_queue_counts *statistics);

/* Stores the name of the next tube in `name`. `*cursor` begins as 0. Returns false at the end. A
 * tube that is there from the first call to the last is named exactly once.
 * Cost: O(1) on average, a lock. Cannot fail. */
ELAPSE_API bool elapse_queue_tubes(struct elapse_queue *queue, uint64_t *cursor,
                                   char name[ELAPSE_TUBE_BYTES_MAX + 1]);

/* A group of a tube, and how many jobs it has. */
struct elapse_job_group {
    uint32_t delayed;                    /* jobs that wait until they are due */
    uint32_t ready;                      /* jobs that wait for a worker */
    uint32_t running;                    /* jobs that a worker has, cancelled ones included */
    uint32_t buried;                     /* jobs that were set aside */
    uint64_t name_bytes;                 /* how long the name is */
    char name[ELAPSE_JOB_KEY_BYTES_MAX]; /* no zero ends it */
};

/* Stores the next group of a tube in `group`. `*cursor` begins as 0. Returns false at the end, and
 * if there is no such tube. A group that is there from the first call to the last appears exactly
 * once.
 * Cost: all calls together take O(most tubes and groups there ever were), in slices, each holding
 * the lock. Cannot fail. */
ELAPSE_API bool elapse_queue_groups(struct elapse_queue *queue, const char *tube, uint64_t *cursor,
                                    struct elapse_job_group *group);

/* ---- event loops ---- */

/* Returns a descriptor for poll, epoll and event loops. It becomes readable when a job may be
 * ready, or more has become durable; sometimes spuriously. elapse_queue_quiet makes it unreadable
 * again: call that first, and then look at everything that you wait for. Do not read, write or
 * close it. Cost: O(1). Cannot fail. */
ELAPSE_API int elapse_queue_descriptor(struct elapse_queue *queue);

/* Makes the descriptor unreadable until something happens. Cost: O(1). Cannot fail. */
ELAPSE_API void elapse_queue_quiet(struct elapse_queue *queue);

#ifdef __cplusplus
}
#endif

#endif
