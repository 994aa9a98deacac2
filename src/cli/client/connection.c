#include "connection.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/sockets.h"
#include "../common/text.h"

enum {
    RECEIVE_BYTES = 64 << 10,
    RECEIVES_A_TURN = 16,
    RECEIVES_A_LOOK = 256,      /* 16 MiB: more than the buffer of a socket holds */
    VALUE_BYTES_MAX = 64 << 20, /* twice the longest body */
    FAULT_BYTES = 300,
    ARRAY_VALUES_MAX = 65536, /* far more than any reply has */
};

/* Receives until the connection has ended, or has nothing more. */
#define RECEIVES_ALL UINT_MAX

enum state { CLOSED, CONNECTING, CONNECTED };

struct connection {
    const struct client_settings *settings;
    enum state state;
    int socket;
    struct elapse__tls_session *tls;
    redisReader *reader;
    redisReply *seen; /* the next reply, if connection_look has found one; else NULL */
    struct elapse__buffer out;
    size_t awaited; /* how many requests have no reply yet, without AUTH */
    bool awaits_auth;
    size_t auth_unsent; /* bytes of AUTH at the beginning of `out` */
    bool sent_request;  /* at least one byte after AUTH was sent */
    bool has_replied;   /* at least one reply of this protocol has come */
    bool ends;          /* no request will be added */
    bool said_end;      /* the server was told that no request follows */
    bool needs_data;    /* TLS must receive before it can send more */

    struct elapse__os_address addresses[ELAPSE__OS_ADDRESSES_MAX];
    size_t address_count;
    size_t address_next;
    uint64_t open_until_ns;    /* when the time for all addresses is over */
    uint64_t address_until_ns; /* when the time for this address is over, if another one is left */

    enum connection_fault fault;
    char fault_text[FAULT_BYTES];
    unsigned char received[RECEIVE_BYTES];
};

static void check(const struct connection *connection)
{
    (void)connection; /* used only by assertions */
    ELAPSE__ASSERT((connection->state == CLOSED) == (connection->socket < 0));
    ELAPSE__ASSERT(connection->fault == CONNECTION_WORKS || connection->state == CLOSED);
    ELAPSE__ASSERT(connection->tls == NULL || connection->state == CONNECTED);
    ELAPSE__ASSERT(!connection->said_end || connection->ends);
    ELAPSE__ASSERT_THAT(connection->auth_unsent, <=, elapse__buffer_size(&connection->out));
    ELAPSE__ASSERT_THAT(connection->address_next, <=, connection->address_count);
}

struct connection *connection_new(const struct client_settings *settings)
{
    struct connection *connection = allocate(sizeof *connection);

    ELAPSE__ASSERT_THAT(settings->timeout_ns, >, 0);
    memset(connection, 0, sizeof *connection);
    connection->settings = settings;
    connection->socket = -1;
    return connection;
}

static void close_socket(struct connection *connection)
{
    if (connection->tls != NULL)
        elapse__tls_end(connection->tls);
    connection->tls = NULL;
    if (connection->socket >= 0)
        (void)elapse__os_close(connection->socket);
    connection->socket = -1;
}

void connection_close(struct connection *connection)
{
    close_socket(connection);
    if (connection->seen != NULL)
        freeReplyObject(connection->seen);
    connection->seen = NULL;
    if (connection->reader != NULL)
        redisReaderFree(connection->reader);
    connection->reader = NULL;
    connection->state = CLOSED;
    elapse__buffer_clear(&connection->out);
    connection->auth_unsent = 0;
    connection->awaited = 0;
    check(connection);
}

void connection_free(struct connection *connection)
{
    connection_close(connection);
    elapse__buffer_free(&connection->out);
    free(connection);
}

enum connection_fault connection_fault(const struct connection *connection)
{
    return connection->fault;
}

const char *connection_fault_text(const struct connection *connection)
{
    return connection->fault_text;
}

bool connection_is_made(const struct connection *connection)
{
    return connection->state == CONNECTED && !connection->awaits_auth &&
           connection->fault == CONNECTION_WORKS;
}

size_t connection_awaited(const struct connection *connection)
{
    return connection->awaited;
}

size_t connection_unsent(const struct connection *connection)
{
    return elapse__buffer_size(&connection->out);
}

static void lose(struct connection *connection, enum connection_fault fault, const char *why)
{
    ELAPSE__ASSERT(fault != CONNECTION_WORKS);
    connection->fault = fault;
    (void)snprintf(connection->fault_text, sizeof connection->fault_text, "%s", why);
    mask_control_characters(connection->fault_text);
    close_socket(connection);
    connection->state = CLOSED;
}

/* Returns whether the server may have run a request. Requests are sent together with AUTH, so the
 * server may have run some although its reply to AUTH did not arrive. */
static bool may_have_run(const struct connection *connection)
{
    return connection->state == CONNECTED &&
           (!connection->awaits_auth || connection->sent_request) &&
           (connection->tls == NULL || elapse__tls_is_open(connection->tls));
}

void connection_give_up(struct connection *connection, const char *why)
{
    bool was_there = may_have_run(connection);

    ELAPSE__ASSERT(connection->fault == CONNECTION_WORKS); /* the first fault is the one to tell */
    lose(connection, was_there ? CONNECTION_BROKEN : CONNECTION_REFUSED, why);
}

/* ---- reading replies ---- */

#if HIREDIS_MAJOR < 1
typedef int array_count;
#else
typedef size_t array_count;
#endif

static void *(*make_array)(const redisReadTask *task, array_count count);

/* Refuses arrays of too many values. An array begins with the count of its values, and hiredis
 * allocates room for all of them at once. So a short line could make hiredis allocate 16 GiB. */
static void *make_bounded_array(const redisReadTask *task, array_count count)
{
    return count > ARRAY_VALUES_MAX ? NULL : make_array(task, count);
}

/* Returns a reader, or NULL if there is no memory. */
static redisReader *new_reader(void)
{
    static redisReplyObjectFunctions functions;
    redisReader *reader = redisReaderCreate();

    if (reader == NULL)
        return NULL;
    functions = *reader->fn;
    make_array = functions.createArray;
    functions.createArray = make_bounded_array;
    reader->fn = &functions;
    return reader;
}

/* ---- connecting ---- */

/* Divides the time that is left equally among the addresses that are left. */
static void share_time(struct connection *connection)
{
    uint64_t now_ns = elapse__os_monotonic_ns();
    uint64_t left_ns = connection->open_until_ns > now_ns ? connection->open_until_ns - now_ns : 0;

    ELAPSE__ASSERT(connection->state == CONNECTING);
    ELAPSE__ASSERT_THAT(connection->address_next, >, 0U);
    ELAPSE__ASSERT_THAT(connection->address_next, <=, connection->address_count);
    connection->address_until_ns =
        now_ns + left_ns / (connection->address_count - connection->address_next + 1);
}

/* Tries one address after the other, until a connection begins. */
static void try_next(struct connection *connection, int error)
{
    ELAPSE__ASSERT(connection->state != CONNECTED);
    close_socket(connection);
    while (connection->address_next < connection->address_count) {
        const struct elapse__os_address *address =
            &connection->addresses[connection->address_next++];
        error = elapse__os_connect_to(address, &connection->socket);
        if (error == 0) {
            connection->state = CONNECTING;
            share_time(connection);
            return;
        }
        connection->socket = -1;
    }
    lose(connection, CONNECTION_REFUSED, elapse__os_error_text(error));
}

static const char *find_addresses(struct connection *connection)
{
    const struct elapse__loop_listen *at = &connection->settings->address;

    connection->address_next = 0;
    if (!at->is_path)
        return elapse__os_resolve(at->host, at->port, connection->addresses,
                                  &connection->address_count);
    connection->address_count = 1;
    int error = elapse__os_path_address(at->host, &connection->addresses[0]);
    return error == 0 ? NULL : elapse__os_error_text(error);
}

static void add_auth(struct connection *connection)
{
    static struct request request;

    ELAPSE__ASSERT_THAT(elapse__buffer_size(&connection->out), ==, 0U);
    connection->awaits_auth = connection->settings->token != NULL;
    if (!connection->awaits_auth)
        return;
    request_clear(&request);
    request_add_text(&request, "AUTH");
    if (connection->settings->user != NULL)
        request_add_text(&request, connection->settings->user);
    request_add_text(&request, connection->settings->token);
    request_write(&request, &connection->out);
    request_free(&request);
    connection->auth_unsent = elapse__buffer_size(&connection->out);
}

void connection_open(struct connection *connection)
{
    connection_close(connection);
    ELAPSE__ASSERT_THAT(connection->awaited, ==, 0U);
    connection->fault = CONNECTION_WORKS;
    connection->ends = false;
    connection->said_end = false;
    connection->needs_data = false;
    connection->sent_request = false;
    connection->has_replied = false;
    connection->reader = new_reader();
    if (connection->reader == NULL) {
        lose(connection, CONNECTION_REFUSED, "out of memory");
        return;
    }
    add_auth(connection);
    const char *fault = find_addresses(connection);
    connection->open_until_ns = elapse__os_monotonic_ns() + connection->settings->timeout_ns;
    if (fault != NULL)
        lose(connection, CONNECTION_REFUSED, fault);
    else
        try_next(connection, 0);
    check(connection);
}

/* Called when the socket has connected or has failed. Begins TLS, or tries the next address. */
static void finish_connecting(struct connection *connection)
{
    int error = elapse__os_connect_error(connection->socket);

    ELAPSE__ASSERT(connection->state == CONNECTING);
    ELAPSE__ASSERT(connection->tls == NULL);
    if (error != 0) {
        try_next(connection, error);
        return;
    }
    if (connection->settings->trust != NULL) {
        connection->tls = elapse__tls_connect(connection->settings->trust, connection->socket,
                                              connection->settings->address.host);
        if (connection->tls == NULL) {
            lose(connection, CONNECTION_REFUSED, "out of memory");
            return;
        }
    }
    connection->state = CONNECTED;
}

/* ---- sending and receiving ---- */

/* Notes that the connection is lost, because the socket has failed with `error`, or because the
 * server has closed it (0). */
static void lose_socket(struct connection *connection, int error)
{
    const char *why =
        error == 0 ? "the server has closed the connection" : elapse__os_error_text(error);
    const char *distrust = connection->tls == NULL ? NULL : elapse__tls_distrust(connection->tls);

    ELAPSE__ASSERT(connection->state == CONNECTED);
    if (distrust != NULL)
        why = distrust;
    else if (error == EPROTO)
        why = "what answers does not speak TLS, or refuses this client";
    lose(connection,
         may_have_run(connection) && distrust == NULL ? CONNECTION_BROKEN : CONNECTION_REFUSED,
         why);
}

static void count_sent(struct connection *connection, size_t sent)
{
    size_t of_auth = sent < connection->auth_unsent ? sent : connection->auth_unsent;

    ELAPSE__ASSERT_THAT(sent, >, 0);
    ELAPSE__ASSERT_THAT(sent, <=, elapse__buffer_size(&connection->out));
    elapse__buffer_take(&connection->out, sent);
    connection->auth_unsent -= of_auth;
    connection->sent_request = connection->sent_request || sent > of_auth;
}

/* Notes that the connection is lost, because bytes came that are no reply to a request. If replies
 * came before these bytes, the server may have run requests. */
static void lose_sense(struct connection *connection)
{
    lose(connection, connection->has_replied ? CONNECTION_BROKEN : CONNECTION_STRANGE,
         "the answer is not of the protocol of elapse; the port of --listen is wanted, not that of "
         "--http");
}

void connection_add(struct connection *connection, const struct request *request)
{
    ELAPSE__ASSERT(!connection->ends);
    /* It was opened. A request that is added to a lost connection is dropped with it. */
    ELAPSE__ASSERT(connection->reader != NULL || connection->fault != CONNECTION_WORKS);
    request_write(request, &connection->out);
    connection->awaited++;
}

void connection_add_no_more(struct connection *connection)
{
    connection->ends = true;
}

static void say_end(struct connection *connection)
{
    ELAPSE__ASSERT(connection->ends);
    ELAPSE__ASSERT(!connection->said_end);
    ELAPSE__ASSERT_THAT(elapse__buffer_size(&connection->out), ==, 0U);
    connection->said_end = true;
    if (connection->tls != NULL)
        elapse__tls_send_no_more(connection->tls);
    elapse__os_send_no_more(connection->socket);
}

/* Sends as much as the socket takes. Returns 0 if the socket may take more later, or else the
 * error. */
static int send_some(struct connection *connection)
{
    ELAPSE__ASSERT(connection->state == CONNECTED);
    connection->needs_data = false;
    while (elapse__buffer_size(&connection->out) > 0) {
        size_t sent = 0;
        const uint8_t *bytes = elapse__buffer_first(&connection->out);
        size_t count = elapse__buffer_size(&connection->out);
        int error = connection->tls != NULL
                        ? elapse__tls_send(connection->tls, bytes, count, &sent)
                        : elapse__os_send(connection->socket, bytes, count, &sent);
        if (error == EAGAIN) {
            connection->needs_data =
                connection->tls != NULL && !elapse__tls_wants_to_write(connection->tls);
            return 0;
        }
        if (error != 0)
            return error;
        count_sent(connection, sent);
    }
    if (connection->ends && !connection->said_end)
        say_end(connection);
    return 0;
}

/* Returns whether TLS has no bytes that it has read from the socket and this file has not received.
 * elapse__os_wait does not see such bytes. */
static bool keeps_nothing(const struct connection *connection)
{
    return connection->tls == NULL || !elapse__tls_has_more(connection->tls);
}

/* Receives what has come with at most `calls` calls. Makes more calls only while TLS has bytes. */
static void receive_some(struct connection *connection, unsigned calls)
{
    const redisReader *reader = connection->reader;

    ELAPSE__ASSERT(connection->state == CONNECTED);
    for (unsigned i = 0; i < calls || !keeps_nothing(connection); i++) {
        size_t got = 0;
        int error = connection->tls != NULL
                        ? elapse__tls_receive(connection->tls, connection->received,
                                              sizeof connection->received, &got)
                        : elapse__os_receive(connection->socket, connection->received,
                                             sizeof connection->received, &got);
        if (error == EAGAIN)
            return;
        if (error != 0 || got == 0) {
            lose_socket(connection, error);
            return;
        }
        ELAPSE__ASSERT_THAT(got, <=, sizeof connection->received);
        if (reader->len - reader->pos > VALUE_BYTES_MAX ||
            redisReaderFeed(connection->reader, (const char *)connection->received, got) !=
                REDIS_OK) {
            lose_sense(connection);
            return;
        }
    }
}

struct elapse__os_watch connection_watch(const struct connection *connection)
{
    bool connecting = connection->state == CONNECTING;
    bool has_output =
        elapse__buffer_size(&connection->out) > 0 || (connection->ends && !connection->said_end);

    return (struct elapse__os_watch){
        .file = connection->socket,
        .for_data = !connecting,
        .for_room = connecting || (has_output && !connection->needs_data),
    };
}

uint64_t connection_wake_ns(const struct connection *connection)
{
    bool has_another = connection->address_next < connection->address_count;

    return connection->state == CONNECTING && has_another ? connection->address_until_ns
                                                          : UINT64_MAX;
}

void connection_turn(struct connection *connection)
{
    struct elapse__os_watch watch = connection_watch(connection);
    int error = 0;

    if (connection->state == CLOSED)
        return;
    if (connection->state == CONNECTING) {
        (void)elapse__os_wait(&watch, 1, 0);
        if (watch.ready)
            finish_connecting(connection);
        else if (elapse__os_monotonic_ns() >= connection_wake_ns(connection))
            try_next(connection, ETIMEDOUT);
    }
    if (connection->state == CONNECTED && !connection->said_end)
        error = send_some(connection);
    /* After a failure of sending, receives everything that the server sent before it closed the
     * connection, because the server may have said why. */
    if (connection->state == CONNECTED)
        receive_some(connection, error == 0 ? RECEIVES_A_TURN : RECEIVES_ALL);
    if (connection->state == CONNECTED && error != 0)
        lose_socket(connection, error);
    check(connection);
}

void connection_send(struct connection *connection)
{
    int error = 0;

    if (connection->state == CONNECTED && !connection->said_end)
        error = send_some(connection);
    if (error != 0)
        receive_some(connection, RECEIVES_ALL);
    if (error != 0 && connection->state == CONNECTED)
        lose_socket(connection, error);
    check(connection);
}

/* ---- replies ---- */

static bool begins_with(const redisReply *reply, const char *words)
{
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, words, strlen(words)) == 0;
}

/* Reads the reply to AUTH. Ignores the error of a server that has no passwords. */
static void read_auth(struct connection *connection, const redisReply *reply)
{
    ELAPSE__ASSERT(connection->awaits_auth);
    connection->awaits_auth = false;
    if (begins_with(reply, "WRONGPASS"))
        lose(connection, CONNECTION_NOT_AUTHORISED,
             connection->settings->user == NULL
                 ? "the server does not know this password; --user names the user that it is of"
                 : "the server does not know this user with this password: look at --user and the "
                   "file of --token-file");
    else if (reply->type == REDIS_REPLY_ERROR &&
             !begins_with(reply, "ERR AUTH called without any password"))
        lose(connection, CONNECTION_REFUSED, reply->str);
}

/* Returns the next reply in the bytes that were received, or NULL if there is no complete reply. */
static redisReply *read_reply(struct connection *connection)
{
    void *found = NULL;

    /* Does not test the state, because replies that came before the connection was lost are still
     * read. */
    if (connection->reader == NULL || connection->fault == CONNECTION_NOT_AUTHORISED)
        return NULL;
    if (redisReaderGetReply(connection->reader, &found) != REDIS_OK) {
        lose_sense(connection);
        return NULL;
    }
    redisReply *reply = found;
    if (reply == NULL)
        return NULL;
    connection->has_replied = true;
    if (connection->awaits_auth) {
        read_auth(connection, reply);
        freeReplyObject(reply);
        return read_reply(connection);
    }
    if (begins_with(reply, "NOAUTH")) {
        lose(connection, CONNECTION_NOT_AUTHORISED,
             "the server asks for a password: give --token-file");
        freeReplyObject(reply);
        return NULL;
    }
    if (connection->awaited == 0) {
        freeReplyObject(reply);
        lose_sense(connection); /* no request waits for a reply */
        return NULL;
    }
    ELAPSE__ASSERT(!connection->awaits_auth && connection->has_replied);
    connection->awaited--;
    return reply;
}

redisReply *connection_take(struct connection *connection)
{
    redisReply *reply = connection->seen;

    connection->seen = NULL;
    return reply != NULL ? reply : read_reply(connection);
}

bool connection_look(struct connection *connection)
{
    if (connection->state == CONNECTED)
        receive_some(connection, RECEIVES_A_LOOK);
    if (connection->seen == NULL)
        connection->seen = read_reply(connection);
    return connection->seen != NULL;
}
