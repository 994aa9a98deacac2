/*
 * Tests that the numbers which a node must not forget survive when the disk loses its power, and
 * that a directory that was left says so for as long as it is as it was.
 */
#include <errno.h>

#include "../../../src/engine/store/left.h"
#include "../../../src/engine/store/remember.h"
#include "../../../src/engine/store/witness.h"
#include "../../support/test.h"
#include "sim_disk.h"

static struct elapse__store_memory recall(void)
{
    struct elapse__store_memory memory;
    assert_int_equal(elapse__store_recall(&sim_disk_files, "part", &memory), 0);
    return memory;
}

static struct elapse__store_memory numbers(uint64_t epoch)
{
    return (struct elapse__store_memory){
        .system_identifier = UINT64_MAX - epoch,
        .timeline = (uint32_t)epoch + 7,
        .epoch = epoch,
        .seen_epoch = epoch + 2,
        .genesis = UINT64_MAX / 3 + epoch,
    };
}

static void expect(uint64_t epoch)
{
    struct elapse__store_memory memory = recall(), expected = numbers(epoch);
    assert_int_equal(memory.epoch, expected.epoch);
    assert_int_equal(memory.seen_epoch, expected.seen_epoch);
    assert_int_equal(memory.timeline, expected.timeline);
    assert_int_equal(memory.system_identifier, expected.system_identifier);
    assert_int_equal(memory.genesis, expected.genesis);
}

TEST(test_nothing_is_there_at_first)
{
    sim_disk_begin(1);
    assert_int_equal(recall().system_identifier, 0);
    struct elapse__store_memory memory = numbers(3);
    assert_int_equal(elapse__store_remember(&sim_disk_files, "part", &memory), 0);
    expect(3);
    sim_disk_end();
}

/* After a crash at each call: the old numbers or the new ones, and the new ones if it returned. */
TEST(test_each_crash)
{
    for (uint64_t calls = 1; calls < 14; calls++) {
        for (uint64_t seed = 1; seed < 40; seed++) {
            struct elapse__store_memory memory = numbers(1);
            sim_disk_begin(seed);
            assert_int_equal(elapse__store_remember(&sim_disk_files, "part", &memory), 0);
            sim_disk_set_faults(&(struct sim_disk_faults){.crash_after_calls = calls});
            memory = numbers(2);
            int error = elapse__store_remember(&sim_disk_files, "part", &memory);
            sim_disk_set_faults(&(struct sim_disk_faults){.capacity = 0});
            sim_disk_lose_power();
            expect(error == 0 || recall().epoch == 2 ? 2 : 1);
            sim_disk_end();
        }
    }
}

TEST(test_damage_is_noticed)
{
    struct elapse__store_memory memory = numbers(5);
    size_t size;
    sim_disk_begin(1);
    assert_int_equal(elapse__store_remember(&sim_disk_files, "part", &memory), 0);
    uint8_t *bytes = sim_disk_content("part", "cluster", &size);
    for (size_t i = 0; i < size * 8; i++) {
        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
        assert_int_equal(elapse__store_recall(&sim_disk_files, "part", &memory), EBADMSG);
        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
    }
    expect(5);
    sim_disk_put("part", "cluster", bytes, size - 1);
    assert_int_equal(elapse__store_recall(&sim_disk_files, "part", &memory), EBADMSG);
    sim_disk_end();
}

/* ---- the witnesses of all partitions ---- */

enum { PARTITIONS = 3, QUEUE = 77 };

static int write_witnesses(uint64_t first)
{
    struct elapse__store_witness witnesses[PARTITIONS];
    for (uint64_t i = 0; i < PARTITIONS; i++)
        witnesses[i] =
            (struct elapse__store_witness){first + i, UINT64_MAX - i, first + 10 * i, i + 1, i + 2};
    return elapse__store_remember_witnesses(&sim_disk_files, "node", QUEUE, witnesses, PARTITIONS);
}

static int read_witnesses(struct elapse__store_witness witnesses[PARTITIONS])
{
    return elapse__store_recall_witnesses(&sim_disk_files, "node", QUEUE, witnesses, PARTITIONS);
}

static void expect_witnesses(uint64_t first)
{
    struct elapse__store_witness witnesses[PARTITIONS];
    assert_int_equal(read_witnesses(witnesses), 0);
    for (uint64_t i = 0; i < PARTITIONS; i++) {
        assert_int_equal(witnesses[i].group, first + i);
        assert_int_equal(witnesses[i].hash, UINT64_MAX - i);
        assert_int_equal(witnesses[i].epoch, first + 10 * i);
        assert_int_equal(witnesses[i].system_identifier, i + 1);
        assert_int_equal(witnesses[i].timeline, i + 2);
    }
}

TEST(test_no_witness_is_there_at_first)
{
    struct elapse__store_witness witnesses[PARTITIONS] = {{1, 1, 1, 1, 1}};
    sim_disk_begin(1);
    assert_int_equal(read_witnesses(witnesses), 0);
    assert_int_equal(witnesses[0].group, 0);
    assert_int_equal(write_witnesses(5), 0);
    expect_witnesses(5);
    assert_int_equal(write_witnesses(6), 0);
    expect_witnesses(6);
    sim_disk_end();
}

TEST(test_witnesses_survive_each_crash)
{
    for (uint64_t calls = 1; calls < 14; calls++) {
        for (uint64_t seed = 1; seed < 40; seed++) {
            struct elapse__store_witness witnesses[PARTITIONS];
            sim_disk_begin(seed);
            assert_int_equal(write_witnesses(5), 0);
            sim_disk_set_faults(&(struct sim_disk_faults){.crash_after_calls = calls});
            int error = write_witnesses(6);
            sim_disk_set_faults(&(struct sim_disk_faults){.capacity = 0});
            sim_disk_lose_power();
            assert_int_equal(read_witnesses(witnesses), 0);
            expect_witnesses(error == 0 || witnesses[0].group == 6 ? 6 : 5);
            sim_disk_end();
        }
    }
}

TEST(test_witnesses_that_are_damaged_or_of_another_queue_are_none)
{
    struct elapse__store_witness witnesses[PARTITIONS];
    size_t size;
    sim_disk_begin(1);
    assert_int_equal(write_witnesses(5), 0);
    uint8_t *bytes = sim_disk_content("node", "witness", &size);
    for (size_t i = 0; i < size * 8; i++) {
        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
        assert_int_equal(read_witnesses(witnesses), EBADMSG);
        assert_int_equal(witnesses[0].group, 0);
        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
    }
    expect_witnesses(5);
    assert_int_equal(
        elapse__store_recall_witnesses(&sim_disk_files, "node", QUEUE + 1, witnesses, PARTITIONS),
        EBADMSG);
    assert_int_equal(
        elapse__store_recall_witnesses(&sim_disk_files, "node", QUEUE, witnesses, PARTITIONS - 1),
        EBADMSG);
    sim_disk_put("node", "witness", bytes, size - 1);
    assert_int_equal(read_witnesses(witnesses), EBADMSG);
    sim_disk_end();
}

/* ---- directories that were left ---- */

static void remember_numbers(uint64_t epoch)
{
    struct elapse__store_memory memory = numbers(epoch);
    assert_int_equal(elapse__store_remember(&sim_disk_files, "part", &memory), 0);
}

static int leave_at(uint64_t group)
{
    const struct elapse__store_left left = {
        .known = {group, UINT64_MAX - group, group + 2, group + 3, group + 4},
        .end_group = group + 1,
        .end_hash = UINT64_MAX / 5 - group,
    };
    return elapse__store_remember_left(&sim_disk_files, "part", &left);
}

/* Returns whether the directory is left. If so, it was left at `group`. */
static bool is_left_at(uint64_t group)
{
    struct elapse__store_left left;
    bool is_left = false;
    assert_int_equal(elapse__store_recall_left(&sim_disk_files, "part", &left, &is_left), 0);
    if (!is_left)
        return false;
    assert_int_equal(left.known.group, group);
    assert_int_equal(left.known.hash, UINT64_MAX - group);
    assert_int_equal(left.known.epoch, group + 2);
    assert_int_equal(left.known.system_identifier, group + 3);
    assert_int_equal(left.known.timeline, group + 4);
    assert_int_equal(left.end_group, group + 1);
    assert_int_equal(left.end_hash, UINT64_MAX / 5 - group);
    return true;
}

static int forget(void)
{
    return elapse__store_forget_left(&sim_disk_files, "part");
}

TEST(test_a_directory_is_left_until_that_is_forgotten)
{
    sim_disk_begin(1);
    assert_false(is_left_at(0));
    assert_int_equal(forget(), 0);
    remember_numbers(3);
    assert_false(is_left_at(0));
    assert_int_equal(forget(), 0);
    assert_int_equal(leave_at(9), 0);
    assert_true(is_left_at(9));
    assert_int_equal(leave_at(10), 0);
    assert_true(is_left_at(10));
    assert_int_equal(forget(), 0);
    assert_false(is_left_at(10));
    sim_disk_end();
}

TEST(test_a_directory_whose_numbers_changed_is_not_left)
{
    sim_disk_begin(1);
    remember_numbers(3);
    assert_int_equal(leave_at(9), 0);
    for (unsigned i = 0; i < 5; i++) {
        struct elapse__store_memory memory = numbers(3);
        memory.system_identifier += i == 0;
        memory.timeline += i == 1;
        memory.epoch += i == 2;
        memory.seen_epoch += i == 3;
        memory.genesis += i == 4;
        assert_int_equal(elapse__store_remember(&sim_disk_files, "part", &memory), 0);
        assert_false(is_left_at(9));
        remember_numbers(3);
        assert_true(is_left_at(9));
    }
    sim_disk_end();
}

/* A log that nobody has followed has no end that could be left. */
TEST(test_a_directory_without_numbers_is_not_left)
{
    sim_disk_begin(1);
    assert_int_equal(leave_at(9), 0);
    assert_false(is_left_at(9));
    sim_disk_end();
}

TEST(test_a_damaged_file_leaves_nothing)
{
    size_t size;
    sim_disk_begin(1);
    remember_numbers(3);
    assert_int_equal(leave_at(9), 0);
    uint8_t *bytes = sim_disk_content("part", "left", &size);
    for (size_t i = 0; i < size * 8; i++) {
        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
        assert_false(is_left_at(9));
        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
    }
    assert_true(is_left_at(9));
    sim_disk_put("part", "left", bytes, size - 1);
    assert_false(is_left_at(9));
    sim_disk_end();
}

/* What was left, or not left, before the power was lost is so afterwards, once the call returned.
 */
TEST(test_leaving_and_forgetting_survive_each_crash)
{
    for (uint64_t calls = 1; calls < 14; calls++) {
        for (uint64_t seed = 1; seed < 40; seed++) {
            sim_disk_begin(seed);
            remember_numbers(3);
            bool leaves = seed % 2 == 0;
            if (!leaves)
                assert_int_equal(leave_at(9), 0);
            sim_disk_set_faults(&(struct sim_disk_faults){.crash_after_calls = calls});
            int error = leaves ? leave_at(9) : forget();
            sim_disk_set_faults(&(struct sim_disk_faults){.capacity = 0});
            sim_disk_lose_power();
            bool is_left = is_left_at(9);
            assert_true(error != 0 || is_left == leaves);
            sim_disk_end();
        }
    }
}

TEST_MAIN("remember")
