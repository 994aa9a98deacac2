/*
 * A job as the server hands it out.
 */
#ifndef ELAPSE_CLI_WORK_HANDED_H
#define ELAPSE_CLI_WORK_HANDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#include "../../protocol/reply_fields.h"

/* A number, or a text and its length: HANDED_TEXT(tube) is `tube` and `tube_length`. */
#define HANDED_NUMBER(field) uint64_t field;
#define HANDED_TEXT(field) \
    const char *field;     \
    size_t field##_length;
#define HANDED_ID                  HANDED_NUMBER
#define HANDED_MOMENT              HANDED_NUMBER
#define HANDED_DURATION            HANDED_NUMBER
#define HANDED_LEASE               HANDED_TEXT
#define HANDED_NAME                HANDED_TEXT /* NULL: none */
#define HANDED_MEMBER(field, kind) HANDED_##kind(field)

/* The fields of the reply: id, lease, tube, key, body, due_ms, attempt, missed, and the headers and
 * the ttr of its details. The texts belong to the reply. */
struct handed {
    ELAPSE__HANDED_FIELDS(HANDED_MEMBER)
    HANDED_NAME(headers)
    HANDED_DURATION(ttr_ms) /* 0: the server does not say */
    bool is_endless;        /* the number of its attempts has no limit */
};

/* Reads a job. Returns false if the reply is no job. */
bool handed_read(const redisReply *reply, struct handed *handed);

#endif
