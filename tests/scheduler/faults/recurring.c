/*
 * Plays tasks that recur or have a wall-clock time while calls fail: by a period, after each run,
 * at a wall-clock time, by a cron expression.
 */
#include "scenario.h"

#include <time.h>

enum { RUNS_WANTED = 3 };

struct recurring {
    _Atomic unsigned runs;
    _Atomic unsigned destroyed;
};

static void count_run(void *context, const struct elapse_run *run)
{
    struct recurring *recurring = context;
    MUST(run->actual_ns >= run->intended_ns);
    unsigned runs = atomic_fetch_add(&recurring->runs, 1) + 1;
    MUST(run->number == runs);
}

static void count_destroyed(void *context)
{
    struct recurring *recurring = context;
    unsigned destroyed = atomic_fetch_add(&recurring->destroyed, 1);
    MUST(destroyed == 0);
}

/* Returns whether the task was scheduled. A refusal has changed nothing. */
static bool is_accepted(const struct play *play, struct recurring *recurring,
                        enum elapse_error error)
{
    MUST(error == ELAPSE_OK || (error == ELAPSE_ERROR_MEMORY && play->scenario->memory));
    MUST(error == ELAPSE_OK || inject_has_failed());
    MUST(error == ELAPSE_OK || (recurring->runs == 0 && recurring->destroyed == 0));
    return error == ELAPSE_OK;
}

/* Lets time pass until the task has run `runs` times. If it never does, the alarm of main.c ends
 * the waiting. */
static void wait_for_runs(struct play *play, const struct recurring *recurring, unsigned runs,
                          uint64_t step_ns)
{
    while (atomic_load(&recurring->runs) < runs) {
        if (play->scenario->manual)
            MUST(elapse_scheduler_step(play->scheduler,
                                       elapse_scheduler_now_ns(play->scheduler) + step_ns,
                                       NULL) == ELAPSE_OK);
        else
            (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

static struct elapse_task describe(struct recurring *recurring, enum elapse_recurrence recurrence)
{
    bool periodic = recurrence == ELAPSE_RECUR_PERIOD || recurrence == ELAPSE_RECUR_AFTER_EACH;
    *recurring = (struct recurring){0};
    return (struct elapse_task){
        .action = count_run,
        .context = recurring,
        .destroy = count_destroyed,
        .recurrence = recurrence,
        .period_ns = periodic ? 200 * ELAPSE_MICROSECOND_NS : 0,
    };
}

/* Cancels a task that recurs. Its action may run at that moment, and the cancel works even if calls
 * fail. */
static void end(struct play *play, const struct recurring *recurring, struct elapse_handle handle)
{
    enum elapse_cancel answer = elapse_task_cancel_wait(play->scheduler, handle, ELAPSE_NEVER);
    MUST(answer == ELAPSE_CANCEL_REMOVED || answer == ELAPSE_CANCEL_GONE);
    while (atomic_load(&recurring->destroyed) == 0) /* by the worker that ran it */
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void play_period(struct play *play, enum elapse_recurrence recurrence)
{
    struct recurring recurring;
    struct elapse_handle handle;
    struct elapse_task task = describe(&recurring, recurrence);
    if (!is_accepted(play, &recurring,
                     elapse_task_schedule_after(play->scheduler, &task, 0, &handle)))
        return;
    wait_for_runs(play, &recurring, RUNS_WANTED, ELAPSE_MILLISECOND_NS);
    end(play, &recurring, handle);
}

static void play_wall_clock(struct play *play)
{
    struct recurring recurring;
    struct elapse_task task = describe(&recurring, ELAPSE_RECUR_NEVER);
    uint64_t soon_ns = elapse_scheduler_wall_clock_ns(play->scheduler) + ELAPSE_MILLISECOND_NS;
    if (!is_accepted(play, &recurring,
                     elapse_task_schedule_at_wall_clock(play->scheduler, &task, soon_ns, NULL)))
        return;
    wait_for_runs(play, &recurring, 1, ELAPSE_MILLISECOND_NS);
    while (atomic_load(&recurring.destroyed) == 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* Plays tasks of a cron expression. Only on manual time are they run, because their moments are a
 * second apart. */
static void play_cron(struct play *play)
{
    struct recurring recurring;
    struct elapse_cron every_second;
    struct elapse_handle handle;
    struct elapse_task task = describe(&recurring, ELAPSE_RECUR_CRON);
    MUST(elapse_cron_parse(&every_second, "* * * * * *", NULL) == ELAPSE_OK);
    task.cron = &every_second;
    if (!is_accepted(play, &recurring, elapse_task_schedule_cron(play->scheduler, &task, &handle)))
        return;
    if (play->scenario->manual)
        wait_for_runs(play, &recurring, RUNS_WANTED, ELAPSE_SECOND_NS);
    end(play, &recurring, handle);
}

void recurring_play(struct play *play)
{
    play_period(play, ELAPSE_RECUR_PERIOD);
    play_period(play, ELAPSE_RECUR_AFTER_EACH);
    play_wall_clock(play);
    play_cron(play);
}
