#include "model.h"

const char *const model_groups[GROUPS] = {"", "x", "y"};

static bool group_is_ready(const struct model *m, int tube, int group)
{
    for (size_t i = 0; i < JOBS; i++)
        if (m->jobs[i].id != 0 && m->jobs[i].state == ELAPSE__QUEUE_READY &&
            m->jobs[i].tube == tube && m->jobs[i].group == group)
            return true;
    return false;
}

void draw_turns(struct model *m)
{
    for (int tube = 0; tube < 2; tube++) {
        for (int group = 0; group < GROUPS; group++) {
            bool is_ready = group_is_ready(m, tube, group);
            if (is_ready && !m->was_ready[tube][group])
                m->turns[tube][group] = m->event;
            m->was_ready[tube][group] = is_ready;
        }
    }
}

static bool comes_before(const struct plain_job *job, const struct plain_job *other)
{
    return other == NULL || job->priority < other->priority ||
           (job->priority == other->priority && job->id < other->id);
}

/* Returns how many jobs of a group a worker has. */
static uint32_t running_in_group(const struct model *m, int tube, int group)
{
    uint32_t jobs = 0;
    for (size_t i = 0; i < JOBS; i++)
        jobs += m->jobs[i].id != 0 && m->jobs[i].tube == tube && m->jobs[i].group == group &&
                (m->jobs[i].state == ELAPSE__QUEUE_RESERVED ||
                 m->jobs[i].state == ELAPSE__QUEUE_SHADOW);
    return jobs;
}

/* Returns whether a job of a group runs, or waits after a hand-out. */
static bool is_busy(const struct model *m, int tube, int group)
{
    for (size_t i = 0; i < JOBS; i++)
        if (m->jobs[i].id != 0 && m->jobs[i].tube == tube && m->jobs[i].group == group &&
            m->jobs[i].state == ELAPSE__QUEUE_DELAYED && m->jobs[i].handed_out)
            return true;
    return running_in_group(m, tube, group) > 0;
}

/* Returns the ready job of a group that comes first; NULL: there is none, or the limit of each
 * group lets none run. */
static struct plain_job *first_of_group(struct model *m, int tube, int group)
{
    struct plain_job *first = NULL;
    if (group > 0 && m->group_limits[tube] > 0 &&
        running_in_group(m, tube, group) >= m->group_limits[tube])
        return NULL;
    if (group > 0 && m->is_ordered[tube] && is_busy(m, tube, group))
        return NULL;
    if (group > 0 && m->group_tokens[tube][group] < m->group_rates[tube].period_ms)
        return NULL;
    for (size_t i = 0; i < JOBS; i++) {
        struct plain_job *job = &m->jobs[i];
        if (job->id != 0 && job->state == ELAPSE__QUEUE_READY && job->tube == tube &&
            job->group == group && comes_before(job, first))
            first = job;
    }
    return first;
}

/* Returns whether another group of the tube must come before the group of this job. */
static bool has_to_wait(struct model *m, const struct plain_job *job)
{
    for (int group = 0; group < GROUPS; group++) {
        const struct plain_job *other = first_of_group(m, job->tube, group);
        if (other != NULL && (other->priority < job->priority ||
                              (other->priority == job->priority &&
                               m->turns[job->tube][group] < m->turns[job->tube][job->group])))
            return true;
    }
    return false;
}

/* Returns how many jobs of a tube a worker has. */
static uint32_t running(const struct model *m, int tube)
{
    uint32_t jobs = 0;
    for (int group = 0; group < GROUPS; group++)
        jobs += running_in_group(m, tube, group);
    return jobs;
}

/* Returns the job that one tube hands out next: the job `id` if it may be, otherwise the one with
 * the greatest id that may. */
static struct plain_job *first_of_tube(struct model *m, int tube, uint64_t id)
{
    struct plain_job *found = NULL;
    if (m->paused_until[tube] > (int64_t)m->now.boot_ms ||
        (m->limits[tube] > 0 && running(m, tube) >= m->limits[tube]) ||
        m->tokens[tube] < m->rates[tube].period_ms)
        return NULL;
    for (int group = 0; group < GROUPS; group++) {
        struct plain_job *job = first_of_group(m, tube, group);
        if (job == NULL || has_to_wait(m, job))
            continue;
        if (job->id == id)
            return job;
        if (found == NULL || comes_before(found, job))
            found = job;
    }
    return found;
}

struct plain_job *first_ready(struct model *m, bool both, int tube, uint64_t id)
{
    struct plain_job *first = first_of_tube(m, tube, id);
    struct plain_job *other = both ? first_of_tube(m, 1 - tube, id) : NULL;
    return other != NULL && comes_before(other, first) ? other : first;
}

void take_token(struct model *m, int tube, int group)
{
    m->tokens[tube] -= m->rates[tube].period_ms;
    if (group > 0)
        m->group_tokens[tube][group] -= m->group_rates[tube].period_ms;
}

static void bring(uint64_t *tokens, const struct elapse__queue_rate *rate, uint64_t ms)
{
    *tokens += ms * rate->count;
    if (*tokens > rate->burst * rate->period_ms)
        *tokens = rate->burst * rate->period_ms;
}

void bring_tokens(struct model *m, uint64_t ms)
{
    for (int tube = 0; tube < 2; tube++) {
        bring(&m->tokens[tube], &m->rates[tube], ms);
        for (int group = 1; group < GROUPS; group++)
            bring(&m->group_tokens[tube][group], &m->group_rates[tube], ms);
    }
}

void empty_buckets(struct model *m, bool is_clean)
{
    for (int tube = 0; tube < 2; tube++) {
        if (!is_clean)
            m->tokens[tube] = 0;
        for (int group = 1; group < GROUPS; group++)
            m->group_tokens[tube][group] = 0;
    }
}

/* Returns the tokens of a bucket that gets another rate. */
static uint64_t tokens_by(const struct elapse__queue_rate *old, uint64_t had,
                          const struct elapse__queue_rate *rate)
{
    if (had >= old->period_ms || rate->count == 0)
        return rate->burst * rate->period_ms;
    /* The next token comes when it would have come, or sooner if the new rate is faster. */
    uint64_t left_ms = (old->period_ms - had + old->count - 1) / old->count;
    bool keeps = left_ms <= rate->period_ms / rate->count;
    return keeps ? rate->period_ms - left_ms * rate->count : 0;
}

static bool is_same(const struct elapse__queue_rate *one, const struct elapse__queue_rate *other)
{
    return one->count == other->count && one->period_ms == other->period_ms &&
           one->burst == other->burst;
}

void set_rates(struct model *m, int tube, const struct elapse__queue_limits *limits)
{
    struct elapse__queue_rate *rate = &m->rates[tube], *group_rate = &m->group_rates[tube];
    if (!is_same(rate, &limits->rate))
        m->tokens[tube] = tokens_by(rate, m->tokens[tube], &limits->rate);
    for (int group = 1; group < GROUPS && !is_same(group_rate, &limits->group_rate); group++)
        m->group_tokens[tube][group] =
            tokens_by(group_rate, m->group_tokens[tube][group], &limits->group_rate);
    *rate = limits->rate;
    *group_rate = limits->group_rate;
}

void compare_groups(const struct model *m, int tube, struct elapse__queue_text name)
{
    uint32_t cursor = 0, most = UINT32_MAX, found = 0;
    struct elapse__queue_group_view view;
    while (elapse__queue_groups(m->queue, m->now, name, &cursor, &most, &view)) {
        struct elapse__queue_group_view plain = {0};
        int group = view.name.size == 1 && *(const char *)view.name.bytes == 'x' ? 1 : 2;
        for (size_t i = 0; i < JOBS; i++) {
            const struct plain_job *job = &m->jobs[i];
            if (job->id == 0 || job->tube != tube || job->group != group)
                continue;
            plain.delayed += job->state == ELAPSE__QUEUE_DELAYED;
            plain.ready += job->state == ELAPSE__QUEUE_READY;
            plain.buried += job->state == ELAPSE__QUEUE_BURIED;
            plain.running +=
                job->state >= ELAPSE__QUEUE_RESERVED && job->state != ELAPSE__QUEUE_BURIED;
        }
        SAME(view.delayed, plain.delayed);
        SAME(view.ready, plain.ready);
        SAME(view.buried, plain.buried);
        SAME(view.running, plain.running);
        SAME(view.held <= view.ready, true);
        SAME(view.held_by.size > 0 && view.held == 0, false);
        SAME(view.delayed + view.ready + view.buried + view.running > 0, true);
        found |= 1U << group;
    }
    for (size_t i = 0; i < JOBS; i++)
        if (m->jobs[i].id != 0 && m->jobs[i].tube == tube && m->jobs[i].group != 0)
            SAME(found >> m->jobs[i].group & 1, 1);
}
