/*
 * Rule R11 of partition.h: a node that finds groups lost marks the row, and a node that sees a mark
 * stops.
 *
 * In MARKING this node reads the row again on each new connection, and each time after it found the
 * row locked. Meanwhile the right standby may have been promoted, or an operator may have given the
 * groups back. The row must not be marked then. If the row says that the log is longer than this
 * node knows, the node reads the next group, which has the hash of its predecessor. That hash shows
 * whether the log still has the last group that the node knows.
 */
#include "mark.h"

void elapse__mark_next(const struct elapse__partition *partition,
                       struct elapse__statement *statement)
{
    ELAPSE__ASSERT_THAT(partition->role, ==, ELAPSE__ROLE_MARKING);
    if (!partition->has_row) {
        statement->kind = ELAPSE__STATEMENT_READ_ROW;
        return;
    }
    if (!partition->knows_loss) {
        statement->kind = ELAPSE__STATEMENT_READ_LOG;
        statement->group = elapse__known_place(partition).group + 1;
        return;
    }
    statement->kind = ELAPSE__STATEMENT_MARK;
    statement->epoch = elapse__known_epoch(partition);
    statement->group = elapse__known_place(partition).group;
}

void elapse__mark_end(struct elapse__partition *partition)
{
    ELAPSE__ASSERT_THAT(partition->role, ==, ELAPSE__ROLE_MARKING);
    elapse__partition_stop_now(partition);
}

void elapse__mark_looked(struct elapse__partition *partition,
                         const struct elapse__statement_result *result)
{
    ELAPSE__ASSERT_THAT(partition->role, ==, ELAPSE__ROLE_MARKING);
    if (result->count > 0)
        elapse__row_note(partition, &result->row);
    partition->knows_loss = result->count > 0 && elapse__row_has_lost(partition);
    if (result->count > 0 && elapse__row_has_lost_own(partition))
        partition->lacks_witness_only = false;
    bool is_longer =
        result->count > 0 && partition->row.last_group > elapse__known_place(partition).group;
    if (!partition->knows_loss && !is_longer)
        elapse__mark_end(partition);
}

/* Takes the group after the last one that this node knows. If the log lacks that group, other nodes
 * have gone on for so long that the group was trimmed. Then there is nothing to mark. */
void elapse__mark_compared(struct elapse__partition *partition,
                           const struct elapse__statement_result *result)
{
    ELAPSE__ASSERT_THAT(partition->role, ==, ELAPSE__ROLE_MARKING);
    ELAPSE__ASSERT(result->count == 0 || result->log != NULL);
    struct elapse__partition_log_place known = elapse__known_place(partition);
    partition->knows_loss = result->count > 0 && result->log[0].group == known.group + 1 &&
                            result->log[0].hash_of_previous != known.hash;
    if (!partition->knows_loss)
        elapse__mark_end(partition);
}

/* Goes on as a follower: only the witness is lost, and others have gone on without it. The row says
 * so now. */
static void forget(struct elapse__partition *partition)
{
    elapse__row_forget_witness(partition);
    partition->witness_losses++;
    partition->stop = ELAPSE__STOP_NONE;
    partition->knows_loss = partition->lacks_witness_only = false;
    elapse__partition_follow(partition);
}

void elapse__mark_written(struct elapse__partition *partition,
                          const struct elapse__statement_result *result)
{
    ELAPSE__ASSERT_THAT(partition->role, ==, ELAPSE__ROLE_MARKING);
    if (result->count == 0) {
        elapse__mark_end(partition); /* the row belongs to a later epoch */
        return;
    }
    enum elapse__complaint complaint =
        elapse__trust_commit(&result->before, &result->after, partition->options.single_copy);
    elapse__row_note(partition, &result->row);
    if (complaint != ELAPSE__COMPLAINT_NONE)
        elapse__partition_unclear(partition, complaint);
    else if (partition->lacks_witness_only && partition->mark[0] == '\0')
        forget(partition);
    else
        elapse__mark_end(partition);
}
