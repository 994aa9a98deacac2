#include "key_hash.h"

#include "../os/os.h"

struct elapse__hash_secret elapse__key_secret_make(void)
{
    struct elapse__hash_secret secret;
    if (elapse__os->random_bytes(&secret, sizeof secret) == 0)
        return secret;
    /* Shortly after a machine has started, the system may have no random bytes to give. Then the
     * secret is made of the time in nanoseconds and an address on the stack, which a stranger can
     * hardly guess. */
    uint64_t now_ns = elapse__os->clock_ns(ELAPSE__OS_WALL_CLOCK);
    secret.low = now_ns * UINT64_C(0x9E3779B97F4A7C15) ^ (uintptr_t)&secret;
    secret.high = now_ns << 20 ^ elapse__os_process_number();
    return secret;
}

uint64_t elapse__key_hash(const struct elapse__hash_secret *secret, const void *key,
                          size_t key_bytes)
{
    return elapse__sip_hash_64(secret, key, key_bytes);
}
