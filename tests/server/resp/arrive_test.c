/*
 * Tests AWAIT of PUT, and ARRIVE.
 */
#include "talk.h"

RESP_TEST(arrivals_release_a_job)
{
    says("PUT t b KEY k AWAIT 4", "*2|:1|+scheduled|");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_DELAYED);
    says("ARRIVE t k", ":3|");
    says("ARRIVE t k 2", ":1|");
    begins(&c, "RESERVE t", "*0|");
    says("ARRIVE t k 4294967295", ":0|");
    says("ARRIVE t k", "+gone|");
    says("ARRIVE t none", "+gone|");
    says("ARRIVE none k", "+gone|");
    begins(&c, "RESERVE t", "*1|*8|:1|$3|1-1|");
    says("ARRIVE t k", "+gone|");
}

/* A time-out of 0 is none, in each interface. */
RESP_TEST(a_delay_of_0_is_no_time_out)
{
    says("PUT t b KEY k AWAIT 1 IN 0s", "*2|:1|+scheduled|");
    begins(&c, "RESERVE t", "*0|");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_DELAYED);
    says("ARRIVE t k", ":0|");
    begins(&c, "RESERVE t", "*1|*8|:1|");
}

/* A put that is sent again keeps the count, unless IFKEY says something else. */
RESP_TEST(a_put_that_waits_for_arrivals_keeps)
{
    says("PUT t b KEY k AWAIT 3", "*2|:1|+scheduled|");
    says("ARRIVE t k", ":2|");
    says("PUT t b KEY k AWAIT 3", "*2|:1|+kept|");
    says("ARRIVE t k", ":1|");
    says("PUT t b AWAIT 3 IFKEY REPLACE KEY k", "*2|:2|+replaced|");
    says("ARRIVE t k", ":2|");
    begins(&c, "PUT t b KEY k AWAIT 3 IFKEY FAIL", "-BUSYKEY");
    says("PUT t b KEY k", "*2|:3|+replaced|");
    says("ARRIVE t k", "+gone|");
}

RESP_TEST(a_token_counts_once)
{
    says("PUT t b KEY k AWAIT 3", "*2|:1|+scheduled|");
    says("ARRIVE t k TOKEN one", ":2|");
    says("ARRIVE t k TOKEN one", ":2|");
    says("arrive t k 1 token two for 5s", ":1|");
    says("PUT t b TOKEN three", "*2|:2|+scheduled|");
    says("ARRIVE t k 1 TOKEN three", ":0|");
    says("ARRIVE t k 1 TOKEN three", ":0|");
}

RESP_TEST(due_times)
{
    says("PUT t late KEY late AWAIT 3 IN 5s", "*2|:1|+scheduled|");
    says("PUT t never KEY never AWAIT 2", "*2|:2|+scheduled|");
    begins(&c, "LOOKUP t never",
           "*54|$2|id|:2|$4|tube|$1|t|$5|state|$7|delayed|$3|due|$-1|$4|left|$-1|$8|priority");
    begins(&c, "LOOKUP t late",
           "*54|$2|id|:1|$4|tube|$1|t|$5|state|$7|delayed|$3|due|:1700000005000|$4|left|:5000|"
           "$8|priority");
    says("ARRIVE t late", ":2|");
    pass(5000);
    begins(&c, "RESERVE t DETAILS",
           "*1|*9|:1|$3|1-1|$1|t|$4|late|$4|late|:1700000005000|:1|:0|"
           "*6|$3|ttr|:60000|$13|attempts_left|:19|$5|await|:2|");
    says("RESCHEDULE t never IN 1s", "+rescheduled|");
    says("ARRIVE t never", ":1|");
    pass(1000);
    begins(&c, "RESERVE t DETAILS", "*1|*9|:2|");
    says("PUT t b KEY k AWAIT 3", "*2|:3|+scheduled|");
    says("KICKID 3", "+ok|");
    says("ARRIVE t k", "+gone|");
}

RESP_TEST(in_a_transaction)
{
    says("MULTI", "+OK|");
    says("PUT t b KEY k AWAIT 3", "+QUEUED|");
    says("ARRIVE t k TOKEN one", "+QUEUED|");
    says("ARRIVE t k 2 TOKEN one", "+QUEUED|");
    says("ARRIVE t none", "+QUEUED|");
    says("EXEC", "*4|*2|:1|+scheduled|:2|:2|+gone|");
    says("MULTI", "+OK|");
    begins(&c, "ARRIVE t k 0", "-ERR the count is 1 to 4294967295");
    begins(&c, "EXEC", "-EXECABORT");
    says("ARRIVE t k", ":1|");
}

RESP_TEST(errors)
{
    begins(&c, "PUT t b AWAIT 1", "-ERR syntax error: AWAIT needs KEY");
    begins(&c, "PUT t b KEY k AWAIT 0", "-ERR AWAIT is 1 to 4294967295");
    begins(&c, "PUT t b KEY k AWAIT 4294967296", "-ERR not a number");
    begins(&c, "PUT t b KEY k AWAIT x", "-ERR not a number");
    begins(&c, "PUT t b KEY k AWAIT 2 EVERY 1s", "-ERR a job that recurs waits for no arrivals");
    begins(&c, "PUT t b KEY k AWAIT 2 CRON '* * * * *'", "-ERR a job that recurs");
    begins(&c, "PUT t b KEY k AWAIT 2 IN 1s IFKEY DEBOUNCE MAX 5s",
           "-ERR a job with debounce waits for no arrivals");
    says("PUT t b KEY k AWAIT 4294967295", "*2|:1|+scheduled|");
    begins(&c, "ARRIVE t", "-ERR wrong number of arguments for 'arrive' command");
    begins(&c, "ARRIVE t k 0", "-ERR the count is 1 to 4294967295");
    begins(&c, "ARRIVE t k 4294967296", "-ERR not a number");
    begins(&c, "ARRIVE t k x", "-ERR not a number");
    begins(&c, "ARRIVE t k 1 TAG x", "-ERR syntax error");
    begins(&c, "ARRIVE '' k", "-ERR the tube's name must have 1 to 200 bytes");
    begins(&c, "ARRIVE t ''", "-ERR a key has 1 to 250 bytes");
    begins(&c, "ARRIVE t k TOKEN ''", "-ERR a token has 1 to 250 bytes");
    begins(&c, "ARRIVE t k FOR 5s", "-ERR syntax error: FOR needs TOKEN");
    begins(&c, "ARRIVE t k TOKEN x FOR 0s", "-ERR a token lives from 1 s to 10 min");
    begins(&c, "ARRIVE t k TOKEN x FOR 11m", "-ERR a token lives from 1 s to 10 min");
    says("ARRIVE t k 4294967294", ":1|");
}

TEST_MAIN("arrive")
