/*
 * The wheels of a queue, in milliseconds.
 *
 *      boot     delays and leases, by the boot-time clock          timers of entries
 *      wall     AT, EVERY and CRON, by the wall clock              timers of entries
 *      expiry   EXPIRE of ready jobs, by the boot-time clock       timers of side records
 *      alarms   ends of pauses, next tokens of rates, by the       timers of tubes and buckets
 *               boot-time clock
 *
 * The wall clock can be set back, but the time of a wheel cannot. So when the wall clock was set
 * back, the wheel is built anew in slices:
 *
 *      STEADY --- the wall clock is behind the wheel ---> COLLECTING
 *        ^                                                    | all timers are out of the wheel
 *        |                                                    v
 *        +------- all timers are in the wheel again ------ PLACING (the wheel is made anew)
 *
 * While the wheel is built anew, entries whose timers are in no wheel are in the ring `unplaced`,
 * with their deadlines. None of these entries comes due until the wheel is STEADY again.
 */
#ifndef ELAPSE__QUEUE_CLOCKS_H
#define ELAPSE__QUEUE_CLOCKS_H

#include "job.h"

enum elapse__queue_wall_stage {
    ELAPSE__QUEUE_STEADY,
    ELAPSE__QUEUE_COLLECTING,
    ELAPSE__QUEUE_PLACING,
};

struct elapse__queue_clocks {
    struct elapse_wheel boot;
    struct elapse_wheel wall;
    struct elapse_wheel expiry;
    struct elapse_wheel alarms;
    enum elapse__queue_wall_stage stage;
    struct elapse__ring_node unplaced;
    uint64_t least_unplaced; /* no deadline of the ring is earlier */
};

/* Makes all wheels empty, at these ticks. Returns false if this program was compiled with another
 * version of elapse/wheel.h than that of the library. */
bool elapse__queue_clocks_init(struct elapse__queue_clocks *clocks, uint64_t boot_tick,
                               uint64_t wall_tick);

/* Starts the timer of an entry at a tick of one clock. Requires that it is idle. `now_tick` is the
 * present of the wall clock. */
void elapse__queue_clocks_start(struct elapse__queue_clocks *clocks,
                                struct elapse__queue_entry *entry, bool by_wall, uint64_t tick,
                                uint64_t now_tick);

/* Takes the timer of an entry out of its wheel or the ring. The timer's deadline stays readable. */
void elapse__queue_clocks_stop(struct elapse__queue_clocks *clocks,
                               struct elapse__queue_entry *entry, bool by_wall);

/* If the wall clock was set back, goes on to build its wheel anew, and moves up to `most` timers.
 * Returns true when the wheel is STEADY. */
bool elapse__queue_clocks_follow(struct elapse__queue_clocks *clocks, uint64_t wall_tick,
                                 uint32_t most);

#endif
