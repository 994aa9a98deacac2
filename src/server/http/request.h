/*
 * A request that will become a command, and the fault of a request that is refused.
 */
#ifndef ELAPSE__HTTP_REQUEST_H
#define ELAPSE__HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "routes.h"

enum {
    ELAPSE__HTTP_MESSAGE_BYTES = 240,
    ELAPSE__HTTP_ITEMS_MAX = 500, /* the most keys, ids, tubes or leases of one request */
    ELAPSE__HTTP_COUNT_MAX = 500, /* the most jobs of one reply; JSON takes longer than RESP */
};

struct elapse__http_request {
    struct elapse__http_route route;
    const char *query; /* as the client sent it, without the '?'; NULL: no query */
    const char *body;
    size_t body_bytes;
    uint32_t body_bytes_max; /* the longest body of a job */
};

struct elapse__http_fault {
    int status;
    const char *code;
    char message[ELAPSE__HTTP_MESSAGE_BYTES]; /* ASCII */
};

/* These functions fill the fault, and return false. `name` is the wrong member, or empty. Both
 * texts may come from the request. So they are cut, and each byte that is not printable ASCII
 * becomes '?'. */
bool elapse__http_refuse(struct elapse__http_fault *fault, int status, const char *code,
                         const char *name, const char *text);
bool elapse__http_refuse_value(struct elapse__http_fault *fault, const char *name,
                               const char *text);
bool elapse__http_refuse_memory(struct elapse__http_fault *fault);

#endif
