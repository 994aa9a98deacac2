#include "recurrence.h"

#include "../base/assert.h"
#include "../cron/next.h"

/* Missed occurrences of a cron expression are counted one by one, but only up to this number. */
enum { MISSED_COUNTED_MAX = 10000 };

/* Finds the next occurrence of a task with a period. Occurrences are sums of the first deadline and
 * whole periods, so they do not drift. */
static struct elapse__occurrence next_period(const struct elapse__recurrence *recurrence,
                                             uint64_t now_ns)
{
    const uint64_t period_ns = recurrence->period_ns;
    const uint64_t last_ns = recurrence->occurrence_ns;
    ELAPSE__ASSERT_THAT(period_ns, >, 0);
    struct elapse__occurrence next = {.ns = elapse_deadline_after(last_ns, period_ns)};
    if (next.ns >= now_ns || recurrence->if_missed == ELAPSE_MISSED_BURST)
        return next;
    ELAPSE__ASSERT_THAT(last_ns, <, now_ns);
    next.missed = (now_ns - 1 - last_ns) / period_ns;
    ELAPSE__ASSERT_THAT(next.missed, >, 0);
    next.ns = recurrence->if_missed == ELAPSE_MISSED_DELAY
                  ? elapse_deadline_after(now_ns, period_ns)
                  : elapse_deadline_after(last_ns + next.missed * period_ns, period_ns);
    return next;
}

static bool next_of_cron(const struct elapse__recurrence *recurrence, uint64_t now_ns,
                         struct elapse__occurrence *next)
{
    const struct elapse_cron *cron = &recurrence->cron;
    const enum elapse_zone zone = recurrence->zone;
    ELAPSE__ASSERT(recurrence->wall_clock);
    /* The next occurrence is after the last one, even if the wall clock was set back meanwhile. */
    next->ns = recurrence->planned_ns;
    if (next->ns == 0 && !elapse__cron_next_ns(cron, zone, recurrence->occurrence_ns, &next->ns))
        return false;
    next->missed = 0;
    if (recurrence->if_missed != ELAPSE_MISSED_SKIP)
        return true;
    while (next->ns < now_ns && next->missed < MISSED_COUNTED_MAX) {
        next->missed++;
        if (!elapse__cron_next_ns(cron, zone, next->ns, &next->ns))
            return false;
    }
    return next->ns >= now_ns || elapse__cron_next_ns(cron, zone, now_ns - 1, &next->ns);
}

bool elapse__recurrence_may_change(const struct elapse__recurrence *recurrence, bool by_cron)
{
    if (recurrence == NULL)
        return false;
    bool has_period =
        recurrence->kind == ELAPSE_RECUR_PERIOD || recurrence->kind == ELAPSE_RECUR_AFTER_EACH;
    return by_cron ? recurrence->kind == ELAPSE_RECUR_CRON : has_period;
}

void elapse__recurrence_apply(struct elapse__recurrence *recurrence,
                              const struct elapse__recurrence_change *change)
{
    ELAPSE__ASSERT(elapse__recurrence_may_change(recurrence, change->by_cron));
    ELAPSE__ASSERT_THAT(change->since_ns, <=, change->first_ns);
    if (change->by_cron) {
        recurrence->cron = change->cron;
        recurrence->zone = change->zone;
    } else {
        recurrence->period_ns = change->period_ns;
    }
    recurrence->occurrence_ns = change->since_ns;
    recurrence->planned_ns = 0;
    recurrence->changed = false;
}

bool elapse__recurrence_next(const struct elapse__recurrence *recurrence, uint64_t now_ns,
                             struct elapse__occurrence *next)
{
    switch (recurrence->kind) {
    case ELAPSE_RECUR_PERIOD:
        *next = next_period(recurrence, now_ns);
        return true;
    case ELAPSE_RECUR_AFTER_EACH:
        *next =
            (struct elapse__occurrence){.ns = elapse_deadline_after(now_ns, recurrence->period_ns)};
        return true;
    case ELAPSE_RECUR_CRON:
        return next_of_cron(recurrence, now_ns, next);
    case ELAPSE_RECUR_NEVER:
        break;
    }
    return false;
}
