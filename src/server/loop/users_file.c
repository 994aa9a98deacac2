#include "users_file.h"

#include <stdio.h>
#include <stdlib.h>

#include <openssl/evp.h>

#include "../../base/assert.h"

bool elapse__users_digest(const void *bytes, size_t size,
                          unsigned char digest[ELAPSE__DIGEST_BYTES])
{
    unsigned length = 0;

    if (EVP_Digest(bytes, size, digest, &length, EVP_sha256(), NULL) != 1)
        return false;
    ELAPSE__ASSERT_THAT(length, ==, (unsigned)ELAPSE__DIGEST_BYTES);
    return true;
}

bool elapse__users_file_read(const char *path, uint64_t serial, struct elapse__users_file *file,
                             char fault[ELAPSE__TOKENS_FAULT_BYTES])
{
    struct elapse__users_fault wrong;
    size_t length = 0;

    ELAPSE__ASSERT_THAT(serial, >, 0U);
    *file = (struct elapse__users_file){.users = {.serial = serial, .digest = elapse__users_digest},
                                        .memory = elapse__secrets_read(path, &length, fault)};
    if (file->memory == NULL)
        return false;
    if (elapse__users_parse(&file->users, file->memory, length, &wrong))
        return true;
    if (wrong.line == 0)
        (void)snprintf(fault, ELAPSE__TOKENS_FAULT_BYTES, "%.80s: %.150s", path, wrong.text);
    else
        (void)snprintf(fault, ELAPSE__TOKENS_FAULT_BYTES, "%.80s: line %u: %.150s", path,
                       (unsigned)wrong.line, wrong.text);
    elapse__users_file_free(file);
    return false;
}

void elapse__users_file_free(struct elapse__users_file *file)
{
    elapse__users_free(&file->users);
    free(file->memory);
    file->memory = NULL;
}
