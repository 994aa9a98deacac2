#include "sip_hash.h"

#include <string.h>

#include "assert.h"

struct sip_state {
    uint64_t v[4];
};

static uint64_t rotate_word(uint64_t word, unsigned bits)
{
    ELAPSE__ASSERT_THAT(bits, >, 0);
    ELAPSE__ASSERT_THAT(bits, <, 64);
    return word << bits | word >> (64 - bits);
}

static void stir(struct sip_state *state, unsigned rounds)
{
    uint64_t *v = state->v;
    for (; rounds > 0; rounds--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotate_word(v[1], 13) ^ v[0];
        v[3] = rotate_word(v[3], 16) ^ v[2];
        v[0] = rotate_word(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotate_word(v[1], 17) ^ v[2];
        v[3] = rotate_word(v[3], 21) ^ v[0];
        v[2] = rotate_word(v[2], 32);
    }
}

static struct sip_state sip_begin(const struct elapse__hash_secret *secret)
{
    /* The constants spell "somepseudorandomlygeneratedbytes". */
    return (struct sip_state){{
        secret->low ^ UINT64_C(0x736f6d6570736575),
        secret->high ^ UINT64_C(0x646f72616e646f6d),
        secret->low ^ UINT64_C(0x6c7967656e657261),
        secret->high ^ UINT64_C(0x7465646279746573),
    }};
}

static void absorb_word(struct sip_state *state, uint64_t word, unsigned rounds)
{
    state->v[3] ^= word;
    stir(state, rounds);
    state->v[0] ^= word;
}

static void absorb_bytes(struct sip_state *state, const void *key, size_t key_bytes,
                         unsigned rounds)
{
    const unsigned char *bytes = key;
    size_t left = key_bytes;
    for (; left >= 8; left -= 8, bytes += 8) {
        /* Words have the byte order of the machine, because the hash never leaves the process. */
        uint64_t word;
        memcpy(&word, bytes, sizeof word);
        absorb_word(state, word, rounds);
    }
    ELAPSE__ASSERT_THAT(left, <, 8);
    uint64_t last = (uint64_t)key_bytes << 56;
    for (size_t i = 0; i < left; i++)
        last |= (uint64_t)bytes[i] << (8 * i);
    absorb_word(state, last, rounds);
}

static uint64_t sip_result(const struct sip_state *state)
{
    return state->v[0] ^ state->v[1] ^ state->v[2] ^ state->v[3];
}

uint64_t elapse__sip_hash_64(const struct elapse__hash_secret *secret, const void *key,
                             size_t key_bytes)
{
    struct sip_state state = sip_begin(secret);
    absorb_bytes(&state, key, key_bytes, 1);
    state.v[2] ^= 0xff;
    stir(&state, 3);
    return sip_result(&state);
}

struct elapse__hash_128 elapse__sip_hash_128(const struct elapse__hash_secret *secret,
                                             const void *key, size_t key_bytes)
{
    struct sip_state state = sip_begin(secret);
    state.v[1] ^= 0xee;
    absorb_bytes(&state, key, key_bytes, 2);
    state.v[2] ^= 0xee;
    stir(&state, 4);
    struct elapse__hash_128 hash = {.low = sip_result(&state)};
    state.v[1] ^= 0xdd;
    stir(&state, 4);
    hash.high = sip_result(&state);
    return hash;
}
