#include "reply.h"

#include <stdio.h>
#include <string.h>

#include <event2/buffer.h>

#include "../../base/assert.h"
#include "gzip.h"

void elapse__http_add_header(struct evhttp_request *request, const char *name, const char *value)
{
    ELAPSE__ASSERT(strpbrk(value, "\r\n") == NULL);
    /* libevent fails only if there is no memory, or if the value has a line end in it. */
    (void)evhttp_add_header(evhttp_request_get_output_headers(request), name, value);
}

void elapse__http_add_headers(struct evhttp_request *request, const char *type)
{
    elapse__http_add_header(request, "Content-Type", type);
    elapse__http_add_header(request, "Cache-Control", "no-store");
    elapse__http_add_header(request, "X-Content-Type-Options", "nosniff");
}

static void add_length(struct evhttp_request *request, size_t size)
{
    char digits[24];

    (void)snprintf(digits, sizeof digits, "%zu", size);
    elapse__http_add_header(request, "Content-Length", digits);
}

/* Adds the body of an answer, compressed if the client accepts that. Returns false if there is no
 * memory. */
static bool add_body(struct evhttp_request *request, const void *bytes, size_t size)
{
    struct evbuffer *to = evhttp_request_get_output_buffer(request);
    struct elapse__gzip gzip = {.has_begun = false};

    if (size < ELAPSE__GZIP_BYTES_MIN || !elapse__gzip_is_taken(request))
        return evbuffer_add(to, bytes, size) == 0;
    if (!elapse__gzip_add(&gzip, to, bytes, size) || !elapse__gzip_end(&gzip, to))
        return false;
    elapse__gzip_add_header(request);
    return true;
}

void elapse__http_send(struct evhttp_request *request, int status, const char *type,
                       const void *bytes, size_t size)
{
    ELAPSE__ASSERT_THAT(evhttp_request_get_response_code(request), ==, 0);
    ELAPSE__ASSERT(status >= 200 && status < 600);
    elapse__http_add_headers(request, type);
    if (size >= ELAPSE__GZIP_BYTES_MIN)
        elapse__http_add_header(request, "Vary", "Accept-Encoding");
    /* For a HEAD, libevent would send these bytes, and no Content-Length. */
    if (evhttp_request_get_command(request) == EVHTTP_REQ_HEAD)
        add_length(request, size);
    else if (!add_body(request, bytes, size))
        status = 507;
    evhttp_send_reply(request, status, NULL, NULL);
}

void elapse__http_send_text(struct evhttp_request *request, int status, const char *type,
                            struct elapse__json *text)
{
    if (text->failed)
        elapse__http_send_no_memory(request);
    else
        elapse__http_send(request, status, type, elapse__buffer_first(&text->text),
                          elapse__buffer_size(&text->text));
    elapse__json_free(text);
}

/* Returns whether the text begins and ends as an object. */
static bool is_object(const struct elapse__buffer *text)
{
    const uint8_t *bytes = elapse__buffer_first(text);
    size_t size = elapse__buffer_size(text);

    return size >= 2 && bytes[0] == '{' && bytes[size - 1] == '}';
}

void elapse__http_send_json(struct evhttp_request *request, int status, struct elapse__json *json)
{
    bool is_whole = json->failed || is_object(&json->text);

    ELAPSE__ASSERT(is_whole);
    (void)is_whole; /* used only by assertions */
    elapse__http_send_text(request, status, "application/json", json);
}

void elapse__http_write_error(struct elapse__json *json, const char *code, const char *message)
{
    elapse__json_open(json, '{');
    elapse__json_name(json, "error");
    elapse__json_open(json, '{');
    elapse__json_text_member(json, "code", code);
    elapse__json_text_member(json, "message", message);
    elapse__json_close(json, '}');
    elapse__json_close(json, '}');
}

void elapse__http_send_error(struct evhttp_request *request, int status, const char *code,
                             const char *message)
{
    struct elapse__json json = {.failed = false};

    ELAPSE__ASSERT_THAT(status, >=, 400);
    elapse__http_write_error(&json, code, message);
    if (json.failed) {
        elapse__json_free(&json);
        evhttp_send_reply(request, 507, NULL, NULL);
    } else {
        elapse__http_send_json(request, status, &json);
    }
}

void elapse__http_send_no_memory(struct evhttp_request *request)
{
    elapse__http_send_error(request, 507, "OUT_OF_MEMORY", "there is no memory");
}
