#include "commands.h"

/* Makes a buried or delayed job ready. The records of this change are a group. */
static struct elapse__queue_answer kick_job(struct elapse__queue *queue,
                                            struct elapse__queue_entry *entry)
{
    uint64_t id = elapse__queue_id(entry);
    struct elapse__queue_side *side = elapse__queue_side_get(queue, entry);
    struct elapse__queue_tick due = {false, elapse__queue_present(queue, false)};
    if (side == NULL || !elapse__queue_waiting_room(queue, entry, due))
        return elapse__queue_say(ELAPSE__QUEUE_NO_MEMORY, id);
    if (!elapse__queue_begin_relief(queue))
        return elapse__queue_say(ELAPSE__QUEUE_REFUSED, id);
    ELAPSE__ASSERT(elapse__queue_state_of(entry) == ELAPSE__QUEUE_BURIED ||
                   elapse__queue_state_of(entry) == ELAPSE__QUEUE_DELAYED);
    /* A job that was buried gets all its retries again. */
    if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_BURIED)
        side->attempts = 0;
    side->kicks++;
    elapse__queue_set_failure(queue, entry, ELAPSE__QUEUE_FAILURE_NONE);
    elapse__queue_wait_again(queue, entry, due, true);
    return (struct elapse__queue_answer){
        .result = ELAPSE__QUEUE_OK, .id = id, .position = elapse__queue_end(queue)};
}

struct elapse__queue_answer elapse__queue_kick_id(struct elapse__queue *queue,
                                                  struct elapse__queue_now now, uint64_t id)
{
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    struct elapse__queue_entry *entry = elapse__queue_named(queue, id);
    if (entry == NULL || (elapse__queue_state_of(entry) != ELAPSE__QUEUE_BURIED &&
                          elapse__queue_state_of(entry) != ELAPSE__QUEUE_DELAYED))
        return elapse__queue_say(ELAPSE__QUEUE_GONE, id);
    return kick_job(queue, entry);
}

struct elapse__queue_answer elapse__queue_kick_any_id(struct elapse__queue *queue,
                                                      struct elapse__queue_now now, uint64_t id)
{
    struct elapse__queue_answer answer = elapse__queue_kick_id(queue, now, id);
    const struct elapse__queue_entry *entry = elapse__queue_named(queue, id);

    if (answer.result != ELAPSE__QUEUE_GONE || entry == NULL)
        return answer;
    ELAPSE__ASSERT(elapse__queue_state_of(entry) != ELAPSE__QUEUE_DELAYED &&
                   elapse__queue_state_of(entry) != ELAPSE__QUEUE_BURIED);
    return elapse__queue_say(elapse__queue_state_of(entry) == ELAPSE__QUEUE_READY
                                 ? ELAPSE__QUEUE_OK
                                 : ELAPSE__QUEUE_RUNNING,
                             id);
}

/* ---- the soonest delayed jobs ---- */

/* Returns when a delayed job is due. The result is on one scale for both clocks. */
static uint64_t order_of_due(const struct elapse__queue *queue,
                             const struct elapse__queue_entry *entry)
{
    bool by_wall = elapse__queue_by_wall(entry);
    return entry->timer.deadline - elapse__queue_present(queue, by_wall) +
           elapse__queue_present(queue, false);
}

struct kick_item {
    uint64_t late;
    uint64_t id;
};

enum { KICK_CHUNK_BITS = 10 }; /* a chunk has 2^10 items, which take 16 KiB */

static bool comes_later(struct kick_item one, struct kick_item other)
{
    return one.late != other.late ? one.late > other.late : one.id > other.id;
}

static struct kick_item *kept_at(const struct elapse__queue_kick *kick, uint32_t place)
{
    ELAPSE__ASSERT_THAT(place, <, kick->kept);
    return elapse__queue_chunks_at(&kick->soonest, place);
}

static void sift_up(struct elapse__queue_kick *kick, struct kick_item item)
{
    uint32_t place = kick->kept++;
    while (place > 0 && comes_later(item, *kept_at(kick, (place - 1) / 2))) {
        *kept_at(kick, place) = *kept_at(kick, (place - 1) / 2);
        place = (place - 1) / 2;
    }
    *kept_at(kick, place) = item;
}

/* Puts the item in the place of the first item of the heap. */
static void sift_down(struct elapse__queue_kick *kick, struct kick_item item)
{
    uint32_t place = 0;
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= kick->kept)
            break;
        if (child + 1 < kick->kept && comes_later(*kept_at(kick, child + 1), *kept_at(kick, child)))
            child++;
        if (!comes_later(*kept_at(kick, child), item))
            break;
        *kept_at(kick, place) = *kept_at(kick, child);
        place = child;
    }
    *kept_at(kick, place) = item;
}

/* Adds an item to the heap `soonest`. The first item of the heap is the job that is due last. If
 * the heap is full, its first item is dropped. Returns false if there is no memory. */
static bool keep_item(struct elapse__queue *queue, struct elapse__queue_kick *kick,
                      struct kick_item item, uint32_t most)
{
    ELAPSE__ASSERT_THAT(kick->kept, <=, most);
    if (kick->kept < most) {
        if (!elapse__queue_chunks_reserve(&kick->soonest, (uint64_t)kick->kept + 1, &queue->memory))
            return false;
        sift_up(kick, item);
    } else if (comes_later(*kept_at(kick, 0), item)) {
        sift_down(kick, item);
    }
    return true;
}

/* Returns the next delayed job of the tube after the cursor and before `end`. Returns NULL if there
 * is none. */
static struct elapse__queue_entry *next_delayed(const struct elapse__queue *queue,
                                                const struct elapse__queue_tube *tube,
                                                uint32_t *cursor, uint32_t end)
{
    while (++*cursor < end) {
        struct elapse__queue_entry *entry = elapse__queue_entry_at(&queue->jobs, *cursor);
        if (elapse__queue_state_of(entry) == ELAPSE__QUEUE_DELAYED &&
            elapse__queue_is_in(queue, entry, tube))
            return entry;
    }
    --*cursor;
    return NULL;
}

/* Returns the end of a slice that begins at the cursor and has `most` places. */
static uint32_t end_of_slice(const struct elapse__queue *queue, uint32_t cursor, uint32_t most)
{
    uint64_t end = (uint64_t)cursor + 1 + most;
    return end < queue->jobs.fresh ? (uint32_t)end : queue->jobs.fresh;
}

/* Returns the greatest number of jobs that the pass may choose. */
static uint32_t most_of_pass(const struct elapse__queue_kick *kick)
{
    uint64_t left = kick->wanted - kick->kicked;
    uint32_t most = kick->pass_max == 0 ? ELAPSE__QUEUE_KICK_PASS_MAX : kick->pass_max;
    return left < most ? (uint32_t)left : most;
}

/* Chooses jobs in one slice of the pass over all places. */
static enum elapse__queue_result choose_items(struct elapse__queue *queue,
                                              const struct elapse__queue_tube *tube,
                                              struct elapse__queue_kick *kick)
{
    uint32_t most = most_of_pass(kick);
    uint32_t end = end_of_slice(queue, kick->cursor, ELAPSE__QUEUE_TURN_MAX);
    const struct elapse__queue_entry *entry = NULL;
    while ((entry = next_delayed(queue, tube, &kick->cursor, end)) != NULL) {
        struct kick_item item = {order_of_due(queue, entry), elapse__queue_id(entry)};
        if (!keep_item(queue, kick, item, most))
            return ELAPSE__QUEUE_NO_MEMORY;
    }
    if (end < queue->jobs.fresh)
        return ELAPSE__QUEUE_KEPT;
    kick->cursor = 0;
    kick->chosen = true;
    kick->full = kick->kept == most;
    return ELAPSE__QUEUE_OK;
}

/* Kicks some of the jobs that the pass has chosen. After the last of these jobs another pass
 * begins, if this pass could not choose enough jobs. */
static enum elapse__queue_result kick_items(struct elapse__queue *queue,
                                            struct elapse__queue_kick *kick)
{
    for (uint32_t i = 0; i < ELAPSE__QUEUE_KICK_MAX && kick->kept > 0; i++) {
        uint64_t id = kept_at(kick, kick->kept - 1)->id;
        struct elapse__queue_entry *entry = elapse__queue_entry_find(&queue->jobs, id);
        if (entry != NULL && elapse__queue_state_of(entry) == ELAPSE__QUEUE_DELAYED) {
            struct elapse__queue_answer answer = kick_job(queue, entry);
            if (answer.result != ELAPSE__QUEUE_OK)
                return answer.result; /* the next call begins with this job again */
            kick->kicked++;
            kick->position = answer.position;
        }
        kick->kept--;
    }
    if (kick->kept > 0)
        return ELAPSE__QUEUE_KEPT;
    kick->chosen = false;
    return kick->full && kick->kicked < kick->wanted ? ELAPSE__QUEUE_KEPT : ELAPSE__QUEUE_OK;
}

static enum elapse__queue_result kick_delayed(struct elapse__queue *queue,
                                              const struct elapse__queue_tube *tube,
                                              struct elapse__queue_kick *kick)
{
    if (kick->soonest.item_bytes == 0)
        elapse__queue_chunks_init(&kick->soonest, KICK_CHUNK_BITS, sizeof(struct kick_item));
    if (!kick->chosen) {
        enum elapse__queue_result result = choose_items(queue, tube, kick);
        if (result != ELAPSE__QUEUE_OK)
            return result;
    }
    return kick_items(queue, kick);
}

void elapse__queue_kick_end(const struct elapse__queue *queue, struct elapse__queue_kick *kick)
{
    elapse__queue_chunks_free(&kick->soonest, &queue->memory);
}

enum elapse__queue_result elapse__queue_kick(struct elapse__queue *queue,
                                             struct elapse__queue_now now,
                                             struct elapse__queue_kick *kick)
{
    ELAPSE__ASSERT(queue->open);
    elapse__queue_take_now(queue, now);
    struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, kick->tube);
    if (tube == NULL || kick->kicked >= kick->wanted)
        return ELAPSE__QUEUE_OK;
    if (kick->kicked == 0 && elapse__ring_empty(&tube->buried) && !kick->only_buried)
        kick->delayed = true;
    ELAPSE__ASSERT(!kick->delayed || !kick->only_buried);
    if (kick->delayed)
        return kick_delayed(queue, tube, kick);
    for (uint32_t i = 0; i < ELAPSE__QUEUE_KICK_MAX; i++) {
        if (kick->kicked >= kick->wanted || elapse__ring_empty(&tube->buried))
            return ELAPSE__QUEUE_OK;
        struct elapse__queue_answer answer =
            kick_job(queue, elapse__queue_entry_of(elapse__ring_timer(tube->buried.next)));
        if (answer.result != ELAPSE__QUEUE_OK)
            return answer.result;
        kick->kicked++;
        kick->position = answer.position;
    }
    return ELAPSE__QUEUE_KEPT;
}

bool elapse__queue_peek_delayed(struct elapse__queue *queue, struct elapse__queue_now now,
                                struct elapse__queue_soonest *soonest, uint32_t most)
{
    elapse__queue_take_now(queue, now);
    const struct elapse__queue_tube *tube = elapse__queue_tube_find(queue, soonest->tube);
    if (tube == NULL)
        return true;
    uint32_t end = end_of_slice(queue, soonest->cursor, most);
    const struct elapse__queue_entry *entry = NULL;
    while ((entry = next_delayed(queue, tube, &soonest->cursor, end)) != NULL) {
        struct kick_item item = {order_of_due(queue, entry), elapse__queue_id(entry)};
        struct kick_item best = {soonest->late, soonest->id};
        if (soonest->id == 0 || comes_later(best, item)) {
            soonest->id = item.id;
            soonest->late = item.late;
        }
    }
    return end == queue->jobs.fresh;
}
