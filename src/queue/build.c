/*
 * Builds a job: allocates everything that the job needs before anything is written or changed, so
 * that the steps after that cannot fail.
 */
#include "moves.h"

static bool needs_side(const struct elapse__queue_fields *fields)
{
    return fields->expire_ms > 0 || fields->recurring ||
           fields->awaits != ELAPSE__QUEUE_AWAITS_NONE || fields->has_first || fields->handed_out ||
           fields->state == ELAPSE__QUEUE_BURIED || elapse__queue_is_leased(fields->state) ||
           fields->failure != ELAPSE__QUEUE_FAILURE_NONE ||
           (fields->attempts | fields->reserves | fields->timeouts | fields->releases |
            fields->buries | fields->kicks) != 0;
}

/* Makes the key record of a job with a key or a tag. Returns false if there is no memory. */
static bool build_key(struct elapse__queue *queue, const struct elapse__queue_fields *fields,
                      struct elapse__queue_built *built)
{
    struct elapse__hash_128 hash = {0};
    if (fields->key.size == 0 && fields->tag.size == 0)
        return true;
    if (fields->key.size > 0)
        hash = elapse__queue_key_hash(queue, fields->tube, fields->key);
    built->key = elapse__queue_key_make(queue, hash, elapse__queue_tag_hash(queue, fields->tag));
    return built->key != 0;
}

static enum elapse__queue_result build_extras(struct elapse__queue *queue,
                                              const struct elapse__queue_fields *fields,
                                              struct elapse__queue_built *built, const char **fault)
{
    struct elapse__queue_side *side = NULL;
    if (needs_side(fields)) {
        side = elapse__queue_side_get(queue, built->entry);
        if (side == NULL)
            return ELAPSE__QUEUE_NO_MEMORY;
    }
    if (!elapse__queue_profile_get(queue, built->entry, fields) || !build_key(queue, fields, built))
        return ELAPSE__QUEUE_NO_MEMORY;
    if (!fields->recurring)
        return ELAPSE__QUEUE_OK;
    ELAPSE__ASSERT(side != NULL);
    enum elapse__queue_result result =
        elapse__queue_recurrence_make(queue, fields, &side->recurrence, fault);
    if (result == ELAPSE__QUEUE_OK)
        elapse__queue_block_around(built->entry)->recurring++;
    return result;
}

/* Takes an entry out of its group, if it has one. The entry keeps the number of the group. */
static void leave_group(struct elapse__queue *queue, const struct elapse__queue_entry *entry)
{
    uint32_t number = entry->tube_state & ELAPSE__QUEUE_TUBE_MASK;
    if (number != 0 && elapse__queue_place_at(queue, number)->kind == ELAPSE__QUEUE_PLACE_GROUP)
        elapse__queue_group_leave(queue, elapse__queue_group_at(queue, number));
}

enum elapse__queue_result elapse__queue_build(struct elapse__queue *queue,
                                              const struct elapse__queue_fields *fields,
                                              struct elapse__queue_built *built, const char **fault)
{
    *built = (struct elapse__queue_built){0};
    enum elapse__queue_result result = elapse__queue_tube_get(queue, fields->tube, &built->tube);
    if (result != ELAPSE__QUEUE_OK)
        return result;
    built->tube->holds++;
    if (fields->id == 0 || elapse__queue_ids_reserve(&queue->jobs.ids, fields->id, &queue->memory))
        built->entry = elapse__queue_entry_take(&queue->jobs, &queue->memory);
    if (built->entry == NULL) {
        elapse__queue_build_undo(queue, built);
        return ELAPSE__QUEUE_NO_MEMORY;
    }
    built->entry->priority = fields->priority;
    if (fields->group.size == 0)
        built->entry->tube_state |= built->tube->number;
    else
        result = elapse__queue_group_join(queue, built->tube, fields->group, built->entry);
    if (result == ELAPSE__QUEUE_OK)
        result = build_extras(queue, fields, built, fault);
    if (result != ELAPSE__QUEUE_OK)
        elapse__queue_build_undo(queue, built);
    return result;
}

void elapse__queue_build_undo(struct elapse__queue *queue, struct elapse__queue_built *built)
{
    ELAPSE__ASSERT_THAT(built->tube->holds, >, 0);
    if (built->key != 0)
        elapse__queue_key_end(queue, built->key);
    if (built->entry != NULL) {
        elapse__queue_extras_end(queue, built->entry);
        leave_group(queue, built->entry);
        elapse__queue_entry_give(&queue->jobs, built->entry);
    }
    elapse__queue_tube_release(queue, built->tube);
    *built = (struct elapse__queue_built){0};
}

void elapse__queue_build_enter(struct elapse__queue *queue, struct elapse__queue_built *built,
                               uint64_t id)
{
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(built->entry), ==, ELAPSE__QUEUE_FREE);
    elapse__queue_entry_enter(&queue->jobs, built->entry, id, &queue->memory);
    if (built->key != 0)
        elapse__queue_key_link(queue, built->key, built->entry);
}

void elapse__queue_build_replace(struct elapse__queue *queue, struct elapse__queue_built *built,
                                 struct elapse__queue_entry *old)
{
    struct elapse__queue_entry *fresh = built->entry;
    const uint32_t moved = ELAPSE__QUEUE_HAS_SIDE | ELAPSE__QUEUE_TUBE_MASK;
    ELAPSE__ASSERT_THAT(elapse__queue_state_of(old), ==, ELAPSE__QUEUE_FREE);
    ELAPSE__ASSERT(!elapse_timer_pending(&old->timer));
    elapse__queue_extras_end(queue, old);
    leave_group(queue, old);
    old->priority = fresh->priority;
    old->extra = fresh->extra;
    old->tube_state = (old->tube_state & ~moved) | (fresh->tube_state & moved);
    old->position_profile |= fresh->position_profile >> ELAPSE__QUEUE_POSITION_BITS
                                                            << ELAPSE__QUEUE_POSITION_BITS;
    if ((old->tube_state & ELAPSE__QUEUE_HAS_SIDE) != 0) {
        struct elapse__queue_side *side = elapse__queue_slab_at(&queue->sides, old->extra);
        side->entry = elapse__queue_number(old) & ELAPSE__QUEUE_ITEMS_MAX;
        elapse__queue_block_around(fresh)->recurring -= side->recurrence != NULL;
        elapse__queue_block_around(old)->recurring += side->recurrence != NULL;
    }
    if (built->key != 0)
        elapse__queue_key_link(queue, built->key, old);
    fresh->extra = 0;
    fresh->position_profile = 0;
    elapse__queue_entry_give(&queue->jobs, fresh);
    built->entry = old;
}
