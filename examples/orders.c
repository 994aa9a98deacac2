/*
 * A shop: a typical use of timing wheels.
 *
 * A million orders arrive in a burst for a stock that is half as large. An order that finds an
 * article reserves it and has half an hour to be paid. Nine in ten are paid. The reservations of
 * the others expire, and their articles are free for later customers.
 *
 *     orders [ORDERS]        1,000,000 by default
 *
 * Time is manual, so half an hour passes in one call. With the system's clock the program would
 * set another option, and call elapse_scheduler_start instead of elapse_scheduler_step. At the end
 * everything is counted. If the counts do not add up, the exit status is 1.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <elapse/scheduler.h>
#include <pthread.h>

#define TIME_TO_PAY_NS (30 * ELAPSE_MINUTE_NS)

enum { CUSTOMER_THREADS = 4, ORDERS_MAX = 1000000000 };

enum outcome { NOT_YET, RESERVED, REFUSED, PAID, EXPIRED };

struct order {
    struct elapse_handle unpaid; /* the task that will find it unpaid */
    _Atomic(enum outcome) outcome;
};

static struct elapse_scheduler *scheduler;
static struct order *orders;

/* The articles. Customers see `free_articles`. `held_articles` (reserved or sold) is counted
 * separately, so that the program notices at once if an article is sold twice. */
static size_t stock;
static atomic_size_t free_articles;
static atomic_size_t held_articles;

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "orders: fault: %s\n", what);
    exit(EXIT_FAILURE);
}

static bool take_article(void)
{
    size_t left = atomic_load(&free_articles);

    do {
        if (left == 0)
            return false;
    } while (!atomic_compare_exchange_weak(&free_articles, &left, left - 1));
    require(atomic_fetch_add(&held_articles, 1) < stock, "an article was sold twice");
    return true;
}

static void release_article(void)
{
    atomic_fetch_sub(&held_articles, 1);
    atomic_fetch_add(&free_articles, 1);
}

/* Changes the outcome, which happens once: no order is paid twice, or paid and expired. */
static void change(struct order *order, enum outcome from, enum outcome to)
{
    require(atomic_exchange(&order->outcome, to) == from, "an order has two outcomes");
}

/* ---- an order's three events ---- */

/* The action of the task: half an hour has passed, and the task was not cancelled. */
static void expire(void *context, const struct elapse_run *run)
{
    require(run->actual_ns >= run->intended_ns, "a reservation expired early");
    change(context, RESERVED, EXPIRED);
    release_article();
}

static void arrive(struct order *order)
{
    struct elapse_task task = {.action = expire, .context = order};

    if (!take_article()) {
        change(order, NOT_YET, REFUSED);
        return;
    }
    /* Do this before it is scheduled: after that the task may run at any moment. */
    change(order, NOT_YET, RESERVED);
    require(elapse_task_schedule_after(scheduler, &task, TIME_TO_PAY_NS, &order->unpaid) ==
                ELAPSE_OK,
            "a time-out could not be scheduled");
}

/* Payment and expiry may come at the same moment, on two threads. The answer of cancel decides:
 * REMOVED means that the reservation has not expired and never will. Any other answer means that
 * it has expired, and another customer may have the article by now. */
static void pay(struct order *order)
{
    if (elapse_task_cancel(scheduler, order->unpaid) == ELAPSE_CANCEL_REMOVED)
        change(order, RESERVED, PAID);
}

/* Of ten customers eight pay in good time, one at the last moment, and one not at all. */
static void pay_in_time(struct order *order)
{
    if ((order - orders) % 10 < 8 && atomic_load(&order->outcome) == RESERVED)
        pay(order);
}

static void pay_late(struct order *order)
{
    if ((order - orders) % 10 == 8 && atomic_load(&order->outcome) != REFUSED)
        pay(order);
}

/* ---- threads of customers: each handles every fourth order ---- */

struct customers {
    pthread_t thread;
    void (*event)(struct order *order);
    size_t first;
    size_t end;
};

static void *act(void *argument)
{
    const struct customers *customers = argument;

    for (size_t i = customers->first; i < customers->end; i += CUSTOMER_THREADS)
        customers->event(&orders[i]);
    return NULL;
}

static void begin(struct customers crowd[CUSTOMER_THREADS], void (*event)(struct order *order),
                  size_t first, size_t end)
{
    for (unsigned i = 0; i < CUSTOMER_THREADS; i++) {
        crowd[i] = (struct customers){.event = event, .first = first + i, .end = end};
        require(pthread_create(&crowd[i].thread, NULL, act, &crowd[i]) == 0, "no thread");
    }
}

static void finish(const struct customers crowd[CUSTOMER_THREADS])
{
    for (unsigned i = 0; i < CUSTOMER_THREADS; i++)
        require(pthread_join(crowd[i].thread, NULL) == 0, "a thread is lost");
}

/* ---- the story ---- */

static size_t count_of(enum outcome outcome, size_t first, size_t end)
{
    size_t count = 0;

    for (size_t i = first; i < end; i++)
        count += atomic_load(&orders[i].outcome) == outcome;
    return count;
}

/* Steps the clock. Returns how many reservations expired. */
static size_t step_to(uint64_t now_ns)
{
    size_t ran;

    require(elapse_scheduler_step(scheduler, now_ns, &ran) == ELAPSE_OK, "time stands still");
    return ran;
}

/* The orders from `first` to `end` arrive, are paid or not, and half an hour passes. */
static void wave(const char *name, size_t first, size_t end)
{
    struct customers crowd[CUSTOMER_THREADS];
    uint64_t expiry_ns = elapse_scheduler_now_ns(scheduler) + TIME_TO_PAY_NS;

    begin(crowd, arrive, first, end);
    finish(crowd);
    printf("%s %zu orders arrive: %zu articles reserved, %zu orders refused\n", name, end - first,
           count_of(RESERVED, first, end), count_of(REFUSED, first, end));

    begin(crowd, pay_in_time, first, end);
    require(step_to(expiry_ns - 1) == 0, "a reservation expired early");
    finish(crowd);
    printf("  %zu are paid in good time\n", count_of(PAID, first, end));

    /* These customers pay while the time-outs run on this thread. */
    begin(crowd, pay_late, first, end);
    size_t expired = step_to(expiry_ns);
    finish(crowd);
    printf("  half an hour has passed: %zu are paid in all, %zu have expired\n",
           count_of(PAID, first, end), expired);
    require(expired == count_of(EXPIRED, first, end), "not every expiry has left its mark");
    require(count_of(RESERVED, first, end) == 0, "a reservation did not expire");
}

static void add_up(size_t count)
{
    static struct elapse_statistics statistics;
    size_t paid = count_of(PAID, 0, count);
    size_t expired = count_of(EXPIRED, 0, count);
    size_t refused = count_of(REFUSED, 0, count);
    size_t left = atomic_load(&free_articles);

    printf("%zu sold, %zu left of %zu; %zu expired, %zu refused\n", paid, left, stock, expired,
           refused);
    require(paid + expired + refused == count, "an order is lost");
    require(paid + left == stock, "an article is lost");
    require(paid == atomic_load(&held_articles), "an article is still reserved");

    elapse_scheduler_statistics(scheduler, &statistics);
    require(statistics.scheduled == paid + expired && statistics.removed == paid &&
                statistics.begun == expired && statistics.pending == 0 && statistics.running == 0,
            "the scheduler has counted otherwise");
}

int main(int argument_count, char **arguments)
{
    const char *said = argument_count > 1 ? arguments[1] : "1000000";
    char *end;
    size_t burst = strtoul(said, &end, 10);
    size_t count = burst + burst / 10;
    struct elapse_scheduler_options options;

    if (argument_count > 2 || *end != '\0' || burst < 1 || burst > ORDERS_MAX) {
        fprintf(stderr, "usage: orders [ORDERS], 1 to %d\n", ORDERS_MAX);
        return 2;
    }
    orders = calloc(count, sizeof *orders);
    require(orders != NULL, "no memory");
    stock = burst / 2;
    atomic_store(&free_articles, stock);

    elapse_scheduler_options_init(&options);
    options.clock = ELAPSE_CLOCK_MANUAL;
    options.shards = CUSTOMER_THREADS; /* so that customer threads seldom wait for a lock */
    require(elapse_scheduler_new(&options, &scheduler) == ELAPSE_OK, "no scheduler");

    wave("0:00", 0, burst);
    wave("0:30", burst, count); /* the expired reservations are for sale again */
    add_up(count);

    require(elapse_scheduler_free(scheduler) == ELAPSE_OK, "the scheduler is not free");
    free(orders);
    return EXIT_SUCCESS;
}
