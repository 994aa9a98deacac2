/*
 * Decimal numbers: each length of digits, its least and its greatest number, and what is none.
 */
#include <inttypes.h>

#include "../support/test.h"
#include "decimal.h"

/* Writes a number, compares it with what printf writes, and reads it back. */
static void check_number(uint64_t number)
{
    char expected[ELAPSE__DECIMAL_BYTES + 1];
    char written[ELAPSE__DECIMAL_BYTES + 1];
    uint64_t read = ~number;
    size_t size = (size_t)snprintf(expected, sizeof expected, "%" PRIu64, number);

    memset(written, '#', sizeof written);
    assert_int_equal(elapse__decimal_write(written, number), size);
    assert_memory_equal(written, expected, size);
    assert_int_equal(written[size], '#');
    assert_true(elapse__decimal_read(written, size, number, &read));
    assert_true(read == number);
    if (number == 0)
        return;
    read = 7;
    assert_false(elapse__decimal_read(written, size, number - 1, &read));
    assert_int_equal(read, 7);
}

TEST(each_length_is_written_and_read)
{
    for (uint64_t number = 0; number <= 10100; number++)
        check_number(number);
    uint64_t power = 1;
    for (unsigned digits = 1; digits <= ELAPSE__DECIMAL_BYTES; digits++) {
        check_number(power - 1);
        check_number(power);
        check_number(power + 1);
        if (digits < ELAPSE__DECIMAL_BYTES)
            power *= 10;
    }
    check_number(UINT64_C(1234567890123456789));
    check_number(UINT64_MAX - 1);
    check_number(UINT64_MAX);
}

TEST(what_is_no_number_is_refused)
{
    static const char *const wrong[] = {
        "",
        "-1",
        "+1",
        " 1",
        "1 ",
        "1.0",
        "0x1",
        ":",
        "/",
        "1a",
        "18446744073709551616",
        "18446744073709551620",
        "99999999999999999999",
        "100000000000000000000",
        "184467440737095516150",
    };
    uint64_t number = 7;

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (elapse__decimal_read(wrong[i], strlen(wrong[i]), UINT64_MAX, &number))
            fail_msg("'%s' was read", wrong[i]);
    assert_int_equal(number, 7);
    assert_true(elapse__decimal_read("000000000000000000000000042", 27, UINT64_MAX, &number));
    assert_int_equal(number, 42);
}

TEST_MAIN("decimal")
