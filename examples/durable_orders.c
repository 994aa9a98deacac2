/*
 * Orders whose time-outs survive the end of the process.
 *
 * An order must be paid within a time. A shop puts a job for each order, under the order's number
 * as key, and cancels it when the order is paid. Here the shop is a process of its own, and it is
 * killed in the middle of its work (kill -9). The process that comes after it opens the same
 * directory: each order that was accepted and not paid times out, none twice, and no order that was
 * paid.
 *
 *     example-durable-orders [ORDERS]
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <elapse/queue.h>

enum {
    PAY_WITHIN_MS = 300, /* half an hour in a real shop */
    PAID_EACH = 10,      /* the shop is paid for all orders but each tenth */
};

static void die(const char *what, enum elapse_error error)
{
    fprintf(stderr, "%s: %s\n", what, elapse_error_text(error));
    exit(1);
}

static struct elapse_queue *open_queue(const char *directory)
{
    struct elapse_queue_options options;
    struct elapse_queue_fault fault;
    struct elapse_queue *queue;

    elapse_queue_options_init(&options);
    options.segment_bytes = 1 << 20;
    if (elapse_queue_open(directory, &options, &queue, &fault) != ELAPSE_OK) {
        fprintf(stderr, "%s\n", fault.text);
        exit(1);
    }
    return queue;
}

/* Accepts an order, and stores what to wait for before it tells the customer so. */
static uint64_t accept_order(struct elapse_queue *queue, unsigned number)
{
    char key[16];
    int key_bytes = snprintf(key, sizeof key, "%u", number);
    struct elapse_put put = {
        .tube = "unpaid",
        .key = key,
        .key_bytes = (size_t)key_bytes,
        .delay_ms = PAY_WITHIN_MS,
        .body = key,
        .body_bytes = (size_t)key_bytes,
    };
    struct elapse_answer answer;
    enum elapse_error error = elapse_queue_put(queue, &put, &answer);

    if (error != ELAPSE_OK)
        die("put", error);
    return answer.position;
}

/* The customer has paid in time, unless the answer is RUNNING or GONE. */
static uint64_t pay_order(struct elapse_queue *queue, unsigned number)
{
    char key[16];
    int key_bytes = snprintf(key, sizeof key, "%u", number);
    struct elapse_answer answer;
    enum elapse_error error = elapse_queue_cancel(queue, "unpaid", key, (size_t)key_bytes, &answer);

    if (error != ELAPSE_OK)
        die("cancel", error);
    if (answer.result != ELAPSE_RESULT_REMOVED)
        die("an order timed out too early", ELAPSE_ERROR_GONE);
    return answer.position;
}

/* The shop: accepts orders, is paid for most of them, and is killed. */
static void run_shop(const char *directory, unsigned orders)
{
    struct elapse_queue *queue = open_queue(directory);
    uint64_t position = 0;

    for (unsigned i = 0; i < orders; i++)
        position = accept_order(queue, i);
    for (unsigned i = 0; i < orders; i++)
        if (i % PAID_EACH != 0)
            position = pay_order(queue, i);
    /* One wait for all: many commits share a write. */
    enum elapse_error error = elapse_queue_commit(queue, position, ELAPSE_QUEUE_FOREVER_MS);
    if (error != ELAPSE_OK)
        die("commit", error);
    (void)raise(SIGKILL);
}

/* The process after it: handles the orders that time out. Returns how many did. */
static unsigned handle_time_outs(const char *directory, unsigned orders)
{
    struct elapse_queue *queue = open_queue(directory);
    char *seen = calloc(orders, 1);
    unsigned handled = 0;
    struct elapse_reserved job;

    if (seen == NULL)
        die("calloc", ELAPSE_ERROR_MEMORY);
    while (elapse_queue_reserve(queue, "unpaid", 10 * PAY_WITHIN_MS, &job) == ELAPSE_OK) {
        char text[16] = "";
        memcpy(text, job.body, job.body_bytes < sizeof text ? job.body_bytes : sizeof text - 1);
        unsigned number = (unsigned)strtoul(text, NULL, 10);
        if (number >= orders || number % PAID_EACH != 0 || seen[number])
            die("a wrong order timed out", ELAPSE_ERROR_GONE);
        seen[number] = 1;
        handled++;
        enum elapse_error error = elapse_queue_ack(queue, job.id, job.lease, NULL);
        elapse_reserved_free(&job);
        if (error != ELAPSE_OK)
            die("ack", error);
        if (handled == (orders + PAID_EACH - 1) / PAID_EACH)
            break;
    }
    free(seen);
    enum elapse_error error = elapse_queue_close(queue);
    if (error != ELAPSE_OK)
        die("close", error);
    return handled;
}

static void remove_directory(const char *directory)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", directory);
    (void)!system(command);
}

int main(int argc, char **argv)
{
    unsigned orders = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 10000;
    char directory[] = "/tmp/elapse-orders-XXXXXX";
    int status;

    if (mkdtemp(directory) == NULL)
        return 1;
    fflush(NULL);
    pid_t shop = fork();
    if (shop == 0) {
        run_shop(directory, orders);
        _exit(1);
    }
    if (shop < 0 || waitpid(shop, &status, 0) != shop || !WIFSIGNALED(status))
        return 1;
    unsigned handled = handle_time_outs(directory, orders);
    remove_directory(directory);
    printf("%u orders, the shop was killed, %u orders timed out afterwards\n", orders, handled);
    return handled == (orders + PAID_EACH - 1) / PAID_EACH ? 0 : 1;
}
