#include "handed.h"

#include "../../base/assert.h"

static uint64_t number_of(const redisReply *value)
{
    ELAPSE__ASSERT(value->type == REDIS_REPLY_INTEGER);
    return value->integer > 0 ? (uint64_t)value->integer : 0;
}

bool handed_read(const redisReply *reply, struct handed *handed)
{
    enum { ID, LEASE, TUBE, KEY, BODY, DUE, ATTEMPT, MISSED, COUNT };
    static const int types[COUNT] = {
        [ID] = REDIS_REPLY_INTEGER,      [LEASE] = REDIS_REPLY_STRING,
        [TUBE] = REDIS_REPLY_STRING,     [KEY] = REDIS_REPLY_STRING,
        [BODY] = REDIS_REPLY_STRING,     [DUE] = REDIS_REPLY_INTEGER,
        [ATTEMPT] = REDIS_REPLY_INTEGER, [MISSED] = REDIS_REPLY_INTEGER,
    };

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < COUNT)
        return false;
    for (int i = 0; i < COUNT; i++) {
        bool is_no_key = i == KEY && reply->element[i]->type == REDIS_REPLY_NIL;
        if (reply->element[i]->type != types[i] && !is_no_key)
            return false;
    }
    const redisReply *key = reply->element[KEY];
    *handed = (struct handed){
        .id = number_of(reply->element[ID]),
        .lease = reply->element[LEASE]->str,
        .tube = reply->element[TUBE]->str,
        .tube_length = reply->element[TUBE]->len,
        .key = key->type == REDIS_REPLY_NIL ? NULL : key->str,
        .key_length = key->type == REDIS_REPLY_NIL ? 0 : key->len,
        .body = reply->element[BODY]->str,
        .body_length = reply->element[BODY]->len,
        .due_ms = number_of(reply->element[DUE]),
        .attempt = number_of(reply->element[ATTEMPT]),
        .missed = number_of(reply->element[MISSED]),
    };
    return true;
}
