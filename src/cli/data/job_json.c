#include "job_json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "../../base/assert.h"
#include "../../base/base64.h"
#include "../../protocol/put_options.h"
#include "../common/message.h"
#include "../common/text.h"
#include "tube_json.h"

/* The members that are whole numbers. */
static const struct number_member {
    const char *name;
    size_t offset;
    enum { NUMBER_32, NUMBER_64, NUMBER_SIGNED } width;
    uint64_t usual; /* a member with this value is left out */
} numbers[] = {
#define MEMBER(field, width, usual)                                        \
    {                                                                      \
#field, offsetof(struct elapse__queue_fields, field), width, usual \
    }
    MEMBER(id, NUMBER_64, 0),
    MEMBER(due_ms, NUMBER_SIGNED, 0),
    MEMBER(priority, NUMBER_32, 0),
    MEMBER(ttr_ms, NUMBER_64, ELAPSE__PUT_TTR_MS_DEFAULT),
    MEMBER(expire_ms, NUMBER_64, 0),
    MEMBER(retry, NUMBER_32, 0),
    MEMBER(backoff_min_ms, NUMBER_64, 0),
    MEMBER(backoff_max_ms, NUMBER_64, 0),
    MEMBER(period_ms, NUMBER_64, 0),
    MEMBER(occurrence_ms, NUMBER_SIGNED, 0),
    MEMBER(first_ms, NUMBER_SIGNED, 0),
    MEMBER(put_ms, NUMBER_SIGNED, 0),
    MEMBER(await, NUMBER_32, 0),
    MEMBER(error_ms, NUMBER_SIGNED, 0),
#define COUNTER(field) MEMBER(field, NUMBER_32, 0),
    ELAPSE__QUEUE_OCCURRENCES(COUNTER) ELAPSE__QUEUE_COUNTERS(COUNTER)
#undef COUNTER
#undef MEMBER
};

enum { NUMBER_COUNT = sizeof numbers / sizeof numbers[0] };

/* The members that are texts. */
static const struct text_member {
    const char *name;
    size_t offset; /* in struct elapse__upkeep_job */
} texts[] = {
#define FIELDS offsetof(struct elapse__upkeep_job, fields)
    {"tube", FIELDS + offsetof(struct elapse__queue_fields, tube)},
    {"key", FIELDS + offsetof(struct elapse__queue_fields, key)},
    {"tag", FIELDS + offsetof(struct elapse__queue_fields, tag)},
    {"group", FIELDS + offsetof(struct elapse__queue_fields, group)},
    {"cron", FIELDS + offsetof(struct elapse__queue_fields, cron)},
    {"zone", FIELDS + offsetof(struct elapse__queue_fields, zone)},
    {"error", offsetof(struct elapse__upkeep_job, error)},
    {"headers", offsetof(struct elapse__upkeep_job, headers)},
    {"body", offsetof(struct elapse__upkeep_job, body)},
#undef FIELDS
};

enum { TEXT_COUNT = sizeof texts / sizeof texts[0] };

/* The names of the reasons, in the order of their numbers. Exported files have these names, so a
 * name must never change. */
static const char *const reasons[] = {"none", "worker", "retries", "zone", "damaged"};

enum { REASON_COUNT = sizeof reasons / sizeof reasons[0] };

/* ---- writing ---- */

static void write_number(struct elapse__json *json, const struct number_member *member,
                         const struct elapse__queue_fields *fields)
{
    const unsigned char *place = (const unsigned char *)fields + member->offset;
    uint64_t value = 0;
    uint32_t small = 0;
    if (member->width == NUMBER_32) {
        memcpy(&small, place, sizeof small);
        value = small;
    } else {
        memcpy(&value, place, sizeof value);
    }
    /* A job that waits for arrivals has no due time, unless its line has one. */
    bool is_needed = member->offset == offsetof(struct elapse__queue_fields, due_ms) &&
                     fields->awaits == ELAPSE__QUEUE_AWAITS_WAITING && !fields->no_due;
    if (value == member->usual && !is_needed)
        return;
    elapse__json_name(json, member->name);
    if (member->width == NUMBER_SIGNED)
        elapse__json_signed(json, (int64_t)value);
    else
        elapse__json_unsigned(json, value);
}

void job_json_write(struct elapse__json *json, const struct elapse__upkeep_job *job)
{
    const struct elapse__queue_fields *fields = &job->fields;
    bool is_buried = fields->state == ELAPSE__QUEUE_BURIED;
    ELAPSE__ASSERT(!job->is_damaged);
    ELAPSE__ASSERT_THAT(fields->reason, <, REASON_COUNT);
    ELAPSE__ASSERT(fields->id > 0 && fields->tube.size > 0);
    elapse__json_open(json, '{');
    elapse__json_text_member(json, "state", is_buried ? "buried" : "waiting");
    if (is_buried)
        elapse__json_text_member(json, "reason", reasons[fields->reason]);
    for (size_t i = 0; i < NUMBER_COUNT; i++)
        write_number(json, &numbers[i], fields);
    if (fields->by_wall)
        elapse__json_boolean_member(json, "by_wall_clock", true);
    if (fields->handed_out)
        elapse__json_boolean_member(json, "handed_out", true);
    if (fields->awaits == ELAPSE__QUEUE_AWAITS_MISSED)
        elapse__json_boolean_member(json, "released", true);
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        struct elapse__queue_text text;
        memcpy(&text, (const unsigned char *)job + texts[i].offset, sizeof text);
        if (text.size > 0)
            elapse__json_bytes_member(json, texts[i].name, text.bytes, text.size);
    }
    elapse__json_close(json, '}');
}

/* ---- reading ---- */

struct reading {
    struct job_json *line;
    unsigned char *next; /* in the memory of the line */
    bool has_ttr;
    bool has_due;
    bool has_state;
    bool is_released; /* the job became ready before all arrivals had come */
    char *fault;
    size_t fault_bytes;
};

static bool bad(const struct reading *reading, const char *name, const char *text)
{
    (void)snprintf(reading->fault, reading->fault_bytes, "%s: %s", quote_string(name).text, text);
    return false;
}

static bool read_number(struct reading *reading, const struct number_member *member,
                        const json_t *value)
{
    unsigned char *place = (unsigned char *)&reading->line->job.fields + member->offset;
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value))
        return bad(reading, member->name, "this is no whole number");
    if (member->width != NUMBER_SIGNED && number < 0)
        return bad(reading, member->name, "it is negative");
    if (member->width == NUMBER_32 && number > UINT32_MAX)
        return bad(reading, member->name, "it is above 4294967295");
    uint32_t small = (uint32_t)number;
    uint64_t value_64 = (uint64_t)number;
    if (member->width == NUMBER_32)
        memcpy(place, &small, sizeof small);
    else
        memcpy(place, &value_64, sizeof value_64);
    if (strcmp(member->name, "ttr_ms") == 0)
        reading->has_ttr = true;
    if (strcmp(member->name, "due_ms") == 0)
        reading->has_due = true;
    if (strcmp(member->name, "first_ms") == 0)
        reading->line->job.fields.has_first = true;
    return true;
}

static bool read_text(struct reading *reading, const struct text_member *member, bool is_base64,
                      const json_t *value)
{
    unsigned char *place = (unsigned char *)&reading->line->job + member->offset;
    struct elapse__queue_text text = {.bytes = reading->next, .size = json_string_length(value)};
    if (!json_is_string(value))
        return bad(reading, member->name, "this is no string");
    if (!is_base64)
        memcpy(reading->next, json_string_value(value), text.size);
    else if (!elapse__base64_read(json_string_value(value), text.size, reading->next, &text.size))
        return bad(reading, member->name, "this is no base64");
    reading->next += text.size;
    ELAPSE__ASSERT_THAT(text.size, <=, json_string_length(value));
    memcpy(place, &text, sizeof text);
    return true;
}

static bool read_flag(const struct reading *reading, const char *name, const json_t *value,
                      bool *flag)
{
    if (!json_is_boolean(value))
        return bad(reading, name, "it is neither true nor false");
    *flag = json_is_true(value);
    return true;
}

static bool read_state(struct reading *reading, const json_t *value)
{
    const char *state = json_is_string(value) ? json_string_value(value) : "";
    bool is_buried = strcmp(state, "buried") == 0;
    if (!is_buried && strcmp(state, "waiting") != 0)
        return bad(reading, "state", "it is neither waiting nor buried");
    reading->has_state = true;
    reading->line->job.fields.state = is_buried ? ELAPSE__QUEUE_BURIED : ELAPSE__QUEUE_DELAYED;
    return true;
}

static bool read_reason(struct reading *reading, const json_t *value)
{
    for (uint8_t i = 0; i < REASON_COUNT && json_is_string(value); i++) {
        if (strcmp(json_string_value(value), reasons[i]) == 0) {
            reading->line->job.fields.reason = i;
            return true;
        }
    }
    return bad(reading, "reason", "it is none of none, worker, retries, zone and damaged");
}

static bool read_member(struct reading *reading, const char *name, const json_t *value)
{
    struct elapse__queue_fields *fields = &reading->line->job.fields;
    static const char suffix[] = "_base64";
    for (size_t i = 0; i < NUMBER_COUNT; i++) {
        if (strcmp(numbers[i].name, name) == 0)
            return read_number(reading, &numbers[i], value);
    }
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        size_t length = strlen(texts[i].name);
        if (strncmp(texts[i].name, name, length) != 0)
            continue;
        if (name[length] == '\0' || strcmp(name + length, suffix) == 0)
            return read_text(reading, &texts[i], name[length] != '\0', value);
    }
    if (strcmp(name, "by_wall_clock") == 0)
        return read_flag(reading, name, value, &fields->by_wall);
    if (strcmp(name, "handed_out") == 0)
        return read_flag(reading, name, value, &fields->handed_out);
    if (strcmp(name, "released") == 0)
        return read_flag(reading, name, value, &reading->is_released);
    if (strcmp(name, "state") == 0)
        return read_state(reading, value);
    if (strcmp(name, "reason") == 0)
        return read_reason(reading, value);
    return bad(reading, name, "there is no such member");
}

/* Checks and completes the members about arrivals. Requires that the state is known. A job that
 * waits for arrivals has a due time only if the line has one. Without one the job must not become
 * due. */
static bool complete_await(const struct reading *reading)
{
    struct elapse__queue_fields *fields = &reading->line->job.fields;
    bool is_over = reading->is_released || fields->state == ELAPSE__QUEUE_BURIED;
    if (fields->await == 0)
        return !reading->is_released || bad(reading, "released", "it needs await");
    if (fields->recurring)
        return bad(reading, "await", "a job that recurs waits for no arrivals");
    if (fields->has_first)
        return bad(reading, "await", "a job with first_ms waits for no arrivals");
    if (!is_over && fields->key.size == 0)
        return bad(reading, "await", "it needs a key");
    fields->awaits = is_over ? ELAPSE__QUEUE_AWAITS_MISSED : ELAPSE__QUEUE_AWAITS_WAITING;
    fields->no_due = !is_over && !reading->has_due;
    ELAPSE__ASSERT(!fields->no_due || fields->due_ms == 0);
    return true;
}

/* Checks the members of a job together, and completes the job. */
static bool complete(struct reading *reading)
{
    struct elapse__queue_fields *fields = &reading->line->job.fields;
    if (fields->tube.size == 0)
        return bad(reading, "tube", "it is missing");
    if (fields->period_ms > 0 && fields->cron.size > 0)
        return bad(reading, "cron", "a job has a period or a cron expression, not both");
    if (fields->zone.size > 0 && fields->cron.size == 0)
        return bad(reading, "zone", "a zone needs a cron expression");
    fields->recurring = fields->period_ms > 0 || fields->cron.size > 0;
    fields->kind = fields->cron.size > 0 ? ELAPSE__QUEUE_CRON : ELAPSE__QUEUE_EVERY;
    if (fields->recurring && fields->occurrence_ms == 0)
        fields->occurrence_ms = fields->due_ms;
    if (!reading->has_ttr)
        fields->ttr_ms = ELAPSE__PUT_TTR_MS_DEFAULT;
    if (!reading->has_state)
        fields->state = ELAPSE__QUEUE_DELAYED;
    if (fields->state != ELAPSE__QUEUE_BURIED)
        fields->reason = 0;
    ELAPSE__ASSERT(fields->state == ELAPSE__QUEUE_BURIED || fields->state == ELAPSE__QUEUE_DELAYED);
    ELAPSE__ASSERT(fields->recurring || fields->cron.size == 0);
    return complete_await(reading);
}

static bool read_members(struct reading *reading, json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        if (!read_member(reading, name, value))
            return false;
    }
    return complete(reading);
}

bool job_json_read(struct job_json *line, const char *text, size_t length, char *fault,
                   size_t fault_bytes)
{
    json_error_t error;
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    struct reading reading = {.line = line, .fault = fault, .fault_bytes = fault_bytes};
    *line = (struct job_json){.memory = NULL};
    if (!json_is_object(object)) {
        (void)snprintf(fault, fault_bytes, "%s",
                       object != NULL ? "this is no object of JSON" : error.text);
        json_decref(object);
        return false;
    }
    /* The texts together are not longer than the line. */
    line->memory = allocate(length + 1);
    reading.next = line->memory;
    line->is_tube = tube_json_is_meant(object);
    bool is_read = line->is_tube
                       ? tube_json_read(&line->tube, object, line->memory, fault, fault_bytes)
                       : read_members(&reading, object);
    json_decref(object);
    if (!is_read)
        job_json_free(line);
    return is_read;
}

void job_json_free(struct job_json *line)
{
    free(line->memory);
    line->memory = NULL;
}
