/*
 * Tests the name of a node. It is the one that was given, whole, or the beginning of its address.
 */
#include "../../../src/cluster/serve/base.h"
#include "../../support/test.h"

#define FORTY "name-of-exactly-forty-bytes-012345678901"

static struct elapse__loop_options options;

static int set_up(void **state)
{
    struct elapse__cluster *cluster = calloc(1, sizeof *cluster);

    assert_non_null(cluster);
    options = (struct elapse__loop_options){.queue = "test"};
    cluster->service.loop.options = &options;
    cluster->service.loop.listener_count = 1;
    *state = cluster;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static bool is_valid(struct elapse__cluster *cluster, const char *node)
{
    options.node = node;
    return elapse__cluster_check_options(cluster);
}

static const char *name_at(struct elapse__cluster *cluster, const char *address)
{
    options.advertise = address;
    cluster->address[0] = '\0';
    assert_true(elapse__cluster_choose_address(cluster));
    return cluster->name;
}

TEST_WITH(a_name_has_a_limit, set_up, tear_down)
{
    assert_int_equal(strlen(FORTY), 40);
    assert_true(is_valid(*state, NULL));
    assert_true(is_valid(*state, "n"));
    assert_true(is_valid(*state, FORTY));
    assert_false(is_valid(*state, FORTY "8"));
    assert_false(is_valid(*state, ""));
}

TEST_WITH(a_name_has_characters_that_the_database_takes, set_up, tear_down)
{
    assert_true(is_valid(*state, "K\303\266ln 1/a"));
    assert_false(is_valid(*state, "K\366ln"));
    assert_false(is_valid(*state, "Ko\314"));
    assert_false(is_valid(*state, "a\nb"));
    assert_false(is_valid(*state, "a\177"));
}

TEST_WITH(a_name_that_was_given_is_taken_whole, set_up, tear_down)
{
    options.node = FORTY;
    assert_string_equal(name_at(*state, "host:1"), FORTY);
}

TEST_WITH(without_a_name_the_address_is_the_name, set_up, tear_down)
{
    assert_string_equal(name_at(*state, "host:1"), "host:1");
    assert_string_equal(name_at(*state, "elapse-0.elapse.somewhere.svc.cluster.local:7379"),
                        "elapse-0.elapse.somewhere.svc.cluster.lo");
    assert_string_equal(name_at(*state, "0123456789012345678901234567890123456\303\266\303\266:1"),
                        "0123456789012345678901234567890123456\303\266");
}

TEST_WITH(an_address_is_text, set_up, tear_down)
{
    options.advertise = "K\366ln:1";
    assert_false(elapse__cluster_choose_address(*state));
}

TEST_MAIN("options")
