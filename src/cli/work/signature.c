#include "signature.h"

#include <inttypes.h>
#include <string.h>

#include <openssl/hmac.h>

#include "../../base/assert.h"

bool signature_write(char out[SIGNATURE_BYTES], const char *secret, uint64_t time_ms,
                     const struct handed *handed)
{
    static const char prefix[] = "sha256=";
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned length = 0;
    struct elapse__buffer text = {.bytes = NULL};
    char *end = out + strlen(prefix);

    buffer_add_format(&text, "%" PRIu64 ".%" PRIu64 ".", time_ms, handed->id);
    buffer_add(&text, handed->body, handed->body_length);
    bool is_signed = HMAC(EVP_sha256(), secret, (int)strlen(secret), text.bytes, text.end, hash,
                          &length) != NULL;
    elapse__buffer_free(&text);
    if (!is_signed)
        return false;
    ELAPSE__ASSERT_THAT(length, ==, 32U);
    memcpy(out, prefix, sizeof prefix);
    for (unsigned i = 0; i < length; i++) {
        *end++ = digits[hash[i] >> 4];
        *end++ = digits[hash[i] & 15];
    }
    *end = '\0';
    return true;
}

void signature_add_value(struct elapse__buffer *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte > ' ' && byte < 0x7f && byte != '%')
            buffer_add(out, text + i, 1);
        else
            buffer_add_format(out, "%%%02X", byte);
    }
}
