/*
 * Tests threads of the user that write and sync by themselves when they commit. Meanwhile the
 * commit thread looks for work, finds none, and sleeps. At the end the thread of the user may leave
 * records that came meanwhile. The commit thread has to write these, and must not sleep while there
 * is a record.
 */
#include "fixture.h"

#include <pthread.h>
#include <unistd.h>

#include "../../../src/engine/store/store.h"
#include "../../../src/os/lock.h"
#include "directory.h"

/* ---- a sync that waits, if a certain thread calls it ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_t leader;
static bool holds, is_held;

static int sync_or_wait(int file)
{
    (void)pthread_mutex_lock(&mutex);
    while (holds && pthread_equal(pthread_self(), leader)) {
        is_held = true;
        (void)pthread_cond_broadcast(&changed);
        (void)pthread_cond_wait(&changed, &mutex);
    }
    (void)pthread_mutex_unlock(&mutex);
    return elapse__files_linux.sync(file);
}

static bool leader_is_held(void)
{
    (void)pthread_mutex_lock(&mutex);
    bool held = is_held;
    (void)pthread_mutex_unlock(&mutex);
    return held;
}

static void wait_for_leader(void)
{
    (void)pthread_mutex_lock(&mutex);
    while (!is_held)
        (void)pthread_cond_wait(&changed, &mutex);
    (void)pthread_mutex_unlock(&mutex);
}

static void release_leader(void)
{
    (void)pthread_mutex_lock(&mutex);
    holds = false;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&mutex);
}

static int open_queue(void **state)
{
    static struct elapse__files files;
    const struct elapse__store_wishes wishes = {.files = &files};
    struct elapse_queue_options options;

    (void)state;
    elapse_queue_options_init(&options);
    options.segment_bytes = 64 << 10;
    files = elapse__files_linux;
    files.sync = sync_or_wait;
    holds = is_held = false;
    directory = directory_make();
    return elapse__store_open(directory, &options, &wishes, &queue, NULL) == ELAPSE_OK ? 0 : -1;
}

static void say_held(void)
{
    (void)pthread_mutex_lock(&mutex);
    is_held = true;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&mutex);
}

/* Puts and commits until it was this thread itself that synced: often the commit thread is quicker.
 * Stores the first error. */
static void *commit_until_led(void *error)
{
    struct elapse_put put = {.tube = "tube", .delay_ms = 3600000};
    struct elapse_answer answer;
    enum elapse_error *first = error;

    *first = ELAPSE_OK;
    (void)pthread_mutex_lock(&mutex);
    leader = pthread_self();
    holds = true;
    (void)pthread_mutex_unlock(&mutex);
    while (*first == ELAPSE_OK && !leader_is_held()) {
        *first = elapse_queue_put(queue, &put, &answer);
        if (*first == ELAPSE_OK)
            *first = elapse_queue_commit(queue, answer.position, ELAPSE_QUEUE_FOREVER_MS);
    }
    /* After an error nobody else would say so. */
    say_held();
    return NULL;
}

/* Returns whether the commit thread sleeps and does not look again soon. */
static bool commit_thread_sleeps(void)
{
    const struct elapse__store_lane *lane = &queue->lanes[ELAPSE__LANE_COMMIT];

    elapse__lock(&queue->lock);
    bool sleeps = lane->asleep && !lane->lingers;
    elapse__unlock(&queue->lock);
    return sleeps;
}

/* Returns whether a record waits for a commit thread that nobody has woken. */
static bool record_was_left_behind(void)
{
    const struct elapse__store_lane *lane = &queue->lanes[ELAPSE__LANE_COMMIT];

    elapse__lock(&queue->lock);
    bool is_behind = queue->engine.last_position > elapse__journal_durable(queue->engine.journal) &&
                     lane->asleep && !lane->lingers;
    elapse__unlock(&queue->lock);
    return is_behind;
}

static void leave_beside_a_record(void)
{
    struct elapse_put put = {.tube = "tube", .delay_ms = 3600000};
    struct elapse_answer answer;
    enum elapse_error error;
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, commit_until_led, &error), 0);
    wait_for_leader();
    assert_int_equal(elapse_queue_put(queue, &put, &answer), ELAPSE_OK);
    while (!commit_thread_sleeps())
        (void)usleep(1000);
    release_leader();
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(error, ELAPSE_OK);
    assert_false(record_was_left_behind());
    while (elapse_queue_durable(queue) < answer.position)
        (void)usleep(1000);
}

#define LEAD_TEST(function) TEST_WITH(function, open_queue, close_fixture)

LEAD_TEST(committer_that_leaves_wakes_the_commit_thread)
{
    leave_beside_a_record();
}

LEAD_TEST(so_it_does_for_one_that_watches_the_descriptor)
{
    assert_true(elapse_queue_descriptor(queue) >= 0);
    leave_beside_a_record();
}

TEST_MAIN("store_lead")
