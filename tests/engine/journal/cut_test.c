/*
 * Tests the end of a log that a crash has torn, and the life that appends after it. A disk may
 * still have records that the page cache does not show: a recovery wrote zeros over them, but no
 * sync wrote the zeros to the disk. If a later group ended exactly where such a record begins, the
 * record would count again, without the records before it in its group.
 *
 * Each test tears a group of two commands. Nothing is left of the first command. The second
 * command, with the COMMIT of both, begins in a sector of its own. Then a recovery fails to sync.
 * The next recovery syncs, and its life appends exactly as many bytes as the first command took.
 *
 * The other tests are about the same choice of the next place to write, in a rotation and on a full
 * disk, and about the group that frees a file.
 */
#include <errno.h>

#include "../../support/test.h"
#include "numbered_owner.h"
#include "sim_disk.h"

enum {
    SEGMENT_BITS = 14,
    SECTOR = 512,
    FIELDS = 8, /* of each record of the owner */
    DELETE_BYTES = ELAPSE__RECORD_HEADER_BYTES + FIELDS,
};

static struct owner owner;
static struct elapse__journal_refusal refusal;
static uint32_t interval_ms;
static unsigned segment_bits = SEGMENT_BITS;

static bool open_journal(void)
{
    return owner_open(&owner, &sim_disk_files, segment_bits, interval_ms, &refusal);
}

static void end_life(void)
{
    elapse__journal_free(owner.journal);
    sim_disk_end_process();
}

/* Performs the next operation of the commit lane. Returns false if there is none. */
static bool commit_step(struct elapse__operation *operation)
{
    if (!elapse__journal_next_operation(owner.journal, ELAPSE__LANE_COMMIT, operation))
        return false;
    elapse__operation_perform(owner.journal, operation);
    return true;
}

static void work(void)
{
    struct elapse__operation operation;
    bool goes_on = true;
    while (goes_on) {
        goes_on = commit_step(&operation);
        if (goes_on)
            elapse__journal_completed(owner.journal, ELAPSE__LANE_COMMIT, &operation);
        if (!elapse__journal_next_operation(owner.journal, ELAPSE__LANE_BACKGROUND, &operation))
            continue;
        elapse__operation_perform(owner.journal, &operation);
        elapse__journal_completed(owner.journal, ELAPSE__LANE_BACKGROUND, &operation);
        goes_on = true;
    }
    owner_acknowledge(&owner);
}

/* Puts a job of such a size that the next record ends, after `bytes`, where a sector does. Returns
 * where that record begins. */
static uint64_t put_up_to_sector(uint64_t bytes)
{
    uint64_t least = owner.commands[owner.command_count - 1].position;
    if (least == 0)
        least = (UINT64_C(1) << SEGMENT_BITS) + ELAPSE__SEGMENT_HEADER_BYTES;
    else
        least += ELAPSE__COMMIT_BYTES;
    uint64_t place = least + DELETE_BYTES + ELAPSE__COMMIT_BYTES;
    place += (SECTOR - (place + bytes) % SECTOR) % SECTOR;
    uint64_t body = place - least - DELETE_BYTES - ELAPSE__COMMIT_BYTES;
    assert_int_equal(owner_put(&owner, (uint32_t)body, ELAPSE__RECORD_FOR_GROWTH), 0);
    work();
    assert_int_equal(owner.commands[owner.command_count - 1].position + ELAPSE__COMMIT_BYTES,
                     place);
    return place;
}

/* Ends the process, and takes so many bytes at this position off the disk and the page cache. */
static void tear(uint64_t position, uint64_t bytes)
{
    static uint8_t copy[1 << SEGMENT_BITS];
    char name[ELAPSE__FILE_NAME_BYTES];
    size_t size;
    end_life();
    (void)snprintf(name, sizeof name, "%llu.log", (unsigned long long)(position >> SEGMENT_BITS));
    uint8_t *content = sim_disk_content("data/journal", name, &size);
    assert_non_null(content);
    assert_int_equal(size, sizeof copy);
    memcpy(copy, content, size);
    memset(copy + (position & (sizeof copy - 1)), 0, (size_t)bytes);
    assert_true(sim_disk_remove("data/journal", name));
    sim_disk_put("data/journal", name, copy, size);
}

/* Opens while each other sync fails, which stops a recovery, and then without failures. */
static void recover_after_failed_sync(uint64_t capacity, uint32_t oldest)
{
    sim_disk_set_faults(&(struct sim_disk_faults){.capacity = capacity, .failed_sync_in = 2});
    if (open_journal())
        end_life();
    else
        assert_int_equal(refusal.fault, ELAPSE__FAULT_CALL);
    sim_disk_end_process();
    sim_disk_set_faults(&(struct sim_disk_faults){.capacity = capacity});
    assert_true(open_journal());
    assert_true(owner_matches(&owner, oldest));
}

static void open_and_compare(uint64_t seed)
{
    if (!open_journal())
        fail_msg("seed %llu: open refuses", (unsigned long long)seed);
    if (owner.broken != NULL || !owner_matches(&owner, owner.acknowledged))
        fail_msg("seed %llu: a record of an earlier life counts again", (unsigned long long)seed);
    end_life();
    sim_disk_end();
}

/* No spare is free on a full disk, so the life goes on in the old segment. */
TEST(stale_records_do_not_follow_a_group_on_a_full_disk)
{
    const uint64_t capacity = (3 << SEGMENT_BITS) + SECTOR; /* and the file "lock" */
    const uint32_t body = ELAPSE__COMMIT_BYTES;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        sim_disk_begin(seed);
        sim_disk_set_faults(&(struct sim_disk_faults){.capacity = capacity});
        owner_begin(&owner);
        assert_true(open_journal());
        work();
        uint64_t place = put_up_to_sector(DELETE_BYTES + body);
        uint32_t oldest = owner.acknowledged;
        assert_int_equal(owner_put(&owner, body, ELAPSE__RECORD_FOR_GROWTH), 0);
        assert_int_equal(owner_put(&owner, 16, ELAPSE__RECORD_FOR_GROWTH), 0);
        work();
        tear(place, DELETE_BYTES + body);
        recover_after_failed_sync(capacity, oldest);
        assert_int_equal(owner_delete(&owner, 1), 0);
        work();
        assert_int_equal(owner.commands[owner.acknowledged].position, place + DELETE_BYTES);
        end_life();
        sim_disk_evict();
        open_and_compare(seed);
    }
}

/* The next life seals the old segment, and loses its power while it does: the SEAL's COMMIT is not
 * on the disk, but that of the old group is. */
TEST(stale_records_do_not_follow_a_seal)
{
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct elapse__operation operation = {.kind = ELAPSE__OPERATION_READ};
        sim_disk_begin(seed);
        owner_begin(&owner);
        assert_true(open_journal());
        work();
        uint64_t place = put_up_to_sector(DELETE_BYTES);
        uint32_t oldest = owner.acknowledged;
        assert_int_equal(owner_delete(&owner, 1), 0);
        assert_int_equal(owner_put(&owner, 16, ELAPSE__RECORD_FOR_GROWTH), 0);
        work();
        tear(place, DELETE_BYTES);
        recover_after_failed_sync(0, oldest);
        assert_int_equal(owner_put(&owner, 24, ELAPSE__RECORD_FOR_GROWTH), 0);
        for (bool named = false; !named || operation.kind != ELAPSE__OPERATION_WRITE;) {
            if (operation.kind != ELAPSE__OPERATION_READ)
                elapse__journal_completed(owner.journal, ELAPSE__LANE_COMMIT, &operation);
            assert_true(commit_step(&operation));
            named |= operation.kind == ELAPSE__OPERATION_SYNC_DIRECTORY;
        }
        assert_int_equal(operation.count, ELAPSE__SEAL_BYTES + ELAPSE__COMMIT_BYTES);
        operation.error = EIO;
        elapse__journal_completed(owner.journal, ELAPSE__LANE_COMMIT, &operation);
        elapse__journal_free(owner.journal);
        sim_disk_lose_power();
        open_and_compare(seed);
    }
}

/* Recovery checks no bodies of the segment before the head, so that one is whole before its SEAL is
 * written: also with an interval, when groups are written without a sync after each. */
TEST(segment_is_synced_before_it_is_sealed)
{
    struct elapse__operation operation;
    int unsynced = ELAPSE__NO_FILE, last_synced = ELAPSE__NO_FILE;
    unsigned seals = 0, groups_without_sync = 0;
    sim_disk_begin(1);
    owner_begin(&owner);
    interval_ms = 1000;
    assert_true(open_journal());
    interval_ms = 0;
    work();
    while (seals < 3) {
        bool named = false;
        assert_int_equal(owner_put(&owner, 900, ELAPSE__RECORD_FOR_GROWTH), 0);
        while (commit_step(&operation)) {
            bool is_write = operation.kind == ELAPSE__OPERATION_WRITE;
            if (is_write && named) {
                assert_int_equal(operation.file, last_synced);
                assert_int_equal(unsynced, ELAPSE__NO_FILE);
                seals++;
            } else if (is_write && operation.offset > 0) {
                groups_without_sync += unsynced != ELAPSE__NO_FILE;
                unsynced = operation.file;
            }
            if (operation.kind == ELAPSE__OPERATION_SYNC && operation.file == unsynced) {
                last_synced = unsynced;
                unsynced = ELAPSE__NO_FILE;
            }
            named = operation.kind == ELAPSE__OPERATION_SYNC_DIRECTORY;
            elapse__journal_completed(owner.journal, ELAPSE__LANE_COMMIT, &operation);
        }
        work();
    }
    assert_true(groups_without_sync > 0);
    end_life();
    sim_disk_end();
}

/* Performs the next operation of the commit lane, which is one of this kind. */
static void expect_step(enum elapse__operation_kind kind)
{
    struct elapse__operation operation;
    assert_true(commit_step(&operation));
    assert_int_equal(operation.kind, kind);
    elapse__journal_completed(owner.journal, ELAPSE__LANE_COMMIT, &operation);
}

/* Ends all jobs of the first segment, durably, and writes the group that says so, without a sync.
 */
static void write_moved_tail(void)
{
    struct elapse__journal_figures figures = {.head = 1};
    struct elapse__operation operation;
    assert_true(open_journal());
    for (work(); figures.head < 3; work()) {
        assert_int_equal(owner_put(&owner, 900, ELAPSE__RECORD_FOR_GROWTH), 0);
        elapse__journal_figures(owner.journal, &figures);
    }
    for (uint32_t number = 1; owner.jobs[number].position >> SEGMENT_BITS == 1; number++)
        assert_int_equal(owner_delete(&owner, number), 0);
    elapse__journal_figures(owner.journal, &figures);
    assert_int_equal(figures.tail, 1);
    while (commit_step(&operation))
        elapse__journal_completed(owner.journal, ELAPSE__LANE_COMMIT, &operation);
    owner_acknowledge(&owner);
    elapse__journal_tick(owner.journal, 1);
    expect_step(ELAPSE__OPERATION_WRITE);
    elapse__journal_figures(owner.journal, &figures);
    assert_int_equal(figures.tail, 2);
}

/* The sync of a COMMIT that frees a file fails: the page cache shows it, and the disk may not have
 * it. Until the next life has written it again, the file has to stay: the power may go at each call
 * of the recovery. */
TEST(freed_files_stay_until_the_log_is_repaired)
{
    unsigned crashes = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        for (uint64_t calls = 1, was_open = 0; !was_open; calls++) {
            sim_disk_begin(seed);
            owner_begin(&owner);
            write_moved_tail();
            sim_disk_set_faults(&(struct sim_disk_faults){.failed_sync_in = 1});
            expect_step(ELAPSE__OPERATION_SYNC);
            assert_int_not_equal(elapse__journal_error(owner.journal), 0);
            end_life();
            sim_disk_set_faults(&(struct sim_disk_faults){.crash_after_calls = calls});
            was_open = open_journal();
            if (was_open)
                elapse__journal_free(owner.journal);
            else
                crashes++;
            sim_disk_lose_power();
            sim_disk_set_faults(&(struct sim_disk_faults){.capacity = 0});
            if (!open_journal())
                fail_msg("seed %llu, call %llu: %s is refused", (unsigned long long)seed,
                         (unsigned long long)calls, refusal.file);
            assert_true(owner_matches(&owner, owner.acknowledged));
            assert_null(owner_read_all(&owner));
            end_life();
            sim_disk_end();
        }
    }
    assert_true(crashes > 100);
}

/* With an interval a group is synced later, but one that frees a file is not: the owner may wait
 * for that file. */
TEST(moved_tail_is_synced_at_once)
{
    sim_disk_begin(1);
    owner_begin(&owner);
    interval_ms = 1000;
    write_moved_tail();
    interval_ms = 0;
    expect_step(ELAPSE__OPERATION_SYNC);
    end_life();
    sim_disk_end();
}

/* Each life deletes something, and ends without a word. */
TEST(restarts_on_a_full_disk_use_up_nothing)
{
    enum { RESTARTS = 20 };
    int error = 0;
    sim_disk_begin(1);
    sim_disk_set_faults(&(struct sim_disk_faults){.capacity = 8 << SEGMENT_BITS});
    owner_begin(&owner);
    assert_true(open_journal());
    work();
    while (error != ENOSPC) {
        error = owner_put(&owner, 900, ELAPSE__RECORD_FOR_GROWTH);
        work();
    }
    for (unsigned i = 0; i < RESTARTS; i++) {
        struct elapse__journal_figures figures;
        end_life();
        if (i % 2 == 1)
            sim_disk_lose_power();
        if (!open_journal())
            fail_msg("restart %u: %s: %s", i, refusal.file, strerror(refusal.error));
        assert_true(owner_matches(&owner, owner.acknowledged));
        assert_int_equal(owner_delete(&owner, owner_any_live(&owner, i)), 0);
        work();
        elapse__journal_figures(owner.journal, &figures);
        assert_true(figures.spares >= 1);
    }
    while (owner.live_count > 0) {
        assert_int_equal(owner_delete(&owner, owner_any_live(&owner, 0)), 0);
        work();
    }
    elapse__journal_tick(owner.journal, 2000);
    work();
    elapse__journal_tick(owner.journal, 4000);
    work();
    assert_int_equal(owner_put(&owner, 900, ELAPSE__RECORD_FOR_GROWTH), 0);
    end_life();
    sim_disk_end();
}

/* Puts until the disk is full, and cleaning finds nothing more. Returns how many were put. */
static uint32_t fill_disk(uint64_t *now_ms, uint32_t body_size)
{
    uint32_t before = owner.job_count;
    for (unsigned refused = 0; refused < 10;) {
        int error = owner_put(&owner, body_size, ELAPSE__RECORD_FOR_GROWTH);
        refused = error == 0 ? 0 : refused + 1;
        assert_true(error == 0 || error == ENOSPC || error == EAGAIN);
        *now_ms += error == 0 ? 0 : 1100;
        elapse__journal_tick(owner.journal, *now_ms);
        work();
    }
    return owner.job_count - before;
}

/* The dead jobs lie between live ones, so each segment has to be cleaned. */
TEST(full_disk_takes_jobs_again_when_every_second_one_has_ended)
{
    uint64_t now_ms = 0;
    sim_disk_begin(1);
    sim_disk_set_faults(&(struct sim_disk_faults){.capacity = 32 << SEGMENT_BITS});
    owner_begin(&owner);
    assert_true(open_journal());
    work();
    uint32_t first = fill_disk(&now_ms, 900);
    for (uint32_t number = 1; number <= first; number += 2) {
        assert_int_equal(owner_delete(&owner, number), 0);
        work();
    }
    uint32_t again = fill_disk(&now_ms, 900);
    assert_true(again >= first / 8);
    assert_null(owner_read_all(&owner));
    end_life();
    sim_disk_end();
}

/* Copies that are longer than their records take more than their segment gives back. So cleaning
 * could use up the spares that deletes need, long before it comes to what has ended. No delete is
 * refused: not if jobs were changed before the disk was full, and not if that comes later, when
 * changes end as soon as the copies would grow too much. */
TEST(full_disk_deletes_jobs_whose_copies_grow)
{
    enum { ORDERS = 3, LARGE_BITS = 17, SEGMENTS = 64, BODY = 1900, GROWTH = 560 };
    segment_bits = LARGE_BITS;
    for (unsigned variant = 0; variant < 8 * ORDERS; variant++) {
        uint64_t now_ms = 0;
        uint32_t changed = (1 + variant / ORDERS % 4) * 700, number = 1;
        bool is_full_first = variant >= 4 * ORDERS;
        sim_disk_begin(1);
        sim_disk_set_faults(&(struct sim_disk_faults){.capacity = SEGMENTS << LARGE_BITS});
        owner_begin(&owner);
        owner.growth_bytes = GROWTH;
        assert_true(open_journal());
        work();
        while (owner.job_count < changed)
            assert_int_equal(owner_put_durably(&owner, BODY), 0);
        if (is_full_first)
            (void)fill_disk(&now_ms, BODY);
        for (int error = 0; number <= changed && error == 0; number += error == 0) {
            error = owner_change(&owner, number, 1);
            work();
        }
        assert_true(number > changed || (is_full_first && number > 20));
        (void)fill_disk(&now_ms, BODY);
        uint64_t count = owner.job_count;
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t numbers[ORDERS] = {1 + i, count - i, 1 + i * 7919 % count};
            int error = owner_delete(&owner, (uint32_t)numbers[variant % ORDERS]);
            if (error != 0)
                fail_msg("variant %u, delete %u: %s", variant, (unsigned)i, strerror(error));
            work();
        }
        end_life();
        sim_disk_end();
    }
    segment_bits = SEGMENT_BITS;
}

TEST_MAIN("cut")
