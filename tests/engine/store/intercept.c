#include "intercept.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { GIVE_UP_S = 120 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static size_t least_bytes; /* 0: no reading is held up */
static int reading_error;
static bool is_held, is_released, gave_up;
static atomic_bool readings_fail, syncs_fail, disk_is_full;
static atomic_uint syncs, timers;

void intercept_reading(size_t least, int error)
{
    pthread_mutex_lock(&lock);
    least_bytes = least;
    reading_error = error;
    is_held = is_released = gave_up = false;
    pthread_mutex_unlock(&lock);
}

/* Waits until `*flag` is set. Returns false after two minutes. Requires the lock. */
static bool wait_for(const bool *flag)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += GIVE_UP_S;
    while (!*flag)
        if (pthread_cond_timedwait(&moved, &lock, &until) == ETIMEDOUT)
            return *flag;
    return true;
}

bool intercept_is_held(void)
{
    pthread_mutex_lock(&lock);
    bool held = is_held;
    pthread_mutex_unlock(&lock);
    return held;
}

bool intercept_wait(void)
{
    pthread_mutex_lock(&lock);
    bool held = wait_for(&is_held);
    pthread_mutex_unlock(&lock);
    return held;
}

bool intercept_release(void)
{
    pthread_mutex_lock(&lock);
    is_released = true;
    pthread_cond_broadcast(&moved);
    bool in_time = !gave_up;
    pthread_mutex_unlock(&lock);
    return in_time;
}

/* Returns the error of a reading of so many bytes, or 0. */
static int hold_up(size_t count)
{
    int error = 0;

    pthread_mutex_lock(&lock);
    if (least_bytes > 0 && count >= least_bytes) {
        least_bytes = 0;
        error = reading_error;
        is_held = true;
        pthread_cond_broadcast(&moved);
        if (error == 0)
            gave_up = !wait_for(&is_released);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* In place of those of the C library; the static analysis wants its names of the parameters. */
ssize_t pread(int fd, void *buf, size_t nbytes, off_t offset)
{
    int error = readings_fail ? EIO : hold_up(nbytes);

    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(SYS_pread64, fd, buf, nbytes, offset);
}

void intercept_readings(bool fail)
{
    readings_fail = fail;
}

void intercept_syncs(bool fail)
{
    syncs_fail = fail;
}

unsigned intercept_count_syncs(void)
{
    return syncs;
}

int fdatasync(int fildes)
{
    syncs++;
    if (syncs_fail) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fildes);
}

void intercept_space(bool is_full)
{
    disk_is_full = is_full;
}

int openat(int fd, const char *file, int oflag, ...)
{
    va_list more;
    mode_t mode = 0;

    if ((oflag & O_CREAT) != 0) {
        if (disk_is_full) {
            errno = ENOSPC;
            return -1;
        }
        va_start(more, oflag);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    return (int)syscall(SYS_openat, fd, file, oflag, mode);
}

unsigned intercept_count_timers(void)
{
    return timers;
}

int timerfd_settime(int ufd, int flags, const struct itimerspec *utmr, struct itimerspec *otmr)
{
    timers++;
#ifdef SYS_timerfd_settime64 /* a machine of 32 bits, whose times have 64 here */
    return (int)syscall(SYS_timerfd_settime64, ufd, flags, utmr, otmr);
#else
    return (int)syscall(SYS_timerfd_settime, ufd, flags, utmr, otmr);
#endif
}
