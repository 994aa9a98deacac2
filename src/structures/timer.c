/*
 * The timer: the functions that all structures share.
 */
#include <elapse/timer.h>

#include "../base/assert.h"
#include "../base/bits.h"
#include "deadline.h"

_Static_assert(sizeof(void *) != 8 || sizeof(struct elapse_timer) == 32,
               "a timer is half a cache line where pointers have 64 bits");
_Static_assert(sizeof(void *) != 4 || sizeof(struct elapse_timer) == 24,
               "a timer takes 24 bytes where pointers have 32 bits");

extern inline void elapse_timer_init(struct elapse_timer *timer);
extern inline bool elapse_timer_pending(const struct elapse_timer *timer);
extern inline uint64_t elapse_timer_deadline(const struct elapse_timer *timer);
extern inline uint64_t elapse_deadline_after(uint64_t now, uint64_t delay);

uint64_t elapse_deadline_in_window(uint64_t now, uint64_t earliest, uint64_t latest)
{
    if (earliest >= ELAPSE_NEVER)
        return ELAPSE_NEVER;
    if (earliest < now)
        earliest = elapse__clock_at(now);
    if (latest >= ELAPSE_NEVER)
        latest = ELAPSE_TIME_MAX;
    if (latest <= earliest || earliest == 0)
        return earliest;

    /* Looks for the tick from `earliest` to `latest` that ends in the most zero bits. This tick has
     * the bits of `latest` down to the highest bit in which `latest` and `earliest` - 1 differ. All
     * lower bits are 0. */
    unsigned highest = elapse__highest_bit((earliest - 1) ^ latest);
    uint64_t chosen = latest & ~((UINT64_C(1) << highest) - 1);
    ELAPSE__ASSERT(chosen >= earliest);
    ELAPSE__ASSERT(chosen <= latest);
    return chosen;
}
