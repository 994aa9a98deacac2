/*
 * The model of "elapse show": a real structure with the timers that were asked for,
 * and what can be learnt of it through the public functions.
 *
 * A snapshot is all that dump tells at one moment, and which slot each timer is in, which
 * follows from the geometry.
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
    struct elapse_timer timer; /* first: the timer's owner is found by a cast */
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
    struct elapse_slot *slots; /* the occupied ones, by level and number */
    size_t slot_count;
    size_t slot_capacity;
    size_t *slot_of_timer; /* by the timer's number; slot_count: it is not pending */
};

/* Makes the structure chosen at the tick `now` and starts a timer for each deadline. The
 * deadlines are put in order. Returns NULL, having said why, if it cannot. */
struct show_wheel *show_wheel_new(const struct structure_choice *choice, uint64_t now,
                                  uint64_t *deadlines, size_t count);

void show_wheel_free(struct show_wheel *show);

/* Lets it be `now` and pops all that is due. Calls `fired`, unless it is NULL, with each. */
void show_wheel_advance(struct show_wheel *show, uint64_t now,
                        void (*fired)(struct show_timer *timer, void *context), void *context);

/* Looks at the structure. The snapshot is one taken before, or all zero. */
void show_snapshot_take(struct show_snapshot *snapshot, const struct show_wheel *show);

void show_snapshot_free(struct show_snapshot *snapshot);

/* The slot that the timer of this number was in; NULL if it was not pending. */
const struct elapse_slot *show_slot_of(const struct show_snapshot *snapshot, size_t timer);

/* The slots of one level: how many, the first of them in `*slots`. */
size_t show_slots_of_level(const struct show_snapshot *snapshot, unsigned level,
                           const struct elapse_slot **slots);

/* The deadlines in a slot, to be gone through in their order. */
struct show_deadlines {
    const struct show_wheel *show;
    const struct show_snapshot *snapshot;
    const struct elapse_slot *slot;
    size_t next; /* number of a timer */
    size_t left; /* timers */
};

struct show_deadlines show_deadlines_in(const struct show_wheel *show,
                                        const struct show_snapshot *snapshot,
                                        const struct elapse_slot *slot);

/* The next one, and how many timers have it; false if there is none. */
bool show_deadlines_next(struct show_deadlines *deadlines, uint64_t *deadline, size_t *timers);

#endif
