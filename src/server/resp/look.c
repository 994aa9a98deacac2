/*
 * Runs the commands that show one job, and STATS, which shows counts.
 */
#include <string.h>

#include "../../protocol/history_reply.h"
#include "../../queue/names.h"
#include "commands.h"
#include "options.h"
#include "paging.h"
#include "reply.h"

enum {
    TEXT_PAIRS = ELAPSE__JOB_TEXTS(ELAPSE__RESP_COUNT_ROW),
    NAME_PAIRS = ELAPSE__JOB_NAMES(ELAPSE__RESP_COUNT_ROW),
    RULE_PAIRS = ELAPSE__JOB_RULE(ELAPSE__RESP_COUNT_ROW),
    BEGINNING_PAIRS = ELAPSE__JOB_BEGINNING(ELAPSE__RESP_COUNT_ROW),
};

/* Writes the name and the value of one field of the struct `from`. */
#define WRITE(field, name, kind)                \
    elapse__wire_resp_write_text(writer, name); \
    ELAPSE__RESP_WRITE_##kind(writer, from->field);

/* The first function writes TEXT_PAIRS names and values. The second writes NAME_PAIRS. */
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

/* Writes by which rule a job recurs, as RULE_PAIRS names and values. */
static void write_rule(struct elapse__wire_resp_writer *writer,
                       const struct elapse__engine_job *from)
{
    ELAPSE__JOB_RULE(WRITE)
}

/* The beginning of a body, for LIST with BODY. */
struct beginning {
    struct elapse__queue_text body;
    uint64_t body_bytes; /* the size of the whole body */
};

/* Writes the beginning of a body as BEGINNING_PAIRS names and values. */
static void write_beginning(struct elapse__wire_resp_writer *writer, const struct beginning *from)
{
    ELAPSE__JOB_BEGINNING(WRITE)
}

/* ---- one job ---- */

void elapse__resp_looked(struct elapse__connection *connection, uint64_t context,
                         const struct elapse__queue_view *view,
                         const struct elapse__engine_job *texts)
{
    bool is_item = (context & ELAPSE__RESP_CONTEXT_ITEM) != 0;
    struct elapse__queue_view shown = *view;
    uint64_t most = context >> ELAPSE__RESP_CONTEXT_BODY_SHIFT & ELAPSE__RESP_BODY_MASK;
    struct beginning beginning = {.body = texts->body, .body_bytes = texts->body.size};
    uint32_t pairs = TEXT_PAIRS;

    if (is_item)
        pairs = NAME_PAIRS + (most > 0 ? (uint32_t)BEGINNING_PAIRS : 0);
    if (view->recurring)
        pairs += RULE_PAIRS;
    if (is_item && beginning.body.size > most)
        beginning.body.size = (uint32_t)most;
    elapse__resp_begin_items(connection, context);
    struct elapse__wire_resp_writer writer = elapse__resp_begin(
        connection, (context & ELAPSE__RESP_CONTEXT_RESP3) != 0,
        ELAPSE__RESP_JOB_BYTES + texts->key.size + texts->tag.size + texts->group.size +
            texts->error.size + texts->cron.size + texts->zone.size +
            (is_item ? 0 : texts->headers.size) + beginning.body.size +
            (size_t)(2 * (TEXT_PAIRS + RULE_PAIRS) + 1) * ELAPSE__WIRE_RESP_FRAME_MAX);

    ELAPSE__ASSERT((context & ELAPSE__RESP_CONTEXT_LOOK) != 0);
    ELAPSE__ASSERT(is_item || most == 0); /* LOOKUP shows the whole body */
    ELAPSE__ASSERT_THAT(texts->tube.size, >, 0);
    shown.tube = texts->tube; /* the texts of the view are no longer valid */
    shown.holder = elapse__queue_name_of(elapse__session_queue(connection), view->id, view->lease);
    elapse__wire_resp_write_map(&writer, elapse__resp_job_pairs + pairs);
    elapse__resp_write_job(&writer, &shown);
    if (!is_item)
        write_texts(&writer, texts);
    else
        write_names(&writer, texts);
    if (is_item && most > 0)
        write_beginning(&writer, &beginning);
    if (view->recurring)
        write_rule(&writer, texts);
    elapse__resp_end(connection, &writer);
}

/* Replies with the job that was found, or with an error if there is none. */
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

/* ---- counts ---- */

enum {
    JOBS_PAIRS = ELAPSE__JOBS_STATISTICS(ELAPSE__RESP_COUNT_ROW),
    TUBE_PAIRS = ELAPSE__TUBE_STATISTICS(ELAPSE__RESP_COUNT_ROW),
    SERVER_PAIRS = ELAPSE__SERVER_STATISTICS(ELAPSE__RESP_COUNT_ROW)
        ELAPSE__JOURNAL_STATISTICS(ELAPSE__RESP_COUNT_ROW),
    /* A pair takes at most three frames: the size of its name, the name, and the count. */
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

/* ---- HISTORY ---- */

enum elapse__session_step elapse__resp_history(const struct elapse__resp_call *call)
{
    static const struct elapse__wire_resp_option option = {"COUNT", 1};
    const struct elapse__history *history = elapse__session_options(call->connection)->history;
    uint32_t place = 0;
    uint64_t most = ELAPSE__HISTORY_POINTS;

    if (!elapse__resp_find_options(call, 1, &option, 1, &place) ||
        (place != 0 && !elapse__resp_read_number(call, place, ELAPSE__HISTORY_POINTS, &most)))
        return ELAPSE__STEP_RAN;
    if (most == 0)
        return elapse__resp_reply_error(call->connection, "ERR COUNT is 1 to 1440", NULL);
    unsigned count = elapse__history_count(history, (unsigned)most);
    ELAPSE__ASSERT_THAT(count, <=, most);
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(call->connection, call->session->resp3, ELAPSE__WIRE_RESP_FRAME_MAX);
    elapse__history_write_head(&writer);
    elapse__resp_end(call->connection, &writer);
    for (unsigned field = 0; field < elapse__history_fields; field++) {
        writer = elapse__resp_begin(call->connection, call->session->resp3,
                                    elapse__history_field_bytes(count));
        elapse__history_write_field(&writer, history, count, field);
        elapse__resp_end(call->connection, &writer);
    }
    elapse__session_count(call->connection, ELAPSE__VERB_OTHER);
    elapse__session_spend(call->connection, ELAPSE__HISTORY_COST);
    return ELAPSE__STEP_RAN;
}
