/*
 * Exports and imports the jobs of a queue, and the settings of its tubes, one by one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/cron.h>

#include "../../base/assert.h"
#include "../../queue/moves.h"
#include "../journal/core.h"
#include "data.h"

/* ---- export ---- */

static int compare_ids(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Returns the ids of all jobs, sorted. */
static uint64_t *list_ids(const struct elapse__upkeep_data *data, size_t *count)
{
    enum { SLICE = 64 };
    struct elapse__queue *jobs = data->engine.jobs;
    struct elapse__queue_view views[SLICE];
    struct elapse__queue_filter filter = {.state = ELAPSE__QUEUE_FREE};
    size_t capacity = (size_t)elapse__queue_jobs(jobs) + 1;
    uint64_t *ids = malloc(capacity * sizeof *ids);
    uint32_t cursor = 0;
    *count = 0;
    if (ids == NULL)
        return NULL;
    do {
        uint32_t found = elapse__queue_list(jobs, data->engine.now(), &filter, &cursor, UINT32_MAX,
                                            views, SLICE);
        for (uint32_t i = 0; i < found; i++) {
            ELAPSE__ASSERT_THAT(*count, <, capacity);
            ids[(*count)++] = views[i].id;
        }
    } while (cursor != 0);
    ELAPSE__ASSERT_THAT(*count, ==, elapse__queue_jobs(jobs));
    qsort(ids, *count, sizeof *ids, compare_ids);
    return ids;
}

/* Fills in a job as it is now. Its state comes from the queue, and its texts come from its
 * record. */
static void describe_job(const struct elapse__upkeep_data *data, uint64_t id,
                         const struct elapse__queue_fields *old, struct elapse__upkeep_job *job)
{
    struct elapse__queue *jobs = data->engine.jobs;
    ELAPSE__ASSERT_THAT(old->id, ==, id);
    elapse__queue_describe(jobs, elapse__queue_entry_find(&jobs->jobs, id), &job->fields);
    job->fields.key = old->key;
    job->fields.tag = old->tag;
    job->fields.group = old->group;
    job->fields.cron = old->cron;
    job->fields.zone = old->zone;
    /* In a record, a put_ms of 0 stands for the due time. */
    job->fields.put_ms = old->put_ms == job->fields.due_ms ? 0 : old->put_ms;
    if (job->fields.state == ELAPSE__QUEUE_RESERVED)
        job->fields.state = ELAPSE__QUEUE_DELAYED;
    ELAPSE__ASSERT(job->fields.state == ELAPSE__QUEUE_DELAYED ||
                   job->fields.state == ELAPSE__QUEUE_BURIED);
    job->fields.lease = (struct elapse__queue_lease){0};
    job->fields.failure = ELAPSE__QUEUE_FAILURE_NONE; /* the error has its own place in an export */
}

/* Reads a job and gives it to each(). Returns 0, or an error that ends the export. */
static int show_job(struct elapse__upkeep_data *data, uint64_t id,
                    bool (*each)(void *context, const struct elapse__upkeep_job *job),
                    void *context, bool *goes_on)
{
    struct elapse__queue *jobs = data->engine.jobs;
    struct elapse__upkeep_job job = {.is_damaged = false};
    struct elapse__queue_fields old;
    struct elapse__record record;
    void *memory = NULL;
    uint64_t position = elapse__queue_position(elapse__queue_entry_find(&jobs->jobs, id));
    int error = elapse__journal_read(data->engine.journal, position, true, &record, &memory);
    if (error != 0 && error != EBADMSG)
        return error;
    if (error != 0 || (record.flags & ELAPSE__RECORD_BODY_LOST) != 0 ||
        !elapse__queue_fields_decode(&old, &record)) {
        job.fields.id = id;
        job.is_damaged = true;
    } else {
        describe_job(data, id, &old, &job);
        job.body = elapse__queue_body_of(&record, &old);
        job.headers = elapse__queue_headers_of(&record, &old);
    }
    struct elapse__engine_job texts = {.memory = NULL};
    elapse__engine_error(&data->engine, id, &texts);
    if (texts.error_ms != 0) {
        job.error = texts.error;
        job.fields.error_ms = texts.error_ms;
    }
    *goes_on = each(context, &job);
    free(texts.error_memory);
    free(memory);
    return 0;
}

/* Opens the queue, which then takes no more records. */
static bool open_jobs(struct elapse__upkeep_data *data, struct elapse__upkeep_fault *fault)
{
    struct elapse__engine *engine = &data->engine;
    return engine->jobs->open ||
           elapse__queue_replay_done(engine->jobs, engine->now(), engine->life + 1) ==
               ELAPSE__QUEUE_OK ||
           elapse__upkeep_fail(fault, data->directory, "the leases make no sense");
}

/* The numbers of rates mean something only beside the buckets of groups, which are left out. */
static struct elapse__queue_settings without_numbers(const struct elapse__queue_settings *settings)
{
    struct elapse__queue_settings without = *settings;
    without.group_rate_number = without.group_rate_since = 0;
    return without;
}

bool elapse__upkeep_each_tube(struct elapse__upkeep_data *data,
                              bool (*each)(void *context, const struct elapse__upkeep_tube *tube),
                              void *context, struct elapse__upkeep_fault *fault)
{
    const struct elapse__queue_tube *tube = NULL;
    uint32_t number = 0;
    bool goes_on = true;
    if (!open_jobs(data, fault))
        return false;
    while (goes_on && (tube = elapse__queue_next_tube(data->engine.jobs, &number)) != NULL) {
        if (tube->record == NULL)
            continue;
        goes_on =
            each(context, &(struct elapse__upkeep_tube){{tube->name, tube->name_size},
                                                        without_numbers(&tube->record->settings)});
    }
    return true;
}

bool elapse__upkeep_each(struct elapse__upkeep_data *data,
                         bool (*each)(void *context, const struct elapse__upkeep_job *job),
                         void *context, struct elapse__upkeep_fault *fault)
{
    size_t count;
    bool goes_on = true;
    if (!open_jobs(data, fault))
        return false;
    uint64_t *ids = list_ids(data, &count);
    int error = ids == NULL ? ENOMEM : 0;
    for (size_t i = 0; i < count && error == 0 && goes_on; i++)
        error = show_job(data, ids[i], each, context, &goes_on);
    free(ids);
    return error == 0 || elapse__upkeep_fail(fault, data->directory, strerror(error));
}

/* ---- import ---- */

static enum elapse__upkeep_added refuse(struct elapse__upkeep_fault *fault, const char *text)
{
    ELAPSE__ASSERT(text[0] != '\0');
    (void)snprintf(fault->text, sizeof fault->text, "%s", text);
    return ELAPSE__UPKEEP_REFUSED;
}

static bool copy_string(char *to, size_t room, struct elapse__queue_text text)
{
    ELAPSE__ASSERT_THAT(room, >, 1);
    if (text.size >= room || (text.size > 0 && memchr(text.bytes, '\0', text.size) != NULL))
        return false;
    if (text.size > 0)
        memcpy(to, text.bytes, text.size);
    to[text.size] = '\0';
    return true;
}

static const char *check_cron(const struct elapse__queue_fields *fields)
{
    static char words[256];
    char cron[ELAPSE__QUEUE_CRON_BYTES_MAX + 1], zone[ELAPSE__QUEUE_ZONE_BYTES_MAX + 1];
    struct elapse_cron parsed;
    struct elapse_cron_fault cron_fault;
    const struct elapse_time_zone *found;
    if (!copy_string(cron, sizeof cron, fields->cron))
        return "cron: the expression is too long";
    if (!copy_string(zone, sizeof zone, fields->zone))
        return "zone: the name is too long";
    if (elapse_cron_parse(&parsed, cron, &cron_fault) != ELAPSE_OK) {
        (void)snprintf(words, sizeof words, "cron: %s", cron_fault.text);
        return words;
    }
    if (zone[0] != '\0' && strcmp(zone, "utc") != 0 &&
        elapse_time_zone_find(zone, &found) != ELAPSE_OK)
        return "zone: there is no such time zone";
    return NULL;
}

/* Returns NULL, or what is wrong with the job. */
static const char *check_job(const struct elapse__upkeep_data *data,
                             const struct elapse__upkeep_job *job)
{
    const struct elapse__queue_fields *fields = &job->fields;
    struct elapse__queue *jobs = data->engine.jobs;
    struct elapse__queue_view view;
    uint64_t segment = UINT64_C(1) << data->engine.journal->segment_bits;
    if (job->body.size > ELAPSE__QUEUE_BODY_BYTES_MAX ||
        job->body.size + job->headers.size + ELAPSE__QUEUE_FIELDS_MAX + 1024 > segment)
        return "body: it is too long";
    if (job->headers.size > ELAPSE__QUEUE_HEADERS_BYTES_MAX)
        return "headers: they have at most 4096 bytes";
    if (job->error.size > ELAPSE__QUEUE_ERROR_BYTES_MAX)
        return "error: it has at most 1024 bytes";
    if (fields->tube.size < 1 || fields->tube.size > ELAPSE__QUEUE_TUBE_BYTES_MAX)
        return "tube: a name has 1 to 200 bytes";
    if (fields->key.size > ELAPSE__QUEUE_KEY_BYTES_MAX)
        return "key: it has at most 250 bytes";
    if (fields->tag.size > ELAPSE__QUEUE_KEY_BYTES_MAX)
        return "tag: it has at most 250 bytes";
    if (fields->group.size > ELAPSE__QUEUE_KEY_BYTES_MAX)
        return "group: it has at most 250 bytes";
    const char *fault =
        fields->recurring && fields->kind == ELAPSE__QUEUE_CRON ? check_cron(fields) : NULL;
    if (fault == NULL && fields->key.size > 0 &&
        elapse__queue_look_up_key(jobs, data->engine.now(), fields->tube, fields->key, &view) !=
            ELAPSE__QUEUE_GONE)
        fault = "key: a job of this tube has it already";
    return fault;
}

/* Returns the body with the headers after it, or NULL if there is no memory. */
static unsigned char *join_headers(const struct elapse__upkeep_job *job)
{
    unsigned char *joined = malloc(job->body.size + job->headers.size + 1);
    if (joined == NULL)
        return NULL;
    if (job->body.size > 0)
        memcpy(joined, job->body.bytes, job->body.size);
    if (job->headers.size > 0)
        memcpy(joined + job->body.size, job->headers.bytes, job->headers.size);
    return joined;
}

/* Translates the error of a load into the result of an import. */
static enum elapse__upkeep_added judge_load(const struct elapse__upkeep_data *data, int error,
                                            struct elapse__upkeep_fault *fault)
{
    if (error == 0)
        return ELAPSE__UPKEEP_ADDED;
    if (error == EBADMSG)
        return refuse(fault, "a number is out of its range");
    (void)elapse__upkeep_fail(fault, data->directory, strerror(error));
    return ELAPSE__UPKEEP_FAILED;
}

/* Loads the error of a job after the job was loaded. */
static int load_error(struct elapse__upkeep_data *data, struct elapse__upkeep_job *job)
{
    unsigned char bytes[ELAPSE__QUEUE_FIELDS_MAX];
    job->fields.has_error = true;
    struct elapse__record record = {
        .type = ELAPSE__RECORD_CHANGE,
        .fields_size = elapse__queue_fields_encode(&job->fields, ELAPSE__RECORD_CHANGE, bytes),
        .fields = bytes,
        .body_size = (uint32_t)job->error.size,
        .body = job->error.bytes,
    };
    return elapse__data_load(data, &record);
}

enum elapse__upkeep_added elapse__upkeep_add(struct elapse__upkeep_data *data,
                                             struct elapse__upkeep_job *job,
                                             struct elapse__upkeep_fault *fault)
{
    unsigned char bytes[ELAPSE__QUEUE_FIELDS_MAX];
    struct elapse__queue_fields *fields = &job->fields;
    uint64_t last_id = elapse__queue_last_id(data->engine.jobs);
    const char *wrong = check_job(data, job);
    if (wrong != NULL)
        return refuse(fault, wrong);
    if (fields->id <= last_id)
        fields->id = last_id + 1;
    if (fields->id > ELAPSE__QUEUE_ID_MAX)
        return refuse(fault, "id: it is too great");
    ELAPSE__ASSERT_THAT(fields->id, >, last_id); /* no id is given twice */
    /* The record of a job without a due time has the time of its put in its place
     * (src/queue/sides.c). */
    if (fields->no_due && fields->put_ms == 0)
        fields->put_ms = data->engine.now().wall_ms;
    fields->headers_size = (uint16_t)job->headers.size;
    unsigned char *joined = join_headers(job);
    if (joined == NULL) {
        (void)elapse__upkeep_fail(fault, data->directory, strerror(ENOMEM));
        return ELAPSE__UPKEEP_FAILED;
    }
    struct elapse__record record = {
        .type = ELAPSE__RECORD_PUT,
        .fields_size = elapse__queue_fields_encode(fields, ELAPSE__RECORD_PUT, bytes),
        .fields = bytes,
        .body_size = (uint32_t)(job->body.size + job->headers.size),
        .body = job->body.size + job->headers.size == 0 ? NULL : joined,
    };
    int error = elapse__data_load(data, &record);
    free(joined);
    if (error == 0 && job->error.size > 0)
        error = load_error(data, job);
    return judge_load(data, error, fault);
}

enum elapse__upkeep_added elapse__upkeep_add_tube(struct elapse__upkeep_data *data,
                                                  const struct elapse__upkeep_tube *tube,
                                                  struct elapse__upkeep_fault *fault)
{
    unsigned char bytes[ELAPSE__QUEUE_SETTINGS_BYTES_MAX];
    if (tube->name.size < 1 || tube->name.size > ELAPSE__QUEUE_TUBE_BYTES_MAX)
        return refuse(fault, "settings_of: a name has 1 to 200 bytes");
    struct elapse__queue_settings settings = without_numbers(&tube->settings);
    if (!elapse__queue_settings_fit(&settings))
        return refuse(fault, "a number is out of its range");
    struct elapse__record record = {
        .type = ELAPSE__RECORD_TUBE,
        .fields_size = elapse__queue_settings_encode(&settings, tube->name, bytes),
        .fields = bytes,
    };
    return judge_load(data, elapse__data_load(data, &record), fault);
}
