/*
 * Makes the replies of commands from the answers of partitions.
 */
#include <string.h>

#include "take.h"

/* ---- items ---- */

/* Appends the answer to an item, and notes where that answer lies. */
static void keep_item(struct elapse__router_command *command, struct elapse__router_item *item,
                      const unsigned char *value, size_t size)
{
    size_t before = elapse__buffer_size(&command->reply);

    ELAPSE__ASSERT_THAT(item->size, ==, 0);
    elapse__router_reply_value(command, value, size);
    item->at = (uint32_t)before;
    item->size = (uint32_t)(elapse__buffer_size(&command->reply) - before);
}

/* Keeps the answer of a partition. An array has one answer for each item of this partition. Any
 * other answer, such as an error, is the answer to each of these items. */
static void keep_items(struct elapse__router_command *command, uint32_t partition,
                       const unsigned char *value, size_t size)
{
    size_t at = 0;
    int64_t mine = 0;

    for (uint32_t i = 0; i < command->item_count; i++)
        mine += command->items[i].partition == partition;
    ELAPSE__ASSERT_THAT(mine, >, 0);
    struct elapse__wire_resp_item head = elapse__wire_resp_next(value, size, &at);
    bool is_array = head.kind == ELAPSE__WIRE_RESP_ARRAY && head.integer == mine;
    for (uint32_t i = 0; i < command->item_count; i++) {
        size_t begin = is_array ? at : 0;
        if (command->items[i].partition != partition)
            continue;
        if (is_array)
            elapse__wire_resp_skip(value, size, &at);
        keep_item(command, &command->items[i], value + begin, is_array ? at - begin : size);
    }
}

/* Puts the answers in the order of the items. Requires that all partitions have answered. */
static void join_items(struct elapse__router_command *command)
{
    struct elapse__buffer found = command->reply;

    ELAPSE__ASSERT_THAT(command->fragments, ==, 0);
    command->reply = (struct elapse__buffer){.bytes = NULL};
    elapse__router_reply_array(command, command->item_count);
    for (uint32_t i = 0; i < command->item_count; i++) {
        const struct elapse__router_item *item = &command->items[i];
        if (item->size > 0 &&
            !elapse__buffer_append(&command->reply, elapse__buffer_first(&found) + item->at,
                                   item->size) &&
            command->client != NULL)
            elapse__router_client_fail(command->client);
    }
    elapse__buffer_free(&found);
}

/* ---- the end of a fragment ---- */

static void take_items(struct elapse__router_command *command, uint32_t partition,
                       const unsigned char *value, size_t size)
{
    keep_items(command, partition, value, size);
    if (command->fragments > 0)
        return;
    join_items(command);
    elapse__router_command_done(command);
}

void elapse__router_command_answer(struct elapse__router_command *command, uint32_t partition,
                                   enum elapse__router_fragment_end end, const unsigned char *value,
                                   size_t size)
{
    ELAPSE__ASSERT_THAT(command->fragments, >, 0);
    ELAPSE__ASSERT(!command->done);
    command->fragments--;
    switch (command->kind) {
    case ELAPSE__ROUTER_COMMAND_ONE:
        elapse__router_reply_value(command, value, size);
        elapse__router_command_done(command);
        break;
    case ELAPSE__ROUTER_COMMAND_ITEMS:
        take_items(command, partition, value, size);
        break;
    case ELAPSE__ROUTER_COMMAND_PAGE:
        elapse__router_merge_page(command, value, size);
        elapse__router_command_done(command);
        break;
    case ELAPSE__ROUTER_COMMAND_CANCELALL:
    case ELAPSE__ROUTER_COMMAND_STATS:
    case ELAPSE__ROUTER_COMMAND_PAUSE:
    case ELAPSE__ROUTER_COMMAND_KICK:
        elapse__router_merge_answer(command, value, size);
        break;
    case ELAPSE__ROUTER_COMMAND_EXEC:
        elapse__router_transaction_answer(command, value, size);
        elapse__router_command_done(command);
        break;
    case ELAPSE__ROUTER_COMMAND_RESERVE:
        elapse__router_reserve_answer(command, partition, end, value, size);
        break;
    }
}
