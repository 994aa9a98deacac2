/*
 * The lower floor of the queue (inner.h has the floors): the present, and the tables that jobs lie
 * in. Nothing here knows the states of a job.
 */
#ifndef ELAPSE__QUEUE_TABLES_H
#define ELAPSE__QUEUE_TABLES_H

#include "inner.h"

/* ---- the present (now.c) ---- */

/* Stores the present: within the limits of times, and never earlier by the boot-time clock than it
 * was. */
void elapse__queue_take_now(struct elapse__queue *queue, struct elapse__queue_now now);

/* Returns the tick of the present, by one of the two clocks. */
static inline uint64_t elapse__queue_present(const struct elapse__queue *queue, bool by_wall)
{
    return by_wall ? elapse__queue_wall_tick(queue->now.wall_ms)
                   : elapse__queue_boot_tick(queue->now.boot_ms);
}

/* Returns what a time from the present has to be in ticks, so that it is not over early: a present
 * that is rounded down may lie a millisecond back. */
static inline uint64_t elapse__queue_whole(const struct elapse__queue *queue, uint64_t delay_ms)
{
    return delay_ms + (delay_ms > 0 && queue->options.present_is_rounded ? 1 : 0);
}

/* Returns the boot-time tick after a delay from the present. */
static inline uint64_t elapse__queue_after(const struct elapse__queue *queue, uint64_t delay_ms)
{
    ELAPSE__ASSERT_THAT(delay_ms, <=, (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX);
    return elapse__queue_present(queue, false) + elapse__queue_whole(queue, delay_ms);
}

/* Returns how long it is from the present to a boot-time tick that elapse__queue_after returned: no
 * more than the delay that was given there. */
static inline uint64_t elapse__queue_left(const struct elapse__queue *queue,
                                          struct elapse__queue_now now, uint64_t tick)
{
    uint64_t present =
        elapse__queue_boot_tick(now.boot_ms) + (queue->options.present_is_rounded ? 1 : 0);
    return tick > present ? tick - present : 0;
}

/* Returns the wall-clock time of a tick, by the difference of the two clocks now. */
int64_t elapse__queue_tick_to_ms(const struct elapse__queue *queue, bool by_wall, uint64_t tick);

/* Returns the tick of a wall-clock time, by the difference of the two clocks now. */
uint64_t elapse__queue_ms_to_tick(const struct elapse__queue *queue, bool by_wall, int64_t wall_ms);

/* ---- tubes (tubes.c) ---- */

enum elapse__queue_place_kind {
    ELAPSE__QUEUE_PLACE_FREE,
    ELAPSE__QUEUE_PLACE_TUBE,
    ELAPSE__QUEUE_PLACE_GROUP,
};

/* A place in the table of tubes and groups. Its first four bytes belong to the table while it is
 * free. */
struct elapse__queue_place {
    uint32_t unused;
    uint32_t kind;
    union {
        struct elapse__queue_tube *tube;
        struct elapse__queue_group *group;
    } at;
};

static inline struct elapse__queue_place *elapse__queue_place_at(const struct elapse__queue *queue,
                                                                 uint32_t number)
{
    return elapse__queue_slab_at(&queue->tubes, number);
}

/* Returns the tube with this number, or that of the group with this number. */
struct elapse__queue_tube *elapse__queue_tube_at(const struct elapse__queue *queue,
                                                 uint32_t number);

static inline struct elapse__queue_tube *
elapse__queue_tube_of(const struct elapse__queue *queue, const struct elapse__queue_entry *entry)
{
    uint32_t number = entry->tube_state & ELAPSE__QUEUE_TUBE_MASK;
    /* Most jobs that follow one another have the same tube. */
    if (queue->last_tube != NULL && queue->last_tube->number == number)
        return queue->last_tube;
    return elapse__queue_tube_at(queue, number);
}

/* Returns whether a job is in the tube, in any group. */
static inline bool elapse__queue_is_in(const struct elapse__queue *queue,
                                       const struct elapse__queue_entry *entry,
                                       const struct elapse__queue_tube *tube)
{
    uint32_t number = entry->tube_state & ELAPSE__QUEUE_TUBE_MASK;
    return number == tube->number ||
           (tube->turns != NULL && elapse__queue_tube_at(queue, number) == tube);
}

/* Returns the tube with this name, or NULL. */
struct elapse__queue_tube *elapse__queue_tube_find(const struct elapse__queue *queue,
                                                   struct elapse__queue_text name);

/* Returns why a tube can have no groups and no limits, which count within one partition: its jobs
 * may lie in several. NULL: they lie in one. */
const char *elapse__queue_split_fault(const struct elapse__queue *queue,
                                      struct elapse__queue_text name);

/* Finds or makes a tube. Returns OK, NO_MEMORY or LIMIT. */
enum elapse__queue_result elapse__queue_tube_get(struct elapse__queue *queue,
                                                 struct elapse__queue_text name,
                                                 struct elapse__queue_tube **tube);

/* Does what elapse__queue_tube_hold does; if `always`, also if there are as many tubes as
 * tubes_max.
 */
enum elapse__queue_result elapse__queue_hold_tube(struct elapse__queue *queue,
                                                  struct elapse__queue_text name, bool always);

/* Releases the tube if it has no jobs, no groups, no holds and no settings. */
void elapse__queue_tube_end_if_empty(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* Drops one hold of the tube. Requires that it has one. */
void elapse__queue_tube_release(struct elapse__queue *queue, struct elapse__queue_tube *tube);
void elapse__queue_tubes_init(struct elapse__queue *queue);
void elapse__queue_tubes_free(struct elapse__queue *queue);

static inline bool elapse__queue_paused(const struct elapse__queue_tube *tube)
{
    return tube->record != NULL && elapse_timer_pending(&tube->record->pause.timer);
}

/* Returns the next tube after `*number`, which begins as 0; NULL: there is no more. */
struct elapse__queue_tube *elapse__queue_next_tube(const struct elapse__queue *queue,
                                                   uint32_t *number);

/* ---- the settings of a tube (tube_record.c) ---- */

/* Makes sure that the tube has a record. Returns it, or NULL if there is no memory. */
struct elapse__queue_tube_record *elapse__queue_tube_record_get(struct elapse__queue *queue,
                                                                struct elapse__queue_tube *tube);

/* The TUBE of a tube lies at this position now, and has this size; 0 and 0: there is none. */
void elapse__queue_tube_record_move(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                                    uint64_t position, uint32_t size);

/* Counts anew how many ready jobs the limits hold back. Requires that the tube has a record. */
void elapse__queue_count_held(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* Releases the record of a tube if its settings say nothing, and its groups are not moved. The tube
 * may end by that. */
void elapse__queue_tube_record_settle(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* Ends the pause of a tube, whose timer is idle. The tube may end by that. */
void elapse__queue_pause_end(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* Takes a TUBE that is replayed. Returns OK, NO_MEMORY or LIMIT. */
enum elapse__queue_result elapse__queue_tube_record_replay(struct elapse__queue *queue,
                                                           uint64_t position,
                                                           const struct elapse__record *record);

/* Starts the pauses that go on after a replay, and ends the others. */
void elapse__queue_tube_records_open(struct elapse__queue *queue);

/* Ends the settings whose records lie below this position. */
void elapse__queue_tube_records_forget(struct elapse__queue *queue, uint64_t position);

/* ---- groups (groups.c) ---- */

void elapse__queue_groups_init(struct elapse__queue *queue);

static inline struct elapse__queue_group *elapse__queue_group_at(const struct elapse__queue *queue,
                                                                 uint32_t number)
{
    const struct elapse__queue_place *place = elapse__queue_place_at(queue, number);
    ELAPSE__ASSERT_THAT(place->kind, ==, ELAPSE__QUEUE_PLACE_GROUP);
    return place->at.group;
}

static inline struct elapse__queue_tube *
elapse__queue_tube_of_group(const struct elapse__queue *queue,
                            const struct elapse__queue_group *group)
{
    const struct elapse__queue_place *place = elapse__queue_place_at(queue, group->tube);
    ELAPSE__ASSERT_THAT(place->kind, ==, ELAPSE__QUEUE_PLACE_TUBE);
    return place->at.tube;
}

/* Returns the group of a job of the tube; NULL: the job has none. */
static inline struct elapse__queue_group *
elapse__queue_group_of(const struct elapse__queue *queue, const struct elapse__queue_tube *tube,
                       const struct elapse__queue_entry *entry)
{
    uint32_t number = entry->tube_state & ELAPSE__QUEUE_TUBE_MASK;
    return number == tube->number ? NULL : elapse__queue_group_at(queue, number);
}

/* Gives an entry that has no number yet the number of its group, which is made if there is none.
 * Returns OK, NO_MEMORY or GROUPS_FULL. */
enum elapse__queue_result elapse__queue_group_join(struct elapse__queue *queue,
                                                   struct elapse__queue_tube *tube,
                                                   struct elapse__queue_text name,
                                                   struct elapse__queue_entry *entry);

/* Returns the group with this name, or NULL. */
struct elapse__queue_group *elapse__queue_group_find(const struct elapse__queue *queue,
                                                     const struct elapse__queue_tube *tube,
                                                     struct elapse__queue_text name);

/* Finds or makes a group, which the caller gives an entry or a bucket. Returns OK, NO_MEMORY or
 * GROUPS_FULL. */
enum elapse__queue_result elapse__queue_group_get(struct elapse__queue *queue,
                                                  struct elapse__queue_tube *tube,
                                                  struct elapse__queue_text name,
                                                  struct elapse__queue_group **group);

/* Drops the reference of an entry of the group. A group without references and bucket ends. */
void elapse__queue_group_leave(struct elapse__queue *queue, struct elapse__queue_group *group);

/* Ends a group that has neither. The caller trims the turns of its tube. */
void elapse__queue_group_end(struct elapse__queue *queue, struct elapse__queue_group *group);

/* Releases the memory of a group. */
void elapse__queue_group_free(const struct elapse__queue *queue, struct elapse__queue_group *group);

/* ---- turns: which job of a tube is handed out next (turns.c) ---- */

/* Makes the turns of a tube, if it has none, and room for one more group. Returns false if there is
 * no memory. */
bool elapse__queue_turns_reserve(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* Releases what the turns of a tube do not need; without groups, all of them. */
void elapse__queue_turns_trim(struct elapse__queue *queue, struct elapse__queue_tube *tube);
void elapse__queue_turns_free(const struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* The next functions require that the tube has turns. */
bool elapse__queue_turns_ready_reserve(struct elapse__queue *queue,
                                       struct elapse__queue_group *group);

/* Keeps a place for one more ready job of a group until elapse__queue_turns_unkeep. Returns false
 * if there is no memory. */
bool elapse__queue_turns_keep(struct elapse__queue *queue, struct elapse__queue_group *group);
void elapse__queue_turns_unkeep(struct elapse__queue *queue, struct elapse__queue_group *group);

void elapse__queue_turns_add(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                             struct elapse__queue_entry *entry);
void elapse__queue_turns_remove(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                                struct elapse__queue_entry *entry);
void elapse__queue_turns_pass(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                              const struct elapse__queue_entry *entry);

/* Makes room for a ready job. Returns false if there is no memory. */
static inline bool elapse__queue_ready_reserve(struct elapse__queue *queue,
                                               const struct elapse__queue_entry *entry)
{
    struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    struct elapse__queue_group *group = elapse__queue_group_of(queue, tube, entry);
    return group == NULL ? elapse__queue_heap_reserve(&tube->ready, 1, &queue->memory)
                         : elapse__queue_turns_ready_reserve(queue, group);
}

/* Add a ready job to its tube, which requires that there is room; and take a ready job out. */
static inline void elapse__queue_ready_add(struct elapse__queue *queue,
                                           struct elapse__queue_tube *tube,
                                           struct elapse__queue_entry *entry)
{
    if (tube->turns == NULL)
        elapse__queue_heap_push(&tube->ready, &queue->jobs, entry);
    else
        elapse__queue_turns_add(queue, tube, entry);
}

static inline void elapse__queue_ready_remove(struct elapse__queue *queue,
                                              struct elapse__queue_tube *tube,
                                              struct elapse__queue_entry *entry)
{
    if (tube->turns == NULL)
        elapse__queue_heap_remove(&tube->ready, &queue->jobs, entry, &queue->memory);
    else
        elapse__queue_turns_remove(queue, tube, entry);
}

/* Draws a new turn for the group of a job that was handed out: the other groups come first. The job
 * counts as running already. */
static inline void elapse__queue_turn_passes(struct elapse__queue *queue,
                                             struct elapse__queue_tube *tube,
                                             const struct elapse__queue_entry *entry)
{
    if (tube->turns != NULL)
        elapse__queue_turns_pass(queue, tube, entry);
}

/* Puts the group of a job where it belongs, after the count of its running jobs has changed. */
void elapse__queue_turns_stand(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                               const struct elapse__queue_entry *entry);

/* Returns whether the limits of each group let this job run now. In a tube whose groups have an
 * order a ready job has to be the first of its group. */
bool elapse__queue_turns_let_run(const struct elapse__queue *queue,
                                 const struct elapse__queue_tube *tube,
                                 const struct elapse__queue_entry *entry);

/* Puts a group of the tube where it belongs, whatever has changed. Does not count what is held. */
void elapse__queue_turns_place(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                               struct elapse__queue_group *group);

/* Returns for how long the first ready job of a group has been due; 0: there is none. */
uint64_t elapse__queue_group_overdue_ms(const struct elapse__queue *queue,
                                        const struct elapse__queue_tube *tube,
                                        const struct elapse__queue_group *group,
                                        struct elapse__queue_now now);

void elapse__queue_pass_init(struct elapse__queue *queue);

/* Returns whether some groups of the tube still stand where an earlier limit put them. */
static inline bool elapse__queue_is_moving(const struct elapse__queue_tube *tube)
{
    return tube->turns != NULL && tube->turns->moving.next != NULL;
}

/* Returns whether each group of the tube hands out in its order, one job after the other. */
static inline bool elapse__queue_is_ordered(const struct elapse__queue_tube *tube)
{
    return tube->record != NULL && tube->record->settings.group_order != 0;
}

/* Returns whether the tube has a limit of running jobs: in all, or in each group. */
static inline bool elapse__queue_is_limited(const struct elapse__queue_tube *tube)
{
    return tube->record != NULL && (tube->record->settings.concurrency != 0 ||
                                    tube->record->settings.group_concurrency != 0 ||
                                    tube->record->settings.group_order != 0);
}

/* Returns how many more jobs of a group the limit of running jobs lets run. NULL: the jobs without
 * a group, which it does not hold for. */
static inline uint64_t elapse__queue_group_places(const struct elapse__queue_tube *tube,
                                                  const struct elapse__queue_group *group)
{
    uint64_t most = tube->record == NULL ? 0 : tube->record->settings.group_concurrency;
    if (group != NULL && elapse__queue_is_ordered(tube))
        return group->running + group->retries > 0 ? 0 : 1;
    if (most == 0 || group == NULL)
        return UINT64_MAX;
    return group->running < most ? most - group->running : 0;
}

/* Returns how many jobs of a tube run: a worker has them, cancelled or not. */
static inline uint64_t elapse__queue_running(const struct elapse__queue_tube *tube)
{
    return tube->counts[ELAPSE__QUEUE_RESERVED] + tube->counts[ELAPSE__QUEUE_SHADOW];
}

/* ---- the rate of each group (group_rate.c, group_record.c) ---- */

void elapse__queue_group_rates_init(struct elapse__queue *queue);

/* Returns how many tokens a group has. NULL: the jobs without a group, for which the rate does not
 * hold. */
uint64_t elapse__queue_group_tokens(const struct elapse__queue *queue,
                                    const struct elapse__queue_tube *tube,
                                    const struct elapse__queue_group *group);

/* Returns how many more jobs of a group the limits of each group let run. NULL: the jobs without a
 * group. */
static inline uint64_t elapse__queue_group_lets_run(const struct elapse__queue *queue,
                                                    const struct elapse__queue_tube *tube,
                                                    const struct elapse__queue_group *group)
{
    uint64_t places = elapse__queue_group_places(tube, group);
    uint64_t tokens = places == 0 ? 0 : elapse__queue_group_tokens(queue, tube, group);
    return tokens < places ? tokens : places;
}

/* Returns how long it is until the bucket of a group has a token again; 0: it has one. */
uint64_t elapse__queue_group_token_left_ms(const struct elapse__queue *queue,
                                           const struct elapse__queue_tube *tube,
                                           const struct elapse__queue_group *group,
                                           struct elapse__queue_now now);

/* Makes room for the bucket that a hand-out of the group fills. Returns false if there is no
 * memory. */
bool elapse__queue_group_rate_reserve(struct elapse__queue *queue,
                                      const struct elapse__queue_tube *tube,
                                      const struct elapse__queue_group *group);

/* Takes a token of the group for a hand-out, if there is a rate of each group. Requires that there
 * is room. NULL: the jobs without a group. */
void elapse__queue_group_take_token(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                                    struct elapse__queue_group *group);

/* Gives each group of a tube another rate. The caller looks at each group. What a bucket lacks it
 * still lacks, up to one token. Requires that the tube has a record. */
void elapse__queue_set_group_rate(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                                  const struct elapse__queue_rate *rate);

/* Looks at the bucket of a group whose alarm came out, or whose tube has another rate: takes it
 * away if it is full. Returns false if the group has ended by that; the caller then trims the
 * turns. */
bool elapse__queue_group_rate_look(struct elapse__queue *queue, struct elapse__queue_group *group);

/* Returns whether each hand-out of the group writes its bucket. */
static inline bool elapse__queue_writes_group(const struct elapse__queue_tube *tube,
                                              const struct elapse__queue_group *group)
{
    if (tube->record == NULL || group == NULL)
        return false;
    struct elapse__queue_rate rate = elapse__queue_settings_group_rate(&tube->record->settings);
    return elapse__queue_rate_is_slow(&rate);
}

/* Appends the TUBE of a group that has a bucket. */
void elapse__queue_write_group_next(struct elapse__queue *queue, struct elapse__queue_group *group);

/* Returns whether the TUBE of the group lies at this position. */
bool elapse__queue_is_group_next(const struct elapse__queue *queue,
                                 const struct elapse__queue_group *group, uint64_t position);

/* Takes a TUBE of a group that is replayed. Returns OK, ARGUMENT, NO_MEMORY or LIMIT. */
enum elapse__queue_result elapse__queue_group_next_replay(struct elapse__queue *queue,
                                                          uint64_t position,
                                                          const struct elapse__record *record);

/* Makes the buckets of all groups after a replay. */
void elapse__queue_open_group_rates(struct elapse__queue *queue);

/* Ends the buckets whose records lie below this position, and the groups and tubes that nothing
 * keeps then. */
void elapse__queue_group_buckets_end(struct elapse__queue *queue, uint64_t below);

/* ---- rates (limit.c). They require that the tube has a record. ---- */

/* Takes a token for a hand-out, if the tube has a rate. */
void elapse__queue_take_token(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* Gives the tube another rate. What the bucket lacks it still lacks, up to one token. The same rate
 * changes nothing. */
void elapse__queue_set_rate(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                            const struct elapse__queue_rate *rate);

/* Values of side.buried during a replay: it is not known when the job was buried, long ago; the job
 * is buried by the replay. */
#define ELAPSE__QUEUE_BURIED_UNKNOWN UINT64_C(0)
#define ELAPSE__QUEUE_BURIED_NOW     UINT64_MAX

/* buried.c: returns the tick, by the boot-time clock, from which the oldest buried job may be
 * dropped; ELAPSE_NEVER: there is none, or no limit. Requires that the tube has settings. */
uint64_t elapse__queue_drop_tick(const struct elapse__queue *queue,
                                 const struct elapse__queue_tube *tube);

/* Sets the alarm of the tube to when its oldest buried job may be dropped, but no sooner than this
 * tick; stops it if there is none. */
void elapse__queue_expect_drop(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                               uint64_t soonest);

/* Sorts the buried jobs of the tube by time after a replay, and sets its alarm. Requires that their
 * times are ticks of the boot-time clock, or UNKNOWN or NOW. Cost: O(n log n), if they are not
 * sorted. */
void elapse__queue_open_buried(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* Returns whether the buried jobs of the tube are sorted and counted, and its alarm is set. */
bool elapse__queue_buried_fit(const struct elapse__queue *queue,
                              const struct elapse__queue_tube *tube);

/* Makes the bucket as its TUBE says, after a replay. */
void elapse__queue_open_rate(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* Stores in the settings what the next TUBE is to say of the bucket. */
void elapse__queue_note_bucket(struct elapse__queue *queue, struct elapse__queue_tube *tube);

/* Returns whether each hand-out of the tube writes the bucket. */
static inline bool elapse__queue_writes_bucket(const struct elapse__queue_tube *tube)
{
    if (tube->record == NULL)
        return false;
    struct elapse__queue_rate rate = elapse__queue_settings_rate(&tube->record->settings);
    return elapse__queue_rate_is_slow(&rate);
}

/* Returns how many more jobs of a tube the limit of all together lets run. */
static inline uint64_t elapse__queue_places(const struct elapse__queue_tube *tube)
{
    uint64_t running = elapse__queue_running(tube);
    uint64_t most = tube->record == NULL ? 0 : tube->record->settings.concurrency;
    if (most == 0)
        return UINT64_MAX;
    return running < most ? most - running : 0;
}

/* Returns whether the limits of the tube let one more job run: it has a place and a token. */
static inline bool elapse__queue_lets_run(const struct elapse__queue_tube *tube)
{
    return tube->record == NULL ||
           (elapse__queue_places(tube) > 0 && !elapse_timer_pending(&tube->record->token.timer));
}

/* Returns whether a job of the tube may be handed out now. Whoever waits for jobs asks this: a tube
 * that has ready jobs may be paused, or have no place or no token, or none of its groups may run.
 */
static inline bool elapse__queue_may_hand_out(const struct elapse__queue_tube *tube)
{
    uint32_t count = tube->turns == NULL ? tube->ready.count : tube->turns->heap.count;
    return count > 0 && !elapse__queue_paused(tube) && !elapse__queue_is_moving(tube) &&
           elapse__queue_lets_run(tube);
}

/* Returns how many ready jobs of the tube its limits hold back at a tick of the boot-time clock. */
uint64_t elapse__queue_held_at(const struct elapse__queue_tube *tube, uint64_t tick);

/* Returns the name of the limit that holds them back, as LIMIT has it: of several, the one that
 * lets the fewest jobs run. "groups": a limit of each group, of which the tube has several. Empty:
 * nothing is held back, or a new limit has not come to all groups yet. */
struct elapse__queue_text elapse__queue_held_by(const struct elapse__queue_tube *tube,
                                                uint64_t tick);

/* Returns the item of the job that leaves the tube first. Requires that the tube has a ready job.
 */
struct elapse__queue_heap_item elapse__queue_first_of_turns(const struct elapse__queue *queue,
                                                            const struct elapse__queue_tube *tube);

/* Returns whether a job of the tube may be handed out, as far as the limits of its groups tell. */
static inline bool elapse__queue_has_first(const struct elapse__queue_tube *tube)
{
    return tube->turns == NULL ? tube->ready.count > 0 : tube->turns->heap.count > 0;
}

/* Requires elapse__queue_has_first. */
static inline struct elapse__queue_heap_item
elapse__queue_first_ready(const struct elapse__queue *queue, const struct elapse__queue_tube *tube)
{
    return tube->turns == NULL ? *elapse__queue_heap_first(&tube->ready)
                               : elapse__queue_first_of_turns(queue, tube);
}

/* ---- waits (waits.c) ---- */

void elapse__queue_waits_init(struct elapse__queue_waits *waits);

/* Begins the wait of a ready job for a worker. Requires that its clock and its deadline are set. */
void elapse__queue_wait_begin(struct elapse__queue_tube *tube, struct elapse__queue_entry *entry);

/* Ends the wait of a job. */
void elapse__queue_wait_end(struct elapse__queue_tube *tube, struct elapse__queue_entry *entry);

/* Returns for how long the oldest ready job of the tube has been due. */
uint64_t elapse__queue_longest_wait_ms(const struct elapse__queue_tube *tube,
                                       struct elapse__queue_now now);

/* ---- side records and profiles (sides.c) ---- */

void elapse__queue_sides_init(struct elapse__queue *queue);

/* Returns the side record of the entry, or NULL. */
static inline struct elapse__queue_side *
elapse__queue_side_of(const struct elapse__queue *queue, const struct elapse__queue_entry *entry)
{
    if ((entry->tube_state & ELAPSE__QUEUE_HAS_SIDE) == 0)
        return NULL;
    struct elapse__queue_side *side = elapse__queue_slab_at(&queue->sides, entry->extra);
    ELAPSE__ASSERT_THAT(side->entry, ==, elapse__queue_number(entry)); /* invariant 7 */
    return side;
}

/* Returns whether a job was put with EVERY or CRON. */
static inline bool elapse__queue_recurs(const struct elapse__queue *queue,
                                        const struct elapse__queue_entry *entry)
{
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    return side != NULL && side->recurrence != NULL;
}

/* Returns the number of the entry's key record; 0: none. */
static inline uint32_t elapse__queue_key_of(const struct elapse__queue *queue,
                                            const struct elapse__queue_entry *entry)
{
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    if (side != NULL)
        return side->key;
    return (entry->tube_state & ELAPSE__QUEUE_HAS_KEY) != 0 ? entry->extra : 0;
}

/* Returns whether a job waits after a hand-out: for a retry, or because a worker gave it back. */
static inline bool elapse__queue_is_retry(const struct elapse__queue *queue,
                                          const struct elapse__queue_entry *entry)
{
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    return elapse__queue_state_of(entry) == ELAPSE__QUEUE_DELAYED && side != NULL &&
           side->handed_out;
}

/* Makes sure that the entry has a side record. Returns NULL if there is no memory. */
struct elapse__queue_side *elapse__queue_side_get(struct elapse__queue *queue,
                                                  struct elapse__queue_entry *entry);

/* Releases the side record, the key record, the recurrence and the profile of an entry. */
void elapse__queue_extras_end(struct elapse__queue *queue, struct elapse__queue_entry *entry);

/* Returns the profile of an entry. Requires that it has one. */
const struct elapse__queue_profile *
elapse__queue_profile_of(const struct elapse__queue *queue,
                         const struct elapse__queue_entry *entry);

/* Gives an entry without a profile the profile with these values. A profile (job.h) is the settings
 * that many jobs share. Returns false if there is no memory. */
bool elapse__queue_profile_get(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                               const struct elapse__queue_fields *fields);

/* Releases the description of a recurrence. NULL does nothing. */
void elapse__queue_recurrence_end(struct elapse__queue *queue,
                                  struct elapse__queue_recurrence *recurrence);

/* ---- names of holders (holders.c) ---- */

void elapse__queue_names_init(struct elapse__queue *queue);

/* Counts one more user of a name. 0 does nothing. */
void elapse__queue_name_share(struct elapse__queue *queue, uint32_t number);

/* ---- keys (keys.c) ---- */

void elapse__queue_keys_init(struct elapse__queue *queue);
struct elapse__hash_128 elapse__queue_key_hash(const struct elapse__queue *queue,
                                               struct elapse__queue_text tube,
                                               struct elapse__queue_text key);

/* Returns the hash of a tag; 0 for an empty tag, and for no other. */
uint64_t elapse__queue_tag_hash(const struct elapse__queue *queue, struct elapse__queue_text tag);

/* Returns the live job with the key; if there is none and `shadow` is true, a shadow that had it;
 * or NULL. */
struct elapse__queue_entry *elapse__queue_key_find(const struct elapse__queue *queue,
                                                   struct elapse__hash_128 hash, bool shadow);

/* Makes a key record that is in no index yet. Returns its number; 0: no memory. */
uint32_t elapse__queue_key_make(struct elapse__queue *queue, struct elapse__hash_128 hash,
                                uint64_t tag);

/* Links a key record that key_make made to its entry. Requires that the entry has none. */
void elapse__queue_key_link(struct elapse__queue *queue, uint32_t number,
                            struct elapse__queue_entry *entry);

/* Releases a key record. */
void elapse__queue_key_end(struct elapse__queue *queue, uint32_t number);

static inline struct elapse__queue_key *elapse__queue_key_at(const struct elapse__queue *queue,
                                                             uint32_t key)
{
    return elapse__queue_slab_at(&queue->keys, key);
}

static inline struct elapse__hash_128 elapse__queue_key_hash_of(const struct elapse__queue_key *key)
{
    return (struct elapse__hash_128){
        .low = (uint64_t)key->hash[1] << 32 | key->hash[0],
        .high = key->hash[2],
    };
}

static inline uint64_t elapse__queue_key_tag_of(const struct elapse__queue_key *key)
{
    return (uint64_t)key->tag[1] << 32 | key->tag[0];
}

/* ---- recurrence (recurrence.c) ---- */

/* Makes the description of a recurrence: parses cron and finds the zone. Returns OK; ARGUMENT, and
 * stores `*fault`; or NO_MEMORY. While the queue is not open, a fault makes a broken description in
 * place of an error, and the caller buries the job. */
enum elapse__queue_result
elapse__queue_recurrence_make(struct elapse__queue *queue,
                              const struct elapse__queue_fields *fields,
                              struct elapse__queue_recurrence **recurrence, const char **fault);

/* Stores the first occurrence after now. Returns false if there is none, because the cron
 * expression names no further time. */
bool elapse__queue_recurrence_first(const struct elapse__queue *queue,
                                    struct elapse__queue_recurrence *recurrence);

/* Goes on to the next occurrence after now. Stores in `*missed` how many occurrences have passed.
 * Returns false if there is no next occurrence. */
bool elapse__queue_recurrence_next(struct elapse__queue_recurrence *recurrence, int64_t now_ms,
                                   uint64_t *missed);

/* ---- errors (errors.c) ---- */

void elapse__queue_errors_init(struct elapse__queue *queue);

/* Returns the error of a job whose failure is TOLD; NULL for another job. */
const struct elapse__queue_error *elapse__queue_error_find(const struct elapse__queue *queue,
                                                           uint64_t id);

/* Makes room for one more error. Returns false if there is no memory. */
bool elapse__queue_error_room(struct elapse__queue *queue);

/* The error of a job lies at this position now, in place of the one before. Requires that there is
 * room. */
void elapse__queue_error_set(struct elapse__queue *queue, uint64_t id, uint64_t position,
                             uint32_t size);

/* Ends the error of a job, if it has one. */
void elapse__queue_error_end(struct elapse__queue *queue, uint64_t id);

/* Stores what is known of the last failure of a job. Unless it is TOLD, the error ends. */
void elapse__queue_set_failure(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                               enum elapse__queue_failure failure);

/* Ends the errors whose job has not come. */
void elapse__queue_errors_open(struct elapse__queue *queue);

/* Ends the errors whose records lie below this position. */
void elapse__queue_errors_forget(struct elapse__queue *queue, uint64_t position);

/* ---- tokens (tokens.c) ---- */

void elapse__queue_tokens_init(struct elapse__queue *queue);

/* Returns the token with this hash that has not ended, or NULL. */
struct elapse__queue_token *elapse__queue_token_find(const struct elapse__queue *queue,
                                                     struct elapse__hash_128 hash, uint64_t tick);

/* Returns the token whose record is at this position, even if the token has ended; or NULL. */
struct elapse__queue_token *elapse__queue_token_of_record(const struct elapse__queue *queue,
                                                          struct elapse__hash_128 hash,
                                                          uint64_t position);
struct elapse__hash_128 elapse__queue_token_hash(const struct elapse__queue *queue,
                                                 struct elapse__queue_text token);

/* Returns the hash of the token of an arrival. It is that of no put, and of no other job: the same
 * token may stand for one arrival at each key of each tube. */
struct elapse__hash_128 elapse__queue_arrival_hash(const struct elapse__queue *queue,
                                                   struct elapse__queue_text tube,
                                                   struct elapse__queue_text key,
                                                   struct elapse__queue_text token);

/* Returns the hash of the token of a TOKEN. */
struct elapse__hash_128 elapse__queue_token_hash_of(const struct elapse__queue *queue,
                                                    const struct elapse__queue_fields *fields);

/* Makes an empty token that is in no list. Returns its number; 0 if there is no memory. */
uint32_t elapse__queue_token_make(struct elapse__queue *queue);

/* Puts a token that token_make made, and that lives for `life_ms`, at the end of its list. */
void elapse__queue_token_link(struct elapse__queue *queue, uint32_t number,
                              struct elapse__queue_token token, uint64_t life_ms);

/* Releases a token that token_make made, and that is in no list. */
void elapse__queue_token_give(struct elapse__queue *queue, uint32_t number);

/* Returns when a token may end next; ELAPSE_NEVER if there is none. */
uint64_t elapse__queue_token_next(const struct elapse__queue *queue);

/* Returns whether there may be so many more tokens. Ends some whose time has come before. */
bool elapse__queue_tokens_fit(struct elapse__queue *queue, uint32_t more);

/* Ends up to `most` tokens whose time has come. Returns true if there are more. */
bool elapse__queue_tokens_expire(struct elapse__queue *queue, uint64_t tick, uint32_t most);

/* Takes a token whose record is replayed: makes the token, or makes the token of this name newer.
 * Its end is in seconds by the wall clock until elapse__queue_tokens_open. Returns false if there
 * is no memory. */
bool elapse__queue_token_replay(struct elapse__queue *queue, struct elapse__queue_token token);
void elapse__queue_tokens_open(struct elapse__queue *queue);

/* Ends the tokens whose records lie below this position. */
void elapse__queue_tokens_forget(struct elapse__queue *queue, uint64_t position);

#endif
