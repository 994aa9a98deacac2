/*
 * elapse generate: traces made up for a purpose.
 *
 * "orders" is a shop's burst: orders arrive within ten seconds, each is given
 * half an hour to be paid, and most are. An order's arrival is a start, its
 * payment a cancel, and an order that is not paid fires.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/command.h"
#include "../common/message.h"
#include "../common/random.h"
#include "../common/text.h"

#define ORDERS_DEFAULT 1000000
#define ORDERS_MAX     100000000
#define PAID_DEFAULT   90
#define BURST_US       UINT64_C(10000000)
#define TIMEOUT_US     UINT64_C(1800000000)

/* A payment is one number, its time above its order: sorted by time so. */
#define ORDER_BITS 27
_Static_assert(ORDERS_MAX <= 1 << ORDER_BITS, "an order's number fits its bits");
_Static_assert(BURST_US + 1 + TIMEOUT_US < UINT64_C(1) << (64 - ORDER_BITS),
               "a payment's time fits the others");

struct orders {
    uint32_t count;
    uint32_t paid_percent;
    uint64_t seed;
};

static enum exit_status print_help(void)
{
    fputs("Usage: elapse generate orders [--orders N] [--paid PERCENT] [--seed S]\n"
          "\n"
          "Writes a trace to standard output: N orders arrive within 10 s, each to be paid\n"
          "within 30 minutes; those paid are cancelled in time, at random, the others fire.\n"
          "A replay ends with the last operation: if none is paid, all stay pending.\n"
          "\n"
          "Options:\n"
          "  --orders N       how many orders, 1 to 100000000 (default 1000000)\n"
          "  --paid PERCENT   how many of a hundred are paid, 0 to 100 (default 90)\n"
          "  --seed S         another seed gives other payments (default 1)\n"
          "  --help           show this\n"
          "\n"
          "Example:\n"
          "  elapse generate orders --orders 1000000 --paid 90 | elapse replay -\n",
          stdout);
    return finish_output();
}

/* Orders come evenly over the burst, the last one alone just after it. */
static uint64_t arrival_us(const struct orders *orders, uint32_t order)
{
    return order + 1 == orders->count ? BURST_US + 1 : order * BURST_US / orders->count;
}

/*
 * Draws the payments, sorted by time. A trace ends with its last operation, so
 * the last order is among the paid ones and is paid as late as can be: then all
 * the unpaid ones have fired before.
 */
static void draw_payments(const struct orders *orders, uint64_t *payments, uint32_t paid)
{
    struct random random = {orders->seed};
    uint32_t drawn = 0;

    for (uint32_t order = 0; drawn < paid; order++) {
        bool is_last = order + 1 == orders->count;
        uint64_t delay_us = TIMEOUT_US - 1;

        if (!is_last) {
            /* Each set of orders is as likely as any other of its size. */
            if (random_below(&random, orders->count - 1 - order) >= paid - 1 - drawn)
                continue;
            delay_us = 1 + random_below(&random, TIMEOUT_US - 1);
        }
        payments[drawn++] = (arrival_us(orders, order) + delay_us) << ORDER_BITS | order;
    }
    qsort(payments, paid, sizeof *payments, compare_numbers);
}

/* Starts and payments together, by time, as far as the output takes them. */
static void write_orders(const struct orders *orders, const uint64_t *payments, uint32_t paid)
{
    uint32_t started = 0;
    uint32_t stopped = 0;

    puts("time_us,op,key,delay_us,tag");
    while (started < orders->count || stopped < paid) {
        bool is_start =
            started < orders->count &&
            (stopped == paid || arrival_us(orders, started) <= payments[stopped] >> ORDER_BITS);

        if (is_start) {
            printf("%llu,start,order-%u,%llu,\n", (unsigned long long)arrival_us(orders, started),
                   started, (unsigned long long)TIMEOUT_US);
            started++;
        } else {
            printf("%llu,cancel,order-%u,0,paid\n",
                   (unsigned long long)(payments[stopped] >> ORDER_BITS),
                   (unsigned)(payments[stopped] & ((UINT64_C(1) << ORDER_BITS) - 1)));
            stopped++;
        }
        if (ferror(stdout))
            return;
    }
}

static enum exit_status generate_orders(const struct orders *orders)
{
    static char output[1 << 16];
    uint32_t paid = (uint32_t)((uint64_t)orders->count * orders->paid_percent / 100);
    uint64_t *payments = allocate((paid + 1) * sizeof *payments);

    setvbuf(stdout, output, _IOFBF, sizeof output);
    draw_payments(orders, payments, paid);
    write_orders(orders, payments, paid);
    free(payments);
    return finish_output();
}

/* Reads the value of an option: a whole decimal number from `least` to `most`. */
static enum exit_status read_number(const char *program, const char *option, uint64_t least,
                                    uint64_t most, uint64_t *number)
{
    if (parse_number(optarg, least, most, number))
        return STATUS_OK;
    return usage_error(program, "%s: %s is not a whole number from %" PRIu64 " to %" PRIu64, option,
                       quote_string(optarg).text, least, most);
}

enum exit_status generate_command(int argc, char **argv)
{
    static const struct option options[] = {
        {"orders", required_argument, NULL, 'n'},
        {"paid", required_argument, NULL, 'p'},
        {"seed", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct orders orders = {.count = ORDERS_DEFAULT, .paid_percent = PAID_DEFAULT, .seed = 1};
    enum exit_status status = STATUS_OK;
    uint64_t number = 0;
    int option;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (option) {
        case 'h':
            return print_help();
        case 'n':
            status = read_number(argv[0], "--orders", 1, ORDERS_MAX, &number);
            orders.count = (uint32_t)number;
            break;
        case 'p':
            status = read_number(argv[0], "--paid", 0, 100, &number);
            orders.paid_percent = (uint32_t)number;
            break;
        case 's':
            status = read_number(argv[0], "--seed", 0, UINT64_MAX, &orders.seed);
            break;
        default:
            return usage_hint(argv[0]);
        }
        if (status != STATUS_OK)
            return status;
    }
    if (optind == argc)
        return usage_error(argv[0], "what to generate is missing: orders");
    if (strcmp(argv[optind], "orders") != 0)
        return usage_error(argv[0], "cannot generate %s, only 'orders'",
                           quote_string(argv[optind]).text);
    if (optind + 1 < argc)
        return usage_error(argv[0], "too many arguments: %s", quote_string(argv[optind + 1]).text);
    return generate_orders(&orders);
}
