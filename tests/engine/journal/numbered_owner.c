#include "numbered_owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_BYTES = 8, OVERHEAD = 40, BODY_MAX = 1 << 20 };

static uint64_t mix(uint64_t number)
{
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

static uint64_t hash_of(uint32_t number, const struct owner_job *job)
{
    return mix((uint64_t)number << 32 | job->value) ^ mix(mix(number) + job->body_size);
}

static void fill_body(uint32_t number, uint8_t *body, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        body[i] = (uint8_t)mix((uint64_t)number << 20 | i >> 3);
}

static void encode_fields(uint8_t *fields, uint32_t number, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++) {
        fields[i] = (uint8_t)(number >> 8 * i);
        fields[4 + i] = (uint8_t)(value >> 8 * i);
    }
}

static void decode_fields(const uint8_t *fields, uint32_t *number, uint32_t *value)
{
    *number = *value = 0;
    for (unsigned i = 0; i < 4; i++) {
        *number |= (uint32_t)fields[i] << 8 * i;
        *value |= (uint32_t)fields[4 + i] << 8 * i;
    }
}

/* ---- what happens to one job, when it is appended and when it is replayed ---- */

static int64_t counted_bytes(const struct owner *owner, const struct owner_job *job)
{
    return job->body_size + OVERHEAD + owner->excess_bytes;
}

static void job_begins(struct owner *owner, uint32_t number, uint32_t value, uint32_t body_size,
                       uint64_t position, struct elapse__record_sink *sink)
{
    struct owner_job *job = &owner->jobs[number];
    if (job->is_live) { /* cleaning has copied it */
        owner->hash ^= hash_of(number, job);
        owner->longer_copies -= job->value == 1 ? 1u : 0u;
        sink->live(sink, job->position, -counted_bytes(owner, job));
        owner->live_bytes -= job->body_size + OVERHEAD;
        owner->live_count--;
    }
    *job = (struct owner_job){position, value, body_size, true};
    owner->hash ^= hash_of(number, job);
    owner->longer_copies += value == 1 ? 1u : 0u;
    owner->live_bytes += body_size + OVERHEAD;
    owner->live_count++;
    sink->live(sink, position, counted_bytes(owner, job));
}

static void job_changes(struct owner *owner, uint32_t number, uint32_t value)
{
    struct owner_job *job = &owner->jobs[number];
    if (!job->is_live)
        return;
    owner->hash ^= hash_of(number, job);
    owner->longer_copies -= job->value == 1 ? 1u : 0u;
    owner->longer_copies += value == 1 ? 1u : 0u;
    job->value = value;
    owner->hash ^= hash_of(number, job);
}

static void job_ends(struct owner *owner, uint32_t number, struct elapse__record_sink *sink)
{
    struct owner_job *job = &owner->jobs[number];
    if (!job->is_live)
        return;
    owner->hash ^= hash_of(number, job);
    owner->longer_copies -= job->value == 1 ? 1u : 0u;
    job->is_live = false;
    owner->live_bytes -= job->body_size + OVERHEAD;
    owner->live_count--;
    sink->live(sink, job->position, -counted_bytes(owner, job));
}

static uint64_t append(struct owner *owner, enum elapse__record_type type, uint32_t number,
                       uint32_t value, uint32_t body_size)
{
    static uint8_t body[BODY_MAX];
    uint8_t fields[FIELDS_BYTES];
    struct elapse__record_sink *sink = elapse__journal_sink(owner->journal);
    struct elapse__record record = {
        .type = type,
        .fields_size = sizeof fields,
        .fields = fields,
        .body_size = body_size,
        .body = body,
    };
    encode_fields(fields, number, value);
    fill_body(number, body, body_size);
    return sink->append(sink, &record);
}

/* ---- commands ---- */

static int begin(struct owner *owner, uint32_t records, uint32_t body_size,
                 enum elapse__record_purpose purpose)
{
    struct elapse__record_sink *sink = elapse__journal_sink(owner->journal);
    if (owner->command_count == OWNER_COMMANDS_MAX || owner->job_count + 1 == OWNER_JOBS_MAX)
        return EAGAIN;
    return sink->begin(sink, records * elapse__record_bytes_max(FIELDS_BYTES, 0) + body_size,
                       purpose);
}

static void end(struct owner *owner)
{
    struct elapse__record_sink *sink = elapse__journal_sink(owner->journal);
    owner->commands[owner->command_count++] =
        (struct owner_command){.position = sink->end(sink), .hash = owner->hash};
}

int owner_put(struct owner *owner, uint32_t body_size, enum elapse__record_purpose purpose)
{
    int error = begin(owner, 1, body_size, purpose);
    if (error != 0)
        return error;
    uint32_t number = ++owner->job_count;
    uint64_t position = append(owner, ELAPSE__RECORD_PUT, number, 0, body_size);
    job_begins(owner, number, 0, body_size, position, elapse__journal_sink(owner->journal));
    end(owner);
    return 0;
}

int owner_put_durably(struct owner *owner, uint32_t body_size)
{
    int error = owner_put(owner, body_size, ELAPSE__RECORD_FOR_GROWTH);
    while (elapse__journal_work(owner->journal))
        continue;
    owner_acknowledge(owner);
    return error;
}

int owner_change(struct owner *owner, uint32_t number, uint32_t value)
{
    int error = begin(owner, 1, 0, ELAPSE__RECORD_FOR_LEASE);
    if (error != 0)
        return error;
    (void)append(owner, ELAPSE__RECORD_CHANGE, number, value, 0);
    job_changes(owner, number, value);
    end(owner);
    return 0;
}

int owner_delete(struct owner *owner, uint32_t number)
{
    int error = begin(owner, 1, 0, ELAPSE__RECORD_FOR_RELIEF);
    if (error != 0)
        return error;
    (void)append(owner, ELAPSE__RECORD_DELETE, number, 0, 0);
    job_ends(owner, number, elapse__journal_sink(owner->journal));
    end(owner);
    return 0;
}

int owner_replace(struct owner *owner, uint32_t old, uint32_t body_size)
{
    int error = begin(owner, 3, body_size, ELAPSE__RECORD_FOR_GROWTH);
    if (error != 0)
        return error;
    struct elapse__record_sink *sink = elapse__journal_sink(owner->journal);
    (void)append(owner, ELAPSE__RECORD_DELETE, old, 0, 0);
    job_ends(owner, old, sink);
    uint32_t number = ++owner->job_count;
    uint64_t position = append(owner, ELAPSE__RECORD_PUT, number, 0, body_size);
    job_begins(owner, number, 0, body_size, position, sink);
    (void)append(owner, ELAPSE__RECORD_CHANGE, number, 7, 0);
    job_changes(owner, number, 7);
    end(owner);
    return 0;
}

void owner_acknowledge(struct owner *owner)
{
    uint64_t durable = elapse__journal_durable(owner->journal);
    while (owner->acknowledged + 1 < owner->command_count &&
           owner->commands[owner->acknowledged + 1].position <= durable)
        owner->acknowledged++;
}

/* ---- callbacks ---- */

static int on_header(void *context, uint64_t next_id, int64_t wall_ms)
{
    struct owner *owner = context;
    if (wall_ms != -5)
        owner->broken = "the header has another wall-clock time than was given";
    if (next_id > owner->job_count)
        owner->job_count = (uint32_t)next_id;
    return 0;
}

static void on_facts(void *context, uint64_t *next_id, int64_t *wall_ms)
{
    const struct owner *owner = context;
    *next_id = owner->job_count;
    *wall_ms = -5;
}

static uint64_t digest_of(const struct elapse__record *record)
{
    uint32_t number, value;
    if (record->fields_size != FIELDS_BYTES)
        return 0;
    decode_fields(record->fields, &number, &value);
    return ((uint64_t)number << 32 | value) * 31 + (uint64_t)record->type;
}

static void on_fetch(void *context, const struct elapse__record *record, bool is_near)
{
    struct owner *owner = context;
    owner->news[is_near][owner->news_count[is_near]++ % 64] = digest_of(record);
}

static bool has_heard(const struct owner *owner, bool is_near, uint64_t digest)
{
    for (uint64_t i = 0; i < 64 && i < owner->news_count[is_near]; i++)
        if (owner->news[is_near][i] == digest)
            return true;
    return false;
}

static int on_replay(void *context, uint64_t position, const struct elapse__record *record,
                     struct elapse__record_sink *sink)
{
    struct owner *owner = context;
    uint32_t number, value;
    bool was_far = has_heard(owner, false, digest_of(record));
    owner->replayed++;
    owner->heard += was_far;
    owner->heard_twice += was_far && has_heard(owner, true, digest_of(record));
    if (record->fields_size != FIELDS_BYTES || record->body != NULL) {
        owner->broken = "a record is replayed that was never appended";
        return EBADMSG;
    }
    decode_fields(record->fields, &number, &value);
    if (number >= OWNER_JOBS_MAX) {
        owner->broken = "a job is replayed that never was";
        return EBADMSG;
    }
    if (number > owner->job_count)
        owner->job_count = number;
    switch (record->type) {
    case ELAPSE__RECORD_PUT:
        job_begins(owner, number, value, record->body_size, position, sink);
        return 0;
    case ELAPSE__RECORD_CHANGE:
        job_changes(owner, number, value);
        return 0;
    case ELAPSE__RECORD_DELETE:
        job_ends(owner, number, sink);
        return 0;
    default:
        owner->broken = "a record of another type is replayed";
        return EBADMSG;
    }
}

static int on_clean(void *context, uint64_t position, const struct elapse__record *record)
{
    struct owner *owner = context;
    uint32_t number, value;
    decode_fields(record->fields, &number, &value);
    const struct owner_job *job = &owner->jobs[number];
    if (record->type != ELAPSE__RECORD_PUT || !job->is_live || job->position != position)
        return 0;
    struct elapse__record_sink *sink = elapse__journal_sink(owner->journal);
    bool grows = owner->growth_bytes > 0 && job->value == 1 ? 1u : 0u;
    uint32_t copy_value = grows ? 2 : job->value;
    uint32_t body_size = record->body_size + (grows ? owner->growth_bytes : 0);
    int error = sink->begin(sink, elapse__record_bytes_max(FIELDS_BYTES, body_size),
                            ELAPSE__RECORD_FOR_COPY);
    if (error != 0)
        return error;
    uint64_t copied = append(owner, ELAPSE__RECORD_PUT, number, copy_value, body_size);
    job_begins(owner, number, copy_value, body_size, copied, sink);
    (void)sink->end(sink);
    return 0;
}

static uint64_t on_growth(void *context)
{
    const struct owner *owner = context;
    return owner->longer_copies * owner->growth_bytes;
}

static uint64_t on_excess(void *context)
{
    const struct owner *owner = context;
    return (uint64_t)owner->live_count * owner->excess_bytes;
}

struct elapse__journal_owner owner_callbacks(struct owner *owner)
{
    return (struct elapse__journal_owner){
        .context = owner,
        .header = on_header,
        .replay = on_replay,
        .fetch = on_fetch,
        .clean = on_clean,
        .facts = on_facts,
        .growth = on_growth,
        .excess = on_excess,
    };
}

void owner_begin(struct owner *owner)
{
    memset(owner, 0, sizeof *owner);
    owner->command_count = 1;
}

void owner_forget(struct owner *owner)
{
    memset(owner->jobs, 0, sizeof owner->jobs);
    owner->hash = 0;
    owner->live_count = 0;
    owner->live_bytes = 0;
    owner->longer_copies = 0;
    owner->broken = NULL;
    owner->replayed = owner->heard = owner->heard_twice = 0;
    owner->news_count[0] = owner->news_count[1] = 0;
}

bool owner_open(struct owner *owner, const struct elapse__files *files, unsigned segment_bits,
                uint32_t interval_ms, struct elapse__journal_refusal *refusal)
{
    struct elapse__journal_options options = {
        .files = files,
        .path = "data",
        .owner = owner_callbacks(owner),
        .segment_bits = segment_bits,
        .interval_ms = interval_ms,
        .identity = {.bytes = {1, 2, 3}},
        .memory = owner->memory,
    };
    owner_forget(owner);
    owner->journal = elapse__journal_open(&options, refusal);
    return owner->journal != NULL;
}

bool owner_matches(struct owner *owner, uint32_t oldest)
{
    for (uint32_t i = owner->command_count; i-- > oldest;) {
        if (owner->commands[i].hash != owner->hash)
            continue;
        owner->command_count = i + 1;
        for (uint32_t j = 0; j <= i; j++)
            owner->commands[j].position = 0; /* all of them are durable now */
        owner->acknowledged = i;
        return true;
    }
    return false;
}

const char *owner_read_all(struct owner *owner)
{
    static uint8_t expected[BODY_MAX];
    for (uint32_t number = 0; number < OWNER_JOBS_MAX; number++) {
        const struct owner_job *job = &owner->jobs[number];
        if (!job->is_live)
            continue;
        struct elapse__record record;
        void *memory = NULL;
        int error = EAGAIN;
        for (int attempt = 0; error == EAGAIN; attempt++)
            error =
                elapse__journal_read(owner->journal, job->position, attempt > 0, &record, &memory);
        if (error != 0)
            return "a body cannot be read";
        fill_body(number, expected, job->body_size);
        bool same = record.body_size == job->body_size &&
                    (job->body_size == 0 || memcmp(record.body, expected, job->body_size) == 0);
        free(memory);
        if (!same)
            return "a body is another one";
    }
    return NULL;
}

uint32_t owner_any_live(const struct owner *owner, uint64_t random)
{
    if (owner->live_count == 0)
        return OWNER_JOBS_MAX;
    uint32_t number = (uint32_t)(random % owner->job_count) + 1;
    while (!owner->jobs[number].is_live)
        number = number == owner->job_count ? 1 : number + 1;
    return number;
}
