#include "history.h"

#include "assert.h"

/* Returns what was counted between two looks. */
static uint64_t since(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

/* Stores how late the jobs of the minute were. */
static void add_lateness(struct elapse__history_point *point,
                         const struct elapse__histogram *before,
                         const struct elapse__histogram *now)
{
    uint64_t count = 0;
    uint64_t seen = 0;

    for (unsigned i = 0; i < ELAPSE__HISTOGRAM_BUCKETS; i++)
        count += since(before->counts[i], now->counts[i]);
    point->late_p99_ms = point->late_max_ms = ELAPSE__HISTORY_UNKNOWN;
    for (unsigned i = 0; i < ELAPSE__HISTOGRAM_BUCKETS; i++) {
        uint64_t here = since(before->counts[i], now->counts[i]);
        uint64_t wanted = count - count / 100;
        if (here == 0)
            continue;
        if (seen < wanted && seen + here >= wanted)
            point->late_p99_ms = elapse__histogram_least(i + 1) - 1;
        point->late_max_ms = elapse__histogram_least(i + 1) - 1;
        seen += here;
    }
    ELAPSE__ASSERT_THAT(seen, ==, count);
    ELAPSE__ASSERT((count == 0) == (point->late_p99_ms == ELAPSE__HISTORY_UNKNOWN));
    ELAPSE__ASSERT_THAT(point->late_p99_ms, <=, point->late_max_ms);
}

bool elapse__history_is_due(const struct elapse__history *history, uint64_t boot_ms)
{
    return !history->has_begun || boot_ms >= history->began_ms + ELAPSE__HISTORY_SPAN_MS;
}

void elapse__history_add(struct elapse__history *history,
                         const struct elapse__history_sample *sample, int64_t wall_ms,
                         uint64_t boot_ms)
{
    const struct elapse__history_sample *before = &history->before;

    ELAPSE__ASSERT(elapse__history_is_due(history, boot_ms));
    ELAPSE__ASSERT_THAT(history->next, <, (unsigned)ELAPSE__HISTORY_POINTS);
    if (history->has_begun) {
        struct elapse__history_point *point = &history->points[history->next];
        *point = (struct elapse__history_point){
            .at_ms = wall_ms > 0 ? (uint64_t)wall_ms : 0,
            .span_ms = boot_ms - history->began_ms,
            .delayed = sample->delayed,
            .ready = sample->ready,
            .reserved = sample->reserved,
            .buried = sample->buried,
            .overdue_ms = sample->overdue_ms,
            .put = since(before->put, sample->put),
            .came_due = since(before->came_due, sample->came_due),
            .handed_out = since(before->handed_out, sample->handed_out),
            .done = since(before->done, sample->done),
            .cancelled = since(before->cancelled, sample->cancelled),
        };
        add_lateness(point, &before->lateness, &sample->lateness);
        history->next = (history->next + 1) % ELAPSE__HISTORY_POINTS;
        history->count += history->count < ELAPSE__HISTORY_POINTS;
    }
    history->has_begun = true;
    history->began_ms = boot_ms;
    history->before = *sample;
}

unsigned elapse__history_count(const struct elapse__history *history, unsigned most)
{
    if (history == NULL)
        return 0;
    return history->count < most ? history->count : most;
}

const struct elapse__history_point *elapse__history_at(const struct elapse__history *history,
                                                       unsigned count, unsigned place)
{
    ELAPSE__ASSERT_THAT(place, <, count);
    ELAPSE__ASSERT_THAT(count, <=, history->count);
    return &history->points[(history->next + ELAPSE__HISTORY_POINTS - count + place) %
                            ELAPSE__HISTORY_POINTS];
}
