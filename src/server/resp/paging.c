/*
 * Writes pages and jobs.
 */
#include "paging.h"

#include <string.h>

#include "options.h"
#include "reply.h"

enum {
    JOB_PAIRS = ELAPSE__JOB_FIELDS(ELAPSE__RESP_COUNT_ROW),
    HEAD_BYTES = 24, /* "*2\r\n:4294967295\r\n*1000\r\n" */
};

_Static_assert(JOB_PAIRS * 3 * ELAPSE__WIRE_RESP_FRAME_MAX < ELAPSE__RESP_JOB_BYTES, "frames fit");

const uint32_t elapse__resp_job_pairs = JOB_PAIRS;

/* Writes the name and the value of one field of the struct `from`. */
#define WRITE(field, name, kind)                \
    elapse__wire_resp_write_text(writer, name); \
    ELAPSE__RESP_WRITE_##kind(writer, from->field);

#define ELAPSE__RESP_WRITE_STATE(writer, value) \
    elapse__wire_resp_write_text(writer, elapse__resp_state_name(value))
#define ELAPSE__RESP_WRITE_REASON(writer, value) write_reason(writer, from)
#define ELAPSE__RESP_WRITE_DUE(writer, value)    write_time(writer, from, value)
#define ELAPSE__RESP_WRITE_LEFT(writer, value)   write_time(writer, from, (int64_t)(value))

/* Writes when a job is due, or how long the job has to wait until then. Writes null if the job has
 * no due time. */
static void write_time(struct elapse__wire_resp_writer *writer,
                       const struct elapse__queue_view *view, int64_t value)
{
    if (view->has_due)
        elapse__wire_resp_write_integer(writer, value);
    else
        elapse__wire_resp_write_null(writer);
}

/* Writes why a job is buried. Writes null if the job is not buried. */
static void write_reason(struct elapse__wire_resp_writer *writer,
                         const struct elapse__queue_view *view)
{
    if (view->state == ELAPSE__QUEUE_BURIED && view->reason != NULL)
        elapse__wire_resp_write_text(writer, view->reason);
    else
        elapse__wire_resp_write_null(writer);
}

void elapse__resp_write_job(struct elapse__wire_resp_writer *writer,
                            const struct elapse__queue_view *from)
{
    ELAPSE__ASSERT_THAT(from->id, >, 0);
    ELAPSE__ASSERT(from->state != ELAPSE__QUEUE_FREE);
    ELAPSE__JOB_FIELDS(WRITE)
}

void elapse__resp_reply_view(const struct elapse__resp_call *call,
                             const struct elapse__queue_view *view)
{
    struct elapse__wire_resp_writer writer =
        elapse__resp_begin(call->connection, call->session->resp3, ELAPSE__RESP_JOB_BYTES);

    elapse__wire_resp_write_map(&writer, JOB_PAIRS);
    elapse__resp_write_job(&writer, view);
    elapse__resp_end(call->connection, &writer);
}

bool elapse__resp_begin_page(const struct elapse__resp_call *call)
{
    ELAPSE__ASSERT_THAT(elapse__reply_size(call->connection), ==, 0);
    char *room = elapse__reply_begin(call->connection, HEAD_BYTES);
    if (room == NULL)
        return false;
    memset(room, 0, HEAD_BYTES);
    elapse__reply_end(call->connection, HEAD_BYTES);
    return true;
}

void elapse__resp_end_page(const struct elapse__resp_call *call, uint32_t cursor, uint32_t items)
{
    unsigned char head[HEAD_BYTES];
    struct elapse__wire_resp_writer writer = {.bytes = head, .capacity = sizeof head};
    size_t size = elapse__reply_size(call->connection);

    if (size < HEAD_BYTES)
        return; /* there is no memory, so the connection ends */
    elapse__wire_resp_write_array(&writer, 2);
    elapse__wire_resp_write_integer(&writer, cursor);
    elapse__wire_resp_write_array(&writer, items);
    ELAPSE__ASSERT(!writer.too_small);
    ELAPSE__ASSERT_THAT(items, <=, (uint32_t)ELAPSE__RESP_COUNT_MAX);
    char *reply = elapse__reply_at(call->connection);
    memcpy(reply, head, writer.size);
    memmove(reply + writer.size, reply + HEAD_BYTES, size - HEAD_BYTES);
    elapse__reply_cut(call->connection, size - HEAD_BYTES + writer.size);
}

bool elapse__resp_read_page(const struct elapse__resp_call *call, uint32_t cursor_place,
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
    ELAPSE__ASSERT_THAT(*count, <=, (uint32_t)ELAPSE__RESP_COUNT_MAX); /* the caller's, too */
    if (*count > 0)
        return true;
    (void)elapse__resp_reply_error(call->connection, "ERR COUNT is 1 to 1000", NULL);
    return false;
}
