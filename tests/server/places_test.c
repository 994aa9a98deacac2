/*
 * Tests how wrong passwords are counted by the address from which they come.
 */
#include <stdio.h>

#include "../../src/os/sockets.h"
#include "../support/test.h"
#include "core/guesses.h"

enum { GUESSERS = ELAPSE__GUESSES_A_SECOND + 1 };

static uint64_t place_of(const char *digits)
{
    struct elapse__os_address addresses[ELAPSE__OS_ADDRESSES_MAX];
    size_t count;

    assert_null(elapse__os_resolve_digits(digits, "80", addresses, &count));
    assert_int_equal(count, 1);
    return elapse__os_address_place(&addresses[0]);
}

/* Whoever has a network of IPv6 has 2^64 addresses. */
TEST(addresses_of_one_network_of_ipv6_guess_together)
{
    struct elapse__guesses guesses = {.total = 0};
    uint64_t place = 0;
    uint32_t count = 0;

    for (unsigned i = 0; i < GUESSERS; i++) {
        char digits[40];
        (void)snprintf(digits, sizeof digits, "2001:db8:0:1:%x::%x", i * 4000, i);
        assert_int_equal(elapse__guesses_note(&guesses, place_of(digits), 5000),
                         i < ELAPSE__GUESSES_A_SECOND ? ELAPSE__GUESS_MS : ELAPSE__GUESS_LONG_MS);
    }
    assert_int_equal(elapse__guesses_note(&guesses, place_of("2001:db8:0:2::1"), 5000),
                     ELAPSE__GUESS_MS);
    for (unsigned sum = 0; sum < GUESSERS + 1; sum += count) {
        assert_true(elapse__guesses_take(&guesses, &place, &count));
        bool is_other = place == place_of("2001:db8:0:2::");
        assert_int_equal(count, is_other ? 1 : GUESSERS);
        assert_string_equal(elapse__os_place_text(place).text,
                            is_other ? "2001:db8:0:2::/64" : "2001:db8:0:1::/64");
    }
    assert_false(elapse__guesses_take(&guesses, &place, &count));
}

TEST(each_address_of_ipv4_guesses_alone)
{
    uint64_t place = place_of("192.0.2.1");

    assert_true(place != place_of("192.0.2.2"));
    assert_string_equal(elapse__os_place_text(place).text, "192.0.2.1");
    /* A listener of IPv6 sees clients of IPv4 under such addresses. */
    assert_true(place == place_of("::ffff:192.0.2.1"));
    assert_true(place != place_of("::ffff:192.0.2.2"));
    assert_true(place != place_of("::1"));
}

/* The number of a place of IPv6 may have any digits, also those that mark an address of IPv4. */
TEST(no_network_of_ipv6_is_taken_for_an_address_of_ipv4)
{
    uint64_t place = place_of("2001:db8:100::1");
    uint64_t other = place_of("0:1:2001:db8::1");

    assert_string_equal(elapse__os_place_text(place).text, "2001:db8:100::/64");
    assert_true(place != place_of("32.1.13.184"));
    assert_true(place != place_of("184.13.1.32"));
    assert_true(other != place);
}

TEST_MAIN("places")
