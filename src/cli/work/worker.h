/*
 * What a worker does next: it reserves jobs, has them done, and tells the server how they ended.
 * This part decides, and has no effect: events and `now` come in, effects go out.
 *
 *     taken ----> running ----> ended ----> told
 *       start       ^  |          ack, nack, give back
 *                   +--+ look, extend; stop, kill
 *
 * A worker never has more jobs than it can do at once, because a lease runs from the hand-out. How
 * long a lease is, the hand-out does not say: a job that lasts is looked up, and then extended
 * three times within each lease. When the connection on which it tells is lost, it tells again on
 * the next one: a second ACK answers "gone", and that is no failure.
 */
#ifndef ELAPSE_CLI_WORK_WORKER_H
#define ELAPSE_CLI_WORK_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORKER_JOBS_MAX = 1000, WORKER_LEASE_BYTES = 48 };

#define WORKER_NEVER         UINT64_MAX
#define WORKER_LOOK_AFTER_NS UINT64_C(100000000)  /* a job that lasts so long is looked up */
#define WORKER_AGAIN_NS      UINT64_C(1000000000) /* after an error the server is asked again */
#define WORKER_KILL_AFTER_NS UINT64_C(5000000000) /* after it was asked to end */

/* How the work on a job ended. */
enum work_outcome {
    WORK_DONE,
    WORK_FAILED,
    WORK_NOT_BEGUN, /* the work could not be started: the job has not failed */
    WORK_GIVEN_UP,  /* the worker ends: the job has not failed */
};

enum work_state { WORK_FREE, WORK_TAKEN, WORK_RUNNING, WORK_ENDED, WORK_TOLD };

struct work_job {
    enum work_state state;
    uint64_t id;
    char lease[WORKER_LEASE_BYTES];
    enum work_outcome outcome;
    bool lost;      /* the lease has ended: there is nobody to tell */
    bool cancelled; /* the job was cancelled: the work shall end */
    bool timed_out;
    bool stopping;
    bool asks;      /* an answer to a look or to an extension is awaited */
    bool tell_sent; /* an answer to the end is awaited */
    bool told_once; /* the connection was lost while that answer was awaited */
    uint64_t taken_ns;
    uint64_t ttr_ns;  /* 0: not known yet */
    uint64_t ask_ns;  /* when to look, or to extend */
    uint64_t tell_ns; /* not before */
    uint64_t limit_ns;
    uint64_t kill_ns;
    void *context; /* of the caller */
};

struct worker_options {
    size_t concurrency; /* 1 to WORKER_JOBS_MAX */
    uint64_t limit_ns;  /* how long the work on a job may last; 0: for ever */
    bool has_backoff;   /* a failed job waits for `backoff_ms`, in place of its own back-off */
    uint64_t backoff_ms;
    bool until_empty; /* the worker ends when there is no job */
};

struct worker {
    struct worker_options options;
    struct work_job jobs[WORKER_JOBS_MAX];
    size_t job_count; /* jobs that are not free */
    bool reserves;    /* an answer to a reserve is awaited */
    uint64_t reserve_ns;
    bool is_empty;    /* the last reserve found no job, and none has ended since */
    bool asks_again;  /* a job has ended while a reserve was under way */
    bool can_reserve; /* there is a connection for reserves */
    bool can_tell;
    bool stops;    /* takes no more jobs */
    bool gives_up; /* ends the jobs that it has */

    uint64_t done;
    uint64_t failed;
    uint64_t lost;
};

enum work_effect_kind {
    EFFECT_RESERVE, /* `count` jobs */
    EFFECT_START,
    EFFECT_STOP, /* asks the work to end */
    EFFECT_KILL,
    EFFECT_LOOK,   /* asks for the job's state */
    EFFECT_EXTEND, /* the lease */
    EFFECT_ACK,
    EFFECT_NACK,    /* the job's own back-off and retries apply */
    EFFECT_NACK_IN, /* due again after `delay_ms`, which takes no retry */
    EFFECT_FORGET,  /* the caller may release what belongs to the job, which is free now */
};

struct work_effect {
    enum work_effect_kind kind;
    struct work_job *job; /* NULL for EFFECT_RESERVE */
    size_t count;
    uint64_t delay_ms;
};

void worker_init(struct worker *worker, const struct worker_options *options);

/* Stores the next effect, which the caller has at once. Returns false if there is none now. */
bool worker_next(struct worker *worker, uint64_t now_ns, struct work_effect *effect);

/* Returns when to call worker_next again if nothing happens before. */
uint64_t worker_wake_ns(const struct worker *worker);

/* Returns whether all is done, and the worker is to end. */
bool worker_is_finished(const struct worker *worker);

/* ---- events ---- */

/* A job was handed out. Returns it, for the caller's context; NULL if there is no room, which only
 * a server causes that gives more than it was asked for. A lease too long for WORKER_LEASE_BYTES is
 * none of this protocol. */
struct work_job *worker_handed(struct worker *worker, uint64_t now_ns, uint64_t id,
                               const char *lease);

/* The answer to a reserve has come, with so many jobs; or an error, after which it waits. */
void worker_reserved(struct worker *worker, size_t count);
void worker_reserve_failed(struct worker *worker, uint64_t now_ns);

/* Notes that the work on a job has ended. */
void worker_ran(struct worker *worker, struct work_job *job, enum work_outcome outcome);

/* What the server has answered. */
enum work_answer { ANSWER_OK, ANSWER_CANCELLED, ANSWER_GONE, ANSWER_ERROR };

void worker_looked(struct worker *worker, struct work_job *job, uint64_t now_ns,
                   enum work_answer answer, uint64_t ttr_ns);
void worker_extended(struct worker *worker, struct work_job *job, uint64_t now_ns,
                     enum work_answer answer);
void worker_told(struct worker *worker, struct work_job *job, uint64_t now_ns,
                 enum work_answer answer);

/* The connections come and go. */
void worker_taker_changed(struct worker *worker, bool is_there);
void worker_teller_changed(struct worker *worker, bool is_there);

/* The worker takes no more jobs; it also ends those that it has, and gives them back. */
void worker_stop(struct worker *worker);
void worker_give_up(struct worker *worker);

#endif
