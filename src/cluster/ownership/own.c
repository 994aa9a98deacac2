/*
 * Does the work of an owner: appends and beats. After a barrier, decides whether an unclear write
 * has happened.
 */
#include "own.h"

#include <string.h>

/* ---- confirmed writes ---- */

/* Returns whether a fenced write whose answer has a row is confirmed. If not, its outcome is
 * unclear. */
static bool is_confirmed(struct elapse__partition *partition,
                         const struct elapse__statement_result *result)
{
    ELAPSE__ASSERT_THAT(result->count, ==, 1);
    enum elapse__complaint complaint =
        elapse__trust_commit(&result->before, &result->after, partition->options.single_copy);
    if (complaint != ELAPSE__COMPLAINT_NONE) {
        elapse__partition_unclear(partition, complaint);
        return false;
    }
    ELAPSE__ASSERT(!partition->has_lease || partition->sent_ms >= partition->lease_from_ms);
    partition->complaint = ELAPSE__COMPLAINT_NONE;
    partition->is_well = true;
    partition->settings_trusted = true;
    partition->has_lease = true;
    partition->lease_from_ms = partition->sent_ms;
    return true;
}

static void confirm_group(struct elapse__partition *partition)
{
    ELAPSE__ASSERT(partition->has_group);
    ELAPSE__ASSERT(partition->has_owned);
    /* R1: an append was confirmed, or a barrier shows the group. */
    ELAPSE__ASSERT(partition->statement.kind == ELAPSE__STATEMENT_APPEND ||
                   partition->statement.kind == ELAPSE__STATEMENT_BEAT);
    ELAPSE__ASSERT_THAT(partition->lease_from_ms, ==, partition->sent_ms);
    partition->confirmed.group++;
    partition->confirmed.hash = partition->group_hash;
    partition->local = partition->confirmed;
    partition->has_group = false;
    partition->options.owner.confirmed(partition->options.owner.context,
                                       partition->confirmed.group);
}

/* Notes from the row which tables of the log exist. */
static void know_tables(struct elapse__partition *partition)
{
    uint64_t last = partition->row.last_group;
    partition->tables_made_below = last == 0 ? 0 : elapse__table_of(last) + 1;
}

/* ---- taking over, and catching up ---- */

void elapse__own_look_for_end(struct elapse__partition *partition)
{
    ELAPSE__ASSERT_THAT(partition->role, ==, ELAPSE__ROLE_CATCHING_UP);
    ELAPSE__ASSERT_THAT(partition->local.group, <=, partition->goal.group);
    ELAPSE__ASSERT_THAT(partition->memory.epoch, ==, partition->epoch);
    if (partition->local.group < partition->goal.group)
        return;
    if (partition->local_has_hash && partition->local.hash != partition->goal.hash) {
        elapse__partition_stop(partition, ELAPSE__STOP_BROKEN_LOG);
        return;
    }
    partition->local = partition->confirmed = partition->goal;
    partition->local_has_hash = true;
    partition->tail_wanted = partition->row.tail;
    partition->has_owned = true;
    elapse__row_see_epoch(partition, partition->epoch);
    elapse__partition_enter(partition, ELAPSE__ROLE_OWNING);
    partition->options.owner.own(partition->options.owner.context, partition->epoch);
}

/* Begins the epoch. Requires that the row certainly belongs to this node. The row says where the
 * log ends. */
static void begin_epoch(struct elapse__partition *partition,
                        const struct elapse__partition_row *row)
{
    ELAPSE__ASSERT_THAT(row->epoch, ==, partition->epoch);
    ELAPSE__ASSERT(strncmp(row->owner, partition->me, sizeof partition->me - 1) == 0); /* R8 */
    elapse__row_note(partition, row);
    elapse__row_judge_end(partition);
    if (partition->stop != ELAPSE__STOP_NONE)
        return;
    if (partition->memory.epoch != partition->epoch) {
        partition->memory.epoch = partition->epoch;
        partition->memory_mark++;
    }
    partition->goal = (struct elapse__partition_log_place){row->last_group, row->last_hash};
    partition->beat_ms = partition->sent_ms + elapse__beat_every_ms(partition);
    partition->log_has_gap = false;
    partition->tables_dropped_below = 0;
    partition->drop_ms = partition->now_ms;
    know_tables(partition);
    elapse__partition_enter(partition, ELAPSE__ROLE_CATCHING_UP);
    elapse__own_look_for_end(partition);
}

void elapse__own_taken(struct elapse__partition *partition,
                       const struct elapse__statement_result *result)
{
    ELAPSE__ASSERT_THAT(partition->role, ==, ELAPSE__ROLE_TAKING_OVER);
    if (result->count == 0)
        elapse__partition_follow(partition);
    else if (is_confirmed(partition, result))
        begin_epoch(partition, &result->row);
}

/* ---- beats ---- */

/* Called in UNKNOWN before the barrier. Only finds out whether groups are lost (R2, R11). */
void elapse__own_looked(struct elapse__partition *partition,
                        const struct elapse__statement_result *result)
{
    ELAPSE__ASSERT_THAT(partition->role, ==, ELAPSE__ROLE_UNKNOWN);
    if (result->count == 0) {
        elapse__partition_stop(partition, ELAPSE__STOP_NO_ROW);
        return;
    }
    elapse__row_note(partition, &result->row);
    if (elapse__row_has_lost(partition))
        elapse__row_stop_for_loss(partition);
    else
        (void)elapse__row_is_marked(partition, &partition->row);
}

/* Decides after a barrier whether the group in flight was appended. The row belongs to this node, a
 * standby has it, and no other node has appended. So the log ends either with the last confirmed
 * group of this node or with the group in flight. */
static void decide(struct elapse__partition *partition, const struct elapse__partition_row *row)
{
    const struct elapse__partition_log_place *confirmed = &partition->confirmed;
    bool is_last = row->last_group == confirmed->group && row->last_hash == confirmed->hash;
    bool is_in_flight = partition->has_group && row->last_group == confirmed->group + 1 &&
                        row->last_hash == partition->group_hash;
    if (!is_last && !is_in_flight) {
        elapse__partition_stop(partition, ELAPSE__STOP_LOST_GROUPS);
        return;
    }
    if (partition->role == ELAPSE__ROLE_UNKNOWN)
        elapse__partition_enter(partition, ELAPSE__ROLE_OWNING);
    if (is_in_flight)
        confirm_group(partition);
}

void elapse__own_beaten(struct elapse__partition *partition,
                        const struct elapse__statement_result *result)
{
    const struct elapse__partition_row *row = &result->row;
    if (result->count == 0) {
        elapse__partition_lose(partition);
        return;
    }
    if (elapse__row_is_marked(partition, row) || !is_confirmed(partition, result))
        return;
    if (!partition->has_owned && partition->role == ELAPSE__ROLE_UNKNOWN) {
        begin_epoch(partition, row);
        return;
    }
    elapse__row_note(partition, row);
    partition->beat_ms = partition->sent_ms + elapse__beat_every_ms(partition);
    if (partition->role == ELAPSE__ROLE_UNKNOWN)
        know_tables(partition);
    if (partition->has_owned)
        decide(partition, row);
    else if (row->last_group != partition->goal.group || row->last_hash != partition->goal.hash)
        elapse__partition_stop(partition, ELAPSE__STOP_LOST_GROUPS);
}

/* ---- appends ---- */

void elapse__own_appended(struct elapse__partition *partition,
                          const struct elapse__statement_result *result)
{
    ELAPSE__ASSERT_THAT(partition->role, ==, ELAPSE__ROLE_OWNING);
    /* The answer has no row. Either this node is fenced, or an earlier sending of the same group
     * has arrived after all. A barrier tells which of the two has happened. */
    if (result->count == 0)
        elapse__partition_enter(partition, ELAPSE__ROLE_UNKNOWN);
    else if (is_confirmed(partition, result))
        confirm_group(partition);
}

/* The database has said that nothing was done. To send the same group again would not help, so this
 * node gives up the partition (R10). */
void elapse__own_lost_rows(struct elapse__partition *partition)
{
    ELAPSE__ASSERT_THAT(partition->role, ==, ELAPSE__ROLE_OWNING);
    ELAPSE__ASSERT_THAT(partition->group.inbox_count, >, 0);
    elapse__partition_complain(partition, ELAPSE__COMPLAINT_INBOX);
    elapse__partition_lose(partition);
}

/* ---- tables ---- */

/* The next group needs its table. As soon as half of a table is used, this node makes the next
 * table in advance. */
bool elapse__own_needs_table(const struct elapse__partition *partition)
{
    uint64_t next = partition->confirmed.group + 1;
    uint64_t needed = elapse__table_of(next + ELAPSE__LOG_TABLE_GROUPS / 2);
    return partition->tables_made_below <= needed;
}

bool elapse__own_may_drop(const struct elapse__partition *partition)
{
    return elapse__table_of(partition->row.tail) > partition->tables_dropped_below &&
           partition->now_ms >= partition->drop_ms;
}
