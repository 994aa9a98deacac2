#include "inject.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

static _Atomic int site_to_fail = SITE_COUNT;
static _Atomic uint64_t calls;
static _Atomic uint64_t failing_call;
static _Atomic bool failing_onward;
static _Atomic bool has_failed;
static _Atomic uint64_t failures;

const char *site_name(enum site site)
{
    static const char *const names[SITE_COUNT] = {
        "allocate",
        "pthread_create",
        "pthread_attr_init",
        "pthread_attr_setstacksize",
        "pthread_mutex_init",
        "pthread_cond_init",
        "pthread_condattr_init",
        "pthread_condattr_setclock",
        "timerfd_create",
        "epoll_create1",
        "epoll_ctl",
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

/* Lies right before each block, aligned to nothing. */
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
    /* A multiple of the alignment, but of nothing more. */
    size_t before = ALIGNMENT_MAX + alignment % ALIGNMENT_MAX;
    if (posix_memalign(&entry.base, ALIGNMENT_MAX, before + bytes) != 0)
        fault("the machine itself has no memory");
    unsigned char *block = (unsigned char *)entry.base + before;
    memcpy(block - sizeof entry, &entry, sizeof entry);
    memset(block, 0xa5, bytes); /* nothing may count on zeros */
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

/* ---- the system: the linker puts these in place of its functions ---- */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*main)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*main)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*main)(void *), void *argument)
{
    return fails(SITE_THREAD) ? EAGAIN : __real_pthread_create(thread, attributes, main, argument);
}

int __real_pthread_attr_init(pthread_attr_t *attributes);
int __wrap_pthread_attr_init(pthread_attr_t *attributes);
int __wrap_pthread_attr_init(pthread_attr_t *attributes)
{
    return fails(SITE_ATTRIBUTES) ? ENOMEM : __real_pthread_attr_init(attributes);
}

int __real_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes);
int __wrap_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes);
int __wrap_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes)
{
    return fails(SITE_STACK) ? EINVAL : __real_pthread_attr_setstacksize(attributes, bytes);
}

int __real_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int __wrap_pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    return fails(SITE_MUTEX) ? ENOMEM : __real_pthread_mutex_init(mutex, attributes);
}

int __real_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int __wrap_pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
    return fails(SITE_CONDITION) ? ENOMEM : __real_pthread_cond_init(condition, attributes);
}

int __real_pthread_condattr_init(pthread_condattr_t *attributes);
int __wrap_pthread_condattr_init(pthread_condattr_t *attributes);
int __wrap_pthread_condattr_init(pthread_condattr_t *attributes)
{
    return fails(SITE_CONDITION_ATTRIBUTES) ? ENOMEM : __real_pthread_condattr_init(attributes);
}

int __real_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock);
int __wrap_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock);
int __wrap_pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock)
{
    return fails(SITE_CONDITION_CLOCK) ? EINVAL
                                       : __real_pthread_condattr_setclock(attributes, clock);
}

int __real_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags);
int __wrap_timerfd_create(int clock, int flags)
{
    if (!fails(SITE_TIMER))
        return __real_timerfd_create(clock, flags);
    errno = EMFILE;
    return -1;
}

int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_create1(int flags)
{
    if (!fails(SITE_EPOLL))
        return __real_epoll_create1(flags);
    errno = EMFILE;
    return -1;
}

int __real_epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int descriptor, struct epoll_event *event)
{
    if (!fails(SITE_EPOLL_ADD))
        return __real_epoll_ctl(epoll, operation, descriptor, event);
    errno = ENOSPC;
    return -1;
}
