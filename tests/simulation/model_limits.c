/*
 * The limits of tubes in the model (Q13). Each LIMIT makes a version; after a crash each tube has
 * the last one of a command up to the cut.
 *
 * The model does not keep buckets. It keeps the times of hand-outs, and judges a rate of `n` in `d`
 * with a burst of `b` by what the documents say: any `k` hand-outs in a row take at least (k - b)
 * times d / n, so that at most n + b - 1 are in any window of `d`. On the other hand a job must be
 * handed out d / n after the hand-out before it, the start, and the LIMIT. If the rate was set
 * after a rest in this life, all hand-outs are known that count, and a job must be handed out
 * whenever it may be.
 */
#include "model_inner.h"

enum { SLOW_MS = 60000, HAND_OUTS = 1024 };

struct hand_out {
    int64_t t;
    uint64_t seq;
    unsigned group;
    uint64_t rate, group_rate; /* the numbers of the rates that it counts for; 0: none */
    bool is_slow, group_is_slow;
};

static struct hand_outs {
    struct hand_out times[HAND_OUTS];
    unsigned count;
} hand_outs[MODEL_TUBES];

void model_limits_begin(void)
{
    for (unsigned tube = 0; tube < MODEL_TUBES; tube++)
        hand_outs[tube].count = 0;
}

static const struct model_limit *last_of(unsigned tube)
{
    static const struct model_limit none;
    const struct model_limits *limits = &model.limits[tube];
    return limits->count == 0 ? &none : &limits->versions[limits->count - 1];
}

const struct elapse__queue_limits *model_limits_of(unsigned tube)
{
    return &last_of(tube)->limits;
}

static bool is_same_rate(const struct elapse__queue_rate *one,
                         const struct elapse__queue_rate *other)
{
    return one->count == other->count && one->period_ms == other->period_ms &&
           one->burst == other->burst;
}

static bool is_same(const struct elapse__queue_limits *one,
                    const struct elapse__queue_limits *other)
{
    return one->concurrency == other->concurrency &&
           one->group_concurrency == other->group_concurrency &&
           one->group_order == other->group_order && one->buried == other->buried &&
           one->buried_age_ms == other->buried_age_ms && is_same_rate(&one->rate, &other->rate) &&
           is_same_rate(&one->group_rate, &other->group_rate);
}

bool model_has_limits(unsigned tube)
{
    static const struct elapse__queue_limits none;
    return !is_same(model_limits_of(tube), &none);
}

/* ---- the command ---- */

bool model_takes_limits(unsigned tube)
{
    return model.limits[tube].count < MODEL_LIMITS;
}

/* Forgets versions that cannot come back. */
static void forget_old(struct model_limits *limits)
{
    unsigned first = 0;
    while (!model.keeps_all && first + 1 < limits->count &&
           limits->versions[first + 1].seq <= model.certain)
        first++;
    for (unsigned i = first; i < limits->count; i++)
        limits->versions[i - first] = limits->versions[i];
    limits->count -= first;
}

/* The same rate again changes nothing. */
static struct model_rate follow_rate(const struct model_rate *old,
                                     const struct elapse__queue_rate *old_rate,
                                     const struct elapse__queue_rate *rate)
{
    if (is_same_rate(old_rate, rate))
        return *old;
    return (struct model_rate){
        .number = model.seq, .since = model.t, .is_exact = old_rate->count == 0};
}

void model_do_limit(unsigned tube, const struct elapse__queue_limits *limits, model_answer answer)
{
    struct model_limits *versions = &model.limits[tube];
    model_next();
    if (answer.result == ELAPSE__QUEUE_REFUSED)
        return;
    if (answer.result != ELAPSE__QUEUE_OK) {
        model_violate("limit of tube %u: answered %s", tube, model_name_of(answer.result));
        return;
    }
    forget_old(versions);
    const struct model_limit *old = last_of(tube);
    struct model_limit fresh = {
        .seq = model.seq,
        .limits = *limits,
        .rate = follow_rate(&old->rate, &old->limits.rate, &limits->rate),
        .group_rate = follow_rate(&old->group_rate, &old->limits.group_rate, &limits->group_rate),
    };
    versions->versions[versions->count++] = fresh;
}

/* ---- what limits let run ---- */

bool model_keeps_places(unsigned tube)
{
    const struct elapse__queue_limits *limits = model_limits_of(tube);
    return limits->concurrency > 0 || limits->group_concurrency > 0 || limits->group_order;
}

static bool is_slow(const struct elapse__queue_rate *rate)
{
    return rate->count > 0 && rate->period_ms / rate->count >= SLOW_MS;
}

bool model_has_slow_rate(unsigned tube)
{
    const struct elapse__queue_limits *limits = model_limits_of(tube);
    return is_slow(&limits->rate) || is_slow(&limits->group_rate);
}

bool model_writes_hand_out(const struct model_put *put)
{
    const struct elapse__queue_limits *limits = model_limits_of(put->tube);
    return model_keeps_places(put->tube) || is_slow(&limits->rate) ||
           (model_group_of(put) != 0 && is_slow(&limits->group_rate));
}

void model_note_hand_out(const struct model_put *put)
{
    struct hand_outs *known = &hand_outs[put->tube];
    const struct model_limit *limit = last_of(put->tube);
    unsigned group = model_group_of(put);
    if (known->count == HAND_OUTS) {
        for (unsigned i = HAND_OUTS / 2; i < HAND_OUTS; i++)
            known->times[i - HAND_OUTS / 2] = known->times[i];
        known->count = HAND_OUTS / 2;
    }
    known->times[known->count++] = (struct hand_out){
        .t = model.t,
        .seq = model.seq,
        .group = group,
        .rate = limit->limits.rate.count > 0 ? limit->rate.number : 0,
        .group_rate = limit->limits.group_rate.count > 0 ? limit->group_rate.number : 0,
        .is_slow = is_slow(&limit->limits.rate),
        .group_is_slow = is_slow(&limit->limits.group_rate),
    };
}

/* Returns whether a rate lets one more job run; group 0: the rate of the whole tube. */
static enum model_verdict judge_rate(const struct elapse__queue_rate *rate,
                                     const struct model_rate *state, unsigned tube, unsigned group)
{
    const struct hand_outs *known = &hand_outs[tube];
    int64_t last = state->since;
    uint64_t row = 1;
    if (rate->count == 0)
        return MODEL_MUST;
    for (unsigned i = known->count; i-- > 0;) {
        const struct hand_out *one = &known->times[i];
        if (group == 0 ? one->rate != state->number
                       : one->group != group || one->group_rate != state->number)
            continue;
        uint64_t age = (uint64_t)(model.t - one->t);
        row++;
        if (row > rate->burst && (row - rate->burst) * rate->period_ms > age * rate->count)
            return MODEL_MUST_NOT;
        if (one->t > last)
            last = one->t;
        if (age * rate->count > HAND_OUTS * rate->period_ms)
            break;
    }
    if (state->is_exact)
        return MODEL_MUST;
    uint64_t token_ms = (rate->period_ms + rate->count - 1) / rate->count;
    return model.t - last >= (int64_t)token_ms ? MODEL_MUST : MODEL_MAY;
}

enum model_verdict model_tube_lets_run(unsigned tube)
{
    const struct model_limit *limit = last_of(tube);
    uint32_t running = 0;
    for (unsigned i = 0; limit->limits.concurrency > 0 && i < model.job_count; i++) {
        const struct model_job *job = model_at(i);
        running += job->put.tube == tube && model_runs(job);
    }
    if (limit->limits.concurrency > 0 && running >= limit->limits.concurrency)
        return MODEL_MUST_NOT;
    return judge_rate(&limit->limits.rate, &limit->rate, tube, 0);
}

enum model_verdict model_group_lets_run(unsigned tube, unsigned group)
{
    const struct model_limit *limit = last_of(tube);
    bool counts = limit->limits.group_concurrency > 0 || limit->limits.group_order;
    uint32_t running = 0, retries = 0;
    if (group == 0)
        return MODEL_MUST;
    for (unsigned i = 0; counts && i < model.job_count; i++) {
        const struct model_job *job = model_at(i);
        if (job->put.tube != tube || model_group_of(&job->put) != group)
            continue;
        running += model_runs(job);
        retries += job->state == ELAPSE__QUEUE_DELAYED && job->handed_out;
    }
    if (limit->limits.group_order && running + retries > 0)
        return MODEL_MUST_NOT;
    if (limit->limits.group_concurrency > 0 && running >= limit->limits.group_concurrency)
        return MODEL_MUST_NOT;
    return judge_rate(&limit->limits.group_rate, &limit->group_rate, tube, group);
}

void model_judge_limits(uint64_t id)
{
    const struct model_job *job = model_find(id);
    if (job == NULL)
        return;
    unsigned tube = job->put.tube, group = model_group_of(&job->put);
    if (model_tube_lets_run(tube) == MODEL_MUST_NOT)
        model_violate("job %llu is handed out beyond a limit of tube %u", (unsigned long long)id,
                      tube);
    else if (model_group_lets_run(tube, group) == MODEL_MUST_NOT)
        model_violate("job %llu is handed out beyond a limit of group %u of tube %u",
                      (unsigned long long)id, group, tube);
}

/* ---- looking ---- */

static struct elapse__queue_limits seen_of(const struct elapse__queue *queue, unsigned tube)
{
    struct elapse__queue_limits seen = {0};
    (void)elapse__queue_limits_of(queue, model_tube(tube), &seen);
    return seen;
}

void model_compare_limits(const struct elapse__queue *queue)
{
    for (unsigned tube = 0; tube < MODEL_TUBES; tube++) {
        struct elapse__queue_limits seen = seen_of(queue, tube);
        if (!is_same(&seen, model_limits_of(tube)))
            model_violate("tube %u has other limits", tube);
    }
}

/* Returns the version that the tube has behind a cut. */
static struct model_limit version_at(unsigned tube, uint64_t cut)
{
    const struct model_limits *limits = &model.limits[tube];
    struct model_limit version = {.seq = 0};
    for (unsigned i = 0; i < limits->count && limits->versions[i].seq <= cut; i++)
        version = limits->versions[i];
    return version;
}

bool model_limits_fit(const struct elapse__queue *queue, uint64_t cut)
{
    for (unsigned tube = 0; tube < MODEL_TUBES; tube++) {
        struct elapse__queue_limits seen = seen_of(queue, tube);
        struct model_limit version = version_at(tube, cut);
        if (!is_same(&seen, &version.limits))
            return false;
    }
    return true;
}

/* A rate whose tokens come slowly is written with each hand-out, and goes by the wall clock across
 * a start: if that clock was set, or the hand-out may be lost, it does not count any more. The
 * hand-outs of all other rates count on: a start may only empty their buckets. */
static void cut_hand_outs(struct hand_outs *known, uint64_t least)
{
    for (unsigned i = 0; i < known->count; i++) {
        struct hand_out *one = &known->times[i];
        bool is_lost = one->seq > least || model.offset_count > 1;
        if (is_lost && one->is_slow)
            one->rate = 0;
        if (is_lost && one->group_is_slow)
            one->group_rate = 0;
    }
}

void model_adopt_limits(uint64_t least, uint64_t cut)
{
    for (unsigned tube = 0; tube < MODEL_TUBES; tube++) {
        struct model_limit version = version_at(tube, cut);
        version.seq = model.seq;
        version.rate.is_exact = version.group_rate.is_exact = false;
        version.rate.since = version.group_rate.since = model.t;
        model.limits[tube].versions[0] = version;
        model.limits[tube].count = 1;
        cut_hand_outs(&hand_outs[tube], least);
    }
}
