/*
 * Decides what a worker does next. A worker reserves jobs, has them done, and tells the server how
 * they ended. This part has no effect itself: events and `now` come in, and effects go out.
 *
 *     taken ----> running ----> ended ----> told
 *       start       ^  |          ack, nack, give back
 *                   +--+ look, extend; stop, kill
 *
 * A worker never has more jobs than it can do at the same time, because a lease runs from the
 * hand-out on. The hand-out may not say how long a lease is. So the worker looks up a job whose
 * work takes long, and then extends its lease after each third of it. One command extends this
 * lease and those leases that would be extended soon, as many as fit into one command.
 *
 * If the connection on which the worker tells the end of a job is lost, the worker tells the end
 * again on the next connection. If the server has got the first ACK, it answers "gone", which is no
 * failure.
 */
#ifndef ELAPSE_CLI_WORK_WORKER_H
#define ELAPSE_CLI_WORK_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORKER_JOBS_MAX = 1000, WORKER_LEASE_BYTES = 48 };

/* The most leases of one extension: as many as one request has room for. */
enum { WORKER_EXTENDED_MAX = 500 };

#define WORKER_NEVER         UINT64_MAX
#define WORKER_LOOK_AFTER_NS UINT64_C(100000000)  /* a job is looked up if its work takes longer */
#define WORKER_AGAIN_NS      UINT64_C(1000000000) /* the pause after an error of the server */
#define WORKER_KILL_AFTER_NS UINT64_C(5000000000) /* from the request to end until the kill */

/* How the work on a job ended. */
enum work_outcome {
    WORK_DONE,
    WORK_FAILED,
    WORK_NOT_BEGUN, /* the work could not be started, so the job has not failed */
    WORK_GIVEN_UP,  /* the worker ends, so the job has not failed */
};

enum work_state { WORK_FREE, WORK_TAKEN, WORK_RUNNING, WORK_ENDED, WORK_TOLD };

struct work_job {
    enum work_state state;
    uint64_t id;
    char lease[WORKER_LEASE_BYTES];
    enum work_outcome outcome;
    bool lost;      /* the lease has ended, so the server is told nothing more */
    bool cancelled; /* the job was cancelled, so the work should end */
    bool timed_out;
    bool stopping;
    bool asks;                      /* a look or an extension has no answer yet */
    struct work_job *next_extended; /* the next job in the same extension; NULL: none */
    bool tell_sent; /* the server was told how the work ended, and has not answered */
    bool told_once; /* an earlier request may have told the server: nobody knows */
    uint64_t taken_ns;
    uint64_t ttr_ns;   /* how long a lease lasts; 0: not known yet */
    uint64_t ask_ns;   /* when to look up or to extend the job */
    uint64_t tell_ns;  /* the server is not told before this time */
    uint64_t limit_ns; /* when the work is asked to end because it takes too long */
    uint64_t kill_ns;  /* when the work is killed */
    uint64_t after_ms; /* for how long the program or hook wants no job; 0: no wish */
    const char *error; /* the error for the server, which the caller owns; NULL: none */
    void *context;     /* the caller's */
};

struct worker_options {
    size_t concurrency; /* from 1 to WORKER_JOBS_MAX */
    uint64_t limit_ns;  /* the longest time for the work on a job; 0: no limit */
    bool has_backoff; /* a failed job waits for `backoff_ms`, and its attempt does not count, unless
                         it has `after_ms` */
    uint64_t backoff_ms;
    bool until_empty; /* the worker ends when there is no job */
};

struct worker {
    struct worker_options options;
    struct work_job jobs[WORKER_JOBS_MAX];
    size_t job_count; /* how many jobs are not free */
    bool reserves;    /* a reserve has no answer yet */
    uint64_t reserve_ns;
    bool is_empty;    /* the last reserve found no job, and no job has ended since */
    bool asks_again;  /* a job has ended while a reserve was under way */
    bool can_reserve; /* there is a connection for reserves */
    bool can_tell;
    bool stops;    /* the worker takes no more jobs */
    bool gives_up; /* the worker ends the work on the jobs that it has */

    uint64_t done;
    uint64_t failed;
    uint64_t lost;
};

enum work_effect_kind {
    EFFECT_RESERVE, /* reserves up to `count` jobs */
    EFFECT_START,
    EFFECT_STOP, /* asks the work to end */
    EFFECT_KILL,
    EFFECT_LOOK,   /* asks the server for the job's state */
    EFFECT_EXTEND, /* extends the leases of the job and of those that follow by next_extended, up to
                      WORKER_EXTENDED_MAX together */
    EFFECT_ACK,
    EFFECT_NACK,    /* the job has its own back-off, at least `delay_ms` */
    EFFECT_NACK_IN, /* the job is due again after `delay_ms`, and uses up no retry */
    EFFECT_FORGET,  /* the job is free now: the caller may free what belongs to it */
};

struct work_effect {
    enum work_effect_kind kind;
    struct work_job *job; /* the job of the effect; NULL for EFFECT_RESERVE */
    size_t count;
    uint64_t delay_ms;
};

void worker_init(struct worker *worker, const struct worker_options *options);

/* Stores the next effect. The caller carries it out before it calls again. Returns false if there
 * is no effect now. */
bool worker_next(struct worker *worker, uint64_t now_ns, struct work_effect *effect);

/* Returns when to call worker_next again if no event comes before. */
uint64_t worker_wake_ns(const struct worker *worker);

/* Returns whether everything is done, so that the worker has to end. */
bool worker_is_finished(const struct worker *worker);

/* ---- events ---- */

/* Notes that a job was handed out. Returns the job, so that the caller can set its context. Returns
 * NULL if there is no room, because the server gave more jobs than it was asked for. Returns NULL
 * also if the lease does not fit into WORKER_LEASE_BYTES, which no lease of this protocol does. */
struct work_job *worker_handed(struct worker *worker, uint64_t now_ns, uint64_t id,
                               const char *lease);

/* Notes how long the leases of a job last that was just handed out. Then the worker extends the
 * lease without looking the job up, for which its user may lack the right. 0: it is not known. */
void worker_knows_ttr(struct work_job *job, uint64_t ttr_ns);

/* worker_reserved notes that a reserve was answered with `count` jobs, which worker_handed has
 * taken before. worker_reserve_failed notes that a reserve was answered with an error. After an
 * error the worker waits for WORKER_AGAIN_NS. */
void worker_reserved(struct worker *worker, size_t count);
void worker_reserve_failed(struct worker *worker, uint64_t now_ns);

/* Notes that the work on a job has ended. If it has failed, `after_ms` of the job is used, too. */
void worker_ran(struct worker *worker, struct work_job *job, enum work_outcome outcome);

/* What the server has answered. */
enum work_answer {
    ANSWER_OK,
    ANSWER_CANCELLED,
    ANSWER_GONE,
    ANSWER_ERROR,   /* nothing has changed, and the server may do it later */
    ANSWER_REFUSED, /* the server does not understand the request */
    ANSWER_UNKNOWN, /* it may have been done, or not */
};

/* These functions note the answer to a look, the answer to an extension of one job, and the answer
 * to how the work ended. */
void worker_looked(struct worker *worker, struct work_job *job, uint64_t now_ns,
                   enum work_answer answer, uint64_t ttr_ns);
void worker_extended(struct worker *worker, struct work_job *job, uint64_t now_ns,
                     enum work_answer answer);
void worker_told(struct worker *worker, struct work_job *job, uint64_t now_ns,
                 enum work_answer answer);

/* These functions note that a connection was made or lost: the taker, which reserves, and the
 * teller, which tells how work ended. */
void worker_taker_changed(struct worker *worker, bool is_there);
void worker_teller_changed(struct worker *worker, bool is_there);

/* worker_stop: the worker takes no more jobs. worker_give_up: the worker also ends the work on the
 * jobs that it has, and gives them back. */
void worker_stop(struct worker *worker);
void worker_give_up(struct worker *worker);

#endif
