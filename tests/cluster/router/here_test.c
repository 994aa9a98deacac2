/*
 * Tests links to cores of this process. They carry parsed commands instead of bytes.
 */
#include <stdio.h>
#include <string.h>

#include "../../../src/protocol/resp_parse.h"
#include "fixture.h"

/* Both partitions are reached without a socket. */
static void begin_here(struct fixture *f)
{
    f->is_here = true;
    begin(f);
}

/* The command that the core would run next, as a line of words; "": none. */
static const char *next(struct fixture *f, const struct elapse__router_link *link)
{
    uint32_t count = 0;
    const struct elapse__wire_resp_argument *arguments = elapse__router_link_command(link, &count);
    int at = 0;

    f->text[0] = '\0';
    for (uint32_t i = 0; arguments != NULL && i < count; i++)
        at += sprintf(f->text + at, "%s%.*s", i == 0 ? "" : " ", (int)arguments[i].size,
                      (const char *)arguments[i].bytes);
    return f->text;
}

static void run(struct fixture *f, struct elapse__router_link *link, const char *line)
{
    assert_string_equal(next(f, link), line);
    elapse__router_link_ran(link, true);
    turn(f);
}

ROUTER_TEST(commands_come_as_they_were_parsed)
{
    const uint8_t *bytes;

    begin_here(f);
    struct elapse__router_client *c = client(f);
    assert_int_equal(elapse__router_link_output(f->links[0], &bytes), 0);
    assert_string_equal(next(f, f->links[0]), "");
    say(f, c, "KICKID 2\nKICKID 3\nCANCELID 2 3 4");
    assert_int_equal(elapse__router_link_output(f->links[0], &bytes), 0);
    run(f, f->links[0], "KICKID 2");
    run(f, f->links[0], "CANCELID 2 4");
    assert_string_equal(next(f, f->links[0]), "");
    run(f, f->links[1], "KICKID 3");
    run(f, f->links[1], "CANCELID 3");
    answer(f, f->links[1], "+three\r\n*1\r\n+c\r\n");
    answer(f, f->links[0], "+two\r\n*2\r\n+a\r\n+");
    answer(f, f->links[0], "b\r\n");
    expect(f, c, "+two\r\n+three\r\n*3\r\n+a\r\n+c\r\n+b\r\n");
}

ROUTER_TEST(what_was_begun_is_not_done_again)
{
    begin_here(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "KICKID 2\nLOOKUPID 2\nKICKID 4\nKICKID 6");
    run(f, f->links[0], "KICKID 2");
    run(f, f->links[0], "LOOKUPID 2");
    elapse__router_link_ran(f->links[0], false);
    assert_string_equal(next(f, f->links[0]), "KICKID 4");
    cut(f, f->links[0]);
    pass(f, 100);
    /* The core has seen two that change something; the look is done again. */
    run(f, last(f), "LOOKUPID 2");
    run(f, last(f), "KICKID 6");
    answer(f, last(f), "_\r\n+ok\r\n");
    assert_non_null(strstr(got(f, c), "-UNKNOWN partition 0"));
    assert_non_null(strstr(f->text, "$-1\r\n-UNKNOWN partition 0"));
    assert_string_equal(f->text + strlen(f->text) - 5, "+ok\r\n");
}

ROUTER_TEST(a_lost_link_has_no_commands)
{
    begin_here(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "KICKID 2");
    answer(f, f->links[0], "x\r\n");
    assert_true(elapse__router_link_wants_end(f->links[0]));
    assert_string_equal(next(f, f->links[0]), "");
    cut(f, f->links[0]);
    pass(f, 100);
    run(f, last(f), "KICKID 2");
    answer(f, last(f), "+ok\r\n");
    expect(f, c, "+ok\r\n");
}

ROUTER_TEST(an_answer_to_half_a_command_ends_the_link)
{
    begin_here(f);
    say(f, client(f), "KICKID 2");
    elapse__router_link_ran(f->links[0], false);
    answer(f, f->links[0], "+ok\r\n");
    assert_true(elapse__router_link_wants_end(f->links[0]));
}

ROUTER_TEST(a_core_that_takes_nothing_is_lost_in_time)
{
    begin_here(f);
    struct elapse__router_client *c = client(f);
    say(f, c, "KICKID 2");
    pass(f, 14999);
    assert_false(elapse__router_link_wants_end(f->links[0]));
    pass(f, 1);
    assert_true(elapse__router_link_wants_end(f->links[0]));
    assert_non_null(strstr(got(f, c), "-TRYAGAIN partition 0"));
}

ROUTER_TEST(a_core_has_a_window_of_commands)
{
    char line[3000] = "PUT t ";

    f->options.partitions = 1;
    begin_here(f);
    memset(line + 6, 'b', sizeof line - 7);
    struct elapse__router_client *c = client(f);
    for (int i = 0; i < 60; i++)
        say(f, c, line);
    /* The owner changes: what waits behind the window goes on at once. */
    elapse__router_owner(f->router, f->now, 0, ELAPSE__ROUTER_HERE, 2);
    unsigned given = 0;
    for (; next(f, f->links[0])[0] != '\0'; given++)
        elapse__router_link_ran(f->links[0], true);
    assert_in_range(given, 20, 30);
}

ROUTER_TEST(a_long_reply_goes_on_as_it_is)
{
    static char long_reply[100001] = "$99990\r\n";

    begin_here(f);
    struct elapse__router_client *c = client(f);
    memset(long_reply + 8, 'b', 99990);
    memcpy(long_reply + 99998, "\r\n", 3);
    for (int i = 0; i < 3; i++) {
        say(f, c, "LOOKUPID 2\nLOOKUPID 4\nKICKID 2");
        run(f, f->links[0], "LOOKUPID 2");
        run(f, f->links[0], "LOOKUPID 4");
        run(f, f->links[0], "KICKID 2");
        answer(f, f->links[0], long_reply);
        answer(f, f->links[0], long_reply);
        answer(f, f->links[0], "+ok\r\n");
        assert_int_equal(strlen(got(f, c)), 2 * 100000 + 5);
        assert_memory_equal(f->text, long_reply, 100000);
        assert_memory_equal(f->text + 100000, long_reply, 100000);
        assert_string_equal(f->text + 200000, "+ok\r\n");
    }
}

TEST_MAIN("here")
