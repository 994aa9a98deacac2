/*
 * The life of a request that becomes a command of the core.
 *
 *      begun --> the core runs it --> answered --the client has all of it--> sent, and over
 *        |              |                |
 *        +--------------+----------------+--> the client has gone: what the command handed out is
 *                                             undone
 */
#include "call.h"

#include <stdlib.h>

#include "../../base/assert.h"
#include "guard.h"
#include "reply.h"
#include "stream.h"
#include "transaction.h"
#include "wait.h"

struct call {
    struct elapse__http_wait wait; /* must be first */
    struct elapse__loop_pipe pipe;
    enum elapse__http_operation operation;
    struct elapse__http_parts parts; /* for TRANSACTION: its commands */
    struct elapse__buffer command;
    struct elapse__http_scan hello; /* how far the reply to HELLO, which comes first, was read */
    struct elapse__http_scan reply; /* how far the reply to the command was read */
    size_t reply_bytes;             /* bytes of both replies; 0: the request is not answered yet */
};

static struct call *call_of_pipe(struct elapse__loop_pipe *pipe)
{
    return (struct call *)(void *)((unsigned char *)pipe - offsetof(struct call, pipe));
}

/* Ends a call. `sent` is how many bytes of the reply have reached the client. */
static void finish(struct call *call, size_t sent)
{
    ELAPSE__ASSERT_THAT(sent, <=, call->reply_bytes);
    elapse__loop_pipe_end(&call->pipe, sent);
    ELAPSE__ASSERT(call->pipe.peer == NULL);
    elapse__http_wait_end(&call->wait);
    elapse__buffer_free(&call->command);
    free(call->parts.answered_as);
    free(call);
}

static void on_sent(struct evhttp_request *request, void *argument)
{
    struct call *call = argument;

    (void)request;
    ELAPSE__ASSERT_THAT(call->reply_bytes, >, 0);
    finish(call, call->reply_bytes);
}

static void on_lost(struct elapse__http_wait *wait)
{
    ELAPSE__ASSERT(wait->request == NULL);
    finish((struct call *)(void *)wait, 0);
}

/* ---- the reply ---- */

static size_t on_output(struct elapse__loop_pipe *pipe, const uint8_t *bytes, size_t size)
{
    struct call *call = call_of_pipe(pipe);
    struct elapse__json json = {.failed = false};

    if (call->reply_bytes > 0)
        return 0;
    ELAPSE__ASSERT_THAT(call->hello.size + call->reply.size, <=, size);
    /* Skips the reply to HELLO. If it is an error, because the passwords have just changed, the
     * reply to the command is an error, too. */
    if (!elapse__http_scan(&call->hello, bytes, size))
        return 0;
    size_t hello = call->hello.size;
    /* After an error of MULTI nothing is done, and the other replies say nothing new. */
    if (size > hello && call->reply.size == 0 && bytes[hello] == '-')
        call->reply.left = 1;
    if (!elapse__http_scan(&call->reply, bytes + hello, size - hello))
        return 0;
    call->reply_bytes = hello + call->reply.size;
    ELAPSE__ASSERT(call->reply.size > 0 && call->reply_bytes <= size);
    int status =
        call->operation == ELAPSE__HTTP_TRANSACTION
            ? elapse__http_answer_transaction(&call->parts, bytes + hello, call->reply.size, &json)
            : elapse__http_answer(call->operation, bytes + hello, call->reply.size, &json);
    evhttp_request_set_on_complete_cb(call->wait.request, on_sent, call);
    elapse__http_send_json(call->wait.request, status, &json);
    return 0;
}

/* Called when the core or the server ends. Answers the request if it has no answer yet. */
static void on_ended(struct elapse__loop_pipe *pipe)
{
    struct call *call = call_of_pipe(pipe);

    ELAPSE__ASSERT(pipe->peer == NULL);
    if (call->reply_bytes > 0)
        return;
    call->reply_bytes = 1;
    evhttp_request_set_on_complete_cb(call->wait.request, on_sent, call);
    elapse__http_send_error(call->wait.request, 503, "ENDED",
                            "the server ends, or takes no further request");
}

/* ---- life ---- */

static struct call *new_call(struct elapse__http *http, struct evhttp_request *request)
{
    struct call *call = calloc(1, sizeof *call);

    if (call == NULL)
        return NULL;
    call->hello.left = call->reply.left = 1;
    call->wait.lost = on_lost;
    call->pipe.output = on_output;
    call->pipe.ended = on_ended;
    if (elapse__http_wait_begin(&call->wait, http, &http->calls, request))
        return call;
    free(call);
    return NULL;
}

/* Begins a call with this command. Takes over the command and the parts. */
static void start(struct elapse__http *http, struct evhttp_request *request,
                  enum elapse__http_operation operation, const struct elapse__http_parts *parts,
                  struct elapse__buffer *command)
{
    struct call *call = new_call(http, request);
    struct elapse__peer *peer = NULL;

    if (call != NULL) {
        ELAPSE__ASSERT((operation == ELAPSE__HTTP_TRANSACTION) == (parts->count > 0));
        call->operation = operation;
        call->parts = *parts;
        if (operation == ELAPSE__HTTP_TRANSACTION)
            call->reply.left = elapse__http_transaction_replies(parts);
        call->command = *command;
        call->pipe.input = elapse__buffer_first(command);
        call->pipe.input_bytes = elapse__buffer_size(command);
        ELAPSE__ASSERT_THAT(call->pipe.input_bytes, >, 0);
        peer = elapse__peer_new_pipe(&http->loop->peers, &call->pipe);
        if (peer != NULL) {
            const struct elapse__http_stream *stream =
                elapse__http_stream_of(http, evhttp_request_get_connection(request));
            peer->place = stream->place;
            /* The peer may end during this function. Then on_ended has answered the request. */
            elapse__loop_welcome(http->loop, peer);
            return;
        }
        finish(call, 0);
    } else {
        elapse__buffer_free(command);
        free(parts->answered_as);
    }
    elapse__http_send_no_memory(request);
}

/* Translates the request, which is one command or a transaction. */
static bool translate(const struct elapse__http_request *asked, struct elapse__buffer *command,
                      enum elapse__http_operation *answered_as, struct elapse__http_parts *parts,
                      struct elapse__http_fault *fault)
{
    *answered_as = asked->route.operation;
    return *answered_as == ELAPSE__HTTP_TRANSACTION
               ? elapse__http_translate_transaction(asked, command, parts, fault)
               : elapse__http_translate(asked, command, answered_as, fault);
}

void elapse__http_call_begin(struct elapse__http *http, struct evhttp_request *request,
                             const struct elapse__http_route *route)
{
    const struct elapse__loop_options *options = http->loop->options;
    struct evbuffer *input = evhttp_request_get_input_buffer(request);
    const char *authorization =
        evhttp_find_header(evhttp_request_get_input_headers(request), "Authorization");
    struct elapse__buffer command = {.bytes = NULL};
    struct elapse__http_parts parts = {.count = 0};
    enum elapse__http_operation answered_as;
    struct elapse__http_fault fault;
    struct elapse__http_request asked = {
        .route = *route,
        .query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request)),
        .body = (const char *)evbuffer_pullup(input, -1),
        .body_bytes = evbuffer_get_length(input),
        .body_bytes_max = options->body_bytes_max == 0 ? ELAPSE__SERVER_BODY_BYTES
                                                       : (uint32_t)options->body_bytes_max,
    };

    ELAPSE__ASSERT_THAT(route->status, ==, 200);
    ELAPSE__ASSERT_THAT(route->operation, >=, ELAPSE__HTTP_PUT);
    const struct elapse__keys keys = elapse__loop_keys(http->loop);
    const char *token = elapse__keys_are_needed(&keys) ? elapse__http_bearer(authorization) : NULL;
    struct elapse__wire_resp_argument name = {.size = 0}, password = {.size = 0};
    struct elapse__identity who;
    /* If the passwords have changed since the request was admitted, the core refuses HELLO. */
    if (token != NULL)
        (void)elapse__admit_token(&keys, token, &name, &password, &who);
    if (!elapse__http_add_hello(&command, name, password)) {
        elapse__http_send_no_memory(request);
    } else if (!translate(&asked, &command, &answered_as, &parts, &fault)) {
        elapse__http_send_error(request, fault.status, fault.code, fault.message);
    } else {
        start(http, request, answered_as, &parts, &command);
        return;
    }
    free(parts.answered_as);
    elapse__buffer_free(&command);
}

void elapse__http_calls_close(struct elapse__http *http)
{
    struct elapse__http_wait *wait;

    while ((wait = elapse__http_wait_first(&http->calls)) != NULL) {
        struct call *call = (struct call *)(void *)wait;
        ELAPSE__ASSERT(call->pipe.peer == NULL);
        evhttp_request_set_on_complete_cb(wait->request, NULL, NULL);
        finish(call, 0);
    }
}
