/*
 * What the tests of the state machine of a partition share: one partition, and functions that give
 * it the result of each statement.
 */
#ifndef ELAPSE_TESTS_PARTITION_SUPPORT_H
#define ELAPSE_TESTS_PARTITION_SUPPORT_H

/* <cmocka.h> needs these headers before it. */
#include "../../../src/cluster/ownership/chain.h"
#include "../../../src/cluster/ownership/partition.h"
#include "../../support/test.h"

enum { LEASE_MS = 1000 };

/* What a right wall clock shows when `now_ms` is 0. */
#define NOON_MS INT64_C(1700000000000)

struct partition_at {
    struct elapse__partition *partition;
    uint64_t now_ms;
    uint32_t timeline;
    struct elapse__statement statement;
    struct elapse__partition_row row;
    struct elapse__partition_settings settings;
    enum elapse__partition_stop stop;
    unsigned applied, confirmed, fenced, rebuilt;
    uint64_t owned_epoch;
    bool has_clock;            /* results bring clocks */
    int64_t ahead_ms;          /* by how much this node's wall clock is ahead of the true time */
    int64_t database_ahead_ms; /* the same of the database's clock */
};

extern struct partition_at at;
extern const struct elapse__partition_group one;

struct elapse__partition_options options_of(void);
/* Begins a partition with these options, and a row that another node owns. */
void begin_with(const struct elapse__partition_options *options);
/* Begins a partition whose node has five durable groups, and has followed epochs up to 2. */
void begin_with_five_groups(void);
int set_up(void **state);
int tear_down(void **state);
/* Expects that the next statement is of this kind. */
void expect(enum elapse__statement_kind kind);
void expect_nothing(void);
/* Returns a result of `count` rows, with the row as it is. */
struct elapse__statement_result good(uint64_t count);
void give(const struct elapse__statement_result *result);
void expect_good(enum elapse__statement_kind kind, uint64_t count);
void expect_outcome(enum elapse__statement_kind kind, enum elapse__statement_outcome outcome);
void remember(void);
void connect_and_look(void);
/* Expects that the other nodes are asked for their clocks, and gives this answer. */
void expect_clocks(struct elapse__clock_others others);
/* The partition takes over: the last owner handed over the log, and the node has all of it. */
void own(void);
struct elapse__partition_figures figures_now(void);
enum elapse__partition_role role(void);
void submit(void);
/* Expects that the next statement marks the row (R11), and marks it. The caller gives the result.
 */
void expect_mark(uint64_t epoch, uint64_t group);
/* The same, and gives the result. Expects that the partition then stops. */
void expect_confirmed_mark(uint64_t epoch, uint64_t group);

#define PARTITION_TEST(function) TEST_WITH(function, set_up, tear_down)

#endif
