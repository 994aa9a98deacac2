/*
 * Tests of the memory of a queue: how many bytes a job takes, in which steps the memory grows, and
 * what happens when the allocator fails at any one of its calls.
 */
#include "fixture.h"

#include "../base/arena.h"
#include "inner.h"

/* An allocator that counts, and that refuses one call. */
struct counting {
    size_t bytes;
    size_t blocks;
    size_t largest; /* the most bytes that one call asked for */
    uint64_t calls;
    uint64_t refused; /* the number of the call that fails, from 1; 0: none */
};

static void *count_allocate(size_t alignment, size_t bytes, void *context)
{
    struct counting *counting = context;
    if (++counting->calls == counting->refused)
        return NULL;
    counting->bytes += bytes;
    counting->blocks++;
    if (bytes > counting->largest)
        counting->largest = bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void count_release(void *memory, size_t bytes, void *context)
{
    struct counting *counting = context;
    counting->bytes -= bytes;
    counting->blocks--;
    free(memory);
}

/* A sink that accepts all records and keeps none. */
static uint64_t position;

static int take_begin(struct elapse__record_sink *sink, uint64_t bytes,
                      enum elapse__record_purpose purpose)
{
    (void)purpose;
    (void)sink;
    (void)bytes;
    return 0;
}

static uint64_t take_append(struct elapse__record_sink *sink, const struct elapse__record *record)
{
    (void)sink;
    (void)record;
    return position += 64;
}

static uint64_t take_end(struct elapse__record_sink *sink)
{
    (void)sink;
    return position;
}

static void take_live(struct elapse__record_sink *sink, uint64_t where, int64_t change)
{
    (void)sink;
    (void)where;
    (void)change;
}

static struct elapse__record_sink sink_of_nothing = {take_begin, take_append, take_end, take_live};

enum { MANY = 200000 };

/* Puts many jobs. Returns how many hundredths of a byte each of them takes. */
static size_t bytes_a_job(struct elapse__queue_put put_it, bool with_key, uint32_t reserve)
{
    struct counting counting = {0};
    struct elapse_allocator memory = {count_allocate, count_release, &counting};
    struct elapse__queue_options options = {
        .memory = &memory, .sink = &sink_of_nothing, .secret = {3, 4}};
    struct elapse__queue_now now = {1000, 1700000000000};
    struct elapse__queue *queue = elapse__queue_new(&options);
    assert_ok(elapse__queue_replay_done(queue, now, 1));
    size_t before = counting.bytes;
    for (uint32_t i = 0; i < MANY; i++) {
        if (with_key)
            put_it.key = (struct elapse__queue_text){&i, sizeof i};
        assert_int_equal(elapse__queue_put(queue, now, &put_it).result, ELAPSE__QUEUE_SCHEDULED);
    }
    for (uint32_t i = 0; i < reserve; i++) {
        struct elapse__queue_handed handed;
        (void)elapse__queue_reserve_id(queue, now, i + 1, NULL, true, &handed);
    }
    size_t bytes = counting.bytes - before;
    elapse__queue_free(queue);
    assert_int_equal(counting.bytes, 0);
    return bytes * 100 / MANY;
}

QUEUE_TEST(a_job_takes_no_more_memory_than_promised)
{
    struct elapse__queue_put put_it = job("b");
    size_t ready = bytes_a_job(put_it, false, 0);
    put_it.delay_ms = 1000000;
    size_t delayed = bytes_a_job(put_it, false, 0);
    size_t with_key = bytes_a_job(put_it, true, 0);
    size_t handed_out = bytes_a_job(put_it, false, MANY);
    print_message("bytes a job: delayed %.2f, ready %.2f, keyed %.2f, handed out %.2f\n",
                  (double)delayed / 100, (double)ready / 100, (double)with_key / 100,
                  (double)handed_out / 100);
    if (sizeof(void *) != 8)
        skip();
    assert_in_range(delayed, 6400, 7000);
    assert_in_range(ready, 8000, 8800);
    assert_in_range(with_key, 9600, 10000);
    assert_in_range(handed_out, 19200, 20200);
}

/* ---- an arena, as a store has it ---- */

static size_t regions_mapped;

static void *map_regions(size_t bytes, bool is_touched)
{
    (void)is_touched;
    regions_mapped += bytes / ELAPSE__REGION_BYTES;
    void *regions = aligned_alloc(ELAPSE__REGION_BYTES, bytes);
    return regions == NULL ? NULL : memset(regions, 0, bytes);
}

static void unmap_regions(void *regions, size_t bytes)
{
    regions_mapped -= bytes / ELAPSE__REGION_BYTES;
    free(regions);
}

static const struct elapse__region_source regions = {map_regions, unmap_regions};
static struct elapse__arena arena;

static void *allocate_in_arena(size_t alignment, size_t bytes, void *context)
{
    (void)alignment;
    (void)context;
    return elapse__arena_allocate(&arena, &regions, bytes);
}

static void release_in_arena(void *memory, size_t bytes, void *context)
{
    (void)context;
    elapse__arena_release(&arena, &regions, memory, bytes);
}

/* Puts delayed jobs into a queue in an arena. Returns how many bytes its regions have, with the one
 * that a store adds ahead. */
static size_t bytes_of_regions(uint32_t jobs, bool with_key)
{
    struct elapse_allocator memory = {allocate_in_arena, release_in_arena, NULL};
    struct elapse__queue_options options = {
        .memory = &memory, .sink = &sink_of_nothing, .secret = {3, 4}};
    struct elapse__queue_now now = {1000, 1700000000000};
    struct elapse__queue *queue = elapse__queue_new(&options);
    struct elapse__queue_put put_it = job("b");
    assert_ok(elapse__queue_replay_done(queue, now, 1));
    put_it.delay_ms = 1000000;
    for (uint32_t i = 0; i < jobs; i++) {
        if (with_key)
            put_it.key = (struct elapse__queue_text){&i, sizeof i};
        assert_int_equal(elapse__queue_put(queue, now, &put_it).result, ELAPSE__QUEUE_SCHEDULED);
    }
    size_t bytes = (regions_mapped + elapse__arena_is_low(&arena)) * ELAPSE__REGION_BYTES;
    elapse__queue_free(queue);
    assert_int_equal(regions_mapped, 0);
    return bytes;
}

QUEUE_TEST(the_regions_of_many_jobs_are_hardly_larger_than_the_jobs)
{
    enum { FEW = 100000, MILLION = 1000000, MIB = 1 << 20 };
    if (sizeof(void *) != 8)
        skip();
    assert_in_range(bytes_of_regions(FEW, false), 64 * FEW, 70 * FEW + 8 * MIB);
    assert_in_range(bytes_of_regions(FEW, true), 92 * FEW, 100 * FEW + 8 * MIB);
    assert_in_range(bytes_of_regions(MILLION, false), 64 * MILLION, 70 * MILLION / 20 * 21);
}

/* Returns the bytes that are in use, with those that malloc adds to a block. */
static size_t all_bytes(const struct counting *counting)
{
    return counting->bytes + counting->blocks * 2 * sizeof(void *);
}

/* Puts a job into the tube of this number, whose name has 50 bytes. Returns the id. */
static uint64_t put_into(struct elapse__queue *queue, struct elapse__queue_now now, uint32_t number,
                         uint64_t delay_ms)
{
    char name[51];
    struct elapse__queue_put put_it = job("b");
    (void)snprintf(name, sizeof name, "%050u", (unsigned)number);
    put_it.tube = text(name);
    put_it.delay_ms = delay_ms;
    struct elapse__queue_answer answer = elapse__queue_put(queue, now, &put_it);
    assert_int_equal(answer.result, ELAPSE__QUEUE_SCHEDULED);
    return answer.id;
}

QUEUE_TEST(a_tube_with_a_delayed_job_takes_no_more_memory_than_promised)
{
    enum { TUBES = 20000, BACKLOG = 3000 };
    struct counting counting = {0};
    struct elapse_allocator memory = {count_allocate, count_release, &counting};
    struct elapse__queue_options options = {
        .memory = &memory, .sink = &sink_of_nothing, .secret = {3, 4}};
    struct elapse__queue_now now = {1000, 1700000000000};
    struct elapse__queue *queue = elapse__queue_new(&options);
    assert_ok(elapse__queue_replay_done(queue, now, 1));
    size_t before = all_bytes(&counting);
    for (uint32_t i = 0; i < TUBES; i++)
        put_into(queue, now, i, 3600000);
    size_t fresh = (all_bytes(&counting) - before) / TUBES;
    /* A tube that had ready jobs, few or many, takes no more either. */
    for (uint32_t i = 0; i < TUBES; i++) {
        uint64_t first = put_into(queue, now, i, 0);
        for (uint32_t more = 1; i % 1000 == 0 && more < BACKLOG; more++)
            put_into(queue, now, i, 0);
        for (uint64_t id = first; id <= elapse__queue_last_id(queue); id++)
            assert_int_equal(elapse__queue_cancel_id(queue, now, id).result, ELAPSE__QUEUE_REMOVED);
    }
    size_t used = (all_bytes(&counting) - before) / TUBES;
    print_message("bytes a tube: %zu, and %zu once it had ready jobs\n", fresh, used);
    if (sizeof(void *) == 8) {
        assert_in_range(fresh, 500, 600);
        assert_in_range(used, 500, 600);
    }
    elapse__queue_free(queue);
    assert_int_equal(counting.blocks, 0);
}

enum { GROUPS = 20000, INSIDE = 4 };

/* Puts a job into the tube "t"; and there into a group whose name has 40 bytes, if `is_grouped`. */
static void put_into_group(struct elapse__queue *queue, struct elapse__queue_now now,
                           uint32_t number, bool is_grouped)
{
    char name[41];
    struct elapse__queue_put put_it = job("b");
    (void)snprintf(name, sizeof name, "%040u", (unsigned)number);
    if (is_grouped)
        put_it.group = text(name);
    assert_int_equal(elapse__queue_put(queue, now, &put_it).result, ELAPSE__QUEUE_SCHEDULED);
}

/* Puts four ready jobs of each of many groups, or as many jobs without a group. Returns how many
 * bytes that takes. Then `*after` is what is left when these jobs and more have ended. */
static size_t bytes_of_groups(bool is_grouped, size_t *after)
{
    struct counting counting = {0};
    struct elapse_allocator memory = {count_allocate, count_release, &counting};
    struct elapse__queue_options options = {
        .memory = &memory, .sink = &sink_of_nothing, .secret = {3, 4}};
    struct elapse__queue_now now = {1000, 1700000000000};
    struct elapse__queue *queue = elapse__queue_new(&options);
    assert_ok(elapse__queue_replay_done(queue, now, 1));
    for (uint32_t i = 0; i < INSIDE * GROUPS; i++)
        put_into_group(queue, now, i % GROUPS, is_grouped);
    size_t bytes = all_bytes(&counting);
    for (uint32_t i = 0; i < GROUPS; i++)
        put_into_group(queue, now, i, is_grouped);
    for (uint64_t id = 1; id <= elapse__queue_last_id(queue); id++)
        (void)elapse__queue_cancel_id(queue, now, id);
    *after = all_bytes(&counting);
    elapse__queue_free(queue);
    assert_int_equal(counting.blocks, 0);
    return bytes;
}

QUEUE_TEST(a_group_takes_no_more_memory_than_promised)
{
    enum { IN_HEAP = INSIDE * sizeof(struct elapse__queue_heap_item) };
    size_t plain_after = 0, after = 0;
    size_t plain = bytes_of_groups(false, &plain_after);
    size_t bytes = (bytes_of_groups(true, &after) + GROUPS * IN_HEAP - plain) / GROUPS;
    print_message("bytes a group: %zu, and its jobs %u less; once it has ended: %zu\n", bytes,
                  (unsigned)IN_HEAP, (after - plain_after) / GROUPS);
    if (sizeof(void *) == 8)
        assert_in_range(bytes, 100, 160);
    /* The table of numbers stays, for the next groups and tubes. */
    assert_in_range(after - plain_after, 0, 20 * GROUPS);
}

enum { ROUND = 50000 };

/* Puts many jobs: delayed ones, ones with keys, and some that are handed out. Returns the bytes
 * that are then in use. Ends all of the jobs. */
static size_t bytes_of_a_round(struct elapse__queue *queue, struct elapse__queue_now now,
                               const struct counting *counting)
{
    struct elapse__queue_put put_it = job("b");
    for (uint32_t i = 0; i < ROUND; i++) {
        put_it.key = i % 2 == 0 ? (struct elapse__queue_text){&i, sizeof i} : text("");
        put_it.delay_ms = i % 4 == 0 ? 0 : 1000000;
        uint64_t id = elapse__queue_put(queue, now, &put_it).id;
        struct elapse__queue_handed handed;
        if (i % 3 == 0)
            assert_ok(elapse__queue_reserve_id(queue, now, id, NULL, true, &handed).result);
        if (i % 6 == 0)
            assert_ok(elapse__queue_nack_in(queue, now, holder(&handed), 1000000).result);
    }
    size_t bytes = counting->bytes;
    uint64_t last = elapse__queue_last_id(queue);
    for (uint64_t id = last - ROUND + 1; id <= last; id++)
        (void)elapse__queue_cancel_id(queue, now, id);
    return bytes;
}

QUEUE_TEST(jobs_use_the_memory_of_those_that_have_ended)
{
    struct counting counting = {0};
    struct elapse_allocator memory = {count_allocate, count_release, &counting};
    struct elapse__queue_options options = {
        .memory = &memory, .sink = &sink_of_nothing, .secret = {3, 4}};
    struct elapse__queue_now now = {1000, 1700000000000};
    struct elapse__queue *queue = elapse__queue_new(&options);
    assert_ok(elapse__queue_replay_done(queue, now, 1));
    size_t first = bytes_of_a_round(queue, now, &counting);
    for (unsigned round = 0; round < 2; round++) {
        /* The leases of cancelled jobs end. */
        now.boot_ms += 20000;
        now.wall_ms += 20000;
        while (elapse__queue_turn(queue, now).more)
            ;
        assert_int_equal(elapse__queue_jobs(queue), 0);
        assert_true(bytes_of_a_round(queue, now, &counting) <= first);
    }
    elapse__queue_free(queue);
    assert_int_equal(counting.blocks, 0);
}

QUEUE_TEST(no_call_allocates_or_moves_much)
{
    struct counting counting = {0};
    struct elapse_allocator memory = {count_allocate, count_release, &counting};
    struct elapse__queue_options options = {
        .memory = &memory, .sink = &sink_of_nothing, .secret = {3, 4}};
    struct elapse__queue_now now = {1000, 1700000000000};
    struct elapse__queue *queue = elapse__queue_new(&options);
    assert_ok(elapse__queue_replay_done(queue, now, 1));
    struct elapse__queue_put put_it = job("b");
    counting.largest = 0;
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t calls = counting.calls;
        put_it.key = (struct elapse__queue_text){&i, sizeof i};
        (void)elapse__queue_put(queue, now, &put_it);
        assert_true(counting.calls - calls <= 24);
    }
    /* The largest allocation is a block of entries: no table was ever copied as a whole. */
    assert_int_equal(counting.largest, sizeof(struct elapse__queue_block));
    for (uint64_t id = 1; id <= MANY; id++)
        (void)elapse__queue_cancel_id(queue, now, id);
    assert_int_equal(elapse__queue_check(queue), 0);
    elapse__queue_free(queue);
}

/* ---- asking for memory ---- */

static void fetch_all(const struct elapse__queue *queue)
{
    struct elapse__queue_sought sought[] = {
        {.id = 1},          {.id = 2},
        {.id = 3},          {.id = ELAPSE__QUEUE_ID_MAX},
        {.id = UINT64_MAX}, elapse__queue_seek_key(queue, text("t"), text("k")),
        {.hash = 7},        elapse__queue_seek_key(queue, text("t"), text("no such key")),
        {.id = 0},          elapse__queue_seek_key(queue, text(""), text("")),
    };
    for (unsigned step = 0; step < ELAPSE__QUEUE_FETCH_STEPS; step++)
        for (size_t i = 0; i < sizeof sought / sizeof *sought; i++)
            elapse__queue_fetch(queue, &sought[i], (enum elapse__queue_fetch_step)step);
}

/* Asking for memory has no effect, whatever state a job is in, and if it does not exist. */
QUEUE_TEST(memory_that_is_asked_for_changes_nothing)
{
    fetch_all(f->queue);
    (void)put(f, job("b"), ELAPSE__QUEUE_SCHEDULED);
    (void)put(f, keyed("k", ELAPSE__QUEUE_FAIL), ELAPSE__QUEUE_SCHEDULED);
    for (int state = 0; state < 3; state++) {
        struct elapse__queue before = *f->queue;
        fetch_all(f->queue);
        assert_memory_equal(&before, f->queue, sizeof before);
        assert_int_equal(elapse__queue_check(f->queue), 0);
        if (state == 0)
            (void)take(f);
        else
            (void)elapse__queue_cancel_id(f->queue, f->now, 2);
    }
}

/* ---- the index alone ---- */

static uint32_t links[70000];

static uint32_t *test_link(void *owner, uint32_t item)
{
    (void)owner;
    return &links[item];
}

static uint64_t test_hash(void *owner, uint32_t item)
{
    (void)owner;
    uint64_t hash = item * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 31;
}

QUEUE_TEST(an_insertion_moves_a_handful_of_links)
{
    static const struct elapse__queue_index_owner calls = {test_link, test_hash};
    struct elapse_allocator memory = elapse__default_allocator();
    struct elapse__queue_index index;
    uint32_t most = 0;
    elapse__queue_index_init(&index, &calls, NULL);
    assert_true(elapse__queue_index_prepare(&index, &memory));
    for (uint32_t item = 1; item < 70000; item++) {
        elapse__queue_index_insert(&index, item, &memory);
        most = index.moved > most ? index.moved : most;
    }
    assert_true(elapse__queue_index_check(&index));
    assert_in_range(most, 4, 24);
    most = 0;
    for (uint32_t item = 1; item < 70000; item++) {
        assert_int_equal(elapse__queue_index_first(&index, test_hash(NULL, item)) != 0, 1);
        elapse__queue_index_remove(&index, item, &memory);
        most = index.moved > most ? index.moved : most;
        if (item % 10000 == 0)
            assert_true(elapse__queue_index_check(&index));
    }
    assert_in_range(most, 1, 24);
    assert_int_equal(index.level, 64);
    elapse__queue_index_free(&index, &memory);
}

/* ---- no memory ---- */

/* Runs all kinds of commands. Commands may return errors; crashes and leaks are faults. */
static void run_commands(struct elapse__queue *queue, struct elapse__queue_now now)
{
    struct elapse__queue_put with_all = keyed("k", ELAPSE__QUEUE_REPLACE);
    with_all.tag = text("tag");
    with_all.token = text("token");
    with_all.expire_ms = 100;
    (void)elapse__queue_put(queue, now, &with_all);
    struct elapse__queue_put every = job("b");
    every.when = ELAPSE__QUEUE_EVERY;
    every.period_ms = 10;
    (void)elapse__queue_put(queue, now, &every);
    struct elapse__queue_put plain = job("b");
    plain.delay_ms = 5;
    for (int i = 0; i < 10; i++) {
        plain.ttr_ms++;
        (void)elapse__queue_put(queue, now, &plain);
    }
    now.boot_ms += 10;
    now.wall_ms += 10;
    (void)elapse__queue_turn(queue, now);
    struct elapse__queue_text tube = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &tube, .tube_count = 1, .count = 5, .begin = true};
    struct elapse__queue_handed handed[5];
    uint32_t count = 0;
    (void)elapse__queue_reserve(queue, now, &reserve, handed, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (i % 2 == 0)
            (void)elapse__queue_nack(queue, now, holder(&handed[i]));
        else
            (void)elapse__queue_bury(queue, now, holder(&handed[i]), NULL);
    }
    for (uint64_t id = 1; id < 8; id++)
        (void)elapse__queue_kick_id(queue, now, id);
    (void)elapse__queue_put(queue, now, &plain);
    struct elapse__queue_kick kick = {.tube = text("t"), .wanted = 100};
    while (elapse__queue_kick(queue, now, &kick) == ELAPSE__QUEUE_KEPT)
        ;
    elapse__queue_kick_end(queue, &kick);
    (void)elapse__queue_tube_hold(queue, text("held"));
    now.boot_ms += 200;
    now.wall_ms += 200;
    while (elapse__queue_turn(queue, now).more)
        ;
}

QUEUE_TEST(an_allocator_that_fails_at_any_call_breaks_nothing)
{
    uint64_t failed = 0;
    for (uint64_t refused = 1;; refused++) {
        struct counting counting = {.refused = refused};
        struct elapse_allocator memory = {count_allocate, count_release, &counting};
        struct elapse__queue_options options = f->options;
        struct log log;
        log_init(&log);
        options.memory = &memory;
        options.sink = &log.sink;
        struct elapse__queue *queue = elapse__queue_new(&options);
        if (queue != NULL) {
            assert_ok(elapse__queue_replay_done(queue, f->now, 1));
            run_commands(queue, f->now);
            struct elapse__queue_now later = {f->now.boot_ms + 210, f->now.wall_ms + 210};
            assert_int_equal(elapse__queue_check(queue), 0);
            f->log.refusals = 0;
            struct elapse__queue_turned turned = elapse__queue_turn(queue, later);
            assert_false(turned.more);
            assert_int_equal(elapse__queue_check(queue), 0);
            elapse__queue_free(queue);
        }
        log_free(&log);
        assert_int_equal(counting.bytes, 0);
        failed += counting.calls >= refused;
        if (counting.calls < refused)
            break;
    }
    assert_true(failed > 20);
}

QUEUE_TEST(a_replay_without_memory_can_be_seen)
{
    put(f, keyed("k", ELAPSE__QUEUE_FAIL), ELAPSE__QUEUE_SCHEDULED);
    take(f);
    for (uint64_t refused = 2;; refused++) {
        struct counting counting = {.refused = refused};
        struct elapse_allocator memory = {count_allocate, count_release, &counting};
        struct elapse__queue_options options = f->options;
        options.memory = &memory;
        options.sink = &sink_of_nothing;
        struct elapse__queue *queue = elapse__queue_new(&options);
        assert_non_null(queue);
        enum elapse__queue_result result = log_replay(&f->log, queue);
        elapse__queue_free(queue);
        assert_int_equal(counting.bytes, 0);
        if (counting.calls < refused) {
            assert_ok(result);
            return;
        }
        assert_int_equal(result, ELAPSE__QUEUE_NO_MEMORY);
    }
}

TEST_MAIN("memory")
