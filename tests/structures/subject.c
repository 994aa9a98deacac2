/*
 * The structure under test (the subject).
 */
#include "subject.h"

/* How many kinds of structure have had their turn, the present one included. */
static size_t turns;

bool subject_turn(void)
{
    return kind_at(turns++) != NULL;
}

const char *subject_name(void)
{
    return kind_at(turns - 1)->name;
}

const struct kind *subject_kind(void)
{
    return kind_at(turns - 1);
}

struct subject *subject_new(uint64_t now)
{
    struct subject *subject = malloc(sizeof *subject);
    const struct elapse_shape *shape = subject_kind()->shape;

    assert_non_null(subject);
    subject->structure = kind_structure(subject_kind());
    size_t bytes = subject->structure->storage_bytes(shape, SUBJECT_CAPACITY);
    subject->instance = malloc(subject->structure->instance_bytes);
    subject->storage = malloc(bytes + 1);
    assert_non_null(subject->instance);
    assert_non_null(subject->storage);
    assert_int_equal(
        subject->structure->init(subject->instance, shape, subject->storage, bytes, now),
        ELAPSE_OK);
    return subject;
}

void subject_free(struct subject *subject)
{
    assert_int_equal(subject->structure->check(subject->instance), 0);
    subject->structure->finish(subject->instance);
    free(subject->storage);
    free(subject->instance);
    free(subject);
}

void start(struct subject *subject, struct elapse_timer *timer, uint64_t deadline)
{
    assert_int_equal(subject->structure->start(subject->instance, timer, deadline), ELAPSE_OK);
    assert_true(elapse_timer_pending(timer));
}

void start_window(struct subject *subject, struct elapse_timer *timer, uint64_t earliest,
                  uint64_t latest)
{
    assert_int_equal(subject->structure->start_window(subject->instance, timer, earliest, latest),
                     ELAPSE_OK);
    assert_true(elapse_timer_pending(timer));
}

bool stop(struct subject *subject, struct elapse_timer *timer)
{
    bool stopped = subject->structure->stop(subject->instance, timer);

    assert_false(elapse_timer_pending(timer));
    return stopped;
}

void advance(struct subject *subject, uint64_t now)
{
    subject->structure->advance(subject->instance, now);
}

struct elapse_timer *pop(struct subject *subject)
{
    return subject->structure->pop(subject->instance);
}

uint64_t next(const struct subject *subject)
{
    return subject->structure->next(subject->instance);
}

size_t count(const struct subject *subject)
{
    return subject->structure->count(subject->instance);
}

void expect_pop(struct subject *subject, const struct elapse_timer *timer)
{
    assert_ptr_equal(pop(subject), timer);
    assert_false(elapse_timer_pending(timer));
}

void expect_no_pop(struct subject *subject)
{
    assert_null(pop(subject));
}

size_t pop_all(struct subject *subject)
{
    const struct elapse_timer *timer;
    uint64_t before = 0;
    size_t popped = 0;

    while ((timer = pop(subject)) != NULL) {
        uint64_t deadline = elapse_timer_deadline(timer);

        assert_false(elapse_timer_pending(timer));
        assert_true(deadline <= subject->structure->now(subject->instance));
        assert_true(deadline >= before);
        before = deadline;
        popped++;
        assert_true(popped <= SUBJECT_CAPACITY);
    }
    return popped;
}

bool next_may_be_early(void)
{
    return subject_kind()->next == NEXT_EARLY || subject_kind()->next == NEXT_A_TURN_AHEAD;
}

void expect_next(struct subject *subject, uint64_t least)
{
    if (!next_may_be_early())
        assert_true(next(subject) == least);
    assert_true(next(subject) <= least);
    if (subject_kind()->next == NEXT_A_TURN_AHEAD)
        assert_true((next(subject) == ELAPSE_NEVER) == (least == ELAPSE_NEVER));
}

static bool lower(struct elapse_timer *timer, void *least)
{
    uint64_t *deadline = least;

    if (elapse_timer_deadline(timer) < *deadline)
        *deadline = elapse_timer_deadline(timer);
    return true;
}

uint64_t wake_up(struct subject *subject)
{
    uint64_t least = ELAPSE_NEVER;

    if (subject_kind()->next != NEXT_A_TURN_AHEAD)
        return next(subject);
    subject->structure->for_each(subject->instance, lower, &least);
    expect_next(subject, least);
    return least;
}

size_t follow_next(struct subject *subject)
{
    enum { SPURIOUS_WAKE_UPS = 100 };
    size_t popped = 0;

    for (size_t spurious = 0; popped == 0; spurious++) {
        uint64_t tick = spurious < SPURIOUS_WAKE_UPS ? next(subject) : wake_up(subject);

        advance(subject, tick);
        popped = pop_all(subject);
        assert_true(next(subject) > tick || tick == ELAPSE_NEVER);
        if (!next_may_be_early() || next(subject) == ELAPSE_NEVER)
            break;
    }
    return popped;
}
