/*
 * Runs TUBES and GROUPS.
 */
#include <string.h>

#include "../../queue/tubes.h"
#include "commands.h"
#include "options.h"
#include "paging.h"
#include "reply.h"

enum {
    PLACES = 1 << 16,         /* places of tubes that one command looks at */
    COUNTED_PLACES = 1 << 13, /* the same with COUNTS, TROUBLE or HELD */
    TUBES_COST = 125,         /* a TUBES takes as long as this many short commands */
};

/* Writes the name and the value of one field of the struct `from`. */
#define WRITE(field, name, kind)                \
    elapse__wire_resp_write_text(writer, name); \
    ELAPSE__RESP_WRITE_##kind(writer, from->field);

/* ---- TUBES ---- */

/* What a TUBES asks for: which tubes, and whether their counts. */
struct wanted {
    struct elapse__queue_text prefix;
    bool trouble;
    bool counts;
};

static void reply_counts(const struct elapse__resp_call *call, struct elapse__queue_text name,
                         const struct elapse__queue_statistics *from)
{
    enum { PAIRS = 1 + ELAPSE__TUBE_COUNTS(ELAPSE__RESP_COUNT_ROW) };
    struct elapse__wire_resp_writer head = elapse__resp_begin(
        call->connection, call->session->resp3,
        name.size + from->held_by.size + (size_t)(3 * PAIRS + 2) * ELAPSE__WIRE_RESP_FRAME_MAX);
    struct elapse__wire_resp_writer *writer = &head;

    ELAPSE__ASSERT_THAT(name.size, >, 0);
    elapse__wire_resp_write_map(writer, PAIRS);
    elapse__wire_resp_write_text(writer, "tube");
    elapse__wire_resp_write_bytes(writer, name.bytes, name.size);
    ELAPSE__TUBE_COUNTS(WRITE)
    elapse__resp_end(call->connection, writer);
}

/* Replies with the tube if TUBES asks for it. Returns whether TUBES asks for it. */
static bool reply_tube(const struct elapse__resp_call *call, const struct wanted *wanted,
                       struct elapse__queue_text name)
{
    struct elapse__queue_statistics counts;

    if (name.size < wanted->prefix.size ||
        (wanted->prefix.size > 0 &&
         memcmp(name.bytes, wanted->prefix.bytes, wanted->prefix.size) != 0))
        return false;
    if (!wanted->trouble && !wanted->counts) {
        elapse__resp_reply_bytes(call, name.bytes, name.size);
        return true;
    }
    enum elapse__queue_result result =
        elapse__queue_tube_statistics(elapse__session_queue(call->connection),
                                      elapse__session_now(call->connection), name, &counts);
    ELAPSE__ASSERT_THAT(result, ==, ELAPSE__QUEUE_OK);
    (void)result;
    if (wanted->trouble && !elapse__server_is_in_trouble(&counts))
        return false;
    if (wanted->counts)
        reply_counts(call, name, &counts);
    else
        elapse__resp_reply_bytes(call, name.bytes, name.size);
    return true;
}

enum elapse__session_step elapse__resp_tubes(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option options[] = {
        {"CURSOR", 1}, {"COUNT", 1}, {"PREFIX", 1}, {"TROUBLE", 0}, {"COUNTS", 0}};
    uint32_t places[5];
    uint32_t cursor = 0;
    uint32_t count = ELAPSE__RESP_COUNT_MAX;
    uint32_t listed = 0;

    if (!elapse__resp_find_options(call, 1, options, 5, places) ||
        !elapse__resp_read_page(call, places[0], places[1], &cursor, &count))
        return ELAPSE__STEP_RAN;
    struct wanted wanted = {.trouble = places[3] != 0, .counts = places[4] != 0};
    if (places[2] != 0)
        wanted.prefix = elapse__resp_text(call->arguments[places[2]]);
    uint32_t most = wanted.trouble || wanted.counts ? COUNTED_PLACES : PLACES;
    if (!elapse__resp_begin_page(call))
        return ELAPSE__STEP_RAN;
    do {
        struct elapse__queue_text name =
            elapse__queue_tubes(elapse__session_queue(call->connection), &cursor, &most);
        listed += name.size > 0 && reply_tube(call, &wanted, name);
    } while (cursor != 0 && listed < count && most > 0);
    ELAPSE__ASSERT_THAT(listed, <=, count);
    elapse__session_count(call->connection, ELAPSE__VERB_LIST_TUBES);
    elapse__session_spend(call->connection, TUBES_COST);
    elapse__resp_end_page(call, cursor, listed);
    return ELAPSE__STEP_RAN;
}

/* ---- GROUPS ---- */

/* Writes one group of a list. */
static void reply_group(const struct elapse__resp_call *call,
                        const struct elapse__queue_group_view *from)
{
    enum { PAIRS = ELAPSE__GROUP_FIELDS(ELAPSE__RESP_COUNT_ROW) };
    struct elapse__wire_resp_writer head = elapse__resp_begin(
        call->connection, call->session->resp3,
        from->name.size + from->held_by.size + (3 * PAIRS + 2) * ELAPSE__WIRE_RESP_FRAME_MAX);
    struct elapse__wire_resp_writer *writer = &head;

    ELAPSE__ASSERT_THAT(from->name.size, >, 0);
    elapse__wire_resp_write_map(writer, PAIRS);
    ELAPSE__GROUP_FIELDS(WRITE)
    elapse__resp_end(call->connection, writer);
}

enum elapse__session_step elapse__resp_groups(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option options[] = {
        {"CURSOR", 1}, {"COUNT", 1}, {"HELD", 0}};
    struct elapse__queue_group_view view;
    uint32_t places[3];
    uint32_t cursor = 0;
    uint32_t count = ELAPSE__RESP_LIST_COUNT;
    uint32_t listed = 0;

    if (!elapse__resp_find_options(call, 2, options, 3, places) ||
        !elapse__resp_read_page(call, places[0], places[1], &cursor, &count) ||
        !elapse__resp_begin_page(call))
        return ELAPSE__STEP_RAN;
    uint32_t most = places[2] != 0 ? COUNTED_PLACES : PLACES;
    do {
        bool is_found = elapse__queue_groups(
            elapse__session_queue(call->connection), elapse__session_now(call->connection),
            elapse__resp_text(call->arguments[1]), &cursor, &most, &view);
        if (is_found && (places[2] == 0 || view.held > 0)) {
            reply_group(call, &view);
            listed++;
        }
    } while (cursor != 0 && listed < count && most > 0);
    ELAPSE__ASSERT_THAT(listed, <=, count);
    elapse__session_count(call->connection, ELAPSE__VERB_LIST);
    elapse__session_spend(call->connection, TUBES_COST);
    elapse__resp_end_page(call, cursor, listed);
    return ELAPSE__STEP_RAN;
}
