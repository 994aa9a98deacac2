/*
 * The queue from inside: its tables, and the helpers that all commands share. Calls go down only:
 *
 *      commands    put cancel reserve lease kick list turn replay clean
 *         |
 *      moves       state.c: a job from one state into another      write.c: records
 *         |
 *      tables      jobs keys sides profiles tokens tubes clocks
 */
#ifndef ELAPSE__QUEUE_INNER_H
#define ELAPSE__QUEUE_INNER_H

#include "../base/ring.h"
#include "clocks.h"
#include "counters.h"
#include "fields.h"
#include "heap.h"
#include "jobs.h"

/* The ready jobs of a tube whose due times go by one clock, the oldest first. */
struct elapse__queue_waits {
    struct elapse__ring_node jobs;
    struct elapse__ring_node *last; /* the one that was inserted last, not at the end; or `jobs` */
};

struct elapse__queue_tube {
    uint32_t link; /* in the index of tubes */
    uint32_t number;
    uint32_t holds;
    uint32_t urgent;
    uint64_t hash;
    uint64_t counts[ELAPSE__QUEUE_SHADOW + 1]; /* jobs in each state */
    struct elapse__queue_heap ready;
    struct elapse__queue_waits waits[2]; /* by the boot-time clock, and by the wall clock */
    struct elapse__ring_node buried;     /* oldest first */
    struct elapse_timer pause;           /* pending: nothing is handed out */
    uint64_t pause_ms;
    uint64_t body_bytes;                    /* of all jobs but shadows */
    struct elapse__queue_watch *watch;      /* NULL: nobody waits here */
    struct elapse__queue_statistics totals; /* only what counts up */
    uint8_t name_size;
    unsigned char name[];
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

struct elapse__queue {
    struct elapse_allocator memory;
    struct elapse__record_sink *sink;
    struct elapse__queue_options options;
    struct elapse__hash_secret secret;
    uint64_t random;      /* state of the jitter's generator */
    uint64_t last_id;     /* the greatest id used */
    uint64_t replayed_id; /* the greatest id of a job that was replayed */
    uint64_t last_lease;
    uint64_t readied; /* jobs that became ready, and pauses that ended */
    uint32_t life;
    uint32_t greatest_life; /* of a lease that was replayed */
    bool open;
    struct elapse__queue_now now; /* the present of the last call */
    struct elapse__queue_jobs jobs;
    struct elapse__queue_slab keys;
    struct elapse__queue_index key_index;
    struct elapse__queue_slab sides;
    struct elapse__queue_slab profiles;
    struct elapse__queue_index profile_index;
    uint32_t last_profile; /* that of the last job that was built: the next has it mostly, too; 0 */
    struct elapse__queue_slab tubes; /* pointers */
    struct elapse__queue_index tube_index;
    struct elapse__queue_tube *last_tube; /* that of the last job that was built; NULL */
    struct elapse__queue_slab tokens;
    struct elapse__queue_index token_index;
    uint32_t oldest_token, newest_token; /* of the list by time; 0: none */
    struct elapse__queue_statistics totals;
    struct elapse__queue_counters *counters; /* of both clocks; NULL: nobody asks */
    struct elapse__queue_clocks clocks;
    struct elapse__ring_node watch_news; /* watches that elapse__queue_watch_next returns */
};

/* ---- now (life.c) ---- */

/* Takes in the present, and returns it within the limits and not before the last one by the
 * boot-time clock. */
struct elapse__queue_now elapse__queue_take_now(struct elapse__queue *queue,
                                                struct elapse__queue_now now);
uint64_t elapse__queue_random(struct elapse__queue *queue);

/* ---- tubes (tubes.c) ---- */

struct elapse__queue_tube *elapse__queue_tube_at(const struct elapse__queue *queue,
                                                 uint32_t number);
static inline struct elapse__queue_tube *
elapse__queue_tube_of(const struct elapse__queue *queue, const struct elapse__queue_entry *entry)
{
    return elapse__queue_tube_at(queue, entry->tube_state & ELAPSE__QUEUE_TUBE_MASK);
}
struct elapse__queue_tube *elapse__queue_tube_find(const struct elapse__queue *queue,
                                                   struct elapse__queue_text name);
/* Finds or makes a tube. Returns OK, NO_MEMORY or LIMIT. */
enum elapse__queue_result elapse__queue_tube_get(struct elapse__queue *queue,
                                                 struct elapse__queue_text name,
                                                 struct elapse__queue_tube **tube);
/* Releases the tube if it has no jobs, no holds and no pause. */
void elapse__queue_tube_end_if_empty(struct elapse__queue *queue, struct elapse__queue_tube *tube);
void elapse__queue_tubes_init(struct elapse__queue *queue);
void elapse__queue_tubes_free(struct elapse__queue *queue);
static inline bool elapse__queue_paused(const struct elapse__queue_tube *tube)
{
    return elapse_timer_pending(&tube->pause);
}

/* ---- waits (waits.c) ---- */

void elapse__queue_waits_init(struct elapse__queue_waits *waits);
/* A job that is ready waits for a worker, or no longer. Its clock and its deadline are set. */
void elapse__queue_wait_begin(struct elapse__queue_tube *tube, struct elapse__queue_entry *entry);
void elapse__queue_wait_end(struct elapse__queue_tube *tube, struct elapse__queue_entry *entry);
/* For how long the tube's oldest ready job has been due. */
uint64_t elapse__queue_longest_wait_ms(const struct elapse__queue_tube *tube,
                                       struct elapse__queue_now now);

/* ---- watches (watch.c) ---- */

/* The tube may have a job that can be handed out, which it had not before. */
void elapse__queue_watch_tell(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* ---- keys (keys.c) ---- */

void elapse__queue_keys_init(struct elapse__queue *queue);
struct elapse__hash_128 elapse__queue_key_hash(const struct elapse__queue *queue,
                                               struct elapse__queue_text tube,
                                               struct elapse__queue_text key);
/* The hash of a tag; 0 for an empty one, and for no other. */
uint64_t elapse__queue_tag_hash(const struct elapse__queue *queue, struct elapse__queue_text tag);
/* Returns the live job with the key; if there is none and `shadow` is true, a shadow that had it;
 * or NULL. */
struct elapse__queue_entry *elapse__queue_key_find(const struct elapse__queue *queue,
                                                   struct elapse__hash_128 hash, bool shadow);
/* Makes a record that is in no index yet. Returns its number; 0: no memory. */
uint32_t elapse__queue_key_make(struct elapse__queue *queue, struct elapse__hash_128 hash,
                                uint64_t tag);
/* Links a record that key_make made to its entry, or releases it. */
void elapse__queue_key_link(struct elapse__queue *queue, uint32_t number,
                            struct elapse__queue_entry *entry);
void elapse__queue_key_end(struct elapse__queue *queue, uint32_t number);
static inline struct elapse__queue_key *elapse__queue_key_at(const struct elapse__queue *queue,
                                                             uint32_t key)
{
    return elapse__queue_slab_at(&queue->keys, key);
}

static inline struct elapse__hash_128 elapse__queue_key_hash_of(const struct elapse__queue_key *key)
{
    return (struct elapse__hash_128){
        .low = (uint64_t)key->hash[1] << 32 | key->hash[0],
        .high = key->hash[2],
    };
}

static inline uint64_t elapse__queue_key_tag_of(const struct elapse__queue_key *key)
{
    return (uint64_t)key->tag[1] << 32 | key->tag[0];
}
/* The number of the entry's key record; 0: none. */
uint32_t elapse__queue_key_of(const struct elapse__queue *queue,
                              const struct elapse__queue_entry *entry);

/* ---- side records and profiles (sides.c) ---- */

void elapse__queue_sides_init(struct elapse__queue *queue);
/* The entry's side record, or NULL. */
struct elapse__queue_side *elapse__queue_side_of(const struct elapse__queue *queue,
                                                 const struct elapse__queue_entry *entry);
/* Makes sure that the entry has one. Returns NULL if there is no memory. */
struct elapse__queue_side *elapse__queue_side_get(struct elapse__queue *queue,
                                                  struct elapse__queue_entry *entry);
/* Releases the side record, the key record, the recurrence and the profile of an entry. */
void elapse__queue_extras_end(struct elapse__queue *queue, struct elapse__queue_entry *entry);
const struct elapse__queue_profile *
elapse__queue_profile_of(const struct elapse__queue *queue,
                         const struct elapse__queue_entry *entry);
/* Gives the entry, which has none, the profile with these values. Returns false if there is no
 * memory. */
bool elapse__queue_profile_get(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                               const struct elapse__queue_fields *fields);
/* Releases an occurrence's description. NULL does nothing. */
void elapse__queue_recurrence_end(struct elapse__queue *queue,
                                  struct elapse__queue_recurrence *recurrence);

/* ---- recurrence (recurrence.c) ---- */

/* Makes a description; parses cron and finds the zone. Returns OK, ARGUMENT (and `*fault`), or
 * NO_MEMORY. While the queue is not open, a fault makes a broken description, and the caller buries
 * the job. */
enum elapse__queue_result
elapse__queue_recurrence_make(struct elapse__queue *queue,
                              const struct elapse__queue_fields *fields,
                              struct elapse__queue_recurrence **recurrence, const char **fault);
/* Stores the first occurrence after now. Returns false if there is none: cron has come to its end.
 */
bool elapse__queue_recurrence_first(struct elapse__queue_recurrence *recurrence, int64_t now_ms);
/* Goes on to the next occurrence after now, and counts those that passed. Returns false if there is
 * none. */
bool elapse__queue_recurrence_next(struct elapse__queue_recurrence *recurrence, int64_t now_ms,
                                   uint64_t *missed);

/* ---- tokens (tokens.c) ---- */

void elapse__queue_tokens_init(struct elapse__queue *queue);
/* Returns the token that has not ended, or NULL. */
struct elapse__queue_token *elapse__queue_token_find(const struct elapse__queue *queue,
                                                     struct elapse__hash_128 hash, uint64_t tick);
/* Returns the token whose record is at this position, also if it has ended; or NULL. */
struct elapse__queue_token *elapse__queue_token_of_record(const struct elapse__queue *queue,
                                                          struct elapse__hash_128 hash,
                                                          uint64_t position);
struct elapse__hash_128 elapse__queue_token_hash(const struct elapse__queue *queue,
                                                 struct elapse__queue_text token);
/* Makes an empty token that is in no list. Returns its number, or 0: no memory. */
uint32_t elapse__queue_token_make(struct elapse__queue *queue);
void elapse__queue_token_link(struct elapse__queue *queue, uint32_t number,
                              struct elapse__queue_token token);
void elapse__queue_token_give(struct elapse__queue *queue, uint32_t number);
/* When the oldest token ends; ELAPSE_NEVER if there is none. */
uint64_t elapse__queue_token_next(const struct elapse__queue *queue);
/* Ends up to `most` tokens whose time has come. Returns true if there are more. */
bool elapse__queue_tokens_expire(struct elapse__queue *queue, uint64_t tick, uint32_t most);

/* A token was replayed: makes it, or the one of this name newer. Its end is in seconds by the wall
 * clock until tokens_open. Returns false if there is no memory. */
bool elapse__queue_token_replay(struct elapse__queue *queue, struct elapse__queue_token token);
void elapse__queue_tokens_open(struct elapse__queue *queue);
/* Ends the tokens whose records lie below this position. */
void elapse__queue_tokens_forget(struct elapse__queue *queue, uint64_t position);

/* ---- moves (state.c) ---- */

/* A due time: a tick of one of the two clocks. */
struct elapse__queue_tick {
    bool by_wall;
    uint64_t tick;
};
static inline uint64_t elapse__queue_present(const struct elapse__queue *queue, bool by_wall)
{
    return by_wall ? elapse__queue_wall_tick(queue->now.wall_ms)
                   : elapse__queue_boot_tick(queue->now.boot_ms);
}
/* The boot-time tick after a delay from the present. */
static inline uint64_t elapse__queue_after(const struct elapse__queue *queue, uint64_t delay_ms)
{
    return elapse__queue_present(queue, false) + delay_ms +
           (delay_ms > 0 && queue->options.present_is_rounded ? 1 : 0);
}
/* The wall-clock time of a tick, as things are now; and the other way round. */
int64_t elapse__queue_tick_to_ms(const struct elapse__queue *queue, bool by_wall, uint64_t tick);
uint64_t elapse__queue_ms_to_tick(const struct elapse__queue *queue, bool by_wall, int64_t wall_ms);
/* The tick at which the job is or was due. */
uint64_t elapse__queue_due_tick(const struct elapse__queue *queue,
                                const struct elapse__queue_entry *entry);

/* A job begins to wait, or to be ready; or it ends that. The deadline of its timer is set. */
void elapse__queue_count_in(struct elapse__queue *queue, struct elapse__queue_entry *entry);
void elapse__queue_count_out(struct elapse__queue *queue, struct elapse__queue_entry *entry);

/* Takes a job out of its state; it is in none until one of the next three puts it into another.
 * Ends the lease of a reserved one. */
void elapse__queue_leave_state(struct elapse__queue *queue, struct elapse__queue_entry *entry);
void elapse__queue_enter_delayed(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                 struct elapse__queue_tick due);
/* The same while records are replayed: `due` counts by the wall clock, and no timer runs. */
void elapse__queue_enter_replayed(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                  struct elapse__queue_tick due);
/* Requires room in the heap of its tube. */
void elapse__queue_enter_ready(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                               struct elapse__queue_tick due);
void elapse__queue_enter_buried(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                struct elapse__queue_tick due, enum elapse__queue_reason reason);
void elapse__queue_enter_reserved(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                  struct elapse__queue_tick due,
                                  const struct elapse__queue_connection *connection);
/* Delayed, or ready if the time has come. Without memory for the heap it stays delayed, and is
 * tried again 100 ms later. */
void elapse__queue_enter_waiting(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                 struct elapse__queue_tick due);
/* A reserved job becomes a shadow: its lease goes on, its key is free, its record is dead. */
void elapse__queue_become_shadow(struct elapse__queue *queue, struct elapse__queue_entry *entry);
/* Ends a job or a shadow in any state. */
void elapse__queue_end_job(struct elapse__queue *queue, struct elapse__queue_entry *entry);
/* Makes sure that a job of the tube can become ready. */
bool elapse__queue_ready_room(struct elapse__queue *queue, struct elapse__queue_tube *tube);
/* Starts the timer of a lease, for ttr from now. */
void elapse__queue_start_lease(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                               uint64_t lasts_ms);

/* ---- records (write.c) ---- */

/* The present state of a job, without its texts. */
void elapse__queue_describe(const struct elapse__queue *queue,
                            const struct elapse__queue_entry *entry,
                            struct elapse__queue_fields *fields);
/* Begins a group of so many small records and bytes beside. Returns false if the sink refuses. */
bool elapse__queue_begin(struct elapse__queue *queue, uint32_t small_records, uint64_t bytes,
                         enum elapse__record_purpose purpose);
uint64_t elapse__queue_end(struct elapse__queue *queue);
void elapse__queue_write_state(struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                               enum elapse__record_type type);
void elapse__queue_write_delete(struct elapse__queue *queue,
                                const struct elapse__queue_entry *entry);
/* Appends a PUT, and makes it the record of the job. `flags` are those of the record. */
void elapse__queue_write_put(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                             const struct elapse__queue_fields *fields,
                             struct elapse__queue_text body, uint8_t flags);
/* Appends a TOKEN. Returns its position; its size is in `*size`. */
uint64_t elapse__queue_write_token(struct elapse__queue *queue,
                                   const struct elapse__queue_fields *fields, uint32_t *size);
enum { ELAPSE__QUEUE_SMALL_MAX = 128 }; /* fields of a CHANGE, at most */

/* The record at the entry's position counts as live, or no longer. */
void elapse__queue_count_live(struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                              bool live);

/* ---- what several commands do ---- */

/* cancel.c: cancels an entry within a group. Returns REMOVED or RUNNING. */
enum elapse__queue_result elapse__queue_cancel_entry(struct elapse__queue *queue,
                                                     struct elapse__queue_entry *entry);
/* occurrence.c: the occurrence ended: the job waits for its next one, or ends. Within a group, or
 * without records if `write` is false. */
void elapse__queue_end_occurrence(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                  bool write);
/* occurrence.c: a hand-out failed: the job waits for its retry, or is buried. */
void elapse__queue_fail_attempt(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                                bool write);
/* occurrence.c: EXPIRE has passed: drops the job, or its occurrence, in a group of its own. */
bool elapse__queue_has_expired(const struct elapse__queue *queue,
                               const struct elapse__queue_entry *entry);
void elapse__queue_drop_expired(struct elapse__queue *queue, struct elapse__queue_entry *entry);
/* build.c: an entry with everything that it will need, and in no index yet. */
struct elapse__queue_built {
    struct elapse__queue_tube *tube; /* held */
    struct elapse__queue_entry *entry;
    uint32_t key; /* 0: none */
};
enum elapse__queue_result elapse__queue_build(struct elapse__queue *queue,
                                              const struct elapse__queue_fields *fields,
                                              struct elapse__queue_built *built,
                                              const char **fault);
/* Undoes elapse__queue_build. */
void elapse__queue_build_undo(struct elapse__queue *queue, struct elapse__queue_built *built);
/* The entry gets its id and its key, and is in no state yet. */
void elapse__queue_build_enter(struct elapse__queue *queue, struct elapse__queue_built *built,
                               uint64_t id);
/* `old`, a job in no state, gets what was built in place of what it has; its place and its id
 * stay. */
void elapse__queue_build_replace(struct elapse__queue *queue, struct elapse__queue_built *built,
                                 struct elapse__queue_entry *old);
void elapse__queue_build_drop_hold(struct elapse__queue *queue, struct elapse__queue_tube *tube);
/* look_up.c */
void elapse__queue_fill_view(const struct elapse__queue *queue,
                             const struct elapse__queue_entry *entry,
                             struct elapse__queue_view *view);

static inline bool elapse__queue_text_fits(struct elapse__queue_text text, size_t least,
                                           size_t most)
{
    return text.size >= least && text.size <= most;
}

/* The answer of a command that wrote nothing. */
static inline struct elapse__queue_answer elapse__queue_say(enum elapse__queue_result result,
                                                            uint64_t id)
{
    return (struct elapse__queue_answer){.result = result, .id = id};
}

static inline struct elapse__queue_answer elapse__queue_fault(const char *fault)
{
    return (struct elapse__queue_answer){.result = ELAPSE__QUEUE_ARGUMENT, .fault = fault};
}

#endif
