/*
 * Runs RESERVE: asks one partition after the other for jobs. The partitions of this node come
 * first.
 *
 *      first round: each partition once --jobs--> reply
 *                     |
 *                     +--none, and no WAIT--> the empty reply, or -TRYAGAIN if a partition was
 *                     |                       lost or could not be asked: it may have jobs
 *                     +--none--> WAITING --jobs--> reply
 *                                  |  ^
 *                                  |  +-- the chain of each partition asks the waiters in turn,
 *                                  |      when it has news, or was not asked for poll_ms
 *                                  +--the time is over--> the empty reply
 *
 * A waiter is a RESERVE that waits. The router never asks a partition to wait, because the other
 * commands on the same link would wait, too. It asks one partition at a time for a waiter, so that
 * no waiter gets two answers. Jobs that a client cannot get any more go back with NACK and no
 * delay, which uses up none of their retries.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/decimal.h"
#include "../../protocol/duration.h"
#include "kinds.h"

enum {
    COUNT_MAX = 1000,
    TUBES_MAX = 1000,
    HAND_OUT_CHARGE = 64 << 10,
    EVEN_ONE_IN = 8, /* one in so many first rounds does not prefer this node */
};

static struct elapse__router *router_of(const struct elapse__router_command *command)
{
    return command->client->router;
}

/* ---- the command ---- */

/* Reads WAIT, and checks COUNT as a partition does. */
static bool read_options(const struct elapse__wire_resp_argument *arguments, const uint32_t *places,
                         uint64_t *wait_ms)
{
    enum { NS_PER_MS = 1000000 };
    uint64_t count = 1;
    uint64_t wait_ns = 0;

    if (places[0] != 0 && (!elapse__decimal_read(arguments[places[0]].bytes,
                                                 arguments[places[0]].size, COUNT_MAX, &count) ||
                           count == 0))
        return false;
    if (places[1] != 0 && elapse__duration_parse((const char *)arguments[places[1]].bytes,
                                                 arguments[places[1]].size, &wait_ns) != NULL)
        return false;
    *wait_ms = wait_ns / NS_PER_MS + (wait_ns % NS_PER_MS > 0);
    return true;
}

/* Returns who gets the jobs: the holder that the command names, or the name of the client, or its
 * address. */
static struct elapse__wire_resp_argument holder_of(struct elapse__router_client *client,
                                                   const struct elapse__wire_resp_argument *given)
{
    const struct elapse__router_options *options = &client->router->options;

    if (given != NULL && given->size > 0)
        return *given;
    if (client->name_size > 0)
        return elapse__router_argument(client->name, client->name_size);
    if (client->address[0] == '\0' && options->address != NULL)
        options->address(client->shell, client->address);
    return elapse__router_argument_text(client->address);
}

/* Makes the command that goes to partitions: the RESERVE without WAIT, and with HOLDER at its
 * end. */
static bool make_question(struct elapse__router_client *client,
                          struct elapse__router_reserve *reserve,
                          const struct elapse__wire_resp_argument *arguments, uint32_t tubes,
                          const uint32_t *places)
{
    struct elapse__wire_resp_argument asked[1 + TUBES_MAX + 5];
    uint32_t count = 1 + tubes;

    ELAPSE__ASSERT_THAT(tubes, <=, TUBES_MAX);
    memcpy(asked, arguments, count * sizeof *asked);
    if (places[0] != 0) {
        asked[count++] = elapse__router_argument_text("COUNT");
        asked[count++] = arguments[places[0]];
    }
    if (places[2] != 0)
        asked[count++] = elapse__router_argument_text("DETAILS");
    asked[count] = elapse__router_argument_text("HOLDER");
    asked[count + 1] = holder_of(client, places[3] == 0 ? NULL : &arguments[places[3]]);
    count += asked[count + 1].size > 0 ? 2 : 0;
    reserve->question = elapse__router_fragment_new(asked, count);
    return reserve->question != NULL;
}

/* Returns a hash that is equal for waiters with the same tubes. */
static uint64_t hash_tubes(const struct elapse__wire_resp_argument *arguments, uint32_t tubes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (uint32_t i = 1; i <= tubes; i++) {
        hash = (hash ^ (arguments[i].size & 0xFF)) * UINT64_C(0x100000001b3);
        for (uint32_t k = 0; k < arguments[i].size; k++)
            hash = (hash ^ arguments[i].bytes[k]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* ---- tubes that lie whole in one partition ---- */

static bool has_partition(const struct elapse__router_reserve *reserve, uint32_t partition)
{
    bool has = reserve->partitions == NULL;

    for (uint32_t i = 0; i < reserve->partition_count && !has; i++)
        has = reserve->partitions[i] == partition;
    return has;
}

/* Finds the partitions that may have jobs in the tubes. This needs each tube to lie whole in one
 * partition. Returns false if there is no memory. */
static bool find_partitions(struct elapse__router_reserve *reserve,
                            const struct elapse__wire_resp_argument *arguments, uint32_t tubes)
{
    uint32_t partition = 0;

    for (uint32_t i = 1; i <= tubes; i++) {
        if (!elapse__router_find_whole(reserve->router, arguments[i], &partition))
            return true;
    }
    if (tubes == 0)
        return true;
    reserve->partitions = calloc(tubes, sizeof *reserve->partitions);
    if (reserve->partitions == NULL)
        return false;
    for (uint32_t i = 1; i <= tubes; i++) {
        bool is_whole = elapse__router_find_whole(reserve->router, arguments[i], &partition);
        ELAPSE__ASSERT(is_whole);
        (void)is_whole;
        if (reserve->partition_count == 0 || !has_partition(reserve, partition))
            reserve->partitions[reserve->partition_count++] = partition;
    }
    ELAPSE__ASSERT_THAT(reserve->partition_count, <=, reserve->router->options.partitions);
    return true;
}

static void step(struct elapse__router_command *command);

bool elapse__router_reserve_take(struct elapse__router_client *client,
                                 const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    static const struct elapse__wire_resp_option options[] = {
        {"COUNT", 1}, {"WAIT", 1}, {"DETAILS", 0}, {"HOLDER", 1}};
    struct elapse__router *router = client->router;
    uint32_t partitions = router->options.partitions;
    uint32_t tubes = elapse__wire_resp_count_tubes(arguments, count);
    uint32_t places[4];
    uint64_t wait_ms = 0;

    if (tubes > TUBES_MAX ||
        !elapse__wire_resp_find_options(arguments, count, 1 + tubes, options, 4, places, NULL) ||
        !read_options(arguments, places, &wait_ms))
        return false;
    struct elapse__router_command *command =
        elapse__router_command_new(client, ELAPSE__ROUTER_COMMAND_RESERVE, HAND_OUT_CHARGE);
    if (command == NULL)
        return true;
    command->is_barrier = true;
    command->reserve = calloc(1, sizeof *command->reserve);
    if (command->reserve != NULL)
        command->reserve->router = router;
    if (command->reserve == NULL || !find_partitions(command->reserve, arguments, tubes) ||
        !make_question(client, command->reserve, arguments, tubes, places)) {
        elapse__router_client_fail(client);
        return true;
    }
    command->reserve->command = command;
    command->reserve->tubes_hash = hash_tubes(arguments, tubes);
    command->reserve->deadline_ms = wait_ms == 0 ? 0 : router->now + wait_ms;
    command->reserve->readied = router->readied;
    command->reserve->serial = router->serial;
    command->reserve->first = (elapse__router_home(client) + client->reserves) % partitions;
    command->reserve->is_even = client->reserves++ % EVEN_ONE_IN == EVEN_ONE_IN - 1;
    step(command);
    return true;
}

/* ---- waiting ---- */

static void reply_nothing(struct elapse__router_command *command)
{
    struct elapse__router *router = router_of(command);
    struct elapse__router_reserve *reserve = command->reserve;
    /* If an owner has changed meanwhile, the order in which partitions are asked has changed, too.
     * So the first round may have missed a partition. */
    bool was_whole =
        !reserve->left_out && (reserve->serial == router->serial || reserve->partitions != NULL);

    ELAPSE__ASSERT(!reserve->asks);
    elapse__router_reserve_stop(router, reserve);
    if (!was_whole && reserve->deadline_ms == 0) {
        router->figures.try_again++;
        elapse__router_reply_fail(
            command, "TRYAGAIN not every partition could be asked, and the others have no job");
    } else {
        elapse__router_reply_array(command, 0);
    }
    elapse__router_command_done(command);
}

/* Ends a RESERVE whose time is over. If a question to a partition is under way, waits for its
 * answer first, because the answer may have jobs. */
static void end_wait(struct elapse__router_alarm *alarm)
{
    struct elapse__router_reserve *reserve =
        ELAPSE__CONTAINER_OF(alarm, struct elapse__router_reserve, alarm);

    ELAPSE__ASSERT(elapse__ring_has_node(&reserve->waiter));
    reserve->is_late = true;
    if (!reserve->asks)
        reply_nothing(reserve->command);
}

static void begin_to_wait(struct elapse__router_command *command)
{
    struct elapse__router *router = router_of(command);
    struct elapse__router_reserve *reserve = command->reserve;

    if (reserve->deadline_ms <= router->now) {
        reply_nothing(command);
        return;
    }
    ELAPSE__ASSERT(!reserve->asks && !elapse__ring_has_node(&reserve->waiter));
    elapse__ring_append(&router->waiters, &reserve->waiter);
    router->figures.waiting++;
    reserve->alarm.ring = end_wait;
    elapse_wheel_start(&router->wheel, &reserve->alarm.timer, reserve->deadline_ms);
    for (uint32_t i = 0; i < router->options.partitions; i++) {
        struct elapse__router_chain *chain = &router->partitions[i].chain;
        if (chain->poll_at_ms == UINT64_MAX)
            chain->poll_at_ms = router->now + router->options.poll_ms;
        /* A job became ready in a partition while the RESERVE was asking another partition. */
        if (reserve->readied != router->readied)
            elapse__router_chain_begin(router, i);
    }
}

/* ---- asking ---- */

enum asked {
    ASKED,
    CANNOT_ASK, /* no link to the partition is open now */
    ENDED,      /* there is no memory; the command has replied, and may be freed */
};

static enum asked ask(struct elapse__router_command *command, uint32_t partition, bool by_chain)
{
    struct elapse__router_reserve *reserve = command->reserve;
    struct elapse__router_lane *lane = &router_of(command)->partitions[partition].quick;

    ELAPSE__ASSERT(!reserve->asks);
    if (!elapse__router_lane_is_open(lane) || elapse__router_lane_is_full(lane))
        return CANNOT_ASK;
    ELAPSE__ASSERT_THAT(command->fragments, ==, 0);
    command->fragments = 1;
    reserve->asks = true;
    reserve->by_chain = by_chain;
    reserve->missed = false;
    return elapse__router_lane_send(lane, command, ELAPSE__ROUTER_LOSS_EMPTY,
                                    reserve->question->arguments, reserve->question->count)
               ? ASKED
               : ENDED;
}

/* Returns the partition at a place of the first round. Partitions of this node come before the
 * others. The round of each RESERVE begins one partition later than the one before, and one round
 * in EVEN_ONE_IN prefers no node. So every partition is asked early now and then, even while there
 * are jobs everywhere. If only some partitions may have the tubes, only these are asked, without a
 * preference. */
static uint32_t partition_at(const struct elapse__router *router,
                             const struct elapse__router_reserve *reserve, uint32_t place)
{
    uint32_t partitions = router->options.partitions;
    uint32_t first = reserve->first % partitions;

    ELAPSE__ASSERT_THAT(place, <, partitions);
    if (reserve->partitions != NULL)
        return reserve->partitions[(first + place) % reserve->partition_count];
    for (uint32_t pass = 0; pass < 2 && !reserve->is_even; pass++) {
        for (uint32_t i = 0; i < partitions; i++) {
            uint32_t partition = (first + i) % partitions;
            bool is_here = router->partitions[partition].place == ELAPSE__ROUTER_HERE;
            if (is_here == (pass == 0) && place-- == 0)
                return partition;
        }
    }
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there is a partition */
    return (first + place) % partitions;
}

/* Asks the next partition of the first round. After the last partition, waits or replies. */
static void step(struct elapse__router_command *command)
{
    struct elapse__router *router = router_of(command);
    struct elapse__router_reserve *reserve = command->reserve;

    const uint32_t rounds =
        reserve->partitions == NULL ? router->options.partitions : reserve->partition_count;

    while (reserve->rounds < rounds) {
        uint32_t partition = partition_at(router, reserve, reserve->rounds++);
        if (ask(command, partition, false) != CANNOT_ASK)
            return;
        reserve->left_out = true;
    }
    if (reserve->deadline_ms == 0)
        reply_nothing(command);
    else
        begin_to_wait(command);
}

/* ---- chains ---- */

static bool is_known_empty(const struct elapse__router_chain *chain, uint64_t hash)
{
    uint32_t known = chain->empty_count < ELAPSE__ROUTER_EMPTIES ? chain->empty_count
                                                                 : (uint32_t)ELAPSE__ROUTER_EMPTIES;

    for (uint32_t i = 0; i < known; i++) {
        if (chain->empties[i] == hash)
            return true;
    }
    return false;
}

/* Asks the partition for jobs for the next waiter, unless a question to the partition is under
 * way. */
static void go_on(struct elapse__router *router, uint32_t partition)
{
    struct elapse__router_chain *chain = &router->partitions[partition].chain;

    while (!chain->asks) {
        if (chain->next == &router->waiters) {
            if (!chain->again)
                return;
            chain->again = false;
            chain->empty_count = 0;
            chain->next = router->waiters.next;
            continue;
        }
        struct elapse__router_reserve *reserve =
            ELAPSE__CONTAINER_OF(chain->next, struct elapse__router_reserve, waiter);
        chain->next = chain->next->next;
        if (!has_partition(reserve, partition))
            continue;
        if (reserve->asks) {
            reserve->missed = true;
            chain->has_missed = true;
            continue;
        }
        if (is_known_empty(chain, reserve->tubes_hash))
            continue;
        chain->asks = true;
        enum asked asked = ask(reserve->command, partition, true);
        if (asked == ASKED)
            continue;
        chain->asks = false;
        if (asked == CANNOT_ASK) {
            chain->next = &router->waiters; /* the chain begins again when a link opens */
            chain->again = false;
        }
    }
}

/* Begins those chains again that left out a waiter because another partition was being asked for
 * it. */
static void make_up(struct elapse__router *router)
{
    for (uint32_t i = 0; i < router->options.partitions; i++) {
        struct elapse__router_chain *chain = &router->partitions[i].chain;
        if (chain->has_missed) {
            chain->has_missed = false;
            elapse__router_chain_begin(router, i);
        }
    }
}

void elapse__router_chain_begin(struct elapse__router *router, uint32_t partition)
{
    struct elapse__router_chain *chain = &router->partitions[partition].chain;

    ELAPSE__ASSERT_THAT(partition, <, router->options.partitions);
    if (elapse__ring_empty(&router->waiters))
        return;
    chain->poll_at_ms = router->now + router->options.poll_ms;
    chain->again = true;
    go_on(router, partition);
}

void elapse__router_ready(struct elapse__router *router, uint64_t now, uint32_t partition)
{
    ELAPSE__ASSERT_THAT(partition, <, router->options.partitions);
    elapse__router_enter(router, now);
    router->readied++;
    elapse__router_chain_begin(router, partition);
}

/* ---- hand-outs ---- */

static bool is_empty(const unsigned char *value, size_t size)
{
    size_t at = 0;
    struct elapse__wire_resp_item head = elapse__wire_resp_next(value, size, &at);
    return head.kind == ELAPSE__WIRE_RESP_ARRAY && head.integer == 0;
}

/* Replies with the jobs or the error of a partition. */
static void take_reply(struct elapse__router *router, struct elapse__router_command *command,
                       uint32_t partition, const unsigned char *value, size_t size)
{
    ELAPSE__ASSERT(!command->reserve->asks);
    (void)elapse__router_hands_read(command, partition, value, size);
    elapse__router_reserve_stop(router, command->reserve);
    if (command->client == NULL) {
        elapse__router_hands_give_back(router, command);
    } else {
        elapse__router_reply_value(command, value, size);
    }
    elapse__router_command_done(command);
}

/* Notes that a question of the partition's chain has ended, so that the chain may ask again. */
static void end_question(struct elapse__router *router, uint32_t partition,
                         const struct elapse__router_reserve *reserve, bool was_empty)
{
    struct elapse__router_chain *chain = &router->partitions[partition].chain;

    ELAPSE__ASSERT(chain->asks);
    chain->asks = false;
    if (was_empty)
        chain->empties[chain->empty_count++ % ELAPSE__ROUTER_EMPTIES] = reserve->tubes_hash;
}

void elapse__router_reserve_answer(struct elapse__router_command *command, uint32_t partition,
                                   enum elapse__router_fragment_end end, const unsigned char *value,
                                   size_t size)
{
    struct elapse__router_reserve *reserve = command->reserve;
    struct elapse__router *router = reserve->router;
    bool has_failed = end == ELAPSE__ROUTER_FRAGMENT_NO_MEMORY;
    bool by_chain = reserve->by_chain && !has_failed;
    bool was_empty = end == ELAPSE__ROUTER_FRAGMENT_ANSWERED && is_empty(value, size);
    bool has_nothing = was_empty || (!has_failed && end != ELAPSE__ROUTER_FRAGMENT_ANSWERED);
    bool missed = reserve->missed;

    ELAPSE__ASSERT(reserve->asks);
    reserve->asks = false;
    reserve->left_out |= end != ELAPSE__ROUTER_FRAGMENT_ANSWERED;
    if (by_chain)
        end_question(router, partition, reserve, was_empty);
    if (!has_nothing || command->client == NULL)
        take_reply(router, command, partition,
                   has_nothing ? (const unsigned char *)"*0\r\n" : value, has_nothing ? 4 : size);
    else if (!elapse__ring_has_node(&reserve->waiter))
        step(command);
    else if (reserve->is_late)
        reply_nothing(command);
    else if (missed)
        make_up(router);
    if (by_chain)
        go_on(router, partition);
}

void elapse__router_reserve_abandon(struct elapse__router_command *command)
{
    struct elapse__router_reserve *reserve = command->reserve;

    ELAPSE__ASSERT(command->client == NULL);
    if (reserve == NULL) {
        elapse__router_command_free(command);
        return;
    }
    elapse__router_reserve_stop(reserve->router, reserve);
    if (!reserve->asks)
        elapse__router_command_free(command);
}

/* ---- time ---- */

void elapse__router_reserve_look(struct elapse__router *router)
{
    for (uint32_t i = 0; i < router->options.partitions && !elapse__ring_empty(&router->waiters);
         i++) {
        if (router->partitions[i].chain.poll_at_ms <= router->now)
            elapse__router_chain_begin(router, i);
    }
}
