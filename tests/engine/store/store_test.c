/*
 * Tests the durable queue through its header: each function once, alone and across a restart.
 */
#include "fixture.h"

#include <poll.h>
#include <unistd.h>

STORE_TEST(a_job_is_there_after_a_restart)
{
    struct elapse_job job;

    struct elapse_answer answer = put_job("order", "body", 3600000);
    assert_int_equal(answer.result, ELAPSE_RESULT_SCHEDULED);
    reopen();
    assert_int_equal(elapse_queue_look_up(queue, "tube", "order", 5, &job), ELAPSE_OK);
    assert_int_equal(job.id, answer.id);
    assert_int_equal(job.state, ELAPSE_JOB_DELAYED);
    assert_string_equal(job.tube, "tube");
    assert_int_equal(job.body_bytes, 4);
    assert_true(job.left_ms > 3500000 && job.left_ms <= 3600000);
}

STORE_TEST(a_cancelled_job_is_gone_after_a_restart)
{
    struct elapse_answer answer;
    struct elapse_job job;

    put_job("order", "body", 3600000);
    assert_int_equal(elapse_queue_cancel(queue, "tube", "order", 5, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_REMOVED);
    commit(&answer);
    reopen();
    assert_int_equal(elapse_queue_look_up(queue, "tube", "order", 5, &job), ELAPSE_ERROR_GONE);
    assert_int_equal(elapse_queue_cancel(queue, "tube", "order", 5, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_GONE);
}

STORE_TEST(reserve_hands_out_body_key_and_tube)
{
    struct elapse_reserved job;

    struct elapse_answer answer = put_job("key", "a body", 0);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    assert_int_equal(job.id, answer.id);
    assert_string_equal(job.tube, "tube");
    assert_int_equal(job.key_bytes, 3);
    assert_memory_equal(job.key, "key", 3);
    assert_int_equal(job.body_bytes, 6);
    assert_memory_equal(job.body, "a body", 6);
    assert_int_equal(job.attempt, 1);
    assert_int_equal(job.ttr_ms, 60000);
    assert_int_equal(elapse_queue_ack(queue, job.id, job.lease, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_ack(queue, job.id, job.lease, NULL), ELAPSE_ERROR_GONE);
    elapse_reserved_free(&job);
    assert_null(job.body);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &job), ELAPSE_ERROR_NOTHING_DUE);
}

STORE_TEST(an_empty_body_is_a_body)
{
    struct elapse_reserved job;

    put_job(NULL, "", 0);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    assert_int_equal(job.body_bytes, 0);
    assert_non_null(job.body);
    assert_null(job.key);
    elapse_reserved_free(&job);
}

STORE_TEST(reserve_waits_until_a_job_is_due)
{
    struct elapse_reserved job;

    put_job(NULL, "later", 60);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &job), ELAPSE_ERROR_NOTHING_DUE);
    assert_int_equal(elapse_queue_reserve(queue, "tube", ELAPSE_QUEUE_FOREVER_MS, &job), ELAPSE_OK);
    assert_memory_equal(job.body, "later", 5);
    elapse_reserved_free(&job);
}

STORE_TEST(reserve_any_takes_the_least_priority_of_all_tubes)
{
    static const char *const tubes[] = {"one", "two"};
    struct elapse_put put = {.tube = "one", .body = "1", .body_bytes = 1, .priority = 7};
    struct elapse_answer answer;
    struct elapse_reserved job;

    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    put.tube = "two";
    put.priority = 3;
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve_any(queue, tubes, 2, 10000, &job), ELAPSE_OK);
    assert_string_equal(job.tube, "two");
    assert_int_equal(job.id, answer.id);
    elapse_reserved_free(&job);
    assert_int_equal(elapse_queue_reserve_any(queue, tubes, 0, 0, &job), ELAPSE_ERROR_ARGUMENT);
    assert_int_equal(elapse_queue_reserve_any(queue, tubes, 1001, 0, &job), ELAPSE_ERROR_ARGUMENT);
}

STORE_TEST(a_lease_that_ends_gives_the_job_to_another_worker)
{
    struct elapse_put put = {.tube = "tube", .body = "x", .body_bytes = 1, .ttr_ms = 1};
    struct elapse_reserved first;
    struct elapse_reserved second;

    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &first), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &second), ELAPSE_OK);
    assert_int_equal(first.id, second.id);
    assert_int_equal(second.attempt, 2);
    assert_true(first.lease.number != second.lease.number);
    assert_int_equal(elapse_queue_ack(queue, first.id, first.lease, NULL), ELAPSE_ERROR_GONE);
    elapse_reserved_free(&first);
    elapse_reserved_free(&second);
}

STORE_TEST(a_lease_survives_a_restart_and_its_name_never_repeats)
{
    struct elapse_reserved before;
    struct elapse_reserved after;
    struct elapse_answer answer;

    put_job(NULL, "one", 0);
    put_job(NULL, "two", 0);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &before), ELAPSE_OK);
    reopen();
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &after), ELAPSE_OK);
    assert_true(after.id != before.id);
    assert_true(after.lease.life > before.lease.life);
    assert_int_equal(elapse_queue_ack(queue, before.id, before.lease, &answer), ELAPSE_OK);
    assert_int_equal(elapse_queue_ack(queue, after.id, after.lease, &answer), ELAPSE_OK);
    commit(&answer);
    elapse_reserved_free(&before);
    elapse_reserved_free(&after);
}

STORE_TEST(a_cancelled_job_tells_its_worker)
{
    struct elapse_reserved job;
    struct elapse_answer answer;

    put_job("key", "x", 0);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    assert_int_equal(elapse_queue_cancel(queue, "tube", "key", 3, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_RUNNING);
    assert_int_equal(elapse_queue_extend(queue, job.id, job.lease, NULL), ELAPSE_ERROR_CANCELLED);
    assert_int_equal(elapse_queue_ack(queue, job.id, job.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
}

STORE_TEST(a_transaction_changes_all_or_nothing)
{
    struct elapse_reserved job;
    struct elapse_job found;
    struct elapse_answer answer;
    struct elapse_change_answer answers[4];
    const struct elapse_put next = {.tube = "tube",
                                    .body = "next",
                                    .body_bytes = 4,
                                    .delay_ms = 3600000,
                                    .key = "next",
                                    .key_bytes = 4};
    const struct elapse_put again = {
        .tube = "tube", .key = "next", .key_bytes = 4, .if_key = ELAPSE_IF_KEY_FAIL};

    put_job("key", "x", 0);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    const struct elapse_change changes[] = {
        {.verb = ELAPSE_CHANGE_LEASED, .id = job.id, .lease = job.lease},
        {.verb = ELAPSE_CHANGE_ACK, .id = job.id, .lease = job.lease},
        {.verb = ELAPSE_CHANGE_PUT, .put = &next},
        {.verb = ELAPSE_CHANGE_PUT, .put = &again},
    };
    assert_int_equal(elapse_queue_transact(queue, changes, 4, answers, &answer), ELAPSE_OK);
    assert_int_equal(answers[1].error, ELAPSE_OK);
    assert_int_equal(answers[2].result, ELAPSE_RESULT_SCHEDULED);
    assert_int_equal(answers[3].error, ELAPSE_ERROR_KEY_PENDING);
    assert_int_equal(answers[3].id, answers[2].id);
    commit(&answer);
    reopen();
    assert_int_equal(elapse_queue_look_up(queue, "tube", "next", 4, &found), ELAPSE_OK);
    assert_int_equal(elapse_queue_look_up(queue, "tube", "key", 3, &found), ELAPSE_ERROR_GONE);
    /* The lease has ended, so this does nothing. */
    const struct elapse_change later[] = {
        {.verb = ELAPSE_CHANGE_CANCEL, .tube = "tube", .key = "next", .key_bytes = 4},
        {.verb = ELAPSE_CHANGE_LEASED, .id = job.id, .lease = job.lease},
    };
    assert_int_equal(elapse_queue_transact(queue, later, 2, answers, NULL), ELAPSE_ERROR_GONE);
    assert_int_equal(elapse_queue_look_up(queue, "tube", "next", 4, &found), ELAPSE_OK);
    assert_int_equal(elapse_queue_transact(queue, later, 1, answers, NULL), ELAPSE_OK);
    assert_int_equal(answers[0].result, ELAPSE_RESULT_REMOVED);
    assert_int_equal(elapse_queue_transact(queue, later, 0, answers, &answer),
                     ELAPSE_ERROR_ARGUMENT);
    assert_non_null(answer.fault);
    elapse_reserved_free(&job);
}

STORE_TEST(nack_in_and_bury_and_kick)
{
    struct elapse_reserved job;
    struct elapse_job found;
    struct elapse_answer answer;
    uint64_t kicked;

    put_job("key", "x", 0);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    assert_int_equal(elapse_queue_nack_in(queue, job.id, job.lease, 3600000, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
    assert_int_equal(elapse_queue_look_up(queue, "tube", "key", 3, &found), ELAPSE_OK);
    assert_int_equal(found.state, ELAPSE_JOB_DELAYED);
    assert_int_equal(elapse_queue_kick_id(queue, found.id, &answer), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    assert_int_equal(elapse_queue_bury(queue, job.id, job.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
    assert_int_equal(elapse_queue_look_up_id(queue, found.id, &found), ELAPSE_OK);
    assert_int_equal(found.state, ELAPSE_JOB_BURIED);
    assert_non_null(found.reason);
    assert_int_equal(elapse_queue_kick(queue, "tube", 10, &kicked, &answer), ELAPSE_OK);
    assert_int_equal(kicked, 1);
    assert_int_equal(elapse_queue_look_up_id(queue, found.id, &found), ELAPSE_OK);
    assert_int_equal(found.state, ELAPSE_JOB_READY);
    assert_null(found.reason);
}

/* GONE would say that there is no such job. */
STORE_TEST(kick_by_id_tells_a_job_that_is_ready_or_running_from_none)
{
    struct elapse_reserved job;
    struct elapse_answer answer;

    put_job("key", "x", 3600000);
    assert_int_equal(elapse_queue_kick_id(queue, 1, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_DONE);
    assert_int_equal(elapse_queue_kick_id(queue, 1, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_DONE);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    assert_int_equal(elapse_queue_kick_id(queue, 1, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_RUNNING);
    elapse_reserved_free(&job);
    assert_int_equal(elapse_queue_kick_id(queue, 2, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_GONE);
}

STORE_TEST(reschedule_moves_a_job)
{
    struct elapse_due_time time = {.due = ELAPSE_DUE_IN, .delay_ms = 0};
    struct elapse_answer answer;
    struct elapse_reserved job;

    put_job("key", "x", 3600000);
    assert_int_equal(elapse_queue_reschedule(queue, "tube", "key", 3, &time, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_RESCHEDULED);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    assert_int_equal(elapse_queue_reschedule_id(queue, job.id, &time, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_RUNNING);
    elapse_reserved_free(&job);
}

STORE_TEST(errors_name_the_argument)
{
    static char long_name[ELAPSE_TUBE_BYTES_MAX + 2];
    struct elapse_put put = {.tube = long_name, .body_bytes = 0};
    struct elapse_answer answer;

    memset(long_name, 't', sizeof long_name - 1);
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_ERROR_ARGUMENT);
    assert_non_null(answer.fault);
    long_name[ELAPSE_TUBE_BYTES_MAX] = '\0';
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_null(answer.fault);
}

STORE_TEST(a_body_that_no_segment_holds_is_named)
{
    static char body[65535];
    struct elapse_queue_options options;
    struct elapse_put put = {.tube = "tube", .body = body, .body_bytes = sizeof body};
    struct elapse_answer answer;

    assert_int_equal(elapse_queue_close(queue), ELAPSE_OK);
    elapse_queue_options_init(&options);
    assert_int_equal(elapse_queue_open(directory, &options, &queue, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_ERROR_ARGUMENT);
    assert_non_null(answer.fault);
}

STORE_TEST(file_bytes_count_the_spare_files)
{
    struct elapse_queue_counts statistics;

    for (unsigned i = 0; i < 10000; i++) { /* three files are made in the background */
        assert_int_equal(elapse_queue_statistics(queue, NULL, &statistics), ELAPSE_OK);
        if (statistics.file_bytes >= (statistics.segments + 3) << 16)
            break;
        (void)usleep(1000);
    }
    assert_int_equal(statistics.file_bytes, (statistics.segments + 3) << 16);
}

STORE_TEST(a_key_that_is_taken)
{
    struct elapse_put put = {
        .tube = "tube", .key = "key", .key_bytes = 3, .if_key = ELAPSE_IF_KEY_FAIL};
    struct elapse_answer answer;

    struct elapse_answer first = put_job("key", "x", 3600000);
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_ERROR_KEY_PENDING);
    assert_int_equal(answer.id, first.id);
    put.if_key = ELAPSE_IF_KEY_KEEP;
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_KEPT);
    put.if_key = ELAPSE_IF_KEY_REPLACE;
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(answer.result, ELAPSE_RESULT_REPLACED);
    assert_true(answer.id != first.id);
}

STORE_TEST(list_and_cancel_all_by_tag)
{
    enum { JOBS = 700 };
    struct elapse_job jobs[33];
    struct elapse_job_filter filter = {.tube = "tube", .tag = "odd", .tag_bytes = 3};
    uint64_t cursor = 0;
    uint64_t removed;
    uint64_t running;
    size_t count;
    size_t listed = 0;

    for (unsigned i = 0; i < JOBS; i++) {
        struct elapse_put put = {.tube = "tube",
                                 .tag = i % 2 ? "odd" : "even",
                                 .tag_bytes = i % 2 ? 3 : 4,
                                 .delay_ms = 3600000};
        assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    }
    while ((count = elapse_queue_list(queue, &filter, &cursor, jobs, 33)) > 0)
        listed += count;
    assert_int_equal(listed, JOBS / 2);
    assert_int_equal(elapse_queue_cancel_all(queue, &filter, &removed, &running, NULL), ELAPSE_OK);
    assert_int_equal(removed, JOBS / 2);
    assert_int_equal(running, 0);
    cursor = 0;
    listed = 0;
    while ((count = elapse_queue_list(queue, NULL, &cursor, jobs, 33)) > 0)
        listed += count;
    assert_int_equal(listed, JOBS / 2);
}

static void put_in_group(const char *group)
{
    struct elapse_put put = {.tube = "tube", .group = group, .group_bytes = strlen(group)};

    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
}

STORE_TEST(groups_take_turns)
{
    struct elapse_reserved jobs[3];
    struct elapse_job_group group;
    struct elapse_queue_counts counts;
    uint64_t cursor = 0;

    put_in_group("ann");
    put_in_group("ann");
    put_in_group("bob");
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &jobs[i]), ELAPSE_OK);
    assert_memory_equal(jobs[0].group, "ann", 3);
    assert_memory_equal(jobs[1].group, "bob", 3);
    assert_int_equal(jobs[2].group_bytes, 3);
    for (unsigned i = 0; i < 3; i++)
        elapse_reserved_free(&jobs[i]);
    assert_int_equal(elapse_queue_statistics(queue, "tube", &counts), ELAPSE_OK);
    assert_int_equal(counts.job_groups, 2);
    assert_true(elapse_queue_groups(queue, "tube", &cursor, &group));
    assert_int_equal(group.name_bytes, 3);
    assert_memory_equal(group.name, "ann", 3);
    assert_int_equal(group.running, 2);
    assert_true(elapse_queue_groups(queue, "tube", &cursor, &group));
    assert_false(elapse_queue_groups(queue, "tube", &cursor, &group));
    cursor = 0;
    assert_false(elapse_queue_groups(queue, "none", &cursor, &group));
}

STORE_TEST(statistics_and_tubes)
{
    struct elapse_queue_counts statistics;
    char name[ELAPSE_TUBE_BYTES_MAX + 1];
    uint64_t cursor = 0;
    unsigned tubes = 0;

    put_job(NULL, "x", 3600000);
    put_job(NULL, "y", 0);
    assert_int_equal(elapse_queue_statistics(queue, NULL, &statistics), ELAPSE_OK);
    assert_int_equal(statistics.delayed, 1);
    assert_int_equal(statistics.ready, 1);
    assert_int_equal(statistics.put, 2);
    assert_true(statistics.segments >= 1);
    assert_true(statistics.groups >= 2);
    assert_true(statistics.live_bytes > 0);
    assert_int_equal(elapse_queue_statistics(queue, "no", &statistics), ELAPSE_ERROR_GONE);
    while (elapse_queue_tubes(queue, &cursor, name)) {
        assert_string_equal(name, "tube");
        tubes++;
    }
    assert_int_equal(tubes, 1);
}

STORE_TEST(a_paused_tube_hands_out_nothing)
{
    struct elapse_reserved job;

    put_job(NULL, "x", 0);
    assert_int_equal(elapse_queue_pause(queue, "tube", 3600000, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &job), ELAPSE_ERROR_NOTHING_DUE);
    assert_int_equal(elapse_queue_pause(queue, "tube", 0, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    elapse_reserved_free(&job);
    assert_int_equal(elapse_queue_pause(queue, "no", 5, NULL), ELAPSE_ERROR_GONE);
}

STORE_TEST(a_worker_says_what_went_wrong)
{
    struct elapse_reserved job;
    struct elapse_content content;

    put_job(NULL, "x", 0);
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    assert_int_equal(elapse_queue_nack_error(queue, job.id, job.lease, "first", 5, NULL),
                     ELAPSE_OK);
    elapse_reserved_free(&job);
    reopen();
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    assert_int_equal(elapse_queue_peek(queue, job.id, &content), ELAPSE_OK);
    assert_int_equal(content.error_bytes, 5);
    assert_memory_equal(content.error, "first", 5);
    assert_true(content.error_ms > 0);
    elapse_content_free(&content);
    assert_int_equal(elapse_queue_bury_error(queue, job.id, job.lease, "second", 6, NULL),
                     ELAPSE_OK);
    assert_int_equal(elapse_queue_peek(queue, job.id, &content), ELAPSE_OK);
    assert_memory_equal(content.error, "second", 6);
    elapse_content_free(&content);
    assert_int_equal(elapse_queue_kick_id(queue, job.id, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_peek(queue, job.id, &content), ELAPSE_OK);
    assert_null(content.error);
    elapse_content_free(&content);
    elapse_reserved_free(&job);
}

STORE_TEST(a_pause_is_durable_as_every_change_is)
{
    struct elapse_answer answer;
    struct elapse_reserved job;
    struct elapse_queue_counts counts;

    put_job(NULL, "x", 0);
    assert_int_equal(elapse_queue_pause(queue, "tube", 3600000, &answer), ELAPSE_OK);
    assert_true(answer.position > 0);
    assert_int_equal(elapse_queue_commit(queue, answer.position, ELAPSE_QUEUE_FOREVER_MS),
                     ELAPSE_OK);
    reopen();
    assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &job), ELAPSE_ERROR_NOTHING_DUE);
    assert_int_equal(elapse_queue_statistics(queue, "tube", &counts), ELAPSE_OK);
    assert_int_equal(counts.ready, 1);
    assert_int_equal(elapse_queue_pause(queue, "tube", 0, NULL), ELAPSE_OK);
    reopen();
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    elapse_reserved_free(&job);
}

STORE_TEST(the_descriptor_tells_when_a_job_is_due)
{
    struct pollfd watched = {.fd = elapse_queue_descriptor(queue), .events = POLLIN};
    struct elapse_reserved job;

    put_job(NULL, "x", 50);
    for (;;) {
        elapse_queue_quiet(queue);
        enum elapse_error error = elapse_queue_reserve(queue, "tube", 0, &job);
        if (error == ELAPSE_OK)
            break;
        assert_int_equal(error, ELAPSE_ERROR_NOTHING_DUE);
        assert_int_equal(poll(&watched, 1, 60000), 1);
    }
    elapse_reserved_free(&job);
}

STORE_TEST(a_recurring_job_keeps_its_id)
{
    struct elapse_put put = {
        .tube = "tube", .due = ELAPSE_DUE_EVERY, .period_ms = 20, .body = "tick", .body_bytes = 4};
    struct elapse_answer answer;
    struct elapse_reserved job;

    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(elapse_queue_reserve(queue, "tube", 60000, &job), ELAPSE_OK);
        assert_int_equal(job.id, answer.id);
        assert_int_equal(elapse_queue_ack(queue, job.id, job.lease, NULL), ELAPSE_OK);
        elapse_reserved_free(&job);
    }
    put = (struct elapse_put){.tube = "tube", .due = ELAPSE_DUE_CRON, .cron = "61 * * * *"};
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_ERROR_ARGUMENT);
    assert_non_null(answer.fault);
}

/* Many small segments come and go; what lives in the first one stays. */
STORE_TEST(space_is_used_again)
{
    static char body[1000];
    struct elapse_queue_counts statistics;
    struct elapse_reserved job;
    struct elapse_answer answer;

    put_job("first", "stays", 0);
    for (unsigned i = 0; i < 2000; i++) {
        struct elapse_put put = {.tube = "churn",
                                 .body = body,
                                 .body_bytes = sizeof body,
                                 .key = "k",
                                 .key_bytes = 1,
                                 .delay_ms = 3600000};
        assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    }
    commit(&answer);
    reopen();
    assert_int_equal(elapse_queue_statistics(queue, NULL, &statistics), ELAPSE_OK);
    assert_int_equal(statistics.delayed + statistics.ready, 2);
    assert_true(statistics.file_bytes <= 2 * statistics.live_bytes + 5 * (64 << 10));
    assert_int_equal(elapse_queue_reserve(queue, "tube", 10000, &job), ELAPSE_OK);
    assert_memory_equal(job.body, "stays", 5);
    elapse_reserved_free(&job);
}

STORE_TEST(peek_shows_all_that_a_job_was_put_with)
{
    const struct elapse_put put = {.tube = "tube",
                                   .body = "body",
                                   .body_bytes = 4,
                                   .tag = "tag",
                                   .tag_bytes = 3,
                                   .group = "group",
                                   .group_bytes = 5,
                                   .headers = "{}",
                                   .headers_bytes = 2};
    struct elapse_answer answer;
    struct elapse_content content;

    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    assert_int_equal(elapse_queue_peek(queue, answer.id, &content), ELAPSE_OK);
    assert_null(content.key);
    assert_int_equal(content.tag_bytes, 3);
    assert_memory_equal(content.tag, "tag", 3);
    assert_int_equal(content.group_bytes, 5);
    assert_memory_equal(content.group, "group", 5);
    assert_int_equal(content.headers_bytes, 2);
    assert_memory_equal(content.headers, "{}", 2);
    elapse_content_free(&content);
    answer = put_job("key", "x", 0);
    assert_int_equal(elapse_queue_peek(queue, answer.id, &content), ELAPSE_OK);
    assert_null(content.tag);
    assert_null(content.group);
    assert_null(content.headers);
    elapse_content_free(&content);
}

STORE_TEST(a_group_with_the_longest_name_is_listed)
{
    char name[ELAPSE_JOB_KEY_BYTES_MAX];
    const struct elapse_put put = {.tube = "tube", .group = name, .group_bytes = sizeof name};
    struct elapse_job_group group;
    uint64_t cursor = 0;

    memset(name, 'g', sizeof name);
    assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_OK);
    assert_true(elapse_queue_groups(queue, "tube", &cursor, &group));
    assert_int_equal(group.name_bytes, sizeof name);
    assert_memory_equal(group.name, name, sizeof name);
}

TEST_MAIN("store")
