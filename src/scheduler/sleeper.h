/*
 * How the clock thread sleeps until the earliest deadline of all shards, and is woken
 * only by an earlier one. For each of the two clocks, the scheduler's own and the wall
 * clock, there is an alarm, and both go alike:
 *
 *      clock thread                          a thread that schedules
 *
 *      (awake; armed = 0)                    lock the shard
 *      armed := NEVER              (1)         put the task into the wheel
 *      read wake_tick of all shards(2)         if earlier: wake_tick := tick   (3)
 *      arm the timer, armed := least         unlock
 *      sleep                                 if tick < armed:                  (4)
 *      armed := 0                                arm the timer, armed := tick
 *
 * (1) and (3) are sequentially consistent stores, (2) and (4) such loads. If (4) finds an
 * old `armed`, it came before (1), so (3) came before (2): the clock thread sees the new
 * wake_tick. Otherwise (4) finds NEVER or what was armed, and arms. Arming is done under
 * `lock`, by whoever it may be; an armed timer wakes the clock thread by itself, so no
 * thread has to wake another.
 *
 * When the wall clock is set, the system wakes whoever waits for it: the clock thread then
 * looks at it anew.
 *
 * A kick is for what is no deadline: room in the work queue, the end.
 *
 * The same in a language that can be checked: tests/scheduler/spin/.
 */
#ifndef ELAPSE__SLEEPER_H
#define ELAPSE__SLEEPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../os/os.h"
#include "ticks.h"

struct elapse__alarm {
    struct elapse__os_alarm os;  /* readable from the armed time on */
    _Atomic uint64_t armed_tick; /* written under the sleeper's lock; 0: the clock thread is
                                    awake */
};

struct elapse__sleeper {
    struct elapse__lock lock;
    struct elapse__alarm monotonic;
    struct elapse__alarm wall_clock;
    bool kicked;      /* guarded by lock: the next sleep ends at once */
    uint64_t tick_ns; /* never changes */
};

bool elapse__sleeper_init(struct elapse__sleeper *sleeper, uint64_t tick_ns);
void elapse__sleeper_free(struct elapse__sleeper *sleeper);

/* Makes the timers, that of the given clock and that of the wall clock; false if the
 * system has none to give. */
bool elapse__sleeper_open(struct elapse__sleeper *sleeper, enum elapse__os_clock clock);
void elapse__sleeper_close(struct elapse__sleeper *sleeper);

/* Makes a descriptor that is readable while one of the alarms is. Returns false if the system has
 * none to give. */
bool elapse__sleeper_watch(const struct elapse__sleeper *sleeper, int *descriptor);

/* For the clock thread: announces that it is about to sleep. After this it has to look
 * for deadlines a last time. */
void elapse__sleeper_prepare(struct elapse__sleeper *sleeper);

/* For the clock thread, after prepare: sleeps until one of the ticks begins, or an earlier one that
 * a wake_at names, or a kick, or the wall clock is set, but for at most `timeout_ns`; ELAPSE_NEVER:
 * without end. */
void elapse__sleeper_sleep(struct elapse__sleeper *sleeper, struct elapse__ticks until,
                           uint64_t timeout_ns);

/* For those who wait by the descriptors themselves, in place of sleep: reset makes unreadable what
 * has gone off, then prepare, then set sets the alarms. In this order what goes off from prepare
 * on stays readable. */
void elapse__sleeper_reset(struct elapse__sleeper *sleeper);
void elapse__sleeper_set(struct elapse__sleeper *sleeper, struct elapse__ticks until);

/* For any thread, without locks: the clock thread is to be awake when these ticks begin. */
void elapse__sleeper_wake_at(struct elapse__sleeper *sleeper, struct elapse__ticks ticks);

/* For any thread, without locks: the clock thread is to look around now. */
void elapse__sleeper_kick(struct elapse__sleeper *sleeper);

/* While nobody sleeps, and before nobody will again: an alarm has gone off and is never reset. */
void elapse__sleeper_stay_readable(struct elapse__sleeper *sleeper);

#endif
