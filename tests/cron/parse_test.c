/*
 * Which texts are accepted as expressions, and which fault is reported where for the others.
 */
#include <elapse/cron.h>

#include "../support/test.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static struct elapse_cron parsed(const char *expression)
{
    struct elapse_cron cron;
    struct elapse_cron_fault fault;

    if (elapse_cron_parse(&cron, expression, &fault) != ELAPSE_OK)
        fail_msg("%s: at %zu: %s", expression, fault.position, fault.text);
    return cron;
}

static void assert_same(const char *left, const char *right)
{
    struct elapse_cron crons[] = {parsed(left), parsed(right)};

    if (memcmp(&crons[0], &crons[1], sizeof crons[0]) != 0)
        fail_msg("%s is not %s", left, right);
}

/* The fault is at the character marked by ^ in the line below the expression. */
static void assert_fault(const char *expression, const char *mark, const char *text)
{
    struct elapse_cron cron;
    struct elapse_cron_fault fault = {.position = SIZE_MAX, .text = NULL};

    memset(&cron, 0x5a, sizeof cron);
    struct elapse_cron before = cron;
    if (elapse_cron_parse(&cron, expression, &fault) != ELAPSE_ERROR_ARGUMENT)
        fail_msg("%s: taken for an expression", expression);
    if (fault.position != strcspn(mark, "^") || strcmp(fault.text, text) != 0)
        fail_msg("%s\n%*s^ %s", expression, (int)fault.position, "", fault.text);
    assert_memory_equal(&cron, &before, sizeof cron);
    assert_int_equal(elapse_cron_parse(&cron, expression, NULL), ELAPSE_ERROR_ARGUMENT);
}

struct wrong {
    const char *expression;
    const char *mark;
    const char *text;
};

static void assert_faults(const struct wrong *wrongs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_fault(wrongs[i].expression, wrongs[i].mark, wrongs[i].text);
}

TEST(same_meaning_in_other_words)
{
    static const char *const pairs[][2] = {
        {"@yearly", "0 0 1 1 *"},
        {"@annually", "0 0 1 1 *"},
        {"@monthly", "0 0 1 * *"},
        {"@weekly", "0 0 * * 0"},
        {"@daily", "0 0 * * *"},
        {"@midnight", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
        {" \t@Daily\t ", "@daily"},
        {"* * * * *", "0 * * * * *"},
        {"  1\t2 3   4 * ", "1 2 3 4 *"},
        {"05 007 01 1 *", "5 7 1 1 *"},
        {"0 0 * JAN,mar-May *", "0 0 * 1,3,4,5 *"},
        {"0 0 * jun,jul,aug,sep,oct,nov,dec,feb,apr *", "0 0 * 2,4,6-12 *"},
        {"0 0 * * sun,MON,Tue,wEd,thU", "0 0 * * 0-4"},
        {"0 0 * * mon-fri", "0 0 * * 1-5"},
        {"0 0 * * 7", "0 0 * * 0"},
        {"0 0 * * 5-7", "0 0 * * 5,6,0"},
        {"0 0 * * fri-sun", "0 0 * * 0,5,6"},
        {"0 0 * * sun-sun", "0 0 * * 0"},
        {"0 0 * * mon-sun", "0 0 * * 0-6"},
        {"0 0 * * sun-7", "0 0 * * 0-6"},
        {"0 0 * * 1-7/3", "0 0 * * 1,4,7"},
        {"*/20 * * * *", "0,20,40 * * * *"},
        {"10/25 * * * *", "10,35 * * * *"},
        {"10-40/15 * * * *", "10,25,40 * * * *"},
        {"10-40/60 * * * *", "10 * * * *"},
        {"*/60 */24 * */12 *", "0 */24 * 1 *"},
        {"0 22-2 * * *", "0 22,23,0,1,2 * * *"},
        {"50-10/7 0 * * *", "50,57,4 0 * * *"},
        {"0 0 28-3 * *", "0 0 28,29,30,31,1,2,3 * *"},
        {"0 0 29-4/2 * *", "0 0 29,31,2,4 * *"},
        {"0 0 * nov-feb *", "0 0 * 11,12,1,2 *"},
        {"0 0 * 11-3/2 *", "0 0 * 11,1,3 *"},
        {"0 0 * * fri-mon", "0 0 * * 5,6,0,1"},
        {"0 0 * * 6-0", "0 0 * * 6,0"},
        {"0 0 * * sat-fri", "0 0 * * 0-6"},
        {"0 0 * * 7-6", "0 0 * * 0-6"},
        {"0 0 * * 7-2", "0 0 * * 0-2"},
        {"0 0 * * 5-1/2", "0 0 * * 5,0"},
        {"20-10 0 * * *", "20-59,0-10 0 * * *"},
        {"0 23-22 * * *", "0 0-23 * * *"},
        {"@every 5m", "@EVERY 300s"},
        {" @every\t1w2d3h4m5s ", "@every 788645s"},
        {"@every 90m", "@every 1h30m"},
        {"0 0 5/10 * *", "0 0 5,15,25 * *"},
        {"0 0 * * 1/2", "0 0 * * 1,3,5"},
        {"0 0 * * 7/2", "0 0 * * 0"},
        {"0 0 * * tue/2", "0 0 * * 2,4,6"},
        {"0 0 ? * ?", "0 0 * * *"},
        {"0 0 ?/2 * 1", "0 0 */2 * 1"},
        {"0 0 l,l-3,15w,lw * 5l,5#2,7#1,0l", "0 0 L,L-3,15W,LW * FRIL,fri#2,sun#1,7L"},
    };

    for (size_t i = 0; i < LENGTH(pairs); i++)
        assert_same(pairs[i][0], pairs[i][1]);
}

TEST(a_day_field_that_begins_with_a_star_does_not_restrict)
{
    assert_false(parsed("0 0 * * *").days_restricted);
    assert_false(parsed("0 0 */2 * *").days_restricted);
    assert_false(parsed("0 0 ?,5 * *").days_restricted);
    assert_true(parsed("0 0 5,* * *").days_restricted);
    assert_true(parsed("0 0 1-31 * *").days_restricted);
    assert_true(parsed("0 0 L * *").days_restricted);
    assert_false(parsed("0 0 * * */2").weekdays_restricted);
    assert_true(parsed("0 0 * * 5#2").weekdays_restricted);
}

static const char second_text[] = "a second is a number from 0 to 59";
static const char minute_text[] = "a minute is a number from 0 to 59";
static const char hour_text[] = "an hour is a number from 0 to 23";
static const char day_text[] = "a day of the month is a number from 1 to 31";
static const char month_text[] = "a month is a number from 1 to 12 or a name from JAN to DEC";
static const char weekday_text[] =
    "a day of the week is a number from 0 to 7 or a name from SUN to SAT";
static const char every_text[] = "@every is followed by a duration, as in 1h30m: w d h m s";
static const char number_text[] = "# is followed by a number from 1 to 5";
static const char before_text[] = "L- is followed by a number from 1 to 30";
static const char junk_text[] = "this should be a comma or the end of the field";
static const char missing_text[] = "something is missing here";
static const char step_text[] = "a step is a number, at most the number of values in the field";
static const char last_day_text[] = "L begins an item here: L, L-3 or LW";
static const char last_weekday_text[] = "L follows one day of the week, as in 5L";
static const char last_text[] = "L is allowed only in the fields for days";
static const char nearest_text[] = "W follows one day of the month or L, as in 15W or LW";
static const char nearest_elsewhere_text[] = "W is allowed only in the field for days of the month";
static const char numbered_text[] = "# follows one day of the week, as in 5#2";
static const char numbered_elsewhere_text[] = "# is allowed only in the field for days of the week";

TEST(out_of_range)
{
    static const struct wrong wrongs[] = {
        {"60 * * * * *", "^", second_text},
        {"60 * * * *", "^", minute_text},
        {"0,59,60 * * * *", "     ^", minute_text},
        {"0 60 * * * *", "  ^", minute_text},
        {"* 24 * * *", "  ^", hour_text},
        {"* 0-24 * * *", "    ^", hour_text},
        {"* * 0 * *", "    ^", day_text},
        {"* * 32 * *", "    ^", day_text},
        {"* * 32W * *", "    ^", day_text},
        {"* * 0W * *", "    ^", day_text},
        {"* * L-31 * *", "      ^", before_text},
        {"* * L-0 * *", "      ^", before_text},
        {"* * * 0 *", "      ^", month_text},
        {"* * * 13 *", "      ^", month_text},
        {"* * * * 8", "        ^", weekday_text},
        {"* * * * 1-8", "          ^", weekday_text},
        {"* * * * 8L", "        ^", weekday_text},
        {"* * * * 5#0", "          ^", number_text},
        {"* * * * 5#6", "          ^", number_text},
        {"99999999999999999999999999999999 * * * *", "^", minute_text},
        {"4294967296 * * * *", "^", minute_text},
        {"18446744073709551616 * * * *", "^", minute_text},
        {"-1 * * * *", "^", minute_text},
        {"+1 * * * *", "^", minute_text},
    };

    assert_faults(wrongs, LENGTH(wrongs));
}

TEST(steps_and_ranges)
{
    static const struct wrong wrongs[] = {
        {"*/0 * * * *", "  ^", "a step is at least 1"},
        {"5-9/00 * * * *", "    ^", "a step is at least 1"},
        {"*/61 * * * *", "  ^", step_text},
        {"* */25 * * *", "    ^", step_text},
        {"* * */32 * *", "      ^", step_text},
        {"* * * */13 *", "        ^", step_text},
        {"* * * * */8", "          ^", step_text},
        {"*/18446744073709551617 * * * *", "  ^", step_text},
        {"*/ * * * *", "  ^", step_text},
        {"*/x * * * *", "  ^", step_text},
        {"*/-2 * * * *", "  ^", step_text},
        {"*/2/3 * * * *", "   ^", junk_text},
        {"1- * * * *", "  ^", missing_text},
        {"1-,5 * * * *", "  ^", missing_text},
        {"1-* * * * *", "  ^", minute_text},
        {"1-2-3 * * * *", "   ^", junk_text},
        {"*-5 * * * *", " ^", junk_text},
    };

    assert_faults(wrongs, LENGTH(wrongs));
}

TEST(names)
{
    static const struct wrong wrongs[] = {
        {"* * * foo *", "      ^", "there is no such name"},
        {"* * * january *", "      ^", "there is no such name"},
        {"* * * ja *", "      ^", "there is no such name"},
        {"* * * mon *", "      ^", "there is no such name"},
        {"* * * zoo *", "      ^", "there is no such name"},
        {"* * * lx *", "      ^", "there is no such name"},
        {"* * * l,x *", "      ^", last_text},
        {"* * * fan *", "      ^", "there is no such name"},
        {"* * * jaz *", "      ^", "there is no such name"},
        {"* * * janz *", "      ^", "there is no such name"},
        {"* * * * xri", "        ^", "there is no such name"},
        {"* * * * friday", "        ^", "there is no such name"},
        {"* * * * jan", "        ^", "there is no such name"},
        {"* * * * frix", "        ^", "there is no such name"},
        {"* * * * frill", "        ^", "there is no such name"},
        {"* * * * mon-fryday", "            ^", "there is no such name"},
        {"* * * janl *", "         ^", last_text},
        {"mon * * * *", "^", minute_text},
        {"x * * * *", "^", minute_text},
        {"* * mon * *", "    ^", day_text},
        {"@reboot", "^", "there is no such name"},
        {"@", "^", "there is no such name"},
        {" @dailyx", " ^", "there is no such name"},
        {"@dail", "^", "there is no such name"},
        {"@xaily", "^", "there is no such name"},
        {"@every", "      ^", every_text},
        {"@every 5", "        ^", every_text},
        {"@every m", "       ^", every_text},
        {"@every -5m", "       ^", every_text},
        {"@every 1.5h", "        ^", every_text},
        {"@every 5m1h", "          ^", every_text},
        {"@every 5m5m", "          ^", every_text},
        {"@every 5ms", "         ^", "nothing may follow here"},
        {"@every 0s", "       ^", "the duration is zero"},
        {"@every 0h0m", "       ^", "the duration is zero"},
        {"@every 999999999w", "       ^", "the duration is longer than 500 years"},
        {"@every 99999999999999999999s", "       ^", "the duration is longer than 500 years"},
        {"@every 5m *", "          ^", "nothing may follow here"},
        {"@everyx 5m", "^", "there is no such name"},
        {"@daily *", "       ^", "nothing may follow here"},
    };

    assert_faults(wrongs, LENGTH(wrongs));
}

TEST(empty_items_and_junk)
{
    static const struct wrong wrongs[] = {
        {"1,,2 * * * *", "  ^", missing_text},  {",1 * * * *", "^", missing_text},
        {"1, * * * *", "  ^", missing_text},    {"* * * * 1,", "          ^", missing_text},
        {"5* * * * *", " ^", junk_text},        {"** * * * *", " ^", junk_text},
        {"5x * * * *", " ^", junk_text},        {"5;6 * * * *", " ^", junk_text},
        {"5.0 * * * *", " ^", junk_text},       {"* * * * 5\n", "         ^", junk_text},
        {"\xc3\xa4 * * * *", "^", minute_text}, {"5\xc3\xa4 * * * *", " ^", junk_text},
    };

    assert_faults(wrongs, LENGTH(wrongs));
}

TEST(too_few_and_too_many_fields)
{
    static const struct wrong wrongs[] = {
        {"", "^", "the expression is empty"},
        {" \t ", "   ^", "the expression is empty"},
        {"*", " ^", "there are fewer than five fields"},
        {"* * * * ", "       ^", "there are fewer than five fields"},
        {"* * * * * * *", "            ^", "there are more than six fields"},
        {"0 0 12 * * ? 2026", "             ^", "there are more than six fields"},
    };

    assert_faults(wrongs, LENGTH(wrongs));
}

TEST(days_that_depend_on_the_month_in_the_wrong_place)
{
    static const struct wrong wrongs[] = {
        {"L * * * *", "^", last_text},
        {"5L * * * *", " ^", last_text},
        {"* L * * *", "  ^", last_text},
        {"* * * L *", "      ^", last_text},
        {"* * * * L", "        ^", last_weekday_text},
        {"* * * * 1-5L", "           ^", last_weekday_text},
        {"* * * * *L", "         ^", last_weekday_text},
        {"* * * * 5LL", "          ^", last_weekday_text},
        {"* * 15L * *", "      ^", last_day_text},
        {"* * 1-L * *", "      ^", last_day_text},
        {"* * L-3-4 * *", "       ^", junk_text},
        {"* * L/2 * *", "     ^", junk_text},
        {"* * L-x * *", "      ^", before_text},
        {"* * W * *", "    ^", nearest_text},
        {"* * 1-5W * *", "       ^", nearest_text},
        {"* * *W * *", "     ^", nearest_text},
        {"* * L-3W * *", "       ^", nearest_text},
        {"* * 15W-20 * *", "       ^", junk_text},
        {"* * 15W/2 * *", "       ^", junk_text},
        {"* * 15WW * *", "       ^", nearest_text},
        {"* * * * 5W", "         ^", nearest_elsewhere_text},
        {"* * * * W", "        ^", nearest_elsewhere_text},
        {"5W * * * *", " ^", nearest_elsewhere_text},
        {"* * * * 5#", "          ^", number_text},
        {"* * * * 1-5#2", "           ^", numbered_text},
        {"* * * * #2", "        ^", numbered_text},
        {"* * * * 5#2#3", "           ^", numbered_text},
        {"* * * * 5#2-4", "           ^", junk_text},
        {"* * 5#2 * *", "     ^", numbered_elsewhere_text},
        {"5#2 * * * *", " ^", numbered_elsewhere_text},
        {"? * * * *", "^", "? is allowed only in the fields for days"},
        {"* * * ? *", "      ^", "? is allowed only in the fields for days"},
        {"5? * * * *", " ^", "? is allowed only in the fields for days"},
        {"* * 5? * *", "     ^", junk_text},
    };

    assert_faults(wrongs, LENGTH(wrongs));
}

TEST(days_that_never_come)
{
    static const struct wrong wrongs[] = {
        {"0 0 30 2 *", "    ^", "this day never comes"},
        {"0 0 0 31 2,4,6,9,11 *", "      ^", "this day never comes"},
        {"0 0 31W 2,4 *", "    ^", "this day never comes"},
        {"0 0 L-29 feb *", "    ^", "this day never comes"},
        {"0 0 */29 2 1#5", "    ^", "this day never comes"},
    };

    assert_faults(wrongs, LENGTH(wrongs));
    parsed("0 0 29 2 *");
    parsed("0 0 29 2 1");
    parsed("0 0 30 2 1");
    parsed("0 0 * 2 1#5");
    parsed("0 0 L-28 2 *");
    parsed("0 0 L-30 * *");
    parsed("0 0 */28 2 1#5");
}

/* 29 February is each day of the week in some year. The 22nd can be the last of its kind in
 * February, but not in leap years. */
TEST(days_that_come_in_few_years)
{
    char text[] = "0 0 */28 2 0#5";

    for (int weekday = 0; weekday <= 7; weekday++) {
        text[sizeof text - 4] = (char)('0' + weekday);
        parsed(text);
    }
    parsed("0 0 */21 2 5L");
    parsed("0 0 */28 2 5L");
}

TEST(too_long)
{
    char text[ELAPSE_CRON_LENGTH_MAX + 2];
    char mark[sizeof text];
    struct elapse_cron cron;

    memset(text, ' ', sizeof text);
    memcpy(text, "* * * * *", 9);
    text[ELAPSE_CRON_LENGTH_MAX] = '\0';
    assert_int_equal(elapse_cron_parse(&cron, text, NULL), ELAPSE_OK);
    text[ELAPSE_CRON_LENGTH_MAX] = ' ';
    text[ELAPSE_CRON_LENGTH_MAX + 1] = '\0';
    memset(mark, ' ', sizeof mark);
    mark[ELAPSE_CRON_LENGTH_MAX] = '^';
    mark[ELAPSE_CRON_LENGTH_MAX + 1] = '\0';
    assert_fault(text, mark, "the expression is too long");
}

/* It lists every value of every field. */
TEST(the_longest_sensible_expression_is_not_too_long)
{
    static const unsigned ranges[6][2] = {{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}};
    char text[ELAPSE_CRON_LENGTH_MAX + 1];
    size_t length = 0;

    for (size_t field = 0; field < 6; field++) {
        for (unsigned value = ranges[field][0]; value <= ranges[field][1]; value++)
            length += (size_t)snprintf(text + length, sizeof text - length, "%02u%c", value,
                                       value == ranges[field][1] ? ' ' : ',');
    }
    assert_same(text, "* * 0-23 1-31 * 0-6");
}

TEST(no_expression)
{
    assert_fault(NULL, "^", "there is no expression");
}

TEST_MAIN("parse")
