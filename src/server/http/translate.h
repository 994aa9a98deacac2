/*
 * Makes commands of RESP of the requests in JSON, and JSON of the replies of RESP. So only
 * the code that runs commands of RESP decides what a request does.
 *
 *      POST /api/v1/cancel {"tube":"mails","keys":["a","b"]}  -->  CANCEL mails a b
 *      200 {"results":["removed","gone"]}                     <--  ["removed", "gone"]
 *
 * The functions are pure. Whatever the bytes of a request are, the result is one whole command, or
 * a fault.
 */
#ifndef ELAPSE__HTTP_TRANSLATE_H
#define ELAPSE__HTTP_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "../../base/buffer.h"
#include "../../base/json_writer.h"
#include "../../protocol/resp_parse.h"
#include "../../protocol/resp_value.h"
#include "request.h"

/* Appends the command of an operation whose members are these, which stay the caller's; otherwise
 * does what elapse__http_translate does. */
bool elapse__http_translate_members(const struct elapse__http_request *request,
                                    enum elapse__http_operation operation, json_t *members,
                                    struct elapse__buffer *command,
                                    enum elapse__http_operation *answered_as,
                                    struct elapse__http_fault *fault);

/* Appends the command to `command`, and stores the operation whose form the answer has: for an
 * array of jobs that of ACK, an array. Requires an operation that becomes a command. On failure
 * returns false and says why. */
bool elapse__http_translate(const struct elapse__http_request *request,
                            struct elapse__buffer *command,
                            enum elapse__http_operation *answered_as,
                            struct elapse__http_fault *fault);

/* Appends a command without arguments. */
bool elapse__http_add_word(struct elapse__buffer *command, const char *word);

/* Appends the command that begins a connection: HELLO, with a name and a password if the name has
 * bytes. */
bool elapse__http_add_hello(struct elapse__buffer *command, struct elapse__wire_resp_argument name,
                            struct elapse__wire_resp_argument password);

/* How far replies that come in pieces were read. */
struct elapse__http_scan {
    size_t size;   /* of the values that are whole */
    uint64_t left; /* how many values are still to come; the caller sets how many it wants */
    struct elapse__wire_resp_scanner scanner; /* of the next value */
};

/* Goes on to read the bytes, of which `scan->size` were read before. Returns whether all values
 * have come, with the values inside them. */
bool elapse__http_scan(struct elapse__http_scan *scan, const uint8_t *bytes, size_t size);

/* Appends the body of the answer. Requires one whole value. Returns the status. */
int elapse__http_answer(enum elapse__http_operation operation, const uint8_t *bytes, size_t size,
                        struct elapse__json *json);

#endif
