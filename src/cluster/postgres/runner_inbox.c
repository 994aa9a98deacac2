/*
 * Polls the inbox between the statements of the partition, in the same session.
 */
#include "runner_inbox.h"
#include "../../base/assert.h"
#include "link.h"

static bool owns(const struct elapse__runner *runner)
{
    struct elapse__partition_figures figures;
    elapse__partition_figures(runner->partition, &figures);
    return figures.role == ELAPSE__ROLE_OWNING;
}

static bool may_poll(const struct elapse__runner *runner)
{
    return elapse__runner_has_inbox(runner) && owns(runner) &&
           elapse__database_link_is_free(runner->link);
}

void elapse__runner_poll_inbox(struct elapse__runner *runner, uint64_t now_ms)
{
    struct elapse__inbox_poll poll;
    ELAPSE__ASSERT(!runner->polls);
    if (!may_poll(runner) || !runner->inbox.ask(runner->owner.context, now_ms, &poll))
        return;
    ELAPSE__ASSERT_THAT(poll.rows_max, <=, ELAPSE__INBOX_ROWS_MAX);
    runner->polls = true;
    runner->poll_serial = poll.serial;
    runner->polled_ms = now_ms;
    elapse__database_link_begin_inbox(runner->link, &poll);
}

static void fail(struct elapse__runner *runner)
{
    ELAPSE__ASSERT(runner->polls);
    runner->polls = false;
    runner->inbox.failed(runner->owner.context, elapse__runner_now_ms(), runner->poll_serial);
}

void elapse__runner_take_inbox(struct elapse__runner *runner,
                               const struct elapse__statement_result *result)
{
    size_t count;
    ELAPSE__ASSERT(runner->polls);
    ELAPSE__ASSERT_THAT(result->serial, ==, runner->poll_serial);
    if (result->outcome != ELAPSE__OUTCOME_ROWS ||
        !elapse__database_link_take_inbox(runner->link, runner->rows, ELAPSE__INBOX_ROWS_MAX,
                                          &count)) {
        fail(runner);
        return;
    }
    ELAPSE__ASSERT_THAT(count, <=, ELAPSE__INBOX_ROWS_MAX);
    runner->polls = false;
    runner->inbox.came(runner->owner.context, elapse__runner_now_ms(), runner->poll_serial,
                       runner->rows, count);
}

void elapse__runner_tell_inbox(struct elapse__runner *runner)
{
    if (elapse__database_link_was_told(runner->link) && elapse__runner_has_inbox(runner) &&
        owns(runner))
        runner->inbox.told(runner->owner.context, elapse__runner_now_ms());
}

/* Returns when the runner gives up a poll. A poll that hangs must not delay the beats, which renew
 * the lease. */
static uint64_t limit_ms(const struct elapse__runner *runner)
{
    return runner->polled_ms + runner->lease_ms / 8;
}

void elapse__runner_limit_poll(struct elapse__runner *runner, uint64_t now_ms)
{
    if (!runner->polls || now_ms < limit_ms(runner))
        return;
    elapse__database_link_close(runner->link);
    runner->polls_lost++;
    fail(runner);
}

uint64_t elapse__runner_inbox_ms(const struct elapse__runner *runner)
{
    if (runner->polls)
        return limit_ms(runner);
    return may_poll(runner) ? runner->inbox.next_ms(runner->owner.context) : UINT64_MAX;
}
