/*
 * Makes a node of the simulation. It is the shell around the state machine of a partition.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

struct world world;
struct sim_node nodes[NODES];
struct world_totals *world_totals;
bool world_trace;

enum { NONE = -1 };

void world_violate(const char *what)
{
    if (world.violation[0] == '\0')
        (void)snprintf(world.violation, sizeof world.violation, "%s", what);
}

static void trace(const struct sim_node *node, const char *what, uint64_t number)
{
    if (world_trace)
        (void)printf("%8llu %s %s %llu\n", (unsigned long long)world.now_ms, node->me, what,
                     (unsigned long long)number);
}

static uint64_t node_now(const struct sim_node *node)
{
    return node->offset_ms + world.now_ms * node->rate_ppm / 1000000;
}

static void figures_of(const struct sim_node *node, struct elapse__partition_figures *figures)
{
    elapse__partition_figures(node->partition, figures);
}

/* ---- what the state machine calls ---- */

static void keep(struct sim_node *node, uint64_t group, uint64_t hash)
{
    if (group >= GROUPS_MAX)
        abort();
    node->hashes[group] = hash;
    node->local = (struct elapse__partition_log_place){group, hash};
}

static void on_apply(void *context, const struct elapse__partition_log_row *row, uint64_t hash)
{
    struct sim_node *node = context;
    trace(node, "applies", row->group);
    if (row->group != node->local.group + 1)
        world_violate("a group is applied out of order");
    keep(node, row->group, hash);
}

static void on_rebuild(void *context, uint64_t tail)
{
    struct sim_node *node = context;
    trace(node, "rebuilds from", tail);
    node->base = tail - 1;
    node->local = (struct elapse__partition_log_place){tail - 1, 0};
    world_totals->rebuilds++;
}

static void on_own(void *context, uint64_t epoch)
{
    trace(context, "owns epoch", epoch);
    world_totals->take_overs++;
}

static void on_confirmed(void *context, uint64_t group)
{
    struct sim_node *node = context;
    struct elapse__partition_figures figures;
    figures_of(node, &figures);
    trace(node, "confirms", group);
    if (figures.confirmed.group != group)
        world_violate("another group is confirmed than the last");
    keep(node, group, figures.confirmed.hash);
    node->has_group = false;
    world_totals->groups++;
}

static void on_fenced(void *context, const struct elapse__partition_group *group)
{
    struct sim_node *node = context;
    trace(node, "is fenced, with a group:", group != NULL);
    if (group != NULL && group->bytes != node->bytes)
        world_violate("another group is put aside than was submitted");
    if ((group != NULL) != node->has_group)
        world_violate("a group that was not confirmed is not put aside");
    node->has_group = false;
    node->is_to_set_aside = true;
    world_totals->fenced++;
}

static void on_stopped(void *context, enum elapse__partition_stop stop)
{
    struct sim_node *node = context;
    trace(node, "stops, because", stop);
    node->has_stopped = true;
    world_totals->stops++;
    if (!world.has_lost)
        world_violate("a node stops although nothing is lost");
    else if (stop != ELAPSE__STOP_LOST_GROUPS && stop != ELAPSE__STOP_MARKED)
        world_violate("a node stops for another reason than lost groups");
}

/* ---- after each call ---- */

static void after_call(struct sim_node *node)
{
    char text[80];
    struct elapse__partition_figures figures;
    unsigned broken = elapse__partition_check(node->partition);
    if (broken != 0) {
        (void)snprintf(text, sizeof text, "invariant of the partition: %u", broken);
        world_violate(text);
    }
    figures_of(node, &figures);
    node->was_near =
        node->was_near || (figures.time.is_known && figures.clock <= ELAPSE__CLOCK_OFF);
    node->local.group = figures.local.group;
    node->local.hash = figures.local.hash;
    node->confirmed = figures.confirmed;
}

/* ---- statements ---- */

static void detach(struct sim_node *node)
{
    if (node->session != NONE)
        database_detach(node->session);
    node->session = NONE;
}

static void start(struct sim_node *node, const struct elapse__statement *statement)
{
    static const char *const names[] = {
        "connects",   "SESSION", "READ_ROW", "READ_LOG", "TAKE_OVER", "BEAT",     "APPEND",
        "MAKE_TABLE", "DROP",    "RELEASE",  "MARK",     "CLOCKS",    "TERMINATE"};
    trace(node, names[statement->kind],
          statement->kind == ELAPSE__STATEMENT_CONNECT ? statement->host : statement->group);
    node->serial = statement->serial;
    if (statement->kind == ELAPSE__STATEMENT_CONNECT) {
        detach(node);
        node->is_sent = false;
        node->is_connecting = true;
        node->host = statement->host;
        return;
    }
    node->is_sent = true;
    if (node->session != NONE && !node->is_cut[sessions[node->session].server])
        database_send(node->session, statement, node->me, world.now_ms);
}

void node_act(int number)
{
    struct sim_node *node = &nodes[number];
    struct elapse__statement statement;
    if (node->partition == NULL || node->is_paused)
        return;
    elapse__partition_tick(node->partition, node_now(node));
    after_call(node);
    if (elapse__partition_next(node->partition, node_now(node), &statement))
        start(node, &statement);
    after_call(node);
}

static void complete(struct sim_node *node, const struct elapse__statement_result *result)
{
    static const char *const outcomes[] = {
        [ELAPSE__OUTCOME_ROWS] = "rows",   [ELAPSE__OUTCOME_LOCKED] = "locked",
        [ELAPSE__OUTCOME_MOVED] = "moved", [ELAPSE__OUTCOME_ERROR] = "error",
        [ELAPSE__OUTCOME_LOST] = "lost",   [ELAPSE__OUTCOME_REFUSED] = "refused",
    };
    trace(node, result->noticed ? "  notice" : outcomes[result->outcome], result->count);
    struct elapse__statement_result timed = *result;
    timed.wall_ms = SIM_EPOCH_MS + (int64_t)world.now_ms + node->ahead_ms;
    elapse__partition_completed(node->partition, node_now(node), &timed);
    after_call(node);
}

static void receive_connection(int number)
{
    struct sim_node *node = &nodes[number];
    struct elapse__statement_result result = {.serial = node->serial};
    if (node->is_cut[node->host])
        return;
    node->is_connecting = false;
    node->session = database_connect(number, (int)node->host);
    if (node->session == NONE)
        result.outcome = ELAPSE__OUTCOME_LOST;
    complete(node, &result);
}

void node_receive(int number)
{
    struct sim_node *node = &nodes[number];
    if (node->partition == NULL || node->is_paused)
        return;
    if (node->is_connecting) {
        receive_connection(number);
        return;
    }
    if (!node->is_sent)
        return;
    if (node->session == NONE) {
        struct elapse__statement_result lost = {.serial = node->serial,
                                                .outcome = ELAPSE__OUTCOME_LOST};
        node->is_sent = false;
        complete(node, &lost);
        return;
    }
    struct sim_session *session = &sessions[node->session];
    if (session->state != SIM_ANSWERED || node->is_cut[session->server])
        return;
    node->is_sent = false;
    session->state = SIM_IDLE;
    if (session->result.outcome == ELAPSE__OUTCOME_LOST) {
        session->state = SIM_FREE;
        node->session = NONE;
    }
    complete(node, &session->result);
}

void node_lose_connection(int number)
{
    detach(&nodes[number]);
    world_totals->losses++;
}

/* ---- answers ---- */

static int write_of(int server, struct elapse__partition_log_place place)
{
    for (unsigned i = servers[server].written; i-- > 0;)
        if (servers[server].writes[i].group == place.group)
            return servers[server].writes[i].row.last_hash == place.hash ? (int)i : NONE;
    return NONE;
}

static bool is_safe(struct elapse__partition_log_place place)
{
    if (place.group == 0)
        return true;
    int write = write_of(primary, place);
    return write != NONE && (unsigned)write < servers[primary].safe;
}

static bool may_answer(const struct sim_node *node)
{
    return node->partition != NULL && !node->is_paused &&
           node_now(node) < elapse__partition_answer_until_ms(node->partition);
}

/* C9. A look takes half a lease at most; clocks drift by 4 % until the next one. */
static void check_time(const struct sim_node *node)
{
    struct elapse__partition_figures figures;
    int64_t limit_ms = LEASE_MS / 2 + LEASE_MS * 4 / 100 + ELAPSE__CLOCK_SLACK_MS + 1;
    figures_of(node, &figures);
    int64_t time_ms = (int64_t)node_now(node) + figures.time.offset_ms;
    if (world.sets_database_clocks && !node->was_near)
        return; /* alone with a database that is wrong */
    if (world.sets_database_clocks)
        limit_ms += ELAPSE__CLOCK_APART_MS;
    if (!figures.time.is_known)
        world_violate("an owner does not know the time");
    else if (llabs(time_ms - SIM_EPOCH_MS - (int64_t)world.now_ms) > limit_ms)
        world_violate("an owner has another time than the others");
}

bool node_has_wrong_clock(int number)
{
    return llabs(nodes[number].ahead_ms - servers[primary].ahead_ms) > ELAPSE__CLOCK_APART_MS;
}

static void check_answer(const struct sim_node *node)
{
    check_time(node);
    struct elapse__partition_log_place known = node->confirmed;
    for (int i = 0; i < NODES; i++)
        if (&nodes[i] != node && may_answer(&nodes[i]))
            world_violate("two nodes answer");
    if (known.group < world.told.group)
        world_violate("a stale answer: the node lacks groups of which another has told");
    else if (world.told.group > node->base && node->hashes[world.told.group] != world.told.hash)
        world_violate("an answer from another past");
    if (known.group > world.told.group && !is_safe(known))
        world_violate("an answer tells of a group that no standby has");
}

void node_answer(int number)
{
    const struct sim_node *node = &nodes[number];
    if (!may_answer(node))
        return;
    if (!world.has_lost)
        check_answer(node);
    world.told = node->confirmed;
    world_totals->answers++;
}

bool node_submit(int number)
{
    struct sim_node *node = &nodes[number];
    if (node->partition == NULL || node->is_paused || node->confirmed.group + 2 >= GROUPS_MAX ||
        !elapse__partition_takes_group(node->partition))
        return false;
    world.submitted++;
    memset(node->bytes, number, sizeof node->bytes);
    memcpy(node->bytes, &world.submitted, sizeof world.submitted);
    struct elapse__partition_group group = {.bytes = node->bytes, .size = sizeof node->bytes};
    elapse__partition_submit(node->partition, &group);
    node->has_group = true;
    after_call(node);
    return true;
}

void node_trim(int number, uint64_t keeps)
{
    struct sim_node *node = &nodes[number];
    struct elapse__partition_figures figures;
    if (node->partition == NULL || world.has_lost)
        return;
    figures_of(node, &figures);
    if (figures.role == ELAPSE__ROLE_OWNING && figures.confirmed.group > keeps)
        elapse__partition_trim(node->partition, figures.confirmed.group - keeps);
}

void node_persist(int number)
{
    struct sim_node *node = &nodes[number];
    uint64_t mark;
    if (node->partition == NULL || node->is_paused)
        return;
    struct elapse__partition_figures figures;
    figures_of(node, &figures);
    node->witness = figures.witness;
    node->memory = elapse__partition_memory(node->partition, &mark);
    elapse__partition_remembered(node->partition, mark);
}

void node_set_aside(int number)
{
    struct sim_node *node = &nodes[number];
    if (node->partition == NULL || !node->is_to_set_aside || node->is_paused)
        return;
    node->is_to_set_aside = false;
    elapse__partition_aside(node->partition);
    after_call(node);
}

/* ---- life ---- */

void node_crash(int number)
{
    struct sim_node *node = &nodes[number];
    if (node->partition == NULL)
        return;
    trace(node, "ends in life", node->life);
    detach(node);
    elapse__partition_free(node->partition);
    node->partition = NULL;
    node->is_sent = node->is_connecting = node->is_paused = node->is_to_set_aside = false;
    world_totals->crashes++;
}

/* A node that ended in the middle of a rebuild begins it again. */
static void repair_disk(struct sim_node *node)
{
    if (node->local.group < node->confirmed.group || node->local.group == node->base)
        node->local = (struct elapse__partition_log_place){0, 0};
}

void node_start(int number)
{
    struct sim_node *node = &nodes[number];
    if (node->partition != NULL)
        return;
    node->life++;
    (void)snprintf(node->me, sizeof node->me, "node%d.%u", number, node->life);
    repair_disk(node);
    struct elapse__partition_options options = {
        .owner = {node, on_apply, on_rebuild, on_own, on_confirmed, on_fenced, on_stopped},
        .me = node->me,
        .hosts = SERVERS,
        .lease_ms = LEASE_MS,
        .is_guest = node->is_guest,
        .genesis = world.genesis,
        .memory = node->memory,
        .local = node->local,
        .confirmed = node->confirmed,
        .witness = node->witness,
    };
    node->has_stopped = node->has_group = node->was_near = node->is_guest = false;
    node->session = NONE;
    node->partition = elapse__partition_new(&options, node_now(node));
    if (node->partition == NULL)
        abort();
    after_call(node);
}

/* The node is a witness still. The timeline stays here, because a node that knows none may believe
 * an old primary, which no rule prevents. */
void node_empty(int number)
{
    struct sim_node *node = &nodes[number];
    if (node->partition != NULL || node->must_stop)
        return;
    trace(node, "loses its directory", node->confirmed.group);
    node->memory.epoch = node->memory.seen_epoch = 0;
    node->base = 0;
    node->local = node->confirmed = (struct elapse__partition_log_place){0, 0};
    node->is_guest = true;
    world_totals->emptied++;
}

void node_hand_over(int number)
{
    struct sim_node *node = &nodes[number];
    if (node->partition == NULL || node->is_paused)
        return;
    trace(node, "hands over in life", node->life);
    elapse__partition_hand_over(node->partition, node_now(node));
    after_call(node);
    world_totals->hand_overs++;
}

void node_move(int number)
{
    struct sim_node *node = &nodes[number];
    if (node->partition == NULL || node->is_paused)
        return;
    trace(node, "moves in life", node->life);
    elapse__partition_move(node->partition);
    after_call(node);
    world_totals->moves++;
}

void node_expect(int number, enum elapse__partition_next_owner next_owner)
{
    struct sim_node *node = &nodes[number];
    if (node->partition == NULL || node->is_paused)
        return;
    trace(node, "expects as the next owner", next_owner);
    elapse__partition_expect(node->partition, next_owner);
    after_call(node);
}
