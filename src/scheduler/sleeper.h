/*
 * How the clock thread sleeps until the earliest deadline of all shards. A new task wakes it before
 * that time only if the task has an earlier deadline. There is an alarm for each of the two clocks,
 * the monotonic clock and the wall clock. Both alarms work in the same way:
 *
 *      clock thread                          a thread that schedules
 *
 *      (awake; armed = 0)                    lock the shard
 *      armed := NEVER              (1)         put the task into the wheel
 *      read wake_tick of all shards(2)         if earlier: wake_tick := tick   (3)
 *      set the alarm, armed := least         unlock
 *      sleep                                 if tick < armed:                  (4)
 *      armed := 0                                set the alarm, armed := tick
 *
 * (1) and (3) are sequentially consistent stores, (2) and (4) are sequentially consistent loads. If
 * (4) finds an old `armed`, then (4) came before (1), so (3) came before (2): the clock thread sees
 * the new wake_tick. Otherwise (4) finds NEVER or the tick that was armed, and the thread that
 * schedules sets the alarm if its own tick is earlier. Any thread that holds `lock` may set the
 * alarms. An alarm wakes the clock thread by itself, so no thread has to wake another.
 *
 * A shard also has a `cascade_tick`, from which timers can be cascaded ahead. It is handled as
 * wake_tick is: (2) reads both, (3) may lower both, and (4) compares the earlier of the two.
 *
 * When somebody sets the wall clock, the alarm of the wall clock goes off. The clock thread then
 * reads that clock again.
 *
 * A kick wakes the clock thread for another reason than a deadline: there is room in the work queue
 * again, or the scheduler is closing. A kick has an alarm of its own, which no clock sets off.
 *
 * If the system refuses to set an alarm at the start, the scheduler is not started. If the system
 * refuses later, no deadline is missed: the clock thread waits with a time-out in place of the
 * alarm. Another thread that cannot set the alarm to an earlier time kicks the clock thread.
 *
 * tests/scheduler/spin/ holds a model of this protocol. A model checker tries all orders of its
 * steps.
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
    _Atomic uint64_t armed_tick; /* written with the sleeper's lock held; 0: the clock
                                    thread is awake */
};

struct elapse__sleeper {
    struct elapse__lock lock;
    struct elapse__alarm monotonic;
    struct elapse__alarm wall_clock;
    struct elapse__os_alarm kick; /* this alarm goes off when it is set */
    bool kicked;                  /* the next sleep ends at once; guarded by `lock` */
    uint64_t tick_ns;             /* never changes */
};

/* Makes a sleeper whose alarms are closed. Returns false if the system has no lock to give. */
bool elapse__sleeper_init(struct elapse__sleeper *sleeper, uint64_t tick_ns);
void elapse__sleeper_free(struct elapse__sleeper *sleeper);

/* Opens the alarms: one by the given monotonic clock, one by the wall clock, and one for kicks.
 * Returns false if the system has no alarms to give, or refuses to set them; then all alarms are
 * closed. */
bool elapse__sleeper_open(struct elapse__sleeper *sleeper, enum elapse__os_clock clock);

/* Closes the alarms that are open. A later kick does nothing. */
void elapse__sleeper_close(struct elapse__sleeper *sleeper);

/* Makes a descriptor that is readable while one of the alarms is readable. Returns false if the
 * system has no descriptor to give. */
bool elapse__sleeper_watch(const struct elapse__sleeper *sleeper, int *descriptor);

/* Announces that the clock thread is about to sleep. After this call the clock thread must read the
 * wake_ticks of all shards a last time. */
void elapse__sleeper_prepare(struct elapse__sleeper *sleeper);

/* Sleeps until one of the ticks begins, or an earlier tick that another thread has passed to
 * wake_at. A kick and a change of the wall clock end the sleep, too. Sleeps for at most
 * `timeout_ns`; ELAPSE_NEVER: without end. Requires that prepare was called before. */
void elapse__sleeper_sleep(struct elapse__sleeper *sleeper, struct elapse__ticks until,
                           uint64_t timeout_ns);

/* If the program waits for the descriptor itself, three functions take the place of sleep. Call
 * reset first: it makes alarms that have gone off unreadable again. Then call prepare. Then call
 * set, which sets the alarms. In this order an alarm that goes off after prepare stays readable. */
void elapse__sleeper_reset(struct elapse__sleeper *sleeper);
void elapse__sleeper_set(struct elapse__sleeper *sleeper, struct elapse__ticks until);

/* Makes sure that the clock thread is awake when these ticks begin. Any thread that holds no lock
 * may call it. */
void elapse__sleeper_wake_at(struct elapse__sleeper *sleeper, struct elapse__ticks ticks);

/* Wakes the clock thread now, or makes its next sleep end at once. Any thread that holds no lock
 * may call it. */
void elapse__sleeper_kick(struct elapse__sleeper *sleeper);

/* Makes an alarm go off now, so that a descriptor that watches it stays readable. Requires that no
 * thread sleeps, and that no thread will reset the alarms or sleep later. */
void elapse__sleeper_stay_readable(struct elapse__sleeper *sleeper);

#endif
