#include "guesses.h"

#include "../../base/assert.h"

enum { SECOND_MS = 1000 };

/* Returns the entry of a place. Places can share an entry. If the entry belongs to another place
 * that was quiet for a second and has nothing left for the log, this place gets the entry. */
static struct elapse__guess_place *find(struct elapse__guesses *guesses, uint64_t place,
                                        uint64_t now_ms)
{
    uint64_t mixed = place * UINT64_C(0x9e3779b97f4a7c15);
    struct elapse__guess_place *entry = &guesses->places[mixed >> 56];

    _Static_assert(ELAPSE__GUESS_PLACES == 256, "a byte of the product is an entry");
    if (entry->place != place && entry->unsaid == 0 && now_ms - entry->since_ms >= SECOND_MS)
        *entry = (struct elapse__guess_place){.place = place, .since_ms = now_ms};
    return entry;
}

uint64_t elapse__guesses_note(struct elapse__guesses *guesses, uint64_t place, uint64_t now_ms)
{
    struct elapse__guess_place *entry = find(guesses, place, now_ms);

    ELAPSE__ASSERT_THAT(now_ms, >=, entry->since_ms);
    if (now_ms - entry->since_ms >= SECOND_MS) {
        entry->since_ms = now_ms;
        entry->count = 0;
    }
    entry->count += entry->count < UINT32_MAX;
    entry->unsaid += entry->unsaid < UINT32_MAX;
    guesses->total++;
    return entry->count > ELAPSE__GUESSES_A_SECOND ? ELAPSE__GUESS_LONG_MS : ELAPSE__GUESS_MS;
}

bool elapse__guesses_take(struct elapse__guesses *guesses, uint64_t *place, uint32_t *count)
{
    for (unsigned i = 0; i < ELAPSE__GUESS_PLACES; i++) {
        struct elapse__guess_place *entry = &guesses->places[i];
        if (entry->unsaid == 0)
            continue;
        *place = entry->place;
        *count = entry->unsaid;
        entry->unsaid = 0;
        return true;
    }
    return false;
}
