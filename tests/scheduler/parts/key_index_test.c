/*
 * Compares the index of keys with an array that says which of the keys are in it. The hashes are
 * made up, and many of them are equal.
 */
#include "part.h"

#include "key_index.h"

enum { KEYS = 20000 };

/* The model: a key's bytes are its number, and `key` is NULL while it is not there. */
struct model {
    struct elapse__key_index index;
    struct counting_memory counting;
    struct elapse_allocator memory;
    struct elapse__key *key[KEYS];
    uint64_t hash[KEYS];
    size_t count;
};

static struct model model;

/* Makes the model. If `hash_bits` is 64, hashes are as good as random; with few bits, buckets are
 * long, and several keys have one hash. */
static void begin(struct random_source *random, unsigned hash_bits)
{
    memset(&model, 0, sizeof model);
    model.memory = counting_allocator(&model.counting);
    elapse__key_index_init(&model.index);
    for (size_t i = 0; i < KEYS; i++)
        model.hash[i] = random_next(random) >> (64 - hash_bits);
}

static struct elapse__key *find(uint32_t number)
{
    return elapse__key_index_find(&model.index, &number, sizeof number, model.hash[number]);
}

static size_t buckets(void)
{
    return model.index.level + model.index.split;
}

/* Gives the index the segment that it needs for its next insertion. Returns false if it needs none.
 */
static bool grow(void)
{
    size_t wanted = elapse__key_index_segment_needed(&model.index);

    if (wanted == 0)
        return false;
    struct elapse__key_bucket *segment = elapse__key_segment_make(wanted, &model.memory);
    assert_non_null(segment);
    assert_true(elapse__key_index_grow(&model.index, segment, wanted));
    assert_int_equal(elapse__key_index_segment_needed(&model.index), 0);
    return true;
}

static void insert(uint32_t number)
{
    struct elapse__key *key =
        elapse__key_make(&number, sizeof number, model.hash[number], &model.memory);
    size_t before = buckets();

    assert_non_null(key);
    elapse__key_index_insert(&model.index, key);
    model.key[number] = key;
    model.count++;
    assert_in_range(buckets(), before, before + 1);
    assert_int_equal(model.index.count, model.count);
}

static void take_out(uint32_t number)
{
    elapse__key_index_remove(&model.index, model.key[number]);
    elapse__key_release(model.key[number], &model.memory);
    model.key[number] = NULL;
    model.count--;
    assert_int_equal(model.index.count, model.count);
}

static void expect_all_as_the_model_has_them(void)
{
    for (uint32_t number = 0; number < KEYS; number++)
        assert_ptr_equal(find(number), model.key[number]);
}

static void end(void)
{
    for (uint32_t number = 0; number < KEYS; number++)
        if (model.key[number] != NULL)
            take_out(number);
    elapse__key_index_free(&model.index, &model.memory);
    assert_int_equal(model.counting.blocks, 0);
    assert_int_equal(model.counting.bytes, 0);
}

/* ---- random operations ---- */

/* Performs random operations. One segment in `refused_one_in` is refused; 0: none is. */
static void operate(uint64_t seed, unsigned hash_bits, uint64_t refused_one_in)
{
    struct random_source random = {.state = seed};
    uint64_t fullness = 0; /* about how many percent of the keys are to be in the index */

    print_message("seed %llu\n", (unsigned long long)seed);
    begin(&random, hash_bits);
    for (unsigned round = 0; round < 200000; round++) {
        uint32_t number = (uint32_t)random_below(&random, KEYS);

        if (round % 20000 == 0)
            fullness = random_below(&random, 101);
        assert_ptr_equal(find(number), model.key[number]);
        if (model.key[number] != NULL && random_below(&random, 100) >= fullness) {
            take_out(number);
        } else if (model.key[number] == NULL && random_below(&random, 100) < fullness) {
            if (refused_one_in == 0 || !random_one_in(&random, refused_one_in))
                grow();
            insert(number);
        }
        assert_ptr_equal(find(number), model.key[number]);
    }
    expect_all_as_the_model_has_them();
    end();
}

TEST(random_operations_go_as_with_an_array)
{
    operate(11, 64, 0);
    operate(12, 64, 2);
    operate(13, 12, 0);
}

/* Each hash belongs to twenty keys, so only their bytes distinguish them. */
TEST(keys_of_one_hash_are_distinguished)
{
    operate(14, 10, 3);
}

/* ---- growth ---- */

TEST(it_splits_a_bucket_at_a_time_through_several_segments)
{
    struct random_source random = {.state = 21};
    size_t segments = 0;

    begin(&random, 64);
    for (uint32_t number = 0; number < KEYS; number++) {
        segments += grow();
        insert(number);
        /* As many buckets as keys, from the 64 it begins with on. */
        assert_int_equal(buckets(),
                         model.count > ELAPSE__FIRST_BUCKETS ? model.count : ELAPSE__FIRST_BUCKETS);
    }
    /* 64, 64, 128 ... 16384: 32768 in all. */
    assert_int_equal(segments, 9);
    expect_all_as_the_model_has_them();
    end();
}

TEST(without_memory_its_buckets_get_longer)
{
    struct random_source random = {.state = 22};

    begin(&random, 64);
    for (uint32_t number = 0; number < KEYS / 4; number++)
        insert(number);
    assert_int_equal(buckets(), ELAPSE__FIRST_BUCKETS);
    expect_all_as_the_model_has_them();

    /* Once there is memory, it goes on from there: by a bucket for each insertion. */
    for (uint32_t number = KEYS / 4; number < KEYS / 2; number++) {
        size_t before = buckets();

        grow();
        insert(number);
        assert_int_equal(buckets(), before + 1);
    }
    expect_all_as_the_model_has_them();
    end();
}

TEST(a_segment_that_is_there_already_is_refused)
{
    struct random_source random = {.state = 23};

    begin(&random, 64);
    for (uint32_t number = 0; number < ELAPSE__FIRST_BUCKETS; number++)
        insert(number);
    size_t wanted = elapse__key_index_segment_needed(&model.index);
    assert_int_equal(wanted, ELAPSE__FIRST_BUCKETS);
    assert_true(grow());
    insert(ELAPSE__FIRST_BUCKETS);

    struct elapse__key_bucket *second = elapse__key_segment_make(wanted, &model.memory);
    assert_non_null(second);
    assert_false(elapse__key_index_grow(&model.index, second, wanted));
    elapse__release(&model.memory, second, wanted * sizeof *second);
    expect_all_as_the_model_has_them();
    end();
}

TEST(a_key_that_is_put_back_wants_nothing_new)
{
    struct random_source random = {.state = 24};

    begin(&random, 64);
    for (uint32_t number = 0; number < 1000; number++) {
        grow();
        insert(number);
    }
    for (uint32_t number = 0; number < 1000; number++) {
        take_out(number);
        assert_int_equal(elapse__key_index_segment_needed(&model.index), 0);
        insert(number);
    }
    assert_int_equal(buckets(), 1000);
    expect_all_as_the_model_has_them();
    end();
}

TEST(no_memory_is_no_key_and_no_segment)
{
    struct random_source random = {.state = 25};

    begin(&random, 64);
    model.counting.until_refused = 0;
    assert_null(elapse__key_make("key", 3, 1, &model.memory));
    model.counting.until_refused = 0;
    assert_null(elapse__key_segment_make(64, &model.memory));
    elapse__key_release(NULL, &model.memory);
    end();
}

/* ---- keys ---- */

TEST(keys_of_one_hash_may_differ_in_length_alone)
{
    static const char bytes[] = "aaaaaaaa";
    struct random_source random = {.state = 26};
    struct elapse__key *keys[sizeof bytes];

    begin(&random, 64);
    for (size_t length = 0; length < sizeof bytes; length++) {
        assert_null(elapse__key_index_find(&model.index, bytes, length, 7));
        keys[length] = elapse__key_make(bytes, length, 7, &model.memory);
        assert_non_null(keys[length]);
        assert_null(keys[length]->pending);
        assert_null(keys[length]->running);
        elapse__key_index_insert(&model.index, keys[length]);
    }
    for (size_t length = 0; length < sizeof bytes; length++) {
        assert_ptr_equal(elapse__key_index_find(&model.index, bytes, length, 7), keys[length]);
        assert_null(elapse__key_index_find(&model.index, bytes, length, 7 + 64));
    }
    for (size_t length = 0; length < sizeof bytes; length++) {
        elapse__key_index_remove(&model.index, keys[length]);
        elapse__key_release(keys[length], &model.memory);
    }
    end();
}

TEST_MAIN("key index")
