/*
 * A heartbeat monitor: a node that has been silent for three seconds is suspected, and after ten
 * seconds it is declared dead.
 *
 *     heartbeats
 *
 * A hundred nodes send a heartbeat each second. Most are well, some are cut off for five seconds
 * and come back, and some are lost. Time is manual, so half a minute passes at once and every
 * moment can be checked to the tick.
 *
 * What to look at:
 * - heard_of(): one call schedules the suspicion, with the node's number as its key, and replaces
 *   the task that was pending under this key (an upsert): the last suspicion, or the death of a
 *   suspect that is alive after all. The program keeps no handle and no state for cancelling.
 * - suspect(): the action schedules the next stage, under the same key.
 * - The nodes are simulated by recurring tasks of the same scheduler. Each keeps its phase,
 *   whatever the others do.
 *
 * A program that keeps the handle can postpone the task instead: elapse_task_reschedule_after
 * needs no look-up of the key, and costs one store if the task is pending.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <elapse/scheduler.h>

#define BEAT_NS          ELAPSE_SECOND_NS
#define SUSPECT_AFTER_NS (3 * ELAPSE_SECOND_NS)
#define DEAD_AFTER_NS    (10 * ELAPSE_SECOND_NS)
#define END_NS           (30 * ELAPSE_SECOND_NS)

enum { NODES = 100 };

enum state { ALIVE, SUSPECTED, DEAD };

struct node {
    unsigned number;
    enum state state;
    uint64_t silent_from_ns;
    uint64_t silent_to_ns;
    uint64_t last_beat_ns;
    unsigned suspicions;
};

static struct elapse_scheduler *scheduler;
static struct node nodes[NODES];

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "heartbeats: fault: %s\n", what);
    exit(EXIT_FAILURE);
}

/* Prints the story of the first three nodes. */
static void tell(const struct node *node, const char *what, uint64_t now_ns)
{
    if (node->number < 3)
        printf("%6.3f s  node %u %s\n", (double)now_ns / 1e9, node->number, what);
}

/* ---- the monitor ---- */

static void schedule(struct node *node, elapse_action_function *action, uint64_t deadline_ns)
{
    /* The policy for keys is ELAPSE_KEY_REPLACE, which is 0. */
    struct elapse_task task = {
        .action = action, .context = node, .key = &node->number, .key_bytes = sizeof node->number};

    require(elapse_task_schedule_at(scheduler, &task, deadline_ns, NULL) == ELAPSE_OK,
            "a task could not be scheduled");
}

static void declare_dead(void *context, const struct elapse_run *run)
{
    struct node *node = context;

    tell(node, "is declared dead", run->actual_ns);
    require(node->state == SUSPECTED, "a node died that was not suspected");
    require(run->actual_ns == node->last_beat_ns + DEAD_AFTER_NS, "a death at the wrong time");
    node->state = DEAD;
}

static void suspect(void *context, const struct elapse_run *run)
{
    struct node *node = context;

    tell(node, "is suspected", run->actual_ns);
    require(node->state == ALIVE, "a node was suspected twice");
    require(run->actual_ns == node->last_beat_ns + SUSPECT_AFTER_NS,
            "a suspicion at the wrong time");
    node->state = SUSPECTED;
    node->suspicions++;
    schedule(node, declare_dead, node->last_beat_ns + DEAD_AFTER_NS);
}

static void heard_of(struct node *node, uint64_t now_ns)
{
    if (node->state == SUSPECTED)
        tell(node, "is back", now_ns);
    node->state = ALIVE;
    node->last_beat_ns = now_ns;
    schedule(node, suspect, now_ns + SUSPECT_AFTER_NS);
}

/* ---- the nodes ---- */

static void beat(void *context, const struct elapse_run *run)
{
    struct node *node = context;

    require(run->missed == 0, "a heartbeat was left out");
    if (run->actual_ns < node->silent_from_ns || run->actual_ns >= node->silent_to_ns)
        heard_of(node, run->actual_ns);
}

/* Every tenth node is cut off for five seconds, every tenth is lost. */
static void start_node(unsigned number)
{
    struct node *node = &nodes[number];
    struct elapse_task task = {
        .action = beat, .context = node, .recurrence = ELAPSE_RECUR_PERIOD, .period_ns = BEAT_NS};

    *node = (struct node){.number = number, .silent_from_ns = END_NS, .silent_to_ns = END_NS};
    if (number % 10 == 1) {
        node->silent_from_ns = 8 * ELAPSE_SECOND_NS;
        node->silent_to_ns = 13 * ELAPSE_SECOND_NS;
    } else if (number % 10 == 2) {
        node->silent_from_ns = 12 * ELAPSE_SECOND_NS;
    }
    /* Each node has a phase of its own. */
    require(elapse_task_schedule_at(scheduler, &task, number * 7 * ELAPSE_MILLISECOND_NS, NULL) ==
                ELAPSE_OK,
            "a node could not be started");
}

/* ---- the check at the end ---- */

static void check(const struct node *node)
{
    bool cut_off = node->number % 10 == 1;
    bool lost = node->number % 10 == 2;

    require(node->state == (lost ? DEAD : ALIVE), "a node is in the wrong state");
    require(node->suspicions == (cut_off || lost ? 1U : 0U), "a suspicion too few or too many");
}

int main(int argument_count, char **arguments)
{
    struct elapse_scheduler_options options;
    static struct elapse_statistics statistics;
    uint64_t next_ns;
    size_t count[3] = {0};

    (void)arguments;
    if (argument_count > 1) {
        fputs("usage: heartbeats\n", stderr);
        return 2;
    }
    elapse_scheduler_options_init(&options);
    options.clock = ELAPSE_CLOCK_MANUAL;
    require(elapse_scheduler_new(&options, &scheduler) == ELAPSE_OK, "no scheduler");
    for (unsigned i = 0; i < NODES; i++)
        start_node(i);

    /* Step from deadline to deadline, so that each action runs at the time it was scheduled for. */
    while ((next_ns = elapse_scheduler_next_ns(scheduler)) < END_NS)
        require(elapse_scheduler_step(scheduler, next_ns, NULL) == ELAPSE_OK, "time stands still");

    for (unsigned i = 0; i < NODES; i++) {
        check(&nodes[i]);
        count[nodes[i].state]++;
    }
    elapse_scheduler_statistics(scheduler, &statistics);
    printf("%d nodes: %zu alive, %zu suspected, %zu dead; %" PRIu64
           " suspicions and deaths were replaced before their time\n",
           NODES, count[ALIVE], count[SUSPECTED], count[DEAD], statistics.replaced);
    /* The nodes themselves are pending, and a suspicion for each node that is alive. */
    require(statistics.pending == NODES + count[ALIVE], "a task too few or too many is pending");
    require(elapse_scheduler_free(scheduler) == ELAPSE_OK, "the scheduler is not free");
    return EXIT_SUCCESS;
}
