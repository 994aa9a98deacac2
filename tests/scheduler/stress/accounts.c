#include "stress.h"

/* After the values of enum elapse_end: of tasks whose destructor gets no reason. */
enum { NO_REASON = ELAPSE_END_CLOSED + 1 };

/* What the records add up to. */
struct sums {
    uint64_t accepted;
    uint64_t removed;
    uint64_t handed_back;
    uint64_t dropped;
    uint64_t replaced;         /* before they ran */
    uint64_t ran;              /* those that ended when a run did */
    uint64_t replaced_running; /* of these, those that a new task replaced meanwhile */
    uint64_t with_destructor;
    uint64_t handed_back_with;         /* of these */
    uint64_t by_reason[NO_REASON + 1]; /* of tasks with a destructor that were not handed back */
};

static bool is_far(const struct round *round, struct record *record)
{
    uint64_t begun_ns = record->wall_clock ? round->begun_wall_clock_ns : round->begun_ns;
    if (record->recurrence == ELAPSE_RECUR_CRON)
        return true;
    record_lock(record);
    bool far = record_in_force(record)->low_ns >= begun_ns + far_ns;
    record_unlock(record);
    return far;
}

uint64_t accounts_far(const struct round *round)
{
    uint32_t used = atomic_load(&round->used);
    uint64_t far = 0;
    for (uint32_t i = 0; i < used && i < RECORDS; i++) {
        struct record *record = &round->records[i];
        far += atomic_load(&record->outcome) == (int)OUTCOME_ACCEPTED &&
               !atomic_load(&record->over) && atomic_load(&record->destroyed) == 0 &&
               atomic_load(&record->last_begin_ns) == ELAPSE_NEVER && is_far(round, record);
    }
    return far;
}

/* It was dropped, so it must not have been due when closing began. */
static void check_dropped(struct round *round, struct record *record)
{
    const struct asked *asked = record_in_force(record);
    must(round->how != ELAPSE_CLOSE_HAND_BACK, round, record, "was dropped, not handed back");
    must(round->how != ELAPSE_CLOSE_RUN_ALL || asked->low_ns == ELAPSE_NEVER, round, record,
         "was dropped where all were to run");
    /* What recurs is due again and again. */
    if (record->recurrence != ELAPSE_RECUR_NEVER)
        return;
    must(round->how != ELAPSE_CLOSE_RUN_DELAYED || asked->low_ns == ELAPSE_NEVER, round, record,
         "was dropped where it was to run at its deadline");
    uint64_t begun_ns =
        record->wall_clock ? round->close_begun_wall_clock_ns : round->close_begun_ns;
    must(round->how != ELAPSE_CLOSE_RUN_DUE || asked->high_ns > begun_ns ||
             asked->asked_ns > round->close_begun_ns,
         round, record, "was due at closing and did not run");
}

static void check_with_destructor(struct round *round, struct record *record, struct sums *sums)
{
    int end = atomic_load(&record->end);
    uint32_t handed_back = atomic_load(&record->handed_back);
    must(atomic_load(&record->destroyed) + handed_back == 1, round, record,
         "has not ended, or more than once");
    must((end == (int)END_REMOVED) == (atomic_load(&record->removed) == 1), round, record,
         "was removed in one place and not in the other");
    must(end != (int)END_RAN || atomic_load(&record->runs) > 0, round, record,
         "ended without a run");
    must((end == (int)END_NONE) == (handed_back == 1), round, record, "ended unseen");
    must(end != (int)END_REPLACED || key_is_replaced(round, record->key), round, record,
         "was replaced, and no task could replace it");
    sums->dropped += end == (int)END_DROPPED;
    sums->replaced += end == (int)END_REPLACED;
    sums->ran += end == (int)END_RAN;
    if (end == (int)END_DROPPED)
        check_dropped(round, record);
    must(!record->tells_reason || handed_back == 1 ||
             atomic_load(&record->reason) != (int)ELAPSE_END_KEPT_OUT,
         round, record, "was accepted, and gets the reason that it was kept out");
    sums->with_destructor++;
    sums->handed_back_with += handed_back;
    if (handed_back == 0)
        sums->by_reason[record->tells_reason ? atomic_load(&record->reason) : NO_REASON]++;
    if (end != (int)END_RAN || record->recurrence == ELAPSE_RECUR_NEVER)
        return;
    int reason = atomic_load(&record->reason);
    must(record->tells_reason, round, record, "recurs, and its destructor gets no reason");
    must(reason != (int)ELAPSE_END_RAN || round->how == ELAPSE_CLOSE_RUN_ALL ||
             round->how == ELAPSE_CLOSE_RUN_DELAYED,
         round, record, "was to run again, and ended as if it was not");
    must(reason != (int)ELAPSE_END_CANCELLED || atomic_load(&record->cancelled) ||
             (record->key >= 0 && record->key < KEYS &&
              atomic_load(&round->key_cancelled[record->key])),
         round, record, "was not cancelled, and gets that reason");
    must(reason != (int)ELAPSE_END_REPLACED || key_is_replaced(round, record->key), round, record,
         "was not replaced, and gets that reason");
    sums->replaced_running += reason == (int)ELAPSE_END_REPLACED;
}

/* How it ended follows from what may happen to it: see stress.h. */
static void check_without(struct round *round, struct record *record, struct sums *sums)
{
    bool recurs = record->recurrence != ELAPSE_RECUR_NEVER;
    must(atomic_load(&record->destroyed) == 0, round, record, "has no destructor");
    if (atomic_load(&record->removed) + atomic_load(&record->handed_back) > 0)
        return;
    /* What recurs ends with a run only if a cancel was answered that it is running, or if closing
     * has everything run for the last time. */
    bool by_cancel = recurs && round->how != ELAPSE_CLOSE_RUN_ALL;
    if (by_cancel ? atomic_load(&record->last_begin_ns) != ELAPSE_NEVER
                  : atomic_load(&record->runs) > 0) {
        sums->ran++;
        return;
    }
    if (key_is_replaced(round, record->key)) {
        sums->replaced++;
        return;
    }
    check_dropped(round, record);
    sums->dropped++;
}

static void check_accepted(struct round *round, struct record *record, struct sums *sums)
{
    uint32_t removed = atomic_load(&record->removed);
    uint32_t handed_back = atomic_load(&record->handed_back);
    must(!atomic_load(&record->active) || round->lease_ns > 0, round, record, "runs after closing");
    must(record->recurrence != ELAPSE_RECUR_NEVER ||
             atomic_load(&record->runs) <= 1 + atomic_load(&record->rescheduled),
         round, record, "ran more often than it was to");
    must(removed + handed_back <= 1, round, record, "ended more than once");
    must(elapse_task_look_up(round->scheduler, record->handle, NULL) == ELAPSE_TASK_GONE, round,
         record, "is still there after closing");
    must(elapse_task_cancel(round->scheduler, record->handle) == ELAPSE_CANCEL_GONE, round, record,
         "is not gone after closing");
    sums->accepted++;
    sums->removed += removed;
    sums->handed_back += handed_back;
    if (record->has_destructor)
        check_with_destructor(round, record, sums);
    else
        check_without(round, record, sums);
}

static void check_not_accepted(struct round *round, struct record *record)
{
    bool kept_away = atomic_load(&record->outcome) == (int)OUTCOME_KEPT_AWAY;
    must(atomic_load(&record->runs) == 0, round, record, "was not accepted and ran");
    must(atomic_load(&record->removed) == 0 && atomic_load(&record->handed_back) == 0, round,
         record, "was not accepted and was there");
    must(atomic_load(&record->destroyed) == kept_away, round, record,
         "was refused and destroyed, or kept away and not");
    must(!kept_away || !record->tells_reason ||
             atomic_load(&record->reason) == (int)ELAPSE_END_KEPT_OUT,
         round, record, "was kept out, and gets another reason");
    atomic_fetch_add(&round->counters->ends[ELAPSE_END_KEPT_OUT],
                     kept_away && record->tells_reason);
}

static void check_statistics(struct round *round, const struct sums *sums,
                             const struct elapse_statistics *statistics)
{
    uint64_t late = 0;
    for (unsigned bucket = 0; bucket < ELAPSE_LATENESS_BUCKETS; bucket++)
        late += statistics->lateness[bucket];
    must(statistics->scheduled == sums->accepted, round, NULL, "statistics: scheduled");
    must(statistics->rescheduled == round->rescheduled, round, NULL, "statistics: rescheduled");
    must(statistics->begun == round->runs, round, NULL, "statistics: begun");
    must(statistics->begun == late, round, NULL, "statistics: lateness");
    must(statistics->completed == round->runs, round, NULL, "statistics: completed");
    must(statistics->workers == 0, round, NULL, "statistics: workers after closing");
    must(statistics->oldest_overdue_ns == 0, round, NULL, "statistics: overdue after closing");
    must(statistics->removed == round->removed, round, NULL, "statistics: removed");
    must(statistics->handed_back == round->handed_back, round, NULL, "statistics: handed back");
    must(statistics->pending == 0, round, NULL, "statistics: pending after closing");
    must(statistics->running == 0, round, NULL, "statistics: running after closing");
    must(statistics->dropped == sums->dropped, round, NULL, "statistics: dropped");
    must(statistics->replaced == sums->replaced + sums->replaced_running, round, NULL,
         "statistics: replaced");
    uint64_t told = 0;
    for (int reason = 0; reason <= NO_REASON; reason++) {
        told += sums->by_reason[reason];
        if (reason != NO_REASON)
            atomic_fetch_add(&round->counters->ends[reason], sums->by_reason[reason]);
    }
    must(told + sums->handed_back_with == sums->with_destructor, round, NULL,
         "the reasons that destructors get do not add up to the tasks that have one");
    must(sums->removed == round->removed && sums->handed_back == round->handed_back, round, NULL,
         "the records say otherwise what was removed or handed back");
    must(sums->accepted ==
             sums->removed + sums->handed_back + sums->dropped + sums->replaced + sums->ran,
         round, NULL, "the ends do not balance the beginnings");
}

void accounts_check(struct round *round, const struct elapse_statistics *statistics)
{
    struct sums sums = {0};
    uint32_t used = atomic_load(&round->used);
    for (uint32_t i = 0; i < used && i < RECORDS; i++) {
        struct record *record = &round->records[i];
        int outcome = atomic_load(&record->outcome);
        if (outcome == (int)OUTCOME_ACCEPTED)
            check_accepted(round, record, &sums);
        else
            check_not_accepted(round, record);
    }
    check_statistics(round, &sums, statistics);
}
