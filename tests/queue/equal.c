#include "equal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool equal_ignores_boot_due;

static char difference[300];

/* A sink that refuses every group of records: the second queue only replays. */
static int refuse_begin(struct elapse__record_sink *sink, uint64_t bytes,
                        enum elapse__record_purpose purpose)
{
    (void)purpose;
    (void)sink;
    (void)bytes;
    return 28;
}

static uint64_t refuse_append(struct elapse__record_sink *sink, const struct elapse__record *record)
{
    (void)sink;
    (void)record;
    abort();
}

static uint64_t refuse_end(struct elapse__record_sink *sink)
{
    (void)sink;
    abort();
}

struct live_counter {
    struct elapse__record_sink sink;
    const struct log *log;
    int64_t live;
};

static void count_live_bytes(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    struct live_counter *counter = (struct live_counter *)(void *)sink;
    if (log_is_put(counter->log, position))
        counter->live += change;
}

static const char *differ(const char *what, uint64_t id, uint64_t left, uint64_t right)
{
    (void)snprintf(difference, sizeof difference, "job %llu: %s: %llu in the queue, %llu replayed",
                   (unsigned long long)id, what, (unsigned long long)left,
                   (unsigned long long)right);
    return difference;
}

#define COMPARE(field)               \
    if (left->field != right->field) \
    return differ(#field, left->id, (uint64_t)left->field, (uint64_t)right->field)

/* Returns whether a job is ready or delayed. The two count as equal, because a job that is due may
 * still be delayed until the next turn of its queue. */
static bool waits(const struct elapse__queue_view *view)
{
    return view->state == ELAPSE__QUEUE_DELAYED || view->state == ELAPSE__QUEUE_READY;
}

static const char *views_differ(const struct elapse__queue_view *left,
                                const struct elapse__queue_view *right)
{
    if (!(waits(left) && waits(right)))
        COMPARE(state);
    COMPARE(id);
    COMPARE(position);
    COMPARE(body_size);
    COMPARE(priority);
    if (left->by_wall_clock || !equal_ignores_boot_due)
        COMPARE(due_ms);
    COMPARE(by_wall_clock);
    COMPARE(recurring);
    COMPARE(ttr_ms);
    COMPARE(expire_ms);
    COMPARE(retry);
    COMPARE(backoff_min_ms);
    COMPARE(backoff_max_ms);
    COMPARE(lease.life);
    COMPARE(lease.number);
    COMPARE(attempts);
    COMPARE(missed);
    COMPARE(await);
    COMPARE(has_due);
    /* A job whose due time has come waits until the next turn of its queue. */
    if (left->state != ELAPSE__QUEUE_READY)
        COMPARE(waits);
    COMPARE(failures);
    COMPARE(reserves);
    COMPARE(timeouts);
    COMPARE(releases);
    COMPARE(buries);
    COMPARE(kicks);
    COMPARE(told.lease_ended);
    COMPARE(told.position);
    COMPARE(told.size);
    if (strcmp(left->reason, right->reason) != 0)
        return differ("reason", left->id, 0, 1);
    if (left->tube.size != right->tube.size ||
        memcmp(left->tube.bytes, right->tube.bytes, left->tube.size) != 0)
        return differ("tube", left->id, left->tube.size, right->tube.size);
    if (left->group.size != right->group.size ||
        (left->group.size > 0 &&
         memcmp(left->group.bytes, right->group.bytes, left->group.size) != 0))
        return differ("group", left->id, left->group.size, right->group.size);
    return NULL;
}

static const char *all_differ(struct elapse__queue *queue, struct elapse__queue *other,
                              struct elapse__queue_now now)
{
    const struct elapse__queue_filter everything = {.state = ELAPSE__QUEUE_FREE};
    uint32_t cursor = 0;
    do {
        struct elapse__queue_view views[64];
        uint32_t count = elapse__queue_list(queue, now, &everything, &cursor, 1000, views, 64);
        for (uint32_t i = 0; i < count; i++) {
            struct elapse__queue_view replayed = {0};
            if (elapse__queue_look_up_id(other, now, views[i].id, &replayed) != ELAPSE__QUEUE_OK)
                return differ("exists", views[i].id, 1, 0);
            const char *found = views_differ(&views[i], &replayed);
            if (found != NULL)
                return found;
        }
    } while (cursor != 0);
    return NULL;
}

static const char *replay_differs(struct elapse__queue *queue, struct elapse__queue *other,
                                  const struct log *log, const struct live_counter *counter,
                                  struct elapse__queue_now now)
{
    if (log_replay(log, other) != ELAPSE__QUEUE_OK)
        return "the log cannot be replayed";
    if (elapse__queue_replay_done(other, now, UINT32_MAX) != ELAPSE__QUEUE_OK)
        return "the replayed queue cannot be opened";
    unsigned broken = elapse__queue_check(other);
    if (broken != 0)
        return differ("broken invariant of the replayed queue", 0, 0, broken);
    if (elapse__queue_jobs(queue) != elapse__queue_jobs(other))
        return differ("jobs", 0, elapse__queue_jobs(queue), elapse__queue_jobs(other));
    const char *found = all_differ(queue, other, now);
    if (found != NULL)
        return found;
    if (counter->live != log_live(log) || log_live_dropped(log) != 0)
        return differ("live bytes", 0, (uint64_t)log_live(log), (uint64_t)counter->live);
    return NULL;
}

const char *queue_differs_from_log(struct elapse__queue *queue, const struct log *log,
                                   const struct elapse__queue_options *options,
                                   struct elapse__queue_now now)
{
    struct live_counter counter = {
        .sink = {refuse_begin, refuse_append, refuse_end, count_live_bytes},
        .log = log,
    };
    struct elapse__queue_options other_options = *options;
    unsigned broken = elapse__queue_check(queue);
    if (broken != 0)
        return differ("broken invariant", 0, broken, 0);
    other_options.sink = &counter.sink;
    other_options.memory = NULL;
    other_options.secret.high ^= 12345;
    other_options.jobs_max = 0;
    other_options.tubes_max = 0;
    struct elapse__queue *other = elapse__queue_new(&other_options);
    if (other == NULL)
        return "no memory";
    const char *found = replay_differs(queue, other, log, &counter, now);
    elapse__queue_free(other);
    return found;
}
