/*
 * Declares a request that is to become a command, and the fault of a request that is refused.
 */
#ifndef ELAPSE__HTTP_REQUEST_H
#define ELAPSE__HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "routes.h"

enum {
    ELAPSE__HTTP_MESSAGE_BYTES = 240,
    ELAPSE__HTTP_ITEMS_MAX = 500, /* keys, ids, tubes or leases of one request */
    ELAPSE__HTTP_COUNT_MAX = 500, /* jobs of one reply; RESP has more, because JSON takes longer */
};

struct elapse__http_request {
    struct elapse__http_route route;
    const char *query; /* as it came, without the '?'; NULL: none */
    const char *body;
    size_t body_bytes;
    uint32_t body_bytes_max; /* of a job's body */
};

struct elapse__http_fault {
    int status;
    const char *code;
    char message[ELAPSE__HTTP_MESSAGE_BYTES]; /* ASCII */
};

/* Fill the fault, and return false. `name` is the member at fault, or empty. Both texts may come
 * from the request, so they are cut, and each byte that is not printable ASCII becomes '?'. */
bool elapse__http_refuse(struct elapse__http_fault *fault, int status, const char *code,
                         const char *name, const char *text);
bool elapse__http_refuse_value(struct elapse__http_fault *fault, const char *name,
                               const char *text);
bool elapse__http_refuse_memory(struct elapse__http_fault *fault);

#endif
