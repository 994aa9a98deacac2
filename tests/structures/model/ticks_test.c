/*
 * Tests promise 6 (docs/promises.md) of the wheel: searches for the tick that moves most timers.
 * Time advances tick by tick, and each tick pops until NULL. Quiet times with some lone timers take
 * turns with bursts. Most bursts come shortly before a slot of some level is needed. A burst starts
 * idle timers, and postpones pending timers.
 *
 * Usage: ticks_test [--seed N]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <elapse/wheel.h>

#include "random.h"

enum {
    A_SLOT = ELAPSE__WHEEL_BATCH + ELAPSE__WHEEL_FEW,
    /* A batch is more than the equal share of all timers, so that it is the bound. */
    TIMERS = 20 * A_SLOT,
    /* Slots of two levels may be cascaded in one tick, or one beside timers of level 0 that were
     * postponed. */
    MOST_MOVES = 2 * A_SLOT,
    RUNS = 60,
    BURSTS = 6,
    LONE = 3,
    DEFAULT_SEED_SHIFT = 16,
};

struct search {
    struct elapse_wheel wheel;
    struct elapse_timer timers[TIMERS];
    uint64_t armings[TIMERS]; /* 0: the timer was started again while pending, at any position */
    uint64_t arming;
    uint64_t most; /* the most moves of one tick */
    struct random_source source;
};

static bool fail(const char *what, uint64_t number)
{
    fprintf(stderr, "%s (%" PRIu64 ")\n", what, number);
    return false;
}

static void start(struct search *search, size_t number, uint64_t deadline)
{
    struct elapse_timer *timer = &search->timers[number];

    search->armings[number] = elapse_timer_pending(timer) ? 0 : ++search->arming;
    elapse_wheel_start(&search->wheel, timer, deadline);
}

static bool pop_tick(struct search *search, uint64_t tick)
{
    uint64_t before = elapse_wheel_moves(&search->wheel);
    uint64_t least_arming = 0;
    const struct elapse_timer *timer;

    elapse_wheel_advance(&search->wheel, tick);
    while ((timer = elapse_wheel_pop(&search->wheel)) != NULL) {
        uint64_t arming = search->armings[timer - search->timers];

        if (elapse_timer_deadline(timer) != tick)
            return fail("popped at the wrong tick", tick);
        if (arming != 0 && arming < least_arming)
            return fail("popped against the order of arming", tick);
        least_arming = arming != 0 ? arming : least_arming;
    }
    uint64_t moves = elapse_wheel_moves(&search->wheel) - before;
    search->most = moves > search->most ? moves : search->most;
    return moves <= MOST_MOVES || fail("too many moves in a tick", moves);
}

/* Lets time advance until `end`, tick by tick. Leaves out ticks at which nothing is due and nothing
 * can be moved, because a pop does nothing then. */
static bool tick_until(struct search *search, uint64_t end)
{
    struct elapse_wheel *wheel = &search->wheel;

    while (elapse_wheel_now(wheel) < end) {
        uint64_t tick = elapse_wheel_now(wheel) + 1;
        uint64_t next = elapse_wheel_next(wheel);
        uint64_t cascade = elapse_wheel_next_cascade(wheel);

        next = cascade < next ? cascade : next;
        next = end < next ? end : next;
        if (!pop_tick(search, next > tick ? next : tick))
            return false;
    }
    return true;
}

/* Returns the first tick of a slot of a level drawn at random, not too far away. */
static uint64_t draw_slot(struct search *search)
{
    unsigned level = 1 + (unsigned)random_below(&search->source, 4);
    unsigned shift = ELAPSE__WHEEL_LEVEL_0_BITS + (level - 1) * ELAPSE__WHEEL_DIGIT_BITS;
    uint64_t now = elapse_wheel_now(&search->wheel);

    return ((now >> shift) + 2 + random_below(&search->source, 3)) << shift;
}

static void start_burst(struct search *search, uint64_t slot)
{
    struct random_source *source = &search->source;
    uint64_t span = random_one_in(source, 3) ? 1 : 1 + random_below(source, 300);
    uint64_t first = slot + random_below(source, 200);
    bool postpone = random_one_in(source, 2);

    for (size_t i = LONE; i < TIMERS; i++) {
        if (postpone || !elapse_timer_pending(&search->timers[i]))
            start(search, i, first + random_below(source, span));
    }
}

static bool quiet_then_burst(struct search *search)
{
    struct random_source *source = &search->source;
    uint64_t slot = draw_slot(search);

    for (size_t i = 0; i < LONE; i++) {
        uint64_t distance = random_below(source, 400);
        uint64_t deadline = random_one_in(source, 2) ? slot + distance : slot - distance;

        if (random_one_in(source, 2) && deadline > elapse_wheel_now(&search->wheel))
            start(search, i, deadline);
    }
    uint64_t burst = slot + 64 - random_below(source, 3 * 64);
    if (!tick_until(search, burst))
        return false;
    for (uint64_t i = random_below(source, 3);; i--) {
        start_burst(search, elapse_wheel_now(&search->wheel) + 1 +
                                (random_one_in(source, 2) ? slot > burst ? slot - burst : 0 : 0));
        if (i == 0)
            break;
        if (!tick_until(search, elapse_wheel_now(&search->wheel) + random_below(source, 120)))
            return false;
    }
    return elapse_wheel_check(&search->wheel) == 0 || fail("check found damage at", burst);
}

static bool run(struct search *search)
{
    memset(search->timers, 0, sizeof search->timers);
    if (elapse_wheel_init(&search->wheel, random_below(&search->source, UINT64_C(1) << 40)) !=
        ELAPSE_OK)
        return fail("init", 0);
    for (size_t burst = 0; burst < BURSTS; burst++) {
        if (!quiet_then_burst(search))
            return false;
    }
    while (elapse_wheel_count(&search->wheel) > 0) {
        if (!tick_until(search, elapse_wheel_now(&search->wheel) + 1000000))
            return false;
    }
    return true;
}

int main(int count, char **arguments)
{
    static struct search search;
    uint64_t seed = (uint64_t)time(NULL) << DEFAULT_SEED_SHIFT;

    if (count == 3)
        seed = strtoull(arguments[2], NULL, 10);
    else if (count != 1)
        return fail("usage: ticks_test [--seed N]; arguments", (uint64_t)count), 2;
    for (size_t i = 0; i < RUNS; i++) {
        search.source.state = seed + i;
        if (!run(&search)) {
            fprintf(stderr, "Replay: --seed %" PRIu64 "\n", seed + i);
            return 1;
        }
    }
    printf("at most %" PRIu64 " moves in a tick, %d may be; --seed %" PRIu64 "\n", search.most,
           (int)MOST_MOVES, seed);
    return 0;
}
