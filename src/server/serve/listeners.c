#include "listeners.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../http/http.h"
#include "../http/room.h"
#include "../loop/loop.h"

enum {
    ACCEPTS_A_TURN = 64,
    PAUSE_MS = 100, /* before connections are taken again after EMFILE */
};

/* ---- taking connections ---- */

static void set_accepting(struct elapse__loop *loop, bool wanted)
{
    for (size_t i = 0; i < loop->listener_count; i++) {
        struct event *event = loop->listeners[i]->can_accept;
        if (loop->listeners[i]->is_http)
            continue;
        (void)(wanted ? event_add(event, NULL) : event_del(event));
    }
}

static void on_accept_again(evutil_socket_t descriptor, short what, void *argument)
{
    (void)descriptor;
    (void)what;
    set_accepting(argument, true);
}

/* Takes no connection for a while, because this machine cannot take one now. Connections stay in
 * the queue of the listener. Asking again at once would only keep the processor busy. */
static void pause_accepting(struct elapse__loop *loop, int error)
{
    const struct timeval pause = {.tv_usec = PAUSE_MS * 1000};

    elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_WARNING, ELAPSE__EVENT_ACCEPT,
                   "no connection can be taken now: %s", elapse__os_error_text(error));
    if (event_add(loop->accept_again, &pause) == 0)
        set_accepting(loop, false);
}

/* Returns whether there is a descriptor for another connection. */
static bool has_room(struct elapse__loop *loop)
{
    const struct elapse__peers *peers = &loop->peers;

    if (peers->count >= elapse__peers_most(peers) && loop->http != NULL)
        elapse__http_count(loop->http);
    return peers->count < elapse__peers_most(peers);
}

static void on_connection(evutil_socket_t descriptor, short what, void *argument)
{
    struct elapse__listener *listener = argument;
    struct elapse__loop *loop = listener->loop;
    struct elapse__os_address from;
    int socket;

    (void)descriptor;
    (void)what;
    ELAPSE__ASSERT(!listener->is_http);
    for (unsigned i = 0; i < ACCEPTS_A_TURN; i++) {
        int error = has_room(loop) ? elapse__os_accept(listener->socket, &socket, &from) : EMFILE;
        if (error == EAGAIN)
            return;
        if (error != 0) {
            pause_accepting(loop, error);
            return;
        }
        struct elapse__peer *peer =
            elapse__peer_new(&loop->peers, socket, elapse__os_address_is_local(&from),
                             listener->tls ? loop->keys : NULL);
        if (peer == NULL) {
            pause_accepting(loop, ENOMEM);
            return;
        }
        peer->place = elapse__os_address_place(&from);
        elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_DEBUG, ELAPSE__EVENT_CONNECTED, "%s",
                       elapse__os_address_text(&from).text);
        elapse__loop_welcome(loop, peer);
    }
}

/* ---- opening ---- */

static bool refuse(struct elapse__loop *loop, const char *where, const char *why)
{
    elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_ERROR, ELAPSE__EVENT_LISTENING, "%s: %s",
                   where, why);
    return false;
}

/* Refuses an address that another program has, and names the option that gives another one. */
static bool refuse_used(struct elapse__loop *loop, const struct elapse__os_address *address,
                        bool is_http)
{
    char why[200];

    (void)snprintf(why, sizeof why, "%s; give another address by %s",
                   elapse__os_error_text(EADDRINUSE), is_http ? "--http" : "--listen");
    return refuse(loop, elapse__os_address_text(address).text, why);
}

/* Adds a socket that listens. */
static bool add_listener(struct elapse__loop *loop, int socket, const struct elapse__listener *kind)
{
    struct elapse__listener *listener = calloc(1, sizeof *listener);

    if (listener == NULL) {
        (void)elapse__os_close(socket);
        return refuse(loop, "listening", "out of memory");
    }
    ELAPSE__ASSERT(kind->loop == NULL && kind->can_accept == NULL);
    *listener = *kind;
    listener->loop = loop;
    listener->socket = socket;
    ELAPSE__ASSERT_THAT(loop->listener_count, <, ELAPSE__LISTENERS_MAX);
    loop->listeners[loop->listener_count++] = listener;
    int error = elapse__os_listener_address(socket, &listener->address);
    return error == 0 || refuse(loop, kind->is_passed ? "a socket that was passed" : "listening",
                                elapse__os_error_text(error));
}

/* Returns whether the options allow this address: a server that everybody can reach needs
 * passwords.
 */
static bool is_allowed(struct elapse__loop *loop, const struct elapse__os_address *address)
{
    if (elapse__os_address_is_local(address) || loop->options->auth != NULL ||
        loop->options->users != NULL || loop->options->insecure)
        return true;
    return refuse(loop, elapse__os_address_text(address).text,
                  "other machines can reach this address: give --auth or --users, or --insecure");
}

static bool listen_at(struct elapse__loop *loop, const struct elapse__loop_listen *listen,
                      bool is_http)
{
    const struct elapse__listener kind = {.tls = listen->tls, .is_http = is_http};
    struct elapse__os_address addresses[ELAPSE__OS_ADDRESSES_MAX];
    size_t count = 1;
    size_t listening = 0;
    int error = 0;

    if (listen->is_path) {
        error = elapse__os_path_address(listen->host, addresses);
        if (error != 0)
            return refuse(loop, listen->host, elapse__os_error_text(error));
    } else {
        const char *fault = elapse__os_resolve(listen->host, listen->port, addresses, &count);
        if (fault != NULL)
            return refuse(loop, listen->host, fault);
    }
    ELAPSE__ASSERT_THAT(count, >, 0);
    ELAPSE__ASSERT_THAT(count, <=, ELAPSE__OS_ADDRESSES_MAX);
    for (size_t i = 0; i < count; i++) {
        int socket;
        if (!is_allowed(loop, &addresses[i]))
            return false;
        error = elapse__os_listen_at(&addresses[i], &socket);
        /* A name may have an address of a family that this machine lacks. */
        if ((error == EADDRNOTAVAIL || error == EAFNOSUPPORT) && (i + 1 < count || listening > 0))
            continue;
        if (error == EADDRINUSE)
            return refuse_used(loop, &addresses[i], is_http);
        if (error != 0)
            return refuse(loop, elapse__os_address_text(&addresses[i]).text,
                          elapse__os_error_text(error));
        if (!add_listener(loop, socket, &kind))
            return false;
        listening++;
    }
    return listening > 0 || refuse(loop, listen->host, elapse__os_error_text(error));
}

static bool take_passed(struct elapse__loop *loop, size_t *count)
{
    struct elapse__os_passed passed[ELAPSE__OS_PASSED_MAX];

    *count = elapse__os_take_passed(passed);
    if (*count == SIZE_MAX)
        return refuse(loop, "LISTEN_FDS", "too many sockets were passed");
    for (size_t i = 0; i < *count; i++) {
        const struct elapse__listener kind = {
            .tls =
                strncmp(passed[i].name, "tls", 3) == 0 || strncmp(passed[i].name, "https", 5) == 0,
            .is_http = strncmp(passed[i].name, "http", 4) == 0,
            .is_passed = true,
        };
        if (!add_listener(loop, passed[i].socket, &kind) ||
            !is_allowed(loop, &loop->listeners[loop->listener_count - 1]->address))
            return false;
    }
    return true;
}

bool elapse__listeners_open(struct elapse__loop *loop)
{
    const struct elapse__loop_options *options = loop->options;
    static const struct elapse__loop_listen standard = {.host = "127.0.0.1", .port = "11300"};
    size_t passed;

    ELAPSE__ASSERT_THAT(loop->listener_count, ==, 0);
    if (!take_passed(loop, &passed))
        return false;
    for (size_t i = 0; i < options->listen_count; i++)
        if (!listen_at(loop, &options->listens[i], false))
            return false;
    if (options->listen_count == 0 && passed == 0 && !listen_at(loop, &standard, false))
        return false;
    for (size_t i = 0; i < options->http_count; i++)
        if (!listen_at(loop, &options->https[i], true))
            return false;
    for (size_t i = 0; i < loop->listener_count; i++)
        if (loop->listeners[i]->tls && loop->keys == NULL)
            return refuse(loop, elapse__os_address_text(&loop->listeners[i]->address).text,
                          "TLS needs --tls-certificate and --tls-key");
    ELAPSE__ASSERT_THAT(loop->listener_count, >, 0);
    return true;
}

/* Begins to take connections of one listener. libevent takes the connections of HTTP. */
static bool start_listener(struct elapse__loop *loop, struct elapse__listener *listener)
{
    ELAPSE__ASSERT(listener->can_accept == NULL);
    ELAPSE__ASSERT(!listener->tls || loop->keys != NULL);
    if (listener->is_http)
        return elapse__http_listen(loop->http, listener->socket, listener->tls);
    listener->can_accept = elapse__loop_event(loop->peers.base, listener->socket,
                                              EV_READ | EV_PERSIST, NULL, on_connection, listener);
    return listener->can_accept != NULL;
}

bool elapse__listeners_start(struct elapse__loop *loop)
{
    ELAPSE__ASSERT(loop->accept_again == NULL && !loop->peers.is_stopping);
    loop->accept_again = event_new(loop->peers.base, -1, 0, on_accept_again, loop);
    if (loop->accept_again == NULL)
        return false;
    for (size_t i = 0; i < loop->listener_count; i++) {
        struct elapse__listener *listener = loop->listeners[i];
        if (!start_listener(loop, listener))
            return false;
        elapse__logger(&loop->peers.logger, ELAPSE__LOGGER_NOTICE, ELAPSE__EVENT_LISTENING,
                       "%s%s%s", listener->is_http ? "http:" : "", listener->tls ? "tls:" : "",
                       elapse__os_address_text(&listener->address).text);
    }
    return true;
}

void elapse__listeners_close(struct elapse__loop *loop)
{
    if (loop->http != NULL)
        elapse__http_listen_no_more(loop->http);
    for (size_t i = 0; i < loop->listener_count; i++) {
        struct elapse__listener *listener = loop->listeners[i];
        elapse__loop_event_free(listener->can_accept);
        (void)elapse__os_close(listener->socket);
        if (!listener->is_passed && listener->address.size > 0)
            elapse__os_address_remove(&listener->address);
        free(listener);
    }
    loop->listener_count = 0;
    elapse__loop_event_free(loop->accept_again);
    loop->accept_again = NULL;
}
