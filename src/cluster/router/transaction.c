/*
 * Transactions: the commands of a client between MULTI and EXEC.
 *
 *           MULTI                      EXEC
 *      none ------> open ---------------------------------> none     one fragment for one partition
 *                    |   DISCARD, RESET, the end
 *                    |
 *                    | a wrong command, too many of them, no memory, a minute of silence
 *                    v
 *                 spoiled ---------------------------------> none    -EXECABORT: nothing is done
 *
 * A command of a transaction is kept as a fragment that is in no lane. EXEC makes one fragment of
 * all of them. It goes to the partition that the commands name. So a lost link cannot split the
 * transaction. Commands that the router runs itself, such as PING, run when the partition has
 * answered. If the partition refuses a command, EXEC replies with that error. At the partition
 * src/server/resp/transaction.c runs the commands.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kinds.h"

/* ---- life ---- */

#define EXECABORT "EXECABORT Transaction discarded because of previous errors."

/* The transaction of every client whose MULTI was refused. Clients send commands after MULTI
 * without waiting for its reply, and none of these commands may run by itself. */
static struct elapse__router_transaction refused = {.spoiled = EXECABORT};

/* Forgets the commands of a transaction. */
static void keep_nothing(struct elapse__router_transaction *transaction)
{
    struct elapse__router *router = transaction->client->router;

    ELAPSE__ASSERT(transaction != &refused);
    ELAPSE__ASSERT_THAT(router->kept, >=, transaction->memory);
    router->kept -= transaction->memory;
    transaction->memory = 0;
    elapse__router_fragments_free(transaction->first);
    transaction->first = transaction->last = NULL;
    (void)elapse_wheel_stop(&router->wheel, &transaction->alarm.timer);
}

void elapse__router_transaction_end(struct elapse__router_client *client)
{
    struct elapse__router_transaction *transaction = client->transaction;

    client->transaction = NULL;
    if (transaction == NULL || transaction == &refused)
        return;
    keep_nothing(transaction);
    free(transaction);
}

static void spoil(struct elapse__router_transaction *transaction, const char *why)
{
    if (transaction == NULL || transaction->spoiled != NULL)
        return;
    transaction->spoiled = why;
    keep_nothing(transaction);
}

void elapse__router_transaction_spoil(struct elapse__router_client *client)
{
    spoil(client->transaction, EXECABORT);
}

static void kept_too_long(struct elapse__router_alarm *alarm)
{
    spoil(ELAPSE__CONTAINER_OF(alarm, struct elapse__router_transaction, alarm),
          "EXECABORT Transaction discarded: nothing came for 60 s.");
}

/* Starts the client's time limit again. */
static void await_client(struct elapse__router_transaction *transaction)
{
    struct elapse__router *router = transaction->client->router;

    ELAPSE__ASSERT(transaction->spoiled == NULL);
    elapse_wheel_start(&router->wheel, &transaction->alarm.timer,
                       router->now + ELAPSE__ROUTER_PARTS_IDLE_MS);
}

void elapse__router_transaction_heard(struct elapse__router_client *client)
{
    if (client->transaction != NULL && client->transaction->spoiled == NULL)
        await_client(client->transaction);
}

/* Counts `bytes` more, and starts the client's time limit again. Returns false, and counts nothing,
 * if all transactions together would take too many bytes. */
static bool count_bytes(struct elapse__router_transaction *transaction, size_t bytes)
{
    struct elapse__router *router = transaction->client->router;

    ELAPSE__ASSERT_THAT(router->kept, <=, router->options.kept_bytes_max);
    if (bytes > router->options.kept_bytes_max - router->kept)
        return false;
    router->kept += bytes;
    transaction->memory += bytes;
    await_client(transaction);
    return true;
}

/* Begins a transaction. Returns NULL, or why there is none. Then the client has a spoiled
 * transaction. */
static const char *begin(struct elapse__router_client *client)
{
    struct elapse__router_transaction *transaction = calloc(1, sizeof *transaction);

    client->transaction = transaction == NULL ? &refused : transaction;
    if (transaction == NULL)
        return "OOM there is no memory";
    transaction->client = client;
    transaction->alarm.ring = kept_too_long;
    if (count_bytes(transaction, sizeof *transaction))
        return NULL;
    elapse__router_transaction_spoil(client);
    return "OOM too many transactions are open; try again later";
}

/* Refuses arguments of a command that takes none. */
static bool has_no_arguments(struct elapse__router_command *command, uint32_t count,
                             const char *error)
{
    if (count == 1)
        return true;
    elapse__router_transaction_spoil(command->client);
    elapse__router_reply_fail(command, error);
    return false;
}

void elapse__router_local_multi(struct elapse__router_command *command,
                                const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    struct elapse__router_client *client = command->client;
    const char *error = NULL;

    (void)arguments;
    if (!has_no_arguments(command, count, "ERR wrong number of arguments for 'multi' command"))
        return;
    if (client->transaction != NULL) {
        elapse__router_transaction_spoil(client);
        error = "ERR MULTI calls can not be nested";
    } else {
        error = begin(client);
    }
    if (error != NULL)
        elapse__router_reply_fail(command, error);
    else
        elapse__router_reply_word(command, "OK");
}

void elapse__router_local_discard(struct elapse__router_command *command,
                                  const struct elapse__wire_resp_argument *arguments,
                                  uint32_t count)
{
    (void)arguments;
    if (!has_no_arguments(command, count, "ERR wrong number of arguments for 'discard' command"))
        return;
    if (command->client->transaction == NULL) {
        elapse__router_reply_fail(command, "ERR DISCARD without MULTI");
        return;
    }
    elapse__router_transaction_end(command->client);
    elapse__router_reply_word(command, "OK");
}

void elapse__router_local_watch(struct elapse__router_command *command,
                                const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    (void)arguments, (void)count;
    elapse__router_transaction_spoil(command->client);
    elapse__router_reply_fail(command,
                              "ERR there is nothing to WATCH: guard a transaction with LEASED id "
                              "lease, behind MULTI");
}

/* ---- between MULTI and EXEC ---- */

static size_t bytes_of(const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < count; i++)
        bytes += arguments[i].size;
    return bytes;
}

static void append(struct elapse__router_transaction *transaction,
                   struct elapse__router_fragment *fragment)
{
    if (transaction->last == NULL)
        transaction->first = fragment;
    else
        transaction->last->behind = fragment;
    transaction->last = fragment;
    fragment->place = transaction->count++;
}

/* Keeps a command. Returns NULL, or why the command is not kept. */
static const char *keep(struct elapse__router_transaction *transaction,
                        const struct elapse__router_route *route,
                        const struct elapse__wire_resp_argument *arguments, uint32_t count,
                        uint32_t parts)
{
    transaction->parts += parts;
    transaction->bytes += bytes_of(arguments, count);
    if (transaction->parts > ELAPSE__ROUTER_PARTS_MAX)
        return "ERR a transaction has at most 1000 commands; each key, id or lease of a command "
               "counts as one";
    if (transaction->bytes > ELAPSE__ROUTER_PARTS_BYTES_MAX)
        return "ERR the transaction is too long; docs/protocol.md has the limit";
    struct elapse__router_fragment *fragment = elapse__router_fragment_new(arguments, count);
    if (fragment == NULL)
        return "OOM there is no memory";
    if (!count_bytes(transaction, fragment->memory)) {
        elapse__router_fragment_free(fragment);
        return "OOM too many transactions are open; try again later";
    }
    fragment->route = route;
    append(transaction, fragment);
    return NULL;
}

const char *elapse__router_transaction_keep(struct elapse__router_client *client,
                                            const struct elapse__router_route *route,
                                            const struct elapse__wire_resp_argument *arguments,
                                            uint32_t count, uint32_t parts)
{
    ELAPSE__ASSERT(client->transaction != NULL && client->transaction->spoiled == NULL);
    ELAPSE__ASSERT_THAT(parts, >, 0);
    const char *error = keep(client->transaction, route, arguments, count, parts);
    if (error != NULL)
        elapse__router_transaction_spoil(client);
    return error;
}

void elapse__router_transaction_place(struct elapse__router_client *client, uint32_t partition,
                                      bool is_likely)
{
    struct elapse__router_transaction *transaction = client->transaction;

    ELAPSE__ASSERT_THAT(partition, <, client->router->options.partitions);
    if (is_likely && transaction->where != ELAPSE__ROUTER_PARTS_ANYWHERE)
        return;
    if (transaction->where >= ELAPSE__ROUTER_PARTS_ONE) {
        if (transaction->partition != partition)
            transaction->where = ELAPSE__ROUTER_PARTS_SEVERAL;
        return;
    }
    transaction->where = is_likely ? ELAPSE__ROUTER_PARTS_LIKELY : ELAPSE__ROUTER_PARTS_ONE;
    transaction->partition = partition;
}

/* ---- EXEC ---- */

void elapse__router_transaction_move(struct elapse__router_command *command,
                                     struct elapse__router_fragment *exec,
                                     struct elapse__router_fragment *multi)
{
    struct elapse__router_transaction *transaction = command->client->transaction;
    struct elapse__router_fragment **end_of_front = &multi->behind;
    struct elapse__router_fragment **end_of_locals = &command->locals;

    ELAPSE__ASSERT(transaction->spoiled == NULL && command->locals == NULL);
    command->places = transaction->count;
    exec->front = multi;
    exec->memory += multi->memory;
    for (struct elapse__router_fragment *at = transaction->first; at != NULL; at = at->behind) {
        bool is_local = at->route->kind == ELAPSE__ROUTER_ROUTE_LOCAL;
        struct elapse__router_fragment ***end = is_local ? &end_of_locals : &end_of_front;
        **end = at;
        *end = &at->behind;
        exec->memory += is_local ? 0 : at->memory;
    }
    *end_of_front = *end_of_locals = NULL;
    transaction->first = NULL;
    elapse__router_transaction_end(command->client);
}

/* Replies with the error of the partition. If the partition refused a command, replies with the
 * error of that command, because EXEC's own error does not say the reason. */
static void reply_error(struct elapse__router_command *command, const unsigned char *value,
                        size_t size, const struct elapse__wire_resp_item *error)
{
    static const char aborted[] = "EXECABORT ";
    bool is_aborted = error->size > strlen(aborted) &&
                      memcmp(error->bytes, aborted, strlen(aborted)) == 0 &&
                      command->error[0] != '\0';
    char text[ELAPSE__ROUTER_ERROR_MAX];

    if (!is_aborted) {
        elapse__router_reply_value(command, value, size);
    } else if (strncmp(command->error, "ERR ", 4) != 0) {
        elapse__router_reply_fail(command, command->error);
    } else {
        (void)snprintf(text, sizeof text, "EXECABORT Transaction discarded: %.*s",
                       ELAPSE__ROUTER_ERROR_MAX - 40, command->error + 4);
        elapse__router_reply_fail(command, text);
    }
}

/* Replies with a null, as EXEC does after a failed WATCH, because a lease has ended. */
static void reply_nothing(struct elapse__router_command *command)
{
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, ELAPSE__WIRE_RESP_FRAME_MAX);

    elapse__wire_resp_write_no_array(&writer);
    elapse__router_reply_written(command, &writer);
}

/* Runs the next command that the router runs itself. */
static void run_local(struct elapse__router_command *command)
{
    struct elapse__router_fragment *local = command->locals;

    command->locals = local->behind;
    local->behind = NULL;
    local->route->local(command, local->arguments, local->count);
    elapse__router_fragment_free(local);
}

/* Replies with an array that has a place for each command. In the place is the next answer of the
 * partition, or the router's own reply. */
static void reply_places(struct elapse__router_command *command, const unsigned char *value,
                         size_t size, size_t at)
{
    elapse__router_reply_array(command, command->places);
    for (uint32_t place = 0; place < command->places; place++) {
        size_t begin = at;
        if (command->locals != NULL && command->locals->place == place) {
            run_local(command);
            continue;
        }
        elapse__wire_resp_skip(value, size, &at);
        elapse__router_reply_value(command, value + begin, at - begin);
    }
    ELAPSE__ASSERT_THAT(at, ==, size);
}

static uint32_t count_locals(const struct elapse__router_command *command)
{
    uint32_t count = 0;

    for (const struct elapse__router_fragment *at = command->locals; at != NULL; at = at->behind)
        count++;
    return count;
}

void elapse__router_transaction_answer(struct elapse__router_command *command,
                                       const unsigned char *value, size_t size)
{
    struct elapse__wire_resp_item head = {.kind = ELAPSE__WIRE_RESP_ARRAY};
    int64_t expected = (int64_t)command->places - count_locals(command);
    size_t at = 0;

    if (command->client == NULL)
        return;
    if (value != NULL)
        head = elapse__wire_resp_next(value, size, &at);
    if (head.kind == ELAPSE__WIRE_RESP_ERROR)
        reply_error(command, value, size, &head);
    else if (head.kind == ELAPSE__WIRE_RESP_NULL)
        reply_nothing(command);
    else if (head.kind == ELAPSE__WIRE_RESP_ARRAY && head.integer == expected)
        reply_places(command, value, size, at);
    else
        elapse__router_reply_fail(command,
                                  "UNKNOWN the partition has not answered as EXEC does: the "
                                  "transaction may have been done");
}
