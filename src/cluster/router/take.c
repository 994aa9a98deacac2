/*
 * Makes fragments of commands, and puts them into the lanes of the partitions that they belong to.
 *
 * A command for one partition becomes one fragment. A command with items for many partitions
 * becomes one fragment for each of these partitions. A command that takes long, or that asks one
 * partition after the other, is a barrier: the commands after it wait for its reply. A command that
 * goes on another lane than the commands before it waits until those are answered. So each
 * partition does a client's commands in their order (N4).
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/decimal.h"
#include "../../protocol/duration.h"
#include "take.h"

enum {
    WORD_CHARGE = 64,        /* what a short reply counts as, in bytes */
    LOOK_CHARGE = 64 << 10,  /* what a reply with bodies or many lines counts as */
    AS_ARGUMENTS = 2,        /* AS and the name of a user */
    PAGE_ARGUMENTS_MAX = 16, /* LIST, a tube, five options with a value, and four without */
};

/* A command of a client, with its route. */
struct call {
    struct elapse__router_client *client;
    const struct elapse__user *user; /* whose rights the owner checks; NULL: it checks none */
    const struct elapse__router_route *route;
    const struct elapse__wire_resp_argument *arguments; /* the first is the command's name */
    uint32_t count;
};

static struct elapse__router_lane *lane_of(struct elapse__router *router, uint32_t partition,
                                           bool slow)
{
    ELAPSE__ASSERT_THAT(partition, <, router->options.partitions);
    return slow ? &router->partitions[partition].slow : &router->partitions[partition].quick;
}

/* Returns whether a lane has room for a command. If not, the client continues when the lane has
 * room. */
static bool has_place(struct elapse__router_client *client, struct elapse__router_lane *lane)
{
    if (!elapse__router_lane_is_full(lane))
        return true;
    elapse__ring_leave(&client->work);
    elapse__ring_append(&lane->blocked, &client->work);
    return false;
}

/* Sends a fragment. For a command by id, only the owner of the partition can find out whether the
 * user may use the tube of the job. So AS and the user's name stand before such a command. */
static bool send(const struct call *call, struct elapse__router_lane *lane,
                 struct elapse__router_command *command, enum elapse__router_on_loss on_loss,
                 const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    struct elapse__wire_resp_argument sent[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];

    if (call->user == NULL)
        return elapse__router_lane_send(lane, command, on_loss, arguments, count);
    ELAPSE__ASSERT_THAT(count + AS_ARGUMENTS, <=, ELAPSE__WIRE_RESP_ARGUMENTS_MAX);
    sent[0] = elapse__router_argument_text("AS");
    sent[1] = call->user->name;
    memcpy(&sent[AS_ARGUMENTS], arguments, count * sizeof *sent);
    return elapse__router_lane_send(lane, command, on_loss, sent, count + AS_ARGUMENTS);
}

/* ---- one partition ---- */

static enum elapse__router_taken take_whole(const struct call *call, uint32_t partition,
                                            enum elapse__router_on_loss on_loss)
{
    struct elapse__router_lane *lane = lane_of(call->client->router, partition, false);

    if (!has_place(call->client, lane))
        return ELAPSE__ROUTER_TAKEN_LATER;
    struct elapse__router_command *command = elapse__router_command_new(
        call->client, ELAPSE__ROUTER_COMMAND_ONE,
        on_loss == ELAPSE__ROUTER_LOSS_LOOK ? (size_t)LOOK_CHARGE : (size_t)WORD_CHARGE);
    if (command == NULL)
        return ELAPSE__ROUTER_TAKEN;
    command->fragments = 1;
    (void)send(call, lane, command, on_loss, call->arguments, call->count);
    return ELAPSE__ROUTER_TAKEN;
}

/* Sends a command to any partition. The command is not well formed, or its answer is the same
 * everywhere. */
static enum elapse__router_taken take_anywhere(const struct call *call)
{
    return take_whole(call, elapse__router_home(call->client), ELAPSE__ROUTER_LOSS_LOOK);
}

static enum elapse__router_taken take_put(const struct call *call)
{
    struct elapse__router_put put =
        elapse__router_route_put(call->client, call->arguments, call->count);

    return take_whole(call, put.partition,
                      put.may_repeat ? ELAPSE__ROUTER_LOSS_TOKEN : ELAPSE__ROUTER_LOSS_UNKNOWN);
}

/* ---- items ---- */

/* Which of the arguments of a command are its items. */
struct items {
    uint32_t first; /* the first argument of the first item */
    uint32_t each;  /* how many arguments an item has */
    uint32_t count;
};

/* Returns the place after the last item. The options from there on are for all items. */
static uint32_t end_of(const struct items *items)
{
    return items->first + items->count * items->each;
}

/* Stores the partition of each item. Returns false if an item is not well formed. */
static bool find_items(struct elapse__router_client *client, enum elapse__router_route_kind kind,
                       const struct elapse__wire_resp_argument *arguments,
                       const struct items *items, struct elapse__router_item *found)
{
    uint32_t partitions = client->router->options.partitions;
    uint64_t id = 0;

    for (uint32_t i = 0; i < items->count; i++) {
        struct elapse__wire_resp_argument argument = arguments[items->first + i * items->each];
        if (kind == ELAPSE__ROUTER_ROUTE_KEYS)
            found[i].partition =
                elapse__router_partition_in(client->router, arguments[1], argument);
        else if (elapse__router_argument_id(argument, &id))
            found[i].partition = elapse__router_partition_of_id(partitions, id);
        else
            return false;
    }
    return true;
}

/* Returns whether each lease is two numbers with a dash between them. A partition refuses the whole
 * command if one lease is not well formed. */
static bool leases_are_well_formed(const struct elapse__wire_resp_argument *arguments, uint32_t end)
{
    for (uint32_t i = 2; i < end; i += 2) {
        uint64_t number = 0;
        const unsigned char *bytes = arguments[i].bytes;
        const unsigned char *dash = memchr(bytes, '-', arguments[i].size);
        if (dash == NULL)
            return false;
        size_t before = (size_t)(dash - bytes);
        if (!elapse__decimal_read(bytes, before, UINT32_MAX, &number) ||
            !elapse__decimal_read(dash + 1, arguments[i].size - before - 1, UINT64_MAX, &number))
            return false;
    }
    return true;
}

/* Returns whether a partition accepts the options that follow the leases. */
static bool options_are_well_formed(const struct call *call, uint32_t first)
{
    static const struct elapse__wire_resp_option options[] = {
        {"ERROR", 1}, {"IN", 1}, {"AFTER", 1}};
    uint32_t all[3] = {0, 0, 0};
    const uint32_t *places = all + 1; /* the places of the options for a duration */
    uint64_t duration_ns = 0;

    if (!elapse__wire_resp_find_options(call->arguments, call->count, first, options,
                                        call->route->lease_options, all, NULL) ||
        (places[0] != 0 && places[1] != 0))
        return false;
    uint32_t place = places[0] + places[1];
    return place == 0 || elapse__duration_parse((const char *)call->arguments[place].bytes,
                                                call->arguments[place].size, &duration_ns) == NULL;
}

/* Sends to one partition the command with this partition's items only. */
static void send_items(struct elapse__router_command *command, const struct call *call,
                       const struct items *items, uint32_t partition)
{
    const struct elapse__wire_resp_argument *arguments = call->arguments;
    uint32_t behind = call->count - end_of(items);
    struct elapse__wire_resp_argument mine[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];
    uint32_t count = items->first;

    memcpy(mine, arguments, items->first * sizeof *mine);
    for (uint32_t i = 0; i < items->count; i++) {
        if (command->items[i].partition != partition)
            continue;
        memcpy(&mine[count], &arguments[items->first + i * items->each],
               items->each * sizeof *mine);
        count += items->each;
    }
    ELAPSE__ASSERT_THAT(count, >, items->first);
    memcpy(&mine[count], &arguments[end_of(items)], behind * sizeof *mine);
    count += behind;
    (void)send(call, lane_of(command->client->router, partition, false), command,
               ELAPSE__ROUTER_LOSS_UNKNOWN, mine, count);
}

/* Sends the fragments of a command with items. The partitions come in the order of their first
 * items. */
static void send_all_items(struct elapse__router_command *command, const struct call *call,
                           const struct items *items)
{
    bool sent[ELAPSE__ROUTER_PARTITIONS_MAX] = {false};
    uint32_t partitions[ELAPSE__ROUTER_PARTITIONS_MAX];
    uint32_t count = 0;

    for (uint32_t i = 0; i < items->count; i++) {
        uint32_t partition = command->items[i].partition;
        if (!sent[partition])
            partitions[count++] = partition;
        sent[partition] = true;
    }
    ELAPSE__ASSERT_THAT(count, >=, 2);
    /* All fragments are counted before the first one is sent, because the first one may end at
     * once. It must not look like the last one. */
    command->fragments = count;
    for (uint32_t i = 0; i < count; i++)
        send_items(command, call, items, partitions[i]);
}

/* Returns whether the lanes of all items have room. */
static bool have_places(struct elapse__router_client *client,
                        const struct elapse__router_item *found, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!has_place(client, lane_of(client->router, found[i].partition, false)))
            return false;
    }
    return true;
}

/* Finds the items and the partition of each. Returns false if the command is not well formed. */
static bool read_items(const struct call *call, struct items *items,
                       struct elapse__router_item *found)
{
    enum elapse__router_route_kind kind = call->route->kind;
    bool has_leases = kind == ELAPSE__ROUTER_ROUTE_LEASES;

    items->first = kind == ELAPSE__ROUTER_ROUTE_KEYS ? 2 : 1;
    items->each = has_leases ? 2 : 1;
    items->count = has_leases ? elapse__wire_resp_count_pairs(call->arguments, call->count)
                              : call->count - items->first;
    if (items->count == 0 ||
        (kind == ELAPSE__ROUTER_ROUTE_KEYS && call->arguments[1].size > ELAPSE__ROUTER_TUBE_MAX))
        return false;
    return find_items(call->client, kind, call->arguments, items, found) &&
           (!has_leases || (leases_are_well_formed(call->arguments, end_of(items)) &&
                            options_are_well_formed(call, end_of(items))));
}

static enum elapse__router_taken take_items(const struct call *call)
{
    struct elapse__router_item found[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];
    struct items items;
    bool is_one = true;

    if (!read_items(call, &items, found))
        return take_anywhere(call);
    for (uint32_t i = 1; i < items.count; i++)
        is_one = is_one && found[i].partition == found[0].partition;
    if (is_one)
        return take_whole(call, found[0].partition, ELAPSE__ROUTER_LOSS_UNKNOWN);
    if (!have_places(call->client, found, items.count))
        return ELAPSE__ROUTER_TAKEN_LATER;
    struct elapse__router_command *command =
        elapse__router_command_new(call->client, ELAPSE__ROUTER_COMMAND_ITEMS,
                                   (size_t)items.count * (WORD_CHARGE + sizeof *found));
    if (command == NULL)
        return ELAPSE__ROUTER_TAKEN;
    command->items = calloc(items.count, sizeof *command->items);
    if (command->items == NULL) {
        elapse__router_client_fail(call->client);
        return ELAPSE__ROUTER_TAKEN;
    }
    for (uint32_t i = 0; i < items.count; i++)
        command->items[i].partition = found[i].partition;
    command->item_count = items.count;
    send_all_items(command, call, &items);
    return ELAPSE__ROUTER_TAKEN;
}

/* ---- pages ---- */

/* Returns whether the command names a tube that lies whole in one partition. If so, stores the
 * partition. */
static bool find_whole_tube(const struct call *call, uint32_t *partition)
{
    return call->route->has_tube && call->count > 1 &&
           elapse__router_find_whole(call->client->router, call->arguments[1], partition);
}

/* Takes LIST, RECURRING, FIND, GROUPS or TUBES. A cursor of the router is 0 at the beginning. Any
 * other cursor has two parts: modulo the count of partitions it is the partition, and the quotient
 * is the cursor of that partition. If the tube lies whole in one partition, only that partition is
 * asked. */
static enum elapse__router_taken take_page(const struct call *call)
{
    static const struct elapse__wire_resp_option options[] = {
        {"CURSOR", 1}, {"STATE", 1},     {"TAG", 1},    {"COUNT", 1},  {"KEYS", 0},
        {"BODY", 1},   {"SOONEST", 0},   {"NEWEST", 0}, {"PREFIX", 1}, {"TROUBLE", 0},
        {"COUNTS", 0}, {"RECURRING", 0}, {"HELD", 0}};
    enum { OPTIONS = sizeof options / sizeof *options };
    uint32_t partitions = call->client->router->options.partitions;
    uint32_t places[OPTIONS];
    uint64_t cursor = 0;
    char text[ELAPSE__DECIMAL_BYTES];
    struct elapse__wire_resp_argument asked[PAGE_ARGUMENTS_MAX];

    if (!elapse__wire_resp_find_options(call->arguments, call->count, call->route->least, options,
                                        OPTIONS, places, NULL) ||
        (places[0] != 0 &&
         !elapse__decimal_read(call->arguments[places[0]].bytes, call->arguments[places[0]].size,
                               UINT64_MAX / 2, &cursor)) ||
        call->count > PAGE_ARGUMENTS_MAX)
        return take_anywhere(call);
    uint32_t partition = (uint32_t)(cursor % partitions);
    bool is_whole = find_whole_tube(call, &partition);
    struct elapse__router_lane *lane = lane_of(call->client->router, partition, false);
    if (!has_place(call->client, lane))
        return ELAPSE__ROUTER_TAKEN_LATER;
    struct elapse__router_command *command =
        elapse__router_command_new(call->client, ELAPSE__ROUTER_COMMAND_PAGE, LOOK_CHARGE);
    if (command == NULL)
        return ELAPSE__ROUTER_TAKEN;
    command->cursor_of = partition;
    command->is_whole = is_whole;
    command->fragments = 1;
    memcpy(asked, call->arguments, call->count * sizeof *asked);
    if (places[0] != 0)
        asked[places[0]] =
            elapse__router_argument(text, elapse__decimal_write(text, cursor / partitions));
    (void)elapse__router_lane_send(lane, command, ELAPSE__ROUTER_LOSS_LOOK, asked, call->count);
    return ELAPSE__ROUTER_TAKEN;
}

/* ---- all partitions ---- */

static enum elapse__router_taken take_all(const struct call *call)
{
    struct elapse__router *router = call->client->router;
    uint32_t first = 0;
    bool is_whole = find_whole_tube(call, &first);
    uint32_t end = is_whole ? first + 1 : router->options.partitions;

    if (call->route->slow && !elapse__ring_empty(&call->client->commands))
        return ELAPSE__ROUTER_TAKEN_LATER; /* the reply of a command before it wakes the client */
    for (uint32_t i = first; i < end; i++) {
        if (!has_place(call->client, lane_of(router, i, call->route->slow)))
            return ELAPSE__ROUTER_TAKEN_LATER;
    }
    struct elapse__router_command *command =
        elapse__router_command_new(call->client, call->route->command, LOOK_CHARGE);
    if (command == NULL)
        return ELAPSE__ROUTER_TAKEN;
    command->is_barrier = call->route->slow;
    command->is_whole = end - first == 1; /* the answer of that partition is the reply */
    command->fragments = end - first;
    for (uint32_t i = first; i < end; i++)
        (void)elapse__router_lane_send(lane_of(router, i, call->route->slow), command,
                                       call->route->looks ? ELAPSE__ROUTER_LOSS_LOOK
                                                          : ELAPSE__ROUTER_LOSS_UNKNOWN,
                                       call->arguments, call->count);
    return ELAPSE__ROUTER_TAKEN;
}

static enum elapse__router_taken take_kick(const struct call *call)
{
    uint64_t wanted = 0;

    bool only_buried = call->count == 4 && elapse__wire_resp_is(call->arguments[3], "BURIED");
    if ((call->count != 3 && !only_buried) ||
        !elapse__decimal_read(call->arguments[2].bytes, call->arguments[2].size, UINT64_MAX,
                              &wanted))
        return take_anywhere(call);
    if (!elapse__ring_empty(&call->client->commands))
        return ELAPSE__ROUTER_TAKEN_LATER;
    uint32_t first = elapse__router_home(call->client);
    bool is_whole = find_whole_tube(call, &first);
    if (!has_place(call->client, lane_of(call->client->router, first, true)))
        return ELAPSE__ROUTER_TAKEN_LATER;
    struct elapse__router_command *command =
        elapse__router_command_new(call->client, ELAPSE__ROUTER_COMMAND_KICK, WORD_CHARGE);
    if (command == NULL)
        return ELAPSE__ROUTER_TAKEN;
    command->is_barrier = true;
    command->wanted = wanted;
    command->only_buried = only_buried;
    command->first = first;
    command->is_whole = is_whole;
    if (!elapse__buffer_append(&command->tube, call->arguments[1].bytes, call->arguments[1].size))
        elapse__router_client_fail(call->client);
    else
        elapse__router_kick_step(command);
    return ELAPSE__ROUTER_TAKEN;
}

/* ---- all commands ---- */

static enum elapse__router_taken take_local(const struct call *call)
{
    struct elapse__router_command *command =
        elapse__router_command_new(call->client, ELAPSE__ROUTER_COMMAND_ONE, WORD_CHARGE);

    ELAPSE__ASSERT_THAT(call->route->kind, ==, ELAPSE__ROUTER_ROUTE_LOCAL);
    if (command == NULL)
        return ELAPSE__ROUTER_TAKEN;
    if (call->count < call->route->least)
        elapse__router_reply_fail(command, "ERR wrong number of arguments");
    else
        call->route->local(command, call->arguments, call->count);
    if (call->client->guess == NULL)
        elapse__router_command_done(command);
    return ELAPSE__ROUTER_TAKEN;
}

/* Refuses a command with an error that has the command's name. In a transaction, EXEC will do
 * nothing. */
static enum elapse__router_taken refuse_named(struct elapse__router_client *client,
                                              const char *error,
                                              struct elapse__wire_resp_argument name)
{
    enum { SHOWN_MAX = 64 };
    char text[ELAPSE__ROUTER_ERROR_MAX] = "";
    size_t at = strlen(error) + strlen(" '");

    ELAPSE__ASSERT_THAT(at + SHOWN_MAX + sizeof " '...'", <=, sizeof text);
    strncat(text, error, sizeof text - strlen(text) - 1);
    strncat(text, " '", sizeof text - strlen(text) - 1);
    elapse__router_transaction_spoil(client);
    for (uint32_t i = 0; i < name.size && i < SHOWN_MAX; i++)
        text[at++] = (char)(name.bytes[i] == 0 ? '?' : name.bytes[i]);
    strncat(text, name.size > SHOWN_MAX ? "...'" : "'", sizeof text - at - 1);
    elapse__router_client_refuse(client, text);
    return ELAPSE__ROUTER_TAKEN;
}

static enum elapse__router_taken take_reserve(const struct call *call)
{
    return elapse__router_reserve_take(call->client, call->arguments, call->count)
               ? ELAPSE__ROUTER_TAKEN
               : take_anywhere(call);
}

/* Finds the partition of a command by its tube and key, or by its id. Returns false if the command
 * is not well formed. */
static bool find_one(const struct call *call, uint32_t *partition)
{
    const struct elapse__router *router = call->client->router;
    uint64_t id = 0;

    if (call->route->kind == ELAPSE__ROUTER_ROUTE_KEY) {
        if (call->arguments[1].size > ELAPSE__ROUTER_TUBE_MAX)
            return false;
        *partition = elapse__router_partition_in(router, call->arguments[1], call->arguments[2]);
        return true;
    }
    ELAPSE__ASSERT_THAT(call->route->kind, ==, ELAPSE__ROUTER_ROUTE_ID);
    if (!elapse__router_argument_id(call->arguments[1], &id))
        return false;
    *partition = elapse__router_partition_of_id(router->options.partitions, id);
    return true;
}

/* Takes a command for one partition, which the tube and key or the id name. */
static enum elapse__router_taken take_one(const struct call *call)
{
    uint32_t partition = 0;

    if (!find_one(call, &partition))
        return take_anywhere(call);
    return take_whole(call, partition,
                      call->route->looks ? ELAPSE__ROUTER_LOSS_LOOK : ELAPSE__ROUTER_LOSS_UNKNOWN);
}

/* Takes LIMIT. If the tube does not lie whole in one partition, any partition refuses the
 * command. */
static enum elapse__router_taken take_tube(const struct call *call)
{
    uint32_t partition = elapse__router_home(call->client);

    (void)elapse__router_find_whole(call->client->router, call->arguments[1], &partition);
    return take_whole(call, partition,
                      call->count == 2 ? ELAPSE__ROUTER_LOSS_LOOK : ELAPSE__ROUTER_LOSS_UNKNOWN);
}

/* ---- rights ---- */

static bool refuse(struct elapse__router_client *client, const char *error)
{
    elapse__router_client_refuse(client, error);
    return false;
}

/* Returns whether the client may send the command. If not, has replied. Finds the user with whose
 * rights the owner of a partition has to run the command. */
static bool check_rights(struct call *call)
{
    struct elapse__router_client *client = call->client;
    const struct elapse__router_options *options = &client->router->options;
    struct elapse__refusal refusal = {.right = ELAPSE__RIGHT_NODE};
    char text[ELAPSE__REFUSAL_BYTES];

    if (!elapse__identity_refresh(&client->who, options->users))
        client->known = false;
    if (!client->known && !call->route->before_auth)
        return refuse(client, "NOAUTH Authentication required.");
    const struct elapse__user *user = client->who.user;
    if (user == NULL)
        return !options->has_node_password || !elapse__wire_resp_is(call->arguments[0], "NODE") ||
               refuse(client, "NOPERM only a password of --node-password, or a user with the right "
                              "node, may be a node");
    if (!elapse__user_may_run(user, call->arguments, call->count, &refusal)) {
        elapse__refusal_write(text, user, &refusal);
        return refuse(client, text);
    }
    if (user->has_all_tubes || elapse__rule_of(call->arguments[0])->scope != ELAPSE__SCOPE_ID)
        return true;
    call->user = user;
    return call->count + AS_ARGUMENTS <= ELAPSE__WIRE_RESP_ARGUMENTS_MAX ||
           refuse(client,
                  "ERR too many arguments: by ids or leases a user with a list of tubes may "
                  "give 2046");
}

/* ---- transactions ---- */

/* Notes which partitions a command of a transaction names. Returns how many parts the command has.
 * A command that is not well formed names no partition, because any partition refuses it. */
static uint32_t place_queued(const struct call *call)
{
    struct elapse__router_client *client = call->client;
    struct elapse__router_item found[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];
    struct items items;
    uint32_t partition = 0;

    switch (call->route->kind) {
    case ELAPSE__ROUTER_ROUTE_PUT: {
        struct elapse__router_put put =
            elapse__router_route_put(client, call->arguments, call->count);
        if (put.chosen != ELAPSE__ROUTER_PUT_ANYWHERE)
            elapse__router_transaction_place(client, put.partition,
                                             put.chosen == ELAPSE__ROUTER_PUT_BY_TOKEN);
        return 1;
    }
    case ELAPSE__ROUTER_ROUTE_KEY:
    case ELAPSE__ROUTER_ROUTE_ID:
        if (find_one(call, &partition))
            elapse__router_transaction_place(client, partition, false);
        return 1;
    case ELAPSE__ROUTER_ROUTE_KEYS:
    case ELAPSE__ROUTER_ROUTE_IDS:
    case ELAPSE__ROUTER_ROUTE_LEASES:
        if (!read_items(call, &items, found))
            return 1;
        for (uint32_t i = 0; i < items.count; i++)
            elapse__router_transaction_place(client, found[i].partition, false);
        return items.count;
    default:
        ELAPSE__ASSERT_THAT(call->route->kind, ==, ELAPSE__ROUTER_ROUTE_LOCAL);
        return 1;
    }
}

/* Keeps a command for EXEC, and replies QUEUED or an error. */
static enum elapse__router_taken take_queued(const struct call *call)
{
    struct elapse__router_client *client = call->client;
    const char *error = NULL;

    if (!call->route->queues)
        return refuse_named(client,
                            "ERR send it outside of the transaction (in redis-py: "
                            "pipeline(transaction=False)), not between MULTI and EXEC:",
                            call->arguments[0]);
    if (call->count < call->route->least)
        return refuse_named(client, "ERR wrong number of arguments for", call->arguments[0]);
    if (client->transaction->spoiled == NULL)
        error = elapse__router_transaction_keep(client, call->route, call->arguments, call->count,
                                                place_queued(call));
    if (error != NULL) {
        elapse__router_client_refuse(client, error);
        return ELAPSE__ROUTER_TAKEN;
    }
    struct elapse__router_command *command =
        elapse__router_command_new(client, ELAPSE__ROUTER_COMMAND_ONE, WORD_CHARGE);
    if (command == NULL)
        return ELAPSE__ROUTER_TAKEN;
    elapse__router_reply_word(command, "QUEUED");
    elapse__router_command_done(command);
    return ELAPSE__ROUTER_TAKEN;
}

/* Returns why EXEC does nothing, or NULL if EXEC sends the transaction. */
static const char *refusal_of(const struct call *exec)
{
    const struct elapse__router_transaction *transaction = exec->client->transaction;

    if (transaction == NULL)
        return "ERR EXEC without MULTI";
    if (exec->count != 1)
        return "EXECABORT Transaction discarded: wrong number of arguments for 'exec' command";
    if (transaction->spoiled != NULL)
        return transaction->spoiled;
    if (transaction->where == ELAPSE__ROUTER_PARTS_SEVERAL)
        return "CROSSSLOT the commands belong to several partitions, and nothing is done: give "
               "their tubes names with the same part in braces, such as mails{eu}";
    return NULL;
}

/* Returns whether the client may still send each command of its transaction. If not, has replied.
 * Finds the user with whose rights the owner of the partition has to run EXEC. */
static bool check_rights_again(struct call *exec)
{
    const struct elapse__router_fragment *at = exec->client->transaction->first;

    for (; at != NULL; at = at->behind) {
        struct call call = {.client = exec->client,
                            .route = at->route,
                            .arguments = at->arguments,
                            .count = at->count};
        if (!check_rights(&call))
            return false;
        if (call.user != NULL)
            exec->user = call.user;
    }
    return true;
}

/* Sends the transaction as one fragment. The router runs its own commands of the transaction when
 * the fragment is answered. Commands after EXEC wait for that, so that they see what these commands
 * have done. */
static void send_transaction(const struct call *exec, struct elapse__router_lane *lane,
                             struct elapse__router_command *command)
{
    struct elapse__wire_resp_argument words[] = {
        elapse__router_argument_text("AS"), elapse__router_argument(NULL, 0),
        elapse__router_argument_text("EXEC"), elapse__router_argument_text("MULTI")};
    uint32_t as = exec->user == NULL ? 0 : AS_ARGUMENTS;

    if (exec->user != NULL)
        words[1] = exec->user->name;
    struct elapse__router_fragment *fragment =
        elapse__router_fragment_new(words + AS_ARGUMENTS - as, as + 1);
    struct elapse__router_fragment *multi = elapse__router_fragment_new(&words[3], 1);
    if (fragment == NULL || multi == NULL) {
        free(fragment);
        free(multi);
        elapse__router_transaction_end(exec->client);
        elapse__router_reply_fail(command, "OOM there is no memory");
        elapse__router_command_done(command);
        return;
    }
    elapse__router_transaction_move(command, fragment, multi);
    if (multi->behind == NULL) {
        elapse__router_fragment_free(fragment);
        elapse__router_transaction_answer(command, NULL, 0);
        elapse__router_command_done(command);
        return;
    }
    command->is_barrier = command->locals != NULL;
    command->fragments = 1;
    elapse__router_lane_put(lane, command, ELAPSE__ROUTER_LOSS_UNKNOWN, fragment);
}

static enum elapse__router_taken take_exec(const struct call *call)
{
    struct elapse__router_client *client = call->client;
    struct elapse__router_transaction *transaction = client->transaction;
    struct call exec = *call;
    const char *error = refusal_of(call);

    if (error != NULL) {
        elapse__router_transaction_end(client);
        elapse__router_client_refuse(client, error);
        return ELAPSE__ROUTER_TAKEN;
    }
    struct elapse__router_lane *lane =
        lane_of(client->router,
                transaction->where == ELAPSE__ROUTER_PARTS_ANYWHERE ? elapse__router_home(client)
                                                                    : transaction->partition,
                false);
    if (!has_place(client, lane))
        return ELAPSE__ROUTER_TAKEN_LATER;
    if (client->router->options.admit != NULL && !check_rights_again(&exec)) {
        elapse__router_transaction_end(client);
        return ELAPSE__ROUTER_TAKEN;
    }
    struct elapse__router_command *command =
        elapse__router_command_new(client, ELAPSE__ROUTER_COMMAND_EXEC,
                                   (size_t)transaction->parts * WORD_CHARGE + WORD_CHARGE);
    if (command != NULL)
        send_transaction(&exec, lane, command);
    return ELAPSE__ROUTER_TAKEN;
}

/* Returns whether a command has to wait for EXEC. AUTH does not wait if the client's password was
 * removed, because then the transaction is spoiled already. */
static bool is_queued(const struct call *call)
{
    struct elapse__router_client *client = call->client;

    if (client->transaction == NULL || call->route->controls)
        return false;
    if (client->known || !call->route->before_auth)
        return true;
    elapse__router_transaction_spoil(client);
    return false;
}

enum elapse__router_taken elapse__router_take(struct elapse__router_client *client,
                                              const struct elapse__wire_resp_argument *arguments,
                                              uint32_t count)
{
    static enum elapse__router_taken (*const takes[])(const struct call *call) = {
        [ELAPSE__ROUTER_ROUTE_LOCAL] = take_local,     [ELAPSE__ROUTER_ROUTE_ANY] = take_anywhere,
        [ELAPSE__ROUTER_ROUTE_PUT] = take_put,         [ELAPSE__ROUTER_ROUTE_KEY] = take_one,
        [ELAPSE__ROUTER_ROUTE_TUBE] = take_tube,       [ELAPSE__ROUTER_ROUTE_ID] = take_one,
        [ELAPSE__ROUTER_ROUTE_KEYS] = take_items,      [ELAPSE__ROUTER_ROUTE_IDS] = take_items,
        [ELAPSE__ROUTER_ROUTE_LEASES] = take_items,    [ELAPSE__ROUTER_ROUTE_PAGE] = take_page,
        [ELAPSE__ROUTER_ROUTE_ALL] = take_all,         [ELAPSE__ROUTER_ROUTE_KICK] = take_kick,
        [ELAPSE__ROUTER_ROUTE_RESERVE] = take_reserve, [ELAPSE__ROUTER_ROUTE_EXEC] = take_exec,
    };
    struct call call = {.client = client,
                        .route = elapse__router_route_find(arguments[0]),
                        .arguments = arguments,
                        .count = count};

    ELAPSE__ASSERT_THAT(count, >, 0);
    ELAPSE__ASSERT(!client->dead && !client->ending && !client->is_given);
    if (call.route == NULL)
        return refuse_named(client, "ERR unknown command", arguments[0]);
    if (client->router->options.admit != NULL && !check_rights(&call)) {
        elapse__router_transaction_spoil(client);
        return ELAPSE__ROUTER_TAKEN;
    }
    if (is_queued(&call))
        return take_queued(&call);
    if (call.route->guards)
        return take_anywhere(&call);
    if (count < call.route->least && call.route->kind != ELAPSE__ROUTER_ROUTE_LOCAL)
        return take_anywhere(&call);
    return takes[call.route->kind](&call);
}
