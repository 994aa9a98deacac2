#include "commands.h"

#include <string.h>

#include "tubes.h"

/* A filter with its texts looked up. */
struct prepared_filter {
    bool nothing;                          /* no job can fit */
    const struct elapse__queue_tube *tube; /* NULL: all */
    enum elapse__queue_state state;
    bool recurring;
    uint64_t tag; /* 0: any */
};

static struct prepared_filter prepare_filter(const struct elapse__queue *queue,
                                             const struct elapse__queue_filter *filter)
{
    struct prepared_filter prepared = {
        .state = filter->state,
        .recurring = filter->recurring,
        .tag = elapse__queue_tag_hash(queue, filter->tag),
    };
    if (filter->tube.size > 0) {
        const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, filter->tube);
        prepared.nothing = tube == NULL || (filter->state != ELAPSE__QUEUE_FREE &&
                                            tube->counts[filter->state] == 0);
        prepared.tube = tube;
    }
    return prepared;
}

/* Moves the cursor over a block in which no job has the state that is looked for, or none recurs
 * where those are looked for. Returns whether it did. */
static bool pass_over(const struct elapse__queue *queue, const struct prepared_filter *filter,
                      uint32_t *cursor)
{
    uint32_t number = *cursor + 1;
    ELAPSE__ASSERT_THAT(number, <, queue->jobs.fresh);
    const struct elapse__queue_block *block = elapse__queue_block_of(&queue->jobs, number);
    if ((filter->state != ELAPSE__QUEUE_READY || block->ready > 0) &&
        (filter->state != ELAPSE__QUEUE_BURIED || block->buried > 0) &&
        (!filter->recurring || block->recurring > 0))
        return false;
    uint32_t next = (number | (ELAPSE__QUEUE_BLOCK_ENTRIES - 1)) + 1;
    *cursor = (next < queue->jobs.fresh ? next : queue->jobs.fresh) - 1;
    return true;
}

static bool job_fits(const struct elapse__queue *queue, const struct elapse__queue_entry *entry,
                     const struct prepared_filter *filter)
{
    enum elapse__queue_state state = elapse__queue_state_of(entry);
    if (state == ELAPSE__QUEUE_FREE || state == ELAPSE__QUEUE_SHADOW)
        return false;
    if (filter->state != ELAPSE__QUEUE_FREE && filter->state != state)
        return false;
    if (filter->recurring && !elapse__queue_recurs(queue, entry))
        return false;
    if (filter->tube != NULL && !elapse__queue_is_in(queue, entry, filter->tube))
        return false;
    if (filter->tag == 0)
        return true;
    uint32_t key = elapse__queue_key_of(queue, entry);
    return key != 0 && elapse__queue_key_tag_of(elapse__queue_key_at(queue, key)) == filter->tag;
}

uint32_t elapse__queue_list(struct elapse__queue *queue, struct elapse__queue_now now,
                            const struct elapse__queue_filter *filter, uint32_t *cursor,
                            uint32_t most, struct elapse__queue_view *views, uint32_t room)
{
    elapse__queue_take_now(queue, now);
    struct prepared_filter prepared = prepare_filter(queue, filter);
    uint32_t found = 0;
    while (!prepared.nothing && *cursor + 1 < queue->jobs.fresh) {
        if (most-- == 0 || found == room)
            return found;
        if (pass_over(queue, &prepared, cursor))
            continue;
        const struct elapse__queue_entry *entry = elapse__queue_entry_at(&queue->jobs, ++*cursor);
        if (job_fits(queue, entry, &prepared))
            elapse__queue_fill_view(queue, entry, &views[found++]);
    }
    *cursor = 0;
    return found;
}

struct elapse__queue_answer elapse__queue_cancel_all(struct elapse__queue *queue,
                                                     struct elapse__queue_now now,
                                                     const struct elapse__queue_filter *filter,
                                                     uint32_t *cursor, uint32_t most,
                                                     uint64_t *removed, uint64_t *running)
{
    struct elapse__queue_answer answer = {.result = ELAPSE__QUEUE_OK};
    elapse__queue_take_now(queue, now);
    while (*cursor + 1 < queue->jobs.fresh) {
        /* The last cancel may have ended the tube. */
        struct prepared_filter prepared = prepare_filter(queue, filter);
        if (prepared.nothing)
            break;
        if (most-- == 0)
            return answer;
        if (pass_over(queue, &prepared, cursor))
            continue;
        const struct elapse__queue_entry *entry = elapse__queue_entry_at(&queue->jobs, *cursor + 1);
        if (job_fits(queue, entry, &prepared)) {
            struct elapse__queue_answer one =
                elapse__queue_cancel_id(queue, queue->now, elapse__queue_id(entry));
            if (one.result == ELAPSE__QUEUE_REFUSED)
                return one;
            ++*(one.result == ELAPSE__QUEUE_REMOVED ? removed : running);
            answer.position = one.position;
        }
        ++*cursor;
    }
    *cursor = 0;
    return answer;
}

/* Stores what the limits of each group hold back, and by which limit. */
static void fill_held(const struct elapse__queue *queue, struct elapse__queue_now now,
                      const struct elapse__queue_tube *tube,
                      const struct elapse__queue_group *group,
                      struct elapse__queue_group_view *view)
{
    const char *by = elapse__queue_is_ordered(tube) ? "group_order" : "group_concurrency";
    ELAPSE__ASSERT_THAT(group->may_run, <=, group->ready);
    view->held = group->ready - group->may_run;
    view->overdue_ms = elapse__queue_group_overdue_ms(queue, tube, group, now);
    if (view->held == 0 || elapse__queue_is_moving(tube))
        return;
    uint64_t places = elapse__queue_group_places(tube, group);
    if (places > 0 && elapse__queue_group_tokens(queue, tube, group) < places) {
        by = "group_rate";
        view->held_left_ms = elapse__queue_group_token_left_ms(queue, tube, group, now);
    }
    view->held_by = (struct elapse__queue_text){by, strlen(by)};
}

bool elapse__queue_groups(const struct elapse__queue *queue, struct elapse__queue_now now,
                          struct elapse__queue_text name, uint32_t *cursor, uint32_t *most,
                          struct elapse__queue_group_view *view)
{
    const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, name);
    for (; tube != NULL && tube->turns != NULL && *most > 0; --*most) {
        if (*cursor + 1 >= queue->tubes.fresh)
            break;
        const struct elapse__queue_place *place = elapse__queue_place_at(queue, ++*cursor);
        if (place->kind != ELAPSE__QUEUE_PLACE_GROUP || place->at.group->tube != tube->number ||
            place->at.group->references == 0)
            continue;
        const struct elapse__queue_group *group = place->at.group;
        ELAPSE__ASSERT_THAT(group->ready + group->running + group->buried, <=, group->references);
        --*most;
        *view = (struct elapse__queue_group_view){
            .name = {group->name, group->name_size},
            .delayed = group->references - group->ready - group->running - group->buried,
            .ready = group->ready,
            .running = group->running,
            .buried = group->buried,
        };
        fill_held(queue, now, tube, group, view);
        return true;
    }
    if (*most > 0)
        *cursor = 0;
    return false;
}
