/*
 * One partition, driven statement by statement: what the tests of the state machine share.
 */
#ifndef ELAPSE_TESTS_PARTITION_SUPPORT_H
#define ELAPSE_TESTS_PARTITION_SUPPORT_H

/* cmocka wants those before it. */
#include "../../../src/cluster/ownership/chain.h"
#include "../../../src/cluster/ownership/partition.h"
#include "../../support/test.h"

enum { LEASE_MS = 1000 };

/* What the true clock shows where `now_ms` is 0. */
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
    int64_t ahead_ms;          /* of this node's wall clock, before the true one */
    int64_t database_ahead_ms; /* of the database's */
};

extern struct partition_at at;
extern const struct elapse__partition_group one;

struct elapse__partition_options options_of(void);
/* A partition with these options, and a row that another node owns. */
void begin_with(const struct elapse__partition_options *options);
/* Another one: five groups are durable, and its node has followed epochs up to 2. */
void begin_with_five_groups(void);
int set_up(void **state);
int tear_down(void **state);
/* The next statement is of this kind. */
void expect(enum elapse__statement_kind kind);
void expect_nothing(void);
/* A result with the row as it is. */
struct elapse__statement_result good(uint64_t count);
void give(const struct elapse__statement_result *result);
void expect_good(enum elapse__statement_kind kind, uint64_t count);
void expect_outcome(enum elapse__statement_kind kind, enum elapse__statement_outcome outcome);
void remember(void);
void connect_and_look(void);
/* The other nodes are asked for their clocks, and answer. */
void expect_clocks(struct elapse__clock_others others);
/* Takes over a log that was handed over, at its end. */
void own(void);
enum elapse__partition_role role(void);
void submit(void);
/* R11: the next statement marks the row; it does. */
void expect_mark(uint64_t epoch, uint64_t group);
/* Then it stops. */
void expect_confirmed_mark(uint64_t epoch, uint64_t group);

#define PARTITION_TEST(function) TEST_WITH(function, set_up, tear_down)

#endif
