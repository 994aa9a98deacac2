/*
 * Begins and ends each call of the core, and ends a connection that fails.
 */
#include "inner.h"

void elapse__server_enter(struct elapse__server *server, struct elapse__queue_now now,
                          uint32_t kept)
{
    uint32_t left = server->round > kept ? server->round - kept : 0;

    ELAPSE__ASSERT(server->engine->batch == NULL);
    ELAPSE__ASSERT_THAT(now.boot_ms, >=, server->now.boot_ms);
    server->now = now;
    server->engine->batch = &server->now;
    ELAPSE__ASSERT_THAT(server->durable, <=, elapse__journal_durable(server->engine->journal));
    server->durable = elapse__journal_durable(server->engine->journal);
    server->budget = left < ELAPSE__QUANTUM ? left : ELAPSE__QUANTUM;
}

void elapse__server_leave(struct elapse__server *server)
{
    ELAPSE__ASSERT(server->engine->batch == &server->now);
    server->engine->batch = NULL;
}

void elapse__connection_fail(struct elapse__connection *connection)
{
    ELAPSE__ASSERT(!connection->closed);
    connection->dead = true;
    elapse__ring_join_once(&connection->server->work, &connection->work);
}

bool elapse__connection_may_format(const struct elapse__connection *connection)
{
    size_t waiting = elapse__buffer_size(&connection->out);

    if (connection->facts.is_request)
        return true;
    return waiting < ELAPSE__OUT_BYTES && waiting < connection->server->options.output_bytes_max;
}

bool elapse__connection_is_choked(const struct elapse__connection *connection)
{
    if (connection->facts.is_request)
        return false;
    /* The first replies wait for the socket. Further replies would only wait behind them. */
    if (connection->reply_bytes > 0 && !elapse__connection_may_format(connection))
        return true;
    return elapse__buffer_size(&connection->held) + elapse__buffer_size(&connection->out) +
               connection->marks.count * sizeof(struct elapse__reply_mark) +
               connection->reply_bytes >=
           connection->server->options.output_bytes_max;
}
