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

#include "../../base/buffer.h"
#include "../../base/json_writer.h"
#include "../../protocol/resp_value.h"
#include "request.h"

/* Appends the command to `command`. Requires an operation that becomes a command. On failure
 * returns false and says why. */
bool elapse__http_translate(const struct elapse__http_request *request,
                            struct elapse__buffer *command, struct elapse__http_fault *fault);

/* Appends the command that begins a connection: HELLO, with a password unless it is NULL. */
bool elapse__http_add_hello(struct elapse__buffer *command, const char *password);

/* How far replies were read that come in pieces. */
struct elapse__http_scan {
    size_t size;   /* of the values that are whole */
    uint64_t left; /* values that have to follow; the caller begins with those that it wants */
    struct elapse__wire_resp_scanner scanner; /* of the next value */
};

/* Goes on to read the bytes, of which `scan->size` were read before. Returns whether all values are
 * there, with all that is in them. */
bool elapse__http_scan(struct elapse__http_scan *scan, const uint8_t *bytes, size_t size);

/* Appends the body of the answer. Requires one whole value. Returns the status. */
int elapse__http_answer(enum elapse__http_operation operation, const uint8_t *bytes, size_t size,
                        struct elapse__json *json);

#endif
