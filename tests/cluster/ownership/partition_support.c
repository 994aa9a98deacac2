/*
 * Drives one partition, statement by statement.
 */
#include "partition_support.h"

struct partition_at at;

static void on_apply(void *context, const struct elapse__partition_log_row *row, uint64_t hash)
{
    (void)context, (void)row, (void)hash;
    at.applied++;
}

static void on_rebuild(void *context, uint64_t tail)
{
    (void)context, (void)tail;
    at.rebuilt++;
}

static void on_own(void *context, uint64_t epoch)
{
    (void)context;
    at.owned_epoch = epoch;
}

static void on_confirmed(void *context, uint64_t group)
{
    (void)context;
    assert_int_equal(group, at.confirmed + 1);
    at.confirmed++;
}

static void on_fenced(void *context, const struct elapse__partition_group *group)
{
    (void)context, (void)group;
    at.fenced++;
}

static void on_stopped(void *context, enum elapse__partition_stop stop)
{
    (void)context;
    at.stop = stop;
}

struct elapse__partition_options options_of(void)
{
    return (struct elapse__partition_options){
        .owner = {NULL, on_apply, on_rebuild, on_own, on_confirmed, on_fenced, on_stopped},
        .me = "me",
        .hosts = 2,
        .lease_ms = LEASE_MS,
        .genesis = 99,
    };
}

void begin_with(const struct elapse__partition_options *options)
{
    memset(&at, 0, sizeof at);
    at.now_ms = 5000;
    at.timeline = 3;
    at.settings = (struct elapse__partition_settings){"s1", "on", 1, 0, 0};
    at.row = (struct elapse__partition_row){.last_hash = 99,
                                            .tail = 1,
                                            .lease_ms = LEASE_MS,
                                            .owner = "other",
                                            .address = "there",
                                            .stopped = ""};
    at.partition = elapse__partition_new(options, at.now_ms);
    assert_non_null(at.partition);
}

void begin_with_five_groups(void)
{
    struct elapse__partition_options options = options_of();
    options.confirmed = options.local = (struct elapse__partition_log_place){5, 55};
    options.memory.seen_epoch = 2;
    elapse__partition_free(at.partition);
    begin_with(&options);
}

int set_up(void **state)
{
    (void)state;
    struct elapse__partition_options options = options_of();
    begin_with(&options);
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    elapse__partition_free(at.partition);
    return 0;
}

/* The next statement is of this kind. */
void expect(enum elapse__statement_kind kind)
{
    assert_true(elapse__partition_next(at.partition, at.now_ms, &at.statement));
    assert_int_equal(at.statement.kind, kind);
    assert_int_equal(elapse__partition_check(at.partition), 0);
}

void expect_nothing(void)
{
    struct elapse__statement statement;
    assert_false(elapse__partition_next(at.partition, at.now_ms, &statement));
}

/* A result with the row as it is. */
struct elapse__statement_result good(uint64_t count)
{
    struct elapse__partition_settings settings = at.settings;
    settings.clock_ms = NOON_MS + (int64_t)at.now_ms + at.database_ahead_ms;
    return (struct elapse__statement_result){
        .serial = at.statement.serial,
        .count = count,
        .before = settings,
        .after = settings,
        .wall_ms = at.has_clock ? NOON_MS + (int64_t)at.now_ms + at.ahead_ms : 0,
        .session = {.system_identifier = 7, .timeline = at.timeline},
        .row = at.row,
    };
}

void give(const struct elapse__statement_result *result)
{
    elapse__partition_completed(at.partition, at.now_ms, result);
    assert_int_equal(elapse__partition_check(at.partition), 0);
}

void expect_good(enum elapse__statement_kind kind, uint64_t count)
{
    expect(kind);
    struct elapse__statement_result result = good(count);
    give(&result);
}

void expect_outcome(enum elapse__statement_kind kind, enum elapse__statement_outcome outcome)
{
    expect(kind);
    struct elapse__statement_result result = good(0);
    result.outcome = outcome;
    give(&result);
}

void remember(void)
{
    uint64_t mark;
    (void)elapse__partition_memory(at.partition, &mark);
    elapse__partition_remembered(at.partition, mark);
}

void expect_clocks(struct elapse__clock_others others)
{
    expect(ELAPSE__STATEMENT_CLOCKS);
    struct elapse__statement_result result = good(1);
    result.others = others;
    give(&result);
}

void connect_and_look(void)
{
    expect_good(ELAPSE__STATEMENT_CONNECT, 0);
    expect_good(ELAPSE__STATEMENT_SESSION, 1);
    expect_good(ELAPSE__STATEMENT_READ_ROW, 1);
}

/* Takes over a log that was handed over, at its end. */
void own(void)
{
    at.row.owner = "";
    connect_and_look();
    expect(ELAPSE__STATEMENT_TAKE_OVER);
    at.row.epoch++;
    at.row.beat++;
    at.row.owner = "me";
    struct elapse__statement_result result = good(1);
    give(&result);
}

struct elapse__partition_figures figures_now(void)
{
    struct elapse__partition_figures figures;
    elapse__partition_figures(at.partition, &figures);
    return figures;
}

enum elapse__partition_role role(void)
{
    return figures_now().role;
}

const struct elapse__partition_group one = {.bytes = "group", .size = 5};

void submit(void)
{
    assert_true(elapse__partition_takes_group(at.partition));
    elapse__partition_submit(at.partition, &one);
    assert_false(elapse__partition_takes_group(at.partition));
}

/* R11. The mark is written, and confirmed, before anything else happens. */
void expect_mark(uint64_t epoch, uint64_t group)
{
    assert_int_equal(role(), ELAPSE__ROLE_MARKING);
    assert_int_equal(at.stop, ELAPSE__STOP_NONE);
    assert_int_equal(elapse__partition_answer_until_ms(at.partition), 0);
    expect(ELAPSE__STATEMENT_MARK);
    assert_int_equal(at.statement.epoch, epoch);
    assert_int_equal(at.statement.group, group);
    at.row.stopped = "why";
    at.row.beat++;
}

void expect_confirmed_mark(uint64_t epoch, uint64_t group)
{
    expect_mark(epoch, group);
    struct elapse__statement_result result = good(1);
    give(&result);
    assert_int_equal(at.stop, ELAPSE__STOP_LOST_GROUPS);
    assert_int_equal(role(), ELAPSE__ROLE_STOPPED);
    assert_int_equal(elapse__partition_next_ms(at.partition), UINT64_MAX);
    expect_nothing();
}
