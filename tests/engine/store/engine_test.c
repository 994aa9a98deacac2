/*
 * Tests the engine without a store: records of other journals, and the memory of the queue.
 */
#include <errno.h>

#include "../../../src/engine/jobs.h"
#include "../../../src/os/memory_files.h"
#include "../../../src/queue/fields.h"
#include "../../support/test.h"

/* An allocator that counts, and that refuses calls. */
struct counting {
    size_t bytes;
    unsigned calls;
    unsigned refused; /* the number of the first call that fails, from 1; 0: none does */
};

static void *count_allocate(size_t alignment, size_t bytes, void *context)
{
    struct counting *counting = context;
    counting->calls++;
    if (counting->refused != 0 && counting->calls >= counting->refused)
        return NULL;
    counting->bytes += bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void count_release(void *memory, size_t bytes, void *context)
{
    struct counting *counting = context;
    counting->bytes -= bytes;
    free(memory);
}

static char path[ELAPSE__MEMORY_PATH_BYTES];
static struct elapse__engine engine;

static struct elapse__queue_now now(void)
{
    return (struct elapse__queue_now){.boot_ms = 1000, .wall_ms = 1000};
}

static int set_up(void **state)
{
    (void)state;
    elapse__memory_path(path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    elapse__engine_free(&engine);
    elapse__memory_forget(path);
    return 0;
}

static void open_engine(uint32_t tubes_max, const struct elapse_allocator *memory)
{
    const struct elapse__queue_options options = {.tubes_max = tubes_max, .memory = memory};
    const struct elapse__journal_options journal = {
        .files = &elapse__files_in_memory, .path = path, .segment_bits = 16};
    struct elapse__journal_refusal refusal;
    assert_true(elapse__engine_make_jobs(&engine, now, &options));
    engine.loading = true;
    assert_true(elapse__engine_open_journal(&engine, &journal, &refusal));
}

/* Loads a job of the tube with this name. */
static int load(uint64_t id, const char *tube)
{
    unsigned char bytes[ELAPSE__QUEUE_FIELDS_MAX];
    const struct elapse__queue_fields fields = {
        .id = id,
        .state = ELAPSE__QUEUE_DELAYED,
        .due_ms = 5000,
        .put_ms = 4000,
        .ttr_ms = 1000,
        .tube = {.bytes = tube, .size = strlen(tube)},
    };
    const struct elapse__record record = {
        .type = ELAPSE__RECORD_PUT,
        .fields_size = elapse__queue_fields_encode(&fields, ELAPSE__RECORD_PUT, bytes),
        .fields = bytes,
    };
    int error = EAGAIN;
    while (error == EAGAIN) {
        error = elapse__engine_load(&engine, &record);
        if (error == EAGAIN)
            assert_true(elapse__journal_work(engine.journal));
    }
    return error;
}

/* Closes the queue when all is durable, and opens it with room for all. */
static void reopen(void)
{
    elapse__journal_stop(engine.journal);
    while (elapse__journal_work(engine.journal)) {
    }
    assert_int_equal(elapse__journal_error(engine.journal), 0);
    assert_true(elapse__engine_may_reply(&engine, engine.last_position));
    elapse__engine_free(&engine);
    open_engine(0, NULL);
}

/* The jobs of another journal were put when its limit allowed them. */
TEST_WITH(test_a_load_takes_more_tubes_than_puts_may_make, set_up, tear_down)
{
    open_engine(1, NULL);
    assert_int_equal(load(1, "one"), 0);
    assert_int_equal(load(2, "two"), 0);
    assert_int_equal(load(3, "one"), 0);
    assert_int_equal(elapse__queue_jobs(engine.jobs), 3);
    reopen();
    assert_int_equal(elapse__queue_jobs(engine.jobs), 3);
    assert_int_equal(elapse__queue_last_id(engine.jobs), 3);
}

TEST_WITH(test_a_load_without_memory, set_up, tear_down)
{
    struct counting counting = {.bytes = 0};
    const struct elapse_allocator memory = {count_allocate, count_release, &counting};
    open_engine(0, &memory);
    assert_int_equal(load(1, "one"), 0);
    counting.refused = 1;
    assert_int_equal(load(2, "two"), ENOMEM);
    counting.refused = 0;
    assert_int_equal(load(3, "two"), 0);
    reopen();
    assert_int_equal(elapse__queue_jobs(engine.jobs), 2);
}

/* The allocator is the caller's also after all jobs were forgotten, and without the struct that the
 * options had. */
TEST_WITH(test_the_allocator_stays, set_up, tear_down)
{
    struct counting counting = {.bytes = 0};
    struct elapse_allocator memory = {count_allocate, count_release, &counting};
    open_engine(0, &memory);
    memory = (struct elapse_allocator){.allocate = NULL};
    assert_int_equal(load(1, "one"), 0);
    size_t before = counting.bytes;
    assert_true(before > 0);
    unsigned calls = counting.calls;
    assert_int_equal(elapse__engine_forget(&engine), 0);
    assert_true(counting.calls > calls);
    assert_true(counting.bytes > 0 && counting.bytes < before);
    counting.refused = 1;
    assert_int_equal(elapse__engine_forget(&engine), ENOMEM);
    assert_int_equal(counting.bytes, 0);
}

/* ---- the gate of a hand-out ---- */

static void work(void)
{
    while (elapse__journal_work(engine.journal)) {
    }
}

static struct elapse__queue_text text(const char *bytes)
{
    return (struct elapse__queue_text){bytes, strlen(bytes)};
}

/* Puts a ready job, which expires after so long; 0: never. */
static void put(uint32_t priority, uint64_t expire_ms)
{
    const struct elapse__queue_put put = {.tube = text("t"),
                                          .body = text("b"),
                                          .priority = priority,
                                          .ttr_ms = 1000,
                                          .expire_ms = expire_ms};
    assert_int_equal(elapse__queue_put(engine.jobs, now(), &put).result, ELAPSE__QUEUE_SCHEDULED);
}

/* Opens an engine with four jobs, of which the first and the third have expired, and reserves up to
 * `count` of them in a batch, so that no turn drops the two before. Returns the gate. */
static uint64_t gate_of(uint32_t count)
{
    const struct elapse__queue_now later = {.boot_ms = 1100, .wall_ms = 1100};
    const struct elapse__queue_text tube = text("t");
    const struct elapse__queue_reserve reserve = {.tubes = &tube, .tube_count = 1, .count = count};
    struct elapse__queue_handed handed[2];
    enum elapse__queue_result result;
    uint32_t taken;
    uint64_t gate;
    open_engine(0, NULL);
    engine.loading = false;
    assert_int_equal(elapse__engine_begin_life(&engine), 0);
    work();
    for (uint32_t i = 1; i <= 4; i++)
        put(i, i % 2 == 1 ? 10 : 0);
    work();
    assert_true(elapse__engine_may_reply(&engine, engine.last_position));
    engine.batch = &later;
    assert_true(elapse__engine_take_many(&engine, &reserve, handed, &taken, &result, &gate));
    engine.batch = NULL;
    assert_int_equal(taken, count);
    assert_int_equal(elapse__queue_statistics(engine.jobs).expired, count);
    return gate;
}

/* The hand-out tells that the first job is gone. */
TEST_WITH(test_a_hand_out_waits_for_the_job_that_expired_before_it, set_up, tear_down)
{
    uint64_t gate = gate_of(1);
    assert_false(elapse__engine_may_reply(&engine, gate));
    assert_true(gate < engine.last_position); /* its own lease does not count */
    work();
    assert_true(elapse__engine_may_reply(&engine, gate));
}

TEST_WITH(test_hand_outs_wait_for_the_job_that_expired_between_them, set_up, tear_down)
{
    uint64_t gate = gate_of(2);
    assert_false(elapse__engine_may_reply(&engine, gate));
    work();
    assert_true(elapse__engine_may_reply(&engine, gate));
}

TEST_MAIN("engine")
