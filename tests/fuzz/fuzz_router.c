/*
 * Takes any bytes as a script of what clients, partitions, owners and the clock do to the router of
 * a node. Clients and partitions may send anything. Whatever they do, the invariants of the router
 * hold, its memory is bounded, and nothing of the clients is left at the end.
 */
#include <string.h>

#include "../../src/cluster/router/router.h"
#include "fuzz.h"

enum { CLIENTS = 4, LINKS = 12 };

static struct elapse__router *router;
static struct elapse__router_client *clients[CLIENTS];
static struct elapse__router_link *links[LINKS];
static uint64_t now;

static const uint8_t *script;
static size_t left;

static uint8_t next(void)
{
    if (left == 0)
        return 0;
    left--;
    return *script++;
}

/* Takes up to `most` bytes of the script. */
static const uint8_t *take(size_t *size, size_t most)
{
    const uint8_t *begin = script;

    *size = next();
    begin = script;
    if (*size > left)
        *size = left;
    if (*size > most)
        *size = most;
    script += *size;
    left -= *size;
    return begin;
}

static bool knows(void *context, struct elapse__wire_resp_argument name,
                  struct elapse__wire_resp_argument password, struct elapse__identity *identity)
{
    (void)context, (void)name;
    *identity = (struct elapse__identity){.user = NULL};
    return password.size == 1;
}

static uint64_t wrong(void *context, void *shell)
{
    (void)context, (void)shell;
    return 100;
}

/* Commands that are well formed come often enough only by themselves. */
static const char *const commands[] = {
    "*3\r\n$3\r\nPUT\r\n$1\r\nt\r\n$1\r\nb\r\n",
    "*2\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n",
    "*4\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n$4\r\nWAIT\r\n$5\r\n200ms\r\n",
    "*5\r\n$8\r\nCANCELID\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n",
    "*2\r\n$9\r\nCANCELALL\r\n$1\r\nt\r\n",
    "*3\r\n$4\r\nKICK\r\n$1\r\nt\r\n$1\r\n9\r\n",
    "*1\r\n$5\r\nSTATS\r\n",
    "*2\r\n$4\r\nLIST\r\n$1\r\nt\r\n",
    "*2\r\n$8\r\nLOOKUPID\r\n$1\r\n3\r\n",
    "*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n",
    "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n",
};
static const char *const answers[] = {
    "+OK\r\n",
    "+ok\r\n",
    "%0\r\n",
    "*0\r\n",
    "_\r\n",
    ":1\r\n",
    "*1\r\n*3\r\n:3\r\n$3\r\n1-1\r\n+x\r\n",
    "*2\r\n+removed\r\n-ERR\r\n",
    "*2\r\n:7\r\n*1\r\n%1\r\n$2\r\nid\r\n:3\r\n",
    "%2\r\n$7\r\nremoved\r\n:4\r\n$7\r\nrunning\r\n#t\r\n",
    "-NOTOWNER x\r\n",
    ">1\r\n+ready\r\n",
};

static void to_client(struct elapse__router_client **client, uint8_t how)
{
    const uint8_t *bytes;
    size_t size;

    if (*client == NULL) {
        *client = elapse__router_client_new(router, now, (how & 1) != 0, client);
        return;
    }
    size_t room = elapse__router_client_room(*client);
    const char *command = commands[how % (sizeof commands / sizeof *commands)];
    switch (how % 7) {
    case 0:
        bytes = take(&size, room);
        elapse__router_client_received(*client, now, bytes, size);
        break;
    case 1:
        size = elapse__router_client_output(*client, &bytes);
        elapse__router_client_sent(*client, now, size - size / (1 + (size_t)(next() % 4)) / 2);
        break;
    case 2:
        elapse__router_client_closed(*client, now);
        *client = NULL;
        break;
    case 3:
        elapse__router_client_received_all(*client, now);
        break;
    default:
        command = commands[next() % (sizeof commands / sizeof *commands)];
        if (strlen(command) <= room)
            elapse__router_client_received(*client, now, command, strlen(command));
        break;
    }
}

static void to_link(struct elapse__router_link **link, uint8_t how)
{
    const uint8_t *bytes;
    size_t size;

    if (*link == NULL) {
        *link = elapse__router_link_wanted(router, now);
        if (*link != NULL && how % 8 != 0)
            elapse__router_link_opened(*link, now, how % 3 == 0);
        return;
    }
    size_t room = elapse__router_link_room(*link);
    uint32_t count;
    const char *answer = answers[next() % (sizeof answers / sizeof *answers)];
    switch (how % 8) {
    case 0:
        bytes = take(&size, room);
        elapse__router_link_received(*link, now, bytes, size);
        break;
    case 1:
        elapse__router_link_closed(*link, now);
        *link = NULL;
        break;
    case 2:
        if (elapse__router_link_command(*link, &count) != NULL)
            elapse__router_link_ran(*link, count % 2 == 0 || next() % 4 != 0);
        break;
    case 3:
    case 4:
        size = elapse__router_link_output(*link, &bytes);
        elapse__router_link_sent(*link, now, size - size / (1 + (size_t)(next() % 4)) / 2);
        break;
    default:
        if (strlen(answer) <= room)
            elapse__router_link_received(*link, now, answer, strlen(answer));
        break;
    }
}

static void check_memory(void)
{
    const uint8_t *bytes;

    for (int i = 0; i < CLIENTS; i++) {
        if (clients[i] != NULL)
            require(elapse__router_client_output(clients[i], &bytes) < 64 << 10);
    }
    for (int i = 0; i < LINKS; i++) {
        if (links[i] != NULL)
            require(elapse__router_link_output(links[i], &bytes) < 128 << 10);
    }
}

static void step(void)
{
    uint8_t what = next();
    uint8_t how = next();

    switch (what % 8) {
    case 0:
    case 1:
        to_client(&clients[(what >> 3) % CLIENTS], how);
        break;
    case 2:
    case 3:
    case 4:
        to_link(&links[(what >> 3) % LINKS], how);
        break;
    case 5:
        now += (uint64_t)how * (what >> 3);
        break;
    case 6:
        if ((what & 0x80) != 0)
            elapse__router_owner(router, now, 0, (enum elapse__router_place)(how % 3), how);
        else
            elapse__router_ready(router, now, 0);
        break;
    default:
        (void)elapse__router_turn(router, now);
        (void)elapse__router_next_ms(router);
        while (elapse__router_client_attention(router) != NULL) {
        }
        while (elapse__router_link_attention(router) != NULL) {
        }
        break;
    }
    require(elapse__router_check(router) == 0);
    check_memory();
}

static const void *link_password(void *context, size_t *size)
{
    (void)context;
    *size = 6;
    return "secret";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elapse__router_options options = {
        .queue = "q",
        .argument_bytes_max = 5000,
        .clients_max = 3,
        .input_bytes_max = 200,
        .output_bytes_max = 5000,
        .lane_bytes_max = 800,
        .reply_bytes_max = 3000,
        .retry_ms = 500,
        .answer_ms = 700,
        .parting_ms = 100,
    };

    script = data;
    left = size;
    now = 1000;
    uint8_t first = next();
    options.partitions = 1 + first % 3;
    options.admit = (first & 0x80) != 0 ? knows : NULL;
    options.wrong_password = wrong;
    options.link_password = (first & 0x40) != 0 ? link_password : NULL;
    router = elapse__router_new(&options, now);
    require(router != NULL);
    memset(clients, 0, sizeof clients);
    memset(links, 0, sizeof links);
    for (uint32_t i = 0; i < options.partitions; i++)
        elapse__router_owner(router, now, i,
                             ELAPSE__ROUTER_HERE + (enum elapse__router_place)(i % 2), 300);
    while (left > 0)
        step();
    elapse__router_free(router);
    return 0;
}
