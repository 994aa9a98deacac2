/*
 * What a worker does next: it reserves jobs, has them done, and tells the server how they ended.
 * This part decides, and has no effect: events and `now` come in, effects go out.
 *
 *     taken ----> running ----> ended ----> told
 *       start       ^  |          ack, nack, give back
 *                   +--+ look, extend; stop, kill
 *
 * A worker never has more jobs than it can do at once, because a lease runs from the hand-out. The
 * hand-out does not say how long a lease is. So the worker looks up a job whose work lasts, and
 * then extends its lease after each third of it. One command extends this lease and those that
 * would be extended soon.
 *
 * If the connection on which the worker tells the end of a job is lost, it tells the end again on
 * the next connection. If the server has got the first ACK, it answers "gone": that is no failure.
 */
#ifndef ELAPSE_CLI_WORK_WORKER_H
#define ELAPSE_CLI_WORK_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORKER_JOBS_MAX = 1000, WORKER_LEASE_BYTES = 48 };

#define WORKER_NEVER         UINT64_MAX
#define WORKER_LOOK_AFTER_NS UINT64_C(100000000)  /* a job is looked up if its work lasts longer */
#define WORKER_AGAIN_NS      UINT64_C(1000000000) /* the pause after an error of the server */
#define WORKER_KILL_AFTER_NS UINT64_C(5000000000) /* from asking work to end to killing it */

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
    bool lost;      /* the lease has ended: the server is told nothing more */
    bool cancelled; /* the job was cancelled: the work shall end */
    bool timed_out;
    bool stopping;
    bool asks;                      /* an answer to a look or to an extension is awaited */
    struct work_job *next_extended; /* the next job in the same extension; NULL: this is the last */
    bool tell_sent; /* the server was told how the work ended, and has not answered */
    bool told_once; /* the connection was lost while that answer was awaited */
    uint64_t taken_ns;
    uint64_t ttr_ns;   /* 0: not known yet */
    uint64_t ask_ns;   /* when to look, or to extend */
    uint64_t tell_ns;  /* the server is not told before */
    uint64_t limit_ns; /* when the work is asked to end, because it takes too long */
    uint64_t kill_ns;  /* when the work is killed */
    uint64_t after_ms; /* who did the work wants to be left alone for so long; 0: no wish */
    const char *error; /* what the server is told that went wrong, the caller's; NULL: nothing */
    void *context;     /* of the caller */
};

struct worker_options {
    size_t concurrency; /* 1 to WORKER_JOBS_MAX */
    uint64_t limit_ns;  /* how long the work on a job may last; 0: for ever */
    bool has_backoff;   /* a failed job waits for `backoff_ms`, in place of its own back-off. The
                         * attempt does not count, unless the job has a wish: `after_ms`. */
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
    EFFECT_EXTEND, /* the leases of the job and of those behind it, by next_extended */
    EFFECT_ACK,
    EFFECT_NACK, /* the job's own back-off and attempts apply; it waits for `delay_ms` at least */
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

/* Stores the next effect, which the caller carries out before it calls again. Returns false if
 * there is none now. */
bool worker_next(struct worker *worker, uint64_t now_ns, struct work_effect *effect);

/* Returns when to call worker_next again if no event comes before. */
uint64_t worker_wake_ns(const struct worker *worker);

/* Returns whether all is done, and the worker is to end. */
bool worker_is_finished(const struct worker *worker);

/* ---- events ---- */

/* Notes that a job was handed out. Returns it, so that the caller can set its context. Returns NULL
 * if there is no room, because the server gave more jobs than it was asked for; or if the lease
 * does not fit into WORKER_LEASE_BYTES, which no lease of this protocol does. */
struct work_job *worker_handed(struct worker *worker, uint64_t now_ns, uint64_t id,
                               const char *lease);

/* Notes how long the leases of a job are that was just handed out. Then the worker extends the
 * lease without a look, for which its user may lack the right. 0: it is not known. */
void worker_knows_ttr(struct work_job *job, uint64_t ttr_ns);

/* Note the answer to a reserve: `count` jobs, which worker_handed has taken before; or an error,
 * after which the worker waits for WORKER_AGAIN_NS. */
void worker_reserved(struct worker *worker, size_t count);
void worker_reserve_failed(struct worker *worker, uint64_t now_ns);

/* Notes that the work on a job has ended. If it has failed, `after_ms` of the job counts, too. */
void worker_ran(struct worker *worker, struct work_job *job, enum work_outcome outcome);

/* What the server has answered. */
enum work_answer { ANSWER_OK, ANSWER_CANCELLED, ANSWER_GONE, ANSWER_ERROR };

/* Note the answer to a look, to an extension of one job, and to how the work ended. */
void worker_looked(struct worker *worker, struct work_job *job, uint64_t now_ns,
                   enum work_answer answer, uint64_t ttr_ns);
void worker_extended(struct worker *worker, struct work_job *job, uint64_t now_ns,
                     enum work_answer answer);
void worker_told(struct worker *worker, struct work_job *job, uint64_t now_ns,
                 enum work_answer answer);

/* Note that a connection was made or lost: the one that reserves, and the one that tells. */
void worker_taker_changed(struct worker *worker, bool is_there);
void worker_teller_changed(struct worker *worker, bool is_there);

/* worker_stop: the worker takes no more jobs. worker_give_up: it also ends the work on those that
 * it has, and gives them back. */
void worker_stop(struct worker *worker);
void worker_give_up(struct worker *worker);

#endif
