/*
 * Decides which statement comes next, and when.
 */
#include "follow.h"
#include "mark.h"

static void give(struct elapse__partition *partition, struct elapse__statement *statement)
{
    statement->serial = partition->statement.serial + 1;
    partition->statement = *statement;
    partition->sent_ms = partition->now_ms;
    partition->under_way = true;
}

static void fill_take_over(struct elapse__partition *partition, struct elapse__statement *statement)
{
    elapse__partition_enter(partition, ELAPSE__ROLE_TAKING_OVER);
    partition->epoch = partition->row.epoch + 1;
    *statement = (struct elapse__statement){
        .kind = ELAPSE__STATEMENT_TAKE_OVER,
        .epoch = partition->row.epoch,
        .beat = partition->row.beat,
        .group = partition->row.last_group,
    };
}

static void fill_read_log(const struct elapse__partition *partition,
                          struct elapse__statement *statement)
{
    statement->kind = ELAPSE__STATEMENT_READ_LOG;
    statement->group = partition->local.group + 1;
    if (partition->role == ELAPSE__ROLE_FOLLOWING && elapse__follow_doubts_witness(partition))
        statement->group = partition->witness.place.group + 1;
}

static void fill_beat(const struct elapse__partition *partition,
                      struct elapse__statement *statement)
{
    statement->kind = ELAPSE__STATEMENT_BEAT;
    statement->epoch = partition->epoch;
    statement->tail = partition->tail_wanted;
}

static void fill_append(const struct elapse__partition *partition,
                        struct elapse__statement *statement)
{
    ELAPSE__ASSERT_THAT(elapse__table_of(partition->confirmed.group + 1), <,
                        partition->tables_made_below);
    *statement = (struct elapse__statement){
        .kind = ELAPSE__STATEMENT_APPEND,
        .epoch = partition->epoch,
        .group = partition->confirmed.group + 1,
        .hash = partition->group_hash,
        .previous_hash = partition->confirmed.hash,
        .bytes = partition->group.bytes,
        .size = partition->group.size,
        .inbox = partition->group.inbox,
        .inbox_reasons = partition->group.inbox_reasons,
        .inbox_count = partition->group.inbox_count,
    };
}

/* Stores the statement that asks the other nodes about their clocks (R12). Returns false if the
 * question is not due. */
static bool fill_clocks(struct elapse__partition *partition, struct elapse__statement *statement)
{
    if (partition->now_ms < elapse__clock_ask_ms(&partition->clock))
        return false;
    statement->kind = ELAPSE__STATEMENT_CLOCKS;
    statement->ahead_ms = partition->clock.ahead_ms;
    elapse__clock_asked(&partition->clock, partition->now_ms, partition->options.lease_ms);
    return true;
}

static void fill_release(struct elapse__partition *partition, struct elapse__statement *statement)
{
    elapse__partition_enter(partition, ELAPSE__ROLE_HANDING_OVER);
    statement->kind = ELAPSE__STATEMENT_RELEASE;
    statement->epoch = partition->epoch;
}

static bool follower_next(struct elapse__partition *partition, struct elapse__statement *statement)
{
    if (elapse__follow_may_take_over(partition))
        fill_take_over(partition, statement);
    else if (fill_clocks(partition, statement))
        return true;
    else if (partition->now_ms >= partition->poll_ms)
        statement->kind = ELAPSE__STATEMENT_READ_ROW; /* also by a node that lags (R11) */
    else if (partition->log_is_behind)
        fill_read_log(partition, statement);
    else
        return false;
    return true;
}

/* Stores the next statement of an owner. Beats come first, so that the lease does not end during a
 * long catching up or a stream of groups. */
static bool owner_next(struct elapse__partition *partition, struct elapse__statement *statement)
{
    bool catches_up = partition->role == ELAPSE__ROLE_CATCHING_UP;
    if (elapse__partition_releases(partition) && !partition->has_group) {
        fill_release(partition, statement);
    } else if (partition->now_ms >= partition->beat_ms) {
        fill_beat(partition, statement);
    } else if (fill_clocks(partition, statement)) {
        return true;
    } else if (catches_up) {
        fill_read_log(partition, statement);
    } else if (elapse__own_needs_table(partition)) {
        statement->kind = ELAPSE__STATEMENT_MAKE_TABLE;
        statement->table = partition->tables_made_below;
    } else if (partition->has_group) {
        fill_append(partition, statement);
    } else if (elapse__own_may_drop(partition)) {
        statement->kind = ELAPSE__STATEMENT_DROP_TABLES;
        statement->table = elapse__table_of(partition->row.tail);
    } else {
        return false;
    }
    return true;
}

static bool linked_next(struct elapse__partition *partition, struct elapse__statement *statement)
{
    if (partition->blocked) {
        statement->kind = ELAPSE__STATEMENT_TERMINATE;
        return true;
    }
    switch (partition->role) {
    case ELAPSE__ROLE_STARTING:
    case ELAPSE__ROLE_FOLLOWING:
        return follower_next(partition, statement);
    case ELAPSE__ROLE_CATCHING_UP:
    case ELAPSE__ROLE_OWNING:
        return owner_next(partition, statement);
    case ELAPSE__ROLE_UNKNOWN:
        if (!partition->has_row)
            statement->kind = ELAPSE__STATEMENT_READ_ROW;
        else
            fill_beat(partition, statement);
        return true;
    case ELAPSE__ROLE_MARKING:
        elapse__mark_next(partition, statement);
        return true;
    default: /* TAKING_OVER and HANDING_OVER have a statement under way; the other roles have no
                link */
        ELAPSE__ASSERT(!elapse__role_has_epoch(partition->role));
        return false;
    }
}

static bool has_no_work(const struct elapse__partition *partition)
{
    return elapse__role_is_final(partition->role) || partition->role == ELAPSE__ROLE_FENCED;
}

bool elapse__partition_next(struct elapse__partition *partition, uint64_t now_ms,
                            struct elapse__statement *statement)
{
    elapse__partition_set_now(partition, now_ms);
    if (partition->under_way || has_no_work(partition))
        return false;
    *statement = (struct elapse__statement){.kind = ELAPSE__STATEMENT_CONNECT};
    if (partition->link == ELAPSE__LINK_DOWN) {
        if (now_ms < partition->retry_ms)
            return false;
        statement->host = partition->host;
    } else if (partition->link == ELAPSE__LINK_CONNECTED) {
        statement->kind = ELAPSE__STATEMENT_SESSION;
    } else if (!linked_next(partition, statement)) {
        return false;
    }
    give(partition, statement);
    ELAPSE__ASSERT_THAT(elapse__partition_check(partition), ==, 0);
    return true;
}

static uint64_t earlier(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* Returns when the next statement is due. Requires that no statement is under way. */
static uint64_t due_ms(const struct elapse__partition *partition)
{
    if (has_no_work(partition))
        return UINT64_MAX;
    if (partition->link == ELAPSE__LINK_DOWN)
        return partition->retry_ms;
    if (partition->link == ELAPSE__LINK_CONNECTED || partition->blocked)
        return partition->now_ms;
    uint64_t at;
    switch (partition->role) {
    case ELAPSE__ROLE_STARTING:
    case ELAPSE__ROLE_FOLLOWING:
        if (partition->log_is_behind)
            return partition->now_ms;
        at = earlier(partition->poll_ms, elapse__clock_ask_ms(&partition->clock));
        return earlier(at, elapse__follow_take_over_ms(partition));
    case ELAPSE__ROLE_OWNING:
        if (partition->has_group || elapse__partition_releases(partition) ||
            elapse__own_needs_table(partition))
            return partition->now_ms;
        at = earlier(partition->beat_ms, elapse__clock_ask_ms(&partition->clock));
        if (elapse__table_of(partition->row.tail) > partition->tables_dropped_below)
            return earlier(at, partition->drop_ms);
        return at;
    default:
        return partition->now_ms;
    }
}

uint64_t elapse__partition_next_ms(const struct elapse__partition *partition)
{
    if (elapse__role_is_final(partition->role))
        return UINT64_MAX;
    uint64_t at = partition->under_way ? partition->sent_ms + elapse__statement_limit_ms(partition)
                                       : due_ms(partition);
    return partition->hands_over && partition->leave_ms < at ? partition->leave_ms : at;
}
