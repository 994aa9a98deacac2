/*
 * The Gregorian calendar, compared with one that is counted day by day, by the rules that
 * are taught in school.
 */
#include "../support/test.h"
#include "gregorian.h"

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned length_of(int64_t year, unsigned month)
{
    switch (month) {
    case 2:
        return is_leap(year) ? 29 : 28;
    case 4:
    case 6:
    case 9:
    case 11:
        return 30;
    default:
        return 31;
    }
}

TEST(each_day_of_the_years_minus_900_to_10100)
{
    struct elapse__date date = {.year = -900, .month = 1, .day = 1};
    int64_t days = elapse__days_of_date(date);
    unsigned weekday = elapse__weekday_of_days(days);

    while (date.year <= 10100) {
        struct elapse__date found = elapse__date_of_days(days);

        assert_int_equal(elapse__days_of_date(date), days);
        assert_int_equal(found.year, date.year);
        assert_int_equal(found.month, date.month);
        assert_int_equal(found.day, date.day);
        assert_int_equal(elapse__weekday_of_days(days), weekday);
        assert_int_equal(elapse__month_length(date.year, date.month),
                         length_of(date.year, date.month));
        days++;
        weekday = (weekday + 1) % 7;
        if (++date.day > length_of(date.year, date.month)) {
            date.day = 1;
            date.month = date.month % 12 + 1;
            date.year += date.month == 1;
        }
    }
}

TEST(days_that_are_known)
{
    static const struct {
        struct elapse__date date;
        int64_t days;
        unsigned weekday;
    } known[] = {
        {{1970, 1, 1}, 0, 4},      {{1969, 12, 31}, -1, 3},  {{2000, 2, 29}, 11016, 2},
        {{1900, 3, 1}, -25508, 4}, {{1, 1, 1}, -719162, 1},  {{9999, 12, 31}, 2932896, 5},
        {{0, 3, 1}, -719468, 3},   {{0, 2, 29}, -719469, 2}, {{2026, 3, 1}, 20513, 0},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_int_equal(elapse__days_of_date(known[i].date), known[i].days);
        assert_int_equal(elapse__weekday_of_days(known[i].days), known[i].weekday);
    }
}

TEST(division_rounds_down)
{
    assert_int_equal(elapse__divide_down(7, 7), 1);
    assert_int_equal(elapse__divide_down(6, 7), 0);
    assert_int_equal(elapse__divide_down(0, 7), 0);
    assert_int_equal(elapse__divide_down(-1, 7), -1);
    assert_int_equal(elapse__divide_down(-7, 7), -1);
    assert_int_equal(elapse__divide_down(-8, 7), -2);
}

TEST_MAIN("gregorian")
