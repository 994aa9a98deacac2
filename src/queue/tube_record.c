/*
 * The settings of tubes in memory. Only a tube that has settings takes memory for them. The record
 * of a tube is live while its settings say something.
 */
#include "tables.h"

struct elapse__queue_tube_record *elapse__queue_tube_record_get(struct elapse__queue *queue,
                                                                struct elapse__queue_tube *tube)
{
    if (tube->record != NULL)
        return tube->record;
    tube->record = elapse__allocate_locked(
        &queue->memory, _Alignof(struct elapse__queue_tube_record), sizeof *tube->record);
    if (tube->record != NULL)
        *tube->record = (struct elapse__queue_tube_record){
            .pause = {.kind = ELAPSE__QUEUE_ALARM_PAUSE, .number = tube->number},
            .token = {.kind = ELAPSE__QUEUE_ALARM_TOKEN, .number = tube->number},
            .opening = {.kind = ELAPSE__QUEUE_ALARM_OPENING, .number = tube->number},
            .buried = {.kind = ELAPSE__QUEUE_ALARM_BURIED, .number = tube->number},
        };
    return tube->record;
}

void elapse__queue_tube_record_move(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                                    uint64_t position, uint32_t size)
{
    struct elapse__queue_tube_record *record = tube->record;
    ELAPSE__ASSERT((position == 0) == (size == 0));
    if (record->position != 0)
        queue->sink->live(queue->sink, record->position, -(int64_t)record->size);
    record->position = position;
    record->size = size;
    if (position != 0)
        queue->sink->live(queue->sink, position, (int64_t)size);
}

static void end_record(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    tube->record->settings = (struct elapse__queue_settings){0};
    (void)elapse_wheel_stop(&queue->clocks.alarms, &tube->record->pause.timer);
    (void)elapse_wheel_stop(&queue->clocks.alarms, &tube->record->token.timer);
    (void)elapse_wheel_stop(&queue->clocks.alarms, &tube->record->buried.timer);
    (void)elapse_wheel_stop(&queue->clocks.alarms, &tube->record->opening.timer);
    elapse__queue_count_held(queue, tube);
    ELAPSE__ASSERT_THAT(tube->record->held, ==, 0);
    elapse__queue_tube_record_move(queue, tube, 0, 0);
    elapse__release_locked(&queue->memory, tube->record, sizeof *tube->record);
    tube->record = NULL;
    elapse__queue_tube_end_if_empty(queue, tube);
}

void elapse__queue_tube_record_settle(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    ELAPSE__ASSERT(tube->record != NULL);
    /* While groups are moved, the jobs of the tube are held, and the record counts them. In a
     * replay the record also stays while a group has a bucket. If its settings have no rate, that
     * bucket is void. The end of the replay ends the bucket. */
    bool is_needed = elapse__queue_is_moving(tube) ||
                     (!queue->open && tube->turns != NULL && tube->turns->buckets > 0);
    if (!elapse__queue_settings_say(&tube->record->settings) && !is_needed)
        end_record(queue, tube);
}

void elapse__queue_pause_end(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    ELAPSE__ASSERT(!elapse__queue_paused(tube));
    tube->record->settings.pause_ms = tube->record->settings.pause_end_ms = 0;
    elapse__queue_tube_record_settle(queue, tube);
}

enum elapse__queue_result elapse__queue_tube_record_replay(struct elapse__queue *queue,
                                                           uint64_t position,
                                                           const struct elapse__record *record)
{
    struct elapse__queue_settings settings;
    struct elapse__queue_text name;
    struct elapse__queue_tube *tube = NULL;
    ELAPSE__ASSERT(!queue->open);
    if (!elapse__queue_settings_decode(&settings, &name, record))
        return elapse__queue_group_next_replay(queue, position, record);
    enum elapse__queue_result result = elapse__queue_tube_get(queue, name, &tube);
    if (result != ELAPSE__QUEUE_OK)
        return result;
    if (elapse__queue_tube_record_get(queue, tube) == NULL) {
        elapse__queue_tube_end_if_empty(queue, tube);
        return ELAPSE__QUEUE_NO_MEMORY;
    }
    tube->record->settings = settings;
    elapse__queue_count_held(queue, tube);
    elapse__queue_tube_record_move(queue, tube, position,
                                   (uint32_t)elapse__frame_bytes(record->fields_size, 0));
    elapse__queue_tube_record_settle(queue, tube);
    return ELAPSE__QUEUE_OK;
}

/* A pause lasts no longer than it was given for, also if the wall clock was set back. */
static void open_pause(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    const struct elapse__queue_settings *settings = &tube->record->settings;
    int64_t left_ms = (int64_t)settings->pause_end_ms - queue->now.wall_ms;
    if (left_ms <= 0) {
        elapse__queue_pause_end(queue, tube);
        return;
    }
    uint64_t lasts_ms =
        (uint64_t)left_ms < settings->pause_ms ? (uint64_t)left_ms : settings->pause_ms;
    elapse_wheel_start(&queue->clocks.alarms, &tube->record->pause.timer,
                       elapse__queue_after(queue, lasts_ms));
}

void elapse__queue_tube_records_open(struct elapse__queue *queue)
{
    struct elapse__queue_tube *tube = NULL;
    uint32_t number = 0;
    elapse__queue_open_group_rates(queue);
    while ((tube = elapse__queue_next_tube(queue, &number)) != NULL) {
        elapse__queue_open_buried(queue, tube);
        if (tube->record == NULL)
            continue;
        elapse__queue_open_rate(queue, tube);
        if (tube->record->settings.pause_ms != 0)
            open_pause(queue, tube);
        else
            elapse__queue_tube_record_settle(queue, tube);
    }
}

void elapse__queue_tube_records_forget(struct elapse__queue *queue, uint64_t position)
{
    struct elapse__queue_tube *tube = NULL;
    uint32_t number = 0;
    elapse__queue_group_buckets_end(queue, position);
    while ((tube = elapse__queue_next_tube(queue, &number)) != NULL)
        if (tube->record != NULL && tube->record->position < position)
            end_record(queue, tube);
}
