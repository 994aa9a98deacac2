/*
 * Lets threads wait, and wakes them. A thread that changes something under the lock wakes the
 * threads that wait for that change, and no others. It does so before it releases the lock.
 *
 *      reservers   wait for a job in a ring. Each has a condition of its own, and the reserver that
 *                  came first is woken first. A job that no reserver can take wakes none.
 *      progress    threads in commit, in close, and in commands that wait until something is
 *                  durable or until the journal has room. All are woken together when something
 *                  became durable. If one of them waits for room, they are woken when any operation
 *                  has ended.
 *      commit      the thread that writes groups. It is woken if a thread waits for a new record,
 *                  or if much was appended. If neither is so, it looks by itself within
 *                  ELAPSE__STORE_LINGER_MS. So a thousand puts and then a commit make one group and
 *                  not five. A user's thread that commits may lead: it writes the group itself if
 *                  no other thread does (elapse__store_lead). At the end it wakes the commit thread
 *                  for records that came meanwhile (elapse__store_stop_leading).
 *      background  the thread that makes spares and cleans. The thread that wakes it hands it an
 *                  operation, because only the journal knows whether there is one, and mostly there
 *                  is none. It is also woken when the memory of the queues is low, to refill it.
 *
 * The proof that no reserver sleeps while there is a job for it. A reserver is a sleeper while it
 * is in the ring. It is woken from its removal until it runs. The following holds whenever no
 * thread has the lock:
 *
 *      W   there is no job for any sleeper, or some reserver is woken.
 *
 *   1. A reserver that begins to sleep has looked for a job since it last took the lock. So W holds
 *      then, as far as this reserver is concerned.
 *   2. A change that brings a job for a sleeper increases `readied`. The thread that made the
 *      change calls elapse__store_pass_on before it releases the lock. pass_on wakes sleepers for
 *      which there is a job, until as many are woken as jobs are ready. If pass_on wakes fewer,
 *      there is no job for the sleepers that are left. If not, some reserver is woken. So W holds.
 *   3. A woken reserver that runs takes a job or finds none. It finds none if another thread was
 *      quicker, or if it does not want the job that is left. In both cases it makes pass_on look at
 *      all sleepers again, before it releases the lock. When the last woken reserver runs, no other
 *      is woken. So pass_on stops only when there is no job for any sleeper, or when one is woken.
 *      W holds.
 *
 * One job wakes one reserver. If jobs of several tubes are ready, their count may let pass_on wake
 * one reserver too many, which sleeps again.
 *
 * The proof that no thread of the journal sleeps while there is work for it. Each thread asks the
 * journal for an operation, under the lock, just before it sleeps. Later a change comes from one of
 * three places:
 *
 *   - from a command: pass_on wakes the commit thread for the records, unless that thread lingers,
 *     which means that it looks by itself soon. The loop of a server signals after it has released
 *     the lock (elapse__store_leave_as_owner). The thread counts as woken from before the release
 *     on, and the signal always follows;
 *   - from an operation of the other lane: the thread of that lane wakes this one;
 *   - from time: a journal that still has work waits only for a limited time.
 *
 * A full disk is the exception. The journal has no work then, and another program may make room at
 * any time. So a command that is refused because the disk is full asks the journal to try again
 * (elapse__store_retry_room). The next command profits from that.
 */
#include <errno.h>

#include "../../base/assert.h"
#include "memory.h"
#include "wake.h"

/* A thread that waits for room looks again after this time, because time alone may make room in the
 * journal. */
#define ROOM_LOOK_MS UINT64_C(100)

/* A thread stops waiting for room if nothing has moved in the journal for this time. */
#define ROOM_PATIENCE_MS UINT64_C(2000)

/* ---- the threads of the journal ---- */

void elapse__store_wake_lane(struct elapse_queue *store, enum elapse__journal_lane lane)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (!store->lanes[lane].asleep)
        return;
    store->lanes[lane].asleep = false;
    elapse__condition_signal(&store->lanes[lane].condition);
}

void elapse__store_offer_background(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (elapse__store_memory_is_low())
        elapse__store_wake_lane(store, ELAPSE__LANE_BACKGROUND);
    if (store->has_offer || store->background_ended ||
        !elapse__journal_next_operation(store->engine.journal, ELAPSE__LANE_BACKGROUND,
                                        &store->offer))
        return;
    store->has_offer = true;
    elapse__store_wake_lane(store, ELAPSE__LANE_BACKGROUND);
}

void elapse__store_sleep_in_lane(struct elapse_queue *store, enum elapse__journal_lane lane,
                                 uint64_t until_ns)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    ELAPSE__ASSERT(!store->lanes[lane].asleep); /* each lane has one thread */
    store->lanes[lane].asleep = true;
    (void)elapse__condition_wait_at_most(&store->lanes[lane].condition, &store->lock, until_ns);
    store->lanes[lane].asleep = false;
}

/* ---- reservers ---- */

static struct elapse__store_sleeper *sleeper_of(struct elapse__ring_node *link)
{
    return (struct elapse__store_sleeper *)(void *)link;
}

static void wake_sleeper(struct elapse_queue *store, struct elapse__store_sleeper *sleeper)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    ELAPSE__ASSERT(!sleeper->woken);
    (void)elapse__ring_remove(&sleeper->ring_node);
    sleeper->woken = true;
    store->woken++;
    elapse__condition_signal(&sleeper->condition);
}

/* Wakes the sleepers for which there is a job (steps 2 and 3 above). */
static void wake_sleepers(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    uint64_t readied = elapse__queue_readied(store->engine.jobs);
    uint64_t ready = elapse__queue_ready(store->engine.jobs);
    struct elapse__ring_node *link = store->sleepers.next;

    if (readied == store->readied && !store->looks_again)
        return;
    store->readied = readied;
    store->looks_again = false;
    while (link != &store->sleepers && store->woken < ready) {
        struct elapse__store_sleeper *sleeper = sleeper_of(link);
        link = link->next;
        if (elapse__queue_has_ready(store->engine.jobs, sleeper->reserve))
            wake_sleeper(store, sleeper);
    }
}

/* Returns whether the commit thread has to be woken to write now. If not, the thread looks by
 * itself soon, and more records may join the group meanwhile. */
static bool is_urgent(const struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    uint64_t written = elapse__journal_durable(store->engine.journal);

    return !store->lanes[ELAPSE__LANE_COMMIT].lingers || store->progress_waiters > 0 ||
           store->watched || store->engine.last_position - written >= ELAPSE__STORE_LINGER_BYTES;
}

/* Returns the time of an alarm in nanoseconds, or ELAPSE__OS_NEVER if no alarm can be so late. */
static uint64_t alarm_ns(uint64_t time_ms)
{
    return time_ms > UINT64_MAX / ELAPSE__STORE_NS_PER_MS ? ELAPSE__OS_NEVER
                                                          : time_ms * ELAPSE__STORE_NS_PER_MS;
}

/* Sets an alarm to an earlier time if the queue has something to do before the alarm goes off. When
 * the alarm has gone off, the thread that turns the queue sets it again. */
static void set_alarms(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (store->follows || store->fenced)
        return; /* no timer runs */
    struct elapse__queue_due due = elapse__queue_next_due(store->engine.jobs);

    if (due.boot_ms < store->alarm_boot_ms) {
        store->alarm_boot_ms = due.boot_ms;
        (void)elapse__os->alarm_set(&store->alarms[ELAPSE__STORE_ALARM_BOOT],
                                    alarm_ns(due.boot_ms));
    }
    if (due.wall_ms < store->alarm_wall_ms) {
        store->alarm_wall_ms = due.wall_ms;
        (void)elapse__os->alarm_set(&store->alarms[ELAPSE__STORE_ALARM_WALL],
                                    elapse__store_wall_alarm_ns(due.wall_ms));
    }
}

bool elapse__store_pass_on_but_commit(struct elapse_queue *store)
{
    struct elapse__store_lane *lane = &store->lanes[ELAPSE__LANE_COMMIT];

    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    set_alarms(store);
    bool wakes_commit =
        lane->asleep && store->engine.last_position != store->seen_position && is_urgent(store);
    if (wakes_commit)
        lane->asleep = false;
    wake_sleepers(store);
    /* Tests W of the proof above for the first sleeper: there is no job for it, or some reserver is
     * woken. */
    ELAPSE__ASSERT(
        store->woken > 0 || elapse__ring_empty(&store->sleepers) ||
        !elapse__queue_has_ready(store->engine.jobs, sleeper_of(store->sleepers.next)->reserve));
    return wakes_commit;
}

void elapse__store_signal_commit(struct elapse_queue *store)
{
    elapse__condition_signal(&store->lanes[ELAPSE__LANE_COMMIT].condition);
}

void elapse__store_pass_on(struct elapse_queue *store)
{
    if (elapse__store_pass_on_but_commit(store))
        elapse__store_signal_commit(store);
}

/* Wakes the commit thread for records that came while another thread led. The commit thread may
 * have been woken for these records before. It could do nothing then, and may sleep for long
 * now. */
void elapse__store_stop_leading(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    bool has_more = store->engine.last_position > elapse__journal_durable(store->engine.journal);

    if (has_more && !store->lanes[ELAPSE__LANE_COMMIT].busy && is_urgent(store))
        elapse__store_wake_lane(store, ELAPSE__LANE_COMMIT);
}

enum elapse_error elapse__store_sleep(struct elapse_queue *store,
                                      const struct elapse__queue_reserve *reserve,
                                      uint64_t until_ns)
{
    struct elapse__store_sleeper sleeper = {.reserve = reserve};

    /* A thread that begins to wait after the store was stopped would never be woken. */
    enum elapse_error error = elapse__store_may_hand_out(store);
    if (error != ELAPSE_OK)
        return error;
    if (elapse__store_has_passed(until_ns))
        return ELAPSE_ERROR_TIMEOUT;
    if (elapse__os->condition_init(&sleeper.condition) != 0)
        return ELAPSE_ERROR_SYSTEM;
    elapse__ring_append(&store->sleepers, &sleeper.ring_node);
    elapse__store_pass_on(store);
    bool in_time = true;
    while (!sleeper.woken && in_time)
        in_time = elapse__condition_wait_at_most(&sleeper.condition, &store->lock, until_ns);
    if (sleeper.woken) {
        ELAPSE__ASSERT_THAT(store->woken, >, 0);
        store->woken--;
        store->looks_again = true;
    } else {
        (void)elapse__ring_remove(&sleeper.ring_node);
    }
    elapse__condition_free(&sleeper.condition);
    return sleeper.woken ? elapse__store_may_hand_out(store) : ELAPSE_ERROR_TIMEOUT;
}

static void wake_reservers(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    while (!elapse__ring_empty(&store->sleepers))
        wake_sleeper(store, sleeper_of(store->sleepers.next));
}

/* ---- progress ---- */

void elapse__store_tell_progress(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (store->progress_waiters > 0)
        elapse__condition_broadcast(&store->progress);
}

void elapse__store_tell_watcher(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (store->watched)
        (void)elapse__os->alarm_set(&store->news, 0);
}

void elapse__store_wake_all(struct elapse_queue *store)
{
    wake_reservers(store);
    elapse__store_tell_progress(store);
    elapse__store_tell_watcher(store);
}

bool elapse__store_wait_progress(struct elapse_queue *store, uint64_t until_ns)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    store->progress_waiters++;
    bool in_time = elapse__condition_wait_at_most(&store->progress, &store->lock, until_ns);
    ELAPSE__ASSERT_THAT(store->progress_waiters, >=, store->room_waiters);
    store->progress_waiters--;
    return in_time;
}

/* ---- room ---- */

uint64_t elapse__store_tick(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    /* The clock is read under the lock. So no thread tells the journal an earlier time than another
     * thread has told it before. */
    uint64_t now_ns = elapse__os->clock_ns(ELAPSE__OS_MONOTONIC);

    elapse__journal_tick(store->engine.journal, now_ns / ELAPSE__STORE_NS_PER_MS);
    return now_ns;
}

void elapse__store_retry_room(struct elapse_queue *store)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (elapse__store_is_broken(store))
        return;
    (void)elapse__store_tick(store);
    elapse__store_offer_background(store);
    elapse__store_wake_lane(store, ELAPSE__LANE_COMMIT);
}

/* Returns whether nothing has moved in the journal since the previous call. */
static bool stands_still(struct elapse_queue *store, struct elapse__store_stall *stall)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    struct elapse__journal_figures figures;

    elapse__journal_figures(store->engine.journal, &figures);
    struct elapse__store_stall now = {
        .durable = elapse__journal_durable(store->engine.journal),
        .tail = figures.tail,
        .spares = figures.spares,
        .cleaned_bytes = figures.cleaned_bytes,
    };
    bool same = now.durable == stall->durable && now.tail == stall->tail &&
                now.spares == stall->spares && now.cleaned_bytes == stall->cleaned_bytes;
    now.until_ns = stall->until_ns;
    *stall = now;
    return same && !store->lanes[ELAPSE__LANE_COMMIT].busy &&
           !store->lanes[ELAPSE__LANE_BACKGROUND].busy;
}

enum elapse_error elapse__store_wait_room(struct elapse_queue *store,
                                          struct elapse__store_stall *stall)
{
    ELAPSE__ASSERT_LOCK_HELD(&store->lock);
    if (!stands_still(store, stall) || stall->until_ns == 0)
        stall->until_ns = elapse__store_until_ns(ROOM_PATIENCE_MS);
    else if (elapse__store_has_passed(stall->until_ns))
        return store->engine.clean_error == ENOMEM ? ELAPSE_ERROR_MEMORY : ELAPSE_ERROR_DISK_FULL;
    elapse__store_pass_on(store);
    elapse__store_wake_lane(store, ELAPSE__LANE_COMMIT);
    elapse__store_offer_background(store);
    store->room_waiters++;
    (void)elapse__store_wait_progress(store, elapse__store_until_ns(ROOM_LOOK_MS));
    ELAPSE__ASSERT_THAT(store->room_waiters, >, 0);
    store->room_waiters--;
    return elapse__store_life_error(store);
}
