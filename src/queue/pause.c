/*
 * Changes the settings of a tube: its pause, and its limits.
 */
#include "commands.h"
#include "tubes.h"

/* Begins the change of a tube's settings: makes room for them, and begins a group if they are
 * durable. */
static enum elapse__queue_result begin_change(struct elapse__queue *queue,
                                              struct elapse__queue_tube *tube)
{
    uint64_t bytes = elapse__record_bytes_max(ELAPSE__QUEUE_SETTINGS_BYTES_MAX, 0);
    ELAPSE__ASSERT(queue->transaction == NULL); /* no transaction changes settings */
    if (elapse__queue_tube_record_get(queue, tube) == NULL)
        return ELAPSE__QUEUE_NO_MEMORY;
    if (queue->options.old_records ||
        elapse__queue_begin(queue, 0, bytes, ELAPSE__RECORD_FOR_SETTING))
        return ELAPSE__QUEUE_OK;
    elapse__queue_tube_record_settle(queue, tube);
    return ELAPSE__QUEUE_REFUSED;
}

/* Ends the change. The tube may end by that. */
static struct elapse__queue_answer end_change(struct elapse__queue *queue,
                                              struct elapse__queue_tube *tube)
{
    struct elapse__queue_answer answer = {.result = ELAPSE__QUEUE_OK};
    if (queue->options.old_records) {
        elapse__queue_tube_record_settle(queue, tube);
        return answer;
    }
    elapse__queue_write_tube(queue, tube);
    answer.position = elapse__queue_end(queue);
    return answer;
}

static void set_pause(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                      uint64_t delay_ms)
{
    struct elapse__queue_settings *settings = &tube->record->settings;
    ELAPSE__ASSERT_THAT(delay_ms, <=, (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX);
    (void)elapse_wheel_stop(&queue->clocks.alarms, &tube->record->pause.timer);
    settings->pause_ms = delay_ms;
    settings->pause_end_ms = 0;
    if (delay_ms == 0)
        return;
    uint64_t end = elapse__queue_after(queue, delay_ms);
    int64_t end_ms = elapse__queue_tick_to_ms(queue, false, end);
    /* A clock that shows a time before 1970 is wrong, and is set forward soon. */
    settings->pause_end_ms = end_ms > 0 ? (uint64_t)end_ms : 1;
    elapse_wheel_start(&queue->clocks.alarms, &tube->record->pause.timer, end);
}

struct elapse__queue_answer elapse__queue_pause(struct elapse__queue *queue,
                                                struct elapse__queue_now now,
                                                struct elapse__queue_text name, uint64_t delay_ms)
{
    elapse__queue_take_now(queue, now);
    struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, name);
    if (tube == NULL)
        return elapse__queue_say(ELAPSE__QUEUE_GONE, 0);
    if (delay_ms > (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX)
        return elapse__queue_fault("a pause is at most 292 years");
    /* The end of a pause that is over is written, too: the pause that the log has would come back
     * if the wall clock is set back. */
    enum elapse__queue_result result = begin_change(queue, tube);
    if (result != ELAPSE__QUEUE_OK)
        return elapse__queue_say(result, 0);
    tube->totals.pauses++;
    queue->totals.pauses++;
    set_pause(queue, tube, delay_ms);
    queue->freed++;
    elapse__queue_watch_tell(queue, tube);
    return end_change(queue, tube);
}

static bool is_same_rate(const struct elapse__queue_rate *one,
                         const struct elapse__queue_rate *other)
{
    return one->count == other->count && one->period_ms == other->period_ms &&
           one->burst == other->burst;
}

/* Gives each group of a tube other limits. Returns whether something has changed: then the caller
 * moves the groups. */
static bool set_group_limits(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                             const struct elapse__queue_limits *limits)
{
    struct elapse__queue_settings *settings = &tube->record->settings;
    struct elapse__queue_rate old_rate = elapse__queue_settings_group_rate(settings);
    bool changes_rate = !is_same_rate(&old_rate, &limits->group_rate);
    if (settings->group_concurrency == limits->group_concurrency &&
        settings->group_order == limits->group_order && !changes_rate)
        return false;
    settings->group_concurrency = limits->group_concurrency;
    settings->group_order = limits->group_order;
    if (changes_rate)
        elapse__queue_set_group_rate(queue, tube, &limits->group_rate);
    return true;
}

static const char *limit_fault(const struct elapse__queue *queue, struct elapse__queue_text name,
                               const struct elapse__queue_limits *limits)
{
    if (!elapse__queue_text_fits(name, 1, ELAPSE__QUEUE_TUBE_BYTES_MAX))
        return "the tube's name must have 1 to 200 bytes";
    if (!elapse__queue_rate_fits(&limits->rate) || !elapse__queue_rate_fits(&limits->group_rate))
        return "a rate is out of its range";
    if (limits->buried_age_ms > (uint64_t)ELAPSE__QUEUE_DELAY_MS_MAX)
        return "an age of buried jobs is at most 292 years";
    const char *split_fault = elapse__queue_split_fault(queue, name);
    if (split_fault != NULL)
        return split_fault;
    return queue->options.old_records ? elapse__queue_upgrade_first : NULL;
}

struct elapse__queue_answer elapse__queue_limit(struct elapse__queue *queue,
                                                struct elapse__queue_now now,
                                                struct elapse__queue_text name,
                                                const struct elapse__queue_limits *limits)
{
    struct elapse__queue_tube *tube = NULL;
    uint32_t most = ELAPSE__QUEUE_TURN_MAX;
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    const char *fault = limit_fault(queue, name, limits);
    if (fault != NULL)
        return elapse__queue_fault(fault);
    enum elapse__queue_result result = elapse__queue_tube_get(queue, name, &tube);
    if (result != ELAPSE__QUEUE_OK)
        return elapse__queue_say(result, 0);
    tube->holds++;
    result = begin_change(queue, tube);
    struct elapse__queue_answer answer = elapse__queue_say(result, 0);
    if (result == ELAPSE__QUEUE_OK) {
        tube->record->settings.concurrency = limits->concurrency;
        tube->record->settings.buried = limits->buried;
        tube->record->settings.buried_age_ms = limits->buried_age_ms;
        elapse__queue_set_rate(queue, tube, &limits->rate);
        if (set_group_limits(queue, tube, limits))
            elapse__queue_groups_begin(queue, tube);
        elapse__queue_expect_drop(queue, tube, 0);
        elapse__queue_count_held(queue, tube);
        queue->freed++;
        elapse__queue_watch_tell(queue, tube);
        answer = end_change(queue, tube);
        elapse__queue_groups_move(queue, &most); /* buckets are written behind their rate */
    }
    elapse__queue_tube_release(queue, tube);
    return answer;
}

enum elapse__queue_result elapse__queue_limits_of(const struct elapse__queue *queue,
                                                  struct elapse__queue_text name,
                                                  struct elapse__queue_limits *limits)
{
    const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, name);
    if (tube == NULL)
        return ELAPSE__QUEUE_GONE;
    *limits = (struct elapse__queue_limits){0};
    if (tube->record == NULL)
        return ELAPSE__QUEUE_OK;
    limits->concurrency = (uint32_t)tube->record->settings.concurrency;
    limits->group_concurrency = (uint32_t)tube->record->settings.group_concurrency;
    limits->rate = elapse__queue_settings_rate(&tube->record->settings);
    limits->group_order = tube->record->settings.group_order != 0;
    limits->group_rate = elapse__queue_settings_group_rate(&tube->record->settings);
    limits->buried = (uint32_t)tube->record->settings.buried;
    limits->buried_age_ms = tube->record->settings.buried_age_ms;
    return ELAPSE__QUEUE_OK;
}

void elapse__queue_stop(struct elapse__queue *queue, struct elapse__queue_now now)
{
    uint64_t bytes = elapse__record_bytes_max(ELAPSE__QUEUE_SETTINGS_BYTES_MAX, 0);
    struct elapse__queue_tube *tube = NULL;
    uint32_t number = 0;
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    queue->stops = true;
    while ((tube = elapse__queue_next_tube(queue, &number)) != NULL) {
        if (tube->record == NULL || tube->record->settings.rate_count == 0 ||
            elapse__queue_writes_bucket(tube))
            continue;
        if (!elapse__queue_begin(queue, 0, bytes, ELAPSE__RECORD_FOR_SETTING))
            return; /* the next start takes these buckets as empty */
        elapse__queue_write_tube(queue, tube);
        (void)elapse__queue_end(queue);
    }
}
