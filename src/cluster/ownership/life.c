/*
 * Makes and frees a partition, and has the functions by which callers ask it and tell it something.
 */
#include "partition.h"

#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "mark.h"

#define LEAVE_NEW_MS 500

struct elapse__partition *elapse__partition_new(const struct elapse__partition_options *options,
                                                uint64_t now_ms)
{
    ELAPSE__ASSERT_THAT(options->hosts, >, 0);
    ELAPSE__ASSERT_THAT(options->lease_ms, >=, 20);
    ELAPSE__ASSERT_THAT(options->local.group, <=, options->confirmed.group + 1);
    ELAPSE__ASSERT(options->me[0] != '\0');
    struct elapse__partition *partition = calloc(1, sizeof *partition);
    if (partition == NULL)
        return NULL;
    partition->options = *options;
    strncpy(partition->me, options->me, sizeof partition->me - 1);
    partition->options.me = partition->me;
    partition->role = ELAPSE__ROLE_STARTING;
    partition->now_ms = now_ms;
    partition->memory = options->memory;
    partition->local = options->local;
    partition->confirmed = options->confirmed;
    partition->local_has_hash = true;
    if (partition->local.group == 0)
        partition->local.hash = options->genesis;
    if (partition->confirmed.group == 0)
        partition->confirmed.hash = options->genesis;
    elapse__clock_begin(&partition->clock, &options->time);
    partition->witness = options->witness;
    if (partition->witness.place.group == 0)
        partition->witness.place.hash = options->genesis;
    partition->row.owner = partition->owner_name;
    partition->row.address = partition->owner_address;
    partition->row.stopped = partition->mark;
    return partition;
}

void elapse__partition_free(struct elapse__partition *partition)
{
    free(partition);
}

/* Ends the partition, because it has waited long enough for the database. */
static void leave(struct elapse__partition *partition)
{
    if (partition->role == ELAPSE__ROLE_MARKING)
        elapse__mark_end(partition);
    else
        elapse__partition_end(partition);
}

void elapse__partition_tick(struct elapse__partition *partition, uint64_t now_ms)
{
    elapse__partition_set_now(partition, now_ms);
    if (partition->hands_over && !elapse__role_is_final(partition->role) &&
        now_ms >= partition->leave_ms) {
        leave(partition);
        return;
    }
    if (!partition->under_way ||
        now_ms - partition->sent_ms < elapse__statement_limit_ms(partition))
        return;
    partition->under_way = false;
    if (partition->link == ELAPSE__LINK_UP) {
        elapse__partition_unclear(partition, ELAPSE__COMPLAINT_LATE);
    } else {
        elapse__partition_complain(partition, ELAPSE__COMPLAINT_LATE);
        elapse__partition_drop_link(partition, true);
    }
    ELAPSE__ASSERT_THAT(elapse__partition_check(partition), ==, 0);
}

bool elapse__partition_takes_group(const struct elapse__partition *partition)
{
    return partition->role == ELAPSE__ROLE_OWNING && !partition->has_group &&
           !elapse__partition_releases(partition);
}

void elapse__partition_submit(struct elapse__partition *partition,
                              const struct elapse__partition_group *group)
{
    ELAPSE__ASSERT(elapse__partition_takes_group(partition));
    ELAPSE__ASSERT_THAT(group->size, >, 0);
    ELAPSE__ASSERT(group->inbox_count == 0 || group->inbox != NULL);
    partition->has_group = true;
    partition->group = *group;
    partition->group_hash =
        elapse__chain_next(partition->confirmed.hash, group->bytes, group->size);
}

void elapse__partition_trim(struct elapse__partition *partition, uint64_t tail)
{
    ELAPSE__ASSERT_THAT(tail, <=, partition->confirmed.group);
    if (tail <= partition->tail_wanted)
        return;
    partition->tail_wanted = tail;
    /* The next beat writes the tail into the row. If the new tail makes it possible to drop a
     * table, the beat is due at once. */
    if (elapse__table_of(tail) > elapse__table_of(partition->row.tail))
        partition->beat_ms = partition->now_ms;
}

void elapse__partition_news(struct elapse__partition *partition)
{
    if (partition->role == ELAPSE__ROLE_FOLLOWING)
        elapse__partition_poll_now(partition);
}

void elapse__partition_move(struct elapse__partition *partition)
{
    if (partition->has_owned && !elapse__role_is_final(partition->role))
        partition->moves = true;
}

void elapse__partition_expect(struct elapse__partition *partition,
                              enum elapse__partition_next_owner next_owner)
{
    partition->next_owner = next_owner;
    elapse__partition_news(partition);
}

struct elapse__partition_memory elapse__partition_memory(const struct elapse__partition *partition,
                                                         uint64_t *mark)
{
    *mark = partition->memory_mark;
    return partition->memory;
}

void elapse__partition_remembered(struct elapse__partition *partition, uint64_t mark)
{
    ELAPSE__ASSERT_THAT(mark, <=, partition->memory_mark);
    if (mark > partition->remembered_mark)
        partition->remembered_mark = mark;
}

void elapse__partition_aside(struct elapse__partition *partition)
{
    ELAPSE__ASSERT(!elapse__role_has_epoch(partition->role));
    if (partition->role == ELAPSE__ROLE_FENCED)
        elapse__partition_follow(partition);
}

/* Returns how long this node waits for the database before it leaves the partition. A node that
 * holds an epoch and has not owned yet leaves sooner, because it has acknowledged nothing. Other
 * nodes then take over no later than after the death of an owner. */
static uint64_t leave_after_ms(const struct elapse__partition *partition)
{
    uint64_t after_ms = partition->options.lease_ms / 3;
    bool is_new = elapse__role_has_epoch(partition->role) && !partition->has_owned;
    return is_new && after_ms > LEAVE_NEW_MS ? LEAVE_NEW_MS : after_ms;
}

void elapse__partition_hand_over(struct elapse__partition *partition, uint64_t now_ms)
{
    elapse__partition_set_now(partition, now_ms);
    if (partition->hands_over || elapse__role_is_final(partition->role))
        return;
    partition->hands_over = true;
    partition->leave_ms = now_ms + leave_after_ms(partition);
    if (!elapse__role_has_epoch(partition->role) && partition->role != ELAPSE__ROLE_MARKING)
        elapse__partition_end(partition);
}

void elapse__partition_figures(const struct elapse__partition *partition,
                               struct elapse__partition_figures *figures)
{
    *figures = (struct elapse__partition_figures){
        .role = partition->role,
        .stop = partition->stop,
        .complaint = partition->complaint,
        .complaint_host = partition->complaint_host,
        .complaints = partition->complaints,
        .epoch = partition->row.epoch,
        .local = partition->local,
        .confirmed = partition->confirmed,
        .local_has_hash = partition->local_has_hash,
        .witness = partition->witness,
        .known = {.place = elapse__known_place(partition),
                  .epoch = elapse__known_epoch(partition),
                  .system_identifier = partition->memory.system_identifier,
                  .timeline = partition->memory.timeline},
        .witness_losses = partition->witness_losses,
        .last_group = partition->row.last_group,
        .tail = partition->row.tail,
        .host = partition->host,
        .timeline = partition->has_row ? partition->memory.timeline : 0,
        .clock = elapse__clock_verdict(&partition->clock),
        .ahead_ms = partition->clock.ahead_ms,
        .time = partition->clock.time,
    };
    memcpy(figures->owner, partition->owner_name, sizeof figures->owner);
    memcpy(figures->address, partition->owner_address, sizeof figures->address);
    memcpy(figures->mark, partition->mark, sizeof figures->mark);
}
