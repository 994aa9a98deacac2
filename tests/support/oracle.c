/*
 * The oracle: an array kept sorted by deadline and number of arming.
 */
#include "oracle.h"

#include <string.h>

static bool goes_before(const struct oracle_entry *one, const struct oracle_entry *other)
{
    if (one->deadline != other->deadline)
        return one->deadline < other->deadline;
    return one->arming < other->arming;
}

void oracle_init(struct oracle *oracle, uint64_t now)
{
    memset(oracle, 0, sizeof *oracle);
    oracle_advance(oracle, now);
}

const struct oracle_entry *oracle_find(const struct oracle *oracle, size_t timer)
{
    for (size_t i = 0; i < oracle->count; i++) {
        if (oracle->entries[i].timer == timer)
            return &oracle->entries[i];
    }
    return NULL;
}

uint64_t oracle_effective(const struct oracle *oracle, uint64_t deadline)
{
    if (deadline >= ELAPSE_NEVER)
        return ELAPSE_NEVER;
    return deadline < oracle->now ? oracle->now : deadline;
}

void oracle_start(struct oracle *oracle, size_t timer, uint64_t deadline)
{
    struct oracle_entry entry = {.timer = timer, .arming = oracle->armings++};
    const struct oracle_entry *before = oracle_find(oracle, timer);

    entry.deadline = oracle_effective(oracle, deadline);
    entry.any_position = before != NULL && entry.deadline >= before->deadline;
    oracle_stop(oracle, timer);
    size_t place = oracle->count++;
    while (place > 0 && goes_before(&entry, &oracle->entries[place - 1])) {
        oracle->entries[place] = oracle->entries[place - 1];
        place--;
    }
    oracle->entries[place] = entry;
}

bool oracle_stop(struct oracle *oracle, size_t timer)
{
    size_t place = 0;

    while (place < oracle->count && oracle->entries[place].timer != timer)
        place++;
    if (place == oracle->count)
        return false;
    oracle->count--;
    for (; place < oracle->count; place++)
        oracle->entries[place] = oracle->entries[place + 1];
    return true;
}

void oracle_advance(struct oracle *oracle, uint64_t now)
{
    if (now > ELAPSE_TIME_MAX)
        now = ELAPSE_TIME_MAX;
    if (now > oracle->now)
        oracle->now = now;
}

/* Stores the first multiple of 2^bits that is not before `tick`. Returns false if there is none. */
static bool round_up(uint64_t tick, unsigned bits, uint64_t *multiple)
{
    uint64_t step = UINT64_C(1) << bits;

    if (tick % step == 0) {
        *multiple = tick;
        return true;
    }
    *multiple = tick - tick % step + step;
    return *multiple > tick;
}

uint64_t oracle_in_window(uint64_t now, uint64_t earliest, uint64_t latest)
{
    uint64_t tick = earliest;

    if (earliest >= ELAPSE_NEVER)
        return ELAPSE_NEVER;
    if (earliest < now)
        earliest = now;
    if (latest > ELAPSE_TIME_MAX)
        latest = ELAPSE_TIME_MAX;
    if (latest < earliest)
        return earliest;
    for (unsigned bits = 64; bits-- > 0;) {
        if (round_up(earliest, bits, &tick) && tick <= latest)
            break;
    }
    return tick;
}

bool oracle_due(const struct oracle *oracle)
{
    return oracle->count > 0 && oracle->entries[0].deadline <= oracle->now;
}

bool oracle_may_pop(const struct oracle *oracle, size_t timer, bool in_order)
{
    const struct oracle_entry *entry = oracle_find(oracle, timer);

    if (entry == NULL || !oracle_due(oracle))
        return false;
    if (in_order)
        return entry == &oracle->entries[0];
    if (entry->deadline != oracle->entries[0].deadline)
        return false;
    if (entry->any_position)
        return true;
    for (const struct oracle_entry *earlier = oracle->entries; earlier < entry; earlier++) {
        if (!earlier->any_position)
            return false;
    }
    return true;
}

uint64_t oracle_next(const struct oracle *oracle)
{
    return oracle->count > 0 ? oracle->entries[0].deadline : ELAPSE_NEVER;
}
