/*
 * The texts that the clients of the simulation send. Each follows from a number.
 */
#include <string.h>

#include "model_inner.h"

void model_body(const struct model_put *put, uint8_t *bytes)
{
    uint32_t state = put->serial * UINT32_C(2654435761) + 1;
    for (uint32_t i = 0; i < put->body_size; i++) {
        state = state * UINT32_C(1664525) + UINT32_C(1013904223);
        bytes[i] = (uint8_t)(state >> 24);
    }
}

size_t model_headers(const struct model_put *put, uint8_t *bytes)
{
    size_t size = put->serial % 3 == 0 ? 1 + put->serial * 31 % MODEL_HEADERS_MAX : 0;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(put->serial + i);
    return size;
}

size_t model_error(int32_t error, uint8_t *bytes)
{
    size_t size = 1 + (size_t)error * 37 % MODEL_ERROR_MAX;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)((size_t)error + i);
    return size;
}

struct elapse__queue_text model_tube(unsigned number)
{
    static const char *const names[MODEL_TUBES] = {"orders", "mails", "x"};
    return (struct elapse__queue_text){names[number], strlen(names[number])};
}

struct elapse__queue_text model_key(unsigned number)
{
    static const char *const names[MODEL_KEYS] = {"", "order 1", "order 2", "a", "b"};
    return (struct elapse__queue_text){names[number], strlen(names[number])};
}

unsigned model_group_of(const struct model_put *put)
{
    return put->tube == MODEL_TUBES - 1 ? 0 : put->serial % MODEL_GROUPS;
}

struct elapse__queue_text model_group(const struct model_put *put)
{
    static const char *const names[MODEL_GROUPS] = {"", "ann", "bob", "a customer"};
    const char *name = names[model_group_of(put)];
    return (struct elapse__queue_text){name, strlen(name)};
}

struct elapse__queue_text model_token_text(unsigned number)
{
    static const char *const names[MODEL_TOKENS] = {"", "t1", "t2", "t3", "t4", "t5", "t6", "t7"};
    return (struct elapse__queue_text){names[number], strlen(names[number])};
}
