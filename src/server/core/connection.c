/*
 * Makes connections, takes their bytes, and lets their replies leave. When a connection ends,
 * undoes the hand-outs that were on their way to its client. inner.h has a picture of a connection,
 * and explains its rings and the budget.
 */
#include <stdlib.h>
#include <string.h>

#include "../../queue/names.h"
#include "connection.h"
#include "hand_over.h"
#include "marks.h"
#include "run.h"

/* ---- life ---- */

static size_t session_bytes(const struct elapse__server *server)
{
    const struct elapse__protocol *protocols[] = {server->options.beanstalkd, server->options.resp};
    size_t most = 0;

    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    for (size_t i = 0; i < sizeof protocols / sizeof *protocols; i++)
        if (protocols[i] != NULL && protocols[i]->session_bytes > most)
            most = protocols[i]->session_bytes;
    return most;
}

static void arm_idle(struct elapse__connection *connection)
{
    struct elapse__server *server = connection->server;
    if (server->options.idle_ms > 0 && !connection->facts.is_request)
        elapse_wheel_start(&server->wheel, &connection->idle.timer,
                           connection->heard_ms + server->options.idle_ms);
}

struct elapse__connection *elapse__connection_new(struct elapse__server *server,
                                                  struct elapse__queue_now now,
                                                  const struct elapse__connection_facts *facts)
{
    struct elapse__server_statistics *figures = &server->figures;
    struct elapse__connection *connection = NULL;

    if (figures->connections < server->options.connections_max && !server->stopped)
        connection = calloc(1, sizeof *connection + session_bytes(server));
    if (connection == NULL) {
        figures->refused++;
        return NULL;
    }
    elapse__server_enter(server, now, ELAPSE__TURN_BUDGET);
    connection->server = server;
    connection->facts = *facts;
    connection->writing = &connection->held;
    connection->heard_ms = server->now.boot_ms;
    connection->had_room = true;
    connection->idle.idle = connection;
    connection->guess.idle = connection;
    connection->kept.idle = connection;
    ELAPSE__ASSERT_THAT(figures->connections, <, server->options.connections_max);
    connection->number = ++figures->total_connections;
    figures->connections++;
    elapse__queue_connection_init(&connection->leases);
    elapse__ring_append(&server->open, &connection->ring_node);
    arm_idle(connection);
    elapse__server_leave(server);
    return connection;
}

static void leave_rings(struct elapse__connection *connection)
{
    elapse__ring_leave(&connection->attention);
    elapse__ring_leave(&connection->work);
    elapse__ring_leave(&connection->gated);
    (void)elapse_wheel_stop(&connection->server->wheel, &connection->idle.timer);
    (void)elapse_wheel_stop(&connection->server->wheel, &connection->guess.timer);
    elapse__session_keep_nothing(connection);
}

/* Frees a connection. Requires that the connection has nothing to undo, or that the process
 * ends. */
void elapse__connection_free(struct elapse__connection *connection)
{
    leave_rings(connection);
    elapse__ring_leave(&connection->ring_node);
    elapse__buffer_free(&connection->input);
    elapse__buffer_free(&connection->held);
    elapse__buffer_free(&connection->out);
    elapse__queue_name_drop(connection->server->engine->jobs, connection->leases.name);
    free(connection->marks.memory);
    free(connection->leavings.memory);
    free(connection);
}

void *elapse__connection_shell(const struct elapse__connection *connection)
{
    return connection->facts.shell;
}

/* ---- what the shell sees ---- */

size_t elapse__connection_room(const struct elapse__connection *connection)
{
    size_t most = connection->server->options.input_bytes_max;
    size_t there = elapse__buffer_size(&connection->input);

    if (connection->ending || connection->dead || connection->input_ended ||
        connection->is_guessing || connection->server->stopped)
        return 0;
    most = connection->need > most ? connection->need : most;
    return there < most ? most - there : 0;
}

size_t elapse__connection_output(const struct elapse__connection *connection, const uint8_t **bytes)
{
    *bytes = elapse__buffer_first(&connection->out);
    return elapse__buffer_size(&connection->out);
}

/* Returns whether every reply is complete but that of a reserve that waits. Such a reserve is the
 * last command that was run. */
static bool is_answered(const struct elapse__connection *connection)
{
    if (connection->marks.count == 0)
        return true;
    const struct elapse__server_reply *reply = elapse__reply_marks_at(connection, 0)->reply;
    return reply != NULL && reply->state == ELAPSE__REPLY_WAITING;
}

bool elapse__connection_wants_end(const struct elapse__connection *connection)
{
    return connection->dead || (connection->ending && is_answered(connection) &&
                                elapse__buffer_size(&connection->out) == 0);
}

bool elapse__connection_awaits_sent(const struct elapse__connection *connection)
{
    return connection->ending || connection->dead || connection->server->stopped ||
           !elapse__connection_may_format(connection) || elapse__connection_is_choked(connection);
}

/* ---- replies that may leave ---- */

/* Moves the bytes up to `end` from `held` to `out`. */
static void release_bytes(struct elapse__connection *connection, uint64_t end)
{
    struct elapse__buffer *held = &connection->held;
    size_t size = (size_t)(end - connection->held_gone);

    ELAPSE__ASSERT_THAT(size, <=, elapse__buffer_size(held));
    ELAPSE__ASSERT_THAT(size, <=, connection->reply_begin);
    if (size == elapse__buffer_size(held) && elapse__buffer_size(&connection->out) == 0) {
        struct elapse__buffer empty = connection->out;
        connection->out = *held;
        *held = empty;
        held->begin = 0;
        held->end = 0;
    } else if (!elapse__buffer_append(&connection->out, elapse__buffer_first(held), size)) {
        elapse__connection_fail(connection);
        return;
    } else {
        elapse__buffer_take(held, size);
    }
    connection->reply_begin -= size;
    connection->held_gone = end;
    connection->out_end += size;
    ELAPSE__ASSERT_THAT(connection->held_gone, <=, connection->held_end);
}

/* Moves the replies that may leave from `held` to `out`. */
static void move_replies(struct elapse__connection *connection)
{
    const struct elapse__server *server = connection->server;

    while (connection->marks.count > 0 && !connection->dead && !connection->is_guessing) {
        const struct elapse__reply_mark *mark = elapse__reply_marks_at(connection, 0);
        if (mark->reply != NULL) {
            if (!elapse__connection_may_format(connection) || server->budget == 0 ||
                !elapse__reply_advance(mark->reply))
                return;
            elapse__reply_marks_drop_first(connection);
            continue;
        }
        uint64_t end = connection->held_gone;
        for (; mark->reply == NULL && mark->gate <= server->durable;
             mark = elapse__reply_marks_at(connection, 0)) {
            end = mark->end;
            elapse__reply_marks_drop_first(connection);
            if (connection->marks.count == 0)
                break;
        }
        if (end == connection->held_gone)
            return;
        release_bytes(connection, end);
    }
}

static void release_marks(struct elapse__connection *connection)
{
    const struct elapse__server *server = connection->server;
    bool was_empty = elapse__buffer_size(&connection->out) == 0;

    connection->examined = server->durable;
    move_replies(connection);
    ELAPSE__ASSERT_THAT(connection->heard_ms, <=, server->now.boot_ms);
    /* The client could read nothing until now, so its time to read begins. */
    if (was_empty && elapse__buffer_size(&connection->out) > 0)
        connection->heard_ms = server->now.boot_ms;
}

/* ---- work ---- */

/* Returns whether commands wait, perhaps without their last bytes. */
static bool has_input(const struct elapse__connection *connection)
{
    return connection->has_commands || elapse__buffer_size(&connection->input) > 0;
}

bool elapse__connection_can_run(const struct elapse__connection *connection)
{
    size_t size = elapse__buffer_size(&connection->input);
    return (connection->has_commands || (size > 0 && size >= connection->need)) &&
           elapse__connection_may_run(connection);
}

/* Puts the connection into the rings that it belongs to. */
static void arrange(struct elapse__connection *connection)
{
    struct elapse__server *server = connection->server;
    bool has_room;

    if (connection->closed)
        return;
    /* If the client sends nothing more, input that cannot run now is a part of a command whose rest
     * will never come. */
    if (connection->input_ended && !elapse__ring_has_node(&connection->work) &&
        !elapse__connection_is_choked(connection) && !elapse__connection_is_behind(connection) &&
        !connection->is_guessing && !server->stopped)
        connection->ending = true;
    /* The marks have just been looked at, so the connection belongs behind all others in `gated`,
     * also if it was there before. */
    ELAPSE__ASSERT_THAT(connection->examined, ==, server->durable);
    elapse__ring_leave(&connection->gated);
    if (elapse__reply_marks_wait_for_journal(connection))
        elapse__ring_append(&server->gated, &connection->gated);
    has_room = elapse__connection_room(connection) > 0;
    if (elapse__buffer_size(&connection->out) > 0 || elapse__connection_wants_end(connection) ||
        has_room != connection->had_room)
        elapse__ring_join_once(&server->attention, &connection->attention);
    connection->had_room = has_room;
}

/* Runs the commands that wait in the input buffer. Does nothing if the connection is in the ring
 * `work`, because a turn will run them. */
static void run_buffered(struct elapse__connection *connection)
{
    bool has_turn =
        !elapse__ring_has_node(&connection->work) && elapse__connection_can_run(connection);

    if (has_turn && connection->has_commands) {
        elapse__connection_run_commands(connection);
    } else if (has_turn) {
        size_t done = elapse__connection_run(connection, elapse__buffer_first(&connection->input),
                                             elapse__buffer_size(&connection->input));
        elapse__buffer_take(&connection->input, done);
    }
    if (connection->ending || connection->dead)
        elapse__buffer_free(&connection->input);
}

/* Returns whether the first reply may leave now. There is such a reply if the budget ended before
 * the reply left. */
static bool may_release(const struct elapse__connection *connection)
{
    if (connection->marks.count == 0 || connection->dead || connection->is_guessing)
        return false;
    const struct elapse__reply_mark *mark = elapse__reply_marks_at(connection, 0);
    return mark->reply != NULL && mark->reply->state != ELAPSE__REPLY_WAITING &&
           mark->reply->unread == 0 && mark->reply->gate <= connection->server->durable &&
           elapse__connection_may_format(connection);
}

void elapse__connection_work(struct elapse__connection *connection)
{
    if (connection->closed)
        return;
    /* Replies that leave make room for the replies of commands that wait. If none waits, the
     * release at the end is enough. */
    if (has_input(connection))
        release_marks(connection);
    run_buffered(connection);
    elapse__connection_release(connection);
}

void elapse__connection_release(struct elapse__connection *connection)
{
    release_marks(connection);
    /* A connection that may run commands again, because its client has read enough, goes on in a
     * turn. */
    if (may_release(connection) || elapse__connection_can_run(connection))
        elapse__ring_join_once(&connection->server->work, &connection->work);
    arrange(connection);
}

/* Runs some of the commands in the bytes that came. Returns the bytes that are left. */
static size_t run_received(struct elapse__connection *connection, const uint8_t *bytes, size_t size)
{
    size_t done = 0;

    connection->heard_ms = connection->server->now.boot_ms;
    /* In the usual case no bytes wait, and all commands are whole. */
    if (elapse__buffer_size(&connection->input) == 0 && size >= connection->need)
        done = elapse__connection_run(connection, bytes, size);
    return connection->ending || connection->dead ? 0 : size - done;
}

/* Keeps the last `left` of the bytes that came, for later turns. */
static void keep_received(struct elapse__connection *connection, const uint8_t *end, size_t left)
{
    if (left > 0 && !elapse__buffer_append(&connection->input, end - left, left))
        elapse__connection_fail(connection);
}

void elapse__connection_received(struct elapse__connection *connection,
                                 struct elapse__queue_now now, const void *bytes, size_t size)
{
    struct elapse__server *server = connection->server;

    ELAPSE__ASSERT(!connection->closed);
    if (size == 0 || connection->ending || connection->dead)
        return;
    elapse__server_enter(server, now, ELAPSE__TURN_BUDGET);
    size_t left = run_received(connection, bytes, size);
    keep_received(connection, (const uint8_t *)bytes + size, left);
    elapse__connection_work(connection);
    elapse__server_leave(server);
}

void elapse__connection_received_whole(struct elapse__connection *connection,
                                       struct elapse__queue_now now, struct elapse__buffer *bytes)
{
    struct elapse__server *server = connection->server;
    struct elapse__buffer *input = &connection->input;
    size_t size = elapse__buffer_size(bytes);

    ELAPSE__ASSERT(!connection->closed);
    if (size > 0 && !connection->ending && !connection->dead) {
        elapse__server_enter(server, now, ELAPSE__TURN_BUDGET);
        size_t left = run_received(connection, elapse__buffer_first(bytes), size);
        /* With fewer bytes the connection would keep more memory than it needs. The caller gets as
         * much memory as it gives. If there is none, only this connection may end. */
        if (left > bytes->capacity / 2 && elapse__buffer_size(input) == 0 &&
            elapse__buffer_reserve(input, bytes->capacity)) {
            struct elapse__buffer empty = *input;
            *input = *bytes;
            input->begin = input->end - left;
            *bytes = empty;
        } else {
            keep_received(connection, bytes->bytes + bytes->end, left);
        }
        elapse__connection_work(connection);
        elapse__server_leave(server);
    }
    elapse__buffer_clear(bytes);
}

void elapse__connection_commands(struct elapse__connection *connection,
                                 struct elapse__queue_now now)
{
    struct elapse__server *server = connection->server;

    ELAPSE__ASSERT(!connection->closed);
    ELAPSE__ASSERT_THAT(elapse__buffer_size(&connection->input), ==, 0);
    elapse__server_enter(server, now, ELAPSE__TURN_BUDGET);
    connection->heard_ms = server->now.boot_ms;
    connection->has_commands = true;
    elapse__connection_work(connection);
    elapse__server_leave(server);
}

void elapse__connection_received_all(struct elapse__connection *connection,
                                     struct elapse__queue_now now)
{
    struct elapse__server *server = connection->server;

    ELAPSE__ASSERT(!connection->closed);
    elapse__server_enter(server, now, ELAPSE__TURN_BUDGET);
    connection->input_ended = true;
    elapse__connection_work(connection);
    elapse__server_leave(server);
}

/* Returns whether nothing waits: no reply, no command, no end. */
static bool is_at_rest(const struct elapse__connection *connection)
{
    return connection->marks.count == 0 && !has_input(connection) &&
           elapse__buffer_size(&connection->out) == 0 && !connection->input_ended &&
           !connection->ending && !connection->dead && !connection->server->stopped;
}

void elapse__connection_sent(struct elapse__connection *connection, struct elapse__queue_now now,
                             size_t size)
{
    struct elapse__server *server = connection->server;

    ELAPSE__ASSERT(!connection->closed);
    elapse__server_enter(server, now, ELAPSE__TURN_BUDGET + ELAPSE__HEARING_BUDGET);
    /* The client took these bytes after the last turn. The shell may report this much later, so the
     * time of the last turn counts. */
    if (connection->heard_ms < server->turned_ms)
        connection->heard_ms = server->turned_ms;
    elapse__buffer_take(&connection->out, size);
    connection->sent += size;
    ELAPSE__ASSERT_THAT(connection->sent, <=, connection->out_end);
    while (connection->leavings.count > 0 &&
           elapse__leavings_first(connection)->end <= connection->sent)
        elapse__leavings_drop_first(connection);
    /* The next reply of this connection gets its bytes in a turn, after the replies of other
     * connections. */
    if (connection->marks.count > 0 && elapse__reply_marks_at(connection, 0)->reply != NULL)
        server->budget = 0;
    if (!is_at_rest(connection))
        elapse__connection_work(connection);
    elapse__server_leave(server);
}

void elapse__server_reading_done(struct elapse__server *server, struct elapse__queue_now now,
                                 struct elapse__server_reading *reading)
{
    struct elapse__server_reply *reply = reading->reply;
    struct elapse__connection *connection = reply->connection;

    ELAPSE__ASSERT_THAT(reply->unread, >, 0);
    elapse__server_enter(server, now, ELAPSE__TURN_BUDGET + ELAPSE__HEARING_BUDGET);
    if (!reading->is_of_error) {
        struct elapse__hand *hand = (struct elapse__hand *)(void *)reading;
        ELAPSE__ASSERT_THAT(hand->state, ==, ELAPSE__HAND_WITH_SHELL);
        hand->state = ELAPSE__HAND_READ;
    }
    reply->unread--;
    /* If the connection is closed, a turn undoes the reply. */
    if (reply->unread == 0 && !connection->closed)
        elapse__connection_work(connection);
    elapse__server_leave(server);
}

/* ---- the end ---- */

void elapse__connection_closed(struct elapse__connection *connection, struct elapse__queue_now now)
{
    struct elapse__server *server = connection->server;
    struct elapse__server_statistics *figures = &server->figures;

    ELAPSE__ASSERT(!connection->closed);
    elapse__server_enter(server, now, ELAPSE__TURN_BUDGET);
    connection->closed = true;
    ELAPSE__ASSERT_THAT(figures->connections, >, 0);
    ELAPSE__ASSERT_THAT(figures->producers, >=, (uint64_t)connection->is_producer);
    ELAPSE__ASSERT_THAT(figures->workers, >=, (uint64_t)connection->is_worker);
    figures->connections--;
    figures->producers -= connection->is_producer;
    figures->workers -= connection->is_worker;
    if (connection->has_begun && connection->protocol->end != NULL)
        connection->protocol->end(connection);
    leave_rings(connection);
    elapse__ring_leave(&connection->ring_node);
    elapse__ring_append(&server->closing, &connection->ring_node);
    elapse__buffer_free(&connection->input);
    elapse__buffer_free(&connection->held);
    elapse__buffer_free(&connection->out);
    (void)elapse__connection_bury(connection);
    elapse__server_leave(server);
}

/* Undoes the hand-outs that were on their way to the client. Returns true when none is left. */
static bool undo_leavings(struct elapse__connection *connection)
{
    struct elapse__server *server = connection->server;

    while (connection->leavings.count > 0) {
        if (server->budget == 0 || elapse__server_journal_is_full(server))
            return false;
        struct elapse__queue_answer answer = elapse__queue_lease_withdraw(
            server->engine->jobs, server->now, elapse__leavings_first(connection)->holder);
        if (answer.result == ELAPSE__QUEUE_OK)
            server->figures.undone++;
        elapse__leavings_drop_first(connection);
        (void)elapse__server_spend(server, 1);
    }
    return true;
}

/* Undoes the replies that have no bytes yet. Returns true when none is left. */
static bool undo_replies(struct elapse__connection *connection)
{
    while (connection->marks.count > 0) {
        const struct elapse__reply_mark *mark = elapse__reply_marks_at(connection, 0);
        if (mark->reply != NULL && !elapse__reply_undo(mark->reply))
            return false;
        elapse__reply_marks_drop_first(connection);
    }
    return true;
}

static bool end_leases(struct elapse__connection *connection)
{
    struct elapse__server *server = connection->server;

    while (!elapse__ring_empty(&connection->leases.leases)) {
        if (server->budget == 0 || elapse__server_journal_is_full(server))
            return false;
        (void)elapse__queue_connection_close(server->engine->jobs, server->now, &connection->leases,
                                             1);
        (void)elapse__server_spend(server, 1);
    }
    return true;
}

bool elapse__connection_bury(struct elapse__connection *connection)
{
    ELAPSE__ASSERT(connection->closed);
    if (!undo_leavings(connection) || !undo_replies(connection) || !end_leases(connection))
        return false;
    elapse__connection_free(connection);
    return true;
}
