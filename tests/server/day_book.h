/*
 * The book of the simulated day (day_test.c). The book says what the clients know of every job. The
 * functions compare each reply with the book, and report the promise that a reply breaks. The
 * numbers of promises are those of docs/promises.md.
 *
 *             put           handed out           ack, cancel, replaced
 *      FREE -------> WAITS ------------> HELD ------------------------> ENDED --> FREE
 *                     ^ ^                | |                              ^
 *                     | +----------------+ | bury, the last retry         |
 *                     |   nack, release,   v                    EXPIRE ---+
 *                     +---------------- BURIED
 *                            kick
 *
 * A client knows only what replies say. Between a command and its reply, the state before the
 * command and the state after it are both possible, and the functions accept both.
 */
#ifndef ELAPSE_TESTS_SERVER_DAY_BOOK_H
#define ELAPSE_TESTS_SERVER_DAY_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    DAY_JOBS = 1 << 15,
    DAY_TUBES = 8,
    DAY_TTR_MS_MAX = 30000,
    DAY_STEP_MS_MAX = 50,     /* the longest step of the clock */
    DAY_UNDER_WAY_MS = 200,   /* the longest time that a reply is under way */
    DAY_PATIENCE_MS = 150000, /* the longest time from when a job can come to when it comes */
    DAY_REST_MS = 120000,     /* how long an ended job is remembered */
};

struct day_job {
    enum day_state { DAY_FREE, DAY_ASKED, DAY_WAITS, DAY_HELD, DAY_BURIED, DAY_ENDED } state;
    uint32_t generation; /* counts the jobs of this place in the book; the body says it */
    uint32_t tube;       /* DAY_TUBES: a tube that lasts only a minute */
    uint32_t retry;
    uint64_t id;
    uint64_t key;       /* 0: none */
    uint64_t period_ms; /* 0: not recurring */
    uint64_t expire_ms; /* 0: never */
    uint64_t ttr_ms;
    uint64_t backoff_min_ms, backoff_max_ms;
    uint64_t due_ms;      /* WAITS: it comes not before. HELD: nobody else gets it before */
    uint64_t latest_ms;   /* WAITS: when it can be handed out, at the latest */
    uint64_t since_ms;    /* BURIED, ENDED: when a client said or heard this */
    bool is_asked_to_end; /* a client has sent a command that ends it */
    bool was_handed_out;
    bool is_shadow; /* HELD: it was cancelled meanwhile */
};

struct day_figures {
    uint64_t put, handed_out, ended, expired, buried, cancelled, replaced, most_jobs;
    uint64_t latest_ms; /* the most by which a job came late */
};

/* The first promise that was broken; "" if none. */
extern char day_violation[200];
extern struct day_figures day_figures;
/* Milliseconds since the day began. */
extern uint64_t day_now_ms;

__attribute__((format(printf, 1, 2))) void day_violate(const char *format, ...);

void day_book_begin(void);

/* Returns a free place, whose job is ASKED; NULL: the book is full. */
struct day_job *day_book_take(void);
uint32_t day_book_number(const struct day_job *job);
struct day_job *day_book_at(uint32_t number);

/* Returns a job in a state, chosen at random among those that were put lately; NULL: none was
 * found. */
struct day_job *day_book_some(enum day_state state, uint64_t random);

/* How many jobs have not ended. */
uint64_t day_book_live(void);

void day_stored(struct day_job *job, uint64_t id);
/* Notes that a job was handed out, whose body has this number and generation. `due_ms` is the due
 * time that the reply says; 0: the reply has none. Returns the job; NULL: a promise is broken. */
struct day_job *day_handed_out(uint32_t number, uint32_t generation, uint64_t id, uint64_t due_ms);
void day_ended(struct day_job *job);
/* Notes that the job waits: it will be ready in `from_ms` at the soonest, and in `latest_ms` at the
 * latest. */
void day_waits(struct day_job *job, uint64_t from_ms, uint64_t latest_ms);
void day_is_buried(struct day_job *job, uint64_t since_ms);
/* Notes that attempt number `attempt` of the job, from 1, fails `after_ms` from now. */
void day_failed(struct day_job *job, uint32_t attempt, uint64_t after_ms);
/* Notes that buried jobs of the tube were kicked. */
void day_kicked(uint32_t tube);
bool day_has_buried(uint32_t tube);

/* Looks for jobs that were lost, and forgets those that ended long ago. */
void day_book_check(void);

#endif
