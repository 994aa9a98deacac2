/*
 * Tests the destructor of a context: it is called exactly once in whatever way a task ends, on the
 * thread that ended the task, and with no lock held, like an action. It is never called for a task
 * that was refused or handed back.
 */
#include "aligned_memory.h"
#include "fixture.h"

static struct elapse_task letter(char name)
{
    return task_with_end((size_t)name);
}

static struct elapse_task keyed(char name, enum elapse_key_policy policy)
{
    return task_with_key((size_t)name, "key", policy);
}

static void add(struct elapse_scheduler *scheduler, struct elapse_task task, uint64_t deadline_ns)
{
    (void)schedule_at(scheduler, task, deadline_ns);
}

/* ---- each way to end ---- */

TEST(a_context_is_destroyed_after_its_run)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);

    add(scheduler, letter('a'), 5 * TICK_NS);
    expect_step(scheduler, 4 * TICK_NS, "");
    assert_int_equal(ends_of('a'), 0);
    expect_step(scheduler, 5 * TICK_NS, "a");
    assert_int_equal(ends_of('a'), 1);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
}

TEST(a_context_is_destroyed_by_the_cancel_that_removes)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_task tasks[] = {letter('a'), letter('b'), keyed('c', ELAPSE_KEY_FAIL)};
    struct elapse_handle handles[3];

    for (size_t i = 0; i < 3; i++)
        handles[i] = schedule_at(scheduler, tasks[i], 5);
    assert_int_equal(elapse_task_cancel(scheduler, handles[0]), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(elapse_task_cancel_batch(scheduler, &handles[1], 1, NULL), 1);
    assert_int_equal(ends_of('b'), 1);
    assert_int_equal(elapse_task_cancel_wait(scheduler, handles[2], ELAPSE_NEVER),
                     ELAPSE_CANCEL_REMOVED);
    assert_int_equal(ends_of('c'), 1);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(elapse_task_cancel(scheduler, handles[i]), ELAPSE_CANCEL_GONE);
    expect_step(scheduler, 10 * TICK_NS, "");
    scheduler_end(scheduler);
    assert_int_equal(ends(), 3);
}

TEST(a_batch_cancel_destroys_each_context_once)
{
    enum { TASKS = 200 };
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 4);
    struct elapse_handle handles[2 * TASKS];

    for (size_t i = 0; i < TASKS; i++) {
        handles[i] = schedule_at(scheduler, task_with_end(i), (5 + i) * TICK_NS);
        handles[TASKS + i] = handles[i];
    }
    assert_int_equal(elapse_task_cancel_batch(scheduler, handles, 2 * TASKS, NULL), TASKS);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(ends_of(i), 1);
    scheduler_end(scheduler);
    assert_int_equal(ends(), TASKS);
}

TEST(a_context_is_destroyed_when_its_task_is_replaced)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);

    add(scheduler, keyed('a', ELAPSE_KEY_REPLACE), 5 * TICK_NS);
    add(scheduler, keyed('b', ELAPSE_KEY_REPLACE), 6 * TICK_NS);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('b'), 0);
    expect_step(scheduler, 6 * TICK_NS, "b");
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('b'), 1);
}

TEST(a_context_kept_away_is_destroyed_at_once)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct elapse_handle pending = schedule_at(scheduler, keyed('a', ELAPSE_KEY_KEEP), 5 * TICK_NS);

    assert_true(same_handle(schedule_at(scheduler, keyed('b', ELAPSE_KEY_KEEP), 0), pending));
    assert_int_equal(ends_of('a'), 0);
    assert_int_equal(ends_of('b'), 1);
    expect_step(scheduler, 10 * TICK_NS, "a");
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('b'), 1);
}

TEST(contexts_are_destroyed_when_closing_drops_them)
{
    static const enum elapse_close forms[] = {ELAPSE_CLOSE_DROP, ELAPSE_CLOSE_RUN_DUE};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);

        add(scheduler, letter('a'), 5);
        add(scheduler, keyed('b', ELAPSE_KEY_FAIL), 3600 * ELAPSE_SECOND_NS);
        add(scheduler, letter('c'), ELAPSE_NEVER);
        assert_ok(elapse_scheduler_close(scheduler, forms[i], NULL, NULL));
        for (size_t name = 'a'; name <= 'c'; name++)
            assert_int_equal(ends_of(name), 1);
        scheduler_end(scheduler);
        assert_int_equal(ends(), 3);
        expect_runs("");
    }
}

TEST(free_destroys_what_no_close_dropped)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 2);

    add(scheduler, letter('a'), 5);
    add(scheduler, keyed('b', ELAPSE_KEY_FAIL), 5);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('b'), 1);
}

static void take_back(const struct elapse_handed_back *handed_back, void *context)
{
    const struct elapse_task *task = &handed_back->task;
    uint64_t deadline_ns = handed_back->deadline_ns;
    (void)task;
    (void)deadline_ns;
    ++*(int *)context;
}

TEST(a_context_handed_back_is_not_destroyed)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    int handed_back = 0;

    add(scheduler, letter('a'), 5);
    add(scheduler, keyed('b', ELAPSE_KEY_FAIL), 5);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_HAND_BACK, take_back, &handed_back));
    assert_int_equal(handed_back, 2);
    scheduler_end(scheduler);
    assert_int_equal(ends(), 0);
}

/* ---- a task that was refused ---- */

static void *allocate_unless(size_t alignment, size_t bytes, void *empty)
{
    if (*(bool *)empty)
        return NULL;
    return aligned_memory(alignment, bytes);
}

static void release(void *memory, size_t bytes, void *context)
{
    (void)bytes;
    (void)context;
    free(memory);
}

static void expect_refusal(struct elapse_scheduler *scheduler, struct elapse_task task,
                           enum elapse_error error)
{
    struct elapse_handle handle = {1, 2, 3};

    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, &handle), error);
    assert_true(same_handle(handle, (struct elapse_handle){1, 2, 3}));
    assert_int_equal(elapse_task_schedule_after(scheduler, &task, 0, &handle), error);
    assert_true(same_handle(handle, (struct elapse_handle){1, 2, 3}));
}

TEST(a_refused_context_remains_the_callers)
{
    static const char long_key[ELAPSE_KEY_BYTES_MAX + 1];
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);
    struct elapse_task task = keyed('b', ELAPSE_KEY_FAIL);

    options.pending_max = 1;
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    add(scheduler, keyed('a', ELAPSE_KEY_FAIL), 5);
    expect_refusal(scheduler, letter('b'), ELAPSE_ERROR_LIMIT);
    assert_int_equal(elapse_task_schedule_at(scheduler, &task, 0, NULL), ELAPSE_ERROR_KEY_PENDING);
    task.action = NULL;
    expect_refusal(scheduler, task, ELAPSE_ERROR_ARGUMENT);
    task = letter('b');
    task.key = long_key;
    task.key_bytes = sizeof long_key;
    expect_refusal(scheduler, task, ELAPSE_ERROR_ARGUMENT);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    expect_refusal(scheduler, letter('b'), ELAPSE_ERROR_CLOSED);
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('b'), 0);
}

TEST(a_context_that_found_no_memory_remains_the_callers)
{
    struct elapse_scheduler_options options = manual_options(TICK_NS, 1);
    bool empty = false;

    options.allocator = (struct elapse_allocator){allocate_unless, release, &empty};
    struct elapse_scheduler *scheduler = scheduler_new(&options);
    empty = true;
    expect_refusal(scheduler, letter('a'), ELAPSE_ERROR_MEMORY);
    expect_refusal(scheduler, keyed('b', ELAPSE_KEY_REPLACE), ELAPSE_ERROR_MEMORY);
    assert_int_equal(ends(), 0);
    empty = false;
    add(scheduler, letter('a'), 0);
    add(scheduler, keyed('b', ELAPSE_KEY_REPLACE), 0);
    empty = true;
    expect_step(scheduler, TICK_NS, "ab");
    scheduler_end(scheduler);
    assert_int_equal(ends_of('a'), 1);
    assert_int_equal(ends_of('b'), 1);
}

/* ---- a task that is running meanwhile ---- */

/* The context of an action that does something to its own task; and what the action saw. */
struct busy {
    void (*deed)(struct busy *busy, const struct elapse_run *run);
    size_t begun;
    size_t destroyed;
    size_t destroyed_in_action;
    enum elapse_error rescheduled;
    enum elapse_error scheduled;
    enum elapse_cancel cancelled;
};

static void act(void *context, const struct elapse_run *run)
{
    struct busy *busy = context;

    busy->begun++;
    busy->deed(busy, run);
    busy->destroyed_in_action += busy->destroyed;
}

static void destroy_busy(void *context)
{
    ((struct busy *)context)->destroyed++;
}

static struct elapse_task busy_task(struct busy *busy)
{
    return (struct elapse_task){.action = act, .context = busy, .destroy = destroy_busy};
}

static void run_thrice(struct busy *busy, const struct elapse_run *run)
{
    if (busy->begun < 3)
        busy->rescheduled = elapse_task_reschedule_after(run->scheduler, run->handle, 0);
}

TEST(a_context_lives_until_the_last_of_its_runs)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct busy busy = {.deed = run_thrice};

    add(scheduler, busy_task(&busy), 5);
    assert_int_equal(step(scheduler, ELAPSE_SECOND_NS), 3);
    assert_int_equal(busy.begun, 3);
    assert_int_equal(busy.destroyed, 1);
    assert_int_equal(busy.destroyed_in_action, 0);
    scheduler_end(scheduler);
    assert_int_equal(busy.destroyed, 1);
}

static void postpone(struct busy *busy, const struct elapse_run *run)
{
    busy->rescheduled =
        elapse_task_reschedule_after(run->scheduler, run->handle, 9 * ELAPSE_SECOND_NS);
}

TEST(a_rescheduled_context_is_destroyed_by_cancel_or_close)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct busy cancelled = {.deed = postpone};
    struct busy dropped = {.deed = postpone};
    struct elapse_handle handle = schedule_at(scheduler, busy_task(&cancelled), 5);

    add(scheduler, busy_task(&dropped), 5);
    assert_int_equal(step(scheduler, TICK_NS), 2);
    assert_int_equal(cancelled.destroyed + dropped.destroyed, 0);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    assert_int_equal(cancelled.destroyed, 1);
    assert_int_equal(dropped.destroyed, 0);
    scheduler_end(scheduler);
    assert_int_equal(cancelled.destroyed, 1);
    assert_int_equal(dropped.destroyed, 1);
}

static void reschedule_and_cancel(struct busy *busy, const struct elapse_run *run)
{
    busy->rescheduled = elapse_task_reschedule_after(run->scheduler, run->handle, 0);
    busy->cancelled = elapse_task_cancel(run->scheduler, run->handle);
}

TEST(a_context_cancelled_in_its_action_is_destroyed_after_it)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct busy busy = {.deed = reschedule_and_cancel};

    add(scheduler, busy_task(&busy), 5);
    assert_int_equal(step(scheduler, ELAPSE_SECOND_NS), 1);
    assert_ok(busy.rescheduled);
    assert_int_equal(busy.cancelled, ELAPSE_CANCEL_RUNNING);
    assert_int_equal(busy.destroyed_in_action, 0);
    assert_int_equal(busy.destroyed, 1);
    scheduler_end(scheduler);
    assert_int_equal(busy.destroyed, 1);
}

static void schedule_successor(struct busy *busy, const struct elapse_run *run)
{
    struct elapse_task successor = keyed('s', ELAPSE_KEY_REPLACE);

    busy->rescheduled = elapse_task_reschedule_after(run->scheduler, run->handle, 0);
    busy->scheduled = elapse_task_schedule_after(run->scheduler, &successor, 0, NULL);
}

TEST(a_context_replaced_in_its_action_is_destroyed_after_it)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct busy busy = {.deed = schedule_successor};
    struct elapse_task task = busy_task(&busy);

    task.key = "key";
    task.key_bytes = 3;
    add(scheduler, task, 5);
    assert_int_equal(step(scheduler, ELAPSE_SECOND_NS), 2);
    expect_runs("s");
    assert_ok(busy.rescheduled);
    assert_ok(busy.scheduled);
    assert_int_equal(busy.begun, 1);
    assert_int_equal(busy.destroyed_in_action, 0);
    assert_int_equal(busy.destroyed, 1);
    assert_int_equal(ends_of('s'), 1);
    scheduler_end(scheduler);
    assert_int_equal(busy.destroyed + ends(), 2);
}

/* ---- the thread ---- */

static bool has_ended(void *name)
{
    return ends_of(*(size_t *)name) == 1;
}

static void wait_for_end(size_t name)
{
    wait_until(has_ended, &name);
}

struct cancellation {
    struct elapse_scheduler *scheduler;
    struct elapse_handle handle;
};

static void *cancel_elsewhere(void *context)
{
    const struct cancellation *cancellation = context;

    (void)elapse_task_cancel(cancellation->scheduler, cancellation->handle);
    return NULL;
}

TEST(the_thread_that_ended_a_task_destroys_its_context)
{
    struct elapse_scheduler *scheduler = started_new(1);
    struct cancellation cancellation = {.scheduler = scheduler};
    pthread_t thread;

    add(scheduler, letter('a'), 0);
    wait_for_end('a');
    assert_true(pthread_equal(end_thread_of('a'), run_at(0).thread));
    assert_false(pthread_equal(end_thread_of('a'), pthread_self()));

    cancellation.handle = schedule_after(scheduler, letter('b'), 3600 * ELAPSE_SECOND_NS);
    assert_int_equal(pthread_create(&thread, NULL, cancel_elsewhere, &cancellation), 0);
    assert_int_equal(ends_of('c'), 0);
    wait_for_end('b');
    assert_true(pthread_equal(end_thread_of('b'), thread));
    pthread_join(thread, NULL);

    add(scheduler, keyed('c', ELAPSE_KEY_REPLACE), INT64_MAX);
    add(scheduler, keyed('d', ELAPSE_KEY_REPLACE), INT64_MAX);
    assert_int_equal(ends_of('c'), 1);
    assert_true(pthread_equal(end_thread_of('c'), pthread_self()));
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    assert_int_equal(ends_of('d'), 1);
    assert_true(pthread_equal(end_thread_of('d'), pthread_self()));
    scheduler_end(scheduler);
    assert_int_equal(ends(), 4);
}

struct held {
    struct gate gate;
    atomic_uint ended;
    pthread_t began_on;
    pthread_t ended_on;
};

static void hold_here(void *context, const struct elapse_run *run)
{
    struct held *held = context;

    held->began_on = pthread_self();
    hold(&held->gate, run);
}

static void end_held(void *context)
{
    struct held *held = context;

    held->ended_on = pthread_self();
    atomic_fetch_add(&held->ended, 1);
}

static bool held_has_ended(void *context)
{
    return atomic_load(&((struct held *)context)->ended) != 0;
}

TEST(a_running_task_that_is_cancelled_ends_on_its_worker)
{
    static const unsigned workers[] = {0, 1, 3};
    static struct held helds[3];

    for (size_t i = 0; i < 3; i++) {
        struct elapse_scheduler *scheduler = started_new(workers[i]);
        struct held *held = &helds[i];
        struct elapse_task task = {.action = hold_here, .context = held, .destroy = end_held};
        struct elapse_handle handle = schedule_at(scheduler, task, 0);

        wait_entered(&held->gate, 1);
        assert_ok(elapse_task_reschedule_after(scheduler, handle, 0));
        assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_RUNNING);
        assert_int_equal(elapse_task_cancel_wait(scheduler, handle, 1), ELAPSE_CANCEL_RUNNING);
        assert_int_equal(atomic_load(&held->ended), 0);
        open_gate(&held->gate);
        wait_until(held_has_ended, held);
        assert_true(pthread_equal(held->began_on, held->ended_on));
        assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_GONE);
        scheduler_end(scheduler);
        assert_int_equal(atomic_load(&held->gate.left), 1);
        assert_int_equal(atomic_load(&held->ended), 1);
    }
}

/* ---- calls from inside actions and destructors ---- */

/* What the functions of the header answered to a caller that called them all. */
struct answers {
    struct elapse_scheduler *scheduler;
    atomic_size_t times;       /* how often all were called */
    struct elapse_handle self; /* the running task, in an action */
    bool in_action;
    enum elapse_error scheduled[4];
    enum elapse_error rescheduled[2];
    enum elapse_cancel cancelled[3];
    bool found;
    enum elapse_task_state looked_up;
    uint64_t pending;
    uint64_t next_ns;
    enum elapse_error forbidden[3];
    enum elapse_cancel waited_for_self;
};

/* Calls every function. Leaves as many tasks pending as before. */
static void call_everything(struct answers *answers)
{
    struct elapse_scheduler *scheduler = answers->scheduler;
    struct elapse_task plain = letter('x');
    struct elapse_task with_key = task_with_key('y', "inner", ELAPSE_KEY_REPLACE);
    struct elapse_batch_task batch[2] = {{.task = plain, .deadline_ns = INT64_MAX},
                                         {.task = with_key, .deadline_ns = INT64_MAX}};
    struct elapse_handle handles[2] = {{0, 0, 0}, {0, 0, 0}};
    struct elapse_handle found;

    answers->scheduled[0] =
        elapse_task_schedule_after(scheduler, &plain, 3600 * ELAPSE_SECOND_NS, &handles[0]);
    answers->scheduled[1] =
        elapse_task_schedule_at(scheduler, &with_key, ELAPSE_NEVER, &handles[1]);
    answers->scheduled[2] = elapse_task_schedule_batch(scheduler, batch, 2);
    answers->scheduled[3] = batch[1].error;
    answers->rescheduled[0] = elapse_task_reschedule_after(scheduler, handles[0], ELAPSE_SECOND_NS);
    answers->rescheduled[1] = elapse_task_reschedule_at(scheduler, handles[0], ELAPSE_NEVER);
    answers->found = elapse_task_find(scheduler, "inner", 5, &found);
    answers->looked_up = elapse_task_look_up(scheduler, batch[0].handle, NULL);
    struct elapse_statistics statistics = statistics_of(scheduler);
    answers->pending = statistics.pending;
    answers->next_ns = elapse_scheduler_next_ns(scheduler);
    (void)elapse_scheduler_trim(scheduler);
    (void)elapse_scheduler_now_ns(scheduler);
    answers->cancelled[0] = elapse_task_cancel(scheduler, handles[0]);
    answers->cancelled[1] = elapse_task_cancel_wait(scheduler, batch[0].handle, ELAPSE_NEVER);
    (void)elapse_task_cancel_batch(scheduler, &batch[1].handle, 1, &answers->cancelled[2]);
    answers->forbidden[0] = elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL);
    answers->forbidden[1] = elapse_scheduler_free(scheduler);
    answers->forbidden[2] = elapse_scheduler_step(scheduler, ELAPSE_NEVER, NULL);
    if (answers->in_action)
        answers->waited_for_self = elapse_task_cancel_wait(scheduler, answers->self, ELAPSE_NEVER);
    atomic_fetch_add(&answers->times, 1);
}

static void act_everything(void *context, const struct elapse_run *run)
{
    struct answers *answers = context;

    answers->self = run->handle;
    answers->in_action = true;
    call_everything(answers);
}

static void destroy_everything(void *context)
{
    call_everything(context);
}

static void nothing(void *context, const struct elapse_run *run)
{
    (void)context;
    (void)run;
}

static void expect_answers(const struct answers *answers, size_t times)
{
    assert_int_equal(atomic_load(&answers->times), times);
    for (size_t i = 0; i < 4; i++)
        assert_ok(answers->scheduled[i]);
    for (size_t i = 0; i < 2; i++)
        assert_ok(answers->rescheduled[i]);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(answers->cancelled[i], ELAPSE_CANCEL_REMOVED);
        assert_int_equal(answers->forbidden[i], ELAPSE_ERROR_IN_ACTION);
    }
    assert_true(answers->found);
    assert_int_equal(answers->looked_up, ELAPSE_TASK_PENDING);
    if (answers->in_action)
        assert_int_equal(answers->waited_for_self, ELAPSE_CANCEL_SELF);
}

TEST(an_action_may_call_every_function)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct answers answers = {.scheduler = scheduler};

    add(scheduler,
        (struct elapse_task){
            .action = act_everything, .context = &answers, .key = "outer", .key_bytes = 5},
        5);
    assert_int_equal(step(scheduler, TICK_NS), 1);
    expect_answers(&answers, 1);
    assert_int_equal(answers.pending, 3);
    assert_int_equal(pending_tasks(scheduler), 0);
    scheduler_end(scheduler);
}

TEST(a_destructor_may_call_every_function_however_the_task_ended)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct answers answers = {.scheduler = scheduler};
    struct elapse_task task = {
        .action = nothing, .context = &answers, .destroy = destroy_everything};
    struct elapse_task other = {.action = nothing, .key = "outer", .key_bytes = 5};
    struct elapse_handle handle = schedule_at(scheduler, task, 5);

    assert_int_equal(step(scheduler, TICK_NS), 1);
    expect_answers(&answers, 1);
    handle = schedule_at(scheduler, task, 5);
    assert_int_equal(elapse_task_cancel(scheduler, handle), ELAPSE_CANCEL_REMOVED);
    expect_answers(&answers, 2);
    handle = schedule_at(scheduler, task, 5);
    assert_int_equal(elapse_task_cancel_batch(scheduler, &handle, 1, NULL), 1);
    expect_answers(&answers, 3);
    task.key = "outer";
    task.key_bytes = 5;
    add(scheduler, task, 5);
    add(scheduler, other, 5);
    expect_answers(&answers, 4);
    task.if_key_pending = ELAPSE_KEY_KEEP;
    add(scheduler, task, 5);
    expect_answers(&answers, 5);
    scheduler_end(scheduler);
}

TEST(a_destructor_may_call_every_function_of_a_closing_scheduler)
{
    struct elapse_scheduler *scheduler = manual_new(TICK_NS, 1);
    struct answers answers = {.scheduler = scheduler};

    add(scheduler,
        (struct elapse_task){.action = nothing, .context = &answers, .destroy = destroy_everything},
        5);
    assert_ok(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_DROP, NULL, NULL));
    assert_int_equal(atomic_load(&answers.times), 1);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(answers.scheduled[i], ELAPSE_ERROR_CLOSED);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(answers.rescheduled[i], ELAPSE_ERROR_CLOSED);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(answers.cancelled[i], ELAPSE_CANCEL_GONE);
    assert_int_equal(answers.forbidden[0], ELAPSE_ERROR_IN_ACTION);
    assert_int_equal(answers.forbidden[1], ELAPSE_ERROR_IN_ACTION);
    assert_int_not_equal(answers.forbidden[2], ELAPSE_OK);
    assert_false(answers.found);
    assert_int_equal(ends(), 0);
    scheduler_end(scheduler);
}

/* The context of an action of one scheduler, inside which an action of another scheduler runs, and
 * a destructor of a task of the first scheduler. */
struct nesting {
    struct elapse_scheduler *inner;
    struct elapse_scheduler *outer;
    struct elapse_handle self;
    struct elapse_handle victim;
    enum elapse_cancel waited[3];
    enum elapse_error closed[3];
};

static void try_outer(struct nesting *nesting, size_t place)
{
    nesting->waited[place] = elapse_task_cancel_wait(nesting->outer, nesting->self, ELAPSE_NEVER);
    nesting->closed[place] = elapse_scheduler_close(nesting->outer, ELAPSE_CLOSE_DROP, NULL, NULL);
}

static void act_inner(void *context, const struct elapse_run *run)
{
    (void)run;
    try_outer(context, 0);
}

static void destroy_victim(void *context)
{
    try_outer(context, 1);
}

static void act_outer(void *context, const struct elapse_run *run)
{
    struct nesting *nesting = context;

    nesting->self = run->handle;
    (void)elapse_scheduler_step(nesting->inner, ELAPSE_SECOND_NS, NULL);
    (void)elapse_task_cancel(nesting->outer, nesting->victim);
    (void)elapse_scheduler_free(nesting->inner);
    try_outer(nesting, 2);
}

TEST(an_action_is_known_as_such_through_what_it_calls)
{
    struct elapse_scheduler *outer = manual_new(TICK_NS, 1);
    struct nesting nesting = {.inner = manual_new(TICK_NS, 1), .outer = outer};
    struct elapse_task victim = {.action = nothing, .context = &nesting, .destroy = destroy_victim};

    add(nesting.inner, (struct elapse_task){.action = act_inner, .context = &nesting}, 0);
    nesting.victim = schedule_at(outer, victim, ELAPSE_NEVER);
    add(outer, (struct elapse_task){.action = act_outer, .context = &nesting}, 0);
    assert_int_equal(step(outer, TICK_NS), 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(nesting.waited[i], ELAPSE_CANCEL_SELF);
        assert_int_equal(nesting.closed[i], ELAPSE_ERROR_IN_ACTION);
    }
    scheduler_end(outer);
}

static bool called_twice(void *answers)
{
    return atomic_load(&((struct answers *)answers)->times) == 2;
}

TEST(every_function_may_be_called_on_the_schedulers_own_threads)
{
    static const unsigned workers[] = {0, 1, 4};
    static struct answers answers[3];

    for (size_t i = 0; i < 3; i++) {
        struct elapse_scheduler *scheduler = started_new(workers[i]);

        answers[i].scheduler = scheduler;
        add(scheduler,
            (struct elapse_task){.action = act_everything,
                                 .context = &answers[i],
                                 .destroy = destroy_everything,
                                 .key = "outer",
                                 .key_bytes = 5},
            0);
        wait_until(called_twice, &answers[i]);
        scheduler_end(scheduler);
        /* The second answers are those of the destructor, which is called last. */
        assert_ok(answers[i].scheduled[1]);
        assert_int_equal(answers[i].cancelled[1], ELAPSE_CANCEL_REMOVED);
        assert_int_equal(answers[i].forbidden[0], ELAPSE_ERROR_IN_ACTION);
        assert_int_equal(answers[i].forbidden[1], ELAPSE_ERROR_IN_ACTION);
    }
}

TEST_MAIN("destructor")
