/*
 * Makes random operations. Deadlines are near, clustered, on borders of levels, far, past or never.
 * Times go on slowly, jump, or go back.
 */
#include "generate.h"

enum { TIME_BITS = ELAPSE__TIME_BITS };

static uint64_t saturate(uint64_t tick, uint64_t distance)
{
    return distance > ELAPSE_NEVER - tick ? ELAPSE_NEVER : tick + distance;
}

static uint64_t draw_origin(struct random_source *source)
{
    switch (random_below(source, 7)) {
    case 0:
        return 0;
    case 1:
        return (ELAPSE_NEVER >> 1) + 1;
    case 2:
        return ELAPSE_NEVER - (ELAPSE_NEVER >> (TIME_BITS - TIME_BITS / 3));
    case 3:
        return ELAPSE_NEVER - (TIME_BITS > 8 ? 99 : 20);
    case 4:
        return random_of_bits(source, TIME_BITS);
    default:
        return random_next(source) & ELAPSE_NEVER;
    }
}

struct run_character character_draw(struct random_source *source)
{
    static const size_t populations[] = {2, 3, 4, 6, 8, 12, 20, 32, 48, ORACLE_CAPACITY};
    struct run_character character = {
        .origin = draw_origin(source),
        .timers = populations[random_below(source, sizeof populations / sizeof *populations)],
        .capacity = 1 + random_index(source, 4),
        .operations = 50 + random_index(source, TIME_BITS > 8 ? 1000 : 150),
        .reach_bits = 1 + (unsigned)random_below(source, TIME_BITS),
        .far_one_in = 10 + (unsigned)random_below(source, 200),
        .pure = random_one_in(source, 5),
    };

    for (size_t i = 0; i < 3; i++)
        character.shared_ticks[i] =
            saturate(character.origin, random_of_bits(source, character.reach_bits));
    return character;
}

/* Returns a tick beside a border between slots, at a level drawn at random. */
static uint64_t draw_border(struct random_source *source, uint64_t now, unsigned bits)
{
    unsigned shift = (unsigned)random_below(source, bits);
    uint64_t slot = (now >> shift) + 1 + random_below(source, 3);

    if (slot > (ELAPSE_NEVER >> shift))
        return ELAPSE_TIME_MAX;
    return saturate((slot << shift) - 1, random_below(source, 3));
}

static uint64_t draw_deadline(struct random_source *source, const struct run_character *character,
                              const struct oracle *oracle)
{
    uint64_t now = oracle->now;

    if (random_one_in(source, character->far_one_in)) {
        static const uint64_t ends[] = {ELAPSE_NEVER, ELAPSE_TIME_MAX, ELAPSE_TIME_MAX - 1, 0};

        /* If time has fewer bits than 64, a deadline beyond them means never. */
        if (TIME_BITS < 64 && random_one_in(source, 4))
            return ELAPSE_NEVER + random_below(source, 50);
        if (random_one_in(source, 2))
            return ends[random_below(source, sizeof ends / sizeof *ends)];
        return random_next(source) & ELAPSE_NEVER;
    }
    switch (random_below(source, 8)) {
    case 0:
        return saturate(now, random_below(source, 8));
    case 1:
        return saturate(now, random_below(source, 300) & ELAPSE_NEVER);
    case 2:
        return saturate(character->shared_ticks[random_below(source, 3)],
                        random_one_in(source, 4) ? 1 : 0);
    case 3:
        if (oracle->count > 0)
            return oracle->entries[random_below(source, oracle->count)].deadline;
        return now;
    case 4:
        return draw_border(source, now, character->reach_bits);
    case 5:
        return now - (random_of_bits(source, TIME_BITS) % (now + 1));
    default:
        return saturate(now, random_of_bits(source, character->reach_bits));
    }
}

static uint64_t draw_time(struct random_source *source, const struct run_character *character,
                          const struct oracle *oracle)
{
    uint64_t now = oracle->now;
    uint64_t some = now;

    if (oracle->count > 0)
        some = oracle->entries[random_below(source, (oracle->count + 1) / 2)].deadline;
    if (some == ELAPSE_NEVER || random_one_in(source, 4 * character->far_one_in))
        return random_one_in(source, character->far_one_in)
                   ? random_next(source) & ELAPSE_NEVER
                   : saturate(now, random_of_bits(source, character->reach_bits));
    switch (random_below(source, 7)) {
    case 0:
        return some;
    case 1:
        return saturate(some, 1);
    case 2:
        return some > 0 ? some - 1 : 0;
    case 3:
        return saturate(now, 1);
    case 4:
        return draw_border(source, now, (character->reach_bits + 1) / 2);
    case 5:
        return now - (random_of_bits(source, TIME_BITS) % (now + 1));
    default:
        return saturate(now, random_of_bits(source, (character->reach_bits + 1) / 2));
    }
}

/* Returns whether a timer may be started: in a pure run only while it is idle. */
static bool may_start(const struct run_character *character, const struct oracle *oracle,
                      unsigned timer)
{
    return !character->pure || oracle_find(oracle, timer) == NULL;
}

static struct operation draw_start(struct random_source *source,
                                   const struct run_character *character,
                                   const struct oracle *oracle)
{
    struct operation operation = {.kind = OPERATION_START,
                                  .timer = (unsigned)random_below(source, character->timers)};

    if (!may_start(character, oracle, operation.timer))
        return (struct operation){.kind = OPERATION_POP};
    operation.first = draw_deadline(source, character, oracle);
    if (random_one_in(source, 8)) {
        operation.kind = OPERATION_START_WINDOW;
        operation.second =
            random_one_in(source, 3)
                ? draw_deadline(source, character, oracle)
                : saturate(operation.first & ELAPSE_NEVER, random_of_bits(source, TIME_BITS / 2));
    }
    return operation;
}

static struct operation draw_rare(struct random_source *source,
                                  const struct run_character *character)
{
    struct operation operation = {.kind = OPERATION_INSPECT};

    if (character->pure)
        return operation;
    switch (random_below(source, 12)) {
    case 0:
        operation.kind = OPERATION_CLEAR;
        break;
    case 1:
    case 2:
        operation.kind = OPERATION_STOP_VISITED;
        operation.first = 1 + random_below(source, 4);
        break;
    default:
        break;
    }
    return operation;
}

struct operation operation_draw(struct random_source *source, const struct run_character *character,
                                const struct oracle *oracle)
{
    struct operation operation = {.kind = OPERATION_POP};
    uint64_t choice = random_below(source, 100);

    if (choice < 38)
        return draw_start(source, character, oracle);
    if (choice < 44 && !character->pure) {
        operation.kind = OPERATION_STOP;
        operation.timer = (unsigned)random_below(source, character->timers);
    } else if (choice < 58) {
        operation.kind = OPERATION_ADVANCE;
        operation.first = draw_time(source, character, oracle);
    } else if (choice < 82) {
        operation.kind = OPERATION_POP;
    } else if (choice < 86) {
        operation.kind = OPERATION_POP_ALL;
    } else if (choice < 93) {
        operation.kind = OPERATION_CASCADE;
        operation.first = random_below(source, 4);
    } else if (choice < 94) {
        operation.kind = OPERATION_CASCADE_ALL;
        operation.first = 1 + random_below(source, 3);
    } else if (choice < 96) {
        operation.kind = OPERATION_CASCADE_AHEAD;
        operation.first = random_below(source, 4);
    } else if (choice < 99) {
        operation.kind = OPERATION_FOLLOW_NEXT;
    } else {
        return draw_rare(source, character);
    }
    return operation;
}
