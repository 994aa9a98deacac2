/*
 * Tests what can be asked of all timers and done with them: for_each, clear, dump, check,
 * remaining, count.
 */
#include "subject.h"

#include "random.h"

enum { TIMERS = 500 };

struct visits {
    struct subject *subject;
    const struct elapse_timer *timers;
    size_t seen[TIMERS];
    size_t count;
    size_t limit; /* the walk is ended after so many timers; 0: it is not ended early */
    bool stops_odd;
};

static bool visit(struct elapse_timer *timer, void *context)
{
    struct visits *visits = context;
    size_t number = (size_t)(timer - visits->timers);

    assert_true(number < TIMERS);
    visits->seen[number]++;
    visits->count++;
    if (visits->stops_odd && number % 2 == 1)
        assert_true(stop(visits->subject, timer));
    return visits->count != visits->limit;
}

static void start_at_random(struct subject *subject, struct elapse_timer *timers)
{
    struct random_source source = {.state = 500};

    for (size_t i = 0; i < TIMERS; i++)
        start(subject, &timers[i], i % 50 == 3 ? ELAPSE_NEVER : random_of_bits(&source, 63));
}

TEST(for_each_visits_every_pending_timer_once)
{
    static struct elapse_timer timers[TIMERS];
    struct subject *subject = subject_new(0);
    struct visits visits = {.subject = subject, .timers = timers};

    subject->structure->for_each(subject->instance, visit, &visits);
    assert_int_equal(visits.count, 0);
    start_at_random(subject, timers);
    subject->structure->for_each(subject->instance, visit, &visits);
    for (size_t i = 0; i < TIMERS; i++)
        assert_int_equal(visits.seen[i], 1);
    assert_int_equal(count(subject), TIMERS);
    subject->structure->clear(subject->instance);
    subject_free(subject);
}

TEST(for_each_ends_when_the_visitor_says_so)
{
    static struct elapse_timer timers[TIMERS];
    struct subject *subject = subject_new(0);

    start_at_random(subject, timers);
    for (size_t limit = 1; limit < TIMERS; limit += 7) {
        struct visits visits = {.subject = subject, .timers = timers, .limit = limit};

        subject->structure->for_each(subject->instance, visit, &visits);
        assert_int_equal(visits.count, limit);
    }
    subject->structure->clear(subject->instance);
    subject_free(subject);
}

TEST(for_each_may_stop_the_timer_it_visits)
{
    static struct elapse_timer timers[TIMERS];

    for (size_t limit = 0; limit < TIMERS; limit += 99) {
        struct subject *subject = subject_new(0);
        struct visits visits = {
            .subject = subject, .timers = timers, .limit = limit, .stops_odd = true};
        size_t stopped = 0;

        start_at_random(subject, timers);
        subject->structure->for_each(subject->instance, visit, &visits);
        assert_int_equal(subject->structure->check(subject->instance), 0);
        for (size_t i = 0; i < TIMERS; i++) {
            assert_true(visits.seen[i] <= 1);
            stopped += !elapse_timer_pending(&timers[i]);
            if (i % 2 == 0)
                assert_true(elapse_timer_pending(&timers[i]));
        }
        assert_int_equal(count(subject), TIMERS - stopped);
        if (limit == 0)
            assert_int_equal(stopped, TIMERS / 2);
        subject->structure->clear(subject->instance);
        assert_int_equal(count(subject), 0);
        subject_free(subject);
    }
}

/* A walk that is ended early, after a stop, leaves everything in order. */
TEST(for_each_that_stopped_and_ended_leaves_order_intact)
{
    static struct elapse_timer timers[TIMERS];
    struct subject *subject = subject_new(0);
    struct visits visits = {
        .subject = subject, .timers = timers, .limit = TIMERS / 3, .stops_odd = true};

    start_at_random(subject, timers);
    subject->structure->for_each(subject->instance, visit, &visits);
    size_t pending = count(subject);
    advance(subject, ELAPSE_TIME_MAX);
    pending -= pop_all(subject);
    assert_int_equal(count(subject), pending);
    assert_true(pending <= TIMERS / 50);
    assert_true(next(subject) == ELAPSE_NEVER);
    subject->structure->clear(subject->instance);
    subject_free(subject);
}

SUBJECT_TEST_AT(clear_stops_all_and_leaves_the_time, 5)
{
    static struct elapse_timer timers[TIMERS];

    subject->structure->clear(subject->instance);
    start_at_random(subject, timers);
    advance(subject, 600);
    subject->structure->clear(subject->instance);
    assert_int_equal(count(subject), 0);
    assert_int_equal(subject->structure->now(subject->instance), 600);
    for (size_t i = 0; i < TIMERS; i++) {
        assert_false(elapse_timer_pending(&timers[i]));
        assert_false(stop(subject, &timers[i]));
    }
    start(subject, &timers[0], 601);
    assert_true(next(subject) <= 601);
    advance(subject, 601);
    expect_pop(subject, &timers[0]);
}

struct description {
    const struct elapse_timer *timers;
    size_t slots;
    size_t count;
    unsigned level;
    unsigned slot;
};

/* Returns how many timers lie in the range of the slot. Fails the test if one is before the slot's
 * least. */
static size_t count_in(const struct elapse_timer *timers, const struct elapse_slot *slot)
{
    size_t found = 0;

    for (size_t i = 0; i < TIMERS; i++) {
        uint64_t deadline = elapse_timer_deadline(&timers[i]);

        found += deadline >= slot->least && deadline <= slot->last_tick;
    }
    return found;
}

static void describe(const struct elapse_slot *slot, void *context)
{
    struct description *description = context;

    assert_true(slot->count > 0);
    assert_true(slot->first_tick <= slot->least);
    assert_true(slot->least <= slot->last_tick);
    if (description->slots > 0)
        assert_true(slot->level > description->level ||
                    (slot->level == description->level && slot->slot > description->slot));
    if (subject_kind()->disjoint_slots)
        assert_int_equal(count_in(description->timers, slot), slot->count);
    else
        assert_true(count_in(description->timers, slot) >= slot->count);
    description->level = slot->level;
    description->slot = slot->slot;
    description->slots++;
    description->count += slot->count;
}

SUBJECT_TEST(dump_describes_each_pending_timer_once_in_its_range)
{
    static struct elapse_timer timers[TIMERS];
    struct random_source source = {.state = 5};
    struct description description = {.timers = timers};

    subject->structure->dump(subject->instance, describe, &description);
    assert_int_equal(description.slots, 0);
    for (size_t i = 0; i < TIMERS; i++)
        start(subject, &timers[i], random_of_bits(&source, 63));
    subject->structure->dump(subject->instance, describe, &description);
    assert_int_equal(description.count, TIMERS);
    assert_true(description.slots > 1 || subject_kind()->one_slot);
    subject->structure->clear(subject->instance);
}

struct never_slot {
    size_t total;
    struct elapse_slot last;
};

static void add_count(const struct elapse_slot *slot, void *context)
{
    struct never_slot *seen = context;

    seen->total += slot->count;
    seen->last = *slot;
}

/* In a wheel timers of ELAPSE_NEVER are in the last slot. A timer that was postponed to
 * ELAPSE_NEVER is still in the slot of its earlier deadline. */
TEST(dump_of_timers_armed_for_never)
{
    struct elapse_timer timers[4] = {0};
    struct subject *subject = subject_new(0);
    struct never_slot seen = {0};

    start(subject, &timers[0], ELAPSE_NEVER);
    start(subject, &timers[1], 100);
    start(subject, &timers[2], 100);
    start(subject, &timers[2], ELAPSE_NEVER);
    start(subject, &timers[3], ELAPSE_NEVER);
    subject->structure->dump(subject->instance, add_count, &seen);
    assert_int_equal(seen.total, 4);
    assert_true(seen.last.last_tick == ELAPSE_NEVER);
    if (subject_kind()->disjoint_slots) {
        assert_true(seen.last.least == ELAPSE_NEVER);
        assert_true(seen.last.count >= 2);
    }
    subject_free(subject);
}

/* A timer that was postponed to ELAPSE_NEVER goes to the last slot when the slot of its earlier
 * deadline is due. */
TEST(dump_of_a_timer_postponed_to_never_after_its_first_deadline)
{
    static const uint64_t deadlines[] = {5, 1000, UINT64_C(1) << 40};

    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        struct elapse_timer timer = {0};
        struct subject *subject = subject_new(0);
        struct never_slot seen = {0};

        start(subject, &timer, deadlines[i]);
        start(subject, &timer, ELAPSE_NEVER);
        advance(subject, deadlines[i]);
        expect_no_pop(subject);
        subject->structure->dump(subject->instance, add_count, &seen);
        assert_int_equal(seen.total, 1);
        assert_true(next(subject) == ELAPSE_NEVER);
        subject_free(subject);
    }
}

SUBJECT_TEST_AT(remaining_is_the_time_to_the_deadline, 100)
{
    struct elapse_timer timer = {0};

    assert_true(subject->structure->remaining(subject->instance, &timer) == ELAPSE_NEVER);
    start(subject, &timer, 350);
    assert_int_equal(subject->structure->remaining(subject->instance, &timer), 250);
    advance(subject, 349);
    assert_int_equal(subject->structure->remaining(subject->instance, &timer), 1);
    advance(subject, 350);
    assert_int_equal(subject->structure->remaining(subject->instance, &timer), 0);
    advance(subject, 1000);
    assert_int_equal(subject->structure->remaining(subject->instance, &timer), 0);
    assert_true(elapse_timer_pending(&timer));
    expect_pop(subject, &timer);
    assert_true(subject->structure->remaining(subject->instance, &timer) == ELAPSE_NEVER);
}

SUBJECT_TEST(count_follows_every_change)
{
    struct elapse_timer timers[3] = {0};

    for (size_t i = 0; i < 3; i++) {
        start(subject, &timers[i], 50);
        start(subject, &timers[i], 60);
        assert_int_equal(count(subject), i + 1);
    }
    assert_true(stop(subject, &timers[1]));
    assert_int_equal(count(subject), 2);
    assert_true(stop(subject, &timers[0]));
    assert_int_equal(count(subject), 1);
    advance(subject, 60);
    assert_int_equal(count(subject), 1);
    expect_pop(subject, &timers[2]);
    assert_int_equal(count(subject), 0);
}

TEST_MAIN_OF_SUBJECTS
