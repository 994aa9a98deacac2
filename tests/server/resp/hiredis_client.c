/*
 * hiredis-client PORT: tests a server with a client that uses the library hiredis.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

static void require(int holds, const char *text)
{
    if (!holds) {
        fprintf(stderr, "hiredis-client: it does not hold that %s\n", text);
        exit(1);
    }
}

#define REQUIRE(condition) require(condition, #condition)

static redisReply *ask(redisContext *context, const char *command)
{
    redisReply *reply = redisCommand(context, command);
    require(reply != NULL, command);
    return reply;
}

static void put_and_look(redisContext *context)
{
    redisReply *reply = redisCommand(context, "PUT t %b KEY k", "a\0b", (size_t)3);
    REQUIRE(reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2);
    REQUIRE(reply->element[0]->type == REDIS_REPLY_INTEGER && reply->element[0]->integer > 0);
    REQUIRE(reply->element[1]->type == REDIS_REPLY_STATUS);
    freeReplyObject(reply);

    reply = ask(context, "LOOKUP t k");
    /* A map may have more names in a later version, so its values are found by their names. */
    REQUIRE(reply->type == REDIS_REPLY_ARRAY && reply->elements % 2 == 0);
    const redisReply *body = NULL;
    for (size_t i = 0; i < reply->elements; i += 2)
        if (strcmp(reply->element[i]->str, "body") == 0)
            body = reply->element[i + 1];
    REQUIRE(body != NULL && body->len == 3 && memcmp(body->str, "a\0b", 3) == 0);
    freeReplyObject(reply);
    reply = ask(context, "LOOKUP t other");
    REQUIRE(reply->type == REDIS_REPLY_NIL);
    freeReplyObject(reply);
    reply = ask(context, "NOTHING");
    REQUIRE(reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "ERR ", 4) == 0);
    freeReplyObject(reply);
}

static void pipelined(redisContext *context)
{
    enum { JOBS = 1000 };
    redisReply *reply = NULL;

    for (int i = 0; i < JOBS; i++)
        REQUIRE(redisAppendCommand(context, "PUT many %d", i) == REDIS_OK);
    for (int i = 0; i < JOBS; i++) {
        REQUIRE(redisGetReply(context, (void **)&reply) == REDIS_OK);
        REQUIRE(reply->type == REDIS_REPLY_ARRAY);
        freeReplyObject(reply);
    }
    size_t jobs = 0;
    while (jobs < JOBS) {
        reply = ask(context, "RESERVE many COUNT 1000 WAIT 5s");
        REQUIRE(reply->type == REDIS_REPLY_ARRAY && reply->elements > 0);
        jobs += reply->elements;
        freeReplyObject(reply);
    }
    REQUIRE(jobs == JOBS);
}

int main(int argc, char **argv)
{
    redisContext *context = redisConnect("127.0.0.1", argc > 1 ? atoi(argv[1]) : 0);

    REQUIRE(context != NULL && context->err == 0);
    put_and_look(context);
    pipelined(context);
    redisFree(context);
    return 0;
}
