/*
 * The thread of a runner. It asks the state machine (src/cluster/ownership/partition.h) for the
 * next statement, gives the statement to the link (link.h), and gives the result back to the state
 * machine.
 */
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "link.h"
#include "runner_inbox.h"
#include "runner_loop.h"

enum { NS_PER_MS = 1000000, REMEMBER_AGAIN_MS = 100 };

/* ---- what a runner shows ---- */

static void publish_answers(struct elapse__runner *runner)
{
    atomic_store(&runner->answer_until_ms, elapse__partition_answer_until_ms(runner->partition));
}

static bool is_another(const struct elapse__partition_figures *left,
                       const struct elapse__partition_figures *right)
{
    return left->role != right->role || left->clock != right->clock ||
           left->epoch != right->epoch || left->stop != right->stop ||
           strcmp(left->owner, right->owner) != 0 || strcmp(left->address, right->address) != 0;
}

/* Copies the message of the link when there is a new complaint. Later the link may have the message
 * of another server. */
static void note_message(struct elapse__runner *runner)
{
    struct elapse__partition_figures seen;
    elapse__partition_figures(runner->partition, &seen);
    if (seen.complaints == runner->complaints)
        return;
    runner->complaints = seen.complaints;
    strncpy(runner->message, elapse__database_link_message(runner->link),
            sizeof runner->message - 1);
}

static struct elapse__runner_figures publish_figures(struct elapse__runner *runner)
{
    struct elapse__runner_figures figures = {
        .has_released = runner->has_released,
        .polls_lost = runner->polls_lost,
    };
    elapse__partition_figures(runner->partition, &figures.partition);
    memcpy(figures.message, runner->message, sizeof figures.message);
    elapse__lock(&runner->lock);
    runner->figures = figures;
    elapse__unlock(&runner->lock);
    publish_answers(runner);
    return figures;
}

/* Calls `time_set` if the cluster's time has changed (R12 of partition.h). */
static void tell_time(struct elapse__runner *runner)
{
    struct elapse__clock_time *told = &runner->told_time;
    struct elapse__partition_figures seen;
    elapse__partition_figures(runner->partition, &seen);
    if (!seen.time.is_known || (told->is_known && told->offset_ms == seen.time.offset_ms &&
                                told->is_borrowed == seen.time.is_borrowed))
        return;
    *told = seen.time;
    if (runner->calls.time_set != NULL)
        runner->calls.time_set(runner->owner.context, told);
}

static void tell_witness(struct elapse__runner *runner,
                         const struct elapse__partition_witness *witness)
{
    struct elapse__partition_witness *told = &runner->told_witness;
    if (told->place.group == witness->place.group && told->place.hash == witness->place.hash &&
        told->epoch == witness->epoch)
        return;
    *told = *witness;
    if (runner->calls.witnessed != NULL)
        runner->calls.witnessed(runner->owner.context, witness);
}

static void publish(struct elapse__runner *runner)
{
    struct elapse__runner_figures figures = publish_figures(runner);
    tell_time(runner);
    tell_witness(runner, &figures.partition.witness);
    if (!is_another(&figures.partition, &runner->seen.partition))
        return;
    runner->seen = figures;
    if (runner->calls.changed != NULL)
        runner->calls.changed(runner->owner.context);
}

/* Writes the partition's memory to the disk if it has changed. The partition answers nothing until
 * that is done (R7 of partition.h). */
static void remember(struct elapse__runner *runner, uint64_t now_ms)
{
    ELAPSE__ASSERT_NO_LOCK_HELD();
    uint64_t mark;
    struct elapse__partition_memory memory = elapse__partition_memory(runner->partition, &mark);
    if (mark == runner->remembered_mark || now_ms < runner->remember_ms)
        return;
    if (!runner->calls.remember(runner->owner.context, &memory)) {
        runner->remember_ms = now_ms + REMEMBER_AGAIN_MS;
        return;
    }
    runner->remembered_mark = mark;
    elapse__partition_remembered(runner->partition, mark);
}

/* ---- callbacks of the partition ---- */

static void on_apply(void *context, const struct elapse__partition_log_row *row, uint64_t hash)
{
    const struct elapse__runner *runner = context;
    runner->owner.apply(runner->owner.context, row, hash);
}

static void on_rebuild(void *context, uint64_t tail)
{
    const struct elapse__runner *runner = context;
    runner->owner.rebuild(runner->owner.context, tail);
}

static void on_own(void *context, uint64_t epoch)
{
    struct elapse__runner *runner = context;
    ELAPSE__ASSERT_THAT(epoch, >, 0);
    ELAPSE__ASSERT_NO_LOCK_HELD();
    elapse__lock(&runner->lock);
    ELAPSE__ASSERT(!runner->is_in_flight);
    runner->epoch = epoch;
    runner->requests.tail = 0;
    elapse__unlock(&runner->lock);
    publish_answers(runner);
    runner->has_released = false;
    tell_time(runner);
    runner->owner.own(runner->owner.context, epoch);
}

static void on_confirmed(void *context, uint64_t group)
{
    struct elapse__runner *runner = context;
    elapse__lock(&runner->lock);
    ELAPSE__ASSERT(runner->is_in_flight);
    runner->is_in_flight = false;
    elapse__unlock(&runner->lock);
    publish_answers(runner);
    runner->owner.confirmed(runner->owner.context, group);
}

/* Notes that this node does not own the partition any more, so that nothing is answered. Returns
 * whether a submitted group waits that the partition has not taken yet, and stores that group. */
static bool disown(struct elapse__runner *runner, struct elapse__partition_group *waiting)
{
    elapse__lock(&runner->lock);
    bool has_waiting = runner->requests.has_group;
    *waiting = runner->requests.group;
    runner->requests.has_group = false;
    runner->is_in_flight = false;
    runner->epoch = 0;
    elapse__unlock(&runner->lock);
    atomic_store(&runner->answer_until_ms, 0);
    return has_waiting;
}

static void on_fenced(void *context, const struct elapse__partition_group *group)
{
    struct elapse__runner *runner = context;
    struct elapse__partition_group waiting;
    if (disown(runner, &waiting)) {
        ELAPSE__ASSERT(group == NULL);
        group = &waiting;
    }
    ELAPSE__ASSERT_THAT(elapse__partition_answer_until_ms(runner->partition), ==, 0); /* R3 */
    runner->owner.fenced(runner->owner.context, group);
}

static void on_stopped(void *context, enum elapse__partition_stop stop)
{
    struct elapse__runner *runner = context;
    struct elapse__partition_group waiting;
    note_message(runner);
    (void)publish_figures(runner); /* the callback may read the mark and the message */
    (void)disown(runner, &waiting);
    ELAPSE__ASSERT_THAT(stop, !=, ELAPSE__STOP_NONE);
    ELAPSE__ASSERT_THAT(elapse__partition_answer_until_ms(runner->partition), ==, 0); /* R3 */
    runner->owner.stopped(runner->owner.context, stop);
}

struct elapse__partition_owner elapse__runner_owner(struct elapse__runner *runner)
{
    return (struct elapse__partition_owner){
        .context = runner,
        .apply = on_apply,
        .rebuild = on_rebuild,
        .own = on_own,
        .confirmed = on_confirmed,
        .fenced = on_fenced,
        .stopped = on_stopped,
    };
}

/* ---- requests ---- */

/* Takes the requests of other threads. Takes a group only if the partition takes a group now. */
static struct elapse__runner_requests take_requests(struct elapse__runner *runner)
{
    (void)elapse__os_event_reset(runner->event);
    elapse__lock(&runner->lock);
    struct elapse__runner_requests taken = runner->requests;
    taken.has_group = taken.has_group && elapse__partition_takes_group(runner->partition);
    struct elapse__runner_requests left = {
        .has_group = runner->requests.has_group && !taken.has_group,
        .group = runner->requests.group,
    };
    if (runner->epoch == 0)
        taken.tail = 0;
    runner->requests = left;
    elapse__unlock(&runner->lock);
    return taken;
}

static void obey(struct elapse__runner *runner, uint64_t now_ms)
{
    struct elapse__runner_requests wanted = take_requests(runner);
    ELAPSE__ASSERT(!wanted.has_group || runner->epoch > 0);
    runner->is_stopping = runner->is_stopping || wanted.stops;
    if (wanted.has_group)
        elapse__partition_submit(runner->partition, &wanted.group);
    if (wanted.tail > 0)
        elapse__partition_trim(runner->partition, wanted.tail);
    if (wanted.has_news)
        elapse__partition_news(runner->partition);
    if (wanted.is_aside)
        elapse__partition_aside(runner->partition);
    if (wanted.expects)
        elapse__partition_expect(runner->partition, wanted.next_owner);
    if (wanted.moves)
        elapse__partition_move(runner->partition);
    if (wanted.hands_over && !runner->hands_over) {
        runner->hands_over = true;
        runner->give_up_ms = now_ms + ELAPSE__RUNNER_HAND_OVER_MS;
        elapse__partition_hand_over(runner->partition, now_ms);
    }
}

/* ---- statements ---- */

static void complete(struct elapse__runner *runner, struct elapse__statement_result *result)
{
    uint64_t now_ms = elapse__runner_now_ms();
    result->wall_ms = (int64_t)(elapse__os->clock_ns(ELAPSE__OS_WALL_CLOCK) / NS_PER_MS);
    elapse__partition_completed(runner->partition, now_ms, result);
    note_message(runner);
}

static void take_result(struct elapse__runner *runner, bool is_ready)
{
    struct elapse__statement_result result;
    if (!elapse__database_link_poll(runner->link, is_ready, &result))
        return;
    ELAPSE__ASSERT(!runner->releases || !runner->polls);
    if (runner->releases)
        runner->has_released = result.outcome == ELAPSE__OUTCOME_ROWS;
    runner->releases = false;
    if (runner->polls)
        elapse__runner_take_inbox(runner, &result);
    else
        complete(runner, &result);
}

static void begin_next(struct elapse__runner *runner, uint64_t now_ms)
{
    struct elapse__statement statement;
    if (runner->polls)
        return;
    if (!elapse__partition_next(runner->partition, now_ms, &statement)) {
        elapse__runner_poll_inbox(runner, now_ms);
        take_result(runner, false);
        return;
    }
    /* Answers must stop before this thread asks the database to hand over. */
    publish_answers(runner);
    runner->releases = statement.kind == ELAPSE__STATEMENT_RELEASE;
    if (runner->releases) {
        ELAPSE__ASSERT_THAT(atomic_load(&runner->answer_until_ms), ==, 0); /* R3 */
        runner->calls.releasing(runner->owner.context);
    }
    elapse__database_link_begin(runner->link, &statement);
    take_result(runner, false);
}

static uint64_t timeout_ns(const struct elapse__runner *runner)
{
    uint64_t mark, now_ms = elapse__runner_now_ms();
    uint64_t until_ms = elapse__partition_next_ms(runner->partition);
    uint64_t inbox_ms = elapse__runner_inbox_ms(runner);
    if (runner->polls || inbox_ms < until_ms)
        until_ms = inbox_ms;
    (void)elapse__partition_memory(runner->partition, &mark);
    if (mark != runner->remembered_mark && runner->remember_ms < until_ms)
        until_ms = runner->remember_ms;
    if (runner->hands_over && runner->give_up_ms < until_ms)
        until_ms = runner->give_up_ms;
    if (until_ms == UINT64_MAX)
        return ELAPSE__OS_FOREVER;
    return until_ms > now_ms ? (until_ms - now_ms) * NS_PER_MS : 0;
}

static void wait(struct elapse__runner *runner)
{
    struct elapse__os_watch watches[2] = {{.file = runner->event, .for_data = true}};
    elapse__database_link_watch(runner->link, &watches[1]);
    (void)elapse__os_wait(watches, 2, timeout_ns(runner));
    take_result(runner, watches[1].ready);
    elapse__runner_tell_inbox(runner);
}

static bool is_final(const struct elapse__runner *runner)
{
    struct elapse__partition_figures figures;
    elapse__partition_figures(runner->partition, &figures);
    return figures.role == ELAPSE__ROLE_ENDED || figures.role == ELAPSE__ROLE_STOPPED;
}

static void turn(struct elapse__runner *runner)
{
    uint64_t now_ms = elapse__runner_now_ms();
    obey(runner, now_ms);
    elapse__partition_tick(runner->partition, now_ms);
    note_message(runner);
    elapse__runner_limit_poll(runner, now_ms);
    begin_next(runner, now_ms);
    remember(runner, now_ms);
    publish(runner);
}

static bool has_given_up(const struct elapse__runner *runner)
{
    return runner->hands_over && elapse__runner_now_ms() >= runner->give_up_ms;
}

/* Ends the partition. Two groups go back to the caller by the callback `fenced`: one that came
 * while the partition handed over, and one whose answer this thread does not wait for any more. */
static void end(struct elapse__runner *runner)
{
    struct elapse__partition_group waiting;
    bool gives_up = !is_final(runner);
    bool owns = runner->epoch > 0; /* only this thread changes `epoch` */
    elapse__database_link_free(runner->link);
    runner->link = NULL;
    if (gives_up && !runner->hands_over)
        return;
    bool has_waiting = disown(runner, &waiting);
    if (has_waiting || (gives_up && owns))
        runner->owner.fenced(runner->owner.context, has_waiting ? &waiting : NULL);
    if (runner->hands_over)
        runner->calls.ended(runner->owner.context);
}

void *elapse__runner_main(void *argument)
{
    struct elapse__runner *runner = argument;
    elapse__os_thread_name("elapse-cluster");
    for (;;) {
        turn(runner);
        if (is_final(runner) || has_given_up(runner) ||
            (runner->is_stopping && !runner->hands_over))
            break;
        wait(runner);
    }
    end(runner);
    return NULL;
}
