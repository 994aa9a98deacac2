/*
 * Arrivals in the model: what a job that was put with AWAIT waits for (Q15).
 */
#include "model_inner.h"

static unsigned token_index(unsigned tube, unsigned key, unsigned token)
{
    return token == 0 ? 0 : MODEL_TOKENS + (tube * MODEL_KEYS + key) * MODEL_ARRIVAL_TOKENS + token;
}

static bool judge_left(const struct model_job *job, model_answer answer, uint32_t left)
{
    return answer.left == left ||
           model_violate("job %llu waits for %u arrivals, expected %u",
                         job == NULL ? 0ULL : (unsigned long long)job->id, answer.left, left);
}

void model_do_arrive(unsigned tube, unsigned key, uint32_t count, unsigned token,
                     model_answer answer)
{
    unsigned index = token_index(tube, key, token);
    struct model_job *job = model_find_key(tube, key, false);
    model_next();
    if (job != NULL && !(job->state == ELAPSE__QUEUE_DELAYED && job->waits))
        job = NULL;
    if (model_judge_token(index, answer)) {
        (void)judge_left(job, answer, job == NULL ? 0 : job->await);
        return;
    }
    if (model.violation[0] != '\0' || (job != NULL && answer.result == ELAPSE__QUEUE_REFUSED))
        return;
    if (!model_expect("arrive", job == NULL ? 0 : job->id, answer,
                      job == NULL ? ELAPSE__QUEUE_GONE : ELAPSE__QUEUE_OK) ||
        job == NULL)
        return;
    uint32_t left = job->await > count ? job->await - count : 0;
    if (!judge_left(job, answer, left) || answer.id != job->id)
        return;
    job = model_change(job);
    job->await = left;
    if (left == 0) {
        job->waits = false;
        model_enter_waiting(job, false, model.t);
    }
    if (index != 0)
        model_add_token(index, 0);
}
