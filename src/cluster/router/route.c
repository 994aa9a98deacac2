/*
 * Decides to which partition a command belongs.
 *
 * A command that is not well formed may go to any partition, because every partition refuses it
 * with the same error. So a command that a partition accepts must count as well formed here, too.
 * The router and the partitions read options by src/protocol/resp_options.c, and ids by the same
 * rules.
 */
#include <string.h>

#include "../../base/braces.h"
#include "../../base/decimal.h"
#include "../../protocol/duration.h"
#include "kinds.h"

#define ID_MAX ((UINT64_C(1) << 53) - 1) /* the highest id of a job (src/queue/queue.h) */

uint32_t elapse__router_partition_of_key(uint32_t partitions, const void *tube, size_t tube_size,
                                         const void *key, size_t key_size)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    const unsigned char *tube_bytes = tube;
    const unsigned char *key_bytes = key;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    ELAPSE__ASSERT_THAT(tube_size, <=, 255);
    hash = (hash ^ (unsigned char)tube_size) * prime;
    for (size_t i = 0; i < tube_size; i++)
        hash = (hash ^ tube_bytes[i]) * prime;
    for (size_t i = 0; i < key_size; i++)
        hash = (hash ^ key_bytes[i]) * prime;
    return (uint32_t)((hash ^ hash >> 32) % partitions);
}

bool elapse__router_partition_of_braces(uint32_t partitions, const void *tube, size_t tube_size,
                                        uint32_t *partition)
{
    const unsigned char *part = NULL;
    size_t part_size = 0;

    if (tube_size > 255 || !elapse__braces_find(tube, tube_size, &part, &part_size))
        return false;
    *partition = elapse__router_partition_of_key(partitions, part, part_size, "", 0);
    return true;
}

bool elapse__router_find_whole(const struct elapse__router *router,
                               struct elapse__wire_resp_argument tube, uint32_t *partition)
{
    return router->options.hash_tags && tube.size <= ELAPSE__ROUTER_TUBE_MAX &&
           elapse__router_partition_of_braces(router->options.partitions, tube.bytes, tube.size,
                                              partition);
}

uint32_t elapse__router_partition_in(const struct elapse__router *router,
                                     struct elapse__wire_resp_argument tube,
                                     struct elapse__wire_resp_argument key)
{
    uint32_t partition = 0;

    return elapse__router_find_whole(router, tube, &partition)
               ? partition
               : elapse__router_partition_of_key(router->options.partitions, tube.bytes, tube.size,
                                                 key.bytes, key.size);
}

/* ---- the table ---- */

static const struct elapse__router_route routes[] = {
    {.name = "PUT", .kind = ELAPSE__ROUTER_ROUTE_PUT, .least = 3, .queues = true},
    {.name = "ACK", .kind = ELAPSE__ROUTER_ROUTE_LEASES, .least = 3, .queues = true},
    {.name = "RESERVE", .kind = ELAPSE__ROUTER_ROUTE_RESERVE, .least = 2},
    {.name = "CANCEL", .kind = ELAPSE__ROUTER_ROUTE_KEYS, .least = 3, .queues = true},
    {.name = "RESCHEDULE", .kind = ELAPSE__ROUTER_ROUTE_KEY, .least = 3, .queues = true},
    {.name = "ARRIVE", .kind = ELAPSE__ROUTER_ROUTE_KEY, .least = 3, .queues = true},
    {.name = "NACK",
     .kind = ELAPSE__ROUTER_ROUTE_LEASES,
     .least = 3,
     .lease_options = 3,
     .queues = true},
    {.name = "EXTEND", .kind = ELAPSE__ROUTER_ROUTE_LEASES, .least = 3, .queues = true},
    {.name = "BURY",
     .kind = ELAPSE__ROUTER_ROUTE_LEASES,
     .least = 3,
     .lease_options = 1,
     .queues = true},
    {.name = "CANCELID", .kind = ELAPSE__ROUTER_ROUTE_IDS, .least = 2, .queues = true},
    {.name = "RESCHEDULEID", .kind = ELAPSE__ROUTER_ROUTE_ID, .least = 2, .queues = true},
    {.name = "KICKID", .kind = ELAPSE__ROUTER_ROUTE_ID, .least = 2, .queues = true},
    {.name = "LOOKUP", .kind = ELAPSE__ROUTER_ROUTE_KEY, .least = 3, .looks = true},
    {.name = "LOOKUPID", .kind = ELAPSE__ROUTER_ROUTE_ID, .least = 2, .looks = true},
    {.name = "LIST",
     .kind = ELAPSE__ROUTER_ROUTE_PAGE,
     .least = 2,
     .looks = true,
     .has_tube = true},
    {.name = "FIND", .kind = ELAPSE__ROUTER_ROUTE_PAGE, .least = 2, .looks = true},
    {.name = "RECURRING", .kind = ELAPSE__ROUTER_ROUTE_PAGE, .least = 1, .looks = true},
    {.name = "GROUPS",
     .kind = ELAPSE__ROUTER_ROUTE_PAGE,
     .least = 2,
     .looks = true,
     .has_tube = true},
    {.name = "TUBES", .kind = ELAPSE__ROUTER_ROUTE_PAGE, .least = 1, .looks = true},
    {.name = "STATS",
     .kind = ELAPSE__ROUTER_ROUTE_ALL,
     .least = 1,
     .looks = true,
     .has_tube = true,
     .command = ELAPSE__ROUTER_COMMAND_STATS},
    {.name = "PAUSE",
     .kind = ELAPSE__ROUTER_ROUTE_ALL,
     .least = 3,
     .has_tube = true,
     .command = ELAPSE__ROUTER_COMMAND_PAUSE},
    {.name = "LIMIT", .kind = ELAPSE__ROUTER_ROUTE_TUBE, .least = 2},
    {.name = "CANCELALL",
     .kind = ELAPSE__ROUTER_ROUTE_ALL,
     .least = 2,
     .slow = true,
     .has_tube = true,
     .command = ELAPSE__ROUTER_COMMAND_CANCELALL},
    {.name = "KICK", .kind = ELAPSE__ROUTER_ROUTE_KICK, .least = 3, .slow = true, .has_tube = true},
    {.name = "LEASED",
     .kind = ELAPSE__ROUTER_ROUTE_LEASES,
     .least = 3,
     .queues = true,
     .guards = true},
    {.name = "MULTI", .local = elapse__router_local_multi, .least = 1, .controls = true},
    {.name = "EXEC", .kind = ELAPSE__ROUTER_ROUTE_EXEC, .least = 1, .controls = true},
    {.name = "DISCARD", .local = elapse__router_local_discard, .least = 1, .controls = true},
    {.name = "WATCH", .local = elapse__router_local_watch, .least = 2, .controls = true},
    {.name = "COMMAND", .kind = ELAPSE__ROUTER_ROUTE_ANY, .least = 1, .looks = true},
    {.name = "PING", .local = elapse__router_local_ping, .least = 1, .queues = true},
    {.name = "ECHO", .local = elapse__router_local_echo, .least = 2, .queues = true},
    {.name = "HELLO", .local = elapse__router_local_hello, .least = 1, .before_auth = true},
    {.name = "AUTH", .local = elapse__router_local_auth, .least = 2, .before_auth = true},
    {.name = "SELECT", .local = elapse__router_local_select, .least = 2, .queues = true},
    {.name = "CLIENT", .local = elapse__router_local_client, .least = 2, .queues = true},
    {.name = "WHOAMI", .local = elapse__router_local_whoami, .least = 1},
    {.name = "CONFIG", .local = elapse__router_local_config, .least = 2},
    {.name = "NODE", .local = elapse__router_local_node, .least = 2},
    {.name = "HISTORY", .local = elapse__router_local_history, .least = 1},
    {.name = "INFO", .local = elapse__router_local_info, .least = 1},
    {.name = "QUIT",
     .local = elapse__router_local_quit,
     .least = 1,
     .before_auth = true,
     .controls = true},
    {.name = "RESET",
     .local = elapse__router_local_reset,
     .least = 1,
     .before_auth = true,
     .controls = true},
};

const struct elapse__router_route *elapse__router_route_at(unsigned place)
{
    return place < sizeof routes / sizeof *routes ? &routes[place] : NULL;
}

const struct elapse__router_route *elapse__router_route_find(struct elapse__wire_resp_argument name)
{
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (elapse__wire_resp_is(name, routes[i].name))
            return &routes[i];
    }
    return NULL;
}

bool elapse__router_argument_id(struct elapse__wire_resp_argument argument, uint64_t *id)
{
    return elapse__decimal_read(argument.bytes, argument.size, ID_MAX, id) && *id > 0;
}

/* Returns how many partitions are at `place`. For NOWHERE, returns the count of all partitions. */
static uint32_t count_at(const struct elapse__router *router, enum elapse__router_place place)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < router->options.partitions; i++)
        count += place == ELAPSE__ROUTER_NOWHERE || router->partitions[i].place == place;
    return count;
}

/* Chooses a partition that this node owns. If there is none, chooses a partition that another node
 * owns. If there is none either, chooses any partition. Clients are spread evenly. */
uint32_t elapse__router_home(struct elapse__router_client *client)
{
    struct elapse__router *router = client->router;
    enum elapse__router_place place = ELAPSE__ROUTER_HERE;

    if (client->home_serial == router->serial)
        return client->home;
    client->home_serial = router->serial;
    if (count_at(router, place) == 0)
        place = ELAPSE__ROUTER_THERE;
    if (count_at(router, place) == 0)
        place = ELAPSE__ROUTER_NOWHERE;
    ELAPSE__ASSERT_THAT(count_at(router, place), >, 0);
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there is a partition */
    uint64_t left = client->number % count_at(router, place);
    for (uint32_t i = 0; i < router->options.partitions; i++) {
        if ((place == ELAPSE__ROUTER_NOWHERE || router->partitions[i].place == place) &&
            left-- == 0)
            client->home = i;
    }
    return client->home;
}

/* Returns whether a partition still knows the token of a put when the put is sent again after its
 * link was lost. */
static bool token_lasts(struct elapse__wire_resp_argument life)
{
    const uint64_t least_ns =
        UINT64_C(60000000000); /* longer than retry_ms, the wait of a fragment */
    uint64_t life_ns = 0;

    return elapse__duration_parse((const char *)life.bytes, life.size, &life_ns) == NULL &&
           life_ns >= least_ns;
}

static void note_old_name(struct elapse__router_client *client, const uint32_t *places)
{
    const struct elapse__router_options *options = &client->router->options;

    if (places[ELAPSE__PUT_RETRY] == 0 || client->said_retry || options->old_name == NULL)
        return;
    client->said_retry = true;
    options->old_name(options->context, client->shell);
}

struct elapse__router_put
elapse__router_route_put(struct elapse__router_client *client,
                         const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    const struct elapse__router *router = client->router;
    struct elapse__router_put put = {.partition = elapse__router_home(client)};
    uint32_t places[ELAPSE__PUT_OPTION_COUNT];

    if (!elapse__wire_resp_find_options(arguments, count, 3, elapse__wire_resp_put_options,
                                        ELAPSE__PUT_OPTION_COUNT, places, NULL) ||
        arguments[1].size > ELAPSE__ROUTER_TUBE_MAX)
        return put;
    note_old_name(client, places);
    struct elapse__wire_resp_argument key = arguments[places[ELAPSE__PUT_KEY]];
    struct elapse__wire_resp_argument token = arguments[places[ELAPSE__PUT_TOKEN]];
    bool is_named = places[ELAPSE__PUT_TOKEN] != 0 && token.size > 0;
    put.may_repeat = is_named && (places[ELAPSE__PUT_FOR] == 0 ||
                                  token_lasts(arguments[places[ELAPSE__PUT_FOR]]));
    if (elapse__router_find_whole(router, arguments[1], &put.partition)) {
        put.chosen = ELAPSE__ROUTER_PUT_BY_PLACE;
    } else if (places[ELAPSE__PUT_KEY] != 0) {
        put.chosen = ELAPSE__ROUTER_PUT_BY_PLACE;
        put.partition = elapse__router_partition_in(router, arguments[1], key);
    } else if (is_named) {
        put.chosen = ELAPSE__ROUTER_PUT_BY_TOKEN;
        put.partition = elapse__router_partition_of_key(router->options.partitions, "", 0,
                                                        token.bytes, token.size);
    }
    return put;
}
