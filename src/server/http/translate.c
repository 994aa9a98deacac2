/*
 * Translates requests to commands. It says which words each operation has.
 */
#include "translate.h"

#include <string.h>

#include "../../base/assert.h"
#include "../../protocol/put_options.h"
#include "building.h"
#include "members.h"

/* ---- PUT ---- */

static bool add_body(struct elapse__building *building)
{
    const json_t *plain = elapse__build_find(building, "body");
    const json_t *base64 = elapse__build_find(building, "body_base64");

    if (plain != NULL && base64 != NULL)
        return elapse__build_refuse(building, "body", "body and body_base64 exclude each other");
    if (base64 != NULL)
        return elapse__build_base64(building, "body_base64", base64);
    if (plain == NULL)
        return elapse__build_refuse(building, "body", "this member is missing");
    if (json_is_string(plain) && json_string_length(plain) > building->request->body_bytes_max)
        return elapse__http_refuse(building->fault, 413, "TOO_BIG", "body",
                                   "it is longer than a body may be");
    return elapse__build_string(building, "body", plain);
}

/* Adds an option whose values are an array. */
static bool add_texts(struct elapse__building *building, const char *option, const char *name,
                      size_t values)
{
    const json_t *array = elapse__build_find(building, name);

    if (array == NULL)
        return true;
    if (!json_is_array(array) || json_array_size(array) != values)
        return elapse__build_refuse(building, name, "this has to be an array of two durations");
    bool is_added = elapse__build_word(building, option);
    for (size_t i = 0; i < values && is_added; i++)
        is_added = elapse__build_string(building, name, json_array_get(array, i));
    return is_added;
}

static bool add_put_options(struct elapse__building *building)
{
    enum form { TEXT, NUMBER };
    static const struct {
        const char *option;
        const char *name;
        enum form form;
        size_t values;
    } options[] = {
#define OPTION(NAME, json, form, values) {#NAME, #json, form, values},
        ELAPSE__PUT_OPTIONS(OPTION)
#undef OPTION
    };
    bool is_added = true;

    for (size_t i = 0; i < ELAPSE__PUT_OPTION_COUNT && is_added; i++) {
        if (options[i].values > 1)
            is_added = add_texts(building, options[i].option, options[i].name, options[i].values);
        else if (options[i].form == NUMBER)
            is_added = elapse__build_number_option(building, options[i].option, options[i].name);
        else
            is_added = elapse__build_option(building, options[i].option, options[i].name);
    }
    return is_added;
}

static bool build_put(struct elapse__building *building)
{
    return elapse__build_word(building, "PUT") && elapse__build_tube(building) &&
           add_body(building) && add_put_options(building);
}

/* ---- the other changes ---- */

/* Returns whether this member names the jobs. Other members may name them instead. */
static bool is_named(struct elapse__building *building, const char *name)
{
    const json_t *value = json_object_get(building->members, name);

    return value != NULL && !json_is_null(value);
}

static bool build_cancel(struct elapse__building *building)
{
    if (is_named(building, "ids"))
        return elapse__build_word(building, "CANCELID") && elapse__build_strings(building, "ids");
    return elapse__build_word(building, "CANCEL") && elapse__build_tube(building) &&
           elapse__build_strings(building, "keys");
}

/* Adds IN or AT. Refuses a request with both or with none. */
static bool add_time(struct elapse__building *building)
{
    const json_t *in = elapse__build_find(building, "in");
    const json_t *at = elapse__build_find(building, "at");

    if ((in == NULL) == (at == NULL))
        return elapse__build_refuse(building, "in", "one of in and at is needed");
    if (in != NULL)
        return elapse__build_word(building, "IN") && elapse__build_string(building, "in", in);
    return elapse__build_word(building, "AT") && elapse__build_number(building, "at", at);
}

static bool build_reschedule(struct elapse__building *building)
{
    bool named =
        is_named(building, "id")
            ? elapse__build_word(building, "RESCHEDULEID") && elapse__build_required(building, "id")
            : elapse__build_word(building, "RESCHEDULE") && elapse__build_tube(building) &&
                  elapse__build_required(building, "key");
    return named && add_time(building);
}

static bool build_arrive(struct elapse__building *building)
{
    const json_t *count = elapse__build_find(building, "count");

    return elapse__build_word(building, "ARRIVE") && elapse__build_required(building, "tube") &&
           elapse__build_required(building, "key") &&
           (count == NULL || elapse__build_number(building, "count", count)) &&
           elapse__build_option(building, "TOKEN", "token") &&
           elapse__build_option(building, "FOR", "token_for");
}

static bool build_kick(struct elapse__building *building)
{
    if (is_named(building, "id"))
        return elapse__build_word(building, "KICKID") && elapse__build_required(building, "id");
    if (!elapse__build_word(building, "KICK") || !elapse__build_tube(building))
        return false;
    const json_t *count = elapse__build_find(building, "count");
    if (count == NULL)
        return elapse__build_refuse(building, "count", "this member is missing");
    return elapse__build_number(building, "count", count) &&
           elapse__build_flag(building, "BURIED", "buried");
}

static bool build_cancel_all(struct elapse__building *building)
{
    return elapse__build_word(building, "CANCELALL") && elapse__build_tube(building) &&
           elapse__build_option(building, "STATE", "state") &&
           elapse__build_option(building, "TAG", "tag");
}

static bool build_pause(struct elapse__building *building)
{
    return elapse__build_word(building, "PAUSE") && elapse__build_tube(building) &&
           elapse__build_required(building, "for");
}

static bool build_rate(struct elapse__building *building)
{
    if (elapse__build_find(building, "rate") == NULL)
        return true;
    return elapse__build_number_option(building, "RATE", "rate") &&
           elapse__build_word(building, "PER") && elapse__build_required(building, "rate_per") &&
           elapse__build_number_option(building, "BURST", "rate_burst");
}

static bool build_group_rate(struct elapse__building *building)
{
    if (elapse__build_find(building, "group_rate") == NULL)
        return true;
    return elapse__build_number_option(building, "GROUPRATE", "group_rate") &&
           elapse__build_word(building, "PER") &&
           elapse__build_required(building, "group_rate_per") &&
           elapse__build_number_option(building, "BURST", "group_rate_burst");
}

static bool build_buried(struct elapse__building *building)
{
    if (!elapse__build_number_option(building, "BURIED", "buried"))
        return false;
    return elapse__build_find(building, "buried_age") == NULL ||
           (elapse__build_word(building, "BURIED") && elapse__build_word(building, "AGE") &&
            elapse__build_required(building, "buried_age"));
}

/* A request without a limit removes all limits. */
static bool build_limit(struct elapse__building *building)
{
    const json_t *order = elapse__build_find(building, "group_order");
    if (!elapse__build_word(building, "LIMIT") || !elapse__build_tube(building))
        return false;
    bool limits = elapse__build_find(building, "concurrency") != NULL ||
                  elapse__build_find(building, "group_concurrency") != NULL ||
                  elapse__build_find(building, "rate") != NULL ||
                  elapse__build_find(building, "group_rate") != NULL ||
                  (order != NULL && !json_is_false(order)) ||
                  elapse__build_find(building, "buried") != NULL ||
                  elapse__build_find(building, "buried_age") != NULL;
    if (!limits)
        return elapse__build_word(building, "NONE");
    return elapse__build_number_option(building, "CONCURRENCY", "concurrency") &&
           elapse__build_number_option(building, "GROUPCONCURRENCY", "group_concurrency") &&
           build_rate(building) && build_group_rate(building) &&
           elapse__build_flag(building, "GROUPORDER", "group_order") && build_buried(building);
}

/* ---- workers ---- */

/* Returns whether a tube with this name would end the tubes of a RESERVE. That is so unless the
 * tube is the first. */
static bool is_option_name(const json_t *tube)
{
    static const char *const names[] = {"count", "wait", "details", "holder"};
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

static bool add_tubes(struct elapse__building *building)
{
    const json_t *tubes = elapse__build_find_array(building, "tubes");
    size_t first = SIZE_MAX;

    if (tubes == NULL)
        return false;
    for (size_t i = 0; i < json_array_size(tubes); i++) {
        if (!is_option_name(json_array_get(tubes, i)))
            continue;
        if (first != SIZE_MAX)
            return elapse__build_refuse(building, "tubes",
                                        "only one of them may be count, wait, details or holder");
        first = i;
    }
    if (first != SIZE_MAX && !elapse__build_string(building, "tubes", json_array_get(tubes, first)))
        return false;
    for (size_t i = 0; i < json_array_size(tubes); i++)
        if (i != first && !elapse__build_string(building, "tubes", json_array_get(tubes, i)))
            return false;
    return true;
}

static bool build_reserve(struct elapse__building *building)
{
    return elapse__build_word(building, "RESERVE") && add_tubes(building) &&
           elapse__build_count(building) && elapse__build_option(building, "WAIT", "wait") &&
           elapse__build_flag(building, "DETAILS", "details") &&
           elapse__build_option(building, "HOLDER", "holder");
}

/* Adds each id with its lease. An id has to begin with a digit, because it could look like an
 * option after the leases. */
static bool add_jobs(struct elapse__building *building)
{
    const json_t *jobs = elapse__build_find_array(building, "jobs");

    building->has_jobs = true;
    if (jobs == NULL)
        return false;
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *job = json_array_get(jobs, i);
        const json_t *id = json_object_get(job, "id");
        const json_t *lease = json_object_get(job, "lease");
        if (id == NULL || lease == NULL || json_object_size(job) != 2)
            return elapse__build_refuse(building, "jobs",
                                        "each is an object with an id and a lease");
        const char *digits = json_is_string(id) ? json_string_value(id) : "0";
        if (digits[0] < '0' || digits[0] > '9')
            return elapse__build_refuse(building, "jobs", "an id is a number in a string");
        if (!elapse__build_string(building, "id", id) ||
            !elapse__build_string(building, "lease", lease))
            return false;
    }
    return true;
}

static bool build_ack(struct elapse__building *building)
{
    return elapse__build_word(building, "ACK") && add_jobs(building);
}

/* Adds one job with its lease, or many jobs. */
static bool add_holder(struct elapse__building *building, const char *command)
{
    if (!elapse__build_word(building, command))
        return false;
    if (is_named(building, "jobs"))
        return add_jobs(building);
    return elapse__build_required(building, "id") && elapse__build_required(building, "lease");
}

static bool build_nack(struct elapse__building *building)
{
    return add_holder(building, "NACK") && elapse__build_option(building, "IN", "in") &&
           elapse__build_option(building, "AFTER", "after") &&
           elapse__build_option(building, "ERROR", "error");
}

static bool build_extend(struct elapse__building *building)
{
    return add_holder(building, "EXTEND");
}

static bool build_bury(struct elapse__building *building)
{
    return add_holder(building, "BURY") && elapse__build_option(building, "ERROR", "error");
}

static bool build_leased(struct elapse__building *building)
{
    return add_holder(building, "LEASED");
}

/* ---- looks ---- */

static bool build_look_up(struct elapse__building *building)
{
    return elapse__build_word(building, "LOOKUP") && elapse__build_required(building, "tube") &&
           elapse__build_required(building, "key");
}

static bool build_look_up_id(struct elapse__building *building)
{
    return elapse__build_word(building, "LOOKUPID") && elapse__build_path_name(building);
}

/* Adds an option without a value if the member is true. */
static bool add_flag(struct elapse__building *building, const char *option, const char *name)
{
    const json_t *value = elapse__build_find(building, name);
    const char *text = json_is_string(value) ? json_string_value(value) : "";

    if (value == NULL || strcmp(text, "false") == 0)
        return true;
    if (strcmp(text, "true") != 0)
        return elapse__build_refuse(building, name, "this has to be true or false");
    return elapse__build_word(building, option);
}

/* Adds the options that LIST and RECURRING have. */
static bool add_looks(struct elapse__building *building)
{
    return elapse__build_option(building, "CURSOR", "cursor") && elapse__build_count(building) &&
           add_flag(building, "KEYS", "keys") &&
           elapse__build_number_option(building, "BODY", "body");
}

static bool build_list(struct elapse__building *building)
{
    return elapse__build_word(building, "LIST") && elapse__build_path_name(building) &&
           elapse__build_option(building, "STATE", "state") &&
           elapse__build_option(building, "TAG", "tag") && add_looks(building) &&
           add_flag(building, "RECURRING", "recurring") &&
           add_flag(building, "SOONEST", "soonest") && add_flag(building, "NEWEST", "newest");
}

static bool build_recurring(struct elapse__building *building)
{
    return elapse__build_word(building, "RECURRING") && add_looks(building);
}

static bool build_clients(struct elapse__building *building)
{
    return elapse__build_word(building, "CLIENT") && elapse__build_word(building, "LIST");
}

static bool build_find(struct elapse__building *building)
{
    return elapse__build_word(building, "FIND") && elapse__build_required(building, "key") &&
           elapse__build_option(building, "CURSOR", "cursor") && elapse__build_count(building);
}

static bool build_history(struct elapse__building *building)
{
    return elapse__build_word(building, "HISTORY") &&
           elapse__build_number_option(building, "COUNT", "count");
}

static bool build_whoami(struct elapse__building *building)
{
    return elapse__build_word(building, "WHOAMI");
}

static bool build_tubes(struct elapse__building *building)
{
    return elapse__build_word(building, "TUBES") &&
           elapse__build_option(building, "PREFIX", "prefix") &&
           add_flag(building, "TROUBLE", "trouble") && add_flag(building, "COUNTS", "counts") &&
           elapse__build_option(building, "CURSOR", "cursor") && elapse__build_count(building);
}

static bool build_tube(struct elapse__building *building)
{
    return elapse__build_word(building, "STATS") && elapse__build_path_name(building);
}

static bool build_groups(struct elapse__building *building)
{
    return elapse__build_word(building, "GROUPS") && elapse__build_path_name(building) &&
           add_flag(building, "HELD", "held") &&
           elapse__build_option(building, "CURSOR", "cursor") && elapse__build_count(building);
}

static bool build_limit_of(struct elapse__building *building)
{
    return elapse__build_word(building, "LIMIT") && elapse__build_path_name(building);
}

static bool build_stats(struct elapse__building *building)
{
    return elapse__build_word(building, "STATS");
}

/* ---- all operations ---- */

typedef bool build_function(struct elapse__building *building);

static build_function *const builders[ELAPSE__HTTP_OPERATIONS] = {
    [ELAPSE__HTTP_PUT] = build_put,
    [ELAPSE__HTTP_CANCEL] = build_cancel,
    [ELAPSE__HTTP_RESCHEDULE] = build_reschedule,
    [ELAPSE__HTTP_ARRIVE] = build_arrive,
    [ELAPSE__HTTP_RESERVE] = build_reserve,
    [ELAPSE__HTTP_ACK] = build_ack,
    [ELAPSE__HTTP_NACK] = build_nack,
    [ELAPSE__HTTP_EXTEND] = build_extend,
    [ELAPSE__HTTP_BURY] = build_bury,
    [ELAPSE__HTTP_KICK] = build_kick,
    [ELAPSE__HTTP_CANCEL_ALL] = build_cancel_all,
    [ELAPSE__HTTP_LIMIT] = build_limit,
    [ELAPSE__HTTP_PAUSE] = build_pause,
    [ELAPSE__HTTP_LEASED] = build_leased,
    [ELAPSE__HTTP_LOOK_UP] = build_look_up,
    [ELAPSE__HTTP_LOOK_UP_ID] = build_look_up_id,
    [ELAPSE__HTTP_LIST] = build_list,
    [ELAPSE__HTTP_FIND] = build_find,
    [ELAPSE__HTTP_RECURRING] = build_recurring,
    [ELAPSE__HTTP_HISTORY] = build_history,
    [ELAPSE__HTTP_WHOAMI] = build_whoami,
    [ELAPSE__HTTP_CLIENTS] = build_clients,
    [ELAPSE__HTTP_TUBES] = build_tubes,
    [ELAPSE__HTTP_TUBE] = build_tube,
    [ELAPSE__HTTP_GROUPS] = build_groups,
    [ELAPSE__HTTP_LIMIT_OF] = build_limit_of,
    [ELAPSE__HTTP_STATS] = build_stats,
};

static bool is_change(enum elapse__http_operation operation)
{
    return operation >= ELAPSE__HTTP_PUT && operation <= ELAPSE__HTTP_LEASED;
}

bool elapse__http_translate_members(const struct elapse__http_request *request,
                                    enum elapse__http_operation operation, json_t *members,
                                    struct elapse__buffer *command,
                                    enum elapse__http_operation *answered_as,
                                    struct elapse__http_fault *fault)
{
    struct elapse__building building = {.request = request,
                                        .fault = fault,
                                        .members = members == NULL ? NULL : json_incref(members),
                                        .is_query = !is_change(operation)};

    ELAPSE__ASSERT(operation >= ELAPSE__HTTP_PUT && operation < ELAPSE__HTTP_OPERATIONS);
    ELAPSE__ASSERT(builders[operation] != NULL);
    bool is_whole = building.members != NULL && builders[operation](&building) &&
                    elapse__build_check_names(&building) &&
                    elapse__build_finish(&building, command);
    ELAPSE__ASSERT(is_whole || (fault->status >= 400 && fault->message[0] != '\0'));
    *answered_as = building.has_jobs ? ELAPSE__HTTP_ACK : operation;
    elapse__build_free(&building);
    return is_whole;
}

bool elapse__http_translate(const struct elapse__http_request *request,
                            struct elapse__buffer *command,
                            enum elapse__http_operation *answered_as,
                            struct elapse__http_fault *fault)
{
    enum elapse__http_operation operation = request->route.operation;
    json_t *members = is_change(operation)
                          ? elapse__http_members_of_body(request->body, request->body_bytes,
                                                         ELAPSE__HTTP_MARKS_MAX, fault)
                          : elapse__http_members_of_query(request->query, fault);
    bool is_whole =
        elapse__http_translate_members(request, operation, members, command, answered_as, fault);

    json_decref(members);
    return is_whole;
}

bool elapse__http_add_word(struct elapse__buffer *command, const char *word)
{
    struct elapse__http_fault fault;
    struct elapse__building building = {.fault = &fault};
    bool is_whole = elapse__build_word(&building, word) && elapse__build_finish(&building, command);

    elapse__build_free(&building);
    return is_whole;
}

bool elapse__http_add_hello(struct elapse__buffer *command, struct elapse__wire_resp_argument name,
                            struct elapse__wire_resp_argument password)
{
    struct elapse__http_fault fault;
    struct elapse__building building = {.fault = &fault};
    bool is_whole = elapse__build_word(&building, "HELLO") && elapse__build_word(&building, "3");

    if (is_whole && name.size > 0)
        is_whole = elapse__build_word(&building, "AUTH") &&
                   elapse__build_bytes(&building, name.bytes, name.size) &&
                   elapse__build_bytes(&building, password.bytes, password.size);
    is_whole = is_whole && elapse__build_finish(&building, command);
    elapse__build_free(&building);
    return is_whole;
}
