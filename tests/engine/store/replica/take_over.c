/*
 * Does in a few lines what the state machine of a cluster does: answers groups, and changes the
 * owner.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* ---- groups that are put aside ---- */

struct aside {
    const struct node *node;
    uint64_t records;
    char prefix[32];
};

static uint64_t load(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;
    while (count-- > 0)
        value = value << 8 | bytes[count];
    return value;
}

/* The group in flight gets its answer. */
void log_answer(void)
{
    if (!world.in_flight)
        return;
    world.in_flight = false;
    world.is_visible = false;
    world.end++;
    world.confirmed_records += load(world.groups[world.end].bytes + 4, 4);
    if (world.owner >= 0)
        elapse__journal_confirmed(world.nodes[world.owner].engine.journal);
}

static void name_journal(const struct node *node, char *directory, size_t size)
{
    (void)snprintf(directory, size, "%s/journal", node->path);
}

static void count_records(void *context, const char *name)
{
    struct aside *aside = context;
    char directory[32];
    size_t size = 0;
    if (strncmp(name, aside->prefix, strlen(aside->prefix)) != 0)
        return;
    name_journal(aside->node, directory, sizeof directory);
    const uint8_t *bytes = sim_disk_content(directory, name, &size);
    for (size_t at = 0; at < size; at += 8 + (size_t)load(bytes + at, 8)) {
        struct elapse__portable portable;
        if (!elapse__portable_open(&portable, bytes + at + 8, (size_t)load(bytes + at, 8))) {
            (void)violate("a group that was put aside makes no sense");
            return;
        }
        aside->records += portable.records;
    }
}

/* Each record that the owner has written is in a confirmed group, or aside. */
static void check_aside(const struct node *node, uint64_t epoch)
{
    struct aside aside = {.node = node};
    char directory[32];
    uint64_t written = node->engine.records - world.records_before;
    (void)snprintf(aside.prefix, sizeof aside.prefix, "aside-%llu-", (unsigned long long)epoch);
    name_journal(node, directory, sizeof directory);
    sim_disk_names(directory, count_records, &aside);
    world.totals[ASIDE] += aside.records > 0;
    if (aside.records + world.confirmed_records != written)
        (void)violate("%s wrote %llu records; %llu were confirmed, and %llu put aside", node->path,
                      (unsigned long long)written, (unsigned long long)world.confirmed_records,
                      (unsigned long long)aside.records);
}

/* Fences an owner that lives. */
static void fence(struct node *node)
{
    struct elapse__journal *journal = node->engine.journal;
    elapse__journal_fence(journal);
    world.takes_none = true; /* a group of an old epoch */
    while (node->steps[ELAPSE__LANE_COMMIT] != 0)
        (void)node_step(node, ELAPSE__LANE_COMMIT);
    world.takes_none = false;
    if (!elapse__journal_is_fenced(journal))
        return; /* it has failed */
    if (node_step(node, ELAPSE__LANE_COMMIT))
        (void)violate("a fenced journal goes on");
    else if (elapse__journal_put_aside(journal, world.totals[TAKE_OVERS]) == 0)
        check_aside(node, world.totals[TAKE_OVERS]);
}

void owner_lost(bool alive)
{
    if (world.owner < 0)
        return;
    struct node *node = &world.nodes[world.owner];
    world.owner = -1;
    /* What was sent may be in the log, or not. */
    if (world.in_flight && (world.is_visible ? below(2) > 0 : below(4) == 0)) {
        world.end++;
    } else if (world.in_flight) {
        world.totals[WENT_BACK] += world.is_visible;
    }
    world.in_flight = world.is_visible = false;
    if (alive)
        fence(node);
    client_forget_replies();
    node_kill(node);
}

bool take_over(struct node *node)
{
    struct elapse__journal_place place;
    if (!node->is_open || world.owner >= 0 || world.in_flight)
        return false;
    for (unsigned i = 0; i < 4000; i++) {
        place = elapse__journal_place(node->engine.journal);
        if (!node_follow(node)) {
            place = elapse__journal_place(node->engine.journal);
            if (place.group == world.end &&
                (world.end == 0 || place.hash == world.groups[world.end].hash))
                break;
            world.wall_ms += 10;
            node_tick(node);
            if (!node_step(node, ELAPSE__LANE_COMMIT))
                (void)node_step(node, ELAPSE__LANE_BACKGROUND);
        }
        if (sim_disk_is_dead() || world.violation[0] != '\0')
            return false;
    }
    if (place.group != world.end)
        return false; /* its disk is full */
    world.records_before = node->engine.records;
    world.confirmed_records = 0;
    int error = elapse__engine_own(&node->engine);
    for (unsigned i = 0; i < 1000 && (error == EAGAIN || error == ENOSPC); i++) {
        world.wall_ms += 10;
        node_tick(node);
        if (!node_step(node, ELAPSE__LANE_COMMIT))
            (void)node_step(node, ELAPSE__LANE_BACKGROUND);
        error = elapse__engine_own(&node->engine);
    }
    bool sync_failed = error == EIO && world.syncs_fail;
    if (error != 0 && error != EAGAIN && error != ENOSPC && !sim_disk_is_dead() && !sync_failed)
        return violate("%s cannot own: %s", node->path, strerror(error));
    if (error != 0)
        return false;
    world.owner = (int)(node - world.nodes);
    node->owns = true;
    world.totals[TAKE_OVERS]++;
    if (node->engine.life <= world.greatest_life)
        return violate("life %u is not the first of its number", node->engine.life);
    check_owner(node);
    return true;
}
