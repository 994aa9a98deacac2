/*
 * Tests the memory of groups. A group that was written gives its memory to the next ones, until the
 * journal has nothing to do.
 */
#include "../../../src/engine/journal/journal.h"
#include "../../support/test.h"
#include "numbered_owner.h"
#include "sim_disk.h"

enum { SEGMENT_BITS = 18, BODY = 900, JOBS_A_ROUND = 12 };

static struct owner owner;
static uint64_t now_ms;
static uint64_t calls; /* of the allocator */
static size_t bytes_in_use;

static void *count_allocate(size_t alignment, size_t bytes, void *context)
{
    (void)context;
    calls++;
    bytes_in_use += bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void count_release(void *memory, size_t bytes, void *context)
{
    (void)context;
    bytes_in_use -= bytes;
    free(memory);
}

static const struct elapse_allocator counting = {count_allocate, count_release, NULL};

static void work(void)
{
    struct elapse__operation operation;
    elapse__journal_tick(owner.journal, now_ms);
    while (elapse__journal_next_operation(owner.journal, ELAPSE__LANE_COMMIT, &operation)) {
        elapse__operation_perform(owner.journal, &operation);
        elapse__journal_completed(owner.journal, ELAPSE__LANE_COMMIT, &operation);
    }
    owner_acknowledge(&owner);
}

/* A group forms while another one is written, as under load. */
static void write_two_groups(void)
{
    struct elapse__operation operation;
    for (unsigned i = 0; i < JOBS_A_ROUND; i++)
        assert_int_equal(owner_put(&owner, BODY, ELAPSE__RECORD_FOR_GROWTH), 0);
    assert_true(elapse__journal_next_operation(owner.journal, ELAPSE__LANE_COMMIT, &operation));
    for (unsigned i = 0; i < JOBS_A_ROUND; i++)
        assert_int_equal(owner_put(&owner, BODY, ELAPSE__RECORD_FOR_GROWTH), 0);
    elapse__operation_perform(owner.journal, &operation);
    elapse__journal_completed(owner.journal, ELAPSE__LANE_COMMIT, &operation);
    work();
}

TEST(groups_use_the_memory_of_those_that_were_written_until_the_journal_rests)
{
    struct elapse__journal_refusal refusal;

    sim_disk_begin(1);
    owner_begin(&owner);
    owner.memory = &counting;
    assert_true(owner_open(&owner, &sim_disk_files, SEGMENT_BITS, 0, &refusal));
    write_two_groups();
    uint64_t calls_of_one_round = calls;
    size_t bytes_of_one_round = bytes_in_use;
    assert_in_range(bytes_of_one_round, 2 * JOBS_A_ROUND * BODY, 8 * JOBS_A_ROUND * BODY);
    for (unsigned round = 0; round < 4; round++)
        write_two_groups();
    assert_int_equal(calls, calls_of_one_round);
    now_ms += ELAPSE__JOURNAL_IDLE_MS;
    work();
    assert_true(elapse__journal_is_quiet(owner.journal));
    assert_in_range(bytes_in_use, 0, bytes_of_one_round / 2);
    elapse__journal_free(owner.journal);
    assert_int_equal(bytes_in_use, 0);
    sim_disk_end();
}

TEST_MAIN("groups")
