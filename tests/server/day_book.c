#include "day_book.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct day_job jobs[DAY_JOBS];
static uint32_t last_taken;
static uint64_t live;
static uint64_t kicked_ms[DAY_TUBES + 1];

char day_violation[200];
struct day_figures day_figures;
uint64_t day_now_ms;

void day_violate(const char *format, ...)
{
    va_list arguments;

    if (day_violation[0] != '\0')
        return;
    va_start(arguments, format);
    (void)vsnprintf(day_violation, sizeof day_violation, format, arguments);
    va_end(arguments);
}

void day_book_begin(void)
{
    memset(jobs, 0, sizeof jobs);
    memset(kicked_ms, 0, sizeof kicked_ms);
    memset(&day_figures, 0, sizeof day_figures);
    last_taken = 0;
    live = 0;
    day_now_ms = 0;
    day_violation[0] = '\0';
}

struct day_job *day_book_take(void)
{
    for (uint32_t i = 1; i <= DAY_JOBS; i++) {
        struct day_job *job = &jobs[(last_taken + i) % DAY_JOBS];
        if (job->state != DAY_FREE)
            continue;
        last_taken = day_book_number(job);
        *job = (struct day_job){.state = DAY_ASKED, .generation = job->generation + 1};
        return job;
    }
    return NULL;
}

uint32_t day_book_number(const struct day_job *job)
{
    return (uint32_t)(job - jobs);
}

struct day_job *day_book_at(uint32_t number)
{
    return &jobs[number % DAY_JOBS];
}

struct day_job *day_book_some(enum day_state state, uint64_t random)
{
    enum { NEAR = 200, LATELY = 4096 };

    for (uint32_t i = 0; i < NEAR; i++) {
        struct day_job *job = &jobs[(last_taken + DAY_JOBS - random % LATELY + i) % DAY_JOBS];
        if (job->state == state)
            return job;
    }
    return NULL;
}

uint64_t day_book_live(void)
{
    return live;
}

void day_stored(struct day_job *job, uint64_t id)
{
    job->id = id;
    /* The job may have been handed out already: the reply to the hand-out can come before the reply
     * to the put. */
    if (job->state == DAY_ASKED)
        job->state = DAY_WAITS;
    day_figures.put++;
    if (++live > day_figures.most_jobs)
        day_figures.most_jobs = live;
}

void day_ended(struct day_job *job)
{
    if (job->state == DAY_ENDED)
        return;
    job->state = DAY_ENDED;
    job->since_ms = day_now_ms;
    day_figures.ended++;
    live--;
}

void day_waits(struct day_job *job, uint64_t from_ms, uint64_t latest_ms)
{
    if (job->state == DAY_ENDED)
        return;
    if (job->is_shadow) {
        day_ended(job);
        return;
    }
    job->state = DAY_WAITS;
    job->due_ms = day_now_ms + from_ms;
    job->latest_ms = day_now_ms + latest_ms;
}

void day_is_buried(struct day_job *job, uint64_t since_ms)
{
    if (job->state == DAY_ENDED)
        return;
    if (job->is_shadow) {
        day_ended(job);
        return;
    }
    job->state = DAY_BURIED;
    job->since_ms = since_ms;
    day_figures.buried++;
}

void day_failed(struct day_job *job, uint32_t attempt, uint64_t after_ms)
{
    if (job->retry == 0 || attempt < job->retry)
        day_waits(job, after_ms + job->backoff_min_ms, after_ms + job->backoff_max_ms);
    else if (job->period_ms > 0)
        day_waits(job, after_ms, after_ms + job->period_ms);
    else
        day_is_buried(job, day_now_ms + after_ms);
}

/* Checks that the state of the job allows a hand-out now. */
static void check_hand_out(const struct day_job *job)
{
    unsigned long long number = day_book_number(job);

    if (job->state == DAY_ENDED && day_now_ms > job->since_ms + DAY_UNDER_WAY_MS)
        day_violate("Q3 job %llu ended %llu ms ago, and is back", number,
                    (unsigned long long)(day_now_ms - job->since_ms));
    if (job->state == DAY_HELD && day_now_ms < job->due_ms)
        day_violate("Q6 job %llu is with two workers", number);
    if (job->state == DAY_HELD && job->is_shadow)
        day_violate("Q3 job %llu was cancelled while a worker had it, and is back", number);
    if (job->state == DAY_BURIED && kicked_ms[job->tube] < job->since_ms)
        day_violate("Q2 job %llu was set aside, and is handed out", number);
    if ((job->state == DAY_WAITS || job->state == DAY_ASKED) && day_now_ms < job->due_ms)
        day_violate("Q1 job %llu comes %llu ms early", number,
                    (unsigned long long)(job->due_ms - day_now_ms));
    if (job->expire_ms > 0 && !job->was_handed_out &&
        day_now_ms > job->due_ms + job->expire_ms + DAY_UNDER_WAY_MS)
        day_violate("job %llu has expired, and is handed out", number);
}

struct day_job *day_handed_out(uint32_t number, uint32_t generation, uint64_t id, uint64_t due_ms)
{
    struct day_job *job = day_book_at(number);

    day_figures.handed_out++;
    if (number >= DAY_JOBS || job->generation != generation || job->state == DAY_FREE) {
        day_violate("Q3 job %u of generation %u is back", number, generation);
        return NULL;
    }
    if (job->id != 0 && job->id != id)
        day_violate("Q5 job %u has two ids", number);
    if (due_ms > day_now_ms)
        day_violate("Q1 job %u is handed out before it is due", number);
    check_hand_out(job);
    if (job->state == DAY_ENDED)
        return NULL;
    if (job->state == DAY_WAITS && day_now_ms > job->latest_ms &&
        day_now_ms - job->latest_ms > day_figures.latest_ms)
        day_figures.latest_ms = day_now_ms - job->latest_ms;
    job->state = DAY_HELD;
    job->due_ms = day_now_ms + job->ttr_ms - DAY_UNDER_WAY_MS;
    job->was_handed_out = true;
    return job;
}

void day_kicked(uint32_t tube)
{
    kicked_ms[tube] = day_now_ms;
    for (uint32_t i = 0; i < DAY_JOBS; i++)
        if (jobs[i].state == DAY_BURIED && jobs[i].tube == tube && jobs[i].since_ms < day_now_ms)
            day_waits(&jobs[i], 0, 0);
}

bool day_has_buried(uint32_t tube)
{
    for (uint32_t i = 0; i < DAY_JOBS; i++)
        if (jobs[i].state == DAY_BURIED && jobs[i].tube == tube && jobs[i].since_ms < day_now_ms)
            return true;
    return false;
}

void day_book_check(void)
{
    for (uint32_t i = 0; i < DAY_JOBS; i++) {
        struct day_job *job = &jobs[i];
        if (job->state == DAY_ENDED && day_now_ms > job->since_ms + DAY_REST_MS) {
            job->state = DAY_FREE;
        } else if (job->state == DAY_WAITS && job->expire_ms > 0 && !job->was_handed_out &&
                   day_now_ms > job->due_ms + job->expire_ms + DAY_UNDER_WAY_MS) {
            day_figures.expired++;
            day_ended(job);
        } else if (job->state == DAY_WAITS && day_now_ms > job->latest_ms + DAY_PATIENCE_MS) {
            day_violate("Q2 job %u (%llu) should have come %llu ms ago", i,
                        (unsigned long long)job->id,
                        (unsigned long long)(day_now_ms - job->latest_ms));
        }
    }
}
