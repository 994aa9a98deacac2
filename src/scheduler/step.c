#include "step.h"

#include "../base/assert.h"
#include "callback.h"
#include "run.h"

static enum elapse_error begin_step(struct elapse_scheduler *scheduler)
{
    enum elapse_error error = ELAPSE_OK;
    elapse__lock(&scheduler->step_lock);
    if (scheduler->stepping)
        error = ELAPSE_ERROR_BUSY;
    else if (atomic_load(&scheduler->life) >= (int)ELAPSE__LIFE_CLOSING)
        error = ELAPSE_ERROR_CLOSED;
    else
        scheduler->stepping = true;
    elapse__unlock(&scheduler->step_lock);
    return error;
}

bool elapse__step_enter(struct elapse_scheduler *scheduler)
{
    elapse__lock(&scheduler->step_lock);
    bool enters = !atomic_load(&scheduler->clock_ending);
    ELAPSE__ASSERT(!enters || !scheduler->stepping);
    if (enters)
        scheduler->stepping = true;
    elapse__unlock(&scheduler->step_lock);
    return enters;
}

void elapse__step_leave(struct elapse_scheduler *scheduler)
{
    elapse__lock(&scheduler->step_lock);
    ELAPSE__ASSERT(scheduler->stepping);
    scheduler->stepping = false;
    elapse__condition_broadcast(&scheduler->step_over);
    elapse__unlock(&scheduler->step_lock);
}

/* Moves both clocks forward, so that the monotonic clock stands at `now_ns`. */
static void go_on_to(struct elapse_scheduler *scheduler, uint64_t now_ns)
{
    ELAPSE__ASSERT_THAT(scheduler->options.clock, ==, ELAPSE_CLOCK_MANUAL);
    /* Only this thread writes the monotonic clock. */
    uint64_t before_ns = atomic_load(&scheduler->manual_now_ns);
    if (now_ns <= before_ns)
        return;
    atomic_store(&scheduler->manual_now_ns, now_ns);
    /* Another thread may set the wall clock at the same time. */
    uint64_t wall_clock_ns = atomic_load(&scheduler->manual_wall_clock_ns);
    while (!atomic_compare_exchange_weak(&scheduler->manual_wall_clock_ns, &wall_clock_ns,
                                         elapse_deadline_after(wall_clock_ns, now_ns - before_ns)))
        continue;
}

enum elapse_error elapse_scheduler_step(struct elapse_scheduler *scheduler, uint64_t now_ns,
                                        size_t *ran)
{
    if (scheduler->options.clock != ELAPSE_CLOCK_MANUAL)
        return ELAPSE_ERROR_ARGUMENT;
    if (elapse__in_callback(scheduler))
        return ELAPSE_ERROR_IN_ACTION;
    enum elapse_error error = begin_step(scheduler);
    if (error != ELAPSE_OK)
        return error;
    go_on_to(scheduler, now_ns);
    size_t count = 0;
    if (!scheduler->options.pull) /* in pull mode due tasks are taken, and not run here */
        count =
            elapse__run_due_in_order(scheduler, elapse__now(scheduler), &scheduler->clock_ending);
    if (ran != NULL)
        *ran = count;
    elapse__step_leave(scheduler);
    return ELAPSE_OK;
}

bool elapse__step_wait(struct elapse_scheduler *scheduler, uint64_t until_ns)
{
    bool in_time = true;
    atomic_store(&scheduler->clock_ending, true);
    elapse__lock(&scheduler->step_lock);
    while (scheduler->stepping && in_time)
        in_time =
            elapse__condition_wait_at_most(&scheduler->step_over, &scheduler->step_lock, until_ns);
    bool over = !scheduler->stepping;
    elapse__unlock(&scheduler->step_lock);
    return over;
}
