/*
 * The functions of the operating system that the library needs: clocks, alarms, threads, random
 * bytes and locks. Only this room makes system calls.
 *
 *      the library                  os.h                       linux.c
 *      elapse__os->alarm_open() --> struct elapse__os  ------> timerfd_create()
 *      elapse__lock()           --> lock.h             ------> pthread_mutex_lock()
 *
 * Calls that can fail, and calls that read a clock, go through the table `elapse__os`. A test can
 * set `elapse__os` to its own table, with a clock that the test sets, or with a call that fails.
 * Taking a lock does not go through the table, because locks are taken millions of times a second,
 * and because it never fails in a correct program. Making a lock goes through the table. So does a
 * wait that ends at a certain time.
 *
 * Functions that can fail return 0, or an error number of errno.h. Times are in nanoseconds. Any
 * thread may call any function.
 *
 * Files have a table of their own, in files.h. It belongs to the library elapse-queue.
 */
#ifndef ELAPSE__OS_H
#define ELAPSE__OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock.h"

enum elapse__os_clock {
    ELAPSE__OS_MONOTONIC,  /* since some moment; stops while the machine is suspended */
    ELAPSE__OS_BOOTTIME,   /* since some moment; continues while the machine is suspended */
    ELAPSE__OS_WALL_CLOCK, /* since 1970-01-01T00:00:00Z; somebody may set it, also back */
    ELAPSE__OS_NO_CLOCK,   /* only for alarms: such an alarm goes off as soon as it is set */
};

/* A descriptor that becomes readable at a certain time. */
struct elapse__os_alarm {
    int descriptor; /* ELAPSE__OS_NO_DESCRIPTOR: the alarm is not open */
    enum elapse__os_clock clock;
};

enum { ELAPSE__OS_NO_DESCRIPTOR = -1 };

/* An alarm at this time never goes off, and a wait until this time never ends. */
#define ELAPSE__OS_NEVER UINT64_MAX

struct elapse__os {
    /* Returns the time by this clock, or 0 if the wall clock is before 1970. */
    uint64_t (*clock_ns)(enum elapse__os_clock clock);

    /* Returns how many processors there are, at least 1. */
    unsigned (*processor_count)(void);

    /* Fills `bytes` with random bytes that nobody can guess. If the system has no such bytes yet,
     * shortly after the start of the machine, fails without waiting. */
    int (*random_bytes)(void *bytes, size_t count);

    /* Makes a lock. */
    int (*lock_init)(struct elapse__lock *lock);

    /* Makes a condition. A wait for the condition can end at a time by the monotonic clock. */
    int (*condition_init)(struct elapse__condition *condition);

    /* Implements elapse__condition_wait_until. Call that function and not this one. */
    bool (*condition_wait_until)(struct elapse__condition *condition, struct elapse__lock *lock,
                                 uint64_t until_ns);

    /* Starts a thread that runs main(argument) with all signals blocked. If `stack_bytes` is 0, the
     * system chooses the size of the stack. */
    int (*thread_start)(struct elapse__os_thread *thread, size_t stack_bytes,
                        void *(*main)(void *argument), void *argument);

    /* Makes an alarm by this clock. alarm_close closes the alarm. */
    int (*alarm_open)(struct elapse__os_alarm *alarm, enum elapse__os_clock clock);
    void (*alarm_close)(struct elapse__os_alarm *alarm);

    /* Makes the alarm readable from `when_ns` on. This replaces the time that was set before. An
     * alarm by the wall clock also becomes readable when somebody sets that clock. An alarm without
     * a clock becomes readable at once, and setting it never fails. */
    int (*alarm_set)(const struct elapse__os_alarm *alarm, uint64_t when_ns);

    /* Makes the alarm unreadable until it goes off again. */
    void (*alarm_reset)(const struct elapse__os_alarm *alarm);

    /* Waits until one of the alarms is readable, for at most `timeout_ns`. May return early. */
    int (*alarms_wait)(const struct elapse__os_alarm *alarms, size_t count, uint64_t timeout_ns);

    /* Makes a descriptor that is readable while one of the alarms is readable, for a program that
     * waits in epoll, poll or select. descriptor_close closes it. */
    int (*alarms_watch)(const struct elapse__os_alarm *alarms, size_t count, int *descriptor);
    void (*descriptor_close)(int descriptor);
};

/* The table that calls the real system. */
extern const struct elapse__os elapse__os_linux;

/* The table in use. It is elapse__os_linux, unless a test has stored its own table here. Requires
 * that no other thread uses the library while the table is changed. */
extern const struct elapse__os *elapse__os;

/* Waits as elapse__condition_wait does, but only until `until_ns` by the monotonic clock. Returns
 * false when that time has come. */
bool elapse__condition_wait_until(struct elapse__condition *condition, struct elapse__lock *lock,
                                  uint64_t until_ns);

/* Waits as elapse__condition_wait_until does. If `until_ns` is UINT64_MAX, the wait has no limit.
 */
static inline bool elapse__condition_wait_at_most(struct elapse__condition *condition,
                                                  struct elapse__lock *lock, uint64_t until_ns)
{
    if (until_ns != UINT64_MAX)
        return elapse__condition_wait_until(condition, lock, until_ns);
    elapse__condition_wait(condition, lock);
    return true;
}

/* Returns whether threads can be made with a stack of this size. */
bool elapse__os_stack_is_usable(size_t stack_bytes);

/* Reads a whole file of at most `capacity` bytes, and stores in `*count` how many bytes it has.
 * Returns EFBIG if the file is longer. */
int elapse__os_read_file(const char *path, void *bytes, size_t capacity, size_t *count);

/* Waits until the thread has returned from its main function. */
void elapse__os_thread_join(const struct elapse__os_thread *thread);

/* Names the calling thread, for debuggers and top. Only the first 15 bytes are used. */
void elapse__os_thread_name(const char *name);

/* Makes the system wake the calling thread as exactly as it can. By default the system may
 * wake a thread up to 50 microseconds late, to save energy. */
void elapse__os_wake_exactly(void);

/* Returns a number that is different for each process. */
uint64_t elapse__os_process_number(void);

#endif
