/*
 * Has the diagram of partition.h as a table. Does what a change of the role requires: closes the
 * connection, ends the epoch, or ends the partition.
 */
#include "role.h"

#define BIT(role) (1U << ELAPSE__ROLE_##role)

static const unsigned may_follow[ELAPSE__ROLES] = {
    [ELAPSE__ROLE_STARTING] = BIT(FOLLOWING) | BIT(ENDED) | BIT(STOPPED),
    [ELAPSE__ROLE_FOLLOWING] = BIT(TAKING_OVER) | BIT(MARKING) | BIT(ENDED) | BIT(STOPPED),
    [ELAPSE__ROLE_TAKING_OVER] =
        BIT(CATCHING_UP) | BIT(FOLLOWING) | BIT(UNKNOWN) | BIT(MARKING) | BIT(ENDED) | BIT(STOPPED),
    [ELAPSE__ROLE_CATCHING_UP] = BIT(OWNING) | BIT(FOLLOWING) | BIT(UNKNOWN) | BIT(HANDING_OVER) |
                                 BIT(MARKING) | BIT(ENDED) | BIT(STOPPED),
    [ELAPSE__ROLE_OWNING] =
        BIT(FENCED) | BIT(UNKNOWN) | BIT(HANDING_OVER) | BIT(MARKING) | BIT(ENDED) | BIT(STOPPED),
    [ELAPSE__ROLE_UNKNOWN] = BIT(OWNING) | BIT(CATCHING_UP) | BIT(FENCED) | BIT(FOLLOWING) |
                             BIT(MARKING) | BIT(ENDED) | BIT(STOPPED),
    [ELAPSE__ROLE_FENCED] = BIT(FOLLOWING) | BIT(ENDED) | BIT(STOPPED),
    [ELAPSE__ROLE_HANDING_OVER] = BIT(FENCED) | BIT(FOLLOWING) | BIT(ENDED) | BIT(STOPPED),
    [ELAPSE__ROLE_MARKING] = BIT(FOLLOWING) | BIT(ENDED) | BIT(STOPPED),
    [ELAPSE__ROLE_ENDED] = 0,
    [ELAPSE__ROLE_STOPPED] = 0,
};

bool elapse__role_has_epoch(enum elapse__partition_role role)
{
    return ((BIT(TAKING_OVER) | BIT(CATCHING_UP) | BIT(OWNING) | BIT(UNKNOWN) |
             BIT(HANDING_OVER)) >>
                role &
            1U) != 0;
}

bool elapse__role_is_final(enum elapse__partition_role role)
{
    return role == ELAPSE__ROLE_ENDED || role == ELAPSE__ROLE_STOPPED;
}

/* Forgets everything that belongs to the epoch that has ended. */
static void forget_epoch(struct elapse__partition *partition)
{
    partition->has_lease = false;
    partition->has_owned = false;
    partition->has_group = false;
    partition->moves = false;
    partition->goal = (struct elapse__partition_log_place){0};
}

void elapse__partition_enter(struct elapse__partition *partition, enum elapse__partition_role role)
{
    ELAPSE__ASSERT_THAT(role, <, ELAPSE__ROLES);
    ELAPSE__ASSERT((may_follow[partition->role] >> role & 1U) != 0);
    ELAPSE__ASSERT(role != ELAPSE__ROLE_OWNING || partition->has_owned); /* R5 */
    ELAPSE__ASSERT(role != ELAPSE__ROLE_FENCED || partition->has_owned);
    ELAPSE__ASSERT(partition->role != ELAPSE__ROLE_UNKNOWN || !elapse__role_has_epoch(role) ||
                   partition->statement.kind == ELAPSE__STATEMENT_BEAT); /* R2 */
    ELAPSE__ASSERT(role != ELAPSE__ROLE_MARKING || partition->stop == ELAPSE__STOP_LOST_GROUPS);
    (void)may_follow;
    partition->role = role;
    if (!elapse__role_has_epoch(role))
        forget_epoch(partition);
}

/* ---- the link ---- */

void elapse__partition_poll_now(struct elapse__partition *partition)
{
    partition->poll_ms = partition->now_ms;
}

void elapse__partition_drop_link(struct elapse__partition *partition, bool elsewhere)
{
    ELAPSE__ASSERT_THAT(partition->host, <, partition->options.hosts);
    partition->under_way = false;
    partition->link = ELAPSE__LINK_DOWN;
    partition->blocked = false;
    partition->missing = 0;
    partition->retry_ms = partition->now_ms;
    if (elsewhere) {
        partition->host = (partition->host + 1) % partition->options.hosts;
        partition->retry_ms += elapse__retry_after_ms(partition);
    }
}

/* ---- ends ---- */

void elapse__partition_end(struct elapse__partition *partition)
{
    struct elapse__partition_group group = partition->group;
    bool has_group = partition->has_group;
    elapse__partition_drop_link(partition, false);
    elapse__partition_enter(partition, ELAPSE__ROLE_ENDED);
    if (has_group)
        partition->options.owner.fenced(partition->options.owner.context, &group);
}

void elapse__partition_follow(struct elapse__partition *partition)
{
    ELAPSE__ASSERT(!partition->has_owned);
    partition->has_row = false;
    partition->log_is_behind = false;
    if (partition->hands_over) {
        elapse__partition_end(partition);
        return;
    }
    elapse__partition_enter(partition, ELAPSE__ROLE_FOLLOWING);
    elapse__partition_poll_now(partition);
}

void elapse__partition_lose(struct elapse__partition *partition)
{
    struct elapse__partition_group group = partition->group;
    bool has_group = partition->has_group, has_owned = partition->has_owned;
    ELAPSE__ASSERT(elapse__role_has_epoch(partition->role));
    elapse__partition_drop_link(partition, false);
    if (!has_owned) {
        elapse__partition_follow(partition);
        return;
    }
    elapse__partition_enter(partition, ELAPSE__ROLE_FENCED);
    partition->options.owner.fenced(partition->options.owner.context, has_group ? &group : NULL);
    if (partition->hands_over && partition->role == ELAPSE__ROLE_FENCED)
        elapse__partition_end(partition);
}

void elapse__partition_left(struct elapse__partition *partition)
{
    ELAPSE__ASSERT_THAT(partition->role, ==, ELAPSE__ROLE_HANDING_OVER);
    if (partition->hands_over)
        elapse__partition_end(partition);
    else
        elapse__partition_lose(partition);
}

/* Returns whether the next connection goes to the same host. A node that lost a good connection
 * tries the same host first. Most often only the connection is lost, or the database is slow for a
 * while, and a search of the other hosts takes longer. A node leaves a host that fails twice
 * without success in between. Two nodes stay even then: an owner, because its lease goes on, and a
 * node that marks lost groups. Every node leaves a host that answers with an error. */
static bool stays(struct elapse__partition *partition, enum elapse__complaint why)
{
    bool hurries =
        partition->role == ELAPSE__ROLE_OWNING || partition->role == ELAPSE__ROLE_MARKING;
    bool is_first = partition->is_well;
    partition->is_well = false;
    return (hurries || is_first) && why != ELAPSE__COMPLAINT_ERROR;
}

void elapse__partition_unclear(struct elapse__partition *partition, enum elapse__complaint why)
{
    ELAPSE__ASSERT(!elapse__role_is_final(partition->role));
    ELAPSE__ASSERT_THAT(partition->role, !=, ELAPSE__ROLE_FENCED);
    ELAPSE__ASSERT_THAT(why, !=, ELAPSE__COMPLAINT_NONE);
    bool elsewhere = !stays(partition, why);
    elapse__partition_complain(partition, why);
    elapse__partition_drop_link(partition, elsewhere);
    switch (partition->role) {
    case ELAPSE__ROLE_TAKING_OVER:
    case ELAPSE__ROLE_CATCHING_UP:
    case ELAPSE__ROLE_OWNING:
        elapse__partition_enter(partition, ELAPSE__ROLE_UNKNOWN);
        break;
    case ELAPSE__ROLE_HANDING_OVER:
        elapse__partition_left(partition);
        break;
    default:
        break;
    }
}

void elapse__partition_stop_now(struct elapse__partition *partition)
{
    ELAPSE__ASSERT_THAT(partition->stop, !=, ELAPSE__STOP_NONE);
    partition->under_way = false;
    partition->link = ELAPSE__LINK_DOWN;
    elapse__partition_enter(partition, ELAPSE__ROLE_STOPPED);
    partition->options.owner.stopped(partition->options.owner.context, partition->stop);
}

void elapse__partition_stop(struct elapse__partition *partition, enum elapse__partition_stop stop)
{
    ELAPSE__ASSERT_THAT(stop, !=, ELAPSE__STOP_NONE);
    ELAPSE__ASSERT_THAT(partition->stop, ==, ELAPSE__STOP_NONE);
    ELAPSE__ASSERT(!partition->under_way);
    partition->stop = stop;
    if (stop == ELAPSE__STOP_LOST_GROUPS) {
        partition->knows_loss = true;
        elapse__partition_enter(partition, ELAPSE__ROLE_MARKING);
        return;
    }
    elapse__partition_stop_now(partition);
}
