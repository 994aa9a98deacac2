/*
 * Tests what a worker decides. Events go in, effects come out, and the test sets the time.
 */
#include "../../support/test.h"
#include "work/worker.h"

static struct worker worker;
static uint64_t now_ns;

static void begin(size_t concurrency)
{
    worker_init(&worker, &(struct worker_options){.concurrency = concurrency});
    now_ns = 1000;
    worker_taker_changed(&worker, true);
    worker_teller_changed(&worker, true);
}

static struct work_effect next(enum work_effect_kind kind)
{
    struct work_effect effect = {.kind = EFFECT_FORGET};

    assert_true(worker_next(&worker, now_ns, &effect));
    assert_int_equal(effect.kind, kind);
    return effect;
}

static void expect_nothing(void)
{
    struct work_effect effect;

    assert_false(worker_next(&worker, now_ns, &effect));
}

/* Reserves one job and starts it. The worker has another reserve under way afterwards if it has
 * room. */
static struct work_job *start_one(uint64_t id)
{
    (void)next(EFFECT_RESERVE);
    struct work_job *job = worker_handed(&worker, now_ns, id, "1-1");
    assert_non_null(job);
    worker_reserved(&worker, 1);
    assert_ptr_equal(next(EFFECT_START).job, job);
    return job;
}

TEST(test_it_reserves_as_many_as_it_can_do)
{
    begin(3);
    assert_int_equal(next(EFFECT_RESERVE).count, 3);
    expect_nothing();
    struct work_job *one = worker_handed(&worker, now_ns, 7, "1-1");
    assert_non_null(worker_handed(&worker, now_ns, 8, "1-2"));
    worker_reserved(&worker, 2);
    (void)next(EFFECT_START);
    (void)next(EFFECT_START);
    assert_int_equal(next(EFFECT_RESERVE).count, 1);
    expect_nothing();
    worker_ran(&worker, one, WORK_DONE);
    assert_ptr_equal(next(EFFECT_ACK).job, one);
    expect_nothing();
    worker_told(&worker, one, now_ns, ANSWER_OK);
    assert_ptr_equal(next(EFFECT_FORGET).job, one);
    /* The reserve that waits asks for one, and goes on. */
    expect_nothing();
    assert_int_equal(worker.done, 1);
}

TEST(test_more_jobs_than_asked_for_are_refused)
{
    char lease[WORKER_LEASE_BYTES + 1];

    begin(1);
    (void)next(EFFECT_RESERVE);
    memset(lease, '1', WORKER_LEASE_BYTES);
    lease[WORKER_LEASE_BYTES] = '\0';
    assert_null(worker_handed(&worker, now_ns, 1, lease));
    lease[WORKER_LEASE_BYTES - 1] = '\0';
    assert_non_null(worker_handed(&worker, now_ns, 1, lease));
    assert_null(worker_handed(&worker, now_ns, 2, "1-2"));
}

TEST(test_a_failed_job_is_tried_again_as_it_was_put)
{
    begin(1);
    struct work_job *job = start_one(1);
    worker_ran(&worker, job, WORK_FAILED);
    assert_ptr_equal(next(EFFECT_NACK).job, job);
    worker_told(&worker, job, now_ns, ANSWER_CANCELLED);
    (void)next(EFFECT_FORGET);
    assert_int_equal(worker.failed, 1);
    assert_int_equal(worker.lost, 0);
}

TEST(test_a_backoff_takes_the_place_of_the_jobs_own)
{
    begin(1);
    worker.options.has_backoff = true;
    worker.options.backoff_ms = 250;
    struct work_job *job = start_one(1);
    worker_ran(&worker, job, WORK_FAILED);
    assert_int_equal(next(EFFECT_NACK_IN).delay_ms, 250);
}

/* It counts as a failure, and the job waits as long as the longer one of the two says. */
TEST(test_who_did_the_work_may_ask_for_time)
{
    begin(1);
    struct work_job *job = start_one(1);
    job->after_ms = 7000;
    worker_ran(&worker, job, WORK_FAILED);
    assert_int_equal(next(EFFECT_NACK).delay_ms, 7000);
    begin(1);
    worker.options.has_backoff = true;
    worker.options.backoff_ms = 9000;
    job = start_one(1);
    job->after_ms = 7000;
    worker_ran(&worker, job, WORK_FAILED);
    assert_int_equal(next(EFFECT_NACK).delay_ms, 9000);
}

/* An error of the server, say -TRYAGAIN, does not change what the worker has to say. */
TEST(test_the_wish_for_time_outlives_an_error)
{
    begin(1);
    worker.options.has_backoff = true;
    worker.options.backoff_ms = 5000;
    struct work_job *job = start_one(1);
    job->after_ms = 7000;
    worker_ran(&worker, job, WORK_FAILED);
    assert_int_equal(next(EFFECT_NACK).delay_ms, 7000);
    worker_told(&worker, job, now_ns, ANSWER_ERROR);
    now_ns += WORKER_AGAIN_NS;
    assert_int_equal(next(EFFECT_NACK).delay_ms, 7000);
}

/* A server of an older version refuses the error of a job. Any other server has to get it. */
TEST(test_only_a_refusal_takes_the_error_of_the_job_away)
{
    static const enum work_answer answers[] = {ANSWER_ERROR, ANSWER_UNKNOWN, ANSWER_REFUSED};

    begin(1);
    struct work_job *job = start_one(1);
    job->error = "exit status 1";
    worker_ran(&worker, job, WORK_FAILED);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(next(EFFECT_NACK).job->error, "exit status 1");
        worker_told(&worker, job, now_ns, answers[i]);
        expect_nothing();
        now_ns += WORKER_AGAIN_NS;
    }
    assert_null(next(EFFECT_NACK).job->error);
    worker_told(&worker, job, now_ns, ANSWER_OK);
    (void)next(EFFECT_FORGET);
}

TEST(test_what_could_not_begin_has_not_failed)
{
    begin(1);
    struct work_job *job = start_one(1);
    worker_ran(&worker, job, WORK_NOT_BEGUN);
    assert_int_equal(next(EFFECT_NACK_IN).delay_ms, 1000);
    assert_int_equal(worker.failed, 0);
}

TEST(test_a_lease_is_extended_three_times)
{
    const uint64_t ttr_ns = 3000000000;

    begin(1);
    struct work_job *job = start_one(1);
    expect_nothing();
    assert_true(worker_wake_ns(&worker) == now_ns + WORKER_LOOK_AFTER_NS);
    now_ns += WORKER_LOOK_AFTER_NS;
    assert_ptr_equal(next(EFFECT_LOOK).job, job);
    expect_nothing();
    worker_looked(&worker, job, now_ns, ANSWER_OK, ttr_ns);
    expect_nothing();
    for (int i = 0; i < 4; i++) {
        uint64_t wake_ns = worker_wake_ns(&worker);
        assert_true(wake_ns > now_ns && wake_ns <= now_ns + ttr_ns / 3);
        now_ns = wake_ns - 1;
        expect_nothing();
        now_ns = wake_ns;
        assert_ptr_equal(next(EFFECT_EXTEND).job, job);
        expect_nothing();
        worker_extended(&worker, job, now_ns, ANSWER_OK);
    }
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_ACK);
}

TEST(test_a_lease_whose_length_is_known_is_extended_without_a_look)
{
    const uint64_t ttr_ns = 30000000000;

    begin(1);
    (void)next(EFFECT_RESERVE);
    struct work_job *job = worker_handed(&worker, now_ns, 1, "1-1");
    worker_knows_ttr(job, ttr_ns);
    worker_reserved(&worker, 1);
    assert_ptr_equal(next(EFFECT_START).job, job);
    expect_nothing();
    now_ns += ttr_ns / 3 - 1;
    expect_nothing();
    now_ns += 1;
    assert_ptr_equal(next(EFFECT_EXTEND).job, job);
    worker_extended(&worker, job, now_ns, ANSWER_OK);
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_ACK);
}

/* Looks a job up after its start, and stores how long its leases are. */
static void look(struct work_job *job, uint64_t ttr_ns)
{
    assert_ptr_equal(next(EFFECT_LOOK).job, job);
    worker_looked(&worker, job, now_ns, ANSWER_OK, ttr_ns);
}

TEST(test_one_command_extends_all_leases)
{
    const uint64_t ttr_ns = 3000000000;
    struct work_job *jobs[4];

    begin(4);
    for (uint64_t i = 0; i < 4; i++) {
        jobs[i] = start_one(i + 1);
        now_ns += 1000000;
    }
    now_ns += WORKER_LOOK_AFTER_NS;
    look(jobs[0], ttr_ns);
    look(jobs[1], ttr_ns);
    look(jobs[2], ttr_ns * 10);
    look(jobs[3], ttr_ns);
    worker_ran(&worker, jobs[3], WORK_DONE);
    assert_ptr_equal(next(EFFECT_ACK).job, jobs[3]);
    /* One whose lease is much longer is left out, as one is whose work has ended. */
    now_ns = worker_wake_ns(&worker);
    struct work_job *first = next(EFFECT_EXTEND).job;
    assert_ptr_equal(first, jobs[0]);
    assert_ptr_equal(first->next_extended, jobs[1]);
    assert_null(jobs[1]->next_extended);
    expect_nothing();
    worker_extended(&worker, jobs[0], now_ns, ANSWER_OK);
    worker_extended(&worker, jobs[1], now_ns, ANSWER_GONE);
    assert_ptr_equal(next(EFFECT_STOP).job, jobs[1]);
    /* From now on it has the company of none. */
    now_ns = worker_wake_ns(&worker);
    assert_null(next(EFFECT_EXTEND).job->next_extended);
}

/* A request has room for so many leases and no more. */
TEST(test_an_extension_has_at_most_as_many_leases_as_fit)
{
    static bool is_extended[WORKER_JOBS_MAX];
    size_t extensions = 0, extended = 0;
    struct work_effect effect;

    begin(WORKER_JOBS_MAX);
    assert_int_equal(next(EFFECT_RESERVE).count, WORKER_JOBS_MAX);
    for (uint64_t i = 0; i < WORKER_JOBS_MAX; i++) {
        struct work_job *job = worker_handed(&worker, now_ns, i + 1, "1-1");
        assert_non_null(job);
        worker_knows_ttr(job, 3000000000);
    }
    worker_reserved(&worker, WORKER_JOBS_MAX);
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++)
        (void)next(EFFECT_START);
    expect_nothing();
    now_ns = worker_wake_ns(&worker);
    while (worker_next(&worker, now_ns, &effect)) {
        size_t leases = 0;
        assert_int_equal(effect.kind, EFFECT_EXTEND);
        for (struct work_job *job = effect.job; job != NULL; job = job->next_extended) {
            assert_true(job->asks);
            assert_false(is_extended[job->id - 1]);
            is_extended[job->id - 1] = true;
            leases++;
        }
        assert_in_range(leases, 1, WORKER_EXTENDED_MAX);
        extensions++;
        extended += leases;
    }
    assert_int_equal(extended, WORKER_JOBS_MAX);
    assert_int_equal(extensions, WORKER_JOBS_MAX / WORKER_EXTENDED_MAX);
    expect_nothing();
}

TEST(test_after_an_error_one_command_extends_all_leases_again)
{
    struct work_job *jobs[2];

    begin(2);
    for (uint64_t i = 0; i < 2; i++)
        jobs[i] = start_one(i + 1);
    now_ns += WORKER_LOOK_AFTER_NS;
    look(jobs[0], 6000000000);
    look(jobs[1], 6000000000);
    now_ns = worker_wake_ns(&worker);
    assert_ptr_equal(next(EFFECT_EXTEND).job->next_extended, jobs[1]);
    worker_extended(&worker, jobs[0], now_ns, ANSWER_ERROR);
    worker_extended(&worker, jobs[1], now_ns, ANSWER_ERROR);
    expect_nothing();
    now_ns += WORKER_AGAIN_NS;
    assert_ptr_equal(next(EFFECT_EXTEND).job->next_extended, jobs[1]);
    expect_nothing();
}

TEST(test_a_short_lease_is_extended_at_once)
{
    begin(1);
    struct work_job *job = start_one(1);
    now_ns += WORKER_LOOK_AFTER_NS;
    (void)next(EFFECT_LOOK);
    worker_looked(&worker, job, now_ns, ANSWER_OK, WORKER_LOOK_AFTER_NS);
    (void)next(EFFECT_EXTEND);
}

TEST(test_an_error_asks_again_later)
{
    begin(1);
    struct work_job *job = start_one(1);
    now_ns += WORKER_LOOK_AFTER_NS;
    (void)next(EFFECT_LOOK);
    worker_looked(&worker, job, now_ns, ANSWER_ERROR, 0);
    expect_nothing();
    now_ns += WORKER_AGAIN_NS;
    (void)next(EFFECT_LOOK);
    worker_looked(&worker, job, now_ns, ANSWER_OK, 60000000000);
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_ACK);
    worker_told(&worker, job, now_ns, ANSWER_ERROR);
    expect_nothing();
    assert_true(worker_wake_ns(&worker) == now_ns + WORKER_AGAIN_NS);
    now_ns += WORKER_AGAIN_NS;
    (void)next(EFFECT_ACK);
}

TEST(test_cancelled_work_ends_with_a_nack)
{
    begin(1);
    struct work_job *job = start_one(1);
    now_ns += WORKER_LOOK_AFTER_NS;
    (void)next(EFFECT_LOOK);
    worker_looked(&worker, job, now_ns, ANSWER_CANCELLED, 0);
    assert_ptr_equal(next(EFFECT_STOP).job, job);
    expect_nothing();
    now_ns += WORKER_KILL_AFTER_NS - 1;
    expect_nothing();
    now_ns++;
    assert_ptr_equal(next(EFFECT_KILL).job, job);
    expect_nothing();
    worker_ran(&worker, job, WORK_FAILED);
    (void)next(EFFECT_NACK);
}

TEST(test_work_without_a_lease_is_ended_and_not_told)
{
    begin(1);
    struct work_job *job = start_one(1);
    now_ns += WORKER_LOOK_AFTER_NS;
    (void)next(EFFECT_LOOK);
    worker_looked(&worker, job, now_ns, ANSWER_GONE, 0);
    (void)next(EFFECT_STOP);
    worker_ran(&worker, job, WORK_FAILED);
    assert_ptr_equal(next(EFFECT_FORGET).job, job);
    assert_int_equal(worker.lost, 1);
}

TEST(test_the_end_is_said_again_on_the_next_connection)
{
    begin(1);
    struct work_job *job = start_one(1);
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_ACK);
    worker_teller_changed(&worker, false);
    expect_nothing();
    worker_teller_changed(&worker, true);
    (void)next(EFFECT_ACK);
    /* The first one was heard: that is no loss. */
    worker_told(&worker, job, now_ns, ANSWER_GONE);
    assert_int_equal(worker.lost, 0);
    (void)next(EFFECT_FORGET);
}

/* In a cluster the node may lose its connection to the owner. */
TEST(test_an_end_that_may_have_been_heard_is_no_loss)
{
    begin(1);
    struct work_job *job = start_one(1);
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_ACK);
    worker_told(&worker, job, now_ns, ANSWER_UNKNOWN);
    expect_nothing();
    now_ns += WORKER_AGAIN_NS;
    (void)next(EFFECT_ACK);
    worker_told(&worker, job, now_ns, ANSWER_GONE);
    assert_int_equal(worker.lost, 0);
    (void)next(EFFECT_FORGET);
    /* Without doubt it is one. */
    job = start_one(2);
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_ACK);
    worker_told(&worker, job, now_ns, ANSWER_ERROR);
    now_ns += WORKER_AGAIN_NS;
    (void)next(EFFECT_ACK);
    worker_told(&worker, job, now_ns, ANSWER_GONE);
    assert_int_equal(worker.lost, 1);
}

TEST(test_an_extension_is_not_awaited_on_a_lost_connection)
{
    begin(1);
    (void)start_one(1);
    now_ns += WORKER_LOOK_AFTER_NS;
    (void)next(EFFECT_LOOK);
    worker_teller_changed(&worker, false);
    expect_nothing();
    worker_teller_changed(&worker, true);
    (void)next(EFFECT_LOOK);
}

TEST(test_a_lost_reserve_is_sent_again)
{
    begin(2);
    (void)next(EFFECT_RESERVE);
    worker_taker_changed(&worker, false);
    expect_nothing();
    worker_taker_changed(&worker, true);
    (void)next(EFFECT_RESERVE);
    worker_reserve_failed(&worker, now_ns);
    expect_nothing();
    now_ns += WORKER_AGAIN_NS;
    (void)next(EFFECT_RESERVE);
}

TEST(test_a_stop_finishes_the_work_under_way)
{
    begin(2);
    struct work_job *job = start_one(1);
    (void)next(EFFECT_RESERVE);
    worker_stop(&worker);
    assert_false(worker_is_finished(&worker));
    /* A job that comes now is given back at once. */
    struct work_job *late = worker_handed(&worker, now_ns, 2, "1-2");
    worker_reserved(&worker, 1);
    struct work_effect effect = next(EFFECT_NACK_IN);
    assert_ptr_equal(effect.job, late);
    assert_int_equal(effect.delay_ms, 0);
    worker_told(&worker, late, now_ns, ANSWER_OK);
    (void)next(EFFECT_FORGET);
    expect_nothing();
    assert_false(worker_is_finished(&worker));
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_ACK);
    worker_told(&worker, job, now_ns, ANSWER_OK);
    assert_false(worker_is_finished(&worker));
    (void)next(EFFECT_FORGET);
    assert_true(worker_is_finished(&worker));
}

TEST(test_giving_up_gives_jobs_back)
{
    begin(1);
    struct work_job *job = start_one(1);
    worker_give_up(&worker);
    (void)next(EFFECT_STOP);
    worker_ran(&worker, job, WORK_FAILED);
    assert_int_equal(job->outcome, WORK_GIVEN_UP);
    assert_int_equal(next(EFFECT_NACK_IN).delay_ms, 0);
    assert_int_equal(worker.failed, 0);
    /* What ended well before it was ended is done. */
    begin(1);
    job = start_one(1);
    worker_give_up(&worker);
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_ACK);
}

TEST(test_the_time_limit_is_a_failure)
{
    begin(1);
    worker.options.limit_ns = 50;
    struct work_job *job = start_one(1);
    assert_true(worker_wake_ns(&worker) == now_ns + 50);
    now_ns += 49;
    expect_nothing();
    now_ns++;
    (void)next(EFFECT_STOP);
    worker_give_up(&worker);
    worker_ran(&worker, job, WORK_FAILED);
    (void)next(EFFECT_NACK);
}

TEST(test_work_that_was_stopped_is_not_done)
{
    begin(1);
    worker.options.limit_ns = 50;
    struct work_job *job = start_one(1);
    now_ns += 50;
    (void)next(EFFECT_STOP);
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_NACK);
    assert_int_equal(worker.done, 0);
    assert_int_equal(worker.failed, 1);
    begin(1);
    job = start_one(1);
    worker_give_up(&worker);
    (void)next(EFFECT_STOP);
    worker_ran(&worker, job, WORK_DONE);
    assert_int_equal(next(EFFECT_NACK_IN).delay_ms, 0);
    assert_int_equal(worker.done + worker.failed, 0);
    /* A time limit that is over when the work has ended stops nothing. */
    begin(1);
    worker.options.limit_ns = 50;
    job = start_one(1);
    now_ns += 50;
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_ACK);
}

TEST(test_it_ends_when_there_is_no_job)
{
    begin(2);
    worker.options.until_empty = true;
    struct work_job *job = start_one(1);
    (void)next(EFFECT_RESERVE);
    worker_reserved(&worker, 0);
    expect_nothing();
    assert_false(worker_is_finished(&worker));
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_ACK);
    worker_told(&worker, job, now_ns, ANSWER_OK);
    (void)next(EFFECT_FORGET);
    /* Asked once more, because a job that ended badly may be ready again. */
    assert_false(worker_is_finished(&worker));
    (void)next(EFFECT_RESERVE);
    assert_false(worker_is_finished(&worker));
    worker_reserved(&worker, 0);
    expect_nothing();
    assert_true(worker_is_finished(&worker));
}

TEST(test_a_job_that_is_ready_again_is_not_left_behind)
{
    begin(2);
    worker.options.until_empty = true;
    struct work_job *job = start_one(1);
    (void)next(EFFECT_RESERVE);
    worker_ran(&worker, job, WORK_FAILED);
    (void)next(EFFECT_NACK);
    worker_told(&worker, job, now_ns, ANSWER_OK);
    (void)next(EFFECT_FORGET);
    /* The server gave this answer before it heard of the failure. */
    worker_reserved(&worker, 0);
    assert_false(worker_is_finished(&worker));
    job = start_one(1);
    worker_ran(&worker, job, WORK_DONE);
    (void)next(EFFECT_ACK);
}

/* ---- anything can happen ---- */

enum { JOBS = 6, STEPS = 40000 };

struct follow {
    bool starts[JOBS];
    bool ended[JOBS];
    bool told[JOBS]; /* by a request without its answer */
    bool asked[JOBS];
    bool can_tell;
    bool reserving;
    size_t held;
};

static uint32_t random_below(uint64_t *seed, uint32_t limit)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*seed >> 33) % limit);
}

static void follow_effect(struct follow *follow, const struct work_effect *effect)
{
    size_t place = effect->job == NULL ? 0 : (size_t)(effect->job - worker.jobs);

    assert_true(place < JOBS);
    switch (effect->kind) {
    case EFFECT_RESERVE:
        assert_false(follow->reserving);
        assert_int_equal(effect->count, JOBS - follow->held);
        follow->reserving = true;
        break;
    case EFFECT_START:
        assert_false(follow->starts[place]);
        follow->starts[place] = true;
        break;
    case EFFECT_STOP:
    case EFFECT_KILL:
        assert_true(follow->starts[place] && !follow->ended[place]);
        break;
    case EFFECT_LOOK:
    case EFFECT_EXTEND:
        assert_true(follow->can_tell && !follow->asked[place] && !follow->told[place]);
        follow->asked[place] = true;
        break;
    case EFFECT_ACK:
    case EFFECT_NACK:
    case EFFECT_NACK_IN:
        /* The server hears nothing of work that goes on, and nothing twice on one connection. */
        assert_true(follow->can_tell && !follow->told[place]);
        assert_true(follow->ended[place] || !follow->starts[place]);
        follow->told[place] = true;
        break;
    case EFFECT_FORGET:
        assert_false(follow->asked[place]);
        assert_true(follow->ended[place] || !follow->starts[place]);
        follow->starts[place] = follow->ended[place] = follow->told[place] = false;
        follow->held--;
        break;
    }
}

static enum work_answer any_answer(uint64_t *seed)
{
    uint32_t number = random_below(seed, 12);

    return number < 7 ? ANSWER_OK : (enum work_answer)(number - 6);
}

static void happen_to_job(struct follow *follow, uint64_t *seed, size_t place)
{
    struct work_job *job = &worker.jobs[place];

    if (follow->asked[place] && random_below(seed, 2) == 0) {
        follow->asked[place] = false;
        enum work_answer answer = any_answer(seed);
        if (job->ttr_ns == 0)
            worker_looked(&worker, job, now_ns, answer, 1 + random_below(seed, 1000000000));
        else
            worker_extended(&worker, job, now_ns, answer);
    } else if (follow->told[place] && !follow->asked[place]) {
        follow->told[place] = false;
        worker_told(&worker, job, now_ns, any_answer(seed));
    } else if (follow->starts[place] && !follow->ended[place]) {
        follow->ended[place] = true;
        worker_ran(&worker, job, (enum work_outcome)random_below(seed, 3));
    }
}

static void happen(struct follow *follow, uint64_t *seed)
{
    uint32_t number = random_below(seed, 100);

    now_ns += random_below(seed, 100000000);
    if (number < 30 && follow->reserving) {
        size_t count = random_below(seed, (uint32_t)(JOBS - follow->held + 1));
        for (size_t i = 0; i < count; i++)
            assert_non_null(worker_handed(&worker, now_ns, 1, "1-1"));
        follow->held += count;
        follow->reserving = false;
        worker_reserved(&worker, count);
    } else if (number < 33) {
        follow->can_tell = !follow->can_tell;
        worker_teller_changed(&worker, follow->can_tell);
        memset(follow->told, 0, sizeof follow->told);
        memset(follow->asked, 0, sizeof follow->asked);
    } else if (number < 35) {
        follow->reserving = false;
        worker_taker_changed(&worker, false);
        worker_taker_changed(&worker, true);
    } else {
        happen_to_job(follow, seed, random_below(seed, JOBS));
    }
}

static void run_effects(struct follow *follow)
{
    struct work_effect effect;

    while (worker_next(&worker, now_ns, &effect))
        follow_effect(follow, &effect);
    assert_int_equal(follow->held, worker.job_count);
    assert_true(worker_wake_ns(&worker) > now_ns);
}

TEST(test_anything_can_happen)
{
    uint64_t seed = 20261122;

    for (int run = 0; run < 5; run++) {
        struct follow follow = {.can_tell = true};
        begin(JOBS);
        for (int step = 0; step < STEPS; step++) {
            happen(&follow, &seed);
            run_effects(&follow);
        }
        /* In the end it finishes whatever was under way. */
        if (run % 2 == 0)
            worker_stop(&worker);
        else
            worker_give_up(&worker);
        worker_taker_changed(&worker, false);
        follow.reserving = false;
        for (int step = 0; step < STEPS && !worker_is_finished(&worker); step++) {
            happen(&follow, &seed);
            worker_taker_changed(&worker, false);
            run_effects(&follow);
        }
        assert_true(worker_is_finished(&worker));
        assert_int_equal(follow.held, 0);
        assert_true(worker.done > 0 && worker.failed > 0 && worker.lost > 0);
    }
}

TEST_MAIN("worker")
