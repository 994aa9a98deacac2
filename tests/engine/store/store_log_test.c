/*
 * Tests stores with a replicated log, as the shell of a cluster uses them. Files and threads are
 * real, and the log is in memory and answers when the test says so.
 */
#include "fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

#include "../../../src/engine/store/log.h"
#include "../../../src/engine/store/store.h"
#include "../../../src/engine/upkeep/local_log.h"
#include "directory.h"

enum { GROUPS_MAX = 4096, GENESIS = 5 };

struct group {
    uint8_t *bytes;
    size_t size;
    uint64_t hash, previous_hash;
};

/* The log. Its thread confirms each group that is submitted, unless it is held. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct group groups[GROUPS_MAX];
static uint64_t end;
static bool in_flight, is_held, ends, takes_none;
static pthread_t answerer;
static struct elapse_queue *owner;
static uint32_t partition; /* of 4, for the next node that is opened */

static uint64_t next_hash(uint64_t previous, const void *bytes, size_t size)
{
    const uint8_t *byte = bytes;
    for (size_t i = 0; i < size; i++)
        previous = (previous ^ byte[i]) * UINT64_C(1099511628211);
    return previous;
}

static uint64_t log_end(void)
{
    (void)pthread_mutex_lock(&mutex);
    uint64_t last = end;
    (void)pthread_mutex_unlock(&mutex);
    return last;
}

static bool submit(void *context, const void *bytes, size_t size, uint64_t position)
{
    (void)context;
    (void)pthread_mutex_lock(&mutex);
    bool takes = !takes_none;
    if (takes) {
        struct group *group = &groups[end + 1];
        assert_false(in_flight);
        assert_true(end + 2 < GROUPS_MAX);
        assert_true(position > 0);
        free(group->bytes);
        group->bytes = malloc(size);
        assert_non_null(group->bytes);
        memcpy(group->bytes, bytes, size);
        group->size = size;
        group->previous_hash = end == 0 ? GENESIS : groups[end].hash;
        group->hash = next_hash(group->previous_hash, bytes, size);
        in_flight = true;
        (void)pthread_cond_broadcast(&changed);
    }
    (void)pthread_mutex_unlock(&mutex);
    return takes;
}

static void trim(void *context, uint64_t tail)
{
    (void)context;
    assert_true(tail <= log_end());
}

static void *answer(void *unused)
{
    (void)pthread_mutex_lock(&mutex);
    while (!ends) {
        if (!in_flight || is_held) {
            (void)pthread_cond_wait(&changed, &mutex);
            continue;
        }
        in_flight = false;
        end++;
        struct elapse_queue *store = owner;
        (void)pthread_mutex_unlock(&mutex);
        elapse__store_confirmed(store);
        (void)pthread_mutex_lock(&mutex);
    }
    (void)pthread_mutex_unlock(&mutex);
    return unused;
}

static void set(bool *flag, bool value)
{
    (void)pthread_mutex_lock(&mutex);
    *flag = value;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&mutex);
}

static void wait_for_group(void)
{
    (void)pthread_mutex_lock(&mutex);
    while (!in_flight)
        (void)pthread_cond_wait(&changed, &mutex);
    (void)pthread_mutex_unlock(&mutex);
}

static const struct elapse__journal_log the_log = {
    .genesis = GENESIS, .next_hash = next_hash, .submit = submit, .trim = trim};

static int set_up(void **state)
{
    (void)state;
    end = 0;
    in_flight = is_held = ends = takes_none = false;
    partition = 3;
    directory = directory_make();
    return pthread_create(&answerer, NULL, answer, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    set(&ends, true);
    (void)pthread_join(answerer, NULL);
    for (size_t i = 0; i < GROUPS_MAX; i++) {
        free(groups[i].bytes);
        groups[i].bytes = NULL;
    }
    directory_remove();
    return 0;
}

static enum elapse_error open_with(const char *name, const struct elapse__journal_log *log,
                                   struct elapse_queue **store, struct elapse_queue_fault *fault)
{
    const struct elapse__store_wishes wishes = {
        .log = log, .partitions = 4, .partition = partition};
    struct elapse_queue_options options;
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    elapse_queue_options_init(&options);
    options.segment_bytes = 64 << 10;
    return elapse__store_open(path, &options, &wishes, store, fault);
}

static struct elapse_queue *open_node(const char *name)
{
    struct elapse_queue *store = NULL;
    assert_int_equal(open_with(name, &the_log, &store, NULL), ELAPSE_OK);
    return store;
}

static void follow(struct elapse_queue *store)
{
    struct elapse__store_place place;
    elapse__store_place(store, &place);
    for (uint64_t i = place.local_group + 1; i <= log_end(); i++)
        assert_int_equal(
            elapse__store_follow(
                store, &(struct elapse__engine_group){i, groups[i].hash, groups[i].previous_hash,
                                                      groups[i].bytes, groups[i].size}),
            ELAPSE_OK);
    elapse__store_place(store, &place);
    assert_int_equal(place.local_group, log_end());
}

static void own(struct elapse_queue *store)
{
    (void)pthread_mutex_lock(&mutex);
    owner = store;
    (void)pthread_mutex_unlock(&mutex);
    assert_int_equal(elapse__store_own(store), ELAPSE_OK);
}

static struct elapse_answer put(struct elapse_queue *store, const char *key)
{
    struct elapse_put arguments = {
        .tube = "tube", .body = "body", .body_bytes = 4, .key = key, .key_bytes = strlen(key)};
    struct elapse_answer result;
    assert_int_equal(elapse_queue_put(store, &arguments, &result), ELAPSE_OK);
    return result;
}

static void put_and_commit(struct elapse_queue *store, const char *key)
{
    struct elapse_answer result = put(store, key);
    assert_int_equal(elapse_queue_commit(store, result.position, ELAPSE_QUEUE_FOREVER_MS),
                     ELAPSE_OK);
}

static bool has(struct elapse_queue *store, const char *key)
{
    struct elapse_job job;
    return elapse_queue_look_up(store, "tube", key, strlen(key), &job) == ELAPSE_OK;
}

/* ---- tests ---- */

TEST_WITH(test_the_reply_waits_for_the_log, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a");
    own(store);
    put_and_commit(store, "first");
    assert_true(log_end() > 0);
    set(&is_held, true);
    struct elapse_answer result = put(store, "second");
    assert_int_equal(result.id % 4, 3);
    assert_int_equal(elapse_queue_commit(store, result.position, 50), ELAPSE_ERROR_TIMEOUT);
    set(&is_held, false);
    assert_int_equal(elapse_queue_commit(store, result.position, ELAPSE_QUEUE_FOREVER_MS),
                     ELAPSE_OK);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
}

/* The records before a position are in the log, although later ones wait. */
TEST_WITH(test_what_comes_later_is_not_waited_for, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a");
    own(store);
    put_and_commit(store, "early");
    const uint64_t position = elapse__store_appended(store);
    set(&is_held, true);
    (void)put(store, "late");
    assert_true(elapse__store_is_logged_before(store, position));
    assert_false(elapse__store_is_logged(store));
    assert_false(elapse__store_is_logged_before(store, elapse__store_appended(store)));
    set(&is_held, false);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
}

/* Nobody waits for the record of a lease. A node that hands over waits for it all the same. */
TEST_WITH(test_a_lease_is_logged_when_the_log_has_its_record, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a"), *other = open_node("b");
    struct elapse_reserved reserved;
    own(store);
    put_and_commit(store, "taken");
    while (!elapse__store_is_logged(store))
        usleep(1000);
    set(&is_held, true);
    assert_int_equal(elapse_queue_reserve(store, "tube", 0, &reserved), ELAPSE_OK);
    assert_false(elapse__store_is_logged(store));
    wait_for_group(); /* the group with the record is submitted, and not confirmed */
    assert_false(elapse__store_is_logged(store));
    (void)put(store, "behind it");
    set(&is_held, false);
    while (!elapse__store_is_logged(store))
        usleep(1000);
    follow(other);
    assert_int_equal(elapse__store_fenced(store, 1), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    own(other);
    assert_true(has(other, "behind it"));
    assert_int_equal(elapse_queue_ack(other, reserved.id, reserved.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&reserved);
    assert_int_equal(elapse_queue_close(other), ELAPSE_OK);
}

TEST_WITH(test_a_follower_takes_no_commands, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a"), *other = open_node("b");
    struct elapse_put arguments = {.tube = "tube"};
    struct elapse_queue_counts statistics;
    struct elapse_job job;
    own(store);
    put_and_commit(store, "key");
    follow(other);
    assert_int_equal(elapse_queue_put(other, &arguments, NULL), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_queue_look_up(other, "tube", "key", 3, &job), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_queue_statistics(other, NULL, &statistics), ELAPSE_ERROR_CLOSED);
    usleep(20000); /* the job is due: a timer that ran would find the queue not open */
    assert_int_equal(elapse_queue_close(other), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
}

TEST_WITH(test_a_take_over, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a"), *other = open_node("b");
    struct elapse_reserved reserved;
    own(store);
    put_and_commit(store, "taken");
    assert_int_equal(elapse_queue_reserve(store, "tube", 0, &reserved), ELAPSE_OK);
    put_and_commit(store, "key");
    follow(other);
    assert_int_equal(elapse__store_fenced(store, 1), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    own(other);
    assert_true(has(other, "key"));
    assert_int_equal(elapse_queue_ack(other, reserved.id, reserved.lease, NULL), ELAPSE_OK);
    elapse_reserved_free(&reserved);
    put_and_commit(other, "more");
    /* The first one follows, from where it was. */
    store = open_node("a");
    struct elapse__store_place place;
    elapse__store_place(store, &place);
    assert_true(place.local_group > 0 && place.confirmed_group == place.local_group);
    follow(store);
    elapse__store_place(store, &place);
    assert_int_equal(place.confirmed_group, place.local_group - 1);
    assert_int_equal(place.confirmed_hash, groups[place.local_group - 1].hash);
    assert_int_equal(elapse_queue_close(other), ELAPSE_OK);
    own(store);
    assert_true(has(store, "key"));
    assert_true(has(store, "more"));
    assert_false(has(store, "taken"));
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
}

static uint64_t load_8(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (unsigned i = 8; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* Returns how many records the file has that was put aside, and NULL bytes if there is no file. */
static unsigned count_aside(const char *node, const char *name)
{
    char path[600];
    uint8_t bytes[4096];
    struct elapse__portable portable;
    struct elapse__record record;
    unsigned records = 0;
    (void)snprintf(path, sizeof path, "%s/%s/journal/%s", directory, node, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return 0;
    size_t size = fread(bytes, 1, sizeof bytes, file), at = 0;
    (void)fclose(file);
    for (; at < size; at += 8 + (size_t)load_8(bytes + at)) {
        assert_true(elapse__portable_open(&portable, bytes + at + 8, (size_t)load_8(bytes + at)));
        while (elapse__portable_next(&portable, &record))
            records++;
    }
    assert_int_equal(at, size);
    return records;
}

struct committer {
    struct elapse_queue *store;
    uint64_t position;
    enum elapse_error error;
};

static void *commit_forever(void *argument)
{
    struct committer *committer = argument;
    committer->error =
        elapse_queue_commit(committer->store, committer->position, ELAPSE_QUEUE_FOREVER_MS);
    return NULL;
}

TEST_WITH(test_a_fence_in_the_middle_of_a_group, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a");
    struct committer committer = {.store = store};
    pthread_t thread;
    own(store);
    put_and_commit(store, "kept");
    uint64_t kept = log_end();
    set(&is_held, true);
    committer.position = put(store, "submitted").position;
    assert_int_equal(pthread_create(&thread, NULL, commit_forever, &committer), 0);
    wait_for_group();
    (void)put(store, "behind it");
    set(&in_flight, false); /* it was not in the log */
    assert_int_equal(elapse__store_fenced(store, 7), ELAPSE_OK);
    (void)pthread_join(thread, NULL);
    assert_int_equal(committer.error, ELAPSE_ERROR_CLOSED);
    struct elapse_put arguments = {.tube = "tube"};
    assert_int_equal(elapse_queue_put(store, &arguments, NULL), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    char name[64];
    (void)snprintf(name, sizeof name, "aside-7-%u", (unsigned)kept + 1);
    assert_int_equal(count_aside("a", name), 2);
    /* Only what was confirmed is there. */
    set(&is_held, false);
    store = open_node("a");
    follow(store);
    own(store);
    assert_true(has(store, "kept"));
    assert_false(has(store, "submitted"));
    assert_false(has(store, "behind it"));
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
}

TEST_WITH(test_a_log_that_takes_no_more, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a");
    own(store);
    put_and_commit(store, "kept");
    set(&takes_none, true);
    struct elapse_answer result = put(store, "lost");
    enum elapse_error error = elapse_queue_commit(store, result.position, 100);
    assert_true(error == ELAPSE_ERROR_TIMEOUT || error == ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse__store_fenced(store, 1), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
}

TEST_WITH(test_a_rebuild, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a"), *other = open_node("b");
    own(store);
    put_and_commit(store, "one");
    follow(other);
    assert_int_equal(elapse__store_rebuild(other), ELAPSE_OK);
    struct elapse__store_place place;
    elapse__store_place(other, &place);
    assert_int_equal(place.local_group, 0);
    assert_int_equal(place.local_hash, GENESIS);
    follow(other);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    own(other);
    assert_true(has(other, "one"));
    assert_int_equal(elapse__store_rebuild(other), ELAPSE_ERROR_CLOSED);
    assert_int_equal(elapse_queue_close(other), ELAPSE_OK);
}

TEST_WITH(test_a_group_without_records, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a"), *other = open_node("b");
    own(store);
    put_and_commit(store, "one");
    uint64_t before = log_end();
    elapse__store_push(store);
    for (unsigned i = 0; i < 60000 && log_end() == before; i++)
        usleep(1000);
    assert_int_equal(log_end(), before + 1);
    follow(other);
    assert_int_equal(elapse_queue_close(other), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
}

TEST_WITH(test_bytes_that_are_no_group, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a");
    uint8_t bytes[64] = {9};
    struct elapse__engine_group group = {1, 1, GENESIS, bytes, sizeof bytes};
    assert_int_equal(elapse__store_follow(store, &group), ELAPSE_ERROR_ARGUMENT);
    bytes[0] = ELAPSE__PORTABLE_FORMAT;
    assert_int_equal(elapse__store_follow(store, &group), ELAPSE_ERROR_ARGUMENT);
    group.size = 3;
    assert_int_equal(elapse__store_follow(store, &group), ELAPSE_ERROR_ARGUMENT);
    struct elapse__store_place place;
    elapse__store_place(store, &place);
    assert_int_equal(place.local_group, 0);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
}

/* Returns what a store says to a group of the log. */
static enum elapse_error try_to_follow(struct elapse_queue *store, uint64_t number)
{
    const struct group *group = &groups[number];
    return elapse__store_follow(store, &(struct elapse__engine_group){number, group->hash,
                                                                      group->previous_hash,
                                                                      group->bytes, group->size});
}

TEST_WITH(test_a_group_of_another_partition, set_up, tear_down)
{
    struct elapse__store_place place;
    struct elapse_queue *store = open_node("a");
    partition = 2;
    struct elapse_queue *other = open_node("b");
    own(store);
    put_and_commit(store, "key");
    enum elapse_error error = ELAPSE_OK;
    uint64_t refused = 0;
    while (error == ELAPSE_OK && refused < log_end())
        error = try_to_follow(other, ++refused);
    assert_int_equal(error, ELAPSE_ERROR_ARGUMENT);
    /* Nothing has changed: it can follow a group that is of its partition. */
    assert_int_equal(try_to_follow(other, refused), ELAPSE_ERROR_ARGUMENT);
    elapse__store_place(other, &place);
    assert_int_equal(place.local_group, refused - 1);
    assert_int_equal(elapse__store_rebuild(other), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(other), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
}

/* What the owner knew beside the records: ids that were given, and its clock. */
TEST_WITH(test_facts_of_a_group, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a");
    const struct elapse__portable_facts facts = {.tail = 1, .next_id = 4003, .wall_ms = 1 << 30};
    struct elapse__store_place place;
    groups[1].bytes = malloc(ELAPSE__PORTABLE_HEADER_BYTES);
    assert_non_null(groups[1].bytes);
    groups[1].size = elapse__portable_encode(&facts, NULL, 0, groups[1].bytes);
    groups[1].previous_hash = GENESIS;
    groups[1].hash = next_hash(GENESIS, groups[1].bytes, groups[1].size);
    end = 1;
    follow(store);
    elapse__store_place(store, &place);
    assert_true(place.wall_ms >= facts.wall_ms);
    own(store);
    assert_true(put(store, "key").id >= facts.next_id);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
}

TEST_WITH(test_directories_of_two_kinds, set_up, tear_down)
{
    struct elapse_queue_fault fault;
    struct elapse_queue *store = open_node("a"), *none;
    own(store);
    put_and_commit(store, "key");
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    assert_int_equal(open_with("a", NULL, &none, &fault), ELAPSE_ERROR_FORMAT);
    assert_non_null(strstr(fault.text, "replicated queue"));
    /* And the other way round. */
    assert_int_equal(open_with("b", NULL, &store, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    assert_int_equal(open_with("b", &the_log, &none, &fault), ELAPSE_ERROR_FORMAT);
    assert_non_null(strstr(fault.text, "no part of a replicated one"));
    /* Neither attempt has changed anything. */
    assert_int_equal(open_with("b", NULL, &store, NULL), ELAPSE_OK);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    store = open_node("a");
    follow(store);
    own(store);
    assert_true(has(store, "key"));
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
}

static void be_silent(void *context, const char *line)
{
    (void)context, (void)line;
}

static bool count_job(void *context, const struct elapse__upkeep_job *job)
{
    assert_int_equal(job->body.size, 4);
    (*(unsigned *)context)++;
    return true;
}

/* Check and export read a node's copy, and leave it as it is; repair has nothing to do there. */
TEST_WITH(test_upkeep, set_up, tear_down)
{
    struct elapse__upkeep_report report;
    struct elapse__upkeep_fault fault;
    char path[512], repaired[512], segment[600];
    unsigned jobs = 0;
    (void)snprintf(path, sizeof path, "%s/a", directory);
    (void)snprintf(repaired, sizeof repaired, "%s/repaired", directory);
    struct elapse_queue *store = open_node("a");
    assert_int_equal(elapse__store_rebuild(store), ELAPSE_OK);
    own(store);
    put_and_commit(store, "one");
    put_and_commit(store, "two");
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    assert_true(elapse__upkeep_check(path, NULL, be_silent, NULL, &report, &fault));
    assert_int_equal(report.damages, 0);
    struct elapse__upkeep_data *data = elapse__upkeep_open(path, false, 1 << 16, &fault);
    assert_non_null(data);
    assert_true(elapse__upkeep_each(data, count_job, &jobs, &fault));
    assert_int_equal(jobs, 2);
    assert_true(elapse__upkeep_close(data, &fault));
    store = open_node("a");
    follow(store);
    own(store);
    assert_true(has(store, "one"));
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    (void)snprintf(segment, sizeof segment, "%s/journal/1.log", path);
    FILE *file = fopen(segment, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 600, SEEK_SET), 0);
    assert_int_equal(fputc(255, file), 255);
    assert_int_equal(fclose(file), 0);
    assert_false(elapse__upkeep_check(path, repaired, be_silent, NULL, &report, &fault));
    assert_non_null(strstr(fault.text, "the node reads it again"));
}

/* ---- reading the groups from the files ---- */

static bool read_local(const char *name, uint64_t from, struct elapse__upkeep_local_log *log,
                       struct elapse__upkeep_fault *fault)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    *log = (struct elapse__upkeep_local_log){.next_hash = next_hash, .from = from};
    return elapse__upkeep_local_log_read(path, log, fault);
}

static void refuse_local(const char *name, uint64_t from, const char *words)
{
    struct elapse__upkeep_local_log log;
    struct elapse__upkeep_fault fault;
    assert_false(read_local(name, from, &log, &fault));
    assert_non_null(strstr(fault.text, words));
}

/* All groups that the files have are those of the log, up to the last one. Returns the first. */
static uint64_t expect_local(const char *name, uint64_t from)
{
    struct elapse__upkeep_local_log log;
    struct elapse__upkeep_fault fault;
    if (!read_local(name, from, &log, &fault))
        fail_msg("%s", fault.text);
    assert_true(log.count > 0);
    uint64_t first = log.groups[0].number;
    assert_int_equal(log.groups[log.count - 1].number, log_end());
    for (size_t i = 0; i < log.count; i++) {
        const struct elapse__upkeep_local_group *group = &log.groups[i];
        const struct group *expected = &groups[group->number];
        assert_int_equal(group->number, first + i);
        assert_int_equal(group->hash, expected->hash);
        assert_int_equal(group->previous_hash, expected->previous_hash);
        assert_true((group->bytes != NULL) == (group->number >= from));
        if (group->bytes == NULL)
            continue;
        assert_int_equal(group->size, expected->size);
        assert_memory_equal(group->bytes, expected->bytes, group->size);
    }
    elapse__upkeep_local_log_free(&log);
    return first;
}

/* Ends owning between two groups: the journal may have one of its own on its way. */
static void fence(struct elapse_queue *store, uint64_t epoch)
{
    struct elapse__store_place place;
    set(&is_held, true);
    do {
        usleep(1000);
        elapse__store_place(store, &place);
    } while (place.confirmed_group != log_end());
    set(&in_flight, false); /* it was not in the log */
    assert_int_equal(elapse__store_fenced(store, epoch), ELAPSE_OK);
    set(&is_held, false);
}

static void put_round(struct elapse_queue *store, unsigned round)
{
    struct elapse_reserved reserved;
    char key[32];
    for (unsigned i = 0; i < 60; i++) {
        (void)snprintf(key, sizeof key, "%u.%u", round, i);
        (void)put(store, key);
    }
    if (round % 3 != 0) {
        assert_int_equal(elapse_queue_reserve(store, "tube", 0, &reserved), ELAPSE_OK);
        assert_int_equal(elapse_queue_ack(store, reserved.id, reserved.lease, NULL), ELAPSE_OK);
        elapse_reserved_free(&reserved);
    }
    put_and_commit(store, "last");
}

/* An owner's files, a follower's, and those of a node that was both, and that read all anew. */
TEST_WITH(test_files_have_the_groups_of_the_log, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a"), *other = open_node("b");
    own(store);
    for (unsigned round = 0; round < 30; round++)
        put_round(store, round);
    refuse_local("a", 1, "has opened this queue");
    fence(store, 1);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    follow(other);
    uint64_t first = expect_local("a", 1);
    assert_true(first + 60 < log_end()); /* segments that are needed no more are gone */
    assert_int_equal(expect_local("a", first + 30), first);
    own(other);
    put_round(other, 100);
    fence(other, 2);
    assert_int_equal(elapse_queue_close(other), ELAPSE_OK);
    assert_true(expect_local("b", 1) + 60 < log_end());
    store = open_node("a");
    assert_int_equal(elapse__store_rebuild(store), ELAPSE_OK);
    follow(store);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    assert_true(expect_local("a", 1) + 60 < log_end());
}

/* Gives the groups from this one on other hashes, which fit to each other. */
static void chain_again(uint64_t from, uint64_t hash)
{
    groups[from].hash = hash;
    for (uint64_t i = from + 1; i <= log_end(); i++) {
        groups[i].previous_hash = groups[i - 1].hash;
        groups[i].hash = next_hash(groups[i].previous_hash, groups[i].bytes, groups[i].size);
    }
}

static struct elapse_queue *open_behind(const char *name)
{
    struct elapse_queue *store = open_node("a"), *other = open_node(name);
    own(store);
    for (unsigned i = 0; i < 3; i++)
        put_and_commit(store, "one");
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    return other;
}

/* As where a file is needed no more, and the next one begins with the place of its last group. */
TEST_WITH(test_the_first_group_may_be_gone, set_up, tear_down)
{
    struct elapse_queue *other = open_behind("b"), *third = open_node("c");
    struct elapse__upkeep_local_log log;
    struct elapse__upkeep_fault fault;
    chain_again(1, 77);
    follow(other);
    assert_int_equal(elapse_queue_close(other), ELAPSE_OK);
    assert_true(read_local("b", 1, &log, &fault));
    assert_int_equal(log.count, log_end());
    assert_int_equal(log.groups[0].hash, 77);
    for (size_t i = 0; i < log.count; i++)
        assert_true((log.groups[i].bytes == NULL) == (i == 0));
    elapse__upkeep_local_log_free(&log);
    chain_again(2, 78); /* another one may not */
    follow(third);
    assert_int_equal(elapse_queue_close(third), ELAPSE_OK);
    refuse_local("c", 1, "group 2 of the log is not whole here");
}

/* Each group is what its hash says, and yet they are no chain. */
TEST_WITH(test_groups_that_are_no_chain_are_not_taken, set_up, tear_down)
{
    struct elapse_queue *other = open_behind("b");
    struct group *last = &groups[log_end()];
    last->previous_hash++;
    last->hash = next_hash(last->previous_hash, last->bytes, last->size);
    follow(other);
    assert_int_equal(elapse_queue_close(other), ELAPSE_OK);
    refuse_local("b", 1, "of the log is not whole here");
}

/* Flips a byte of the body of the first job in the oldest segment. */
static void damage(const char *name)
{
    static char bytes[1 << 20];
    char path[600];
    FILE *file = NULL;
    for (unsigned segment = 1; file == NULL && segment < 10; segment++) {
        (void)snprintf(path, sizeof path, "%s/%s/journal/%u.log", directory, name, segment);
        file = fopen(path, "r+b");
    }
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    for (size_t i = 4; i < size; i++)
        if (memcmp(bytes + i - 4, "body", 4) == 0) {
            assert_int_equal(fseek(file, (long)i - 1, SEEK_SET), 0);
            (void)fputc('i', file);
            break;
        }
    assert_int_equal(fclose(file), 0);
}

TEST_WITH(test_damaged_groups_are_not_taken, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a");
    own(store);
    /* Damage behind the last sync is that of a crash: the files end before it. */
    for (unsigned round = 0; round < 8; round++)
        put_round(store, round);
    fence(store, 1);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    (void)expect_local("a", 1);
    damage("a");
    refuse_local("a", 1, ".log: at offset ");
    refuse_local("a", log_end() + 1, "the body is damaged"); /* not one group is wanted */
    refuse_local("nowhere", 1, "No such file");
}

/* Removes the newest segment. Returns its number. */
static unsigned remove_newest(const char *name)
{
    char path[600];
    unsigned number = 100;
    do
        (void)snprintf(path, sizeof path, "%s/%s/journal/%u.log", directory, name, --number);
    while (number > 0 && unlink(path) != 0);
    return number;
}

/* Else the log would silently end with the file before. */
TEST_WITH(test_files_whose_end_is_missing_are_not_taken, set_up, tear_down)
{
    struct elapse_queue *store = open_node("a");
    own(store);
    for (unsigned round = 0; round < 30; round++)
        put_round(store, round);
    fence(store, 1);
    assert_int_equal(elapse_queue_close(store), ELAPSE_OK);
    (void)expect_local("a", 1);
    assert_true(remove_newest("a") > 1);
    /* An older one that was needed no more may be named first. */
    refuse_local("a", 1, ".log: the file is missing");
}

TEST_MAIN("store_log")
