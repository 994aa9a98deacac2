/*
 * Tests that a tube with braces in its name lies whole in one partition.
 *
 * With two partitions the part `eu` belongs to partition 1, and `asia` to partition 0.
 */
#include "fixture.h"

static int set_up_tags(void **state)
{
    int result = set_up(state);
    struct fixture *f = *state;

    f->options.hash_tags = true;
    begin(f);
    return result;
}

/* The first begins the definition of a test that gets the fixture, `f`, and a client, `c`. */
#define BRACES_TEST(function)                                                      \
    static void function##_by(struct fixture *f, struct elapse__router_client *c); \
    TEST_GIVEN(function, struct fixture, f, set_up_tags, tear_down)                \
    {                                                                              \
        function##_by(f, client(f));                                               \
    }                                                                              \
    static void function##_by(struct fixture *f, struct elapse__router_client *c)

static int partition_of(uint32_t partitions, const char *tube)
{
    uint32_t partition = 0;

    return elapse__router_partition_of_braces(partitions, tube, strlen(tube), &partition)
               ? (int)partition
               : -1;
}

/* Data lie where the rule said: these never change. */
TEST(the_partition_of_braces_never_changes)
{
    assert_int_equal(partition_of(1024, "mails{eu}"), 951);
    assert_int_equal(partition_of(1024, "{eu}"), 951);
    assert_int_equal(partition_of(1024, "{eu}mails{us}"), 951);
    assert_int_equal(partition_of(1024, "}{eu}"), 951);
    assert_int_equal(partition_of(1024, "mails{us}"), 673);
    assert_int_equal(partition_of(1000, "mails{eu}"), 119);
    assert_int_equal(partition_of(1024, "a{{x}}"), 478);
    assert_int_equal(partition_of(1, "mails{eu}"), 0);
    assert_int_equal(partition_of(2, "mails{eu}"), 1);
    assert_int_equal(partition_of(2, "mails{asia}"), 0);
}

TEST(without_a_part_in_braces_the_whole_name_counts)
{
    static const char *const names[] = {"", "mails", "mails{}", "{}{eu}", "mails{eu", "mails}eu{"};
    char longest[257];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(partition_of(1024, names[i]), -1);
    memset(longest, 'x', sizeof longest - 1);
    longest[256] = '\0';
    longest[0] = '{';
    longest[254] = '}';
    assert_int_equal(partition_of(1024, longest), -1);
    longest[255] = '\0';
    assert_in_range(partition_of(1024, longest), 0, 1023);
}

BRACES_TEST(braces_decide_for_every_put)
{
    const char *lines =
        "PUT a{eu} b\nPUT b{eu} b KEY k0\nPUT a{eu} b KEY k1\nPUT a{eu} b TOKEN t0\n"
        "PUT a{eu} b TOKEN t1\nPUT a{eu} b GROUP g\n";
    const char *others = "PUT a{asia} b\nPUT a{asia} b KEY k0\nPUT a{asia} b KEY k1\n"
                         "PUT a{asia} b TOKEN t0\nPUT a{asia} b TOKEN t1\n";

    say(f, c, lines);
    say(f, c, others);
    expect_sent(f, f->links[0], others);
    expect_sent(f, f->links[1], lines);
}

BRACES_TEST(commands_by_key_follow)
{
    const char *lines =
        "CANCEL a{eu} k0 k1 k2\nRESCHEDULE a{eu} k0 IN 1s\nRESCHEDULE a{eu} k1 IN 1s\n"
        "LOOKUP a{eu} k0\nLOOKUP a{eu} k1\n";

    say(f, c, lines);
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], lines);
}

BRACES_TEST(commands_by_tube_follow)
{
    say(f, c, "STATS a{eu}\nPAUSE a{eu} 1s\nLIMIT a{eu} CONCURRENCY 2\nLIMIT a{eu}");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1],
                "STATS a{eu}\nPAUSE a{eu} 1s\nLIMIT a{eu} CONCURRENCY 2\nLIMIT a{eu}\n");
    answer(f, f->links[1], "%1\r\n$5\r\nready\r\n:3\r\n+gone\r\n+ok\r\n%0\r\n");
    expect(f, c, "*2\r\n$5\r\nready\r\n:3\r\n+gone\r\n+ok\r\n*0\r\n");
    /* The partition has the whole tube, so its texts need no sum. */
    say(f, c, "STATS a{eu}\nSTATS a{eu}");
    (void)sent(f, f->links[1]);
    answer(f, f->links[1], "%2\r\n$4\r\nheld\r\n:3\r\n$7\r\nheld_by\r\n$4\r\nrate\r\n_\r\n");
    expect(f, c, "*4\r\n$4\r\nheld\r\n:3\r\n$7\r\nheld_by\r\n$4\r\nrate\r\n$-1\r\n");
    say(f, c, "CANCELALL a{eu}");
    turn(f);
    greet(f, last(f));
    assert_int_equal(elapse__router_link_partition(last(f)), 1);
    expect_sent(f, last(f), "CANCELALL a{eu}\n");
    answer(f, last(f), "%2\r\n$7\r\nremoved\r\n:2\r\n$7\r\nrunning\r\n:0\r\n");
    expect(f, c, "*4\r\n$7\r\nremoved\r\n:2\r\n$7\r\nrunning\r\n:0\r\n");
    expect_sent(f, f->links[0], "");
}

/* A change that a partition has got is never sent again; a look is. */
BRACES_TEST(a_limit_that_was_sent_is_unknown)
{
    say(f, c, "LIMIT a{eu} CONCURRENCY 2\nLIMIT a{eu}");
    (void)sent(f, f->links[1]);
    cut(f, f->links[1]);
    assert_non_null(strstr(got(f, c), "-UNKNOWN"));
    pass(f, 100);
    greet(f, last(f));
    expect_sent(f, last(f), "LIMIT a{eu}\n");
}

BRACES_TEST(a_kick_asks_one_partition)
{
    say(f, c, "KICK a{eu} 5");
    turn(f);
    greet(f, last(f));
    assert_int_equal(elapse__router_link_partition(last(f)), 1);
    expect_sent(f, last(f), "KICK a{eu} 5\n");
    answer(f, last(f), ":2\r\n");
    expect(f, c, ":2\r\n");
    say(f, c, "KICK a{eu} 5 buried\nKICK a{eu} 5 other");
    expect_sent(f, last(f), "KICK a{eu} 5 BURIED\n");
    answer(f, last(f), ":2\r\n");
    expect(f, c, ":2\r\n");
}

BRACES_TEST(a_page_is_of_one_partition)
{
    say(f, c, "LIST a{eu}");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "LIST a{eu}\n");
    answer(f, f->links[1], "*2\r\n:7\r\n*0\r\n");
    expect(f, c, "*2\r\n:15\r\n*0\r\n");
    say(f, c, "LIST a{eu} CURSOR 15\nGROUPS a{eu} CURSOR 0");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "LIST a{eu} CURSOR 7\nGROUPS a{eu} CURSOR 0\n");
    answer(f, f->links[1], "*2\r\n:0\r\n*0\r\n*2\r\n:0\r\n*0\r\n");
    expect(f, c, "*2\r\n:0\r\n*0\r\n*2\r\n:0\r\n*0\r\n");
    say(f, c, "LIST a{asia}");
    expect_sent(f, f->links[0], "LIST a{asia}\n");
    answer(f, f->links[0], "*2\r\n:0\r\n*0\r\n");
    expect(f, c, "*2\r\n:0\r\n*0\r\n");
}

/* What FIND and TUBES have at this place is no tube. */
BRACES_TEST(keys_and_beginnings_of_names_have_no_braces)
{
    say(f, c, "FIND a{eu}\nTUBES PREFIX a{eu}");
    expect_sent(f, f->links[0], "FIND a{eu}\nTUBES PREFIX a{eu}\n");
    expect_sent(f, f->links[1], "");
}

BRACES_TEST(a_reserve_asks_those_that_may_have_jobs)
{
    say(f, c, "RESERVE a{eu} b{eu}");
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "RESERVE a{eu} b{eu}\n");
    answer(f, f->links[1], "*0\r\n");
    expect(f, c, "*0\r\n");
    for (int i = 0; i < 2; i++) {
        const char *tubes = i == 0 ? "RESERVE a{eu} a{asia}\n" : "RESERVE a{eu} t\n";
        say(f, c, tubes);
        for (int k = 0; k < 2; k++) {
            const char *first = sent(f, f->links[0]);
            struct elapse__router_link *link = first[0] != '\0' ? f->links[0] : f->links[1];
            if (link == f->links[1])
                expect_sent(f, link, tubes);
            answer(f, link, "*0\r\n");
        }
        expect(f, c, "*0\r\n");
    }
}

BRACES_TEST(a_reserve_that_waits_is_not_asked_about_elsewhere)
{
    say(f, c, "RESERVE a{eu} WAIT 10s");
    expect_sent(f, f->links[1], "RESERVE a{eu}\n");
    answer(f, f->links[1], "*0\r\n");
    elapse__router_ready(f->router, f->now, 0);
    turn(f);
    pass(f, 50);
    expect_sent(f, f->links[0], "");
    elapse__router_ready(f->router, f->now, 1);
    turn(f);
    expect_sent(f, f->links[1], "RESERVE a{eu}\n");
    answer(f, f->links[1], "*0\r\n");
    pass(f, 100);
    expect_sent(f, f->links[0], "");
    expect_sent(f, f->links[1], "RESERVE a{eu}\n");
}

/* The owner of the other partition does not matter. */
BRACES_TEST(a_reserve_does_without_the_other_partitions)
{
    elapse__router_owner(f->router, f->now, 0, ELAPSE__ROUTER_NOWHERE, 2);
    say(f, c, "RESERVE a{eu}");
    expect_sent(f, f->links[1], "RESERVE a{eu}\n");
    elapse__router_owner(f->router, f->now, 0, ELAPSE__ROUTER_THERE, 3);
    answer(f, f->links[1], "*0\r\n");
    expect(f, c, "*0\r\n");
    elapse__router_owner(f->router, f->now, 1, ELAPSE__ROUTER_NOWHERE, 2);
    say(f, c, "RESERVE a{eu}");
    assert_non_null(strstr(got(f, c), "-TRYAGAIN"));
}

/* In a queue that was made without hash tags tubes with braces are as they always were. */
BRACES_TEST(without_hash_tags_braces_mean_nothing)
{
    f->options.hash_tags = false;
    begin(f);
    c = client(f);
    say(f, c, "PUT a{eu} b\nSTATS a{eu}\nRESERVE a{eu}");
    expect_sent(f, f->links[0], "PUT a{eu} b\nSTATS a{eu}\nRESERVE a{eu}\n");
    expect_sent(f, f->links[1], "STATS a{eu}\n");
}

TEST_MAIN("braces")
