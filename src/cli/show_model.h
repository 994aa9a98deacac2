/*
 * The model of "elapse show": a real wheel with the timers that were asked for,
 * and what can be learnt of it through the public functions.
 *
 * A snapshot is all that dump tells at one moment. The geometry (how many slots
 * a level has, how wide they are) comes out of dump as well: out of that of a
 * second wheel, with a timer at each power of two.
 */
#ifndef ELAPSE_CLI_SHOW_MODEL_H
#define ELAPSE_CLI_SHOW_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/wheel.h>

/* One level for each bit of time is more than any wheel has. */
#define SHOW_LEVELS_MAX 64

struct show_level {
    unsigned slot_count;
    uint64_t slot_ticks; /* how many ticks a slot covers */
};

struct show_geometry {
    unsigned level_count;
    struct show_level levels[SHOW_LEVELS_MAX];
};

/* The ticks from first to last; none when first is after last. */
struct show_range {
    uint64_t first;
    uint64_t last;
};

struct show_timer {
    struct elapse_timer timer; /* first: the timer's owner is found by a cast */
    uint64_t deadline;
};

/* The wheel and its timers, in the order of their deadlines. */
struct show_wheel {
    struct elapse_wheel wheel;
    struct show_geometry geometry;
    struct show_timer *timers;
    size_t timer_count;
};

struct show_snapshot {
    uint64_t now;
    uint64_t next; /* ELAPSE_NEVER: none */
    uint64_t moves;
    size_t pending;
    struct elapse_slot *slots; /* the occupied ones, by level and number */
    size_t slot_count;
    size_t slot_capacity;
};

/* Makes a wheel at the tick `now` and starts a timer for each deadline. The
 * deadlines are put in order. Returns NULL, having said why, if it cannot. */
struct show_wheel *show_wheel_new(uint64_t now, uint64_t *deadlines, size_t count);

void show_wheel_free(struct show_wheel *show);

/* Looks at the wheel. The snapshot is one taken before, or all zero. */
void show_snapshot_take(struct show_snapshot *snapshot, const struct show_wheel *show);

void show_snapshot_free(struct show_snapshot *snapshot);

/* The occupied slot that covers the tick; NULL if there is none. Timers are where
 * their deadline is covered, since none of them is ever put off here. */
const struct elapse_slot *show_slot_of(const struct show_snapshot *snapshot, uint64_t tick);

/* The slots of one level: how many, the first of them in `*slots`. */
size_t show_slots_of_level(const struct show_snapshot *snapshot, unsigned level,
                           const struct elapse_slot **slots);

/* The deadlines in a slot, to be gone through in their order. */
struct show_deadlines {
    const struct show_wheel *show;
    size_t next; /* number of a timer */
    size_t left; /* timers */
};

struct show_deadlines show_deadlines_in(const struct show_wheel *show,
                                        const struct elapse_slot *slot);

/* The next one, and how many timers have it; false if there is none. */
bool show_deadlines_next(struct show_deadlines *deadlines, uint64_t *deadline, size_t *timers);

/* All the ticks for which the level has slots, seen from the tick `now`. */
struct show_range show_level_span(const struct show_level *level, uint64_t now);

/* Those among them that a timer started at `now` would be put into this level
 * for: what the levels below do not cover. */
struct show_range show_level_covers(const struct show_geometry *geometry, unsigned level,
                                    uint64_t now);

/* The number of the slot that the tick `now` falls into. */
unsigned show_slot_at(const struct show_level *level, uint64_t now);

#endif
