#include "stress.h"

#include <stdlib.h>
#include <string.h>

/* ---- moving ---- */

void record_moved(struct record *record, enum elapse_error error, bool moved)
{
    struct round *round = record->round;
    struct asked *asked = &record->history[record->asked_count - 1];
    asked->asked_ns = elapse_scheduler_now_ns(round->scheduler);
    asked->rescheduled = true;
    if (error != ELAPSE_OK || !moved) {
        record->asked_count--;
        atomic_fetch_add(&round->counters->unmoved, error == ELAPSE_OK);
        return;
    }
    asked[-1].superseded_ns = asked->asked_ns;
    atomic_fetch_add(&record->rescheduled, 1);
    atomic_fetch_add(&round->rescheduled, 1);
    atomic_fetch_add(&round->counters->moves, 1);
}

/* Adds a deadline to the history. Returns false if the history is full. Requires the lock of the
 * record. */
static bool ask(struct record *record, uint64_t low_ns, uint64_t high_ns)
{
    if (record->asked_count == HISTORY)
        return false;
    record->history[record->asked_count++] = asked_between(record->round, low_ns, high_ns);
    return true;
}

/* Makes a task run at once. Only one that is far from due, since only then is it certain that the
 * call moves it. */
void run_now(struct record *record)
{
    struct round *round = record->round;
    bool over = atomic_load(&record->over) || atomic_load(&record->last_begin_ns) != ELAPSE_NEVER;
    if (record->recurrence != ELAPSE_RECUR_NEVER || record->wall_clock ||
        !record_may_be_moved(record))
        return;
    record_lock(record);
    uint64_t now_ns = elapse_scheduler_now_ns(round->scheduler);
    bool far = record_in_force(record)->low_ns >= now_ns + far_ns / 2;
    if (!far || !ask(record, now_ns - now_ns % round->tick_ns, ELAPSE_NEVER)) {
        record_unlock(record);
        return;
    }
    enum elapse_error error = elapse_task_run_now(round->scheduler, record->handle);
    record_moved(record, error, true);
    record_unlock(record);
    must(error == ELAPSE_OK || error == ELAPSE_ERROR_GONE || error == ELAPSE_ERROR_CLOSED ||
             (error == ELAPSE_ERROR_LIMIT && round->pending_max != 0),
         round, record, "does not run now, for no reason");
    must(error != ELAPSE_OK || !over, round, record, "runs now, after a cancel");
}

/* ---- changing ---- */

static enum elapse_error change_cron(struct record *record, struct random_source *source)
{
    struct round *round = record->round;
    enum elapse_zone zone = random_one_in(source, 2) ? ELAPSE_ZONE_UTC : ELAPSE_ZONE_LOCAL;
    record_lock(record);
    enum elapse_error error =
        elapse_task_change_cron(round->scheduler, record->handle, &round->cron, zone);
    if (error == ELAPSE_OK)
        record->zone = zone;
    record_unlock(record);
    if (error == ELAPSE_OK) {
        atomic_fetch_add(&round->rescheduled, 1);
        atomic_fetch_add(&round->counters->moves, 1);
    }
    return error;
}

static enum elapse_error change_period(struct record *record, struct random_source *source)
{
    struct round *round = record->round;
    uint64_t period_ns = ELAPSE_MILLISECOND_NS + random_below(source, 20 * ELAPSE_MILLISECOND_NS);
    record_lock(record);
    uint64_t before_ns = elapse_scheduler_now_ns(round->scheduler);
    enum elapse_error error = ELAPSE_ERROR_GONE;
    if (ask(record, before_ns + period_ns, ELAPSE_NEVER)) {
        error = elapse_task_change_period(round->scheduler, record->handle, period_ns);
        record_moved(record, error, true);
        if (error == ELAPSE_OK)
            record->period_ns = period_ns;
    }
    record_unlock(record);
    return error;
}

void change_recurrence(struct record *record, struct random_source *source)
{
    struct round *round = record->round;
    bool over = atomic_load(&record->over) || atomic_load(&record->last_begin_ns) != ELAPSE_NEVER;
    if (record->recurrence == ELAPSE_RECUR_NEVER || !record_may_be_moved(record))
        return;
    enum elapse_error error = record->recurrence == ELAPSE_RECUR_CRON
                                  ? change_cron(record, source)
                                  : change_period(record, source);
    must(error == ELAPSE_OK || error == ELAPSE_ERROR_GONE || error == ELAPSE_ERROR_CLOSED, round,
         record, "was not changed, for no reason");
    must(error != ELAPSE_OK || !over, round, record, "was changed after a cancel");
}

/* ---- waiting ---- */

/* Waits without end only for what was cancelled, which ends in any case. */
void wait_for_end(struct record *record, struct random_source *source, bool inside)
{
    struct round *round = record->round;
    bool ends = atomic_load(&record->over) || atomic_load(&record->last_begin_ns) != ELAPSE_NEVER;
    uint64_t timeout_ns = !inside && ends ? ELAPSE_NEVER : random_below(source, 300000);
    enum elapse_error error = elapse_task_wait(round->scheduler, record->handle, timeout_ns);
    must(error == ELAPSE_OK || (error == ELAPSE_ERROR_TIMEOUT && timeout_ns != ELAPSE_NEVER) ||
             (error == ELAPSE_ERROR_IN_ACTION && inside),
         round, record, "a wait for its end has failed, for no reason");
    if (error != ELAPSE_OK)
        return;
    atomic_fetch_add(&round->counters->waits, 1);
    must(elapse_task_look_up(round->scheduler, record->handle, NULL) == ELAPSE_TASK_GONE, round,
         record, "a wait for its end has returned, and it is still there");
    must(!atomic_load(&record->active), round, record,
         "a wait for its end has returned, and it runs");
    must(!record->has_destructor || atomic_load(&record->destroyed) == 1 ||
             atomic_load(&round->closing),
         round, record, "a wait for its end has returned, and it is not destroyed");
    atomic_store(&record->over, true);
}

/* ---- listing ---- */

enum { WITNESSES = 32, LISTED_MAX = 64 };

/* Tasks that are there before the list begins. Those that are still there when it has ended must
 * have been listed. */
struct witnesses {
    struct record *records[WITNESSES];
    unsigned count;
};

static bool has_prefix(const struct elapse_listed *listed, const char *prefix)
{
    size_t bytes = strlen(prefix);
    return listed->key_bytes >= bytes && memcmp(listed->key, prefix, bytes) == 0;
}

static void check_listed(const struct round *round, const struct elapse_listed *listed,
                         const char *prefix, bool *seen, const bool *was_over)
{
    const struct record *record = listed->context;
    char key[16];
    must(listed->action == record_action && record->round == round, round, record,
         "a strange task is listed");
    must(!seen[record->number], round, record, "is listed twice");
    seen[record->number] = true;
    must(!was_over[record->number], round, record, "was gone, and is listed");
    must(prefix == NULL || has_prefix(listed, prefix), round, record,
         "is listed, and its key does not begin so");
    must(listed->key_bytes == (record->key < 0 ? 0 : key_bytes_of(record->key, key)), round, record,
         "is listed with another key");
    must(listed->wall_clock == record->wall_clock && listed->recurrence == record->recurrence,
         round, record, "is listed as another kind of task");
    must(listed->state == ELAPSE_TASK_PENDING || listed->state == ELAPSE_TASK_RUNNING, round,
         record, "is listed as gone");
}

static void check_witness(const struct round *round, const struct record *record,
                          const char *prefix, const bool *seen)
{
    char key[16];
    char copied[16];
    if (elapse_task_look_up(round->scheduler, record->handle, NULL) == ELAPSE_TASK_GONE)
        return;
    if (prefix != NULL && record->key < 0)
        return;
    size_t bytes = record->key < 0 ? 0 : key_bytes_of(record->key, key);
    size_t got = elapse_task_key(round->scheduler, record->handle, copied, sizeof copied);
    must(got == 0 || (got == bytes && memcmp(copied, key, bytes) == 0), round, record,
         "has another key");
    if (prefix != NULL && (bytes < strlen(prefix) || memcmp(key, prefix, strlen(prefix)) != 0))
        return;
    must(seen[record->number], round, record, "was there all the time, and is not listed");
}

void list_all(struct round *round, struct random_source *source)
{
    static const char *const prefixes[] = {NULL, NULL, "key-1", "own-", ""};
    const char *prefix = prefixes[random_below(source, sizeof prefixes / sizeof *prefixes)];
    struct elapse_list_cursor cursor = {0};
    struct elapse_listed listed[LISTED_MAX];
    struct witnesses witnesses = {.count = 0};
    bool *seen = calloc(2 * RECORDS, sizeof *seen);
    size_t count;
    must(seen != NULL, round, NULL, "no memory");
    bool *was_over = seen + RECORDS;
    for (uint32_t i = 0; i < RECORDS; i++)
        was_over[i] = atomic_load(&round->records[i].over);
    for (unsigned i = 0; i < WITNESSES; i++) {
        struct record *record = draw_record(round, source);
        if (record != NULL &&
            elapse_task_look_up(round->scheduler, record->handle, NULL) != ELAPSE_TASK_GONE)
            witnesses.records[witnesses.count++] = record;
    }
    do {
        size_t capacity = 1 + random_index(source, LISTED_MAX);
        count = prefix == NULL ? elapse_task_list(round->scheduler, &cursor, listed, capacity)
                               : elapse_task_list_keys(round->scheduler, prefix, strlen(prefix),
                                                       &cursor, listed, capacity);
        must(count <= capacity, round, NULL, "more is listed than there is room for");
        for (size_t i = 0; i < count; i++)
            check_listed(round, &listed[i], prefix, seen, was_over);
    } while (count > 0);
    for (unsigned i = 0; i < witnesses.count; i++)
        check_witness(round, witnesses.records[i], prefix != NULL && *prefix == '\0' ? "" : prefix,
                      seen);
    atomic_fetch_add(&round->counters->lists, 1);
    free(seen);
}
