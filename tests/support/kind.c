/*
 * The table of kinds.
 */
#include "kind.h"

#include <string.h>

#include <elapse/wheel.h>

/* The hashed wheel of so many slots. */
#define HASHED(number)                                                                           \
    {                                                                                            \
        .name = "hashed:" #number, .structure = "hashed",                                        \
        .shape = &(const struct elapse_shape){.slots = (const uint32_t[]){number}, .levels = 1}, \
        .next = NEXT_A_TURN_AHEAD, .settles = true, .one_slot = (number) == 1,                   \
    }

static const struct kind kinds[] = {
    {
        .name = "wheel",
        .structure = "wheel",
        .next = NEXT_EXACT_UNDISTURBED,
        .any_position = true,
        .settles = true,
        .disjoint_slots = true,
        .moves_per_start = ELAPSE__WHEEL_UPPER_LEVELS,
        .moves_per_put_off = 1,
    },
    {
        .name = "heap",
        .structure = "heap",
        .next = NEXT_EXACT,
    },
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
