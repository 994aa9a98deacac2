/*
 * Translates requests in JSON to commands of RESP, and replies of RESP to JSON. So only the code
 * that runs commands of RESP decides what a request does.
 *
 *      POST /api/v1/cancel {"tube":"mails","keys":["a","b"]}  -->  CANCEL mails a b
 *      200 {"results":["removed","gone"]}                     <--  ["removed", "gone"]
 *
 * The functions are pure. Whatever bytes a request has, the result is one complete command or a
 * fault.
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

/* Appends the command of an operation with these members, which still belong to the caller. The
 * rest is as in elapse__http_translate. */
bool elapse__http_translate_members(const struct elapse__http_request *request,
                                    enum elapse__http_operation operation, json_t *members,
                                    struct elapse__buffer *command,
                                    enum elapse__http_operation *answered_as,
                                    struct elapse__http_fault *fault);

/* Appends the command to `command`. Stores the operation whose form the answer has. For an array of
 * jobs it is ACK, whose answer is an array. Requires an operation that becomes a command. On
 * failure returns false, and stores why. */
bool elapse__http_translate(const struct elapse__http_request *request,
                            struct elapse__buffer *command,
                            enum elapse__http_operation *answered_as,
                            struct elapse__http_fault *fault);

/* Appends a command without arguments. */
bool elapse__http_add_word(struct elapse__buffer *command, const char *word);

/* Appends HELLO, the command that begins a connection. If `name` has bytes, HELLO gets the name and
 * a password. */
bool elapse__http_add_hello(struct elapse__buffer *command, struct elapse__wire_resp_argument name,
                            struct elapse__wire_resp_argument password);

/* How far replies were read that come in pieces. */
struct elapse__http_scan {
    size_t size;   /* how many bytes the complete values have */
    uint64_t left; /* how many values are missing; the caller sets how many it wants */
    struct elapse__wire_resp_scanner scanner; /* for the next value */
};

/* Continues to read the bytes, of which `scan->size` were read before. Returns whether all values
 * have come, with the values in them. */
bool elapse__http_scan(struct elapse__http_scan *scan, const uint8_t *bytes, size_t size);

/* Appends the body of the answer. Requires one complete value. Returns the status. */
int elapse__http_answer(enum elapse__http_operation operation, const uint8_t *bytes, size_t size,
                        struct elapse__json *json);

#endif
