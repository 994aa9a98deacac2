#include "page.h"

#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>

#include "../../base/assert.h"

enum { HASH_BYTES = 32, HASH_TEXT_BYTES = 48 };

/* Writes the hash, in base64, of the text between two tags. */
static bool hash_element(const char *page, const char *begin, const char *end,
                         char text[HASH_TEXT_BYTES])
{
    unsigned char hash[HASH_BYTES];
    const char *from = strstr(page, begin);

    if (from == NULL)
        return false;
    from += strlen(begin);
    const char *to = strstr(from, end);
    if (to == NULL || EVP_Digest(from, (size_t)(to - from), hash, NULL, EVP_sha256(), NULL) != 1)
        return false;
    (void)EVP_EncodeBlock((unsigned char *)text, hash, sizeof hash);
    return true;
}

bool elapse__page_policy(const char *page, char policy[ELAPSE__PAGE_POLICY_BYTES])
{
    char script[HASH_TEXT_BYTES];
    char style[HASH_TEXT_BYTES];

    if (!hash_element(page, "<script>", "</script>", script) ||
        !hash_element(page, "<style>", "</style>", style))
        return false;
    int size = snprintf(policy, ELAPSE__PAGE_POLICY_BYTES,
                        "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; "
                        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                        "frame-ancestors 'none'; require-trusted-types-for 'script'",
                        script, style);
    ELAPSE__ASSERT(size > 0 && size < ELAPSE__PAGE_POLICY_BYTES);
    (void)size; /* used only by assertions */
    return true;
}
