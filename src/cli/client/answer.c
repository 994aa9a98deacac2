#include "answer.h"

#include <string.h>

#include "../../base/assert.h"

static const char of_another_command[] = "the reply is not the one of this command";

enum exit_status answer_status_of_error(const char *error)
{
    static const struct {
        const char *code;
        enum exit_status status;
    } codes[] = {
        {"BUSYKEY ", STATUS_TAKEN},
        {"DISKFULL ", STATUS_FULL},
        {"LIMIT ", STATUS_FULL},
        {"OOM ", STATUS_FULL},
        {"DRAINING ", STATUS_FULL},
        {"NOAUTH ", STATUS_NOT_AUTHORISED},
        {"ERR ", STATUS_USAGE},
        {"WRONGPASS ", STATUS_NOT_AUTHORISED},
        {"NOPERM ", STATUS_NOT_AUTHORISED},
        {"TRYAGAIN ", STATUS_NO_SERVER},
        {"UNKNOWN ", STATUS_UNKNOWN},
    };

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (strncmp(error, codes[i].code, strlen(codes[i].code)) == 0)
            return codes[i].status;
    }
    return STATUS_FAILED;
}

enum exit_status answer_status_of_fault(enum connection_fault fault)
{
    switch (fault) {
    case CONNECTION_NOT_AUTHORISED:
        return STATUS_NOT_AUTHORISED;
    case CONNECTION_BROKEN:
        return STATUS_UNKNOWN;
    case CONNECTION_STRANGE:
    case CONNECTION_REFUSED:
        return STATUS_NO_SERVER;
    case CONNECTION_WORKS:
        break;
    }
    ELAPSE__ASSERT(fault == CONNECTION_WORKS);
    return STATUS_OK;
}

enum exit_status answer_join(enum exit_status before, enum exit_status next)
{
    if (before == STATUS_OK || (next == STATUS_UNKNOWN && before != STATUS_UNKNOWN))
        return next;
    return before;
}

bool answer_is_of_older_server(const redisReply *reply)
{
    static const char error[] = "ERR wrong number of arguments for 'kick'";

    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, error, sizeof error - 1) == 0;
}

bool answer_is_text(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STATUS || reply->type == REDIS_REPLY_STRING;
}

bool answer_is_word(const redisReply *reply, const char *word)
{
    return answer_is_text(reply) && reply->len == strlen(word) &&
           memcmp(reply->str, word, reply->len) == 0;
}

bool answer_is_name(const redisReply *reply)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const size_t longest = 64;

    return answer_is_text(reply) && reply->len > 0 && reply->len <= longest &&
           strspn(reply->str, letters) == reply->len;
}

static struct answer failure(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR)
        return (struct answer){.status = STATUS_FAILED, .error = of_another_command};
    return (struct answer){
        .status = answer_status_of_error(reply->str),
        .error = reply->str[0] != '\0' ? reply->str : "the server has refused, and gives no reason",
    };
}

struct answer answer_of_word(const redisReply *reply, bool running_is_well)
{
    if (!answer_is_name(reply))
        return failure(reply);
    struct answer answer = {.word = reply->str};
    if (answer_is_word(reply, "gone"))
        answer.status = STATUS_GONE;
    else if (answer_is_word(reply, "running") && !running_is_well)
        answer.status = STATUS_TAKEN;
    return answer;
}

struct answer answer_of_other(const redisReply *reply, const char *strange)
{
    struct answer answer = answer_of_word(reply, true);

    if (answer.error == NULL)
        answer = (struct answer){.status = STATUS_FAILED, .error = strange};
    ELAPSE__ASSERT(answer.status != STATUS_OK);
    return answer;
}

struct answer answer_to_put(const redisReply *reply, bool keeps)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 ||
        reply->element[0]->type != REDIS_REPLY_INTEGER || reply->element[0]->integer < 0 ||
        !answer_is_name(reply->element[1]))
        return failure(reply);
    const redisReply *word = reply->element[1];
    struct answer answer = {.id = (uint64_t)reply->element[0]->integer, .word = word->str};
    bool is_kept = answer_is_word(word, "kept");
    if (answer_is_word(word, "running") || answer_is_word(word, "buried") || (is_kept && !keeps))
        answer.status = STATUS_TAKEN;
    return answer;
}

const redisReply *answer_member(const redisReply *map, const char *name)
{
    if (map->type != REDIS_REPLY_ARRAY)
        return NULL;
    for (size_t i = 0; i + 1 < map->elements; i += 2) {
        if (answer_is_word(map->element[i], name))
            return map->element[i + 1];
    }
    return NULL;
}

uint64_t answer_number(const redisReply *map, const char *name)
{
    const redisReply *value = answer_member(map, name);

    return value != NULL && value->type == REDIS_REPLY_INTEGER && value->integer > 0
               ? (uint64_t)value->integer
               : 0;
}
