/*
 * elapse generate: writes a trace that is computed and not recorded.
 *
 * "orders" is a burst of orders in a shop. The orders arrive within ten seconds, each has to be
 * paid within half an hour, and most are paid. The arrival of an order is a start, and its payment
 * is a cancel. The timer of an order that is not paid fires.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../common/command.h"
#include "../common/options.h"
#include "../common/output.h"
#include "../common/random.h"
#include "../common/text.h"

#define ORDERS_DEFAULT 1000000
#define ORDERS_MAX     100000000
#define PAID_DEFAULT   90
#define BURST_US       UINT64_C(10000000)
#define TIMEOUT_US     UINT64_C(1800000000)

/* A payment is one number: its time in the upper bits, its order in the lower ones. So sorting the
 * numbers sorts the payments by time. */
#define ORDER_BITS 27
_Static_assert(ORDERS_MAX <= 1 << ORDER_BITS, "an order's number fits its bits");
_Static_assert(BURST_US + 1 + TIMEOUT_US < UINT64_C(1) << (64 - ORDER_BITS),
               "a payment's time fits the others");

struct orders {
    uint64_t count;
    uint64_t paid_percent;
    uint64_t seed;
};

/* Returns when an order arrives. Orders are spread evenly over the burst, and the last one arrives
 * just after it. */
static uint64_t arrival_us(const struct orders *orders, uint32_t order)
{
    ELAPSE__ASSERT(order < orders->count);
    return order + 1 == orders->count ? BURST_US + 1 : order * BURST_US / orders->count;
}

/*
 * Draws the payments at random, and sorts them by time. The last order is always paid as late as
 * possible. The replay ends with that payment, and all unpaid orders have fired by then.
 */
static void draw_payments(const struct orders *orders, uint64_t *payments, uint32_t paid)
{
    struct random random = {orders->seed};
    uint32_t drawn = 0;

    ELAPSE__ASSERT(paid <= orders->count);
    for (uint32_t order = 0; drawn < paid; order++) {
        bool is_last = order + 1 == orders->count;
        uint64_t delay_us = TIMEOUT_US - 1;

        if (!is_last) {
            /* Every set of paid orders is equally likely. */
            if (random_below(&random, (uint32_t)orders->count - 1 - order) >= paid - 1 - drawn)
                continue;
            delay_us = 1 + random_below(&random, TIMEOUT_US - 1);
        }
        ELAPSE__ASSERT(delay_us < TIMEOUT_US);
        payments[drawn++] = (arrival_us(orders, order) + delay_us) << ORDER_BITS | order;
    }
    ELAPSE__ASSERT(drawn == paid);
    qsort(payments, paid, sizeof *payments, compare_numbers);
}

/* Adds starts and payments to the output, in the order of their times. */
static void write_orders(const struct orders *orders, const uint64_t *payments, uint32_t paid)
{
    uint32_t started = 0;
    uint32_t stopped = 0;

    output_add_text("time_us,op,key,delay_us,tag\n");
    while (started < orders->count || stopped < paid) {
        bool is_start =
            started < orders->count &&
            (stopped == paid || arrival_us(orders, started) <= payments[stopped] >> ORDER_BITS);

        if (is_start) {
            output_add_format("%llu,start,order-%u,%llu,\n",
                              (unsigned long long)arrival_us(orders, started), started,
                              (unsigned long long)TIMEOUT_US);
            started++;
        } else {
            output_add_format("%llu,cancel,order-%u,0,paid\n",
                              (unsigned long long)(payments[stopped] >> ORDER_BITS),
                              (unsigned)(payments[stopped] & ((UINT64_C(1) << ORDER_BITS) - 1)));
            stopped++;
        }
        if (output_failed())
            return;
    }
}

static enum exit_status generate_orders(const struct orders *orders)
{
    uint32_t paid = (uint32_t)(orders->count * orders->paid_percent / 100);
    uint64_t *payments = allocate((paid + 1) * sizeof *payments);

    ELAPSE__ASSERT(orders->count >= 1);
    ELAPSE__ASSERT(orders->count <= ORDERS_MAX);
    ELAPSE__ASSERT(orders->paid_percent <= 100);
    draw_payments(orders, payments, paid);
    write_orders(orders, payments, paid);
    free(payments);
    return output_finish();
}

static const struct command_help help = {
    .usage = "Usage: elapse generate orders [--orders N] [--paid PERCENT] [--seed S]\n",
    .purpose = "Writes a trace to standard output: N orders arrive within 10 s, and each has 30\n"
               "minutes to be paid. An order that is paid is cancelled at a random time before\n"
               "its deadline; the others fire. A replay ends with the last operation: if no\n"
               "order is paid, all stay pending.\n",
    .example = "Example:\n"
               "  elapse generate orders --paid 90 | elapse replay -\n",
};

enum exit_status generate_command(int argc, char **argv)
{
    struct orders orders = {.count = ORDERS_DEFAULT, .paid_percent = PAID_DEFAULT, .seed = 1};
    const struct command_option table[] = {
        option_number("orders", "N", &orders.count, 1, ORDERS_MAX,
                      "how many orders, 1 to 100000000 (default 1000000)"),
        option_number("paid", "PERCENT", &orders.paid_percent, 0, 100,
                      "how many of a hundred are paid, 0 to 100 (default 90)"),
        option_number("seed", "S", &orders.seed, 0, UINT64_MAX,
                      "another seed gives other payments (default 1)"),
    };
    struct command_line line = COMMAND_LINE(help, table);
    enum exit_status status;

    if (!options_read(&line, argc, argv, &status))
        return status;
    if (line.argument_count == 0)
        return usage_error("the kind of trace is missing: orders");
    if (strcmp(line.arguments[0], "orders") != 0)
        return usage_error("cannot generate %s, only 'orders'",
                           quote_string(line.arguments[0]).text);
    if (line.argument_count > 1)
        return usage_error("too many arguments: %s", quote_string(line.arguments[1]).text);
    return generate_orders(&orders);
}
