/*
 * The geometry of a structure that "elapse show" draws. It says how many slots each level has, how
 * many ticks they cover, and where a timer is put.
 */
#ifndef ELAPSE_CLI_SHOW_GEOMETRY_H
#define ELAPSE_CLI_SHOW_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include <elapse/structure.h>

/* No structure has more levels than time has bits. */
#define SHOW_LEVELS_MAX 64

enum show_design {
    /* All slots of a level together cover the ticks of two slots of the level above: of the slot of
     * `now` and of the next slot. */
    SHOW_WHEEL,
    /* The slots of a level cover one turn of the level, from the slot of `now` on. */
    SHOW_DIALS,
    /* A slot covers one tick of every turn. */
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

/* The ticks from first to last. There are none if first is after last. */
struct show_range {
    uint64_t first;
    uint64_t last;
};

/* The slot of a timer. */
struct show_place {
    unsigned level;
    unsigned slot;
};

enum show_design show_design_of(const struct elapse_structure *structure);

/* Returns the shape that is drawn by default, or NULL if the structure has only one shape. */
const struct elapse_shape *show_shape_default(const struct elapse_structure *structure);

/* Finds the geometry of a structure of this shape. To find a wheel's geometry, makes a wheel in
 * `instance`, which the caller overwrites afterwards. The geometry of growing dials has all levels
 * to which they can grow. */
enum elapse_error show_geometry_learn(struct show_geometry *geometry,
                                      const struct elapse_structure *structure,
                                      const struct elapse_shape *shape, void *instance);

/* Returns the deadlines of timers that are put into this level at the tick `now`. The level covers
 * them, and the levels below do not. */
struct show_range show_level_covers(const struct show_geometry *geometry, unsigned level,
                                    uint64_t now);

/* Returns whether a slot of a wheel takes no timer that is started at the tick `now`, because its
 * ticks have passed, or because the levels below cover them. Returns false for other structures. */
bool show_slot_takes_none(const struct show_geometry *geometry, unsigned level, unsigned slot,
                          uint64_t now);

/* Returns the number of the slot of the tick `now`. */
unsigned show_slot_at(const struct show_level *level, uint64_t now);

/* Returns the level of dials into which a timer is put at the tick `pointer`. Returns level_count
 * if the timer is parked, because no level covers its deadline. */
unsigned show_dial_for(const struct show_geometry *geometry, uint64_t pointer, uint64_t deadline);

/* Returns where a timer in dials is at the tick `now`. The timer was placed at the tick `since`,
 * and all cascades since then were done. */
struct show_place show_place_in_dials(const struct show_geometry *geometry, uint64_t since,
                                      uint64_t now, uint64_t deadline);

/* Returns how often a hashed wheel visits the slot of a timer before its deadline. Returns 0 for
 * another structure. */
uint64_t show_rounds_left(const struct show_geometry *geometry, uint64_t now, uint64_t deadline);

#endif
