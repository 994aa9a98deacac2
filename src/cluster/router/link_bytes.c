/*
 * Has the functions by which the shell tells what happened to a link. The link was opened; bytes
 * came; bytes were sent, or a core has run a command; the link was closed.
 */
#include <string.h>

#include "../../base/decimal.h"
#include "kinds.h"

/* ---- opening ---- */

static bool has_owner(const struct elapse__router *router, struct elapse__ring_node *wanted)
{
    const struct elapse__router_link *link =
        ELAPSE__CONTAINER_OF(wanted, struct elapse__router_link, ring_node);
    return router->partitions[link->partition].place != ELAPSE__ROUTER_NOWHERE;
}

struct elapse__router_link *elapse__router_link_wanted(struct elapse__router *router, uint64_t now)
{
    struct elapse__ring_node *first = router->wanted.next;

    elapse__router_enter(router, now);
    while (first != &router->wanted && !has_owner(router, first))
        first = first->next;
    if (first == &router->wanted)
        return NULL;
    struct elapse__router_link *link =
        ELAPSE__CONTAINER_OF(first, struct elapse__router_link, ring_node);
    ELAPSE__ASSERT_THAT(link->state, ==, ELAPSE__ROUTER_LINK_WANTED);
    elapse__ring_leave(first);
    elapse__ring_append(&router->links, first);
    elapse__router_link_enter(link, ELAPSE__ROUTER_LINK_OPENING);
    return link;
}

/* ---- the greeting ---- */

/* Appends a command of the greeting to the output. (A link greets the other node before it sends
 * fragments.) */
static bool greet(struct elapse__router_link *link, const struct elapse__wire_resp_argument *words,
                  uint32_t count)
{
    ELAPSE__ASSERT_THAT(link->state, ==, ELAPSE__ROUTER_LINK_GREETING);
    link->greetings++;
    return elapse__router_link_write(link, words, count);
}

/* Writes the greeting: the version of RESP, the password, and the partition of the link. */
static bool write_greeting(struct elapse__router_link *link)
{
    const struct elapse__router_options *options = &link->router->options;
    const void *password = NULL;
    size_t password_size = 0;
    char partition[ELAPSE__DECIMAL_BYTES];

    link->is_old = link->router->partitions[link->partition].is_old;
    if (options->link_password != NULL)
        password = options->link_password(options->context, &password_size);
    const struct elapse__wire_resp_argument hello[] = {
        elapse__router_argument_text("HELLO"), elapse__router_argument_text("3"),
        elapse__router_argument_text("AUTH"), elapse__router_argument_text("default"),
        elapse__router_argument(password, password_size)};
    const struct elapse__wire_resp_argument who[] = {
        elapse__router_argument_text("NODE"),
        elapse__router_argument_text(link->is_pipe ? "PIPE" : "HELLO"),
        elapse__router_argument_text(link->is_pipe || link->is_old ? "1" : "2"),
        elapse__router_argument_text(options->queue),
        elapse__router_argument(partition, elapse__decimal_write(partition, link->partition))};
    return greet(link, hello, password == NULL ? 2 : 5) && greet(link, who, 5);
}

/* Called when the greeting was answered, or if no greeting is needed. From now on the link carries
 * fragments, or the bytes of its client. */
static void begin(struct elapse__router_link *link)
{
    ELAPSE__ASSERT_THAT(link->greetings, ==, 0);
    ELAPSE__ASSERT((link->client == NULL) != (link->lane == NULL));
    elapse__router_link_enter(link, ELAPSE__ROUTER_LINK_OPEN);
    link->router->partitions[link->partition].trouble[0] = '\0';
    if (link->client != NULL) {
        elapse__ring_join_once(&link->router->work, &link->client->work);
        return;
    }
    link->lane->retry_after_ms = ELAPSE__ROUTER_RETRY_FIRST_MS;
    elapse__router_lane_pump(link->lane);
    if (link->state == ELAPSE__ROUTER_LINK_OPEN && !link->lane->slow)
        elapse__router_chain_begin(link->router, link->partition);
}

void elapse__router_link_opened(struct elapse__router_link *link, uint64_t now, bool is_here)
{
    elapse__router_enter(link->router, now);
    if (link->state != ELAPSE__ROUTER_LINK_OPENING)
        return;
    link->is_here = is_here;
    elapse__router_link_enter(link, ELAPSE__ROUTER_LINK_GREETING);
    if (is_here)
        begin(link);
    else if (!write_greeting(link))
        elapse__router_link_lose(link);
    elapse__router_link_arrange(link);
}

/* ---- answers ---- */

static bool begins_with(const unsigned char *value, size_t size, const char *text)
{
    size_t length = strlen(text);
    return size >= length && memcmp(value, text, length) == 0;
}

/* Takes the answer to a command in front of a fragment. If the partition refuses the command, EXEC
 * will do nothing, and the reply says why. Returns false if the command was not sent. */
static bool take_front(struct elapse__router_link *link, struct elapse__router_fragment *fragment,
                       const unsigned char *value, size_t size)
{
    struct elapse__router_command *command = fragment->command;
    size_t at = 0;

    if (link->is_here ? link->to_run == link->sent.next && link->run_first == fragment->awaits
                      : fragment->awaits->end_at > link->out_sent)
        return false;
    fragment->awaits = fragment->awaits->behind;
    struct elapse__wire_resp_item head = elapse__wire_resp_next(value, size, &at);
    if (head.kind == ELAPSE__WIRE_RESP_ERROR && command != NULL && command->error[0] == '\0')
        elapse__router_keep_error(command, &head);
    return true;
}

/* Takes the answer to the oldest fragment that was sent. Returns false if no fragment was sent. */
static bool take_answer(struct elapse__router_link *link, const unsigned char *value, size_t size)
{
    struct elapse__router_lane *lane = link->lane;
    struct elapse__router_fragment *fragment;

    ELAPSE__ASSERT(lane->carrier == link);
    if (elapse__ring_empty(&link->sent))
        return false;
    fragment = elapse__router_fragment_at(link->sent.next);
    if (fragment->awaits != NULL)
        return take_front(link, fragment, value, size);
    if (fragment->end_at > link->out_sent || link->to_run == link->sent.next)
        return false;
    elapse__ring_leave(&fragment->ring_node);
    if (begins_with(value, size, "-NOTOWNER ")) {
        /* The owner has run neither this fragment nor the ones sent after it. The next owner gets
         * all of them, in their order. */
        elapse__ring_append(&link->returned, &fragment->ring_node);
        if (link->state == ELAPSE__ROUTER_LINK_OPEN)
            elapse__router_link_enter(link, ELAPSE__ROUTER_LINK_PARTING);
        return true;
    }
    elapse__router_lane_end(lane, fragment, ELAPSE__ROUTER_FRAGMENT_ANSWERED, value, size);
    return true;
}

static bool is_word(const struct elapse__wire_resp_item *item, const char *word)
{
    return item->kind == ELAPSE__WIRE_RESP_WORD &&
           elapse__router_is_text(item->bytes, item->size, word);
}

/* Takes a push message of the owner. "ready" says that jobs may have become ready. "leaving" says
 * that the owner is about to hand over: it answers the commands that it has, and may get no
 * more. */
static void take_push(struct elapse__router_link *link, const unsigned char *value, size_t size)
{
    size_t at = 0;
    struct elapse__wire_resp_item head = elapse__wire_resp_next(value, size, &at);

    if (head.integer == 0)
        return;
    struct elapse__wire_resp_item word = elapse__wire_resp_next(value, size, &at);
    if (is_word(&word, "ready"))
        elapse__router_ready(link->router, link->router->now, link->partition);
    else if (is_word(&word, "leaving") && link->state == ELAPSE__ROUTER_LINK_OPEN)
        elapse__router_link_enter(link, ELAPSE__ROUTER_LINK_PARTING);
}

/* Takes one value. Returns false if the link has to be closed. */
static bool take_value(struct elapse__router_link *link, const unsigned char *value, size_t size)
{
    if (value[0] == '>') {
        take_push(link, value, size);
        return true;
    }
    if (link->greetings == 0)
        return take_answer(link, value, size);
    /* A node of an earlier version does not know version 2 of the greeting. The next link greets
     * with version 1. */
    if (!link->is_pipe && !link->is_old && begins_with(value, size, "-ERR NODE ")) {
        link->router->partitions[link->partition].is_old = true;
        return false;
    }
    if (value[0] == '-') {
        /* -NOTOWNER is normal while the owner changes. The shell will say who owns the
         * partition. */
        if (!begins_with(value, size, "-NOTOWNER "))
            elapse__router_link_complain(link, (const char *)value + 1);
        return false;
    }
    if (--link->greetings == 0)
        begin(link);
    return true;
}

static bool carries_values(const struct elapse__router_link *link)
{
    return link->state == ELAPSE__ROUTER_LINK_PARTING ||
           link->state == ELAPSE__ROUTER_LINK_GREETING ||
           (link->state == ELAPSE__ROUTER_LINK_OPEN && !link->is_pipe);
}

/* Takes the values that are complete, and stores how many bytes they have. Returns false if the
 * bytes are no answers, or too many. */
static bool take_values(struct elapse__router_link *link, const unsigned char *bytes, size_t size,
                        size_t *used)
{
    const size_t most = link->router->options.reply_bytes_max;

    *used = 0;
    while (carries_values(link) && *used < size) {
        size_t value_size = 0;
        enum elapse__wire_resp_scanned scanned =
            elapse__wire_resp_scan(&link->scanner, bytes + *used, size - *used, &value_size);
        if (scanned == ELAPSE__WIRE_RESP_SCAN_MORE && size - *used >= most)
            elapse__router_link_complain(link,
                                         "its reply is longer than the options of this node allow");
        if (scanned == ELAPSE__WIRE_RESP_SCAN_MORE)
            return size - *used < most;
        if (scanned == ELAPSE__WIRE_RESP_SCAN_BROKEN)
            elapse__router_link_complain(link, "its bytes are no RESP");
        if (scanned == ELAPSE__WIRE_RESP_SCAN_BROKEN ||
            !take_value(link, bytes + *used, value_size))
            return false;
        *used += value_size;
    }
    return true;
}

/* Takes bytes that came. A complete value is read where it lies. Only an incomplete value is
 * copied, and waits for the rest. Returns false if the link has to be closed. */
static bool take_bytes(struct elapse__router_link *link, const unsigned char *bytes, size_t size)
{
    struct elapse__buffer *input = &link->input;
    bool waits = elapse__buffer_size(input) > 0;
    size_t used;

    if (waits && !elapse__buffer_append(input, bytes, size))
        return false;
    if (waits) {
        bytes = elapse__buffer_first(input);
        size = elapse__buffer_size(input);
    }
    if (!take_values(link, bytes, size, &used))
        return false;
    if (link->state == ELAPSE__ROUTER_LINK_LOST)
        return true;
    ELAPSE__ASSERT_THAT(used, <=, size);
    if (!waits)
        return elapse__buffer_append(input, bytes + used, size - used);
    elapse__buffer_take(input, used);
    return true;
}

void elapse__router_link_received(struct elapse__router_link *link, uint64_t now, const void *bytes,
                                  size_t size)
{
    elapse__router_enter(link->router, now);
    if (size == 0 || link->state == ELAPSE__ROUTER_LINK_LOST)
        return;
    if (!take_bytes(link, bytes, size)) {
        elapse__router_link_lose(link);
        return;
    }
    if (link->state == ELAPSE__ROUTER_LINK_PARTING && elapse__ring_empty(&link->sent))
        elapse__router_link_lose(link);
    else if (link->client != NULL)
        elapse__router_pipe_pump(link->client);
    else if (link->state == ELAPSE__ROUTER_LINK_OPEN)
        elapse__router_lane_pump(link->lane);
    elapse__router_link_arrange(link);
}

/* ---- sent, and closed ---- */

/* Called when a part of the output was sent. Takes more output from the lane or the client of the
 * link. */
static void go_on(struct elapse__router_link *link)
{
    ELAPSE__ASSERT_THAT(link->out_sent, <=, link->out_end);
    if (link->state == ELAPSE__ROUTER_LINK_OPEN && link->client != NULL)
        elapse__router_pipe_pump(link->client);
    else if (link->state == ELAPSE__ROUTER_LINK_OPEN && link->lane != NULL)
        elapse__router_lane_pump(link->lane);
    elapse__router_link_arrange(link);
}

void elapse__router_link_sent(struct elapse__router_link *link, uint64_t now, size_t size)
{
    elapse__router_enter(link->router, now);
    ELAPSE__ASSERT(!link->is_here || link->is_pipe || size == 0);
    elapse__buffer_take(&link->out, size);
    link->out_sent += size;
    go_on(link);
}

void elapse__router_link_ran(struct elapse__router_link *link, bool is_done)
{
    ELAPSE__ASSERT(link->to_run != &link->sent);
    ELAPSE__ASSERT(link->is_here);
    ELAPSE__ASSERT_THAT(link->out_sent, <=, elapse__router_fragment_at(link->to_run)->end_at);
    /* The commands in front of an EXEC that the core has not begun are discarded together with the
     * link. */
    if (link->run_first != NULL) {
        if (is_done)
            link->run_first = link->run_first->behind;
        return;
    }
    link->out_sent = elapse__router_fragment_at(link->to_run)->end_at;
    if (is_done)
        elapse__router_link_run_at(link, link->to_run->next);
    if (link->to_run == &link->sent)
        go_on(link);
}

void elapse__router_link_closed(struct elapse__router_link *link, uint64_t now)
{
    ELAPSE__ASSERT(link->state != ELAPSE__ROUTER_LINK_WANTED);
    elapse__router_enter(link->router, now);
    elapse__router_link_lose(link);
    elapse__router_link_free(link);
}

void elapse__router_link_failed(struct elapse__router_link *link, uint64_t now, const char *why)
{
    elapse__router_link_complain(link, why);
    elapse__router_link_closed(link, now);
}
