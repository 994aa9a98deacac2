/*
 * Simulates clients, which make commands and know which replies are possible.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

/* ---- commands ---- */

uint64_t id_of(uint64_t number, uint32_t item, uint32_t partition)
{
    return (number * 8 + item) * 1024 * world.partitions + partition;
}

const char *const tube_names[TUBES] = {"a", "b", "c{x}"};

bool may_have(uint32_t partition, uint32_t tube)
{
    uint32_t home = partition;

    return tube < TUBES - 1 ||
           (elapse__router_partition_of_braces(world.partitions, "c{x}", 4, &home) &&
            home == partition);
}

struct command *command_of(uint64_t number)
{
    uint64_t who = (number - 1) / COMMANDS_MAX;

    if (number == 0 || who >= world.clients ||
        (number - 1) % COMMANDS_MAX >= world.client[who].count)
        violated("nobody has sent such a command", number, 0);
    return &world.client[who].commands[(number - 1) % COMMANDS_MAX];
}

/* The arguments of a command that is made. */
static struct making {
    char texts[2 * ITEMS_MAX + 4][64];
    uint32_t count;
} making;

static void add(const char *text)
{
    (void)snprintf(making.texts[making.count++], sizeof making.texts[0], "%s", text);
}

static void add_number(const char *before, uint64_t number)
{
    (void)snprintf(making.texts[making.count++], sizeof making.texts[0], "%s%llu", before,
                   (unsigned long long)number);
}

static void add_id(uint64_t number, uint32_t item)
{
    add_number("", id_of(number, item, (uint32_t)choose(world.partitions)));
}

static void make_items(struct command *command, uint64_t number)
{
    command->items = 1 + (uint32_t)choose(ITEMS_MAX);
    if (command->verb == VERB_CANCEL)
        add("a");
    for (uint32_t i = 0; i < command->items; i++) {
        if (command->verb == VERB_CANCEL)
            add_number("k", number * 8 + i);
        else
            add_id(number, i);
        if (command->verb == VERB_ACK || command->verb == VERB_EXTEND)
            add("1-1");
    }
}

static void make_reserve(struct command *command)
{
    command->begun = world.asked;
    command->tube = (uint32_t)choose(TUBES);
    add(tube_names[command->tube]);
    if (choose(3) == 0) {
        command->argument = 1 + choose(4);
        add("COUNT");
        add_number("", command->argument);
    }
    command->waits = choose(2) == 0;
    if (command->waits) {
        add("WAIT");
        add(choose(2) == 0 ? "50ms" : "3s");
    }
}

/* Adds the name of a command, and its arguments. */
static void make_arguments(struct client *client, struct command *command, uint64_t number)
{
    static const char *const names[VERBS] = {
        "PUT",       "PUT",        "PUT",      "CANCELID", "CANCEL", "ACK",    "EXTEND",
        "KICKID",    "RESCHEDULE", "LOOKUPID", "lookup",   "LIST",   "STATS",  "PAUSE",
        "CANCELALL", "KICK",       "RESERVE",  "PING",     "HELLO",  "KICKID", "EXEC"};

    add(names[command->verb]);
    switch (command->verb) {
    case VERB_PUT:
    case VERB_PUT_KEY:
    case VERB_PUT_TOKEN:
        add(tube_names[choose(TUBES)]);
        add_number("p", number);
        if (command->verb != VERB_PUT) {
            add(command->verb == VERB_PUT_KEY ? "KEY" : "TOKEN");
            add_number("k", number);
        }
        break;
    case VERB_CANCELID:
    case VERB_CANCEL:
    case VERB_ACK:
    case VERB_EXTEND:
        make_items(command, number);
        break;
    case VERB_KICKID:
    case VERB_LOOKUPID:
        add_id(number, 0);
        break;
    case VERB_RESCHEDULE:
    case VERB_LOOKUP:
        add("a");
        add_number("k", number * 8);
        if (command->verb == VERB_RESCHEDULE) {
            add("IN");
            add("5s");
        }
        break;
    case VERB_LIST:
        command->argument = choose(2) * 7 * world.partitions + choose(world.partitions);
        add_number("t", number);
        add("CURSOR");
        add_number("", command->argument);
        break;
    case VERB_STATS:
    case VERB_CANCELALL:
        add_number("t", number);
        break;
    case VERB_PAUSE:
        add_number("t", number);
        add("1s");
        break;
    case VERB_KICK:
        command->argument = choose(6);
        add_number("t", number);
        add_number("", command->argument);
        break;
    case VERB_RESERVE:
        make_reserve(command);
        break;
    case VERB_HELLO:
        client->resp3 = choose(2) == 0;
        command->resp3 = client->resp3;
        add(client->resp3 ? "3" : "2");
        break;
    case VERB_WRONG:
        add("x");
        break;
    default:
        break;
    }
}

static enum verb choose_verb(void)
{
    static const enum verb work[] = {VERB_PUT, VERB_PUT_TOKEN, VERB_RESERVE, VERB_RESERVE,
                                     VERB_LOOKUP};

    return world.is_work && choose(4) != 0 ? work[choose(5)] : (enum verb)choose(VERBS);
}

/* Appends what was made to what the client sends. */
static void send_made(struct client *client)
{
    unsigned char bytes[2048];
    struct elapse__wire_resp_writer writer = {.bytes = bytes, .capacity = sizeof bytes};

    elapse__wire_resp_write_array(&writer, making.count);
    for (uint32_t i = 0; i < making.count; i++)
        elapse__wire_resp_write_text(&writer, making.texts[i]);
    (void)elapse__buffer_append(&client->to_send, writer.bytes, writer.size);
    making.count = 0;
}

/* Makes all of a transaction but EXEC. */
static void make_transaction(struct client *client, struct command *command, uint64_t number)
{
    uint32_t partition = (uint32_t)choose(world.partitions);

    add("MULTI");
    send_made(client);
    command->items = 1 + (uint32_t)choose(ITEMS_MAX);
    for (uint32_t i = 0; i < command->items; i++) {
        uint32_t other = choose(20) == 0 ? (uint32_t)choose(world.partitions) : partition;
        command->crosses = command->crosses || (i > 0 && other != partition);
        if (i == 0)
            partition = other;
        if (choose(4) == 0) {
            command->pings |= 1U << i;
            add("PING");
            send_made(client);
        }
        add("KICKID");
        add_number("", id_of(number, i, other));
        send_made(client);
    }
}

void client_make(struct client *client)
{
    uint32_t who = (uint32_t)(client - world.client);
    uint32_t place = client->count++;
    struct command *command = &client->commands[place];

    *command = (struct command){.verb = choose_verb(), .resp3 = client->resp3};
    command->items = 1;
    making.count = 0;
    if (command->verb == VERB_TRANSACTION)
        make_transaction(client, command, number_of(who, place));
    make_arguments(client, command, number_of(who, place));
    send_made(client);
}

/* ---- replies ---- */

struct reply {
    const unsigned char *bytes;
    size_t size, at;
    uint64_t number;
};

static struct elapse__wire_resp_item next(struct reply *reply)
{
    if (reply->at >= reply->size)
        violated("a reply is too short", reply->number, 0);
    return elapse__wire_resp_next(reply->bytes, reply->size, &reply->at);
}

static void expect(bool holds, const struct reply *reply, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "%.*s\n", (int)(reply->size < 300 ? reply->size : 300),
                  (const char *)reply->bytes);
    violated(what, reply->number, reply->at);
}

static bool says(struct elapse__wire_resp_item item, const char *text)
{
    return item.size == strlen(text) && memcmp(item.bytes, text, item.size) == 0;
}

/* Returns how a command ended, from a word or an error. */
static enum outcome outcome_of(const struct reply *reply, struct elapse__wire_resp_item item,
                               const char *word)
{
    if (item.kind == ELAPSE__WIRE_RESP_WORD) {
        expect(says(item, word), reply, "another word");
        return OUTCOME_DONE;
    }
    expect(item.kind == ELAPSE__WIRE_RESP_ERROR, reply, "neither a word nor an error");
    if (item.size > 8 && memcmp(item.bytes, "UNKNOWN ", 8) == 0)
        return OUTCOME_UNKNOWN;
    expect(item.size > 9 && memcmp(item.bytes, "TRYAGAIN ", 9) == 0, reply, "another error");
    return OUTCOME_TRY_AGAIN;
}

static void take_items(struct command *command, struct reply *reply)
{
    struct elapse__wire_resp_item head = next(reply);

    if (head.kind == ELAPSE__WIRE_RESP_ERROR) {
        for (uint32_t i = 0; i < command->items; i++)
            command->outcomes[i] = outcome_of(reply, head, "");
        return;
    }
    bool has_leases = command->verb == VERB_ACK || command->verb == VERB_EXTEND;
    if (command->verb == VERB_EXTEND && command->items == 1) {
        command->outcomes[0] = outcome_of(reply, head, "ok");
        return;
    }
    expect(head.kind == ELAPSE__WIRE_RESP_ARRAY && head.integer == command->items, reply,
           "another count of items");
    for (uint32_t i = 0; i < command->items; i++)
        command->outcomes[i] = outcome_of(reply, next(reply), has_leases ? "ok" : "removed");
}

static void take_put(struct command *command, struct reply *reply)
{
    struct elapse__wire_resp_item head = next(reply);

    if (head.kind == ELAPSE__WIRE_RESP_ERROR) {
        command->outcomes[0] = outcome_of(reply, head, "");
        return;
    }
    expect(head.kind == ELAPSE__WIRE_RESP_ARRAY && head.integer == 2, reply, "no answer of a put");
    struct elapse__wire_resp_item id = next(reply);
    struct elapse__wire_resp_item word = next(reply);
    const struct partition *partition = &world.partition[(uint64_t)id.integer % world.partitions];
    bool found = false;
    for (uint32_t i = 0; i < partition->job_count; i++)
        found = found || (partition->jobs[i].id == (uint64_t)id.integer &&
                          partition->jobs[i].number == reply->number);
    expect(found, reply, "the id of another job");
    expect(says(word, "scheduled") || (command->verb == VERB_PUT_TOKEN && says(word, "known")),
           reply, "another word");
    command->outcomes[0] = OUTCOME_DONE;
}

/* Without WAIT an empty reply says that there is no job: every partition was asked that may have
 * one.
 */
static void check_empty(const struct command *command, const struct reply *reply)
{
    for (uint32_t i = 0; i < world.partitions && !command->waits; i++)
        expect(world.partition[i].asked[command->tube] > command->begun ||
                   !may_have(i, command->tube),
               reply, "nothing, though a partition was not asked");
}

static void take_reserve(struct command *command, struct reply *reply)
{
    struct elapse__wire_resp_item head = next(reply);

    if (head.kind == ELAPSE__WIRE_RESP_ERROR) {
        expect(outcome_of(reply, head, "") == OUTCOME_TRY_AGAIN, reply, "a reserve is unknown");
        return;
    }
    expect(head.kind == ELAPSE__WIRE_RESP_ARRAY, reply, "no hand-out");
    expect(head.integer <= (int64_t)(command->argument == 0 ? 1 : command->argument), reply,
           "too many jobs");
    if (head.integer == 0)
        check_empty(command, reply);
    for (int64_t i = 0; i < head.integer; i++) {
        (void)next(reply);
        struct elapse__wire_resp_item id = next(reply);
        struct elapse__wire_resp_item lease = next(reply);
        for (int k = 0; k < 6; k++)
            (void)next(reply);
        struct partition *partition = &world.partition[(uint64_t)id.integer % world.partitions];
        for (uint32_t k = 0; k < partition->job_count; k++) {
            struct job *job = &partition->jobs[k];
            if (job->id != (uint64_t)id.integer)
                continue;
            expect(job->state == JOB_RESERVED &&
                       strtoull((const char *)lease.bytes + 2, NULL, 10) == job->lease,
                   reply, "a lease that has ended");
            job->was_received = true;
        }
    }
}

/* {name: its name, tag: nothing} */
static void take_look(struct command *command, struct reply *reply)
{
    struct elapse__wire_resp_item head = next(reply);
    char number[32];

    if (head.kind == ELAPSE__WIRE_RESP_ERROR) {
        expect(outcome_of(reply, head, "") == OUTCOME_TRY_AGAIN, reply, "a look is unknown");
        return;
    }
    expect(command->resp3 ? head.kind == ELAPSE__WIRE_RESP_MAP && head.integer == 2
                          : head.kind == ELAPSE__WIRE_RESP_ARRAY && head.integer == 4,
           reply, "no map");
    (void)next(reply);
    struct elapse__wire_resp_item name = next(reply);
    expect(name.size < sizeof number, reply, "a long name");
    memcpy(number, name.bytes, name.size);
    number[name.size] = '\0';
    uint64_t code = command->verb == VERB_LOOKUP
                        ? strtoull(number + 1, NULL, 10)
                        : strtoull(number, NULL, 10) / world.partitions / 1024;
    expect(code / 8 == reply->number, reply, "the look of another");
    (void)next(reply);
    expect(next(reply).kind == ELAPSE__WIRE_RESP_NULL, reply, "no null");
}

static void take_list(struct command *command, struct reply *reply)
{
    uint64_t partition = command->argument % world.partitions;
    uint64_t then = command->argument / world.partitions == 0 ? 7 * world.partitions + partition
                    : partition + 1 < world.partitions        ? partition + 1
                                                              : 0;
    struct elapse__wire_resp_item head = next(reply);

    if (head.kind == ELAPSE__WIRE_RESP_ERROR) {
        expect(outcome_of(reply, head, "") == OUTCOME_TRY_AGAIN, reply, "a look is unknown");
        return;
    }
    expect(head.kind == ELAPSE__WIRE_RESP_ARRAY && head.integer == 2, reply, "no page");
    expect(next(reply).integer == (int64_t)then, reply, "another cursor");
    (void)next(reply);
    (void)next(reply);
    struct elapse__wire_resp_item tube = next(reply);
    char text[32];
    (void)snprintf(text, sizeof text, "t%llu", (unsigned long long)reply->number);
    expect(says(tube, text), reply, "the page of another");
    expect(next(reply).integer == (int64_t)partition, reply, "the page of another partition");
}

/* Adds up what model.c says. */
static void take_sums(struct command *command, struct reply *reply)
{
    int64_t all = world.partitions;
    struct elapse__wire_resp_item head = next(reply);

    if (head.kind == ELAPSE__WIRE_RESP_ERROR) {
        command->outcomes[0] = outcome_of(reply, head, "");
        /* Some partitions may have done it, whatever the others say. */
        if (command->outcomes[0] == OUTCOME_TRY_AGAIN)
            command->outcomes[0] = OUTCOME_UNKNOWN;
        return;
    }
    command->outcomes[0] = OUTCOME_DONE;
    if (command->verb == VERB_PAUSE) {
        expect(says(head, "ok"), reply, "another word");
    } else if (command->verb == VERB_KICK) {
        int64_t wanted = (int64_t)command->argument;
        expect(head.integer == (wanted < all ? wanted : all), reply, "another sum");
    } else if (command->verb == VERB_CANCELALL) {
        (void)next(reply);
        expect(next(reply).integer == all, reply, "another sum");
        (void)next(reply);
        expect(next(reply).integer == 2 * all, reply, "another sum");
    } else {
        (void)next(reply);
        expect(next(reply).integer == all, reply, "another sum");
        (void)next(reply);
        expect(next(reply).integer == 4 + all, reply, "not the greatest");
        (void)next(reply);
        struct elapse__wire_resp_item yes = next(reply);
        expect(command->resp3 ? yes.kind == ELAPSE__WIRE_RESP_TRUE : yes.integer == 1, reply,
               "not true");
    }
}

/* The reply to EXEC. */
static void take_exec(struct command *command, struct reply *reply)
{
    struct elapse__wire_resp_item head = next(reply);
    bool is_too_late = says(head, "EXECABORT Transaction discarded: nothing came for 60 s.");
    int64_t places = command->items;
    enum outcome outcome = OUTCOME_DONE;

    for (uint32_t i = 0; i < command->items; i++)
        places += (command->pings >> i) & 1;
    if (command->crosses)
        expect(is_too_late || (head.kind == ELAPSE__WIRE_RESP_ERROR && head.size > 10 &&
                               memcmp(head.bytes, "CROSSSLOT ", 10) == 0),
               reply, "no CROSSSLOT");
    else
        expect(head.kind != ELAPSE__WIRE_RESP_ARRAY || head.integer == places, reply,
               "another count of places");
    if (command->crosses || is_too_late || head.kind == ELAPSE__WIRE_RESP_NULL)
        outcome = OUTCOME_TRY_AGAIN; /* nothing was done */
    else if (head.kind != ELAPSE__WIRE_RESP_ARRAY)
        outcome = outcome_of(reply, head, "");
    for (uint32_t i = 0; i < command->items; i++) {
        command->outcomes[i] = outcome;
        if (outcome == OUTCOME_DONE && (command->pings >> i & 1) != 0)
            expect(says(next(reply), "PONG"), reply, "no PONG");
        if (outcome == OUTCOME_DONE)
            expect(says(next(reply), "ok"), reply, "another word");
    }
}

/* Takes a reply to MULTI or to a command behind it. Returns false if it is the reply to EXEC. */
static bool take_queued(struct command *command, struct reply *reply)
{
    uint32_t before = 1 + command->items;

    for (uint32_t i = 0; i < command->items; i++)
        before += (command->pings >> i) & 1;
    if (command->replies == before)
        return false;
    expect(says(next(reply), command->replies == 0 ? "OK" : "QUEUED"), reply, "not QUEUED");
    command->replies++;
    return true;
}

static void take_reply(struct client *client, const unsigned char *bytes, size_t size)
{
    uint32_t who = (uint32_t)(client - world.client);
    struct command *command = &client->commands[client->answered];
    struct reply reply = {.bytes = bytes, .size = size, .number = number_of(who, client->answered)};

    if (client->answered == client->count)
        violated("a reply too many", who, client->count);
    if (command->verb == VERB_TRANSACTION && take_queued(command, &reply))
        return;
    client->answered++;
    command->answered = true;
    switch (command->verb) {
    case VERB_PUT:
    case VERB_PUT_KEY:
    case VERB_PUT_TOKEN:
        take_put(command, &reply);
        break;
    case VERB_CANCELID:
    case VERB_CANCEL:
    case VERB_ACK:
    case VERB_EXTEND:
        take_items(command, &reply);
        break;
    case VERB_KICKID:
        command->outcomes[0] = outcome_of(&reply, next(&reply), "ok");
        break;
    case VERB_RESCHEDULE:
        command->outcomes[0] = outcome_of(&reply, next(&reply), "rescheduled");
        break;
    case VERB_LOOKUPID:
    case VERB_LOOKUP:
        take_look(command, &reply);
        break;
    case VERB_LIST:
        take_list(command, &reply);
        break;
    case VERB_STATS:
    case VERB_PAUSE:
    case VERB_CANCELALL:
    case VERB_KICK:
        take_sums(command, &reply);
        break;
    case VERB_RESERVE:
        take_reserve(command, &reply);
        break;
    case VERB_TRANSACTION:
        take_exec(command, &reply);
        break;
    case VERB_PING:
        expect(says(next(&reply), "PONG"), &reply, "no PONG");
        break;
    case VERB_HELLO:
        expect(next(&reply).kind ==
                   (command->resp3 ? ELAPSE__WIRE_RESP_MAP : ELAPSE__WIRE_RESP_ARRAY),
               &reply, "another version");
        break;
    default:
        expect(next(&reply).kind == ELAPSE__WIRE_RESP_ERROR, &reply, "no error");
        break;
    }
}

void client_take(struct client *client)
{
    while (elapse__buffer_size(&client->read) > 0) {
        size_t end = 0;
        enum elapse__wire_resp_scanned scanned =
            elapse__wire_resp_scan(&client->scanner, elapse__buffer_first(&client->read),
                                   elapse__buffer_size(&client->read), &end);
        if (scanned == ELAPSE__WIRE_RESP_SCAN_BROKEN)
            violated("a reply is no RESP", (uint64_t)(client - world.client), client->answered);
        if (scanned == ELAPSE__WIRE_RESP_SCAN_MORE)
            return;
        take_reply(client, elapse__buffer_first(&client->read), end);
        elapse__buffer_take(&client->read, end);
    }
}

/* ---- the end ---- */

/* Whether it was done as often as its reply says. */
static void check_done(const struct command *command, uint64_t number, uint32_t item)
{
    bool is_known = command->outcomes[item] == OUTCOME_DONE;

    if (is_known && command->done[item] != 1)
        violated("it was answered and not done", number, item);
    if (command->outcomes[item] == OUTCOME_TRY_AGAIN && command->done[item] != 0)
        violated("it was done, and -TRYAGAIN was said", number, item);
}

static void check_command(const struct command *command, uint64_t number)
{
    bool is_unknown = !command->answered;
    bool is_all = command->verb == VERB_PAUSE || command->verb == VERB_CANCELALL;

    for (uint32_t i = 1; i < command->items && command->verb == VERB_TRANSACTION; i++) {
        if (command->done[i] != command->done[0])
            violated("a transaction was done in part", number, i);
    }
    if (!command->answered)
        return;
    for (uint32_t i = 0; i < command->items; i++)
        is_unknown = is_unknown || command->outcomes[i] == OUTCOME_UNKNOWN;
    if (command->came_late && !is_unknown)
        violated("commands were done in another order", number, 0);
    switch (command->verb) {
    case VERB_PUT:
    case VERB_PUT_KEY:
    case VERB_PUT_TOKEN:
    case VERB_CANCELID:
    case VERB_CANCEL:
    case VERB_ACK:
    case VERB_EXTEND:
    case VERB_KICKID:
    case VERB_RESCHEDULE:
    case VERB_TRANSACTION:
        for (uint32_t i = 0; i < command->items; i++)
            check_done(command, number, i);
        break;
    default:
        for (uint32_t i = 0; i < world.partitions && is_all; i++) {
            if (command->outcomes[0] == OUTCOME_DONE && command->done[i] != 1)
                violated("a partition was left out", number, i);
        }
        break;
    }
}

void clients_check(void)
{
    for (uint32_t who = 0; who < world.clients; who++) {
        const struct client *client = &world.client[who];
        if (!client->has_gone && client->answered != client->count)
            violated("a reply is missing", who, client->answered);
        for (uint32_t i = 0; i < client->count; i++)
            check_command(&client->commands[i], number_of(who, i));
    }
}
