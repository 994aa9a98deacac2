/*
 * The queue from inside: its tables as types. Calls go down only, and so does what a file includes:
 *
 *      transact     many changes in one group
 *         |
 *      commands.h   put arrive cancel reserve lease kick list look_up turn replay clean occurrence
 * pause
 *         |
 *      moves.h      state.c: a job from one state into another      write.c: records
 *         |         watch.c: news for those who wait                build.c: a new job
 *         |
 *      tables.h     keys sides recurrence tokens errors tubes tube_record group_record limit
 *         |         group_rate groups turns waits; now.c
 *         |
 *      inner.h      types
 */
#ifndef ELAPSE__QUEUE_INNER_H
#define ELAPSE__QUEUE_INNER_H

#include "../base/ring.h"
#include "clocks.h"
#include "counters.h"
#include "ended.h"
#include "fields.h"
#include "heap.h"
#include "jobs.h"
#include "settings.h"

/* The ready jobs of a tube whose due times go by one clock, the oldest first. */
struct elapse__queue_waits {
    struct elapse__ring_node jobs;
    struct elapse__ring_node *last; /* the last job inserted elsewhere than at the end; or `jobs` */
};

enum elapse__queue_alarm_kind {
    ELAPSE__QUEUE_ALARM_PAUSE,
    ELAPSE__QUEUE_ALARM_TOKEN,
    ELAPSE__QUEUE_ALARM_GROUPS,
    ELAPSE__QUEUE_ALARM_BURIED,
    ELAPSE__QUEUE_ALARM_OPENING,
    ELAPSE__QUEUE_ALARM_GROUP_TOKEN,
};

/* A timer in the wheel `alarms`. */
struct elapse__queue_alarm {
    struct elapse_timer timer;
    enum elapse__queue_alarm_kind kind;
    uint32_t number; /* of the tube; GROUP_TOKEN: of the group */
};

/* The settings of a tube, and where they lie on the disk. */
struct elapse__queue_tube_record {
    struct elapse__queue_settings settings;
    struct elapse__queue_alarm pause;       /* pending: nothing is handed out */
    struct elapse__queue_alarm token;       /* pending: the bucket has no token */
    struct elapse__queue_alarm buried;      /* pending: then the oldest buried job may be dropped */
    struct elapse__queue_alarm opening;     /* pending: no group without a bucket has a token */
    struct elapse__queue_bucket bucket;     /* of the rate */
    struct elapse__queue_bucket since_open; /* of each group that has none of its own */
    uint64_t position;                      /* of the TUBE; 0: there is none */
    uint32_t size;                          /* of the TUBE, in bytes */
    uint64_t held;                          /* ready jobs that the limits hold back */
};

enum { ELAPSE__QUEUE_GROUP_INSIDE = 4 };

#define ELAPSE__QUEUE_NO_PLACE UINT32_MAX

/* The bucket of a group. */
struct elapse__queue_group_bucket {
    struct elapse__queue_alarm alarm; /* pending, once the queue is open */
    struct elapse__queue_bucket bucket;
    uint64_t position; /* of the TUBE of the group; 0: there is none */
    uint64_t rate;     /* the number of the rate that it follows */
    uint32_t size;     /* of the TUBE, in bytes */
    bool is_empty;     /* the alarm is that of the next token */
    bool is_unwritten; /* the TUBE is by an earlier rate, and a start has made the bucket of it */
};

/* The jobs of a tube that are for one customer. A group exists while it has jobs, in any state, or
 * a bucket. It has a number in the table of tubes, and the entries of its jobs have this number in
 * the place of their tube's. */
struct elapse__queue_group {
    uint64_t turn; /* while it has ready jobs: of two groups the lesser turn comes first */
    union {
        uint32_t inside[ELAPSE__QUEUE_GROUP_INSIDE]; /* entries by (priority, id) */
        struct elapse__queue_heap *heap;             /* if `has_heap` */
    } jobs;                                          /* that are ready */
    uint32_t link;                                   /* in the index of groups */
    uint32_t tube;                                   /* its number; a pointer takes more */
    uint32_t number;
    uint32_t references; /* entries that have this number */
    uint32_t place;      /* in the heap of the tube's groups; or NO_PLACE */
    uint32_t ready;
    uint32_t running; /* RESERVED and SHADOW */
    uint32_t may_run; /* of its ready jobs, by the limit of the group; 0: it stands in no heap */
    uint32_t buried;
    uint32_t retries;   /* DELAYED after a hand-out */
    uint32_t bucket;    /* 0: it has none; the bucket is full, or the tube's since_open */
    uint16_t kept : 15; /* places for more ready jobs that a transaction keeps */
    uint16_t has_heap : 1;
    uint8_t name_size;
    unsigned char name[];
};

/* The turns of a tube's groups. Only a tube with a group has them. The jobs without a group count
 * as one group, whose number is 0. */
struct elapse__queue_turns {
    struct elapse__queue_heap heap;  /* of the groups that may run, by (priority, turn) */
    struct elapse__ring_node moving; /* in a ring of the queue: a new limit has not come to all
                                        groups yet, or a start to all jobs */
    uint64_t pass;                   /* while it is: that of the queue when the move began */
    uint32_t tube;                   /* its number */
    uint64_t may_run;                /* the sum of its groups */
    uint64_t drawn;                  /* the last turn that was drawn */
    uint64_t turn;                   /* of the jobs without a group */
    uint32_t place;                  /* of the jobs without a group, in the heap; or NO_PLACE */
    uint32_t groups;
    uint32_t without_jobs; /* groups that are there only because of their buckets */
    uint32_t buckets;
};

struct elapse__queue_tube {
    uint32_t link; /* in the index of tubes */
    uint32_t number;
    uint32_t holds;
    uint32_t urgent;
    uint64_t hash;
    uint64_t counts[ELAPSE__QUEUE_SHADOW + 1]; /* jobs in each state */
    struct elapse__queue_heap ready;           /* the jobs without a group */
    struct elapse__queue_turns *turns;         /* NULL: there is no group */
    struct elapse__queue_waits waits[2];       /* by the boot-time clock, and by the wall clock */
    struct elapse__ring_node buried;           /* by the time at which they were buried */
    uint64_t buried_recurring;                 /* jobs in that ring that recur */
    struct elapse__queue_tube_record *record;  /* NULL: the tube has no settings */
    uint64_t body_bytes;                       /* of all jobs but shadows */
    struct elapse__queue_watch *watch;         /* NULL: nobody waits here */
    struct elapse__queue_statistics totals;    /* only what counts up */
    uint8_t name_size;
    unsigned char name[];
};

/* An entry that is in no index yet, with everything that it will need. */
struct elapse__queue_built {
    struct elapse__queue_tube *tube; /* held */
    struct elapse__queue_entry *entry;
    uint32_t key; /* 0: none */
};

/* What a put has allocated before it changes anything. */
struct elapse__queue_prepared {
    struct elapse__queue_built built; /* its tube is NULL: nothing, or it was used */
    uint32_t token;                   /* 0: none */
    struct elapse__queue_text body;   /* of the record: the job's, and the headers behind it */
    unsigned char *joined;            /* the memory of both; NULL: there are no headers */
};

/* A transaction while its changes are made. It has begun the one group that they all write to. */
struct elapse__queue_transaction {
    uint64_t last_id; /* a job that the transaction itself puts cannot be named in it */
    uint64_t bytes_left;
    bool drops_errors;                       /* the disk has no room for what workers tell */
    struct elapse__queue_prepared *prepared; /* for the change that is made now: of a put all of it,
                                                of an arrival its token */
};

struct elapse__queue_token {
    uint32_t size;  /* of the record, in bytes */
    uint32_t link;  /* in the index of tokens */
    uint32_t newer; /* the next one in the list by time; 0: none */
    uint32_t end_s; /* when it ends, by the boot-time clock, in seconds, rounded up */
    struct elapse__hash_128 hash;
    uint64_t id;
    uint64_t position; /* of its record; 0: it ended, and its record was cleaned away */
};

/* The error of a job, whose text is the body of a CHANGE. */
struct elapse__queue_error {
    uint32_t link; /* in the index of errors */
    uint32_t size; /* of the record, in bytes */
    uint64_t id;   /* of the job; 0: free */
    uint64_t position;
};

/* The last list begins with lives of 2^9 s, and the longest life is 600 s. */
enum { ELAPSE__QUEUE_TOKEN_LISTS = 10 };

struct elapse__queue {
    struct elapse_allocator memory;
    struct elapse__record_sink *sink;
    uint64_t live_excess; /* bytes that the sink counts as live, and that may not be live */
    struct elapse__queue_options options;
    struct elapse__hash_secret secret;
    uint64_t random;      /* state of the jitter's generator */
    uint64_t last_id;     /* the greatest id used */
    uint32_t swept;       /* the last place that the replay of a group's TUBE looked at */
    uint64_t replayed_id; /* the greatest id of a job that was replayed */
    uint64_t last_lease;
    uint64_t readied; /* jobs that became ready */
    uint64_t freed;   /* places and tokens that came in tubes with limits, pauses and their ends */
    uint64_t held;    /* ready jobs of all tubes that limits hold back */
    uint64_t group_rates; /* rates of groups that began in this life */
    uint32_t life;
    uint32_t greatest_life; /* of a lease that was replayed */
    bool open;
    struct elapse__ring_node moving;       /* tubes whose groups are moved (pass.c) */
    struct elapse__ring_node behind;       /* tubes that wait until is_behind ends */
    struct elapse__queue_alarm pass_alarm; /* pending: `moving` is not empty */
    uint64_t pass;                         /* round << 32 | the last place that was visited */
    bool stops;                            /* what only a clean stop knows is written */
    bool is_behind;                        /* not all is ready that was due by these ticks: at the
                                              start, or when there was no memory for a ready job */
    uint64_t behind_boot, behind_wall;
    struct elapse__queue_now now;                  /* the present of the last call */
    struct elapse__queue_transaction *transaction; /* NULL: none runs */
    struct elapse__queue_jobs jobs;
    struct elapse__queue_slab keys;
    struct elapse__queue_index key_index;
    struct elapse__queue_slab sides;
    struct elapse__queue_slab profiles;
    struct elapse__queue_index profile_index;
    uint32_t last_profile; /* of the job built last, which the next mostly has, too; 0: none */
    struct elapse__queue_slab names; /* of holders of leases */
    struct elapse__queue_index name_index;
    struct elapse__queue_slab tubes; /* pointers to tubes and groups */
    struct elapse__queue_index tube_index;
    struct elapse__queue_index group_index;
    struct elapse__queue_tube *last_tube; /* of the job that was built last; NULL: none */
    struct elapse__queue_slab buckets;    /* of groups */
    struct elapse__queue_slab tokens;
    struct elapse__queue_index token_index;
    /* Of each list of tokens, by time; 0: none. */
    uint32_t oldest_token[ELAPSE__QUEUE_TOKEN_LISTS], newest_token[ELAPSE__QUEUE_TOKEN_LISTS];
    struct elapse__queue_slab errors;
    struct elapse__queue_index error_index;
    struct elapse__queue_statistics totals;
    struct elapse__queue_counters *counters; /* of both clocks; NULL: nobody asks */
    elapse__queue_ended_function *ended;     /* NULL: nobody wants to know which jobs end */
    void *ended_context;
    struct elapse__queue_clocks clocks;
    struct elapse__ring_node watch_news; /* watches that elapse__queue_watch_next returns */
};

/* The tick of a job that has no due time, but waits for arrivals. It is later than every other. */
#define ELAPSE__QUEUE_NO_DUE ELAPSE_NEVER

/* A due time: a tick of one of the two clocks. */
struct elapse__queue_tick {
    bool by_wall;
    uint64_t tick;
};

static inline bool elapse__queue_text_fits(struct elapse__queue_text text, size_t least,
                                           size_t most)
{
    return text.size >= least && text.size <= most;
}

#endif
