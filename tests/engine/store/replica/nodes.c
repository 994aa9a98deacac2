#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

struct world world;

uint64_t below(uint64_t limit)
{
    return sim_disk_random() % limit;
}

bool violate(const char *format, ...)
{
    va_list arguments;
    if (world.violation[0] != '\0')
        return false;
    va_start(arguments, format);
    (void)vsnprintf(world.violation, sizeof world.violation, format, arguments);
    va_end(arguments);
    return false;
}

struct elapse__queue_now world_now(void)
{
    return (struct elapse__queue_now){.boot_ms = (uint64_t)world.wall_ms, .wall_ms = world.wall_ms};
}

/* ---- the log ---- */

static uint64_t next_hash(uint64_t previous, const void *bytes, size_t size)
{
    uint64_t hash = previous ^ UINT64_C(14695981039346656037);
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t hash_at(uint64_t group)
{
    return group == 0 ? 77 : world.groups[group].hash;
}

static bool submit(void *context, const void *bytes, size_t size, uint64_t position)
{
    struct log_group *group = &world.groups[world.end + 1];
    (void)context, (void)position;
    if (world.takes_none)
        return false;
    if (world.in_flight)
        return violate("two groups are in flight");
    if (world.end + 2 >= GROUPS_MAX)
        abort();
    free(group->bytes);
    group->bytes = malloc(size);
    if (group->bytes == NULL)
        abort();
    memcpy(group->bytes, bytes, size);
    group->size = size;
    group->previous_hash = hash_at(world.end);
    group->hash = next_hash(group->previous_hash, bytes, size);
    world.in_flight = true;
    world.is_visible = below(2) == 0;
    world.totals[SUBMITTED]++;
    return true;
}

static void trim(void *context, uint64_t tail)
{
    (void)context;
    world.totals[TRIMS]++;
    if (tail > world.end)
        (void)violate("the tail is above the log");
    if (tail <= world.tail || below(3) > 0)
        return;
    world.tail = tail;
    check_tail(tail);
    if (world.violation[0] != '\0' && getenv("KEEP") != NULL)
        abort();
}

static const struct elapse__journal_log the_log = {
    .genesis = 77, .next_hash = next_hash, .submit = submit, .trim = trim};

/* ---- a node's process ---- */

/* What the files have must be a beginning of the log; the last group may have gone back. */
static bool place_is_sound(struct node *node)
{
    struct elapse__journal_place place = elapse__journal_place(node->engine.journal);
    uint64_t sure = place.is_confirmed || place.group == 0 ? place.group : place.group - 1;
    uint64_t sure_hash = sure == place.group ? place.hash : place.previous_hash;
    if (sure > world.end)
        return violate("%s has group %llu for sure, and the log has %llu", node->path,
                       (unsigned long long)sure, (unsigned long long)world.end);
    if (sure > 0 && sure_hash != hash_at(sure))
        return violate("%s has another group %llu", node->path, (unsigned long long)sure);
    if (place.group == 0 && place.hash != 77)
        return violate("%s does not begin with the genesis", node->path);
    return true;
}

bool node_open(struct node *node)
{
    struct elapse__queue_options jobs = {
        .secret = {sim_disk_random(), sim_disk_random()},
        .seed = sim_disk_random(),
        .body_bytes_max = BODY_MAX,
    };
    struct elapse__journal_options journal = {
        .files = &sim_disk_files,
        .path = node->path,
        .segment_bits = SEGMENT_BITS,
        .interval_ms = 50,
        .identity = {.bytes = {3, (uint8_t)(node - world.nodes)}},
        .log = &the_log,
    };
    struct elapse__journal_refusal refusal;
    world.totals[OPENS]++;
    memset(node->steps, 0, sizeof node->steps);
    if (!elapse__engine_make_jobs(&node->engine, world_now, &jobs))
        abort();
    if (!elapse__engine_open_journal(&node->engine, &journal, &refusal)) {
        elapse__engine_free(&node->engine);
        bool call_failed = refusal.fault == ELAPSE__FAULT_CALL && refusal.error == EIO;
        if (sim_disk_is_dead() || refusal.error == ENOSPC || (call_failed && world.syncs_fail))
            return false;
        return violate("%s is refused: %s, fault %d, error %d", node->path, refusal.file,
                       (int)refusal.fault, refusal.error);
    }
    node->is_open = true;
    node->owns = false;
    node_tick(node);
    return place_is_sound(node);
}

void node_tick(struct node *node)
{
    elapse__journal_tick(node->engine.journal, (uint64_t)world.wall_ms);
}

bool node_step(struct node *node, enum elapse__journal_lane lane)
{
    struct elapse__operation *operation = &node->operations[lane];
    switch (node->steps[lane]) {
    case 0:
        if (!elapse__journal_next_operation(node->engine.journal, lane, operation))
            return false;
        node->steps[lane] = 1;
        return true;
    case 1:
        elapse__operation_perform(node->engine.journal, operation);
        node->steps[lane] = 2;
        return true;
    default:
        node->steps[lane] = 0;
        elapse__journal_completed(node->engine.journal, lane, operation);
        return true;
    }
}

void node_kill(struct node *node)
{
    if (!node->is_open)
        return;
    for (unsigned lane = 0; lane < ELAPSE__JOURNAL_LANES; lane++) {
        struct elapse__operation *operation = &node->operations[lane];
        if (node->steps[lane] == 2 && operation->error == 0 &&
            operation->kind == ELAPSE__OPERATION_CREATE)
            sim_disk_files.close(operation->file);
        operation->error = EIO;
        if (node->steps[lane] != 0)
            elapse__journal_completed(node->engine.journal, (enum elapse__journal_lane)lane,
                                      operation);
        node->steps[lane] = 0;
    }
    struct elapse__journal_figures figures;
    elapse__journal_figures(node->engine.journal, &figures);
    world.totals[SEGMENTS] += figures.head;
    elapse__engine_free(&node->engine);
    node->is_open = false;
    node->owns = false;
}

void node_go_on(struct node *node)
{
    for (unsigned i = 0; i < 2000 && world.violation[0] == '\0'; i++) {
        bool worked = node_step(node, ELAPSE__LANE_COMMIT);
        worked |= node_step(node, ELAPSE__LANE_BACKGROUND);
        if (world.in_flight && node->owns)
            log_answer();
        else if (!worked)
            break;
    }
}

bool node_rebuild(struct node *node)
{
    if (elapse__journal_error(node->engine.journal) != 0 ||
        !elapse__journal_follows(node->engine.journal) ||
        elapse__engine_rebuild(&node->engine) != 0)
        return false;
    world.totals[REBUILDS]++;
    return true;
}

/* As src/cluster does it: the last group may have gone back; what was trimmed cannot be read. */
bool node_follow(struct node *node)
{
    struct elapse__journal_place place = elapse__journal_place(node->engine.journal);
    uint64_t seen = world.end + (world.in_flight && world.is_visible);
    if (!elapse__journal_follows(node->engine.journal) ||
        elapse__journal_error(node->engine.journal) != 0)
        return false;
    bool leads = place.group <= seen && place.group + 1 >= world.tail &&
                 (place.group == 0 || place.hash == hash_at(place.group));
    if (!leads && place.group > 0)
        return node_rebuild(node);
    uint64_t next = leads ? place.group + 1 : world.tail;
    if (next > seen)
        return false;
    const struct log_group *group = &world.groups[next];
    int error = elapse__engine_follow(
        &node->engine, &(struct elapse__engine_group){next, group->hash, group->previous_hash,
                                                      group->bytes, group->size});
    if (error != 0 && error != EAGAIN && error != ENOSPC && !sim_disk_is_dead())
        return violate("%s cannot follow: %s", node->path, strerror(error));
    struct elapse__portable portable;
    if (error != 0 || !elapse__portable_open(&portable, group->bytes, group->size))
        return false;
    if (elapse__journal_dead_below(node->engine.journal, portable.facts.tail) > 0)
        return violate("%s keeps records that are dead in the log", node->path);
    if (elapse__queue_last_id(node->engine.jobs) + 1 < portable.facts.next_id)
        return violate("%s may give ids again", node->path);
    return true;
}

void world_begin(uint64_t seed)
{
    uint64_t totals[16];
    memcpy(totals, world.totals, sizeof totals);
    memset(&world, 0, sizeof world);
    memcpy(world.totals, totals, sizeof totals);
    sim_disk_begin(seed);
    world.owner = -1;
    world.tail = 1;
    world.wall_ms = 1000000;
    for (unsigned i = 0; i < NODES; i++)
        (void)snprintf(world.nodes[i].path, sizeof world.nodes[i].path, "node%u", i);
}

void world_end(void)
{
    for (unsigned i = 0; i < NODES; i++)
        node_kill(&world.nodes[i]);
    for (size_t i = 0; i < GROUPS_MAX; i++)
        free(world.groups[i].bytes);
    sim_disk_end();
}
