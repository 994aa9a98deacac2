/*
 * The hooks for tracing: before and after each action, on its thread, without a lock.
 */
#include "pulling.h"

static int trace_context;

/* What happened, in order: '<' and '>' for the hooks, '!' for the action, '#' for the destructor,
 * each followed by the letter of the task. */
static char order[256];
static pthread_t threads[256];

static void note(char what, const void *context)
{
    size_t length = strlen(order);

    threads[length] = pthread_self();
    order[length] = what;
    order[length + 1] = (char)number_of(context);
    order[length + 2] = '\0';
}

static void note_begin(void *context, const struct elapse_run *run, elapse_action_function *action,
                       void *task_context)
{
    if (context != &trace_context || action == NULL || run->number < 1)
        note('?', task_context);
    if (elapse_task_look_up(run->scheduler, run->handle, NULL) != ELAPSE_TASK_RUNNING)
        note('?', task_context);
    note('<', task_context);
}

static void note_end(void *context, const struct elapse_run *run, elapse_action_function *action,
                     void *task_context)
{
    if (context != &trace_context || action == NULL || run->number < 1)
        note('?', task_context);
    if (elapse_task_look_up(run->scheduler, run->handle, NULL) != ELAPSE_TASK_RUNNING)
        note('?', task_context);
    note('>', task_context);
}

static void act(void *context, const struct elapse_run *run)
{
    (void)run;
    note('!', context);
}

static void destroy(void *context)
{
    note('#', context);
}

static struct elapse_scheduler *tracing_new(struct elapse_scheduler_options options)
{
    options.action_begins = note_begin;
    options.action_ends = note_end;
    options.trace_context = &trace_context;
    order[0] = '\0';
    return scheduler_new(&options);
}

static struct elapse_task traced(char name)
{
    return (struct elapse_task){
        .action = act, .context = name_of((size_t)name), .destroy = destroy};
}

TEST(hooks_surround_each_action)
{
    struct elapse_scheduler *scheduler = tracing_new(manual_options(TICK_NS, 1));
    struct elapse_task again = traced('b');

    again.recurrence = ELAPSE_RECUR_PERIOD;
    again.period_ns = TICK_NS;
    (void)schedule_at(scheduler, traced('a'), TICK_NS);
    (void)schedule_at(scheduler, again, TICK_NS);
    assert_int_equal(step(scheduler, TICK_NS), 2);
    assert_int_equal(step(scheduler, 2 * TICK_NS), 1);
    assert_string_equal(order, "<a!a>a#a<b!b>b<b!b>b");
    scheduler_end(scheduler);
    assert_string_equal(order, "<a!a>a#a<b!b>b<b!b>b#b");
}

TEST(one_hook_may_be_missing)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);

    options.action_ends = note_end;
    options.trace_context = &trace_context;
    order[0] = '\0';
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    (void)schedule_at(scheduler, traced('a'), 0);
    assert_int_equal(step(scheduler, 0), 1);
    assert_string_equal(order, "!a>a#a");
    scheduler_end(scheduler);
}

TEST(on_a_worker_they_come_on_the_thread_of_the_action)
{
    struct elapse_scheduler_options options;
    struct elapse_task task = traced('a');

    elapse_scheduler_options_init(&options);
    options.workers = 1;
    struct elapse_scheduler *scheduler = tracing_new(options);
    assert_ok(elapse_scheduler_start(scheduler));
    (void)schedule_after(scheduler, task, 0);
    task = task_named('b');
    (void)schedule_after(scheduler, task, TICK_NS);
    wait_for_runs(1);
    scheduler_end(scheduler);
    assert_string_equal(order, "<a!a>a#a<b>b");
    for (size_t i = 2; i < 12; i += 2)
        assert_true(pthread_equal(threads[i], threads[0]));
    assert_false(pthread_equal(threads[0], pthread_self()));
}

static void refuse_to_wait(void *context, const struct elapse_run *run,
                           elapse_action_function *action, void *task_context)
{
    (void)action;
    (void)task_context;
    *(enum elapse_cancel *)context =
        elapse_task_cancel_wait(run->scheduler, run->handle, ELAPSE_NEVER);
}

TEST(a_hook_is_inside_the_action_for_a_cancel_that_waits)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);
    enum elapse_cancel answer = ELAPSE_CANCEL_GONE;

    options.action_ends = refuse_to_wait;
    options.trace_context = &answer;
    order[0] = '\0';
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    (void)schedule_at(scheduler, traced('a'), 0);
    assert_int_equal(step(scheduler, 0), 1);
    assert_int_equal(answer, ELAPSE_CANCEL_SELF);
    scheduler_end(scheduler);
}

TEST(in_pull_mode_they_are_not_called)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);

    options.pull = true;
    struct elapse_scheduler *scheduler = tracing_new(options);
    (void)schedule_at(scheduler, traced('a'), 0);
    struct elapse_taken taken = take(scheduler, 'a');
    done(scheduler, &taken);
    assert_string_equal(order, "#a");
    scheduler_end(scheduler);
}

TEST_MAIN("trace")
