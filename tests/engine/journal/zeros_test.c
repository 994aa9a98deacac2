/*
 * Tests how much memory open needs to read all of the head. Most of a head is zeros, for which open
 * needs no memory: it does not write to memory that already has the bytes of the file.
 */
#include <sys/mman.h>

#include "../../../src/engine/journal/journal.h"
#include "../../support/test.h"
#include "numbered_owner.h"
#include "sim_disk.h"

enum { SEGMENT_BITS = 20, SEGMENT = 1 << SEGMENT_BITS, WRITABLE = SEGMENT / 4, JOBS = 20 };

static struct owner owner;

/* Memory for a segment can be written at its beginning alone. */
static void *allocate(size_t alignment, size_t bytes, void *context)
{
    (void)context;
    if (bytes != SEGMENT)
        return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect((char *)memory + WRITABLE, bytes - WRITABLE, PROT_READ), 0);
    return memory;
}

static void release(void *memory, size_t bytes, void *context)
{
    (void)context;
    if (bytes == SEGMENT)
        assert_int_equal(munmap(memory, bytes), 0);
    else
        free(memory);
}

static const struct elapse_allocator mostly_read_only = {allocate, release, NULL};

/* Performs what a lane has to do: the other one makes the spare in which the next life begins. */
static void work(enum elapse__journal_lane lane)
{
    struct elapse__operation operation;
    while (elapse__journal_next_operation(owner.journal, lane, &operation)) {
        elapse__operation_perform(owner.journal, &operation);
        elapse__journal_completed(owner.journal, lane, &operation);
    }
}

TEST(open_writes_no_zeros_over_zeros)
{
    struct elapse__journal_refusal refusal;

    sim_disk_begin(1);
    owner_begin(&owner);
    assert_true(owner_open(&owner, &sim_disk_files, SEGMENT_BITS, 0, &refusal));
    for (unsigned i = 0; i < JOBS; i++)
        assert_int_equal(owner_put(&owner, 900, ELAPSE__RECORD_FOR_GROWTH), 0);
    work(ELAPSE__LANE_BACKGROUND);
    work(ELAPSE__LANE_COMMIT);
    elapse__journal_free(owner.journal);
    sim_disk_end_process();
    owner.memory = &mostly_read_only;
    assert_true(owner_open(&owner, &sim_disk_files, SEGMENT_BITS, 0, &refusal));
    assert_true(owner_matches(&owner, 0));
    assert_int_equal(owner.live_count, JOBS);
    elapse__journal_free(owner.journal);
    sim_disk_end();
}

TEST_MAIN("zeros")
