#include "fake_os.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum { ALARMS_MAX = 64, CLOCKS = 4, FIRST_DESCRIPTOR = 1 << 20 };

/* An alarm, which works like a timerfd: it becomes readable once, and stays readable until it is
 * reset or set again. */
struct fake_alarm {
    bool open;
    bool cancel_on_set; /* the alarm was set before, and goes by the wall clock */
    bool gone_off;
    enum elapse__os_clock clock;
    uint64_t when_ns;    /* ELAPSE__OS_NEVER: the alarm does not go off */
    uint64_t clock_sets; /* `clock_sets` of the life when the alarm was looked at last */
};

/* A thread in alarms_wait, in a list on the stacks of these threads. */
struct waiter {
    const struct elapse__os_alarm *alarms;
    size_t count;
    uint64_t until_ns;
    struct waiter *next;
};

/* A thread that waits for a condition with a time limit, in a list on the stacks of these threads.
 */
struct timed_wait {
    struct elapse__condition *condition;
    struct elapse__lock *lock;
    uint64_t until_ns;
    bool told; /* the thread was woken because its time has come */
    struct timed_wait *next;
};

/* One life of the fake system, from one fake_os_begin to the next. A thread that a failed test has
 * left behind stays in the life in which it began. */
struct life {
    uint64_t now_ns[CLOCKS];
    uint64_t readings[CLOCKS];
    uint64_t clock_sets;
    struct fake_alarm alarms[ALARMS_MAX];
    struct waiter *waiters;
    struct timed_wait *timed_waits;
    uint64_t ended_timed_waits;
    uint64_t refused[FAKE_OS_CALLS];
    uint64_t counts[FAKE_OS_CALLS];
    unsigned running_threads;
};

/* What a thread of this life runs. */
struct start {
    struct life *life;
    void *(*main)(void *argument);
    void *argument;
};

struct hook {
    void (*call)(void *context);
    void *context;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed =
    PTHREAD_COND_INITIALIZER; /* a clock, an alarm, or the list of waiters has changed */
static struct life *current;
static _Thread_local struct life *own_life; /* the life of a thread that thread_start made */
static _Thread_local struct hook hooks[CLOCKS];

static struct life *enter(void)
{
    (void)pthread_mutex_lock(&lock);
    return own_life != NULL ? own_life : current;
}

static void leave(bool something_changed)
{
    if (something_changed)
        (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

/* Counts a call. Returns whether it is refused. */
static bool count_call(struct life *life, enum fake_os_call call)
{
    life->counts[call]++;
    if (life->refused[call] == 0)
        return false;
    if (life->refused[call] != FAKE_OS_ALL)
        life->refused[call]--;
    return true;
}

/* ---- alarms ---- */

static struct fake_alarm *alarm_of(struct life *life, const struct elapse__os_alarm *alarm)
{
    int index = alarm->descriptor - FIRST_DESCRIPTOR;
    if (index < 0 || index >= ALARMS_MAX || !life->alarms[index].open)
        abort(); /* the library uses an alarm that is not open */
    return &life->alarms[index];
}

static bool clock_was_set(const struct life *life, const struct fake_alarm *alarm)
{
    return alarm->clock == ELAPSE__OS_WALL_CLOCK && alarm->clock_sets != life->clock_sets;
}

static void release_waiters(struct life *life)
{
    for (int i = 0; i < ALARMS_MAX; i++) {
        struct fake_alarm *alarm = &life->alarms[i];
        if (alarm->open && alarm->when_ns != ELAPSE__OS_NEVER &&
            alarm->when_ns <= life->now_ns[alarm->clock]) {
            alarm->gone_off = true;
            alarm->when_ns = ELAPSE__OS_NEVER;
        }
    }
}

/* Returns whether the wait is over. */
static bool is_over(struct life *life, const struct waiter *waiter)
{
    for (size_t i = 0; i < waiter->count; i++) {
        const struct fake_alarm *alarm = alarm_of(life, &waiter->alarms[i]);
        if (alarm->gone_off || (alarm->cancel_on_set && clock_was_set(life, alarm)))
            return true;
    }
    return waiter->until_ns <= life->now_ns[ELAPSE__OS_MONOTONIC];
}

static int alarm_open(struct elapse__os_alarm *made, enum elapse__os_clock clock)
{
    struct life *life = enter();
    int index = 0;
    while (index < ALARMS_MAX && life->alarms[index].open)
        index++;
    bool refused = count_call(life, FAKE_OS_ALARM_OPEN) || index == ALARMS_MAX;
    if (!refused) {
        life->alarms[index] = (struct fake_alarm){
            .open = true,
            .clock = clock,
            .when_ns = ELAPSE__OS_NEVER,
            .clock_sets = life->clock_sets,
        };
        *made = (struct elapse__os_alarm){.descriptor = FIRST_DESCRIPTOR + index, .clock = clock};
    }
    leave(false);
    return refused ? EMFILE : 0;
}

static void alarm_close(struct elapse__os_alarm *alarm)
{
    struct life *life = enter();
    alarm_of(life, alarm)->open = false;
    alarm->descriptor = ELAPSE__OS_NO_DESCRIPTOR;
    leave(false);
}

/* Sets an alarm. If the wall clock was set since the last look at the alarm, Linux sets the alarm
 * too, but answers ECANCELED. */
static int alarm_set(const struct elapse__os_alarm *set, uint64_t when_ns)
{
    struct life *life = enter();
    struct fake_alarm *alarm = alarm_of(life, set);
    int error = 0;
    /* To set an alarm without a clock is another call of the system, which is never refused. */
    if (set->clock != ELAPSE__OS_NO_CLOCK && count_call(life, FAKE_OS_ALARM_SET)) {
        error = EPERM;
    } else {
        alarm->cancel_on_set = alarm->clock == ELAPSE__OS_WALL_CLOCK;
        alarm->gone_off = false;
        alarm->when_ns = when_ns;
        if (when_ns <= INT64_MAX && clock_was_set(life, alarm)) {
            alarm->clock_sets = life->clock_sets;
            error = ECANCELED;
        }
        release_waiters(life);
    }
    leave(true);
    return error;
}

static void alarm_reset(const struct elapse__os_alarm *reset)
{
    struct life *life = enter();
    struct fake_alarm *alarm = alarm_of(life, reset);
    alarm->gone_off = false;
    alarm->clock_sets = life->clock_sets;
    leave(false);
}

static int alarms_wait(const struct elapse__os_alarm *alarms, size_t count, uint64_t timeout_ns)
{
    struct life *life = enter();
    uint64_t now_ns = life->now_ns[ELAPSE__OS_MONOTONIC];
    struct waiter waiter = {
        .alarms = alarms,
        .count = count,
        .until_ns = timeout_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + timeout_ns,
        .next = life->waiters,
    };
    life->waiters = &waiter;
    (void)pthread_cond_broadcast(&changed);
    while (!is_over(life, &waiter))
        (void)pthread_cond_wait(&changed, &lock);
    struct waiter **place = &life->waiters;
    while (*place != &waiter)
        place = &(*place)->next;
    *place = waiter.next;
    leave(true);
    return 0;
}

/* ---- waits for a condition ---- */

/* Waits for a condition with a time limit. The caller holds the lock of the condition until it
 * sleeps. So tell_timed_waits, which takes that lock, cannot run after the wait was put into the
 * list and before the thread sleeps. */
static bool condition_wait_until(struct elapse__condition *condition, struct elapse__lock *held,
                                 uint64_t until_ns)
{
    struct life *life = enter();
    struct timed_wait wait = {
        .condition = condition,
        .lock = held,
        .until_ns = until_ns,
        .next = life->timed_waits,
    };
    bool in_time = until_ns > life->now_ns[ELAPSE__OS_MONOTONIC];
    life->timed_waits = &wait;
    leave(true);
    if (in_time)
        (void)pthread_cond_wait(&condition->variable, &held->mutex);
    (void)enter();
    struct timed_wait **place = &life->timed_waits;
    while (*place != &wait)
        place = &(*place)->next;
    *place = wait.next;
    life->ended_timed_waits++;
    in_time = until_ns > life->now_ns[ELAPSE__OS_MONOTONIC];
    leave(true);
    return in_time;
}

/* Finds a wait whose time has come and whose thread was not told. Returns false if there is none.
 */
static bool find_late(struct life *life, struct timed_wait *found)
{
    for (struct timed_wait *wait = life->timed_waits; wait != NULL; wait = wait->next) {
        if (!wait->told && wait->until_ns <= life->now_ns[ELAPSE__OS_MONOTONIC]) {
            wait->told = true;
            *found = *wait;
            return true;
        }
    }
    return false;
}

/* Wakes the threads of timed waits whose time has come. Requires that no lock is held. */
static void tell_timed_waits(void)
{
    struct timed_wait late;
    bool any;
    do {
        struct life *life = enter();
        any = find_late(life, &late);
        leave(false);
        if (any) {
            (void)pthread_mutex_lock(&late.lock->mutex);
            (void)pthread_cond_broadcast(&late.condition->variable);
            (void)pthread_mutex_unlock(&late.lock->mutex);
        }
    } while (any);
}

/* ---- clocks and threads ---- */

static uint64_t clock_ns(enum elapse__os_clock clock)
{
    struct hook hook = hooks[clock];
    struct life *life = enter();
    uint64_t now_ns = life->now_ns[clock];
    life->readings[clock]++;
    leave(false);
    hooks[clock] = (struct hook){0};
    if (hook.call != NULL)
        hook.call(hook.context);
    return now_ns;
}

static void *thread_main(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    own_life = start.life;
    void *result = start.main(start.argument);
    (void)pthread_mutex_lock(&lock);
    start.life->running_threads--;
    leave(true);
    return result;
}

static int thread_start(struct elapse__os_thread *thread, size_t stack_bytes,
                        void *(*main)(void *argument), void *argument)
{
    struct start *start = malloc(sizeof *start);
    if (start == NULL)
        abort();
    struct life *life = enter();
    bool refused = count_call(life, FAKE_OS_THREAD_START);
    life->running_threads += !refused;
    leave(false);
    *start = (struct start){life, main, argument};
    int error = EAGAIN;
    if (!refused)
        error = elapse__os_linux.thread_start(thread, stack_bytes, thread_main, start);
    if (error != 0) {
        (void)enter();
        life->running_threads -= !refused;
        leave(false);
        free(start);
    }
    return error;
}

/* Always fails: a test that needs the descriptor of pull mode uses the real system. */
static int alarms_watch(const struct elapse__os_alarm *alarms, size_t count, int *descriptor)
{
    (void)alarms;
    (void)count;
    *descriptor = FIRST_DESCRIPTOR + ALARMS_MAX;
    return 0;
}

static void descriptor_close(int descriptor)
{
    if (descriptor != FIRST_DESCRIPTOR + ALARMS_MAX)
        abort(); /* the library closes what it has not opened */
}

/* ---- for the test ---- */

void fake_os_begin(void)
{
    static struct elapse__os fake;
    struct life *life = calloc(1, sizeof *life);
    if (life == NULL)
        abort();
    life->now_ns[ELAPSE__OS_MONOTONIC] = FAKE_MONOTONIC_NS;
    life->now_ns[ELAPSE__OS_BOOTTIME] = FAKE_MONOTONIC_NS;
    life->now_ns[ELAPSE__OS_WALL_CLOCK] = FAKE_WALL_CLOCK_NS;
    (void)pthread_mutex_lock(&lock);
    current = life; /* the life before is not freed: threads of a failed test may be in it */
    (void)pthread_mutex_unlock(&lock);

    fake = elapse__os_linux;
    fake.clock_ns = clock_ns;
    fake.condition_wait_until = condition_wait_until;
    fake.thread_start = thread_start;
    fake.alarm_open = alarm_open;
    fake.alarm_close = alarm_close;
    fake.alarm_set = alarm_set;
    fake.alarm_reset = alarm_reset;
    fake.alarms_wait = alarms_wait;
    fake.alarms_watch = alarms_watch;
    fake.descriptor_close = descriptor_close;
    elapse__os = &fake;
}

void fake_os_end(void)
{
    elapse__os = &elapse__os_linux;
    (void)pthread_mutex_lock(&lock);
    free(current);
    current = NULL;
    (void)pthread_mutex_unlock(&lock);
}

uint64_t fake_os_now_ns(enum elapse__os_clock clock)
{
    const struct life *life = enter();
    uint64_t now_ns = life->now_ns[clock];
    leave(false);
    return now_ns;
}

void fake_os_advance(uint64_t duration_ns)
{
    struct life *life = enter();
    for (int i = 0; i < CLOCKS; i++)
        life->now_ns[i] += duration_ns;
    release_waiters(life);
    leave(true);
    tell_timed_waits();
}

void fake_os_set_wall_clock(uint64_t unix_ns)
{
    struct life *life = enter();
    life->now_ns[ELAPSE__OS_WALL_CLOCK] = unix_ns;
    life->clock_sets++;
    release_waiters(life);
    leave(true);
}

void fake_os_refuse(enum fake_os_call call, uint64_t count)
{
    struct life *life = enter();
    life->refused[call] = count;
    leave(false);
}

uint64_t fake_os_count(enum fake_os_call call)
{
    const struct life *life = enter();
    uint64_t count = life->counts[call];
    leave(false);
    return count;
}

unsigned fake_os_open_alarms(void)
{
    const struct life *life = enter();
    unsigned open = 0;
    for (int i = 0; i < ALARMS_MAX; i++)
        open += life->alarms[i].open;
    leave(false);
    return open;
}

unsigned fake_os_running_threads(void)
{
    const struct life *life = enter();
    unsigned running = life->running_threads;
    leave(false);
    return running;
}

void fake_os_wait_for_threads(unsigned count)
{
    const struct life *life = enter();
    while (life->running_threads > count)
        (void)pthread_cond_wait(&changed, &lock);
    leave(false);
}

/* Returns how many threads wait with a time limit. Requires the lock. */
static unsigned timed_waits(const struct life *life)
{
    unsigned count = 0;
    for (const struct timed_wait *wait = life->timed_waits; wait != NULL; wait = wait->next)
        count++;
    return count;
}

unsigned fake_os_timed_waits(void)
{
    const struct life *life = enter();
    unsigned count = timed_waits(life);
    leave(false);
    return count;
}

void fake_os_wait_for_ended_timed_waits(uint64_t count)
{
    const struct life *life = enter();
    while (life->ended_timed_waits < count)
        (void)pthread_cond_wait(&changed, &lock);
    leave(false);
}

void fake_os_wait_for_timed_waits(unsigned count)
{
    const struct life *life = enter();
    while (timed_waits(life) != count)
        (void)pthread_cond_wait(&changed, &lock);
    leave(false);
}

uint64_t fake_os_readings(enum elapse__os_clock clock)
{
    const struct life *life = enter();
    uint64_t readings = life->readings[clock];
    leave(false);
    return readings;
}

void fake_os_at_next_reading(enum elapse__os_clock clock, void (*hook)(void *context),
                             void *context)
{
    hooks[clock] = (struct hook){hook, context};
}

/* Returns what fake_os_is_idle returns. Requires the lock. */
static bool is_idle(struct life *life)
{
    for (const struct waiter *waiter = life->waiters; waiter != NULL; waiter = waiter->next) {
        if (is_over(life, waiter))
            return false;
    }
    return life->waiters != NULL;
}

bool fake_os_is_idle(void)
{
    struct life *life = enter();
    bool idle = is_idle(life);
    leave(false);
    return idle;
}

void fake_os_wait_idle(void)
{
    struct life *life = enter();
    while (!is_idle(life))
        (void)pthread_cond_wait(&changed, &lock);
    leave(false);
}
