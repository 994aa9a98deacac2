/*
 * libFuzzer target for requests over HTTP. The first byte chooses the operation. The text up to the
 * first newline is the name in its path, the text up to the next newline is the query, and the rest
 * is the body.
 *
 * Whatever comes, a request becomes one whole command of RESP, a transaction becomes whole
 * commands, or the request is refused with a status and a message; bytes of a connection have the
 * same fault in one piece as one by one; a string of JSON is read as the text that was written; and
 * the head of a reply is never taken for more bytes than there are.
 */
#include <string.h>

#include <jansson.h>

#include "../../src/base/utf8.h"
#include "../../src/protocol/resp_parse.h"
#include "../../src/server/http/guard.h"
#include "../../src/server/http/intake.h"
#include "../../src/server/http/transaction.h"
#include "../../src/server/http/translate.h"
#include "fuzz.h"

enum { BODY_BYTES_MAX = 1000 };

/* Takes a text up to a newline, with a terminator. */
static char *take_line(const uint8_t **data, size_t *size)
{
    const uint8_t *end = memchr(*data, '\n', *size);
    size_t length = end == NULL ? *size : (size_t)(end - *data);
    char *line = malloc(length + 1);

    require(line != NULL);
    memcpy(line, *data, length);
    line[length] = '\0';
    *data += length + (end != NULL);
    *size -= length + (end != NULL);
    return line;
}

/* Returns how many whole commands there are. Requires that nothing else is there. */
static size_t count_commands(const struct elapse__buffer *commands)
{
    static struct elapse__wire_resp_argument arguments[ELAPSE__WIRE_RESP_ARGUMENTS_MAX];
    struct elapse__wire_resp_parser parser = {.argument_bytes_max = UINT32_C(1) << 20};
    const uint8_t *bytes = elapse__buffer_first(commands);
    size_t left = elapse__buffer_size(commands), count = 0;

    for (; left > 0; count++) {
        struct elapse__wire_resp_parsed parsed =
            elapse__wire_resp_parse(&parser, bytes, left, arguments);
        require(parsed.outcome == ELAPSE__WIRE_RESP_COMMAND);
        require(parsed.consumed <= left);
        bytes += parsed.consumed;
        left -= parsed.consumed;
    }
    return count;
}

static void translate(const struct elapse__http_request *request)
{
    struct elapse__buffer command = {.bytes = NULL};
    enum elapse__http_operation answered_as;
    struct elapse__http_parts parts = {.count = 0};
    struct elapse__http_fault fault = {.status = 0};
    bool is_many = request->route.operation == ELAPSE__HTTP_TRANSACTION;

    if (is_many ? elapse__http_translate_transaction(request, &command, &parts, &fault)
                : elapse__http_translate(request, &command, &answered_as, &fault)) {
        require(count_commands(&command) ==
                (is_many ? elapse__http_transaction_replies(&parts) : 1));
    } else {
        require(fault.status >= 400 && fault.status < 600);
        require(fault.code != NULL && fault.message[0] != '\0');
        require(memchr(fault.message, '\0', sizeof fault.message) != NULL);
    }
    elapse__buffer_free(&command);
    free(parts.answered_as);
}

/* Checks that bytes that come one by one have the same fault as bytes that come at once. */
static void take_in(const uint8_t *data, size_t size)
{
    struct elapse__http_intake whole = {.body_bytes_max = BODY_BYTES_MAX};
    struct elapse__http_intake parts = {.body_bytes_max = BODY_BYTES_MAX};
    enum elapse__http_intake_fault fault = elapse__http_intake_bytes(&whole, data, size);
    enum elapse__http_intake_fault found = ELAPSE__HTTP_WELL;

    for (size_t i = 0; i < size && found == ELAPSE__HTTP_WELL; i++)
        found = elapse__http_intake_bytes(&parts, data + i, 1);
    require(found == fault);
    elapse__http_intake_free(&whole);
    elapse__http_intake_free(&parts);
}

/* Checks that a reply that comes in pieces is read as one that comes at once. */
static void scan(const uint8_t *data, size_t size)
{
    struct elapse__http_scan whole = {.left = 1};
    struct elapse__http_scan pieces = {.left = 1};
    bool is_whole = elapse__http_scan(&whole, data, size);

    require(whole.size <= size);
    for (size_t cut = 0; cut < size; cut += 1 + cut / 2)
        (void)elapse__http_scan(&pieces, data, cut);
    require(elapse__http_scan(&pieces, data, size) == is_whole);
    require(pieces.size == whole.size);
}

static void write_string(const uint8_t *data, size_t size)
{
    struct elapse__json json = {.failed = false};
    json_error_t error;

    elapse__json_open(&json, '[');
    elapse__json_string(&json, data, size);
    elapse__json_close(&json, ']');
    require(!json.failed);
    json_t *read = json_loadb((const char *)elapse__buffer_first(&json.text),
                              elapse__buffer_size(&json.text), JSON_ALLOW_NUL, &error);
    require(read != NULL);
    const json_t *text = json_array_get(read, 0);
    if (elapse__utf8_is(data, size)) {
        require(json_string_length(text) == size);
        require(size == 0 || memcmp(json_string_value(text), data, size) == 0);
    }
    json_decref(read);
    elapse__json_free(&json);
}

static void check_guards(const char *text)
{
    static const char *const names[] = {"timers.example"};

    if (elapse__http_host_is_own(text, names, 1))
        require(elapse__http_origin_is_own(NULL, text) && *text != '\0');
    (void)elapse__http_origin_is_own(text, "localhost:80");
    (void)elapse__http_is_json(text);
    (void)elapse__http_bearer(text);
    (void)elapse__http_find_route(ELAPSE__HTTP_GET, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct elapse__http_request request = {
        .route = {.status = 200,
                  .operation = (enum elapse__http_operation)(
                      ELAPSE__HTTP_PUT + data[0] % (ELAPSE__HTTP_OPERATIONS - ELAPSE__HTTP_PUT))},
        .body_bytes_max = BODY_BYTES_MAX,
    };
    data++;
    size--;
    scan(data, size);
    take_in(data, size);
    write_string(data, size);
    char *name = take_line(&data, &size);
    char *query = take_line(&data, &size);
    request.route.name = name;
    request.route.name_size = strlen(name);
    request.query = query;
    request.body = (const char *)data;
    request.body_bytes = size;
    check_guards(name);
    translate(&request);
    free(name);
    free(query);
    return 0;
}
