/*
 * Tests a store on a disk that does not sync. The function fdatasync of this program fails from a
 * moment that the test chooses.
 */
#include "fixture.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NEVER = 1 << 30 };

static _Atomic unsigned syncs_left = NEVER; /* the sync after so many more fails */
static _Atomic unsigned failed;
static _Atomic int failed_file = -1;
static _Atomic unsigned syncs_after_failure; /* of the file whose sync failed */

/* In place of that of the C library. One thread syncs the log, and another one spare files. When
 * the sync of one thread has failed, the other thread goes on until the store tells it. */
int fdatasync(int fildes)
{
    syncs_after_failure += fildes == failed_file;
    if (failed == 0 && atomic_fetch_sub(&syncs_left, 1) == 1) {
        failed_file = fildes;
        failed++;
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fildes);
}

/* Puts one job after the other, and commits each, until a sync fails. Returns how many commits were
 * acknowledged; the key of each job is its number. */
static unsigned put_until_broken(uint64_t *position)
{
    for (unsigned acknowledged = 0;; acknowledged++) {
        char key[16];
        struct elapse_put put = {.tube = "tube", .key = key, .delay_ms = 3600000};
        struct elapse_answer answer;

        put.key_bytes = (size_t)snprintf(key, sizeof key, "%u", acknowledged);
        *position = UINT64_MAX; /* if the sync of a spare file fails, between two commits */
        enum elapse_error error = elapse_queue_put(queue, &put, &answer);
        if (error == ELAPSE_OK) {
            *position = answer.position;
            error = elapse_queue_commit(queue, answer.position, ELAPSE_QUEUE_FOREVER_MS);
        }
        if (error != ELAPSE_OK) {
            assert_int_equal(error, ELAPSE_ERROR_BROKEN);
            return acknowledged;
        }
    }
}

static void need_jobs(unsigned count)
{
    struct elapse_job job;

    for (unsigned number = 0; number < count; number++) {
        char key[16];
        size_t bytes = (size_t)snprintf(key, sizeof key, "%u", number);
        assert_int_equal(elapse_queue_look_up(queue, "tube", key, bytes, &job), ELAPSE_OK);
    }
}

STORE_TEST(nothing_is_acknowledged_after_a_failed_sync)
{
    struct elapse_put put = {.tube = "tube", .delay_ms = 3600000};
    struct elapse_reserved job;
    uint64_t position = 0;

    for (unsigned left = 1; left < 40; left += 3) {
        syncs_after_failure = 0;
        failed_file = -1;
        failed = 0;
        syncs_left = left;
        unsigned acknowledged = put_until_broken(&position);
        assert_int_equal(failed, 1);
        assert_int_equal(elapse_queue_put(queue, &put, NULL), ELAPSE_ERROR_BROKEN);
        assert_int_equal(elapse_queue_cancel(queue, "tube", "0", 1, NULL), ELAPSE_ERROR_BROKEN);
        assert_int_equal(elapse_queue_reserve(queue, "tube", 0, &job), ELAPSE_ERROR_BROKEN);
        assert_int_equal(elapse_queue_commit(queue, position, 0), ELAPSE_ERROR_BROKEN);
        assert_int_equal(elapse_queue_commit(queue, position, 1000), ELAPSE_ERROR_BROKEN);
        assert_int_equal(elapse_queue_close(queue), ELAPSE_ERROR_BROKEN);
        unsigned again = syncs_after_failure;
        failed_file = -1;
        syncs_left = NEVER;
        queue = open_small();
        assert_int_equal(again, 0);
        need_jobs(acknowledged);
    }
}

TEST_MAIN("broken")
