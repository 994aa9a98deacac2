/*
 * Makes a picture of the wheel of the boot-time clock: which slots of each level have timers, and
 * where the wheel stands.
 */
#include <string.h>

#include "picture.h"
#include "tables.h"

_Static_assert(ELAPSE__WHEEL_LEVEL_0_SLOTS <= ELAPSE__QUEUE_WHEEL_SLOTS &&
                   ELAPSE__WHEEL_UPPER_SLOTS <= ELAPSE__QUEUE_WHEEL_SLOTS,
               "all slots of a level have room");
_Static_assert((int)ELAPSE__QUEUE_WHEEL_LEVELS < (int)ELAPSE__WHEEL_LEVELS,
               "each of these levels has two blocks");

static void draw_level(const struct elapse_wheel *wheel, unsigned number,
                       struct elapse__queue_wheel_level *level)
{
    unsigned first = 0;
    unsigned shift = 0;

    level->slots = ELAPSE__WHEEL_LEVEL_0_SLOTS;
    if (number > 0) {
        first = ELAPSE__WHEEL_LEVEL_0_SLOTS + (number - 1) * (unsigned)ELAPSE__WHEEL_UPPER_SLOTS;
        shift = ELAPSE__WHEEL_LEVEL_0_BITS + (number - 1) * (unsigned)ELAPSE__WHEEL_DIGIT_BITS;
        level->slots = ELAPSE__WHEEL_UPPER_SLOTS;
    }
    level->slot_ms = UINT64_C(1) << shift;
    level->position = (uint32_t)((wheel->pointer >> shift) % level->slots);
    memcpy(level->occupied, wheel->occupied + first / 64, level->slots / 8);
}

uint64_t elapse__queue_draw(const struct elapse__queue *queue,
                            struct elapse__queue_wheel_level levels[ELAPSE__QUEUE_WHEEL_LEVELS])
{
    const struct elapse_wheel *wheel = &queue->clocks.boot;

    memset(levels, 0, ELAPSE__QUEUE_WHEEL_LEVELS * sizeof *levels);
    for (unsigned i = 0; i < ELAPSE__QUEUE_WHEEL_LEVELS; i++)
        draw_level(wheel, i, &levels[i]);
    return wheel->pointer - ELAPSE__QUEUE_ORIGIN;
}
