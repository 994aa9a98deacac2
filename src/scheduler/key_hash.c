#include "key_hash.h"

#include <string.h>

#include "../base/assert.h"
#include "../os/os.h"

struct elapse__hash_secret elapse__hash_secret_make(void)
{
    struct elapse__hash_secret secret;
    if (elapse__os->random_bytes(&secret, sizeof secret) == 0)
        return secret;
    /* Shortly after a machine has started there are no random bytes yet. A stranger can hardly
     * guess the time in nanoseconds and an address on the stack. */
    uint64_t now_ns = elapse__os->clock_ns(ELAPSE__OS_WALL_CLOCK);
    secret.low = now_ns * UINT64_C(0x9E3779B97F4A7C15) ^ (uintptr_t)&secret;
    secret.high = now_ns << 20 ^ elapse__os_process_number();
    return secret;
}

struct state {
    uint64_t v[4];
};

static uint64_t rotate(uint64_t word, unsigned bits)
{
    ELAPSE__ASSERT_THAT(bits, >, 0);
    ELAPSE__ASSERT_THAT(bits, <, 64);
    return word << bits | word >> (64 - bits);
}

static void stir(struct state *state)
{
    uint64_t *v = state->v;
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static void absorb(struct state *state, uint64_t word)
{
    state->v[3] ^= word;
    stir(state);
    state->v[0] ^= word;
}

uint64_t elapse__key_hash(const struct elapse__hash_secret *secret, const void *key,
                          size_t key_bytes)
{
    /* The constants spell "somepseudorandomlygeneratedbytes". */
    struct state state = {{
        secret->low ^ UINT64_C(0x736f6d6570736575),
        secret->high ^ UINT64_C(0x646f72616e646f6d),
        secret->low ^ UINT64_C(0x6c7967656e657261),
        secret->high ^ UINT64_C(0x7465646279746573),
    }};
    const unsigned char *bytes = key;
    size_t left = key_bytes;
    for (; left >= 8; left -= 8, bytes += 8) {
        /* Words have the byte order of the machine, because the hash never leaves the process. */
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        absorb(&state, word);
    }
    ELAPSE__ASSERT_THAT(left, <, 8);
    uint64_t last = (uint64_t)key_bytes << 56;
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)bytes[i] << (8 * i);
    absorb(&state, last);
    state.v[2] ^= 0xff;
    for (int round = 0; round < 3; round++)
        stir(&state);
    return state.v[0] ^ state.v[1] ^ state.v[2] ^ state.v[3];
}
