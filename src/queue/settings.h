/*
 * The settings of a tube, and the record TUBE that has them all. A newer record replaces the one
 * before it. A tube whose newest record says nothing has no settings.
 *
 *      parts     4 bytes; bit n says that the n-th row of the table below follows
 *      name      of the tube: 1 byte with its size, then its bytes
 *      values    8 bytes for each bit that is set, the lowest bit first
 *
 * A TUBE whose bit 31 of `parts`, and no other, is set says when the bucket of one group has its
 * next token. It replaces the one before it of the same group only:
 *
 *      parts     4 bytes
 *      name      of the tube, as above
 *      group     1 byte with its size, then its bytes
 *      next      8 bytes, milliseconds by the wall clock; then 8 bytes, the part of the next one
 *      rate      8 bytes, the number of the rate of groups that `next` is by
 *      written   8 bytes, the time of the record in milliseconds by the wall clock; a replay learns
 *                from it which buckets before are full
 */
#ifndef ELAPSE__QUEUE_SETTINGS_H
#define ELAPSE__QUEUE_SETTINGS_H

#include "queue.h"
#include "rate.h"

/* X(setting, the greatest value). A value of 0 says nothing. The rows lie on disk in this order:
 * never change one, and add new ones at the end. */
#define ELAPSE__QUEUE_SETTINGS(X)                               \
    X(pause_ms, ELAPSE__QUEUE_DELAY_MS_MAX)                     \
    X(pause_end_ms, ELAPSE__QUEUE_SETTING_END) /* wall clock */ \
    X(concurrency, UINT32_MAX)                                  \
    X(rate_count, ELAPSE__QUEUE_RATE_MAX)                       \
    X(rate_period_ms, ELAPSE__QUEUE_RATE_PERIOD_MS_MAX)         \
    X(rate_burst, ELAPSE__QUEUE_RATE_MAX)                       \
    X(rate_next_ms, ELAPSE__QUEUE_SETTING_END) /* wall clock */ \
    X(rate_next_part, ELAPSE__QUEUE_RATE_MAX)                   \
    X(rate_life, UINT32_MAX)                                    \
    X(group_concurrency, UINT32_MAX)                            \
    X(buried, UINT32_MAX)                                       \
    X(buried_age_ms, ELAPSE__QUEUE_DELAY_MS_MAX)                \
    X(group_rate_count, ELAPSE__QUEUE_RATE_MAX)                 \
    X(group_rate_period_ms, ELAPSE__QUEUE_RATE_PERIOD_MS_MAX)   \
    X(group_rate_burst, ELAPSE__QUEUE_RATE_MAX)                 \
    X(group_order, 1)                                           \
    X(group_rate_number, INT64_MAX)                             \
    X(group_rate_since, INT64_MAX)

/* No pause ends later. */
#define ELAPSE__QUEUE_SETTING_END (ELAPSE__QUEUE_WALL_MS_MAX + ELAPSE__QUEUE_DELAY_MS_MAX)

struct elapse__queue_settings {
#define FIELD(setting, most) uint64_t setting;
    ELAPSE__QUEUE_SETTINGS(FIELD)
#undef FIELD
};

enum {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): each row is one term of a sum */
#define COUNT(setting, most) +1
    ELAPSE__QUEUE_SETTING_COUNT = ELAPSE__QUEUE_SETTINGS(COUNT),
#undef COUNT
    /* The most bytes that the fields of a TUBE take. */
    ELAPSE__QUEUE_SETTINGS_BYTES_MAX =
        4 + 1 + ELAPSE__QUEUE_TUBE_BYTES_MAX + 8 * ELAPSE__QUEUE_SETTING_COUNT,
    /* Those of a TUBE of a group. */
    ELAPSE__QUEUE_GROUP_NEXT_BYTES_MAX =
        4 + 1 + ELAPSE__QUEUE_TUBE_BYTES_MAX + 1 + ELAPSE__QUEUE_KEY_BYTES_MAX + 4 * 8,
};

/* What the TUBE of a group says. */
struct elapse__queue_group_next {
    struct elapse__queue_text tube, group;
    uint64_t next_ms, next_part;
    uint64_t rate;       /* by which the bucket is so: its number */
    uint64_t written_ms; /* 0: before 1970, by a wrong clock */
};

/* Each rate of groups has a number of its own. group_rate_number is the number of the present rate.
 * A TUBE of a group counts if its rate has the number group_rate_since or a greater one. The
 * buckets of a rate whose tokens come fast are not on the disk. So such a rate makes all TUBEs of
 * groups before it void. Both numbers are 0 in a tube that was imported. */

/* When the bucket of the rate has its next token is said by rate_next_ms and rate_next_part. It is
 * true if the tokens come so slowly that each hand-out writes it; otherwise only in the life after
 * `rate_life`, which is the life that wrote it when it stopped. */

/* Returns the rate of the tube. */
static inline struct elapse__queue_rate
elapse__queue_settings_rate(const struct elapse__queue_settings *settings)
{
    return (struct elapse__queue_rate){settings->rate_count, settings->rate_period_ms,
                                       settings->rate_burst};
}

/* Returns the rate of each group. */
static inline struct elapse__queue_rate
elapse__queue_settings_group_rate(const struct elapse__queue_settings *settings)
{
    return (struct elapse__queue_rate){settings->group_rate_count, settings->group_rate_period_ms,
                                       settings->group_rate_burst};
}

/* Returns whether any of the settings is set. */
bool elapse__queue_settings_say(const struct elapse__queue_settings *settings);

/* Returns whether each setting is within its range, and all go together. */
bool elapse__queue_settings_fit(const struct elapse__queue_settings *settings);

/* Writes the fields of a TUBE. Returns how many bytes. `bytes` has room for
 * ELAPSE__QUEUE_SETTINGS_BYTES_MAX. Requires that the settings fit. */
uint16_t elapse__queue_settings_encode(const struct elapse__queue_settings *settings,
                                       struct elapse__queue_text name, unsigned char *bytes);

/* Reads a TUBE. The name points into the record. Returns false if elapse__queue_settings_encode
 * cannot have written its fields. */
bool elapse__queue_settings_decode(struct elapse__queue_settings *settings,
                                   struct elapse__queue_text *name,
                                   const struct elapse__record *record);

/* The same for the TUBE of a group. `bytes` has room for ELAPSE__QUEUE_GROUP_NEXT_BYTES_MAX. */
uint16_t elapse__queue_group_next_encode(const struct elapse__queue_group_next *next,
                                         unsigned char *bytes);
bool elapse__queue_group_next_decode(struct elapse__queue_group_next *next,
                                     const struct elapse__record *record);

#endif
