/*
 * Lanes: parts wait for a link, are sent, and are answered, or lost with their link.
 */
#include <stdlib.h>
#include <string.h>

#include "inner.h"

/* ---- ends without an answer ---- */

/* Writes "-<code> partition <n> <text>\r\n". Returns its size. */
static size_t write_error(unsigned char *bytes, size_t room, const char *code, uint32_t partition,
                          const char *text)
{
    char line[ELAPSE__NODE_ERROR_MAX] = "";
    char digits[12];
    size_t at = sizeof digits;
    struct elapse__resp_writer writer = {.bytes = bytes, .capacity = room};

    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + partition % 10);
        partition /= 10;
    } while (partition > 0);
    strncat(line, code, sizeof line - strlen(line) - 1);
    strncat(line, " partition ", sizeof line - strlen(line) - 1);
    strncat(line, digits + at, sizeof line - strlen(line) - 1);
    strncat(line, text, sizeof line - strlen(line) - 1);
    elapse__resp_write_error(&writer, line);
    ELAPSE__ASSERT(!writer.too_small);
    return writer.size;
}

/* Whether a client sees how the part ended. */
static bool is_counted(const struct elapse__node_part *part)
{
    return part->on_loss != ELAPSE__LOSS_EMPTY && part->on_loss != ELAPSE__LOSS_DROP;
}

static void end_unknown(struct elapse__node_lane *lane, struct elapse__node_part *part)
{
    unsigned char error[ELAPSE__NODE_ERROR_MAX + ELAPSE__RESP_FRAME_MAX];
    size_t size = write_error(error, sizeof error, "UNKNOWN", lane->partition,
                              " was lost before it answered: the command may have been done, or "
                              "may be done yet");

    lane->node->figures.unknown += is_counted(part);
    elapse__lane_end(lane, part, ELAPSE__PART_UNKNOWN, error, size);
}

static void end_not_done(struct elapse__node_lane *lane, struct elapse__node_part *part)
{
    unsigned char error[ELAPSE__NODE_ERROR_MAX + ELAPSE__RESP_FRAME_MAX];
    size_t size = write_error(error, sizeof error, "TRYAGAIN", lane->partition,
                              " cannot be reached now; nothing has changed there");

    lane->node->figures.try_again += is_counted(part);
    elapse__lane_end(lane, part, ELAPSE__PART_NOT_DONE, error, size);
}

/* A part that was not answered in time, or cannot wait. */
static void give_up(struct elapse__node_lane *lane, struct elapse__node_part *part)
{
    if (part->was_sent && part->on_loss != ELAPSE__LOSS_LOOK)
        end_unknown(lane, part);
    else
        end_not_done(lane, part);
}

/* ---- parts ---- */

bool elapse__lane_is_full(const struct elapse__node_lane *lane)
{
    return lane->bytes >= lane->node->options.lane_bytes_max;
}

bool elapse__lane_is_open(const struct elapse__node_lane *lane)
{
    return lane->carrier != NULL && lane->carrier->state == ELAPSE__LINK_OPEN;
}

static size_t memory_of(const struct elapse__node_part *part)
{
    return sizeof *part + part->size;
}

struct elapse__node_part *elapse__part_new(struct elapse__node_lane *lane,
                                           struct elapse__node_command *command,
                                           enum elapse__on_loss on_loss, size_t size)
{
    static const char no_memory[] = "-OOM there is no memory\r\n";
    struct elapse__node_part *part = malloc(sizeof *part + size);

    if (part == NULL) {
        if (command != NULL)
            elapse__command_answer(command, lane->partition, NULL, ELAPSE__PART_NOT_DONE,
                                   (const unsigned char *)no_memory, sizeof no_memory - 1);
        return NULL;
    }
    *part = (struct elapse__node_part){
        .command = command, .on_loss = on_loss, .since_ms = lane->node->now, .size = size};
    return part;
}

/* A lane without a link wants one, if there is somebody to link to. */
static void want_link(struct elapse__node_lane *lane)
{
    struct elapse__node *node = lane->node;
    bool is_needed = !lane->slow || !elapse__ring_empty(&lane->queued);

    if (lane->carrier != NULL || !is_needed ||
        node->partitions[lane->partition].place == ELAPSE__NODE_NOWHERE)
        return;
    if (lane->retry_at_ms > node->now) {
        elapse__node_look_by(node, lane->retry_at_ms);
        return;
    }
    lane->carrier = elapse__node_link_new(node, lane->partition, lane, NULL);
    if (lane->carrier == NULL) {
        lane->retry_at_ms = node->now + ELAPSE__NODE_RETRY_LAST_MS;
        elapse__node_look_by(node, lane->retry_at_ms);
    }
}

void elapse__lane_push(struct elapse__node_lane *lane, struct elapse__node_part *part)
{
    elapse__ring_append(&lane->queued, &part->link);
    lane->bytes += memory_of(part);
    if (elapse__lane_is_open(lane)) {
        elapse__lane_pump(lane);
    } else {
        elapse__node_look_by(lane->node, part->since_ms + lane->node->options.retry_ms);
        want_link(lane);
    }
}

void elapse__lane_send(struct elapse__node_lane *lane, struct elapse__node_command *command,
                       enum elapse__on_loss on_loss, const void *bytes, size_t size)
{
    if (command != NULL)
        command->parts++;
    struct elapse__node_part *part = elapse__part_new(lane, command, on_loss, size);
    if (part == NULL)
        return;
    memcpy(part->bytes, bytes, size);
    elapse__lane_push(lane, part);
}

static uint32_t patience_ms(const struct elapse__node_lane *lane)
{
    const struct elapse__node_options *options = &lane->node->options;
    return lane->slow ? options->sweep_ms : options->answer_ms;
}

void elapse__lane_pump(struct elapse__node_lane *lane)
{
    struct elapse__node_link *link = lane->carrier;

    ELAPSE__ASSERT(elapse__lane_is_open(lane));
    while (!elapse__ring_empty(&lane->queued) &&
           elapse__buffer_size(&link->out) < ELAPSE__NODE_LINK_OUT) {
        struct elapse__node_part *part =
            ELAPSE__NODE_OWNER(lane->queued.next, struct elapse__node_part, link);
        if (!elapse__buffer_append(&link->out, part->bytes, part->size)) {
            elapse__link_lose(link);
            return;
        }
        elapse__node_unlink(&part->link);
        elapse__ring_append(&link->sent, &part->link);
        link->out_end += part->size;
        part->end_at = link->out_end;
        part->sent_ms = lane->node->now;
        lane->node->figures.parts++;
        lane->node->figures.again += part->was_sent;
        elapse__node_look_by(lane->node, part->sent_ms + patience_ms(lane));
    }
    elapse__link_arrange(link);
}

/* Clients that found the lane full look at it again. */
static void let_in(struct elapse__node_lane *lane)
{
    if (lane->bytes > lane->node->options.lane_bytes_max / 2)
        return;
    while (!elapse__ring_empty(&lane->blocked)) {
        struct elapse__link *first = lane->blocked.next;
        elapse__node_unlink(first);
        elapse__ring_append(&lane->node->work, first);
    }
}

void elapse__lane_end(struct elapse__node_lane *lane, struct elapse__node_part *part,
                      enum elapse__part_end end, const unsigned char *value, size_t size)
{
    ELAPSE__ASSERT(!elapse__node_linked(&part->link));
    ELAPSE__ASSERT_THAT(lane->bytes, >=, memory_of(part));
    lane->bytes -= memory_of(part);
    if (part->command != NULL)
        elapse__command_answer(part->command, lane->partition, part, end, value, size);
    free(part);
    let_in(lane);
}

/* ---- loss ---- */

/* Puts the parts of a ring in front of those that wait, in their order. */
static void put_in_front(struct elapse__node_lane *lane, struct elapse__link *ring)
{
    while (!elapse__ring_empty(ring)) {
        struct elapse__link *last = ring->previous;
        elapse__node_unlink(last);
        elapse__ring_prepend(&lane->queued, last);
    }
}

/* Parts a link's parts into those that go back into the lane, and those that end now. */
static void sort_out(struct elapse__node_link *link, struct elapse__link *back,
                     struct elapse__link *ended)
{
    while (!elapse__ring_empty(&link->sent)) {
        struct elapse__node_part *part =
            ELAPSE__NODE_OWNER(link->sent.next, struct elapse__node_part, link);
        bool was_sent = part->end_at <= link->out_sent;
        bool ends = part->on_loss == ELAPSE__LOSS_EMPTY || part->on_loss == ELAPSE__LOSS_DROP ||
                    (was_sent && part->on_loss == ELAPSE__LOSS_UNKNOWN);
        elapse__node_unlink(&part->link);
        part->was_sent = part->was_sent || was_sent;
        elapse__ring_append(ends ? ended : back, &part->link);
    }
}

/* Another link is wanted: at once if there is another owner, otherwise later and later. */
static void postpone(struct elapse__node_lane *lane)
{
    lane->retry_at_ms = lane->node->now + (lane->has_moved ? 0 : lane->retry_after_ms);
    lane->retry_after_ms *= 2;
    if (lane->has_moved)
        lane->retry_after_ms = ELAPSE__NODE_RETRY_FIRST_MS;
    if (lane->retry_after_ms > ELAPSE__NODE_RETRY_LAST_MS)
        lane->retry_after_ms = ELAPSE__NODE_RETRY_LAST_MS;
    lane->has_moved = false;
}

void elapse__lane_lose(struct elapse__node_lane *lane, struct elapse__node_link *link)
{
    struct elapse__link back, ended;

    ELAPSE__ASSERT(lane->carrier == link);
    lane->carrier = NULL;
    elapse__ring_init(&back);
    elapse__ring_init(&ended);
    sort_out(link, &back, &ended);
    put_in_front(lane, &back);
    put_in_front(lane, &link->returned);
    postpone(lane);
    elapse__node_look_by(lane->node, lane->node->now);
    while (!elapse__ring_empty(&ended)) {
        struct elapse__node_part *part =
            ELAPSE__NODE_OWNER(ended.next, struct elapse__node_part, link);
        elapse__node_unlink(&part->link);
        end_unknown(lane, part);
    }
}

void elapse__lane_moved(struct elapse__node_lane *lane)
{
    struct elapse__node_link *link = lane->carrier;

    lane->has_moved = true;
    if (link != NULL && link->state == ELAPSE__LINK_OPEN && !elapse__ring_empty(&link->sent))
        elapse__link_enter(link, ELAPSE__LINK_PARTING);
    else if (link != NULL && link->state != ELAPSE__LINK_WANTED &&
             link->state != ELAPSE__LINK_PARTING)
        elapse__link_lose(link);
    if (lane->carrier == NULL) {
        lane->has_moved = false;
        lane->retry_at_ms = lane->node->now;
        lane->retry_after_ms = ELAPSE__NODE_RETRY_FIRST_MS;
    }
    elapse__node_look_by(lane->node, lane->node->now);
}

/* ---- time ---- */

/* Parts that have waited too long for a link end. */
static void expire(struct elapse__node_lane *lane)
{
    struct elapse__node *node = lane->node;

    while (!elapse__ring_empty(&lane->queued)) {
        struct elapse__node_part *part =
            ELAPSE__NODE_OWNER(lane->queued.next, struct elapse__node_part, link);
        if (is_counted(part) && part->since_ms + node->options.retry_ms > node->now) {
            elapse__node_look_by(node, part->since_ms + node->options.retry_ms);
            break;
        }
        elapse__node_unlink(&part->link);
        give_up(lane, part);
    }
}

/* Returns when a link is lost if nothing happens; UINT64_MAX: never. */
static uint64_t deadline_of(const struct elapse__node_link *link)
{
    const struct elapse__node_options *options = &link->node->options;

    switch (link->state) {
    case ELAPSE__LINK_WANTED:
    case ELAPSE__LINK_OPENING:
    case ELAPSE__LINK_GREETING:
        return link->since_ms + options->answer_ms;
    case ELAPSE__LINK_PARTING:
        return link->since_ms + options->parting_ms;
    case ELAPSE__LINK_OPEN:
    case ELAPSE__LINK_LOST:
        break;
    }
    if (elapse__ring_empty(&link->sent))
        return UINT64_MAX;
    return ELAPSE__NODE_OWNER(link->sent.next, struct elapse__node_part, link)->sent_ms +
           patience_ms(link->lane);
}

/* An owner that parts has ended: that is no trouble. */
static void give_up_silent(struct elapse__node_link *link)
{
    static const char why[] = "it does not answer";

    if (link->state != ELAPSE__LINK_PARTING)
        elapse__link_complain(link, why, sizeof why - 1);
    elapse__link_lose(link);
}

void elapse__lane_look(struct elapse__node_lane *lane)
{
    if (lane->carrier != NULL) {
        uint64_t deadline = deadline_of(lane->carrier);
        if (deadline <= lane->node->now && lane->carrier->state != ELAPSE__LINK_WANTED)
            give_up_silent(lane->carrier);
        else if (deadline > lane->node->now)
            elapse__node_look_by(lane->node, deadline);
    }
    if (!elapse__lane_is_open(lane))
        expire(lane);
    want_link(lane);
}
