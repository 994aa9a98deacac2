#include "now.h"

#include <stdatomic.h>

#include "../../base/assert.h"
#include "../../os/os.h"

#define NS_PER_MS INT64_C(1000000)

/* The wall clock minus the boot-time clock. All queues of the process share the difference, because
 * both clocks are those of the machine. */
static _Atomic int64_t difference_ms;
static _Atomic int64_t difference_ns; /* the exact difference when the clocks were last read */
static _Atomic bool is_known;
static _Atomic int64_t given_ms; /* the difference that elapse__store_set_time has set */
static _Atomic bool is_given;

/* A margin. It is so small that it makes no job noticeably later, and larger than the error of a
 * reading. */
#define MARGIN_NS (NS_PER_MS / 20)

enum { READINGS = 8 };

/* Rounds the difference down, and at least by the margin, so that later readings that differ a
 * little still fit. By what is cut off, the wall clock of the queue is behind the real one. So the
 * margin is small. */
static int64_t choose(int64_t exact_ns)
{
    int64_t least_ns = exact_ns - MARGIN_NS;
    int64_t ms = least_ns / NS_PER_MS;
    return least_ns % NS_PER_MS < 0 ? ms - 1 : ms;
}

/* Reads both clocks. The thread may have to wait between the two readings. That makes the
 * difference too large, never too small. */
static int64_t read_difference(uint64_t *boot_ns)
{
    *boot_ns = elapse__os->clock_ns(ELAPSE__OS_BOOTTIME);
    return (int64_t)(elapse__os->clock_ns(ELAPSE__OS_WALL_CLOCK) - *boot_ns);
}

static bool fits(int64_t ms, int64_t exact_ns)
{
    return atomic_load(&is_known) && exact_ns >= ms * NS_PER_MS && exact_ns < (ms + 2) * NS_PER_MS;
}

/* Returns the least of several differences, because the thread has not waited in all of them. */
static int64_t read_again(int64_t exact_ns)
{
    for (unsigned i = 1; i < READINGS; i++) {
        uint64_t boot_ns;
        int64_t again_ns = read_difference(&boot_ns);
        exact_ns = again_ns < exact_ns ? again_ns : exact_ns;
    }
    return exact_ns;
}

/* Returns the difference in milliseconds. The difference stays the same while it fits the exact
 * one. */
static int64_t follow_ms(int64_t *exact_ns)
{
    int64_t ms = atomic_load(&difference_ms);

    if (fits(ms, *exact_ns))
        return ms;
    *exact_ns = read_again(*exact_ns);
    if (!fits(ms, *exact_ns)) {
        ms = choose(*exact_ns);
        atomic_store(&difference_ms, ms);
        atomic_store(&is_known, true);
    }
    ELAPSE__ASSERT(ms * NS_PER_MS <= *exact_ns);
    return ms;
}

struct elapse__queue_now elapse__store_now(void)
{
    uint64_t boot_ns;
    int64_t exact_ns = read_difference(&boot_ns);
    int64_t ms = atomic_load(&is_given) ? atomic_load(&given_ms) : follow_ms(&exact_ns);

    atomic_store(&difference_ns, exact_ns);
    return (struct elapse__queue_now){
        .boot_ms = boot_ns / (uint64_t)NS_PER_MS,
        .wall_ms = (int64_t)(boot_ns / (uint64_t)NS_PER_MS) + ms,
    };
}

void elapse__store_set_time(int64_t offset_ms)
{
    atomic_store(&given_ms, offset_ms);
    atomic_store(&is_given, true);
}

uint64_t elapse__store_wall_alarm_ns(int64_t wall_ms)
{
    bool given = atomic_load(&is_given);
    int64_t ms = atomic_load(given ? &given_ms : &difference_ms);
    int64_t behind_ns = atomic_load(&difference_ns) - ms * NS_PER_MS;

    if (wall_ms > INT64_MAX / NS_PER_MS - 2)
        return UINT64_MAX;
    if (!given && (behind_ns < 0 || behind_ns >= 2 * NS_PER_MS))
        behind_ns = 2 * NS_PER_MS; /* another thread has just seen a new wall-clock time */
    return wall_ms < 0 ? 0 : (uint64_t)(wall_ms * NS_PER_MS + behind_ns);
}
