/*
 * Tests how rows of the inbox become commands of a real queue: which field each column becomes, and
 * which rows are refused.
 */
#include "../../queue/fixture.h"

#include "../../../src/cluster/inbox/row.h"

/* A put as elapse.put stores it, with the key "k". */
static struct elapse__inbox_row put_row(void)
{
    return (struct elapse__inbox_row){.id = 1,
                                      .what = text("put"),
                                      .tube = text("t"),
                                      .key = text("k"),
                                      .body = text("body"),
                                      .due = text("in"),
                                      .if_key = text("replace"),
                                      .priority = 1024,
                                      .ttr_ms = 60000};
}

static struct elapse__queue_answer run(struct fixture *f, const struct elapse__inbox_row *row)
{
    struct elapse__inbox_command command;
    assert_null(elapse__inbox_read(row, &command));
    struct elapse__queue_answer answer = elapse__inbox_run(f->queue, f->now, &command);
    ok(f);
    return answer;
}

static struct elapse__queue_view put_and_look(struct fixture *f,
                                              const struct elapse__inbox_row *row)
{
    struct elapse__queue_answer answer = run(f, row);
    assert_true(answer.result == ELAPSE__QUEUE_SCHEDULED ||
                answer.result == ELAPSE__QUEUE_REPLACED);
    return look(f, answer.id);
}

QUEUE_TEST(test_a_put_is_a_put)
{
    struct elapse__inbox_command command;
    struct elapse__inbox_row row = put_row();
    row.tag = text("g");
    row.token = text("o");
    row.if_key = text("debounce");
    row.due_ms = 10000;
    row.max_ms = 60000;
    row.priority = 4294967295;
    row.ttr_ms = 5000;
    row.expire_ms = 3600000;
    row.retry = 4294967295;
    row.backoff_min_ms = 1000;
    row.backoff_max_ms = 600000;
    assert_null(elapse__inbox_read(&row, &command));
    assert_int_equal(command.what, ELAPSE__INBOX_PUT);
    assert_memory_equal(command.put.tube.bytes, "t", 1);
    assert_memory_equal(command.put.key.bytes, "k", 1);
    assert_memory_equal(command.put.tag.bytes, "g", 1);
    assert_memory_equal(command.put.token.bytes, "o", 1);
    assert_memory_equal(command.put.body.bytes, "body", 4);
    assert_int_equal(command.put.when, ELAPSE__QUEUE_IN);
    assert_int_equal(command.put.delay_ms, 10000);
    assert_int_equal(command.put.if_key, ELAPSE__QUEUE_DEBOUNCE);
    assert_int_equal(command.put.debounce_max_ms, 60000);
    assert_int_equal(command.put.priority, UINT32_MAX);
    assert_int_equal(command.put.ttr_ms, 5000);
    assert_int_equal(command.put.expire_ms, 3600000);
    assert_int_equal(command.put.retry, UINT32_MAX);
    assert_int_equal(command.put.backoff_min_ms, 1000);
    assert_int_equal(command.put.backoff_max_ms, 600000);
}

QUEUE_TEST(test_headers_stand_before_the_body)
{
    static const char bytes[] = "\0\0\0\3h=1body";
    struct elapse__inbox_row row = put_row();
    struct elapse__inbox_command command;

    row.what = text("put+headers");
    row.body = (struct elapse__queue_text){bytes, sizeof bytes - 1};
    assert_null(elapse__inbox_read(&row, &command));
    assert_int_equal(command.what, ELAPSE__INBOX_PUT);
    assert_int_equal(command.put.headers.size, 3);
    assert_memory_equal(command.put.headers.bytes, "h=1", 3);
    assert_int_equal(command.put.body.size, 4);
    assert_memory_equal(command.put.body.bytes, "body", 4);
    row.body.size = 7; /* no body */
    assert_null(elapse__inbox_read(&row, &command));
    assert_int_equal(command.put.body.size, 0);
    row.body.size = 6;
    assert_non_null(elapse__inbox_read(&row, &command));
    row.body.size = 3;
    assert_non_null(elapse__inbox_read(&row, &command));
    row.body = (struct elapse__queue_text){"\0\0\0\0body", 8};
    assert_non_null(elapse__inbox_read(&row, &command));
}

QUEUE_TEST(test_each_kind_of_time)
{
    struct elapse__inbox_row row = put_row();
    struct elapse__inbox_command command;

    row.due_ms = 5000;
    assert_int_equal(put_and_look(f, &row).due_ms, f->now.wall_ms + 5000);
    row.due = text("at");
    row.due_ms = f->now.wall_ms + 7000;
    assert_int_equal(put_and_look(f, &row).due_ms, f->now.wall_ms + 7000);
    row.due = text("every");
    row.due_ms = 9000;
    assert_null(elapse__inbox_read(&row, &command));
    assert_int_equal(command.put.when, ELAPSE__QUEUE_EVERY);
    assert_int_equal(command.put.period_ms, 9000);
    assert_true(put_and_look(f, &row).recurring);
    row.due = text("cron");
    row.due_ms = 0;
    row.cron = text("* * * * *");
    row.zone = text("utc");
    assert_null(elapse__inbox_read(&row, &command));
    assert_int_equal(command.put.when, ELAPSE__QUEUE_CRON);
    assert_true(put_and_look(f, &row).recurring);
}

QUEUE_TEST(test_a_delay_began_when_the_row_was_made)
{
    struct elapse__inbox_row row = put_row();

    row.due_ms = 5000;
    row.age_ms = 1500;
    assert_int_equal(put_and_look(f, &row).due_ms, f->now.wall_ms + 3500);
    row.age_ms = 5000;
    assert_int_equal(put_and_look(f, &row).state, ELAPSE__QUEUE_READY);
    row.age_ms = 50000;
    assert_int_equal(put_and_look(f, &row).state, ELAPSE__QUEUE_READY);
    row.age_ms = -3; /* the clock of the database was set back */
    assert_int_equal(put_and_look(f, &row).due_ms, f->now.wall_ms + 5000);
    row.due = text("at");
    row.due_ms = f->now.wall_ms + 7000;
    row.age_ms = 1500;
    assert_int_equal(put_and_look(f, &row).due_ms, f->now.wall_ms + 7000);
}

/* The rest of the delay is no longer than MAX, whatever the age. */
QUEUE_TEST(test_a_debounced_row_that_waited)
{
    struct elapse__inbox_row row = put_row();
    row.if_key = text("debounce");
    row.due_ms = row.max_ms = 5000;
    row.age_ms = 2000;
    assert_int_equal(put_and_look(f, &row).due_ms, f->now.wall_ms + 3000);
}

QUEUE_TEST(test_cancel_and_reschedule)
{
    struct elapse__inbox_row row = put_row();
    row.due_ms = 5000;
    uint64_t id = run(f, &row).id;

    row = (struct elapse__inbox_row){.id = 2,
                                     .what = text("reschedule"),
                                     .tube = text("t"),
                                     .key = text("k"),
                                     .due = text("in"),
                                     .due_ms = 8000,
                                     .age_ms = 1000};
    assert_int_equal(run(f, &row).result, ELAPSE__QUEUE_RESCHEDULED);
    assert_int_equal(look(f, id).due_ms, f->now.wall_ms + 7000);
    row.due = text("at");
    row.due_ms = f->now.wall_ms + 9000;
    assert_int_equal(run(f, &row).result, ELAPSE__QUEUE_RESCHEDULED);
    assert_int_equal(look(f, id).due_ms, f->now.wall_ms + 9000);
    row = (struct elapse__inbox_row){
        .id = 3, .what = text("cancel"), .tube = text("t"), .key = text("k")};
    assert_int_equal(run(f, &row).result, ELAPSE__QUEUE_REMOVED);
    assert_int_equal(run(f, &row).result, ELAPSE__QUEUE_GONE);
}

QUEUE_TEST(test_a_gatherer_waits_for_its_arrivals)
{
    static const char bytes[] = "\0\0\0\0\0\0\0\3\0\0\0\3h=1body";
    static const char bare[] = "\0\0\0\0\xff\xff\xff\xff\0\0\0\0body";
    struct elapse__inbox_row row = put_row();
    struct elapse__inbox_command command;

    row.what = text("put+await");
    row.body = (struct elapse__queue_text){bare, sizeof bare - 1};
    assert_null(elapse__inbox_read(&row, &command));
    assert_int_equal(command.put.await, UINT32_MAX);
    assert_int_equal(command.put.headers.size, 0);
    assert_memory_equal(command.put.body.bytes, "body", 4);
    assert_int_equal(command.put.when, ELAPSE__QUEUE_IN);

    row.body = (struct elapse__queue_text){bytes, sizeof bytes - 1};
    row.due = text("");
    row.if_key = text("keep");
    struct elapse__queue_view view = put_and_look(f, &row);
    assert_int_equal(view.await, 3);
    assert_false(view.has_due);
    assert_int_equal(view.body_size, 4);
    struct elapse__inbox_row arrival = {.id = 2,
                                        .what = text("arrive"),
                                        .tube = text("t"),
                                        .key = text("k"),
                                        .token = text("o"),
                                        .due_ms = 2};
    struct elapse__queue_answer answer = run(f, &arrival);
    assert_int_equal(answer.result, ELAPSE__QUEUE_OK);
    assert_int_equal(answer.left, 1);
    assert_int_equal(run(f, &arrival).result, ELAPSE__QUEUE_KNOWN);
    arrival.token = text("");
    assert_int_equal(run(f, &arrival).left, 0);
    assert_int_equal(look(f, view.id).state, ELAPSE__QUEUE_READY);
    assert_int_equal(run(f, &arrival).result, ELAPSE__QUEUE_GONE);
}

static void check_refused(struct elapse__inbox_row row, const char *reason)
{
    struct elapse__inbox_command command;
    assert_string_equal(elapse__inbox_read(&row, &command), reason);
}

QUEUE_TEST(test_what_no_function_of_ours_has_made)
{
    struct elapse__inbox_row row = put_row();
    row.what = text("puts");
    check_refused(row, "this version knows no such call");
    row.what = text("");
    check_refused(row, "this version knows no such call");
    row = put_row();
    row.due = text("yearly");
    check_refused(row, "this version knows no such kind of time");
    row = put_row();
    row.if_key = (struct elapse__queue_text){.size = 0};
    check_refused(row, "this version knows no such mode of ifkey");
    row = put_row();
    row.due_ms = -1;
    check_refused(row, "a time or a duration is below 0");
    row.what = text("reschedule");
    check_refused(row, "a time or a duration is below 0");
    row = put_row();
    row.priority = 4294967296;
    check_refused(row, "priority and retry are at most 4294967295");
    row = put_row();
    row.retry = 4294967296;
    check_refused(row, "priority and retry are at most 4294967295");
}

QUEUE_TEST(test_no_number_is_below_0)
{
    struct elapse__inbox_row row = put_row();
    int64_t *numbers[] = {&row.max_ms, &row.priority,       &row.ttr_ms,        &row.expire_ms,
                          &row.retry,  &row.backoff_min_ms, &row.backoff_max_ms};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t was = *numbers[i];
        *numbers[i] = -1;
        check_refused(row, "a number is below 0");
        *numbers[i] = was;
    }
    struct elapse__inbox_command command;
    assert_null(elapse__inbox_read(&row, &command));
}

QUEUE_TEST(test_arrivals_that_no_function_of_ours_has_made)
{
    static const char none[] = "\0\0\0\0\0\0\0\0\0\0\0\0";
    static const char many[] = "\0\0\0\1\0\0\0\0\0\0\0\0";
    static const char few[] = "\0\0\0\0\0\0\0\1\0\0\0\1";
    struct elapse__inbox_row row = put_row();

    row.what = text("put+await");
    for (size_t size = 0; size < 12; size++) {
        row.body = (struct elapse__queue_text){few, size};
        check_refused(row, size < 8 ? "await is 1 to 4294967295"
                                    : "the length of its headers is missing");
    }
    row.body = (struct elapse__queue_text){few, 12};
    check_refused(row, "its headers are not whole");
    row.body = (struct elapse__queue_text){none, 12};
    check_refused(row, "await is 1 to 4294967295");
    row.body = (struct elapse__queue_text){many, 12};
    check_refused(row, "await is 1 to 4294967295");
    /* A job without arrivals has a time. */
    row = put_row();
    row.due = text("");
    check_refused(row, "this version knows no such kind of time");
    row.what = text("arrive");
    check_refused(row, "the count is 1 to 4294967295");
    row.due_ms = 4294967296;
    check_refused(row, "the count is 1 to 4294967295");
    row.due_ms = -1;
    check_refused(row, "the count is 1 to 4294967295");
}

/* What the queue itself refuses: SQL cannot read a cron expression. */
QUEUE_TEST(test_the_queue_has_the_last_word)
{
    struct elapse__inbox_row row = put_row();
    row.due = text("cron");
    row.cron = text("every day");
    assert_int_equal(run(f, &row).result, ELAPSE__QUEUE_ARGUMENT);
    row.cron = text("* * * * *");
    row.zone = text("Mars/Olympus");
    assert_int_equal(run(f, &row).result, ELAPSE__QUEUE_ARGUMENT);
    row = put_row();
    row.tube = text("");
    assert_int_equal(run(f, &row).result, ELAPSE__QUEUE_ARGUMENT);
}

TEST_MAIN("row")
