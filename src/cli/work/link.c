#include "link.h"

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../common/message.h"
#include "worker.h"

#define RECONNECT_MIN_NS UINT64_C(100000000)
#define RECONNECT_MAX_NS UINT64_C(5000000000)
#define ENDED_NS         (WORKER_NEVER - 1) /* a value of `retry_ns`: the link is closed for ever */

static void check(const struct link *link)
{
    (void)link; /* used only by assertions */
    ELAPSE__ASSERT_THAT(link->pause_ns, >=, RECONNECT_MIN_NS);
    ELAPSE__ASSERT_THAT(link->pause_ns, <=, RECONNECT_MAX_NS);
    ELAPSE__ASSERT_THAT(link->limit_ns, >, 0U);
}

void link_begin(struct link *link, const struct client_settings *settings, uint64_t limit_ns)
{
    *link = (struct link){.settings = settings,
                          .connection = connection_new(settings),
                          .pause_ns = RECONNECT_MIN_NS,
                          .limit_ns = limit_ns};
    check(link);
}

bool link_is_there(const struct link *link)
{
    return link->retry_ns == WORKER_NEVER;
}

bool link_try(struct link *link, uint64_t now_ns)
{
    if (now_ns < link->retry_ns || link_is_there(link))
        return false;
    connection_open(link->connection);
    link->was_made = false;
    link->retry_ns = WORKER_NEVER;
    link->since_ns = now_ns;
    return true;
}

void link_report(struct link *link)
{
    if (!link->was_made && connection_is_made(link->connection)) {
        link->was_made = true;
        if (link->is_reported)
            print_error("%s: connected again", link->settings->server);
        link->is_reported = false;
    }
    if (connection_fault(link->connection) != CONNECTION_WORKS && !link->is_reported) {
        link->is_reported = true;
        print_error("%s: no connection: %s; trying again", link->settings->server,
                    connection_fault_text(link->connection));
    }
}

static bool awaits_reply(const struct link *link)
{
    return link_is_there(link) && connection_fault(link->connection) == CONNECTION_WORKS &&
           connection_awaited(link->connection) > 0;
}

void link_turn(struct link *link, bool is_ready)
{
    if (is_ready || elapse__os_monotonic_ns() >= connection_wake_ns(link->connection))
        connection_turn(link->connection);
}

void link_watch_time(struct link *link, uint64_t now_ns)
{
    ELAPSE__ASSERT_THAT(link->since_ns, <=, now_ns);
    if (awaits_reply(link) && now_ns - link->since_ns > link->limit_ns)
        connection_give_up(link->connection, "there was no reply in time");
}

/* Makes the pause after the next loss the shortest again. Called only when a reply has come, not
 * when a connection is made. If not, the worker would try a server that accepts connections and
 * closes them ten times a second. */
void link_answered(struct link *link)
{
    ELAPSE__ASSERT(link_is_there(link));
    link->pause_ns = RECONNECT_MIN_NS;
}

void link_lost(struct link *link, uint64_t now_ns)
{
    ELAPSE__ASSERT(link_is_there(link));
    connection_close(link->connection);
    link->retry_ns = now_ns + link->pause_ns;
    link->pause_ns = 2 * link->pause_ns < RECONNECT_MAX_NS ? 2 * link->pause_ns : RECONNECT_MAX_NS;
    check(link);
    ELAPSE__ASSERT(!link_is_there(link));
}

void link_end(struct link *link)
{
    connection_close(link->connection);
    link->retry_ns = ENDED_NS;
}

uint64_t link_wake_ns(const struct link *link)
{
    if (!link_is_there(link))
        return link->retry_ns;
    /* The connection was lost during sending. The caller has to look after it at once. */
    if (connection_fault(link->connection) != CONNECTION_WORKS)
        return 0;
    uint64_t wake_ns = connection_wake_ns(link->connection);
    uint64_t limit_ns = awaits_reply(link) ? link->since_ns + link->limit_ns : WORKER_NEVER;
    return wake_ns < limit_ns ? wake_ns : limit_ns;
}
