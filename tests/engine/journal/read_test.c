/*
 * Tests that bodies which lie close together are read in one window. If the disk cannot read a
 * sector of the window, or returns fewer bytes than asked for, each record is read alone. Then only
 * the record with the bad sector is lost.
 */
#include <errno.h>

#include "../../../src/engine/journal/journal.h"
#include "../../support/test.h"
#include "numbered_owner.h"
#include "sim_disk.h"

enum { SEGMENT_BITS = 21, JOBS = 7, BODY_BYTES = 300, SEGMENT_MASK = (1 << SEGMENT_BITS) - 1 };

static struct owner owner;
static struct elapse__files files; /* of the simulated disk, with a bad place */

static uint64_t bad_offset; /* this byte cannot be read; 0: all can */
static bool gives_less;     /* what lies before it is read, and that is no error */
static size_t least;        /* only readings of so many bytes are spoilt */
static unsigned readings_spoilt, readings_made;

static int read_at(int file, uint64_t offset, void *bytes, size_t count, size_t *done)
{
    readings_made++;
    bool is_bad =
        bad_offset != 0 && bad_offset >= offset && bad_offset - offset < count && count >= least;
    if (!is_bad)
        return sim_disk_files.read_at(file, offset, bytes, count, done);
    readings_spoilt++;
    if (!gives_less)
        return EIO;
    return sim_disk_files.read_at(file, offset, bytes, (size_t)(bad_offset - offset), done);
}

static void open_journal(void)
{
    struct elapse__journal_refusal refusal;
    assert_true(owner_open(&owner, &files, SEGMENT_BITS, 0, &refusal));
}

static int begin(void **state)
{
    (void)state;
    sim_disk_begin(1);
    files = sim_disk_files;
    files.read_at = read_at;
    bad_offset = 0;
    owner_begin(&owner);
    open_journal();
    for (unsigned i = 0; i < JOBS; i++)
        assert_int_equal(owner_put_durably(&owner, BODY_BYTES), 0);
    gives_less = false;
    least = 0;
    readings_spoilt = readings_made = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    elapse__journal_free(owner.journal);
    sim_disk_end();
    return 0;
}

static uint64_t offset_of(unsigned job)
{
    return owner.jobs[job].position & SEGMENT_MASK;
}

/* Reads all jobs together. The one with the number `lost` ends with the error EIO or EBADMSG, all
 * others are as they are when they are read alone from a sound disk. 0: none is lost. */
static void read_together(unsigned lost)
{
    struct elapse__journal_reading readings[JOBS];
    uint64_t bad = bad_offset;
    for (unsigned i = 0; i < JOBS; i++)
        elapse__journal_read_begin(owner.journal, owner.jobs[i + 1].position, BODY_BYTES,
                                   &readings[i]);
    elapse__journal_read_perform(owner.journal, true, readings, JOBS);
    bad_offset = 0;
    for (unsigned i = 0; i < JOBS; i++) {
        struct elapse__record record, alone;
        void *memory, *memory_alone;
        int error = elapse__journal_read_end(owner.journal, &readings[i], &record, &memory);
        if (i + 1 == lost) {
            assert_true(error == EIO || error == EBADMSG);
            assert_null(memory);
            continue;
        }
        assert_int_equal(error, 0);
        assert_int_equal(elapse__journal_read(owner.journal, owner.jobs[i + 1].position, true,
                                              &alone, &memory_alone),
                         0);
        assert_int_equal(record.body_size, BODY_BYTES);
        assert_memory_equal(record.body, alone.body, BODY_BYTES);
        free(memory);
        free(memory_alone);
    }
    bad_offset = bad;
}

TEST_WITH(one_window_serves_all, begin, end)
{
    struct elapse__journal_reading readings[JOBS];
    for (unsigned i = 0; i < JOBS; i++)
        elapse__journal_read_begin(owner.journal, owner.jobs[i + 1].position, BODY_BYTES,
                                   &readings[i]);
    elapse__journal_read_perform(owner.journal, true, readings, JOBS);
    assert_int_equal(readings_made, 1);
    for (unsigned i = 0; i < JOBS; i++) {
        struct elapse__record record;
        void *memory;
        assert_int_equal(elapse__journal_read_end(owner.journal, &readings[i], &record, &memory),
                         0);
        free(memory);
    }
    read_together(0);
}

TEST_WITH(a_bad_sector_takes_one_body_alone, begin, end)
{
    for (unsigned job = 1; job <= JOBS; job++) {
        readings_spoilt = 0;
        bad_offset = offset_of(job) + 100;
        read_together(job);
        assert_true(readings_spoilt >= 2); /* the window, and the job's own reading */
    }
}

TEST_WITH(a_window_that_ends_early_is_read_on, begin, end)
{
    gives_less = true;
    for (unsigned job = 1; job <= JOBS; job++) {
        bad_offset = offset_of(job) + 100;
        read_together(job);
        assert_true(readings_spoilt > 0);
    }
}

/* The disk refuses the long reading, and reads each record by itself. */
TEST_WITH(a_window_that_cannot_be_read_loses_nothing, begin, end)
{
    least = 2 * BODY_BYTES;
    for (unsigned job = 1; job <= JOBS; job++) {
        readings_spoilt = 0;
        bad_offset = offset_of(job) + 100;
        read_together(0);
        assert_true(readings_spoilt > 0);
    }
}

/* ---- when to read again ---- */

enum { PAGE = 4096 };

static struct elapse__journal_reading reading_of(uint64_t page)
{
    return (struct elapse__journal_reading){.position = page * PAGE, .file = 3, .may_wait = true};
}

static uint64_t unread(uint64_t page, uint64_t at_ms)
{
    struct elapse__journal_reading reading = reading_of(page);
    elapse__journal_read_failed(owner.journal, at_ms, &reading);
    return elapse__journal_unread_ms(owner.journal, at_ms, page * PAGE + 8);
}

static void worked(uint64_t page)
{
    struct elapse__journal_reading reading = reading_of(page);
    elapse__journal_read_worked(owner.journal, &reading);
}

static uint64_t unread_ms(uint64_t page, uint64_t at_ms)
{
    return elapse__journal_unread_ms(owner.journal, at_ms, page * PAGE + 8);
}

TEST_WITH(a_place_that_cannot_be_read_is_left_alone_for_a_second, begin, end)
{
    assert_int_equal(unread(600, 5000), 1000);
    assert_int_equal(unread_ms(600, 5000), 1000);
    assert_int_equal(unread_ms(600, 5999), 1);
    assert_int_equal(unread_ms(600, 6000), 0);
    assert_int_equal(unread_ms(601, 5000), 0);
    assert_int_equal(unread(600, 5400), 600); /* a record beside it: that is no news */
    assert_int_equal(elapse__journal_rests_until_ms(owner.journal), 0);
    worked(600);
    assert_int_equal(unread_ms(600, 5500), 0);
}

TEST_WITH(a_bad_place_on_a_good_disk_is_tried_ever_less_often, begin, end)
{
    static const uint64_t delays[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    uint64_t now_ms = 5000;
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) {
        assert_int_equal(unread(600, now_ms), delays[i]);
        now_ms += delays[i];
        worked(601);
    }
    worked(600);
    assert_int_equal(unread(600, now_ms), 1000);
}

/* What the page cache and the memory know says nothing of other places of the disk. */
TEST_WITH(a_bad_disk_is_tried_every_second, begin, end)
{
    struct elapse__journal_reading cached = reading_of(601), in_memory = reading_of(602);
    cached.may_wait = false;
    in_memory.file = ELAPSE__NO_FILE;
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(unread(600, 5000 + i * 1000), 1000);
        elapse__journal_read_worked(owner.journal, &in_memory);
        assert_true(elapse__journal_reads_in_doubt(owner.journal));
        elapse__journal_read_worked(owner.journal, &cached);
        assert_false(elapse__journal_reads_in_doubt(owner.journal));
    }
    cached.position = 600 * PAGE;
    elapse__journal_read_worked(owner.journal, &cached);
    assert_int_equal(unread_ms(600, 24001), 0);
}

TEST_WITH(hand_outs_rest_when_several_places_in_a_row_cannot_be_read, begin, end)
{
    for (uint64_t i = 0; i < ELAPSE__UNREAD_IN_A_ROW - 1; i++)
        (void)unread(600 + i, 5000);
    worked(700);
    assert_false(elapse__journal_reads_in_doubt(owner.journal));
    for (uint64_t i = 0; i < ELAPSE__UNREAD_IN_A_ROW; i++) {
        assert_int_equal(elapse__journal_rests_until_ms(owner.journal), 0);
        (void)unread(800 + i, 6000);
        (void)unread(800 + i, 6000);
    }
    assert_int_equal(elapse__journal_rests_until_ms(owner.journal), 7000);
    assert_true(elapse__journal_reads_in_doubt(owner.journal));
}

TEST_WITH(of_too_many_places_the_one_whose_time_comes_first_is_forgotten, begin, end)
{
    struct elapse__journal_figures figures;
    for (uint64_t i = 0; i < 256; i++)
        (void)unread(600 + i, 5000 + (i == 100 ? 0 : 10));
    (void)unread(900, 5020);
    assert_int_equal(unread_ms(700, 5020), 0);
    assert_int_equal(unread_ms(699, 5020), 990);
    assert_int_equal(unread_ms(900, 5020), 1000);
    elapse__journal_figures(owner.journal, &figures);
    assert_int_equal(figures.unread_places, 256);
}

TEST_WITH(each_failed_reading_is_counted, begin, end)
{
    struct elapse__journal_troubles troubles;
    struct elapse__record record;
    void *memory;
    bad_offset = offset_of(3) + 20;
    assert_int_equal(
        elapse__journal_read(owner.journal, owner.jobs[3].position, true, &record, &memory), EIO);
    elapse__journal_troubles(owner.journal, &troubles);
    assert_int_equal(troubles.failed_reads.count, 1);
    assert_int_equal(troubles.failed_reads.segment, owner.jobs[3].position >> SEGMENT_BITS);
    assert_int_equal(troubles.failed_reads.offset, offset_of(3));
    assert_int_equal(troubles.damaged_bodies.count, 0);
}

TEST_MAIN("read")
