/*
 * The headers of a web hook. They say what the job is, and have a signature. By the signature the
 * receiver knows that the sender has the secret. No function here has an effect.
 */
#ifndef ELAPSE_CLI_WORK_SIGNATURE_H
#define ELAPSE_CLI_WORK_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/buffer.h"
#include "handed.h"

/* "sha256=" and 64 digits, with a NUL. */
enum { SIGNATURE_BYTES = 7 + 64 + 1 };

/* Signs a request with HMAC-SHA256 of five parts: the time in milliseconds, a point, the job's id,
 * a point, and the body. Returns false if OpenSSL cannot sign, because there is no memory or a
 * policy forbids it. */
bool signature_write(char out[SIGNATURE_BYTES], const char *secret, uint64_t time_ms,
                     const struct handed *handed);

/* Adds the value of a header. Writes '%', and every byte that is not printable ASCII, as %XX. So
 * the bytes of a key cannot begin another header. */
void signature_add_value(struct elapse__buffer *out, const char *text, size_t length);

#endif
