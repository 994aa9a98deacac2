/*
 * worker [PORT [COUNT]]: does the jobs of the tube `mails` of `elapse serve`, with hiredis. With
 * COUNT it ends after so many hand-outs.
 *
 *     cc worker.c -lhiredis -o worker
 *
 * To give it something to do:
 *
 *     redis-cli -p 11300 PUT mails hello IN 2s ATTEMPTS 5 BACKOFF 1s 10m
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

/* The places of a job's facts in the reply of RESERVE. */
enum { ID, LEASE, TUBE, KEY, BODY };

/* The work. A job may be handed out twice, so it must be safe to repeat. */
static bool do_job(const char *body, size_t bytes)
{
    return bytes != strlen("broken") || memcmp(body, "broken", bytes) != 0;
}

/* Ends the program if the server has gone, or says no. */
static redisReply *expect(redisContext *queue, redisReply *reply)
{
    if (reply == NULL || reply->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "worker: %s\n", reply == NULL ? queue->errstr : reply->str);
        exit(1);
    }
    return reply;
}

static void finish(redisContext *queue, redisReply **job)
{
    bool is_done = do_job(job[BODY]->str, job[BODY]->len);

    freeReplyObject(expect(queue, redisCommand(queue, "%s %lld %s", is_done ? "ACK" : "NACK",
                                               job[ID]->integer, job[LEASE]->str)));
    printf("%s %.*s\n", is_done ? "did" : "failed", (int)job[BODY]->len, job[BODY]->str);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int port = argc > 1 ? atoi(argv[1]) : 11300;
    long left = argc > 2 ? atol(argv[2]) : LONG_MAX;
    redisContext *queue = redisConnect("127.0.0.1", port);

    if (queue == NULL || queue->err != 0) {
        fprintf(stderr, "worker: %s\n", queue == NULL ? "no memory" : queue->errstr);
        return 1;
    }
    while (left > 0) {
        redisReply *jobs = expect(
            queue, redisCommand(queue, "RESERVE mails COUNT %ld WAIT 5s", left < 10 ? left : 10));
        for (size_t i = 0; i < jobs->elements; i++)
            finish(queue, jobs->element[i]->element);
        left -= (long)jobs->elements;
        freeReplyObject(jobs);
    }
    redisFree(queue);
    return 0;
}
