/*
 * Tests which files become spares, and when. A spare must have all of its blocks, and nobody may be
 * reading it.
 */
#include <string.h>

#include "../../support/test.h"
#include "numbered_owner.h"
#include "sim_disk.h"

enum { SEGMENT_BITS = 14, SEGMENT = 1 << SEGMENT_BITS, BODY = 900, FILL = 80 };

static struct owner owner;

static void open_journal(void)
{
    struct elapse__journal_refusal refusal;
    assert_true(owner_open(&owner, &sim_disk_files, SEGMENT_BITS, 0, &refusal));
}

static int begin(void **state)
{
    (void)state;
    sim_disk_begin(1);
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

static bool exists(const char *name)
{
    size_t size;
    return sim_disk_content("data/journal", name, &size) != NULL;
}

static void work(void)
{
    while (elapse__journal_work(owner.journal))
        continue;
}

/* Puts jobs that fill some segments, and deletes each at once. */
static void fill_segments(void)
{
    work();
    for (unsigned i = 0; i < FILL; i++) {
        assert_int_equal(owner_put_durably(&owner, BODY), 0);
        assert_int_equal(owner_delete(&owner, owner.job_count), 0);
    }
    work();
}

static void collect_spare(void *context, const char *name)
{
    char(*spare)[ELAPSE__FILE_NAME_BYTES] = context;
    if (strncmp(name, "spare-", strlen("spare-")) == 0)
        (void)snprintf(*spare, sizeof *spare, "%s", name);
}

/* Removes all spares. */
static void remove_spares(void)
{
    for (;;) {
        char name[ELAPSE__FILE_NAME_BYTES] = "";
        sim_disk_names("data/journal", collect_spare, &name);
        if (name[0] == '\0')
            return;
        assert_true(sim_disk_remove("data/journal", name));
    }
}

/* A crash may leave a spare whose blocks were not all written, and a disk may lose some of them. */
TEST_WITH(a_file_that_is_too_short_is_no_spare, begin, end)
{
    static const uint8_t bytes[SEGMENT];
    const size_t sizes[] = {0, 512, SEGMENT - 1, SEGMENT};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        elapse__journal_free(owner.journal);
        sim_disk_end_process();
        remove_spares();
        sim_disk_put("data/journal", "spare-900", bytes, sizes[i]);
        open_journal();
        assert_int_equal(exists("spare-900"), sizes[i] == SEGMENT);
        fill_segments();
        assert_null(owner_read_all(&owner));
    }
}

TEST_WITH(a_file_that_is_read_stays_until_the_reading_ends, begin, end)
{
    struct elapse__journal_reading reading;
    struct elapse__record record, alone;
    void *memory, *memory_alone;
    assert_int_equal(owner_put_durably(&owner, BODY), 0);
    uint64_t position = owner.jobs[1].position;
    assert_int_equal(elapse__journal_read(owner.journal, position, true, &alone, &memory_alone), 0);
    elapse__journal_read_begin(owner.journal, position, BODY, &reading);
    assert_int_equal(owner_delete(&owner, 1), 0);
    fill_segments();
    assert_true(exists("1.log"));
    assert_true(exists("2.log")); /* files are retired in their order */
    elapse__journal_read_perform(owner.journal, true, &reading, 1);
    assert_int_equal(elapse__journal_read_end(owner.journal, &reading, &record, &memory), 0);
    assert_int_equal(record.body_size, BODY);
    assert_memory_equal(record.body, alone.body, BODY);
    work();
    assert_false(exists("1.log"));
    free(memory);
    free(memory_alone);
}

TEST_MAIN("reuse")
