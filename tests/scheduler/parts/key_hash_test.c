/*
 * Compares the hash of keys with SipHash-1-3 of OpenSSL:
 *
 *     openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f \
 *         -macopt c-rounds:1 -macopt d-rounds:3 -macopt size:8 -in FILE SIPHASH
 */
#include "part.h"

#include "key_hash.h"

static const struct elapse__hash_secret reference_secret = {
    .low = UINT64_C(0x0706050403020100),
    .high = UINT64_C(0x0f0e0d0c0b0a0908),
};

TEST(it_is_siphash_1_3)
{
    /* Hashes of the first `bytes` of the bytes 0, 1, 2 ... OpenSSL prints the bytes of a hash from
     * the lowest on. */
    static const struct {
        size_t bytes;
        uint64_t lowest_byte_first;
    } known[] = {
        {0, UINT64_C(0xDCC40F055801ACAB)},  {1, UINT64_C(0x93CA577DF39BF4C9)},
        {7, UINT64_C(0x4011B19B987D92D3)},  {8, UINT64_C(0x8E9A298D11959036)},
        {9, UINT64_C(0xE43D066CB38EA425)},  {15, UINT64_C(0x5699512A6DD820D3)},
        {16, UINT64_C(0x668B907D1ADD4FCC)}, {63, UINT64_C(0xA8B3BBB76290199D)},
    };
    unsigned char key[64];
    const uint16_t one = 1;

    /* The words of a key are taken in the machine's order: elsewhere it is another hash. */
    if (*(const unsigned char *)&one != 1)
        skip();
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint64_t hash = elapse__key_hash(&reference_secret, key, known[i].bytes);

        assert_int_equal(hash, __builtin_bswap64(known[i].lowest_byte_first));
    }
}

static int by_value(const void *one, const void *other)
{
    uint64_t left = *(const uint64_t *)one;
    uint64_t right = *(const uint64_t *)other;

    return (left > right) - (left < right);
}

TEST(keys_of_nothing_but_zeros_differ_by_their_length)
{
    static const unsigned char zeros[1024];
    uint64_t hashes[1025];

    for (size_t bytes = 0; bytes <= sizeof zeros; bytes++)
        hashes[bytes] = elapse__key_hash(&reference_secret, zeros, bytes);
    qsort(hashes, 1025, sizeof *hashes, by_value);
    for (size_t i = 1; i < 1025; i++)
        assert_int_not_equal(hashes[i - 1], hashes[i]);
}

/* No two of a million hashes are equal. With random hashes of 64 bits the chance of two equal ones
 * would be one in 37 million. */
TEST(a_million_numbers_have_a_million_hashes)
{
    enum { KEYS = 1000000 };
    uint64_t *hashes = malloc(KEYS * sizeof *hashes);

    assert_non_null(hashes);
    for (uint32_t number = 0; number < KEYS; number++)
        hashes[number] = elapse__key_hash(&reference_secret, &number, sizeof number);
    qsort(hashes, KEYS, sizeof *hashes, by_value);
    for (size_t i = 1; i < KEYS; i++)
        assert_int_not_equal(hashes[i - 1], hashes[i]);
    free(hashes);
}

TEST(each_bit_of_key_and_secret_counts)
{
    unsigned char key[21] = "a key of three words";
    uint64_t hash = elapse__key_hash(&reference_secret, key, sizeof key);

    for (size_t bit = 0; bit < 8 * sizeof key; bit++) {
        key[bit / 8] ^= (unsigned char)(1U << bit % 8);
        assert_int_not_equal(elapse__key_hash(&reference_secret, key, sizeof key), hash);
        key[bit / 8] ^= (unsigned char)(1U << bit % 8);
    }
    for (unsigned bit = 0; bit < 64; bit++) {
        struct elapse__hash_secret low = reference_secret;
        struct elapse__hash_secret high = reference_secret;

        low.low ^= UINT64_C(1) << bit;
        high.high ^= UINT64_C(1) << bit;
        assert_int_not_equal(elapse__key_hash(&low, key, sizeof key), hash);
        assert_int_not_equal(elapse__key_hash(&high, key, sizeof key), hash);
    }
}

TEST(where_the_key_lies_does_not_matter)
{
    unsigned char room[8 + 40];
    unsigned char key[40];

    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (unsigned char)(i * 7);
    uint64_t hash = elapse__key_hash(&reference_secret, key, sizeof key);
    for (size_t shift = 0; shift < 8; shift++) {
        memcpy(room + shift, key, sizeof key);
        assert_int_equal(elapse__key_hash(&reference_secret, room + shift, sizeof key), hash);
    }
}

TEST(no_two_secrets_are_the_same)
{
    struct elapse__hash_secret one = elapse__key_secret_make();
    struct elapse__hash_secret other = elapse__key_secret_make();

    assert_true(one.low != other.low || one.high != other.high);
}

TEST_MAIN("key hash")
