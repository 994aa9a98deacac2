#include "admit.h"

#include <string.h>

#include "../../base/assert.h"

static const struct elapse__wire_resp_argument default_user = {
    .bytes = (const unsigned char *)"default", .size = 7};

bool elapse__password_is_among(const struct elapse__queue_text *passwords, size_t count,
                               struct elapse__wire_resp_argument password)
{
    const uint8_t *given = password.bytes;
    unsigned known = 0;

    /* Each password is compared with all bytes that the client gave. So the time depends on the
     * length of the given password, and on how many passwords there are, but not on how many bytes
     * are right. */
    for (size_t i = 0; i < count; i++) {
        const uint8_t *right = passwords[i].bytes;
        size_t size = passwords[i].size;
        unsigned differs = size != password.size;
        for (size_t at = 0; at < password.size; at++)
            differs |= (unsigned)given[at] ^ (size == 0 ? 1U : right[at % size]);
        known |= differs == 0;
    }
    return known != 0;
}

bool elapse__admit(const struct elapse__keys *keys, struct elapse__wire_resp_argument name,
                   struct elapse__wire_resp_argument password, struct elapse__identity *identity)
{
    bool is_default =
        name.size == default_user.size && memcmp(name.bytes, default_user.bytes, name.size) == 0;
    struct elapse__identity found = {.user = NULL};

    /* The same comparisons are made for every name, so that the time does not tell which users
     * exist. */
    bool is_known =
        elapse__password_is_among(keys->passwords, keys->password_count, password) && is_default;
    bool is_node =
        elapse__password_is_among(keys->node_passwords, keys->node_password_count, password) &&
        is_default;
    if (keys->users != NULL)
        found.user = elapse__users_find(keys->users, name, password, found.digest);
    if (found.user != NULL)
        found.serial = keys->users->serial;
    if (found.user == NULL)
        found = is_node ? elapse__identity_node() : (struct elapse__identity){.user = NULL};
    *identity = found;
    return is_known || is_node || found.user != NULL ||
           (is_default && !elapse__keys_are_needed(keys));
}

bool elapse__admit_token(const struct elapse__keys *keys, const char *token,
                         struct elapse__wire_resp_argument *name,
                         struct elapse__wire_resp_argument *password,
                         struct elapse__identity *identity)
{
    const unsigned char *bytes = (const unsigned char *)token;
    size_t size = strlen(token);
    const unsigned char *colon = memchr(bytes, ':', size);

    ELAPSE__ASSERT_THAT(size, <=, UINT32_MAX);
    *name = default_user;
    *password = (struct elapse__wire_resp_argument){.bytes = bytes, .size = (uint32_t)size};
    if (elapse__admit(keys, *name, *password, identity))
        return true;
    if (colon == NULL)
        return false;
    *name = (struct elapse__wire_resp_argument){.bytes = bytes, .size = (uint32_t)(colon - bytes)};
    *password = (struct elapse__wire_resp_argument){
        .bytes = colon + 1, .size = (uint32_t)(size - (size_t)(colon + 1 - bytes))};
    return elapse__admit(keys, *name, *password, identity);
}
