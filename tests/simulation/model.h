/*
 * The checker of the simulation: a plain queue that always tells the truth, and remembers what may
 * be lost.
 *
 * Each command that the process has run has a number. A job has one version for each command that
 * changed it. A reply that a client received makes its command, and all before it, certain (Q4).
 * After a crash the jobs must be those after some command `c` that is as late as the last certain
 * one, the same `c` for all of them (Q2, Q3, Q5); nothing else is open.
 *
 *      certain <= c <= last       every job: its last version of a command up to c
 *
 * A version is `apart` if its command changes each job in a group of its own: behind a cut in the
 * middle of that command it may be there or not. It is `unwritten` if the journal refused its
 * record, which only the passing of time may do: then it may be lost at any crash.
 *
 * Times are those of the simulation: `t` in milliseconds that never go back, of which both clocks
 * of the process are made.
 */
#ifndef ELAPSE_TESTS_MODEL_H
#define ELAPSE_TESTS_MODEL_H

#include "../../src/queue/queue.h"
#include "../../src/queue/tubes.h"

enum { MODEL_TUBES = 3, MODEL_KEYS = 5, MODEL_TOKENS = 8, MODEL_BODY_MAX = 4096 };
/* An arrival at a key of a tube has one of the first tokens, and each key has its own. */
enum { MODEL_ARRIVAL_TOKENS = 4 };
enum { MODEL_ALL_TOKENS = MODEL_TOKENS + MODEL_TUBES * MODEL_KEYS * MODEL_ARRIVAL_TOKENS };
enum { MODEL_HEADERS_MAX = 512, MODEL_GROUPS = 4, MODEL_ERROR_MAX = 512 };

/* The number of an error that nobody told: a lease that ended by itself. */
enum { MODEL_LEASE_ENDED = -1 };

#define MODEL_NEVER INT64_MAX

/* What a client sends to put a job. Numbers of tubes, keys and tokens; 0: no key, no token. */
struct model_put {
    unsigned tube, key, token;
    uint32_t serial; /* the body follows from it */
    uint32_t body_size;
    enum elapse__queue_when when;
    int64_t delay, at, period, debounce_max, ttr, expire, backoff_min, backoff_max;
    enum elapse__queue_if_key if_key;
    uint32_t priority, retry, await;
};

struct model_job {
    uint64_t seq;
    bool apart, unwritten;
    uint64_t id;
    struct model_put put;
    enum elapse__queue_state state; /* FREE: it ended */
    bool by_wall;
    uint32_t await; /* arrivals that are missing */
    bool waits;     /* for them; a record that says so stays when its due time has come */
    int64_t due;    /* wall-clock time, or t; MODEL_NEVER: it waits for arrivals alone */
    int64_t set_at; /* t when `due` was set */
    bool has_first;
    bool first_is_open; /* the wall clock was set, and the process started anew */
    int64_t first;      /* t */
    int64_t occurrence;
    uint32_t missed, reported, failures, attempts;
    bool handed_out, handed_out_before, begun, replayed;
    bool keeps_place;   /* SHADOW: it was cancelled under a limit, and a start does not end it */
    bool may_lack_key;  /* SHADOW: cleaning may have left its key out */
    bool is_damaged;    /* its body; cleaning leaves it out */
    int32_t error;      /* the number of the last one; 0: none */
    bool error_is_open; /* the file of its text was damaged */
    struct elapse__queue_lease lease;
    unsigned connection;   /* with which the lease ends; 0: none */
    bool end_is_open;      /* of the lease: the wall clock was set, and the process started anew */
    int64_t lease_end;     /* t, as the process has it */
    int64_t lease_written; /* t, as its record may have it */
    int64_t expiry;        /* t, of a ready job */
};

/* What one PAUSE did. */
struct model_pause {
    uint64_t seq;
    int64_t end, length; /* t; 0: the pause was ended */
    bool is_open;        /* the wall clock was set, and the process started anew */
};

enum { MODEL_PAUSES = 256 };

struct model_pauses {
    struct model_pause versions[MODEL_PAUSES];
    unsigned count;
};

/* A rate of a tube, or of its groups. */
struct model_rate {
    uint64_t number; /* of the command that set it */
    int64_t since;   /* t, when it was set, or the process started */
    bool is_exact;   /* it began after a rest, in this life */
};

/* What one LIMIT did. */
struct model_limit {
    uint64_t seq;
    struct elapse__queue_limits limits;
    struct model_rate rate, group_rate;
};

enum { MODEL_LIMITS = 256 };

struct model_limits {
    struct model_limit versions[MODEL_LIMITS];
    unsigned count;
};

struct model_history {
    struct model_job *versions;
    unsigned count, capacity;
};

/* An offset of the wall clock, and since when. */
struct model_offset {
    int64_t since, offset;
};

struct model {
    struct model_history *jobs;
    unsigned job_count, job_capacity;
    uint64_t seq, certain, life_start;
    bool transacts;                /* the changes that follow are those of one command */
    bool keeps_all;                /* also replies may be lost: see `interval` of the journal */
    uint64_t greatest_id, told_id; /* of this life; of all replies */
    int64_t t, offset;             /* the wall clock shows t + offset */
    struct model_offset offsets[64];
    unsigned offset_count;
    struct model_token {
        uint64_t id, seq;
        int64_t t;
        bool fuzzy, may_be_lost;
    } tokens[MODEL_ALL_TOKENS][16];
    unsigned token_counts[MODEL_ALL_TOKENS];
    struct model_pauses pauses[MODEL_TUBES];
    struct model_limits limits[MODEL_TUBES];
    bool drops; /* the journal has refused a group of the command that is judged */
    char violation[320];
};

extern struct model model;

void model_begin(void);
void model_end(void);

/* Notes the first violation of a promise. Returns false. */
__attribute__((format(printf, 1, 2))) bool model_violate(const char *format, ...);

static inline int64_t model_wall(void)
{
    return model.t + model.offset;
}

void model_set_wall(int64_t offset);

/* The bytes of a body, of headers, a key, a tube. Every third job has headers. */
size_t model_headers(const struct model_put *put, uint8_t *bytes);
void model_body(const struct model_put *put, uint8_t *bytes);
size_t model_error(int32_t error, uint8_t *bytes);
struct elapse__queue_text model_tube(unsigned number);
struct elapse__queue_text model_key(unsigned number);
struct elapse__queue_text model_token_text(unsigned number);

/* The number of a put's group, 0: none, and its name. The last tube has no groups. */
unsigned model_group_of(const struct model_put *put);
struct elapse__queue_text model_group(const struct model_put *put);

/* Returns the present version of a job, or NULL. A job that ended may be found or not. */
struct model_job *model_find(uint64_t id);
struct model_job *model_at(unsigned index);
unsigned model_live(void);

/* A reply was received: everything up to this command is certain. */
void model_reply(uint64_t seq);

/* ---- commands, after the process has run them: they take its answer and judge it ---- */

typedef struct elapse__queue_answer model_answer;

void model_do_put(const struct model_put *put, model_answer answer);
void model_do_cancel(uint64_t id, unsigned tube, unsigned key, model_answer answer);
void model_do_reschedule(uint64_t id, unsigned tube, unsigned key, struct elapse__queue_time time,
                         model_answer answer);
void model_do_kick(uint64_t id, model_answer answer);
void model_do_arrive(unsigned tube, unsigned key, uint32_t count, unsigned token,
                     model_answer answer);

/* A transaction begins, and ends. What is done in between has one number: all or nothing. */
void model_begin_transaction(void);
void model_end_transaction(void);
void model_do_pause(unsigned tube, int64_t delay, model_answer answer);

/* Returns whether the model has room for another pause of the tube. */
bool model_takes_pauses(unsigned tube);

void model_do_limit(unsigned tube, const struct elapse__queue_limits *limits, model_answer answer);

/* Returns whether the model has room for other limits of the tube. */
bool model_takes_limits(unsigned tube);
const struct elapse__queue_limits *model_limits_of(unsigned tube);
bool model_has_slow_rate(unsigned tube);

/* Returns whether a job of these tubes (a bit each) is ready that no pause holds. */
bool model_has_ready(unsigned tubes);

/* Returns whether the reply of a hand-out waits until the hand-out is on the disk. */
bool model_writes_hand_out(const struct model_put *put);

enum model_verb { MODEL_ACK, MODEL_NACK, MODEL_NACK_IN, MODEL_EXTEND, MODEL_BURY };
/* `error` is what the worker told, and was taken; 0: nothing. */
void model_do_holder(enum model_verb verb, uint64_t id, struct elapse__queue_lease lease,
                     int64_t delay, int32_t error, model_answer answer);

/* Time has passed. `unwritten`: the journal refused records meanwhile. */
void model_do_turn(bool unwritten);
/* A job was taken from these tubes (a bit each), or none. Its lease ends with the connection. */
void model_do_take(unsigned tubes, unsigned connection, const struct elapse__queue_handed *handed);
/* Its reply left. */
void model_do_begin(uint64_t id, struct elapse__queue_lease lease);
/* It did not leave. */
void model_do_undo(uint64_t id, struct elapse__queue_lease lease);

/* A connection closes: it begins, one of its leases has ended, and it is done: then no job may be
 * reserved by it. */
void model_do_close(void);
void model_do_end_of_connection(uint64_t id, bool unwritten);
bool model_do_closed(unsigned connection);
bool model_is_held_by(const struct model_job *job, unsigned connection);

/* The job was buried, because its body is damaged. */
void model_do_bury_unread(uint64_t id, struct elapse__queue_lease lease);
bool model_holds(uint64_t id, struct elapse__queue_lease lease);

/* ---- looking ---- */

/* Reads the due time of jobs whose back-off was drawn at random, and judges it. Call it after each
 * command. */
void model_read_drawn(struct elapse__queue *queue, struct elapse__queue_now now);

/* Reads which ready jobs wait, because their place cannot be read now. Returns how many. */
unsigned model_read_aside(struct elapse__queue *queue, struct elapse__queue_now now);

/* Compares all that can be seen. */
void model_compare(struct elapse__queue *queue, struct elapse__queue_now now);

/* What was found of a job after a restart. */
struct model_found {
    struct elapse__queue_view view;
    const uint8_t *body;
    struct elapse__queue_text headers, error;
    bool is_damaged;    /* its body cannot be read, or was lost by cleaning */
    bool error_is_lost; /* in files that were damaged */
};

/* Finds the command after which all jobs were as they are now, from `least` on, and goes back to
 * it. */
void model_recover(struct elapse__queue *queue, struct elapse__queue_now now, uint64_t least,
                   const struct model_found *found, unsigned count);

#endif
