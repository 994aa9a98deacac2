/*
 * The geometry of what "elapse show" draws: how many slots each level has, how many ticks
 * they cover, and where a timer goes.
 */
#ifndef ELAPSE_CLI_SHOW_GEOMETRY_H
#define ELAPSE_CLI_SHOW_GEOMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elapse/structure.h>

/* One level for each bit of time is more than any structure has. */
#define SHOW_LEVELS_MAX 64

enum show_design {
    /* The slots of a level cover what the level above has in one slot. */
    SHOW_WHEEL,
    /* The slots of a level cover as many ticks as there are, from now's slot on. */
    SHOW_DIALS,
    /* A slot covers one tick of each turn. */
    SHOW_HASHED,
};

struct show_level {
    unsigned slot_count;
    uint64_t slot_ticks; /* how many ticks a slot covers */
};

struct show_geometry {
    enum show_design design;
    unsigned level_count;
    struct show_level levels[SHOW_LEVELS_MAX];
};

/* The ticks from first to last; none when first is after last. */
struct show_range {
    uint64_t first;
    uint64_t last;
};

/* Which slot a timer is in. */
struct show_place {
    unsigned level;
    unsigned slot;
};

enum show_design show_design_of(const struct elapse_structure *structure);

/* The shape to draw where none was chosen; NULL for a structure that has its own. */
const struct elapse_shape *show_shape_default(const struct elapse_structure *structure);

/* Learns the geometry of a structure of this shape; `instance` and `storage` are lent to a
 * wheel that is asked for it. Dials that grow have all the levels that they can grow. */
enum elapse_error show_geometry_learn(struct show_geometry *geometry,
                                      const struct elapse_structure *structure,
                                      const struct elapse_shape *shape, void *instance);

/* All the ticks for which a level of a wheel has slots, seen from the tick `now`. */
struct show_range show_level_span(const struct show_level *level, uint64_t now);

/* Those that a timer started at `now` would be put into this level for: what the
 * levels below do not cover. */
struct show_range show_level_covers(const struct show_geometry *geometry, unsigned level,
                                    uint64_t now);

/* The number of the slot that the tick `now` falls into. */
unsigned show_slot_at(const struct show_level *level, uint64_t now);

/* The level of dials that a timer goes to at the tick `pointer`; level_count: it is parked. */
unsigned show_dial_for(const struct show_geometry *geometry, uint64_t pointer, uint64_t deadline);

/* Where a timer in dials has come by the tick `now`, if at the tick `since` it was put where
 * it belonged then. */
struct show_place show_place_in_dials(const struct show_geometry *geometry, uint64_t since,
                                      uint64_t now, uint64_t deadline);

/* In a hashed wheel: how many visits to the timer's slot pass before the one at its deadline;
 * 0 elsewhere. */
uint64_t show_rounds_left(const struct show_geometry *geometry, uint64_t now, uint64_t deadline);

#endif
