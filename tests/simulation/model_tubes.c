/*
 * The pauses of tubes. Each PAUSE makes a version; after a crash each tube has the last one of a
 * command up to the cut. If the wall clock was set, only the greatest length of the pause is known.
 */
#include "model_inner.h"

static struct model_pauses *pauses_of(unsigned tube)
{
    return &model.pauses[tube];
}

static const struct model_pause *last_of(unsigned tube)
{
    static const struct model_pause none;
    const struct model_pauses *pauses = pauses_of(tube);
    return pauses->count == 0 ? &none : &pauses->versions[pauses->count - 1];
}

bool model_is_paused(unsigned tube)
{
    return last_of(tube)->end > model.t;
}

bool model_takes_pauses(unsigned tube)
{
    return pauses_of(tube)->count < MODEL_PAUSES;
}

static bool has_job(unsigned tube)
{
    for (unsigned i = 0; i < model.job_count; i++)
        if (model_at(i)->put.tube == tube && model_at(i)->state != ELAPSE__QUEUE_FREE)
            return true;
    return false;
}

/* Forgets versions that cannot come back. */
static void forget_old(struct model_pauses *pauses)
{
    unsigned first = 0;
    while (!model.keeps_all && first + 1 < pauses->count &&
           pauses->versions[first + 1].seq <= model.certain)
        first++;
    for (unsigned i = first; i < pauses->count; i++)
        pauses->versions[i - first] = pauses->versions[i];
    pauses->count -= first;
}

void model_do_pause(unsigned tube, int64_t delay, model_answer answer)
{
    struct model_pauses *pauses = pauses_of(tube);
    model.seq++;
    if (answer.result == ELAPSE__QUEUE_REFUSED)
        return;
    /* A tube whose pause has just ended may still be known. */
    bool must_be_known = has_job(tube) || model_is_paused(tube) || model_has_limits(tube);
    if (answer.result == ELAPSE__QUEUE_GONE && !must_be_known)
        return;
    if (answer.result != ELAPSE__QUEUE_OK) {
        model_violate("pause of tube %u: answered %s", tube, model_name_of(answer.result));
        return;
    }
    forget_old(pauses);
    pauses->versions[pauses->count++] = (struct model_pause){
        .seq = model.seq, .end = delay == 0 ? 0 : model.t + delay, .length = delay};
}

/* Returns the version that the tube has behind a cut. */
static struct model_pause version_at(unsigned tube, uint64_t cut)
{
    const struct model_pauses *pauses = pauses_of(tube);
    struct model_pause version = {.seq = 0};
    for (unsigned i = 0; i < pauses->count && pauses->versions[i].seq <= cut; i++)
        version = pauses->versions[i];
    return version;
}

bool model_pause_fits(unsigned tube, uint64_t cut, int64_t left)
{
    struct model_pause version = version_at(tube, cut);
    if (version.is_open || model.offset_count > 1)
        return left <= version.length;
    return left == (version.end > model.t ? version.end - model.t : 0);
}

void model_adopt_pause(unsigned tube, uint64_t lowest, uint64_t most, int64_t left)
{
    struct model_pause version = version_at(tube, most);
    int64_t length = version.length;
    /* Several versions may fit, such as a pause that is over and a PAUSE that ended it. If the wall
     * clock is set back, the longest of them may come back. */
    for (uint64_t cut = lowest; cut < most; cut++)
        if (model_pause_fits(tube, cut, left) && version_at(tube, cut).length > length)
            length = version_at(tube, cut).length;
    version.length = length;
    version.seq = model.seq;
    version.end = model.t + left;
    version.is_open |= model.offset_count > 1;
    pauses_of(tube)->versions[0] = version;
    pauses_of(tube)->count = 1;
}
