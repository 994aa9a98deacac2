#include "inject.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "../../../src/os/os.h"

static _Atomic int site_to_fail = SITE_COUNT;
static _Atomic uint64_t calls;
static _Atomic uint64_t failing_call;
static _Atomic bool failing_onward;
static _Atomic bool has_failed;
static _Atomic uint64_t failures;

const char *site_name(enum site site)
{
    static const char *const names[SITE_COUNT] = {
        "allocate",   "thread_start", "lock_init",   "condition_init", "random_bytes",
        "alarm_open", "alarm_set",    "alarms_wait", "alarm_reset",    "alarms_watch",
    };
    return site < SITE_COUNT ? names[site] : "nothing";
}

void inject(enum site site, uint64_t n, bool onward)
{
    atomic_store(&calls, 0);
    atomic_store(&has_failed, false);
    atomic_store(&failing_call, n);
    atomic_store(&failing_onward, onward);
    atomic_store(&site_to_fail, (int)site);
}

void inject_nothing(void)
{
    atomic_store(&site_to_fail, (int)SITE_COUNT);
}

bool inject_has_failed(void)
{
    return atomic_load(&has_failed);
}

uint64_t inject_failures(void)
{
    return atomic_load(&failures);
}

static bool fails(enum site site)
{
    if (atomic_load(&site_to_fail) != (int)site)
        return false;
    uint64_t call = atomic_fetch_add(&calls, 1) + 1;
    uint64_t failing = atomic_load(&failing_call);
    if (call != failing && !(call > failing && atomic_load(&failing_onward)))
        return false;
    atomic_store(&has_failed, true);
    atomic_fetch_add(&failures, 1);
    return true;
}

/* ---- memory ---- */

enum { ALIGNMENT_MAX = 64, MAGIC = 0x1ed6e4 };

/* Lies right before each block of memory. It need not be aligned. */
struct entry {
    uint64_t magic;
    uint64_t bytes;
    void *base;
};

static _Atomic uint64_t blocks;

static void *ledger_allocate(size_t alignment, size_t bytes, void *context)
{
    struct entry entry = {.magic = MAGIC, .bytes = bytes};
    MUST(context == &blocks);
    MUST(bytes > 0);
    MUST(alignment > 0 && alignment <= ALIGNMENT_MAX && (alignment & (alignment - 1)) == 0);
    if (fails(SITE_ALLOCATE))
        return NULL;
    /* The block's address is a multiple of the alignment, but not of a larger power of two. */
    size_t before = ALIGNMENT_MAX + alignment % ALIGNMENT_MAX;
    if (posix_memalign(&entry.base, ALIGNMENT_MAX, before + bytes) != 0)
        fault("the machine itself has no memory");
    unsigned char *block = (unsigned char *)entry.base + before;
    memcpy(block - sizeof entry, &entry, sizeof entry);
    memset(block, 0xa5, bytes); /* the caller may not rely on zeros */
    atomic_fetch_add(&blocks, 1);
    return block;
}

static void ledger_release(void *block, size_t bytes, void *context)
{
    struct entry entry;
    MUST(context == &blocks);
    memcpy(&entry, (unsigned char *)block - sizeof entry, sizeof entry);
    MUST(entry.magic == MAGIC);
    MUST(entry.bytes == bytes);
    memset((unsigned char *)block - sizeof entry, 0x5a, sizeof entry + bytes);
    atomic_fetch_sub(&blocks, 1);
    free(entry.base);
}

struct elapse_allocator ledger_allocator(void)
{
    return (struct elapse_allocator){
        .allocate = ledger_allocate,
        .release = ledger_release,
        .context = &blocks,
    };
}

uint64_t ledger_blocks(void)
{
    return atomic_load(&blocks);
}

/* ---- the system: a table of functions that fail on demand ---- */

static int failing_thread_start(struct elapse__os_thread *thread, size_t stack_bytes,
                                void *(*main)(void *argument), void *argument)
{
    return fails(SITE_THREAD) ? EAGAIN
                              : elapse__os_linux.thread_start(thread, stack_bytes, main, argument);
}

static int failing_lock_init(struct elapse__lock *lock)
{
    return fails(SITE_LOCK) ? ENOMEM : elapse__os_linux.lock_init(lock);
}

static int failing_condition_init(struct elapse__condition *condition)
{
    return fails(SITE_CONDITION) ? ENOMEM : elapse__os_linux.condition_init(condition);
}

static int failing_random_bytes(void *bytes, size_t count)
{
    return fails(SITE_RANDOM) ? EAGAIN : elapse__os_linux.random_bytes(bytes, count);
}

static int failing_alarm_open(struct elapse__os_alarm *alarm, enum elapse__os_clock clock)
{
    return fails(SITE_ALARM_OPEN) ? EMFILE : elapse__os_linux.alarm_open(alarm, clock);
}

/* Refuses an alarm on demand, but never a kick: see os.h. */
static int failing_alarm_set(const struct elapse__os_alarm *alarm, uint64_t when_ns)
{
    bool can_fail = alarm->clock != ELAPSE__OS_NO_CLOCK;
    return can_fail && fails(SITE_ALARM_SET) ? EPERM : elapse__os_linux.alarm_set(alarm, when_ns);
}

/* On demand returns early, as alarms_wait may. */
static int failing_alarms_wait(const struct elapse__os_alarm *alarms, size_t count,
                               uint64_t timeout_ns)
{
    return fails(SITE_ALARMS_WAIT) ? ENOMEM
                                   : elapse__os_linux.alarms_wait(alarms, count, timeout_ns);
}

/* On demand leaves the alarm readable, so that the next wait returns at once. */
static void failing_alarm_reset(const struct elapse__os_alarm *alarm)
{
    if (!fails(SITE_ALARM_RESET))
        elapse__os_linux.alarm_reset(alarm);
}

static int failing_alarms_watch(const struct elapse__os_alarm *alarms, size_t count,
                                int *descriptor)
{
    return fails(SITE_ALARMS_WATCH) ? ENOSPC
                                    : elapse__os_linux.alarms_watch(alarms, count, descriptor);
}

void inject_into_os(void)
{
    static struct elapse__os failing;
    failing = elapse__os_linux;
    failing.thread_start = failing_thread_start;
    failing.lock_init = failing_lock_init;
    failing.condition_init = failing_condition_init;
    failing.random_bytes = failing_random_bytes;
    failing.alarm_open = failing_alarm_open;
    failing.alarm_set = failing_alarm_set;
    failing.alarms_wait = failing_alarms_wait;
    failing.alarm_reset = failing_alarm_reset;
    failing.alarms_watch = failing_alarms_watch;
    elapse__os = &failing;
}
