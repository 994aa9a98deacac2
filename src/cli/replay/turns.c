/*
 * Estimates how often a hashed wheel will visit its timers: once in every turn.
 */
#include "turns.h"

#include <string.h>

#include "../../base/assert.h"
#include "../common/duration.h"
#include "../common/message.h"
#include "../common/text.h"

enum { SLOTS_DEFAULT = 512 };

static const double visits_reported = 2e9; /* so many visits take about ten seconds */
static const double visits_at_ease = 1e7;  /* so few visits take no noticeable time */

/* Returns a tick of 10, 100, 1000, ... with which there are few visits. */
static uint64_t tick_that_helps_us(double visits, uint64_t tick_us)
{
    static const uint64_t ticks_us[] = {10, 100, 1000, 10000, 100000, 1000000, 10000000, 60000000};
    enum { TICK_COUNT = sizeof ticks_us / sizeof ticks_us[0] };
    size_t i = 0;

    ELAPSE__ASSERT(visits >= visits_reported);
    while (i + 1 < TICK_COUNT && visits * (double)tick_us / (double)ticks_us[i] > visits_at_ease)
        i++;
    return ticks_us[i];
}

void turns_add(struct turns *turns, const char *trace, const struct elapse_structure *structure,
               const struct elapse_shape *shape, uint64_t tick_us, uint64_t ticks, uint64_t pending)
{
    ELAPSE__ASSERT(tick_us > 0);
    if (turns->is_reported || strcmp(structure->name, "hashed") != 0)
        return;
    double slots = shape != NULL ? (double)shape->slots[0] : SLOTS_DEFAULT;
    double count = (double)ticks / slots;
    turns->visits += count * (double)pending;
    if (turns->visits < visits_reported)
        return;
    turns->is_reported = true;
    print_error("%s: %s turns of the hashed wheel follow, and each visits every timer; this may "
                "take very long; try --tick %s",
                trace, group_digits((unsigned long long)count).text,
                duration_format(tick_that_helps_us(turns->visits, tick_us) * 1000).text);
}
