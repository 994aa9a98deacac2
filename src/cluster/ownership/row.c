/*
 * Notes the row of the partition, compares it with what this node has and knows, and looks for a
 * mark in it.
 */
#include "row.h"

#include <string.h>

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

void elapse__row_note(struct elapse__partition *partition, const struct elapse__partition_row *row)
{
    ELAPSE__ASSERT_THAT(row->tail, <=, row->last_group + 1);
    ELAPSE__ASSERT_THAT(partition->link, ==, ELAPSE__LINK_UP);
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

void elapse__row_rebuild(struct elapse__partition *partition)
{
    uint64_t tail = partition->row.tail;
    ELAPSE__ASSERT_THAT(tail, >, 0);
    ELAPSE__ASSERT(!partition->has_owned);
    ELAPSE__ASSERT_THAT(tail, <=, partition->row.last_group + 1);
    partition->local.group = tail - 1;
    partition->local.hash = partition->options.genesis;
    partition->local_has_hash = tail == 1;
    partition->options.owner.rebuild(partition->options.owner.context, tail);
}

/* ---- the witness ---- */

void elapse__row_forget_witness(struct elapse__partition *partition)
{
    partition->witness =
        (struct elapse__partition_witness){.place = {0, partition->options.genesis}};
    partition->has_met_witness = true;
}

void elapse__row_witness(struct elapse__partition *partition,
                         const struct elapse__partition_row *row)
{
    const struct elapse__partition_row *before = &partition->row;
    struct elapse__partition_witness *witness = &partition->witness;
    bool is_last = row->last_group == witness->place.group && row->last_hash == witness->place.hash;
    bool is_passed = witness->place.group <= partition->confirmed.group ||
                     witness->place.group < partition->local.group;
    partition->has_met_witness = partition->has_met_witness || is_last || is_passed;
    if (!partition->has_row || !partition->has_met_witness)
        return;
    if (row->last_group > before->last_group && before->last_group > witness->place.group)
        *witness = (struct elapse__partition_witness){
            .place = {before->last_group, before->last_hash},
            .epoch = row->epoch,
            .system_identifier = partition->memory.system_identifier,
            .timeline = partition->memory.timeline,
        };
    else if (row->epoch > witness->epoch && witness->place.group > 0)
        witness->epoch = row->epoch;
}

/* ---- what is lost ---- */

static bool lacks(const struct elapse__partition_row *row,
                  const struct elapse__partition_log_place *place)
{
    return row->last_group < place->group ||
           (row->last_group == place->group && row->last_hash != place->hash);
}

bool elapse__row_has_lost_own(const struct elapse__partition *partition)
{
    return partition->row.epoch < partition->memory.epoch ||
           lacks(&partition->row, &partition->confirmed);
}

bool elapse__row_has_lost(const struct elapse__partition *partition)
{
    struct elapse__partition_log_place known = elapse__known_place(partition);
    return elapse__row_has_lost_own(partition) || lacks(&partition->row, &known);
}

void elapse__row_stop_for_loss(struct elapse__partition *partition)
{
    partition->lacks_witness_only = !elapse__row_has_lost_own(partition);
    elapse__partition_stop(partition, ELAPSE__STOP_LOST_GROUPS);
}

/* Returns whether the groups that this node has may be the beginning of the log, from the tail
 * on. */
static bool leads_to(const struct elapse__partition *partition)
{
    const struct elapse__partition_row *row = &partition->row;
    const struct elapse__partition_log_place *local = &partition->local;
    if (local->group > row->last_group || local->group + 1 < row->tail)
        return false;
    return local->group < row->last_group || !partition->local_has_hash ||
           local->hash == row->last_hash;
}

void elapse__row_see_epoch(struct elapse__partition *partition, uint64_t epoch)
{
    ELAPSE__ASSERT(partition->local_has_hash);
    if (epoch <= partition->memory.seen_epoch)
        return;
    partition->memory.seen_epoch = epoch;
    partition->memory_mark++;
}

bool elapse__row_is_marked(struct elapse__partition *partition,
                           const struct elapse__partition_row *row)
{
    if (row->stopped[0] == '\0')
        return false;
    if (row != &partition->row)
        elapse__row_note(partition, row);
    /* A node that itself misses groups stops with LOST_GROUPS, because its directory has those
     * groups. */
    elapse__partition_stop(partition, elapse__row_has_lost(partition) ? ELAPSE__STOP_LOST_GROUPS
                                                                      : ELAPSE__STOP_MARKED);
    return true;
}

void elapse__row_judge_end(struct elapse__partition *partition)
{
    if (elapse__row_has_lost(partition)) {
        elapse__row_stop_for_loss(partition);
        return;
    }
    if (elapse__row_is_marked(partition, &partition->row))
        return;
    if (!leads_to(partition))
        elapse__row_rebuild(partition);
    partition->log_is_behind = partition->local.group < partition->row.last_group;
    if (!partition->log_is_behind && partition->local_has_hash)
        elapse__row_see_epoch(partition, partition->row.epoch);
}
