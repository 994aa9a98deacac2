/*
 * Lets threads of a store wait, and wakes them. The head of wake.c proves that no thread sleeps
 * while it has work.
 */
#ifndef ELAPSE__STORE_WAKE_H
#define ELAPSE__STORE_WAKE_H

#include "store.h"

/* Returns the time of the monotonic clock at which a wait ends that begins at `now_ns` and takes
 * `timeout_ms`. */
static inline uint64_t elapse__store_end_ns(uint64_t now_ns, uint64_t timeout_ms)
{
    if (timeout_ms > (UINT64_MAX - now_ns) / ELAPSE__STORE_NS_PER_MS)
        return ELAPSE__OS_NEVER;
    return now_ns + timeout_ms * ELAPSE__STORE_NS_PER_MS;
}

/* Returns the time of the monotonic clock at which a wait ends that begins now and takes
 * `timeout_ms`. */
static inline uint64_t elapse__store_until_ns(uint64_t timeout_ms)
{
    return elapse__store_end_ns(elapse__os->clock_ns(ELAPSE__OS_MONOTONIC), timeout_ms);
}

/* Returns whether the time that elapse__store_until_ns returned has come. */
static inline bool elapse__store_has_passed(uint64_t until_ns)
{
    return until_ns != ELAPSE__OS_NEVER && elapse__os->clock_ns(ELAPSE__OS_MONOTONIC) >= until_ns;
}

/* ---- all functions below require the lock of the store ---- */

/* Sets the alarms, and wakes the commit thread and the reservers that have something to do now.
 * Call this after a change, before the lock is released. */
void elapse__store_pass_on(struct elapse_queue *store);

/* Does what elapse__store_pass_on does, but does not signal the commit thread. Returns whether the
 * caller must do so, by elapse__store_signal_commit. */
bool elapse__store_pass_on_but_commit(struct elapse_queue *store);

/* Signals the commit thread. Does not require the lock. */
void elapse__store_signal_commit(struct elapse_queue *store);

/* Waits until there is probably a job for the reserve. The wait ends at `until_ns` of the monotonic
 * clock at the latest. Returns OK, TIMEOUT, CLOSED, BROKEN or SYSTEM. */
enum elapse_error elapse__store_sleep(struct elapse_queue *store,
                                      const struct elapse__queue_reserve *reserve,
                                      uint64_t until_ns);

/* Waits until another thread calls elapse__store_tell_progress. Returns false when `until_ns` has
 * come. */
bool elapse__store_wait_progress(struct elapse_queue *store, uint64_t until_ns);

/* Wakes the threads that wait for progress. Call this when more is durable, or when the journal may
 * have room. */
void elapse__store_tell_progress(struct elapse_queue *store);

/* Makes the descriptor that the user may watch readable. */
void elapse__store_tell_watcher(struct elapse_queue *store);

/* Wakes all threads of users. */
void elapse__store_wake_all(struct elapse_queue *store);

/* The state of the journal when a command last waited for room. The struct begins as zeros. */
struct elapse__store_stall {
    uint64_t durable, tail, spares, cleaned_bytes;
    uint64_t until_ns; /* the wait ends at this time if nothing has moved until then */
};

/* Waits until the journal may have room. Returns OK, CLOSED or BROKEN. If nothing has moved in the
 * journal for some seconds, returns the reason why cleaning makes no room: MEMORY or DISK_FULL. */
enum elapse_error elapse__store_wait_room(struct elapse_queue *store,
                                          struct elapse__store_stall *stall);

/* Lets the background thread look whether the disk is still full. Call this when a command was
 * refused because the disk is full. */
void elapse__store_retry_room(struct elapse_queue *store);

/* Tells the journal what time it is. Returns that time by the monotonic clock. */
uint64_t elapse__store_tick(struct elapse_queue *store);

/* Lets the commit thread write and sync the records that came while a thread of a user did that in
 * its place. Call this when the thread of the user performs no more operations. */
void elapse__store_stop_leading(struct elapse_queue *store);

/* Wakes the thread of a lane, if it sleeps. */
void elapse__store_wake_lane(struct elapse_queue *store, enum elapse__journal_lane lane);

/* Wakes the background thread, if the journal has an operation for it. */
void elapse__store_offer_background(struct elapse_queue *store);

/* Waits until the thread of this lane is woken. */
void elapse__store_sleep_in_lane(struct elapse_queue *store, enum elapse__journal_lane lane,
                                 uint64_t until_ns);

#endif
