/*
 * Tests queues without a directory. They work like other queues, share nothing with each other, and
 * leave nothing behind. They refuse new jobs when the process has no room for another segment.
 */
#include "fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "directory.h"

enum { HOUR_MS = 3600000, SEGMENT_BYTES = 16 << 10, BODY_BYTES = 1000 };

static const char *const tube = "tube";

static struct elapse_queue *open_as(const char *path, enum elapse_durability durability)
{
    struct elapse_queue_options options;
    struct elapse_queue_fault fault;
    struct elapse_queue *opened;

    elapse_queue_options_init(&options);
    options.durability = durability;
    options.segment_bytes = SEGMENT_BYTES;
    if (elapse_queue_open(path, &options, &opened, &fault) != ELAPSE_OK)
        fail_msg("%s", fault.text);
    return opened;
}

static struct elapse_queue *open_in_memory(void)
{
    return open_as(NULL, ELAPSE_DURABILITY_MEMORY);
}

static void close_it(struct elapse_queue *opened)
{
    assert_int_equal(elapse_queue_close(opened), ELAPSE_OK);
}

static unsigned count_descriptors(void)
{
    unsigned count = 0;
    DIR *entries = opendir("/proc/self/fd");

    assert_non_null(entries);
    while (readdir(entries) != NULL)
        count++;
    (void)closedir(entries);
    return count;
}

/* Puts a job whose key and body are this number. */
static enum elapse_error put_number(struct elapse_queue *to, unsigned number, uint64_t delay_ms)
{
    char key[16], body[BODY_BYTES] = "";
    struct elapse_put put = {
        .tube = tube,
        .key = key,
        .key_bytes = (size_t)snprintf(key, sizeof key, "%u", number),
        .body = body,
        .body_bytes = sizeof body,
        .delay_ms = delay_ms,
    };
    struct elapse_answer answer;

    memcpy(body, key, put.key_bytes);
    enum elapse_error error = elapse_queue_put(to, &put, &answer);
    if (error == ELAPSE_OK)
        assert_int_equal(elapse_queue_commit(to, answer.position, ELAPSE_QUEUE_FOREVER_MS),
                         ELAPSE_OK);
    return error;
}

static enum elapse_result cancel_number(struct elapse_queue *from, unsigned number)
{
    char key[16];
    size_t bytes = (size_t)snprintf(key, sizeof key, "%u", number);
    struct elapse_answer answer;

    assert_int_equal(elapse_queue_cancel(from, tube, key, bytes, &answer), ELAPSE_OK);
    return answer.result;
}

/* Works on the next job, which has this number. */
static void work_number(struct elapse_queue *from, unsigned number)
{
    struct elapse_reserved job;

    assert_int_equal(elapse_queue_reserve(from, tube, 10000, &job), ELAPSE_OK);
    assert_int_equal(strtoul(job.body, NULL, 10), number);
    assert_int_equal(job.body_bytes, BODY_BYTES);
    assert_int_equal(elapse_queue_ack(from, job.id, job.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&job);
}

static uint64_t count_delayed(struct elapse_queue *from)
{
    struct elapse_queue_counts counts;

    assert_int_equal(elapse_queue_statistics(from, NULL, &counts), ELAPSE_OK);
    return counts.delayed;
}

TEST(queues_in_memory_do_not_meet)
{
    struct elapse_queue *one = open_in_memory(), *two = open_in_memory();

    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(put_number(one, i, 0), ELAPSE_OK);
        assert_int_equal(put_number(two, 1000 + i, i % 2 == 0 ? 0 : HOUR_MS), ELAPSE_OK);
    }
    for (unsigned i = 0; i < 100; i++) {
        work_number(one, i);
        work_number(two, 1000 + 2 * i);
    }
    close_it(one);
    /* The segments of the other one are there, also those that are written from now on. */
    assert_int_equal(count_delayed(two), 100);
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(put_number(two, 2000 + i, HOUR_MS), ELAPSE_OK);
    one = open_in_memory();
    assert_int_equal(count_delayed(one), 0);
    assert_int_equal(cancel_number(one, 1001), ELAPSE_RESULT_GONE);
    assert_int_equal(cancel_number(two, 1001), ELAPSE_RESULT_REMOVED);
    close_it(one);
    close_it(two);
}

/* More than any table of queues could forget to clear. */
TEST(a_queue_in_memory_leaves_nothing_behind)
{
    enum { QUEUES = 40, AT_ONCE = 12 };
    struct elapse_queue *open[AT_ONCE];

    close_it(open_in_memory());
    unsigned before = count_descriptors();
    for (unsigned i = 0; i < QUEUES; i++) {
        struct elapse_queue *opened = open_in_memory();
        for (unsigned k = 0; k < 30; k++)
            assert_int_equal(put_number(opened, k, 0), ELAPSE_OK);
        close_it(opened);
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        open[i] = open_in_memory();
        assert_int_equal(put_number(open[i], i, 0), ELAPSE_OK);
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        work_number(open[i], i);
        close_it(open[i]);
    }
    assert_int_equal(count_descriptors(), before);
}

TEST(a_directory_is_needed_unless_the_queue_is_in_memory)
{
    struct elapse_queue_options options;
    struct elapse_queue_fault fault;
    struct elapse_queue *opened;

    assert_int_equal(elapse_queue_open(NULL, NULL, &opened, &fault), ELAPSE_ERROR_ARGUMENT);
    assert_null(opened);
    assert_non_null(strstr(fault.text, "directory"));
    elapse_queue_options_init(&options);
    options.durability = (enum elapse_durability)3;
    assert_int_equal(elapse_queue_open("nowhere", &options, &opened, NULL), ELAPSE_ERROR_ARGUMENT);
    /* One that is named is not touched. */
    close_it(open_as("nowhere", ELAPSE_DURABILITY_MEMORY));
    assert_int_equal(access("nowhere", F_OK), -1);
}

/* ---- no room for another segment ---- */

static struct rlimit usual;

/* From now on this process can open no more than so many files. */
static void limit_files(unsigned more)
{
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(lowest >= 0);
    (void)close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    struct rlimit limit = usual;
    limit.rlim_cur = (rlim_t)lowest + more;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void lift_limit(void)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

/* Puts until a put is refused. Returns how many were not. */
static unsigned put_until_full(struct elapse_queue *to)
{
    enum elapse_error error = ELAPSE_OK;
    unsigned count = 0;

    while (error == ELAPSE_OK && count < 10000) {
        error = put_number(to, count, HOUR_MS);
        count += error == ELAPSE_OK;
    }
    assert_int_equal(error, ELAPSE_ERROR_DISK_FULL);
    return count;
}

static void a_full_queue_goes_on(const char *path, enum elapse_durability durability)
{
    struct elapse_queue *full = open_as(path, durability);
    enum elapse_error error = ELAPSE_ERROR_DISK_FULL;

    limit_files(20);
    unsigned count = put_until_full(full);
    assert_in_range(count, 50, 1000);
    assert_int_equal(count_delayed(full), count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(cancel_number(full, i), ELAPSE_RESULT_REMOVED);
    for (unsigned looks = 0; error != ELAPSE_OK && looks < 60000; looks++) {
        error = put_number(full, count, 0);
        (void)usleep(1000);
    }
    assert_int_equal(error, ELAPSE_OK);
    work_number(full, count);
    lift_limit();
    close_it(full);
}

TEST(a_full_memory_refuses_jobs_and_loses_none)
{
    a_full_queue_goes_on(NULL, ELAPSE_DURABILITY_MEMORY);
}

TEST(a_process_without_descriptors_does_not_break_a_queue)
{
    const char *path = directory_make();
    a_full_queue_goes_on(path, ELAPSE_DURABILITY_SYNC);
    directory_remove();
}

TEST_MAIN("store_memory")
