/*
 * Tests a signature that OpenSSL refuses to make. An HMAC of this test replaces that of OpenSSL.
 * test_work_hooks.py checks whether signatures are right.
 */

/* Both cmocka and the program have a function of this name. */
#define print_error cmocka_print_error
#undef print_error

#include <openssl/hmac.h>

#include "../../support/test.h"
#include "work/signature.h"

/* The names are those of OpenSSL's header. */
unsigned char *HMAC(const EVP_MD *evp_md, const void *key, int key_len, const unsigned char *data,
                    size_t data_len, unsigned char *md, unsigned *md_len)
{
    (void)evp_md;
    (void)key;
    (void)key_len;
    (void)data;
    (void)data_len;
    (void)md;
    (void)md_len;
    return NULL;
}

TEST(test_nothing_goes_out_unsigned)
{
    char signature[SIGNATURE_BYTES];
    const struct handed handed = {.id = 1, .body = "x", .body_length = 1};

    assert_false(signature_write(signature, "secret", 1, &handed));
}

TEST_MAIN("signature")
