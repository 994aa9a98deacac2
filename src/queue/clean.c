#include "commands.h"

/* Writes a job again as it is now. Its texts are in the old record only. */
static enum elapse__queue_result clean_put(struct elapse__queue *queue, uint64_t position,
                                           const struct elapse__queue_fields *old,
                                           const struct elapse__record *record)
{
    struct elapse__queue_fields fields;
    struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, old->id);
    if (entry == NULL || elapse__queue_position(entry) != position ||
        !elapse__queue_has_record(entry))
        return ELAPSE__QUEUE_OK;
    ELAPSE__ASSERT_THAT(record->body_size - old->headers_size, ==, elapse__queue_body_size(entry));
    if (!elapse__queue_begin(queue, 0,
                             elapse__record_bytes_max(ELAPSE__QUEUE_FIELDS_MAX, record->body_size),
                             ELAPSE__RECORD_FOR_COPY))
        return ELAPSE__QUEUE_REFUSED;
    elapse__queue_describe(queue, entry, &fields);
    fields.key = old->key;
    fields.tag = old->tag;
    fields.group = old->group;
    fields.cron = old->cron;
    fields.zone = old->zone;
    fields.put_ms = old->put_ms;
    fields.headers_size = old->headers_size;
    struct elapse__queue_text body = {.bytes = record->body, .size = record->body_size};
    uint8_t flags = record->flags;
    /* Of a shadow the place and the lease are kept: another job may have its key. */
    if (fields.state == ELAPSE__QUEUE_SHADOW) {
        fields.key = fields.tag = body = (struct elapse__queue_text){0};
        fields.headers_size = 0;
    }
    /* From the flag, a command that reserves the job later learns that there is no body to hand
     * out. */
    else if (record->body == NULL && record->body_size > 0) {
        body.size = fields.headers_size = 0;
        flags |= ELAPSE__RECORD_BODY_LOST;
    }
    elapse__queue_write_put(queue, entry, &fields, body, flags);
    (void)elapse__queue_end(queue);
    return ELAPSE__QUEUE_OK;
}

static enum elapse__queue_result clean_token(struct elapse__queue *queue, uint64_t position,
                                             const struct elapse__queue_fields *fields)
{
    struct elapse__hash_128 hash = elapse__queue_token_hash_of(queue, fields);
    struct elapse__queue_token *token = elapse__queue_token_of_record(queue, hash, position);
    if (token == NULL)
        return ELAPSE__QUEUE_OK;
    if (elapse__queue_token_find(queue, hash, elapse__queue_present(queue, false)) != token) {
        /* The token has ended, and the next turn takes it out. */
        queue->sink->live(queue->sink, position, -(int64_t)token->size);
        token->position = 0;
        return ELAPSE__QUEUE_OK;
    }
    if (!elapse__queue_begin(queue, 0, elapse__record_bytes_max(ELAPSE__QUEUE_FIELDS_MAX, 0),
                             ELAPSE__RECORD_FOR_COPY))
        return ELAPSE__QUEUE_REFUSED;
    ELAPSE__ASSERT_THAT(token->id, ==, fields->id);
    queue->sink->live(queue->sink, token->position, -(int64_t)token->size);
    token->position = elapse__queue_write_token(queue, fields, &token->size);
    (void)elapse__queue_end(queue);
    return ELAPSE__QUEUE_OK;
}

/* Writes the error of a job again, beside the present state of the job. If its text is damaged, it
 * is dropped. */
static enum elapse__queue_result clean_error(struct elapse__queue *queue, uint64_t position,
                                             const struct elapse__queue_fields *old,
                                             const struct elapse__record *record)
{
    const struct elapse__queue_error *error = elapse__queue_error_find(queue, old->id);
    if (error == NULL || error->position != position)
        return ELAPSE__QUEUE_OK;
    struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, old->id);
    ELAPSE__ASSERT(entry != NULL);
    if (record->body == NULL) {
        elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_NONE);
        return ELAPSE__QUEUE_OK;
    }
    if (!elapse__queue_begin(queue, 1, ELAPSE__QUEUE_ERROR_BYTES_MAX, ELAPSE__RECORD_FOR_COPY))
        return ELAPSE__QUEUE_REFUSED;
    struct elapse__queue_text text = {record->body, record->body_size};
    elapse__queue_write_error(queue, entry, text, old->error_ms);
    (void)elapse__queue_end(queue);
    return ELAPSE__QUEUE_OK;
}

static enum elapse__queue_result clean_group(struct elapse__queue *queue, uint64_t position,
                                             const struct elapse__record *record)
{
    struct elapse__queue_group_next next;
    if (!elapse__queue_group_next_decode(&next, record))
        return ELAPSE__QUEUE_ARGUMENT;
    const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, next.tube);
    struct elapse__queue_group *group =
        tube == NULL ? NULL : elapse__queue_group_find(queue, tube, next.group);
    if (group == NULL || !elapse__queue_is_group_next(queue, group, position))
        return ELAPSE__QUEUE_OK;
    if (!elapse__queue_begin(queue, 0,
                             elapse__record_bytes_max(ELAPSE__QUEUE_GROUP_NEXT_BYTES_MAX, 0),
                             ELAPSE__RECORD_FOR_COPY))
        return ELAPSE__QUEUE_REFUSED;
    elapse__queue_write_group_next(queue, group);
    (void)elapse__queue_end(queue);
    return ELAPSE__QUEUE_OK;
}

static enum elapse__queue_result clean_tube(struct elapse__queue *queue, uint64_t position,
                                            const struct elapse__record *record)
{
    struct elapse__queue_settings old;
    struct elapse__queue_text name;
    if (!elapse__queue_settings_decode(&old, &name, record))
        return clean_group(queue, position, record);
    struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, name);
    if (tube == NULL || tube->record == NULL || tube->record->position != position)
        return ELAPSE__QUEUE_OK;
    if (!elapse__queue_begin(queue, 0,
                             elapse__record_bytes_max(ELAPSE__QUEUE_SETTINGS_BYTES_MAX, 0),
                             ELAPSE__RECORD_FOR_COPY))
        return ELAPSE__QUEUE_REFUSED;
    elapse__queue_write_tube(queue, tube);
    (void)elapse__queue_end(queue);
    return ELAPSE__QUEUE_OK;
}

enum elapse__queue_result elapse__queue_clean(struct elapse__queue *queue,
                                              struct elapse__queue_now now, uint64_t position,
                                              const struct elapse__record *record)
{
    struct elapse__queue_fields fields;
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    if (record->type == ELAPSE__RECORD_TUBE)
        return clean_tube(queue, position, record);
    bool is_error = record->type == ELAPSE__RECORD_CHANGE && record->body_size > 0;
    if (record->type != ELAPSE__RECORD_PUT && record->type != ELAPSE__RECORD_TOKEN && !is_error)
        return ELAPSE__QUEUE_OK;
    if (!elapse__queue_fields_decode(&fields, record))
        return ELAPSE__QUEUE_ARGUMENT;
    if (is_error)
        return clean_error(queue, position, &fields, record);
    return record->type == ELAPSE__RECORD_PUT ? clean_put(queue, position, &fields, record)
                                              : clean_token(queue, position, &fields);
}
