#include "session.h"

#include <errno.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"

void session_wait(struct connection *connection, const struct client_settings *settings,
                  struct elapse__os_watch *extra, uint64_t since_ns)
{
    struct elapse__os_watch watches[2] = {connection_watch(connection), {.file = -1}};
    uint64_t now_ns = elapse__os_monotonic_ns();
    uint64_t until_ns = since_ns + settings->timeout_ns;
    uint64_t wake_ns = connection_wake_ns(connection);
    bool is_waiting = connection_awaited(connection) > 0;

    ELAPSE__ASSERT(connection_fault(connection) == CONNECTION_WORKS);
    ELAPSE__ASSERT_THAT(since_ns, <=, now_ns);
    if (is_waiting && now_ns >= until_ns) {
        /* The reply may have come while this process was stopped. */
        if (!connection_look(connection) && connection_fault(connection) == CONNECTION_WORKS)
            connection_give_up(connection, "there was no reply in time");
        return;
    }
    if (is_waiting && until_ns < wake_ns)
        wake_ns = until_ns;
    if (extra != NULL)
        watches[1] = *extra;
    (void)elapse__os_wait(watches, 2,
                          wake_ns == UINT64_MAX ? ELAPSE__OS_FOREVER
                          : wake_ns > now_ns    ? wake_ns - now_ns
                                                : 0);
    if (extra != NULL)
        *extra = watches[1];
    if (watches[0].ready || elapse__os_monotonic_ns() >= connection_wake_ns(connection))
        connection_turn(connection);
}

enum exit_status session_report(const struct connection *connection,
                                const struct client_settings *settings)
{
    enum connection_fault fault = connection_fault(connection);
    const char *why = connection_fault_text(connection);

    ELAPSE__ASSERT(fault != CONNECTION_WORKS);
    if (fault == CONNECTION_BROKEN)
        print_error("%s: %s; nobody knows whether the command was done", settings->server, why);
    else if (fault == CONNECTION_REFUSED)
        print_error("%s: no connection: %s%s", settings->server, why,
                    strcmp(why, elapse__os_error_text(ECONNREFUSED)) == 0
                        ? "; is the server running? 'elapse serve' starts one"
                        : "");
    else
        print_error("%s: %s", settings->server, why);
    return answer_status_of_fault(fault);
}

enum exit_status session_report_unsent(const struct connection *connection,
                                       const struct client_settings *settings, const char *last)
{
    enum connection_fault fault = connection_fault(connection);
    enum exit_status status = answer_status_of_fault(fault);

    ELAPSE__ASSERT(fault != CONNECTION_WORKS);
    print_error("%s: %s after %s; what is behind it was not sent", settings->server,
                connection_fault_text(connection), last);
    return fault == CONNECTION_BROKEN ? STATUS_NO_SERVER : status;
}

enum exit_status session_report_error(const struct answer *answer, const char *part)
{
    ELAPSE__ASSERT(answer->error != NULL);
    ELAPSE__ASSERT(answer->status != STATUS_OK);
    print_error("%s%s%s", part == NULL ? "" : part, part == NULL ? "" : ": ", answer->error);
    return answer->status;
}

redisReply *session_ask(struct connection *connection, const struct client_settings *settings,
                        const struct request *request, enum exit_status *status)
{
    redisReply *reply = NULL;
    uint64_t since_ns = elapse__os_monotonic_ns();

    /* Otherwise the reply to an earlier request would be taken for the reply to this one. */
    ELAPSE__ASSERT(connection_fault(connection) != CONNECTION_WORKS ||
                   connection_awaited(connection) == 0);
    if (connection_fault(connection) == CONNECTION_WORKS)
        connection_add(connection, request);
    while (connection_fault(connection) == CONNECTION_WORKS) {
        reply = connection_take(connection);
        if (reply != NULL)
            return reply;
        if (connection_fault(connection) == CONNECTION_WORKS)
            session_wait(connection, settings, NULL, since_ns);
    }
    reply = connection_take(connection);
    if (reply == NULL)
        *status = session_report(connection, settings);
    return reply;
}
