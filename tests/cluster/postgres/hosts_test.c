/*
 * Connection strings of several hosts become strings of one host each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../src/cluster/postgres/hosts.h"
#include "../../../src/cluster/postgres/link.h"

static void each_host_has_its_string(void **state)
{
    struct elapse__hosts hosts = {.count = 0};

    (void)state;
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

static void one_port_is_that_of_all_hosts(void **state)
{
    struct elapse__hosts hosts = {.count = 0};

    (void)state;
    assert_null(elapse__hosts_add(&hosts, "host=a,b port=9"));
    assert_int_equal(hosts.count, 2);
    assert_non_null(strstr(hosts.texts[1], "port='9'"));
    elapse__hosts_free(&hosts);
}

static void quotes_stay_what_they_are(void **state)
{
    struct elapse__hosts hosts = {.count = 0};

    (void)state;
    assert_null(elapse__hosts_add(&hosts, "host=a password='it\\'s \\\\'"));
    assert_non_null(strstr(hosts.texts[0], "password='it\\'s \\\\'"));
    assert_null(elapse__database_link_refuse_host(hosts.texts[0]));
    elapse__hosts_free(&hosts);
}

static void other_strings_are_refused(void **state)
{
    struct elapse__hosts hosts = {.count = 0};

    (void)state;
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
static void words_have_nothing_of_the_string(void **state)
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

    (void)state;
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

static void paths_may_have_any_sign(void **state)
{
    struct elapse__hosts hosts = {.count = 0};

    (void)state;
    assert_null(elapse__hosts_add(&hosts, "host=/run/a@b,@abstract port=,1"));
    assert_null(elapse__hosts_add(&hosts, "postgresql://u:a%40b%2Fc@h/d"));
    assert_int_equal(hosts.count, 3);
    elapse__hosts_free(&hosts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_host_has_its_string),
        cmocka_unit_test(one_port_is_that_of_all_hosts),
        cmocka_unit_test(quotes_stay_what_they_are),
        cmocka_unit_test(other_strings_are_refused),
        cmocka_unit_test(words_have_nothing_of_the_string),
        cmocka_unit_test(paths_may_have_any_sign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
