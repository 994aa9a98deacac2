#include "recurrence.h"

/* Occurrences of a cron expression are counted one by one: no further than this. */
enum { MISSED_COUNTED_MAX = 65535 };

bool elapse__cron_next_ns(const struct elapse_cron *cron, enum elapse_zone zone, uint64_t after_ns,
                          uint64_t *next_ns)
{
    int64_t next_s;
    if (!elapse_cron_next(cron, zone, (int64_t)(after_ns / ELAPSE_SECOND_NS), &next_s))
        return false;
    return !__builtin_mul_overflow((uint64_t)next_s, ELAPSE_SECOND_NS, next_ns) &&
           *next_ns < ELAPSE_NEVER;
}

/* Counted from the first deadline, for ever: a sum, never a wait plus a delay. */
static bool next_period(struct elapse__recurrence *recurrence, uint64_t now_ns)
{
    const uint64_t period_ns = recurrence->period_ns;
    uint64_t next_ns = elapse_deadline_after(recurrence->occurrence_ns, period_ns);
    if (next_ns < now_ns && recurrence->if_missed != ELAPSE_MISSED_BURST) {
        uint64_t passed = (now_ns - 1 - recurrence->occurrence_ns) / period_ns;
        recurrence->missed = passed;
        next_ns = recurrence->if_missed == ELAPSE_MISSED_DELAY
                      ? elapse_deadline_after(now_ns, period_ns)
                      : elapse_deadline_after(recurrence->occurrence_ns + passed * period_ns,
                                              period_ns);
    }
    recurrence->occurrence_ns = next_ns;
    return true;
}

static bool next_of_cron(struct elapse__recurrence *recurrence, uint64_t now_ns)
{
    const struct elapse_cron *cron = &recurrence->cron;
    /* After the last occurrence, whatever the wall clock says: it may have been set back. */
    uint64_t next_ns;
    if (!elapse__cron_next_ns(cron, recurrence->zone, recurrence->occurrence_ns, &next_ns))
        return false;
    if (recurrence->if_missed == ELAPSE_MISSED_SKIP && next_ns < now_ns) {
        uint64_t passed_ns = next_ns;
        while (passed_ns < now_ns && recurrence->missed < MISSED_COUNTED_MAX) {
            recurrence->missed++;
            if (!elapse__cron_next_ns(cron, recurrence->zone, passed_ns, &passed_ns))
                return false;
        }
        if (!elapse__cron_next_ns(cron, recurrence->zone, now_ns - 1, &next_ns))
            return false;
    }
    recurrence->occurrence_ns = next_ns;
    return true;
}

bool elapse__recurrence_next(struct elapse__recurrence *recurrence, uint64_t now_ns)
{
    recurrence->missed = 0;
    switch (recurrence->kind) {
    case ELAPSE_RECUR_PERIOD:
        return next_period(recurrence, now_ns);
    case ELAPSE_RECUR_AFTER_EACH:
        recurrence->occurrence_ns = elapse_deadline_after(now_ns, recurrence->period_ns);
        return true;
    case ELAPSE_RECUR_CRON:
        return next_of_cron(recurrence, now_ns);
    case ELAPSE_RECUR_NEVER:
        break;
    }
    return false;
}
