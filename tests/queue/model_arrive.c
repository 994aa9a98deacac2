/*
 * Arrivals in the model test: puts that wait for them, and what an arrival does to the plain queue.
 */
#include "../../src/queue/arrivals.h"
#include "model.h"

const char *const model_tubes[2] = {"one", "two"};
const char *const model_keys[KEYS] = {"a", "b", "c", "d"};

void random_await(struct model *m, struct elapse__queue_put *put)
{
    if (put->when == ELAPSE__QUEUE_EVERY || put->if_key == ELAPSE__QUEUE_DEBOUNCE ||
        !random_one_in(&m->random, 3))
        return;
    put->await = 1 + (uint32_t)random_below(&m->random, 3);
    if (random_one_in(&m->random, 3))
        put->when = ELAPSE__QUEUE_NO_TIME;
}

/* A due time that has come makes no record. So behind a start a job that it made ready is one that
 * waits, unless a later record says that it missed its arrivals. */
bool waits_again(const struct plain_job *job, struct elapse__queue_view view)
{
    return job->await > 0 && view.waits;
}

void do_arrive(struct model *m)
{
    static const char *const tokens[ARRIVAL_TOKENS] = {"", "s", "t"};
    int tube = (int)random_below(&m->random, 2);
    int key = (int)random_below(&m->random, KEYS);
    size_t token = random_index(&m->random, ARRIVAL_TOKENS);
    const struct elapse__queue_arrival arrival = {
        .tube = text_of(model_tubes[tube]),
        .key = text_of(model_keys[key]),
        .count = 1 + (uint32_t)random_below(&m->random, 2),
        .token = text_of(tokens[token]),
    };
    struct elapse__queue_answer answer = elapse__queue_arrive(m->queue, m->now, &arrival);
    struct plain_job *job = job_of_key(m, tube, key, false);
    if (job != NULL && !job->waits)
        job = NULL;
    /* No run is as long as the life of a token. */
    if (m->arrived[tube][key][token]) {
        SAME(answer.result, ELAPSE__QUEUE_KNOWN);
        SAME(answer.left, job == NULL ? 0 : job->await);
        return;
    }
    SAME(answer.result, job == NULL ? ELAPSE__QUEUE_GONE : ELAPSE__QUEUE_OK);
    if (job == NULL)
        return;
    job->await = job->await > arrival.count ? job->await - arrival.count : 0;
    SAME(answer.id, job->id);
    SAME(answer.left, job->await);
    m->arrived[tube][key][token] = token > 0;
    if (job->await > 0)
        return;
    job->waits = false;
    wait_for(m, job, false, (int64_t)m->now.boot_ms);
}
