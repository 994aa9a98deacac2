/*
 * Tests damage in a journal that was stopped cleanly. Flips bytes of its segments one after the
 * other, and removes each file once. The test knows before each trial which of these must happen:
 *
 *      refused     open names the file
 *      body        open succeeds, and the damage shows when the body is read
 *      harmless    nothing acknowledged lay there, and every job is whole
 */
#include <errno.h>

#include "../../../src/engine/journal/examine.h"
#include "../../support/test.h"
#include "numbered_owner.h"
#include "sim_disk.h"

enum { JOBS = 40, BODY = 900 };

/* Every so many bytes one is flipped: fewer than those of the group of a SEAL, and no multiple of
 * the alignment, so that in time each kind of field has its turn. */
static size_t step = 7;

static struct owner owner;
static struct elapse__journal_refusal refusal;

static bool open_journal(void)
{
    return owner_open(&owner, &sim_disk_files, 14, 0, &refusal);
}

static void close_journal(void)
{
    elapse__journal_free(owner.journal);
    sim_disk_end_process();
}

static void work(void)
{
    while (elapse__journal_work(owner.journal))
        continue;
}

static void make_journal(void)
{
    sim_disk_begin(1);
    owner_begin(&owner);
    assert_true(open_journal());
    work();
    for (unsigned i = 0; i < JOBS; i++) {
        assert_int_equal(owner_put(&owner, BODY, ELAPSE__RECORD_FOR_GROWTH), 0);
        work();
    }
    elapse__journal_stop(owner.journal);
    work();
    assert_true(elapse__journal_is_quiet(owner.journal));
    close_journal();
}

/* Opens, and returns whether all jobs are there, with their bodies or with damage noticed. */
static bool opens_whole(bool *body_is_damaged)
{
    *body_is_damaged = false;
    if (!open_journal())
        return false;
    assert_int_equal(owner.live_count, JOBS);
    const char *wrong = owner_read_all(&owner);
    *body_is_damaged = wrong != NULL;
    if (wrong != NULL) /* the journal says so itself, and gives no other body */
        assert_string_equal(wrong, "a body cannot be read");
    close_journal();
    return true;
}

TEST(each_flipped_byte_is_noticed_or_harmless)
{
    unsigned refused = 0, bodies = 0, harmless = 0;
    for (unsigned segment = 1; segment <= 3; segment++) {
        for (size_t offset = 0; offset < 16384; offset += step) {
            make_journal();
            char name[ELAPSE__FILE_NAME_BYTES];
            size_t size;
            (void)snprintf(name, sizeof name, "%u.log", segment);
            uint8_t *bytes = sim_disk_content("data/journal", name, &size);
            assert_non_null(bytes);
            bytes[offset] ^= 0x40;
            bool body_is_damaged;
            if (!opens_whole(&body_is_damaged)) {
                assert_int_not_equal(refusal.fault, ELAPSE__FAULT_CALL);
                assert_string_equal(refusal.file, name);
                refused++;
            } else if (body_is_damaged) {
                bodies++;
            } else {
                harmless++;
            }
            sim_disk_end();
        }
    }
    assert_true(refused > 0 && bodies > 0 && harmless > 0);
}

TEST(each_removed_segment_is_named)
{
    for (unsigned segment = 1; segment <= 3; segment++) {
        char name[ELAPSE__FILE_NAME_BYTES];
        make_journal();
        (void)snprintf(name, sizeof name, "%u.log", segment);
        assert_true(sim_disk_remove("data/journal", name));
        assert_false(open_journal());
        assert_int_equal(refusal.fault, ELAPSE__FAULT_MISSING_SEGMENT);
        assert_string_equal(refusal.file, name);
        sim_disk_end();
    }
}

TEST(unknown_version_is_refused_by_name)
{
    size_t size;
    make_journal();
    sim_disk_content("data/journal", "2.log", &size)[8] = 9;
    assert_false(open_journal());
    assert_int_equal(refusal.fault, ELAPSE__FAULT_VERSION);
    assert_int_equal(refusal.found, 9);
    assert_string_equal(refusal.file, "2.log");
    sim_disk_end();
}

TEST(second_process_is_refused)
{
    make_journal();
    assert_true(open_journal());
    struct elapse__journal *first = owner.journal;
    assert_false(open_journal());
    assert_int_equal(refusal.fault, ELAPSE__FAULT_LOCKED);
    elapse__journal_free(first);
    sim_disk_end();
}

TEST(record_is_whole_at_its_own_place_only)
{
    uint8_t bytes[64];
    struct elapse__frame frame;
    struct elapse__record record = {
        .type = ELAPSE__RECORD_PUT, .flags = 3, .body_size = 5, .body = "hello"};
    assert_int_equal(elapse__frame_bytes(0, 5), 32);
    elapse__frame_encode(&record, 4096, 77, bytes);
    assert_true(elapse__frame_decode(bytes, &frame));
    assert_true(elapse__frame_header_is_whole(bytes, &frame, 4096, 77));
    assert_true(elapse__frame_body_is_whole("hello", &frame, 4096, 77));
    assert_false(elapse__frame_header_is_whole(bytes, &frame, 4104, 77));
    assert_false(elapse__frame_header_is_whole(bytes, &frame, 4096, 76));
    assert_false(elapse__frame_body_is_whole("hello", &frame, 4104, 77));
    assert_false(elapse__frame_body_is_whole("hellp", &frame, 4096, 77));
}

/* damage [STEP] */

/* ---- a place that the disk cannot read ---- */

enum { PAGE = 4096, BAD_PAGE = 2 };

static unsigned unread_findings, records_found;

static int read_with_bad_page(int file, uint64_t offset, void *bytes, size_t count, size_t *done)
{
    if (offset < (BAD_PAGE + 1) * PAGE && offset + count > BAD_PAGE * PAGE)
        return EIO;
    return sim_disk_files.read_at(file, offset, bytes, count, done);
}

static int count_finding(void *context, const struct elapse__finding *finding)
{
    (void)context;
    if (finding->damage == ELAPSE__DAMAGE_UNREAD) {
        assert_int_equal(finding->offset, BAD_PAGE * PAGE);
        unread_findings++;
    }
    return 0;
}

static int count_record(void *context, uint64_t position, const struct elapse__record *record)
{
    (void)context, (void)position, (void)record;
    records_found++;
    return 0;
}

static void examine(const struct elapse__files *files)
{
    struct elapse__examination examination = {
        .files = files, .path = "data", .finding = count_finding, .record = count_record};
    unread_findings = records_found = 0;
    assert_true(elapse__journal_examine(&examination, &refusal));
    assert_int_equal(examination.unread, unread_findings);
}

/* An examination says that the disk cannot read, and finds what lies around the place. */
TEST(what_cannot_be_read_is_no_damage_and_hides_nothing_else)
{
    struct elapse__files files = sim_disk_files;
    files.read_at = read_with_bad_page;
    make_journal();
    examine(&sim_disk_files);
    unsigned all = records_found;
    assert_int_equal(unread_findings, 0);
    examine(&files);
    assert_int_equal(unread_findings, 3); /* one in each segment */
    /* A page has parts of at most six records. */
    assert_in_range(records_found, all - 18, all - 3);
    sim_disk_end();
}

int main(int argument_count, char **arguments)
{
    if (argument_count > 1)
        step = strtoul(arguments[1], NULL, 10);
    if (step == 0 || step > ELAPSE__SEAL_BYTES + ELAPSE__COMMIT_BYTES)
        return EXIT_FAILURE;
    return run_tests_of_file("damage");
}
