/*
 * Tests the router with real partitions: the core of the server, its queue and its journal, on a
 * simulated disk. With one partition, each reply must be that of a server without a router.
 */
#include "../../../src/base/buffer.h"
#include "../../../src/cluster/router/kinds.h"
#include "../../../src/cluster/router/router.h"
#include "../../../src/protocol/resp_parse.h"
#include "../../../src/protocol/resp_value.h"
#include "../../../src/server/core/core.h"
#include "../../../src/server/core/session.h"
#include "../../../src/server/resp/commands.h"
#include "../../support/test.h"
#include "lines.h"
#include "random.h"
#include "sim_disk.h"

enum { CORES_MAX = 4, LINKS_MAX = 2 * CORES_MAX, HEARD_MAX = 1 << 20 };

static struct core {
    struct elapse__engine engine;
    struct elapse__server *server;
} cores[CORES_MAX];

/* A link and the connection at its other end. */
static struct joined {
    struct elapse__command_source source; /* first: the commands of the link */
    struct elapse__router_link *link;
    struct elapse__connection *connection;
    bool has_run;
} joined[LINKS_MAX];

static bool links_are_here; /* they carry commands, not bytes */
static uint32_t output_bytes_max;
static uint32_t core_count; /* the first ones are partitions */
static struct elapse__router *router;
static struct elapse__queue_now now;
static char heard[2][HEARD_MAX];

static struct elapse__users users; /* none: nobody needs a password */

/* ---- users ---- */

/* The digest of each password is its first byte, everywhere. */
static bool digest(const void *bytes, size_t size, unsigned char out[ELAPSE__DIGEST_BYTES])
{
    memset(out, size > 0 ? *(const unsigned char *)bytes : 0, ELAPSE__DIGEST_BYTES);
    return true;
}

static bool admit(void *context, struct elapse__wire_resp_argument name,
                  struct elapse__wire_resp_argument password, struct elapse__identity *identity)
{
    const struct elapse__keys keys = {.users = &users};

    (void)context;
    return elapse__admit(&keys, name, password, identity);
}

static uint64_t no_wait(void *context, void *shell)
{
    (void)context, (void)shell;
    return 1;
}

/* The user "all" may do everything, the user "t" everything in the tube t. */
static void begin_users(void)
{
    static const char file[] =
        "all #6161616161616161616161616161616161616161616161616161616161616161 "
        "put,work,look,admin,node\n"
        "t #7474747474747474747474747474747474747474747474747474747474747474 "
        "put,work,look,admin t\n";
    struct elapse__users_fault fault;

    users = (struct elapse__users){.serial = 1, .digest = digest};
    assert_true(elapse__users_parse(&users, file, sizeof file - 1, &fault));
}

/* ---- cores ---- */

static struct elapse__queue_now present(void)
{
    return now;
}

static void begin_core(uint32_t place, uint32_t partition, uint32_t partitions)
{
    const struct elapse__queue_options jobs = {
        .secret = {1, 2}, .seed = 3, .partitions = partitions, .partition = partition};
    char path[16];
    struct elapse__journal_refusal refusal;
    struct core *core = &cores[place];

    (void)snprintf(path, sizeof path, "part-%u", place);
    const struct elapse__journal_options journal = {
        .files = &sim_disk_files, .path = path, .segment_bits = 20};
    memset(core, 0, sizeof *core);
    assert_true(elapse__engine_make_jobs(&core->engine, present, &jobs));
    assert_true(elapse__engine_open_journal(&core->engine, &journal, &refusal));
    assert_int_equal(elapse__engine_begin_life(&core->engine), ELAPSE_OK);
    const struct elapse__server_options options = {
        .engine = &core->engine,
        .resp = &elapse__resp,
        .output_bytes_max = output_bytes_max,
        .keys = {.users = users.count > 0 ? &users : NULL},
        .is_behind_router = place < partitions,
    };
    core->server = elapse__server_new(&options, now);
    assert_non_null(core->server);
}

static void work_core(struct core *core)
{
    struct elapse__server_reading *reading;
    bool more = true;

    while (more) {
        while (elapse__server_turn(core->server, now))
            ;
        more = elapse__journal_work(core->engine.journal);
        while ((reading = elapse__server_reading(core->server)) != NULL) {
            elapse__journal_read_perform(core->engine.journal, true, &reading->reading, 1);
            elapse__server_reading_done(core->server, now, reading);
            more = true;
        }
        while (elapse__server_attention(core->server) != NULL)
            ;
    }
    while (elapse__server_turn(core->server, now))
        ;
}

static const struct elapse__wire_resp_argument *next_of_link(struct elapse__command_source *source,
                                                             uint32_t *count)
{
    return elapse__router_link_command(((struct joined *)(void *)source)->link, count);
}

static void link_ran(struct elapse__command_source *source, bool is_done)
{
    struct joined *wire = (struct joined *)(void *)source;

    wire->has_run = true;
    elapse__router_link_ran(wire->link, is_done);
}

static struct elapse__connection *connect_to(uint32_t place, struct elapse__command_source *source)
{
    const struct elapse__connection_facts facts = {.may_use_beanstalkd = true,
                                                   .speaks_resp3 = source != NULL,
                                                   .source = links_are_here ? source : NULL};
    struct elapse__connection *connection =
        elapse__connection_new(cores[place].server, now, &facts);
    assert_non_null(connection);
    return connection;
}

/* ---- the router between them ---- */

/* The node at the other end of a link takes the greeting, and gives the link to its core. */
static void take_greeting(struct elapse__router_link *link)
{
    static const char answers[] = "%0\r\n+OK\r\n";
    const uint8_t *bytes;

    elapse__router_link_sent(link, now.boot_ms, elapse__router_link_output(link, &bytes));
    elapse__router_link_received(link, now.boot_ms, answers, sizeof answers - 1);
}

static void open_links(void)
{
    struct elapse__router_link *link;

    while ((link = elapse__router_link_wanted(router, now.boot_ms)) != NULL) {
        int i = 0;
        while (joined[i].link != NULL)
            i++;
        joined[i].link = link;
        joined[i].source = (struct elapse__command_source){.next = next_of_link, .ran = link_ran};
        joined[i].connection = connect_to(elapse__router_link_partition(link), &joined[i].source);
        elapse__router_link_opened(link, now.boot_ms, links_are_here);
        if (!links_are_here)
            take_greeting(link);
    }
}

/* Returns whether the core has run anything. */
static bool move_commands(struct joined *wire)
{
    wire->has_run = false;
    if (links_are_here && next_of_link(&wire->source, &(uint32_t){0}) != NULL)
        elapse__connection_commands(wire->connection, now);
    return wire->has_run;
}

/* Returns whether anything has moved. */
static bool move_bytes(struct joined *wire)
{
    const uint8_t *bytes;
    size_t size = elapse__router_link_output(wire->link, &bytes);
    size_t room = elapse__connection_room(wire->connection);
    bool has_moved = move_commands(wire);

    size = size < room ? size : room;
    if (size > 0) {
        elapse__connection_received(wire->connection, now, bytes, size);
        elapse__router_link_sent(wire->link, now.boot_ms, size);
        has_moved = true;
    }
    size = elapse__connection_output(wire->connection, &bytes);
    room = elapse__router_link_room(wire->link);
    size = size < room ? size : room;
    if (size > 0) {
        elapse__router_link_received(wire->link, now.boot_ms, bytes, size);
        elapse__connection_sent(wire->connection, now, size);
        has_moved = true;
    }
    assert_false(elapse__router_link_wants_end(wire->link));
    return has_moved;
}

static void come_to_rest(void)
{
    bool moves = true;

    while (moves) {
        moves = elapse__router_turn(router, now.boot_ms);
        open_links();
        for (uint32_t i = 0; i < core_count; i++)
            work_core(&cores[i]);
        for (int i = 0; i < LINKS_MAX; i++)
            moves = (joined[i].link != NULL && move_bytes(&joined[i])) || moves;
        assert_int_equal(elapse__router_check(router), 0);
    }
}

static void pass(uint64_t ms)
{
    now.boot_ms += ms;
    now.wall_ms += (int64_t)ms;
    come_to_rest();
}

static void begin(uint32_t partitions)
{
    struct elapse__router_options options = {.partitions = partitions, .queue = "q"};

    if (users.count > 0) {
        options.admit = admit;
        options.wrong_password = no_wait;
        options.users = &users;
    }

    now = (struct elapse__queue_now){.boot_ms = 5000, .wall_ms = 1700000000000};
    sim_disk_begin(1);
    memset(joined, 0, sizeof joined);
    router = elapse__router_new(&options, now.boot_ms);
    assert_non_null(router);
    core_count = partitions + 1;
    for (uint32_t i = 0; i < partitions; i++) {
        begin_core(i, i, partitions);
        elapse__router_owner(router, now.boot_ms, i, ELAPSE__ROUTER_HERE, 1);
    }
    begin_core(partitions, 0, 1);
    come_to_rest();
}

static int end(void **state)
{
    (void)state;
    elapse__router_free(router);
    for (uint32_t i = 0; i < core_count; i++) {
        elapse__server_free(cores[i].server);
        elapse__engine_free(&cores[i].engine);
    }
    sim_disk_end();
    elapse__users_free(&users);
    return 0;
}

/* ---- commands ---- */

/* Writes words between blanks as a command. */
static size_t encode(const char *line, char *bytes)
{
    size_t words = 1;
    size_t at = 0;

    for (const char *c = line; *c != '\0'; c++)
        words += *c == ' ';
    at += (size_t)sprintf(bytes, "*%zu\r\n", words);
    while (*line != '\0') {
        size_t size = strcspn(line, " ");
        at += (size_t)sprintf(bytes + at, "$%zu\r\n%.*s\r\n", size, (int)size, line);
        line += size + (line[size] == ' ');
    }
    return at;
}

static const char *ask(struct elapse__router_client *client, const char *line)
{
    static char bytes[1 << 16];
    const uint8_t *reply;
    size_t at = 0, size;

    size = encode(line, bytes);
    elapse__router_client_received(client, now.boot_ms, bytes, size);
    come_to_rest();
    while ((size = elapse__router_client_output(client, &reply)) > 0) {
        assert_true(at + size < HEARD_MAX);
        memcpy(heard[0] + at, reply, size);
        at += size;
        elapse__router_client_sent(client, now.boot_ms, size);
        come_to_rest();
    }
    heard[0][at] = '\0';
    return heard[0];
}

static const char *ask_plainly(struct elapse__connection *connection, const char *line)
{
    static char bytes[1 << 16];
    const uint8_t *reply;
    size_t at = 0, size = encode(line, bytes);

    elapse__connection_received(connection, now, bytes, size);
    come_to_rest();
    while ((size = elapse__connection_output(connection, &reply)) > 0) {
        assert_true(at + size < HEARD_MAX);
        memcpy(heard[1] + at, reply, size);
        at += size;
        elapse__connection_sent(connection, now, size);
        come_to_rest();
    }
    heard[1][at] = '\0';
    return heard[1];
}

static int over_bytes(void **state)
{
    (void)state;
    links_are_here = false;
    return 0;
}

static int over_commands(void **state)
{
    (void)state;
    links_are_here = true;
    return 0;
}

/* Begins a test that runs over links of bytes, and again over links that take parsed commands. */
#define BOTH_TEST(test)                                 \
    static void test(void);                             \
    TEST_WITH(test##_over_bytes, over_bytes, end)       \
    {                                                   \
        test();                                         \
    }                                                   \
    TEST_WITH(test##_over_commands, over_commands, end) \
    {                                                   \
        test();                                         \
    }                                                   \
    static void test(void)

BOTH_TEST(one_partition_answers_as_a_server)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct random_source random = {.state = seed};
        begin(1);
        struct elapse__router_client *client =
            elapse__router_client_new(router, now.boot_ms, true, NULL);
        struct elapse__connection *plain = connect_to(1, NULL);
        for (int i = 0; i < 600; i++) {
            char line[200];
            make_line(&random, line);
            const char *reply = ask(client, line);
            if (strcmp(reply, ask_plainly(plain, line)) != 0)
                fail_msg("seed %u, %s:\n%s\n%s", (unsigned)seed, line, heard[0], heard[1]);
            if (random_below(&random, 8) == 0) {
                now.boot_ms += random_below(&random, 3000);
                now.wall_ms = 1700000000000 - 5000 + (int64_t)now.boot_ms;
                come_to_rest();
            }
            if (i == 300)
                assert_int_equal(strncmp(ask(client, "HELLO 3"), ask_plainly(plain, "HELLO 3"), 20),
                                 0);
        }
        (void)end(NULL);
    }
    begin(1);
}

/* ---- three partitions ---- */

static struct elapse__router_client *meet(void)
{
    return elapse__router_client_new(router, now.boot_ms, true, NULL);
}

/* Returns how often a text is in another. */
static unsigned occurrences(const char *text, const char *fragment)
{
    unsigned count = 0;

    for (; (text = strstr(text, fragment)) != NULL; text++)
        count++;
    return count;
}

/* A user of one tube reads the same replies with and without a router, while another user fills
 * both tubes: so ids and leases of the other tube are tried, too. */
BOTH_TEST(one_partition_answers_a_user_of_one_tube_as_a_server)
{
    begin_users();
    begin(1);
    struct elapse__router_client *clients[2];
    struct elapse__connection *plains[2];
    struct random_source random = {.state = 77};

    for (int i = 0; i < 2; i++) {
        clients[i] = elapse__router_client_new(router, now.boot_ms, true, NULL);
        plains[i] = connect_to(1, NULL);
    }
    assert_string_equal(ask(clients[0], "AUTH all all"), ask_plainly(plains[0], "AUTH all all"));
    assert_string_equal(ask(clients[1], "AUTH t t"), ask_plainly(plains[1], "AUTH t t"));
    assert_string_equal(heard[0], "+OK\r\n");
    for (int i = 0; i < 3000; i++) {
        char line[200];
        uint64_t who = random_below(&random, 2);
        make_line(&random, line);
        if (strcmp(line, "RESET") == 0)
            continue;
        const char *reply = ask(clients[who], line);
        if (strcmp(reply, ask_plainly(plains[who], line)) != 0)
            fail_msg("%d, %s:\n%s\n%s", i, line, heard[0], heard[1]);
        if (random_below(&random, 8) == 0)
            pass(random_below(&random, 3000));
    }
    for (int i = 0; i < 2; i++) {
        elapse__router_client_closed(clients[i], now.boot_ms);
        elapse__connection_closed(plains[i], now);
    }
    come_to_rest();
}

/* Says a transaction with and without a router. A command that is wrong may answer QUEUED with a
 * router: then EXEC tells that. */
static void compare_transaction(struct random_source *random, struct elapse__router_client *client,
                                struct elapse__connection *plain, unsigned number)
{
    bool is_wrong = false;

    assert_string_equal(ask(client, "MULTI"), ask_plainly(plain, "MULTI"));
    for (uint64_t left = random_below(random, 6); left > 0; left--) {
        char line[200];
        make_queued_line(random, line);
        const char *reply = ask_plainly(plain, line);
        is_wrong = is_wrong || strcmp(reply, "+QUEUED\r\n") != 0;
        if (strcmp(ask(client, line), reply) != 0 && strcmp(heard[0], "+QUEUED\r\n") != 0)
            assert_true(is_wrong && heard[0][0] == '-');
    }
    const char *end = random_below(random, 10) == 0 ? "DISCARD" : "EXEC";
    const char *reply = ask_plainly(plain, end);
    if (strcmp(ask(client, end), reply) == 0)
        return;
    if (!is_wrong || strncmp(heard[0], "-EXECABORT ", 11) != 0)
        fail_msg("transaction %u:\n%s\n%s", number, heard[0], heard[1]);
}

/* The second client is a user of one tube. */
BOTH_TEST(transactions_of_one_partition_answer_as_those_of_a_server)
{
    begin_users();
    begin(1);
    struct elapse__router_client *clients[2];
    struct elapse__connection *plains[2];
    struct random_source random = {.state = 78};

    for (int i = 0; i < 2; i++) {
        clients[i] = elapse__router_client_new(router, now.boot_ms, true, NULL);
        plains[i] = connect_to(1, NULL);
    }
    assert_string_equal(ask(clients[0], "AUTH all all"), ask_plainly(plains[0], "AUTH all all"));
    assert_string_equal(ask(clients[1], "AUTH t t"), ask_plainly(plains[1], "AUTH t t"));
    for (unsigned i = 0; i < 1500; i++) {
        uint64_t who = random_below(&random, 2);
        compare_transaction(&random, clients[who], plains[who], i);
        if (i == 700)
            assert_int_equal(
                strncmp(ask(clients[1], "HELLO 3"), ask_plainly(plains[1], "HELLO 3"), 20), 0);
        if (random_below(&random, 2) == 0)
            assert_string_equal(ask(clients[0], "RESERVE t u COUNT 3"),
                                ask_plainly(plains[0], "RESERVE t u COUNT 3"));
        if (random_below(&random, 8) == 0)
            pass(random_below(&random, 3000));
    }
    for (int i = 0; i < 2; i++) {
        elapse__router_client_closed(clients[i], now.boot_ms);
        elapse__connection_closed(plains[i], now);
    }
    come_to_rest();
}

/* The router and the partitions know the same commands that may stand in a transaction. */
BOTH_TEST(the_same_commands_wait_for_exec)
{
    for (unsigned i = 0; elapse__router_route_at(i) != NULL; i++) {
        const struct elapse__router_route *route = elapse__router_route_at(i);
        struct elapse__wire_resp_argument name = {(const unsigned char *)route->name,
                                                  (uint32_t)strlen(route->name)};
        const struct elapse__resp_command *command = elapse__resp_find(name);
        if (command == NULL || route->queues != ((command->flags & ELAPSE__RESP_QUEUES) != 0) ||
            route->controls != ((command->flags & ELAPSE__RESP_CONTROLS) != 0))
            assert_string_equal(route->name, "NODE");
    }
    for (unsigned i = 0; elapse__resp_command_at(i) != NULL; i++) {
        const struct elapse__resp_command *command = elapse__resp_command_at(i);
        struct elapse__wire_resp_argument name = {(const unsigned char *)command->name,
                                                  (uint32_t)strlen(command->name)};
        if ((command->flags & (ELAPSE__RESP_QUEUES | ELAPSE__RESP_CONTROLS)) != 0)
            assert_non_null(elapse__router_route_find(name));
    }
    begin(1);
}

/* Ids of many partitions in one command: the owner of each partition finds out by itself. */
BOTH_TEST(jobs_of_other_tubes_do_not_exist_in_any_partition)
{
    char line[400] = "CANCELID";
    begin_users();
    begin(3);
    struct elapse__router_client *all = elapse__router_client_new(router, now.boot_ms, true, NULL);
    struct elapse__router_client *client =
        elapse__router_client_new(router, now.boot_ms, true, NULL);

    assert_string_equal(ask(all, "AUTH all all"), "+OK\r\n");
    assert_string_equal(ask(client, "AUTH t t"), "+OK\r\n");
    for (int i = 0; i < 12; i++) {
        unsigned long long id = 0;
        char put[40];
        sprintf(put, "PUT %s b KEY k%d", i % 2 == 0 ? "t" : "u", i);
        assert_int_equal(sscanf(ask(all, put), "*2\r\n:%llu", &id), 1);
        sprintf(line + strlen(line), " %llu", id);
        if (i == 0) {
            sprintf(put, "KICKID %llu", id);
            assert_string_equal(ask(client, put), "+ok\r\n");
        }
    }
    assert_string_equal(
        ask(client, line),
        "*12\r\n+removed\r\n+gone\r\n+removed\r\n+gone\r\n+removed\r\n+gone\r\n+removed\r\n"
        "+gone\r\n+removed\r\n+gone\r\n+removed\r\n+gone\r\n");
    assert_non_null(strstr(ask(all, "STATS u"), "ready\r\n:6\r\n"));
    assert_int_equal(strncmp(ask(client, "STATS"), "-NOPERM ", 8), 0);
    assert_int_equal(strncmp(ask(client, "RESERVE t u"), "-NOPERM ", 8), 0);
    elapse__router_client_closed(all, now.boot_ms);
    elapse__router_client_closed(client, now.boot_ms);
    come_to_rest();
}

BOTH_TEST(jobs_are_worked_on_wherever_they_are)
{
    char line[4000] = "ACK";
    bool seen[200] = {false};
    begin(3);
    struct elapse__router_client *client = meet();
    for (int i = 0; i < 60; i++) {
        char put[64];
        (void)snprintf(put, sizeof put, "PUT t body%d KEY k%d", i, i);
        assert_int_equal(occurrences(ask(client, put), "+scheduled"), 1);
    }
    assert_non_null(strstr(ask(client, "STATS t"), "$5\r\nready\r\n:60\r\n"));
    for (int left = 60; left > 0;) {
        const unsigned char *reply = (const unsigned char *)ask(client, "RESERVE t COUNT 7");
        size_t at = 0, size = strlen((const char *)reply);
        struct elapse__wire_resp_item head = elapse__wire_resp_next(reply, size, &at);
        assert_in_range(head.integer, 1, 7);
        for (int64_t i = 0; i < head.integer; i++, left--) {
            size_t next = at;
            (void)elapse__wire_resp_next(reply, size, &next);
            struct elapse__wire_resp_item id = elapse__wire_resp_next(reply, size, &next);
            struct elapse__wire_resp_item lease = elapse__wire_resp_next(reply, size, &next);
            elapse__wire_resp_skip(reply, size, &at);
            assert_true(id.integer < 200 && !seen[id.integer]);
            seen[id.integer] = true;
            (void)sprintf(line + strlen(line), " %lld %.*s", (long long)id.integer, (int)lease.size,
                          (const char *)lease.bytes);
        }
    }
    assert_string_equal(ask(client, "RESERVE t"), "*0\r\n");
    assert_int_equal(occurrences(ask(client, line), "+ok\r\n"), 60);
    assert_non_null(strstr(ask(client, "STATS"), "$10\r\ntotal_done\r\n:60\r\n"));
}

BOTH_TEST(a_walk_lists_each_job_once)
{
    unsigned listed = 0;
    char line[64] = "LIST t COUNT 4";
    begin(3);
    struct elapse__router_client *client = meet();
    for (int i = 0; i < 40; i++) {
        char put[64];
        (void)snprintf(put, sizeof put, "PUT t b KEY k%d IN 1h", i);
        (void)ask(client, put);
    }
    for (unsigned pages = 0; pages < 40; pages++) {
        const char *reply = ask(client, line);
        listed += occurrences(reply, "$2\r\nid\r\n");
        unsigned long long cursor = strtoull(reply + 5, NULL, 10);
        if (cursor == 0)
            break;
        (void)snprintf(line, sizeof line, "LIST t COUNT 4 CURSOR %llu", cursor);
    }
    assert_int_equal(listed, 40);
    assert_string_equal(ask(client, "CANCELALL t"),
                        "*4\r\n$7\r\nremoved\r\n:40\r\n$7\r\nrunning\r\n:0\r\n");
}

BOTH_TEST(a_job_that_is_given_back_is_as_before)
{
    const uint8_t *bytes;
    begin(3);
    struct elapse__router_client *client = meet();
    struct elapse__router_client *gone = meet();
    (void)ask(client, "PUT t body KEY k RETRY 1");
    static char bytes_of[200];
    elapse__router_client_received(gone, now.boot_ms, bytes_of, encode("RESERVE t", bytes_of));
    come_to_rest();
    assert_true(elapse__router_client_output(gone, &bytes) > 10);
    elapse__router_client_closed(gone, now.boot_ms);
    come_to_rest();
    const char *reply = ask(client, "RESERVE t");
    assert_non_null(strstr(reply, "$4\r\nbody\r\n"));
    const char *id = strstr(reply, "*8\r\n:") + 5;
    const char *lease = strstr(id, "$3\r\n") + 4;
    char line[64];
    (void)snprintf(line, sizeof line, "NACK %d %.3s", atoi(id), lease);
    /* Its one retry was not used up by the client that went. */
    assert_string_equal(ask(client, line), "+ok\r\n");
    assert_non_null(strstr(ask(client, "STATS t"), "$10\r\ntotal_dead\r\n:1\r\n"));
}

BOTH_TEST(a_wait_ends_when_a_job_comes)
{
    static char line[200];
    const uint8_t *bytes;
    begin(3);
    struct elapse__router_client *client = meet();
    struct elapse__router_client *worker = meet();
    elapse__router_client_received(worker, now.boot_ms, line, encode("RESERVE t WAIT 10s", line));
    come_to_rest();
    (void)ask(client, "PUT t body KEY k IN 2s");
    for (int i = 0; i < 199; i++) {
        pass(10);
        assert_int_equal(elapse__router_client_output(worker, &bytes), 0);
    }
    for (int i = 0; i < 13; i++)
        pass(10);
    assert_true(elapse__router_client_output(worker, &bytes) > 10);
}

/* ---- a core that is given commands ---- */

/* One command that is there so many times. */
static struct line {
    struct elapse__command_source source; /* first */
    struct elapse__wire_resp_argument arguments[16];
    uint32_t count;
    unsigned left, done, begun;
} line;

static const struct elapse__wire_resp_argument *next_of_line(struct elapse__command_source *source,
                                                             uint32_t *count)
{
    assert_ptr_equal(source, &line.source);
    *count = line.count;
    return line.left == 0 ? NULL : line.arguments;
}

static void line_ran(struct elapse__command_source *source, bool is_done)
{
    assert_ptr_equal(source, &line.source);
    line.left -= is_done;
    line.done += is_done;
    line.begun += !is_done;
}

static struct elapse__connection *connect_line(void)
{
    line.source = (struct elapse__command_source){.next = next_of_line, .ran = line_ran};
    links_are_here = true;
    begin(1);
    return connect_to(1, &line.source);
}

/* Says once that there are commands. */
static void give(struct elapse__connection *connection, const char *words, unsigned times)
{
    assert_int_equal(line.left, 0);
    line.count = line.begun = line.done = 0;
    line.left = times;
    while (*words != '\0') {
        size_t size = strcspn(words, " ");
        line.arguments[line.count++] = (struct elapse__wire_resp_argument){
            .bytes = (const unsigned char *)words, .size = (uint32_t)size};
        words += size + (words[size] == ' ');
    }
    elapse__connection_commands(connection, now);
    assert_int_equal(elapse__server_check(cores[1].server), 0);
}

/* Reads all that the connection has; what it had last is in heard[0]. */
static void read_all(struct elapse__connection *connection)
{
    const uint8_t *bytes;
    size_t size;

    work_core(&cores[1]);
    while ((size = elapse__connection_output(connection, &bytes)) > 0) {
        assert_true(size < HEARD_MAX);
        memcpy(heard[0], bytes, size);
        heard[0][size] = '\0';
        elapse__connection_sent(connection, now, size);
        work_core(&cores[1]);
    }
    assert_int_equal(elapse__server_check(cores[1].server), 0);
}

TEST_WITH(commands_wait_for_a_client_that_reads, NULL, end)
{
    const uint8_t *bytes;
    output_bytes_max = 200;
    struct elapse__connection *connection = connect_line();
    give(connection, "ECHO 0123456789", 100);
    work_core(&cores[1]);
    assert_in_range(line.done, 10, 20);
    unsigned before = line.done;
    elapse__connection_sent(connection, now, elapse__connection_output(connection, &bytes));
    work_core(&cores[1]);
    assert_true(line.done > before);
    read_all(connection);
    assert_int_equal(line.done, 100);
    output_bytes_max = 0;
}

TEST_WITH(commands_wait_for_the_turns_of_others, NULL, end)
{
    struct elapse__connection *connection = connect_line();
    give(connection, "PUT t body", 3000);
    assert_in_range(line.done, 100, 400);
    (void)elapse__server_turn(cores[1].server, now);
    assert_in_range(line.done, 400, 2000);
    read_all(connection);
    assert_int_equal(line.done, 3000);
    give(connection, "CANCELALL t", 1);
    assert_true(line.begun > 0 && line.done == 0);
    read_all(connection);
    assert_true(line.begun > 1 && line.done == 1);
    assert_non_null(strstr(heard[0], ":3000\r\n"));
    give(connection, "QUIT", 2);
    read_all(connection);
    assert_int_equal(line.done, 1);
    assert_string_equal(heard[0], "+OK\r\n");
    assert_true(elapse__connection_wants_end(connection));
    line.left = 0;
}

TEST_MAIN("cores")
