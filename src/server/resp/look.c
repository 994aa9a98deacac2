/*
 * Runs the commands that change nothing: they show jobs, tubes and counts.
 */
#include <string.h>

#include "../../queue/names.h"
#include "../../queue/tubes.h"
#include "commands.h"
#include "options.h"
#include "reply.h"

enum {
    JOB_PAIRS = ELAPSE__JOB_FIELDS(ELAPSE__RESP_COUNT_ROW),
    TEXT_PAIRS = ELAPSE__JOB_TEXTS(ELAPSE__RESP_COUNT_ROW),
    NAME_PAIRS = ELAPSE__JOB_NAMES(ELAPSE__RESP_COUNT_ROW),
    LIST_NAMES = 100,           /* jobs of one LIST with KEYS, at most */
    LIST_NAMES_BYTES = 1 << 20, /* bytes of their bodies, which are read with the names */
    JOB_BYTES = 1600,           /* room for JOB_PAIRS, with the longest tube, reason and holder */
    LIST_BATCH = 32,
    TUBE_PLACES = 1 << 16, /* places of tubes that one TUBES examines */
    LIST_COST = 500,       /* a LIST takes as long as this many short commands */
    LIST_HEAD_BYTES = 24,  /* "*2\r\n:4294967295\r\n*1000\r\n" */
};

_Static_assert(JOB_PAIRS * 3 * ELAPSE__WIRE_RESP_FRAME_MAX < JOB_BYTES, "frames fit");

/* Writes the name and the value of a field of `from`. */
#define WRITE(field, name, kind)                \
    elapse__wire_resp_write_text(writer, name); \
    ELAPSE__RESP_WRITE_##kind(writer, from->field);

#define ELAPSE__RESP_WRITE_STATE(writer, value) \
    elapse__wire_resp_write_text(writer, elapse__resp_state_name(value))
#define ELAPSE__RESP_WRITE_REASON(writer, value) write_reason(writer, from)

/* Writes why a job is buried; null if it is not. */
static void write_reason(struct elapse__wire_resp_writer *writer,
                         const struct elapse__queue_view *view)
{
    if (view->state == ELAPSE__QUEUE_BURIED && view->reason != NULL)
        elapse__wire_resp_write_text(writer, view->reason);
    else
        elapse__wire_resp_write_null(writer);
}

/* Writes JOB_PAIRS names and values. */
static void write_job(struct elapse__wire_resp_writer *writer,
                      const struct elapse__queue_view *from)
{
    ELAPSE__JOB_FIELDS(WRITE)
}

/* Write TEXT_PAIRS names and values, or NAME_PAIRS. */
static void write_texts(struct elapse__wire_resp_writer *writer,
                        const struct elapse__engine_job *from)
{
    ELAPSE__JOB_TEXTS(WRITE)
}

static void write_names(struct elapse__wire_resp_writer *writer,
                        const struct elapse__engine_job *from)
{
    ELAPSE__JOB_NAMES(WRITE)
}

/* ---- one job ---- */

void elapse__resp_looked(struct elapse__connection *connection, uint64_t context,
                         const struct elapse__queue_view *view,
                         const struct elapse__engine_job *texts)
{
    bool is_item = (context & ELAPSE__RESP_CONTEXT_ITEM) != 0;
    struct elapse__queue_view shown = *view;

    elapse__resp_begin_items(connection, context);
    struct elapse__wire_resp_writer writer = elapse__resp_begin(
        connection, (context & ELAPSE__RESP_CONTEXT_RESP3) != 0,
        JOB_BYTES + texts->key.size + texts->tag.size + texts->group.size + texts->error.size +
            (is_item ? 0 : texts->headers.size + texts->body.size) +
            (size_t)(2 * TEXT_PAIRS + 1) * ELAPSE__WIRE_RESP_FRAME_MAX);

    ELAPSE__ASSERT((context & ELAPSE__RESP_CONTEXT_LOOK) != 0);
    ELAPSE__ASSERT_THAT(texts->tube.size, >, 0);
    shown.tube = texts->tube; /* the texts of the view are no longer valid */
    shown.holder = elapse__queue_name_of(elapse__session_queue(connection), view->id, view->lease);
    elapse__wire_resp_write_map(&writer, JOB_PAIRS + (is_item ? NAME_PAIRS : TEXT_PAIRS));
    write_job(&writer, &shown);
    if (is_item)
        write_names(&writer, texts);
    else
        write_texts(&writer, texts);
    elapse__resp_end(connection, &writer);
}

/* Replies with the job that was found, or says that there is none. */
static enum elapse__session_step show(const struct elapse__resp_call *call,
                                      enum elapse__queue_result result,
                                      const struct elapse__queue_view *view)
{
    uint64_t context =
        ELAPSE__RESP_CONTEXT_LOOK | (call->session->resp3 ? ELAPSE__RESP_CONTEXT_RESP3 : 0);

    elapse__session_count(call->connection, (enum elapse__server_verb)call->command->verb);
    if (result == ELAPSE__QUEUE_GONE)
        elapse__resp_reply_null(call);
    else if (!elapse__session_look(call->connection, view, context))
        return elapse__resp_reply_error(call->connection, "OOM there is no memory", NULL);
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step elapse__resp_look_up(const struct elapse__resp_call *call)
{
    struct elapse__queue_view view;
    enum elapse__queue_result result = elapse__queue_look_up_key(
        elapse__session_queue(call->connection), elapse__session_now(call->connection),
        elapse__resp_text(call->arguments[1]), elapse__resp_text(call->arguments[2]), &view);

    return show(call, result, &view);
}

enum elapse__session_step elapse__resp_look_up_id(const struct elapse__resp_call *call)
{
    struct elapse__queue_view view;
    uint64_t id = 0;

    if (!elapse__resp_read_id(call, 1, &id))
        return ELAPSE__STEP_RAN;
    enum elapse__queue_result result = elapse__queue_look_up_id(
        elapse__session_queue(call->connection), elapse__session_now(call->connection), id, &view);
    return show(call, result, &view);
}

/* ---- lists: [cursor, [item, ...]]; the head is written last, when the cursor is known ---- */

/* Keeps room for the head of a list. Returns false if there is no memory. */
static bool begin_list(const struct elapse__resp_call *call)
{
    ELAPSE__ASSERT_THAT(elapse__reply_size(call->connection), ==, 0);
    char *room = elapse__reply_begin(call->connection, LIST_HEAD_BYTES);
    if (room == NULL)
        return false;
    memset(room, 0, LIST_HEAD_BYTES);
    elapse__reply_end(call->connection, LIST_HEAD_BYTES);
    return true;
}

/* Writes the head, and moves the items up to it. */
static void end_list(const struct elapse__resp_call *call, uint32_t cursor, uint32_t items)
{
    unsigned char head[LIST_HEAD_BYTES];
    struct elapse__wire_resp_writer writer = {.bytes = head, .capacity = sizeof head};
    size_t size = elapse__reply_size(call->connection);

    if (size < LIST_HEAD_BYTES)
        return; /* there was no memory: the connection ends */
    elapse__wire_resp_write_array(&writer, 2);
    elapse__wire_resp_write_integer(&writer, cursor);
    elapse__wire_resp_write_array(&writer, items);
    ELAPSE__ASSERT(!writer.too_small);
    ELAPSE__ASSERT_THAT(items, <=, (uint32_t)ELAPSE__RESP_COUNT_MAX);
    char *reply = elapse__reply_at(call->connection);
    memcpy(reply, head, writer.size);
    memmove(reply + writer.size, reply + LIST_HEAD_BYTES, size - LIST_HEAD_BYTES);
    elapse__reply_cut(call->connection, size - LIST_HEAD_BYTES + writer.size);
}

/* Reads the options CURSOR and COUNT. No cursor that a list has returned is greater than the number
 * of jobs that there may be. */
static bool read_page(const struct elapse__resp_call *call, uint32_t cursor_place,
                      uint32_t count_place, uint32_t *cursor, uint32_t *count)
{
    uint64_t number = 0;

    if (cursor_place != 0 &&
        !elapse__resp_read_number(call, cursor_place, ELAPSE__QUEUE_JOBS_MAX, &number))
        return false;
    *cursor = (uint32_t)number;
    number = *count;
    if (count_place != 0 &&
        !elapse__resp_read_number(call, count_place, ELAPSE__RESP_COUNT_MAX, &number))
        return false;
    *count = (uint32_t)number;
    if (*count > 0)
        return true;
    (void)elapse__resp_reply_error(call->connection, "ERR COUNT is 1 to 1000", NULL);
    return false;
}

/* Lists one batch of at most `most` jobs. Returns how many. */
static uint32_t list_batch(const struct elapse__resp_call *call,
                           const struct elapse__queue_filter *filter, uint32_t *cursor,
                           uint32_t most)
{
    struct elapse__queue_view views[LIST_BATCH];
    uint32_t room = most < LIST_BATCH ? most : LIST_BATCH;
    uint32_t listed = elapse__queue_list(elapse__session_queue(call->connection),
                                         elapse__session_now(call->connection), filter, cursor,
                                         ELAPSE__LIST_PLACES / 16, views, room);

    ELAPSE__ASSERT_THAT(listed, <=, room);
    for (uint32_t i = 0; i < listed; i++) {
        struct elapse__wire_resp_writer writer =
            elapse__resp_begin(call->connection, call->session->resp3, JOB_BYTES);
        elapse__wire_resp_write_map(&writer, JOB_PAIRS);
        write_job(&writer, &views[i]);
        elapse__resp_end(call->connection, &writer);
    }
    return listed;
}

/* Finds up to `most` jobs, but stops when their bodies have LIST_NAMES_BYTES together. Returns how
 * many. */
static uint32_t find_named(const struct elapse__resp_call *call,
                           const struct elapse__queue_filter *filter, uint32_t *cursor,
                           struct elapse__queue_view *views, uint32_t most)
{
    uint64_t body_max = elapse__session_options(call->connection)->body_bytes_max;
    uint64_t bytes = 0;
    uint32_t found = 0;

    for (uint32_t calls = 0; calls < 16 && found < most && bytes < LIST_NAMES_BYTES; calls++) {
        uint64_t fits = (LIST_NAMES_BYTES - bytes) / body_max;
        uint64_t room = most - found;
        room = fits >= room ? room : fits > 0 ? fits : 1;
        uint32_t some = elapse__queue_list(elapse__session_queue(call->connection),
                                           elapse__session_now(call->connection), filter, cursor,
                                           ELAPSE__LIST_PLACES / 16, views + found, (uint32_t)room);
        for (uint32_t i = 0; i < some; i++)
            bytes += views[found + i].body_size;
        found += some;
        if (*cursor == 0)
            break;
    }
    return found;
}

/* Lists jobs with their keys, tags and groups, which lie on the disk. So the core reads each job by
 * a look of its own. */
static enum elapse__session_step list_names(const struct elapse__resp_call *call,
                                            const struct elapse__queue_filter *filter,
                                            uint32_t cursor, uint32_t count)
{
    struct elapse__queue_view views[LIST_NAMES];
    uint64_t context = ELAPSE__RESP_CONTEXT_LOOK | ELAPSE__RESP_CONTEXT_ITEM |
                       (call->session->resp3 ? ELAPSE__RESP_CONTEXT_RESP3 : 0);
    uint32_t found =
        find_named(call, filter, &cursor, views, count < LIST_NAMES ? count : LIST_NAMES);
    uint64_t head = ELAPSE__RESP_CONTEXT_FIRST |
                    (uint64_t)found << ELAPSE__RESP_CONTEXT_COUNT_SHIFT |
                    (uint64_t)cursor << ELAPSE__RESP_CONTEXT_CURSOR_SHIFT;

    ELAPSE__ASSERT_THAT(found, <=, (uint32_t)LIST_NAMES);
    elapse__session_count(call->connection, ELAPSE__VERB_LIST);
    elapse__session_spend(call->connection, LIST_COST);
    if (found == 0)
        elapse__resp_begin_items(call->connection, head);
    for (uint32_t i = 0; i < found; i++)
        elapse__session_look_at_item(call->connection, &views[i], context | (i == 0 ? head : 0));
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step elapse__resp_list(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option options[] = {
        {"STATE", 1}, {"TAG", 1}, {"CURSOR", 1}, {"COUNT", 1}, {"KEYS", 0}};
    uint32_t places[5];
    struct elapse__queue_filter filter;
    uint32_t cursor = 0;
    uint32_t count = ELAPSE__RESP_LIST_COUNT;
    uint32_t listed = 0;

    if (!elapse__resp_find_options(call, 2, options, 5, places) ||
        !elapse__resp_read_filter(call, places[0], places[1], &filter) ||
        !read_page(call, places[2], places[3], &cursor, &count))
        return ELAPSE__STEP_RAN;
    if (places[4] != 0)
        return list_names(call, &filter, cursor, count);
    if (!begin_list(call))
        return ELAPSE__STEP_RAN;
    for (uint32_t calls = 0; calls < 16 && listed < count; calls++) {
        listed += list_batch(call, &filter, &cursor, count - listed);
        if (cursor == 0)
            break;
    }
    ELAPSE__ASSERT_THAT(listed, <=, count);
    elapse__session_count(call->connection, ELAPSE__VERB_LIST);
    elapse__session_spend(call->connection, LIST_COST);
    end_list(call, cursor, listed);
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step elapse__resp_tubes(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option options[] = {{"CURSOR", 1}, {"COUNT", 1}};
    uint32_t places[2];
    uint32_t cursor = 0;
    uint32_t count = ELAPSE__RESP_COUNT_MAX;
    uint32_t listed = 0;
    uint32_t most = TUBE_PLACES;

    if (!elapse__resp_find_options(call, 1, options, 2, places) ||
        !read_page(call, places[0], places[1], &cursor, &count) || !begin_list(call))
        return ELAPSE__STEP_RAN;
    do {
        struct elapse__queue_text name =
            elapse__queue_tubes(elapse__session_queue(call->connection), &cursor, &most);
        if (name.size > 0) {
            elapse__resp_reply_bytes(call, name.bytes, name.size);
            listed++;
        }
    } while (cursor != 0 && listed < count && most > 0);
    ELAPSE__ASSERT_THAT(listed, <=, count);
    elapse__session_count(call->connection, ELAPSE__VERB_LIST_TUBES);
    elapse__session_spend(call->connection, LIST_COST / 4);
    end_list(call, cursor, listed);
    return ELAPSE__STEP_RAN;
}

/* Writes one group of a list. */
static void reply_group(const struct elapse__resp_call *call,
                        const struct elapse__queue_group_view *from)
{
    enum { PAIRS = ELAPSE__GROUP_FIELDS(ELAPSE__RESP_COUNT_ROW) };
    struct elapse__wire_resp_writer head =
        elapse__resp_begin(call->connection, call->session->resp3,
                           from->name.size + (3 * PAIRS + 2) * ELAPSE__WIRE_RESP_FRAME_MAX);
    struct elapse__wire_resp_writer *writer = &head;

    elapse__wire_resp_write_map(writer, PAIRS);
    ELAPSE__GROUP_FIELDS(WRITE)
    elapse__resp_end(call->connection, writer);
}

enum elapse__session_step elapse__resp_groups(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option options[] = {{"CURSOR", 1}, {"COUNT", 1}};
    struct elapse__queue_group_view view;
    uint32_t places[2];
    uint32_t cursor = 0;
    uint32_t count = ELAPSE__RESP_LIST_COUNT;
    uint32_t listed = 0;
    uint32_t most = TUBE_PLACES;

    if (!elapse__resp_find_options(call, 2, options, 2, places) ||
        !read_page(call, places[0], places[1], &cursor, &count) || !begin_list(call))
        return ELAPSE__STEP_RAN;
    do {
        if (elapse__queue_groups(elapse__session_queue(call->connection),
                                 elapse__resp_text(call->arguments[1]), &cursor, &most, &view)) {
            reply_group(call, &view);
            listed++;
        }
    } while (cursor != 0 && listed < count && most > 0);
    ELAPSE__ASSERT_THAT(listed, <=, count);
    elapse__session_count(call->connection, ELAPSE__VERB_LIST);
    elapse__session_spend(call->connection, LIST_COST / 4);
    end_list(call, cursor, listed);
    return ELAPSE__STEP_RAN;
}

/* ---- counts ---- */

enum {
    JOBS_PAIRS = ELAPSE__JOBS_STATISTICS(ELAPSE__RESP_COUNT_ROW),
    TUBE_PAIRS = ELAPSE__TUBE_STATISTICS(ELAPSE__RESP_COUNT_ROW),
    SERVER_PAIRS = ELAPSE__SERVER_STATISTICS(ELAPSE__RESP_COUNT_ROW)
        ELAPSE__JOURNAL_STATISTICS(ELAPSE__RESP_COUNT_ROW),
    /* A pair has three frames at most: the size of its name, the name, and the count. */
    STATS_BYTES = (JOBS_PAIRS + SERVER_PAIRS + 2) * 3 * ELAPSE__WIRE_RESP_FRAME_MAX,
};

static void write_counts(struct elapse__wire_resp_writer *writer,
                         const struct elapse__queue_statistics *from)
{
    ELAPSE__JOBS_STATISTICS(WRITE)
}

static void write_pauses(struct elapse__wire_resp_writer *writer,
                         const struct elapse__queue_statistics *from)
{
    ELAPSE__TUBE_STATISTICS(WRITE)
}

static void write_server(struct elapse__wire_resp_writer *writer,
                         const struct elapse__server_statistics *from)
{
    ELAPSE__SERVER_STATISTICS(WRITE)
}

static void write_journal(struct elapse__wire_resp_writer *writer,
                          const struct elapse__journal_figures *from)
{
    ELAPSE__JOURNAL_STATISTICS(WRITE)
}

static enum elapse__session_step show_tube(const struct elapse__resp_call *call)
{
    struct elapse__queue_statistics jobs;

    if (elapse__queue_tube_statistics(
            elapse__session_queue(call->connection), elapse__session_now(call->connection),
            elapse__resp_text(call->arguments[1]), &jobs) != ELAPSE__QUEUE_OK) {
        elapse__resp_reply_null(call);
        return ELAPSE__STEP_RAN;
    }
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(call->connection, call->session->resp3, STATS_BYTES);
    elapse__wire_resp_write_map(&writer, JOBS_PAIRS + TUBE_PAIRS);
    write_counts(&writer, &jobs);
    write_pauses(&writer, &jobs);
    elapse__resp_end(call->connection, &writer);
    return ELAPSE__STEP_RAN;
}

enum elapse__session_step elapse__resp_stats(const struct elapse__resp_call *call)
{
    struct elapse__server_statistics server;

    if (call->count > 2)
        return elapse__resp_reply_error(call->connection, "ERR syntax error: STATS [tube]", NULL);
    elapse__session_count(call->connection,
                          call->count == 2 ? ELAPSE__VERB_STATS_TUBE : ELAPSE__VERB_STATS);
    if (call->count == 2)
        return show_tube(call);
    elapse__server_statistics(elapse__session_server(call->connection),
                              elapse__session_now(call->connection), &server);
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(call->connection, call->session->resp3, STATS_BYTES);
    elapse__wire_resp_write_map(&writer, JOBS_PAIRS + SERVER_PAIRS);
    write_counts(&writer, &server.jobs);
    write_server(&writer, &server);
    write_journal(&writer, &server.journal);
    elapse__resp_end(call->connection, &writer);
    return ELAPSE__STEP_RAN;
}
