#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct log *log_of(struct elapse__record_sink *sink)
{
    return (struct log *)(void *)sink;
}

static int log_begin(struct elapse__record_sink *sink, uint64_t bytes,
                     enum elapse__record_purpose purpose)
{
    struct log *log = log_of(sink);
    if (log->in_group)
        abort(); /* groups do not nest */
    log->begins++;
    if (log->refusals > 0) {
        log->refusals--;
        return log->refusal != 0 ? log->refusal : ENOSPC;
    }
    log->in_group = true;
    log->group_left = bytes;
    log->purpose = purpose;
    log->groups++;
    return 0;
}

static void *copy_bytes(const void *bytes, size_t size)
{
    if (size == 0)
        return NULL;
    void *copy = malloc(size);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes, size);
    return copy;
}

static uint64_t log_append(struct elapse__record_sink *sink, const struct elapse__record *record)
{
    struct log *log = log_of(sink);
    uint64_t bytes = elapse__record_bytes_max(record->fields_size, record->body_size);
    if (!log->in_group || bytes > log->group_left)
        abort(); /* the record is outside a group, or larger than `begin` was asked for */
    log->group_left -= bytes;
    if (log->count == log->room) {
        log->room = log->room == 0 ? 64 : 2 * log->room;
        log->records = realloc(log->records, log->room * sizeof *log->records);
        if (log->records == NULL)
            abort();
    }
    struct log_record *kept = &log->records[log->count++];
    *kept = (struct log_record){
        .record = *record, .position = log->next_position, .group = log->groups};
    kept->record.fields = copy_bytes(record->fields, record->fields_size);
    kept->record.body = copy_bytes(record->body, record->body_size);
    log->next_position += (bytes + 7) / 8 * 8;
    return kept->position;
}

static uint64_t log_end(struct elapse__record_sink *sink)
{
    struct log *log = log_of(sink);
    if (!log->in_group)
        abort();
    log->in_group = false;
    return log->next_position;
}

static struct log_record *record_at(const struct log *log, uint64_t position)
{
    size_t low = 0;
    size_t high = log->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->records[middle].position < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low < log->count && log->records[low].position == position ? &log->records[low] : NULL;
}

static void log_count_live(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    struct log_record *record = record_at(log_of(sink), position);
    if (record == NULL)
        abort();
    record->live += change;
    if (record->live < 0)
        abort();
}

void log_init(struct log *log)
{
    *log = (struct log){
        .sink = {log_begin, log_append, log_end, log_count_live},
        .next_position = 8,
    };
}

void log_free(struct log *log)
{
    for (size_t i = 0; i < log->count; i++) {
        free((void *)(uintptr_t)log->records[i].record.fields);
        free((void *)(uintptr_t)log->records[i].record.body);
    }
    free(log->records);
}

enum elapse__queue_result log_replay(const struct log *log, struct elapse__queue *queue)
{
    for (size_t i = log->tail; i < log->count; i++) {
        struct elapse__record record = log->records[i].record;
        record.body = NULL;
        enum elapse__queue_result result =
            elapse__queue_replay(queue, log->records[i].position, &record);
        if (result != ELAPSE__QUEUE_OK)
            return result;
    }
    return ELAPSE__QUEUE_OK;
}

bool log_clean(struct log *log, struct elapse__queue *queue, struct elapse__queue_now now,
               size_t records)
{
    for (; records > 0 && log->tail < log->count; records--) {
        /* Cleaning appends, so the record may move in memory. */
        struct log_record oldest = log->records[log->tail];
        if (elapse__queue_clean(queue, now, oldest.position, &oldest.record) != ELAPSE__QUEUE_OK)
            return false;
        log->tail++;
    }
    return true;
}

int64_t log_live(const struct log *log)
{
    int64_t live = 0;
    for (size_t i = log->tail; i < log->count; i++)
        if (log->records[i].record.type == ELAPSE__RECORD_PUT)
            live += log->records[i].live;
    return live;
}

int64_t log_live_dropped(const struct log *log)
{
    int64_t live = 0;
    for (size_t i = 0; i < log->tail; i++)
        if (log->records[i].record.type != ELAPSE__RECORD_TOKEN)
            live += log->records[i].live;
    return live;
}

bool log_is_put(const struct log *log, uint64_t position)
{
    const struct log_record *found = record_at(log, position);
    return found != NULL && found->record.type == ELAPSE__RECORD_PUT;
}

struct elapse__queue_text log_body(const struct log *log, uint64_t position)
{
    const struct log_record *found = record_at(log, position);
    if (found == NULL)
        return (struct elapse__queue_text){0};
    return (struct elapse__queue_text){found->record.body, found->record.body_size};
}

size_t log_records(const struct log *log, enum elapse__record_type type)
{
    size_t found = 0;
    for (size_t i = log->tail; i < log->count; i++)
        found += log->records[i].record.type == type;
    return found;
}
