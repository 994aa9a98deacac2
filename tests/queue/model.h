/*
 * The plain queue of the model test: an array of jobs. model_test.c gives commands to it and to the
 * queue; model_turns.c says which job comes first.
 */
#ifndef ELAPSE_TESTS_QUEUE_MODEL_H
#define ELAPSE_TESTS_QUEUE_MODEL_H

#include <string.h>

#include "log.h"
#include "random.h"
#include "tubes.h"

enum { JOBS = 64, HANDS = 32, GROUPS = 3, KEYS = 4, ARRIVAL_TOKENS = 3 };

/* The due time of a job that waits for arrivals alone. */
#define NO_DUE INT64_MAX

struct plain_job {
    uint64_t id;   /* 0: the place is free */
    int tube, key; /* key -1: none */
    int group;     /* 0: none */
    enum elapse__queue_state state;
    bool kept;         /* SHADOW: a restart does not end it */
    bool may_lack_key; /* SHADOW: cleaning may have left its key out, for another job may have it */
    uint32_t await;    /* arrivals that are missing */
    bool waits;        /* for them */
    bool by_wall, begun, begun_later, handed_out, handed_before, replayed;
    int64_t due; /* by the clock of the job */
    int64_t lease_end, expiry;
    uint32_t priority, retry, attempts, reserves;
    int64_t ttr, expire, period, occurrence, first, backoff_min, backoff_max;
    uint32_t missed, reported;
    struct elapse__queue_lease lease;
};

struct model {
    struct random_source random;
    struct log log;
    struct elapse__queue_options options;
    struct elapse__queue *queue;
    struct elapse__queue_now now;
    uint32_t life;
    uint64_t last_id, last_lease;
    bool sets_clock, has_groups;
    struct plain_job jobs[JOBS];
    struct elapse__queue_handed hands[HANDS]; /* old and new leases */
    size_t hand_count;
    uint64_t seed, step;
    int64_t paused_until[2];
    /* When each group has got its first ready job, or when it has handed one out: as a number that
     * grows. Groups that get their first job in one turn have one number, because the model does
     * not know their order. */
    uint64_t event, turns[2][GROUPS];
    bool was_ready[2][GROUPS];
    uint32_t limits[2], group_limits[2]; /* 0: none */
    bool is_ordered[2];                  /* each group */
    /* A rate counts in parts of a token, of which a token has as many as its period has
     * milliseconds: each millisecond brings `count` parts. */
    struct elapse__queue_rate rates[2], group_rates[2];
    uint64_t tokens[2], group_tokens[2][GROUPS];
    bool arrived[2][KEYS][ARRIVAL_TOKENS]; /* a token that came to a key; 0: none */
    const char *doing;
};

/* The names of tubes and keys, and of groups; 0: none. */
extern const char *const model_tubes[2];
extern const char *const model_keys[KEYS];
extern const char *const model_groups[GROUPS];

/* Returns the job that has a key, or NULL. With `shadow` a job counts that was cancelled while it
 * ran. */
struct plain_job *job_of_key(struct model *m, int tube, int key, bool shadow);

/* A job waits until it is due; it is ready if that time has come. */
void wait_for(struct model *m, struct plain_job *job, bool by_wall, int64_t due);

/* ---- model_arrive.c ---- */

/* Makes some puts wait for arrivals. Requires that the put has a key. */
void random_await(struct model *m, struct elapse__queue_put *put);

/* Returns whether a job that was ready waits for arrivals again after a start. */
bool waits_again(const struct plain_job *job, struct elapse__queue_view view);

void do_arrive(struct model *m);

/* Ends the program with what the queue and the model say. */
_Noreturn void wrong(const struct model *m, const char *what, uint64_t left, uint64_t right);

#define SAME(queue_says, model_says)                                               \
    do {                                                                           \
        if ((uint64_t)(queue_says) != (uint64_t)(model_says))                      \
            wrong(m, #queue_says, (uint64_t)(queue_says), (uint64_t)(model_says)); \
    } while (0)

static inline struct elapse__queue_text text_of(const char *bytes)
{
    return (struct elapse__queue_text){bytes, strlen(bytes)};
}

/* Draws turns for the groups that have begun to have ready jobs. */
void draw_turns(struct model *m);

/* Returns the job that comes out first of one tube, or of both: the job `id` if it may. */
struct plain_job *first_ready(struct model *m, bool both, int tube, uint64_t id);

/* Takes the tokens of a hand-out, and lets tokens come for a time. */
void take_token(struct model *m, int tube, int group);
void bring_tokens(struct model *m, uint64_t ms);

/* Gives a tube other rates. */
void set_rates(struct model *m, int tube, const struct elapse__queue_limits *limits);

/* The buckets are empty after a start; those of tubes only after a crash. */
void empty_buckets(struct model *m, bool is_clean);

/* Compares how many jobs each group of a tube has. `name` is the tube's. */
void compare_groups(const struct model *m, int tube, struct elapse__queue_text name);

#endif
