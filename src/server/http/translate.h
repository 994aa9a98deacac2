/*
 * Requests of the interface in JSON become commands of RESP, and replies of RESP become JSON. So
 * everything is decided where commands of RESP are run, and nothing twice.
 *
 *      POST /api/v1/cancel {"tube":"mails","keys":["a","b"]}  -->  CANCEL mails a b
 *      200 {"results":["removed","gone"]}                     <--  ["removed", "gone"]
 *
 * Pure functions. Whatever the bytes of a request are, the result is one whole command, or a fault.
 */
#ifndef ELAPSE__HTTP_TRANSLATE_H
#define ELAPSE__HTTP_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../buffer.h"
#include "json_write.h"
#include "routes.h"

enum {
    ELAPSE__HTTP_MESSAGE_BYTES = 240,
    ELAPSE__HTTP_ITEMS_MAX = 500, /* keys, ids, tubes or leases of one request */
    ELAPSE__HTTP_COUNT_MAX = 500, /* jobs of one reply: as JSON they take longer than as RESP */
};

struct elapse__http_request {
    struct elapse__http_route route;
    const char *query; /* as it came, without the '?'; NULL: none */
    const char *body;
    size_t body_bytes;
    uint32_t body_bytes_max; /* of a job */
};

/* Why a request is not run. */
struct elapse__http_fault {
    int status;
    const char *code;
    char message[ELAPSE__HTTP_MESSAGE_BYTES]; /* ASCII */
};

/* Appends the command to `command`. Requires an operation that becomes a command. On failure
 * returns false and says why. */
bool elapse__http_translate(const struct elapse__http_request *request,
                            struct elapse__buffer *command, struct elapse__http_fault *fault);

/* Appends the command that begins a connection: HELLO, with a password unless it is NULL. */
bool elapse__http_add_hello(struct elapse__buffer *command, const char *password);

/* Returns how many bytes the first value takes, with all that is in it; 0: it is not whole. */
size_t elapse__http_value_size(const uint8_t *bytes, size_t size);

/* Appends the body of the answer. Requires one whole value. Returns the status. */
int elapse__http_answer(enum elapse__http_operation operation, const uint8_t *bytes, size_t size,
                        struct elapse__json *json);

#endif
