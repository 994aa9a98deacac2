/*
 * Starts and stops a runner, and keeps the requests of other threads until the runner takes them.
 */
#include <errno.h>
#include <stdlib.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "link.h"
#include "runner_loop.h"

/* ---- life ---- */

static void free_runner(struct elapse__runner *runner)
{
    if (runner->link != NULL)
        elapse__database_link_free(runner->link);
    elapse__partition_free(runner->partition);
    free(runner->rows);
    (void)elapse__os_close(runner->event);
    elapse__lock_free(&runner->lock);
    free(runner);
}

/* Makes the partition, the link and room for rows of the inbox. Returns whether there is enough
 * memory. */
static bool make_members(struct elapse__runner *runner,
                         const struct elapse__runner_options *options)
{
    struct elapse__partition_options partition = options->partition;
    partition.owner = elapse__runner_owner(runner);
    runner->owner = options->partition.owner;
    runner->calls = options->calls;
    runner->inbox = options->inbox;
    runner->lease_ms = options->partition.lease_ms;
    if (elapse__runner_has_inbox(runner))
        runner->rows = calloc(ELAPSE__INBOX_ROWS_MAX, sizeof *runner->rows);
    runner->partition = elapse__partition_new(&partition, elapse__runner_now_ms());
    runner->link = elapse__database_link_new(&(struct elapse__database_link_options){
        .hosts = options->hosts,
        .host_count = options->partition.hosts,
        .queue = options->queue,
        .partition = options->number,
        .me = options->partition.me,
        .address = options->address,
        .lease_ms = options->partition.lease_ms,
    });
    return runner->partition != NULL && runner->link != NULL &&
           (runner->rows != NULL || !elapse__runner_has_inbox(runner));
}

int elapse__runner_start(struct elapse__runner **runner,
                         const struct elapse__runner_options *options)
{
    struct elapse__runner *made = calloc(1, sizeof *made);
    *runner = NULL;
    if (made == NULL)
        return ENOMEM;
    int error = elapse__os->lock_init(&made->lock);
    if (error != 0) {
        free(made);
        return error;
    }
    error = elapse__os_event_open(&made->event);
    if (error != 0) {
        elapse__lock_free(&made->lock);
        free(made);
        return error;
    }
    *runner = made; /* stored before the thread starts, because callbacks may use it */
    error = ENOMEM;
    if (make_members(made, options))
        error = elapse__os->thread_start(&made->thread, 0, elapse__runner_main, made);
    if (error == 0)
        return 0;
    *runner = NULL;
    free_runner(made);
    return error;
}

void elapse__runner_stop(struct elapse__runner *runner)
{
    elapse__lock(&runner->lock);
    runner->requests.stops = true;
    elapse__unlock(&runner->lock);
    elapse__os_event_set(runner->event);
    elapse__os_thread_join(&runner->thread);
    free_runner(runner);
}

/* ---- requests ---- */

bool elapse__runner_submit(struct elapse__runner *runner, uint64_t epoch,
                           const struct elapse__partition_group *group)
{
    ELAPSE__ASSERT_THAT(epoch, >, 0);
    ELAPSE__ASSERT_THAT(group->size, >, 0);
    elapse__lock(&runner->lock);
    bool is_taken = runner->epoch == epoch;
    if (is_taken) {
        ELAPSE__ASSERT(!runner->is_in_flight);
        runner->is_in_flight = true;
        runner->requests.has_group = true;
        runner->requests.group = *group;
    }
    elapse__unlock(&runner->lock);
    if (is_taken)
        elapse__os_event_set(runner->event);
    return is_taken;
}

void elapse__runner_trim(struct elapse__runner *runner, uint64_t epoch, uint64_t tail)
{
    ELAPSE__ASSERT_THAT(tail, >, 0);
    elapse__lock(&runner->lock);
    if (runner->epoch == epoch && tail > runner->requests.tail)
        runner->requests.tail = tail; /* the next beat takes the tail: the thread need not wake */
    elapse__unlock(&runner->lock);
}

static void set_request(struct elapse__runner *runner, bool *request)
{
    elapse__lock(&runner->lock);
    *request = true;
    elapse__unlock(&runner->lock);
    elapse__os_event_set(runner->event);
}

void elapse__runner_news(struct elapse__runner *runner)
{
    set_request(runner, &runner->requests.has_news);
}

void elapse__runner_wake(struct elapse__runner *runner)
{
    elapse__os_event_set(runner->event);
}

void elapse__runner_aside(struct elapse__runner *runner)
{
    set_request(runner, &runner->requests.is_aside);
}

void elapse__runner_move(struct elapse__runner *runner)
{
    set_request(runner, &runner->requests.moves);
}

void elapse__runner_expect(struct elapse__runner *runner,
                           enum elapse__partition_next_owner next_owner)
{
    elapse__lock(&runner->lock);
    runner->requests.expects = true;
    runner->requests.next_owner = next_owner;
    elapse__unlock(&runner->lock);
    elapse__os_event_set(runner->event);
}

void elapse__runner_hand_over(struct elapse__runner *runner)
{
    set_request(runner, &runner->requests.hands_over);
}

/* ---- what a runner shows ---- */

uint64_t elapse__runner_answer_until_ms(const struct elapse__runner *runner)
{
    return atomic_load(&runner->answer_until_ms);
}

void elapse__runner_figures(struct elapse__runner *runner, struct elapse__runner_figures *figures)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    elapse__lock(&runner->lock);
    *figures = runner->figures;
    elapse__unlock(&runner->lock);
}
