/*
 * Tests conversations in beanstalkd's protocol, with every command of it. The test sets the clocks.
 * The expected answers are those of beanstalkd 1.12. beanstalkd/differential compares the server
 * with a real beanstalkd.
 */
#include "fixture.h"

#include <regex.h>

static int set_up_beanstalkd(void **state)
{
    int failed = set_up(state);
    options.beanstalkd = &elapse__beanstalkd;
    options.resp = NULL;
    options.body_bytes_max = 100;
    options.version = "1.0";
    options.host = "host";
    options.os = "kernel";
    options.platform = "machine";
    options.instance = "0123456789abcdef";
    options.process_id = 4711;
    options.binlog_bytes_max = 1 << 20;
    serve();
    return failed;
}

#undef TEST
/* Sends `said`, makes everything durable, and expects this answer. */
static void talk(struct client *client, const char *said, const char *answer)
{
    say(client, said);
    commit();
    expect(client, answer);
}

#define BEANSTALKD_TEST(function) TEST_WITH(function, set_up_beanstalkd, tear_down)

/* ---- put and its errors ---- */

BEANSTALKD_TEST(test_put)
{
    struct client a;
    connect(&a);
    talk(&a, "put 5 0 60 4\r\nbody\r\n", "INSERTED 1\r\n");
    talk(&a, "put 5 0 60 0\r\n\r\nput 0 9 0 1\r\nb\r\n", "INSERTED 2\r\nINSERTED 3\r\n");
    talk(&a, "put 5 0 60 4\r\nbodyxx", "EXPECTED_CRLF\r\n");
    talk(&a, "put 5 0 60\r\nputs\r\n", "BAD_FORMAT\r\nUNKNOWN_COMMAND\r\n");
    assert_int_equal(look_at(1).ttr_ms, 60000);
    assert_int_equal(look_at(3).ttr_ms, 1000);
    assert_int_equal(look_at(3).left_ms, 9000);
    assert_int_equal(look_at(1).priority, 5);
}

BEANSTALKD_TEST(test_the_largest_body)
{
    char line[400];
    char body[161] = "";
    struct client a;
    memset(body, 'b', 160);
    connect(&a);
    sprintf(line, "put 0 0 60 100\r\n%.100s\r\n", body);
    talk(&a, line, "INSERTED 1\r\n");
    sprintf(line, "put 0 0 60 101\r\n%.101s\r\npeek 1\r\n", body);
    say(&a, line);
    commit();
    sprintf(line, "JOB_TOO_BIG\r\nFOUND 1 100\r\n%.100s\r\n", body);
    expect(&a, line);
    /* The command comes in pieces, and is answered when the last one is there. */
    talk(&a, "put 0 0 60 155\r\n", "");
    talk(&a, body + 100, "");
    talk(&a, body + 100, "");
    talk(&a, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\r\nlist-tube-used\r\n",
         "JOB_TOO_BIG\r\nUSING default\r\n");
}

BEANSTALKD_TEST(test_bytes_may_come_one_by_one)
{
    static const char said[] = "put 5 0 60 4\r\nb\r\nd\r\npeek 1\r\nnonsense\r\n";
    struct client a;
    connect(&a);
    for (const char *at = said; *at != '\0'; at++) {
        say_bytes(&a, at, 1);
        rest();
    }
    commit();
    expect(&a, "INSERTED 1\r\nFOUND 1 4\r\nb\r\nd\r\nUNKNOWN_COMMAND\r\n");
}

BEANSTALKD_TEST(test_a_line_that_is_too_long)
{
    char line[701];
    struct client a;
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    connect(&a);
    talk(&a, line, "");
    talk(&a, line, "");
    talk(&a, "\r", "");
    talk(&a, "\nlist-tube-used\r\n", "BAD_FORMAT\r\nUSING default\r\n");
}

BEANSTALKD_TEST(test_drain_mode)
{
    struct client a;
    connect(&a);
    talk(&a, "put 0 0 60 1\r\na\r\n", "INSERTED 1\r\n");
    elapse__server_drain(f.server);
    talk(&a, "put 0 0 60 1\r\nb\r\nput 0 0 60 101\r\n", "DRAINING\r\n");
    say(&a, "0123456789012345678901234567890123456789012345678901234567890123456789");
    talk(&a, "0123456789012345678901234567890\r\n", "JOB_TOO_BIG\r\n");
    talk(&a, "reserve\r\n", "RESERVED 1 1\r\na\r\n");
}

/* ---- jobs ---- */

BEANSTALKD_TEST(test_the_life_of_a_job)
{
    struct client a;
    connect(&a);
    talk(&a, "put 9 0 60 1\r\na\r\n", "INSERTED 1\r\n");
    talk(&a, "reserve\r\n", "RESERVED 1 1\r\na\r\n");
    talk(&a, "release 1 7 0\r\n", "RELEASED\r\n");
    assert_int_equal(look_at(1).priority, 7);
    talk(&a, "reserve-with-timeout 0\r\n", "RESERVED 1 1\r\na\r\n");
    talk(&a, "bury 1 6\r\n", "BURIED\r\n");
    assert_int_equal(look_at(1).priority, 6);
    talk(&a, "reserve-with-timeout 0\r\n", "TIMED_OUT\r\n");
    talk(&a, "peek-buried\r\n", "FOUND 1 1\r\na\r\n");
    talk(&a, "kick-job 1\r\nkick-job 1\r\n", "KICKED\r\nNOT_FOUND\r\n");
    talk(&a, "reserve-job 1\r\n", "RESERVED 1 1\r\na\r\n");
    talk(&a, "touch 1\r\n", "TOUCHED\r\n");
    talk(&a, "release 1 5 10\r\n", "RELEASED\r\n");
    talk(&a, "peek-delayed\r\npeek-ready\r\n", "FOUND 1 1\r\na\r\nNOT_FOUND\r\n");
    talk(&a, "delete 1\r\ndelete 1\r\npeek 1\r\n", "DELETED\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
}

/* A command that ends a job waits for the reserve-job before it, also if the client sends nothing
 * more. */
BEANSTALKD_TEST(test_a_pipeline_ends_the_job_that_it_reserves)
{
    struct client a;
    connect(&a);
    talk(&a, "put 9 0 60 1\r\na\r\nput 9 0 60 1\r\nb\r\n", "INSERTED 1\r\nINSERTED 2\r\n");
    talk(&a, "reserve-job 1\r\ndelete 1\r\n", "RESERVED 1 1\r\na\r\nDELETED\r\n");
    talk(&a, "reserve-job 2\r\nrelease 2 7 0\r\nreserve-job 2\r\ntouch 2\r\nbury 2 3\r\n",
         "RESERVED 2 1\r\nb\r\nRELEASED\r\nRESERVED 2 1\r\nb\r\nTOUCHED\r\nBURIED\r\n");
    say(&a, "put 9 0 60 1\r\nc\r\nreserve-job 2\r\nput 9 0 60 1\r\nd\r\ndelete 2\r\n");
    rest();
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 3);
    elapse__connection_received_all(a.connection, present());
    rest();
    assert_false(elapse__connection_wants_end(a.connection));
    commit();
    expect(&a, "INSERTED 3\r\nRESERVED 2 1\r\nb\r\nINSERTED 4\r\nDELETED\r\n");
    assert_true(elapse__connection_wants_end(a.connection));
}

BEANSTALKD_TEST(test_what_others_may_not_do)
{
    struct client a, b;
    connect(&a);
    connect(&b);
    talk(&a, "put 9 0 60 1\r\na\r\nreserve\r\n", "INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    talk(&b, "delete 1\r\nrelease 1 0 0\r\nbury 1 0\r\ntouch 1\r\nkick-job 1\r\nreserve-job 1\r\n",
         "NOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
    talk(&b, "peek 1\r\n", "FOUND 1 1\r\na\r\n");
    hang_up(&a);
    rest();
    commit();
    talk(&b, "reserve-with-timeout 0\r\n", "RESERVED 1 1\r\na\r\n");
}

BEANSTALKD_TEST(test_kick)
{
    struct client a;
    connect(&a);
    talk(&a, "put 0 10 60 1\r\na\r\nput 0 20 60 1\r\nb\r\nput 0 0 60 1\r\nc\r\n",
         "INSERTED 1\r\nINSERTED 2\r\nINSERTED 3\r\n");
    talk(&a, "reserve\r\n", "RESERVED 3 1\r\nc\r\n");
    talk(&a, "bury 3 0\r\nkick 10\r\nkick 1\r\nkick 0\r\n",
         "BURIED\r\nKICKED 1\r\nKICKED 1\r\nKICKED 0\r\n");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_READY);
    assert_int_equal(state_of(2), ELAPSE__QUEUE_DELAYED);
    talk(&a, "kick -1\r\n", "KICKED 1\r\n");
}

BEANSTALKD_TEST(test_a_long_kick_goes_in_slices)
{
    enum { JOBS = 5000 };
    struct client a;
    char *said = malloc(JOBS * 32);
    size_t size = 0;
    assert_non_null(said);
    for (int i = 0; i < JOBS; i++)
        size += (size_t)sprintf(said + size, "put 0 %d 60 0\r\n\r\n", 100 + i % 7);
    connect(&a);
    say_bytes(&a, said, size);
    commit();
    (void)hear_some(&a, 1 << 20);
    talk(&a, "peek-delayed\r\nkick 4000\r\nkick 4000\r\nlist-tube-used\r\n",
         "FOUND 1 0\r\n\r\nKICKED 4000\r\nKICKED 1000\r\nUSING default\r\n");
    free(said);
}

/* ---- reserve ---- */

BEANSTALKD_TEST(test_reserve_waits)
{
    struct client a, b;
    connect(&a);
    connect(&b);
    talk(&a, "reserve\r\nlist-tube-used\r\n", "");
    talk(&b, "put 0 5 60 1\r\na\r\n", "INSERTED 1\r\n");
    pass(4999);
    expect(&a, "");
    pass(1);
    commit();
    expect(&a, "RESERVED 1 1\r\na\r\nUSING default\r\n");
    talk(&a, "reserve-with-timeout 3\r\n", "");
    pass(3000); /* the present is rounded down: a wait is never short */
    expect(&a, "");
    pass(1);
    commit();
    expect(&a, "TIMED_OUT\r\n");
    talk(&a, "reserve-with-timeout -1\r\n", "");
    pass(30000);
    commit();
    expect(&a, "");
}

BEANSTALKD_TEST(test_a_deadline_is_soon)
{
    struct client a;
    connect(&a);
    talk(&a, "put 0 0 3 1\r\na\r\nreserve\r\nreserve\r\n", "INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    pass(1999);
    expect(&a, "");
    pass(1);
    commit();
    expect(&a, "DEADLINE_SOON\r\n");
    talk(&a, "reserve-with-timeout 0\r\n", "DEADLINE_SOON\r\n");
    talk(&a, "touch 1\r\nreserve-with-timeout 0\r\n", "TOUCHED\r\nTIMED_OUT\r\n");
    pass(3000);
    commit();
    talk(&a, "delete 1\r\nreserve-with-timeout 0\r\n", "DELETED\r\nTIMED_OUT\r\n");
}

BEANSTALKD_TEST(test_a_lease_ends)
{
    struct client a;
    connect(&a);
    talk(&a, "put 0 0 0 1\r\na\r\nreserve\r\n", "INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    pass(1000);
    commit();
    talk(&a, "release 1 0 0\r\nbury 1 0\r\ntouch 1\r\n", "NOT_FOUND\r\nNOT_FOUND\r\nNOT_FOUND\r\n");
    talk(&a, "reserve\r\n", "RESERVED 1 1\r\na\r\n");
}

BEANSTALKD_TEST(test_the_best_job_of_all_watched_tubes)
{
    struct client a;
    connect(&a);
    talk(&a, "use b\r\nput 5 0 60 1\r\na\r\nuse c\r\nput 4 0 60 1\r\nb\r\nput 4 0 60 1\r\nc\r\n",
         "USING b\r\nINSERTED 1\r\nUSING c\r\nINSERTED 2\r\nINSERTED 3\r\n");
    talk(&a, "watch b\r\nwatch c\r\nreserve\r\n",
         "WATCHING 2\r\nWATCHING 3\r\nRESERVED 2 1\r\nb\r\n");
    talk(&a, "ignore c\r\nreserve\r\n", "WATCHING 2\r\nRESERVED 1 1\r\na\r\n");
    talk(&a, "pause-tube c 5\r\nwatch c\r\nreserve-with-timeout 0\r\npeek-ready\r\n",
         "PAUSED\r\nWATCHING 3\r\nTIMED_OUT\r\nFOUND 3 1\r\nc\r\n");
    pass(5000);
    talk(&a, "reserve-with-timeout 0\r\n", "RESERVED 3 1\r\nc\r\n");
}

/* ---- tubes ---- */

BEANSTALKD_TEST(test_tubes)
{
    struct client a;
    connect(&a);
    talk(&a, "list-tube-used\r\nlist-tubes\r\n", "USING default\r\nOK 14\r\n---\n- default\n\r\n");
    talk(&a, "use a\r\nwatch b\r\nwatch b\r\nwatch c\r\n",
         "USING a\r\nWATCHING 2\r\nWATCHING 2\r\nWATCHING 3\r\n");
    talk(&a, "list-tubes\r\n", "OK 26\r\n---\n- default\n- a\n- b\n- c\n\r\n");
    talk(&a, "list-tubes-watched\r\n", "OK 22\r\n---\n- default\n- b\n- c\n\r\n");
    talk(&a, "ignore default\r\nlist-tubes-watched\r\n",
         "WATCHING 2\r\nOK 12\r\n---\n- c\n- b\n\r\n");
    talk(&a, "ignore x\r\nignore b\r\nignore c\r\n", "WATCHING 2\r\nWATCHING 1\r\nNOT_IGNORED\r\n");
    talk(&a, "list-tubes\r\n", "OK 22\r\n---\n- default\n- a\n- c\n\r\n");
    talk(&a, "pause-tube x 1\r\npause-tube a 1\r\n", "NOT_FOUND\r\nPAUSED\r\n");
}

/* list-tubes names "default" first, also if another tube has the first place in the queue. */
BEANSTALKD_TEST(test_default_is_the_first_tube_wherever_its_place_is)
{
    struct client a;
    assert_int_equal(elapse__queue_tube_hold(f.engine.jobs, (struct elapse__queue_text){"a", 1}),
                     ELAPSE__QUEUE_OK);
    connect(&a);
    talk(&a, "use b\r\nwatch b\r\nignore default\r\nlist-tubes\r\n",
         "USING b\r\nWATCHING 2\r\nWATCHING 1\r\nOK 22\r\n---\n- default\n- a\n- b\n\r\n");
    elapse__queue_tube_drop(f.engine.jobs, (struct elapse__queue_text){"a", 1});
}

/* A client begins with the tube "default", and can take the jobs of the tubes that there are. */
BEANSTALKD_TEST(test_clients_come_although_there_are_as_many_tubes_as_may_be)
{
    struct client a, worker;
    assert_int_equal(tear_down(NULL), 0);
    tubes_max = 3;
    assert_int_equal(set_up_beanstalkd(NULL), 0);
    tubes_max = 0;
    connect(&a);
    talk(&a, "use t1\r\nput 0 0 60 1\r\nx\r\nuse t2\r\nput 0 0 60 1\r\nx\r\nuse t3\r\n",
         "USING t1\r\nINSERTED 1\r\nUSING t2\r\nINSERTED 2\r\nOUT_OF_MEMORY\r\n");
    hang_up(&a);
    assert_int_equal(elapse__queue_tube_hold(f.engine.jobs, (struct elapse__queue_text){"t3", 2}),
                     ELAPSE__QUEUE_OK);
    connect(&worker);
    talk(&worker, "watch t1\r\nwatch t4\r\n", "WATCHING 2\r\nOUT_OF_MEMORY\r\n");
    talk(&worker, "reserve\r\n", "RESERVED 1 1\r\nx\r\n");
    talk(&worker, "delete 1\r\nput 0 0 60 1\r\nx\r\n", "DELETED\r\nINSERTED 3\r\n");
    elapse__queue_tube_drop(f.engine.jobs, (struct elapse__queue_text){"t3", 2});
}

BEANSTALKD_TEST(test_as_many_tubes_as_may_be_watched)
{
    struct client a;
    char line[64], answer[64];
    connect(&a);
    for (int i = 2; i <= ELAPSE__QUEUE_RESERVE_MAX; i++) {
        sprintf(line, "watch t%d\r\n", i);
        sprintf(answer, "WATCHING %d\r\n", i);
        talk(&a, line, answer);
    }
    talk(&a, "watch t2\r\nwatch one-more\r\nreserve-with-timeout 0\r\n",
         "WATCHING 1000\r\nOUT_OF_MEMORY\r\nTIMED_OUT\r\n");
}

BEANSTALKD_TEST(test_a_long_list_goes_in_slices)
{
    enum { TUBES = 10000 };
    struct client a, b;
    char lines[100 * 40];
    connect(&a);
    for (int i = 0, size = 0; i < TUBES; i++) {
        size += sprintf(lines + size, "use t%05d\r\nput 0 0 60 0\r\n\r\n", i);
        if (i % 100 == 99) {
            say(&a, lines);
            rest();
            size = 0;
        }
    }
    commit();
    (void)hear_some(&a, 1 << 21);
    connect(&b);
    say(&b, "list-tubes\r\n");
    commit();
    const char *list = hear_some(&b, 1 << 20);
    const char *begin = "OK 90014\r\n---\n- default\n- t00000\n";
    assert_int_equal(strncmp(list, begin, strlen(begin)), 0);
    assert_int_equal(strlen(list), strlen("OK 90014\r\n\r\n") + 90014);
    assert_string_equal(list + strlen(list) - 11, "- t09999\n\r\n");
}

/* ---- statistics ---- */

static void has(const char *text, const char *line)
{
    if (strstr(text, line) == NULL)
        print_message("no \"%s\" in: %s", line, text);
    assert_non_null(strstr(text, line));
}

/* Sends `said`, and expects this line in the answer. */
static void says(struct client *client, const char *said, const char *line)
{
    say(client, said);
    commit();
    has(hear_some(client, 1 << 16), line);
}

BEANSTALKD_TEST(test_statistics_of_a_job)
{
    struct client a;
    connect(&a);
    talk(&a, "put 7 10 60 1\r\na\r\n", "INSERTED 1\r\n");
    pass(3500);
    talk(&a, "stats-job 1\r\n",
         "OK 147\r\n---\nid: 1\ntube: default\nstate: delayed\npri: 7\nage: 3\ndelay: 10\nttr: 60\n"
         "time-left: 6\nfile: 1\nreserves: 0\ntimeouts: 0\nreleases: 0\nburies: 0\nkicks: 0\n\r\n");
    talk(&a, "kick 1\r\n", "KICKED 1\r\n");
    talk(&a, "reserve\r\n", "RESERVED 1 1\r\na\r\n");
    pass(500);
    talk(
        &a, "stats-job 1\r\n",
        "OK 149\r\n---\nid: 1\ntube: default\nstate: reserved\npri: 7\nage: 4\ndelay: 10\nttr: 60\n"
        "time-left: 59\nfile: 1\nreserves: 1\ntimeouts: 0\nreleases: 0\nburies: 0\nkicks: 1\n\r\n");
    talk(&a, "delete 1\r\nstats-job 1\r\n", "DELETED\r\nNOT_FOUND\r\n");
}

/* The seconds are rounded down, as beanstalkd does: also the first second, once it has begun. */
BEANSTALKD_TEST(test_the_seconds_that_are_left)
{
    struct client a;
    connect(&a);
    talk(&a, "put 0 0 10 1\r\na\r\nreserve\r\npause-tube default 3\r\n",
         "INSERTED 1\r\nRESERVED 1 1\r\na\r\nPAUSED\r\n");
    says(&a, "stats-job 1\r\n", "\ntime-left: 9\n");
    says(&a, "stats-tube default\r\n", "\npause-time-left: 2\n");
    pass(1000);
    says(&a, "stats-job 1\r\n", "\ntime-left: 8\n");
    pass(8999);
    says(&a, "stats-job 1\r\n", "\ntime-left: 0\n");
}

BEANSTALKD_TEST(test_the_delay_of_a_job_is_that_of_its_last_release)
{
    struct client a;
    connect(&a);
    talk(&a, "put 0 5 10 1\r\na\r\nreserve-job 1\r\n", "INSERTED 1\r\nRESERVED 1 1\r\na\r\n");
    says(&a, "stats-job 1\r\n", "\ndelay: 5\n");
    talk(&a, "release 1 0 7\r\n", "RELEASED\r\n");
    says(&a, "stats-job 1\r\n", "\ndelay: 7\n");
    pass(8000);
    talk(&a, "reserve\r\n", "RESERVED 1 1\r\na\r\n");
    says(&a, "stats-job 1\r\n", "\ndelay: 7\n");
    talk(&a, "release 1 0 0\r\n", "RELEASED\r\n");
    says(&a, "stats-job 1\r\n", "\ndelay: 0\n");
    talk(&a, "reserve\r\n", "RESERVED 1 1\r\na\r\n");
    talk(&a, "bury 1 0\r\n", "BURIED\r\n");
    says(&a, "stats-job 1\r\n", "\ndelay: 0\n");
}

/* Clients of beanstalkd split each line of a body without a check. A line that is empty, or that
 * has no value, breaks them. */
BEANSTALKD_TEST(test_every_line_of_a_body_is_a_field_or_an_item)
{
    static const char *const commands[] = {"stats\r\n", "stats-job 1\r\n", "stats-tube default\r\n",
                                           "list-tubes\r\n", "list-tubes-watched\r\n"};
    struct client a;
    regex_t line;
    assert_int_equal(regcomp(&line, "^([a-z-]+: .+|- .+)$", REG_EXTENDED | REG_NOSUB), 0);
    connect(&a);
    talk(&a, "put 0 5 10 1\r\na\r\n", "INSERTED 1\r\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char text[1 << 12];
        size_t size = 0;
        say(&a, commands[i]);
        commit();
        snprintf(text, sizeof text, "%s", hear_some(&a, 1 << 16));
        assert_int_equal(sscanf(text, "OK %zu\r\n", &size), 1);
        char *at = strstr(text, "\r\n---\n") + strlen("\r\n---\n");
        char *end = strstr(at, "\r\n");
        assert_int_equal(end - at + (long)strlen("---\n"), size);
        *end = '\0';
        while (at < end) {
            char *next = strchr(at, '\n');
            assert_non_null(next);
            *next = '\0';
            assert_int_equal(regexec(&line, at, 0, NULL, 0), 0);
            at = next + 1;
        }
    }
    regfree(&line);
}

BEANSTALKD_TEST(test_statistics_of_a_tube)
{
    struct client a, b;
    connect(&a);
    connect(&b);
    talk(&a, "put 7 10 60 1\r\na\r\nput 7 0 60 1\r\nb\r\ndelete 2\r\npause-tube default 9\r\n",
         "INSERTED 1\r\nINSERTED 2\r\nDELETED\r\nPAUSED\r\n");
    talk(&b, "use other\r\nreserve\r\n", "USING other\r\n");
    pass(1500);
    talk(&a, "stats-tube default\r\n",
         "OK 265\r\n---\nname: default\ncurrent-jobs-urgent: 0\ncurrent-jobs-ready: 0\n"
         "current-jobs-reserved: 0\ncurrent-jobs-delayed: 1\ncurrent-jobs-buried: 0\n"
         "total-jobs: 2\ncurrent-using: 1\ncurrent-watching: 2\ncurrent-waiting: 1\n"
         "cmd-delete: 1\ncmd-pause-tube: 1\npause: 9\npause-time-left: 7\n\r\n");
    talk(&a, "stats-tube x\r\n", "NOT_FOUND\r\n");
}

BEANSTALKD_TEST(test_statistics_of_the_server)
{
    struct client a, b;
    connect(&a);
    connect(&b);
    talk(&a, "put 7 10 60 1\r\na\r\nput 0 0 60 1\r\nbxxput 1\r\n",
         "INSERTED 1\r\nEXPECTED_CRLF\r\nBAD_FORMAT\r\n");
    talk(&a, "\r\nuse x\r\npeek 9\r\nkick 0\r\nkick 0\r\n",
         "UNKNOWN_COMMAND\r\nUSING x\r\nNOT_FOUND\r\nKICKED 0\r\nKICKED 0\r\n");
    talk(&b, "reserve\r\n", "");
    elapse__server_set_usage(f.server, 1500000, 250);
    pass(2500);
    say(&a, "stats\r\n");
    commit();
    const char *all = hear_some(&a, 1 << 16);
    static const char *const lines[] = {
        "OK ",
        "---\ncurrent-jobs-urgent: 0\n",
        "\ncurrent-jobs-delayed: 1\n",
        "\ncmd-put: 2\n",
        "\ncmd-peek: 1\n",
        "\ncmd-use: 1\n",
        "\ncmd-kick: 2\n",
        "\ncmd-stats: 1\n",
        "\ncmd-reserve: 1\n",
        "\ntotal-jobs: 1\n",
        "\nmax-job-size: 100\n",
        "\ncurrent-tubes: 2\n",
        "\ncurrent-connections: 2\n",
        "\ncurrent-producers: 1\n",
        "\ncurrent-workers: 1\n",
        "\ncurrent-waiting: 1\n",
        "\ntotal-connections: 2\n",
        "\npid: 4711\n",
        "\nversion: \"1.0\"\n",
        "\nrusage-utime: 1.500000\n",
        "\nrusage-stime: 0.000250\n",
        "\nuptime: 2\n",
        "\nbinlog-oldest-index: 1\n",
        "\nbinlog-current-index: 1\n",
        "\nbinlog-records-migrated: 0\n",
        "\nbinlog-records-written: 2\n",
        "\nbinlog-max-size: 1048576\n",
        "\ndraining: false\n",
        "\nid: 0123456789abcdef\n",
        "\nhostname: \"host\"\n",
        "\nos: \"kernel\"\n",
        "\nplatform: \"machine\"\n\r\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        has(all, lines[i]);
}

/* ---- the end of a connection ---- */

BEANSTALKD_TEST(test_quit)
{
    struct client a;
    connect(&a);
    talk(&a, "put 0 0 60 1\r\na\r\nquit\r\nlist-tube-used\r\n", "INSERTED 1\r\n");
    assert_true(elapse__connection_wants_end(a.connection));
}

BEANSTALKD_TEST(test_a_client_that_sends_no_more)
{
    struct client a;
    connect(&a);
    talk(&a, "reserve\r\n", "");
    elapse__connection_received_all(a.connection, present());
    commit();
    (void)hear_some(&a, 1 << 16);
    assert_true(elapse__connection_wants_end(a.connection));
}

TEST_MAIN("beanstalkd")
