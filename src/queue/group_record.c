/*
 * The TUBE of a group, which says when its bucket has the next token; and what looks at buckets and
 * may end a group. group_rate.c has the buckets in memory.
 */
#include "group_rate.h"

/* Writes the bucket of a group by another rate than before. If the sink refuses, the log keeps the
 * bucket of the earlier rate. A start makes of it a bucket that lets nothing run that this one does
 * not (open_bucket). */
static void write_again(struct elapse__queue *queue, struct elapse__queue_group *group)
{
    uint64_t bytes = elapse__record_bytes_max(ELAPSE__QUEUE_GROUP_NEXT_BYTES_MAX, 0);
    ELAPSE__ASSERT(queue->open);
    ELAPSE__ASSERT(queue->transaction == NULL);
    if (queue->sink->begin(queue->sink, bytes, ELAPSE__RECORD_FOR_LEASE) != 0)
        return;
    elapse__queue_write_group_next(queue, group);
    (void)queue->sink->end(queue->sink);
}

bool elapse__queue_group_rate_look(struct elapse__queue *queue, struct elapse__queue_group *group)
{
    if (group->bucket == 0)
        return true;
    struct elapse__queue_group_bucket *bucket = elapse__queue_bucket_of(queue, group);
    const struct elapse__queue_tube *tube = elapse__queue_tube_of_group(queue, group);
    struct elapse__queue_rate rate = elapse__queue_group_rate_of(tube);
    bool is_other = elapse__queue_bucket_follow(queue, tube, bucket) || bucket->is_unwritten;
    if (!elapse__queue_bucket_is_full(queue, bucket, &rate)) {
        elapse__queue_bucket_wait(queue, bucket, &rate);
        if (is_other && elapse__queue_rate_is_slow(&rate))
            write_again(queue, group);
        return true;
    }
    elapse__queue_bucket_end(queue, group);
    if (group->references > 0)
        return true;
    elapse__queue_group_end(queue, group);
    return false;
}

void elapse__queue_write_group_next(struct elapse__queue *queue, struct elapse__queue_group *group)
{
    unsigned char bytes[ELAPSE__QUEUE_GROUP_NEXT_BYTES_MAX];
    struct elapse__queue_group_bucket *bucket = elapse__queue_bucket_of(queue, group);
    const struct elapse__queue_tube *tube = elapse__queue_tube_of_group(queue, group);
    uint64_t present = elapse__queue_present(queue, false);
    int64_t wall_ms = queue->now.wall_ms;
    int64_t next_ms = bucket->bucket.tick >= present
                          ? wall_ms + (int64_t)(bucket->bucket.tick - present)
                          : wall_ms - (int64_t)(present - bucket->bucket.tick);
    struct elapse__queue_group_next next = {
        .tube = {tube->name, tube->name_size},
        .group = {group->name, group->name_size},
        .next_ms = next_ms > 0 ? (uint64_t)next_ms : 1,
        .next_part = next_ms > 0 ? bucket->bucket.part : 0,
        .rate = bucket->rate,
        .written_ms = wall_ms > 0 ? (uint64_t)wall_ms : 0,
    };
    struct elapse__record record = {
        .type = ELAPSE__RECORD_TUBE,
        .fields_size = elapse__queue_group_next_encode(&next, bytes),
        .fields = bytes,
    };
    uint64_t position = queue->sink->append(queue->sink, &record);
    bucket->is_unwritten = false;
    elapse__queue_bucket_record_move(queue, bucket, position,
                                     (uint32_t)elapse__frame_bytes(record.fields_size, 0));
}

bool elapse__queue_is_group_next(const struct elapse__queue *queue,
                                 const struct elapse__queue_group *group, uint64_t position)
{
    return group->bucket != 0 && elapse__queue_bucket_of(queue, group)->position == position;
}

/* Ends the bucket of a group; then the group and its tube if nothing else keeps them. */
static void end_unkept(struct elapse__queue *queue, struct elapse__queue_group *group)
{
    struct elapse__queue_tube *tube = elapse__queue_tube_of_group(queue, group);
    elapse__queue_bucket_end(queue, group);
    if (group->references > 0)
        return;
    elapse__queue_group_end(queue, group);
    elapse__queue_turns_trim(queue, tube);
    elapse__queue_tube_end_if_empty(queue, tube);
}

/* Returns whether a bucket means nothing at this time of the log: it is full, or the settings of
 * its tube say that it is void. Cleaning may have copied these behind the bucket: then nobody knows
 * yet. */
static bool is_over(const struct elapse__queue_tube *tube,
                    const struct elapse__queue_group_bucket *bucket, uint64_t wall_ms)
{
    struct elapse__queue_rate rate = elapse__queue_group_rate_of(tube);
    struct elapse__queue_bucket by_wall = bucket->bucket;
    if (tube->record == NULL)
        return false;
    if (!elapse__queue_rate_is_slow(&rate) ||
        bucket->rate < tube->record->settings.group_rate_since)
        return tube->record->position > bucket->position;
    if (by_wall.part >= rate.count) { /* of another rate: see open_bucket */
        by_wall.part = 0;
        by_wall.tick++;
    }
    /* The clock that a life goes by may be a millisecond behind. */
    return elapse__queue_bucket_full(&by_wall, &rate) < wall_ms;
}

/* Goes on over the table by some places, and forgets the buckets there that mean nothing any more:
 * otherwise a replay would keep each group that the log has. Each TUBE of a group does that, so
 * that the groups without jobs are at most a third more than there were in the life that wrote the
 * log. That holds behind the settings of their tube. Cleaning may copy these behind buckets: then
 * all groups of these buckets stay until the replay has read the settings. */
static void sweep(struct elapse__queue *queue, uint64_t wall_ms)
{
    enum { PLACES = 4 };
    for (int i = 0; i < PLACES; i++) {
        if (++queue->swept >= queue->tubes.fresh) {
            queue->swept = 0;
            continue;
        }
        const struct elapse__queue_place *place = elapse__queue_place_at(queue, queue->swept);
        if (place->kind != ELAPSE__QUEUE_PLACE_GROUP || place->at.group->bucket == 0)
            continue;
        struct elapse__queue_group *group = place->at.group;
        const struct elapse__queue_tube *tube = elapse__queue_tube_of_group(queue, group);
        if (is_over(tube, elapse__queue_bucket_of(queue, group), wall_ms))
            end_unkept(queue, group);
    }
}

/* Until the queue is open, the tick of a bucket is its time by the wall clock. */
enum elapse__queue_result elapse__queue_group_next_replay(struct elapse__queue *queue,
                                                          uint64_t position,
                                                          const struct elapse__record *record)
{
    struct elapse__queue_group_next next;
    struct elapse__queue_tube *tube = NULL;
    struct elapse__queue_group *group = NULL;
    ELAPSE__ASSERT(!queue->open);
    if (!elapse__queue_group_next_decode(&next, record))
        return ELAPSE__QUEUE_ARGUMENT;
    if (!elapse__queue_slab_reserve(&queue->buckets, &queue->memory))
        return ELAPSE__QUEUE_NO_MEMORY;
    enum elapse__queue_result result = elapse__queue_tube_get(queue, next.tube, &tube);
    if (result != ELAPSE__QUEUE_OK)
        return result;
    result = elapse__queue_group_get(queue, tube, next.group, &group);
    if (result != ELAPSE__QUEUE_OK) {
        elapse__queue_tube_end_if_empty(queue, tube);
        return result;
    }
    struct elapse__queue_bucket by_wall = {.tick = next.next_ms, .part = next.next_part};
    struct elapse__queue_group_bucket *bucket =
        group->bucket != 0 ? elapse__queue_bucket_of(queue, group)
                           : elapse__queue_bucket_make(queue, group, by_wall);
    bucket->bucket = by_wall;
    bucket->rate = next.rate;
    elapse__queue_bucket_record_move(queue, bucket, position,
                                     (uint32_t)elapse__frame_bytes(record->fields_size, 0));
    sweep(queue, next.written_ms);
    return ELAPSE__QUEUE_OK;
}

/* Makes the bucket of a group as its TUBE says. A wall clock that was set back makes no wait longer
 * than for one token. Returns false if the process ended before the present rate came to the group.
 * Then one of the next turns looks at the bucket, and writes it. The group may have waited for a
 * token when the rate was set, also if that token has come since. So the bucket gets the tokens
 * from that one on, and is not full. */
static bool open_bucket(struct elapse__queue *queue, const struct elapse__queue_tube *tube,
                        struct elapse__queue_group_bucket *bucket)
{
    struct elapse__queue_rate rate = elapse__queue_group_rate_of(tube);
    struct elapse__queue_bucket empty;
    int64_t left_ms = (int64_t)bucket->bucket.tick - queue->now.wall_ms;
    elapse__queue_bucket_empty(&empty, &rate, elapse__queue_present(queue, false));
    struct elapse__queue_bucket read = {
        .tick = elapse__queue_present(queue, false) + (uint64_t)left_ms +
                (queue->options.present_is_rounded ? 1 : 0),
        .part = bucket->bucket.part,
    };
    /* A part of another rate; a log that was repaired may lack its settings. */
    if (read.part >= rate.count) {
        read.part = 0;
        read.tick++;
    }
    bucket->bucket = read.tick < empty.tick ? read : empty;
    if (bucket->rate == tube->record->settings.group_rate_number)
        return true;
    uint64_t next = elapse__queue_bucket_next(&bucket->bucket);
    uint64_t present = elapse__queue_present(queue, false);
    bucket->bucket = next <= present ? (struct elapse__queue_bucket){.tick = next}
                                     : elapse__queue_bucket_renew(&bucket->bucket, &rate, present);
    bucket->rate = tube->record->settings.group_rate_number;
    bucket->is_unwritten = true;
    bucket->is_empty = true;
    elapse_wheel_start(&queue->clocks.alarms, &bucket->alarm.timer, present);
    return false;
}

void elapse__queue_group_buckets_end(struct elapse__queue *queue, uint64_t below)
{
    for (uint32_t number = 1; number < queue->tubes.fresh && queue->buckets.count > 0; number++) {
        const struct elapse__queue_place *place = elapse__queue_place_at(queue, number);
        if (place->kind != ELAPSE__QUEUE_PLACE_GROUP || place->at.group->bucket == 0)
            continue;
        struct elapse__queue_group *group = place->at.group;
        if (elapse__queue_bucket_of(queue, group)->position < below)
            end_unkept(queue, group);
    }
}

/* Makes the bucket of each group as its record says, if the tokens of its tube come slowly, and did
 * so ever since. */
static void open_buckets(struct elapse__queue *queue)
{
    for (uint32_t number = 1; number < queue->tubes.fresh && queue->buckets.count > 0; number++) {
        const struct elapse__queue_place *place = elapse__queue_place_at(queue, number);
        if (place->kind != ELAPSE__QUEUE_PLACE_GROUP || place->at.group->bucket == 0)
            continue;
        struct elapse__queue_group *group = place->at.group;
        struct elapse__queue_tube *tube = elapse__queue_tube_of_group(queue, group);
        struct elapse__queue_rate rate = elapse__queue_group_rate_of(tube);
        if (!elapse__queue_rate_is_slow(&rate) ||
            elapse__queue_bucket_of(queue, group)->rate < tube->record->settings.group_rate_since) {
            end_unkept(queue, group);
            continue;
        }
        if (open_bucket(queue, tube, elapse__queue_bucket_of(queue, group)) &&
            !elapse__queue_group_rate_look(queue, group))
            elapse__queue_turns_trim(queue, tube);
    }
}

void elapse__queue_open_group_rates(struct elapse__queue *queue)
{
    struct elapse__queue_tube *tube = NULL;
    uint32_t number = 0;
    open_buckets(queue);
    while ((tube = elapse__queue_next_tube(queue, &number)) != NULL) {
        struct elapse__queue_rate rate = elapse__queue_group_rate_of(tube);
        if (rate.count == 0 || elapse__queue_rate_is_slow(&rate))
            continue;
        struct elapse__queue_tube_record *record = tube->record;
        elapse__queue_bucket_empty(&record->since_open, &rate, elapse__queue_present(queue, false));
        elapse_wheel_start(&queue->clocks.alarms, &record->opening.timer,
                           elapse__queue_bucket_next(&record->since_open));
    }
}
