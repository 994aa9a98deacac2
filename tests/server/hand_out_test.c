/*
 * Tests reserves: which client gets which job and when, and which hand-outs are undone when a
 * connection ends.
 */
#include "fixture.h"

#include "../../src/queue/tubes.h"
#include "sim_disk.h"

static void put_jobs(const char *lines)
{
    struct client producer;
    connect(&producer);
    say(&producer, lines);
    commit();
    (void)hear_some(&producer, 1 << 20);
    hang_up(&producer);
    commit();
}

SERVER_TEST(a_hand_out_waits_for_the_put)
{
    struct client a;
    connect(&a);
    say(&a, "p t one\nr 0 1 t\nz\n");
    rest();
    expect(&a, "");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_RESERVED);
    pass(60000);
    /* The lease has not begun: its ttr has not passed. */
    assert_int_equal(state_of(1), ELAPSE__QUEUE_RESERVED);
    commit();
    expect(&a, "+1\n=1 one\n-error\n");
    pass(9999);
    assert_int_equal(state_of(1), ELAPSE__QUEUE_RESERVED);
    pass(1);
    assert_int_equal(state_of(1), ELAPSE__QUEUE_READY);
}

SERVER_TEST(a_hand_out_does_not_wait_for_its_own_lease)
{
    struct client a;
    put_jobs("p t one\np t two\np t three\n");
    connect(&a);
    say(&a, "r 0 2 t\n");
    rest();
    expect(&a, "=1 one\n=2 two\n");
    /* But it waits until the leases of the reply before it are durable. */
    say(&a, "r 0 9 t\n");
    rest();
    expect(&a, "");
    commit();
    expect(&a, "=3 three\n");
}

SERVER_TEST(nothing_is_said_in_its_place)
{
    struct client a;
    connect(&a);
    say(&a, "z\nr 0 1 t\nz\ni 7\nl 7\nz\n");
    expect(&a, "-error\n-timeout\n-error\n-gone\n-gone\n-error\n");
    say(&a, "r 50 1 t\nz\n");
    pass(50); /* the present is rounded down: a wait is never short */
    expect(&a, "");
    assert_int_equal(elapse__server_next_ms(f.server), present().boot_ms + 1);
    pass(1);
    expect(&a, "-timeout\n-error\n");
    assert_true(elapse__server_next_ms(f.server) > present().boot_ms);
}

SERVER_TEST(a_time_out_waits_for_earlier_records)
{
    struct client a, b;
    connect(&a);
    connect(&b);
    say(&a, "r 50 1 t\n");
    say(&b, "p other x\n");
    pass(51);
    expect(&a, "");
    commit();
    expect(&a, "-timeout\n");
}

SERVER_TEST(the_first_to_wait_is_the_first_to_be_served)
{
    enum { WAITING = 5 };
    struct client clients[WAITING], producer;
    char line[64];
    for (int i = 0; i < WAITING; i++) {
        connect(&clients[i]);
        say(&clients[i], i % 2 == 0 ? "r 1000 1 a b\nz\n" : "r 1000 1 b c d\nz\n");
        rest();
    }
    connect(&producer);
    for (int i = 0; i < WAITING; i++) {
        snprintf(line, sizeof line, "p b job%d\n", i);
        say(&producer, line);
    }
    commit();
    for (int i = 0; i < WAITING; i++) {
        snprintf(line, sizeof line, "=%d job%d\n-error\n", i + 1, i);
        expect(&clients[i], line);
    }
}

/* Each new job is handed to a client that waits, also if it comes long after the job before it. */
SERVER_TEST(every_job_is_news_to_those_who_still_wait)
{
    enum { WAITING = 3 };
    struct client clients[WAITING], producer;
    char line[32];
    for (int i = 0; i < WAITING; i++) {
        connect(&clients[i]);
        say(&clients[i], "r 1000 1 t\n");
    }
    rest();
    connect(&producer);
    for (int i = 0; i < WAITING; i++) {
        snprintf(line, sizeof line, "p t job%d\n", i);
        say(&producer, line);
        commit();
        snprintf(line, sizeof line, "=%d job%d\n", i + 1, i);
        expect(&clients[i], line);
    }
}

SERVER_TEST(a_waiting_reserve_takes_from_any_of_its_tubes)
{
    struct client a, producer;
    connect(&a);
    connect(&producer);
    say(&a, "r 1000 1 a b c\n");
    say(&producer, "d 20 c later\n");
    commit();
    expect(&a, "");
    pass(20);
    commit();
    expect(&a, "=1 later\n");
    /* The reserve was answered, so it no longer waits for jobs of other tubes. */
    say(&producer, "p a one\n");
    commit();
    expect(&a, "");
    assert_int_equal(state_of(2), ELAPSE__QUEUE_READY);
}

SERVER_TEST(a_pause_holds_back_waiting_reserves)
{
    struct client a, producer;
    struct elapse__queue_text name = {"t", 1};
    connect(&a);
    connect(&producer);
    say(&a, "r 100000 1 t\n");
    assert_int_equal(elapse__queue_pause(f.engine.jobs, present(), name, 500).result,
                     ELAPSE__QUEUE_OK);
    say(&producer, "p t one\n");
    commit();
    expect(&a, "");
    pass(499);
    expect(&a, "");
    pass(1);
    commit();
    expect(&a, "=1 one\n");
}

/* Of those that wait, as many get a job as there are places. Their replies wait for their own
 * leases: no crash may forget who has a place. */
SERVER_TEST(a_place_that_is_free_serves_one_that_waits)
{
    struct client workers[3];
    struct elapse__queue_text name = {"t", 1};
    struct elapse__queue_limits limits = {.concurrency = 1};
    for (int i = 0; i < 3; i++)
        connect(&workers[i]);
    assert_int_equal(elapse__queue_limit(f.engine.jobs, present(), name, &limits).result,
                     ELAPSE__QUEUE_OK);
    commit();
    put_jobs("p t one\np t two\np t three\n");
    say(&workers[0], "r 0 1 t\n");
    expect(&workers[0], "");
    commit();
    expect(&workers[0], "=1 one\n");
    say(&workers[1], "r 100000 1 t\n");
    say(&workers[2], "r 100000 1 t\n");
    commit();
    expect(&workers[1], "");
    struct elapse__queue_view view;
    assert_int_equal(elapse__queue_look_up_id(f.engine.jobs, present(), 1, &view),
                     ELAPSE__QUEUE_OK);
    struct elapse__queue_holder holder = {.id = 1, .lease = view.lease};
    assert_int_equal(elapse__queue_ack(f.engine.jobs, present(), holder).result, ELAPSE__QUEUE_OK);
    rest();
    commit();
    expect(&workers[1], "=2 two\n");
    expect(&workers[2], "");
}

SERVER_TEST(a_thousand_waiting_reserves_of_many_tubes)
{
    enum { MANY = 1000 };
    static struct client clients[MANY];
    static char line[MANY * 8];
    size_t length = 0;
    options.input_bytes_max = sizeof line;
    serve();
    length = (size_t)snprintf(line, sizeof line, "r 1000 1");
    for (int i = 0; i < 100; i++)
        length += (size_t)snprintf(line + length, sizeof line - length, " t%d", i);
    memcpy(line + length++, "\n", 2);
    for (int i = 0; i < MANY; i++) {
        struct elapse__connection_facts facts = {.shell = &clients[i], .may_use_beanstalkd = true};
        clients[i].connection = elapse__connection_new(f.server, present(), &facts);
        elapse__connection_received(clients[i].connection, present(), line, length);
    }
    rest();
    put_jobs("p t50 one\np t99 two\n");
    expect(&clients[0], "=1 one\n");
    expect(&clients[1], "=2 two\n");
    expect(&clients[2], "");
    pass(1001);
    for (int i = 2; i < MANY; i++)
        expect(&clients[i], "-timeout\n");
}

SERVER_TEST(commands_behind_a_waiting_reserve_wait)
{
    struct client a, b;
    connect(&a);
    connect(&b);
    lines_run = 0;
    say(&a, "r 1000 1 t\np u x\n");
    rest();
    assert_int_equal(lines_run, 1);
    say(&b, "p t one\n");
    commit();
    assert_int_equal(lines_run, 3);
    expect(&a, "=1 one\n+2\n");
}

SERVER_TEST(a_cancelled_hand_out_takes_another_job)
{
    struct client a, b;
    put_jobs("p t one\n");
    connect(&a);
    connect_free(&b);
    say(&b, "p t two\n");
    say(&a, "r 0 1 t\nr 1000 1 u\n");
    say(&b, "x 1\n");
    commit();
    expect(&b, "+2\n+deleted\n");
    /* The reply waited for the put of the second job. Meanwhile the first job was cancelled. */
    expect(&a, "=2 two\n");
    say(&b, "p u three\np u four\n");
    say(&b, "p t five\n");
    commit();
    expect(&a, "=3 three\n");
}

SERVER_TEST(a_cancelled_hand_out_waits_again)
{
    struct client a, b, c;
    put_jobs("p t one\n");
    connect(&a);
    connect(&c);
    connect_free(&b);
    say(&b, "p u other\n");
    say(&a, "r 1000 1 t\nz\n");
    say(&c, "r 1000 1 t\n");
    say(&b, "x 1\n");
    commit();
    expect(&a, "");
    say(&a, "z\n");
    expect(&a, "");
    say(&b, "p t two\np t three\n");
    commit();
    /* This reserve came before that of the other client. */
    expect(&a, "=3 two\n-error\n-error\n");
    expect(&c, "=4 three\n");
}

SERVER_TEST(leases_end_with_their_connection)
{
    struct client a;
    put_jobs("p t one\np t two\np t three\n");
    connect(&a);
    say(&a, "r 0 1 t\n");
    rest();
    expect(&a, "=1 one\n");
    say(&a, "r 0 2 t\n");
    rest();
    assert_int_equal(state_of(2), ELAPSE__QUEUE_RESERVED);
    hang_up(&a);
    rest();
    for (uint64_t id = 1; id <= 3; id++)
        assert_int_equal(state_of(id), ELAPSE__QUEUE_READY);
    /* The first job was handed out; the others were not. */
    assert_int_equal(look_at(1).reserves, 1);
    assert_int_equal(look_at(2).reserves, 0);
    assert_int_equal(look_at(2).attempts, 0);
}

SERVER_TEST(a_free_lease_outlives_its_connection_once_it_was_sent)
{
    struct elapse__server_statistics statistics;
    struct client a;
    put_jobs("p t one\np t two\np t three\n");
    connect_free(&a);
    say(&a, "r 0 1 t\n");
    rest();
    expect(&a, "=1 one\n");
    say(&a, "r 0 1 t\n");
    commit();
    /* The client hears all of the reply but its last byte. */
    assert_string_equal(hear_some(&a, strlen("=2 two")), "=2 two");
    say(&a, "r 0 1 t\n");
    rest();
    hang_up(&a);
    rest();
    assert_int_equal(state_of(1), ELAPSE__QUEUE_RESERVED);
    assert_int_equal(state_of(2), ELAPSE__QUEUE_READY);
    assert_int_equal(state_of(3), ELAPSE__QUEUE_READY);
    assert_int_equal(look_at(2).attempts, 0);
    assert_int_equal(look_at(2).reserves, 0);
    elapse__server_statistics(f.server, present(), &statistics);
    assert_int_equal(statistics.undone, 2);
}

SERVER_TEST(a_wait_ends_with_its_connection)
{
    struct client a, b;
    connect(&a);
    connect(&b);
    say(&a, "r 1000 1 t\n");
    say(&b, "r 1000 1 t\n");
    hang_up(&a);
    put_jobs("p t one\n");
    expect(&b, "=1 one\n");
}

SERVER_TEST(many_leases_end_in_slices)
{
    enum { MANY = 4000, LINE = 8 };
    static char lines[MANY * LINE + 1];
    struct client a;
    unsigned turns = 0;
    for (int i = 0; i < MANY; i++)
        memcpy(lines + (size_t)i * LINE, "p t one\n", LINE + 1);
    put_jobs(lines);
    connect(&a);
    /* A reserve hands out only as many jobs as the journal takes at once. */
    while (elapse__queue_statistics(f.engine.jobs).reserved < MANY) {
        say(&a, "r 0 1000 t\n");
        commit();
        (void)hear_some(&a, 1 << 20);
    }
    assert_int_equal(elapse__queue_statistics(f.engine.jobs).reserved, MANY);
    hang_up(&a);
    assert_in_range(elapse__queue_statistics(f.engine.jobs).reserved, MANY - 1000, MANY - 1);
    while (elapse__queue_statistics(f.engine.jobs).reserved > 0) {
        turn();
        turns++;
        while (!f.more && elapse__journal_work(f.engine.journal))
            ;
    }
    assert_true(turns >= 3);
    assert_int_equal(elapse__queue_statistics(f.engine.jobs).ready, MANY);
}

SERVER_TEST(a_deadline_comes_a_second_before)
{
    struct client a;
    put_jobs("p t one\n");
    connect(&a);
    say(&a, "R 0 t\nR 100000 t\n");
    commit();
    expect(&a, "=1 one\n");
    pass(8999);
    expect(&a, "");
    pass(1);
    expect(&a, "-soon\n");
    say(&a, "R 100000 t\n");
    expect(&a, "-soon\n");
    pass(1000);
    /* The lease has ended, so the client gets the job again. */
    say(&a, "R 100000 t\n");
    commit();
    expect(&a, "=1 one\n");
}

SERVER_TEST(a_deadline_counts_from_when_the_reply_leaves)
{
    struct client a;
    connect(&a);
    say(&a, "p t one\nR 0 t\nR 100000 t\n");
    pass(50000);
    commit();
    expect(&a, "+1\n=1 one\n");
    pass(8999);
    expect(&a, "");
    pass(1);
    expect(&a, "-soon\n");
}

SERVER_TEST(a_body_from_the_disk_holds_up_nobody_else)
{
    enum { TRIES = 40 };
    struct elapse__server_reading *reading = NULL;
    struct client a, b;
    put_jobs("p t one\np t two\n");
    connect(&a);
    connect(&b);
    /* It is random whether the simulated page cache has a body. */
    for (int i = 0; i < TRIES && reading == NULL; i++) {
        expect(&a, "");
        say(&a, "l 1\nz\n");
        reading = elapse__server_reading(f.server);
        if (reading == NULL)
            expect(&a, "~1 one\n-error\n");
    }
    assert_non_null(reading);
    expect(&a, "");
    say(&b, "z\n");
    expect(&b, "-error\n");
    turn();
    assert_false(f.more);
    expect(&a, "");
    elapse__journal_read_perform(f.engine.journal, true, &reading->reading, 1);
    elapse__server_reading_done(f.server, present(), reading);
    a.attended = elapse__server_attention(f.server) == a.connection;
    expect(&a, "~1 one\n-error\n");
}

SERVER_TEST(a_connection_may_close_while_its_body_is_read)
{
    enum { TRIES = 60 };
    int seen = 0;
    put_jobs("p t one\n");
    for (int i = 0; i < TRIES; i++) {
        struct client a;
        connect_free(&a);
        say(&a, i % 2 == 0 ? "r 0 1 t\n" : "l 1\n");
        turn();
        struct elapse__server_reading *reading = elapse__server_reading(f.server);
        hang_up(&a);
        if (reading != NULL) {
            seen++;
            turn();
            elapse__journal_read_perform(f.engine.journal, true, &reading->reading, 1);
            elapse__server_reading_done(f.server, present(), reading);
        }
        commit();
        assert_int_equal(state_of(1), ELAPSE__QUEUE_READY);
    }
    assert_true(seen > 5);
}

SERVER_TEST(a_job_is_reserved_by_its_id)
{
    struct client a, b;
    put_jobs("d 100000 t one\n");
    connect(&a);
    connect(&b);
    say(&a, "i 1\n");
    commit();
    expect(&a, "=1 one\n");
    say(&b, "i 1\n");
    expect(&b, "-gone\n");
    say(&a, "x 1\n");
    commit();
    expect(&a, "+deleted\n");
}

SERVER_TEST(a_hand_out_waits_for_the_client_to_read)
{
    struct client a;
    put_jobs("p t one\n");
    options.output_bytes_max = 5000;
    serve();
    connect(&a);
    say(&a, "b 4990\nr 0 1 t\nb 4990\n");
    rest();
    assert_string_equal(hear_some(&a, 4991) + 4990, "\n");
    commit();
    /* The lease began only now. */
    assert_string_equal(hear_some(&a, 7), "=1 one\n");
    assert_int_equal(look_at(1).left_ms, 10000);
}

SERVER_TEST(a_damaged_job_is_passed_over)
{
    struct client a;
    put_jobs("p t damaged-body\np t whole\n");
    sim_disk_evict();
    size_t size;
    uint8_t *content = sim_disk_content("data/journal", "1.log", &size);
    assert_non_null(content);
    for (size_t i = 0; i + 12 < size; i++)
        if (memcmp(content + i, "damaged-body", 12) == 0)
            content[i] ^= 1;
    connect(&a);
    say(&a, "r 0 1 t\n");
    commit();
    expect(&a, "=2 whole\n");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_BURIED);
    struct elapse__journal_figures figures;
    elapse__journal_figures(f.engine.journal, &figures);
    assert_int_equal(figures.damaged_bodies, 1);
    assert_int_equal(figures.failed_reads, 0);
    say(&a, "l 1\ni 1\n");
    commit();
    expect(&a, "-damaged\n-gone\n");
}

/* ---- a disk that cannot read for a while ---- */

static void fail_reads(bool fail)
{
    sim_disk_set_faults(&(struct sim_disk_faults){.reads_fail = fail});
}

static struct elapse__server_statistics statistics(void)
{
    struct elapse__server_statistics found;
    elapse__server_statistics(f.server, present(), &found);
    return found;
}

SERVER_TEST(a_job_that_cannot_be_read_is_handed_out_when_it_can_be_read)
{
    struct client a;
    put_jobs("p t one\n");
    connect(&a);
    fail_reads(true);
    say(&a, "r 60000 1 t\n");
    commit();
    expect(&a, "");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_DELAYED);
    for (unsigned i = 0; i < 20; i++) {
        pass(1000);
        commit();
    }
    expect(&a, "");
    assert_int_equal(statistics().jobs.buried, 0);
    assert_int_equal(statistics().journal.unread_places, 1);
    assert_true(statistics().journal.failed_reads >= 20);
    assert_int_equal(statistics().journal.damaged_bodies, 0);
    fail_reads(false);
    pass(1000);
    commit();
    expect(&a, "=1 one\n");
    assert_int_equal(look_at(1).attempts, 0);
    assert_int_equal(statistics().journal.unread_places, 0);
}

/* Puts jobs with bodies of more than a page, so that no two of them lie in one page of the disk. */
static void put_large_jobs(unsigned count)
{
    char line[5000];
    memset(line, 'x', sizeof line);
    memcpy(line, "p t ", 4);
    line[4900] = '\n';
    line[4901] = '\0';
    for (unsigned i = 0; i < count; i++)
        put_jobs(line);
}

SERVER_TEST(a_disk_that_cannot_read_is_not_asked_for_every_job)
{
    struct client a;
    put_large_jobs(12);
    connect(&a);
    fail_reads(true);
    say(&a, "r 60000 12 t\nz\n");
    commit();
    /* The first reserve took all jobs, and the disk was asked once for each of them. */
    assert_int_equal(statistics().journal.failed_reads, 12);
    /* No turn is needed before the pause after a failed read is over. */
    assert_in_range(elapse__server_next_ms(f.server), present().boot_ms + 1,
                    present().boot_ms + ELAPSE__UNREAD_REST_MS);
    for (unsigned i = 0; i < 10; i++) {
        pass(1000);
        commit();
    }
    expect(&a, "");
    assert_true(statistics().journal.failed_reads <= 12 + 10 * ELAPSE__UNREAD_IN_A_ROW);
    assert_int_equal(statistics().jobs.buried, 0);
    fail_reads(false);
    pass(1000);
    commit();
    assert_true(strncmp(hear_some(&a, 1 << 20), "=1 xxx", 6) == 0);
}

SERVER_TEST(a_reserve_does_not_say_that_there_is_no_job_if_one_cannot_be_read)
{
    struct client a;
    put_jobs("p t one\n");
    connect(&a);
    fail_reads(true);
    say(&a, "r 0 1 t\nl 1\nr 0 1 empty\n");
    commit();
    expect(&a, ""); /* the server waits a little for the disk */
    pass(ELAPSE__ENGINE_READ_PATIENCE_MS);
    commit();
    expect(&a, "-disk\n-disk\n-timeout\n");
    say(&a, "i 1\n");
    commit();
    expect(&a, "-disk\n");
    fail_reads(false);
    pass(1000);
    say(&a, "l 1\ni 1\n");
    commit();
    expect(&a, "~1 one\n=1 one\n");
}

TEST_MAIN("hand_out")
