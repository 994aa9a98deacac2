/*
 * Holds jobs back by the limits of a tube, one of which is the rate. The bucket of a tube has
 * tokens, and each hand-out takes one. While the bucket has no token, its alarm is in a wheel. When
 * a turn takes the alarm out of the wheel, it tells the waiting workers. So the queue knows whether
 * there is a token without knowing the present time.
 *
 * On the disk a bucket is a time of the wall clock. If the tokens of a bucket come slowly, the
 * bucket is written with each hand-out. All other buckets are written only at a clean stop. After a
 * crash such a bucket is empty.
 */
#include "tables.h"

#include <string.h>

/* Starts the alarm of the bucket if it has no token. */
static void set_alarm(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    struct elapse__queue_tube_record *record = tube->record;
    uint64_t next = elapse__queue_bucket_next(&record->bucket);
    (void)elapse_wheel_stop(&queue->clocks.alarms, &record->token.timer);
    if (record->settings.rate_count != 0 && next > elapse__queue_present(queue, false))
        elapse_wheel_start(&queue->clocks.alarms, &record->token.timer, next);
}

/* How many ready jobs of a tube may run, and the name of the limit that lets no more run. */
struct allowed {
    uint64_t jobs;
    const char *by; /* "": none, or a new limit has not come to all groups yet */
};

static void allow_at_most(struct allowed *allowed, uint64_t jobs, const char *by)
{
    if (jobs < allowed->jobs)
        *allowed = (struct allowed){jobs, by};
}

/* Returns the name of the limit of each group. If there are several, the groups tell which. */
static const char *group_limit(const struct elapse__queue_settings *settings)
{
    bool places = settings->group_concurrency != 0;
    bool rate = settings->group_rate_count != 0;
    bool order = settings->group_order != 0;
    if ((rate && places) || (order && (rate || places)))
        return "groups";
    if (order)
        return "group_order";
    return rate ? "group_rate" : "group_concurrency";
}

static struct allowed allowed_at(const struct elapse__queue_tube *tube, uint64_t tick)
{
    const struct elapse__queue_tube_record *record = tube->record;
    struct elapse__queue_rate rate = elapse__queue_settings_rate(&record->settings);
    struct allowed allowed = {tube->counts[ELAPSE__QUEUE_READY], ""};
    uint64_t in_groups =
        tube->turns == NULL ? allowed.jobs : tube->ready.count + tube->turns->may_run;
    if (in_groups < allowed.jobs)
        allowed = (struct allowed){in_groups, group_limit(&record->settings)};
    allow_at_most(&allowed, elapse__queue_places(tube), "concurrency");
    if (elapse_timer_pending(&record->token.timer))
        allow_at_most(&allowed, 0, "rate");
    else if (rate.count != 0)
        allow_at_most(&allowed, elapse__queue_bucket_tokens(&record->bucket, &rate, tick), "rate");
    if (elapse__queue_is_moving(tube))
        allow_at_most(&allowed, 0, "");
    return allowed;
}

uint64_t elapse__queue_held_at(const struct elapse__queue_tube *tube, uint64_t tick)
{
    return tube->counts[ELAPSE__QUEUE_READY] - allowed_at(tube, tick).jobs;
}

struct elapse__queue_text elapse__queue_held_by(const struct elapse__queue_tube *tube,
                                                uint64_t tick)
{
    const char *by = allowed_at(tube, tick).by;
    return (struct elapse__queue_text){by, strlen(by)};
}

void elapse__queue_count_held(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    uint64_t held = elapse__queue_held_at(tube, elapse__queue_present(queue, false));
    ELAPSE__ASSERT_THAT(queue->held, >=, tube->record->held);
    queue->held += held - tube->record->held;
    tube->record->held = held;
}

void elapse__queue_take_token(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    struct elapse__queue_rate rate = elapse__queue_settings_rate(&tube->record->settings);
    if (rate.count == 0)
        return;
    ELAPSE__ASSERT(!elapse_timer_pending(&tube->record->token.timer));
    elapse__queue_bucket_take(&tube->record->bucket, &rate, elapse__queue_present(queue, false));
    set_alarm(queue, tube);
    elapse__queue_count_held(queue, tube);
}

void elapse__queue_set_rate(struct elapse__queue *queue, struct elapse__queue_tube *tube,
                            const struct elapse__queue_rate *rate)
{
    struct elapse__queue_tube_record *record = tube->record;
    struct elapse__queue_rate old = elapse__queue_settings_rate(&record->settings);
    struct elapse__queue_bucket bucket = {0};
    ELAPSE__ASSERT(elapse__queue_rate_fits(rate));
    ELAPSE__ASSERT(queue->transaction == NULL); /* no transaction changes settings */
    if (rate->count == old.count && rate->period_ms == old.period_ms && rate->burst == old.burst)
        return;
    if (rate->count != 0 && elapse_timer_pending(&record->token.timer)) {
        uint64_t next = elapse__queue_bucket_next(&record->bucket);
        elapse__queue_bucket_empty(&bucket, rate, elapse__queue_present(queue, false));
        if (bucket.tick >= next)
            bucket = (struct elapse__queue_bucket){.tick = next};
    }
    record->bucket = bucket;
    record->settings.rate_count = rate->count;
    record->settings.rate_period_ms = rate->period_ms;
    record->settings.rate_burst = rate->burst;
    set_alarm(queue, tube);
}

/* Returns the bucket that a record TUBE describes. If the wall clock was set back, the bucket still
 * waits no longer than one token takes. */
static struct elapse__queue_bucket read_bucket(const struct elapse__queue *queue,
                                               const struct elapse__queue_settings *settings,
                                               const struct elapse__queue_rate *rate)
{
    struct elapse__queue_bucket empty;
    if (settings->rate_next_ms == 0)
        return (struct elapse__queue_bucket){0};
    int64_t left_ms = (int64_t)settings->rate_next_ms - queue->now.wall_ms;
    elapse__queue_bucket_empty(&empty, rate, elapse__queue_present(queue, false));
    struct elapse__queue_bucket bucket = {
        .tick = elapse__queue_present(queue, false) + (uint64_t)left_ms +
                (queue->options.present_is_rounded ? 1 : 0),
        .part = settings->rate_next_part,
    };
    return bucket.tick < empty.tick ? bucket : empty;
}

void elapse__queue_open_rate(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    struct elapse__queue_tube_record *record = tube->record;
    const struct elapse__queue_settings *settings = &record->settings;
    struct elapse__queue_rate rate = elapse__queue_settings_rate(settings);
    if (rate.count == 0)
        return;
    if (elapse__queue_rate_is_slow(&rate) ||
        (settings->rate_next_ms != 0 && settings->rate_life + 1 == queue->life))
        record->bucket = read_bucket(queue, settings, &rate);
    else
        elapse__queue_bucket_empty(&record->bucket, &rate, elapse__queue_present(queue, false));
    set_alarm(queue, tube);
    elapse__queue_count_held(queue, tube);
}

void elapse__queue_note_bucket(struct elapse__queue *queue, struct elapse__queue_tube *tube)
{
    struct elapse__queue_settings *settings = &tube->record->settings;
    const struct elapse__queue_bucket *bucket = &tube->record->bucket;
    bool is_slow = elapse__queue_writes_bucket(tube);
    settings->rate_next_ms = settings->rate_next_part = settings->rate_life = 0;
    if (settings->rate_count == 0 || (!is_slow && !queue->stops))
        return;
    uint64_t present = elapse__queue_present(queue, false);
    int64_t wall_ms = queue->now.wall_ms;
    int64_t next_ms = bucket->tick >= present ? wall_ms + (int64_t)(bucket->tick - present)
                                              : wall_ms - (int64_t)(present - bucket->tick);
    /* A bucket that was never used counts as full since long ago. */
    settings->rate_next_ms = next_ms > 0 ? (uint64_t)next_ms : 1;
    settings->rate_next_part = next_ms > 0 ? bucket->part : 0;
    settings->rate_life = is_slow ? 0 : queue->life;
}
