/*
 * Drives a run. Chooses what happens next, and checks what must be true after it.
 */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world world;
bool world_trace;
struct elapse__router_figures world_totals;

static void trace(const char *what, uint64_t one, uint64_t other)
{
    if (world_trace)
        (void)fprintf(stderr, "%6llu %s %llu %llu\n", (unsigned long long)world.now, what,
                      (unsigned long long)one, (unsigned long long)other);
}

/* ---- wires ---- */

static void clear_wire(struct wire *wire)
{
    elapse__buffer_free(&wire->to_partition);
    elapse__buffer_free(&wire->input);
    elapse__buffer_free(&wire->to_router);
    *wire = (struct wire){.in_use = false};
}

static struct wire *free_wire(void)
{
    for (int i = 0; i < WIRES_MAX; i++) {
        if (!world.wire[i].in_use)
            return &world.wire[i];
    }
    return NULL;
}

/* The router gives a wire up. What is on its way to the partition may still arrive. */
static void drop_wire(struct wire *wire)
{
    struct elapse__router_link *link = wire->router_side;

    wire->router_side = NULL;
    world.has_harmed = true;
    if (wire->is_here || choose(2) == 0)
        clear_wire(wire);
    elapse__router_link_closed(link, world.now);
}

static void open_links(void)
{
    struct elapse__router_link *link;

    while ((link = elapse__router_link_wanted(world.router, world.now)) != NULL) {
        struct wire *wire = free_wire();
        if (wire == NULL || (world.does_harm && choose(8) == 0)) {
            trace("a link cannot be opened", elapse__router_link_partition(link), 0);
            elapse__router_link_closed(link, world.now);
            continue;
        }
        *wire = (struct wire){.in_use = true,
                              .router_side = link,
                              .partition = elapse__router_link_partition(link),
                              .parser.argument_bytes_max = 65535};
        wire->epoch = world.partition[wire->partition].epoch;
        elapse__router_link_set_shell(link, wire);
        wire->is_here = wire->is_open = choose(2) == 0;
        elapse__router_link_opened(link, world.now, wire->is_here);
    }
}

/* Moves up to `most` bytes. */
static size_t some(size_t most)
{
    return most < 2 || choose(2) == 0 ? most : 1 + (size_t)choose(most);
}

static void send_wire(struct wire *wire)
{
    const uint8_t *bytes;

    if (wire->router_side == NULL)
        return;
    if (elapse__router_link_wants_end(wire->router_side)) {
        drop_wire(wire);
        return;
    }
    size_t size = some(elapse__router_link_output(wire->router_side, &bytes));
    if (size == 0)
        return;
    (void)elapse__buffer_append(&wire->to_partition, bytes, size);
    elapse__router_link_sent(wire->router_side, world.now, size);
}

/* The partition is in this process: it runs some commands, now and then in more steps than one. */
static void run_commands(struct wire *wire)
{
    const struct elapse__wire_resp_argument *arguments;
    uint32_t count;

    for (uint64_t left = choose(4);
         left > 0 && (arguments = elapse__router_link_command(wire->router_side, &count)) != NULL;
         left--) {
        bool is_done = choose(4) != 0;
        struct elapse__buffer answers = wire->to_router;
        wire->to_router = wire->input;
        if (!wire->has_begun)
            model_do(wire, arguments, count);
        wire->has_begun = !is_done;
        wire->input = wire->to_router;
        wire->to_router = answers;
        if (is_done) {
            (void)elapse__buffer_append(&wire->to_router, elapse__buffer_first(&wire->input),
                                        elapse__buffer_size(&wire->input));
            elapse__buffer_take(&wire->input, elapse__buffer_size(&wire->input));
        }
        elapse__router_link_ran(wire->router_side, is_done);
    }
}

/* Some bytes arrive at the partition, which does the commands that are whole. */
static void arrive(struct wire *wire)
{
    struct elapse__wire_resp_argument arguments[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];
    size_t size = some(elapse__buffer_size(&wire->to_partition));

    if (wire->is_here) {
        run_commands(wire);
        return;
    }
    if (size > 0) {
        (void)elapse__buffer_append(&wire->input, elapse__buffer_first(&wire->to_partition), size);
        elapse__buffer_take(&wire->to_partition, size);
    }
    while (elapse__buffer_size(&wire->input) > 0) {
        struct elapse__wire_resp_parsed parsed =
            elapse__wire_resp_parse(&wire->parser, elapse__buffer_first(&wire->input),
                                    elapse__buffer_size(&wire->input), arguments);
        if (parsed.outcome == ELAPSE__WIRE_RESP_MORE)
            break;
        if (parsed.outcome != ELAPSE__WIRE_RESP_COMMAND)
            violated("the router has sent no command", parsed.outcome, 0);
        /* An owner that is none any more does nothing that comes late. */
        if (wire->router_side != NULL || wire->epoch == world.partition[wire->partition].epoch)
            model_do(wire, arguments, parsed.count);
        elapse__buffer_take(&wire->input, parsed.consumed);
    }
    if (wire->router_side == NULL && elapse__buffer_size(&wire->to_partition) == 0)
        clear_wire(wire);
}

static void answer_wire(struct wire *wire)
{
    size_t room, size = elapse__buffer_size(&wire->to_router);

    if (wire->router_side == NULL)
        return;
    room = elapse__router_link_room(wire->router_side);
    size = some(size < room ? size : room);
    if (size == 0)
        return;
    elapse__router_link_received(wire->router_side, world.now,
                                 elapse__buffer_first(&wire->to_router), size);
    elapse__buffer_take(&wire->to_router, size);
}

static void move_wire(struct wire *wire)
{
    if (!wire->in_use)
        return;
    switch (choose(3)) {
    case 0:
        send_wire(wire);
        break;
    case 1:
        arrive(wire);
        break;
    default:
        answer_wire(wire);
        break;
    }
}

/* ---- clients ---- */

static void begin_client(struct client *client)
{
    client->router_side = elapse__router_client_new(world.router, world.now, true, client);
    if (client->router_side == NULL)
        violated("there is no memory", 0, 0);
    client->wanted = 1 + (uint32_t)choose(COMMANDS_MAX);
}

static void send_client(struct client *client)
{
    size_t room = elapse__router_client_room(client->router_side);

    while (client->count < client->wanted && elapse__buffer_size(&client->to_send) < 200)
        client_make(client);
    size_t size = elapse__buffer_size(&client->to_send);
    size = some(size < room ? size : room);
    if (size == 0)
        return;
    elapse__router_client_received(client->router_side, world.now,
                                   elapse__buffer_first(&client->to_send), size);
    elapse__buffer_take(&client->to_send, size);
}

static void read_client(struct client *client)
{
    const uint8_t *bytes;
    size_t size = some(elapse__router_client_output(client->router_side, &bytes));

    if (size > 0) {
        (void)elapse__buffer_append(&client->read, bytes, size);
        elapse__router_client_sent(client->router_side, world.now, size);
        client_take(client);
    }
    if (elapse__router_client_wants_end(client->router_side))
        violated("the router ends a client", (uint64_t)(client - world.client), 0);
}

static void end_client(struct client *client)
{
    trace("a client goes", (uint64_t)(client - world.client), client->answered);
    elapse__router_client_closed(client->router_side, world.now);
    client->router_side = NULL;
    client->has_gone = true;
}

static void move_client(struct client *client)
{
    if (client->router_side == NULL)
        return;
    if (choose(2) == 0)
        send_client(client);
    else
        read_client(client);
}

/* ---- harm ---- */

static void change_owner(uint32_t partition)
{
    enum elapse__router_place place = (enum elapse__router_place)choose(3);

    /* A node that has read the row sees the new owner; one that has not finds out by its links. */
    world.partition[partition].epoch++;
    world.has_harmed = true;
    trace("an owner changes", partition, place);
    if (choose(2) == 0)
        elapse__router_owner(world.router, world.now, partition, place,
                             world.partition[partition].epoch);
}

static void do_harm(void)
{
    switch (choose(5)) {
    case 0:
        change_owner((uint32_t)choose(world.partitions));
        break;
    case 1:
    case 2: {
        struct wire *wire = &world.wire[choose(WIRES_MAX)];
        if (wire->in_use && wire->router_side != NULL) {
            trace("a wire is cut", wire->partition, 0);
            drop_wire(wire);
        }
        break;
    }
    case 3: {
        struct client *client = &world.client[choose(world.clients)];
        if (client->router_side != NULL)
            end_client(client);
        break;
    }
    default:
        world.now += choose(2) == 0 ? choose(500) : choose(20000);
        break;
    }
}

/* ---- steps ---- */

static void check(void)
{
    unsigned broken = elapse__router_check(world.router);

    if (broken != 0)
        violated("an invariant is broken", broken, 0);
}

static void serve(void)
{
    (void)elapse__router_turn(world.router, world.now);
    open_links();
    while (elapse__router_client_attention(world.router) != NULL) {
    }
    while (elapse__router_link_attention(world.router) != NULL) {
    }
}

static void step(void)
{
    uint64_t what = choose(20);

    if (what < 6)
        move_client(&world.client[choose(world.clients)]);
    else if (what < 16)
        move_wire(&world.wire[choose(12)]);
    else if (what < 18)
        serve();
    else if (what < 19)
        world.now += choose(30);
    else if (world.does_harm && choose(world.harm_in) == 0)
        do_harm();
    else
        elapse__router_ready(world.router, world.now, (uint32_t)choose(world.partitions));
    check();
}

/* ---- the end ---- */

static bool is_quiet(void)
{
    for (uint32_t i = 0; i < world.clients; i++) {
        const struct client *client = &world.client[i];
        if (client->router_side != NULL &&
            (client->count < client->wanted || client->answered < client->count))
            return false;
    }
    for (int i = 0; i < WIRES_MAX; i++) {
        const struct wire *wire = &world.wire[i];
        if (wire->in_use && (elapse__buffer_size(&wire->to_partition) > 0 ||
                             elapse__buffer_size(&wire->to_router) > 0))
            return false;
    }
    return true;
}

/* Everybody does all that can be done. */
static void go_round(void)
{
    serve();
    for (uint32_t i = 0; i < world.clients; i++) {
        if (world.client[i].router_side != NULL) {
            send_client(&world.client[i]);
            read_client(&world.client[i]);
        }
    }
    for (int i = 0; i < WIRES_MAX; i++) {
        if (world.wire[i].in_use)
            send_wire(&world.wire[i]);
        if (world.wire[i].in_use)
            answer_wire(&world.wire[i]);
        if (world.wire[i].in_use)
            arrive(&world.wire[i]);
    }
    check();
}

/* No more harm: within a while, all commands have their replies. */
static void heal(void)
{
    uint64_t begun = world.now;

    world.does_harm = false;
    for (uint32_t i = 0; i < world.partitions; i++)
        elapse__router_owner(world.router, world.now, i,
                             ELAPSE__ROUTER_HERE + (enum elapse__router_place)(i % 2),
                             world.partition[i].epoch);
    for (unsigned round = 0; !is_quiet(); round++) {
        go_round();
        uint64_t next = elapse__router_next_ms(world.router);
        if (round % 8 == 0)
            world.now += next > world.now && next != UINT64_MAX && next < world.now + 1000
                             ? next - world.now
                             : 1;
        if (round == 60000 || world.now - begun > 3600000)
            violated("it does not come to rest", world.now - begun, round);
    }
}

/* Jobs that nobody has got are ready, unless a reply was lost with its link. */
static void check_jobs(void)
{
    for (uint32_t p = 0; p < world.partitions && !world.has_harmed; p++) {
        for (uint32_t i = 0; i < world.partition[p].job_count; i++) {
            const struct job *job = &world.partition[p].jobs[i];
            if (job->state == JOB_RESERVED && !job->was_received)
                violated("a job was not given back", job->id, p);
        }
    }
}

/* Clients without replies go; then all fragments of theirs are over, too. */
static void part_with_all(void)
{
    for (uint32_t i = 0; i < world.clients; i++) {
        if (world.client[i].router_side != NULL)
            end_client(&world.client[i]);
    }
    for (int round = 0; round < 2000; round++) {
        go_round();
        world.now++;
    }
    check_jobs();
}

static const void *link_password(void *context, size_t *size)
{
    (void)context;
    *size = 6;
    return "secret";
}

static void begin(void)
{
    static const uint32_t few[] = {300, 1000, 5000};
    static const uint32_t harms[] = {2, 8, 40};
    struct elapse__router_options options = {
        .queue = "orders",
        .hash_tags = true,
        .link_password = choose(2) == 0 ? NULL : link_password,
        .input_bytes_max = few[choose(3)],
        .output_bytes_max = choose(2) == 0 ? 0 : few[choose(3)],
        .lane_bytes_max = choose(2) == 0 ? 0 : few[choose(3)],
        .retry_ms = 2000,
        .answer_ms = 1000 + (uint32_t)choose(2000),
    };

    memset(&world, 0, sizeof world);
    world.now = 1000;
    world.partitions = 1 + (uint32_t)choose(PARTITIONS_MAX);
    world.clients = 1 + (uint32_t)choose(CLIENTS_MAX);
    options.partitions = world.partitions;
    world.router = elapse__router_new(&options, world.now);
    if (world.router == NULL)
        violated("there is no memory", 0, 0);
    for (uint32_t i = 0; i < world.partitions; i++) {
        world.partition[i].epoch = 1;
        world.partition[i].next_id = world.partitions + i;
        elapse__router_owner(world.router, world.now, i,
                             choose(2) == 0 ? ELAPSE__ROUTER_HERE : ELAPSE__ROUTER_THERE, 1);
    }
    for (uint32_t i = 0; i < world.clients; i++)
        begin_client(&world.client[i]);
    world.does_harm = choose(4) != 0;
    world.harm_in = harms[choose(3)];
    world.is_work = choose(2) == 0;
}

static void add_totals(void)
{
    struct elapse__router_figures figures;

    elapse__router_figures(world.router, &figures);
    world_totals.commands += figures.commands;
    world_totals.fragments += figures.fragments;
    world_totals.again += figures.again;
    world_totals.unknown += figures.unknown;
    world_totals.try_again += figures.try_again;
    world_totals.given_back += figures.given_back;
    world_totals.links_lost += figures.links_lost;
}

static void end(void)
{
    add_totals();
    for (int i = 0; i < WIRES_MAX; i++)
        clear_wire(&world.wire[i]);
    elapse__router_free(world.router);
    for (uint32_t i = 0; i < world.clients; i++) {
        elapse__buffer_free(&world.client[i].to_send);
        elapse__buffer_free(&world.client[i].read);
    }
}

void world_run(void)
{
    begin();
    unsigned steps = 500 + (unsigned)choose(6000);
    for (unsigned i = 0; i < steps; i++)
        step();
    heal();
    clients_check();
    part_with_all();
    end();
}
