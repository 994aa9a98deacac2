/*
 * Tests the commands that change nothing: LOOKUP, LOOKUPID, LIST, RECURRING, FIND, STATS, TUBES.
 */
#include "sim_disk.h"
#include "talk.h"

RESP_TEST(look_up)
{
    says("PUT t body KEY k TAG spring IN 1h EXPIRE 2h RETRY 3 BACKOFF 2s 1m TTR 30s PRIORITY 7",
         "*2|:1|+scheduled|");
    says("LOOKUP t k",
         "*54|$2|id|:1|$4|tube|$1|t|$5|state|$7|delayed|$3|due|:1700003600000|$4|left|:3600000|"
         "$8|priority|:7|$3|ttr|:30000|$6|expire|:7200000|$12|attempts_max|:3|$5|retry|:3|$11|"
         "backoff_min|:2000|$11|"
         "backoff_max|:60000|$8|attempts|:0|"
         "$9|recurring|:0|$6|missed|:0|$8|failures|:0|$5|lease|$-1|$6|holder|$-1|$6|reason|$-1|$5|"
         "await|:0|"
         "$3|key|$1|k|$3|tag|$6|spring|$5|group|$-1|$5|error|$-1|$8|error_at|$-1|$7|headers|$-1|$4|"
         "body|$4|body|");
    says("LOOKUP t other", "$-1|");
    says("LOOKUPID 2", "$-1|");
    says("LOOKUPID x", "-ERR not the id of a job: 'x'|");
    says("PUT u '' EVERY 5s", "*2|:2|+scheduled|");
    begins(&c, "HELLO 3", "%7|");
    says("LOOKUPID 2",
         "%30|$2|id|:2|$4|tube|$1|u|$5|state|$7|delayed|$3|due|:1700000005000|$4|left|:5000|"
         "$8|priority|:1024|$3|ttr|:60000|$6|expire|:0|$12|attempts_max|:20|$5|retry|:20|"
         "$11|backoff_min|:1000|$11|backoff_max|:600000|$8|attempts|:0|"
         "$9|recurring|#t|$6|missed|:0|$8|failures|:0|$5|lease|_|$6|holder|_|$6|reason|_|$5|await|:"
         "0|"
         "$3|key|_|$3|tag|_|$5|group|_|$5|error|_|$8|error_at|_|$7|headers|_|$4|body|$0||"
         "$5|every|:5000|$4|cron|_|$4|zone|_|");
    says("LOOKUP u x", "_|");
}

/* The value of a name in the reply of LOOKUPID, in RESP2. */
static void shows(const char *words, const char *name_and_value)
{
    ask(&c, words);
    commit();
    const char *reply = hear_some(&c, 5000);
    char pattern[200];
    size_t size = 0;

    for (const char *from = name_and_value; *from != '\0'; from++) {
        if (*from == '|')
            pattern[size++] = '\r';
        pattern[size++] = (char)(*from == '|' ? '\n' : *from);
    }
    pattern[size] = '\0';
    if (strstr(reply, pattern) == NULL)
        assert_string_equal(reply, pattern);
}

RESP_TEST(states)
{
    says("PUT t b KEY k", "*2|:1|+scheduled|");
    shows("LOOKUPID 1", "$5|state|$5|ready|");
    begins(&c, "RESERVE t", "*1|");
    shows("LOOKUPID 1", "$5|state|$8|reserved|");
    pass(1000);
    shows("LOOKUPID 1", "$4|left|:59000|");
    shows("LOOKUPID 1", "$5|lease|$3|1-1|");
    says("BURY 1 1-1", "+ok|");
    shows("LOOKUP t k", "$5|state|$6|buried|");
    shows("LOOKUP t k", "$6|reason|$18|a worker buried it|$5|await|:0|");
    shows("LOOKUP t k", "$8|attempts|:1|");
    says("KICKID 1", "+ok|");
    begins(&c, "RESERVE t", "*1|");
    says("CANCEL t k", "*1|+running|");
    shows("LOOKUPID 1", "$5|state|$9|cancelled|");
    says("ACK 1 1-2", "*1|+ok|");
    says("LOOKUPID 1", "$-1|");
}

/* A look-up behind a put shows it only when the put is durable. */
RESP_TEST(looks_wait_until_durable)
{
    ask(&c, "PUT t b KEY k");
    ask(&c, "LOOKUP t k");
    ask(&c, "LOOKUP t other");
    ask(&c, "STATS nowhere");
    rest();
    expect(&c, "");
    commit();
    assert_string_not_equal(hear_some(&c, 5000), "");
}

/* Lists with these options until the cursor is 0. Counts how often each id came. */
static unsigned list_all(const char *filter, unsigned *seen, unsigned ids)
{
    unsigned long cursor = 0;
    unsigned listed = 0;

    do {
        char words[100];
        sprintf(words, "LIST %s CURSOR %lu", filter, cursor);
        ask(&c, words);
        commit();
        const char *at = hear_some(&c, 1 << 20);
        assert_memory_equal(at, "*2\r\n:", 5);
        cursor = strtoul(at + 5, NULL, 10);
        while ((at = strstr(at, "\r\nid\r\n:")) != NULL) {
            unsigned long id = strtoul(at + 7, NULL, 10);
            assert_true(id < ids);
            seen[id]++;
            listed++;
            at += 7;
        }
    } while (cursor != 0);
    return listed;
}

RESP_TEST(list)
{
    enum { JOBS = 300 };
    unsigned seen[JOBS + 10];

    says("LIST t", "*2|:0|*0|");
    for (unsigned i = 0; i < JOBS; i++)
        begins(&c,
               i % 3 == 0   ? "PUT t b IN 1h TAG x"
               : i % 3 == 1 ? "PUT t b"
                            : "PUT u b TAG x",
               "*2|");
    static const char *const filters[] = {
        "t",       "t COUNT 1",          "t COUNT 1000", "t COUNT 7", "t STATE delayed",
        "t TAG x", "t STATE ready TAG x"};
    static const unsigned expected[] = {200, 200, 200, 200, 100, 100, 0};
    for (unsigned i = 0; i < 7; i++) {
        memset(seen, 0, sizeof seen);
        assert_int_equal(list_all(filters[i], seen, JOBS + 10), expected[i]);
        for (unsigned id = 0; id < JOBS + 10; id++)
            assert_true(seen[id] <= 1);
    }
    begins(&c, "LIST t COUNT 3", "*2|:");
    says("LIST t COUNT 0", "-ERR COUNT is 1 to 1000|");
    says("LIST t COUNT 1001", "-ERR not a number, or out of range: '1001'|");
    says("LIST t CURSOR 268435456", "-ERR not a number, or out of range: '268435456'|");
    says("LIST t CURSOR 268435455", "*2|:0|*0|");
    says("LIST t STATE gone", "-ERR a state is delayed, ready, reserved or buried, not 'gone'|");
    says("LIST ''", "-ERR the name of a tube has 1 to 200 bytes: ''|");
}

RESP_TEST(list_with_keys)
{
    says("LIST t KEYS", "*2|:0|*0|");
    says("PUT t one KEY k1 TAG spring IN 1h", "*2|:1|+scheduled|");
    says("PUT t two IN 1h", "*2|:2|+scheduled|");
    says("PUT t three KEY k3 IN 1h", "*2|:3|+scheduled|");
    shows("LIST t KEYS", "*2|:0|*3|*50|$2|id|:1|$4|tube|$1|t|");
    shows("LIST t KEYS",
          "$3|key|$2|k1|$3|tag|$6|spring|$5|group|$-1|$5|error|$-1|$8|error_at|$-1|*50|$2|id|:2|");
    shows("LIST t KEYS",
          "$3|key|$-1|$3|tag|$-1|$5|group|$-1|$5|error|$-1|$8|error_at|$-1|*50|$2|id|:3|");
    shows("LIST t KEYS TAG spring", "$3|key|$2|k1|$3|tag|$6|spring|");
    shows("LIST t COUNT 2 KEYS", "*2|:2|*2|*50|$2|id|:1|");
    shows("LIST t CURSOR 2 KEYS", "*2|:0|*1|*50|$2|id|:3|");
    begins(&c, "HELLO 3", "%7|");
    shows("LIST t KEYS CURSOR 2", "*2|:0|*1|%25|$2|id|:3|");
    says("LIST t KEYS KEYS", "-ERR syntax error: twice the option 'KEYS'|");
}

/* An error stands in the place of one whose record cannot be read. The others are listed. */
RESP_TEST(list_with_keys_of_a_damaged_job)
{
    size_t size;

    says("PUT t damaged-body KEY k IN 1h", "*2|:1|+scheduled|");
    says("PUT t whole KEY m IN 1h", "*2|:2|+scheduled|");
    sim_disk_evict();
    uint8_t *content = sim_disk_content("data/journal", "1.log", &size);
    assert_non_null(content);
    for (size_t i = 0; i + 12 < size; i++)
        if (memcmp(content + i, "damaged-body", 12) == 0)
            content[i] ^= 1;
    shows("LIST t KEYS", "*2|:0|*2|-DAMAGED its body is damaged|*50|$2|id|:2|");
    shows("LIST t KEYS", "$3|key|$1|m|$3|tag|$-1|");
}

/* Each way to fail takes an error, which LOOKUP, LIST with KEYS and RESERVE with DETAILS show. */
RESP_TEST(errors)
{
    static const char shown[] = "$5|error|$16|no route to host|$8|error_at|:1700000000000|";
    char listed[200];

    says("PUT t one BACKOFF 0s 0s", "*2|:1|+scheduled|");
    begins(&c, "RESERVE t", "*1|*8|:1|$3|1-1|");
    says("NACK 1 1-1 ERROR 'no route to host'", "+ok|");
    pass(1000);
    sim_disk_evict();
    shows("LOOKUPID 1", shown);
    (void)snprintf(listed, sizeof listed, "$3|key|$-1|$3|tag|$-1|$5|group|$-1|%s", shown);
    shows("LIST t KEYS", listed);
    sim_disk_evict();
    says("RESERVE t DETAILS",
         "*1|*9|:1|$3|1-2|$1|t|$-1|$3|one|:1700000000000|:2|:0|*8|$3|ttr|:60000|"
         "$13|attempts_left|:18|$5|error|$16|no route to host|$8|error_at|:1700000000000|");
    says("NACK 1 1-2", "+ok|");
    shows("LOOKUPID 1", shown);
    says("RESERVE t", "*1|*8|:1|$3|1-3|$1|t|$-1|$3|one|:1700000001000|:3|:0|");
    says("BURY 1 1-3 ERROR x", "+ok|");
    shows("LOOKUPID 1", "$5|error|$1|x|$8|error_at|:1700000001000|");
    says("KICKID 1", "+ok|");
    shows("LOOKUPID 1", "$5|error|$-1|$8|error_at|$-1|");
    begins(&c, "RESERVE t", "*1|*8|:1|$3|1-4|");
    pass(60000);
    shows("LOOKUPID 1", "$5|error|$19|the lease has ended|$8|error_at|$-1|");
    shows("RESERVE t DETAILS", "|$5|error|$19|the lease has ended|");
    says("NACK 1 1-5 IN 1s ERROR soon", "+ok|");
    shows("LOOKUPID 1", "$5|error|$4|soon|");
}

RESP_TEST(errors_are_told_in_a_transaction)
{
    says("PUT t one", "*2|:1|+scheduled|");
    says("PUT t two", "*2|:2|+scheduled|");
    says("PUT t three", "*2|:3|+scheduled|");
    begins(&c, "RESERVE t COUNT 3", "*3|");
    says("MULTI", "+OK|");
    says("NACK 1 1-1 2 1-2 ERROR 'no route'", "+QUEUED|");
    says("BURY 3 1-3 ERROR broken", "+QUEUED|");
    says("EXEC", "*2|*2|+ok|+ok|+ok|");
    shows("LOOKUPID 1", "$5|error|$8|no route|");
    shows("LOOKUPID 2", "$5|error|$8|no route|");
    shows("LOOKUPID 3", "$5|error|$6|broken|");
}

RESP_TEST(wrong_errors)
{
    says("PUT t one", "*2|:1|+scheduled|");
    says("PUT t two", "*2|:2|+scheduled|");
    begins(&c, "RESERVE t COUNT 2", "*2|");
    says("NACK 1 1-1 ERROR", "-ERR syntax error: a value is missing behind 'ERROR'|");
    says("NACK 1 1-1 ERROR a ERROR b", "-ERR syntax error: twice the option 'ERROR'|");
    says("EXTEND 1 1-1 ERROR a", "-ERR syntax error: there is no option 'ERROR'|");
    says("BURY 1 1-1 IN 1s", "-ERR syntax error: there is no option 'IN'|");
    says("NACK 1 1-1 2 1-2 ERROR ''", "*2|+ok|+ok|");
    shows("LIST t KEYS", "$5|error|$-1|$8|error_at|$-1|*50|");
}

/* An error whose text is damaged is left out; the job is handed out. */
RESP_TEST(a_damaged_error_is_left_out)
{
    size_t size;

    says("PUT t one BACKOFF 0s 0s", "*2|:1|+scheduled|");
    begins(&c, "RESERVE t", "*1|*8|:1|$3|1-1|");
    says("NACK 1 1-1 ERROR damaged-error", "+ok|");
    sim_disk_evict();
    uint8_t *content = sim_disk_content("data/journal", "1.log", &size);
    for (size_t i = 0; i + 13 < size; i++)
        if (memcmp(content + i, "damaged-error", 13) == 0)
            content[i] ^= 1;
    shows("LOOKUPID 1", "$5|error|$-1|$8|error_at|$-1|");
    says("RESERVE t DETAILS", "*1|*9|:1|$3|1-2|$1|t|$-1|$3|one|:1700000000000|:2|:0|*4|$3|ttr|"
                              ":60000|$13|attempts_left|:18|");
}

/* Without memory for an error the reply comes without it; a client that goes leaves nothing. */
RESP_TEST(a_client_that_goes_while_an_error_is_read)
{
    struct client other;

    says("PUT t one BACKOFF 0s 0s", "*2|:1|+scheduled|");
    begins(&c, "RESERVE t", "*1|*8|:1|$3|1-1|");
    says("NACK 1 1-1 ERROR text", "+ok|");
    connect(&other);
    sim_disk_evict();
    ask(&other, "LOOKUPID 1");
    ask(&other, "RESERVE t DETAILS");
    hang_up(&other);
    commit();
    shows("LOOKUPID 1", "$5|error|$4|text|");
}

/* What stands before and behind it comes in its order. */
RESP_TEST(list_with_keys_in_a_pipeline)
{
    says("PUT t one KEY k IN 1h", "*2|:1|+scheduled|");
    ask(&c, "PUT t two");
    ask(&c, "LIST t KEYS STATE delayed");
    ask(&c, "PING");
    commit();
    const char *reply = hear_some(&c, 5000);
    assert_non_null(strstr(reply, "*2\r\n:2\r\n+scheduled\r\n*2\r\n:0\r\n*1\r\n*50\r\n"));
    assert_non_null(strstr(reply, "$3\r\nkey\r\n$1\r\nk\r\n$3\r\ntag\r\n$-1\r\n$5\r\ngroup\r\n$-"
                                  "1\r\n$5\r\nerror\r\n$-1\r\n$8\r\nerror_at\r\n$-1\r\n+PONG\r\n"));
}

static void write_address(void *shell, char text[ELAPSE__SERVER_ADDRESS_BYTES])
{
    (void)shell;
    (void)snprintf(text, ELAPSE__SERVER_ADDRESS_BYTES, "10.0.0.7:4711");
}

/* By the name of the client, by its address, or as the command says. */
RESP_TEST(who_holds_a_job)
{
    struct client other;

    options.address = write_address;
    elapse__server_free(f.server);
    f.server = NULL;
    serve();
    connect(&c);
    says("PUT t a", "*2|:1|+scheduled|");
    says("PUT t b", "*2|:2|+scheduled|");
    says("PUT t c", "*2|:3|+scheduled|");
    begins(&c, "RESERVE t", "*1|");
    shows("LOOKUPID 1", "$6|holder|$13|10.0.0.7:4711|");
    shows("LIST t STATE reserved", "$6|holder|$13|10.0.0.7:4711|");
    says("CLIENT SETNAME mailer", "+OK|");
    begins(&c, "RESERVE t HOLDER shop-7/web", "*1|");
    begins(&c, "RESERVE t", "*1|");
    shows("LOOKUPID 1", "$6|holder|$13|10.0.0.7:4711|");
    shows("LOOKUPID 2", "$6|holder|$10|shop-7/web|");
    shows("LOOKUPID 3", "$6|holder|$6|mailer|");
    /* The lease outlives the connection; what waits for a job is named, too. */
    says("PUT u d IN 1s", "*2|:4|+scheduled|");
    connect(&other);
    ask(&other, "RESERVE u WAIT 5s HOLDER waiter");
    elapse__connection_closed(c.connection, present());
    connect(&c);
    shows("LOOKUPID 3", "$6|holder|$6|mailer|");
    pass(1000);
    shows("LOOKUPID 4", "$6|holder|$6|waiter|");
    says("NACK 3 1-3 IN 0s", "+ok|");
    shows("LOOKUPID 3", "$6|holder|$-1|");
    says("RESERVE t HOLDER", "-ERR syntax error: a value is missing behind 'HOLDER'|");
}

RESP_TEST(list_in_both_versions)
{
    static const char job[] =
        "$2|id|:1|$4|tube|$1|t|$5|state|$5|ready|$3|due|:1700000000000|$4|left|:0|"
        "$8|priority|:1024|$3|ttr|:60000|$6|expire|:0|$12|attempts_max|:20|$5|retry|:20|"
        "$11|backoff_min|:1000|$11|backoff_max|:600000|$8|attempts|:0|$9|recurring|";
    char expected[600];

    says("PUT t b", "*2|:1|+scheduled|");
    sprintf(expected,
            "*2|:0|*1|*40|%s:0|$6|missed|:0|$8|failures|:0|$5|lease|$-1|$6|holder|$-1|$6|reason|$-"
            "1|$5|await|:0|",
            job);
    says("LIST t", expected);
    begins(&c, "HELLO 3", "%7|");
    sprintf(expected,
            "*2|:0|*1|%%20|%s#f|$6|missed|:0|$8|failures|:0|$5|lease|_|$6|holder|_|$6|reason|_|$5|"
            "await|:0|",
            job);
    says("LIST t", expected);
}

/* Writes the ids of a list, with a comma behind each. Returns the cursor. */
static unsigned long ids_of(const char *words, char *ids)
{
    ask(&c, words);
    commit();
    const char *at = hear_some(&c, 1 << 20);
    assert_memory_equal(at, "*2\r\n:", 5);
    unsigned long cursor = strtoul(at + 5, NULL, 10);
    *ids = '\0';
    while ((at = strstr(at, "\r\nid\r\n:")) != NULL) {
        ids += sprintf(ids, "%lu,", strtoul(at + 7, NULL, 10));
        at += 7;
    }
    return cursor;
}

/* The ids of a list are these, with a comma behind each. */
static void lists(const char *words, const char *expected)
{
    char ids[20000];

    assert_int_equal(ids_of(words, ids), 0);
    assert_string_equal(ids, expected);
}

RESP_TEST(list_the_soonest)
{
    says("LIST t STATE delayed SOONEST", "*2|:0|*0|");
    says("PUT t a IN 3h", "*2|:1|+scheduled|");
    says("PUT t b IN 1h", "*2|:2|+scheduled|");
    says("PUT u c IN 1m", "*2|:3|+scheduled|");
    says("PUT t d AT 1700007200000", "*2|:4|+scheduled|"); /* in two hours, by the wall clock */
    says("PUT t e", "*2|:5|+scheduled|");
    says("PUT t f IN 1h", "*2|:6|+scheduled|");
    lists("LIST t STATE delayed SOONEST", "2,6,4,1,");
    lists("LIST t STATE delayed SOONEST COUNT 2", "2,6,");
    lists("LIST t STATE delayed SOONEST COUNT 1000 CURSOR 0 KEYS BODY 1", "2,6,4,1,");
    says("KICKID 2", "+ok|");
    lists("LIST t STATE delayed SOONEST", "6,4,1,");
    says("LIST t SOONEST", "-ERR SOONEST needs STATE delayed|");
    says("LIST t STATE buried SOONEST", "-ERR SOONEST needs STATE delayed|");
    says("LIST t STATE delayed SOONEST NEWEST",
         "-ERR syntax error: SOONEST and NEWEST exclude each other|");
    says("LIST t STATE delayed SOONEST TAG x",
         "-ERR SOONEST and NEWEST stand without TAG and RECURRING, and without a CURSOR but 0|");
    says("LIST t STATE delayed SOONEST CURSOR 1",
         "-ERR SOONEST and NEWEST stand without TAG and RECURRING, and without a CURSOR but 0|");
    says("LIST t STATE delayed SOONEST COUNT 1001", "-ERR not a number, or out of range: '1001'|");
}

RESP_TEST(list_the_soonest_of_many)
{
    enum { JOBS = 9000, KEPT = 1000 }; /* more than one slice looks at */
    char words[60], ids[20000], expected[20000];
    char *end = expected;

    for (unsigned i = 0; i < JOBS; i++) {
        sprintf(words, "PUT t b IN %us", 1000 + i * 7919 % JOBS); /* each once */
        ask(&c, words);
        if (i % 200 == 199) {
            commit();
            (void)hear_some(&c, 20000);
        }
    }
    for (unsigned second = 0; second < KEPT; second++)
        for (unsigned i = 0; i < JOBS; i++)
            if (i * 7919 % JOBS == second)
                end += sprintf(end, "%u,", i + 1);
    assert_int_equal(ids_of("LIST t STATE delayed SOONEST COUNT 1000", ids), 0);
    assert_string_equal(ids, expected);
}

RESP_TEST(a_search_for_the_soonest_is_given_up_with_its_connection)
{
    ask_many(&c, 9000, "PUT t b IN 1h");
    ask(&c, "LIST t STATE delayed SOONEST");
    hang_up(&c);
}

RESP_TEST(list_the_newest)
{
    says("LIST t STATE buried NEWEST", "*2|:0|*0|");
    for (unsigned i = 0; i < 4; i++)
        begins(&c, i == 1 ? "PUT u b" : "PUT t b", "*2|");
    begins(&c, "RESERVE t u COUNT 4", "*4|");
    says("BURY 3 1-3", "+ok|");
    says("BURY 1 1-1", "+ok|");
    says("BURY 2 1-2", "+ok|");
    says("BURY 4 1-4 ERROR broken", "+ok|");
    lists("LIST t STATE buried NEWEST", "4,1,3,");
    lists("LIST t STATE buried NEWEST COUNT 1", "4,");
    lists("LIST t STATE buried NEWEST KEYS", "4,1,3,");
    shows("LIST t STATE buried NEWEST COUNT 1 KEYS", "$5|error|$6|broken|");
    says("LIST t STATE delayed NEWEST", "-ERR NEWEST needs STATE buried|");
    says("KICKID 1", "+ok|");
    lists("LIST t STATE buried NEWEST", "4,3,");
}

RESP_TEST(list_with_the_beginning_of_bodies)
{
    says("PUT t abcdef KEY k IN 1h", "*2|:1|+scheduled|");
    says("PUT t '' IN 2h", "*2|:2|+scheduled|");
    shows("LIST t BODY 4", "$3|key|$1|k|");
    shows("LIST t BODY 4", "$4|body|$4|abcd|$10|body_bytes|:6|*54|$2|id|:2|");
    shows("LIST t BODY 4", "$4|body|$0||$10|body_bytes|:0|");
    shows("LIST t BODY 1024", "$4|body|$6|abcdef|$10|body_bytes|:6|");
    shows("LIST t KEYS BODY 1 STATE delayed SOONEST",
          "$4|body|$1|a|$10|body_bytes|:6|*54|$2|id|:2|");
    shows("LIST t KEYS", "$5|error|$-1|$8|error_at|$-1|*50|$2|id|:2|");
    says("LIST t BODY 0", "-ERR BODY is 1 to 1024|");
    says("LIST t BODY 1025", "-ERR BODY is 1 to 1024|");
    says("LIST t BODY x", "-ERR not a number, or out of range: 'x'|");
}

RESP_TEST(list_what_recurs)
{
    says("RECURRING", "*2|:0|*0|");
    says("PUT t a IN 1h", "*2|:1|+scheduled|");
    says("PUT t b EVERY 1h KEY k TAG x", "*2|:2|+scheduled|");
    says("PUT u c CRON '* * * * *'", "*2|:3|+scheduled|");
    lists("RECURRING", "2,3,");
    lists("LIST t RECURRING", "2,");
    lists("LIST t RECURRING TAG x STATE delayed", "2,");
    lists("LIST t RECURRING STATE ready", "");
    shows("RECURRING", "$9|recurring|:1|$6|missed|:0|$8|failures|:0|");
    shows("RECURRING BODY 9", "$3|key|$1|k|$3|tag|$1|x|");
    shows("RECURRING KEYS", "$5|every|:3600000|$4|cron|$-1|$4|zone|$-1|*56|$2|id|:3|");
    shows("LOOKUPID 3", "$5|every|:0|$4|cron|$9|* * * * *|$4|zone|");
    begins(&c, "RECURRING COUNT 1", "*2|:2|*1|");
    lists("RECURRING CURSOR 2", "3,");
    says("CANCELID 2", "*1|+removed|");
    lists("RECURRING", "3,");
    says("LIST t RECURRING STATE delayed SOONEST",
         "-ERR SOONEST and NEWEST stand without TAG and RECURRING, and without a CURSOR but 0|");
    says("RECURRING STATE ready", "-ERR syntax error: there is no option 'STATE'|");
    says("RECURRING COUNT 0", "-ERR COUNT is 1 to 1000|");
    says("RECURRING BODY 1025", "-ERR BODY is 1 to 1024|");
}

RESP_TEST(find)
{
    says("FIND k", "*2|:0|*0|");
    says("PUT t a KEY k IN 1h", "*2|:1|+scheduled|");
    says("PUT u b KEY k", "*2|:2|+scheduled|");
    says("PUT v c KEY other", "*2|:3|+scheduled|");
    lists("FIND k", "1,2,");
    lists("FIND other", "3,");
    lists("FIND kk", "");
    begins(&c, "FIND k COUNT 1", "*2|:1|*1|");
    lists("FIND k CURSOR 1", "2,");
    says("CANCELID 1", "*1|+removed|");
    lists("FIND k", "2,");
    says("FIND ''", "-ERR a key has 1 to 250 bytes: ''|");
    says("FIND k COUNT 0", "-ERR COUNT is 1 to 1000|");
}

/* The shell keeps the history: here is none but that of the test. */
RESP_TEST(history)
{
    static struct elapse__history history;
    struct elapse__history_sample sample = {.put = 5};

    begins(&c, "HISTORY", "*28|$2|at|*0|$4|span|*0|");
    says("HISTORY COUNT 0", "-ERR COUNT is 1 to 1440|");
    says("HISTORY COUNT 1441", "-ERR not a number, or out of range: '1441'|");
    elapse__history_add(&history, &sample, 0, 0);
    for (unsigned minute = 1; minute <= 2; minute++) {
        sample.put += minute;
        elapse__server_sample(f.server, present(), &sample);
        elapse__history_add(&history, &sample, 1000, minute * UINT64_C(60000));
    }
    options.history = &history;
    elapse__server_free(f.server);
    f.server = NULL;
    serve();
    connect(&c);
    shows("HISTORY", "$2|at|*2|:1000|:1000|$4|span|*2|:60000|:60000|");
    shows("HISTORY", "$3|put|*2|:1|:2|");
    shows("HISTORY COUNT 1", "$3|put|*1|:2|");
    shows("HISTORY COUNT 1", "$8|late_p99|*1|$-1|$8|late_max|*1|$-1|");
    begins(&c, "HELLO 3", "%7|");
    begins(&c, "HISTORY COUNT 1", "%14|$2|at|*1|:1000|");
}

RESP_TEST(tubes_of_a_kind)
{
    says("PUT quiet b IN 1h", "*2|:1|+scheduled|");
    says("PUT paused b IN 1h", "*2|:2|+scheduled|");
    says("PUT buried b", "*2|:3|+scheduled|");
    says("PUT held b", "*2|:4|+scheduled|");
    says("PUT held b", "*2|:5|+scheduled|");
    says("PUT busy b", "*2|:6|+scheduled|");
    says("PUT ready b IN 1ms", "*2|:7|+scheduled|");
    says("PAUSE paused 1h", "+ok|");
    says("LIMIT held CONCURRENCY 1", "+ok|");
    begins(&c, "RESERVE buried held busy COUNT 3", "*3|");
    says("BURY 3 1-1", "+ok|");
    pass(10000);
    says("TUBES TROUBLE", "*2|:0|*3|$6|paused|$6|buried|$4|held|");
    pass(1);
    says("TUBES TROUBLE", "*2|:0|*4|$6|paused|$6|buried|$4|held|$5|ready|");
    says("TUBES PREFIX bu", "*2|:0|*2|$6|buried|$4|busy|");
    says("TUBES PREFIX bu TROUBLE", "*2|:0|*1|$6|buried|");
    says("TUBES PREFIX ''", "*2|:0|*6|$5|quiet|$6|paused|$6|buried|$4|held|$4|busy|$5|ready|");
    says("TUBES PREFIX readyy", "*2|:0|*0|");
    says(
        "TUBES PREFIX held COUNTS",
        "*2|:0|*1|*20|$4|tube|$4|held|$7|delayed|:0|$5|ready|:1|$8|reserved|:1|$6|buried|:0|"
        "$4|held|:1|$7|running|:1|$10|pause_left|:0|$7|overdue|:10001|$7|held_by|$11|concurrency|");
    says("TUBES PREFIX paused COUNTS TROUBLE",
         "*2|:0|*1|*20|$4|tube|$6|paused|$7|delayed|:1|$5|ready|:0|$8|reserved|:0|$6|buried|:0|"
         "$4|held|:0|$7|running|:0|$10|pause_left|:3589999|$7|overdue|:0|$7|held_by|$-1|");
}

RESP_TEST(clients)
{
    struct client other;

    says("PUT 'a b' body", "*2|:1|+scheduled|");
    says("PUT c,d body", "*2|:2|+scheduled|");
    says("PUT c,d body", "*2|:3|+scheduled|");
    connect(&other);
    answers(&other, "CLIENT SETNAME worker", "+OK|");
    begins(&other, "RESERVE 'a b' c,d COUNT 2", "*2|");
    begins(&c, "RESERVE c,d HOLDER proxy", "*1|");
    pass(1500);
    says("CLIENT LIST", "$159|id=1 addr= name= leases=0 oldest=0 tubes=|"
                        "id=2 addr= name=worker leases=2 oldest=1500 tubes=a%20b,c%2Cd|"
                        "id=0 addr= name=proxy leases=1 oldest=1500 tubes=c%2Cd||");
    says("CLIENT INFO", "$23|id=1 name= db=0 resp=2||");
}

RESP_TEST(clients_among_many_jobs)
{
    ask_many(&c, 9000, "PUT t b");
    begins(&c, "RESERVE t COUNT 100 HOLDER proxy", "*100|");
    ask(&c, "CLIENT LIST");
    commit();
    assert_non_null(strstr(hear_some(&c, 5000), "name=proxy leases=100 oldest=0 tubes=t\n"));
}

RESP_TEST(tubes)
{
    says("TUBES", "*2|:0|*0|");
    begins(&c, "PUT a b", "*2|");
    begins(&c, "PUT bb b", "*2|");
    says("TUBES", "*2|:0|*2|$1|a|$2|bb|");
    begins(&c, "TUBES COUNT 1", "*2|:1|*1|$1|a|");
    says("TUBES COUNT 1000 CURSOR 1", "*2|:0|*1|$2|bb|");
    says("TUBES COUNT x", "-ERR not a number, or out of range: 'x'|");
    says("TUBES CURSOR 268435455", "*2|:0|*0|");
    says("TUBES a", "-ERR syntax error: there is no option 'a'|");
}

/* One reply looks at no more than 65,536 places, however many of them are free. */
RESP_TEST(tubes_among_many_that_ended)
{
    enum { ENDED = 70000 };

    for (int round = 0; round < 2; round++)
        for (int i = 0; i < ENDED; i++) {
            char name[24];
            struct elapse__queue_text text = {.bytes = name,
                                              .size = (size_t)sprintf(name, "ended-%d", i)};
            if (round == 0)
                assert_int_equal(elapse__queue_tube_hold(f.engine.jobs, text), ELAPSE__QUEUE_OK);
            else if (i < ENDED - 1)
                elapse__queue_tube_drop(f.engine.jobs, text);
        }
    says("TUBES", "*2|:65536|*0|");
    says("TUBES CURSOR 65536", "*2|:0|*1|$11|ended-69999|");
}

RESP_TEST(statistics)
{
    says("STATS nowhere", "$-1|");
    begins(&c, "PUT t b IN 1h", "*2|");
    begins(&c, "PUT t b KEY k", "*2|");
    begins(&c, "PUT t b KEY k", "*2|");
    begins(&c, "RESERVE t", "*1|");
    says("PAUSE t 10s", "+ok|");
    pass(1000);
    says("STATS t",
         "*44|$7|delayed|:1|$5|ready|:0|$8|reserved|:1|$6|buried|:0|"
         "$17|cancelled_running|:0|$9|total_put|:3|$10|total_done|:0|"
         "$14|total_timeouts|:0|$15|total_cancelled|:0|$14|total_replaced|:1|"
         "$13|total_expired|:0|$10|total_dead|:0|$20|total_buried_dropped|:0|$12|total_missed|:0|"
         "$14|total_failures|:0|$12|total_pauses|:1|$5|pause|:10000|"
         "$10|pause_left|:9000|$6|groups|:0|$4|held|:0|$7|running|:1|"
         "$7|held_by|$-1|");
    begins(&c, "STATS", "*68|$7|delayed|:1|$5|ready|:0|$8|reserved|:1|");
    shows("STATS", "$9|producers|:1|$7|workers|:1|$7|waiting|:0|");
    shows("STATS", "$8|draining|:0|");
    begins(&c, "HELLO 3", "%7|");
    begins(&c, "STATS", "%34|$7|delayed|:1|");
    shows("STATS", "$9|disk_full|#f|");
    says("STATS a b", "-ERR syntax error: STATS [tube]|");
}

RESP_TEST(groups_take_turns)
{
    says("PUT t 1 GROUP a", "*2|:1|+scheduled|");
    says("PUT t 2 GROUP a", "*2|:2|+scheduled|");
    says("PUT t 3 GROUP b", "*2|:3|+scheduled|");
    says("PUT t 4 GROUP ''", "-ERR a group has 1 to 250 bytes|");
    says("RESERVE t DETAILS", "*1|*9|:1|$3|1-1|$1|t|$-1|$1|1|:1700000000000|:1|:0|"
                              "*6|$3|ttr|:60000|$5|group|$1|a|$13|attempts_left|:19|");
    says("RESERVE t", "*1|*8|:3|$3|1-2|$1|t|$-1|$1|3|:1700000000000|:1|:0|");
    shows("LOOKUPID 3", "$5|group|$1|b|");
    shows("STATS t", "$6|groups|:2|");
    says("GROUPS t COUNT 1",
         "*2|:2|*1|*18|$5|group|$1|a|$7|delayed|:0|$5|ready|:1|$7|running|:1|$6|buried|:0|"
         "$4|held|:0|$7|held_by|$-1|$9|held_left|:0|$7|overdue|:0|");
    says("GROUPS t CURSOR 2",
         "*2|:0|*1|*18|$5|group|$1|b|$7|delayed|:0|$5|ready|:0|$7|running|:1|$6|buried|:0|"
         "$4|held|:0|$7|held_by|$-1|$9|held_left|:0|$7|overdue|:0|");
    says("GROUPS u", "*2|:0|*0|");
    says("GROUPS t COUNT 0", "-ERR COUNT is 1 to 1000|");
}

RESP_TEST(an_order_of_each_group)
{
    says("LIMIT t GROUPORDER", "+ok|");
    says("PUT t 1 GROUP a BACKOFF 1s 1s", "*2|:1|+scheduled|");
    says("PUT t 2 GROUP a", "*2|:2|+scheduled|");
    says("PUT t 3 GROUP b", "*2|:3|+scheduled|");
    begins(&c, "RESERVE t COUNT 3", "*2|*8|:1|");
    says("NACK 1 1-1", "+ok|");
    says("RESERVE t", "*0|");
    says("CANCELID 1", "*1|+removed|");
    begins(&c, "RESERVE t", "*1|*8|:2|");
}

RESP_TEST(a_limit_of_each_group)
{
    says("LIMIT t GROUPCONCURRENCY 1", "+ok|");
    says("PUT t 1 GROUP a", "*2|:1|+scheduled|");
    says("PUT t 2 GROUP a", "*2|:2|+scheduled|");
    says("PUT t 3 GROUP b", "*2|:3|+scheduled|");
    begins(&c, "RESERVE t COUNT 3", "*2|*8|:1|");
    says("RESERVE t", "*0|");
    says("ACK 1 1-1", "*1|+ok|");
    begins(&c, "RESERVE t COUNT 3", "*1|*8|:2|");
}

RESP_TEST(a_limit)
{
    says("LIMIT t", "$-1|");
    says("LIMIT t CONCURRENCY 1", "+ok|");
    says("LIMIT t", "*22|$11|concurrency|:1|$4|rate|$-1|$8|rate_per|$-1|$10|rate_burst|$-1|$17|"
                    "group_concurrency|$-1|$10|group_rate|$-1|$14|"
                    "group_rate_per|$-1|$16|group_rate_burst|$-1|$11|group_order|$-1|$6|buried|$-1|"
                    "$10|buried_age|$-1|");
    says("PUT t 1", "*2|:1|+scheduled|");
    says("PUT t 2", "*2|:2|+scheduled|");
    begins(&c, "RESERVE t COUNT 2", "*1|*8|:1|");
    says("RESERVE t", "*0|");
    shows("STATS t", "$4|held|:1|$7|running|:1|");
    says("ACK 1 1-1", "*1|+ok|");
    begins(&c, "RESERVE t", "*1|*8|:2|");
    says("LIMIT t NONE", "+ok|");
    says("LIMIT t", "*22|$11|concurrency|$-1|$4|rate|$-1|$8|rate_per|$-1|$10|rate_burst|$-1|$17|"
                    "group_concurrency|$-1|$10|group_rate|$-1|$14|"
                    "group_rate_per|$-1|$16|group_rate_burst|$-1|$11|group_order|$-1|$6|buried|$-1|"
                    "$10|buried_age|$-1|");
    says("LIMIT t RATE 3 PER 1m BURST 2", "+ok|");
    says("LIMIT t", "*22|$11|concurrency|$-1|$4|rate|:3|$8|rate_per|:60000|$10|rate_burst|:2|$17|"
                    "group_concurrency|$-1|$10|group_rate|$-1|$14|"
                    "group_rate_per|$-1|$16|group_rate_burst|$-1|$11|group_order|$-1|$6|buried|$-1|"
                    "$10|buried_age|$-1|");
    says("LIMIT t RATE 2500 PER 1s CONCURRENCY 9", "+ok|");
    says("LIMIT t", "*22|$11|concurrency|:9|$4|rate|:2500|$8|rate_per|:1000|$10|rate_burst|:3|$17|"
                    "group_concurrency|$-1|$10|group_rate|$-1|$14|"
                    "group_rate_per|$-1|$16|group_rate_burst|$-1|$11|group_order|$-1|$6|buried|$-1|"
                    "$10|buried_age|$-1|");
    says("LIMIT t RATE 0 PER 1s", "-ERR RATE is 1 to 100000000; PAUSE stops a tube|");
    says("LIMIT t RATE 1 PER 0s", "-ERR the time of a rate is 1ms to 366d|");
    says("LIMIT t RATE 1 PER 367d", "-ERR the time of a rate is 1ms to 366d|");
    says("LIMIT t RATE 1 IN 1s", "-ERR syntax error: RATE count PER duration|");
    says("LIMIT t BURST 1", "-ERR syntax error: BURST stands behind RATE|");
    says("LIMIT t RATE 2500 PER 1s BURST 2",
         "-ERR BURST is at least 1, and at least what comes in a millisecond|");
    begins(&c, "LIMIT t RATE 100000001 PER 1s", "-ERR");
}

RESP_TEST(a_limit_of_groups_and_of_buried_jobs)
{
    says("LIMIT t GROUPCONCURRENCY 4294967295", "+ok|");
    begins(&c, "LIMIT t GROUPCONCURRENCY 4294967296", "-ERR");
    says("LIMIT t GROUPCONCURRENCY 0",
         "-ERR GROUPCONCURRENCY is 1 to 4294967295; PAUSE stops a tube|");
    begins(&c, "LIMIT t GROUPCONCURRENCY", "-ERR syntax error");
    says("LIMIT t", "*22|$11|concurrency|$-1|$4|rate|$-1|$8|rate_per|$-1|$10|rate_burst|$-1|"
                    "$17|group_concurrency|:4294967295|$10|group_rate|$-1|$14|"
                    "group_rate_per|$-1|$16|group_rate_burst|$-1|$11|group_order|$-1|$6|buried|$-1|"
                    "$10|buried_age|$-1|");
    says("LIMIT t BURIED 1000 BURIED AGE 7d", "+ok|");
    says("LIMIT t", "*22|$11|concurrency|$-1|$4|rate|$-1|$8|rate_per|$-1|$10|rate_burst|$-1|"
                    "$17|group_concurrency|$-1|$10|group_rate|$-1|$14|"
                    "group_rate_per|$-1|$16|group_rate_burst|$-1|$11|group_order|$-1|$6|buried|:"
                    "1000|$10|buried_age|:604800000|");
    says("LIMIT t buried age 1ms", "+ok|");
    says("LIMIT t BURIED 0", "-ERR BURIED is 1 to 4294967295|");
    begins(&c, "LIMIT t BURIED 4294967296", "-ERR");
    says("LIMIT t BURIED AGE 0s", "-ERR BURIED AGE is at least 1ms|");
    begins(&c, "LIMIT t BURIED AGE", "-ERR syntax error");
    begins(&c, "LIMIT t BURIED", "-ERR syntax error");
    begins(&c, "LIMIT t BURIED 1 BURIED 2", "-ERR syntax error");
}

RESP_TEST(a_rate_of_groups_and_their_order)
{
    says("LIMIT t GROUPRATE 3 PER 1m", "+ok|");
    shows("LIMIT t", "$10|group_rate|:3|$14|group_rate_per|:60000|$16|group_rate_burst|:1|");
    says("LIMIT t RATE 9 PER 1s BURST 8 GROUPRATE 3 PER 1m BURST 2", "+ok|");
    shows("LIMIT t", "$4|rate|:9|$8|rate_per|:1000|$10|rate_burst|:8|");
    shows("LIMIT t", "$10|group_rate|:3|$14|group_rate_per|:60000|$16|group_rate_burst|:2|");
    says("LIMIT t GROUPRATE 3 PER 1m BURST 5 RATE 9 PER 1s BURST 4", "+ok|");
    shows("LIMIT t", "$4|rate|:9|$8|rate_per|:1000|$10|rate_burst|:4|");
    shows("LIMIT t", "$10|group_rate|:3|$14|group_rate_per|:60000|$16|group_rate_burst|:5|");
    says("LIMIT t GROUPRATE 3 PER 1m RATE 9 PER 1s BURST 4", "+ok|");
    shows("LIMIT t", "$10|rate_burst|:4|");
    shows("LIMIT t", "$16|group_rate_burst|:1|");
    says("LIMIT t RATE 9 PER 1s BURST 4 BURST 3 GROUPRATE 3 PER 1m",
         "-ERR syntax error: BURST stands once behind each rate|");
    begins(&c, "LIMIT t RATE 9 PER 1s BURST 4 GROUPRATE 3 PER 1m BURST 3 BURST 2", "-ERR syntax");
    says("LIMIT t GROUPRATE 3 PER 1m BURST 3 BURST 2",
         "-ERR syntax error: BURST stands behind RATE|");
    says("LIMIT t GROUPRATE 0 PER 1m", "-ERR GROUPRATE is 1 to 100000000; PAUSE stops a tube|");
    says("LIMIT t GROUPRATE 1 PER 367d", "-ERR the time of a rate is 1ms to 366d|");
    says("LIMIT t GROUPRATE 1 IN 1m", "-ERR syntax error: GROUPRATE count PER duration|");
    says("LIMIT t GROUPRATE 2 PER 1ms BURST 1",
         "-ERR BURST is at least 1, and at least what comes in a millisecond|");
    says("LIMIT t GROUPORDER BURIED 3", "+ok|");
    shows("LIMIT t", "$11|group_order|:1|$6|buried|:3|");
    begins(&c, "LIMIT t GROUPORDER GROUPORDER", "-ERR syntax error");
    says("LIMIT t GROUPORDER NONE", "-ERR syntax error: NONE stands alone|");
    says("LIMIT t CONCURRENCY 0", "-ERR CONCURRENCY is 1 to 4294967295; PAUSE stops a tube|");
    says("LIMIT t CONCURRENCY 1 NONE", "-ERR syntax error: NONE stands alone|");
    begins(&c, "LIMIT t WHATEVER", "-ERR syntax error");
}

TEST_MAIN("look")
