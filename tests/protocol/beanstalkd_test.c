/*
 * The protocol of beanstalkd: every verb, every error, each limit at its edge, and each input cut
 * at every byte. What each line is answered was found by asking beanstalkd 1.12;
 * tests/server/beanstalkd/differential asks it again.
 */
#include "../support/test.h"
#include "beanstalkd.h"

enum { BODY_MAX = 10, TEXT_MAX = 4096, COMMANDS_MAX = 16 };

/* ---- what an input says, as text ---- */

static void show(char *text, const struct elapse__wire_beanstalkd_command *command)
{
    static const char *const names[ELAPSE__WIRE_BEANSTALKD_VERBS] = {
        "BAD",        "UNKNOWN",      "CRLF",         "BIG",     "put",        "peek",
        "peek-ready", "peek-delayed", "peek-buried",  "reserve", "reserve-wt", "reserve-job",
        "delete",     "release",      "use",          "watch",   "ignore",     "bury",
        "kick",       "kick-job",     "touch",        "stats",   "stats-job",  "stats-tube",
        "list-tubes", "list-used",    "list-watched", "pause",   "quit",
    };
    text += sprintf(text, "%s", names[command->verb]);
    if (command->id != 0)
        text += sprintf(text, " id=%llu", (unsigned long long)command->id);
    if (command->priority != 0)
        text += sprintf(text, " pri=%lu", (unsigned long)command->priority);
    if (command->delay_s != 0)
        text += sprintf(text, " delay=%lu", (unsigned long)command->delay_s);
    if (command->ttr_s != 0)
        text += sprintf(text, " ttr=%lu", (unsigned long)command->ttr_s);
    if (command->bound != 0)
        text += sprintf(text, " bound=%llu", (unsigned long long)command->bound);
    if (command->timeout_s != 0)
        text += sprintf(text, " timeout=%llu", (unsigned long long)command->timeout_s);
    if (command->for_ever)
        text += sprintf(text, " for-ever");
    if (command->tube != NULL)
        text += sprintf(text, " tube=%.*s", (int)command->tube_size, command->tube);
    if (command->body != NULL)
        sprintf(text, " body=%.*s", (int)command->body_size, (const char *)command->body);
}

/* Feeds the input as far as `cut` first, then whole, as a connection would. Each piece lies in
 * memory of its own size, so that a sanitizer notices a read behind it. */
static void parse_cut(const char *input, size_t size, size_t cut, char *said)
{
    struct elapse__wire_beanstalkd_parser parser = {.body_bytes_max = BODY_MAX};
    size_t used = 0;
    size_t wanted = 1;
    *said = '\0';
    for (size_t there = cut;; there = size) {
        while (used < there && there - used >= wanted) {
            struct elapse__wire_beanstalkd_command command;
            unsigned char *bytes = malloc(there - used);
            assert_non_null(bytes);
            memcpy(bytes, input + used, there - used);
            struct elapse__wire_beanstalkd_parsed parsed =
                elapse__beanstalkd_parse(&parser, bytes, there - used, &command);
            assert_true(parsed.consumed <= there - used);
            used += parsed.consumed;
            if (parsed.whole) {
                assert_true(parsed.consumed > 0);
                if (*said != '\0')
                    /* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.strcpy): there is room */
                    strcat(said, "; ");
                show(said + strlen(said), &command);
                wanted = 1;
            } else {
                assert_true(parsed.wanted > there - used);
                assert_true(parsed.wanted <= elapse__wire_beanstalkd_bytes_max(&parser));
                wanted = parsed.wanted;
            }
            free(bytes);
        }
        if (there == size)
            break;
    }
}

static void check_bytes(const char *input, size_t size, const char *expected)
{
    static char said[TEXT_MAX];
    for (size_t cut = 0; cut <= size; cut++) {
        parse_cut(input, size, cut, said);
        if (strcmp(said, expected) != 0)
            print_message("input \"%s\", cut at %zu\n", input, cut);
        assert_string_equal(said, expected);
    }
}

static void check(const char *input, const char *expected)
{
    check_bytes(input, strlen(input), expected);
}

/* The same for a line, whose end is added. */
static void check_line(const char *line, const char *expected)
{
    static char input[TEXT_MAX + 2];
    sprintf(input, "%s\r\n", line);
    check(input, expected);
}

static void all_are(const char *const *lines, const char *expected)
{
    for (; *lines != NULL; lines++)
        check_line(*lines, expected);
}

/* ---- verbs ---- */

TEST(test_every_verb)
{
    check("put 1 2 3 4\r\nabcd\r\n", "put pri=1 delay=2 ttr=3 body=abcd");
    check("put 0 0 0 0\r\n\r\n", "put body=");
    check_line("reserve", "reserve for-ever");
    check_line("reserve-with-timeout 5", "reserve-wt timeout=5");
    check_line("reserve-job 5", "reserve-job id=5");
    check_line("delete 5", "delete id=5");
    check_line("release 5 6 7", "release id=5 pri=6 delay=7");
    check_line("bury 5 6", "bury id=5 pri=6");
    check_line("touch 5", "touch id=5");
    check_line("use a", "use tube=a");
    check_line("watch a", "watch tube=a");
    check_line("ignore a", "ignore tube=a");
    check_line("kick 5", "kick bound=5");
    check_line("kick-job 5", "kick-job id=5");
    check_line("peek 5", "peek id=5");
    check_line("peek-ready", "peek-ready");
    check_line("peek-delayed", "peek-delayed");
    check_line("peek-buried", "peek-buried");
    check_line("stats-job 5", "stats-job id=5");
    check_line("stats-tube a", "stats-tube tube=a");
    check_line("stats", "stats");
    check_line("list-tubes", "list-tubes");
    check_line("list-tube-used", "list-used");
    check_line("list-tubes-watched", "list-watched");
    check_line("pause-tube a 5", "pause delay=5 tube=a");
    check_line("quit", "quit");
}

TEST(test_commands_follow_each_other)
{
    check("put 0 0 0 2\r\n\r\n\r\nreserve\r\nnothing\r\ndelete 1\r\n",
          "put body=\r\n; reserve for-ever; UNKNOWN; delete id=1");
}

TEST(test_unknown_commands)
{
    static const char *const lines[] = {
        "",       " ",      "x",       "put",       "putx 0 0 0 0", "PUT 0 0 0 0", " put 0 0 0 0",
        "pu",     "use",    "delete",  "delete\t1", "release",      "bury",        "touch",
        "watch",  "ignore", "kick",    "kick-",     "kick-job",     "peek",        "peek-",
        "peek-x", "stat",   "list",    "list-tube", "list-tube 1",  "pause",       "pause 1",
        "Stats",  "\n",     "\nstats", "\r",        "a\rb",         NULL,
    };
    all_are(lines, "UNKNOWN");
}

TEST(test_what_follows_a_verb_without_arguments)
{
    static const char *const bad[] = {
        "reserve ",
        "reservex",
        "reserve 1",
        "reserve-",
        "reserve-with-timeout",
        "reserve-job",
        "reserve-jobx",
        "peek-readyx",
        "peek-ready ",
        "peek-delayed 1",
        "peek-buried1",
        "stats ",
        "statsx",
        "stats-",
        "stats-job",
        "stats-tube",
        "list-tubes ",
        "list-tubesx",
        "list-tubes-watch",
        "list-tubes-watchedx",
        "list-tube-usedx",
        "list-tube-used 1",
        "list-tube-used\n",
        NULL,
    };
    static const char *const quits[] = {"quit", "quit ", "quitx", "quit 1 2", NULL};
    all_are(bad, "BAD");
    all_are(quits, "quit");
}

/* ---- numbers ---- */

TEST(test_numbers)
{
    static const char *const bad[] = {
        "delete ",
        "delete  ",
        "delete x",
        "delete 1x",
        "delete 1 ",
        "delete 1 2",
        "delete -1",
        "delete +1",
        "delete \t1",
        "delete 1\t",
        "delete 0x1",
        "delete 1.0",
        "delete 18446744073709551616",
        "delete 99999999999999999999999999",
        "put ",
        "put 1",
        "put 1 2",
        "put 1 2 3",
        "put 1 2 3 4 5",
        "put 1 2 3 4 ",
        "put -1 2 3 4",
        "put 1 +2 3 4",
        "put 1 2 3a 4",
        "put 1,2,3,4",
        "put 1\t2\t3\t4",
        "put 1 2 3 4x",
        "put x 2 3 4",
        "put 4294967296 0 0 0",
        "put 0 4294967296 0 0",
        "put 0 0 4294967296 0",
        "put 0 0 0 4294967296",
        "release 1",
        "release 1 2",
        "release 1 2 3 4",
        "release 1 2 3 ",
        "release 1 2 -3",
        "release 18446744073709551616 2 3",
        "release 1 4294967296 3",
        "release 1 2 4294967296",
        "bury 1",
        "bury 1 2 3",
        "bury 1 4294967296",
        "bury 1x 2",
        "bury x 2",
        "bury 18446744073709551616 2",
        NULL,
    };
    all_are(bad, "BAD");
    check_line("delete 18446744073709551615", "delete id=18446744073709551615");
    check_line("delete   007", "delete id=7");
    check_line("release  1  2  3", "release id=1 pri=2 delay=3");
    check_line("release 1 4294967295 4294967295", "release id=1 pri=4294967295 delay=4294967295");
    check_line("bury  1  4294967295", "bury id=1 pri=4294967295");
    check("put  4294967295  4294967295  4294967295  01\r\na\r\n",
          "put pri=4294967295 delay=4294967295 ttr=4294967295 body=a");
}

TEST(test_lax_numbers)
{
    static const char *const bad[] = {
        "kick ",
        "kick x",
        "kick -",
        "kick - 1",
        "kick +-1",
        "kick 18446744073709551616",
        "kick -18446744073709551616",
        "reserve-with-timeout 9223372036854775808",
        "reserve-with-timeout -9223372036854775809",
        NULL,
    };
    static const char *const at_once[] = {
        "reserve-with-timeout ",
        "reserve-with-timeout x",
        "reserve-with-timeout 0",
        "reserve-with-timeout -0",
        "reserve-with-timeout -x",
        "reserve-with-timeout 0x9",
        NULL,
    };
    static const char *const for_ever[] = {
        "reserve-with-timeout -1",
        "reserve-with-timeout -2 x",
        "reserve-with-timeout -9223372036854775808",
        NULL,
    };
    all_are(bad, "BAD");
    all_are(at_once, "reserve-wt");
    all_are(for_ever, "reserve-wt for-ever");
    check_line("reserve-with-timeout \t\v\f+5s", "reserve-wt timeout=5");
    check_line("reserve-with-timeout 9223372036854775807",
               "reserve-wt timeout=9223372036854775807");
    check_line("kick \t+5 jobs", "kick bound=5");
    check_line("kick 0x10", "kick");
    check_line("kick -1", "kick bound=18446744073709551615");
    check_line("kick 18446744073709551615", "kick bound=18446744073709551615");
    check_line("kick -18446744073709551615", "kick bound=1");
}

/* ---- names ---- */

TEST(test_names)
{
    static const char *const bad[] = {
        "use ",    "use  a",   "use a ",      "use a b",       "use -a",        "use a,b",
        "use a:b", "use a\tb", "use a\rb",    "use \xc3\xa4",  "watch -",       "watch a b",
        "ignore ", "ignore *", "stats-tube ", "stats-tube  a", "stats-tube a ", NULL,
    };
    all_are(bad, "BAD");
    check_line("use +/;.$_()-", "use tube=+/;.$_()-");
    check_line("use 0123456789", "use tube=0123456789");
    check_line("use ABCXYZabcxyz", "use tube=ABCXYZabcxyz");
    for (int letter = 1; letter < 256; letter++) {
        char line[] = "use a?b";
        bool good = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                    (letter >= '0' && letter <= '9') || strchr("-+/;.$_()", letter) != NULL;
        line[5] = (char)letter;
        if (!good)
            check_line(line, "BAD");
    }
}

static void check_name(const char *verb, const char *behind, size_t length, const char *says)
{
    static char line[TEXT_MAX];
    static char expected[TEXT_MAX];
    char name[256] = "";
    memset(name, 'n', length);
    sprintf(line, "%s %s%s", verb, name, behind);
    if (says != NULL)
        sprintf(expected, "%s tube=%s", says, name);
    else
        strcpy(expected, "BAD");
    check_line(line, expected);
}

TEST(test_the_longest_name)
{
    check_name("use", "", 200, "use");
    check_name("use", "", 201, NULL);
    check_name("watch", "", 200, "watch");
    check_name("watch", "", 201, NULL);
    check_name("ignore", "", 200, "ignore");
    check_name("ignore", "", 201, NULL);
    check_name("stats-tube", "", 200, "stats-tube");
    check_name("stats-tube", "", 201, NULL);
    check_name("pause-tube", " 4294967295", 200, "pause delay=4294967295");
    check_name("pause-tube", " 1", 201, NULL);
}

TEST(test_pause_tube)
{
    static const char *const bad[] = {
        "pause-tube",
        "pause-tubex",
        "pause-tube ",
        "pause-tube a",
        "pause-tube a ",
        "pause-tube a b",
        "pause-tube a 1 ",
        "pause-tube a 1 2",
        "pause-tube a -1",
        "pause-tube -a 1",
        "pause-tube a,1",
        "pause-tube a\t1",
        "pause-tube a 1x",
        "pause-tube a 4294967296",
        NULL,
    };
    all_are(bad, "BAD");
    check_line("pause-tubea 1", "pause delay=1 tube=a");
    check_line("pause-tube   a   01", "pause delay=1 tube=a");
    check_line("pause-tube 7 0", "pause tube=7");
}

/* ---- lines ---- */

TEST(test_the_longest_line)
{
    static char line[1024];
    for (size_t size = 215; size <= 500; size++) {
        memset(line, 'x', size);
        line[size] = '\0';
        check_line(line, size + 2 <= 224 ? "UNKNOWN" : "BAD");
        /* NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.strcpy): there is room */
        strcat(line, "\r\nstats");
        check_line(line, size + 2 <= 224 ? "UNKNOWN; stats" : "BAD; stats");
    }
    sprintf(line, "delete %0215d", 9);
    check_line(line, "delete id=9");
    sprintf(line, "delete %0216d", 9);
    check_line(line, "BAD");
    sprintf(line, "quit%0300d\rx\r\nquit", 9);
    check_line(line, "BAD; quit");
    sprintf(line, "quit%0219d\r\r\r\nquit", 9);
    check_line(line, "BAD; quit");
}

TEST(test_an_end_that_is_none)
{
    check("stats\n", "");
    check("stats\r", "");
    check("stats\n\r\n", "BAD");
    check("stats\r\r\n", "BAD");
    check("a\nb\r\nstats\r\n", "UNKNOWN; stats");
    check("use a\rb\r\nstats\r\n", "BAD; stats");
}

TEST(test_nul_bytes)
{
    check_bytes("\0\r\n", 3, "BAD");
    check_bytes("x\0\r\n", 4, "BAD");
    check_bytes("stats\0\r\nstats\r\n", 15, "BAD; stats");
    check_bytes("use a\0b\r\n", 9, "BAD");
    check_bytes("kick 1\0\r\n", 9, "BAD");
}

/* ---- bodies ---- */

TEST(test_bodies)
{
    check("put 0 0 0 10\r\n0123456789\r\n", "put body=0123456789");
    check("put 0 0 0 11\r\n0123456789a\r\nstats\r\n", "BIG; stats");
    check("put 0 0 0 11\r\n0123456789abcstats\r\n", "BIG; stats");
    check("put 0 0 0 11\r\n0123456789a\r", "");
    check("put 0 0 0 1\r\nab\r\n", "CRLF");
    check("put 0 0 0 1\r\na\r\rstats\r\n", "CRLF; stats");
    check("put 0 0 0 1\r\na\nxstats\r\n", "CRLF; stats");
    check("put 0 0 0 1\r\nab\r\nstats\r\n", "CRLF; UNKNOWN");
    check("put 0 0 0 5\r\nab\r\n\r\n", "");
    check("put 0 0 0 x\r\nab\r\n", "BAD; UNKNOWN");
}

/* A body of 4 GiB is skipped, and what follows it is found. */
TEST(test_the_largest_body)
{
    static const char line[] = "put 0 0 0 4294967295\r\n";
    struct elapse__wire_beanstalkd_parser parser = {.body_bytes_max = 65535};
    struct elapse__wire_beanstalkd_command command;
    enum { PIECE = 1 << 20 };
    unsigned char *bytes = calloc(1, PIECE);
    assert_non_null(bytes);
    struct elapse__wire_beanstalkd_parsed parsed =
        elapse__beanstalkd_parse(&parser, (const unsigned char *)line, sizeof line - 1, &command);
    assert_false(parsed.whole);
    assert_int_equal(parsed.consumed, sizeof line - 1);
    for (uint64_t left = UINT64_C(4294967297); left > PIECE; left -= PIECE) {
        parsed = elapse__beanstalkd_parse(&parser, bytes, PIECE, &command);
        assert_false(parsed.whole);
        assert_int_equal(parsed.consumed, PIECE);
    }
    parsed = elapse__beanstalkd_parse(&parser, bytes, PIECE, &command);
    assert_true(parsed.whole);
    assert_int_equal(command.verb, ELAPSE__WIRE_BEANSTALKD_TOO_BIG);
    assert_int_equal(parsed.consumed, 1);
    free(bytes);
}

/* ---- replies ---- */

static void check_text(const char *text, size_t size, const char *expected)
{
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(text, expected, size);
}

TEST(test_replies)
{
    static const char *const expected[ELAPSE__WIRE_BEANSTALKD_REPLIES] = {
        "BAD_FORMAT\r\n",  "UNKNOWN_COMMAND\r\n", "EXPECTED_CRLF\r\n",  "JOB_TOO_BIG\r\n",
        "DRAINING\r\n",    "OUT_OF_MEMORY\r\n",   "INTERNAL_ERROR\r\n", "NOT_FOUND\r\n",
        "NOT_IGNORED\r\n", "DEADLINE_SOON\r\n",   "TIMED_OUT\r\n",      "DELETED\r\n",
        "RELEASED\r\n",    "BURIED\r\n",          "TOUCHED\r\n",        "KICKED\r\n",
        "PAUSED\r\n",
    };
    char text[ELAPSE__WIRE_BEANSTALKD_REPLY_BYTES_MAX];
    char name[ELAPSE__WIRE_BEANSTALKD_TUBE_BYTES_MAX];
    for (int reply = 0; reply < ELAPSE__WIRE_BEANSTALKD_REPLIES; reply++) {
        struct elapse__wire_beanstalkd_text says =
            elapse__wire_beanstalkd_reply((enum elapse__wire_beanstalkd_reply)reply);
        check_text(says.bytes, says.size, expected[reply]);
    }
    check_text(text, elapse__wire_beanstalkd_inserted(text, 0), "INSERTED 0\r\n");
    check_text(text, elapse__wire_beanstalkd_inserted(text, UINT64_MAX),
               "INSERTED 18446744073709551615\r\n");
    check_text(text, elapse__wire_beanstalkd_watching(text, 10), "WATCHING 10\r\n");
    check_text(text, elapse__wire_beanstalkd_kicked(text, 1), "KICKED 1\r\n");
    check_text(text, elapse__wire_beanstalkd_reserved(text, UINT64_MAX, UINT64_MAX),
               "RESERVED 18446744073709551615 18446744073709551615\r\n");
    check_text(text, elapse__wire_beanstalkd_found(text, 7, 0), "FOUND 7 0\r\n");
    check_text(text, elapse__wire_beanstalkd_ok(text, 14), "OK 14\r\n");
    check_text(text, elapse__wire_beanstalkd_using(text, "default", 7), "USING default\r\n");
    memset(name, 'n', sizeof name);
    assert_int_equal(elapse__wire_beanstalkd_using(text, name, sizeof name), 208);
}

TEST(test_lists)
{
    char text[ELAPSE__WIRE_BEANSTALKD_ITEM_BYTES_MAX];
    char name[ELAPSE__WIRE_BEANSTALKD_TUBE_BYTES_MAX];
    check_text(text, elapse__wire_beanstalkd_list_begin(text), "---\n");
    check_text(text, elapse__wire_beanstalkd_list_item(text, "default", 7), "- default\n");
    assert_int_equal(elapse__wire_beanstalkd_item_size(7), 10);
    memset(name, 'n', sizeof name);
    assert_true(elapse__wire_beanstalkd_list_item(text, name, sizeof name) <= sizeof text);
}

TEST(test_statistics_of_a_job)
{
    static char text[ELAPSE__WIRE_BEANSTALKD_YAML_BYTES_MAX];
    const struct elapse__wire_beanstalkd_job_statistics statistics = {.id = 1,
                                                                      .tube = "default",
                                                                      .tube_size = 7,
                                                                      .state = "delayed",
                                                                      .priority = 2,
                                                                      .age_s = 3,
                                                                      .delay_s = 4,
                                                                      .ttr_s = 5,
                                                                      .time_left_s = 6,
                                                                      .file = 7,
                                                                      .reserves = 8,
                                                                      .timeouts = 9,
                                                                      .releases = 10,
                                                                      .buries = 11,
                                                                      .kicks = 12};
    check_text(text, elapse__wire_beanstalkd_job_yaml(text, &statistics),
               "---\nid: 1\ntube: default\nstate: delayed\npri: 2\nage: 3\ndelay: 4\nttr: 5\n"
               "time-left: 6\nfile: 7\nreserves: 8\ntimeouts: 9\nreleases: 10\nburies: 11\n"
               "kicks: 12\n");
}

TEST(test_statistics_of_a_tube)
{
    static char text[ELAPSE__WIRE_BEANSTALKD_YAML_BYTES_MAX];
    const struct elapse__wire_beanstalkd_tube_statistics statistics = {.name = "default",
                                                                       .name_size = 7,
                                                                       .urgent = 1,
                                                                       .ready = 2,
                                                                       .reserved = 3,
                                                                       .delayed = 4,
                                                                       .buried = 5,
                                                                       .total_jobs = 6,
                                                                       .using_count = 7,
                                                                       .watching = 8,
                                                                       .waiting = 9,
                                                                       .deletes = 10,
                                                                       .pauses = 11,
                                                                       .pause_s = 12,
                                                                       .pause_left_s = 13};
    check_text(text, elapse__wire_beanstalkd_tube_yaml(text, &statistics),
               "---\nname: default\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 2\n"
               "current-jobs-reserved: 3\ncurrent-jobs-delayed: 4\ncurrent-jobs-buried: 5\n"
               "total-jobs: 6\ncurrent-using: 7\ncurrent-watching: 8\ncurrent-waiting: 9\n"
               "cmd-delete: 10\ncmd-pause-tube: 11\npause: 12\npause-time-left: 13\n");
}

/* The greatest numbers and texts fit, and the texts of the machine are cut. */
TEST(test_statistics_of_the_server)
{
    static char text[ELAPSE__WIRE_BEANSTALKD_YAML_BYTES_MAX];
    static char fact[1000];
    uint64_t commands[ELAPSE__WIRE_BEANSTALKD_VERBS];
    struct elapse__wire_beanstalkd_server_statistics statistics;
    memset(fact, 'f', sizeof fact - 1);
    memset(commands, 0xff, sizeof commands);
    memset(&statistics, 0xff, sizeof statistics);
    statistics.commands = commands;
    statistics.draining = true;
    statistics.version = statistics.id = statistics.hostname = statistics.os = fact;
    statistics.platform = fact;
    assert_true(elapse__wire_beanstalkd_server_yaml(text, &statistics) <= sizeof text);

    for (uint64_t i = 0; i < ELAPSE__WIRE_BEANSTALKD_VERBS; i++)
        commands[i] = 100 + i;
    statistics = (struct elapse__wire_beanstalkd_server_statistics){.urgent = 1,
                                                                    .ready = 2,
                                                                    .reserved = 3,
                                                                    .delayed = 4,
                                                                    .buried = 5,
                                                                    .commands = commands,
                                                                    .job_timeouts = 6,
                                                                    .total_jobs = 7,
                                                                    .max_job_size = 8,
                                                                    .tubes = 9,
                                                                    .connections = 10,
                                                                    .producers = 11,
                                                                    .workers = 12,
                                                                    .waiting = 13,
                                                                    .total_connections = 14,
                                                                    .pid = 15,
                                                                    .version = "1.2",
                                                                    .user_us = 1000001,
                                                                    .system_us = 99,
                                                                    .uptime_s = 16,
                                                                    .binlog_oldest = 17,
                                                                    .binlog_current = 18,
                                                                    .binlog_migrated = 19,
                                                                    .binlog_written = 20,
                                                                    .binlog_max_size = 21,
                                                                    .draining = false,
                                                                    .id = "i",
                                                                    .hostname = "h",
                                                                    .os = "o",
                                                                    .platform = "p"};
    check_text(
        text, elapse__wire_beanstalkd_server_yaml(text, &statistics),
        "---\ncurrent-jobs-urgent: 1\ncurrent-jobs-ready: 2\ncurrent-jobs-reserved: 3\n"
        "current-jobs-delayed: 4\ncurrent-jobs-buried: 5\ncmd-put: 104\ncmd-peek: 105\n"
        "cmd-peek-ready: 106\ncmd-peek-delayed: 107\ncmd-peek-buried: 108\ncmd-reserve: 109\n"
        "cmd-reserve-with-timeout: 110\ncmd-delete: 112\ncmd-release: 113\ncmd-use: 114\n"
        "cmd-watch: 115\ncmd-ignore: 116\ncmd-bury: 117\ncmd-kick: 118\ncmd-touch: 120\n"
        "cmd-stats: 121\ncmd-stats-job: 122\ncmd-stats-tube: 123\ncmd-list-tubes: 124\n"
        "cmd-list-tube-used: 125\ncmd-list-tubes-watched: 126\ncmd-pause-tube: 127\n"
        "job-timeouts: 6\ntotal-jobs: 7\nmax-job-size: 8\ncurrent-tubes: 9\n"
        "current-connections: 10\ncurrent-producers: 11\ncurrent-workers: 12\n"
        "current-waiting: 13\ntotal-connections: 14\npid: 15\nversion: \"1.2\"\n"
        "rusage-utime: 1.000001\nrusage-stime: 0.000099\nuptime: 16\nbinlog-oldest-index: 17\n"
        "binlog-current-index: 18\nbinlog-records-migrated: 19\nbinlog-records-written: 20\n"
        "binlog-max-size: 21\ndraining: false\nid: i\nhostname: \"h\"\nos: \"o\"\nplatform: "
        "\"p\"\n");
}

TEST_MAIN("beanstalkd")
