#include "tables.h"

#include <string.h>

/* Up to this number, the passed occurrences of a cron expression are counted one by one. If there
 * are more, the next moment is searched from the present on, and the others are not counted. */
enum { MISSED_ONE_BY_ONE = 64 };

/* Copies a text, and puts a zero byte at its end. Requires that both fit. */
static void copy_text(char *to, struct elapse__queue_text text)
{
    ELAPSE__ASSERT_THAT(text.size, <=, ELAPSE__QUEUE_CRON_BYTES_MAX);
    memcpy(to, text.bytes, text.size);
    to[text.size] = '\0';
}

/* Finds the time zone and binds the expression to it. Returns NULL, or a phrase that says what is
 * wrong. */
static const char *bind_zone(const struct elapse__queue *queue, struct elapse_cron *cron,
                             struct elapse__queue_text zone)
{
    char name[ELAPSE__QUEUE_ZONE_BYTES_MAX + 1];
    const struct elapse_time_zone *found = NULL;
    if (zone.size == 0 || (zone.size == 3 && memcmp(zone.bytes, "utc", 3) == 0))
        return NULL;
    if (memchr(zone.bytes, '\0', zone.size) != NULL || queue->options.find_zone == NULL)
        return "there is no such time zone";
    copy_text(name, zone);
    if (!queue->options.find_zone(queue->options.zone_context, name, &found) || found == NULL)
        return "there is no such time zone";
    elapse_cron_set_time_zone(cron, found);
    return NULL;
}

static const char *parse_cron(const struct elapse__queue *queue, struct elapse_cron *cron,
                              const struct elapse__queue_fields *fields)
{
    char expression[ELAPSE__QUEUE_CRON_BYTES_MAX + 1];
    if (memchr(fields->cron.bytes, '\0', fields->cron.size) != NULL)
        return "the cron expression has a zero byte";
    copy_text(expression, fields->cron);
    struct elapse_cron_fault fault;
    if (elapse_cron_parse(cron, expression, &fault) != ELAPSE_OK)
        return fault.text;
    return bind_zone(queue, cron, fields->zone);
}

enum elapse__queue_result
elapse__queue_recurrence_make(struct elapse__queue *queue,
                              const struct elapse__queue_fields *fields,
                              struct elapse__queue_recurrence **recurrence, const char **fault)
{
    struct elapse_cron cron = {0};
    *fault = fields->kind == ELAPSE__QUEUE_CRON ? parse_cron(queue, &cron, fields) : NULL;
    if (*fault != NULL && queue->open)
        return ELAPSE__QUEUE_ARGUMENT;
    *recurrence = elapse__allocate_locked(&queue->memory, _Alignof(struct elapse__queue_recurrence),
                                          sizeof **recurrence);
    if (*recurrence == NULL)
        return ELAPSE__QUEUE_NO_MEMORY;
    **recurrence = (struct elapse__queue_recurrence){
        .kind = fields->kind,
        .period_ms = fields->period_ms,
        .occurrence_ms = fields->occurrence_ms,
        .missed = fields->missed,
        .reported = fields->reported,
        .failures = fields->failures,
        .broken = *fault != NULL,
        .cron = cron,
    };
    return ELAPSE__QUEUE_OK;
}

/* Finds the first moment of the expression after a time. Both are in milliseconds. Returns false if
 * there is no such moment. */
static bool cron_after(const struct elapse_cron *cron, int64_t after_ms, int64_t *next_ms)
{
    int64_t after_s = after_ms / 1000 - (after_ms % 1000 < 0);
    int64_t next_s = 0;
    if (!elapse_cron_next(cron, ELAPSE_ZONE_UTC, after_s, &next_s))
        return false;
    *next_ms = next_s * 1000;
    return *next_ms <= ELAPSE__QUEUE_WALL_MS_MAX;
}

bool elapse__queue_recurrence_first(const struct elapse__queue *queue,
                                    struct elapse__queue_recurrence *recurrence)
{
    int64_t now_ms = queue->now.wall_ms;
    uint64_t wait_ms = elapse__queue_whole(queue, recurrence->period_ms);

    if (recurrence->kind == ELAPSE__QUEUE_CRON)
        return cron_after(&recurrence->cron, now_ms, &recurrence->occurrence_ms);
    recurrence->occurrence_ms = now_ms + (int64_t)wait_ms;
    return true;
}

static bool next_cron(struct elapse__queue_recurrence *recurrence, int64_t now_ms, uint64_t *missed)
{
    for (unsigned i = 0; i < MISSED_ONE_BY_ONE; i++) {
        if (!cron_after(&recurrence->cron, recurrence->occurrence_ms, &recurrence->occurrence_ms))
            return false;
        if (recurrence->occurrence_ms > now_ms)
            return true;
        ++*missed;
    }
    return cron_after(&recurrence->cron, now_ms, &recurrence->occurrence_ms);
}

bool elapse__queue_recurrence_next(struct elapse__queue_recurrence *recurrence, int64_t now_ms,
                                   uint64_t *missed)
{
    bool more = true;
    *missed = 0;
    if (recurrence->kind == ELAPSE__QUEUE_CRON) {
        more = next_cron(recurrence, now_ms, missed);
    } else {
        int64_t period_ms = (int64_t)recurrence->period_ms;
        int64_t late_ms = now_ms - recurrence->occurrence_ms;
        *missed = late_ms > 0 ? (uint64_t)(late_ms / period_ms) : 0;
        recurrence->occurrence_ms += period_ms * (int64_t)(*missed + 1);
    }
    ELAPSE__ASSERT(!more || recurrence->occurrence_ms > now_ms);
    uint64_t sum = recurrence->missed + *missed;
    recurrence->missed = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
    return more && recurrence->occurrence_ms <= ELAPSE__QUEUE_WALL_MS_MAX;
}
