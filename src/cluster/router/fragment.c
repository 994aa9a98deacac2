/*
 * Makes fragments, and ends them with or without an answer. When a link is lost, decides which
 * fragments are sent again and which end. A fragment is what one command asks of one partition.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lane.h"

/* ---- life ---- */

struct elapse__router_fragment *
elapse__router_fragment_new(const struct elapse__wire_resp_argument *arguments, uint32_t count)
{
    struct elapse__router_fragment *fragment;
    size_t memory = sizeof *fragment + count * sizeof *arguments;

    ELAPSE__ASSERT_THAT(count, >, 0);
    ELAPSE__ASSERT_THAT(count, <=, ELAPSE__WIRE_RESP_ARGUMENTS_MAX);
    for (uint32_t i = 0; i < count; i++)
        memory += arguments[i].size;
    fragment = malloc(memory);
    if (fragment == NULL)
        return NULL;
    *fragment = (struct elapse__router_fragment){.memory = memory, .count = count};
    unsigned char *bytes = (unsigned char *)(fragment->arguments + count);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(bytes, arguments[i].bytes, arguments[i].size);
        fragment->arguments[i] = elapse__router_argument(bytes, arguments[i].size);
        bytes += arguments[i].size;
    }
    ELAPSE__ASSERT(bytes == (unsigned char *)fragment + memory);
    return fragment;
}

/* ---- the end ---- */

/* Lets the clients that found the lane full try their commands again. Does nothing while the lane
 * is more than half full. */
static void let_in(struct elapse__router_lane *lane)
{
    if (lane->bytes > lane->router->options.lane_bytes_max / 2)
        return;
    while (!elapse__ring_empty(&lane->blocked)) {
        struct elapse__ring_node *first = lane->blocked.next;
        elapse__ring_leave(first);
        elapse__ring_append(&lane->router->work, first);
    }
}

void elapse__router_lane_end(struct elapse__router_lane *lane,
                             struct elapse__router_fragment *fragment,
                             enum elapse__router_fragment_end end, const unsigned char *value,
                             size_t size)
{
    ELAPSE__ASSERT(!elapse__ring_has_node(&fragment->ring_node));
    ELAPSE__ASSERT_THAT(lane->bytes, >=, fragment->memory);
    ELAPSE__ASSERT(fragment->command == NULL || fragment->command->fragments > 0);
    lane->bytes -= fragment->memory;
    if (fragment->command != NULL)
        lane->router->fragment_ended(fragment->command, lane->partition, end, value, size);
    elapse__router_fragment_free(fragment);
    let_in(lane);
}

bool elapse__router_fragment_is_counted(const struct elapse__router_fragment *fragment)
{
    return fragment->on_loss != ELAPSE__ROUTER_LOSS_EMPTY &&
           fragment->on_loss != ELAPSE__ROUTER_LOSS_DROP;
}

/* Ends a fragment with an error. If `is_unknown` is true, the error says that the fragment may have
 * been done. Otherwise the error says that the fragment has changed nothing. */
static void end_without_answer(struct elapse__router_lane *lane,
                               struct elapse__router_fragment *fragment, bool is_unknown)
{
    struct elapse__router_figures *figures = &lane->router->figures;
    char line[ELAPSE__ROUTER_ERROR_MAX];
    unsigned char error[ELAPSE__ROUTER_ERROR_MAX + ELAPSE__WIRE_RESP_FRAME_MAX];
    struct elapse__wire_resp_writer writer = {.bytes = error, .capacity = sizeof error};

    /* Rule N3 of router.h: the answer is -TRYAGAIN only if the fragment was never wholly sent, or
     * changes nothing. */
    ELAPSE__ASSERT(is_unknown || !fragment->was_sent ||
                   fragment->on_loss == ELAPSE__ROUTER_LOSS_LOOK);
    int size =
        snprintf(line, sizeof line,
                 is_unknown ? "UNKNOWN partition %" PRIu32 " was lost before it answered: the "
                              "command may have been done, or may be done yet"
                            : "TRYAGAIN partition %" PRIu32 " cannot be reached now; nothing "
                              "has changed there",
                 lane->partition);
    ELAPSE__ASSERT_THAT(size, <, (int)sizeof line);
    (void)size; /* used by assertions alone */
    elapse__wire_resp_write_error(&writer, line);
    ELAPSE__ASSERT(!writer.too_small);
    if (elapse__router_fragment_is_counted(fragment))
        *(is_unknown ? &figures->unknown : &figures->try_again) += 1;
    elapse__router_lane_end(lane, fragment,
                            is_unknown ? ELAPSE__ROUTER_FRAGMENT_UNKNOWN
                                       : ELAPSE__ROUTER_FRAGMENT_NOT_DONE,
                            error, writer.size);
}

void elapse__router_fragment_give_up(struct elapse__router_lane *lane,
                                     struct elapse__router_fragment *fragment)
{
    /* The partition may have done a fragment that was wholly sent. But if the fragment changes
     * nothing, it is certain that nothing has changed. */
    end_without_answer(lane, fragment,
                       fragment->was_sent && fragment->on_loss != ELAPSE__ROUTER_LOSS_LOOK);
}

/* ---- the link is lost ---- */

/* Moves the fragments of a ring into the lane, in front of the fragments that wait there. Keeps the
 * order of the fragments. */
static void put_in_front(struct elapse__router_lane *lane, struct elapse__ring_node *ring)
{
    ELAPSE__ASSERT(ring != &lane->queued);
    while (!elapse__ring_empty(ring)) {
        struct elapse__ring_node *last = ring->previous;
        elapse__ring_leave(last);
        elapse__ring_prepend(&lane->queued, last);
    }
}

/* Moves the fragments of a lost link into two rings. The fragments in `back` go back into the lane.
 * The fragments in `ended` end now. */
static void sort_out(struct elapse__router_link *link, struct elapse__ring_node *back,
                     struct elapse__ring_node *ended)
{
    while (!elapse__ring_empty(&link->sent)) {
        struct elapse__router_fragment *fragment = elapse__router_fragment_at(link->sent.next);
        bool was_sent = fragment->end_at <= link->out_sent;
        bool ends = fragment->on_loss == ELAPSE__ROUTER_LOSS_EMPTY ||
                    fragment->on_loss == ELAPSE__ROUTER_LOSS_DROP ||
                    (was_sent && fragment->on_loss == ELAPSE__ROUTER_LOSS_UNKNOWN);
        /* Rule N2 of router.h: a fragment that was wholly sent goes back only if it changes
         * nothing, or is a PUT with a TOKEN. */
        ELAPSE__ASSERT(ends || !was_sent || fragment->on_loss == ELAPSE__ROUTER_LOSS_LOOK ||
                       fragment->on_loss == ELAPSE__ROUTER_LOSS_TOKEN);
        ELAPSE__ASSERT_THAT(fragment->end_at, <=, link->out_end);
        elapse__ring_leave(&fragment->ring_node);
        fragment->was_sent = fragment->was_sent || was_sent;
        elapse__ring_append(ends ? ended : back, &fragment->ring_node);
    }
}

/* Sets when the lane asks for another link. If the partition has another owner now, the lane asks
 * at once. Otherwise the lane asks after a pause. Each further pause is twice as long, up to a
 * limit. */
static void postpone(struct elapse__router_lane *lane)
{
    lane->retry_at_ms = lane->router->now + (lane->has_moved ? 0 : lane->retry_after_ms);
    lane->retry_after_ms *= 2;
    if (lane->has_moved)
        lane->retry_after_ms = ELAPSE__ROUTER_RETRY_FIRST_MS;
    if (lane->retry_after_ms > ELAPSE__ROUTER_RETRY_LAST_MS)
        lane->retry_after_ms = ELAPSE__ROUTER_RETRY_LAST_MS;
    ELAPSE__ASSERT_THAT(lane->retry_after_ms, >=, ELAPSE__ROUTER_RETRY_FIRST_MS);
    lane->has_moved = false;
}

void elapse__router_lane_lose(struct elapse__router_lane *lane, struct elapse__router_link *link)
{
    struct elapse__ring_node back, ended;

    ELAPSE__ASSERT(lane->carrier == link);
    ELAPSE__ASSERT_THAT(link->state, ==, ELAPSE__ROUTER_LINK_LOST);
    lane->carrier = NULL;
    elapse__ring_init(&back);
    elapse__ring_init(&ended);
    sort_out(link, &back, &ended);
    put_in_front(lane, &back);
    put_in_front(lane, &link->returned);
    ELAPSE__ASSERT(elapse__ring_empty(&link->sent) && elapse__ring_empty(&link->returned));
    postpone(lane);
    elapse__router_look_by(lane->router, lane->router->now);
    while (!elapse__ring_empty(&ended)) {
        struct elapse__router_fragment *fragment = elapse__router_fragment_at(ended.next);
        elapse__ring_leave(&fragment->ring_node);
        end_without_answer(lane, fragment, true);
    }
}
