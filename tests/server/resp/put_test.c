/*
 * Tests PUT: each option, each error, and each limit at its edge.
 */
#include "core/guesses.h"
#include "talk.h"

static int64_t wall(void)
{
    return present().wall_ms;
}

RESP_TEST(defaults)
{
    says("PUT t body", "*2|:1|+scheduled|");
    struct elapse__queue_view view = look_at(1);
    assert_int_equal(view.state, ELAPSE__QUEUE_READY);
    assert_int_equal(view.due_ms, wall());
    assert_int_equal(view.priority, 1024);
    assert_int_equal(view.ttr_ms, 60000);
    assert_int_equal(view.expire_ms, 0);
    assert_int_equal(view.retry, 20);
    assert_int_equal(view.backoff_min_ms, 1000);
    assert_int_equal(view.backoff_max_ms, 600000);
    assert_int_equal(view.body_size, 4);
    assert_false(view.recurring);
}

RESP_TEST(reply_waits_until_durable)
{
    ask(&c, "PUT t body");
    rest();
    expect(&c, "");
    hear(&c, "*2|:1|+scheduled|");
}

RESP_TEST(when)
{
    says("put t b in 1h30m", "*2|:1|+scheduled|");
    assert_int_equal(look_at(1).due_ms, wall() + 5400000);
    assert_false(look_at(1).by_wall_clock);
    says("PUT t b IN 1us", "*2|:2|+scheduled|");
    assert_int_equal(look_at(2).due_ms, wall() + 1);
    says("PUT t b IN 0s", "*2|:3|+scheduled|");
    assert_int_equal(state_of(3), ELAPSE__QUEUE_READY);
    says("PUT t b AT 1700000009000", "*2|:4|+scheduled|");
    assert_int_equal(look_at(4).due_ms, 1700000009000);
    assert_true(look_at(4).by_wall_clock);
    says("PUT t b AT 0", "*2|:5|+scheduled|");
    assert_int_equal(state_of(5), ELAPSE__QUEUE_READY);
    says("PUT t b EVERY 5s", "*2|:6|+scheduled|");
    assert_int_equal(look_at(6).due_ms, wall() + 5000);
    assert_true(look_at(6).recurring);
    /* 2023-11-14 22:13:20 is the time of the fixture. */
    says("PUT t b CRON '0 9 * * *'", "*2|:7|+scheduled|");
    assert_int_equal(look_at(7).due_ms, 1700038800000);
    says("PUT t b CRON '0 9 * * *' ZONE utc", "*2|:8|+scheduled|");
    assert_int_equal(look_at(8).due_ms, 1700038800000);
    says("PUT t b IN 106751d", "*2|:9|+scheduled|");
}

RESP_TEST(work_options)
{
    says("PUT t b TTR 1ms PRIORITY 4294967295 EXPIRE 1h RETRY 3 BACKOFF 1s 10m",
         "*2|:1|+scheduled|");
    struct elapse__queue_view view = look_at(1);
    assert_int_equal(view.ttr_ms, 1);
    assert_int_equal(view.priority, UINT32_MAX);
    assert_int_equal(view.expire_ms, 3600000);
    assert_int_equal(view.retry, 3);
    assert_int_equal(view.backoff_min_ms, 1000);
    assert_int_equal(view.backoff_max_ms, 600000);
    says("PUT t b PRIORITY 0", "*2|:2|+scheduled|");
    assert_int_equal(look_at(2).priority, 0);
}

/* Each of the two has its default by itself, and 0 is a value. */
RESP_TEST(attempts_and_backoff)
{
    says("PUT t b ATTEMPTS 0", "*2|:1|+scheduled|");
    assert_int_equal(look_at(1).retry, 0);
    assert_int_equal(look_at(1).backoff_max_ms, 600000);
    says("PUT t b BACKOFF 0s 0s", "*2|:2|+scheduled|");
    assert_int_equal(look_at(2).retry, 20);
    assert_int_equal(look_at(2).backoff_max_ms, 0);
    says("PUT t b ATTEMPTS 3 BACKOFF 2s 4s", "*2|:3|+scheduled|");
    assert_int_equal(look_at(3).retry, 3);
    assert_int_equal(look_at(3).backoff_min_ms, 2000);
}

/* RETRY means the same. The log hears of it once a connection. */
RESP_TEST(the_old_name_of_attempts)
{
    struct client other;
    uint64_t place;
    uint32_t count;

    says("PUT t b ATTEMPTS 7", "*2|:1|+scheduled|");
    assert_false(elapse__guesses_take(elapse__server_old_names(f.server), &place, &count));
    says("PUT t b RETRY 7", "*2|:2|+scheduled|");
    says("PUT t b RETRY 0", "*2|:3|+scheduled|");
    assert_int_equal(look_at(2).retry, 7);
    assert_int_equal(look_at(3).retry, 0);
    connect(&other);
    answers(&other, "PUT t b RETRY 1", "*2|:4|+scheduled|");
    assert_true(elapse__guesses_take(elapse__server_old_names(f.server), &place, &count));
    assert_int_equal(count, 2);
    assert_false(elapse__guesses_take(elapse__server_old_names(f.server), &place, &count));
    says("PUT t b RETRY 1 ATTEMPTS 1",
         "-ERR syntax error: RETRY is the old name of ATTEMPTS: give one|");
}

RESP_TEST(if_key)
{
    says("PUT t one KEY k IN 1h", "*2|:1|+scheduled|");
    says("PUT t two KEY k IN 1h", "*2|:2|+replaced|");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_FREE);
    says("PUT t three KEY k IFKEY keep", "*2|:2|+kept|");
    says("PUT t three KEY k IFKEY FAIL", "-BUSYKEY 2 has this key|");
    says("PUT t three KEY k IN 1m IFKEY DEBOUNCE MAX 2m", "*2|:2|+replaced|");
    assert_int_equal(look_at(2).due_ms, wall() + 60000);
    pass(30000);
    says("PUT t four! KEY k IN 1m59s IFKEY DEBOUNCE MAX 2m", "*2|:2|+replaced|");
    assert_int_equal(look_at(2).due_ms, wall() + 90000);
    assert_int_equal(look_at(2).body_size, 5);
    says("PUT t five KEY k IFKEY REPLACE", "*2|:3|+replaced|");
    begins(&c, "RESERVE t", "*1|*8|:3|");
    says("PUT t six KEY k IFKEY KEEP", "*2|:3|+running|");
    says("BURY 3 1-1", "+ok|");
    says("PUT t six KEY k IFKEY KEEP", "*2|:3|+buried|");
    says("PUT u six KEY k IFKEY FAIL", "*2|:4|+scheduled|");
}

RESP_TEST(token)
{
    says("PUT t b TOKEN x", "*2|:1|+scheduled|");
    says("PUT t other TOKEN x", "*2|:1|+known|");
    says("PUT t b TOKEN y", "*2|:2|+scheduled|");
}

RESP_TEST(token_with_a_life)
{
    says("PUT t b TOKEN x FOR 5s", "*2|:1|+scheduled|");
    pass(4000);
    says("PUT t b TOKEN x", "*2|:1|+known|");
    pass(3000);
    says("PUT t b TOKEN x FOR 10m", "*2|:2|+scheduled|");
    says("PUT t b TOKEN z FOR 999ms", "-ERR a token lives from 1 s to 10 min|");
    says("PUT t b TOKEN z FOR 0s", "-ERR a token lives from 1 s to 10 min|");
    says("PUT t b TOKEN z FOR 601s", "-ERR a token lives from 1 s to 10 min|");
    says("PUT t b FOR 5s", "-ERR syntax error: FOR needs TOKEN|");
}

RESP_TEST(any_bytes)
{
    static const char *const arguments[] = {"PUT", "t\0t", "\r\n\0\xff", "KEY", "\0"};
    static const size_t sizes[] = {3, 3, 4, 3, 1};
    static const char *const look[] = {"CANCEL", "t\0t", "\0"};
    static const size_t look_sizes[] = {6, 3, 1};

    ask_bytes(&c, 5, arguments, sizes);
    hear(&c, "*2|:1|+scheduled|");
    ask_bytes(&c, 3, look, look_sizes);
    hear(&c, "*1|+removed|");
}

RESP_TEST(a_zero_byte_ends_no_unit)
{
    static const char *const arguments[] = {"PUT", "t", "b", "IN", "5m\0"};
    static const size_t sizes[] = {3, 1, 1, 2, 3};

    ask_bytes(&c, 5, arguments, sizes);
    hear(&c, "-ERR the unit is not one of w d h m s ms us ns: '5m?'|");
}

RESP_TEST(errors)
{
    static const struct {
        const char *words;
        const char *reply;
    } cases[] = {
        {"PUT t b IN", "-ERR syntax error: a value is missing behind 'IN'|"},
        {"PUT t b BACKOFF 1s", "-ERR syntax error: a value is missing behind 'BACKOFF'|"},
        {"PUT t b SOON", "-ERR syntax error: there is no option 'SOON'|"},
        {"PUT t b IN 1s IN 2s", "-ERR syntax error: twice the option 'IN'|"},
        {"PUT t b IN 30", "-ERR a unit is missing (one of w d h m s ms us ns): '30'|"},
        {"PUT t b IN -1s", "-ERR a duration cannot be negative: '-1s'|"},
        {"PUT t b IN ''", "-ERR the duration is empty: ''|"},
        {"PUT t b IN 106752d", "-ERR the duration is longer than 292 years: '106752d'|"},
        {"PUT t b AT 1h", "-ERR not a number, or out of range: '1h'|"},
        {"PUT t b AT 253402300800000", "-ERR not a number, or out of range: '253402300800000'|"},
        {"PUT t b IN 1s AT 1", "-ERR syntax error: only one of IN, AT, EVERY and CRON|"},
        {"PUT t b ZONE utc", "-ERR syntax error: ZONE needs CRON|"},
        {"PUT t b KEY ''", "-ERR a key has 1 to 250 bytes|"},
        {"PUT t b TAG ''", "-ERR a tag has 1 to 250 bytes|"},
        {"PUT t b TOKEN ''", "-ERR a token has 1 to 250 bytes|"},
        {"PUT t b IFKEY KEEP", "-ERR syntax error: IFKEY needs KEY|"},
        {"PUT t b KEY k IFKEY MAYBE",
         "-ERR syntax error: IFKEY takes REPLACE, KEEP, FAIL or DEBOUNCE|"},
        {"PUT t b KEY k IFKEY DEBOUNCE", "-ERR syntax error: DEBOUNCE and MAX belong together|"},
        {"PUT t b KEY k MAX 1s", "-ERR syntax error: DEBOUNCE and MAX belong together|"},
        {"PUT t b PRIORITY 4294967296", "-ERR not a number, or out of range: '4294967296'|"},
        {"PUT t b PRIORITY -1", "-ERR not a number, or out of range: '-1'|"},
        {"PUT t b RETRY many", "-ERR not a number, or out of range: 'many'|"},
        {"PUT t b TTR 1x", "-ERR the unit is not one of w d h m s ms us ns: '1x'|"},
    };
    /* The queue refuses these, in its own words. */
    static const char *const refused[] = {
        "PUT '' b",
        "PUT t b TTR 0s",
        "PUT t b EVERY 0s",
        "PUT t b CRON '0 9 * *'",
        "PUT t b CRON '0 9 * * *' ZONE Nowhere/At_All",
        "PUT t b BACKOFF 2s 1s",
        "PUT t b KEY k IN 5s IFKEY DEBOUNCE MAX 1s",
        "PUT t b KEY k AT 1 IFKEY DEBOUNCE MAX 1s",
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        says(cases[i].words, cases[i].reply);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        begins(&c, refused[i], "-ERR ");
    begins(&c, "PUT t",
           "-ERR wrong number of arguments for 'put' command; syntax: PUT tube body [");
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 0);
}

/* Puts a job with texts of these sizes; 0: without the option. Returns the first byte of the
 * reply. */
static char put_sized(size_t tube, size_t body, size_t key, size_t tag, size_t other)
{
    static const char bytes[70000] = "";
    const char *arguments[9] = {"PUT", bytes, bytes};
    size_t sizes[9] = {3, tube, body};
    const char *names[] = {"KEY", "TAG", "TOKEN"};
    const size_t values[] = {key, tag, other};
    unsigned count = 3;

    for (unsigned i = 0; i < 3; i++) {
        if (values[i] == 0)
            continue;
        arguments[count] = names[i];
        sizes[count++] = strlen(names[i]);
        arguments[count] = bytes;
        sizes[count++] = values[i];
    }
    ask_bytes(&c, count, arguments, sizes);
    commit();
    return *hear_some(&c, 65536);
}

RESP_TEST(limits)
{
    assert_int_equal(put_sized(200, 65535, 250, 250, 250), '*');
    assert_int_equal(put_sized(1, 0, 0, 0, 0), '*');
    assert_int_equal(put_sized(0, 1, 0, 0, 0), '-');
    assert_int_equal(put_sized(201, 1, 0, 0, 0), '-');
    assert_int_equal(put_sized(1, 65536, 0, 0, 0), '-');
    assert_int_equal(put_sized(1, 1, 251, 0, 0), '-');
    assert_int_equal(put_sized(1, 1, 0, 251, 0), '-');
    assert_int_equal(put_sized(1, 1, 0, 0, 251), '-');
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 2);
}

RESP_TEST(small_bodies)
{
    options.body_bytes_max = 10;
    hang_up(&c);
    serve();
    connect(&c);
    says("PUT t 0123456789 KEY 01234567890", "*2|:1|+scheduled|");
    says("PUT t 01234567890", "-ERR the body is longer than the server allows|");
}

RESP_TEST(refusals)
{
    options.memory_bytes_max = 1000;
    options.tube_jobs_max = 1;
    hang_up(&c);
    serve();
    connect(&c);
    says("PUT t b KEY k", "*2|:1|+scheduled|");
    says("PUT t b", "-LIMIT the tube has as many jobs or bytes as it may have|");
    elapse__server_set_memory(f.server, 1000);
    says("PUT u b", "-OOM the server has as much memory as it may take|");
    elapse__server_set_memory(f.server, 999);
    says("PUT u b", "*2|:2|+scheduled|");
    elapse__server_drain(f.server);
    says("PUT v b", "-DRAINING the server takes no new jobs|");
    says("CANCEL t k", "*1|+removed|");
}

/* A client that heard no answer sends its put again, and has to hear that the put had arrived. */
RESP_TEST(a_known_token_needs_no_room)
{
    options.memory_bytes_max = 1000;
    options.tube_jobs_max = 1;
    hang_up(&c);
    serve();
    connect(&c);
    says("PUT t b TOKEN first", "*2|:1|+scheduled|");
    says("PUT t b TOKEN second", "-LIMIT the tube has as many jobs or bytes as it may have|");
    says("PUT t b TOKEN first", "*2|:1|+known|");
    elapse__server_set_memory(f.server, 1000);
    says("PUT u b TOKEN second", "-OOM the server has as much memory as it may take|");
    says("PUT u b TOKEN first", "*2|:1|+known|");
    elapse__server_drain(f.server);
    says("PUT u b TOKEN second", "-DRAINING the server takes no new jobs|");
    says("PUT u b TOKEN first", "*2|:1|+known|");
    /* A token that was forgotten needs room again. */
    pass(ELAPSE__QUEUE_TOKEN_MS + 2000);
    says("PUT u b TOKEN first", "-DRAINING the server takes no new jobs|");
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 1);
}

/* A command that is longer than a limit is answered, and those behind it are run. */
RESP_TEST(goes_on_after_a_refusal)
{
    static const char head[] = "*3\r\n$3\r\nPUT\r\n$1\r\nt\r\n$500000\r\n";
    static const char body[100000] = "";

    say(&c, head);
    for (int i = 0; i < 5; i++)
        say_bytes(&c, body, sizeof body);
    say(&c, "\r\n");
    hear(&c,
         "-ERR too long: a body, or all arguments together, exceed the --max-body of the server|");
    says("PUT t b", "*2|:1|+scheduled|");
}

TEST_MAIN("put")
