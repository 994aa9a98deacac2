/*
 * The model of "elapse show": a real structure with the timers that the user named, and snapshots
 * of the structure. The model uses only public functions of the structure.
 *
 * A snapshot has the dump of the structure at one moment, and the slot of each timer, which is
 * computed from the geometry.
 */
#ifndef ELAPSE_CLI_SHOW_MODEL_H
#define ELAPSE_CLI_SHOW_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/structure.h>

#include "../common/structure_choice.h"
#include "geometry.h"

struct show_timer {
    struct elapse_timer timer; /* must be first, so that a cast finds the owner of a timer */
    uint64_t deadline;
};

/* The structure and its timers, in the order of their deadlines. */
struct show_wheel {
    const struct structure_choice *choice;
    const struct elapse_structure *structure;
    void *instance;
    void *storage;
    struct show_geometry geometry;
    uint64_t started_at;
    struct show_timer *timers;
    size_t timer_count;
};

struct show_snapshot {
    uint64_t now;
    uint64_t next; /* ELAPSE_NEVER: none */
    uint64_t moves;
    size_t pending;
    struct elapse_slot *slots; /* the occupied slots, sorted by level and number */
    size_t slot_count;
    size_t slot_capacity;
    size_t *slot_of_timer; /* for each timer its place in `slots`; slot_count: not pending */
};

/* Makes the chosen structure at the tick `now`, and starts a timer for each deadline. Sorts the
 * deadlines. If that fails, prints a message and returns NULL. */
struct show_wheel *show_wheel_new(const struct structure_choice *choice, uint64_t now,
                                  uint64_t *deadlines, size_t count);

void show_wheel_free(struct show_wheel *show);

/* Advances to `now`, and pops all timers that are due. Calls `fired` with each timer, unless
 * `fired` is NULL. */
void show_wheel_advance(struct show_wheel *show, uint64_t now,
                        void (*fired)(struct show_timer *timer, void *context), void *context);

/* Takes a snapshot. Requires that `snapshot` is all zero, or was taken before. */
void show_snapshot_take(struct show_snapshot *snapshot, const struct show_wheel *show);

void show_snapshot_free(struct show_snapshot *snapshot);

/* Returns the slot of the timer with this number, or NULL if the timer was not pending. */
const struct elapse_slot *show_slot_of(const struct show_snapshot *snapshot, size_t timer);

/* Returns how many occupied slots a level has, and stores the first of them in `*slots`. */
size_t show_slots_of_level(const struct show_snapshot *snapshot, unsigned level,
                           const struct elapse_slot **slots);

/* A walk over the deadlines in a slot, in their order. */
struct show_deadlines {
    const struct show_wheel *show;
    const struct show_snapshot *snapshot;
    const struct elapse_slot *slot;
    size_t next; /* the number of a timer */
    size_t left; /* how many timers are left */
};

struct show_deadlines show_deadlines_in(const struct show_wheel *show,
                                        const struct show_snapshot *snapshot,
                                        const struct elapse_slot *slot);

/* Stores the next deadline, and how many timers have it. Returns false if there is none. */
bool show_deadlines_next(struct show_deadlines *deadlines, uint64_t *deadline, size_t *timers);

#endif
