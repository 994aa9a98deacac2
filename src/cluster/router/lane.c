/*
 * Lanes: fragments wait for a link, are sent, and are answered, or lost with their link.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/decimal.h"
#include "inner.h"

/* ---- ends without an answer ---- */

/* Writes "-<code> partition <n> <text>\r\n". Returns its size. */
static size_t write_error(unsigned char *bytes, size_t room, const char *code, uint32_t partition,
                          const char *text)
{
    char line[ELAPSE__ROUTER_ERROR_MAX] = "";
    char digits[ELAPSE__DECIMAL_BYTES + 1];
    struct elapse__wire_resp_writer writer = {.bytes = bytes, .capacity = room};

    digits[elapse__decimal_write(digits, partition)] = '\0';
    strncat(line, code, sizeof line - strlen(line) - 1);
    strncat(line, " partition ", sizeof line - strlen(line) - 1);
    strncat(line, digits, sizeof line - strlen(line) - 1);
    strncat(line, text, sizeof line - strlen(line) - 1);
    elapse__wire_resp_write_error(&writer, line);
    ELAPSE__ASSERT(!writer.too_small);
    return writer.size;
}

/* Whether a client sees how the fragment ended. */
static bool is_counted(const struct elapse__router_fragment *fragment)
{
    return fragment->on_loss != ELAPSE__ROUTER_LOSS_EMPTY &&
           fragment->on_loss != ELAPSE__ROUTER_LOSS_DROP;
}

static void end_unknown(struct elapse__router_lane *lane, struct elapse__router_fragment *fragment)
{
    unsigned char error[ELAPSE__ROUTER_ERROR_MAX + ELAPSE__WIRE_RESP_FRAME_MAX];
    size_t size = write_error(error, sizeof error, "UNKNOWN", lane->partition,
                              " was lost before it answered: the command may have been done, or "
                              "may be done yet");

    lane->router->figures.unknown += is_counted(fragment);
    elapse__router_lane_end(lane, fragment, ELAPSE__ROUTER_FRAGMENT_UNKNOWN, error, size);
}

static void end_not_done(struct elapse__router_lane *lane, struct elapse__router_fragment *fragment)
{
    unsigned char error[ELAPSE__ROUTER_ERROR_MAX + ELAPSE__WIRE_RESP_FRAME_MAX];
    size_t size = write_error(error, sizeof error, "TRYAGAIN", lane->partition,
                              " cannot be reached now; nothing has changed there");

    lane->router->figures.try_again += is_counted(fragment);
    elapse__router_lane_end(lane, fragment, ELAPSE__ROUTER_FRAGMENT_NOT_DONE, error, size);
}

/* A fragment that was not answered in time, or cannot wait. */
static void give_up(struct elapse__router_lane *lane, struct elapse__router_fragment *fragment)
{
    if (fragment->was_sent && fragment->on_loss != ELAPSE__ROUTER_LOSS_LOOK)
        end_unknown(lane, fragment);
    else
        end_not_done(lane, fragment);
}

/* ---- fragments ---- */

bool elapse__router_lane_is_full(const struct elapse__router_lane *lane)
{
    return lane->bytes >= lane->router->options.lane_bytes_max;
}

bool elapse__router_lane_is_open(const struct elapse__router_lane *lane)
{
    return lane->carrier != NULL && lane->carrier->state == ELAPSE__ROUTER_LINK_OPEN;
}

static size_t memory_of(const struct elapse__router_fragment *fragment)
{
    return sizeof *fragment + fragment->size;
}

struct elapse__router_fragment *elapse__router_fragment_new(struct elapse__router_lane *lane,
                                                            struct elapse__router_command *command,
                                                            enum elapse__router_on_loss on_loss,
                                                            size_t size)
{
    static const char no_memory[] = "-OOM there is no memory\r\n";
    struct elapse__router_fragment *fragment = malloc(sizeof *fragment + size);

    if (fragment == NULL) {
        if (command != NULL)
            elapse__router_command_answer(command, lane->partition, NULL,
                                          ELAPSE__ROUTER_FRAGMENT_NOT_DONE,
                                          (const unsigned char *)no_memory, sizeof no_memory - 1);
        return NULL;
    }
    *fragment = (struct elapse__router_fragment){
        .command = command, .on_loss = on_loss, .since_ms = lane->router->now, .size = size};
    return fragment;
}

/* A lane without a link wants one, if there is somebody to link to. */
static void want_link(struct elapse__router_lane *lane)
{
    struct elapse__router *router = lane->router;
    bool is_needed = !lane->slow || !elapse__ring_empty(&lane->queued);

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

void elapse__router_lane_push(struct elapse__router_lane *lane,
                              struct elapse__router_fragment *fragment)
{
    elapse__ring_append(&lane->queued, &fragment->ring_node);
    lane->bytes += memory_of(fragment);
    if (elapse__router_lane_is_open(lane)) {
        elapse__router_lane_pump(lane);
    } else {
        elapse__router_look_by(lane->router, fragment->since_ms + lane->router->options.retry_ms);
        want_link(lane);
    }
}

void elapse__router_lane_send(struct elapse__router_lane *lane,
                              struct elapse__router_command *command,
                              enum elapse__router_on_loss on_loss, const void *bytes, size_t size)
{
    if (command != NULL)
        command->fragments++;
    struct elapse__router_fragment *fragment =
        elapse__router_fragment_new(lane, command, on_loss, size);
    if (fragment == NULL)
        return;
    memcpy(fragment->bytes, bytes, size);
    elapse__router_lane_push(lane, fragment);
}

static uint32_t patience_ms(const struct elapse__router_lane *lane)
{
    const struct elapse__router_options *options = &lane->router->options;
    return lane->slow ? options->sweep_ms : options->answer_ms;
}

void elapse__router_lane_pump(struct elapse__router_lane *lane)
{
    struct elapse__router_link *link = lane->carrier;

    ELAPSE__ASSERT(elapse__router_lane_is_open(lane));
    while (!elapse__ring_empty(&lane->queued) &&
           elapse__buffer_size(&link->out) < ELAPSE__ROUTER_LINK_OUT) {
        struct elapse__router_fragment *fragment =
            ELAPSE__CONTAINER_OF(lane->queued.next, struct elapse__router_fragment, ring_node);
        if (!elapse__buffer_append(&link->out, fragment->bytes, fragment->size)) {
            elapse__router_link_lose(link);
            return;
        }
        elapse__ring_leave(&fragment->ring_node);
        elapse__ring_append(&link->sent, &fragment->ring_node);
        link->out_end += fragment->size;
        fragment->end_at = link->out_end;
        fragment->sent_ms = lane->router->now;
        lane->router->figures.fragments++;
        lane->router->figures.again += fragment->was_sent;
        elapse__router_look_by(lane->router, fragment->sent_ms + patience_ms(lane));
    }
    elapse__router_link_arrange(link);
}

/* Clients that found the lane full look at it again. */
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
    ELAPSE__ASSERT_THAT(lane->bytes, >=, memory_of(fragment));
    lane->bytes -= memory_of(fragment);
    if (fragment->command != NULL)
        elapse__router_command_answer(fragment->command, lane->partition, fragment, end, value,
                                      size);
    free(fragment);
    let_in(lane);
}

/* ---- loss ---- */

/* Puts the fragments of a ring in front of those that wait, in their order. */
static void put_in_front(struct elapse__router_lane *lane, struct elapse__ring_node *ring)
{
    while (!elapse__ring_empty(ring)) {
        struct elapse__ring_node *last = ring->previous;
        elapse__ring_leave(last);
        elapse__ring_prepend(&lane->queued, last);
    }
}

/* Fragments a link's fragments into those that go back into the lane, and those that end now. */
static void sort_out(struct elapse__router_link *link, struct elapse__ring_node *back,
                     struct elapse__ring_node *ended)
{
    while (!elapse__ring_empty(&link->sent)) {
        struct elapse__router_fragment *fragment =
            ELAPSE__CONTAINER_OF(link->sent.next, struct elapse__router_fragment, ring_node);
        bool was_sent = fragment->end_at <= link->out_sent;
        bool ends = fragment->on_loss == ELAPSE__ROUTER_LOSS_EMPTY ||
                    fragment->on_loss == ELAPSE__ROUTER_LOSS_DROP ||
                    (was_sent && fragment->on_loss == ELAPSE__ROUTER_LOSS_UNKNOWN);
        elapse__ring_leave(&fragment->ring_node);
        fragment->was_sent = fragment->was_sent || was_sent;
        elapse__ring_append(ends ? ended : back, &fragment->ring_node);
    }
}

/* Another link is wanted: at once if there is another owner, otherwise later and later. */
static void postpone(struct elapse__router_lane *lane)
{
    lane->retry_at_ms = lane->router->now + (lane->has_moved ? 0 : lane->retry_after_ms);
    lane->retry_after_ms *= 2;
    if (lane->has_moved)
        lane->retry_after_ms = ELAPSE__ROUTER_RETRY_FIRST_MS;
    if (lane->retry_after_ms > ELAPSE__ROUTER_RETRY_LAST_MS)
        lane->retry_after_ms = ELAPSE__ROUTER_RETRY_LAST_MS;
    lane->has_moved = false;
}

void elapse__router_lane_lose(struct elapse__router_lane *lane, struct elapse__router_link *link)
{
    struct elapse__ring_node back, ended;

    ELAPSE__ASSERT(lane->carrier == link);
    lane->carrier = NULL;
    elapse__ring_init(&back);
    elapse__ring_init(&ended);
    sort_out(link, &back, &ended);
    put_in_front(lane, &back);
    put_in_front(lane, &link->returned);
    postpone(lane);
    elapse__router_look_by(lane->router, lane->router->now);
    while (!elapse__ring_empty(&ended)) {
        struct elapse__router_fragment *fragment =
            ELAPSE__CONTAINER_OF(ended.next, struct elapse__router_fragment, ring_node);
        elapse__ring_leave(&fragment->ring_node);
        end_unknown(lane, fragment);
    }
}

void elapse__router_lane_moved(struct elapse__router_lane *lane)
{
    struct elapse__router_link *link = lane->carrier;

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

/* Fragments that have waited too long for a link end. */
static void expire(struct elapse__router_lane *lane)
{
    struct elapse__router *router = lane->router;

    while (!elapse__ring_empty(&lane->queued)) {
        struct elapse__router_fragment *fragment =
            ELAPSE__CONTAINER_OF(lane->queued.next, struct elapse__router_fragment, ring_node);
        if (is_counted(fragment) && fragment->since_ms + router->options.retry_ms > router->now) {
            elapse__router_look_by(router, fragment->since_ms + router->options.retry_ms);
            break;
        }
        elapse__ring_leave(&fragment->ring_node);
        give_up(lane, fragment);
    }
}

/* Returns when a link is lost if nothing happens; UINT64_MAX: never. */
static uint64_t deadline_of(const struct elapse__router_link *link)
{
    const struct elapse__router_options *options = &link->router->options;

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
    return ELAPSE__CONTAINER_OF(link->sent.next, struct elapse__router_fragment, ring_node)
               ->sent_ms +
           patience_ms(link->lane);
}

/* An owner that fragments has ended: that is no trouble. */
static void give_up_silent(struct elapse__router_link *link)
{
    static const char why[] = "it does not answer";

    if (link->state != ELAPSE__ROUTER_LINK_PARTING)
        elapse__router_link_complain(link, why, sizeof why - 1);
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
