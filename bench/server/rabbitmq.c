/*
 * A load for RabbitMQ. It prints one line of JSON.
 *
 *     elapse-bench-server-rabbitmq HOST:PORT VERB [OPTION]...
 *
 * Messages are persistent, queues durable, and the answer of a put is the confirm of the server.
 * A delayed job waits in the queue of its delay, whose messages move to the queue of ready jobs
 * when their time to live is over. The acknowledgement of a job has no answer. The verbs of this
 * program alone: `setup` makes the queue of ready jobs, `ready` waits until the server answers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"
#include "peer.h"
#include "rabbitmq_link.h"

enum { NAME_BYTES = 32, NS_PER_MS = 1000000, PATIENCE_S = 60, TIMERS_WINDOW = 20000 };

struct load {
    struct arguments *arguments;
    struct publisher *publishers;
    amqp_connection_state_t *links;
    struct histogram *times; /* of confirms, or lateness */
};

/* ---- queues ---- */

static void set_up(struct arguments *arguments)
{
    amqp_connection_state_t link = link_open(arguments->address, true);

    link_declare_ready(link);
    link_close(link);
}

static void declare_delay(const struct arguments *arguments, int64_t delay_ms, char *name)
{
    amqp_connection_state_t link = link_open(arguments->address, true);

    link_declare_ready(link);
    link_declare_delay(link, delay_ms);
    link_close(link);
    (void)snprintf(name, NAME_BYTES, "delay-%lld", (long long)delay_ms);
}

static void wait_until_ready(struct arguments *arguments)
{
    const struct timespec pause = {.tv_nsec = 2 * 1000 * 1000};
    uint64_t until_ns = now_ns() + (uint64_t)(arguments->seconds * 1e9);
    amqp_connection_state_t link;

    while ((link = link_open(arguments->address, now_ns() > until_ns)) == NULL)
        (void)nanosleep(&pause, NULL);
    link_close(link);
}

/* ---- puts ---- */

static struct load open_publishers(struct arguments *arguments)
{
    struct load load = {
        .arguments = arguments,
        .publishers = peer_allocate(arguments->connections, sizeof *load.publishers),
        .links = peer_allocate(arguments->connections, sizeof(amqp_connection_state_t)),
        .times = peer_allocate(1, sizeof *load.times),
    };

    for (uint64_t i = 0; i < arguments->connections; i++) {
        publisher_open(&load.publishers[i], arguments->address, arguments->window, load.times);
        load.links[i] = load.publishers[i].link;
    }
    return load;
}

static void close_publishers(struct load *load)
{
    for (uint64_t i = 0; i < load->arguments->connections; i++)
        publisher_close(&load->publishers[i]);
    free(load->publishers);
    free(load->links);
    free(load->times);
}

/* Fills the window of a connection, up to so many. Returns how many were published. */
static uint64_t fill_window(struct publisher *publisher, uint64_t most, const char *queue,
                            int64_t ahead_ms)
{
    char body[PEER_BODY_BYTES];
    uint64_t published = 0;

    if (most == 0 || !publisher_has_room(publisher))
        return 0;
    peer_write_body(body, wall_ms() + ahead_ms);
    publisher_hold(publisher);
    for (; published < most && publisher_has_room(publisher); published++)
        publisher_put(publisher, queue, body);
    publisher_release(publisher);
    return published;
}

static void put_all(struct load *load, const char *queue, int64_t ahead_ms)
{
    const struct arguments *arguments = load->arguments;
    uint64_t left = arguments->count > 0 ? arguments->count : UINT64_MAX, under_way;
    uint64_t began_ns = now_ns(), until_ns = began_ns + (uint64_t)(arguments->seconds * 1e9);
    uint64_t answered;

    do {
        answered = under_way = 0;
        if (now_ns() >= until_ns)
            left = 0;
        for (uint64_t i = 0; i < arguments->connections; i++) {
            struct publisher *publisher = &load->publishers[i];
            left -= fill_window(publisher, left, queue, ahead_ms);
            under_way += publisher->published - publisher->confirmed;
        }
        if (under_way > 0)
            links_wait(load->links, arguments->connections, 100);
        for (uint64_t i = 0; i < arguments->connections; i++) {
            publisher_receive(&load->publishers[i]);
            answered += load->publishers[i].confirmed;
        }
    } while (left > 0 || under_way > 0);
    double took_s = (double)(now_ns() - began_ns) / 1e9;
    if (arguments->count > 0)
        peer_check_count("answered in time", answered, arguments->count);
    figures_begin();
    figures_number("rate", (double)answered / took_s);
    figures_number("count", (double)answered);
    figures_times(load->times);
    figures_end();
}

static void load_put(struct arguments *arguments)
{
    char queue[NAME_BYTES];

    declare_delay(arguments, PEER_PUT_AHEAD_MS, queue);
    struct load load = open_publishers(arguments);
    put_all(&load, queue, PEER_PUT_AHEAD_MS);
    close_publishers(&load);
}

static void load_put_now(struct arguments *arguments)
{
    struct load load = open_publishers(arguments);
    put_all(&load, READY_QUEUE, 0);
    close_publishers(&load);
}

/* ---- hand-outs ---- */

struct taker {
    uint64_t tag, jobs; /* of jobs that are not acknowledged */
};

static void acknowledge(amqp_connection_state_t link, struct taker *taker)
{
    if (taker->jobs > 0)
        consumer_acknowledge(link, taker->tag);
    taker->jobs = 0;
}

static amqp_connection_state_t *open_consumers(const struct arguments *arguments)
{
    amqp_connection_state_t *links = peer_allocate(
        arguments->connections + 1, sizeof(amqp_connection_state_t)); /* and a publisher */

    for (uint64_t i = 0; i < arguments->connections; i++) {
        links[i] = link_open(arguments->address, true);
        consumer_begin(links[i], arguments->window);
    }
    return links;
}

static void close_consumers(amqp_connection_state_t *links, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        link_close(links[i]);
    free(links);
}

static void load_drain(struct arguments *arguments)
{
    amqp_connection_state_t *links = open_consumers(arguments);
    struct taker *takers = peer_allocate(arguments->connections, sizeof *takers);
    uint64_t taken = 0, began_ns = now_ns();
    uint64_t until_ns = began_ns + (uint64_t)(arguments->seconds * 1e9);
    /* While a batch is acknowledged, more is on its way. */
    uint64_t half = (arguments->window + 1) / 2;
    uint64_t batch = arguments->batch < half ? arguments->batch : half;
    char body[PEER_BODY_BYTES];

    while (taken < arguments->count && now_ns() < until_ns) {
        links_wait(links, arguments->connections, 100);
        for (uint64_t i = 0; i < arguments->connections; i++)
            while (consumer_take(links[i], &takers[i].tag, body)) {
                taken++;
                if (++takers[i].jobs >= batch)
                    acknowledge(links[i], &takers[i]);
            }
    }
    for (uint64_t i = 0; i < arguments->connections; i++)
        acknowledge(links[i], &takers[i]);
    uint64_t ready = 0;
    for (uint64_t i = 0; i < arguments->connections; i++)
        ready = link_ready_jobs(links[i]);
    double took_s = (double)(now_ns() - began_ns) / 1e9;
    peer_check_count("handed out", taken, arguments->count);
    peer_check_count("still ready", ready, 0);
    figures_begin();
    figures_number("rate", (double)taken / took_s);
    figures_number("count", (double)taken);
    figures_number("missing", 0);
    figures_end();
    close_consumers(links, arguments->connections);
    free(takers);
}

/* ---- timers ---- */

struct timers {
    const struct arguments *arguments;
    amqp_connection_state_t *links; /* of the consumers, and of the publisher */
    struct publisher publisher;
    struct histogram *lateness;
    uint64_t taken, early;
    char queue[NAME_BYTES];
};

static void take_jobs(struct timers *timers, amqp_connection_state_t link)
{
    struct taker taker = {.jobs = 0};
    char body[PEER_BODY_BYTES];

    while (taker.jobs < timers->arguments->window && consumer_take(link, &taker.tag, body)) {
        int64_t late_ns = wall_ns() - peer_due_ms(body) * NS_PER_MS;
        timers->early += late_ns < 0;
        histogram_add(timers->lateness, late_ns < 0 ? 0 : (uint64_t)late_ns, 1);
        taker.jobs++;
    }
    timers->taken += taker.jobs;
    acknowledge(link, &taker);
}

static void exchange(struct timers *timers)
{
    links_wait(timers->links, timers->arguments->connections + 1, 1);
    for (uint64_t i = 0; i < timers->arguments->connections; i++)
        take_jobs(timers, timers->links[i]);
    publisher_receive(&timers->publisher);
}

static void print_timers(const struct timers *timers, double took_s, uint64_t taken)
{
    figures_begin();
    figures_number("rate", (double)taken / took_s);
    figures_number("put_rate", (double)timers->publisher.published / took_s);
    figures_number("count", (double)timers->taken);
    figures_number("early", (double)timers->early);
    figures_number("missing", (double)timers->publisher.published - (double)timers->taken);
    figures_times(timers->lateness);
    figures_histogram(timers->lateness);
    figures_end();
}

static void run_timers(struct timers *timers)
{
    const struct arguments *arguments = timers->arguments;
    struct publisher *publisher = &timers->publisher;
    uint64_t began_ns = now_ns(), puts_ns = (uint64_t)(arguments->seconds * 1e9), passed_ns;

    while ((passed_ns = now_ns() - began_ns) < puts_ns) {
        uint64_t wanted = passed_ns / 1000 * arguments->rate / 1000000;
        if (wanted > publisher->published)
            (void)fill_window(publisher, wanted - publisher->published, timers->queue,
                              arguments->ahead_ms);
        exchange(timers);
    }
    uint64_t taken = timers->taken;
    uint64_t until_ns =
        now_ns() + (uint64_t)arguments->ahead_ms * NS_PER_MS + PATIENCE_S * UINT64_C(1000000000);
    while (timers->taken < publisher->published && now_ns() < until_ns)
        exchange(timers);
    print_timers(timers, (double)passed_ns / 1e9, taken);
    peer_check_count("handed out", timers->taken, publisher->published);
}

static void load_timers(struct arguments *arguments)
{
    struct histogram *confirms = peer_allocate(1, sizeof *confirms);
    struct timers timers = {.arguments = arguments};

    if (arguments->rate == 0)
        peer_fail("timers needs --rate");
    arguments->window = arguments->batch;
    timers.lateness = peer_allocate(1, sizeof *timers.lateness);
    declare_delay(arguments, arguments->ahead_ms, timers.queue);
    timers.links = open_consumers(arguments);
    publisher_open(&timers.publisher, arguments->address, TIMERS_WINDOW, confirms);
    timers.links[arguments->connections] = timers.publisher.link;
    run_timers(&timers);
    close_consumers(timers.links, arguments->connections);
    publisher_close(&timers.publisher);
    free(timers.lateness);
    free(confirms);
}

static const struct {
    const char *name;
    void (*run)(struct arguments *arguments);
} verbs[] = {
    {"setup", set_up},         {"ready", wait_until_ready}, {"put", load_put},
    {"put-now", load_put_now}, {"drain", load_drain},       {"timers", load_timers},
};

int main(int argc, char **argv)
{
    struct arguments arguments = arguments_read(argc, argv);

    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, arguments.verb) == 0) {
            verbs[i].run(&arguments);
            return 0;
        }
    fprintf(stderr, "no such verb: %s\n", arguments.verb);
    return 2;
}
