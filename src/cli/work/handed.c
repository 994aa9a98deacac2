#include "handed.h"

#include "../../base/assert.h"
#include "../client/answer.h"

static uint64_t number_of(const redisReply *value)
{
    ELAPSE__ASSERT(value->type == REDIS_REPLY_INTEGER);
    return value->integer > 0 ? (uint64_t)value->integer : 0;
}

/* Returns whether a value has the type that its kind needs. */
static bool is_of_kind(const redisReply *value, enum elapse__field_kind kind)
{
    switch (kind) {
    case ELAPSE__FIELD_NAME:
        return value->type == REDIS_REPLY_STRING || value->type == REDIS_REPLY_NIL;
    case ELAPSE__FIELD_TEXT:
    case ELAPSE__FIELD_LEASE:
        return value->type == REDIS_REPLY_STRING;
    default:
        return value->type == REDIS_REPLY_INTEGER;
    }
}

/* Takes the headers and the ttr from the details after the fields. `details` is NULL if there are
 * none. */
static void read_details(const redisReply *details, struct handed *handed)
{
    const redisReply *ttr = details != NULL ? answer_member(details, "ttr") : NULL;
    const redisReply *headers = details != NULL ? answer_member(details, "headers") : NULL;
    bool is_there = headers != NULL && headers->type == REDIS_REPLY_STRING;

    handed->ttr_ms = ttr != NULL && ttr->type == REDIS_REPLY_INTEGER ? number_of(ttr) : 0;
    handed->is_endless = details != NULL && answer_member(details, "attempts_left") == NULL;
    handed->headers = is_there ? headers->str : NULL;
    handed->headers_length = is_there ? headers->len : 0;
}

bool handed_read(const redisReply *reply, struct handed *handed)
{
    static const enum elapse__field_kind kinds[] = {
#define KIND(field, kind) ELAPSE__FIELD_##kind,
        ELAPSE__HANDED_FIELDS(KIND)
#undef KIND
    };
    enum { COUNT = sizeof kinds / sizeof kinds[0] };
    redisReply *const *next = reply->element;

    if (reply->type != REDIS_REPLY_ARRAY || reply->elements < COUNT)
        return false;
    for (int i = 0; i < COUNT; i++) {
        if (!is_of_kind(reply->element[i], kinds[i]))
            return false;
    }
#define READ_NUMBER(field) handed->field = number_of(*next++);
#define READ_ID            READ_NUMBER
#define READ_MOMENT        READ_NUMBER
#define READ_DURATION      READ_NUMBER
#define READ_TEXT(field)          \
    handed->field = (*next)->str; \
    handed->field##_length = (*next++)->len;
#define READ_LEASE        READ_TEXT
#define READ_NAME         READ_TEXT /* hiredis has NULL and 0 here for a null */
#define READ(field, kind) READ_##kind(field)
    ELAPSE__HANDED_FIELDS(READ)
    read_details(reply->elements > COUNT ? *next : NULL, handed);
    return true;
}
