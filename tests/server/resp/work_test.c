/*
 * Tests the commands of workers: RESERVE, ACK, NACK, EXTEND, BURY.
 */
#include "talk.h"

RESP_TEST(reserve)
{
    says("PUT t one KEY k IN 1s", "*2|:1|+scheduled|");
    says("RESERVE t", "*0|");
    pass(1000);
    says("RESERVE t", "*1|*8|:1|$3|1-1|$1|t|$1|k|$3|one|:1700000001000|:1|:0|");
    says("RESERVE t", "*0|");
    says("PUT t two PRIORITY 9", "*2|:2|+scheduled|");
    says("PUT u three PRIORITY 8", "*2|:3|+scheduled|");
    says("PUT u '' PRIORITY 10", "*2|:4|+scheduled|");
    says("RESERVE t u COUNT 5", "*3|*8|:3|$3|1-2|$1|u|$-1|$5|three|:1700000001000|:1|:0|"
                                "*8|:2|$3|1-3|$1|t|$-1|$3|two|:1700000001000|:1|:0|"
                                "*8|:4|$3|1-4|$1|u|$-1|$0||:1700000001000|:1|:0|");
    says("RESERVE nowhere", "*0|");
}

/* Eight places as always, and behind them what has a value. */
RESP_TEST(details)
{
    says("PUT t one TAG x ATTEMPTS 3 HEADERS h=1 TTR 5s", "*2|:1|+scheduled|");
    says("PUT t two ATTEMPTS 0", "*2|:2|+scheduled|");
    says("PUT t three EVERY 1s ATTEMPTS 1", "*2|:3|+scheduled|");
    says("RESERVE t COUNT 2 DETAILS",
         "*2|*9|:1|$3|1-1|$1|t|$-1|$3|one|:1700000000000|:1|:0|"
         "*8|$3|ttr|:5000|$3|tag|$1|x|$7|headers|$3|h=1|$13|attempts_left|:2|"
         "*9|:2|$3|1-2|$1|t|$-1|$3|two|:1700000000000|:1|:0|*2|$3|ttr|:60000|");
    pass(1000);
    says("RESERVE t DETAILS", "*1|*9|:3|$3|1-3|$1|t|$-1|$5|three|:1700000001000|:1|:0|"
                              "*6|$3|ttr|:60000|$13|attempts_left|:0|$9|recurring|:1|");
    says("RESERVE t DETAILS DETAILS", "-ERR syntax error: twice the option 'DETAILS'|");
}

RESP_TEST(headers_are_no_part_of_the_body)
{
    says("PUT t body HEADERS 'some text' ATTEMPTS 0 BACKOFF 0s 0s", "*2|:1|+scheduled|");
    says("RESERVE t", "*1|*8|:1|$3|1-1|$1|t|$-1|$4|body|:1700000000000|:1|:0|");
    says("PUT t b HEADERS ''", "-ERR headers have 1 to 4096 bytes|");
    says("NACK 1 1-1", "+ok|");
    says("RESERVE t DETAILS", "*1|*9|:1|$3|1-2|$1|t|$-1|$4|body|:1700000000000|:2|:0|"
                              "*4|$3|ttr|:60000|$7|headers|$9|some text|");
}

/* As docs/protocol.md says: the job that it found is lost, and it looks again. */
RESP_TEST(a_reserve_may_hand_out_a_job_of_a_later_put_of_its_pipeline)
{
    struct client other;

    connect(&other);
    says("PUT t one KEY k", "*2|:1|+scheduled|");
    answers(&other, "PUT u something", "*2|:2|+scheduled|");
    ask(&other, "PUT u more"); /* the hand-out waits until this is durable */
    ask(&c, "RESERVE t");
    ask(&c, "PUT t two");
    ask(&other, "CANCEL t k");
    hear(&c, "*1|*8|:4|$3|1-2|$1|t|$-1|$3|two|:1700000000000|:1|:0|*2|:4|+scheduled|");
    hear(&other, "*2|:3|+scheduled|*1|+running|");
}

/* While its job stays, it is the one that was ready when the RESERVE came. */
RESP_TEST(a_reserve_hands_out_what_was_ready_before_the_rest_of_its_pipeline)
{
    says("PUT t one PRIORITY 9", "*2|:1|+scheduled|");
    ask(&c, "PUT u more");
    ask(&c, "RESERVE t");
    ask(&c, "PUT t two PRIORITY 1");
    ask(&c, "RESERVE v");
    ask(&c, "PUT v three");
    hear(&c, "*2|:2|+scheduled|*1|*8|:1|$3|1-1|$1|t|$-1|$3|one|:1700000000000|:1|:0|"
             "*2|:3|+scheduled|*0|*2|:4|+scheduled|");
}

RESP_TEST(reserve_in_resp3)
{
    begins(&c, "HELLO 3", "%7|");
    says("PUT t one", "*2|:1|+scheduled|");
    says("RESERVE t", "*1|*8|:1|$3|1-1|$1|t|_|$3|one|:1700000000000|:1|:0|");
    says("RESERVE t", "*0|");
}

/* The version is that of the moment when the command came. */
RESP_TEST(version_of_a_waiting_reserve)
{
    struct client other;

    connect(&other);
    ask(&c, "RESERVE t WAIT 1m");
    ask(&c, "HELLO 3");
    hear(&c, "");
    answers(&other, "PUT t b", "*2|:1|+scheduled|");
    begins(&c, "PING", "*1|*8|:1|$3|1-1|$1|t|$-1|$1|b|:1700000000000|:1|:0|%7|$6|server|");
}

RESP_TEST(wait_for_a_job)
{
    struct client other;

    connect(&other);
    ask(&c, "RESERVE t u WAIT 5s");
    ask(&c, "PING");
    hear(&c, "");
    pass(5000); /* the present is rounded down: a wait is never short */
    hear(&c, "");
    pass(1);
    hear(&c, "*0|+PONG|");
    ask(&c, "reserve t u wait 5s count 2");
    hear(&c, "");
    answers(&other, "PUT u b", "*2|:1|+scheduled|");
    hear(&c, "*1|*8|:1|$3|1-1|$1|u|$-1|$1|b|:1700000005001|:1|:0|");
    /* A job that comes due ends a wait. */
    answers(&other, "PUT u b IN 2s", "*2|:2|+scheduled|");
    ask(&c, "RESERVE u WAIT 1h");
    pass(1999);
    hear(&c, "");
    pass(1);
    hear(&c, "*1|*8|:2|$3|1-2|$1|u|$-1|$1|b|:1700000007001|:1|:0|");
}

RESP_TEST(reserve_errors)
{
    says("RESERVE t COUNT 0", "-ERR COUNT is 1 to 1000|");
    says("RESERVE t COUNT 1001", "-ERR not a number, or out of range: '1001'|");
    says("RESERVE t COUNT", "-ERR syntax error: a value is missing behind 'COUNT'|");
    says("RESERVE t WAIT 5", "-ERR a unit is missing (one of w d h m s ms us ns): '5'|");
    says("RESERVE t WAIT 5s u", "-ERR syntax error: there is no option 'u'|");
    says("RESERVE t COUNT 1 COUNT 1", "-ERR syntax error: twice the option 'COUNT'|");
    says("RESERVE t ''", "-ERR the name of a tube has 1 to 200 bytes|");
    begins(&c, "RESERVE", "-ERR wrong number of arguments for 'reserve' command");
    /* The first name is a tube in any case. */
    says("RESERVE count", "*0|");
    says("PUT wait b", "*2|:1|+scheduled|");
    begins(&c, "RESERVE WAIT COUNT 1", "*0|");
    begins(&c, "RESERVE wait COUNT 1", "*1|*8|:1|");
}

/* Reserves from `tubes` tubes. */
static void reserve_many(unsigned tubes, const char *reply)
{
    static char words[1 << 15];
    size_t size = (size_t)sprintf(words, "RESERVE");

    for (unsigned i = 0; i < tubes; i++)
        size += (size_t)sprintf(words + size, " t%u", i);
    says(words, reply);
}

RESP_TEST(most_tubes)
{
    says("PUT t999 b", "*2|:1|+scheduled|");
    reserve_many(1000, "*1|*8|:1|$3|1-1|$4|t999|$-1|$1|b|:1700000000000|:1|:0|");
    reserve_many(1001, "-ERR too many tubes: at most 1000|");
    reserve_many(2047, "-ERR too many tubes: at most 1000|");
    reserve_many(2048, "-ERR too many arguments: a command may have 2048|");
    says("PING", "+PONG|");
}

enum { ACKED = 1000 };
static char acks[ACKED * 16];        /* an ACK of a thousand jobs */
static char acknowledged[ACKED * 6]; /* its reply */

/* Hands out a thousand jobs with the largest RESERVE, and writes the ACK of all of them. */
static void hand_out_a_thousand(void)
{
    size_t size = (size_t)sprintf(acks, "ACK");
    size_t reply = (size_t)sprintf(acknowledged, "*%d|", ACKED);

    ask_many(&c, ACKED, "PUT t b");
    /* The journal may take no more leases at once. */
    while (elapse__queue_statistics(f.engine.jobs).reserved < ACKED)
        begins(&c, "RESERVE t COUNT 1000", "*");
    for (int i = 1; i <= ACKED; i++) {
        size += (size_t)sprintf(acks + size, " %d 1-%d", i, i);
        reply += (size_t)sprintf(acknowledged + reply, "+ok|");
    }
}

/* What the largest RESERVE has handed out, one ACK ends. */
RESP_TEST(ack_of_a_thousand)
{
    hand_out_a_thousand();
    says(acks, acknowledged);
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 0);
}

/* In a transaction all pairs are one step, however many they are. */
RESP_TEST(ack_of_a_thousand_in_a_transaction)
{
    static char all[sizeof acknowledged + 4];

    hand_out_a_thousand();
    sprintf(all, "*1|%s", acknowledged);
    says("MULTI", "+OK|");
    says(acks, "+QUEUED|");
    says("EXEC", all);
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 0);
}

RESP_TEST(ack)
{
    for (int i = 0; i < 3; i++)
        begins(&c, "PUT t b", "*2|");
    begins(&c, "RESERVE t COUNT 3", "*3|");
    says("ACK 1 1-1", "*1|+ok|");
    says("ACK 1 1-1", "*1|+gone|");
    says("ACK 2 1-3 3 1-3 2 1-2", "*3|+gone|+ok|+ok|");
    assert_int_equal(elapse__queue_jobs(f.engine.jobs), 0);
}

/* A lease has two numbers, and nothing is done if one of many is wrong. */
RESP_TEST(wrong_leases)
{
    static const char *const leases[] = {
        "x", "1", "-", "1-", "-1", "1-1-1", "1-x", "4294967296-1", "1-18446744073709551616", "''",
    };

    begins(&c, "PUT t b", "*2|");
    begins(&c, "RESERVE t", "*1|");
    for (size_t i = 0; i < sizeof leases / sizeof *leases; i++) {
        char words[64];
        sprintf(words, "ACK 1 1-1 1 %s", leases[i]);
        begins(&c, words, "-ERR not a lease: '");
        sprintf(words, "EXTEND 1 %s", leases[i]);
        begins(&c, words, "-ERR not a lease: '");
    }
    says("ACK 1 1-1 2", "-ERR syntax error: each id needs a lease|");
    says("ACK 1 1-1 x 1-1", "-ERR not the id of a job: 'x'|");
    says("ACK 1 2-1", "*1|+gone|");
    says("ACK 1 4294967295-18446744073709551615", "*1|+gone|");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_RESERVED);
    says("ACK 1 1-1", "*1|+ok|");
}

RESP_TEST(nack)
{
    says("PUT t b BACKOFF 0s 0s", "*2|:1|+scheduled|");
    begins(&c, "RESERVE t", "*1|");
    says("NACK 1 1-1", "+ok|");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_READY);
    begins(&c, "RESERVE t", "*1|*8|:1|$3|1-2|");
    says("NACK 1 1-1", "+gone|");
    says("NACK 1 1-2 IN 5s", "+ok|");
    assert_int_equal(look_at(1).due_ms, present().wall_ms + 5000);
    says("NACK 1 1-2 AT 5", "-ERR syntax error: there is no option 'AT'|");
    says("NACK 1 1-2 IN", "-ERR syntax error: a value is missing behind 'IN'|");
    /* No retry is left. */
    says("PUT u b RETRY 1", "*2|:2|+scheduled|");
    begins(&c, "RESERVE u", "*1|");
    says("NACK 2 1-3", "+ok|");
    assert_int_equal(state_of(2), ELAPSE__QUEUE_BURIED);
}

/* A failure that waits for so long at least, and longer if its back-off does. */
RESP_TEST(nack_after)
{
    says("PUT t b BACKOFF 1s 1s ATTEMPTS 3", "*2|:1|+scheduled|");
    begins(&c, "RESERVE t", "*1|");
    says("NACK 1 1-1 AFTER 1h", "+ok|");
    assert_int_equal(look_at(1).due_ms, present().wall_ms + 3600000);
    assert_int_equal(look_at(1).attempts, 1);
    says("KICKID 1", "+ok|");
    begins(&c, "RESERVE t", "*1|");
    says("NACK 1 1-2 AFTER 10ms", "+ok|");
    assert_int_equal(look_at(1).due_ms, present().wall_ms + 1000);
    says("KICKID 1", "+ok|");
    begins(&c, "RESERVE t", "*1|");
    says("NACK 1 1-3 AFTER 1s IN 1s", "-ERR syntax error: only one of IN and AFTER|");
    says("NACK 1 1-3 AFTER 1h", "+ok|");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_BURIED);
}

RESP_TEST(extend_and_bury)
{
    says("PUT t b TTR 10s BACKOFF 0s 0s", "*2|:1|+scheduled|");
    begins(&c, "RESERVE t", "*1|");
    pass(9999);
    says("EXTEND 1 1-1", "+ok|");
    pass(9999);
    assert_int_equal(state_of(1), ELAPSE__QUEUE_RESERVED);
    says("BURY 1 1-1", "+ok|");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_BURIED);
    says("BURY 1 1-1", "+gone|");
    says("EXTEND 1 1-1", "+gone|");
    says("KICKID 1", "+ok|");
    begins(&c, "RESERVE t", "*1|");
    pass(10000);
    assert_int_equal(state_of(1), ELAPSE__QUEUE_READY);
    begins(&c, "EXTEND 1", "-ERR wrong number of arguments for 'extend' command");
    begins(&c, "BURY 1", "-ERR wrong number of arguments for 'bury' command");
    says("EXTEND 1 1-1 IN 5s", "-ERR syntax error: there is no option 'IN'|");
}

/* One pair answers one word, many an array, and the options behind them hold for all. */
RESP_TEST(many_pairs)
{
    for (int i = 0; i < 4; i++)
        begins(&c, "PUT t b TTR 10s BACKOFF 0s 0s", "*2|");
    begins(&c, "RESERVE t COUNT 4", "*4|");
    pass(9999);
    says("EXTEND 1 1-1 2 1-2 3 1-9 4 1-4", "*4|+ok|+ok|+gone|+ok|");
    pass(9999);
    assert_int_equal(state_of(2), ELAPSE__QUEUE_RESERVED);
    assert_int_equal(state_of(3), ELAPSE__QUEUE_READY);
    says("NACK 1 1-1 2 1-2 3 1-3 IN 5s", "*3|+ok|+ok|+gone|");
    assert_int_equal(look_at(1).due_ms, present().wall_ms + 5000);
    assert_int_equal(look_at(2).due_ms, present().wall_ms + 5000);
    begins(&c, "RESERVE t", "*1|*8|:3|$3|1-5|");
    says("BURY 4 1-4 3 1-5", "*2|+ok|+ok|");
    assert_int_equal(state_of(3), ELAPSE__QUEUE_BURIED);
    assert_int_equal(state_of(4), ELAPSE__QUEUE_BURIED);
}

/* All pairs and options are read before the first job is changed. */
RESP_TEST(many_pairs_of_which_one_is_wrong)
{
    begins(&c, "PUT t b", "*2|");
    begins(&c, "RESERVE t", "*1|");
    says("BURY 1 1-1 2", "-ERR syntax error: each id needs a lease|");
    says("BURY 1 1-1 2 x", "-ERR not a lease: 'x'|");
    says("NACK 1 1-1 0 1-1", "-ERR not the id of a job: '0'|");
    says("NACK 1 1-1 x 1-1", "-ERR syntax error: there is no option 'x'|");
    says("NACK 1 1-1 1 1-1 IN", "-ERR syntax error: a value is missing behind 'IN'|");
    begins(&c, "NACK 1 1-1 1 1-1 IN 5", "-ERR a unit is missing");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_RESERVED);
}

RESP_TEST(a_thousand_pairs)
{
    enum { JOBS = 1000 };
    static char words[JOBS * 16], expected[JOBS * 6];
    size_t size = (size_t)sprintf(words, "BURY");
    size_t reply = (size_t)sprintf(expected, "*%d|", JOBS);

    ask_many(&c, JOBS, "PUT t b");
    while (elapse__queue_statistics(f.engine.jobs).reserved < JOBS)
        begins(&c, "RESERVE t COUNT 1000", "*");
    for (int i = 1; i <= JOBS; i++) {
        size += (size_t)sprintf(words + size, " %d 1-%d", i, i);
        reply += (size_t)sprintf(expected + reply, "+ok|");
    }
    says(words, expected);
    assert_int_equal(elapse__queue_statistics(f.engine.jobs).buried, JOBS);
}

RESP_TEST(cancelled_while_it_runs)
{
    static const char *const verbs[] = {"NACK", "BURY"};

    for (unsigned i = 0; i < 2; i++) {
        char words[64];
        begins(&c, "PUT t b KEY k", "*2|");
        begins(&c, "RESERVE t", "*1|");
        says("CANCEL t k", "*1|+running|");
        sprintf(words, "EXTEND %u 1-%u", i + 1, i + 1);
        says(words, "+cancelled|");
        sprintf(words, "%s %u 1-%u", verbs[i], i + 1, i + 1);
        says(words, "+cancelled|");
        says(words, "+gone|");
    }
}

/* A lease outlives its connection if its reply was sent, and only then. */
RESP_TEST(connections_and_leases)
{
    struct client other;

    says("PUT t b BACKOFF 0s 0s", "*2|:1|+scheduled|");
    connect(&other);
    answers(&other, "RESERVE t", "*1|*8|:1|$3|1-1|$1|t|$-1|$1|b|:1700000000000|:1|:0|");
    hang_up(&other);
    commit();
    assert_int_equal(state_of(1), ELAPSE__QUEUE_RESERVED);
    says("NACK 1 1-1", "+ok|");

    connect(&other);
    ask(&other, "RESERVE t");
    commit();
    (void)hear_some(&other, 10);
    hang_up(&other);
    commit();
    assert_int_equal(state_of(1), ELAPSE__QUEUE_READY);
    begins(&c, "RESERVE t", "*1|*8|:1|$3|1-3|$1|t|$-1|$1|b|:1700000000000|:2|:0|");
}

TEST_MAIN("work")
