/*
 * Joins the transactional inbox of a partition with its runner and its store. The inbox is a table
 * of the database. Its rows become commands of the queue, and src/cluster/inbox decides which. Each
 * function here calls that room while it holds the store's lock.
 */
#include "../../base/assert.h"
#include "store.h"

#include "../inbox/inbox.h"

static struct elapse__cluster_partition *partition_of(void *context)
{
    return context;
}

/* Runs a command of the inbox in the queue. Called while the store's lock is held. */
static bool run(void *context, const struct elapse__inbox_command *command,
                struct elapse__queue_answer *answer)
{
    struct elapse__cluster_partition *partition = partition_of(context);

    ELAPSE__ASSERT_LOCK_HELD(&partition->store->lock);
    return elapse__engine_run(&partition->store->engine, elapse__inbox_run, command, answer);
}

/* Asks the store to submit a group if the inbox holds rows that were run. The group goes to the log
 * even if these rows have changed nothing in the queue. */
static void push_if_held(struct elapse__cluster_partition *partition, bool holds)
{
    ELAPSE__ASSERT_NO_LOCK_HELD(); /* S4 */
    if (holds)
        elapse__store_push(partition->store);
}

/* ---- callbacks of the runner: on its thread, while this node owns the partition ---- */

/* Returns whether there may be rows, this node serves the partition (S5), and it is not about to
 * hand the partition over. */
static bool asks_rows(const struct elapse__cluster_partition *partition)
{
    return atomic_load(&partition->cluster->has_inbox) && !atomic_load(&partition->is_moving) &&
           !atomic_load(&partition->is_beginning);
}

static bool on_ask(void *context, uint64_t now_ms, struct elapse__inbox_poll *poll)
{
    struct elapse__cluster_partition *partition = partition_of(context);

    ELAPSE__ASSERT_NO_LOCK_HELD();
    if (!asks_rows(partition) || elapse__store_enter(partition->store) != ELAPSE_OK)
        return false;
    bool asks = elapse__inbox_ask(partition->inbox, now_ms, poll);
    elapse__store_leave(partition->store);
    return asks;
}

static void on_came(void *context, uint64_t now_ms, uint64_t serial,
                    const struct elapse__inbox_row *rows, size_t count)
{
    struct elapse__cluster_partition *partition = partition_of(context);

    ELAPSE__ASSERT_THAT(count, <=, ELAPSE__INBOX_ROWS_MAX);
    if (elapse__store_enter(partition->store) != ELAPSE_OK)
        return;
    elapse__inbox_came(partition->inbox, now_ms, serial, rows, count);
    bool holds = elapse__inbox_holds(partition->inbox);
    elapse__store_leave(partition->store);
    push_if_held(partition, holds);
}

static void on_failed(void *context, uint64_t now_ms, uint64_t serial)
{
    struct elapse__cluster_partition *partition = partition_of(context);

    elapse__store_arrive(partition->store);
    elapse__inbox_failed(partition->inbox, now_ms, serial);
    elapse__store_depart(partition->store);
}

static void on_told(void *context, uint64_t now_ms)
{
    struct elapse__cluster_partition *partition = partition_of(context);

    if (atomic_load(&partition->is_beginning))
        return; /* the first poll comes when the partition is served */
    elapse__store_arrive(partition->store);
    elapse__inbox_told(partition->inbox, now_ms);
    elapse__store_depart(partition->store);
}

static uint64_t on_next_ms(void *context)
{
    struct elapse__cluster_partition *partition = partition_of(context);

    /* A store that takes no commands runs no row. Then this function must not return a time in the
     * past, which would wake the thread again and again. */
    if (!asks_rows(partition) || elapse__store_enter(partition->store) != ELAPSE_OK)
        return UINT64_MAX;
    uint64_t next_ms = elapse__inbox_next_ms(partition->inbox);
    elapse__store_leave(partition->store);
    return next_ms;
}

const struct elapse__runner_inbox elapse__cluster_partition_inbox_calls = {
    on_ask, on_came, on_failed, on_told, on_next_ms};

/* ---- functions that the store calls ---- */

bool elapse__cluster_partition_make_inbox(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT(partition->inbox == NULL);
    partition->inbox = elapse__inbox_new(run, partition);
    return partition->inbox != NULL;
}

void elapse__cluster_partition_free_inbox(struct elapse__cluster_partition *partition)
{
    ELAPSE__ASSERT(partition->runner == NULL);
    if (partition->inbox != NULL)
        elapse__inbox_free(partition->inbox);
    partition->inbox = NULL;
}

void elapse__cluster_partition_own_inbox(struct elapse__cluster_partition *partition)
{
    elapse__store_arrive(partition->store);
    elapse__inbox_own(partition->inbox, elapse__runner_now_ms());
    elapse__store_depart(partition->store);
}

void elapse__cluster_partition_disown_inbox(struct elapse__cluster_partition *partition)
{
    elapse__store_arrive(partition->store);
    elapse__inbox_disown(partition->inbox);
    elapse__store_depart(partition->store);
}

void elapse__cluster_partition_attach_inbox(struct elapse__cluster_partition *partition,
                                            uint64_t position,
                                            struct elapse__partition_group *group)
{
    ELAPSE__ASSERT_THAT(group->inbox_count, ==, 0);
    elapse__store_arrive(partition->store);
    const struct elapse__inbox_list list = elapse__inbox_attach(partition->inbox, position);
    bool holds = elapse__inbox_holds(partition->inbox);
    elapse__store_depart(partition->store);
    group->inbox = list.ids;
    group->inbox_reasons = list.reasons;
    group->inbox_count = list.count;
    push_if_held(partition, holds);
}

/* Tells the inbox before the store that a group is confirmed, because the store may submit the next
 * group as soon as it knows. */
void elapse__cluster_partition_confirm_inbox(struct elapse__cluster_partition *partition)
{
    elapse__store_arrive(partition->store);
    elapse__inbox_confirmed(partition->inbox, elapse__runner_now_ms());
    elapse__store_depart(partition->store);
}
