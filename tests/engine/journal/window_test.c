/*
 * Tests that open reads the segments below the head through a window that is smaller than a
 * segment. Some records lie across the end of the window. Bodies that are longer than the window
 * must not be read.
 */
#include "../../../src/engine/journal/walk.h"
#include "../../support/test.h"
#include "numbered_owner.h"
#include "sim_disk.h"

enum { SEGMENT_BITS = 21, SEGMENT = 1 << SEGMENT_BITS, LONG_BODY = 900000 };

static struct owner owner;
static struct elapse__files files; /* of the simulated disk, counted */
static uint64_t bytes_read;

static int read_at(int file, uint64_t offset, void *bytes, size_t count, size_t *done)
{
    int error = sim_disk_files.read_at(file, offset, bytes, count, done);
    bytes_read += *done;
    return error;
}

static void open_journal(void)
{
    struct elapse__journal_refusal refusal;
    bytes_read = 0;
    assert_true(owner_open(&owner, &files, SEGMENT_BITS, 0, &refusal));
}

static int begin(void **state)
{
    (void)state;
    sim_disk_begin(1);
    files = sim_disk_files;
    files.read_at = read_at;
    owner_begin(&owner);
    open_journal();
    return 0;
}

static int end(void **state)
{
    (void)state;
    elapse__journal_free(owner.journal);
    sim_disk_end();
    return 0;
}

/* The process ends, and the next one has everything. */
static void reopen(void)
{
    elapse__journal_free(owner.journal);
    sim_disk_end_process();
    open_journal();
    assert_null(owner.broken);
    assert_true(owner_matches(&owner, owner.acknowledged));
    assert_null(owner_read_all(&owner));
}

static uint32_t random_size(void)
{
    return (uint32_t)(sim_disk_random() % (sim_disk_random() % 8 == 0 ? 20000 : 700));
}

TEST_WITH(records_lie_across_the_end_of_the_window, begin, end)
{
    while (owner.live_bytes < 3 * (uint64_t)SEGMENT)
        assert_int_equal(owner_put_durably(&owner, random_size()), 0);
    reopen();
}

/* Only where a window or a segment begins, one may come that nobody has announced. */
TEST_WITH(the_owner_hears_of_records_before_they_come, begin, end)
{
    for (unsigned i = 0; i < 10000; i++)
        assert_int_equal(owner_put_durably(&owner, 300), 0);
    reopen();
    assert_true(owner.live_bytes > SEGMENT);
    assert_int_equal(owner.replayed, 10000);
    assert_true(owner.heard * 100 >= owner.replayed * 95);
    assert_true(owner.heard_twice * 100 >= owner.replayed * 95);
}

TEST_WITH(bodies_longer_than_the_window_are_not_read, begin, end)
{
    struct elapse__journal_figures figures;
    for (unsigned i = 0; i < 11; i++)
        assert_int_equal(owner_put_durably(&owner, LONG_BODY), 0);
    elapse__journal_free(owner.journal);
    sim_disk_end_process();
    open_journal();
    uint64_t for_open = bytes_read;
    assert_true(owner_matches(&owner, owner.acknowledged));
    assert_null(owner_read_all(&owner));
    elapse__journal_figures(owner.journal, &figures);
    assert_true(figures.log_bytes >= 5 * (uint64_t)SEGMENT);
    /* The head is read whole; two bodies fit into a segment. */
    assert_true(for_open <= figures.log_bytes / 2 + 2 * (uint64_t)SEGMENT);
}

TEST_MAIN("window")
