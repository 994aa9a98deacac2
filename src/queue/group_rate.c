/*
 * The rate of each group of a tube. A group has a bucket of its own only while the bucket is not
 * full. Such a group stays when its last job has ended, and ends once its bucket is full:
 *
 *      no bucket --- a hand-out ---> empty <--- a hand-out --- has a token --- full ---> no bucket
 *                                      |                            ^
 *                                      +--- the next token comes ---+
 *
 * The alarm of a bucket says when its next token comes, or when it is full. As in limit.c, whether
 * there is a token is known without the present: `is_empty` ends when the alarm comes out.
 *
 * On the disk a bucket whose tokens come slowly has a TUBE of its group, which each hand-out
 * writes. The buckets of all other rates are empty after each start, clean or not: `since_open` is
 * the bucket of a group that has none of its own. While it has no token, no job of a group is
 * handed out; the alarm `opening` ends that.
 *
 * A tube may get another rate. The rate comes to each group when the group is looked at, and if its
 * tokens come slowly, too, the bucket is then written again. A TUBE has the number of the rate that
 * it is by. So a bucket that the log still has from a rate before a fast one means nothing.
 */
#include "group_rate.h"

enum { BUCKETS_CHUNK_BITS = 8 };

void elapse__queue_group_rates_init(struct elapse__queue *queue)
{
    elapse__queue_slab_init(&queue->buckets, BUCKETS_CHUNK_BITS,
                            sizeof(struct elapse__queue_group_bucket), ELAPSE__QUEUE_TUBES_MAX);
}

void elapse__queue_bucket_record_move(struct elapse__queue *queue,
                                      struct elapse__queue_group_bucket *bucket, uint64_t position,
                                      uint32_t size)
{
    if (bucket->position != 0)
        queue->sink->live(queue->sink, bucket->position, -(int64_t)bucket->size);
    bucket->position = position;
    bucket->size = size;
    if (position != 0)
        queue->sink->live(queue->sink, position, (int64_t)size);
}

struct elapse__queue_group_bucket *elapse__queue_bucket_make(struct elapse__queue *queue,
                                                             struct elapse__queue_group *group,
                                                             struct elapse__queue_bucket bucket)
{
    ELAPSE__ASSERT_THAT(group->bucket, ==, 0);
    group->bucket = elapse__queue_slab_take(&queue->buckets, &queue->memory);
    ELAPSE__ASSERT_THAT(group->bucket, !=, 0);
    struct elapse__queue_group_bucket *made = elapse__queue_slab_at(&queue->buckets, group->bucket);
    struct elapse__queue_tube *tube = elapse__queue_tube_of_group(queue, group);
    *made = (struct elapse__queue_group_bucket){
        .alarm = {.kind = ELAPSE__QUEUE_ALARM_GROUP_TOKEN, .number = group->number},
        .bucket = bucket,
        .rate = tube->record == NULL ? 0 : tube->record->settings.group_rate_number,
    };
    tube->turns->buckets++;
    tube->turns->without_jobs += group->references == 0;
    return made;
}

void elapse__queue_bucket_end(struct elapse__queue *queue, struct elapse__queue_group *group)
{
    struct elapse__queue_group_bucket *bucket = elapse__queue_bucket_of(queue, group);
    struct elapse__queue_tube *tube = elapse__queue_tube_of_group(queue, group);
    (void)elapse_wheel_stop(&queue->clocks.alarms, &bucket->alarm.timer);
    elapse__queue_bucket_record_move(queue, bucket, 0, 0);
    elapse__queue_slab_give(&queue->buckets, group->bucket);
    if (queue->buckets.count == 0)
        elapse__queue_slab_trim(&queue->buckets, &queue->memory);
    group->bucket = 0;
    tube->turns->buckets--;
    tube->turns->without_jobs -= group->references == 0;
}

void elapse__queue_bucket_wait(struct elapse__queue *queue,
                               struct elapse__queue_group_bucket *bucket,
                               const struct elapse__queue_rate *rate)
{
    ELAPSE__ASSERT_THAT(rate->count, >, 0);
    uint64_t next = elapse__queue_bucket_next(&bucket->bucket);
    bucket->is_empty = next > elapse__queue_present(queue, false);
    (void)elapse_wheel_stop(&queue->clocks.alarms, &bucket->alarm.timer);
    elapse_wheel_start(&queue->clocks.alarms, &bucket->alarm.timer,
                       bucket->is_empty ? next : elapse__queue_bucket_full(&bucket->bucket, rate));
}

/* Returns the bucket as it is by the present rate of its tube: a new rate comes to each group when
 * the group is looked at. */
static struct elapse__queue_bucket bucket_by_rate(const struct elapse__queue *queue,
                                                  const struct elapse__queue_tube *tube,
                                                  const struct elapse__queue_group_bucket *bucket)
{
    struct elapse__queue_rate rate = elapse__queue_group_rate_of(tube);
    if (bucket->rate == tube->record->settings.group_rate_number)
        return bucket->bucket;
    return rate.count == 0 ? (struct elapse__queue_bucket){0}
                           : elapse__queue_bucket_renew(&bucket->bucket, &rate,
                                                        elapse__queue_present(queue, false));
}

bool elapse__queue_bucket_follow(struct elapse__queue *queue, const struct elapse__queue_tube *tube,
                                 struct elapse__queue_group_bucket *bucket)
{
    struct elapse__queue_rate rate = elapse__queue_group_rate_of(tube);
    if (bucket->rate == tube->record->settings.group_rate_number)
        return false;
    bucket->bucket = bucket_by_rate(queue, tube, bucket);
    bucket->rate = tube->record->settings.group_rate_number;
    if (!elapse__queue_rate_is_slow(&rate))
        elapse__queue_bucket_record_move(queue, bucket, 0, 0); /* group_rate_since voids it */
    return true;
}

bool elapse__queue_bucket_is_full(const struct elapse__queue *queue,
                                  const struct elapse__queue_group_bucket *bucket,
                                  const struct elapse__queue_rate *rate)
{
    return rate->count == 0 ||
           elapse__queue_bucket_full(&bucket->bucket, rate) <= elapse__queue_present(queue, false);
}

uint64_t elapse__queue_group_tokens(const struct elapse__queue *queue,
                                    const struct elapse__queue_tube *tube,
                                    const struct elapse__queue_group *group)
{
    struct elapse__queue_rate rate = elapse__queue_group_rate_of(tube);
    if (rate.count == 0 || group == NULL)
        return UINT64_MAX;
    struct elapse__queue_bucket bucket = tube->record->since_open;
    bool is_empty = elapse_timer_pending(&tube->record->opening.timer);
    if (group->bucket != 0) {
        const struct elapse__queue_group_bucket *own = elapse__queue_bucket_of(queue, group);
        bucket = bucket_by_rate(queue, tube, own);
        is_empty = own->is_empty && own->rate == tube->record->settings.group_rate_number;
    }
    return is_empty
               ? 0
               : elapse__queue_bucket_tokens(&bucket, &rate, elapse__queue_present(queue, false));
}

uint64_t elapse__queue_group_token_left_ms(const struct elapse__queue *queue,
                                           const struct elapse__queue_tube *tube,
                                           const struct elapse__queue_group *group,
                                           struct elapse__queue_now now)
{
    const struct elapse_timer *alarm = NULL;
    if (elapse__queue_group_rate_of(tube).count == 0)
        return 0;
    if (group->bucket == 0)
        alarm = &tube->record->opening.timer;
    else if (elapse__queue_bucket_of(queue, group)->is_empty)
        alarm = &elapse__queue_bucket_of(queue, group)->alarm.timer;
    if (alarm == NULL || !elapse_timer_pending(alarm))
        return 0;
    return elapse__queue_left(queue, now, elapse_timer_deadline(alarm));
}

bool elapse__queue_group_rate_reserve(struct elapse__queue *queue,
                                      const struct elapse__queue_tube *tube,
                                      const struct elapse__queue_group *group)
{
    return group == NULL || group->bucket != 0 || elapse__queue_group_rate_of(tube).count == 0 ||
           elapse__queue_slab_reserve(&queue->buckets, &queue->memory);
}

void elapse__queue_group_take_token(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                                    struct elapse__queue_group *group)
{
    struct elapse__queue_rate rate = elapse__queue_group_rate_of(tube);
    if (rate.count == 0 || group == NULL)
        return;
    struct elapse__queue_group_bucket *bucket =
        group->bucket != 0 ? elapse__queue_bucket_of(queue, group)
                           : elapse__queue_bucket_make(queue, group, tube->record->since_open);
    (void)elapse__queue_bucket_follow(queue, tube,
                                      bucket); /* a slow one is written by the caller */
    elapse__queue_bucket_take(&bucket->bucket, &rate, elapse__queue_present(queue, false));
    elapse__queue_bucket_wait(queue, bucket, &rate);
}

/* Returns a number that no rate of the tube has had, greater than those before it. */
static uint64_t draw_number(struct elapse__queue *queue,
                            const struct elapse__queue_settings *settings)
{
    uint64_t number = ((uint64_t)(queue->life & INT32_MAX) << 32) + ++queue->group_rates;
    return number > settings->group_rate_number ? number : settings->group_rate_number + 1;
}

void elapse__queue_set_group_rate(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                                  const struct elapse__queue_rate *rate)
{
    struct elapse__queue_tube_record *record = tube->record;
    struct elapse__queue_rate old = elapse__queue_group_rate_of(tube);
    ELAPSE__ASSERT(elapse__queue_rate_fits(rate));
    uint64_t number = rate->count == 0 ? 0 : draw_number(queue, &record->settings);
    if (!elapse__queue_rate_is_slow(&old) || !elapse__queue_rate_is_slow(rate))
        record->settings.group_rate_since = number;
    record->settings.group_rate_number = number;
    record->settings.group_rate_count = rate->count;
    record->settings.group_rate_period_ms = rate->period_ms;
    record->settings.group_rate_burst = rate->burst;
    (void)elapse_wheel_stop(&queue->clocks.alarms, &record->opening.timer);
    uint64_t present = elapse__queue_present(queue, false);
    record->since_open = rate->count == 0
                             ? (struct elapse__queue_bucket){0}
                             : elapse__queue_bucket_renew(&record->since_open, rate, present);
    if (elapse__queue_bucket_next(&record->since_open) > present)
        elapse_wheel_start(&queue->clocks.alarms, &record->opening.timer,
                           elapse__queue_bucket_next(&record->since_open));
}
