/*
 * The buckets of groups, for the files that keep them. tables.h has what other files ask.
 */
#ifndef ELAPSE__QUEUE_GROUP_RATE_H
#define ELAPSE__QUEUE_GROUP_RATE_H

#include "tables.h"

/* Returns the rate of each group of a tube. */
static inline struct elapse__queue_rate
elapse__queue_group_rate_of(const struct elapse__queue_tube *tube)
{
    return tube->record == NULL ? (struct elapse__queue_rate){0}
                                : elapse__queue_settings_group_rate(&tube->record->settings);
}

/* Returns the bucket of a group. Requires that it has one. */
static inline struct elapse__queue_group_bucket *
elapse__queue_bucket_of(const struct elapse__queue *queue, const struct elapse__queue_group *group)
{
    struct elapse__queue_group_bucket *bucket =
        elapse__queue_slab_at(&queue->buckets, group->bucket);
    ELAPSE__ASSERT_THAT(bucket->alarm.number, ==, group->number);
    return bucket;
}

/* Gives a group that has no bucket this one. Requires that there is room for it. */
struct elapse__queue_group_bucket *elapse__queue_bucket_make(struct elapse__queue *queue,
                                                             struct elapse__queue_group *group,
                                                             struct elapse__queue_bucket bucket);

/* Takes the bucket of a group away: it is full, or there is no rate any more. The caller ends the
 * group if it has no jobs. */
void elapse__queue_bucket_end(struct elapse__queue *queue, struct elapse__queue_group *group);

/* Brings the present rate of the tube to a bucket that an earlier rate filled. Returns whether it
 * was one. A TUBE of such a bucket is forgotten, unless the tokens of the rate come slowly: then
 * the caller is to write it again. */
bool elapse__queue_bucket_follow(struct elapse__queue *queue, const struct elapse__queue_tube *tube,
                                 struct elapse__queue_group_bucket *bucket);

/* Returns whether a bucket that follows the rate is full. */
bool elapse__queue_bucket_is_full(const struct elapse__queue *queue,
                                  const struct elapse__queue_group_bucket *bucket,
                                  const struct elapse__queue_rate *rate);

/* Sets the alarm of a bucket that is not full, and notes whether it is empty. */
void elapse__queue_bucket_wait(struct elapse__queue *queue,
                               struct elapse__queue_group_bucket *bucket,
                               const struct elapse__queue_rate *rate);

/* The TUBE of a group lies at this position now, and has this size; 0 and 0: there is none. */
void elapse__queue_bucket_record_move(struct elapse__queue *queue,
                                      struct elapse__queue_group_bucket *bucket, uint64_t position,
                                      uint32_t size);

#endif
