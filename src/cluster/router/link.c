/*
 * Links: streams of bytes to partitions.
 */
#include <stdlib.h>
#include <string.h>

#include "inner.h"

/* ---- life ---- */

struct elapse__node_link *elapse__node_link_new(struct elapse__node *node, uint32_t partition,
                                                struct elapse__node_lane *lane,
                                                struct elapse__node_client *client)
{
    struct elapse__node_link *link = calloc(1, sizeof *link);

    if (link == NULL)
        return NULL;
    link->node = node;
    link->partition = partition;
    link->lane = lane;
    link->client = client;
    link->is_pipe = client != NULL;
    link->had_room = true;
    link->since_ms = node->now;
    elapse__ring_init(&link->sent);
    elapse__ring_init(&link->returned);
    elapse__ring_append(&node->wanted, &link->link);
    elapse__node_look_by(node, node->now + node->options.answer_ms);
    return link;
}

void elapse__node_link_free(struct elapse__node_link *link)
{
    elapse__node_unlink(&link->link);
    elapse__node_unlink(&link->attention);
    elapse__buffer_free(&link->input);
    elapse__buffer_free(&link->out);
    free(link);
}

void elapse__link_enter(struct elapse__node_link *link, enum elapse__link_state state)
{
    struct elapse__node *node = link->node;

    link->state = state;
    link->since_ms = node->now;
    elapse__node_look_by(node,
                         node->now + (state == ELAPSE__LINK_PARTING ? node->options.parting_ms
                                                                    : node->options.answer_ms));
}

void elapse__link_lose(struct elapse__node_link *link)
{
    struct elapse__node_lane *lane = link->lane;
    struct elapse__node_client *client = link->client;
    bool was_wanted = link->state == ELAPSE__LINK_WANTED;

    if (link->state == ELAPSE__LINK_LOST)
        return;
    link->state = ELAPSE__LINK_LOST;
    link->lane = NULL;
    link->client = NULL;
    link->node->figures.links_lost += !was_wanted;
    elapse__buffer_free(&link->out);
    elapse__buffer_free(&link->input);
    if (client != NULL) {
        client->pipe = NULL;
        client->ending = true;
        elapse__client_arrange(client);
    }
    elapse__node_link_once(&link->node->link_attention, &link->attention);
    if (lane != NULL)
        elapse__lane_lose(lane, link);
}

void elapse__link_give_up(struct elapse__node_link *link)
{
    bool was_wanted = link->state == ELAPSE__LINK_WANTED;

    elapse__link_lose(link);
    if (was_wanted)
        elapse__node_link_free(link);
}

void elapse__link_arrange(struct elapse__node_link *link)
{
    bool has_room = elapse__node_link_room(link) > 0;

    if (elapse__buffer_size(&link->out) > 0 || link->state == ELAPSE__LINK_LOST ||
        has_room != link->had_room)
        elapse__node_link_once(&link->node->link_attention, &link->attention);
    link->had_room = has_room;
}

/* ---- trouble ---- */

void elapse__link_complain(struct elapse__node_link *link, const char *why, size_t size)
{
    char *text = link->node->partitions[link->partition].trouble;
    size_t length = 0;

    while (length < size && length + 1 < ELAPSE__NODE_TROUBLE_MAX &&
           (unsigned char)why[length] >= ' ') {
        text[length] = why[length];
        length++;
    }
    text[length] = '\0';
}

static void complain(struct elapse__node_link *link, const char *words)
{
    elapse__link_complain(link, words, strlen(words));
}

void elapse__node_link_failed(struct elapse__node_link *link, uint64_t now, const char *why)
{
    complain(link, why);
    elapse__node_link_closed(link, now);
}

/* ---- the greeting ---- */

struct word {
    const void *bytes;
    size_t size;
};

static struct word word_of(const char *text)
{
    return (struct word){text, strlen(text)};
}

/* Appends a command to the output. Its answer is one of the greeting. */
static bool greet(struct elapse__node_link *link, const struct word *words, size_t count)
{
    size_t room = ELAPSE__RESP_FRAME_MAX;

    for (size_t i = 0; i < count; i++)
        room += words[i].size + ELAPSE__RESP_FRAME_MAX;
    if (!elapse__buffer_reserve(&link->out, room))
        return false;
    struct elapse__resp_writer writer = {.bytes = link->out.bytes + link->out.end,
                                         .capacity = room};
    elapse__resp_write_array(&writer, count);
    for (size_t i = 0; i < count; i++)
        elapse__resp_write_bytes(&writer, words[i].bytes, words[i].size);
    ELAPSE__ASSERT(!writer.too_small);
    link->out.end += writer.size;
    link->out_end += writer.size;
    link->greetings++;
    return true;
}

static const char *decimal(uint32_t number, char text[12])
{
    size_t at = 11;

    text[at] = '\0';
    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return text + at;
}

/* The version of RESP and the password; and whom it wants to speak to, unless that is this process,
 * where the shell knows it. */
static bool write_greeting(struct elapse__node_link *link)
{
    const struct elapse__node_options *options = &link->node->options;
    bool is_here = link->node->partitions[link->partition].place == ELAPSE__NODE_HERE;
    struct word password = {.bytes = NULL};
    char partition[12];

    if (link->is_pipe && is_here)
        return true;
    if (options->link_password != NULL)
        password.bytes = options->link_password(options->context, &password.size);
    const struct word hello[] = {word_of("HELLO"), word_of("3"), word_of("AUTH"),
                                 word_of("default"), password};
    const struct word node[] = {word_of("NODE"), word_of(link->is_pipe ? "PIPE" : "HELLO"),
                                word_of("1"), word_of(options->queue),
                                word_of(decimal(link->partition, partition))};
    if (!greet(link, hello, password.bytes == NULL ? 2 : 5))
        return false;
    return is_here || greet(link, node, 5);
}

/* Everything was answered: the link carries what it is for. */
static void begin(struct elapse__node_link *link)
{
    elapse__link_enter(link, ELAPSE__LINK_OPEN);
    link->node->partitions[link->partition].trouble[0] = '\0';
    if (link->client != NULL) {
        elapse__node_link_once(&link->node->work, &link->client->work);
        return;
    }
    link->lane->retry_after_ms = ELAPSE__NODE_RETRY_FIRST_MS;
    elapse__lane_pump(link->lane);
    if (link->state == ELAPSE__LINK_OPEN && !link->lane->slow)
        elapse__chain_begin(link->node, link->partition);
}

void elapse__node_link_opened(struct elapse__node_link *link, uint64_t now)
{
    elapse__node_enter(link->node, now);
    if (link->state != ELAPSE__LINK_OPENING)
        return;
    elapse__link_enter(link, ELAPSE__LINK_GREETING);
    if (!write_greeting(link))
        elapse__link_lose(link);
    else if (link->greetings == 0)
        begin(link);
    elapse__link_arrange(link);
}

/* ---- answers ---- */

static bool begins_with(const unsigned char *value, size_t size, const char *text)
{
    size_t length = strlen(text);
    return size >= length && memcmp(value, text, length) == 0;
}

/* The oldest part that was sent has its answer. Returns false if there is none. */
static bool take_answer(struct elapse__node_link *link, const unsigned char *value, size_t size)
{
    struct elapse__node_lane *lane = link->lane;
    struct elapse__node_part *part;

    if (elapse__ring_empty(&link->sent))
        return false;
    part = ELAPSE__NODE_OWNER(link->sent.next, struct elapse__node_part, link);
    if (part->end_at > link->out_sent)
        return false;
    elapse__node_unlink(&part->link);
    if (begins_with(value, size, "-NOTOWNER ")) {
        /* It was not done; so are those behind it. The next owner gets them all, in order. */
        elapse__ring_append(&link->returned, &part->link);
        if (link->state == ELAPSE__LINK_OPEN)
            elapse__link_enter(link, ELAPSE__LINK_PARTING);
        return true;
    }
    elapse__lane_end(lane, part, ELAPSE__PART_ANSWERED, value, size);
    return true;
}

static bool is_word(const struct elapse__resp_item *item, const char *word)
{
    size_t size = strlen(word);

    return item->kind == ELAPSE__RESP_WORD && item->size == size &&
           memcmp(item->bytes, word, size) == 0;
}

/* Something may have become ready there; or the owner is about to hand over: it answers what it
 * has got, and gets no more. */
static void take_push(struct elapse__node_link *link, const unsigned char *value, size_t size)
{
    size_t at = 0;
    struct elapse__resp_item head = elapse__resp_next(value, size, &at);

    if (head.integer == 0)
        return;
    struct elapse__resp_item word = elapse__resp_next(value, size, &at);
    if (is_word(&word, "ready"))
        elapse__node_ready(link->node, link->node->now, link->partition);
    else if (is_word(&word, "leaving") && link->state == ELAPSE__LINK_OPEN)
        elapse__link_enter(link, ELAPSE__LINK_PARTING);
}

/* Takes one value. Returns false if the link is of no more use. */
static bool take_value(struct elapse__node_link *link, const unsigned char *value, size_t size)
{
    if (value[0] == '>') {
        take_push(link, value, size);
        return true;
    }
    if (link->greetings == 0)
        return take_answer(link, value, size);
    if (value[0] == '-') {
        /* Who owns it is asked elsewhere: while it changes, this is no trouble. */
        if (!begins_with(value, size, "-NOTOWNER "))
            elapse__link_complain(link, (const char *)value + 1, size - 1);
        return false;
    }
    if (--link->greetings == 0)
        begin(link);
    return true;
}

static bool carries_values(const struct elapse__node_link *link)
{
    return link->state == ELAPSE__LINK_PARTING || link->state == ELAPSE__LINK_GREETING ||
           (link->state == ELAPSE__LINK_OPEN && !link->is_pipe);
}

/* Takes the values that are whole. Returns false if the bytes are no answers, or too many. */
static bool take_values(struct elapse__node_link *link)
{
    while (carries_values(link) && elapse__buffer_size(&link->input) > 0) {
        const unsigned char *bytes = elapse__buffer_first(&link->input);
        size_t there = elapse__buffer_size(&link->input);
        size_t size = 0;
        enum elapse__resp_scanned scanned = elapse__resp_scan(&link->scanner, bytes, there, &size);
        if (scanned == ELAPSE__RESP_SCAN_MORE && there >= link->node->options.reply_bytes_max)
            complain(link, "its reply is longer than the options of this node allow");
        if (scanned == ELAPSE__RESP_SCAN_MORE)
            return there < link->node->options.reply_bytes_max;
        if (scanned == ELAPSE__RESP_SCAN_BROKEN) {
            complain(link, "its bytes are no RESP");
            return false;
        }
        if (!take_value(link, bytes, size))
            return false;
        if (link->state != ELAPSE__LINK_LOST)
            elapse__buffer_take(&link->input, size);
    }
    return true;
}

void elapse__node_link_received(struct elapse__node_link *link, uint64_t now, const void *bytes,
                                size_t size)
{
    elapse__node_enter(link->node, now);
    if (size == 0 || link->state == ELAPSE__LINK_LOST)
        return;
    if (!elapse__buffer_append(&link->input, bytes, size) || !take_values(link)) {
        elapse__link_lose(link);
        return;
    }
    if (link->state == ELAPSE__LINK_PARTING && elapse__ring_empty(&link->sent))
        elapse__link_lose(link);
    else if (link->client != NULL)
        elapse__pipe_pump(link->client);
    else if (link->state == ELAPSE__LINK_OPEN)
        elapse__lane_pump(link->lane);
    elapse__link_arrange(link);
}

/* ---- what the shell sees ---- */

static bool has_owner(const struct elapse__node *node, struct elapse__link *wanted)
{
    const struct elapse__node_link *link =
        ELAPSE__NODE_OWNER(wanted, struct elapse__node_link, link);
    return node->partitions[link->partition].place != ELAPSE__NODE_NOWHERE;
}

struct elapse__node_link *elapse__node_link_wanted(struct elapse__node *node, uint64_t now)
{
    struct elapse__link *first = node->wanted.next;

    elapse__node_enter(node, now);
    while (first != &node->wanted && !has_owner(node, first))
        first = first->next;
    if (first == &node->wanted)
        return NULL;
    struct elapse__node_link *link = ELAPSE__NODE_OWNER(first, struct elapse__node_link, link);
    elapse__node_unlink(first);
    elapse__ring_append(&node->links, first);
    elapse__link_enter(link, ELAPSE__LINK_OPENING);
    return link;
}

uint32_t elapse__node_link_partition(const struct elapse__node_link *link)
{
    return link->partition;
}

bool elapse__node_link_is_pipe(const struct elapse__node_link *link)
{
    return link->is_pipe;
}

void elapse__node_link_set_shell(struct elapse__node_link *link, void *shell)
{
    link->shell = shell;
}

void *elapse__node_link_shell(const struct elapse__node_link *link)
{
    return link->shell;
}

size_t elapse__node_link_room(const struct elapse__node_link *link)
{
    enum { AT_ONCE = 64 << 10 };

    if (link->state == ELAPSE__LINK_LOST || link->state == ELAPSE__LINK_OPENING ||
        link->state == ELAPSE__LINK_WANTED)
        return 0;
    if (link->is_pipe && link->state == ELAPSE__LINK_OPEN) {
        size_t most = link->node->options.output_bytes_max;
        size_t there = link->client == NULL ? most : elapse__buffer_size(&link->client->out);
        return there < most ? most - there : 0;
    }
    return AT_ONCE;
}

size_t elapse__node_link_output(const struct elapse__node_link *link, const uint8_t **bytes)
{
    *bytes = elapse__buffer_first(&link->out);
    return elapse__buffer_size(&link->out);
}

void elapse__node_link_sent(struct elapse__node_link *link, uint64_t now, size_t size)
{
    elapse__node_enter(link->node, now);
    elapse__buffer_take(&link->out, size);
    link->out_sent += size;
    ELAPSE__ASSERT_THAT(link->out_sent, <=, link->out_end);
    if (link->state == ELAPSE__LINK_OPEN && link->client != NULL)
        elapse__pipe_pump(link->client);
    else if (link->state == ELAPSE__LINK_OPEN && link->lane != NULL)
        elapse__lane_pump(link->lane);
    elapse__link_arrange(link);
}

bool elapse__node_link_wants_end(const struct elapse__node_link *link)
{
    return link->state == ELAPSE__LINK_LOST;
}

void elapse__node_link_closed(struct elapse__node_link *link, uint64_t now)
{
    ELAPSE__ASSERT(link->state != ELAPSE__LINK_WANTED);
    elapse__node_enter(link->node, now);
    elapse__link_lose(link);
    elapse__node_link_free(link);
}
