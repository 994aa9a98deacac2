/*
 * store-replica [--seed N] [--runs N] [--seconds N]: simulates nodes that share a log. Each run has
 * a seed of its own. The seed of a run that fails is printed, and `--seed N --runs 1` repeats the
 * run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "world.h"

static struct node *any_node(void)
{
    return &world.nodes[below(NODES)];
}

static void set_faults(bool crash)
{
    world.syncs_fail = crash && below(2) == 0;
    sim_disk_set_faults(&(struct sim_disk_faults){.capacity = world.capacity,
                                                  .short_write_in = 9,
                                                  .failed_sync_in = world.syncs_fail ? 5 : 0,
                                                  .crash_after_calls = crash ? 1 + below(200) : 0});
}

/* All nodes lose their power. */
static void lose_power(void)
{
    owner_lost(false);
    for (unsigned i = 0; i < NODES; i++)
        node_kill(&world.nodes[i]);
    sim_disk_lose_power();
    set_faults(false);
    world.totals[CRASHES]++;
}

static void act(void)
{
    struct node *node = any_node();
    struct node *owner = world.owner < 0 ? NULL : &world.nodes[world.owner];
    uint64_t choice = below(1000);
    /* In a calm run little happens to the nodes, so that their journals grow and are cleaned. */
    if (world.is_calm && choice >= 960 && owner != NULL && below(12) > 0)
        return;
    if (choice < 300 && owner != NULL)
        client_command(&owner->engine);
    else if (choice < 350 && owner != NULL)
        client_replies(&owner->engine);
    else if (choice < 500)
        (void)(node->is_open && node_step(node, ELAPSE__LANE_COMMIT));
    else if (choice < 580)
        (void)(node->is_open && node_step(node, ELAPSE__LANE_BACKGROUND));
    else if (choice < 680 && owner != NULL)
        (void)(node_step(owner, ELAPSE__LANE_COMMIT) || node_step(owner, ELAPSE__LANE_BACKGROUND));
    else if (choice < 760)
        log_answer();
    else if (choice < 900)
        (void)(node->is_open && node_follow(node));
    else if (choice < 960) {
        world.wall_ms += (int64_t)below(60);
        if (node->is_open)
            node_tick(node);
    } else if (choice < 975)
        (void)(node->is_open || node_open(node));
    else if (choice < 980)
        (void)(owner == NULL && take_over(node));
    else if (choice < 983)
        owner_lost(true);
    else if (choice < 986 && node->is_open) {
        if (node == owner)
            owner_lost(false);
        node_kill(node);
        world.totals[CRASHES]++;
    } else if (choice < 987)
        set_faults(true);
    else if (choice == 987 && below(4) == 0)
        world.wall_ms += 700000; /* tokens end */
    else if (choice == 988 && owner != NULL && elapse__journal_error(owner->engine.journal) == 0)
        elapse__journal_push(owner->engine.journal);
    else if (choice == 989)
        world.takes_none = owner != NULL;
    else if (choice == 990)
        (void)(node->is_open && node_rebuild(node));
    else if (choice == 991)
        world.wall_ms += 2000; /* journals are idle */
}

/* A journal that has failed ends its process. */
static void bury_failed(void)
{
    for (int i = 0; i < NODES; i++) {
        struct node *node = &world.nodes[i];
        if (i == world.owner && elapse__journal_is_fenced(node->engine.journal))
            owner_lost(true); /* the log has taken no more */
        if (!node->is_open || elapse__journal_error(node->engine.journal) == 0)
            continue;
        if (i == world.owner)
            owner_lost(false);
        node_kill(node);
    }
}

/* Each node in turn owns what there is. */
static void end_run(void)
{
    world.capacity = 0;
    set_faults(false);
    for (unsigned i = 0; i < NODES && world.violation[0] == '\0'; i++) {
        struct node *node = &world.nodes[i];
        if (world.owner >= 0)
            node_go_on(&world.nodes[world.owner]);
        owner_lost(true);
        bool owns = (node->is_open || node_open(node)) && take_over(node);
        if (!owns && node->is_open && elapse__journal_error(node->engine.journal) != 0) {
            node_kill(node); /* a call had failed before the faults ended */
            owns = node_open(node) && take_over(node);
        }
        if (!owns)
            (void)violate("%s does not take over", node->path);
    }
}

static bool run_once(uint64_t seed, unsigned steps)
{
    world_begin(seed);
    if (below(4) == 0)
        world.capacity = (uint64_t)(14 + below(16)) << SEGMENT_BITS;
    world.is_calm = below(2) == 0;
    set_faults(false);
    for (unsigned i = 0; i < steps && world.violation[0] == '\0'; i++) {
        act();
        if (sim_disk_is_dead())
            lose_power();
        bury_failed();
    }
    if (world.violation[0] == '\0')
        end_run();
    bool is_sound = world.violation[0] == '\0';
    if (!is_sound)
        fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, world.violation);
    if (getenv("KEEP") != NULL)
        abort();
    world_end();
    return is_sound;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, runs = 100, seconds = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--runs") == 0)
            runs = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0)
            seconds = strtoull(argv[i + 1], NULL, 10);
    }
    time_t end = time(NULL) + (time_t)seconds;
    for (uint64_t i = 0; seconds > 0 ? time(NULL) < end : i < runs; i++)
        if (!run_once(seed + i, 12000))
            return 1;
    const uint64_t *totals = world.totals;
    printf("%llu commands, %llu groups submitted, %llu take-overs, %llu crashes, %llu opens, %llu "
           "rebuilds, %llu groups went back, %llu put aside, %llu trims, %llu segments\n",
           (unsigned long long)totals[COMMANDS], (unsigned long long)totals[SUBMITTED],
           (unsigned long long)totals[TAKE_OVERS], (unsigned long long)totals[CRASHES],
           (unsigned long long)totals[OPENS], (unsigned long long)totals[REBUILDS],
           (unsigned long long)totals[WENT_BACK], (unsigned long long)totals[ASIDE],
           (unsigned long long)totals[TRIMS], (unsigned long long)totals[SEGMENTS]);
    return 0;
}
