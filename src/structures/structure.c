/*
 * The table of structures. Each entry calls the structure's own functions, which take the
 * structure's own type. The instance is a void pointer only in this table.
 */
#include <string.h>

#include <elapse/dials.h>
#include <elapse/hashed.h>
#include <elapse/heap.h>
#include <elapse/structure.h>
#include <elapse/wheel.h>

#include "../base/assert.h"

/* ---- functions of structures that have nothing to do ---- */

static void finish_nothing(void *instance)
{
    ELAPSE__ASSERT(instance != NULL);
    (void)instance;
}

static enum elapse_error move_no_storage(void *instance, void *storage, size_t storage_bytes)
{
    ELAPSE__ASSERT(instance != NULL);
    (void)instance;
    (void)storage;
    (void)storage_bytes;
    return ELAPSE_OK;
}

/* ---- wheel ---- */

static size_t wheel_storage_bytes(const struct elapse_shape *shape, size_t capacity)
{
    (void)shape;
    (void)capacity;
    return 0;
}

static enum elapse_error wheel_init(void *instance, const struct elapse_shape *shape, void *storage,
                                    size_t storage_bytes, uint64_t now)
{
    (void)shape;
    (void)storage;
    (void)storage_bytes;
    return elapse_wheel_init(instance, now);
}

/* ---- heap ---- */

static size_t heap_storage_bytes(const struct elapse_shape *shape, size_t capacity)
{
    (void)shape;
    return elapse_heap_storage_bytes(capacity);
}

static enum elapse_error heap_init(void *instance, const struct elapse_shape *shape, void *storage,
                                   size_t storage_bytes, uint64_t now)
{
    (void)shape;
    return elapse_heap_init(instance, storage, storage_bytes, now);
}

static enum elapse_error heap_move_storage(void *instance, void *storage, size_t storage_bytes)
{
    return elapse_heap_move_storage(instance, storage, storage_bytes);
}

/* ---- dials ---- */

static size_t dials_storage_bytes(const struct elapse_shape *shape, size_t capacity)
{
    (void)capacity;
    return elapse_dials_storage_bytes(shape);
}

static enum elapse_error dials_init(void *instance, const struct elapse_shape *shape, void *storage,
                                    size_t storage_bytes, uint64_t now)
{
    return elapse_dials_init(instance, shape, storage, storage_bytes, now);
}

static void dials_finish(void *instance)
{
    elapse_dials_finish(instance);
}

/* ---- hashed ---- */

/* How many slots a hashed wheel has if the caller gives no shape. */
enum { HASHED_USUAL_SLOTS = 512 };

/* Returns how many slots the shape asks for; 0 if a hashed wheel cannot have this shape. */
static size_t hashed_slots(const struct elapse_shape *shape)
{
    if (shape == NULL)
        return HASHED_USUAL_SLOTS;
    bool is_ring = shape->slots != NULL && shape->levels == 1 && shape->growth == NULL;
    return is_ring ? shape->slots[0] : 0;
}

static size_t hashed_storage_bytes(const struct elapse_shape *shape, size_t capacity)
{
    (void)capacity;
    return elapse_hashed_storage_bytes(hashed_slots(shape));
}

static enum elapse_error hashed_init(void *instance, const struct elapse_shape *shape,
                                     void *storage, size_t storage_bytes, uint64_t now)
{
    return elapse_hashed_init(instance, hashed_slots(shape), storage, storage_bytes, now);
}

/* ---- all ---- */

/* Defines those functions of the structure `kind` that differ from structure to structure only in
 * the type of the instance. */
#define PASS_ON(kind)                                                                            \
    static bool kind##_stop(void *instance, struct elapse_timer *timer)                          \
    {                                                                                            \
        return elapse_##kind##_stop(instance, timer);                                            \
    }                                                                                            \
    static void kind##_advance(void *instance, uint64_t now)                                     \
    {                                                                                            \
        elapse_##kind##_advance(instance, now);                                                  \
    }                                                                                            \
    static struct elapse_timer *kind##_pop(void *instance)                                       \
    {                                                                                            \
        return elapse_##kind##_pop(instance);                                                    \
    }                                                                                            \
    static bool kind##_cascade(void *instance, size_t max_moves)                                 \
    {                                                                                            \
        return elapse_##kind##_cascade(instance, max_moves);                                     \
    }                                                                                            \
    static uint64_t kind##_next(const void *instance)                                            \
    {                                                                                            \
        return elapse_##kind##_next(instance);                                                   \
    }                                                                                            \
    static uint64_t kind##_remaining(const void *instance, const struct elapse_timer *timer)     \
    {                                                                                            \
        return elapse_##kind##_remaining(instance, timer);                                       \
    }                                                                                            \
    static uint64_t kind##_now(const void *instance)                                             \
    {                                                                                            \
        return elapse_##kind##_now(instance);                                                    \
    }                                                                                            \
    static size_t kind##_count(const void *instance)                                             \
    {                                                                                            \
        return elapse_##kind##_count(instance);                                                  \
    }                                                                                            \
    static uint64_t kind##_moves(const void *instance)                                           \
    {                                                                                            \
        return elapse_##kind##_moves(instance);                                                  \
    }                                                                                            \
    static void kind##_for_each(void *instance, elapse_visit_function *visit, void *context)     \
    {                                                                                            \
        elapse_##kind##_for_each(instance, visit, context);                                      \
    }                                                                                            \
    static void kind##_clear(void *instance)                                                     \
    {                                                                                            \
        elapse_##kind##_clear(instance);                                                         \
    }                                                                                            \
    static unsigned kind##_check(const void *instance)                                           \
    {                                                                                            \
        return elapse_##kind##_check(instance);                                                  \
    }                                                                                            \
    static void kind##_dump(const void *instance, elapse_dump_function *describe, void *context) \
    {                                                                                            \
        elapse_##kind##_dump(instance, describe, context);                                       \
    }

/* Define start for a structure whose start can fail, and for a structure whose start cannot
 * fail. */
#define PASS_ON_START(kind)                                                                  \
    static enum elapse_error kind##_start(void *instance, struct elapse_timer *timer,        \
                                          uint64_t deadline)                                 \
    {                                                                                        \
        return elapse_##kind##_start(instance, timer, deadline);                             \
    }                                                                                        \
    static enum elapse_error kind##_start_window(void *instance, struct elapse_timer *timer, \
                                                 uint64_t earliest, uint64_t latest)         \
    {                                                                                        \
        return elapse_##kind##_start_window(instance, timer, earliest, latest);              \
    }
#define PASS_ON_INFALLIBLE_START(kind)                                                       \
    static enum elapse_error kind##_start(void *instance, struct elapse_timer *timer,        \
                                          uint64_t deadline)                                 \
    {                                                                                        \
        elapse_##kind##_start(instance, timer, deadline);                                    \
        return ELAPSE_OK;                                                                    \
    }                                                                                        \
    static enum elapse_error kind##_start_window(void *instance, struct elapse_timer *timer, \
                                                 uint64_t earliest, uint64_t latest)         \
    {                                                                                        \
        elapse_##kind##_start_window(instance, timer, earliest, latest);                     \
        return ELAPSE_OK;                                                                    \
    }

PASS_ON(wheel)
PASS_ON(heap)
PASS_ON(dials)
PASS_ON(hashed)
PASS_ON_INFALLIBLE_START(wheel)
PASS_ON_START(heap)
PASS_ON_START(dials)
PASS_ON_INFALLIBLE_START(hashed)

#define FUNCTIONS(kind)                                                                  \
    .storage_bytes = kind##_storage_bytes, .init = kind##_init, .start = kind##_start,   \
    .start_window = kind##_start_window, .stop = kind##_stop, .advance = kind##_advance, \
    .pop = kind##_pop, .cascade = kind##_cascade, .next = kind##_next,                   \
    .remaining = kind##_remaining, .now = kind##_now, .count = kind##_count,             \
    .moves = kind##_moves, .for_each = kind##_for_each, .clear = kind##_clear,           \
    .check = kind##_check, .dump = kind##_dump

static const struct elapse_structure structures[] = {
    {
        .name = "wheel",
        .instance_bytes = sizeof(struct elapse_wheel),
        .finish = finish_nothing,
        .move_storage = move_no_storage,
        FUNCTIONS(wheel),
    },
    {
        .name = "heap",
        .instance_bytes = sizeof(struct elapse_heap),
        .is_bounded = true,
        .finish = finish_nothing,
        .move_storage = heap_move_storage,
        FUNCTIONS(heap),
    },
    {
        .name = "dials",
        .instance_bytes = sizeof(struct elapse_dials),
        .shape_levels_max = ELAPSE_SHAPE_LEVELS_MAX,
        .finish = dials_finish,
        .move_storage = move_no_storage,
        FUNCTIONS(dials),
    },
    {
        .name = "hashed",
        .instance_bytes = sizeof(struct elapse_hashed),
        .shape_levels_max = 1,
        .finish = finish_nothing,
        .move_storage = move_no_storage,
        FUNCTIONS(hashed),
    },
};

const struct elapse_structure *elapse_structure_at(size_t number)
{
    return number < sizeof structures / sizeof structures[0] ? &structures[number] : NULL;
}

const struct elapse_structure *elapse_structure_find(const char *name)
{
    ELAPSE__ASSERT(name != NULL);
    for (size_t i = 0; i < sizeof structures / sizeof structures[0]; i++) {
        if (strcmp(structures[i].name, name) == 0)
            return &structures[i];
    }
    return NULL;
}
