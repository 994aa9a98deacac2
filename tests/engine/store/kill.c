/*
 * store-kill [--rounds N] [--seed S]: kills a process that uses a queue at full load (kill -9), and
 * opens the same directory with the next process.
 *
 * Threads of the child process put, cancel and acknowledge jobs. Each thread has its own keys. The
 * child notes each call in memory that it shares with the parent: "asked" before the call, and
 * "acknowledged" after the commit. The parent kills the child after a random time, opens the queue,
 * and compares:
 *
 *     the child's last word for a key     what must be there
 *     put acknowledged                    the job, with its body
 *     cancel or ack acknowledged          no job
 *     put, cancel or ack asked            the job or no job
 *     nothing                             no job
 *
 * The program exits with 1 at the first difference.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <elapse/queue.h>

#include "directory.h"

enum {
    THREADS = 6,
    KEYS = 4096, /* of one thread */
    BATCH = 16,  /* jobs with one commit */
    MOMENTS_MAX = 60000,
};

enum word { NOTHING, PUT_ASKED, PUT_SAID, END_ASKED, END_SAID };

struct shared {
    _Atomic uint8_t word[THREADS][KEYS];
    _Atomic uint64_t said; /* acknowledgements in this life */
};

static struct shared *shared;
static uint64_t seed = 1;

static uint64_t random_next(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t value = *state;
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static void fail(const char *what, unsigned thread, unsigned key)
{
    fprintf(stderr, "store-kill: %s: thread %u, key %u; seed %" PRIu64 "\n", what, thread, key,
            seed);
    exit(1);
}

static size_t name_of(unsigned thread, unsigned key, char name[16])
{
    return (size_t)snprintf(name, 16, "%u-%u", thread, key);
}

/* A body whose length and bytes follow from its key. */
static size_t body_of(unsigned thread, unsigned key, char body[512])
{
    size_t length = 16 + (key * 37 + thread * 101) % 400;

    memset(body, 'a' + (int)(key % 26), length);
    (void)name_of(thread, key, body);
    return length;
}

static struct elapse_queue *open_queue(const char *directory)
{
    struct elapse_queue_options options;
    struct elapse_queue_fault fault;
    struct elapse_queue *queue;

    elapse_queue_options_init(&options);
    options.segment_bytes = 256 << 10;
    if (elapse_queue_open(directory, &options, &queue, &fault) != ELAPSE_OK) {
        fprintf(stderr, "store-kill: %s; seed %" PRIu64 "\n", fault.text, seed);
        exit(1);
    }
    return queue;
}

/* ---- the child ---- */

static struct elapse_queue *queue;

struct worker {
    unsigned number;
    uint64_t random;
};

static void say(unsigned thread, unsigned key, enum word word)
{
    atomic_store(&shared->word[thread][key], (uint8_t)word);
}

/* Changes one key: a job that is there ends, another one is put. Returns the position. */
static uint64_t change_key(unsigned thread, unsigned key)
{
    struct elapse_answer answer = {.position = 0};
    enum elapse_error error;
    char name[16];
    char body[512];
    size_t name_bytes = name_of(thread, key, name);

    if (atomic_load(&shared->word[thread][key]) == PUT_SAID) {
        say(thread, key, END_ASKED);
        error = elapse_queue_cancel(queue, "kill", name, name_bytes, &answer);
        if (error == ELAPSE_OK && answer.result != ELAPSE_RESULT_REMOVED)
            fail("a job that is there cannot be cancelled", thread, key);
    } else {
        say(thread, key, PUT_ASKED);
        struct elapse_put put = {
            .tube = "kill",
            .key = name,
            .key_bytes = name_bytes,
            .body = body,
            .body_bytes = body_of(thread, key, body),
            .delay_ms = 3600000,
        };
        error = elapse_queue_put(queue, &put, &answer);
    }
    if (error != ELAPSE_OK)
        fail(elapse_error_text(error), thread, key);
    return answer.position;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    unsigned thread = worker->number;

    for (;;) {
        unsigned first = (unsigned)(random_next(&worker->random) % (KEYS - BATCH));
        uint64_t position = 0;
        for (unsigned i = 0; i < BATCH; i++)
            position = change_key(thread, first + i);
        enum elapse_error error = elapse_queue_commit(queue, position, ELAPSE_QUEUE_FOREVER_MS);
        if (error != ELAPSE_OK)
            fail(elapse_error_text(error), thread, first);
        for (unsigned i = 0; i < BATCH; i++) {
            uint8_t asked = atomic_load(&shared->word[thread][first + i]);
            say(thread, first + i, asked == PUT_ASKED ? PUT_SAID : END_SAID);
        }
        atomic_fetch_add(&shared->said, BATCH);
    }
    return NULL;
}

static void run_child(const char *directory, uint64_t random)
{
    pthread_t threads[THREADS];
    struct worker workers[THREADS];

    queue = open_queue(directory);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.number = i, .random = random_next(&random)};
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
            fail("pthread_create", i, 0);
    }
    for (;;)
        pause();
}

/* ---- the parent ---- */

/* A cancel that was asked for and not acknowledged may have been carried out or not; so may a put.
 */
static void compare(unsigned thread, unsigned key)
{
    char name[16];
    struct elapse_job job;
    size_t name_bytes = name_of(thread, key, name);
    bool is_there = elapse_queue_look_up(queue, "kill", name, name_bytes, &job) == ELAPSE_OK;
    enum word word = atomic_load(&shared->word[thread][key]);

    if (word == PUT_SAID && !is_there)
        fail("an acknowledged job is lost", thread, key);
    if ((word == END_SAID || word == NOTHING) && is_there)
        fail("an acknowledged cancel was undone", thread, key);
    say(thread, key, is_there ? PUT_SAID : END_SAID);
}

static void compare_all(const char *directory)
{
    queue = open_queue(directory);
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned key = 0; key < KEYS; key++)
            compare(thread, key);
    if (elapse_queue_close(queue) != ELAPSE_OK)
        fail("close", 0, 0);
}

/* Kicks all jobs and hands them out: bodies are whole, and none comes that should not. Returns how
 * many. */
static unsigned hand_out_all(const char *directory)
{
    struct elapse_reserved job;
    struct elapse_answer answer;
    uint64_t kicked = 0;
    unsigned count = 0;

    queue = open_queue(directory);
    do {
        if (elapse_queue_kick(queue, "kill", 1000, &kicked, &answer) != ELAPSE_OK)
            fail("kick", 0, 0);
        while (elapse_queue_reserve(queue, "kill", 0, &job) == ELAPSE_OK) {
            unsigned thread = 0;
            unsigned key = 0;
            char name[32] = "";
            char body[512];
            memcpy(name, job.key, job.key_bytes < 31 ? job.key_bytes : 31);
            if (sscanf(name, "%u-%u", &thread, &key) != 2 || thread >= THREADS || key >= KEYS)
                fail("a job has a foreign key", thread, key);
            if (atomic_load(&shared->word[thread][key]) != PUT_SAID)
                fail("a job comes that should not", thread, key);
            if (job.body_bytes != body_of(thread, key, body) ||
                memcmp(job.body, body, job.body_bytes) != 0)
                fail("a body is not what was put", thread, key);
            say(thread, key, END_SAID);
            count++;
            if (elapse_queue_ack(queue, job.id, job.lease, NULL) != ELAPSE_OK)
                fail("ack", thread, key);
            elapse_reserved_free(&job);
        }
    } while (kicked > 0);
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned key = 0; key < KEYS; key++)
            if (atomic_load(&shared->word[thread][key]) == PUT_SAID)
                fail("a job was not handed out", thread, key);
    if (elapse_queue_close(queue) != ELAPSE_OK)
        fail("close", 0, 0);
    return count;
}

/* A slow machine must not kill only processes that have not begun. */
static void wait_for_load(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};

    for (unsigned moments = 0; moments < MOMENTS_MAX && atomic_load(&shared->said) == 0; moments++)
        (void)nanosleep(&moment, NULL);
}

static uint64_t run_round(const char *directory, uint64_t *random)
{
    struct timespec wait = {.tv_nsec = (long)(1000000 * (5 + random_next(random) % 150))};
    int status;

    atomic_store(&shared->said, 0);
    uint64_t child_seed = random_next(random);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        run_child(directory, child_seed);
    if (child < 0)
        fail("fork", 0, 0);
    if (random_next(random) % 8 != 0) /* the others may be killed while they open */
        wait_for_load();
    (void)nanosleep(&wait, NULL);
    (void)kill(child, SIGKILL);
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail("the child ended by itself", 0, 0);
    compare_all(directory);
    return atomic_load(&shared->said);
}

int main(int argc, char **argv)
{
    unsigned rounds = 10;
    uint64_t said = 0;

    seed = (uint64_t)time(NULL) ^ (uint64_t)getpid() << 32;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--rounds") == 0)
            rounds = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    const char *directory = directory_make();
    uint64_t random = seed;
    for (unsigned i = 0; i < rounds; i++)
        said += run_round(directory, &random);
    unsigned handed = hand_out_all(directory);
    directory_remove();
    printf("store-kill: %u processes killed, %" PRIu64
           " changes acknowledged, none lost or undone; "
           "%u jobs handed out at the end; seed %" PRIu64 "\n",
           rounds, said, handed, seed);
    return said > 0 ? 0 : 1;
}
