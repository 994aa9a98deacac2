/*
 * Tests the invariants of a partition, and returns until when its answers may leave.
 */
#include "role.h"

static bool is_linked_role(enum elapse__partition_role role)
{
    return elapse__role_has_epoch(role) && role != ELAPSE__ROLE_UNKNOWN;
}

uint64_t elapse__partition_answer_until_ms(const struct elapse__partition *partition)
{
    bool owns = partition->role == ELAPSE__ROLE_OWNING || partition->role == ELAPSE__ROLE_UNKNOWN;
    if (!owns || !partition->has_owned || !partition->has_lease ||
        partition->remembered_mark != partition->memory_mark)
        return 0;
    return partition->lease_from_ms + elapse__answer_for_ms(partition);
}

/* Returns whether the state of the link allows the statement under way. */
static bool has_link_for_statement(const struct elapse__partition *partition)
{
    switch (partition->statement.kind) {
    case ELAPSE__STATEMENT_CONNECT:
        return partition->link == ELAPSE__LINK_DOWN;
    case ELAPSE__STATEMENT_SESSION:
        return partition->link == ELAPSE__LINK_CONNECTED;
    default:
        return partition->link == ELAPSE__LINK_UP;
    }
}

/* Returns whether R4, R11 and R12 allow the take-over under way. */
static bool may_take_over(const struct elapse__partition *partition)
{
    bool is_handed_over = partition->row.owner[0] == '\0';
    bool is_unchanged =
        partition->sent_ms >= partition->unchanged_since_ms + partition->options.lease_ms;
    return partition->role == ELAPSE__ROLE_TAKING_OVER && partition->has_row &&
           (is_handed_over || is_unchanged) && partition->sent_ms >= partition->wary_until_ms &&
           partition->row.stopped[0] == '\0' && partition->epoch == partition->row.epoch + 1 &&
           elapse__clock_may_take(&partition->clock); /* R12 */
}

/* Returns whether the append under way is that of the group in flight, and follows the last
 * confirmed group. */
static bool may_append(const struct elapse__partition *partition)
{
    const struct elapse__statement *append = &partition->statement;
    return partition->role == ELAPSE__ROLE_OWNING && partition->has_group &&
           append->epoch == partition->epoch && append->group == partition->confirmed.group + 1 &&
           append->previous_hash == partition->confirmed.hash &&
           append->hash == partition->group_hash;
}

/* Returns whether the statement under way obeys the rules. */
static bool obeys_rules(const struct elapse__partition *partition)
{
    const struct elapse__statement *statement = &partition->statement;
    switch (statement->kind) {
    case ELAPSE__STATEMENT_TAKE_OVER:
        return may_take_over(partition);
    case ELAPSE__STATEMENT_APPEND:
        return may_append(partition);
    case ELAPSE__STATEMENT_BEAT: /* R11: the row was read before, in UNKNOWN too */
        return elapse__role_has_epoch(partition->role) && partition->has_row &&
               statement->epoch == partition->epoch;
    case ELAPSE__STATEMENT_DROP_TABLES: /* R9: a barrier has shown the tail */
        return partition->role == ELAPSE__ROLE_OWNING &&
               statement->table <= elapse__table_of(partition->row.tail);
    case ELAPSE__STATEMENT_RELEASE:
        return partition->role == ELAPSE__ROLE_HANDING_OVER && !partition->has_group;
    case ELAPSE__STATEMENT_MARK: /* R11 */
        return partition->role == ELAPSE__ROLE_MARKING && partition->knows_loss &&
               statement->epoch == elapse__known_epoch(partition);
    default:
        return true;
    }
}

unsigned elapse__partition_check(const struct elapse__partition *partition)
{
    enum elapse__partition_role role = partition->role;
    bool has_epoch = elapse__role_has_epoch(role);
    /* 1: a node in a role that acts has a connection. A node in UNKNOWN may have none. */
    if (is_linked_role(role) && partition->link != ELAPSE__LINK_UP)
        return 1;
    /* 2: TAKING_OVER and HANDING_OVER last as long as their statement. */
    if ((role == ELAPSE__ROLE_TAKING_OVER || role == ELAPSE__ROLE_HANDING_OVER) &&
        !partition->under_way)
        return 2;
    /* 3: a final role has no statement under way. FENCED has none either, because it waits for the
     * owner of this object. */
    if ((elapse__role_is_final(role) || role == ELAPSE__ROLE_FENCED) && partition->under_way)
        return 3;
    /* 4: a node without an epoch has no lease and no group in flight, has not owned the partition,
     * and does not hand it over. */
    if (!has_epoch &&
        (partition->has_lease || partition->has_owned || partition->has_group || partition->moves))
        return 4;
    /* 5: a group is in flight only after the node has owned the partition. A node that has owned
     * the partition has exactly the groups of the log. */
    if (partition->has_group && !partition->has_owned)
        return 5;
    if (partition->has_owned && (partition->local.group != partition->confirmed.group ||
                                 partition->local.hash != partition->confirmed.hash))
        return 5;
    /* 6: this node has at most one group above the durable ones, except where a rebuild begins. */
    if (partition->local_has_hash && partition->local.group > partition->confirmed.group + 1)
        return 6;
    /* 7: a node answers only while it has a lease. */
    uint64_t until = elapse__partition_answer_until_ms(partition);
    if (until != 0 &&
        (!has_epoch || until > partition->lease_from_ms + partition->options.lease_ms))
        return 7;
    /* 8: an owner's epoch is remembered. */
    if (partition->has_owned && partition->memory.epoch != partition->epoch)
        return 8;
    /* 9: the role is STOPPED or MARKING if and only if there is a reason to stop. */
    bool stops = role == ELAPSE__ROLE_STOPPED || role == ELAPSE__ROLE_MARKING;
    if (stops != (partition->stop != ELAPSE__STOP_NONE))
        return 9;
    if (role == ELAPSE__ROLE_MARKING && partition->stop != ELAPSE__STOP_LOST_GROUPS)
        return 9;
    /* 10: the last epoch that this node has seen is not below the last one that it owned. */
    if (partition->has_owned && partition->memory.seen_epoch < partition->memory.epoch)
        return 10;
    /* 11: the statement under way fits the link, and obeys the rules. */
    if (partition->under_way && !(has_link_for_statement(partition) && obeys_rules(partition)))
        return 11;
    return 0;
}
