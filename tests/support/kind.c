/*
 * Has the table of the kinds of structure that tests run on.
 */
#include "kind.h"

#include <string.h>

#include <elapse/wheel.h>

#include "growth.h"

/* The shape of dials whose levels have the listed numbers of slots. */
#define DIALS_SHAPE(allocator, ...)                                                          \
    &(const struct elapse_shape)                                                             \
    {                                                                                        \
        .slots = (const uint32_t[]){__VA_ARGS__},                                            \
        .levels = sizeof(uint32_t[]){__VA_ARGS__} / sizeof(uint32_t), .growth = (allocator), \
    }
#define DIALS(kind_name, ...)                                                               \
    {                                                                                       \
        .name = (kind_name), .structure = "dials", .shape = DIALS_SHAPE(NULL, __VA_ARGS__), \
        .next = NEXT_EARLY, .cascades = true, .parks = true,                                \
    }
/* Growing dials: each level has `number` slots, which is 2^`bits`. */
#define GROWING_DIALS(kind_name, number, bits)                                                 \
    {                                                                                          \
        .name = (kind_name), .structure = "dials",                                             \
        .shape = DIALS_SHAPE(&growth_allocator, number), .next = NEXT_EARLY, .cascades = true, \
        .moves_per_start = (ELAPSE__TIME_BITS + (bits)-1) / (bits)-1                           \
    }
/* A hashed wheel of `number` slots. */
#define HASHED(number)                                                                           \
    {                                                                                            \
        .name = "hashed:" #number, .structure = "hashed",                                        \
        .shape = &(const struct elapse_shape){.slots = (const uint32_t[]){number}, .levels = 1}, \
        .next = NEXT_A_TURN_AHEAD, .cascades = true, .one_slot = (number) == 1,                  \
    }

static const struct kind kinds[] = {
    {
        .name = "wheel",
        .structure = "wheel",
        .next = NEXT_EXACT_UNDISTURBED,
        .any_position = true,
        .cascades = true,
        .disjoint_slots = true,
        .moves_per_start = ELAPSE__WHEEL_UPPER_LEVELS,
        .moves_per_postponement = 1,
    },
    {
        .name = "heap",
        .structure = "heap",
        .next = NEXT_EXACT,
    },
    DIALS("dials:10,parking", 10),
    DIALS("dials:2,3", 2, 3),
    DIALS("dials:4,4", 4, 4),
    DIALS("dials:10,10,10", 10, 10, 10),
    DIALS("dials:16,16,16,16", 16, 16, 16, 16),
    DIALS("dials:60,60,24,30", 60, 60, 24, 30),
    GROWING_DIALS("dials:512", 512, 9),
    GROWING_DIALS("dials:2", 2, 1),
    HASHED(1),
    HASHED(2),
    HASHED(10),
    HASHED(60),
    HASHED(512),
};

const struct kind *kind_at(size_t number)
{
    return number < sizeof kinds / sizeof kinds[0] ? &kinds[number] : NULL;
}

const struct kind *kind_find(const char *name)
{
    for (size_t i = 0; kind_at(i) != NULL; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    }
    return NULL;
}

const struct elapse_structure *kind_structure(const struct kind *kind)
{
    return elapse_structure_find(kind->structure);
}
