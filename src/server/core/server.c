/*
 * Makes and frees the server, does its turns, and reports its statistics.
 */
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "hand_over.h"
#include "marks.h"
#include "reserve.h"
#include "tubes.h"

/* ---- life ---- */

static uint32_t or_default(uint32_t given, uint32_t normal)
{
    return given == 0 ? normal : given;
}

struct elapse__server *elapse__server_new(const struct elapse__server_options *options,
                                          struct elapse__queue_now now)
{
    struct elapse__server *server = calloc(1, sizeof *server);
    struct elapse__server_options *own;

    if (server == NULL)
        return NULL;
    server->options = *options;
    own = &server->options;
    own->body_bytes_max = or_default(own->body_bytes_max, ELAPSE__SERVER_BODY_BYTES);
    own->connections_max = or_default(own->connections_max, ELAPSE__SERVER_CONNECTIONS);
    own->input_bytes_max = or_default(own->input_bytes_max, ELAPSE__SERVER_INPUT_BYTES);
    own->output_bytes_max = or_default(own->output_bytes_max, ELAPSE__SERVER_OUTPUT_BYTES);
    if (own->kept_bytes_max == 0)
        own->kept_bytes_max = ELAPSE__SERVER_KEPT_BYTES;
    server->engine = options->engine;
    server->now = now;
    server->started_ms = now.boot_ms;
    server->round = ELAPSE__BUDGET;
    server->durable = elapse__journal_durable(server->engine->journal);
    struct elapse__ring_node *rings[] = {&server->open,    &server->closing, &server->work,
                                         &server->stalled, &server->gated,   &server->attention,
                                         &server->readings};
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++)
        elapse__ring_init(rings[i]);
    if (elapse_wheel_init(&server->wheel, now.boot_ms) != ELAPSE_OK) {
        free(server);
        return NULL;
    }
    return server;
}

static struct elapse__connection *connection_of(struct elapse__ring_node *link)
{
    return (struct elapse__connection *)(void *)link;
}

/* Frees the replies of a connection, and changes nothing in the queue. */
static void drop_replies(struct elapse__connection *connection)
{
    for (uint32_t i = 0; i < connection->marks.count; i++) {
        struct elapse__server_reply *reply = elapse__reply_marks_at(connection, i)->reply;
        if (reply != NULL)
            elapse__reply_drop(reply);
    }
    connection->marks.count = 0;
}

void elapse__server_free(struct elapse__server *server)
{
    if (server == NULL)
        return;
    struct elapse__ring_node *rings[] = {&server->open, &server->closing};
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
        while (!elapse__ring_empty(rings[i])) {
            struct elapse__connection *connection = connection_of(rings[i]->next);
            drop_replies(connection);
            if (!connection->closed && connection->has_begun && connection->protocol->end != NULL)
                connection->protocol->end(connection);
            /* The queue lives on, so it must not point to the leases of a freed connection. */
            (void)elapse__queue_connection_close(server->engine->jobs, server->now,
                                                 &connection->leases, UINT32_MAX);
            elapse__connection_free(connection);
        }
    }
    while (server->free_replies != NULL) {
        struct elapse__server_reply *reply = server->free_replies;
        server->free_replies = reply->next_free;
        free(reply);
    }
    free(server);
}

void elapse__server_drain(struct elapse__server *server)
{
    server->draining = true;
}

void elapse__server_stop(struct elapse__server *server)
{
    server->stopped = true;
}

bool elapse__server_is_quiet(const struct elapse__server *server)
{
    ELAPSE__ASSERT(server->stopped || elapse__ring_empty(&server->open));
    for (const struct elapse__ring_node *link = server->open.next; link != &server->open;
         link = link->next) {
        const struct elapse__connection *connection = (const void *)link;
        if (connection->dead || connection->is_guessing)
            continue;
        if (elapse__buffer_size(&connection->out) > 0)
            return false;
        if (connection->marks.count > 0) {
            const struct elapse__reply_mark *mark = elapse__reply_marks_at(connection, 0);
            if (mark->reply == NULL || mark->reply->state != ELAPSE__REPLY_WAITING)
                return false;
        }
    }
    return elapse__ring_empty(&server->closing);
}

void elapse__server_set_passwords(struct elapse__server *server,
                                  const struct elapse__queue_text *passwords, size_t count)
{
    ELAPSE__ASSERT(server->options.keys.password_count > 0);
    ELAPSE__ASSERT(passwords != NULL && count > 0);
    server->options.keys.passwords = passwords;
    server->options.keys.password_count = count;
}

void elapse__server_set_memory(struct elapse__server *server, uint64_t bytes)
{
    server->memory_bytes = bytes;
}

void elapse__server_set_usage(struct elapse__server *server, uint64_t user_us, uint64_t system_us)
{
    server->figures.user_us = user_us;
    server->figures.system_us = system_us;
}

/* ---- turns ---- */

/* Returns whether the connection waits for the server, and not for its client. A connection in the
 * ring `work` or `stalled` has a command under way. Answers that come later, also those of reserves
 * that wait for jobs, do not count while the client does not read those that it could have. */
static bool is_served(const struct elapse__connection *connection)
{
    return elapse__ring_has_node(&connection->work) ||
           (connection->marks.count > 0 && elapse__buffer_size(&connection->out) == 0);
}

static void come_idle(struct elapse__connection *connection)
{
    struct elapse__server *server = connection->server;
    uint64_t end_ms = connection->heard_ms + server->options.idle_ms;

    ELAPSE__ASSERT(!connection->facts.is_request);
    if (end_ms > server->now.boot_ms || is_served(connection) ||
        !elapse__ring_empty(&connection->leases.leases)) {
        uint64_t again_ms = server->now.boot_ms + server->options.idle_ms;
        elapse_wheel_start(&server->wheel, &connection->idle.timer,
                           end_ms > server->now.boot_ms ? end_ms : again_ms);
        return;
    }
    elapse__connection_fail(connection);
}

/* Lets the answer to a wrong password leave, and the connection's next commands run. */
static void come_free(struct elapse__connection *connection)
{
    ELAPSE__ASSERT(connection->is_guessing);
    connection->is_guessing = false;
    elapse__connection_release(connection);
}

/* Ends the time that a transaction waits for its client, unless the client was heard meanwhile, or
 * waits for the server itself. */
static void come_silent(struct elapse__connection *connection)
{
    struct elapse__server *server = connection->server;
    uint64_t begin_ms = is_served(connection) ? server->now.boot_ms : connection->heard_ms;
    uint64_t end_ms = begin_ms + ELAPSE__KEPT_MS;

    ELAPSE__ASSERT_THAT(connection->kept_bytes, >, 0);
    ELAPSE__ASSERT_THAT(begin_ms, <=, server->now.boot_ms);
    if (end_ms > server->now.boot_ms)
        elapse_wheel_start(&server->wheel, &connection->kept.timer, end_ms);
    else
        connection->protocol->kept_too_long(connection);
}

/* Returns whether timers are left that are due. */
static bool turn_timers(struct elapse__server *server)
{
    struct elapse_timer *timer;

    elapse_wheel_advance(&server->wheel, server->now.boot_ms);
    while (server->budget > 0 && (timer = elapse_wheel_pop(&server->wheel)) != NULL) {
        struct elapse__server_alarm *alarm = (struct elapse__server_alarm *)(void *)timer;
        (void)elapse__server_spend(server, 1);
        if (alarm->idle != NULL && alarm == &alarm->idle->guess)
            come_free(alarm->idle);
        else if (alarm->idle != NULL && alarm == &alarm->idle->kept)
            come_silent(alarm->idle);
        else if (alarm->idle != NULL)
            come_idle(alarm->idle);
        else
            elapse__reply_time((struct elapse__server_reply *)(void *)alarm);
    }
    return elapse_wheel_next(&server->wheel) <= server->now.boot_ms;
}

/* Looks at the connections that wait until their first mark is durable. Returns whether any are
 * left. */
static bool turn_gated(struct elapse__server *server)
{
    while (!elapse__ring_empty(&server->gated)) {
        struct elapse__connection *connection =
            ELAPSE__CONTAINER_OF(server->gated.next, struct elapse__connection, gated);
        if (connection->examined == server->durable)
            return false;
        if (server->budget == 0)
            return true;
        elapse__ring_leave(&connection->gated);
        (void)elapse__server_spend(server, 1);
        elapse__connection_release(connection);
    }
    return false;
}

/* If the journal has room again, runs the commands again that it could not take. */
static void turn_stalled(struct elapse__server *server)
{
    if (elapse__server_journal_is_full(server))
        return;
    while (!elapse__ring_empty(&server->stalled)) {
        struct elapse__ring_node *link = server->stalled.next;
        elapse__ring_leave(link);
        elapse__ring_append(&server->work, link);
    }
}

/* Runs the connections in the ring `work`. Always returns false, because elapse__server_next_ms
 * says whether the ring has more connections. */
static bool turn_work(struct elapse__server *server)
{
    uint32_t left = server->budget;

    turn_stalled(server);
    while (left > 0 && !elapse__ring_empty(&server->work)) {
        struct elapse__connection *connection =
            ELAPSE__CONTAINER_OF(server->work.next, struct elapse__connection, work);
        uint32_t quantum = left < ELAPSE__QUANTUM ? left : ELAPSE__QUANTUM;
        elapse__ring_leave(&connection->work);
        server->budget = quantum;
        elapse__connection_work(connection);
        ELAPSE__ASSERT_THAT(server->budget, <=, quantum);
        left -= quantum - server->budget + (server->budget > 0);
    }
    server->budget = left;
    return false;
}

/* Serves the reserves that wait for a tube, in their order. Returns false if the journal takes
 * nothing now, or the budget has ended. */
static bool serve_tube(struct elapse__server *server, struct elapse__server_tube *tube)
{
    while (!elapse__ring_empty(&tube->waiters)) {
        struct elapse__server_reply *reply =
            ELAPSE__CONTAINER_OF(tube->waiters.next, struct elapse__waiter, ring_node)->reply;
        struct elapse__connection *connection = reply->connection;
        bool again = false;
        if (!elapse__server_spend(server, ELAPSE__COST_HAND_OUT))
            return false;
        if (!elapse__reply_try(reply, &again)) {
            server->refused |= again;
            return !again;
        }
        /* The reply leaves, and the connection's next commands run, when the turn comes to this
         * connection in `work`. */
        elapse__ring_join_once(&server->work, &connection->work);
    }
    return true;
}

/* Hands out jobs to the reserves that wait for tubes in which something has changed. */
static bool turn_waiting(struct elapse__server *server)
{
    struct elapse__queue_watch *watch;

    if (elapse__engine_rests(server->engine))
        return false;
    while (!elapse__server_journal_is_full(server) && server->budget > 0 &&
           (watch = elapse__queue_watch_next(server->engine->jobs)) != NULL) {
        struct elapse__server_tube *tube = elapse__server_tube_of(watch);
        bool goes_on = serve_tube(server, tube);
        /* Asks the queue to tell the next change of this tube, even if the tube has no job any
         * more. */
        if (!elapse__ring_empty(&tube->waiters))
            elapse__queue_watch_ask(server->engine->jobs, watch);
        if (!goes_on)
            break;
    }
    return false;
}

/* Ends connections that are closed. Returns whether there is more to do now. */
static bool turn_closing(struct elapse__server *server)
{
    const struct elapse__ring_node *last = server->closing.previous;

    while (!elapse__ring_empty(&server->closing)) {
        struct elapse__ring_node *link = server->closing.next;
        bool is_last = link == last;
        if (server->budget == 0)
            return true;
        /* A connection whose readings are still with the shell goes to the end of the ring. */
        if (!elapse__connection_bury(connection_of(link))) {
            (void)elapse__ring_remove(link);
            elapse__ring_append(&server->closing, link);
        }
        if (is_last)
            break;
    }
    return server->budget == 0;
}

/* Runs a stage of a turn, with up to `most` of the units that are left. */
static bool run_stage(struct elapse__server *server, bool (*stage)(struct elapse__server *),
                      uint32_t *left, uint32_t most)
{
    uint32_t share = *left < most ? *left : most;

    server->budget = share;
    bool more = stage(server);
    ELAPSE__ASSERT_THAT(server->budget, <=, share);
    *left -= share - server->budget;
    return more;
}

bool elapse__server_turn(struct elapse__server *server, struct elapse__queue_now now)
{
    uint32_t left =
        server->round > ELAPSE__TURN_BUDGET ? server->round : (uint32_t)ELAPSE__TURN_BUDGET;
    bool more;

    elapse__server_enter(server, now, ELAPSE__TURN_BUDGET);
    server->turned_ms = server->now.boot_ms;
    server->refused = false;
    more = elapse__queue_turn(server->engine->jobs, server->now).more;
    more |= run_stage(server, turn_gated, &left, left / 2);
    more |= run_stage(server, turn_timers, &left, left / 4);
    more |= run_stage(server, turn_waiting, &left, left / 2);
    more |= run_stage(server, turn_closing, &left, left / 4);
    more |= run_stage(server, turn_work, &left, left);
    server->round = ELAPSE__BUDGET;
    elapse__server_leave(server);
    return more || elapse__server_next_ms(server) == 0;
}

uint64_t elapse__server_next_ms(const struct elapse__server *server)
{
    bool full = server->refused || elapse__server_journal_is_full(server);

    if (!elapse__ring_empty(&server->work))
        return 0;
    uint64_t next_ms = elapse_wheel_next(&server->wheel);
    if (next_ms == ELAPSE_NEVER)
        next_ms = UINT64_MAX;
    if (full || !elapse__queue_watch_has_news(server->engine->jobs))
        return next_ms;
    uint64_t rests_until_ms = elapse__engine_rests_until_ms(server->engine);
    if (rests_until_ms <= server->now.boot_ms)
        return 0;
    return rests_until_ms < next_ms ? rests_until_ms : next_ms;
}

struct elapse__connection *elapse__server_attention(struct elapse__server *server)
{
    if (elapse__ring_empty(&server->attention))
        return NULL;
    struct elapse__connection *connection =
        ELAPSE__CONTAINER_OF(server->attention.next, struct elapse__connection, attention);
    elapse__ring_leave(&connection->attention);
    return connection;
}

/* ---- statistics ---- */

const struct elapse__histogram *elapse__server_lateness(const struct elapse__server *server)
{
    return &server->lateness;
}

void elapse__server_sample(struct elapse__server *server, struct elapse__queue_now now,
                           struct elapse__history_sample *sample)
{
    struct elapse__queue *queue = server->engine->jobs;
    struct elapse__queue_statistics jobs = elapse__queue_statistics(queue);
    uint64_t overdue_ms = elapse__queue_overdue_ms(queue, now);

    sample->delayed += jobs.delayed;
    sample->ready += jobs.ready;
    sample->reserved += jobs.reserved;
    sample->buried += jobs.buried;
    sample->put += jobs.total_jobs;
    sample->came_due += elapse__queue_came_due(queue);
    sample->handed_out += server->lateness.count;
    sample->done += jobs.deletes;
    sample->cancelled += jobs.cancelled;
    if (overdue_ms > sample->overdue_ms)
        sample->overdue_ms = overdue_ms;
    for (unsigned i = 0; i < ELAPSE__HISTOGRAM_BUCKETS; i++)
        sample->lateness.counts[i] += server->lateness.counts[i];
    sample->lateness.count += server->lateness.count;
    sample->lateness.sum += server->lateness.sum;
}

void elapse__server_statistics(const struct elapse__server *server, struct elapse__queue_now now,
                               struct elapse__server_statistics *statistics)
{
    *statistics = server->figures;
    statistics->wrong_passwords = server->guesses.total;
    statistics->draining = server->draining;
    statistics->uptime_ms = now.boot_ms > server->started_ms ? now.boot_ms - server->started_ms : 0;
    statistics->jobs = elapse__queue_statistics(server->engine->jobs);
    elapse__journal_figures(server->engine->journal, &statistics->journal);
}
