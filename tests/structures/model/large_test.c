/*
 * The model test for many timers: a hundred thousand timers are compared in each round with what a
 * walk over all of them says is due.
 *
 * Usage: large_test --structure NAME [--seed N]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kind.h"
#include "random.h"

enum { TIMERS = 100000, ROUNDS = 60, MAX_MOVES = 500, DEFAULT_SEED_SHIFT = 16 };

struct expectation {
    bool pending;
    bool any_position; /* was started again while pending, not for earlier (promise 4) */
    uint64_t deadline;
    uint64_t arming;
};

struct large {
    const struct kind *kind;
    const struct elapse_structure *structure;
    void *instance;
    void *storage;
    struct elapse_timer *timers;
    struct expectation *expected;
    uint64_t *due; /* deadlines, sorted */
    size_t due_count;
    size_t count;
    uint64_t armings;
    uint64_t postponements;
    uint64_t now;
    struct random_source source;
};

static bool fail(const char *what, uint64_t number)
{
    fprintf(stderr, "%s (%" PRIu64 ")\n", what, number);
    return false;
}

static uint64_t draw_deadline(struct large *large)
{
    static const unsigned reach_bits[] = {4, 10, 20, 20, 30, 63};
    uint64_t distance = random_below(&large->source, UINT64_C(1) << 17);
    uint64_t kind = random_below(&large->source, 8);

    if (kind < sizeof reach_bits / sizeof *reach_bits)
        distance = random_of_bits(&large->source, reach_bits[kind]);
    else if (random_one_in(&large->source, 2))
        distance &= ~UINT64_C(0xFFF);
    distance %= ELAPSE_TIME_MAX;
    return distance < ELAPSE_NEVER - large->now ? large->now + distance : ELAPSE_NEVER;
}

static bool start(struct large *large, size_t number)
{
    struct expectation *expected = &large->expected[number];
    uint64_t deadline = draw_deadline(large);

    if (large->structure->start(large->instance, &large->timers[number], deadline) != ELAPSE_OK)
        return fail("start failed, timer", number);
    expected->any_position =
        large->kind->any_position && expected->pending && deadline >= expected->deadline;
    large->postponements += expected->pending && deadline > expected->deadline;
    large->count += !expected->pending;
    expected->pending = true;
    expected->deadline = deadline;
    expected->arming = large->armings++;
    return true;
}

static bool disturb(struct large *large, size_t operations)
{
    for (size_t i = 0; i < operations; i++) {
        size_t number = random_index(&large->source, TIMERS);
        struct expectation *expected = &large->expected[number];

        if (random_one_in(&large->source, 4)) {
            if (large->structure->stop(large->instance, &large->timers[number]) !=
                expected->pending)
                return fail("stop answered wrongly, timer", number);
            large->count -= expected->pending;
            expected->pending = false;
        } else if (!start(large, number)) {
            return false;
        }
    }
    return true;
}

static int compare_ticks(const void *one, const void *other)
{
    uint64_t first = *(const uint64_t *)one;
    uint64_t second = *(const uint64_t *)other;

    return (first > second) - (first < second);
}

/* Advances, collects the deadlines that are due by then, and compares next with the least. */
static bool advance(struct large *large)
{
    uint64_t distance = random_of_bits(&large->source, 22) % ELAPSE_TIME_MAX;
    uint64_t least = ELAPSE_NEVER;

    if (distance < ELAPSE_TIME_MAX - large->now)
        large->now += distance;
    large->structure->advance(large->instance, large->now);
    large->due_count = 0;
    for (size_t i = 0; i < TIMERS; i++) {
        const struct expectation *expected = &large->expected[i];

        if (expected->pending && expected->deadline < least)
            least = expected->deadline;
        if (expected->pending && expected->deadline <= large->now)
            large->due[large->due_count++] = expected->deadline;
    }
    qsort(large->due, large->due_count, sizeof *large->due, compare_ticks);
    if (large->structure->next(large->instance) > least)
        return fail("next is late: least is", least);
    return true;
}

/* Checks promise 6: at most one move a level for each arming, and one more for each postponement.
 */
static bool moves_are_bounded(const struct large *large)
{
    uint64_t moves = large->structure->moves(large->instance);
    uint64_t bound = large->kind->moves_per_start * large->armings +
                     large->kind->moves_per_postponement * large->postponements;

    return large->kind->moves_per_start == 0 || moves <= bound || fail("too many moves", moves);
}

/* Cascades until nothing is left to move, and checks promise 6: each call moves no more timers than
 * it may, and a call that asks to be called again has moved a timer. As moves are bounded, this
 * comes to an end. */
static bool cascade_all(struct large *large)
{
    bool cascaded = false;

    while (!cascaded) {
        uint64_t before = large->structure->moves(large->instance);

        cascaded = large->structure->cascade(large->instance, MAX_MOVES);
        uint64_t moved = large->structure->moves(large->instance) - before;
        if (moved > MAX_MOVES)
            return fail("a cascade moved more than it may", moved);
        if (!cascaded && moved == 0)
            return fail("cascade moved nothing and is not done; now is", large->now);
        if (!moves_are_bounded(large))
            return false;
    }
    return true;
}

/* Pops all due timers. Their deadlines must be those that were found due, and timers of one
 * deadline must come in the order of arming. */
static bool pop_all(struct large *large, bool cascade)
{
    uint64_t least_arming = 0;

    for (size_t i = 0; i < large->due_count; i++) {
        if (cascade && !cascade_all(large))
            return false;
        struct elapse_timer *timer = large->structure->pop(large->instance);
        if (timer == NULL)
            return fail("pop returned NULL, but due were still", large->due_count - i);
        struct expectation *expected = &large->expected[timer - large->timers];
        if (!expected->pending || expected->deadline != large->due[i])
            return fail("popped a timer out of order, expected", large->due[i]);
        if (i == 0 || large->due[i - 1] != large->due[i])
            least_arming = 0;
        if (!expected->any_position && expected->arming < least_arming)
            return fail("popped against the order of arming at", large->due[i]);
        if (!expected->any_position)
            least_arming = expected->arming;
        expected->pending = false;
        large->count--;
    }
    if (large->structure->pop(large->instance) != NULL)
        return fail("popped a timer that is not due; now is", large->now);
    return moves_are_bounded(large);
}

static bool run(struct large *large)
{
    bool good = true;

    for (size_t i = 0; i < TIMERS && good; i++)
        good = start(large, i);
    for (uint64_t round = 0; round < ROUNDS && good; round++) {
        good = advance(large) && pop_all(large, round % 3 == 0);
        if (good && large->structure->check(large->instance) != 0)
            good = fail("check found damage in round", round);
        if (good && large->structure->count(large->instance) != large->count)
            good = fail("count is wrong in round", round);
        good = good && disturb(large, TIMERS / 2);
    }
    return good;
}

static bool prepare(struct large *large)
{
    const struct elapse_shape *shape = large->kind->shape;

    large->structure = kind_structure(large->kind);
    size_t bytes = large->structure->storage_bytes(shape, TIMERS);
    large->instance = malloc(large->structure->instance_bytes);
    large->storage = malloc(bytes + 1);
    large->timers = calloc(TIMERS, sizeof *large->timers);
    large->expected = calloc(TIMERS, sizeof *large->expected);
    large->due = calloc(TIMERS, sizeof *large->due);
    large->now = random_next(&large->source) & ELAPSE_NEVER >> 1;
    return large->instance != NULL && large->storage != NULL && large->timers != NULL &&
           large->expected != NULL && large->due != NULL &&
           large->structure->init(large->instance, shape, large->storage, bytes, large->now) ==
               ELAPSE_OK;
}

int main(int count, char **arguments)
{
    struct large large = {.source.state = (uint64_t)time(NULL) << DEFAULT_SEED_SHIFT};

    if (count >= 3)
        large.kind = kind_find(arguments[2]);
    if (count == 5)
        large.source.state = strtoull(arguments[4], NULL, 10);
    if (large.kind == NULL || (count != 3 && count != 5)) {
        fprintf(stderr, "usage: %s --structure NAME [--seed N]\n", arguments[0]);
        return 2;
    }
    printf("--structure %s --seed %" PRIu64 "\n", large.kind->name, large.source.state);
    fflush(stdout);
    bool good = prepare(&large) && run(&large);
    if (large.instance != NULL)
        large.structure->finish(large.instance);
    free(large.due);
    free(large.expected);
    free(large.timers);
    free(large.storage);
    free(large.instance);
    return good ? 0 : 1;
}
