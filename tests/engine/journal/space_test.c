/*
 * Tests how much space the files take while jobs come and go. After each command the lanes make a
 * fixed number of steps. The test does not wait until all work is done, so cleaning must be fast
 * enough.
 */
#include <errno.h>

#include "../../../src/engine/journal/frame.h"
#include "../../support/test.h"
#include "numbered_owner.h"
#include "sim_disk.h"

enum { SEGMENT_BITS = 14, SEGMENT = 1 << SEGMENT_BITS, BODY = 900, LIVE = 150, STEPS = 7000 };

static struct owner owner;
static uint64_t now_ms;

static void begin(void)
{
    struct elapse__journal_refusal refusal;
    sim_disk_begin(1);
    owner_begin(&owner);
    now_ms = 0;
    assert_true(owner_open(&owner, &sim_disk_files, SEGMENT_BITS, 0, &refusal));
}

static void end(void)
{
    elapse__journal_free(owner.journal);
    sim_disk_end();
}

static bool step(enum elapse__journal_lane lane)
{
    struct elapse__operation operation;
    if (!elapse__journal_next_operation(owner.journal, lane, &operation))
        return false;
    elapse__operation_perform(owner.journal, &operation);
    elapse__journal_completed(owner.journal, lane, &operation);
    return true;
}

/* Each lane makes as many steps, or fewer if it has nothing to do. Returns whether one had. */
static bool work(unsigned steps)
{
    bool worked = false;
    elapse__journal_tick(owner.journal, ++now_ms);
    for (unsigned i = 0; i < steps; i++) {
        worked |= step(ELAPSE__LANE_COMMIT);
        worked |= step(ELAPSE__LANE_BACKGROUND);
    }
    owner_acknowledge(&owner);
    return worked;
}

static void add_size(void *context, const char *name)
{
    size_t size = 0;
    (void)sim_disk_content("data/journal", name, &size);
    *(uint64_t *)context += size;
}

static uint64_t bytes_of_files(void)
{
    uint64_t bytes = 0;
    sim_disk_names("data/journal", add_size, &bytes);
    return bytes;
}

static void run(int command(uint32_t number), uint32_t number, unsigned steps)
{
    int error = EAGAIN;
    for (unsigned tries = 0; error == EAGAIN; tries++) {
        assert_true(tries < 10000);
        bool is_full = elapse__journal_is_full(owner.journal);
        error = is_full ? EAGAIN : command(number);
        (void)work(error == 0 ? steps : 1);
    }
    assert_int_equal(error, 0);
}

static int put(uint32_t number)
{
    (void)number;
    return owner_put(&owner, BODY, ELAPSE__RECORD_FOR_GROWTH);
}

static int change(uint32_t number)
{
    return owner_change(&owner, number, 2);
}

static int delete (uint32_t number)
{
    return owner_delete(&owner, number);
}

/* Replaces random jobs among those that do not stay, one in `stays` being one that does; 0: none.
 * Returns how much the files took beyond twice what lived, in segments, rounded up. */
static uint64_t churn(uint32_t stays, unsigned steps)
{
    uint32_t going[LIVE], count = 0;
    uint64_t most = 0;
    for (uint32_t i = 0; i < LIVE; i++) {
        run(put, 0, 30);
        if (stays == 0 || i % stays != 0)
            going[count++] = owner.job_count;
    }
    while (work(10))
        continue;
    for (unsigned i = 0; i < STEPS; i++) {
        uint32_t *job = &going[sim_disk_random() % count];
        run(delete, *job, steps);
        run(put, 0, steps);
        *job = owner.job_count;
        uint64_t files = bytes_of_files();
        uint64_t twice = 2 * owner.live_bytes;
        if (files > twice && files - twice > most)
            most = files - twice;
    }
    return (most + SEGMENT - 1) / SEGMENT;
}

static void expect_at_most(uint32_t stays, unsigned steps, uint64_t segments)
{
    begin();
    assert_true(churn(stays, steps) <= segments);
    end();
}

TEST(steady_churn_takes_four_segments_more)
{
    expect_at_most(0, 3, 4);
    expect_at_most(0, 30, 4);
}

TEST(jobs_that_stay_take_no_more)
{
    expect_at_most(2, 3, 4);
    expect_at_most(2, 30, 4);
    expect_at_most(10, 3, 4);
}

/* A read error says nothing about the tail: it is read again, and less and less often. */
TEST(cleaning_goes_on_when_the_disk_can_read_again)
{
    struct elapse__journal_figures figures;
    begin();
    for (uint32_t i = 0; i < LIVE; i++)
        run(put, 0, 30);
    sim_disk_set_faults(&(struct sim_disk_faults){.reads_fail = true});
    for (uint32_t job = 2; job <= LIVE; job++)
        run(delete, job, 3);
    for (unsigned i = 0; i < 3500; i++)
        (void)work(3);
    elapse__journal_figures(owner.journal, &figures);
    assert_true(figures.is_pinned);
    assert_int_equal(figures.tail, 1);
    assert_int_equal(figures.failed_reads, 3); /* at once, a second later, two more later */
    sim_disk_set_faults(&(struct sim_disk_faults){.reads_fail = false});
    for (unsigned i = 0; i < 4000; i++)
        (void)work(3);
    elapse__journal_figures(owner.journal, &figures);
    assert_false(figures.is_pinned);
    assert_true(figures.log_bytes <= 2 * figures.live_bytes + SEGMENT);
    assert_int_equal(figures.damaged_bodies, 0);
    end();
}

/* Damage keeps a segment only as long as one of its jobs lives. */
TEST(damaged_segment_without_jobs_is_freed)
{
    struct elapse__journal_figures figures;
    size_t size = 0;
    begin();
    for (uint32_t i = 0; i < LIVE; i++)
        run(put, 0, 30);
    sim_disk_content("data/journal", "1.log", &size)[ELAPSE__SEGMENT_HEADER_BYTES] ^= 1;
    for (uint32_t job = 2; job <= LIVE; job++)
        run(delete, job, 3);
    for (unsigned i = 0; i < 100; i++)
        (void)work(3);
    elapse__journal_figures(owner.journal, &figures);
    assert_true(figures.is_pinned);
    assert_int_equal(figures.tail, 1);
    run(delete, 1, 3);
    for (unsigned i = 0; i < 100; i++)
        (void)work(3);
    elapse__journal_figures(owner.journal, &figures);
    assert_false(figures.is_pinned);
    assert_true(figures.tail > 1);
    end();
}

/* Performs the next operation of the background lane, and returns its kind; -1: there is none. */
static int step_behind(void)
{
    struct elapse__operation operation;
    if (!elapse__journal_next_operation(owner.journal, ELAPSE__LANE_BACKGROUND, &operation))
        return -1;
    elapse__operation_perform(owner.journal, &operation);
    elapse__journal_completed(owner.journal, ELAPSE__LANE_BACKGROUND, &operation);
    return (int)operation.kind;
}

TEST(a_stop_does_not_wait_for_spares)
{
    struct elapse__journal_figures before, after;
    int kind;

    begin();
    while ((kind = step_behind()) != ELAPSE__OPERATION_FILL)
        assert_true(kind >= 0);
    elapse__journal_figures(owner.journal, &before);
    elapse__journal_stop(owner.journal);
    while (!elapse__journal_is_quiet(owner.journal))
        assert_true(step(ELAPSE__LANE_COMMIT));
    while ((kind = step_behind()) >= 0)
        assert_int_equal(kind, ELAPSE__OPERATION_UNLINK);
    elapse__journal_figures(owner.journal, &after);
    assert_int_equal(after.spares, before.spares);
    end();
}

/* Puts until the disk refuses. */
static void fill_disk(void)
{
    int error = 0;
    while (error != ENOSPC) {
        error = put(0);
        (void)work(30);
    }
}

/* Fills a disk by puts. Then changes that end no job take four segments, and all jobs are deleted.
 * Requires that none of these commands is refused. */
static void expect_deletes(uint32_t excess_bytes)
{
    enum { CHANGES = 4 * SEGMENT / ELAPSE__RECORD_HEADER_BYTES };

    begin();
    owner.excess_bytes = excess_bytes;
    sim_disk_set_faults(&(struct sim_disk_faults){.capacity = 12 * SEGMENT});
    fill_disk();
    uint32_t jobs = owner.job_count;
    for (uint32_t i = 0; i < CHANGES; i++)
        run(change, 1 + i % jobs, 1);
    for (uint32_t number = 1; number <= jobs; number++)
        run(delete, number, 1);
    while (work(10))
        continue;
    run(put, 0, 30);
    end();
}

TEST(a_full_disk_deletes_after_many_changes_that_end_nothing)
{
    expect_deletes(0);
}

TEST(a_full_disk_deletes_also_where_too_many_bytes_count_as_live)
{
    expect_deletes(BODY / 8);
}

/* What the job needs counts as growth, but only until the journal has taken or refused it. */
static int put_that_grows(uint32_t number)
{
    owner.growth_bytes = SEGMENT / 2;
    owner.longer_copies = 1;
    int error = put(number);
    owner.growth_bytes = owner.longer_copies = 0;
    return error;
}

/* The growth of the job asks for one spare more. When the job is refused, the growth is gone, and
 * nothing else asks for that spare. */
TEST(a_job_that_asks_for_a_spare_gets_it)
{
    enum { JOBS = 5 * SEGMENT / BODY };

    begin();
    for (uint32_t i = 0; i < JOBS; i++)
        run(put_that_grows, 0, 30);
    while (work(10))
        continue;
    end();
}

static bool disk_is_full(void)
{
    struct elapse__journal_figures figures;
    elapse__journal_figures(owner.journal, &figures);
    return figures.disk_is_full;
}

/* The disk has no room for that spare, and the job is not tried again: then the disk counts as full
 * for a while, and not until something else needs the next segment. */
TEST(a_spare_that_nobody_asks_for_again_is_forgotten)
{
    int error = 0;

    begin();
    while (work(10))
        continue;
    sim_disk_set_faults(&(struct sim_disk_faults){.capacity = bytes_of_files()});
    for (unsigned tries = 0; error != ENOSPC; tries++) {
        assert_true(tries < 10000);
        error = put_that_grows(0);
        (void)work(10);
    }
    assert_true(disk_is_full());
    for (unsigned ms = 0; disk_is_full(); ms++) {
        assert_true(ms < 10000);
        (void)work(10);
    }
    assert_int_equal(put_that_grows(0), EAGAIN); /* and asks again */
    run(put, 0, 30);
    end();
}

TEST_MAIN("space")
