/*
 * Implements the operations of trials that look at all timers, and the operation clear.
 */
#include "released.h"
#include "trial_steps.h"

struct visits {
    struct trial *trial;
    uint64_t divisor; /* stop the timers whose numbers it divides; 0: stop none */
    size_t count;
    bool seen[ORACLE_CAPACITY];
};

static bool visit(struct elapse_timer *timer, void *context)
{
    struct visits *visits = context;
    struct trial *trial = visits->trial;
    size_t number = (size_t)(timer - trial->timers);

    if (number >= trial->timer_count || visits->seen[number] || !is_pending(trial, number))
        return fail(trial, "for_each visited a timer twice, or one that is not pending");
    visits->seen[number] = true;
    visits->count++;
    if (visits->divisor != 0 && number % visits->divisor == 0)
        return apply_stop(trial, (unsigned)number);
    return true;
}

bool apply_for_each(struct trial *trial, uint64_t divisor)
{
    size_t expected = trial->oracle.count;
    struct visits visits = {.trial = trial, .divisor = divisor};

    trial->structure->for_each(trial->instance, visit, &visits);
    if (trial->failure[0] != '\0')
        return false;
    if (visits.count != expected)
        return fail(trial, "for_each visited %zu of %zu", visits.count, expected);
    return true;
}

static void add_described(const struct elapse_slot *slot, void *context)
{
    size_t *described = context;

    *described += slot->count;
}

bool apply_inspect(struct trial *trial)
{
    const struct elapse_structure *structure = trial->structure;
    size_t described = 0;

    for (size_t i = 0; i < trial->oracle.count; i++) {
        const struct oracle_entry *entry = &trial->oracle.entries[i];
        const struct elapse_timer *timer = &trial->timers[entry->timer];
        uint64_t remaining =
            entry->deadline == ELAPSE_NEVER ? ELAPSE_NEVER : entry->deadline - trial->oracle.now;

        if (entry->deadline < trial->oracle.now)
            remaining = 0;
        if (structure->remaining(trial->instance, timer) != remaining)
            return fail(trial, "remaining of timer %zu is wrong", entry->timer);
        if (!elapse_timer_pending(timer) || elapse_timer_deadline(timer) != entry->deadline)
            return fail(trial, "timer %zu lost its deadline", entry->timer);
    }
    if (!apply_for_each(trial, 0))
        return false;
    structure->dump(trial->instance, add_described, &described);
    if (described != trial->oracle.count)
        return fail(trial, "dump described %zu of %zu", described, trial->oracle.count);
    return structure->check(trial->instance) == 0 || fail(trial, "check found damage");
}

bool apply_clear(struct trial *trial)
{
    trial->structure->clear(trial->instance);
    while (trial->oracle.count > 0) {
        size_t timer = trial->oracle.entries[0].timer;

        if (elapse_timer_pending(&trial->timers[timer]))
            return fail(trial, "timer %zu is pending after clear", timer);
        timer_release(&trial->timers[timer]);
        oracle_stop(&trial->oracle, timer);
        trial->disturbances++;
    }
    return true;
}
