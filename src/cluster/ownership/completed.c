/*
 * Takes the result of each statement, and changes the state of the partition by it.
 */
#include "follow.h"
#include "mark.h"

/* ---- the link ---- */

/* Returns whether a guest does not know how long the database has had this timeline. It has no
 * memory, and its witness is of another one. */
static bool is_new_to_guest(const struct elapse__partition *partition,
                            const struct elapse__partition_session *session)
{
    return partition->options.is_guest &&
           (partition->witness.system_identifier != session->system_identifier ||
            partition->witness.timeline != session->timeline);
}

static void remember_database(struct elapse__partition *partition,
                              const struct elapse__partition_session *session)
{
    struct elapse__partition_memory *memory = &partition->memory;
    ELAPSE__ASSERT(memory->system_identifier == 0 || session->timeline >= memory->timeline);
    if (memory->system_identifier == session->system_identifier &&
        memory->timeline == session->timeline)
        return;
    if (memory->system_identifier != 0 || is_new_to_guest(partition, session))
        partition->wary_until_ms = partition->now_ms + elapse__wary_for_ms(partition);
    memory->system_identifier = session->system_identifier;
    memory->timeline = session->timeline;
    partition->memory_mark++;
}

/* Returns whether the witness is of another system than the one that this node uses now: an
 * operator has let the node use that one, because the memory has it. A node without a memory keeps
 * its witness, and does not use another system (R7). */
static bool is_witness_ended(const struct elapse__partition *partition,
                             const struct elapse__partition_session *session)
{
    return partition->memory.system_identifier == session->system_identifier &&
           partition->witness.system_identifier != session->system_identifier;
}

static void take_session(struct elapse__partition *partition,
                         const struct elapse__statement_result *result)
{
    enum elapse__complaint complaint = elapse__trust_session(
        &result->session, partition->memory.system_identifier, partition->memory.timeline);
    ELAPSE__ASSERT_THAT(partition->link, ==, ELAPSE__LINK_CONNECTED);
    ELAPSE__ASSERT(!partition->has_lease || partition->role == ELAPSE__ROLE_UNKNOWN); /* R2 */
    if (complaint == ELAPSE__COMPLAINT_NONE && !is_witness_ended(partition, &result->session))
        complaint = elapse__trust_session(&result->session, partition->witness.system_identifier,
                                          partition->witness.timeline);
    if (complaint == ELAPSE__COMPLAINT_NONE)
        complaint = elapse__trust_settings(&result->after, partition->options.single_copy);
    if (complaint != ELAPSE__COMPLAINT_NONE) {
        elapse__partition_complain(partition, complaint);
        elapse__partition_drop_link(partition, true);
        return;
    }
    remember_database(partition, &result->session);
    if (is_witness_ended(partition, &result->session))
        elapse__row_forget_witness(partition);
    partition->link = ELAPSE__LINK_UP;
    partition->has_row = false; /* R4 */
    partition->has_met_witness = false;
    elapse__partition_poll_now(partition);
}

static void take_link_result(struct elapse__partition *partition,
                             const struct elapse__statement_result *result)
{
    if (result->is_pooled) {
        elapse__partition_complain(partition, ELAPSE__COMPLAINT_POOLER);
        elapse__partition_drop_link(partition, true);
    } else if (result->outcome != ELAPSE__OUTCOME_ROWS || result->noticed) {
        elapse__partition_complain(partition, result->noticed ? ELAPSE__COMPLAINT_NOTICE
                                                              : ELAPSE__COMPLAINT_UNREACHABLE);
        elapse__partition_drop_link(partition, true);
    } else if (partition->statement.kind == ELAPSE__STATEMENT_CONNECT) {
        partition->link = ELAPSE__LINK_CONNECTED;
    } else {
        ELAPSE__ASSERT_THAT(partition->statement.kind, ==, ELAPSE__STATEMENT_SESSION);
        ELAPSE__ASSERT_THAT(result->count, ==, 1);
        take_session(partition, result);
    }
}

/* ---- statements ---- */

/* Takes the database's clock (R12) from the settings that come with each answer. An append that
 * returned no row has the settings only in its second look. */
static void look_at_clock(struct elapse__partition *partition,
                          const struct elapse__statement_result *result)
{
    if (result->outcome != ELAPSE__OUTCOME_ROWS || result->is_pooled || result->after.clock_ms == 0)
        return;
    const struct elapse__clock_look look = {
        .sent_ms = partition->sent_ms,
        .received_ms = partition->now_ms,
        .wall_ms = result->wall_ms,
        .first_ms = result->before.clock_ms != 0 ? result->before.clock_ms : result->after.clock_ms,
        .last_ms = result->after.clock_ms,
    };
    elapse__clock_take(&partition->clock, &look);
}

/* Puts the failed statement off, if it can wait. Returns false if the statement cannot wait. */
static bool put_off(struct elapse__partition *partition)
{
    if (partition->statement.kind == ELAPSE__STATEMENT_DROP_TABLES)
        partition->drop_ms =
            partition->now_ms + partition->options.lease_ms; /* perhaps a follower reads a table */
    else if (partition->statement.kind != ELAPSE__STATEMENT_CLOCKS)
        return false;
    return true;
}

/* Called when another session blocks the row or a table, so that nothing was done. */
static void take_locked(struct elapse__partition *partition)
{
    elapse__partition_complain(partition, ELAPSE__COMPLAINT_LOCKED);
    partition->blocked = true;
    if (partition->role == ELAPSE__ROLE_MARKING)
        partition->has_row = false; /* an operator may be giving the groups back */
    else if (partition->role == ELAPSE__ROLE_HANDING_OVER)
        elapse__partition_left(partition);
    else if (partition->role == ELAPSE__ROLE_TAKING_OVER)
        elapse__partition_enter(partition, ELAPSE__ROLE_FOLLOWING);
}

/* Called when the database refuses a statement (R13). The partition goes on if the statement was a
 * TERMINATE, because this database role may not be allowed to end the sessions of another role. */
static void take_refused(struct elapse__partition *partition)
{
    if (partition->role == ELAPSE__ROLE_MARKING || partition->role == ELAPSE__ROLE_HANDING_OVER ||
        partition->statement.kind == ELAPSE__STATEMENT_TERMINATE) {
        elapse__partition_unclear(partition, ELAPSE__COMPLAINT_ERROR);
    } else {
        elapse__partition_complain(partition, ELAPSE__COMPLAINT_ERROR); /* shows the error's text */
        elapse__partition_stop(partition, ELAPSE__STOP_REFUSED);
    }
}

static void take_dropped(struct elapse__partition *partition,
                         const struct elapse__statement_result *result)
{
    if (result->count < ELAPSE__DROP_TABLES_AT_ONCE)
        partition->tables_dropped_below = partition->statement.table;
}

static void take_row(struct elapse__partition *partition,
                     const struct elapse__statement_result *result)
{
    if (partition->role == ELAPSE__ROLE_MARKING)
        elapse__mark_looked(partition, result);
    else if (partition->role == ELAPSE__ROLE_UNKNOWN)
        elapse__own_looked(partition, result);
    else
        elapse__follow_row(partition, result);
}

static void take_log(struct elapse__partition *partition,
                     const struct elapse__statement_result *result)
{
    if (partition->role == ELAPSE__ROLE_MARKING)
        elapse__mark_compared(partition, result);
    else
        elapse__follow_log(partition, result);
}

static void take_rows(struct elapse__partition *partition,
                      const struct elapse__statement_result *result)
{
    switch (partition->statement.kind) {
    case ELAPSE__STATEMENT_READ_ROW:
        take_row(partition, result);
        break;
    case ELAPSE__STATEMENT_READ_LOG:
        take_log(partition, result);
        break;
    case ELAPSE__STATEMENT_TAKE_OVER:
        elapse__own_taken(partition, result);
        break;
    case ELAPSE__STATEMENT_BEAT:
        elapse__own_beaten(partition, result);
        break;
    case ELAPSE__STATEMENT_APPEND:
        elapse__own_appended(partition, result);
        break;
    case ELAPSE__STATEMENT_MAKE_TABLE:
        partition->tables_made_below = partition->statement.table + 1;
        break;
    case ELAPSE__STATEMENT_DROP_TABLES:
        take_dropped(partition, result);
        break;
    case ELAPSE__STATEMENT_RELEASE:
        elapse__partition_left(partition);
        break;
    case ELAPSE__STATEMENT_MARK:
        elapse__mark_written(partition, result);
        break;
    case ELAPSE__STATEMENT_CLOCKS:
        elapse__clock_hear(&partition->clock, partition->sent_ms, partition->options.lease_ms,
                           &result->others);
        break;
    default:
        ELAPSE__ASSERT_THAT(partition->statement.kind, ==, ELAPSE__STATEMENT_TERMINATE);
        partition->blocked = false;
        break;
    }
}

void elapse__partition_completed(struct elapse__partition *partition, uint64_t now_ms,
                                 const struct elapse__statement_result *result)
{
    elapse__partition_set_now(partition, now_ms);
    if (!partition->under_way || result->serial != partition->statement.serial)
        return;
    partition->under_way = false;
    bool failed = result->outcome == ELAPSE__OUTCOME_ERROR ||
                  result->outcome == ELAPSE__OUTCOME_REFUSED ||
                  result->outcome == ELAPSE__OUTCOME_LOCKED;
    ELAPSE__ASSERT(result->outcome != ELAPSE__OUTCOME_MOVED ||
                   partition->statement.kind == ELAPSE__STATEMENT_APPEND);
    if (partition->link == ELAPSE__LINK_UP)
        look_at_clock(partition, result);
    if (partition->link != ELAPSE__LINK_UP)
        take_link_result(partition, result);
    else if (result->is_pooled)
        elapse__partition_unclear(partition, ELAPSE__COMPLAINT_POOLER);
    else if (result->outcome == ELAPSE__OUTCOME_LOST)
        elapse__partition_unclear(partition, ELAPSE__COMPLAINT_UNREACHABLE);
    else if (result->noticed)
        elapse__partition_unclear(partition, ELAPSE__COMPLAINT_NOTICE);
    else if (failed && put_off(partition))
        return;
    else if (result->outcome == ELAPSE__OUTCOME_LOCKED)
        take_locked(partition);
    else if (result->outcome == ELAPSE__OUTCOME_MOVED)
        elapse__own_lost_rows(partition);
    else if (result->outcome == ELAPSE__OUTCOME_REFUSED)
        take_refused(partition);
    else if (result->outcome == ELAPSE__OUTCOME_ERROR)
        elapse__partition_unclear(partition, ELAPSE__COMPLAINT_ERROR);
    else
        take_rows(partition, result);
    ELAPSE__ASSERT_THAT(elapse__partition_check(partition), ==, 0);
}
