/*
 * Implements the test clock on top of the table of linux.c. Alarms of the system go by the clocks
 * of the machine. So each alarm is set to its time minus the amount by which the test clock is
 * ahead. When the test clock is advanced, all alarms are set again.
 */
#include "test_clock.h"

#include <stdatomic.h>

#include "os.h"

enum { ALARMS_MAX = 16 };

#define NS_PER_MS UINT64_C(1000000)

/* An alarm by a clock that is moved. Its time is that of the test clock. */
struct moved_alarm {
    struct elapse__os_alarm alarm;
    uint64_t when_ns;
};

static struct elapse__os table;
static struct elapse__lock lock; /* guards the alarms and `ahead_ns` */
static struct moved_alarm alarms[ALARMS_MAX];
static unsigned alarm_count;
static _Atomic uint64_t ahead_ns;

static bool is_moved(enum elapse__os_clock clock)
{
    return clock == ELAPSE__OS_BOOTTIME || clock == ELAPSE__OS_WALL_CLOCK;
}

static uint64_t clock_ns(enum elapse__os_clock clock)
{
    uint64_t now_ns = elapse__os_linux.clock_ns(clock);

    return is_moved(clock) ? now_ns + atomic_load(&ahead_ns) : now_ns;
}

/* Returns the machine's time at which the test clock shows this time. */
static uint64_t of_machine(uint64_t when_ns)
{
    uint64_t ahead = atomic_load(&ahead_ns);

    if (when_ns > INT64_MAX)
        return when_ns; /* stands for never */
    return when_ns > ahead ? when_ns - ahead : 0;
}

static unsigned place_of(int descriptor)
{
    unsigned place = 0;

    ELAPSE__ASSERT_LOCK_HELD(&lock);
    while (place < alarm_count && alarms[place].alarm.descriptor != descriptor)
        place++;
    return place;
}

static int alarm_open(struct elapse__os_alarm *alarm, enum elapse__os_clock clock)
{
    int error = elapse__os_linux.alarm_open(alarm, clock);

    if (error != 0 || !is_moved(clock))
        return error;
    elapse__lock_inner(&lock);
    ELAPSE__ASSERT_THAT(alarm_count, <, ALARMS_MAX);
    ELAPSE__ASSERT_THAT(place_of(alarm->descriptor), ==, alarm_count); /* each stands here once */
    alarms[alarm_count++] = (struct moved_alarm){.alarm = *alarm, .when_ns = ELAPSE__OS_NEVER};
    elapse__unlock(&lock);
    return 0;
}

static void alarm_close(struct elapse__os_alarm *alarm)
{
    elapse__lock_inner(&lock);
    unsigned place = place_of(alarm->descriptor);
    ELAPSE__ASSERT(is_moved(alarm->clock) == (place < alarm_count));
    if (place < alarm_count)
        alarms[place] = alarms[--alarm_count];
    elapse__unlock(&lock);
    elapse__os_linux.alarm_close(alarm);
}

static int alarm_set(const struct elapse__os_alarm *alarm, uint64_t when_ns)
{
    if (!is_moved(alarm->clock))
        return elapse__os_linux.alarm_set(alarm, when_ns);
    elapse__lock_inner(&lock);
    unsigned place = place_of(alarm->descriptor);
    ELAPSE__ASSERT_THAT(place, <, alarm_count);
    alarms[place].when_ns = when_ns;
    int error = elapse__os_linux.alarm_set(alarm, of_machine(when_ns));
    elapse__unlock(&lock);
    return error;
}

/* An alarm that has gone off must not go off again when the clock is advanced. An alarm by the wall
 * clock is also readable before its time, if that clock was set. Then it must be set again. */
static void alarm_reset(const struct elapse__os_alarm *alarm)
{
    elapse__os_linux.alarm_reset(alarm);
    if (!is_moved(alarm->clock))
        return;
    elapse__lock_inner(&lock);
    unsigned place = place_of(alarm->descriptor);
    ELAPSE__ASSERT_THAT(place, <, alarm_count);
    if (alarms[place].when_ns <= clock_ns(alarm->clock))
        alarms[place].when_ns = ELAPSE__OS_NEVER;
    elapse__unlock(&lock);
}

void elapse__test_clock_begin(void)
{
    ELAPSE__ASSERT(elapse__os == &elapse__os_linux);
    ELAPSE__ASSERT_THAT(alarm_count, ==, 0);
    int error = elapse__os_linux.lock_init(&lock);
    if (error != 0)
        elapse__os_stop("pthread_mutex_init", error);
    table = elapse__os_linux;
    table.clock_ns = clock_ns;
    table.alarm_open = alarm_open;
    table.alarm_close = alarm_close;
    table.alarm_set = alarm_set;
    table.alarm_reset = alarm_reset;
    elapse__os = &table;
}

bool elapse__test_clock_advance(uint64_t advance_ms)
{
    ELAPSE__ASSERT(elapse__os == &table);
    elapse__lock_inner(&lock);
    uint64_t ahead_ms = atomic_load(&ahead_ns) / NS_PER_MS;
    ELAPSE__ASSERT_THAT(ahead_ms, <=, ELAPSE__TEST_CLOCK_MS_MAX);
    bool fits = advance_ms <= ELAPSE__TEST_CLOCK_MS_MAX - ahead_ms;
    if (fits) {
        atomic_store(&ahead_ns, (ahead_ms + advance_ms) * NS_PER_MS);
        for (unsigned i = 0; i < alarm_count; i++)
            (void)elapse__os_linux.alarm_set(&alarms[i].alarm, of_machine(alarms[i].when_ns));
    }
    elapse__unlock(&lock);
    return fits;
}
