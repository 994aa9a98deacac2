/*
 * Reads the row and the log, and decides when to take over.
 */
#include "follow.h"

#include "chain.h"

/* ---- taking over ---- */

static bool is_handed_over(const struct elapse__partition *partition)
{
    return partition->owner_name[0] == '\0';
}

/* A take-over is possible L after the last change of the row, and on a new timeline not before 2 L
 * (R4). The statement of the take-over checks that the row is still the same. */
uint64_t elapse__follow_take_over_ms(const struct elapse__partition *partition)
{
    if (!partition->has_row || !partition->settings_trusted || partition->hands_over ||
        partition->role != ELAPSE__ROLE_FOLLOWING || !elapse__clock_may_take(&partition->clock))
        return UINT64_MAX;
    if (partition->options.is_guest &&
        partition->row.last_group > partition->local.group + ELAPSE__GUEST_GROUPS)
        return UINT64_MAX;
    uint64_t at = partition->unchanged_since_ms + partition->options.lease_ms;
    if (is_handed_over(partition) && partition->next_owner != ELAPSE__NEXT_OWNER_THERE)
        at = partition->now_ms;
    return at > partition->wary_until_ms ? at : partition->wary_until_ms;
}

bool elapse__follow_may_take_over(const struct elapse__partition *partition)
{
    return partition->now_ms >= elapse__follow_take_over_ms(partition);
}

/* ---- the row ---- */

void elapse__follow_row(struct elapse__partition *partition,
                        const struct elapse__statement_result *result)
{
    ELAPSE__ASSERT(partition->role == ELAPSE__ROLE_STARTING ||
                   partition->role == ELAPSE__ROLE_FOLLOWING);
    if (result->count == 0) {
        elapse__partition_stop(partition, ELAPSE__STOP_NO_ROW);
        return;
    }
    if (result->row.lease_ms != partition->options.lease_ms) {
        elapse__partition_stop(partition, ELAPSE__STOP_LEASE);
        return;
    }
    enum elapse__complaint complaint =
        elapse__trust_settings(&result->after, partition->options.single_copy);
    partition->settings_trusted = complaint == ELAPSE__COMPLAINT_NONE;
    if (complaint != ELAPSE__COMPLAINT_NONE)
        elapse__partition_complain(partition, complaint);
    else
        partition->complaint = ELAPSE__COMPLAINT_NONE;
    partition->is_well = complaint == ELAPSE__COMPLAINT_NONE;
    partition->poll_ms = partition->now_ms + elapse__poll_every_ms(partition);
    elapse__row_witness(partition, &result->row);
    elapse__row_note(partition, &result->row);
    if (partition->role == ELAPSE__ROLE_STARTING)
        elapse__partition_enter(partition, ELAPSE__ROLE_FOLLOWING);
    elapse__row_judge_end(partition);
    /* R13: the log lacks a group that was not trimmed, as the row says. */
    if (partition->stop == ELAPSE__STOP_NONE && partition->log_is_behind &&
        partition->missing == partition->local.group + 1)
        elapse__partition_stop(partition, ELAPSE__STOP_BROKEN_LOG);
}

/* ---- the log ---- */

/* Called when the log does not continue what this node has. The database may have lost the group
 * above the last durable one (R6). A database that lost durable groups makes the node stop. */
static void take_fork(struct elapse__partition *partition)
{
    if (partition->local.group > partition->confirmed.group)
        elapse__row_rebuild(partition);
    else if (partition->local.group == partition->confirmed.group)
        elapse__partition_stop(partition, ELAPSE__STOP_LOST_GROUPS);
    else
        elapse__partition_stop(partition, ELAPSE__STOP_BROKEN_LOG);
}

/* Returns whether the log has another group than the witness in its place (R11). */
static bool misses_witness(const struct elapse__partition *partition,
                           const struct elapse__partition_log_row *row)
{
    const struct elapse__partition_log_place *place = &partition->witness.place;
    if (place->group <= partition->confirmed.group)
        return false;
    if (place->group == row->group)
        return elapse__chain_next(row->hash_of_previous, row->bytes, row->size) != place->hash;
    return place->group == row->group - 1 && place->hash != row->hash_of_previous;
}

/* Applies a group. Returns false if the group does not fit. */
static bool apply(struct elapse__partition *partition, const struct elapse__partition_log_row *row)
{
    struct elapse__partition_log_place *confirmed = &partition->confirmed;
    ELAPSE__ASSERT_THAT(row->group, ==, partition->local.group + 1); /* R6 */
    ELAPSE__ASSERT(!partition->has_owned);
    /* Nothing of the group is noted before, because this node goes on if others have. */
    if (misses_witness(partition, row)) {
        partition->lacks_witness_only = true;
        elapse__partition_stop(partition, ELAPSE__STOP_LOST_GROUPS);
        return false;
    }
    if (!partition->local_has_hash) {
        partition->local.hash = row->hash_of_previous;
        partition->local_has_hash = true;
        if (partition->local.group == confirmed->group &&
            partition->local.hash != confirmed->hash) {
            take_fork(partition);
            return false;
        }
    }
    if (row->hash_of_previous != partition->local.hash) {
        take_fork(partition);
        return false;
    }
    /* The owner sent this group only after the group before it was durable. */
    if (partition->local.group > confirmed->group)
        *confirmed = partition->local;
    partition->local.group = row->group;
    partition->local.hash = elapse__chain_next(partition->local.hash, row->bytes, row->size);
    if (row->group == confirmed->group && partition->local.hash != confirmed->hash) {
        take_fork(partition);
        return false;
    }
    elapse__row_see_epoch(partition, row->epoch);
    partition->options.owner.apply(partition->options.owner.context, row, partition->local.hash);
    return true;
}

/* Returns whether a group is to be applied. A node that has just taken over reads only to the end
 * that the log had at the take-over. Groups after that end would be those of a later owner. */
static bool is_wanted(const struct elapse__partition *partition,
                      const struct elapse__partition_log_row *row)
{
    return row->group == partition->local.group + 1 &&
           (partition->role != ELAPSE__ROLE_CATCHING_UP || row->group <= partition->goal.group);
}

/* Called when a new owner finds a group missing. Perhaps another node has taken over and has
 * dropped trimmed groups. A beat tells whether that is so. If this node still owns the partition,
 * the log is broken. */
static void take_gap(struct elapse__partition *partition)
{
    if (partition->log_has_gap) {
        elapse__partition_stop(partition, ELAPSE__STOP_BROKEN_LOG);
        return;
    }
    partition->log_has_gap = true;
    partition->beat_ms = partition->now_ms;
}

/* Reads the row at once, because the log has no further group. If the row has more groups than the
 * log, notes the number of the missing group. The database may have lost the group, or an owner may
 * have trimmed it. */
static void ask_row(struct elapse__partition *partition)
{
    uint64_t wanted = partition->local.group + 1;
    ELAPSE__ASSERT(partition->has_row); /* of this connection */
    partition->missing = partition->row.last_group >= wanted ? wanted : 0;
    elapse__partition_poll_now(partition);
}

bool elapse__follow_doubts_witness(const struct elapse__partition *partition)
{
    uint64_t witness = partition->witness.place.group;
    return partition->has_row && !partition->has_met_witness &&
           witness > partition->confirmed.group && witness > partition->local.group &&
           witness < partition->row.last_group;
}

/* Takes the group after the witness. If the log does not have it any more, nothing can be said. */
static void prove_witness(struct elapse__partition *partition,
                          const struct elapse__statement_result *result)
{
    bool is_lost = result->count > 0 &&
                   result->log[0].group == partition->witness.place.group + 1 &&
                   result->log[0].hash_of_previous != partition->witness.place.hash;
    partition->has_met_witness = !is_lost;
    if (!is_lost)
        return;
    partition->lacks_witness_only = true;
    elapse__partition_stop(partition, ELAPSE__STOP_LOST_GROUPS);
}

void elapse__follow_log(struct elapse__partition *partition,
                        const struct elapse__statement_result *result)
{
    uint64_t applied = 0;
    ELAPSE__ASSERT(result->count == 0 || result->log != NULL);
    if (partition->statement.group != partition->local.group + 1) {
        prove_witness(partition, result);
        return;
    }
    bool catches_up = partition->role == ELAPSE__ROLE_CATCHING_UP;
    ELAPSE__ASSERT(catches_up || partition->role == ELAPSE__ROLE_FOLLOWING);
    while (applied < result->count && is_wanted(partition, &result->log[applied])) {
        if (!apply(partition, &result->log[applied]))
            return; /* the partition has stopped, or reads again from the tail on */
        applied++;
    }
    partition->log_is_behind = applied > 0 && partition->local.group < partition->row.last_group;
    if (catches_up && applied == 0)
        take_gap(partition);
    else if (catches_up)
        elapse__own_look_for_end(partition);
    else if (applied == 0)
        ask_row(partition);
}
