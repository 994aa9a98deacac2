/*
 * Reading the row and the log; when to take over.
 */
#include <string.h>

#include "../../base/assert.h"
#include "chain.h"
#include "core.h"

void elapse__follow_poll_now(struct elapse__partition *partition)
{
    partition->poll_ms = partition->now_ms;
}

static void copy_text(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    if (length >= size)
        length = size - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

static bool is_same_state(const struct elapse__partition_row *left,
                          const struct elapse__partition_row *right)
{
    return left->epoch == right->epoch && left->beat == right->beat &&
           left->last_group == right->last_group;
}

void elapse__follow_note_row(struct elapse__partition *partition,
                             const struct elapse__partition_row *row)
{
    if (!partition->has_row || !is_same_state(&partition->row, row))
        partition->unchanged_since_ms = partition->now_ms;
    partition->has_row = true;
    partition->row = *row;
    copy_text(partition->owner_name, sizeof partition->owner_name, row->owner);
    copy_text(partition->owner_address, sizeof partition->owner_address, row->address);
    copy_text(partition->mark, sizeof partition->mark, row->stopped);
    partition->row.owner = partition->owner_name;
    partition->row.address = partition->owner_address;
    partition->row.stopped = partition->mark;
}

/* ---- taking over ---- */

static bool is_handed_over(const struct elapse__partition *partition)
{
    return partition->owner_name[0] == '\0';
}

/* When L has passed, and two on a new timeline. The take-over itself requires that nothing has
 * changed since. */
uint64_t elapse__follow_take_over_ms(const struct elapse__partition *partition)
{
    if (!partition->has_row || !partition->settings_trusted || partition->hands_over ||
        partition->role != ELAPSE__ROLE_FOLLOWING)
        return UINT64_MAX;
    uint64_t at = partition->unchanged_since_ms + partition->options.lease_ms;
    if (is_handed_over(partition))
        at = partition->now_ms;
    return at > partition->wary_until_ms ? at : partition->wary_until_ms;
}

bool elapse__follow_may_take_over(const struct elapse__partition *partition)
{
    return partition->now_ms >= elapse__follow_take_over_ms(partition);
}

/* ---- the end of the log ---- */

/* Forgets what this node has; groups come from the tail on. */
static void rebuild(struct elapse__partition *partition)
{
    uint64_t tail = partition->row.tail;
    ELAPSE__ASSERT_THAT(tail, >, 0);
    partition->local.group = tail - 1;
    partition->local.hash = partition->options.genesis;
    partition->local_has_hash = tail == 1;
    partition->options.owner.rebuild(partition->options.owner.context, tail);
}

bool elapse__follow_has_lost(const struct elapse__partition *partition)
{
    const struct elapse__partition_row *row = &partition->row;
    const struct elapse__partition_log_place *confirmed = &partition->confirmed;
    return row->epoch < partition->memory.epoch || row->last_group < confirmed->group ||
           (row->last_group == confirmed->group && row->last_hash != confirmed->hash);
}

/* Whether what this node has may be the beginning of the log, from the tail on. */
static bool leads_to(const struct elapse__partition *partition)
{
    const struct elapse__partition_row *row = &partition->row;
    const struct elapse__partition_log_place *local = &partition->local;
    if (local->group > row->last_group || local->group + 1 < row->tail)
        return false;
    return local->group < row->last_group || !partition->local_has_hash ||
           local->hash == row->last_hash;
}

void elapse__follow_see_epoch(struct elapse__partition *partition, uint64_t epoch)
{
    if (epoch <= partition->memory.seen_epoch)
        return;
    partition->memory.seen_epoch = epoch;
    partition->memory_mark++;
}

/* Compares what this node has and knows with the row. */
void elapse__follow_judge_end(struct elapse__partition *partition)
{
    if (elapse__follow_has_lost(partition)) {
        elapse__partition_stop(partition, ELAPSE__STOP_LOST_GROUPS);
        return;
    }
    if (elapse__mark_is_there(partition, &partition->row))
        return;
    if (!leads_to(partition))
        rebuild(partition);
    partition->log_is_behind = partition->local.group < partition->row.last_group;
    if (!partition->log_is_behind && partition->local_has_hash)
        elapse__follow_see_epoch(partition, partition->row.epoch);
}

void elapse__follow_row(struct elapse__partition *partition,
                        const struct elapse__statement_result *result)
{
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
    partition->complaint = complaint;
    partition->poll_ms = partition->now_ms + elapse__poll_every_ms(partition);
    elapse__follow_note_row(partition, &result->row);
    if (partition->role == ELAPSE__ROLE_STARTING)
        elapse__partition_enter(partition, ELAPSE__ROLE_FOLLOWING);
    elapse__follow_judge_end(partition);
}

/* ---- the log ---- */

/* The log does not go on from here. The group above the last durable one may have gone back; those
 * below it may not. */
static void take_fork(struct elapse__partition *partition)
{
    if (partition->local.group > partition->confirmed.group)
        rebuild(partition);
    else if (partition->local.group == partition->confirmed.group)
        elapse__partition_stop(partition, ELAPSE__STOP_LOST_GROUPS);
    else
        elapse__partition_stop(partition, ELAPSE__STOP_BROKEN_LOG);
}

/* Returns whether it was applied. */
static bool apply(struct elapse__partition *partition, const struct elapse__partition_log_row *row)
{
    struct elapse__partition_log_place *confirmed = &partition->confirmed;
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
    /* It was sent when the one before it was durable. */
    if (partition->local.group > confirmed->group)
        *confirmed = partition->local;
    partition->local.group = row->group;
    partition->local.hash = elapse__chain_next(partition->local.hash, row->bytes, row->size);
    if (row->group == confirmed->group && partition->local.hash != confirmed->hash) {
        take_fork(partition);
        return false;
    }
    elapse__follow_see_epoch(partition, row->epoch);
    partition->options.owner.apply(partition->options.owner.context, row, partition->local.hash);
    return true;
}

/* An owner that has just taken over reads to the end that it found, and not what may come from an
 * owner after it. */
static bool is_wanted(const struct elapse__partition *partition,
                      const struct elapse__partition_log_row *row)
{
    return row->group == partition->local.group + 1 &&
           (partition->role != ELAPSE__ROLE_CATCHING_UP || row->group <= partition->goal.group);
}

/* Another node may have taken over meanwhile, and dropped what was trimmed. If not, the log is
 * broken. */
static void take_gap(struct elapse__partition *partition)
{
    if (partition->log_has_gap) {
        elapse__partition_stop(partition, ELAPSE__STOP_BROKEN_LOG);
        return;
    }
    partition->log_has_gap = true;
    partition->beat_ms = partition->now_ms;
}

void elapse__follow_log(struct elapse__partition *partition,
                        const struct elapse__statement_result *result)
{
    uint64_t applied = 0;
    ELAPSE__ASSERT(result->count == 0 || result->log != NULL);
    bool catches_up = partition->role == ELAPSE__ROLE_CATCHING_UP;
    ELAPSE__ASSERT(catches_up || partition->role == ELAPSE__ROLE_FOLLOWING);
    while (applied < result->count && is_wanted(partition, &result->log[applied])) {
        if (!apply(partition, &result->log[applied]))
            return; /* it stopped, or reads again from the tail on */
        applied++;
    }
    partition->log_is_behind = applied > 0 && partition->local.group < partition->row.last_group;
    if (catches_up && applied == 0)
        take_gap(partition);
    else if (catches_up)
        elapse__own_look_for_end(partition);
    else if (applied == 0)
        elapse__follow_poll_now(partition); /* it went back, or was trimmed: the row says so */
}
