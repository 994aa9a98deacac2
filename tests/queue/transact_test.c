/*
 * Transactions: many changes in one group, of which all are made or none.
 */
#include "fixture.h"

#include "equal.h"
#include "random.h"
#include "transact.h"
#include "tubes.h"

enum { CHANGES = 16 };

static struct elapse__queue_answer answers[ELAPSE__QUEUE_CHANGES_MAX];

static struct elapse__queue_change put_of(struct elapse__queue_put put)
{
    return (struct elapse__queue_change){.verb = ELAPSE__QUEUE_PUT, .put = put};
}

static struct elapse__queue_change by_key(enum elapse__queue_verb verb, const char *key)
{
    struct elapse__queue_change change = {.verb = verb};
    change.named.tube = text("t");
    change.named.key = text(key);
    return change;
}

static struct elapse__queue_change by_id(enum elapse__queue_verb verb, uint64_t id)
{
    struct elapse__queue_change change = {.verb = verb};
    change.named.id = id;
    return change;
}

static struct elapse__queue_change of_lease(enum elapse__queue_verb verb,
                                            const struct elapse__queue_handed *handed)
{
    struct elapse__queue_change change = {.verb = verb};
    change.held.holder = holder(handed);
    return change;
}

static enum elapse__queue_result
transact(struct fixture *f, const struct elapse__queue_change *changes, uint32_t count)
{
    enum elapse__queue_result result =
        elapse__queue_transact(f->queue, f->now, changes, count, answers).result;
    ok(f);
    return result;
}

static struct elapse__queue_put with_token(const char *token)
{
    struct elapse__queue_put put = job("b");
    put.token = text(token);
    return put;
}

QUEUE_TEST(the_changes_of_a_transaction_see_those_before)
{
    const struct elapse__queue_change changes[] = {
        put_of(keyed("k", ELAPSE__QUEUE_REPLACE)),
        put_of(keyed("k", ELAPSE__QUEUE_KEEP)),
        put_of(keyed("k", ELAPSE__QUEUE_FAIL)),
        by_key(ELAPSE__QUEUE_CANCEL, "k"),
        by_key(ELAPSE__QUEUE_CANCEL, "k"),
        put_of(with_token("once")),
        put_of(with_token("once")),
    };
    const enum elapse__queue_result expected[] = {
        ELAPSE__QUEUE_SCHEDULED, ELAPSE__QUEUE_KEPT, ELAPSE__QUEUE_KEY_TAKEN,
        ELAPSE__QUEUE_REMOVED,   ELAPSE__QUEUE_GONE, ELAPSE__QUEUE_SCHEDULED,
        ELAPSE__QUEUE_KNOWN,
    };
    assert_ok(transact(f, changes, 7));
    for (unsigned i = 0; i < 7; i++)
        assert_int_equal(answers[i].result, expected[i]);
    assert_int_equal(answers[6].id, answers[5].id);
    assert_int_equal(elapse__queue_jobs(f->queue), 1);
}

QUEUE_TEST(all_records_of_a_transaction_are_in_one_group)
{
    struct elapse__queue_put recurring = job("b");
    recurring.when = ELAPSE__QUEUE_EVERY;
    recurring.period_ms = 1000;
    put(f, job("one"), ELAPSE__QUEUE_SCHEDULED);
    put(f, keyed("old", ELAPSE__QUEUE_REPLACE), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    size_t before = f->log.count;
    unsigned groups = f->log.groups;
    const struct elapse__queue_change changes[] = {
        of_lease(ELAPSE__QUEUE_LEASED, &handed),
        of_lease(ELAPSE__QUEUE_ACK, &handed),
        put_of(recurring),
        by_key(ELAPSE__QUEUE_RESCHEDULE, "old"),
        put_of(keyed("old", ELAPSE__QUEUE_REPLACE)),
        put_of(with_token("x")),
    };
    assert_ok(transact(f, changes, 6));
    assert_int_equal(f->log.groups, groups + 1);
    assert_true(f->log.count >= before + 7);
    for (size_t i = before; i < f->log.count; i++)
        assert_int_equal(f->log.records[i].group, groups + 1);
    assert_false(exists(f, handed.id));
    restart(f, 0);
    assert_int_equal(elapse__queue_jobs(f->queue), 3);
}

/* A lease guards the whole transaction, wherever it stands in it. */
QUEUE_TEST(a_lease_that_has_ended_stops_everything)
{
    put(f, job("one"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    const struct elapse__queue_change changes[] = {put_of(job("next")),
                                                   of_lease(ELAPSE__QUEUE_LEASED, &handed),
                                                   of_lease(ELAPSE__QUEUE_ACK, &handed)};
    size_t before = f->log.count;
    pass(f, 9999);
    assert_ok(transact(f, changes, 3)); /* in the last millisecond of its ttr */
    assert_int_equal(answers[1].result, ELAPSE__QUEUE_OK);
    assert_int_equal(f->log.count, before + 2);
    assert_int_equal(transact(f, changes, 3), ELAPSE__QUEUE_GONE);
    assert_int_equal(f->log.count, before + 2);
    handed = take(f);
    f->now.boot_ms += 10000; /* no turn has ended the lease yet */
    f->now.wall_ms += 10000;
    assert_int_equal(transact(f, changes, 3), ELAPSE__QUEUE_GONE);
    pass(f, 0);
    assert_int_equal(elapse__queue_jobs(f->queue), 1);
}

QUEUE_TEST(the_lease_of_a_cancelled_job_has_ended_for_a_transaction)
{
    uint64_t id = put(f, job("one"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_handed handed = take(f);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id).result, ELAPSE__QUEUE_RUNNING);
    const struct elapse__queue_change changes[] = {of_lease(ELAPSE__QUEUE_LEASED, &handed),
                                                   put_of(job("next"))};
    assert_int_equal(transact(f, changes, 2), ELAPSE__QUEUE_GONE);
    assert_int_equal(elapse__queue_jobs(f->queue), 0);
    assert_int_equal(elapse__queue_ack(f->queue, f->now, holder(&handed)).result, ELAPSE__QUEUE_OK);
}

QUEUE_TEST(a_job_that_the_transaction_put_has_no_name_in_it)
{
    uint64_t id = put(f, job("one"), ELAPSE__QUEUE_SCHEDULED);
    const struct elapse__queue_change changes[] = {
        put_of(job("two")), by_id(ELAPSE__QUEUE_CANCEL_ID, id + 1),
        by_id(ELAPSE__QUEUE_KICK_ID, id + 1), by_id(ELAPSE__QUEUE_RESCHEDULE_ID, id + 1),
        by_id(ELAPSE__QUEUE_CANCEL_ID, id)};
    assert_ok(transact(f, changes, 5));
    assert_int_equal(answers[0].id, id + 1);
    for (unsigned i = 1; i < 4; i++)
        assert_int_equal(answers[i].result, ELAPSE__QUEUE_GONE);
    assert_int_equal(answers[4].result, ELAPSE__QUEUE_REMOVED);
    assert_int_equal(elapse__queue_cancel_id(f->queue, f->now, id + 1).result,
                     ELAPSE__QUEUE_REMOVED);
}

QUEUE_TEST(a_fault_of_one_change_is_that_of_all)
{
    struct elapse__queue_put bad = job("b");
    bad.when = ELAPSE__QUEUE_CRON;
    bad.cron = text("61 * * * *");
    const struct elapse__queue_change changes[] = {put_of(job("one")), put_of(bad)};
    struct elapse__queue_change late = by_key(ELAPSE__QUEUE_RESCHEDULE, "k");
    late.named.time.delay_ms = UINT64_MAX;
    assert_int_equal(transact(f, changes, 2), ELAPSE__QUEUE_ARGUMENT);
    assert_int_equal(transact(f, &late, 1), ELAPSE__QUEUE_ARGUMENT);
    assert_int_equal(elapse__queue_jobs(f->queue), 0);
    assert_int_equal(elapse__queue_tube_count(f->queue), 0);
    assert_int_equal(f->log.count, 0);
}

/* Even though only the last change is one too many. */
QUEUE_TEST(limits_count_the_whole_transaction)
{
    f->options.jobs_max = 3;
    f->options.tubes_max = 2;
    f->options.tokens_max = 1;
    restart(f, 0);
    struct elapse__queue_put second = job("b");
    struct elapse__queue_put third = job("b");
    second.tube = text("u");
    third.tube = text("v");
    const struct elapse__queue_change jobs[] = {put_of(job("1")), put_of(job("2")),
                                                put_of(job("3")), put_of(job("4"))};
    const struct elapse__queue_change tubes[] = {put_of(job("b")), put_of(second), put_of(third)};
    const struct elapse__queue_change tokens[] = {put_of(with_token("a")), put_of(with_token("b"))};
    assert_int_equal(transact(f, jobs, 4), ELAPSE__QUEUE_LIMIT);
    assert_int_equal(transact(f, tubes, 3), ELAPSE__QUEUE_LIMIT);
    assert_int_equal(transact(f, tokens, 2), ELAPSE__QUEUE_TOKENS_FULL);
    assert_int_equal(elapse__queue_jobs(f->queue), 0);
    assert_int_equal(elapse__queue_tube_count(f->queue), 0);
    assert_int_equal(elapse__queue_tokens(f->queue), 0);
    assert_ok(transact(f, jobs, 3));
    f->options.jobs_max = 0;
}

/* A client that heard no answer sends its transaction again, when there may be no room any more. */
QUEUE_TEST(a_transaction_whose_tokens_are_known_needs_no_room)
{
    f->options.jobs_max = 2;
    f->options.tubes_max = 1;
    f->options.tokens_max = 2;
    restart(f, 0);
    struct elapse__queue_put wrong = with_token("one");
    const struct elapse__queue_change sent[] = {put_of(with_token("one")),
                                                put_of(with_token("two"))};
    const struct elapse__queue_change more[] = {sent[0], put_of(job("b")), sent[1]};
    wrong.delay_ms = UINT64_MAX;
    const struct elapse__queue_change bad[] = {sent[0], put_of(wrong)};
    assert_ok(transact(f, sent, 2));
    const uint64_t ids[] = {answers[0].id, answers[1].id};
    assert_int_equal(f->log.purpose, ELAPSE__RECORD_FOR_GROWTH);
    size_t records = f->log.count;
    for (unsigned round = 0; round < 2; round++) {
        assert_ok(transact(f, sent, 2));
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(answers[i].result, ELAPSE__QUEUE_KNOWN);
            assert_int_equal(answers[i].id, ids[i]);
        }
        /* A group of this purpose is begun on a full disk, too. */
        assert_int_equal(f->log.purpose, ELAPSE__RECORD_FOR_RELIEF);
        assert_int_equal(transact(f, more, 3), ELAPSE__QUEUE_LIMIT);
        assert_int_equal(transact(f, bad, 2), ELAPSE__QUEUE_ARGUMENT);
    }
    assert_int_equal(f->log.count, records);
    assert_int_equal(elapse__queue_jobs(f->queue), 2);
    f->options.jobs_max = 3;
    restart(f, 0);
    assert_ok(transact(f, more, 3));
    assert_int_equal(answers[1].result, ELAPSE__QUEUE_SCHEDULED);
    assert_int_equal(answers[2].result, ELAPSE__QUEUE_KNOWN);
    f->options.jobs_max = 0;
}

QUEUE_TEST(a_full_disk_refuses_all_of_a_transaction)
{
    put(f, keyed("k", ELAPSE__QUEUE_REPLACE), ELAPSE__QUEUE_SCHEDULED);
    const struct elapse__queue_change changes[] = {by_key(ELAPSE__QUEUE_CANCEL, "k"),
                                                   put_of(job("b"))};
    f->log.refusals = 1;
    assert_int_equal(transact(f, changes, 2), ELAPSE__QUEUE_REFUSED);
    assert_int_equal(elapse__queue_jobs(f->queue), 1);
    assert_ok(transact(f, changes, 2));
    assert_int_equal(answers[0].result, ELAPSE__QUEUE_REMOVED);
}

QUEUE_TEST(a_transaction_has_at_most_1000_changes)
{
    static struct elapse__queue_change changes[ELAPSE__QUEUE_CHANGES_MAX + 1];
    for (unsigned i = 0; i <= ELAPSE__QUEUE_CHANGES_MAX; i++)
        changes[i] = put_of(job("b"));
    assert_int_equal(transact(f, changes, ELAPSE__QUEUE_CHANGES_MAX + 1), ELAPSE__QUEUE_ARGUMENT);
    assert_ok(transact(f, changes, ELAPSE__QUEUE_CHANGES_MAX));
    assert_int_equal(answers[999].id, 1000);
    assert_int_equal(f->log.groups, 1);
}

QUEUE_TEST(a_transaction_that_changes_nothing_writes_nothing)
{
    const struct elapse__queue_change change = by_key(ELAPSE__QUEUE_CANCEL, "nobody");
    assert_ok(transact(f, &change, 1));
    assert_ok(transact(f, NULL, 0));
    assert_int_equal(answers[0].result, ELAPSE__QUEUE_GONE);
    assert_int_equal(f->log.count, 0);
}

/* ---- whatever the changes are ---- */

static const char *const keys[] = {"a", "b", "c"};

static struct elapse__queue_put random_put(struct random_source *random)
{
    static const char *const tubes[] = {"t", "t", "u", "v"};
    struct elapse__queue_put put = job("body");
    put.tube = text(tubes[random_below(random, 4)]);
    put.delay_ms = random_one_in(random, 2) ? 0 : 1 + random_below(random, 50);
    put.ttr_ms = 10 + random_below(random, 3);
    put.expire_ms = random_one_in(random, 4) ? 20 : 0;
    if (random_one_in(random, 2)) {
        put.key = text(keys[random_below(random, 3)]);
        put.if_key = (enum elapse__queue_if_key)random_below(random, 4);
        put.debounce_max_ms = 60;
    }
    if (random_one_in(random, 2))
        put.group = text(keys[random_below(random, 3)]);
    if (random_one_in(random, 4))
        put.tag = text("tag");
    if (random_one_in(random, 6))
        put.headers = text("h=1");
    if (random_one_in(random, 4))
        put.token = text(keys[random_below(random, 3)]);
    if (random_one_in(random, 8) && put.if_key != ELAPSE__QUEUE_DEBOUNCE) {
        put.when = ELAPSE__QUEUE_EVERY;
        put.period_ms = 15;
    } else if (put.key.size > 0 && put.if_key != ELAPSE__QUEUE_DEBOUNCE &&
               random_one_in(random, 2)) {
        put.await = 1 + (uint32_t)random_below(random, 3);
        if (random_one_in(random, 2))
            put.when = ELAPSE__QUEUE_NO_TIME;
    }
    return put;
}

static struct elapse__queue_change random_change(struct random_source *random,
                                                 const struct elapse__queue_handed *handed,
                                                 uint32_t count, uint64_t last_id)
{
    struct elapse__queue_change change = {
        .verb = (enum elapse__queue_verb)random_below(random, ELAPSE__QUEUE_LEASED)};
    if (change.verb >= ELAPSE__QUEUE_ACK) {
        if (count == 0)
            return put_of(random_put(random));
        change.held.holder = holder(&handed[random_below(random, count)]);
        change.held.delay_ms = random_below(random, 2) * 7;
        if (random_one_in(random, 2))
            change.held.holder.error = text("it is broken");
        return change;
    }
    if (change.verb == ELAPSE__QUEUE_PUT || random_one_in(random, 3))
        return put_of(random_put(random));
    if (change.verb == ELAPSE__QUEUE_ARRIVE) {
        change.arrival = (struct elapse__queue_arrival){
            .tube = text("t"),
            .key = text(keys[random_below(random, 3)]),
            .count = 1 + (uint32_t)random_below(random, 2),
        };
        if (random_one_in(random, 2))
            change.arrival.token = text(keys[random_below(random, 3)]);
        return change;
    }
    change.named.tube = text("t");
    change.named.key = text(keys[random_below(random, 3)]);
    change.named.id = 1 + random_below(random, last_id + 1);
    change.named.time.delay_ms = random_below(random, 2) * 9;
    if (change.named.id > last_id)
        change.named.id = UINT32_MAX; /* nobody has it, in a transaction or not */
    return change;
}

/* A queue with an allocator that has memory for some more calls. */
struct subject {
    struct log log;
    struct elapse__queue *queue;
    struct elapse__queue_now now;
    uint64_t calls_left;
    struct elapse_allocator memory;
    struct elapse__queue_options options;
};

static void *allocate_some(size_t alignment, size_t bytes, void *context)
{
    struct subject *subject = context;
    if (subject->calls_left == 0)
        return NULL;
    subject->calls_left--;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void release_any(void *memory, size_t bytes, void *context)
{
    (void)bytes, (void)context;
    free(memory);
}

static void subject_begin(struct subject *subject)
{
    *subject = (struct subject){.calls_left = UINT64_MAX, .now = {1000, 1700000000000}};
    log_init(&subject->log);
    subject->memory = (struct elapse_allocator){allocate_some, release_any, subject};
    subject->options = (struct elapse__queue_options){
        .sink = &subject->log.sink, .secret = {1, 2}, .seed = 7, .memory = &subject->memory};
    subject->queue = elapse__queue_new(&subject->options);
    assert_non_null(subject->queue);
    assert_ok(elapse__queue_replay_done(subject->queue, subject->now, 1));
}

static void subject_end(struct subject *subject)
{
    elapse__queue_free(subject->queue);
    log_free(&subject->log);
}

/* Lets time pass, and hands out up to `room` jobs. Returns how many. */
static uint32_t subject_works(struct subject *subject, uint64_t ms,
                              struct elapse__queue_handed *handed, uint32_t room)
{
    const struct elapse__queue_text tubes[] = {text("t"), text("u"), text("v")};
    struct elapse__queue_reserve reserve = {
        .tubes = tubes, .tube_count = 3, .count = room, .begin = true};
    uint32_t count = 0;
    subject->now.boot_ms += ms;
    subject->now.wall_ms += (int64_t)ms;
    while (elapse__queue_turn(subject->queue, subject->now).more)
        ;
    (void)elapse__queue_reserve(subject->queue, subject->now, &reserve, handed, &count);
    return count;
}

/* Two queues get the same changes: one in a transaction, the other one by one. */
QUEUE_TEST(a_transaction_answers_as_its_changes_do_alone)
{
    static struct subject whole, single;
    struct random_source random = {.state = 41};
    subject_begin(&whole);
    subject_begin(&single);
    for (unsigned round = 0; round < 400; round++) {
        struct elapse__queue_handed handed[4], other[4];
        if (round % 7 == 0) {
            struct elapse__queue_limits limits = {.concurrency =
                                                      (uint32_t)random_below(&random, 4)};
            assert_ok(elapse__queue_limit(whole.queue, whole.now, text("t"), &limits).result);
            assert_ok(elapse__queue_limit(single.queue, single.now, text("t"), &limits).result);
        }
        if (round % 50 == 49)
            assert_null(queue_differs_from_log(whole.queue, &whole.log, &whole.options, whole.now));
        if (round % 11 == 10)
            (void)log_clean(&whole.log, whole.queue, whole.now,
                            (whole.log.count - whole.log.tail) / 2);
        struct elapse__queue_change changes[CHANGES];
        uint64_t ms = random_below(&random, 12);
        uint32_t count = subject_works(&whole, ms, handed, 4);
        assert_int_equal(subject_works(&single, ms, other, 4), count);
        uint64_t last_id = elapse__queue_last_id(whole.queue);
        for (unsigned i = 0; i < CHANGES; i++)
            changes[i] = random_change(&random, handed, count, last_id);
        assert_ok(elapse__queue_transact(whole.queue, whole.now, changes, CHANGES, answers).result);
        for (unsigned i = 0; i < CHANGES; i++) {
            struct elapse__queue_answer alone =
                elapse__queue_change(single.queue, single.now, &changes[i]);
            assert_int_equal(answers[i].result, alone.result);
            assert_int_equal(answers[i].id, alone.id);
        }
        assert_int_equal(elapse__queue_check(whole.queue), 0);
    }
    assert_null(queue_differs_from_log(whole.queue, &whole.log, &whole.options, whole.now));
    subject_end(&whole);
    subject_end(&single);
    (void)f;
}

/* Memory ends at each call in turn. Then nothing has changed, or all is done: never a part. */
QUEUE_TEST(a_transaction_without_memory_changes_nothing)
{
    unsigned refused = 0, done = 0;
    for (uint64_t seed = 1; seed <= 40; seed++)
        for (uint64_t left = 0;; left++) {
            struct random_source random = {.state = seed};
            static struct subject s;
            struct elapse__queue_handed handed[4];
            struct elapse__queue_change changes[CHANGES];
            subject_begin(&s);
            for (unsigned i = 0; i < seed; i++) {
                struct elapse__queue_put some = random_put(&random);
                (void)elapse__queue_put(s.queue, s.now, &some);
            }
            uint32_t count = subject_works(&s, 5, handed, 4);
            uint64_t last_id = elapse__queue_last_id(s.queue);
            size_t records = s.log.count;
            uint64_t jobs = elapse__queue_jobs(s.queue), tubes = elapse__queue_tube_count(s.queue);
            for (unsigned i = 0; i < CHANGES; i++)
                changes[i] = random_change(&random, handed, count, last_id);
            s.calls_left = left;
            enum elapse__queue_result result =
                elapse__queue_transact(s.queue, s.now, changes, CHANGES, answers).result;
            bool had_enough = s.calls_left > 0;
            s.calls_left = UINT64_MAX;
            if (result != ELAPSE__QUEUE_OK) {
                refused++;
                assert_int_equal(result, ELAPSE__QUEUE_NO_MEMORY);
                assert_int_equal(s.log.count, records);
                assert_int_equal(elapse__queue_jobs(s.queue), jobs);
                assert_int_equal(elapse__queue_tube_count(s.queue), tubes);
                assert_int_equal(elapse__queue_last_id(s.queue), last_id);
            }
            done += result == ELAPSE__QUEUE_OK;
            assert_int_equal(elapse__queue_check(s.queue), 0);
            subject_end(&s);
            if (had_enough)
                break;
        }
    assert_true(refused > 100);
    assert_true(done >= 40);
    (void)f;
}

/* A job that was never handed out has no side record yet. */
QUEUE_TEST(a_kick_without_memory_refuses_its_transaction)
{
    for (uint64_t left = 0;; left++) {
        static struct subject s;
        struct elapse__queue_put delayed = job("b");
        subject_begin(&s);
        delayed.delay_ms = 100;
        const struct elapse__queue_change changes[] = {
            by_id(ELAPSE__QUEUE_KICK_ID, elapse__queue_put(s.queue, s.now, &delayed).id)};
        s.calls_left = left;
        enum elapse__queue_result result =
            elapse__queue_transact(s.queue, s.now, changes, 1, answers).result;
        assert_true(result == ELAPSE__QUEUE_OK || result == ELAPSE__QUEUE_NO_MEMORY);
        if (result == ELAPSE__QUEUE_OK)
            assert_ok(answers[0].result);
        subject_end(&s);
        if (result == ELAPSE__QUEUE_OK)
            break;
    }
    (void)f;
}

/* No job has such a key, and its bytes must go nowhere. */
QUEUE_TEST(a_key_that_is_too_long_is_gone)
{
    static char key[2000];
    memset(key, 'k', sizeof key - 1);
    put(f, job("one"), ELAPSE__QUEUE_SCHEDULED);
    struct elapse__queue_change change = by_key(ELAPSE__QUEUE_RESCHEDULE, key);
    change.named.time = (struct elapse__queue_time){.when = ELAPSE__QUEUE_IN, .delay_ms = 5};
    assert_ok(transact(f, &change, 1));
    assert_int_equal(answers[0].result, ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(a_new_group_of_a_new_tube_is_forgotten_without_memory)
{
    static struct subject s;
    enum elapse__queue_result result = ELAPSE__QUEUE_NO_MEMORY;

    (void)f;
    for (uint64_t left = 0; result != ELAPSE__QUEUE_OK; left++) {
        subject_begin(&s);
        struct elapse__queue_put fresh = job("b");
        fresh.group = text("g");
        fresh.tube = text("fresh");
        struct elapse__queue_change change = put_of(fresh);
        s.calls_left = left;
        result = elapse__queue_transact(s.queue, s.now, &change, 1, answers).result;
        s.calls_left = UINT64_MAX;
        assert_int_equal(elapse__queue_check(s.queue), 0);
        assert_int_equal(elapse__queue_tube_count(s.queue), result == ELAPSE__QUEUE_OK ? 1 : 0);
        subject_end(&s);
    }
}

TEST_MAIN("transact")
