/*
 * A program that uses an installed elapse-queue: puts a job, commits it, closes the queue, opens it
 * again and works. The directory is take-queue.data in the present one. Prints the version of the
 * library elapse with which it runs.
 */
#include <stdio.h>
#include <string.h>

#include <elapse/queue.h>
#include <elapse/version.h>

static struct elapse_queue *open_queue(void)
{
    struct elapse_queue_options options;
    struct elapse_queue *queue;
    struct elapse_queue_fault fault;

    elapse_queue_options_init(&options);
    options.segment_bytes = 1 << 20;
    if (elapse_queue_open("take-queue.data", &options, &queue, &fault) != ELAPSE_OK)
        puts(fault.text);
    return queue;
}

static int put_is_durable(void)
{
    struct elapse_queue *queue = open_queue();
    struct elapse_put put;
    struct elapse_answer answer;

    memset(&put, 0, sizeof put);
    put.tube = "mails";
    put.body = "Ada";
    put.body_bytes = 3;
    return queue != NULL && elapse_queue_put(queue, &put, &answer) == ELAPSE_OK &&
           elapse_queue_commit(queue, answer.position, ELAPSE_QUEUE_FOREVER_MS) == ELAPSE_OK &&
           elapse_queue_close(queue) == ELAPSE_OK;
}

static int job_is_handed_out(void)
{
    struct elapse_queue *queue = open_queue();
    struct elapse_reserved job;
    int right;

    if (queue == NULL ||
        elapse_queue_reserve(queue, "mails", ELAPSE_QUEUE_FOREVER_MS, &job) != ELAPSE_OK)
        return 0;
    right = job.body_bytes == 3 && memcmp(job.body, "Ada", 3) == 0 &&
            elapse_queue_ack(queue, job.id, job.lease, NULL) == ELAPSE_OK;
    elapse_reserved_free(&job);
    return elapse_queue_close(queue) == ELAPSE_OK && right;
}

int main(void)
{
    if (!put_is_durable() || !job_is_handed_out()) {
        puts("the library does not work");
        return 1;
    }
    puts(elapse_version());
    return 0;
}
