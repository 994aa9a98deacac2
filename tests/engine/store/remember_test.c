/*
 * Tests that the numbers which a node must not forget survive when the disk loses its power.
 */
#include <errno.h>

#include "../../../src/engine/store/remember.h"
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
    for (uint64_t calls = 1; calls < 12; calls++) {
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

TEST_MAIN("remember")
