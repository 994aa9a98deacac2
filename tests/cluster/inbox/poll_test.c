/*
 * Tests the owner's side of the inbox, step by step: when it polls, which rows it runs, and which
 * rows leave with which group. Instead of the queue there is a function that answers as the test
 * says.
 */
/* cmocka wants those before it. */
#include "../../../src/cluster/inbox/inbox.h"
#include "../../support/test.h"

/* The queue's text, for programs that are linked without the queue. */
__attribute__((weak)) const char elapse__queue_upgrade_first[] = "upgrade all nodes first";

static struct {
    struct elapse__inbox *inbox;
    uint64_t now_ms;
    struct elapse__inbox_poll poll;
    struct elapse__inbox_row rows[ELAPSE__INBOX_ROWS_MAX];

    /* The queue: each command gets the next position, unless the answers say otherwise. */
    struct elapse__queue_answer
        answers[3 * ELAPSE__INBOX_ROWS_MAX]; /* by the number of the command */
    bool takes_nothing;                      /* the journal */
    size_t commands;
    uint64_t position;
} at;

static bool run(void *context, const struct elapse__inbox_command *command,
                struct elapse__queue_answer *answer)
{
    assert_ptr_equal(context, &at);
    assert_int_equal(command->what, ELAPSE__INBOX_CANCEL);
    if (at.takes_nothing)
        return false;
    *answer = at.answers[at.commands++];
    if (answer->position == 0)
        answer->position = ++at.position;
    return true;
}

static int set_up(void **state)
{
    (void)state;
    memset(&at, 0, sizeof at);
    at.now_ms = 1000;
    at.inbox = elapse__inbox_new(run, &at);
    assert_non_null(at.inbox);
    elapse__inbox_own(at.inbox, at.now_ms);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(elapse__inbox_check(at.inbox), 0);
    elapse__inbox_free(at.inbox);
    return 0;
}

static struct elapse__queue_text text(const char *bytes)
{
    return (struct elapse__queue_text){.bytes = bytes, .size = strlen(bytes)};
}

/* Expects a poll now, and none before. */
static void ask(void)
{
    assert_int_equal(elapse__inbox_next_ms(at.inbox), at.now_ms);
    assert_false(elapse__inbox_ask(at.inbox, at.now_ms - 1, &at.poll));
    assert_true(elapse__inbox_ask(at.inbox, at.now_ms, &at.poll));
    assert_int_equal(elapse__inbox_next_ms(at.inbox), UINT64_MAX);
    assert_false(elapse__inbox_ask(at.inbox, at.now_ms + 99999, &at.poll));
}

/* Answers with rows from `first` on. */
static void come(int64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        at.rows[i] = (struct elapse__inbox_row){
            .id = first + (int64_t)i, .what = text("cancel"), .tube = text("t"), .key = text("k")};
    elapse__inbox_came(at.inbox, at.now_ms, at.poll.serial, at.rows, count);
}

/* Expects that the rows from `first` on leave with a group that ends at `end`. */
static void attach(uint64_t end, int64_t first, size_t count)
{
    struct elapse__inbox_list list = elapse__inbox_attach(at.inbox, end);
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(list.ids[i], first + (int64_t)i);
}

static void move_all(int64_t first, size_t count)
{
    assert_true(elapse__inbox_holds(at.inbox));
    attach(UINT64_MAX, first, count);
    assert_false(elapse__inbox_holds(at.inbox));
    elapse__inbox_confirmed(at.inbox, at.now_ms);
}

/* Expects that the next poll is due after so long, and lets the time pass. */
static void next_after(uint64_t ms)
{
    at.now_ms += ms;
    assert_int_equal(elapse__inbox_next_ms(at.inbox), at.now_ms);
}

/* Polls when it is due, finds no row, and lets the time pass until the next poll. */
static void find_none(uint64_t pause_ms)
{
    ask();
    come(0, 0);
    next_after(pause_ms);
}

/* Polls when it is due, finds rows, moves them, and lets the time pass until the next poll. */
static void find_some(int64_t first, size_t count, uint64_t pause_ms)
{
    ask();
    come(first, count);
    move_all(first, count);
    next_after(pause_ms);
}

static struct elapse__inbox_figures figures(void)
{
    struct elapse__inbox_figures figures;
    elapse__inbox_figures(at.inbox, &figures);
    return figures;
}

#define INBOX_TEST(function) TEST_WITH(function, set_up, tear_down)

/* ---- when it polls ---- */

INBOX_TEST(test_polls_follow_the_traffic)
{
    ask();
    assert_int_equal(at.poll.rows_max, 500);
    assert_int_equal(at.poll.bytes_max, 1 << 20);
    assert_false(at.poll.relief);
    come(1, 3);
    move_all(1, 3);
    next_after(5);
    find_none(10);
    find_none(10);
    find_some(4, 1, 5);
    assert_int_equal(figures().polls, 4);
    assert_int_equal(figures().moved, 4);
}

INBOX_TEST(test_an_idle_inbox_is_polled_less)
{
    uint64_t began_ms = at.now_ms;
    while (at.now_ms < began_ms + 10000) {
        ask();
        come(0, 0);
        at.now_ms = elapse__inbox_next_ms(at.inbox);
        assert_true(at.now_ms <= began_ms + 10000 + 10);
    }
    find_none(100);
    find_some(1, 1, 5);
    find_none(10);
}

/* ---- what the database tells ---- */

INBOX_TEST(test_an_inbox_is_polled_when_the_database_tells)
{
    ask();
    come(0, 0);
    at.now_ms += 7;
    elapse__inbox_told(at.inbox, at.now_ms);
    find_some(1, 1, 5);
    assert_int_equal(figures().told, 1);
}

INBOX_TEST(test_a_database_that_tells_is_polled_less_and_less)
{
    static const uint64_t pauses[] = {20, 40, 80, 160, 320, 640, 1000, 1000};
    uint64_t began_ms = at.now_ms;
    elapse__inbox_told(at.inbox, at.now_ms);
    while (at.now_ms < began_ms + ELAPSE__INBOX_AWAKE_MS)
        find_none(10);
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++)
        find_none(pauses[i]);
    ask();
    come(0, 0);
    at.now_ms += 400;
    elapse__inbox_told(at.inbox, at.now_ms);
    find_some(1, 1, 5);
    find_none(10);
    find_none(10);
    /* The next owner may have another database, which tells nothing. */
    elapse__inbox_disown(at.inbox);
    elapse__inbox_told(at.inbox, at.now_ms);
    elapse__inbox_own(at.inbox, at.now_ms);
    began_ms = at.now_ms;
    while (at.now_ms < began_ms + ELAPSE__INBOX_AWAKE_MS + 100)
        find_none(10);
}

INBOX_TEST(test_what_is_told_during_a_poll_makes_another_one)
{
    ask();
    elapse__inbox_told(at.inbox, at.now_ms);
    come(0, 0);
    next_after(5);
    ask();
    at.now_ms += 2;
    elapse__inbox_told(at.inbox, at.now_ms);
    come(1, 1);
    move_all(1, 1);
    next_after(8); /* the poll took 2 ms, and polls take at most a fifth of the time */
    find_none(10);
}

INBOX_TEST(test_what_is_told_while_rows_are_held_waits_for_their_group)
{
    ask();
    come(1, 2);
    elapse__inbox_told(at.inbox, at.now_ms);
    at.now_ms += 7;
    assert_false(elapse__inbox_ask(at.inbox, at.now_ms, &at.poll));
    move_all(1, 2);
    ask();
}

INBOX_TEST(test_rows_that_wait_are_not_hurried)
{
    at.answers[0].result = ELAPSE__QUEUE_GROUPS_FULL;
    ask();
    come(1, 1);
    ask(); /* for relief */
    elapse__inbox_told(at.inbox, at.now_ms);
    come(0, 0);
    elapse__inbox_told(at.inbox, at.now_ms);
    next_after(50);
}

INBOX_TEST(test_a_full_poll_is_followed_at_once)
{
    ask();
    at.now_ms += 30; /* also by a slow database: there is more */
    come(1, ELAPSE__INBOX_ROWS_MAX);
    move_all(1, ELAPSE__INBOX_ROWS_MAX);
    ask();
    static char body[ELAPSE__INBOX_BYTES_MAX];
    at.rows[0] = (struct elapse__inbox_row){
        .id = 1000, .what = text("cancel"), .body = {.bytes = body, .size = sizeof body}};
    elapse__inbox_came(at.inbox, at.now_ms, at.poll.serial, at.rows, 1);
    move_all(1000, 1);
    ask();
    come(1001, ELAPSE__INBOX_ROWS_MAX - 1);
    move_all(1001, ELAPSE__INBOX_ROWS_MAX - 1);
    next_after(5);
}

INBOX_TEST(test_a_slow_database_is_asked_less)
{
    ask();
    at.now_ms += 10;
    come(0, 0);
    next_after(40);
    ask();
    at.now_ms += 60000;
    come(0, 0);
    next_after(1000);
}

INBOX_TEST(test_a_poll_that_fails_is_tried_again)
{
    static const uint64_t pauses[] = {50, 100, 200, 400, 800, 1000, 1000};
    for (size_t i = 0; i < sizeof pauses / sizeof *pauses; i++) {
        ask();
        elapse__inbox_failed(at.inbox, at.now_ms, at.poll.serial);
        assert_int_equal(figures().waits, ELAPSE__INBOX_WAITS_POLL);
        next_after(pauses[i]);
    }
    ask();
    come(0, 0);
    assert_int_equal(figures().waits, ELAPSE__INBOX_WAITS_NOT);
    next_after(10);
    ask();
    elapse__inbox_failed(at.inbox, at.now_ms, at.poll.serial);
    next_after(50);
}

/* I2 */
INBOX_TEST(test_no_poll_while_rows_are_held)
{
    ask();
    come(1, 2);
    assert_int_equal(elapse__inbox_next_ms(at.inbox), UINT64_MAX);
    assert_false(elapse__inbox_ask(at.inbox, at.now_ms + 5000, &at.poll));
    attach(UINT64_MAX, 1, 2);
    assert_false(elapse__inbox_ask(at.inbox, at.now_ms + 5000, &at.poll));
    at.now_ms += 3000;
    elapse__inbox_confirmed(at.inbox, at.now_ms);
    ask();
}

/* ---- owners ---- */

/* I1 */
INBOX_TEST(test_rows_of_an_earlier_time_are_ignored)
{
    ask();
    elapse__inbox_disown(at.inbox);
    come(1, 2);
    assert_int_equal(at.commands, 0);
    elapse__inbox_own(at.inbox, at.now_ms);
    come(1, 2);
    assert_int_equal(at.commands, 0);
    uint64_t old = at.poll.serial;
    ask();
    elapse__inbox_came(at.inbox, at.now_ms, old, at.rows, 2);
    elapse__inbox_failed(at.inbox, at.now_ms, old);
    assert_int_equal(at.commands, 0);
    come(1, 2);
    assert_int_equal(at.commands, 2);
}

INBOX_TEST(test_rows_that_were_not_moved_are_forgotten)
{
    ask();
    come(1, 3);
    attach(1, 1, 1);
    elapse__inbox_disown(at.inbox);
    assert_false(elapse__inbox_holds(at.inbox));
    assert_int_equal(elapse__inbox_next_ms(at.inbox), UINT64_MAX);
    attach(UINT64_MAX, 0, 0);
    elapse__inbox_own(at.inbox, at.now_ms);
    ask();
    come(1, 3);
    move_all(1, 3);
    assert_int_equal(figures().moved, 3);
}

/* ---- groups ---- */

/* I4 */
INBOX_TEST(test_each_row_goes_with_the_group_that_has_its_command)
{
    at.position = 100;
    ask();
    come(1, 4); /* positions 101 to 104 */
    attach(100, 0, 0);
    elapse__inbox_confirmed(at.inbox, at.now_ms);
    attach(102, 1, 2);
    assert_true(elapse__inbox_holds(at.inbox));
    elapse__inbox_confirmed(at.inbox, at.now_ms);
    attach(103, 3, 1);
    elapse__inbox_confirmed(at.inbox, at.now_ms);
    assert_true(elapse__inbox_holds(at.inbox));
    attach(104, 4, 1);
    assert_false(elapse__inbox_holds(at.inbox));
    elapse__inbox_confirmed(at.inbox, at.now_ms);
    assert_int_equal(figures().moved, 4);
}

/* A command that wrote nothing has the gate of those before it. */
INBOX_TEST(test_a_row_without_a_record_goes_with_any_group)
{
    at.answers[0] = (struct elapse__queue_answer){.result = ELAPSE__QUEUE_GONE, .position = 7};
    at.answers[1] = (struct elapse__queue_answer){.result = ELAPSE__QUEUE_REMOVED, .position = 9};
    at.answers[2] = (struct elapse__queue_answer){.result = ELAPSE__QUEUE_GONE, .position = 9};
    ask();
    come(1, 3);
    attach(8, 1, 1);
    elapse__inbox_confirmed(at.inbox, at.now_ms);
    attach(9, 2, 2);
    elapse__inbox_confirmed(at.inbox, at.now_ms);
    next_after(5);
}

/* ---- rows that are refused, or wait ---- */

/* I6 */
INBOX_TEST(test_a_refused_row_leaves_with_its_reason)
{
    at.answers[1] = (struct elapse__queue_answer){.result = ELAPSE__QUEUE_KEY_TAKEN, .id = 42};
    at.answers[3] = (struct elapse__queue_answer){.result = ELAPSE__QUEUE_ARGUMENT,
                                                  .fault = "the body is too long"};
    ask();
    come(1, 5);
    struct elapse__inbox_list list = elapse__inbox_attach(at.inbox, UINT64_MAX);
    assert_int_equal(list.count, 5);
    assert_null(list.reasons[0]);
    assert_string_equal(list.reasons[1], "BUSYKEY 42 has this key");
    assert_null(list.reasons[2]);
    assert_string_equal(list.reasons[3], "ERR the body is too long");
    assert_null(list.reasons[4]);
    elapse__inbox_confirmed(at.inbox, at.now_ms);
    assert_int_equal(figures().refused, 2);
    assert_int_equal(figures().moved, 5);
}

INBOX_TEST(test_a_row_that_cannot_be_read_is_refused_unrun)
{
    ask();
    for (size_t i = 0; i < 2; i++)
        at.rows[i] = (struct elapse__inbox_row){.id = (int64_t)i + 1, .what = text("cancel")};
    at.rows[0].what = text("shout");
    elapse__inbox_came(at.inbox, at.now_ms, at.poll.serial, at.rows, 2);
    assert_int_equal(at.commands, 1);
    struct elapse__inbox_list list = elapse__inbox_attach(at.inbox, UINT64_MAX);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.reasons[0], "ERR this version knows no such call");
    assert_null(list.reasons[1]);
    elapse__inbox_confirmed(at.inbox, at.now_ms);
}

INBOX_TEST(test_any_reason_fits)
{
    char fault[300];
    memset(fault, 'x', sizeof fault);
    fault[sizeof fault - 1] = '\0';
    at.answers[0] = (struct elapse__queue_answer){.result = ELAPSE__QUEUE_ARGUMENT, .fault = fault};
    ask();
    come(1, 1);
    struct elapse__inbox_list list = elapse__inbox_attach(at.inbox, UINT64_MAX);
    assert_int_equal(strlen(list.reasons[0]), ELAPSE__INBOX_REASON_BYTES - 1);
    elapse__inbox_confirmed(at.inbox, at.now_ms);
}

/* I5 */
static void check_waits(enum elapse__queue_result result, enum elapse__inbox_wait waits)
{
    at.commands = 0;
    at.answers[1] = (struct elapse__queue_answer){.result = result};
    ask();
    come(1, 3);
    assert_int_equal(at.commands, 2);
    assert_int_equal(figures().waits, waits);
    assert_int_equal(figures().waits_for, 2);
    move_all(1, 1);
    ask(); /* at once: what relieves the queue */
    assert_true(at.poll.relief);
    at.commands = 2;
    come(3, 1);
    move_all(3, 1);
    next_after(50);
    ask();
    assert_false(at.poll.relief);
    at.commands = 1;
    come(2, 1);
    assert_int_equal(figures().waits, waits);
    assert_false(elapse__inbox_holds(at.inbox));
    ask();
    assert_true(at.poll.relief);
    come(0, 0);
    next_after(100);
    ask();
    assert_false(at.poll.relief);
    at.commands = 2;
    come(2, 1);
    assert_int_equal(figures().waits, ELAPSE__INBOX_WAITS_NOT);
    move_all(2, 1);
    next_after(5);
}

INBOX_TEST(test_a_row_that_cannot_run_now_is_waited_for)
{
    check_waits(ELAPSE__QUEUE_LIMIT, ELAPSE__INBOX_WAITS_LIMIT);
    check_waits(ELAPSE__QUEUE_TOKENS_FULL, ELAPSE__INBOX_WAITS_LIMIT);
    check_waits(ELAPSE__QUEUE_REFUSED, ELAPSE__INBOX_WAITS_DISK);
    check_waits(ELAPSE__QUEUE_NO_MEMORY, ELAPSE__INBOX_WAITS_MEMORY);
}

INBOX_TEST(test_a_busy_journal_is_waited_for)
{
    at.takes_nothing = true;
    ask();
    come(1, 3);
    assert_false(elapse__inbox_holds(at.inbox));
    assert_int_equal(figures().waits, ELAPSE__INBOX_WAITS_JOURNAL);
    next_after(5);
    at.takes_nothing = false;
    ask();
    assert_false(at.poll.relief);
    come(1, 3);
    move_all(1, 3);
    assert_int_equal(figures().waits, ELAPSE__INBOX_WAITS_NOT);
}

INBOX_TEST(test_a_row_that_needs_the_new_level_waits_for_the_restart_of_the_node)
{
    at.answers[1] = (struct elapse__queue_answer){.result = ELAPSE__QUEUE_ARGUMENT,
                                                  .fault = elapse__queue_upgrade_first};
    ask();
    come(1, 3);
    assert_int_equal(at.commands, 2);
    assert_int_equal(figures().waits, ELAPSE__INBOX_WAITS_UPGRADE);
    assert_int_equal(figures().refused, 0);
    move_all(1, 1);
    next_after(50);
    ask();
    assert_false(at.poll.relief);
    at.commands = 2; /* as the node that started anew takes it */
    come(2, 2);
    move_all(2, 2);
    assert_int_equal(figures().waits, ELAPSE__INBOX_WAITS_NOT);
}

INBOX_TEST(test_rows_out_of_order_are_not_run)
{
    ask();
    for (size_t i = 0; i < 3; i++)
        at.rows[i] = (struct elapse__inbox_row){.id = 5, .what = text("cancel")};
    elapse__inbox_came(at.inbox, at.now_ms, at.poll.serial, at.rows, 3);
    assert_int_equal(at.commands, 1);
    assert_int_equal(figures().waits, ELAPSE__INBOX_WAITS_POLL);
    move_all(5, 1);
    next_after(50);
}

TEST_MAIN("poll")
