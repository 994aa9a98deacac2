#include "moves.h"

static void describe_side(const struct elapse__queue *queue,
                          const struct elapse__queue_entry *entry,
                          const struct elapse__queue_side *side,
                          struct elapse__queue_fields *fields)
{
    fields->handed_out = side->handed_out;
    fields->failure = (enum elapse__queue_failure)side->failure;
    fields->reason = (uint8_t)side->reason;
    fields->attempts = side->attempts;
    fields->reserves = side->reserves;
    fields->timeouts = side->timeouts;
    fields->releases = side->releases;
    fields->buries = side->buries;
    fields->kicks = side->kicks;
    fields->has_buried = fields->state == ELAPSE__QUEUE_BURIED && !queue->options.old_records;
    if (fields->has_buried)
        fields->buried_ms = elapse__queue_tick_to_ms(queue, false, side->buried);
    fields->awaits = (enum elapse__queue_awaits)side->awaits;
    fields->await = elapse__queue_await_of(side);
    fields->has_first = elapse__queue_first_of(side) != 0;
    if (fields->has_first)
        fields->first_ms = elapse__queue_tick_to_ms(queue, false, side->first);
    const struct elapse__queue_recurrence *recurrence = side->recurrence;
    fields->recurring = recurrence != NULL;
    if (recurrence != NULL) {
        fields->kind = recurrence->kind;
        fields->period_ms = recurrence->period_ms;
        fields->occurrence_ms = recurrence->occurrence_ms;
        fields->missed = recurrence->missed;
        fields->reported = recurrence->reported;
        fields->failures = recurrence->failures;
    }
    if (elapse__queue_is_leased(fields->state)) {
        ELAPSE__ASSERT_THAT(side->lease, !=, 0);
        ELAPSE__ASSERT_THAT(side->life, <=, queue->life);
        uint64_t end =
            side->begun
                ? entry->timer.deadline
                : elapse__queue_after(queue, elapse__queue_profile_of(queue, entry)->ttr_ms);
        fields->lease = (struct elapse__queue_lease){.life = side->life, .number = side->lease};
        fields->lease_end_ms = elapse__queue_tick_to_ms(queue, false, end);
    }
}

void elapse__queue_describe_state(const struct elapse__queue *queue,
                                  const struct elapse__queue_entry *entry,
                                  struct elapse__queue_fields *fields)
{
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    struct elapse__queue_tick due = elapse__queue_due_of(queue, entry);
    fields->id = elapse__queue_id(entry);
    fields->state = elapse__queue_state_of(entry);
    fields->by_wall = due.by_wall;
    fields->no_due = due.tick == ELAPSE__QUEUE_NO_DUE;
    fields->due_ms = fields->no_due ? 0 : elapse__queue_tick_to_ms(queue, due.by_wall, due.tick);
    fields->priority = entry->priority;
    /* A record does not say that a job is ready, because this follows from the time. */
    if (fields->state == ELAPSE__QUEUE_READY)
        fields->state = ELAPSE__QUEUE_DELAYED;
    if (side != NULL)
        describe_side(queue, entry, side, fields);
}

void elapse__queue_describe(const struct elapse__queue *queue,
                            const struct elapse__queue_entry *entry,
                            struct elapse__queue_fields *fields)
{
    const struct elapse__queue_profile *profile = elapse__queue_profile_of(queue, entry);
    const struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    *fields = (struct elapse__queue_fields){
        .tube = {tube->name, tube->name_size},
        .ttr_ms = profile->ttr_ms,
        .expire_ms = profile->expire_ms,
        .retry = profile->retry,
        .backoff_min_ms = profile->backoff_min_ms,
        .backoff_max_ms = profile->backoff_max_ms,
    };
    elapse__queue_describe_state(queue, entry, fields);
}

bool elapse__queue_begin(struct elapse__queue *queue, uint32_t small_records, uint64_t bytes,
                         enum elapse__record_purpose purpose)
{
    ELAPSE__ASSERT(queue->open);
    if (queue->transaction != NULL)
        return true;
    uint64_t most = bytes + small_records * elapse__record_bytes_max(ELAPSE__QUEUE_SMALL_MAX, 0);
    return queue->sink->begin(queue->sink, most, purpose) == 0;
}

uint64_t elapse__queue_end(struct elapse__queue *queue)
{
    return queue->transaction != NULL ? 0 : queue->sink->end(queue->sink);
}

static uint64_t append_fields(struct elapse__queue *queue, enum elapse__record_type type,
                              const struct elapse__queue_fields *fields,
                              struct elapse__queue_text body, uint8_t flags, uint16_t *fields_size)
{
    unsigned char bytes[ELAPSE__QUEUE_FIELDS_MAX];
    struct elapse__record record = {
        .type = type,
        .flags = flags,
        .fields_size = elapse__queue_fields_encode(fields, type, bytes),
        .fields = bytes,
        .body_size = (uint32_t)body.size,
        .body = body.bytes,
    };
    ELAPSE__ASSERT(type == ELAPSE__RECORD_PUT || type == ELAPSE__RECORD_TOKEN ||
                   record.fields_size <= ELAPSE__QUEUE_SMALL_MAX);
    ELAPSE__ASSERT_THAT(fields->id, <=, queue->last_id); /* invariant 1 */
    *fields_size = record.fields_size;
    if (queue->transaction != NULL) {
        uint64_t most = elapse__record_bytes_max(record.fields_size, record.body_size);
        ELAPSE__ASSERT_THAT(most, <=, queue->transaction->bytes_left);
        queue->transaction->bytes_left -= most;
    }
    return queue->sink->append(queue->sink, &record);
}

void elapse__queue_write_state(struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                               enum elapse__record_type type)
{
    ELAPSE__ASSERT(type == ELAPSE__RECORD_CHANGE || type == ELAPSE__RECORD_LEASE);
    ELAPSE__ASSERT(type == ELAPSE__RECORD_CHANGE ||
                   elapse__queue_state_of(entry) == ELAPSE__QUEUE_RESERVED);
    struct elapse__queue_fields fields;
    uint16_t size = 0;
    elapse__queue_describe(queue, entry, &fields);
    (void)append_fields(queue, type, &fields, (struct elapse__queue_text){0}, 0, &size);
}

void elapse__queue_write_error(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                               struct elapse__queue_text text, int64_t error_ms)
{
    struct elapse__queue_fields fields;
    uint16_t size = 0;
    ELAPSE__ASSERT(text.size > 0 && text.size <= ELAPSE__QUEUE_ERROR_BYTES_MAX);
    elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_TOLD);
    elapse__queue_describe(queue, entry, &fields);
    fields.has_error = true;
    fields.error_ms = error_ms;
    uint64_t position = append_fields(queue, ELAPSE__RECORD_CHANGE, &fields, text, 0, &size);
    elapse__queue_error_set(queue, fields.id, position,
                            (uint32_t)elapse__frame_bytes(size, (uint32_t)text.size));
}

void elapse__queue_write_delete(struct elapse__queue *queue, uint64_t id)
{
    struct elapse__queue_fields fields = {.id = id};
    uint16_t size = 0;
    (void)append_fields(queue, ELAPSE__RECORD_DELETE, &fields, (struct elapse__queue_text){0}, 0,
                        &size);
}

void elapse__queue_write_put(struct elapse__queue *queue, struct elapse__queue_entry *entry,
                             const struct elapse__queue_fields *fields,
                             struct elapse__queue_text body, uint8_t flags)
{
    uint16_t fields_size = 0;
    uint64_t position = append_fields(queue, ELAPSE__RECORD_PUT, fields, body, flags, &fields_size);
    if (elapse__queue_position(entry) != 0)
        elapse__queue_count_live(queue, entry, false);
    elapse__queue_set_position(entry, position);
    elapse__queue_set_sizes(entry, fields_size, (uint32_t)body.size, fields->headers_size);
    elapse__queue_count_live(queue, entry, true);
}

uint64_t elapse__queue_write_token(struct elapse__queue *queue,
                                   const struct elapse__queue_fields *fields, uint32_t *size)
{
    uint16_t fields_size = 0;
    uint64_t position = append_fields(queue, ELAPSE__RECORD_TOKEN, fields,
                                      (struct elapse__queue_text){0}, 0, &fields_size);
    *size = (uint32_t)elapse__frame_bytes(fields_size, 0);
    queue->sink->live(queue->sink, position, (int64_t)*size);
    return position;
}

void elapse__queue_write_tube(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    unsigned char bytes[ELAPSE__QUEUE_SETTINGS_BYTES_MAX];
    struct elapse__queue_text name = {tube->name, tube->name_size};
    ELAPSE__ASSERT(tube->record != NULL);
    elapse__queue_note_bucket(queue, tube);
    struct elapse__record record = {
        .type = ELAPSE__RECORD_TUBE,
        .fields_size = elapse__queue_settings_encode(&tube->record->settings, name, bytes),
        .fields = bytes,
    };
    uint64_t position = queue->sink->append(queue->sink, &record);
    elapse__queue_tube_record_move(queue, tube, position,
                                   (uint32_t)elapse__frame_bytes(record.fields_size, 0));
    elapse__queue_tube_record_settle(queue, tube);
}
