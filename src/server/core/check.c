/*
 * The invariants of the core. inner.h explains the rings and buffers of a connection.
 * elapse__server_check returns the number of the first invariant that it finds broken:
 *
 *  1. The connections in `open` are as many as are counted. A connection knows whether it is in
 *     `open` or in `closing`.
 *  2. The marks of a connection follow each other, and cover the whole replies of `held`.
 *  3. A connection waits if and only if one of its replies waits. A waiting reply is in the ring of
 *     each of its tubes.
 *  4. A connection whose first mark waits for the journal is in `gated` or in `work`. No other
 *     connection stays in `gated`. In `gated` those come first whose marks were looked at longest
 *     ago.
 *  5. A connection that could run a command is in `work` or `stalled`.
 *  6. The shell gets no byte that is not durable: `out` and `held` have as many
 *     bytes as were counted.
 *  7. The figures of the server are the sums of its connections.
 */
#include "connection.h"
#include "marks.h"
#include "run.h"

enum {
    BROKEN_OPEN = 1,
    BROKEN_MARKS,
    BROKEN_WAITING,
    BROKEN_GATED,
    BROKEN_WORK,
    BROKEN_BYTES,
    BROKEN_FIGURES,
};

struct sums {
    uint64_t connections, producers, workers, waiting, kept_bytes;
};

static bool sits(const struct elapse__server_reply *reply, bool waits)
{
    for (uint32_t i = 0; i < reply->waiter_count; i++)
        if (elapse__ring_has_node(&reply->waiters[i].ring_node) != waits)
            return false;
    return true;
}

static unsigned check_marks(const struct elapse__connection *connection, uint32_t *waiting)
{
    uint64_t end = connection->held_gone;

    for (uint32_t i = 0; i < connection->marks.count; i++) {
        const struct elapse__reply_mark *mark = elapse__reply_marks_at(connection, i);
        if (mark->reply == NULL ? mark->end <= end : mark->end != end)
            return BROKEN_MARKS;
        end = mark->end;
        if (mark->reply == NULL)
            continue;
        bool waits = mark->reply->state == ELAPSE__REPLY_WAITING;
        if (mark->reply->connection != connection || !sits(mark->reply, waits))
            return BROKEN_WAITING;
        *waiting += waits;
    }
    return end == connection->held_end ? 0 : BROKEN_MARKS;
}

/* Returns whether invariant 4 is broken: the first mark waits for the journal, and no turn will
 * look at the connection; or the first mark does not wait, a turn has seen that, and the connection
 * is still in `gated`. */
static bool is_forgotten(const struct elapse__connection *connection)
{
    bool waits = elapse__reply_marks_wait_for_journal(connection);
    bool gated = elapse__ring_has_node(&connection->gated);

    if (waits)
        return !gated && !elapse__ring_has_node(&connection->work);
    return gated && connection->examined == connection->server->durable &&
           !elapse__ring_has_node(&connection->work);
}

/* Returns whether the connections in `gated` are in their order. */
static bool is_gated_in_order(const struct elapse__server *server)
{
    uint64_t examined = 0;

    for (const struct elapse__ring_node *link = server->gated.next; link != &server->gated;
         link = link->next) {
        const struct elapse__connection *connection =
            ELAPSE__CONTAINER_OF(link, const struct elapse__connection, gated);
        if (connection->examined < examined || connection->examined > server->durable)
            return false;
        examined = connection->examined;
    }
    return true;
}

static unsigned check_open(const struct elapse__connection *connection, struct sums *sums)
{
    uint32_t waiting = 0;
    unsigned broken = connection->dead ? 0 : check_marks(connection, &waiting);

    sums->connections++;
    sums->producers += connection->is_producer;
    sums->workers += connection->is_worker;
    sums->waiting += connection->waiting;
    sums->kept_bytes += connection->kept_bytes;
    if (broken != 0 || connection->dead)
        return broken;
    if (waiting != connection->waiting)
        return BROKEN_WAITING;
    if (is_forgotten(connection))
        return BROKEN_GATED;
    if (elapse__connection_can_run(connection) && !elapse__ring_has_node(&connection->work))
        return BROKEN_WORK;
    if (connection->out_end - connection->sent != elapse__buffer_size(&connection->out) ||
        connection->reply_begin != connection->held_end - connection->held_gone ||
        connection->reply_begin > elapse__buffer_size(&connection->held))
        return BROKEN_BYTES;
    return 0;
}

unsigned elapse__server_check(const struct elapse__server *server)
{
    const struct elapse__server_statistics *figures = &server->figures;
    struct sums sums = {0};

    for (const struct elapse__ring_node *link = server->open.next; link != &server->open;
         link = link->next) {
        const struct elapse__connection *connection = (const void *)link;
        unsigned broken = connection->closed ? BROKEN_OPEN : check_open(connection, &sums);
        if (broken != 0)
            return broken;
    }
    if (sums.connections != figures->connections)
        return BROKEN_OPEN;
    if (!is_gated_in_order(server))
        return BROKEN_GATED;
    for (const struct elapse__ring_node *link = server->closing.next; link != &server->closing;
         link = link->next) {
        const struct elapse__connection *connection = (const void *)link;
        if (!connection->closed)
            return BROKEN_OPEN;
        sums.waiting += connection->waiting;
    }
    return sums.producers == figures->producers && sums.workers == figures->workers &&
                   sums.waiting == figures->waiting && sums.kept_bytes == server->kept_bytes
               ? 0
               : BROKEN_FIGURES;
}
