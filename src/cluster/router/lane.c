/*
 * Holds the fragments that wait for a link, sends them, and gives up links that do not answer.
 * router.h defines lane, fragment and link.
 */
#include <stdlib.h>
#include <string.h>

#include "lane.h"

/* ---- fragments ---- */

bool elapse__router_lane_is_full(const struct elapse__router_lane *lane)
{
    return lane->bytes >= lane->router->options.lane_bytes_max;
}

bool elapse__router_lane_is_open(const struct elapse__router_lane *lane)
{
    ELAPSE__ASSERT(lane->carrier == NULL || lane->carrier->lane == lane);
    return lane->carrier != NULL && lane->carrier->state == ELAPSE__ROUTER_LINK_OPEN;
}

/* Makes the lane want a link, if it needs one and the partition has an owner. If the pause is not
 * over, or if there is no memory, the lane tries again later. */
static void want_link(struct elapse__router_lane *lane)
{
    struct elapse__router *router = lane->router;
    bool is_needed = !lane->slow || !elapse__ring_empty(&lane->queued);

    ELAPSE__ASSERT(!elapse__router_lane_is_open(lane) || elapse__ring_empty(&lane->queued) ||
                   lane->carrier->out_end - lane->carrier->out_sent >= ELAPSE__ROUTER_LINK_OUT);
    if (lane->carrier != NULL || !is_needed ||
        router->partitions[lane->partition].place == ELAPSE__ROUTER_NOWHERE)
        return;
    if (lane->retry_at_ms > router->now) {
        elapse__router_look_by(router, lane->retry_at_ms);
        return;
    }
    lane->carrier = elapse__router_link_new(router, lane->partition, lane, NULL);
    if (lane->carrier == NULL) {
        lane->retry_at_ms = router->now + ELAPSE__ROUTER_RETRY_LAST_MS;
        elapse__router_look_by(router, lane->retry_at_ms);
    }
}

static bool refuse(struct elapse__router_lane *lane, struct elapse__router_command *command)
{
    static const char error[] = "-OOM there is no memory\r\n";

    if (command != NULL)
        lane->router->fragment_ended(command, lane->partition, ELAPSE__ROUTER_FRAGMENT_NO_MEMORY,
                                     (const unsigned char *)error, sizeof error - 1);
    return false;
}

bool elapse__router_lane_send(struct elapse__router_lane *lane,
                              struct elapse__router_command *command,
                              enum elapse__router_on_loss on_loss,
                              const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    struct elapse__router_fragment *fragment = elapse__router_fragment_new(arguments, count);

    if (fragment == NULL)
        return refuse(lane, command);
    elapse__router_lane_put(lane, command, on_loss, fragment);
    return true;
}

void elapse__router_lane_put(struct elapse__router_lane *lane,
                             struct elapse__router_command *command,
                             enum elapse__router_on_loss on_loss,
                             struct elapse__router_fragment *fragment)
{
    ELAPSE__ASSERT(command == NULL || command->fragments > 0);
    fragment->command = command;
    fragment->on_loss = on_loss;
    fragment->since_ms = lane->router->now;
    elapse__ring_append(&lane->queued, &fragment->ring_node);
    lane->bytes += fragment->memory;
    if (elapse__router_lane_is_open(lane)) {
        elapse__router_lane_pump(lane);
    } else {
        elapse__router_look_by(lane->router, fragment->since_ms + lane->router->options.retry_ms);
        want_link(lane);
    }
}

static uint32_t patience_ms(const struct elapse__router_lane *lane)
{
    const struct elapse__router_options *options = &lane->router->options;
    return lane->slow ? options->sweep_ms : options->answer_ms;
}

/* Ends a transaction if the owner of the partition does not know transactions. That owner would run
 * the commands one by one. */
static void refuse_transaction(struct elapse__router_lane *lane,
                               struct elapse__router_fragment *fragment)
{
    static const char error[] = "-ERR the node that owns the partition has an earlier version, "
                                "without transactions: upgrade it; nothing is done\r\n";

    elapse__router_lane_end(lane, fragment, ELAPSE__ROUTER_FRAGMENT_NOT_DONE,
                            (const unsigned char *)error, sizeof error - 1);
}

void elapse__router_lane_pump(struct elapse__router_lane *lane)
{
    struct elapse__router_link *link = lane->carrier;

    ELAPSE__ASSERT(elapse__router_lane_is_open(lane));
    while (!elapse__ring_empty(&lane->queued) &&
           link->out_end - link->out_sent < ELAPSE__ROUTER_LINK_OUT) {
        struct elapse__router_fragment *fragment = elapse__router_fragment_at(lane->queued.next);
        elapse__ring_leave(&fragment->ring_node);
        if (link->is_old && fragment->front != NULL) {
            refuse_transaction(lane, fragment);
            continue;
        }
        if (!elapse__router_link_send(link, fragment)) {
            elapse__ring_prepend(&lane->queued, &fragment->ring_node);
            elapse__router_link_lose(link);
            return;
        }
        lane->router->figures.fragments++;
        lane->router->figures.again += fragment->was_sent;
        elapse__router_look_by(lane->router, fragment->sent_ms + patience_ms(lane));
    }
    elapse__router_link_arrange(link);
}

void elapse__router_lane_moved(struct elapse__router_lane *lane)
{
    struct elapse__router_link *link = lane->carrier;

    ELAPSE__ASSERT(link == NULL || link->state != ELAPSE__ROUTER_LINK_LOST);
    lane->has_moved = true;
    if (link != NULL && link->state == ELAPSE__ROUTER_LINK_OPEN && !elapse__ring_empty(&link->sent))
        elapse__router_link_enter(link, ELAPSE__ROUTER_LINK_PARTING);
    else if (link != NULL && link->state != ELAPSE__ROUTER_LINK_WANTED &&
             link->state != ELAPSE__ROUTER_LINK_PARTING)
        elapse__router_link_lose(link);
    if (lane->carrier == NULL) {
        lane->has_moved = false;
        lane->retry_at_ms = lane->router->now;
        lane->retry_after_ms = ELAPSE__ROUTER_RETRY_FIRST_MS;
    }
    elapse__router_look_by(lane->router, lane->router->now);
}

/* ---- time ---- */

/* Ends the fragments that have waited too long for a link. */
static void expire(struct elapse__router_lane *lane)
{
    struct elapse__router *router = lane->router;

    ELAPSE__ASSERT(!elapse__router_lane_is_open(lane));
    while (!elapse__ring_empty(&lane->queued)) {
        struct elapse__router_fragment *fragment = elapse__router_fragment_at(lane->queued.next);
        if (elapse__router_fragment_is_counted(fragment) &&
            fragment->since_ms + router->options.retry_ms > router->now) {
            elapse__router_look_by(router, fragment->since_ms + router->options.retry_ms);
            break;
        }
        elapse__ring_leave(&fragment->ring_node);
        elapse__router_fragment_give_up(lane, fragment);
    }
}

/* Returns when a link counts as lost if nothing happens, or UINT64_MAX for never. */
static uint64_t deadline_of(const struct elapse__router_link *link)
{
    const struct elapse__router_options *options = &link->router->options;

    ELAPSE__ASSERT_THAT(link->state, !=, ELAPSE__ROUTER_LINK_LOST);
    switch (link->state) {
    case ELAPSE__ROUTER_LINK_WANTED:
    case ELAPSE__ROUTER_LINK_OPENING:
    case ELAPSE__ROUTER_LINK_GREETING:
        return link->since_ms + options->answer_ms;
    case ELAPSE__ROUTER_LINK_PARTING:
        return link->since_ms + options->parting_ms;
    case ELAPSE__ROUTER_LINK_OPEN:
    case ELAPSE__ROUTER_LINK_LOST:
        break;
    }
    if (elapse__ring_empty(&link->sent))
        return UINT64_MAX;
    return elapse__router_fragment_at(link->sent.next)->sent_ms + patience_ms(link->lane);
}

/* Gives up a link that has not answered in time, and notes why. Notes nothing if the link leads to
 * an old owner, because its silence is to be expected. */
static void give_up_silent(struct elapse__router_link *link)
{
    if (link->state != ELAPSE__ROUTER_LINK_PARTING)
        elapse__router_link_complain(link, "it does not answer");
    elapse__router_link_lose(link);
}

void elapse__router_lane_look(struct elapse__router_lane *lane)
{
    if (lane->carrier != NULL) {
        uint64_t deadline = deadline_of(lane->carrier);
        if (deadline <= lane->router->now && lane->carrier->state != ELAPSE__ROUTER_LINK_WANTED)
            give_up_silent(lane->carrier);
        else if (deadline > lane->router->now)
            elapse__router_look_by(lane->router, deadline);
    }
    if (!elapse__router_lane_is_open(lane))
        expire(lane);
    want_link(lane);
}
