/*
 * From requests to commands. What a value means (durations, cron expressions, lengths) is decided
 * by the command; here is only of which kind it is.
 */
#include "translate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../../base/assert.h"
#include "../../protocol/base64.h"
#include "../../protocol/decimal.h"

enum { NAMES_MAX = 24, HEAD_BYTES = 24, TEXT_BYTES_MAX = 4096 };

/* A command that is put together. */
struct building {
    const struct elapse__http_request *request;
    struct elapse__http_fault *fault;
    json_t *members;              /* of the body, or of the query */
    bool is_query;                /* then all of them are strings */
    const char *names[NAMES_MAX]; /* that were asked for */
    size_t name_count;
    struct elapse__buffer arguments;
    uint32_t argument_count;
};

/* ---- faults ---- */

static bool refuse(struct building *building, int status, const char *code, const char *name,
                   const char *text)
{
    struct elapse__http_fault *fault = building->fault;

    fault->status = status;
    fault->code = code;
    (void)snprintf(fault->message, sizeof fault->message, "%.60s%s%.160s", name,
                   *name == '\0' ? "" : ": ", text);
    for (char *letter = fault->message; *letter != '\0'; letter++)
        if (*letter < ' ' || *letter > '~')
            *letter = '?';
    return false;
}

static bool refuse_value(struct building *building, const char *name, const char *text)
{
    return refuse(building, 400, "BAD_ARGUMENT", name, text);
}

static bool refuse_memory(struct building *building)
{
    return refuse(building, 507, "OUT_OF_MEMORY", "", "there is no memory");
}

/* ---- arguments ---- */

/* Appends the head of a value: '*' or '$', a number, the end of the line. */
static bool add_head(struct elapse__buffer *buffer, char mark, uint64_t number)
{
    char text[HEAD_BYTES] = {mark};
    size_t size = 1 + elapse__decimal_write(text + 1, number);

    text[size++] = '\r';
    text[size++] = '\n';
    return elapse__buffer_append(buffer, text, size);
}

static bool add(struct building *building, const void *bytes, size_t size)
{
    struct elapse__buffer *arguments = &building->arguments;

    building->argument_count++;
    return (add_head(arguments, '$', size) && elapse__buffer_append(arguments, bytes, size) &&
            elapse__buffer_append(arguments, "\r\n", 2)) ||
           refuse_memory(building);
}

static bool add_text(struct building *building, const char *text)
{
    return add(building, text, strlen(text));
}

/* ---- members ---- */

/* Returns a member; NULL: it is not there, or null. */
static const json_t *find(struct building *building, const char *name)
{
    const json_t *value = json_object_get(building->members, name);

    ELAPSE__ASSERT_THAT(building->name_count, <, NAMES_MAX);
    building->names[building->name_count++] = name;
    return json_is_null(value) ? NULL : value;
}

/* Refuses a member that nobody has asked for: it would be ignored, perhaps for a slip of the pen.
 */
static bool check_names(struct building *building)
{
    const char *name;
    json_t *value;

    json_object_foreach(building->members, name, value)
    {
        size_t i = 0;
        while (i < building->name_count && strcmp(building->names[i], name) != 0)
            i++;
        if (i == building->name_count)
            return refuse_value(building, name, "there is no such member");
    }
    return true;
}

static bool add_string(struct building *building, const char *name, const json_t *value)
{
    if (!json_is_string(value))
        return refuse_value(building, name, "this has to be a string");
    return add(building, json_string_value(value), json_string_length(value));
}

/* A member that has to be there. */
static bool add_required(struct building *building, const char *name)
{
    const json_t *value = find(building, name);

    if (value == NULL)
        return refuse_value(building, name, "this member is missing");
    return add_string(building, name, value);
}

/* A member that may be there becomes an option with its value. */
static bool add_option(struct building *building, const char *option, const char *name)
{
    const json_t *value = find(building, name);

    return value == NULL || (add_text(building, option) && add_string(building, name, value));
}

static bool add_number(struct building *building, const char *name, const json_t *value)
{
    char digits[ELAPSE__DECIMAL_BYTES];

    if (building->is_query && json_is_string(value))
        return add_string(building, name, value);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return refuse_value(building, name, "this has to be a whole number");
    return add(building, digits,
               elapse__decimal_write(digits, (uint64_t)json_integer_value(value)));
}

static bool add_number_option(struct building *building, const char *option, const char *name)
{
    const json_t *value = find(building, name);

    return value == NULL || (add_text(building, option) && add_number(building, name, value));
}

/* COUNT, which has its own limit here. */
static bool add_count(struct building *building)
{
    const json_t *value = find(building, "count");
    uint64_t number = 0;

    if (value == NULL)
        return true;
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        number = (uint64_t)json_integer_value(value);
    else if (!building->is_query ||
             !elapse__decimal_read((const unsigned char *)json_string_value(value),
                                   json_string_length(value), UINT32_MAX, &number))
        return refuse_value(building, "count", "this has to be a whole number");
    if (number == 0 || number > ELAPSE__HTTP_COUNT_MAX)
        return refuse_value(building, "count", "this is from 1 to 500");
    return add_text(building, "COUNT") && add_number(building, "count", value);
}

/* Returns an array that has to be there, with 1 to ITEMS_MAX items. */
static const json_t *find_array(struct building *building, const char *name)
{
    const json_t *value = find(building, name);

    if (value != NULL && json_is_array(value) && json_array_size(value) > 0 &&
        json_array_size(value) <= ELAPSE__HTTP_ITEMS_MAX)
        return value;
    (void)refuse_value(building, name, "this has to be an array of 1 to 500 values");
    return NULL;
}

static bool add_strings(struct building *building, const char *name)
{
    const json_t *array = find_array(building, name);

    if (array == NULL)
        return false;
    for (size_t i = 0; i < json_array_size(array); i++)
        if (!add_string(building, name, json_array_get(array, i)))
            return false;
    return true;
}

/* ---- escapes of URIs ---- */

static int hex_digit(char letter)
{
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    const char *place = letter == '\0' ? NULL : strchr(digits, letter);

    return place == NULL ? -1 : (int)((place - digits) % 16);
}

/* Decodes into `out`, which has room for `size` bytes. Returns how many there are; SIZE_MAX: an
 * escape is wrong. */
static size_t decode(const char *text, size_t size, bool plus_is_blank, char *out)
{
    size_t count = 0;

    for (size_t i = 0; i < size; i++) {
        char letter = text[i];
        if (letter == '%') {
            int high = size - i > 2 ? hex_digit(text[i + 1]) : -1;
            int low = high < 0 ? -1 : hex_digit(text[i + 2]);
            if (low < 0)
                return SIZE_MAX;
            letter = (char)(high * 16 + low);
            i += 2;
        } else if (letter == '+' && plus_is_blank) {
            letter = ' ';
        }
        out[count++] = letter;
    }
    return count;
}

/* The name in the path, without its escapes. */
static bool add_path_name(struct building *building)
{
    const struct elapse__http_route *route = &building->request->route;
    char name[TEXT_BYTES_MAX];
    size_t size = SIZE_MAX;

    if (route->name_size <= sizeof name)
        size = decode(route->name, route->name_size, false, name);
    if (size == SIZE_MAX)
        return refuse_value(building, "", "the path is too long, or has a wrong escape");
    return add(building, name, size);
}

/* Adds a pair of a query to the members. */
static bool add_pair(struct building *building, const char *pair, size_t size)
{
    const char *equals = memchr(pair, '=', size);
    char text[TEXT_BYTES_MAX];

    if (size == 0)
        return true;
    if (equals == NULL || size > sizeof text)
        return refuse_value(building, "", "the query is not made of NAME=VALUE");
    size_t name_size = decode(pair, (size_t)(equals - pair), true, text);
    if (name_size == SIZE_MAX || memchr(text, '\0', name_size) != NULL)
        return refuse_value(building, "", "the query has a wrong escape");
    text[name_size] = '\0';
    if (json_object_get(building->members, text) != NULL)
        return refuse_value(building, text, "the query has this twice");
    char *value = text + name_size + 1;
    size_t value_size = decode(equals + 1, size - (size_t)(equals + 1 - pair), true, value);
    if (value_size == SIZE_MAX || !elapse__json_is_utf8(text, name_size) ||
        !elapse__json_is_utf8(value, value_size))
        return refuse_value(building, "", "the query has a wrong escape");
    json_t *string = json_stringn(value, value_size);
    if (string == NULL || json_object_set_new(building->members, text, string) != 0)
        return refuse_memory(building);
    return true;
}

static bool read_query(struct building *building)
{
    const char *at = building->request->query;

    building->is_query = true;
    building->members = json_object();
    if (building->members == NULL)
        return refuse_memory(building);
    while (at != NULL && *at != '\0') {
        size_t size = strcspn(at, "&");
        if (!add_pair(building, at, size))
            return false;
        at += size + (at[size] == '&');
    }
    return true;
}

static bool read_body(struct building *building)
{
    const struct elapse__http_request *request = building->request;
    json_error_t error;

    building->members =
        json_loadb(request->body_bytes == 0 ? "" : request->body, request->body_bytes,
                   JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (building->members == NULL)
        return refuse(building, 400, "BAD_JSON", "", error.text);
    if (!json_is_object(building->members))
        return refuse(building, 400, "BAD_JSON", "", "the body has to be an object");
    return true;
}

/* ---- PUT ---- */

static bool add_body_base64(struct building *building, const json_t *value)
{
    if (!json_is_string(value))
        return refuse_value(building, "body_base64", "this has to be a string");
    size_t size = json_string_length(value);
    unsigned char *bytes = malloc(size + 1);
    bool is_added = false;
    if (bytes == NULL)
        return refuse_memory(building);
    if (!elapse__base64_read(json_string_value(value), size, bytes, &size))
        (void)refuse_value(building, "body_base64", "this is no base64");
    else if (size > building->request->body_bytes_max)
        (void)refuse(building, 413, "TOO_BIG", "body_base64", "it is longer than a body may be");
    else
        is_added = add(building, bytes, size);
    free(bytes);
    return is_added;
}

static bool add_body(struct building *building)
{
    const json_t *plain = find(building, "body");
    const json_t *base64 = find(building, "body_base64");

    if (plain != NULL && base64 != NULL)
        return refuse_value(building, "body", "body and body_base64 exclude each other");
    if (base64 != NULL)
        return add_body_base64(building, base64);
    if (plain == NULL)
        return refuse_value(building, "body", "this member is missing");
    if (json_is_string(plain) && json_string_length(plain) > building->request->body_bytes_max)
        return refuse(building, 413, "TOO_BIG", "body", "it is longer than a body may be");
    return add_string(building, "body", plain);
}

static bool add_backoff(struct building *building)
{
    const json_t *value = find(building, "backoff");

    if (value == NULL)
        return true;
    if (!json_is_array(value) || json_array_size(value) != 2)
        return refuse_value(building, "backoff", "this has to be an array of two durations");
    return add_text(building, "BACKOFF") &&
           add_string(building, "backoff", json_array_get(value, 0)) &&
           add_string(building, "backoff", json_array_get(value, 1));
}

static bool build_put(struct building *building)
{
    return add_text(building, "PUT") && add_required(building, "tube") && add_body(building) &&
           add_option(building, "IN", "in") && add_number_option(building, "AT", "at") &&
           add_option(building, "EVERY", "every") && add_option(building, "CRON", "cron") &&
           add_option(building, "ZONE", "zone") && add_option(building, "KEY", "key") &&
           add_option(building, "IFKEY", "if_key") && add_option(building, "MAX", "max") &&
           add_option(building, "TAG", "tag") &&
           add_number_option(building, "PRIORITY", "priority") &&
           add_option(building, "TTR", "ttr") && add_option(building, "EXPIRE", "expire") &&
           add_number_option(building, "RETRY", "retry") && add_backoff(building) &&
           add_option(building, "TOKEN", "token");
}

/* ---- the other changes ---- */

/* Whether the jobs are named by ids, in place of a tube and keys. */
static bool is_by_id(struct building *building, const char *name)
{
    return json_object_get(building->members, name) != NULL;
}

static bool build_cancel(struct building *building)
{
    if (is_by_id(building, "ids"))
        return add_text(building, "CANCELID") && add_strings(building, "ids");
    return add_text(building, "CANCEL") && add_required(building, "tube") &&
           add_strings(building, "keys");
}

/* IN or AT: exactly one of them. */
static bool add_time(struct building *building)
{
    const json_t *in = find(building, "in");
    const json_t *at = find(building, "at");

    if ((in == NULL) == (at == NULL))
        return refuse_value(building, "in", "one of in and at is needed");
    if (in != NULL)
        return add_text(building, "IN") && add_string(building, "in", in);
    return add_text(building, "AT") && add_number(building, "at", at);
}

static bool build_reschedule(struct building *building)
{
    bool named = is_by_id(building, "id")
                     ? add_text(building, "RESCHEDULEID") && add_required(building, "id")
                     : add_text(building, "RESCHEDULE") && add_required(building, "tube") &&
                           add_required(building, "key");
    return named && add_time(building);
}

static bool build_kick(struct building *building)
{
    if (is_by_id(building, "id"))
        return add_text(building, "KICKID") && add_required(building, "id");
    if (!add_text(building, "KICK") || !add_required(building, "tube"))
        return false;
    const json_t *count = find(building, "count");
    return count == NULL ? refuse_value(building, "count", "this member is missing")
                         : add_number(building, "count", count);
}

static bool build_cancel_all(struct building *building)
{
    return add_text(building, "CANCELALL") && add_required(building, "tube") &&
           add_option(building, "STATE", "state") && add_option(building, "TAG", "tag");
}

static bool build_pause(struct building *building)
{
    return add_text(building, "PAUSE") && add_required(building, "tube") &&
           add_required(building, "for");
}

/* ---- workers ---- */

/* A tube of this name ends the tubes of a RESERVE, unless it is the first. */
static bool is_option_name(const json_t *tube)
{
    static const char *const names[] = {"count", "wait"};
    const char *text = json_is_string(tube) ? json_string_value(tube) : "";

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t at = 0;
        while (text[at] != '\0' && (text[at] | 0x20) == names[i][at])
            at++;
        if (text[at] == '\0' && names[i][at] == '\0')
            return true;
    }
    return false;
}

static bool add_tubes(struct building *building)
{
    const json_t *tubes = find_array(building, "tubes");
    size_t first = SIZE_MAX;

    if (tubes == NULL)
        return false;
    for (size_t i = 0; i < json_array_size(tubes); i++) {
        if (!is_option_name(json_array_get(tubes, i)))
            continue;
        if (first != SIZE_MAX)
            return refuse_value(building, "tubes", "only one of them may be count or wait");
        first = i;
    }
    if (first != SIZE_MAX && !add_string(building, "tubes", json_array_get(tubes, first)))
        return false;
    for (size_t i = 0; i < json_array_size(tubes); i++)
        if (i != first && !add_string(building, "tubes", json_array_get(tubes, i)))
            return false;
    return true;
}

static bool build_reserve(struct building *building)
{
    return add_text(building, "RESERVE") && add_tubes(building) && add_count(building) &&
           add_option(building, "WAIT", "wait");
}

static bool build_ack(struct building *building)
{
    const json_t *jobs = find_array(building, "jobs");

    if (jobs == NULL || !add_text(building, "ACK"))
        return false;
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *job = json_array_get(jobs, i);
        const json_t *id = json_object_get(job, "id");
        const json_t *lease = json_object_get(job, "lease");
        if (id == NULL || lease == NULL || json_object_size(job) != 2)
            return refuse_value(building, "jobs", "each is an object with an id and a lease");
        if (!add_string(building, "id", id) || !add_string(building, "lease", lease))
            return false;
    }
    return true;
}

static bool add_holder(struct building *building, const char *command)
{
    return add_text(building, command) && add_required(building, "id") &&
           add_required(building, "lease");
}

static bool build_nack(struct building *building)
{
    return add_holder(building, "NACK") && add_option(building, "IN", "in");
}

static bool build_extend(struct building *building)
{
    return add_holder(building, "EXTEND");
}

static bool build_bury(struct building *building)
{
    return add_holder(building, "BURY");
}

/* ---- looks ---- */

static bool build_look_up(struct building *building)
{
    return add_text(building, "LOOKUP") && add_required(building, "tube") &&
           add_required(building, "key");
}

static bool build_look_up_id(struct building *building)
{
    return add_text(building, "LOOKUPID") && add_path_name(building);
}

static bool build_list(struct building *building)
{
    return add_text(building, "LIST") && add_path_name(building) &&
           add_option(building, "STATE", "state") && add_option(building, "TAG", "tag") &&
           add_option(building, "CURSOR", "cursor") && add_count(building);
}

static bool build_tubes(struct building *building)
{
    return add_text(building, "TUBES") && add_option(building, "CURSOR", "cursor") &&
           add_count(building);
}

static bool build_tube(struct building *building)
{
    return add_text(building, "STATS") && add_path_name(building);
}

static bool build_stats(struct building *building)
{
    return add_text(building, "STATS");
}

/* ---- all of them ---- */

typedef bool build_function(struct building *building);

static build_function *const builders[ELAPSE__HTTP_OPERATIONS] = {
    [ELAPSE__HTTP_PUT] = build_put,
    [ELAPSE__HTTP_CANCEL] = build_cancel,
    [ELAPSE__HTTP_RESCHEDULE] = build_reschedule,
    [ELAPSE__HTTP_RESERVE] = build_reserve,
    [ELAPSE__HTTP_ACK] = build_ack,
    [ELAPSE__HTTP_NACK] = build_nack,
    [ELAPSE__HTTP_EXTEND] = build_extend,
    [ELAPSE__HTTP_BURY] = build_bury,
    [ELAPSE__HTTP_KICK] = build_kick,
    [ELAPSE__HTTP_CANCEL_ALL] = build_cancel_all,
    [ELAPSE__HTTP_PAUSE] = build_pause,
    [ELAPSE__HTTP_LOOK_UP] = build_look_up,
    [ELAPSE__HTTP_LOOK_UP_ID] = build_look_up_id,
    [ELAPSE__HTTP_LIST] = build_list,
    [ELAPSE__HTTP_TUBES] = build_tubes,
    [ELAPSE__HTTP_TUBE] = build_tube,
    [ELAPSE__HTTP_STATS] = build_stats,
};

static bool is_change(enum elapse__http_operation operation)
{
    return operation >= ELAPSE__HTTP_PUT && operation <= ELAPSE__HTTP_PAUSE;
}

bool elapse__http_translate(const struct elapse__http_request *request,
                            struct elapse__buffer *command, struct elapse__http_fault *fault)
{
    struct building building = {.request = request, .fault = fault};
    enum elapse__http_operation operation = request->route.operation;

    ELAPSE__ASSERT(builders[operation] != NULL);
    bool is_whole = (is_change(operation) ? read_body(&building) : read_query(&building)) &&
                    builders[operation](&building) && check_names(&building);
    if (is_whole && !(add_head(command, '*', building.argument_count) &&
                      elapse__buffer_append(command, elapse__buffer_first(&building.arguments),
                                            elapse__buffer_size(&building.arguments))))
        is_whole = refuse_memory(&building);
    elapse__buffer_free(&building.arguments);
    json_decref(building.members);
    return is_whole;
}

bool elapse__http_add_hello(struct elapse__buffer *command, const char *password)
{
    struct elapse__http_fault fault;
    struct building building = {.fault = &fault};
    bool is_whole =
        add_text(&building, "HELLO") && add_text(&building, "3") &&
        (password == NULL || (add_text(&building, "AUTH") && add_text(&building, "default") &&
                              add_text(&building, password)));

    is_whole = is_whole && add_head(command, '*', building.argument_count) &&
               elapse__buffer_append(command, elapse__buffer_first(&building.arguments),
                                     elapse__buffer_size(&building.arguments));
    elapse__buffer_free(&building.arguments);
    return is_whole;
}
