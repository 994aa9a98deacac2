/*
 * Fuzzes the scheduler on manual time, on one thread: bytes become calls of the scheduler and of a
 * plain model. An answer, a run or an end of a task that differs ends the process.
 *
 * The first byte chooses the mode: step runs due tasks, or they are taken and done in pull mode,
 * with leases or without. Then each call is a byte for its kind, one for its task, and up to two
 * for times and keys. Recurring tasks go by AFTER_EACH, whose next deadline is the easiest to
 * model.
 */
#include <elapse/scheduler.h>
#include <stdio.h>
#include <string.h>

#include "fuzz.h"

enum { TASKS = 16, KEYS = 3, TAKEN = 8, LONGEST_INPUT = 2048, REASONS = 5 };
enum { TICK_NS = 10, LEASE_NS = 45 };

struct input {
    const uint8_t *bytes;
    size_t left;
};

/* What the model knows of one task. Its context is its address. */
struct modelled {
    bool live;
    bool running;              /* taken and not done */
    bool again;                /* while running: the task is to run again */
    bool moved;                /* while running: the task is to run again at next_ns */
    bool cancelled;            /* while running: the task does not run again */
    bool replaced;             /* cancelled because another task has its key */
    int key;                   /* -1: none */
    uint64_t period_ns;        /* 0: none */
    uint64_t listed_period_ns; /* while running: the period before it was changed */
    /* While pending: the deadline. If it had passed when it was given, it is between these two. */
    uint64_t deadline_ns, latest_ns;
    /* While pending: the latest time by which the task may take its place among the due tasks. It
     * is later than the deadline if that had passed when the wheel got it: when the task was given
     * the deadline, or when the key that the task waited for became free. */
    uint64_t place_latest_ns;
    uint64_t next_ns;
    uint64_t lease_until_ns;
    uint64_t lease_order;
    uint64_t attempt;
    uint64_t number; /* of the lease */
    struct elapse_handle handle;
    unsigned runs, expected_runs;
    unsigned ends[REASONS], expected_ends[REASONS];
    unsigned handed_back, expected_handed_back;
};

struct trial {
    struct elapse_scheduler *scheduler;
    bool pull, leases;
    uint64_t now_ns;
    uint64_t takes;
    struct modelled tasks[TASKS];
    struct elapse_taken taken[TAKEN];
    unsigned taken_count;
    struct input input;
};

#define MUST(condition) must(condition, #condition, __LINE__)

static void must(bool good, const char *condition, int line)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_scheduler.c:%d: differs: %s\n", line, condition);
    abort();
}

static uint8_t next_byte(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->bytes++;
}

static uint64_t rounded_up(uint64_t time_ns)
{
    return time_ns >= ELAPSE_NEVER - TICK_NS ? ELAPSE_NEVER
                                             : (time_ns + TICK_NS - 1) / TICK_NS * TICK_NS;
}

static uint64_t take_delay(struct input *input)
{
    uint8_t byte = next_byte(input);
    return byte == 255 ? ELAPSE_NEVER : byte >= 240 ? (uint64_t)byte * 100000 : byte % 120;
}

/* ---- what the scheduler calls ---- */

static void act(void *context, const struct elapse_run *run)
{
    struct modelled *task = context;
    MUST(run->actual_ns >= run->intended_ns);
    MUST(run->intended_ns >= task->deadline_ns && run->intended_ns <= task->latest_ns);
    task->runs++;
}

static void end(void *context, enum elapse_end reason)
{
    struct modelled *task = context;
    task->ends[reason]++;
}

static void hand_back(const struct elapse_handed_back *handed_back, void *context)
{
    struct modelled *task = handed_back->task.context;
    (void)context;
    task->handed_back++;
}

/* ---- the model ---- */

static void end_in_model(struct modelled *task, enum elapse_end reason)
{
    task->live = false;
    task->running = false;
    task->expected_ends[reason]++;
}

static bool is_pending(const struct modelled *task)
{
    return task->live && (!task->running || task->again);
}

/* Returns the pending task of a key; NULL if there is none. */
static struct modelled *pending_of(struct trial *trial, int key)
{
    for (int i = 0; i < TASKS && key >= 0; i++) {
        if (trial->tasks[i].key == key && is_pending(&trial->tasks[i]))
            return &trial->tasks[i];
    }
    return NULL;
}

static struct modelled *running_of(struct trial *trial, int key)
{
    for (int i = 0; i < TASKS && key >= 0; i++) {
        if (trial->tasks[i].key == key && trial->tasks[i].live && trial->tasks[i].running)
            return &trial->tasks[i];
    }
    return NULL;
}

/* Returns the task that a call by key finds; NULL if there is none. */
static struct modelled *found_by(struct trial *trial, int key)
{
    struct modelled *pending = pending_of(trial, key);
    return pending != NULL ? pending : running_of(trial, key);
}

/* Returns the deadline with which "earlier" and "later" compare; ELAPSE_NEVER if the task does not
 * run again. */
static uint64_t next_of(const struct trial *trial, const struct modelled *task)
{
    if (!task->running)
        return task->deadline_ns;
    if (!task->again)
        return ELAPSE_NEVER;
    return task->moved ? task->next_ns : rounded_up(trial->now_ns + task->period_ns);
}

static void pend_in_model(struct modelled *task, uint64_t deadline_ns, uint64_t now_ns)
{
    task->running = false;
    task->again = false;
    task->moved = false;
    task->deadline_ns = deadline_ns;
    task->latest_ns = deadline_ns > now_ns ? deadline_ns : now_ns;
    task->place_latest_ns = task->latest_ns;
}

/* Notes that no task runs with this key any more. A task that has waited for the key may get its
 * place among the due tasks only now. */
static void free_key_in_model(struct trial *trial, int key)
{
    struct modelled *pending = pending_of(trial, key);
    if (pending != NULL && pending->place_latest_ns < trial->now_ns)
        pending->place_latest_ns = trial->now_ns;
}

/* Finishes a task in the model, because its action has returned. */
static void finish_in_model(struct trial *trial, struct modelled *task)
{
    if (task->again) {
        pend_in_model(task, next_of(trial, task), trial->now_ns);
        return;
    }
    if (task->cancelled)
        end_in_model(task, task->replaced ? ELAPSE_END_REPLACED : ELAPSE_END_CANCELLED);
    else
        end_in_model(task, ELAPSE_END_RAN);
    free_key_in_model(trial, task->key);
}

static void begin_in_model(struct modelled *task)
{
    task->running = true;
    task->listed_period_ns = task->period_ns;
    task->again = task->period_ns > 0;
    task->moved = false;
    task->cancelled = false;
    task->replaced = false;
    task->attempt = 1;
}

static bool may_begin(struct trial *trial, const struct modelled *task)
{
    return task->live && !task->running && task->deadline_ns <= trial->now_ns &&
           running_of(trial, task->key) == NULL;
}

static bool lease_is_held(const struct trial *trial, const struct modelled *task)
{
    return task->live && task->running && (!trial->leases || trial->now_ns < task->lease_until_ns);
}

/* ---- the calls ---- */

static void check_ends(const struct trial *trial)
{
    for (int i = 0; i < TASKS; i++) {
        const struct modelled *task = &trial->tasks[i];
        MUST(memcmp(task->ends, task->expected_ends, sizeof task->ends) == 0);
        MUST(task->runs == task->expected_runs);
        MUST(task->handed_back == task->expected_handed_back);
    }
}

static void schedule(struct trial *trial, struct modelled *task)
{
    struct input *input = &trial->input;
    if (task->live)
        return; /* this place of the model has a task */
    uint8_t kind = next_byte(input);
    bool at_once = (kind & 0x80) != 0;
    uint64_t delay_ns = at_once ? 0 : take_delay(input);
    int key = kind % (KEYS + 1) - 1;
    unsigned char name = (unsigned char)(key + 1);
    struct elapse_task described = {.action = act, .context = task, .ended = end};
    task->key = key;
    task->period_ns = (kind & 0x40) != 0 ? 1 + (kind & 0x3f) : 0;
    if (task->period_ns > 0) {
        described.recurrence = ELAPSE_RECUR_AFTER_EACH;
        described.period_ns = task->period_ns;
    }
    if (key >= 0) {
        described.key = &name;
        described.key_bytes = 1;
        described.if_key_pending = (enum elapse_key_policy)(kind / 4 % 3);
    }
    struct modelled *pending = pending_of(trial, key);
    struct elapse_handle handle = {0};
    enum elapse_error error =
        at_once ? elapse_task_schedule_now(trial->scheduler, &described, &handle)
                : elapse_task_schedule_after(trial->scheduler, &described, delay_ns, &handle);
    if (pending != NULL && described.if_key_pending != ELAPSE_KEY_REPLACE) {
        bool keeps = described.if_key_pending == ELAPSE_KEY_KEEP;
        MUST(error == (keeps ? ELAPSE_OK : ELAPSE_ERROR_KEY_PENDING));
        MUST(memcmp(&handle, &pending->handle, sizeof handle) == 0);
        task->expected_ends[ELAPSE_END_KEPT_OUT] += keeps;
        return;
    }
    MUST(error == ELAPSE_OK);
    if (pending != NULL && pending->running) {
        pending->again = false;
        pending->cancelled = true;
        pending->replaced = true;
    } else if (pending != NULL) {
        end_in_model(pending, ELAPSE_END_REPLACED);
    }
    task->live = true;
    task->cancelled = false;
    task->handle = handle;
    pend_in_model(task,
                  at_once ? trial->now_ns / TICK_NS * TICK_NS
                          : rounded_up(elapse_deadline_after(trial->now_ns, delay_ns)),
                  trial->now_ns);
}

static void cancel(struct trial *trial, struct modelled *task)
{
    unsigned char name = (unsigned char)(task->key + 1);
    enum elapse_cancel answer;
    if (task->key >= 0 && (next_byte(&trial->input) & 1) != 0) {
        answer = elapse_task_cancel_key(trial->scheduler, &name, 1);
        task = found_by(trial, task->key);
    } else {
        answer = elapse_task_cancel(trial->scheduler, task->handle);
    }
    if (task == NULL || !task->live) {
        MUST(answer == ELAPSE_CANCEL_GONE);
    } else if (task->running) {
        MUST(answer == ELAPSE_CANCEL_RUNNING);
        task->again = false;
        task->cancelled = true;
    } else {
        MUST(answer == ELAPSE_CANCEL_REMOVED);
        end_in_model(task, ELAPSE_END_CANCELLED);
    }
}

static bool may_be_moved(struct trial *trial, const struct modelled *task)
{
    if (task == NULL || !task->live)
        return false;
    const struct modelled *pending = pending_of(trial, task->key);
    return !task->running || (!task->cancelled && (pending == NULL || pending == task));
}

static void move_in_model(const struct trial *trial, struct modelled *task, uint64_t deadline_ns)
{
    if (!task->running) {
        pend_in_model(task, deadline_ns, trial->now_ns);
        return;
    }
    task->again = true;
    task->moved = true;
    task->next_ns = deadline_ns;
}

static void reschedule(struct trial *trial, struct modelled *task)
{
    struct elapse_scheduler *scheduler = trial->scheduler;
    uint8_t form = next_byte(&trial->input) % 5;
    uint64_t delay_ns = take_delay(&trial->input);
    unsigned char name = (unsigned char)(task->key + 1);
    uint64_t deadline_ns = rounded_up(elapse_deadline_after(trial->now_ns, delay_ns));
    enum elapse_error error;
    bool moved = true;
    bool wanted = true;
    if (form == 1 && task->key >= 0) {
        error = elapse_task_reschedule_key_after(scheduler, &name, 1, delay_ns);
        task = found_by(trial, task->key);
    } else if (form == 2) {
        error = elapse_task_reschedule_earlier_after(scheduler, task->handle, delay_ns, &moved);
        wanted = task->live && deadline_ns < next_of(trial, task);
    } else if (form == 3) {
        error = elapse_task_reschedule_later_after(scheduler, task->handle, delay_ns, &moved);
        wanted = task->live && deadline_ns > next_of(trial, task);
        /* The model does not know exactly when the task is due. */
        if (task->live && !task->running && task->latest_ns != task->deadline_ns)
            wanted = moved;
    } else if (form == 4) {
        deadline_ns = trial->now_ns / TICK_NS * TICK_NS;
        error = elapse_task_run_now(scheduler, task->handle);
        wanted = task->live && deadline_ns < next_of(trial, task);
        moved = wanted;
    } else {
        error = elapse_task_reschedule_after(scheduler, task->handle, delay_ns);
    }
    if (!may_be_moved(trial, task)) {
        MUST(error == ELAPSE_ERROR_GONE);
        return;
    }
    MUST(error == ELAPSE_OK);
    MUST(moved == wanted);
    if (moved)
        move_in_model(trial, task, deadline_ns);
}

static void change_period(struct trial *trial, struct modelled *task)
{
    uint64_t period_ns = 1 + next_byte(&trial->input);
    enum elapse_error error = elapse_task_change_period(trial->scheduler, task->handle, period_ns);
    if (!task->live) {
        MUST(error == ELAPSE_ERROR_GONE);
    } else if (task->period_ns == 0) {
        MUST(error == ELAPSE_ERROR_ARGUMENT);
    } else if (task->running && task->cancelled) {
        MUST(error == ELAPSE_ERROR_GONE);
    } else {
        MUST(error == ELAPSE_OK);
        task->period_ns = period_ns;
        task->moved = false;
        if (!task->running)
            pend_in_model(task, rounded_up(trial->now_ns + period_ns), trial->now_ns);
    }
}

static void look_up(struct trial *trial, const struct modelled *task)
{
    struct elapse_found found;
    enum elapse_task_state state = elapse_task_look_up(trial->scheduler, task->handle, &found);
    enum elapse_error waited = elapse_task_wait(trial->scheduler, task->handle, 0);
    MUST(waited == (task->live ? ELAPSE_ERROR_TIMEOUT : ELAPSE_OK));
    if (!task->live) {
        MUST(state == ELAPSE_TASK_GONE);
        return;
    }
    MUST(state == (task->running ? ELAPSE_TASK_RUNNING : ELAPSE_TASK_PENDING));
    MUST(found.cancelled == (task->running && task->cancelled));
    if (!task->running)
        MUST(found.deadline_ns >= task->deadline_ns && found.deadline_ns <= task->latest_ns);
}

/* Lets time go on. If step runs the tasks, each due task runs once. */
static void go_on(struct trial *trial)
{
    uint64_t delay_ns = take_delay(&trial->input);
    size_t ran;
    trial->now_ns = trial->now_ns + (delay_ns == ELAPSE_NEVER ? 1 : delay_ns);
    size_t expected = 0;
    for (int i = 0; i < TASKS && !trial->pull; i++) {
        struct modelled *task = &trial->tasks[i];
        expected += may_begin(trial, task);
        task->expected_runs += may_begin(trial, task);
    }
    MUST(elapse_scheduler_step(trial->scheduler, trial->now_ns, &ran) == ELAPSE_OK);
    MUST(ran == expected);
    for (int i = 0; i < TASKS && !trial->pull; i++) {
        struct modelled *task = &trial->tasks[i];
        if (!may_begin(trial, task))
            continue;
        begin_in_model(task);
        finish_in_model(trial, task);
    }
}

/* Returns the task whose lease has expired first; NULL if there is none. */
static struct modelled *first_expired(struct trial *trial)
{
    struct modelled *first = NULL;
    for (int i = 0; i < TASKS && trial->leases; i++) {
        struct modelled *task = &trial->tasks[i];
        if (task->live && task->running && !lease_is_held(trial, task) &&
            (first == NULL || task->lease_order < first->lease_order))
            first = task;
    }
    return first;
}

static bool anything_may_begin(struct trial *trial)
{
    for (int i = 0; i < TASKS; i++) {
        if (may_begin(trial, &trial->tasks[i]))
            return true;
    }
    return false;
}

/* Returns whether a pending task must be taken before a task whose place is at this time. */
static bool anything_precedes(struct trial *trial, uint64_t time_ns)
{
    for (int i = 0; i < TASKS; i++) {
        const struct modelled *task = &trial->tasks[i];
        if (may_begin(trial, task) && task->place_latest_ns < time_ns)
            return true;
    }
    return false;
}

/* Returns whether a cancelled task whose lease has expired had its turn before the task that was
 * taken (NULL: no task was due). At one tick the cancelled task comes first. */
static bool had_its_turn(struct trial *trial, const struct modelled *expired,
                         const struct modelled *taken)
{
    if (taken == NULL || !may_begin(trial, taken) || taken->deadline_ns >= expired->lease_until_ns)
        return true;
    if (taken->place_latest_ns < expired->lease_until_ns)
        return false;
    /* The model does not know the place of the taken task exactly. */
    return memcmp(expired->ends, expired->expected_ends, sizeof expired->ends) != 0;
}

/* Ends the cancelled tasks whose leases have expired, as far as their turn came before the task
 * that was taken. Returns the first of the other tasks whose leases have expired. */
static struct modelled *end_expired_in_model(struct trial *trial, const struct modelled *taken)
{
    struct modelled *expired = first_expired(trial);
    while (expired != NULL && expired->cancelled && had_its_turn(trial, expired, taken)) {
        MUST(!anything_precedes(trial, expired->lease_until_ns));
        finish_in_model(trial, expired);
        expired = first_expired(trial);
    }
    return expired;
}

/* Takes a task. The order is promise 23 of docs/promises.md: by deadline tick, and a task whose
 * lease has expired is due since the tick at which the lease ended, before the others of that tick.
 */
static void take(struct trial *trial)
{
    struct elapse_taken taken;
    enum elapse_error error = elapse_task_take(trial->scheduler, 0, &taken);
    struct modelled *task = error == ELAPSE_OK ? taken.context : NULL;
    const struct modelled *expired = end_expired_in_model(trial, task);
    if (task == NULL) {
        MUST(error == ELAPSE_ERROR_NOTHING_DUE);
        MUST(expired == NULL && !anything_may_begin(trial));
        return;
    }
    if (task == expired) {
        MUST(!anything_precedes(trial, task->lease_until_ns));
        task->attempt++;
    } else {
        MUST(may_begin(trial, task));
        MUST(expired == NULL || task->deadline_ns < expired->lease_until_ns);
        MUST(!anything_precedes(trial, task->deadline_ns));
        MUST(taken.run.intended_ns >= task->deadline_ns &&
             taken.run.intended_ns <= task->latest_ns);
        begin_in_model(task);
    }
    MUST(taken.run.attempt == task->attempt);
    task->number = taken.lease_number;
    task->lease_order = trial->takes++;
    if (trial->leases) {
        task->lease_until_ns = rounded_up(trial->now_ns + LEASE_NS);
        MUST(taken.lease_until_ns == task->lease_until_ns);
    }
    trial->taken[trial->taken_count++ % TAKEN] = taken;
}

/* Returns one of the tasks that were taken lately, whether it is still held or not. */
static struct elapse_taken *draw_taken(struct trial *trial)
{
    unsigned known = trial->taken_count < TAKEN ? trial->taken_count : TAKEN;
    return known == 0 ? NULL : &trial->taken[next_byte(&trial->input) % known];
}

static bool holds(const struct trial *trial, const struct elapse_taken *taken)
{
    const struct modelled *task = taken->context;
    return lease_is_held(trial, task) &&
           memcmp(&taken->run.handle, &task->handle, sizeof task->handle) == 0 &&
           (!trial->leases || taken->lease_number == task->number);
}

static void finish_taken(struct trial *trial)
{
    struct elapse_taken *taken = draw_taken(trial);
    if (taken == NULL)
        return;
    bool held = holds(trial, taken);
    MUST(elapse_task_done_taken(trial->scheduler, taken) == (held ? ELAPSE_OK : ELAPSE_ERROR_GONE));
    if (held)
        finish_in_model(trial, taken->context);
}

static void extend(struct trial *trial)
{
    struct elapse_taken *taken = draw_taken(trial);
    if (taken == NULL)
        return;
    struct modelled *task = taken->context;
    bool held = holds(trial, taken);
    enum elapse_error error = elapse_task_extend_lease(trial->scheduler, taken);
    MUST(error == (!trial->leases ? ELAPSE_ERROR_ARGUMENT : held ? ELAPSE_OK : ELAPSE_ERROR_GONE));
    if (error != ELAPSE_OK)
        return;
    task->lease_until_ns = rounded_up(trial->now_ns + LEASE_NS);
    task->lease_order = trial->takes++;
}

static void list(struct trial *trial)
{
    struct elapse_list_cursor cursor = {0};
    struct elapse_listed listed[3];
    unsigned live = 0;
    unsigned pending = 0;
    unsigned running = 0;
    unsigned found = 0;
    size_t count;
    struct elapse_statistics statistics;
    for (int i = 0; i < TASKS; i++) {
        live += trial->tasks[i].live;
        pending += is_pending(&trial->tasks[i]);
        running += trial->tasks[i].live && trial->tasks[i].running;
    }
    while ((count = elapse_task_list(trial->scheduler, &cursor, listed, 3)) > 0) {
        for (size_t i = 0; i < count; i++) {
            const struct modelled *task = listed[i].context;
            MUST(task->live &&
                 listed[i].period_ns == (task->running ? task->listed_period_ns : task->period_ns));
            MUST((listed[i].state == ELAPSE_TASK_RUNNING) == task->running);
            MUST(listed[i].runs_again == (task->running && task->again));
            MUST(listed[i].key_bytes == (task->key >= 0));
        }
        found += (unsigned)count;
    }
    MUST(found == live);
    elapse_scheduler_statistics(trial->scheduler, &statistics);
    MUST(statistics.pending == pending && statistics.running == running);
    (void)elapse_scheduler_trim(trial->scheduler);
}

static void one_call(struct trial *trial)
{
    uint8_t what = next_byte(&trial->input);
    struct modelled *task = &trial->tasks[what % TASKS];
    switch (what / TASKS) {
    case 0:
    case 1:
    case 2:
        schedule(trial, task);
        break;
    case 3:
        cancel(trial, task);
        break;
    case 4:
    case 5:
        reschedule(trial, task);
        break;
    case 6:
        change_period(trial, task);
        break;
    case 7:
        look_up(trial, task);
        break;
    case 8:
        list(trial);
        break;
    case 9:
    case 10:
        if (trial->pull)
            finish_taken(trial);
        break;
    case 11:
        if (trial->pull)
            extend(trial);
        break;
    case 12:
    case 13:
        if (trial->pull)
            take(trial);
        break;
    default:
        go_on(trial);
        break;
    }
    check_ends(trial);
}

/* Closes the scheduler. Closing waits for tasks that are held, until they are done or their leases
 * expire. */
static void close_all(struct trial *trial)
{
    bool hands_back = (next_byte(&trial->input) & 1) != 0;
    enum elapse_close how = hands_back ? ELAPSE_CLOSE_HAND_BACK : ELAPSE_CLOSE_DROP;
    bool held = false;
    for (int i = 0; i < TASKS; i++)
        held = held || lease_is_held(trial, &trial->tasks[i]);
    MUST(elapse_scheduler_close_within(trial->scheduler, how, hand_back, NULL, 0) ==
         (held ? ELAPSE_ERROR_TIMEOUT : ELAPSE_OK));
    for (int i = 0; i < TASKS && held; i++) {
        struct modelled *task = &trial->tasks[i];
        struct elapse_taken taken = {.run.handle = task->handle, .lease_number = task->number};
        if (!lease_is_held(trial, task))
            continue;
        MUST(elapse_task_done_taken(trial->scheduler, &taken) == ELAPSE_OK);
        finish_in_model(trial, task);
    }
    if (held)
        MUST(elapse_scheduler_close(trial->scheduler, how, hand_back, NULL) == ELAPSE_OK);
    for (int i = 0; i < TASKS; i++) {
        struct modelled *task = &trial->tasks[i];
        if (!task->live)
            continue;
        if (task->running && task->cancelled)
            finish_in_model(trial, task);
        else if (hands_back)
            task->expected_handed_back++;
        else
            end_in_model(task, ELAPSE_END_CLOSED);
        task->live = false;
    }
    check_ends(trial);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static struct trial trial;
    struct elapse_scheduler_options options;
    trial = (struct trial){
        .input = {bytes, count < LONGEST_INPUT ? count : LONGEST_INPUT},
    };
    uint8_t mode = next_byte(&trial.input);
    trial.pull = mode % 4 != 0;
    trial.leases = mode % 4 > 1;
    for (int i = 0; i < TASKS; i++)
        trial.tasks[i].key = -1;
    elapse_scheduler_options_init(&options);
    options.clock = ELAPSE_CLOCK_MANUAL;
    options.tick_ns = TICK_NS;
    options.pull = trial.pull;
    options.lease_ns = trial.leases ? LEASE_NS : 0;
    MUST(elapse_scheduler_new(&options, &trial.scheduler) == ELAPSE_OK);
    MUST(elapse_scheduler_start(trial.scheduler) == ELAPSE_OK);
    while (trial.input.left > 0)
        one_call(&trial);
    close_all(&trial);
    MUST(elapse_scheduler_free(trial.scheduler) == ELAPSE_OK);
    return 0;
}
