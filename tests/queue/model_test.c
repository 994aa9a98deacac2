/*
 * Gives random commands to the queue and to a model of it: an array of jobs that is searched from
 * end to end. After each step the test compares all jobs of the two, checks the invariants of the
 * queue, and replays the log into a second queue, which must be equal.
 *
 *     queue-model [SEED [STEPS]]
 *
 * Odd seeds set the wall clock; even ones restart the process and clean the log. The program prints
 * the seed of a run that fails, and the last step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "equal.h"
#include "model.h"

/* A job without a first put of DEBOUNCE. Any other number may be a time of the boot-time clock. */
#define NO_FIRST INT64_MIN

void wrong(const struct model *m, const char *what, uint64_t left, uint64_t right)
{
    (void)fprintf(stderr, "seed %llu, step %llu, %s: %s: queue %lld, model %lld\n",
                  (unsigned long long)m->seed, (unsigned long long)m->step, m->doing, what,
                  (long long)left, (long long)right);
    abort();
}

static int64_t present(const struct model *m, bool by_wall)
{
    return by_wall ? m->now.wall_ms : (int64_t)m->now.boot_ms;
}

static struct plain_job *job_of_id(struct model *m, uint64_t id)
{
    for (size_t i = 0; i < JOBS; i++)
        if (id != 0 && m->jobs[i].id == id)
            return &m->jobs[i];
    return NULL;
}

struct plain_job *job_of_key(struct model *m, int tube, int key, bool shadow)
{
    struct plain_job *found = NULL;
    for (size_t i = 0; i < JOBS; i++) {
        struct plain_job *job = &m->jobs[i];
        if (job->id == 0 || job->tube != tube || job->key != key)
            continue;
        if (job->state != ELAPSE__QUEUE_SHADOW)
            return job;
        if (shadow)
            found = job;
    }
    return found;
}

static size_t free_places(const struct model *m)
{
    size_t places = 0;
    for (size_t i = 0; i < JOBS; i++)
        places += m->jobs[i].id == 0;
    return places;
}

/* ---- what the plain queue does ---- */

void wait_for(struct model *m, struct plain_job *job, bool by_wall, int64_t due)
{
    job->state = ELAPSE__QUEUE_FREE;
    draw_turns(m);
    job->by_wall = by_wall;
    job->due = due;
    job->state = due <= present(m, by_wall) ? ELAPSE__QUEUE_READY : ELAPSE__QUEUE_DELAYED;
    job->waits &= job->state == ELAPSE__QUEUE_DELAYED;
    job->lease = (struct elapse__queue_lease){0};
    if (job->state == ELAPSE__QUEUE_READY && job->expire > 0 && !job->handed_out) {
        int64_t left = due + job->expire - present(m, by_wall);
        job->expiry = (int64_t)m->now.boot_ms + (left > 0 ? left : 0);
    }
    draw_turns(m);
}

static void end_occurrence(struct model *m, struct plain_job *job)
{
    if (job->period == 0) {
        job->id = 0;
        return;
    }
    int64_t late = m->now.wall_ms - job->occurrence;
    int64_t missed = late > 0 ? late / job->period : 0;
    job->occurrence += job->period * (missed + 1);
    job->missed += (uint32_t)missed;
    job->attempts = 0;
    job->handed_out = false;
    wait_for(m, job, true, job->occurrence);
}

static struct elapse__queue_view view_of(struct model *m, uint64_t id)
{
    struct elapse__queue_view view = {0};
    (void)elapse__queue_look_up_id(m->queue, m->now, id, &view);
    return view;
}

/* A hand-out failed. The queue chooses the wait at random, so the model checks that this wait is in
 * its range, and takes it over. */
static void fail_attempt(struct model *m, struct plain_job *job)
{
    if (!job->replayed)
        job->attempts++;
    if (job->retry > 0 && job->attempts >= job->retry) {
        if (job->period > 0) {
            end_occurrence(m, job);
            return;
        }
        job->state = ELAPSE__QUEUE_BURIED;
        job->lease = (struct elapse__queue_lease){0};
        return;
    }
    int64_t wait = job->backoff_min;
    for (uint32_t i = 0; i < job->attempts && wait < job->backoff_max; i++)
        wait *= 2;
    if (wait > job->backoff_max)
        wait = job->backoff_max;
    int64_t least = wait / 2 > job->backoff_min ? wait / 2 : job->backoff_min;
    struct elapse__queue_view view = view_of(m, job->id);
    int64_t chosen = view.due_ms - m->now.wall_ms;
    if (chosen < least || chosen > wait)
        wrong(m, "back-off", (uint64_t)chosen, (uint64_t)least);
    wait_for(m, job, false, (int64_t)m->now.boot_ms + chosen);
}

static void plain_turn(struct model *m)
{
    for (size_t i = 0; i < JOBS; i++) {
        struct plain_job *job = &m->jobs[i];
        if (job->id == 0)
            continue;
        if (job->state == ELAPSE__QUEUE_DELAYED && job->due <= present(m, job->by_wall))
            wait_for(m, job, job->by_wall, job->due);
        if ((job->state == ELAPSE__QUEUE_RESERVED || job->state == ELAPSE__QUEUE_SHADOW) &&
            job->begun && job->lease_end <= (int64_t)m->now.boot_ms) {
            if (job->state == ELAPSE__QUEUE_SHADOW)
                job->id = 0;
            else
                fail_attempt(m, job);
        }
    }
    for (size_t i = 0; i < JOBS; i++) {
        struct plain_job *job = &m->jobs[i];
        if (job->id != 0 && job->state == ELAPSE__QUEUE_READY && job->expire > 0 &&
            !job->handed_out && job->expiry <= (int64_t)m->now.boot_ms) {
            job->missed += job->period > 0;
            end_occurrence(m, job);
        }
    }
}

static void turn(struct model *m)
{
    while (elapse__queue_turn(m->queue, m->now).more)
        ;
    m->event++;
    plain_turn(m);
    draw_turns(m);
    m->event++;
}

/* ---- commands to both ---- */

static enum elapse__queue_result expected_put(const struct elapse__queue_put *put,
                                              const struct plain_job *old)
{
    if (old == NULL)
        return ELAPSE__QUEUE_SCHEDULED;
    if (put->if_key == ELAPSE__QUEUE_FAIL)
        return ELAPSE__QUEUE_KEY_TAKEN;
    if (put->if_key != ELAPSE__QUEUE_KEEP)
        return ELAPSE__QUEUE_REPLACED;
    if (old->state == ELAPSE__QUEUE_RESERVED)
        return ELAPSE__QUEUE_RUNNING;
    return old->state == ELAPSE__QUEUE_BURIED ? ELAPSE__QUEUE_WAS_BURIED : ELAPSE__QUEUE_KEPT;
}

static struct elapse__queue_put random_put(struct model *m, int tube, int key, int group)
{
    struct random_source *random = &m->random;
    struct elapse__queue_put put = {
        .tube = text_of(model_tubes[tube]),
        .group = text_of(model_groups[group]),
        .body = {"0123456789", random_index(random, 11)},
        .priority = (uint32_t)random_below(random, 3),
        .ttr_ms = 1 + random_below(random, 50),
        .delay_ms = random_below(random, 2) * random_below(random, 60),
        .at_ms = m->now.wall_ms + (int64_t)random_below(random, 60) - 20,
        .period_ms = 1 + random_below(random, 40),
        .if_key = (enum elapse__queue_if_key)random_below(random, 4),
        .when = (enum elapse__queue_when)random_below(random, 3),
    };
    if (key >= 0)
        put.key = text_of(model_keys[key]);
    else if (put.if_key == ELAPSE__QUEUE_DEBOUNCE)
        put.if_key = ELAPSE__QUEUE_KEEP;
    if (put.if_key == ELAPSE__QUEUE_DEBOUNCE) {
        put.when = ELAPSE__QUEUE_IN;
        put.debounce_max_ms = put.delay_ms + random_below(random, 50);
    }
    if (key >= 0)
        random_await(m, &put);
    if (random_one_in(random, 3))
        put.expire_ms = 1 + random_below(random, 30);
    if (random_one_in(random, 3)) {
        put.retry = (uint32_t)random_below(random, 3);
        put.backoff_min_ms = random_below(random, 10);
        put.backoff_max_ms = put.backoff_min_ms + random_below(random, 30);
    }
    return put;
}

static void fill_plain(struct model *m, struct plain_job *job, const struct elapse__queue_put *put,
                       int tube, int key, int group, int64_t first)
{
    int64_t boot = (int64_t)m->now.boot_ms;
    *job = (struct plain_job){
        .id = job->id,
        .tube = tube,
        .key = key,
        .group = group,
        .priority = put->priority,
        .retry = put->retry,
        .ttr = (int64_t)put->ttr_ms,
        .expire = (int64_t)put->expire_ms,
        .backoff_min = (int64_t)put->backoff_min_ms,
        .backoff_max = (int64_t)put->backoff_max_ms,
        .first = first,
        .await = put->await,
        .waits = put->await > 0,
    };
    if (put->when == ELAPSE__QUEUE_NO_TIME) {
        wait_for(m, job, false, NO_DUE);
    } else if (put->when == ELAPSE__QUEUE_AT) {
        wait_for(m, job, true, put->at_ms);
    } else if (put->when == ELAPSE__QUEUE_EVERY) {
        job->period = (int64_t)put->period_ms;
        job->occurrence = m->now.wall_ms + job->period;
        wait_for(m, job, true, job->occurrence);
    } else {
        int64_t due = boot + (int64_t)put->delay_ms;
        if (put->if_key == ELAPSE__QUEUE_DEBOUNCE && first + (int64_t)put->debounce_max_ms < due)
            due = first + (int64_t)put->debounce_max_ms;
        wait_for(m, job, false, due);
    }
}

static void cancel_plain(const struct model *m, struct plain_job *job)
{
    if (job->state == ELAPSE__QUEUE_RESERVED) {
        job->state = ELAPSE__QUEUE_SHADOW;
        job->kept =
            m->limits[job->tube] + m->group_limits[job->tube] + m->is_ordered[job->tube] > 0;
    } else if (job->state != ELAPSE__QUEUE_SHADOW) {
        job->id = 0;
    }
}

/* The least number above all others that leaves the partition when it is divided. */
static uint64_t next_id(const struct model *m)
{
    uint64_t id = m->last_id + 1;
    while (id < m->options.partitions || id % m->options.partitions != m->options.partition)
        id++;
    return id;
}

static void do_put(struct model *m)
{
    int tube = (int)random_below(&m->random, 2);
    int key = (int)random_below(&m->random, 6) - 2;
    int group = m->has_groups ? (int)random_below(&m->random, GROUPS) : 0;
    if (key < 0)
        key = -1;
    if (free_places(m) == 0)
        return;
    struct elapse__queue_put put = random_put(m, tube, key, group);
    struct plain_job *old = key >= 0 ? job_of_key(m, tube, key, false) : NULL;
    enum elapse__queue_result expected = expected_put(&put, old);
    struct elapse__queue_answer answer = elapse__queue_put(m->queue, m->now, &put);
    SAME(answer.result, expected);
    if (expected != ELAPSE__QUEUE_SCHEDULED && expected != ELAPSE__QUEUE_REPLACED) {
        SAME(answer.id, old->id);
        return;
    }
    bool debounce = put.if_key == ELAPSE__QUEUE_DEBOUNCE;
    int64_t first = debounce ? (int64_t)m->now.boot_ms : NO_FIRST;
    if (old != NULL && debounce &&
        (old->state == ELAPSE__QUEUE_DELAYED || old->state == ELAPSE__QUEUE_READY)) {
        SAME(answer.id, old->id);
        fill_plain(m, old, &put, tube, key, group, old->first != NO_FIRST ? old->first : first);
        return;
    }
    if (old != NULL)
        cancel_plain(m, old);
    draw_turns(m);
    m->last_id = next_id(m);
    SAME(answer.id, m->last_id);
    for (size_t i = 0; i < JOBS; i++) {
        if (m->jobs[i].id != 0)
            continue;
        m->jobs[i].id = answer.id;
        fill_plain(m, &m->jobs[i], &put, tube, key, group, first);
        return;
    }
}

static uint64_t random_id(struct model *m)
{
    if (random_one_in(&m->random, 10))
        return 1 + random_below(&m->random, m->last_id + 2);
    return m->jobs[random_index(&m->random, JOBS)].id;
}

static enum elapse__queue_result cancelled(const struct plain_job *job)
{
    if (job == NULL)
        return ELAPSE__QUEUE_GONE;
    return job->state == ELAPSE__QUEUE_RESERVED || job->state == ELAPSE__QUEUE_SHADOW
               ? ELAPSE__QUEUE_RUNNING
               : ELAPSE__QUEUE_REMOVED;
}

static void do_cancel(struct model *m)
{
    struct plain_job *job = NULL;
    struct elapse__queue_answer answer;
    if (random_one_in(&m->random, 2)) {
        uint64_t id = random_id(m);
        job = job_of_id(m, id);
        answer = elapse__queue_cancel_id(m->queue, m->now, id);
    } else {
        int tube = (int)random_below(&m->random, 2);
        int key = (int)random_below(&m->random, 4);
        job = job_of_key(m, tube, key, true);
        answer = elapse__queue_cancel_key(m->queue, m->now, text_of(model_tubes[tube]),
                                          text_of(model_keys[key]));
    }
    if (answer.result == ELAPSE__QUEUE_GONE && job != NULL && job->may_lack_key) {
        job->key = -1;
        answer = elapse__queue_cancel_id(m->queue, m->now, job->id);
    }
    SAME(answer.result, cancelled(job));
    if (job != NULL)
        cancel_plain(m, job);
}

static void do_reschedule(struct model *m)
{
    uint64_t id = random_id(m);
    struct plain_job *job = job_of_id(m, id);
    struct elapse__queue_time time = {
        .when = random_one_in(&m->random, 2) ? ELAPSE__QUEUE_IN : ELAPSE__QUEUE_AT,
        .delay_ms = random_below(&m->random, 60),
        .at_ms = m->now.wall_ms + (int64_t)random_below(&m->random, 60) - 10,
    };
    enum elapse__queue_result expected = cancelled(job);
    if (expected == ELAPSE__QUEUE_REMOVED)
        expected = ELAPSE__QUEUE_RESCHEDULED;
    SAME(elapse__queue_reschedule_id(m->queue, m->now, id, time).result, expected);
    if (expected != ELAPSE__QUEUE_RESCHEDULED)
        return;
    if (time.when == ELAPSE__QUEUE_AT)
        wait_for(m, job, true, time.at_ms);
    else
        wait_for(m, job, false, (int64_t)(m->now.boot_ms + time.delay_ms));
}

static void take_plain(struct model *m, struct plain_job *job,
                       const struct elapse__queue_handed *handed, bool begin)
{
    SAME(handed->id, job->id);
    SAME(handed->attempt, job->attempts + 1);
    SAME(handed->missed, job->missed);
    SAME(handed->await, job->await);
    SAME(handed->lease.life, m->life);
    SAME(handed->lease.number, ++m->last_lease);
    SAME(handed->ttr_ms, job->ttr);
    job->reported = job->missed;
    job->missed = 0;
    job->handed_before = job->handed_out;
    job->handed_out = true;
    job->replayed = false;
    job->reserves++;
    job->lease = handed->lease;
    job->state = ELAPSE__QUEUE_RESERVED;
    job->begun = begin;
    job->begun_later = false;
    job->lease_end = (int64_t)m->now.boot_ms + job->ttr;
    m->hands[m->hand_count++ % HANDS] = *handed;
    m->turns[job->tube][job->group] = ++m->event;
    take_token(m, job->tube, job->group);
    draw_turns(m);
    m->event++;
}

static void do_reserve(struct model *m)
{
    int tube = (int)random_below(&m->random, 2);
    bool both = random_one_in(&m->random, 2);
    struct elapse__queue_text names[] = {text_of(model_tubes[tube]),
                                         text_of(model_tubes[1 - tube])};
    struct elapse__queue_reserve reserve = {
        .tubes = names,
        .tube_count = both ? 2 : 1,
        .count = 1 + (uint32_t)random_below(&m->random, 3),
        .begin = !random_one_in(&m->random, 4),
    };
    struct elapse__queue_handed handed[3];
    uint32_t count = 0;
    SAME(elapse__queue_reserve(m->queue, m->now, &reserve, handed, &count).result,
         ELAPSE__QUEUE_OK);
    for (uint32_t i = 0; i < reserve.count; i++) {
        struct plain_job *job = first_ready(m, both, tube, i < count ? handed[i].id : 0);
        SAME(i < count, job != NULL);
        if (job == NULL)
            return;
        take_plain(m, job, &handed[i], reserve.begin);
    }
}

/* Returns the job whose lease a worker has, RESERVED or SHADOW; NULL: the lease has ended. */
static struct plain_job *held_job(struct model *m, const struct elapse__queue_handed *handed)
{
    struct plain_job *job = job_of_id(m, handed->id);
    if (job == NULL ||
        (job->state != ELAPSE__QUEUE_RESERVED && job->state != ELAPSE__QUEUE_SHADOW) ||
        job->lease.life != handed->lease.life || job->lease.number != handed->lease.number)
        return NULL;
    return job;
}

static void wait_again(struct model *m, struct plain_job *job, uint64_t delay_ms)
{
    wait_for(m, job, false, (int64_t)(m->now.boot_ms + delay_ms));
}

/* Applies a verb of a worker that succeeded to a job that is not a shadow. */
static void lease_done(struct model *m, struct plain_job *job, uint64_t verb, uint64_t delay_ms)
{
    job->replayed = false;
    switch (verb) {
    case 0:
        end_occurrence(m, job);
        break;
    case 1:
        fail_attempt(m, job);
        break;
    case 2:
        wait_again(m, job, delay_ms);
        break;
    case 3:
        job->begun = true;
        job->begun_later = false;
        job->lease_end = (int64_t)m->now.boot_ms + job->ttr;
        break;
    case 4:
        job->attempts++;
        job->state = ELAPSE__QUEUE_BURIED;
        job->lease = (struct elapse__queue_lease){0};
        break;
    default:
        job->handed_out = job->handed_before;
        job->reserves--;
        job->missed = job->period > 0 ? job->reported : 0;
        wait_for(m, job, job->by_wall, job->due);
    }
}

static void do_lease(struct model *m)
{
    if (m->hand_count == 0)
        return;
    size_t known = m->hand_count < HANDS ? m->hand_count : HANDS;
    const struct elapse__queue_handed *handed = &m->hands[random_index(&m->random, known)];
    struct elapse__queue_holder holder = {.id = handed->id, .lease = handed->lease};
    struct plain_job *job = held_job(m, handed);
    uint64_t verb = random_below(&m->random, 7);
    bool shadow = job != NULL && job->state == ELAPSE__QUEUE_SHADOW;
    enum elapse__queue_result expected = job == NULL ? ELAPSE__QUEUE_GONE
                                         : shadow    ? ELAPSE__QUEUE_CANCELLED
                                                     : ELAPSE__QUEUE_OK;
    uint64_t delay_ms = random_below(&m->random, 30);
    switch (verb) {
    case 0:
        SAME(elapse__queue_ack(m->queue, m->now, holder).result,
             shadow ? ELAPSE__QUEUE_OK : expected);
        break;
    case 1:
        SAME(elapse__queue_nack(m->queue, m->now, holder).result, expected);
        break;
    case 2:
        SAME(elapse__queue_nack_in(m->queue, m->now, holder, delay_ms).result, expected);
        break;
    case 3:
        SAME(elapse__queue_extend(m->queue, m->now, holder).result, expected);
        break;
    case 4:
        SAME(elapse__queue_bury(m->queue, m->now, holder, NULL).result, expected);
        break;
    case 5:
        if (job != NULL && job->begun)
            expected = ELAPSE__QUEUE_GONE;
        SAME(elapse__queue_lease_undo(m->queue, m->now, holder).result, expected);
        if (job != NULL && job->begun)
            return;
        break;
    default:
        SAME(elapse__queue_lease_begin(m->queue, m->now, holder),
             job == NULL ? ELAPSE__QUEUE_GONE : ELAPSE__QUEUE_OK);
        if (job != NULL && !job->begun) {
            job->begun = true;
            job->begun_later = true;
            job->lease_end = (int64_t)m->now.boot_ms + job->ttr;
        }
        return;
    }
    if (job == NULL)
        return;
    if (shadow) {
        if (verb != 3)
            job->id = 0;
        return;
    }
    lease_done(m, job, verb, delay_ms);
}

static void do_kick(struct model *m)
{
    uint64_t id = random_id(m);
    struct plain_job *job = job_of_id(m, id);
    bool can =
        job != NULL && (job->state == ELAPSE__QUEUE_BURIED || job->state == ELAPSE__QUEUE_DELAYED);
    SAME(elapse__queue_kick_id(m->queue, m->now, id).result,
         can ? ELAPSE__QUEUE_OK : ELAPSE__QUEUE_GONE);
    if (!can)
        return;
    if (job->state == ELAPSE__QUEUE_BURIED)
        job->attempts = 0;
    wait_for(m, job, false, (int64_t)m->now.boot_ms);
}

static void do_pause(struct model *m)
{
    int tube = (int)random_below(&m->random, 2);
    uint64_t delay_ms = random_below(&m->random, 30);
    if (elapse__queue_pause(m->queue, m->now, text_of(model_tubes[tube]), delay_ms).result ==
        ELAPSE__QUEUE_OK)
        m->paused_until[tube] = (int64_t)(m->now.boot_ms + delay_ms);
}

static struct elapse__queue_rate any_rate(struct model *m)
{
    uint64_t count = 1 + random_below(&m->random, 5);
    uint64_t period_ms = 1 + random_below(&m->random, 40);
    uint64_t least = elapse__queue_rate_least_burst(count, period_ms);
    return (struct elapse__queue_rate){count, period_ms, least + random_below(&m->random, 3)};
}

static void do_limit(struct model *m)
{
    int tube = (int)random_below(&m->random, 2);
    struct elapse__queue_limits limits = {
        .concurrency = (uint32_t)random_below(&m->random, 4),
        .group_concurrency = (uint32_t)random_below(&m->random, 4),
        .group_order = random_one_in(&m->random, 3),
    };
    bool takes = m->options.partitions == 1;
    if (random_one_in(&m->random, 2))
        limits.rate = any_rate(m);
    if (random_one_in(&m->random, 2))
        limits.group_rate = any_rate(m);
    SAME(elapse__queue_limit(m->queue, m->now, text_of(model_tubes[tube]), &limits).result,
         takes ? ELAPSE__QUEUE_OK : ELAPSE__QUEUE_ARGUMENT);
    if (!takes)
        return;
    m->limits[tube] = limits.concurrency;
    m->group_limits[tube] = limits.group_concurrency;
    m->is_ordered[tube] = limits.group_order;
    set_rates(m, tube, &limits);
}

static void do_clean(struct model *m)
{
    if (!log_clean(&m->log, m->queue, m->now, random_index(&m->random, 20)))
        wrong(m, "clean", 0, 1);
}

static void restart_plain(struct model *m, const struct elapse__queue_now *old)
{
    for (size_t i = 0; i < JOBS; i++) {
        struct plain_job *job = &m->jobs[i];
        int64_t shift =
            (int64_t)m->now.boot_ms - (int64_t)old->boot_ms - (m->now.wall_ms - old->wall_ms);
        if (!job->by_wall && job->due != NO_DUE)
            job->due += shift;
        if (job->first != NO_FIRST)
            job->first += shift;
        if (job->state == ELAPSE__QUEUE_SHADOW && !job->kept)
            job->id = 0;
        job->may_lack_key = job->state == ELAPSE__QUEUE_SHADOW;
        if (job->state == ELAPSE__QUEUE_READY) {
            job->state = ELAPSE__QUEUE_DELAYED;
            job->waits = waits_again(job, view_of(m, job->id));
        }
        if (job->id == 0 ||
            (job->state != ELAPSE__QUEUE_RESERVED && job->state != ELAPSE__QUEUE_SHADOW))
            continue;
        int64_t left = job->lease_end + shift - (int64_t)m->now.boot_ms;
        /* The record of a hand-out counts the ttr from the hand-out. So after a restart the lease
         * ends as if it had begun with the hand-out, or when the record was last cleaned. */
        if (!job->begun || job->begun_later) {
            int64_t says = (int64_t)view_of(m, job->id).left_ms;
            if (says > job->ttr || (job->begun && says > (left > 0 ? left : 0)))
                wrong(m, "left", (uint64_t)says, (uint64_t)left);
            left = says;
            job->begun_later = false;
        }
        job->begun = true;
        job->replayed = true;
        job->handed_before = false;
        job->lease_end = (int64_t)m->now.boot_ms + (left > 0 ? left : 0);
    }
    /* A pause ends by the wall clock. These runs do not set it back. */
    for (int tube = 0; tube < 2; tube++)
        if (m->paused_until[tube] != 0)
            m->paused_until[tube] +=
                (int64_t)m->now.boot_ms - (int64_t)old->boot_ms - (m->now.wall_ms - old->wall_ms);
    draw_turns(m); /* no job is ready */
}

static void do_restart(struct model *m)
{
    struct elapse__queue_now old = m->now;
    uint64_t last_id = elapse__queue_last_id(m->queue);
    bool is_clean = random_one_in(&m->random, 2);
    if (is_clean)
        elapse__queue_stop(m->queue, m->now);
    uint64_t stopped_ms = random_below(&m->random, 100);
    m->now.wall_ms += (int64_t)stopped_ms;
    bring_tokens(m, stopped_ms);
    empty_buckets(m, is_clean);
    m->now.boot_ms = 100 + random_below(&m->random, 100);
    m->options.secret.low = random_next(&m->random);
    elapse__queue_free(m->queue);
    for (size_t i = 0; i < m->log.count; i++)
        m->log.records[i].live = 0;
    m->queue = elapse__queue_new(&m->options);
    if (m->queue == NULL || log_replay(&m->log, m->queue) != ELAPSE__QUEUE_OK)
        wrong(m, "replay", 0, 0);
    elapse__queue_used_id(m->queue, last_id);
    if (elapse__queue_replay_done(m->queue, m->now, ++m->life) != ELAPSE__QUEUE_OK)
        wrong(m, "replay_done", 0, 0);
    m->last_lease = 0;
    restart_plain(m, &old);
}

/* Sets both clocks forward, or sets the wall clock. */
static void do_time(struct model *m)
{
    uint64_t ms = random_below(&m->random, 20);
    m->now.boot_ms += ms;
    m->now.wall_ms += (int64_t)ms;
    bring_tokens(m, ms);
    if (m->sets_clock && random_one_in(&m->random, 5))
        m->now.wall_ms += (int64_t)random_below(&m->random, 200) - 100;
}

static void compare(struct model *m)
{
    for (int tube = 0; tube < 2; tube++)
        compare_groups(m, tube, text_of(model_tubes[tube]));
    uint64_t jobs = 0;
    for (size_t i = 0; i < JOBS; i++) {
        const struct plain_job *job = &m->jobs[i];
        if (job->id == 0)
            continue;
        struct elapse__queue_view view = view_of(m, job->id);
        SAME(view.id, job->id);
        SAME(view.state, job->state);
        jobs += job->state != ELAPSE__QUEUE_SHADOW;
        SAME(view.priority, job->priority);
        SAME(view.group.size, strlen(model_groups[job->group]));
        SAME(view.attempts, job->attempts);
        SAME(view.reserves, job->reserves);
        SAME(view.by_wall_clock, job->by_wall);
        SAME(view.recurring, job->period > 0);
        SAME(view.await, job->await);
        SAME(view.waits, job->waits);
        SAME(view.has_due, job->due != NO_DUE);
        SAME(view.missed, job->period > 0 ? job->missed : 0);
        int64_t late = view.has_due ? view.due_ms - m->now.wall_ms : 0;
        SAME(late, job->due == NO_DUE ? 0 : job->due - present(m, job->by_wall));
        if ((job->state == ELAPSE__QUEUE_RESERVED || job->state == ELAPSE__QUEUE_SHADOW) &&
            job->begun)
            SAME(view.left_ms, job->lease_end - (int64_t)m->now.boot_ms);
        struct elapse__queue_view by_key = {0};
        if (job->key >= 0 && job->state != ELAPSE__QUEUE_SHADOW) {
            (void)elapse__queue_look_up_key(m->queue, m->now, text_of(model_tubes[job->tube]),
                                            text_of(model_keys[job->key]), &by_key);
            SAME(by_key.id, job->id);
        }
    }
    SAME(elapse__queue_jobs(m->queue), jobs);
    const char *difference = queue_differs_from_log(m->queue, &m->log, &m->options, m->now);
    if (difference != NULL) {
        (void)fprintf(stderr, "%s\n", difference);
        wrong(m, "replay", 0, 0);
    }
}

static const struct {
    const char *name;
    void (*perform)(struct model *m);
    unsigned weight;
    bool in_lives; /* the step is made only in runs that restart */
} commands[] = {
    {"put", do_put, 10, false},
    {"cancel", do_cancel, 4, false},
    {"reschedule", do_reschedule, 3, false},
    {"reserve", do_reserve, 8, false},
    {"lease", do_lease, 12, false},
    {"kick", do_kick, 3, false},
    {"arrive", do_arrive, 4, false},
    {"time", do_time, 10, false},
    {"pause", do_pause, 1, false},
    {"limit", do_limit, 1, false},
    {"clean", do_clean, 3, true},
    {"restart", do_restart, 1, true},
};

static void one_step(struct model *m)
{
    uint64_t choice = random_below(&m->random, 60);
    size_t i = 0;
    while (choice >= commands[i].weight)
        choice -= commands[i++].weight;
    if (commands[i].in_lives && m->sets_clock)
        return;
    m->doing = commands[i].name;
    turn(m);
    commands[i].perform(m);
    draw_turns(m);
    turn(m);
    compare(m);
}

static void run(uint64_t seed, uint64_t steps)
{
    struct model *m = calloc(1, sizeof *m);
    if (m == NULL)
        abort();
    m->seed = seed;
    m->random.state = seed;
    m->sets_clock = seed % 2 == 1;
    m->life = 1;
    m->now = (struct elapse__queue_now){.boot_ms = 500, .wall_ms = 1700000000000};
    equal_ignores_boot_due = m->sets_clock;
    log_init(&m->log);
    m->options =
        (struct elapse__queue_options){.sink = &m->log.sink, .secret = {seed, 5}, .seed = seed};
    m->options.partitions = seed % 3 == 0 ? 1 + (uint32_t)(seed % 8) : 1;
    m->options.partition = (uint32_t)(seed / 8) % m->options.partitions;
    m->has_groups = seed % 4 >= 2 && m->options.partitions == 1;
    m->queue = elapse__queue_new(&m->options);
    if (m->queue == NULL ||
        elapse__queue_replay_done(m->queue, m->now, m->life) != ELAPSE__QUEUE_OK)
        abort();
    for (m->step = 0; m->step < steps; m->step++)
        one_step(m);
    elapse__queue_free(m->queue);
    log_free(&m->log);
    free(m);
}

int main(int argument_count, char **arguments)
{
    if (argument_count > 1) {
        run(strtoull(arguments[1], NULL, 10),
            argument_count > 2 ? strtoull(arguments[2], NULL, 10) : 400);
        return 0;
    }
    for (uint64_t seed = 1; seed <= 40; seed++)
        run(seed, 400);
    return 0;
}
