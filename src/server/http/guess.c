#include "guess.h"

#include <stdlib.h>

#include "../../base/assert.h"
#include "../core/guesses.h"
#include "reply.h"
#include "stream.h"
#include "wait.h"

struct guess {
    struct elapse__http_wait wait; /* must be first */
    struct event *over;
};

static void send_unauthorized(struct evhttp_request *request)
{
    elapse__http_add_header(request, "WWW-Authenticate", "Bearer");
    elapse__http_send_error(request, 401, "UNAUTHORIZED",
                            "a header 'Authorization: Bearer PASSWORD' is needed");
}

static void finish(struct guess *guess)
{
    elapse__http_wait_end(&guess->wait);
    elapse__loop_event_free(guess->over);
    free(guess);
}

static void on_lost(struct elapse__http_wait *wait)
{
    finish((struct guess *)(void *)wait);
}

static void on_over(evutil_socket_t descriptor, short what, void *argument)
{
    struct guess *guess = argument;
    struct evhttp_request *request = guess->wait.request;

    (void)descriptor;
    (void)what;
    finish(guess);
    send_unauthorized(request);
}

struct note {
    uint64_t place;
    uint64_t wait_ms;
};

static void note_in_core(struct elapse__loop *loop, void *argument)
{
    struct note *note = argument;

    note->wait_ms = elapse__server_wrong_password(loop->server, elapse__store_now(), note->place);
}

/* Counts a wrong password. Returns how long the answer has to wait. The front of a node in a
 * cluster has no core, so it counts in `http`. */
static uint64_t note_guess(struct elapse__http *http, uint64_t place)
{
    struct note note = {.place = place};

    if (http->loop->cluster == NULL)
        elapse__loop_with_core(http->loop, note_in_core, &note);
    else
        note.wait_ms = http->loop->cluster->wrong_password(http->loop->cluster->context, place);
    return note.wait_ms;
}

void elapse__http_refuse_stranger(struct elapse__http *http, struct evhttp_request *request,
                                  bool has_guessed)
{
    struct elapse__http_stream *stream =
        elapse__http_stream_of(http, evhttp_request_get_connection(request));
    struct guess *guess = has_guessed ? calloc(1, sizeof *guess) : NULL;

    if (guess == NULL) {
        send_unauthorized(request);
        return;
    }
    if (++stream->guesses >= ELAPSE__WIRE_GUESSES_MAX)
        elapse__http_add_header(request, "Connection", "close");
    uint64_t wait_ms = note_guess(http, stream->place);
    const struct timeval wait = {.tv_sec = (time_t)(wait_ms / 1000),
                                 .tv_usec = (suseconds_t)(wait_ms % 1000 * 1000)};
    guess->wait.lost = on_lost;
    guess->over = elapse__loop_event(http->loop->peers.base, -1, 0, &wait, on_over, guess);
    if (guess->over != NULL &&
        elapse__http_wait_begin(&guess->wait, http, &http->waiting_guesses, request))
        return;
    elapse__loop_event_free(guess->over);
    free(guess);
    send_unauthorized(request);
}

void elapse__http_guesses_close(struct elapse__http *http)
{
    struct elapse__http_wait *wait;

    while ((wait = elapse__http_wait_first(&http->waiting_guesses)) != NULL)
        finish((struct guess *)(void *)wait);
}
