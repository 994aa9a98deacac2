#include "scenario.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    PLAIN = 1100, /* more than a block of the task table holds */
    WITH_DESTRUCTOR = 40,
    WITH_KEY = 150, /* more than the key index has buckets at first */
    HOT_KEYS = 5,   /* keys that more than one task has */
    BATCH = 140,    /* more tasks than are scheduled while a lock is held once */
    NO_KEY = -1,
};

/* ---- what the machine says ---- */

static unsigned count_entries(const char *path)
{
    DIR *directory = opendir(path);
    unsigned count = 0;
    MUST(directory != NULL);
    while (readdir(directory) != NULL)
        count++;
    MUST(closedir(directory) == 0);
    return count;
}

static void nap(long time_ns)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = time_ns}, NULL);
}

/* Waits until the process has no further thread: a thread may be listed a moment longer than it
 * runs. The alarm ends the waiting. */
static void expect_no_thread(const struct play *play)
{
    while (count_entries("/proc/self/task") != play->threads_before)
        nap(100000);
}

/* ---- tasks ---- */

static void run_thing(void *context, const struct elapse_run *run)
{
    struct thing *thing = context;
    MUST(run->actual_ns >= run->intended_ns);
    MUST(atomic_load(&thing->destroyed) == 0);
    MUST(!thing->far);
    unsigned runs = atomic_fetch_add(&thing->runs, 1);
    MUST(runs == 0);
    /* Some actions take long, so that one worker is not enough. */
    if (run->handle.index % 64 == 0 && elapse_scheduler_next_ns(run->scheduler) > 0)
        nap(50000);
}

static void destroy_thing(void *context)
{
    struct thing *thing = context;
    unsigned destroyed = atomic_fetch_add(&thing->destroyed, 1);
    MUST(thing->has_destructor);
    MUST(destroyed == 0);
}

static void take_back(const struct elapse_handed_back *described, void *context)
{
    const struct elapse_task *task = &described->task;
    uint64_t deadline_ns = described->deadline_ns;
    struct thing *thing = task->context;
    MUST(context == NULL);
    MUST(deadline_ns > 0);
    unsigned handed_back = atomic_fetch_add(&thing->handed_back, 1);
    MUST(handed_back == 0);
}

/* ---- scheduling ---- */

/* A key as text. */
struct key {
    char text[16];
    size_t bytes;
};

static struct key key_of(int number)
{
    struct key key;
    key.bytes = (size_t)snprintf(key.text, sizeof key.text, "key %d", number);
    return key;
}

static struct elapse_task describe(struct play *play, struct thing **thing, bool has_destructor,
                                   const struct key *key)
{
    MUST(play->used < THINGS);
    *thing = &play->things[play->used++];
    (*thing)->used = true;
    (*thing)->has_destructor = has_destructor || key != NULL;
    return (struct elapse_task){
        .action = run_thing,
        .context = *thing,
        .destroy = (*thing)->has_destructor ? destroy_thing : NULL,
        .key = key == NULL ? NULL : key->text,
        .key_bytes = key == NULL ? 0 : key->bytes,
    };
}

/* Returns whether the task was accepted. A task that ended because another one was kept counts as
 * accepted: its context was destroyed, too. */
static bool is_accepted(const struct play *play, const struct elapse_task *task,
                        enum elapse_error error)
{
    if (error == ELAPSE_ERROR_KEY_PENDING)
        MUST(task->key != NULL && task->if_key_pending == ELAPSE_KEY_FAIL);
    else if (error != ELAPSE_OK)
        MUST(error == ELAPSE_ERROR_MEMORY && play->scenario->memory && inject_has_failed());
    return error == ELAPSE_OK;
}

static uint64_t soon_ns(const struct play *play)
{
    return elapse_scheduler_now_ns(play->scheduler) +
           (1 + play->used % 10) * ELAPSE_MILLISECOND_NS / 4;
}

/* Checks that a scheduling that failed has changed nothing. With threads there is no check, because
 * they change the statistics meanwhile. */
static void expect_unchanged(struct play *play, const struct elapse_statistics *before)
{
    struct elapse_statistics after;
    elapse_scheduler_statistics(play->scheduler, &after);
    if (play->scenario->manual)
        MUST(memcmp(before, &after, sizeof after) == 0);
}

static void schedule(struct play *play, bool has_destructor, int key_number, bool far)
{
    struct thing *thing;
    struct elapse_statistics before;
    struct key key = key_of(key_number);
    struct elapse_task task =
        describe(play, &thing, has_destructor, key_number == NO_KEY ? NULL : &key);
    elapse_scheduler_statistics(play->scheduler, &before);
    task.if_key_pending = (enum elapse_key_policy)(play->used % 3);
    thing->far = far;
    enum elapse_error error = elapse_task_schedule_at(
        play->scheduler, &task, far ? ELAPSE_NEVER : soon_ns(play), &thing->handle);
    thing->accepted = is_accepted(play, &task, error);
    if (!thing->accepted)
        expect_unchanged(play, &before);
}

static void schedule_batch(struct play *play)
{
    struct elapse_batch_task batch[BATCH];
    struct key keys[BATCH];
    struct thing *things[BATCH];
    enum elapse_error first = ELAPSE_OK;
    for (int i = 0; i < BATCH; i++) {
        keys[i] = key_of(i % 50);
        batch[i] = (struct elapse_batch_task){
            .task = describe(play, &things[i], i % 2 == 0, i % 3 == 0 ? &keys[i] : NULL),
            .deadline_ns = soon_ns(play),
        };
    }
    enum elapse_error error = elapse_task_schedule_batch(play->scheduler, batch, BATCH);
    for (int i = 0; i < BATCH; i++) {
        things[i]->accepted = is_accepted(play, &batch[i].task, batch[i].error);
        if (first == ELAPSE_OK)
            first = batch[i].error;
    }
    MUST(error == first);
}

static void schedule_all(struct play *play, unsigned plain)
{
    for (unsigned i = 0; i < plain; i++)
        schedule(play, false, NO_KEY, i % 10 == 0);
    for (unsigned i = 0; i < WITH_DESTRUCTOR; i++)
        schedule(play, true, NO_KEY, i % 10 == 0);
    for (int i = 0; i < WITH_KEY; i++)
        schedule(play, true, i % 10 == 0 ? i / 10 % HOT_KEYS : i, false);
    schedule_batch(play);
}

/* ---- life ---- */

static void open_scheduler(struct play *play)
{
    struct elapse_scheduler_options options;
    elapse_scheduler_options_init(&options);
    options.clock = play->scenario->manual ? ELAPSE_CLOCK_MANUAL : ELAPSE_CLOCK_MONOTONIC;
    options.tick_ns = 100 * ELAPSE_MICROSECOND_NS;
    options.pull = play->scenario->pull;
    options.workers = 4;
    options.queue_tasks = 16;
    options.shards = 2;
    options.stack_bytes = 1 << 20;
    options.allocator = ledger_allocator();
    enum elapse_error error = elapse_scheduler_new(&options, &play->scheduler);
    if (error != ELAPSE_OK) {
        MUST(inject_has_failed());
        MUST(error == (play->scenario->memory ? ELAPSE_ERROR_MEMORY : ELAPSE_ERROR_SYSTEM));
        MUST(play->scheduler == NULL);
        MUST(ledger_blocks() == 0);
        inject_nothing();
        MUST(elapse_scheduler_new(&options, &play->scheduler) == ELAPSE_OK);
    }
    MUST(play->scheduler != NULL);
}

static void start(struct play *play)
{
    uint64_t blocks = ledger_blocks();
    if (!play->scenario->manual)
        pull_expect_nothing(play->scheduler, ELAPSE_ERROR_ARGUMENT);
    enum elapse_error error = elapse_scheduler_start(play->scheduler);
    if (error != ELAPSE_OK) {
        MUST(error == ELAPSE_ERROR_SYSTEM);
        MUST(inject_has_failed());
        expect_no_thread(play);
        MUST(count_entries("/proc/self/fd") == play->files_before);
        MUST(ledger_blocks() == blocks);
        pull_expect_nothing(play->scheduler, ELAPSE_ERROR_ARGUMENT);
        if (play->scenario->onward)
            inject_nothing();
        /* After a start that failed, tasks may be scheduled. */
        schedule(play, true, NO_KEY, false);
        MUST(elapse_scheduler_start(play->scheduler) == ELAPSE_OK);
    }
    play->failures_at_start = inject_failures();
    MUST(elapse_scheduler_start(play->scheduler) == ELAPSE_OK);
}

/* Waits until no task is left but those that never come due. */
static void let_all_run(struct play *play)
{
    struct elapse_statistics statistics;
    uint64_t far = 0;
    for (unsigned i = 0; i < play->used; i++) {
        const struct thing *thing = &play->things[i];
        far += thing->far && thing->accepted && !thing->removed;
    }
    if (play->scenario->manual) {
        uint64_t later_ns = elapse_scheduler_now_ns(play->scheduler) + ELAPSE_SECOND_NS;
        MUST(elapse_scheduler_step(play->scheduler, later_ns, NULL) == ELAPSE_OK);
    }
    if (play->scenario->pull)
        pull_take_all(play, far);
    do {
        elapse_scheduler_statistics(play->scheduler, &statistics);
        MUST(!play->scenario->manual || statistics.pending == far);
        nap(100000);
    } while (statistics.pending != far || statistics.running > 0);
    if (play->scenario->thread && inject_failures() > play->failures_at_start)
        MUST(!play->scenario->pull && statistics.refused_threads > 0);
}

/* Cancels some of the tasks that never come due. */
static void cancel_some(struct play *play)
{
    for (unsigned i = 0; i < play->used; i++) {
        struct thing *thing = &play->things[i];
        if (!thing->far || !thing->accepted || i % 3 != 0)
            continue;
        MUST(elapse_task_cancel(play->scheduler, thing->handle) == ELAPSE_CANCEL_REMOVED);
        thing->removed = true;
    }
}

static void shut(struct play *play)
{
    unsigned turn = play->scenario->turn % 4;
    if (turn < 3) {
        enum elapse_close how = (enum elapse_close)turn;
        if (play->scenario->pull && how == ELAPSE_CLOSE_RUN_DUE)
            how = ELAPSE_CLOSE_DROP;
        MUST(elapse_scheduler_close(play->scheduler, how,
                                    how == ELAPSE_CLOSE_HAND_BACK ? take_back : NULL,
                                    NULL) == ELAPSE_OK);
        expect_no_thread(play);
        if (play->scenario->pull)
            pull_expect_nothing(play->scheduler, ELAPSE_ERROR_CLOSED);
    }
    MUST(elapse_scheduler_free(play->scheduler) == ELAPSE_OK);
}

/* ---- accounts ---- */

static void account(const struct play *play, const struct thing *thing)
{
    bool hands_back = play->scenario->turn % 4 == (unsigned)ELAPSE_CLOSE_HAND_BACK;
    unsigned taken_out = thing->removed + thing->handed_back;
    if (!thing->accepted) {
        MUST(thing->runs == 0 && thing->destroyed == 0 && taken_out == 0);
        return;
    }
    MUST(thing->handed_back == 0 || thing->far);
    if (thing->has_destructor)
        MUST(thing->destroyed + thing->handed_back == 1);
    else if (thing->far)
        MUST(taken_out == 1 || (!hands_back && taken_out == 0));
    else
        MUST(thing->runs == 1);
}

void scenario_play(const struct scenario *scenario)
{
    static struct play play;
    memset(&play, 0, sizeof play);
    play.scenario = scenario;
    play.threads_before = count_entries("/proc/self/task");
    play.files_before = count_entries("/proc/self/fd");
    open_scheduler(&play);
    schedule_all(&play, 10);
    start(&play);
    schedule_all(&play, PLAIN);
    cancel_some(&play);
    let_all_run(&play);
    if (scenario->pull)
        pull_take_others(&play);
    else
        recurring_play(&play);
    (void)elapse_scheduler_trim(play.scheduler);
    schedule(&play, true, NO_KEY, false);
    let_all_run(&play);
    shut(&play);
    inject_nothing();
    for (unsigned i = 0; i < play.used; i++)
        account(&play, &play.things[i]);
    MUST(ledger_blocks() == 0);
    expect_no_thread(&play);
    MUST(count_entries("/proc/self/fd") == play.files_before);
}
