#include "transaction.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "members.h"

/* ---- the request ---- */

/* Finds the operation of a command by the name of the command. Returns false if no command has this
 * name. */
static bool find_operation(const json_t *name, enum elapse__http_operation *operation)
{
    static const struct {
        const char *name;
        enum elapse__http_operation operation;
    } commands[] = {
        {"put", ELAPSE__HTTP_PUT},       {"cancel", ELAPSE__HTTP_CANCEL},
        {"ack", ELAPSE__HTTP_ACK},       {"reschedule", ELAPSE__HTTP_RESCHEDULE},
        {"nack", ELAPSE__HTTP_NACK},     {"extend", ELAPSE__HTTP_EXTEND},
        {"bury", ELAPSE__HTTP_BURY},     {"kick", ELAPSE__HTTP_KICK},
        {"leased", ELAPSE__HTTP_LEASED}, {"arrive", ELAPSE__HTTP_ARRIVE},
    };

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!json_is_string(name) || strcmp(json_string_value(name), commands[i].name) != 0)
            continue;
        *operation = commands[i].operation;
        return true;
    }
    return false;
}

static bool translate_part(const struct elapse__http_request *request, json_t *members,
                           struct elapse__buffer *command, enum elapse__http_operation *answered_as,
                           struct elapse__http_fault *fault)
{
    enum elapse__http_operation operation = ELAPSE__HTTP_PUT;

    if (!json_is_object(members) ||
        !find_operation(json_object_get(members, "command"), &operation))
        return elapse__http_refuse(fault, 400, "BAD_ARGUMENT", "command",
                                   "each command is an object, and this has to be one of put, "
                                   "cancel, reschedule, arrive, kick, ack, nack, extend, bury, "
                                   "leased");
    (void)json_object_del(members, "command");
    return elapse__http_translate_members(request, operation, members, command, answered_as, fault);
}

/* Translates each command of the transaction. Requires that there is at least one command. */
static bool translate_parts(const struct elapse__http_request *request, const json_t *commands,
                            struct elapse__buffer *command, struct elapse__http_parts *parts,
                            struct elapse__http_fault *fault)
{
    size_t count = json_array_size(commands);

    ELAPSE__ASSERT(count > 0 && count <= ELAPSE__HTTP_ITEMS_MAX);
    ELAPSE__ASSERT_THAT(parts->count, ==, 0);
    parts->answered_as = calloc(count, sizeof *parts->answered_as);
    if (parts->answered_as == NULL || !elapse__http_add_word(command, "MULTI"))
        return elapse__http_refuse_memory(fault);
    for (; parts->count < count; parts->count++)
        if (!translate_part(request, json_array_get(commands, parts->count), command,
                            &parts->answered_as[parts->count], fault))
            return false;
    return elapse__http_add_word(command, "EXEC") || elapse__http_refuse_memory(fault);
}

bool elapse__http_translate_transaction(const struct elapse__http_request *request,
                                        struct elapse__buffer *command,
                                        struct elapse__http_parts *parts,
                                        struct elapse__http_fault *fault)
{
    json_t *members = elapse__http_members_of_body(request->body, request->body_bytes,
                                                   ELAPSE__HTTP_TRANSACTION_MARKS_MAX, fault);
    const json_t *commands = json_object_get(members, "commands");
    bool is_whole = false;

    if (members == NULL)
        return false;
    if (!json_is_array(commands) || json_array_size(commands) == 0 ||
        json_array_size(commands) > ELAPSE__HTTP_ITEMS_MAX || json_object_size(members) != 1)
        (void)elapse__http_refuse(fault, 400, "BAD_ARGUMENT", "commands",
                                  "this has to be an array of 1 to 500 commands, and all there is");
    else
        is_whole = translate_parts(request, commands, command, parts, fault);
    json_decref(members);
    return is_whole;
}

/* ---- the answer ---- */

/* Returns the size of the value of RESP at the beginning of `bytes`. */
static size_t size_of_value(const uint8_t *bytes, size_t size)
{
    struct elapse__http_scan scan = {.left = 1};
    bool is_whole = elapse__http_scan(&scan, bytes, size);

    ELAPSE__ASSERT(is_whole);
    (void)is_whole;
    return scan.size;
}

static int answer_ended(struct elapse__json *json)
{
    elapse__json_open(json, '{');
    elapse__json_name(json, "error");
    elapse__json_open(json, '{');
    elapse__json_text_member(json, "code", "LEASE_ENDED");
    elapse__json_text_member(json, "message", "a lease has ended, and nothing was done");
    elapse__json_close(json, '}');
    elapse__json_close(json, '}');
    return 409;
}

static int answer_parts(const struct elapse__http_parts *parts, const uint8_t *bytes, size_t size,
                        struct elapse__json *json)
{
    size_t at = 0;
    struct elapse__wire_resp_item head = elapse__wire_resp_next(bytes, size, &at);

    if (head.kind == ELAPSE__WIRE_RESP_NULL)
        return answer_ended(json);
    ELAPSE__ASSERT(head.kind == ELAPSE__WIRE_RESP_ARRAY);
    ELAPSE__ASSERT_THAT(head.integer, ==, (int64_t)parts->count);
    elapse__json_open(json, '{');
    elapse__json_name(json, "results");
    elapse__json_open(json, '[');
    for (size_t i = 0; i < parts->count; i++) {
        size_t part = size_of_value(bytes + at, size - at);
        ELAPSE__ASSERT_THAT(part, <=, size - at);
        (void)elapse__http_answer(parts->answered_as[i], bytes + at, part, json);
        at += part;
    }
    ELAPSE__ASSERT_THAT(at, ==, size);
    elapse__json_close(json, ']');
    elapse__json_close(json, '}');
    return 200;
}

int elapse__http_answer_transaction(const struct elapse__http_parts *parts, const uint8_t *bytes,
                                    size_t size, struct elapse__json *json)
{
    /* The answer is the first error of a command. The error of EXEC only says that a command had an
     * error. */
    for (uint64_t left = elapse__http_transaction_replies(parts); left > 0; left--) {
        size_t reply = size_of_value(bytes, size);
        if (bytes[0] == '-')
            return elapse__http_answer(ELAPSE__HTTP_PUT, bytes, reply, json);
        if (left == 1)
            return answer_parts(parts, bytes, reply, json);
        bytes += reply;
        size -= reply;
    }
    return 0;
}
