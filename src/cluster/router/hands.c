/*
 * Keeps the jobs of a reply until the reply was sent. If the client closes before that, gives the
 * jobs back to their partition.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/decimal.h"
#include "lane.h"

enum { HANDS_MAX = 1000 }; /* the most jobs in one reply */

bool elapse__router_hands_read(struct elapse__router_command *command, uint32_t partition,
                               const unsigned char *value, size_t size)
{
    size_t at = 0;
    struct elapse__wire_resp_item head = elapse__wire_resp_next(value, size, &at);

    ELAPSE__ASSERT_THAT(command->hand_count, ==, 0);
    if (head.kind != ELAPSE__WIRE_RESP_ARRAY || head.integer > HANDS_MAX)
        return false;
    command->hands = calloc((size_t)head.integer, sizeof *command->hands);
    if (command->hands == NULL)
        return false;
    command->hands_of = partition;
    for (int64_t i = 0; i < head.integer; i++) {
        size_t begin = at;
        size_t next = at;
        struct elapse__wire_resp_item job = elapse__wire_resp_next(value, size, &next);
        elapse__wire_resp_skip(value, size, &at);
        if (job.kind != ELAPSE__WIRE_RESP_ARRAY || job.integer < 2 || next <= begin)
            return false;
        struct elapse__wire_resp_item id = elapse__wire_resp_next(value, size, &next);
        struct elapse__wire_resp_item lease = elapse__wire_resp_next(value, size, &next);
        if (id.kind != ELAPSE__WIRE_RESP_INTEGER || id.integer <= 0 ||
            lease.kind != ELAPSE__WIRE_RESP_BYTES || lease.size > ELAPSE__ROUTER_LEASE_MAX)
            return false;
        struct elapse__router_hand *hand = &command->hands[command->hand_count++];
        hand->id = (uint64_t)id.integer;
        hand->lease_size = (uint32_t)lease.size;
        memcpy(hand->lease, lease.bytes, lease.size);
    }
    return true;
}

void elapse__router_hands_give_back(struct elapse__router *router,
                                    const struct elapse__router_command *command)
{
    struct elapse__router_lane *lane = &router->partitions[command->hands_of].quick;

    /* Rule N5 of router.h: the jobs go back because their client has gone. */
    ELAPSE__ASSERT(command->client == NULL);
    ELAPSE__ASSERT_THAT(command->hands_of, <, router->options.partitions);
    for (uint32_t i = 0; i < command->hand_count; i++) {
        const struct elapse__router_hand *hand = &command->hands[i];
        char digits[ELAPSE__DECIMAL_BYTES];
        const struct elapse__wire_resp_argument nack[] = {
            elapse__router_argument_text("NACK"),
            elapse__router_argument(digits, elapse__decimal_write(digits, hand->id)),
            elapse__router_argument(hand->lease, hand->lease_size),
            elapse__router_argument_text("IN"), elapse__router_argument_text("0s")};
        (void)elapse__router_lane_send(lane, NULL, ELAPSE__ROUTER_LOSS_DROP, nack,
                                       sizeof nack / sizeof *nack);
        router->figures.given_back++;
    }
}
