/*
 * Implements the table of os.h for Linux.
 */
#include "os.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../base/assert.h"

enum { ALARMS_MAX = 4 };

/* time_t must have more than 32 bits, because the wall clock passes 2^31 seconds in 2038. */
_Static_assert(sizeof(time_t) >= 8, "compile with -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64");

static struct timespec timespec_of(uint64_t ns)
{
    return (struct timespec){
        .tv_sec = (time_t)(ns / ELAPSE__NS_PER_SECOND),
        .tv_nsec = (long)(ns % ELAPSE__NS_PER_SECOND),
    };
}

static clockid_t clock_id(enum elapse__os_clock clock)
{
    switch (clock) {
    case ELAPSE__OS_MONOTONIC:
        return CLOCK_MONOTONIC;
    case ELAPSE__OS_BOOTTIME:
        return CLOCK_BOOTTIME;
    case ELAPSE__OS_WALL_CLOCK:
    case ELAPSE__OS_NO_CLOCK:
        break;
    }
    return CLOCK_REALTIME;
}

static uint64_t clock_ns(enum elapse__os_clock clock)
{
    ELAPSE__ASSERT(clock != ELAPSE__OS_NO_CLOCK);
    struct timespec now = {0};
    int failed = clock_gettime(clock_id(clock), &now);
    ELAPSE__ASSERT(failed == 0);
    ELAPSE__ASSERT_THAT(now.tv_nsec, <, ELAPSE__NS_PER_SECOND);
    (void)failed;
    return now.tv_sec < 0 ? 0
                          : (uint64_t)now.tv_sec * ELAPSE__NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static unsigned processor_count(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : (unsigned)processors;
}

static int random_bytes(void *bytes, size_t count)
{
    ELAPSE__ASSERT_THAT(count, >, 0);
    ELAPSE__ASSERT_THAT(count, <=, 256); /* the system may fill a longer request only in part */
    ssize_t filled = getrandom(bytes, count, GRND_NONBLOCK);
    if (filled < 0)
        return errno;
    return (size_t)filled == count ? 0 : EAGAIN;
}

int elapse__os_read_file(const char *path, void *bytes, size_t capacity, size_t *count)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0)
        return errno;
    size_t done = 0;
    int error = 0;
    char beyond;
    while (error == 0) {
        ELAPSE__ASSERT(done <= capacity);
        bool is_full = done == capacity;
        ssize_t got =
            is_full ? read(file, &beyond, 1) : read(file, (char *)bytes + done, capacity - done);
        if (got == 0)
            break;
        if (got < 0)
            error = errno == EINTR ? 0 : errno;
        else if (is_full)
            error = EFBIG;
        else
            done += (size_t)got;
    }
    (void)close(file);
    *count = done;
    return error;
}

/* ---- locks and threads ---- */

#ifdef ELAPSE__ASSERTIONS
/* A lock of this type reports a thread that takes it twice, or that releases it without holding
 * it. */
enum { LOCK_TYPE = PTHREAD_MUTEX_ERRORCHECK };
#elif defined(__GLIBC__)
/* A thread that finds such a lock taken looks again for some microseconds before it sleeps. The
 * reason: locks are held for less time than a thread needs to fall asleep
 * (docs/decisions/0023-submissions.md). */
enum { LOCK_TYPE = PTHREAD_MUTEX_ADAPTIVE_NP };
#else
enum { LOCK_TYPE = PTHREAD_MUTEX_DEFAULT };
#endif

static int lock_init(struct elapse__lock *lock)
{
#ifdef ELAPSE__ASSERTIONS
    atomic_init(&lock->holder, 0);
#endif
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);
    if (error != 0)
        return error;
    error = pthread_mutexattr_settype(&attributes, LOCK_TYPE);
    if (error == 0)
        error = pthread_mutex_init(&lock->mutex, &attributes);
    (void)pthread_mutexattr_destroy(&attributes);
    return error;
}

static int condition_init(struct elapse__condition *condition)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error != 0)
        return error;
    error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (error == 0)
        error = pthread_cond_init(&condition->variable, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return error;
}

static bool condition_wait_until(struct elapse__condition *condition, struct elapse__lock *lock,
                                 uint64_t until_ns)
{
    /* The caller has come through elapse__condition_wait_until, which notes the wait. */
    ELAPSE__ASSERT(!elapse__lock_is_held(lock));
    const struct timespec until = {
        .tv_sec = (time_t)(until_ns / ELAPSE__NS_PER_SECOND),
        .tv_nsec = (long)(until_ns % ELAPSE__NS_PER_SECOND),
    };
    int error = pthread_cond_timedwait(&condition->variable, &lock->mutex, &until);
    if (error != 0 && error != ETIMEDOUT)
        elapse__os_stop("pthread_cond_timedwait", error);
    return error == 0;
}

bool elapse__condition_wait_until(struct elapse__condition *condition, struct elapse__lock *lock,
                                  uint64_t until_ns)
{
    elapse__lock_note_wait(lock);
    bool in_time = elapse__os->condition_wait_until(condition, lock, until_ns);
    elapse__lock_note_taken(lock);
    return in_time;
}

static int thread_start(struct elapse__os_thread *thread, size_t stack_bytes,
                        void *(*main)(void *argument), void *argument)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    if (stack_bytes != 0)
        error = pthread_attr_setstacksize(&attributes, stack_bytes);
    if (error == 0) {
        sigset_t all;
        sigset_t before;
        (void)sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(&thread->thread, &attributes, main, argument);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    (void)pthread_attr_destroy(&attributes);
    return error;
}

bool elapse__os_stack_is_usable(size_t stack_bytes)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return true; /* with a wrong size, the thread cannot be made */
    bool usable = pthread_attr_setstacksize(&attributes, stack_bytes) == 0;
    (void)pthread_attr_destroy(&attributes);
    return usable;
}

void elapse__os_thread_join(const struct elapse__os_thread *thread)
{
    int error = pthread_join(thread->thread, NULL);
    if (error != 0)
        elapse__os_stop("pthread_join", error);
}

void elapse__os_thread_name(const char *name)
{
    char first[16] = {0};
    for (size_t i = 0; i < sizeof first - 1 && name[i] != '\0'; i++)
        first[i] = name[i];
    (void)pthread_setname_np(pthread_self(), first); /* after a failure the thread has no name */
}

void elapse__os_wake_exactly(void)
{
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* after a failure alarms are only later */
}

uint64_t elapse__os_process_number(void)
{
    return (uint64_t)getpid();
}

/* ---- alarms ---- */

static int alarm_open(struct elapse__os_alarm *alarm, enum elapse__os_clock clock)
{
    int descriptor = clock == ELAPSE__OS_NO_CLOCK
                         ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
                         : timerfd_create(clock_id(clock), TFD_CLOEXEC | TFD_NONBLOCK);
    if (descriptor < 0)
        return errno;
    *alarm = (struct elapse__os_alarm){.descriptor = descriptor, .clock = clock};
    return 0;
}

static void descriptor_close(int descriptor)
{
    int failed = close(descriptor);
    ELAPSE__ASSERT(failed == 0 || errno != EBADF);
    (void)failed; /* a call that was interrupted has closed it, too */
}

static void alarm_close(struct elapse__os_alarm *alarm)
{
    ELAPSE__ASSERT(alarm->descriptor != ELAPSE__OS_NO_DESCRIPTOR);
    descriptor_close(alarm->descriptor);
    alarm->descriptor = ELAPSE__OS_NO_DESCRIPTOR;
}

static int go_off_now(int descriptor)
{
    const uint64_t one = 1;
    /* EAGAIN says that the counter of the alarm is full, because the alarm was set so often. The
     * alarm is readable all the same. */
    return write(descriptor, &one, sizeof one) > 0 || errno == EAGAIN ? 0 : errno;
}

static int alarm_set(const struct elapse__os_alarm *alarm, uint64_t when_ns)
{
    ELAPSE__ASSERT(alarm->descriptor != ELAPSE__OS_NO_DESCRIPTOR);
    if (alarm->clock == ELAPSE__OS_NO_CLOCK)
        return go_off_now(alarm->descriptor);
    struct itimerspec setting = {0};
    int flags = TFD_TIMER_ABSTIME;
    if (alarm->clock == ELAPSE__OS_WALL_CLOCK)
        flags |= TFD_TIMER_CANCEL_ON_SET;
    /* The system reads a time of zeros as never. So time 0 becomes 1 nanosecond. A time that is too
     * great for the kernel stays at zeros. */
    if (when_ns <= INT64_MAX)
        setting.it_value = timespec_of(when_ns == 0 ? 1 : when_ns);
    if (timerfd_settime(alarm->descriptor, flags, &setting, NULL) == 0)
        return 0;
    /* ECANCELED says that the wall clock was set since the alarm was last read. The alarm is set
     * all the same. */
    return errno == ECANCELED ? 0 : errno;
}

static void alarm_reset(const struct elapse__os_alarm *alarm)
{
    /* In all three cases the alarm is unreadable afterwards: it went off, the clock was set
     * (ECANCELED), or the alarm was not readable (EAGAIN). */
    ELAPSE__ASSERT(alarm->descriptor != ELAPSE__OS_NO_DESCRIPTOR);
    uint64_t expirations;
    ssize_t read_bytes = read(alarm->descriptor, &expirations, sizeof expirations);
    ELAPSE__ASSERT(read_bytes == sizeof expirations || errno == EAGAIN || errno == ECANCELED);
    (void)read_bytes;
}

static int alarms_wait(const struct elapse__os_alarm *alarms, size_t count, uint64_t timeout_ns)
{
    struct pollfd readable[ALARMS_MAX];
    ELAPSE__ASSERT_THAT(count, >, 0);
    ELAPSE__ASSERT_THAT(count, <=, ALARMS_MAX);
    for (size_t i = 0; i < count; i++) {
        /* The system would wait for nothing at an alarm that is not open. */
        ELAPSE__ASSERT(alarms[i].descriptor != ELAPSE__OS_NO_DESCRIPTOR);
        readable[i] = (struct pollfd){.fd = alarms[i].descriptor, .events = POLLIN};
    }
    const struct timespec timeout = timespec_of(timeout_ns);
    int ready =
        ppoll(readable, (nfds_t)count, timeout_ns == ELAPSE__OS_NEVER ? NULL : &timeout, NULL);
    return ready < 0 && errno != EINTR ? errno : 0;
}

static int alarms_watch(const struct elapse__os_alarm *alarms, size_t count, int *descriptor)
{
    ELAPSE__ASSERT_THAT(count, >, 0);
    ELAPSE__ASSERT_THAT(count, <=, ALARMS_MAX);
    int watch = epoll_create1(EPOLL_CLOEXEC);
    if (watch < 0)
        return errno;
    for (size_t i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        if (epoll_ctl(watch, EPOLL_CTL_ADD, alarms[i].descriptor, &event) != 0) {
            int error = errno;
            descriptor_close(watch);
            return error;
        }
    }
    *descriptor = watch;
    return 0;
}

/* ---- the table ---- */

const struct elapse__os elapse__os_linux = {
    .clock_ns = clock_ns,
    .processor_count = processor_count,
    .random_bytes = random_bytes,
    .lock_init = lock_init,
    .condition_init = condition_init,
    .condition_wait_until = condition_wait_until,
    .thread_start = thread_start,
    .alarm_open = alarm_open,
    .alarm_close = alarm_close,
    .alarm_set = alarm_set,
    .alarm_reset = alarm_reset,
    .alarms_wait = alarms_wait,
    .alarms_watch = alarms_watch,
    .descriptor_close = descriptor_close,
};

const struct elapse__os *elapse__os = &elapse__os_linux;
