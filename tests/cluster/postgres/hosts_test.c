/*
 * Tests that connection strings of several hosts become strings of one host each.
 */
#include "../../../src/cluster/postgres/hosts.h"
#include "../../../src/cluster/postgres/link.h"
#include "../../support/test.h"

TEST(each_host_has_its_string)
{
    struct elapse__hosts hosts = {.count = 0};

    assert_null(elapse__hosts_add(&hosts, "host=a,b port=1,2 dbname=d"));
    assert_null(elapse__hosts_add(&hosts, "postgresql://u@c,d:7/e"));
    assert_int_equal(hosts.count, 4);
    static const char *const wanted[][2] = {{"host='a'", "port='1'"},
                                            {"host='b'", "port='2'"},
                                            {"host='c'", "user='u'"},
                                            {"host='d'", "port='7'"}};
    for (unsigned i = 0; i < 4; i++) {
        assert_non_null(strstr(hosts.texts[i], wanted[i][0]));
        assert_non_null(strstr(hosts.texts[i], wanted[i][1]));
        assert_null(elapse__database_link_refuse_host(hosts.texts[i]));
    }
    elapse__hosts_free(&hosts);
    assert_int_equal(hosts.count, 0);
}

TEST(one_port_is_that_of_all_hosts)
{
    struct elapse__hosts hosts = {.count = 0};

    assert_null(elapse__hosts_add(&hosts, "host=a,b port=9"));
    assert_int_equal(hosts.count, 2);
    assert_non_null(strstr(hosts.texts[1], "port='9'"));
    elapse__hosts_free(&hosts);
}

TEST(a_place_has_host_and_port_alone)
{
    char text[64];

    elapse__hosts_place("host=a port=9 password=secret user=u", text, sizeof text);
    assert_string_equal(text, "a, port 9");
    elapse__hosts_place("hostaddr=10.0.0.1 dbname=d", text, sizeof text);
    assert_string_equal(text, "10.0.0.1, port 5432");
}

TEST(quotes_stay_what_they_are)
{
    struct elapse__hosts hosts = {.count = 0};

    assert_null(elapse__hosts_add(&hosts, "host=a password='it\\'s \\\\'"));
    assert_non_null(strstr(hosts.texts[0], "password='it\\'s \\\\'"));
    assert_null(elapse__database_link_refuse_host(hosts.texts[0]));
    elapse__hosts_free(&hosts);
}

TEST(other_strings_are_refused)
{
    struct elapse__hosts hosts = {.count = 0};

    assert_non_null(elapse__hosts_add(&hosts, "nonsense"));
    assert_non_null(elapse__hosts_add(&hosts, "host=a,b,c port=1,2"));
    assert_int_equal(hosts.count, 0);
    assert_non_null(elapse__hosts_add(&hosts, "host=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"));
    assert_null(elapse__hosts_add(&hosts, "host=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"));
    assert_int_equal(hosts.count, ELAPSE__HOSTS_MAX);
    assert_non_null(elapse__hosts_add(&hosts, "host=a"));
    elapse__hosts_free(&hosts);
}

/* A password may be in a string that is not written well. */
TEST(words_have_nothing_of_the_string)
{
    static const char *const strings[] = {
        "host=a password=tell nobody",
        "password='nobody",
        "nobody",
        "postgresql://u:p@nobody@h/d",
        "postgresql://u:%zznobody@h",
        "host=a nobody=1",
        "postgresql://u:nobody/p@h/d",
        "host=a,b@nobody",
        "host=a port=nobody",
    };

    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        struct elapse__hosts hosts = {.count = 0};
        const char *words = elapse__hosts_add(&hosts, strings[i]);
        assert_non_null(words);
        assert_null(strstr(words, "nobody"));
        words = elapse__database_link_refuse_host(strings[i]);
        assert_non_null(words);
        assert_null(strstr(words, "nobody"));
        assert_int_equal(hosts.count, 0);
    }
}

TEST(paths_may_have_any_sign)
{
    struct elapse__hosts hosts = {.count = 0};

    assert_null(elapse__hosts_add(&hosts, "host=/run/a@b,@abstract port=,1"));
    assert_null(elapse__hosts_add(&hosts, "postgresql://u:a%40b%2Fc@h/d"));
    assert_int_equal(hosts.count, 3);
    elapse__hosts_free(&hosts);
}

TEST_MAIN("hosts")
