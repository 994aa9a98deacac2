/*
 * Tests transactions: MULTI, EXEC, DISCARD, LEASED.
 */
#include "talk.h"

#define QUEUED "+QUEUED|"

RESP_TEST(a_transaction_is_done_at_exec)
{
    says("PUT t old KEY k IN 1h", "*2|:1|+scheduled|");
    says("MULTI", "+OK|");
    says("PUT t one KEY k IN 1h", QUEUED);
    says("CANCEL t k nobody", QUEUED);
    says("PUT t two IN 1h TOKEN x", QUEUED);
    says("PUT t two IN 1h TOKEN x", QUEUED);
    says("PUT t three KEY l IN 1h", QUEUED);
    says("PUT t three KEY l IFKEY FAIL", QUEUED);
    says("RESCHEDULE t l IN 2h", QUEUED);
    says("KICKID 99", QUEUED);
    says("PING hello", QUEUED);
    says("CLIENT SETNAME me", QUEUED);
    assert_int_equal(state_of(1), ELAPSE__QUEUE_DELAYED);
    says("EXEC", "*10|*2|:2|+replaced|*2|+removed|+gone|*2|:3|+scheduled|*2|:3|+known|"
                 "*2|:4|+scheduled|-BUSYKEY 4 has this key|+rescheduled|+gone|$5|hello|+OK|");
    says("CLIENT GETNAME", "$2|me|");
    says("EXEC", "-ERR EXEC without MULTI|");
}

/* go-redis sends a TxPipeline as one piece, and its names in small letters. */
RESP_TEST(a_transaction_comes_in_one_piece)
{
    say(&c, "*1\r\n$5\r\nmulti\r\n*3\r\n$3\r\nput\r\n$1\r\nt\r\n$1\r\nb\r\n"
            "*3\r\n$6\r\ncancel\r\n$1\r\nt\r\n$1\r\nk\r\n*1\r\n$4\r\nexec\r\n");
    hear(&c, "+OK|+QUEUED|+QUEUED|*2|*2|:1|+scheduled|*1|+gone|");
}

RESP_TEST(a_transaction_has_no_reply_before_it_is_durable)
{
    ask(&c, "MULTI");
    ask(&c, "PUT t one");
    ask(&c, "EXEC");
    expect(&c, "+OK\r\n+QUEUED\r\n");
    hear(&c, "*1|*2|:1|+scheduled|");
}

RESP_TEST(discard_forgets_the_commands)
{
    says("MULTI", "+OK|");
    says("PUT t one", QUEUED);
    says("DISCARD", "+OK|");
    says("DISCARD", "-ERR DISCARD without MULTI|");
    says("RESERVE t", "*0|");
    says("MULTI", "+OK|");
    says("PUT t one", QUEUED);
    says("RESET", "+RESET|");
    says("EXEC", "-ERR EXEC without MULTI|");
    says("RESERVE t", "*0|");
}

#define DISCARDED "-EXECABORT Transaction discarded because of previous errors.|"

/* Each command that is wrong, or not for transactions, answers its error; and nothing is done. */
RESP_TEST(a_wrong_command_spoils_its_transaction)
{
    static const char *const wrong[][2] = {
        {"RESERVE t", "-ERR send it outside of the transaction (in redis-py: "
                      "pipeline(transaction=False)), not between MULTI and EXEC: 'RESERVE'|"},
        {"KICK t 1", "-ERR send it outside of the transaction (in redis-py: "
                     "pipeline(transaction=False)), not between MULTI and EXEC: 'KICK'|"},
        {"HELLO 3", "-ERR send it outside of the transaction (in redis-py: "
                    "pipeline(transaction=False)), not between MULTI and EXEC: 'HELLO'|"},
        {"MULTI", "-ERR MULTI calls can not be nested|"},
        {"WATCH k", "-ERR there is nothing to WATCH: guard a transaction with LEASED id lease, "
                    "behind MULTI|"},
        {"GET k", "-ERR unknown command 'GET'|"},
        {"PUT t", NULL},
        {"PUT t x IN 5", "-ERR a unit is missing (one of w d h m s ms us ns): '5'|"},
        {"ACK 1 1-1 2", "-ERR syntax error: each id needs a lease|"},
        {"CANCELID 1 x", NULL},
        {"SELECT 5", "-ERR DB index is out of range|"},
        {"SELECT x", NULL},
        {"PING a b", "-ERR wrong number of arguments for 'ping' command|"},
        {"ECHO", NULL},
        {"CLIENT NAME", "-ERR unknown subcommand or wrong number of arguments for 'NAME'|"},
        {"CLIENT SETNAME", NULL},
        {"CLIENT SETNAME 'a name'",
         "-ERR the name of a client has up to 64 bytes, without blanks and newlines|"},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        says("MULTI", "+OK|");
        says("PUT t one", QUEUED);
        if (wrong[i][1] == NULL)
            begins(&c, wrong[i][0], "-ERR ");
        else
            says(wrong[i][0], wrong[i][1]);
        says("PUT t two", QUEUED);
        says("EXEC", DISCARDED);
        says("RESERVE t", "*0|");
    }
}

RESP_TEST(commands_that_change_no_job_answer_at_exec)
{
    says("MULTI", "+OK|");
    says("PING", QUEUED);
    says("ECHO a", QUEUED);
    says("SELECT 0", QUEUED);
    says("CLIENT GETNAME", QUEUED);
    says("CLIENT SETNAME me", QUEUED);
    says("CLIENT GETNAME", QUEUED);
    says("CLIENT SETINFO LIB-NAME x", QUEUED);
    says("CLIENT NO-TOUCH ON", QUEUED);
    says("EXEC", "*8|+PONG|$1|a|+OK|$-1|+OK|$2|me|+OK|+OK|");
}

/* The bytes of such a command are never kept, and it is not known which command it was. */
RESP_TEST(a_command_beyond_the_limits_spoils_its_transaction)
{
    static char body[70000];
    const char *const put[] = {"PUT", "t", body};
    const size_t sizes[] = {3, 1, sizeof body};

    says("MULTI", "+OK|");
    says("PUT t one", QUEUED);
    ask_bytes(&c, 3, put, sizes);
    hear(&c,
         "-ERR too long: a body, or all arguments together, exceed the --max-body of the server|");
    says("EXEC", DISCARDED);
    says("RESERVE t", "*0|");
}

RESP_TEST(an_argument_that_only_the_queue_refuses_is_the_answer_of_exec)
{
    says("MULTI", "+OK|");
    says("PUT t one", QUEUED);
    says("PUT t two CRON '61 * * * *'", QUEUED);
    begins(&c, "EXEC", "-ERR ");
    says("RESERVE t", "*0|");
    says("MULTI", "+OK|");
    says("DISCARD", "+OK|");
}

/* The second of two steps, exactly once, whatever is sent again. */
RESP_TEST(leased_guards_a_transaction)
{
    says("PUT steps one", "*2|:1|+scheduled|");
    begins(&c, "RESERVE steps", "*1|*8|:1|$3|1-1|");
    for (unsigned i = 0; i < 2; i++) {
        says("MULTI", "+OK|");
        says("PUT steps two", QUEUED);
        says("LEASED 1 1-1", QUEUED);
        says("ACK 1 1-1", QUEUED);
        says("EXEC", i == 0 ? "*3|*2|:2|+scheduled|+ok|*1|+ok|" : "*-1|");
    }
    begins(&c, "HELLO 3", "%7|");
    says("MULTI", "+OK|");
    says("LEASED 2 1-1 1 1-1", QUEUED);
    says("EXEC", "_|");
    says("LEASED 2 1-1", "-ERR LEASED guards a transaction: it stands between MULTI and EXEC|");
}

/* It held when it was queued. */
RESP_TEST(leased_is_looked_at_by_exec)
{
    struct client other;

    connect(&other);
    says("PUT t one KEY k TTR 5s", "*2|:1|+scheduled|");
    begins(&c, "RESERVE t", "*1|*8|:1|$3|1-1|");
    says("MULTI", "+OK|");
    says("LEASED 1 1-1", QUEUED);
    says("PUT t two", QUEUED);
    answers(&other, "CANCEL t k", "*1|+running|");
    says("EXEC", "*-1|");
    says("PUT t one KEY k TTR 5s", "*2|:2|+scheduled|");
    begins(&c, "RESERVE t", "*1|*8|:2|$3|1-2|");
    says("MULTI", "+OK|");
    says("LEASED 2 1-2", QUEUED);
    says("PUT u two", QUEUED);
    pass(5000);
    says("EXEC", "*-1|");
    says("RESERVE u", "*0|");
}

/* Nothing, as an answer, says that the lease has ended: that has to be durable first. */
RESP_TEST(nothing_waits_for_its_gate)
{
    says("PUT t one", "*2|:1|+scheduled|");
    begins(&c, "RESERVE t", "*1|*8|:1|$3|1-1|");
    says("MULTI", "+OK|");
    says("LEASED 1 1-1", QUEUED);
    struct client other;
    connect(&other);
    ask(&other, "ACK 1 1-1");
    ask(&c, "EXEC");
    expect(&c, "");
    hear(&c, "*-1|");
}

/* ---- room ---- */

RESP_TEST(a_full_tube_refuses_a_whole_transaction)
{
    options.tube_jobs_max = 2;
    serve();
    connect(&c);
    says("PUT u other", "*2|:1|+scheduled|");
    says("MULTI", "+OK|");
    says("CANCELID 1", QUEUED);
    for (unsigned i = 0; i < 3; i++)
        says("PUT t one", QUEUED);
    says("EXEC", "-LIMIT the tube has as many jobs or bytes as it may have|");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_READY);
    says("MULTI", "+OK|");
    says("PUT t one", QUEUED);
    says("PUT u one", QUEUED);
    says("PUT t one", QUEUED);
    begins(&c, "EXEC", "*3|");
}

RESP_TEST(a_transaction_that_is_sent_again_needs_no_room)
{
    options.tube_jobs_max = 1;
    serve();
    connect(&c);
    for (unsigned i = 0; i < 2; i++) {
        says("MULTI", "+OK|");
        says("PUT t one TOKEN first", QUEUED);
        says("EXEC", i == 0 ? "*1|*2|:1|+scheduled|" : "*1|*2|:1|+known|");
    }
    says("MULTI", "+OK|");
    says("PUT t one TOKEN first", QUEUED);
    says("PUT t one TOKEN second", QUEUED);
    says("EXEC", "-LIMIT the tube has as many jobs or bytes as it may have|");
}

RESP_TEST(a_put_with_a_known_token_takes_no_room_from_those_behind_it)
{
    options.tube_jobs_max = 2;
    serve();
    connect(&c);
    says("PUT t one TOKEN first", "*2|:1|+scheduled|");
    for (unsigned i = 0; i < 2; i++) {
        says("MULTI", "+OK|");
        says("PUT t one TOKEN first", QUEUED);
        says("PUT t two", QUEUED);
        says("EXEC", i == 0 ? "*2|*2|:1|+known|*2|:2|+scheduled|"
                            : "-LIMIT the tube has as many jobs or bytes as it may have|");
    }
}

RESP_TEST(a_server_that_drains_refuses_a_whole_transaction)
{
    says("PUT t one KEY k", "*2|:1|+scheduled|");
    says("MULTI", "+OK|");
    says("CANCEL t k", QUEUED);
    says("PUT t one", QUEUED);
    elapse__server_drain(f.server);
    says("EXEC", "-DRAINING the server takes no new jobs|");
    assert_int_equal(state_of(1), ELAPSE__QUEUE_READY);
    says("MULTI", "+OK|");
    says("CANCEL t k", QUEUED);
    says("EXEC", "*1|*1|+removed|");
}

RESP_TEST(a_transaction_has_at_most_1000_commands)
{
    says("MULTI", "+OK|");
    ask_many(&c, 998, "PING");
    says("CANCEL t a b", QUEUED);
    says("PING", "-ERR a transaction has at most 1000 commands; each key, id or lease of a "
                 "command counts as one|");
    says("EXEC", DISCARDED);
    says("MULTI", "+OK|");
    ask_many(&c, 1000, "PING n%u");
    begins(&c, "EXEC", "*1000|$2|n0|$2|n1|$2|n2|");
}

/* As many bytes as a quarter of a segment. */
RESP_TEST(a_transaction_is_no_longer_than_a_quarter_of_a_segment)
{
    char body[2001];
    const char *const put[] = {"PUT", "t", body};
    const size_t sizes[] = {3, 1, sizeof body - 1};
    uint64_t most = elapse__engine_transaction_bytes_max(&f.engine);
    unsigned queued = 0;

    memset(body, 'x', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    assert_int_equal(most, elapse__journal_segment_bytes(f.engine.journal) / 4);
    says("MULTI", "+OK|");
    const char *reply;
    do {
        ask_bytes(&c, 3, put, sizes);
        commit();
        reply = hear_some(&c, 1000);
        queued++;
    } while (strcmp(reply, "+QUEUED\r\n") == 0);
    assert_string_equal(reply, "-ERR the transaction is too long; docs/protocol.md has the limit"
                               "\r\n");
    assert_in_range(queued, most / (sizeof body + 300), most / sizeof body + 1);
    says("EXEC", DISCARDED);
}

/* Room for it was made in the next segment, which nothing has reached. */
RESP_TEST(a_transaction_that_changes_nothing_waits_for_nothing)
{
    static char body[60000];
    const char *const put[] = {"PUT", "t", body};
    const size_t sizes[] = {3, 1, sizeof body};
    uint64_t segment = elapse__journal_segment_bytes(f.engine.journal);

    for (uint64_t bytes = 2 * sizeof body; bytes < segment; bytes += sizeof body) {
        ask_bytes(&c, 3, put, sizes);
        commit();
        (void)hear_some(&c, 100);
    }
    says("MULTI", "+OK|");
    ask_many(&c, 1000, "CANCEL t k%u");
    begins(&c, "EXEC", "*1000|*1|+gone|*1|+gone|");
    assert_true(elapse__engine_may_reply(&f.engine, f.engine.last_position));
}

/* Stores the words of a PUT whose body has `count` bytes. */
static const char *put_of(char *words, size_t count)
{
    static const char begin[] = "PUT t ";

    memcpy(words, begin, sizeof begin - 1);
    memset(words + sizeof begin - 1, 'x', count);
    words[sizeof begin - 1 + count] = '\0';
    return words;
}

/* The bodies are so long that the sizes of structures, which differ between machines, do not
 * matter. */
RESP_TEST(open_transactions_share_a_limit)
{
    struct client other;
    char words[2000];

    options.kept_bytes_max = 4500;
    serve();
    connect(&c);
    connect(&other);
    says("MULTI", "+OK|");
    answers(&other, "MULTI", "+OK|");
    says(put_of(words, 1700), QUEUED);
    answers(&other, put_of(words, 1100), QUEUED);
    answers(&other, put_of(words, 1900), "-OOM too many transactions are open; try again later|");
    answers(&other, "EXEC", DISCARDED);
    says("EXEC", "*1|*2|:1|+scheduled|");
    hang_up(&other);
}

/* Clients send the commands behind MULTI without waiting for its reply. */
RESP_TEST(no_command_runs_behind_a_multi_that_is_refused)
{
    options.kept_bytes_max = 10;
    serve();
    connect(&c);
    say(&c, "*1\r\n$5\r\nMULTI\r\n*3\r\n$3\r\nPUT\r\n$1\r\nt\r\n$1\r\nb\r\n"
            "*1\r\n$4\r\nEXEC\r\n");
    hear(&c, "-OOM too many transactions are open; try again later|+QUEUED|" DISCARDED);
    says("RESERVE t", "*0|");
    says("EXEC", "-ERR EXEC without MULTI|");
    says("PUT t b", "*2|:1|+scheduled|");
}

RESP_TEST(commands_without_a_record_have_the_limit_of_bytes_too)
{
    static char words[2000];

    memset(words, 'x', sizeof words - 1);
    for (size_t i = 0; i < sizeof "ECHO " - 1; i++)
        words[i] = "ECHO "[i];
    says("MULTI", "+OK|");
    for (unsigned i = 0; i < 1000; i++) {
        ask(&c, words);
        commit();
        (void)hear_some(&c, 1000);
    }
    says("EXEC", DISCARDED);
}

RESP_TEST(a_transaction_of_a_silent_client_is_discarded)
{
    says("MULTI", "+OK|");
    says("PUT t one", QUEUED);
    pass(59999);
    says("PUT t two", QUEUED);
    pass(59999);
    says("PING", QUEUED);
    pass(60000);
    /* It would be wrong to run the next commands at once, which the client means for EXEC. */
    says("PUT t three", QUEUED);
    says("EXEC", "-EXECABORT Transaction discarded: nothing came for 60 s.|");
    says("RESERVE t", "*0|");
}

RESP_TEST(a_transaction_whose_next_command_comes_slowly_is_kept)
{
    says("MULTI", "+OK|");
    says("PUT t one", QUEUED);
    pass(59999);
    say(&c, "*1\r\n$4\r\nEX");
    pass(59999);
    say(&c, "EC\r\n");
    hear(&c, "*1|*2|:1|+scheduled|");
}

RESP_TEST(a_transaction_that_waits_for_the_journal_is_kept)
{
    static char put[8000];
    struct client other;

    memset(put, 'x', sizeof put - 1);
    for (size_t i = 0; i < sizeof "PUT u " - 1; i++)
        put[i] = "PUT u "[i];
    connect(&other);
    says("MULTI", "+OK|");
    says("PUT t one", QUEUED);
    while (!elapse__journal_is_full(f.engine.journal))
        ask(&other, put);
    ask(&c, "EXEC");
    pass(60000);
    pass(60000);
    assert_true(elapse__journal_is_full(f.engine.journal));
    commit();
    assert_non_null(strstr(hear_some(&c, 1000), "+scheduled"));
}

RESP_TEST(a_lost_connection_discards_its_transaction)
{
    says("MULTI", "+OK|");
    says("PUT t one", QUEUED);
    hang_up(&c);
    connect(&c);
    says("EXEC", "-ERR EXEC without MULTI|");
    says("RESERVE t", "*0|");
}

RESP_TEST(a_transaction_needs_the_password)
{
    static const struct elapse__queue_text password = {"secret", 6};

    options.keys.passwords = &password;
    options.keys.password_count = 1;
    serve();
    connect(&c);
    says("MULTI", "-NOAUTH Authentication required.|");
    says("PUT t one", "-NOAUTH Authentication required.|");
    says("EXEC", "-NOAUTH Authentication required.|");
    says("AUTH secret", "+OK|");
    says("EXEC", "-ERR EXEC without MULTI|");
}

/* A waiter gets what is there after the last command. */
RESP_TEST(waiters_are_served_after_the_transaction)
{
    struct client worker;

    connect(&worker);
    ask(&worker, "RESERVE t WAIT 10s");
    says("MULTI", "+OK|");
    says("PUT t first KEY k", QUEUED);
    says("PUT t second PRIORITY 1", QUEUED);
    says("CANCEL t k", QUEUED);
    says("EXEC", "*3|*2|:1|+scheduled|*2|:2|+scheduled|*1|+removed|");
    hear(&worker, "*1|*8|:2|$3|1-1|$1|t|$-1|$6|second|:1700000000000|:1|:0|");
}

TEST_MAIN("transaction")
