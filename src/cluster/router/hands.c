/*
 * Jobs that were handed out: remembered until the client has the reply, or given back.
 */
#include <stdlib.h>
#include <string.h>

#include "../../protocol/decimal.h"
#include "inner.h"

enum { HANDS_MAX = 1000 };

bool elapse__hands_read(struct elapse__node_command *command, uint32_t partition,
                        const unsigned char *value, size_t size)
{
    size_t at = 0;
    struct elapse__resp_item head = elapse__resp_next(value, size, &at);

    if (head.kind != ELAPSE__RESP_ARRAY || head.integer > HANDS_MAX)
        return false;
    command->hands = calloc((size_t)head.integer, sizeof *command->hands);
    if (command->hands == NULL)
        return false;
    command->hands_of = partition;
    for (int64_t i = 0; i < head.integer; i++) {
        size_t begin = at;
        size_t next = at;
        struct elapse__resp_item job = elapse__resp_next(value, size, &next);
        elapse__resp_skip(value, size, &at);
        if (job.kind != ELAPSE__RESP_ARRAY || job.integer < 2 || next <= begin)
            return false;
        struct elapse__resp_item id = elapse__resp_next(value, size, &next);
        struct elapse__resp_item lease = elapse__resp_next(value, size, &next);
        if (id.kind != ELAPSE__RESP_INTEGER || id.integer <= 0 ||
            lease.kind != ELAPSE__RESP_BYTES || lease.size > ELAPSE__NODE_LEASE_MAX)
            return false;
        struct elapse__node_hand *hand = &command->hands[command->hand_count++];
        hand->id = (uint64_t)id.integer;
        hand->lease_size = (uint32_t)lease.size;
        memcpy(hand->lease, lease.bytes, lease.size);
    }
    return true;
}

void elapse__hands_give_back(struct elapse__node *node, const struct elapse__node_command *command)
{
    struct elapse__node_lane *lane = &node->partitions[command->hands_of].quick;

    for (uint32_t i = 0; i < command->hand_count; i++) {
        const struct elapse__node_hand *hand = &command->hands[i];
        unsigned char bytes[ELAPSE__NODE_LEASE_MAX + 8 * ELAPSE__RESP_FRAME_MAX];
        struct elapse__resp_writer writer = {.bytes = bytes, .capacity = sizeof bytes};
        char digits[ELAPSE__DECIMAL_BYTES];
        elapse__resp_write_array(&writer, 5);
        elapse__resp_write_text(&writer, "NACK");
        elapse__resp_write_bytes(&writer, digits, elapse__decimal_write(digits, hand->id));
        elapse__resp_write_bytes(&writer, hand->lease, hand->lease_size);
        elapse__resp_write_text(&writer, "IN");
        elapse__resp_write_text(&writer, "0s");
        ELAPSE__ASSERT(!writer.too_small);
        elapse__lane_send(lane, NULL, ELAPSE__LOSS_DROP, bytes, writer.size);
        node->figures.given_back++;
    }
}
