/*
 * Runs CLIENT LIST. The reply has a line for each connection. A line shows the leases that the name
 * of the connection holds. A lease belongs to a name and not to a connection, because it outlives
 * the connection. So if several connections have one name, the line of the first shows all leases
 * of the name.
 */
#include <stdlib.h>
#include <string.h>

#include "../../queue/find.h"
#include "commands.h"
#include "reply.h"

enum {
    LINE_BYTES = 4096, /* room for a name, an address, and the longest tubes with escapes */
    COST = 125,        /* a slice takes as long as this many short commands */
};

struct line {
    char text[LINE_BYTES];
    size_t size;
};

static void add(struct line *line, const char *text)
{
    size_t size = strlen(text);

    ELAPSE__ASSERT_THAT(line->size + size, <, (size_t)LINE_BYTES);
    memcpy(line->text + line->size, text, size);
    line->size += size;
}

static void add_number(struct line *line, const char *name, uint64_t number)
{
    add(line, name);
    ELAPSE__ASSERT_THAT(line->size + ELAPSE__DECIMAL_BYTES, <, (size_t)LINE_BYTES);
    line->size += elapse__decimal_write(line->text + line->size, number);
}

/* Adds a name to the line. A byte is written as %XX if it would end the name, or if it is no
 * visible character of ASCII. */
static void add_name(struct line *line, struct elapse__queue_text name)
{
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *bytes = name.bytes;

    ELAPSE__ASSERT_THAT(line->size + (size_t)3 * name.size, <, (size_t)LINE_BYTES);
    for (uint32_t i = 0; i < name.size; i++) {
        if (bytes[i] > ' ' && bytes[i] <= '~' && strchr("%,=", bytes[i]) == NULL) {
            line->text[line->size++] = (char)bytes[i];
            continue;
        }
        line->text[line->size++] = '%';
        line->text[line->size++] = digits[bytes[i] >> 4];
        line->text[line->size++] = digits[bytes[i] & 15];
    }
}

struct listing {
    const struct elapse__resp_call *call;
    const struct elapse__queue *queue;
    struct elapse__queue_holding *holdings;
    uint32_t count;
};

/* Writes a line. The leases of a name are taken out of the list when they are written, so they are
 * written once. */
static void reply_line(struct listing *listing, uint64_t number, const char *address,
                       struct elapse__queue_text name, struct elapse__queue_holding *holding)
{
    ELAPSE__ASSERT_THAT(holding->tube_count, <=, (uint32_t)ELAPSE__QUEUE_HOLDING_TUBES);
    struct line line = {.size = 0};
    struct elapse__queue_text text = {address, (uint32_t)strlen(address)};
    /* A client that has given no name has its address as its name. */
    if (name.size > 0 && name.size == text.size && memcmp(name.bytes, address, text.size) == 0)
        name.size = 0;
    add_number(&line, "id=", number);
    add(&line, " addr=");
    add_name(&line, text);
    add(&line, " name=");
    add_name(&line, name);
    add_number(&line, " leases=", holding->leases);
    add_number(&line, " oldest=", holding->oldest_ms);
    add(&line, " tubes=");
    for (uint32_t i = 0; i < holding->tube_count; i++) {
        if (i > 0)
            add(&line, ",");
        add_name(&line, elapse__queue_holding_tube(listing->queue, holding->tubes[i]));
    }
    add(&line, "\n");
    *holding = (struct elapse__queue_holding){.leases = 0};
    elapse__reply_bytes(listing->call->connection, line.text, line.size);
}

static void reply_client(void *argument, const struct elapse__client_facts *facts)
{
    struct listing *listing = argument;
    struct elapse__queue_holding nothing = {.leases = 0};
    bool holds = facts->name != 0 && facts->name < listing->count;

    reply_line(listing, facts->number, facts->address,
               elapse__queue_name_at(listing->queue, facts->name),
               holds ? &listing->holdings[facts->name] : &nothing);
}

/* Writes the lines of names that hold leases and have no connection. Such a client works over HTTP,
 * or its connection has ended. */
static void reply_others(struct listing *listing)
{
    for (uint32_t name = 0; name < listing->count; name++)
        if (listing->holdings[name].leases > 0)
            reply_line(listing, 0, "", elapse__queue_name_at(listing->queue, name),
                       &listing->holdings[name]);
}

/* Puts the head of the string before the lines, which are its bytes. */
static void end_text(const struct elapse__resp_call *call)
{
    unsigned char head[ELAPSE__WIRE_RESP_FRAME_MAX];
    size_t size = elapse__reply_size(call->connection);
    size_t digits = 1;

    head[0] = '$';
    digits += elapse__decimal_write((char *)head + 1, size);
    head[digits++] = '\r';
    head[digits++] = '\n';
    char *room = elapse__reply_begin(call->connection, digits + 2);
    if (room == NULL)
        return; /* there is no memory, so the connection ends */
    room[0] = room[1] = 0;
    elapse__reply_end(call->connection, digits + 2);
    ELAPSE__ASSERT_THAT(digits + size + 2, ==, elapse__reply_size(call->connection));
    char *reply = elapse__reply_at(call->connection);
    memmove(reply + digits, reply, size);
    memcpy(reply, head, digits);
    reply[digits + size] = '\r';
    reply[digits + size + 1] = '\n';
}

static bool may_list(const struct elapse__resp_call *call)
{
    struct elapse__refusal refusal = {.right = ELAPSE__RIGHT_ADMIN, .of_all = true};
    char text[ELAPSE__REFUSAL_BYTES];

    if (call->user == NULL || elapse__user_may_all(call->user, ELAPSE__RIGHT_ADMIN))
        return true;
    elapse__refusal_write(text, call->user, &refusal);
    (void)elapse__resp_reply_error(call->connection, text, NULL);
    return false;
}

enum elapse__session_step elapse__resp_client_list(const struct elapse__resp_call *call)
{
    struct elapse__resp_session *session = call->session;
    struct elapse__queue *queue = elapse__session_queue(call->connection);

    if (!may_list(call))
        return ELAPSE__STEP_RAN;
    if (session->holdings == NULL) {
        session->holding_count = elapse__queue_names(queue);
        session->holdings = calloc(session->holding_count, sizeof *session->holdings);
    }
    if (session->holdings == NULL)
        return elapse__resp_reply_error(call->connection, "OOM there is no memory", NULL);
    ELAPSE__ASSERT_THAT(session->holding_count, >, 0);
    elapse__session_spend(call->connection, COST);
    if (!elapse__queue_find_holders(queue, elapse__session_now(call->connection), &session->cursor,
                                    ELAPSE__LIST_PLACES, session->holdings, session->holding_count))
        return ELAPSE__STEP_MORE;
    struct listing listing = {call, queue, session->holdings, session->holding_count};
    elapse__session_each_client(call->connection, reply_client, &listing);
    reply_others(&listing);
    end_text(call);
    elapse__session_count(call->connection, ELAPSE__VERB_OTHER);
    return ELAPSE__STEP_RAN;
}
