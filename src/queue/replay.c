/*
 * Replay: the records of the log, in their order, make the queue as it was. There is no time yet,
 * so no timer runs and no job is ready:
 *
 *      DELAYED    timer.deadline is the tick of the wall clock at which it is due; NO_DUE: it waits
 *                 for arrivals alone
 *      RESERVED   timer.deadline is the tick of the wall clock at which the lease ends
 *      SHADOW     as RESERVED: the job was cancelled in a tube with a limit, where it has a place
 *      BURIED     in the ring of its tube; side.buried is a tick of the wall clock, or UNKNOWN or
 * NOW
 *
 * elapse__queue_replay_done starts the timers. A CHANGE or DELETE whose job does not exist means
 * nothing: the job's record was cleaned away before.
 */
#include "commands.h"

#include "../base/little_endian.h"

/* An error that an earlier record should have is not there if that record was damaged, and the log
 * was repaired. */
static void replay_failure(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                           const struct elapse__queue_fields *fields)
{
    bool is_lost = fields->failure == ELAPSE__QUEUE_FAILURE_TOLD &&
                   elapse__queue_error_find(queue, fields->id) == NULL;
    elapse__queue_set_failure(queue, entry, is_lost ? ELAPSE__QUEUE_FAILURE_NONE : fields->failure);
}

/* Takes what a record says of arrivals. A record that does not fit the PUT of its job says nothing.
 * Returns whether the job waits for arrivals. */
static bool replay_await(struct elapse__queue_side *side, const struct elapse__queue_fields *fields)
{
    bool waits = fields->awaits == ELAPSE__QUEUE_AWAITS_WAITING && side->key != 0;
    bool fits =
        side->recurrence == NULL && (waits || fields->awaits == ELAPSE__QUEUE_AWAITS_MISSED);
    if (fits && side->awaits == ELAPSE__QUEUE_AWAITS_NONE)
        side->first = 0;
    if (fits)
        elapse__queue_set_await(side, fields->awaits, fields->await);
    else if (side->awaits != ELAPSE__QUEUE_AWAITS_NONE)
        elapse__queue_set_await(side, ELAPSE__QUEUE_AWAITS_NONE, 0);
    return fits && waits;
}

/* Takes what a record says of the time at which the job was buried; `otherwise` if it says nothing.
 */
static void replay_buried(struct elapse__queue_side *side,
                          const struct elapse__queue_fields *fields, uint64_t otherwise)
{
    ELAPSE__ASSERT(side != NULL);
    side->buried = fields->has_buried ? elapse__queue_wall_tick(fields->buried_ms) : otherwise;
}

/* Puts a job that is in no state into the state that the fields say. Requires that the job has a
 * side record if a field belongs there. */
static void enter_replayed(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                           const struct elapse__queue_fields *fields)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    ELAPSE__ASSERT_THAT(elapse__queue_id(entry), ==, fields->id);
    struct elapse__queue_tick due = {fields->by_wall, elapse__queue_wall_tick(fields->due_ms)};
    if (side != NULL && replay_await(side, fields) && fields->no_due)
        due.tick = ELAPSE__QUEUE_NO_DUE;
    entry->priority = fields->priority;
    replay_failure(queue, entry, fields);
    if (side != NULL) {
        side->handed_out = fields->handed_out;
        side->attempts = fields->attempts;
        side->reserves = fields->reserves;
        side->timeouts = fields->timeouts;
        side->releases = fields->releases;
        side->buries = fields->buries;
        side->kicks = fields->kicks;
        if (side->recurrence != NULL && fields->recurring) {
            side->recurrence->occurrence_ms = fields->occurrence_ms;
            side->recurrence->missed = fields->missed;
            side->recurrence->reported = fields->reported;
            side->recurrence->failures = fields->failures;
        }
    }
    /* A cancelled job is no job any more, whatever its expression says. */
    bool is_broken = side != NULL && side->recurrence != NULL && side->recurrence->broken;
    if (is_broken && fields->state != ELAPSE__QUEUE_SHADOW) {
        elapse__queue_enter_buried(queue, entry, due, ELAPSE__QUEUE_REASON_ZONE);
        replay_buried(side, fields, ELAPSE__QUEUE_BURIED_NOW);
    } else if (fields->state == ELAPSE__QUEUE_BURIED) {
        elapse__queue_enter_buried(queue, entry, due, (enum elapse__queue_reason)fields->reason);
        replay_buried(side, fields, ELAPSE__QUEUE_BURIED_UNKNOWN);
    } else if (elapse__queue_is_leased(fields->state)) {
        elapse__queue_enter_reserved(queue, entry, due, NULL);
        ELAPSE__ASSERT(side != NULL);
        side->lease = fields->lease.number;
        side->life = fields->lease.life;
        side->replayed = 1;
        entry->timer.deadline = elapse__queue_wall_tick(fields->lease_end_ms);
        if (fields->lease.life > queue->greatest_life)
            queue->greatest_life = fields->lease.life;
        if (fields->state == ELAPSE__QUEUE_SHADOW)
            elapse__queue_become_shadow(queue, entry, true);
    } else {
        elapse__queue_enter_replayed(queue, entry, due);
    }
}

static enum elapse__queue_result replay_put(struct elapse__queue *queue, uint64_t position,
                                            const struct elapse__queue_fields *fields,
                                            const struct elapse__record *record)
{
    struct elapse__queue_built built;
    const char *fault = NULL;
    /* Ids mostly grow along the log. A search for a new id finds nothing, and would cost a cache
     * miss or two. */
    struct elapse__queue_entry *old =
        fields->id > queue->replayed_id ? NULL : elapse__queue_entry_find(&queue->jobs, fields->id);
    enum elapse__queue_result result = elapse__queue_build(queue, fields, &built, &fault);
    if (result != ELAPSE__QUEUE_OK)
        return result;
    struct elapse__queue_tube *old_tube = NULL;
    if (old != NULL) {
        old_tube = elapse__queue_tube_of(queue, old);
        elapse__queue_count_live(queue, old, false);
        elapse__queue_leave_state(queue, old);
        elapse__queue_build_replace(queue, &built, old);
    } else {
        elapse__queue_build_enter(queue, &built, fields->id);
    }
    struct elapse__queue_entry *entry = built.entry;
    elapse__queue_set_sizes(entry, record->fields_size, record->body_size, fields->headers_size);
    elapse__queue_set_position(entry, position);
    elapse__queue_count_live(queue, entry, true);
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    if (fields->has_first)
        side->first = elapse__queue_wall_tick(fields->first_ms);
    enter_replayed(queue, entry, fields);
    elapse__queue_tube_release(queue, built.tube);
    if (old_tube != NULL && old_tube != built.tube)
        elapse__queue_tube_end_if_empty(queue, old_tube);
    elapse__queue_used_id(queue, fields->id);
    if (fields->id > queue->replayed_id)
        queue->replayed_id = fields->id;
    ELAPSE__ASSERT(elapse__queue_entry_find(&queue->jobs, fields->id) == entry);
    return ELAPSE__QUEUE_OK;
}

static enum elapse__queue_result replay_change(struct elapse__queue *queue, uint64_t position,
                                               const struct elapse__queue_fields *fields,
                                               const struct elapse__record *record)
{
    struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, fields->id);
    if ((fields->has_error && !elapse__queue_error_room(queue)) ||
        (entry != NULL && elapse__queue_side_get(queue, entry) == NULL))
        return ELAPSE__QUEUE_NO_MEMORY;
    if (fields->has_error)
        elapse__queue_error_set(
            queue, fields->id, position,
            (uint32_t)elapse__frame_bytes(record->fields_size, record->body_size));
    if (entry == NULL)
        return ELAPSE__QUEUE_OK;
    elapse__queue_leave_state(queue, entry);
    enter_replayed(queue, entry, fields);
    return ELAPSE__QUEUE_OK;
}

static enum elapse__queue_result replay_token(struct elapse__queue *queue, uint64_t position,
                                              const struct elapse__queue_fields *fields,
                                              const struct elapse__record *record)
{
    int64_t end_s = (fields->token_ms + ELAPSE__QUEUE_TOKEN_MS + 999) / 1000;
    struct elapse__queue_token token = {
        .size = (uint32_t)elapse__frame_bytes(record->fields_size, record->body_size),
        .end_s = end_s < 1            ? 1
                 : end_s < UINT32_MAX ? (uint32_t)end_s
                                      : UINT32_MAX,
        .hash = elapse__queue_token_hash_of(queue, fields),
        .id = fields->id,
        .position = position,
    };
    elapse__queue_used_id(queue, fields->id);
    return elapse__queue_token_replay(queue, token) ? ELAPSE__QUEUE_OK : ELAPSE__QUEUE_NO_MEMORY;
}

void elapse__queue_replay_fetch(const struct elapse__queue *queue,
                                const struct elapse__record *record, bool is_near)
{
    enum { ID_BYTES = 8 };
    /* Jobs that are put mostly have new ids, one after another. */
    if (record->type != ELAPSE__RECORD_PUT && record->type != ELAPSE__RECORD_TUBE &&
        record->fields_size >= ID_BYTES)
        elapse__queue_entry_fetch(&queue->jobs,
                                  elapse__little_endian_load(record->fields, ID_BYTES),
                                  is_near ? ELAPSE__QUEUE_FETCH_ENTRY : ELAPSE__QUEUE_FETCH_TABLE);
}

/* Reads a record that is not an EPOCH. Returns false if it is no record of this queue. */
static bool read_own(const struct elapse__queue *queue, const struct elapse__record *record,
                     struct elapse__queue_fields *fields)
{
    uint32_t partitions = queue->options.partitions;
    if (record->fields_size > ELAPSE__QUEUE_FIELDS_MAX ||
        !elapse__queue_fields_decode(fields, record) ||
        record->body_size - fields->headers_size > ELAPSE__QUEUE_BODY_BYTES_MAX)
        return false;
    /* A job of another partition would be looked for there. */
    return partitions <= 1 || fields->id % partitions == queue->options.partition;
}

bool elapse__queue_is_own_record(const struct elapse__queue *queue,
                                 const struct elapse__record *record)
{
    struct elapse__queue_fields fields;
    struct elapse__queue_settings settings;
    struct elapse__queue_group_next next;
    if (record->type == ELAPSE__RECORD_TUBE)
        return elapse__queue_settings_decode(&settings, &fields.tube, record) ||
               elapse__queue_group_next_decode(&next, record);
    return record->type == ELAPSE__RECORD_EPOCH || read_own(queue, record, &fields);
}

enum elapse__queue_result elapse__queue_replay(struct elapse__queue *queue, uint64_t position,
                                               const struct elapse__record *record)
{
    struct elapse__queue_fields fields;
    ELAPSE__ASSERT(!queue->open);
    if (record->type == ELAPSE__RECORD_EPOCH)
        return ELAPSE__QUEUE_OK;
    if (position == 0 || position % 8 != 0 || position > ELAPSE__QUEUE_POSITION_MAX)
        return ELAPSE__QUEUE_ARGUMENT;
    if (record->type == ELAPSE__RECORD_TUBE)
        return elapse__queue_tube_record_replay(queue, position, record);
    if (!read_own(queue, record, &fields))
        return ELAPSE__QUEUE_ARGUMENT;
    switch (record->type) {
    case ELAPSE__RECORD_PUT:
        return replay_put(queue, position, &fields, record);
    case ELAPSE__RECORD_TOKEN:
        return replay_token(queue, position, &fields, record);
    case ELAPSE__RECORD_DELETE: {
        struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, fields.id);
        elapse__queue_used_id(queue, fields.id);
        if (entry != NULL)
            elapse__queue_end_job(queue, entry);
        elapse__queue_error_end(queue, fields.id);
        return ELAPSE__QUEUE_OK;
    }
    default:
        elapse__queue_used_id(queue, fields.id);
        return replay_change(queue, position, &fields, record);
    }
}

/* ---- opening ---- */

/* Brings a time of the wall clock to the clock that the job goes by. */
static uint64_t opened_tick(const struct elapse__queue *queue, bool by_wall, uint64_t wall_tick)
{
    return elapse__queue_ms_to_tick(queue, by_wall, elapse__queue_wall_ms(wall_tick));
}

/* Starts the timer of a job, which is in the state that the records say. */
static void open_entry(struct elapse__queue *queue, struct elapse__queue_entry *entry)
{
    struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    bool by_wall = elapse__queue_by_wall(entry);
    if (side != NULL && elapse__queue_first_of(side) != 0)
        side->first = opened_tick(queue, false, side->first);
    if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_BURIED &&
        side->buried != ELAPSE__QUEUE_BURIED_UNKNOWN && side->buried != ELAPSE__QUEUE_BURIED_NOW)
        side->buried = opened_tick(queue, false, side->buried);
    if (entry->timer.deadline == ELAPSE__QUEUE_NO_DUE)
        return;
    if (elapse__queue_is_leased(elapse__queue_state_of(entry))) {
        uint64_t ttr_ms = elapse__queue_profile_of(queue, entry)->ttr_ms;
        uint64_t present = elapse__queue_present(queue, true);
        uint64_t end = entry->timer.deadline;
        uint64_t left_ms = end > present ? end - present : 0;
        ELAPSE__ASSERT(side != NULL && !side->begun);
        ELAPSE__ASSERT_THAT(side->life, <, queue->life); /* no name of a lease repeats */
        side->due = opened_tick(queue, by_wall, side->due);
        elapse__queue_start_lease(queue, entry, left_ms < ttr_ms ? left_ms : ttr_ms);
        return;
    }
    uint64_t tick = opened_tick(queue, by_wall, entry->timer.deadline);
    if (elapse__queue_state_of(entry) != ELAPSE__QUEUE_DELAYED) {
        entry->timer.deadline = tick;
        return;
    }
    elapse__queue_clocks_start(&queue->clocks, entry, by_wall, tick,
                               elapse__queue_present(queue, true));
    elapse__queue_count_in(queue, entry);
}

/* Stores the earliest tick of each clock, so that no timer is started behind its wheel: the wheel
 * would forget the order of those due times. */
static void earliest_ticks(const struct elapse__queue *queue, uint64_t *boot, uint64_t *wall)
{
    *boot = elapse__queue_present(queue, false);
    *wall = elapse__queue_present(queue, true);
    const struct elapse__queue_entry *entry = NULL;
    uint32_t number = 0;
    while ((entry = elapse__queue_next_entry(&queue->jobs, &number)) != NULL) {
        if (elapse__queue_state_of(entry) != ELAPSE__QUEUE_DELAYED ||
            entry->timer.deadline == ELAPSE__QUEUE_NO_DUE)
            continue;
        bool by_wall = elapse__queue_by_wall(entry);
        uint64_t tick = opened_tick(queue, by_wall, entry->timer.deadline);
        uint64_t *earliest = by_wall ? wall : boot;
        if (tick < *earliest)
            *earliest = tick;
    }
}

enum elapse__queue_result elapse__queue_replay_done(struct elapse__queue *queue,
                                                    struct elapse__queue_now now, uint32_t life)
{
    uint64_t boot = 0;
    uint64_t wall = 0;
    ELAPSE__ASSERT(!queue->open);
    if (life <= queue->greatest_life)
        return ELAPSE__QUEUE_ARGUMENT;
    elapse__queue_take_now(queue, now);
    queue->life = life;
    earliest_ticks(queue, &boot, &wall);
    bool made = elapse__queue_clocks_init(&queue->clocks, boot, wall);
    ELAPSE__ASSERT(made); /* the same wheels were made before */
    (void)made;
    queue->open = true;
    struct elapse__queue_entry *entry = NULL;
    uint32_t number = 0;
    while ((entry = elapse__queue_next_entry(&queue->jobs, &number)) != NULL)
        open_entry(queue, entry);
    ELAPSE__ASSERT_THAT(queue->totals.ready, ==, 0); /* the first turn makes jobs ready */
    elapse__queue_tokens_open(queue);
    elapse__queue_errors_open(queue);
    elapse__queue_tube_records_open(queue);
    elapse__queue_open_order(queue);
    return ELAPSE__QUEUE_OK;
}
