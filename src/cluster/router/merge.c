/*
 * Makes one reply from the answers of many partitions.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/decimal.h"
#include "../../protocol/reply_fields.h"
#include "kinds.h"

/* ---- pages: [cursor, [item, ...]] ---- */

void elapse__router_merge_page(struct elapse__router_command *command, const unsigned char *value,
                               size_t size)
{
    uint32_t partitions = command->client == NULL ? 1 : command->client->router->options.partitions;
    size_t at = 0;
    struct elapse__wire_resp_item head = elapse__wire_resp_next(value, size, &at);
    struct elapse__wire_resp_item cursor = {.kind = ELAPSE__WIRE_RESP_NULL};

    ELAPSE__ASSERT(command->client == NULL || command->cursor_of < partitions);
    if (head.kind == ELAPSE__WIRE_RESP_ARRAY && head.integer == 2)
        cursor = elapse__wire_resp_next(value, size, &at);
    if (cursor.kind != ELAPSE__WIRE_RESP_INTEGER) {
        elapse__router_reply_value(command, value, size);
        return;
    }
    int64_t next = cursor.integer * (int64_t)partitions + command->cursor_of;
    if (cursor.integer == 0 && command->is_whole)
        next = 0;
    else if (cursor.integer == 0)
        next = command->cursor_of + 1 < partitions ? (int64_t)command->cursor_of + 1 : 0;
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, (size_t)2 * ELAPSE__WIRE_RESP_FRAME_MAX);
    elapse__wire_resp_write_array(&writer, 2);
    elapse__wire_resp_write_integer(&writer, next);
    elapse__router_reply_written(command, &writer);
    elapse__router_reply_value(command, value + at, size - at);
}

/* ---- sums ---- */

static bool is_name(const struct elapse__wire_resp_item *item, const char *name)
{
    return item->kind == ELAPSE__WIRE_RESP_BYTES &&
           elapse__router_is_text(item->bytes, item->size, name);
}

/* Adds the answer of one partition to the sums of a CANCELALL. The answer is a map of two numbers:
 * {removed: n, running: n}. Its first name begins at `at`. */
static void add_cancelled(struct elapse__router_command *command, const unsigned char *value,
                          size_t size, size_t at)
{
    while (at < size) {
        struct elapse__wire_resp_item name = elapse__wire_resp_next(value, size, &at);
        struct elapse__wire_resp_item count = elapse__wire_resp_next(value, size, &at);
        if (count.kind == ELAPSE__WIRE_RESP_INTEGER && is_name(&name, "removed"))
            command->counts[0] += (uint64_t)count.integer;
        if (count.kind == ELAPSE__WIRE_RESP_INTEGER && is_name(&name, "running"))
            command->counts[1] += (uint64_t)count.integer;
    }
}

static void reply_cancelled(struct elapse__router_command *command)
{
    struct elapse__wire_resp_writer writer =
        elapse__router_reply_room(command, (size_t)6 * ELAPSE__WIRE_RESP_FRAME_MAX);

    elapse__wire_resp_write_map(&writer, 2);
    elapse__wire_resp_write_text(&writer, "removed");
    elapse__wire_resp_write_integer(&writer, (int64_t)command->counts[0]);
    elapse__wire_resp_write_text(&writer, "running");
    elapse__wire_resp_write_integer(&writer, (int64_t)command->counts[1]);
    elapse__router_reply_written(command, &writer);
}

/* Returns the sum with this name, and makes it if it does not exist. Returns NULL if there is no
 * room. */
static struct elapse__router_sum *sum_of(struct elapse__router_command *command,
                                         const struct elapse__wire_resp_item *name, bool is_boolean)
{
    for (uint32_t i = 0; i < command->sum_count; i++) {
        if (is_name(name, command->sums[i].name))
            return &command->sums[i];
    }
    if (command->sums == NULL)
        command->sums = calloc(ELAPSE__ROUTER_SUMS_MAX, sizeof *command->sums);
    if (command->sums == NULL || command->sum_count == ELAPSE__ROUTER_SUMS_MAX ||
        name->kind != ELAPSE__WIRE_RESP_BYTES || name->size >= sizeof command->sums->name)
        return NULL;
    struct elapse__router_sum *sum = &command->sums[command->sum_count++];
    memcpy(sum->name, name->bytes, name->size);
    sum->is_boolean = is_boolean;
    sum->is_greatest = elapse__field_kind_of(name->bytes, name->size) == ELAPSE__FIELD_DURATION;
    return sum;
}

static void add_statistics(struct elapse__router_command *command, const unsigned char *value,
                           size_t size, size_t at)
{
    while (at < size) {
        struct elapse__wire_resp_item name = elapse__wire_resp_next(value, size, &at);
        size_t begin = at;
        struct elapse__wire_resp_item number = elapse__wire_resp_next(value, size, &at);
        bool is_boolean =
            number.kind == ELAPSE__WIRE_RESP_TRUE || number.kind == ELAPSE__WIRE_RESP_FALSE;
        if (number.kind != ELAPSE__WIRE_RESP_INTEGER && !is_boolean) {
            /* Skips the value, because it is no number. A partition of a later version may send
             * such a figure. */
            at = begin;
            elapse__wire_resp_skip(value, size, &at);
            continue;
        }
        struct elapse__router_sum *sum = sum_of(command, &name, is_boolean);
        if (sum == NULL)
            continue;
        if (is_boolean)
            sum->value |= number.kind == ELAPSE__WIRE_RESP_TRUE;
        else if (!sum->is_greatest)
            sum->value += number.integer;
        else if (number.integer > sum->value)
            sum->value = number.integer;
    }
}

static void reply_statistics(struct elapse__router_command *command)
{
    struct elapse__wire_resp_writer writer = elapse__router_reply_room(
        command, (size_t)(command->sum_count + 1) *
                     (sizeof command->sums->name + (size_t)2 * ELAPSE__WIRE_RESP_FRAME_MAX));

    if (command->sum_count == 0)
        elapse__wire_resp_write_null(&writer); /* no partition has such a tube */
    else
        elapse__wire_resp_write_map(&writer, command->sum_count);
    for (uint32_t i = 0; i < command->sum_count; i++) {
        const struct elapse__router_sum *sum = &command->sums[i];
        elapse__wire_resp_write_text(&writer, sum->name);
        if (sum->is_boolean)
            elapse__wire_resp_write_boolean(&writer, sum->value != 0);
        else
            elapse__wire_resp_write_integer(&writer, sum->value);
    }
    elapse__router_reply_written(command, &writer);
}

/* ---- KICK, which asks one partition after the other ---- */

void elapse__router_kick_step(struct elapse__router_command *command)
{
    struct elapse__router_client *client = command->client;
    bool is_over = client == NULL || command->error[0] != '\0';
    char digits[ELAPSE__DECIMAL_BYTES];

    ELAPSE__ASSERT_THAT(command->kind, ==, ELAPSE__ROUTER_COMMAND_KICK);
    ELAPSE__ASSERT_THAT(command->fragments, ==, 0);
    /* Asks at least one partition, even for 0 jobs, because the partition may refuse the tube. */
    if (!is_over && command->rounds > 0)
        is_over = command->is_whole || command->rounds == client->router->options.partitions ||
                  command->counts[0] >= command->wanted;
    if (is_over) {
        if (command->error[0] != '\0')
            elapse__router_reply_fail(command, command->error);
        else
            elapse__router_reply_integer(command, command->counts[0]);
        elapse__router_command_done(command);
        return;
    }
    uint32_t partition = (command->first + command->rounds) % client->router->options.partitions;
    struct elapse__router_lane *lane = &client->router->partitions[partition].slow;
    const struct elapse__wire_resp_argument kick[] = {
        elapse__router_argument_text("KICK"),
        elapse__router_argument(elapse__buffer_first(&command->tube),
                                elapse__buffer_size(&command->tube)),
        elapse__router_argument(
            digits, elapse__decimal_write(digits, command->wanted - command->counts[0])),
        elapse__router_argument_text("BURIED")};
    uint32_t count = command->only_buried ? 4 : 3;
    ELAPSE__ASSERT_THAT(count, <=, sizeof kick / sizeof *kick);
    command->rounds++;
    command->fragments = 1;
    (void)elapse__router_lane_send(lane, command, ELAPSE__ROUTER_LOSS_UNKNOWN, kick, count);
}

/* ---- the answer of one partition ---- */

/* Replies with the statistics of the one partition that was asked. They may have texts, which
 * cannot be added up. */
static void reply_whole(struct elapse__router_command *command, const unsigned char *value,
                        size_t size)
{
    ELAPSE__ASSERT_THAT(command->fragments, ==, 0);
    elapse__router_reply_value(command, value, size);
    elapse__router_command_done(command);
}

static void complete(struct elapse__router_command *command)
{
    ELAPSE__ASSERT_THAT(command->fragments, ==, 0);
    if (command->error[0] != '\0')
        elapse__router_reply_fail(command, command->error);
    else if (command->kind == ELAPSE__ROUTER_COMMAND_CANCELALL)
        reply_cancelled(command);
    else if (command->kind == ELAPSE__ROUTER_COMMAND_STATS)
        reply_statistics(command);
    else
        elapse__router_reply_value(
            command, (const unsigned char *)(command->counts[0] > 0 ? "+ok\r\n" : "+gone\r\n"),
            command->counts[0] > 0 ? 5 : 7);
    elapse__router_command_done(command);
}

void elapse__router_merge_answer(struct elapse__router_command *command, const unsigned char *value,
                                 size_t size)
{
    size_t at = 0;
    struct elapse__wire_resp_item head = elapse__wire_resp_next(value, size, &at);

    ELAPSE__ASSERT_THAT(command->kind, >=, ELAPSE__ROUTER_COMMAND_CANCELALL);
    ELAPSE__ASSERT_THAT(command->kind, <=, ELAPSE__ROUTER_COMMAND_KICK);
    if (command->kind == ELAPSE__ROUTER_COMMAND_STATS && command->is_whole &&
        head.kind == ELAPSE__WIRE_RESP_MAP) {
        reply_whole(command, value, size);
        return;
    }
    if (head.kind == ELAPSE__WIRE_RESP_ERROR)
        elapse__router_keep_error(command, &head);
    else if (head.kind == ELAPSE__WIRE_RESP_MAP &&
             command->kind == ELAPSE__ROUTER_COMMAND_CANCELALL)
        add_cancelled(command, value, size, at);
    else if (head.kind == ELAPSE__WIRE_RESP_MAP && command->kind == ELAPSE__ROUTER_COMMAND_STATS)
        add_statistics(command, value, size, at);
    else if (head.kind == ELAPSE__WIRE_RESP_INTEGER && command->kind == ELAPSE__ROUTER_COMMAND_KICK)
        command->counts[0] += head.integer < 0 ? 0 : (uint64_t)head.integer;
    else if (head.kind == ELAPSE__WIRE_RESP_WORD && command->kind == ELAPSE__ROUTER_COMMAND_PAUSE)
        command->counts[0] += elapse__router_is_text(head.bytes, head.size, "ok");
    if (command->kind == ELAPSE__ROUTER_COMMAND_KICK)
        elapse__router_kick_step(command);
    else if (command->fragments == 0)
        complete(command);
}
