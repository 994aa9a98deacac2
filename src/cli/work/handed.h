/*
 * A job as the server hands it out: [id, lease, tube, key, body, due, attempt, missed].
 */
#ifndef ELAPSE_CLI_WORK_HANDED_H
#define ELAPSE_CLI_WORK_HANDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

/* Its texts are those of the reply. */
struct handed {
    uint64_t id;
    const char *lease;
    const char *tube;
    size_t tube_length;
    const char *key; /* NULL: none */
    size_t key_length;
    const char *body;
    size_t body_length;
    uint64_t due_ms;
    uint64_t attempt;
    uint64_t missed;
};

/* Reads a job. Returns false if it is none. */
bool handed_read(const redisReply *reply, struct handed *handed);

#endif
