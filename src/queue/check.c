/*
 * The invariants of an open queue. elapse__queue_check returns the number of the first one that it
 * finds broken:
 *
 *  1. Each job has a state, and its id leads to it; no id is beyond the last one given.
 *  2. A DELAYED job is in the wheel of its clock, or in the ring `unplaced`.
 *  3. A READY job is in the heap of its tube, at the place that it knows; each heap is in order. It
 *     is in the tube's ring of waits, too.
 *  4. A BURIED job is in the ring of its tube, and its timer is idle.
 *  5. A RESERVED or SHADOW job has a side record with a lease of this life or an earlier one. Its
 *     timer runs if and only if the lease has begun. Other jobs have no lease and no connection.
 *  6. The expiry of a side record runs if and only if its job is READY, has EXPIRE, and was not
 *     handed out.
 *  7. Side record and entry lead to each other; key record and entry do, too.
 *  8. No two jobs have the same key, shadows left out; each key leads to its job.
 *  9. The counts of each tube, and of all, are the numbers of jobs in each state; those of each
 *     block are the numbers of its READY and BURIED jobs, and of those that recur. The bytes of the
 *     tubes together are those of all bodies.
 * 10. Each profile has as many references as jobs; a profile without jobs does not exist.
 * 11. The wheels are whole, and hold no other timers.
 * 12. The indexes are whole. The tokens are in their lists. The name of a holder has at least as
 *     many references as leases that use it; callers have the others.
 * 13. A tube has a job, a hold or settings. Settings say something, and have a pause if and only if
 *     the tube is paused; the ready jobs that limits hold back are counted. A tube whose watch has
 * asked has no job to hand out.
 * 14. A SHADOW has no record that counts as live, unless it was kept; every other job has one.
 * 15. A group has as many references as jobs, and at least one; its counts are right. Each group
 *     with ready jobs, and no other, stands in the heap of its tube, with the priority of its first
 *     job. A tube without groups has no turns.
 * 16. A job has an error if and only if its failure is TOLD.
 * 17. A job that waits for arrivals is DELAYED, has a key, and misses one at least. A job without a
 *     due time waits for arrivals.
 */
#include "moves.h"

enum {
    BROKEN_JOB = 1,
    BROKEN_DELAYED,
    BROKEN_READY,
    BROKEN_BURIED,
    BROKEN_LEASE,
    BROKEN_EXPIRY,
    BROKEN_LINKS,
    BROKEN_KEY,
    BROKEN_COUNTS,
    BROKEN_PROFILES,
    BROKEN_WHEELS,
    BROKEN_INDEXES,
    BROKEN_TUBE,
    BROKEN_RECORD,
    BROKEN_GROUP,
    BROKEN_ERROR,
    BROKEN_AWAIT,
};

/* Sums that are made while the jobs are examined. */
struct checking {
    const struct elapse__queue *queue;
    uint64_t states[ELAPSE__QUEUE_SHADOW + 1];
    uint64_t urgent;
    uint64_t bytes;              /* of bodies */
    uint64_t boot, wall, expiry; /* timers that run */
    uint64_t sides, keys, hashed_keys, profiles, unplaced, errors;
    uint64_t named; /* leases whose holder has a name */
};

static unsigned check_in_heap(const struct elapse__queue_heap *heap,
                              const struct elapse__queue_entry *entry)
{
    uint64_t place = entry->timer.place;
    if (place >= heap->count)
        return BROKEN_READY;
    const struct elapse__queue_heap_item *item = elapse__queue_heap_at(heap, (uint32_t)place);
    if (item->id != elapse__queue_id(entry) || item->priority != entry->priority ||
        item->entry != elapse__queue_number(entry))
        return BROKEN_READY;
    if (place > 0 &&
        !elapse__queue_heap_before(elapse__queue_heap_at(heap, (uint32_t)(place - 1) / 4), item))
        return BROKEN_READY;
    return 0;
}

/* A job in a group that keeps its ready jobs inside. */
static unsigned check_inside(const struct elapse__queue *queue,
                             const struct elapse__queue_group *group,
                             const struct elapse__queue_entry *entry)
{
    uint32_t number = elapse__queue_number(entry);
    for (uint32_t place = 0; place < group->ready; place++) {
        if (group->jobs.inside[place] != number)
            continue;
        if (place == 0)
            return 0;
        const struct elapse__queue_entry *before =
            elapse__queue_entry_at(&queue->jobs, group->jobs.inside[place - 1]);
        bool in_order = before->priority != entry->priority
                            ? before->priority < entry->priority
                            : elapse__queue_id(before) < elapse__queue_id(entry);
        return in_order ? 0 : BROKEN_READY;
    }
    return BROKEN_READY;
}

static unsigned check_ready(const struct elapse__queue *queue,
                            const struct elapse__queue_entry *entry)
{
    const struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
    const struct elapse__queue_group *group = elapse__queue_group_of(queue, tube, entry);
    const struct elapse__ring_node *ring_node = &entry->timer.keep.ring_node;
    if (ring_node->next == NULL || ring_node->next->previous != ring_node)
        return BROKEN_READY;
    if (group != NULL && !group->has_heap)
        return check_inside(queue, group, entry);
    return check_in_heap(group != NULL ? group->jobs.heap : &tube->ready, entry);
}

static unsigned check_state(struct checking *checking, const struct elapse__queue_entry *entry)
{
    const struct elapse__queue *queue = checking->queue;
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    bool runs = elapse_timer_pending(&entry->timer);
    switch (elapse__queue_state_of(entry)) {
    case ELAPSE__QUEUE_DELAYED:
        if (entry->timer.deadline == ELAPSE__QUEUE_NO_DUE)
            return runs || entry->timer.keep.ring_node.next != NULL || side == NULL ||
                           side->awaits != ELAPSE__QUEUE_AWAITS_WAITING
                       ? BROKEN_AWAIT
                       : 0;
        if (!runs && (!elapse__queue_by_wall(entry) || entry->timer.keep.ring_node.next == NULL ||
                      queue->clocks.stage == ELAPSE__QUEUE_STEADY))
            return BROKEN_DELAYED;
        checking->unplaced += !runs;
        *(elapse__queue_by_wall(entry) ? &checking->wall : &checking->boot) += runs;
        return 0;
    case ELAPSE__QUEUE_READY:
        return check_ready(queue, entry);
    case ELAPSE__QUEUE_BURIED: {
        const struct elapse__ring_node *ring_node = &entry->timer.keep.ring_node;
        return runs || ring_node->next == NULL || ring_node->next->previous != ring_node
                   ? BROKEN_BURIED
                   : 0;
    }
    case ELAPSE__QUEUE_RESERVED:
    case ELAPSE__QUEUE_SHADOW:
        if (side == NULL || side->lease == 0 || side->life > queue->life || side->begun != runs ||
            (side->life == queue->life && side->lease > queue->last_lease))
            return BROKEN_LEASE;
        checking->boot += runs;
        return 0;
    default:
        return BROKEN_JOB;
    }
}

static unsigned check_side(struct checking *checking, const struct elapse__queue_entry *entry,
                           const struct elapse__queue_side *side)
{
    enum elapse__queue_state state = elapse__queue_state_of(entry);
    bool leased = elapse__queue_is_leased(state);
    bool expires = state == ELAPSE__QUEUE_READY && !side->handed_out &&
                   elapse__queue_profile_of(checking->queue, entry)->expire_ms > 0;
    checking->sides++;
    checking->expiry += expires;
    checking->named += leased && side->connection == NULL && side->holder != 0;
    if (side->entry != elapse__queue_number(entry))
        return BROKEN_LINKS;
    if ((side->awaits == ELAPSE__QUEUE_AWAITS_WAITING &&
         (state != ELAPSE__QUEUE_DELAYED || side->key == 0)) ||
        (side->awaits != ELAPSE__QUEUE_AWAITS_NONE &&
         (side->await == 0 || side->await > UINT32_MAX || side->recurrence != NULL)))
        return BROKEN_AWAIT;
    if (!leased && (side->lease != 0 || side->connection != NULL || side->begun || side->replayed))
        return BROKEN_LEASE;
    return elapse_timer_pending(&side->expiry) == expires ? 0 : BROKEN_EXPIRY;
}

static unsigned check_key(struct checking *checking, const struct elapse__queue_entry *entry,
                          uint32_t number)
{
    const struct elapse__queue *queue = checking->queue;
    const struct elapse__queue_key *key = elapse__queue_key_at(queue, number);
    checking->keys++;
    if (key->entry != elapse__queue_number(entry))
        return BROKEN_LINKS;
    struct elapse__hash_128 hash = elapse__queue_key_hash_of(key);
    if ((hash.low | hash.high) == 0)
        return 0;
    checking->hashed_keys++;
    const struct elapse__queue_entry *found = elapse__queue_key_find(queue, hash, true);
    bool shadow = elapse__queue_state_of(entry) == ELAPSE__QUEUE_SHADOW;
    return found == entry || (shadow && found != NULL) ? 0 : BROKEN_KEY;
}

static unsigned check_entry(struct checking *checking, const struct elapse__queue_entry *entry)
{
    const struct elapse__queue *queue = checking->queue;
    enum elapse__queue_state state = elapse__queue_state_of(entry);
    uint64_t id = elapse__queue_id(entry);
    if (id == 0 || id > queue->last_id || elapse__queue_entry_find(&queue->jobs, id) != entry)
        return BROKEN_JOB;
    unsigned broken = check_state(checking, entry);
    const struct elapse__queue_side *side = elapse__queue_side_of(queue, entry);
    uint32_t key = elapse__queue_key_of(queue, entry);
    checking->states[state]++;
    checking->urgent +=
        state == ELAPSE__QUEUE_READY && entry->priority < ELAPSE__QUEUE_URGENT_BELOW;
    if (state != ELAPSE__QUEUE_SHADOW)
        checking->bytes += elapse__queue_body_size(entry);
    checking->profiles++;
    if (broken == 0 && side != NULL)
        broken = check_side(checking, entry, side);
    if (broken == 0 && key != 0)
        broken = check_key(checking, entry, key);
    if (broken == 0 && elapse__queue_position(entry) == 0)
        broken = BROKEN_RECORD;
    bool is_told = side != NULL && side->failure == ELAPSE__QUEUE_FAILURE_TOLD;
    checking->errors += is_told;
    if (broken == 0 && is_told != (elapse__queue_error_find(queue, id) != NULL))
        broken = BROKEN_ERROR;
    return broken;
}

static uint64_t ring_length(const struct elapse__ring_node *ring, uint64_t most)
{
    uint64_t length = 0;
    for (const struct elapse__ring_node *ring_node = ring->next;
         ring_node != ring && length <= most; ring_node = ring_node->next)
        length++;
    return length;
}

/* Tokens that have come since the tube was counted make less of the jobs held back; none may be
 * taken for held back if that leaves no job. */
static bool held_fits(const struct elapse__queue *queue, const struct elapse__queue_tube *tube)
{
    uint64_t held = elapse__queue_held_at(tube, elapse__queue_present(queue, false));
    uint64_t ready = tube->counts[ELAPSE__QUEUE_READY];
    return tube->record->settings.rate_count == 0
               ? tube->record->held == held
               : tube->record->held >= held && (tube->record->held == ready) == (held == ready);
}

static bool settings_fit(const struct elapse__queue *queue, const struct elapse__queue_tube *tube)
{
    if (tube->record == NULL)
        return !elapse__queue_paused(tube);
    return (elapse__queue_settings_say(&tube->record->settings) || elapse__queue_is_moving(tube)) &&
           held_fits(queue, tube) &&
           elapse__queue_paused(tube) == (tube->record->settings.pause_end_ms != 0);
}

/* The place of a group, or of the jobs without one, in the heap of its tube. */
static unsigned check_turn(const struct elapse__queue *queue, const struct elapse__queue_tube *tube,
                           uint32_t number)
{
    const struct elapse__queue_turns *turns = tube->turns;
    const struct elapse__queue_group *group =
        number == 0 ? NULL : elapse__queue_group_at(queue, number);
    uint32_t may_run = group == NULL ? tube->ready.count : group->may_run;
    uint32_t place = group == NULL ? turns->place : group->place;
    if (may_run == 0)
        return place == ELAPSE__QUEUE_NO_PLACE ? 0 : BROKEN_GROUP;
    if (place >= turns->heap.count)
        return BROKEN_GROUP;
    const struct elapse__queue_heap_item *item = elapse__queue_heap_at(&turns->heap, place);
    struct elapse__queue_heap_item first =
        group == NULL     ? *elapse__queue_heap_first(&tube->ready)
        : group->has_heap ? *elapse__queue_heap_first(group->jobs.heap)
                          : (struct elapse__queue_heap_item){.entry = group->jobs.inside[0]};
    if (item->entry != number || item->id != (group == NULL ? turns->turn : group->turn) ||
        item->priority != elapse__queue_entry_at(&queue->jobs, first.entry)->priority)
        return BROKEN_GROUP;
    return place == 0 || elapse__queue_heap_before(
                             elapse__queue_heap_at(&turns->heap, (place - 1) / 4), item)
               ? 0
               : BROKEN_GROUP;
}

/* What is counted of the groups of one tube. */
struct group_sums {
    uint64_t groups, standing, ready, may_run, jobs, buckets, without_jobs;
};

/* Tokens that have come since a group was counted let more of its jobs run; none may be taken for
 * blocked if one may run. */
static bool may_run_fits(const struct elapse__queue *queue, const struct elapse__queue_tube *tube,
                         const struct elapse__queue_group *group)
{
    uint64_t lets_run = elapse__queue_group_lets_run(queue, tube, group);
    uint64_t may_run = lets_run < group->ready ? lets_run : group->ready;
    return tube->record == NULL || tube->record->settings.group_rate_count == 0
               ? group->may_run == may_run
               : group->may_run <= may_run && (group->may_run == 0) == (may_run == 0);
}

static unsigned check_group(const struct elapse__queue *queue,
                            const struct elapse__queue_tube *tube,
                            const struct elapse__queue_group *group, struct group_sums *sums)
{
    sums->groups++;
    sums->standing += group->may_run > 0;
    sums->ready += group->ready;
    sums->may_run += group->may_run;
    sums->jobs += group->references;
    sums->buckets += group->bucket != 0;
    sums->without_jobs += group->references == 0;
    if ((group->references == 0 && group->bucket == 0) ||
        group->ready + group->running + group->buried + group->retries > group->references)
        return BROKEN_GROUP;
    if (group->has_heap && group->jobs.heap->count != group->ready)
        return BROKEN_GROUP;
    if (group->may_run > group->ready ||
        (!elapse__queue_is_moving(tube) && !may_run_fits(queue, tube, group)))
        return BROKEN_GROUP;
    return check_turn(queue, tube, group->number);
}

/* The groups of a tube. Cost: O(places of the table of tubes), if it has any. */
static unsigned check_groups(const struct elapse__queue *queue,
                             const struct elapse__queue_tube *tube)
{
    struct group_sums sums = {0};
    if (tube->turns == NULL)
        return tube->counts[ELAPSE__QUEUE_READY] == tube->ready.count ? 0 : BROKEN_COUNTS;
    for (uint32_t number = 1; number < queue->tubes.fresh; number++) {
        const struct elapse__queue_place *place = elapse__queue_place_at(queue, number);
        if (place->kind != ELAPSE__QUEUE_PLACE_GROUP || place->at.group->tube != tube->number)
            continue;
        unsigned broken = check_group(queue, tube, place->at.group, &sums);
        if (broken != 0)
            return broken;
    }
    if (tube->counts[ELAPSE__QUEUE_READY] != tube->ready.count + sums.ready)
        return BROKEN_COUNTS;
    if ((sums.groups == 0 && !elapse__queue_is_moving(tube)) ||
        tube->turns->groups != sums.groups || tube->turns->may_run != sums.may_run ||
        tube->turns->buckets != sums.buckets || tube->turns->without_jobs != sums.without_jobs ||
        tube->turns->heap.count != sums.standing + (tube->ready.count > 0))
        return BROKEN_GROUP;
    return check_turn(queue, tube, 0);
}

/* Tubes and their counts. */
static unsigned check_tubes(struct checking *checking)
{
    const struct elapse__queue *queue = checking->queue;
    uint64_t states[ELAPSE__QUEUE_SHADOW + 1] = {0};
    uint64_t urgent = 0;
    uint64_t bytes = 0;
    uint64_t alarms = queue->buckets.count; /* each has its alarm */
    alarms += elapse_timer_pending(&queue->pass_alarm.timer);
    if (elapse_timer_pending(&queue->pass_alarm.timer) == elapse__ring_empty(&queue->moving))
        return BROKEN_WHEELS;
    uint32_t cursor = 0;
    struct elapse__queue_text name;
    uint32_t most = UINT32_MAX;
    while ((name = elapse__queue_tubes(queue, &cursor, &most)).size > 0) {
        const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, name);
        if (tube == NULL || tube->number != cursor)
            return BROKEN_INDEXES;
        uint64_t jobs = 0;
        for (int state = ELAPSE__QUEUE_DELAYED; state <= ELAPSE__QUEUE_SHADOW; state++) {
            states[state] += tube->counts[state];
            jobs += tube->counts[state];
        }
        urgent += tube->urgent;
        bytes += tube->body_bytes;
        alarms += elapse__queue_paused(tube);
        alarms += tube->record != NULL && elapse_timer_pending(&tube->record->token.timer);
        alarms += tube->record != NULL && elapse_timer_pending(&tube->record->buried.timer);
        alarms += tube->record != NULL && elapse_timer_pending(&tube->record->opening.timer);
        if (!elapse__queue_buried_fit(queue, tube))
            return BROKEN_TUBE;
        if (jobs == 0 && tube->holds == 0 && tube->record == NULL)
            return BROKEN_TUBE;
        if (!settings_fit(queue, tube))
            return BROKEN_TUBE;
        if (tube->watch != NULL && tube->watch->asked && elapse__queue_may_hand_out(tube))
            return BROKEN_TUBE;
        if (tube->counts[ELAPSE__QUEUE_READY] !=
                ring_length(&tube->waits[0].jobs, tube->counts[ELAPSE__QUEUE_READY]) +
                    ring_length(&tube->waits[1].jobs, tube->counts[ELAPSE__QUEUE_READY]) ||
            tube->counts[ELAPSE__QUEUE_BURIED] !=
                ring_length(&tube->buried, tube->counts[ELAPSE__QUEUE_BURIED]))
            return BROKEN_COUNTS;
        unsigned broken = check_groups(queue, tube);
        if (broken != 0)
            return broken;
    }
    for (int state = ELAPSE__QUEUE_DELAYED; state <= ELAPSE__QUEUE_SHADOW; state++)
        if (states[state] != checking->states[state])
            return BROKEN_COUNTS;
    if (bytes != checking->bytes || urgent != checking->urgent || urgent != queue->totals.urgent ||
        queue->totals.delayed != states[ELAPSE__QUEUE_DELAYED] ||
        queue->totals.ready != states[ELAPSE__QUEUE_READY] ||
        queue->totals.reserved != states[ELAPSE__QUEUE_RESERVED] ||
        queue->totals.buried != states[ELAPSE__QUEUE_BURIED] ||
        queue->totals.shadows != states[ELAPSE__QUEUE_SHADOW])
        return BROKEN_COUNTS;
    return alarms == elapse_wheel_count(&queue->clocks.alarms) ? 0 : BROKEN_WHEELS;
}

static unsigned check_wheels(const struct checking *checking)
{
    const struct elapse__queue_clocks *clocks = &checking->queue->clocks;
    if (elapse_wheel_check(&clocks->boot) != 0 || elapse_wheel_check(&clocks->wall) != 0 ||
        elapse_wheel_check(&clocks->expiry) != 0 || elapse_wheel_check(&clocks->alarms) != 0)
        return BROKEN_WHEELS;
    if (elapse_wheel_count(&clocks->boot) != checking->boot ||
        elapse_wheel_count(&clocks->wall) != checking->wall ||
        elapse_wheel_count(&clocks->expiry) != checking->expiry ||
        ring_length(&clocks->unplaced, checking->unplaced) != checking->unplaced)
        return BROKEN_WHEELS;
    return 0;
}

static bool names_are_whole(const struct checking *checking)
{
    const struct elapse__queue *queue = checking->queue;
    uint64_t references = 0;
    for (uint32_t number = 1; number < queue->names.fresh; number++) {
        const struct elapse__queue_name *name = elapse__queue_slab_at(&queue->names, number);
        references += name->references;
    }
    return references >= checking->named;
}

static unsigned check_tables(const struct checking *checking)
{
    const struct elapse__queue *queue = checking->queue;
    uint64_t references = 0;
    uint64_t tokens = 0;
    for (uint32_t number = 1; number < queue->profiles.fresh; number++) {
        const struct elapse__queue_profile *profile =
            elapse__queue_slab_at(&queue->profiles, number);
        references += profile->references;
    }
    for (unsigned list = 0; list < ELAPSE__QUEUE_TOKEN_LISTS; list++) {
        uint32_t number = queue->oldest_token[list];
        for (; number != 0 && tokens <= queue->tokens.count; tokens++) {
            const struct elapse__queue_token *token = elapse__queue_slab_at(&queue->tokens, number);
            number = token->newer;
        }
    }
    if (references != checking->profiles)
        return BROKEN_PROFILES;
    if (checking->sides != queue->sides.count || checking->keys != queue->keys.count)
        return BROKEN_LINKS;
    if (!elapse__queue_ids_check(&queue->jobs.ids) ||
        !elapse__queue_index_check(&queue->key_index) ||
        !elapse__queue_index_check(&queue->profile_index) ||
        !elapse__queue_index_check(&queue->name_index) ||
        !elapse__queue_index_check(&queue->tube_index) ||
        !elapse__queue_index_check(&queue->group_index) ||
        !elapse__queue_index_check(&queue->token_index))
        return BROKEN_INDEXES;
    if (!elapse__queue_index_check(&queue->error_index) ||
        queue->errors.count != checking->errors || queue->error_index.count != queue->errors.count)
        return BROKEN_ERROR;
    if (queue->jobs.ids.count != queue->jobs.count ||
        queue->key_index.count != checking->hashed_keys ||
        queue->profile_index.count != queue->profiles.count ||
        queue->name_index.count != queue->names.count || !names_are_whole(checking) ||
        queue->tube_index.count + queue->group_index.count != queue->tubes.count ||
        tokens != queue->tokens.count || queue->token_index.count != queue->tokens.count)
        return BROKEN_INDEXES;
    return 0;
}

static unsigned check_blocks(const struct elapse__queue *queue)
{
    const struct elapse__queue_jobs *jobs = &queue->jobs;
    for (uint32_t first = 0; first < jobs->fresh; first += ELAPSE__QUEUE_BLOCK_ENTRIES) {
        uint32_t ready = 0;
        uint32_t buried = 0;
        uint32_t recurring = 0;
        for (uint32_t place = 0; place < ELAPSE__QUEUE_BLOCK_ENTRIES; place++) {
            if (first + place == 0 || first + place >= jobs->fresh)
                continue;
            const struct elapse__queue_entry *entry = elapse__queue_entry_at(jobs, first + place);
            enum elapse__queue_state state = elapse__queue_state_of(entry);
            ready += state == ELAPSE__QUEUE_READY;
            buried += state == ELAPSE__QUEUE_BURIED;
            recurring += state != ELAPSE__QUEUE_FREE && elapse__queue_recurs(queue, entry);
        }
        /* The first place belongs to no job, and has a block only once there was a job. */
        if (jobs->fresh > 1 && (elapse__queue_block_of(jobs, first)->ready != ready ||
                                elapse__queue_block_of(jobs, first)->buried != buried ||
                                elapse__queue_block_of(jobs, first)->recurring != recurring))
            return BROKEN_COUNTS;
    }
    return 0;
}

/* Each job counts once in its group, and once more while it waits for its retry. */
static unsigned check_references(const struct elapse__queue *queue)
{
    uint64_t references = 0;
    uint64_t retries = 0;
    uint32_t number = 0;
    const struct elapse__queue_entry *entry = NULL;
    while ((entry = elapse__queue_next_entry(&queue->jobs, &number)) != NULL) {
        const struct elapse__queue_tube *tube = elapse__queue_tube_of(queue, entry);
        bool has_group = elapse__queue_group_of(queue, tube, entry) != NULL;
        references += has_group;
        retries += has_group && elapse__queue_is_retry(queue, entry);
    }
    for (uint32_t place = 1; place < queue->tubes.fresh; place++) {
        const struct elapse__queue_place *at = elapse__queue_place_at(queue, place);
        if (at->kind != ELAPSE__QUEUE_PLACE_GROUP)
            continue;
        references -= at->at.group->references;
        retries -= at->at.group->retries;
    }
    return references + retries == 0 ? 0 : BROKEN_GROUP;
}

unsigned elapse__queue_check(const struct elapse__queue *queue)
{
    struct checking checking = {.queue = queue};
    const struct elapse__queue_entry *entry = NULL;
    uint32_t number = 0;
    while ((entry = elapse__queue_next_entry(&queue->jobs, &number)) != NULL) {
        unsigned broken = check_entry(&checking, entry);
        if (broken != 0)
            return broken;
    }
    unsigned broken = check_blocks(queue);
    if (broken == 0)
        broken = check_references(queue);
    if (broken == 0)
        broken = check_tubes(&checking);
    if (broken == 0)
        broken = check_wheels(&checking);
    return broken != 0 ? broken : check_tables(&checking);
}
