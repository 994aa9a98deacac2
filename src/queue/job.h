/*
 * The memory that a job takes.
 *
 *      entry, 64 bytes, one for each job
 *        |-- nothing more: an unkeyed job that was never handed out
 *        |-- key record, 28 bytes: a job with a key or a tag
 *        +-- side record, 128 bytes: a job that was handed out, or has EXPIRE, DEBOUNCE, AWAIT
 *              |                     or a recurrence; it takes over the link to the key record
 *              |-- key record
 *              +-- recurrence
 *
 * Body, key, tag and the cron expression's text lie in the journal, at `position`.
 *
 * Entries lie in blocks of 1,024. The table of ids (ids.h) takes 4.4 bytes a job beside, and up to
 * 24 where most of the ids have gone. An entry knows its place in its block, so a timer that comes
 * out of a wheel leads to the number of its entry without a search.
 *
 * ttr, EXPIRE, RETRY and BACKOFF are the same for very many jobs. Each combination exists once, and
 * an entry has its number: so a lease can begin, and be replayed, without reading the record.
 */
#ifndef ELAPSE__QUEUE_JOB_H
#define ELAPSE__QUEUE_JOB_H

#include <elapse/wheel.h>

#include "fields.h"
#include "names.h"
#include "slab.h"

enum {
    ELAPSE__QUEUE_BLOCK_BITS = 10,
    ELAPSE__QUEUE_BLOCK_ENTRIES = 1 << ELAPSE__QUEUE_BLOCK_BITS,
    /* What a record takes beside its body is counted in units of 8 bytes up to SMALL_UNITS. Above
     * that, where there are headers or a long tube or key, each number of 6 bits stands for a
     * seventh more units than the number before it: see elapse__queue_units. */
    ELAPSE__QUEUE_SMALL_UNITS = 40,
    ELAPSE__QUEUE_UNITS_MAX = 937,
    ELAPSE__QUEUE_INLINE_PROFILES = 1023,
    ELAPSE__QUEUE_POSITION_BITS = 54,  /* of position_profile; the rest is the profile */
    ELAPSE__QUEUE_ID_BITS = 53,        /* of id_place; the rest is the place */
    ELAPSE__QUEUE_URGENT_BELOW = 1024, /* a job with a lower priority is urgent (beanstalkd) */
    ELAPSE__QUEUE_REASON_MASK = (1 << 4) - 1, /* bits of `reason` in a side record */
    ELAPSE__QUEUE_FAILURE_MASK = (1 << 2) - 1,
    ELAPSE__QUEUE_AWAITS_MASK = (1 << 2) - 1,
};

#define ELAPSE__QUEUE_STATE_SHIFT 24
#define ELAPSE__QUEUE_TUBE_MASK   ((UINT32_C(1) << 24) - 1)
#define ELAPSE__QUEUE_STATE_MASK  (UINT32_C(7) << ELAPSE__QUEUE_STATE_SHIFT)
#define ELAPSE__QUEUE_BY_WALL     (UINT32_C(1) << 27) /* the due time follows the wall clock */
#define ELAPSE__QUEUE_HAS_SIDE    (UINT32_C(1) << 28) /* `extra` is a side record */
#define ELAPSE__QUEUE_HAS_KEY     (UINT32_C(1) << 29) /* `extra` is a key record */
/* A SHADOW whose record is live, because the tube has a limit: the place is taken after a restart,
 * too. In other states the bit is one of those in counters.h. */
#define ELAPSE__QUEUE_HAS_PLACE (UINT32_C(1) << 30)
#define ELAPSE__QUEUE_BODY_BITS 26
#define ELAPSE__QUEUE_BODY_MASK ((UINT32_C(1) << ELAPSE__QUEUE_BODY_BITS) - 1)

struct elapse__queue_entry {
    /*
     * DELAYED: in a wheel; a job that waits for arrivals and has no due time is in none, and its
     * deadline is ELAPSE_NEVER. RESERVED and SHADOW: the end of the lease, in a wheel once it has
     * begun. READY: in no wheel; keep.link is in the tube's ring of waits, place is that in its
     * heap, deadline the due time. BURIED: idle; keep.link is in the tube's ring.
     */
    struct elapse_timer timer;
    uint64_t id_place;         /* id, 53 bits; place in the block, 10 bits */
    uint64_t position_profile; /* position / 8, 54 bits; profile, 10 bits (0: in the side record) */
    uint32_t sizes; /* of the body, 26 bits; of the rest of the record in units, 6 bits */
    uint32_t priority;
    uint32_t tube_state;
    uint32_t extra; /* number of the side record or of the key record; 0: neither. FREE, and given
                       back: the number of the next free entry */
};

_Static_assert(sizeof(struct elapse__queue_entry) == 32 + sizeof(struct elapse_timer),
               "an entry has no holes");
_Static_assert(ELAPSE__QUEUE_BODY_BYTES_MAX < 1 << ELAPSE__QUEUE_BODY_BITS,
               "the size of a body fits");
_Static_assert(
    (ELAPSE__RECORD_HEADER_BYTES + ELAPSE__QUEUE_FIELDS_MAX + ELAPSE__QUEUE_HEADERS_BYTES_MAX) / 8 +
            2 <=
        ELAPSE__QUEUE_UNITS_MAX,
    "the rest of a record fits");

struct elapse__queue_block {
    uint32_t number;
    uint32_t
        ready; /* jobs of the block in this state; a search for them passes over other blocks */
    uint32_t buried;
    uint32_t recurring;  /* jobs of the block that recur, shadows too */
    uint32_t unused[12]; /* entries begin at the beginning of a cache line */
    struct elapse__queue_entry entries[ELAPSE__QUEUE_BLOCK_ENTRIES];
};

struct elapse__queue_key {
    uint32_t entry;
    uint32_t link;    /* in the index of keys */
    uint32_t hash[3]; /* of tube and key, the lowest first; zeros: the job has a tag and no key */
    uint32_t tag[2];  /* the lower half first; zeros: none */
};

_Static_assert(sizeof(struct elapse__queue_key) == 28, "a key takes 28 bytes, and its bucket 2");

enum elapse__queue_reason {
    ELAPSE__QUEUE_REASON_NONE,
    ELAPSE__QUEUE_REASON_WORKER,
    ELAPSE__QUEUE_REASON_RETRIES,
    ELAPSE__QUEUE_REASON_ZONE,
    ELAPSE__QUEUE_REASON_DAMAGED,
};

struct elapse__queue_side {
    struct elapse_timer expiry; /* READY, never handed out: when EXPIRE drops the job. Idle
                                   after a hand-out: then `deadline` is the delay of the
                                   last release, in milliseconds; 0: none yet */
    union {
        struct elapse__ring_node lease_node; /* in the ring of `connection` */
        uint32_t holder; /* without a connection: the number of the name of who holds the lease; 0:
                            not known */
    };
    const struct elapse__queue_connection *connection;
    struct elapse__queue_recurrence *recurrence; /* NULL: none */
    uint64_t lease;                              /* number; 0: none */
    union {
        uint64_t due;    /* RESERVED: the tick at which it was due */
        uint64_t buried; /* BURIED: the tick at which it was buried, by the boot-time clock */
    };
    union {
        uint64_t first; /* DEBOUNCE: the tick of the first put, by the boot-time clock; 0: none */
        uint64_t await; /* unless `awaits` is NONE: how many arrivals are missing; at least 1 */
    };
    uint32_t entry : 28;
    uint32_t handed_out : 1;        /* EXPIRE no longer counts */
    uint32_t handed_out_before : 1; /* `handed_out` before the lease */
    uint32_t begun : 1;             /* RESERVED: the timer of the lease runs */
    uint32_t replayed : 1;          /* the lease is of an earlier life: nobody knows yet if its
                                       hand-out has reached a worker */
    uint32_t key : 28;              /* 0: none */
    uint32_t reason : 4;
    uint32_t life;
    uint32_t profile : 28;
    uint32_t failure : 2;
    uint32_t awaits : 2; /* enum elapse__queue_awaits */
    uint32_t attempts;   /* hand-outs of this occurrence that failed */
    uint32_t reserves;
    uint32_t timeouts;
    uint32_t releases;
    uint32_t buries;
    uint32_t kicks;
};

_Static_assert(sizeof(void *) != 8 || sizeof(struct elapse__queue_side) == 128,
               "a side record takes two cache lines");

/* A name of somebody who holds leases. Many leases share a name: holders.c. */
struct elapse__queue_name {
    uint32_t link;       /* in the index of names */
    uint32_t references; /* leases, and callers of elapse__queue_name_get */
    uint8_t size;
    char text[ELAPSE__QUEUE_NAME_BYTES_MAX];
};

struct elapse__queue_recurrence {
    enum elapse__queue_when kind; /* EVERY or CRON */
    uint64_t period_ms;
    int64_t occurrence_ms; /* the present one, wall clock */
    uint32_t missed;       /* since the job was handed out last */
    uint32_t reported;     /* `missed` as it was at the hand-out, for an undo */
    uint32_t failures;
    bool broken; /* its zone could not be found at the start */
    struct elapse_cron cron;
};

struct elapse__queue_profile {
    uint32_t link;       /* in the index of profiles */
    uint32_t references; /* jobs */
    uint32_t retry;
    uint64_t ttr_ms;
    uint64_t expire_ms;
    uint64_t backoff_min_ms;
    uint64_t backoff_max_ms;
};

/* Returns the tick of the first put with DEBOUNCE; 0: there was none. */
static inline uint64_t elapse__queue_first_of(const struct elapse__queue_side *side)
{
    return side->awaits == ELAPSE__QUEUE_AWAITS_NONE ? side->first : 0;
}

/* Returns how many arrivals are missing: the job waits for them, or was released without them. */
static inline uint32_t elapse__queue_await_of(const struct elapse__queue_side *side)
{
    return side->awaits == ELAPSE__QUEUE_AWAITS_NONE ? 0 : (uint32_t)side->await;
}

static inline void elapse__queue_set_await(struct elapse__queue_side *side,
                                           enum elapse__queue_awaits awaits, uint32_t await)
{
    ELAPSE__ASSERT((await != 0) == (awaits != ELAPSE__QUEUE_AWAITS_NONE));
    /* With DEBOUNCE the place is taken: a job has one of the two. */
    ELAPSE__ASSERT(side->awaits != ELAPSE__QUEUE_AWAITS_NONE || side->first == 0);
    side->awaits = awaits & ELAPSE__QUEUE_AWAITS_MASK;
    side->await = await;
}

static inline uint64_t elapse__queue_id(const struct elapse__queue_entry *entry)
{
    return entry->id_place & ELAPSE__QUEUE_ID_MAX;
}

static inline uint64_t elapse__queue_position(const struct elapse__queue_entry *entry)
{
    return (entry->position_profile & ((UINT64_C(1) << ELAPSE__QUEUE_POSITION_BITS) - 1)) * 8;
}

static inline void elapse__queue_set_position(struct elapse__queue_entry *entry, uint64_t position)
{
    ELAPSE__ASSERT_THAT(position % 8, ==, 0);
    ELAPSE__ASSERT_THAT(position, <=, ELAPSE__QUEUE_POSITION_MAX);
    entry->position_profile = entry->position_profile >> ELAPSE__QUEUE_POSITION_BITS
                                                             << ELAPSE__QUEUE_POSITION_BITS |
                              position / 8;
}

static inline uint32_t elapse__queue_body_size(const struct elapse__queue_entry *entry)
{
    return entry->sizes & ELAPSE__QUEUE_BODY_MASK;
}

/* Returns how many units of 8 bytes a number of 6 bits stands for. */
static inline uint32_t elapse__queue_units(uint32_t number)
{
    uint32_t units = number < ELAPSE__QUEUE_SMALL_UNITS ? number : ELAPSE__QUEUE_SMALL_UNITS;
    for (; number > ELAPSE__QUEUE_SMALL_UNITS; number--)
        units += units / 7 + 1;
    ELAPSE__ASSERT_THAT(units, <=, (uint32_t)ELAPSE__QUEUE_UNITS_MAX);
    return units;
}

/* `record_body_size` has the body and the headers. */
static inline void elapse__queue_set_sizes(struct elapse__queue_entry *entry, uint16_t fields_size,
                                           uint32_t record_body_size, uint16_t headers_size)
{
    ELAPSE__ASSERT_THAT(headers_size, <=, record_body_size);
    uint32_t body_size = record_body_size - headers_size;
    uint32_t units =
        (uint32_t)(elapse__frame_bytes(fields_size, record_body_size) / 8) - body_size / 8;
    uint32_t number = units < ELAPSE__QUEUE_SMALL_UNITS ? units : ELAPSE__QUEUE_SMALL_UNITS;
    while (elapse__queue_units(number) < units)
        number++;
    ELAPSE__ASSERT_THAT(number, <, 64);
    entry->sizes = body_size | number << ELAPSE__QUEUE_BODY_BITS;
}

/* Returns the bytes that count as live for a job: those of its record, or up to a seventh more
 * where its texts beside the body are long. If still more bytes counted, cleaning would think that
 * it gains nothing. The result is the same when the record is written and when it ends. */
static inline int64_t elapse__queue_live_bytes(const struct elapse__queue_entry *entry)
{
    uint32_t units = elapse__queue_units(entry->sizes >> ELAPSE__QUEUE_BODY_BITS);
    return (int64_t)(elapse__queue_body_size(entry) / 8 + units) * 8;
}

/* Returns by how many bytes elapse__queue_live_bytes may be more than the record has. */
static inline uint32_t elapse__queue_live_excess(const struct elapse__queue_entry *entry)
{
    uint32_t number = entry->sizes >> ELAPSE__QUEUE_BODY_BITS;
    if (number <= ELAPSE__QUEUE_SMALL_UNITS)
        return 0;
    return (elapse__queue_units(number) - elapse__queue_units(number - 1) - 1) * 8;
}

static inline enum elapse__queue_state
elapse__queue_state_of(const struct elapse__queue_entry *entry)
{
    return (enum elapse__queue_state)((entry->tube_state & ELAPSE__QUEUE_STATE_MASK) >>
                                      ELAPSE__QUEUE_STATE_SHIFT);
}

static inline void elapse__queue_set_state(struct elapse__queue_entry *entry,
                                           enum elapse__queue_state state)
{
    entry->tube_state = (entry->tube_state & ~ELAPSE__QUEUE_STATE_MASK) |
                        (uint32_t)state << ELAPSE__QUEUE_STATE_SHIFT;
}

static inline bool elapse__queue_by_wall(const struct elapse__queue_entry *entry)
{
    return (entry->tube_state & ELAPSE__QUEUE_BY_WALL) != 0;
}

static inline void elapse__queue_set_by_wall(struct elapse__queue_entry *entry, bool by_wall)
{
    entry->tube_state =
        (entry->tube_state & ~ELAPSE__QUEUE_BY_WALL) | (by_wall ? ELAPSE__QUEUE_BY_WALL : 0);
}

/* Returns the block in which an entry lies. */
static inline struct elapse__queue_block *
elapse__queue_block_around(const struct elapse__queue_entry *entry)
{
    const struct elapse__queue_entry *first = entry - (entry->id_place >> ELAPSE__QUEUE_ID_BITS);
    return (struct elapse__queue_block *)(uintptr_t)((const unsigned char *)first -
                                                     offsetof(struct elapse__queue_block, entries));
}

/* The number of an entry, from 1. */
static inline uint32_t elapse__queue_number(const struct elapse__queue_entry *entry)
{
    return elapse__queue_block_around(entry)->number * ELAPSE__QUEUE_BLOCK_ENTRIES +
           (uint32_t)(entry->id_place >> ELAPSE__QUEUE_ID_BITS);
}

static inline struct elapse__queue_entry *elapse__queue_entry_of(struct elapse_timer *timer)
{
    return (struct elapse__queue_entry *)(void *)timer;
}

/* ---- ticks of the wheels: milliseconds from an origin so early that no time is negative ---- */

#define ELAPSE__QUEUE_ORIGIN (UINT64_C(1) << 62)

static inline uint64_t elapse__queue_wall_tick(int64_t wall_ms)
{
    ELAPSE__ASSERT(wall_ms <= 2 * ELAPSE__QUEUE_WALL_MS_MAX);
    ELAPSE__ASSERT(wall_ms >= -2 * ELAPSE__QUEUE_WALL_MS_MAX);
    return ELAPSE__QUEUE_ORIGIN + (uint64_t)wall_ms;
}

static inline int64_t elapse__queue_wall_ms(uint64_t tick)
{
    return (int64_t)(tick - ELAPSE__QUEUE_ORIGIN);
}

static inline uint64_t elapse__queue_boot_tick(uint64_t boot_ms)
{
    return ELAPSE__QUEUE_ORIGIN + boot_ms;
}

#endif
