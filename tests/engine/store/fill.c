/*
 * store-fill DIRECTORY SEGMENT_BYTES [HEADERS_BYTES]: fills the disk of the directory completely.
 * It puts jobs, and writes a file beside the queue for the last bytes. Then it shows that the queue
 * still works: puts are refused; reserve, ack, nack, bury, kick and cancel work; twenty restarts in
 * a row work; every job is there with its body; and after half of the jobs were cancelled there is
 * space again. With HEADERS_BYTES, jobs have headers of this size and short bodies. full_disk.sh
 * runs this program on a small file system. The program exits with 1 at the first error.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <elapse/queue.h>

enum {
    JOBS_MAX = 1 << 18,
    BODY_MAX = 60000,
    READY = 40, /* jobs of the tube "ready", beside those with keys */
    RESTARTS = 20,
    HOUR_MS = 3600000,
};

static struct elapse_queue *queue;
static const char *directory;
static uint32_t segment_bytes;
static size_t headers_bytes;
static bool is_live[JOBS_MAX];
static uint32_t jobs; /* put so far; the key of each is its number */

static void need(bool holds, const char *what, uint64_t number, enum elapse_error error)
{
    if (holds)
        return;
    fprintf(stderr, "store-fill: %s (%" PRIu64 "): %s\n", what, number, elapse_error_text(error));
    exit(1);
}

static void open_queue(void)
{
    struct elapse_queue_options options;
    struct elapse_queue_fault fault;

    elapse_queue_options_init(&options);
    options.segment_bytes = segment_bytes;
    if (elapse_queue_open(directory, &options, &queue, &fault) == ELAPSE_OK)
        return;
    fprintf(stderr, "store-fill: %s\n", fault.text);
    exit(1);
}

static void commit(uint64_t position)
{
    enum elapse_error error = elapse_queue_commit(queue, position, ELAPSE_QUEUE_FOREVER_MS);
    need(error == ELAPSE_OK, "commit fails", position, error);
}

static size_t body_of(uint32_t number, char *body)
{
    size_t bytes = headers_bytes > 0 ? 8 : 20000 + (number * 7919u) % (BODY_MAX - 20000);
    memset(body, 'a' + (int)(number % 26), bytes);
    memcpy(body, &number, sizeof number);
    return bytes;
}

static size_t key_of(uint32_t number, char key[16])
{
    return (size_t)snprintf(key, 16, "%" PRIu32, number);
}

static enum elapse_error put_next(struct elapse_answer *answer)
{
    static char body[BODY_MAX];
    static const char headers[ELAPSE_HEADERS_BYTES_MAX];
    char key[16];
    struct elapse_put put = {
        .tube = "kept",
        .key = key,
        .key_bytes = key_of(jobs, key),
        .body = body,
        .body_bytes = body_of(jobs, body),
        .headers = headers_bytes > 0 ? headers : NULL,
        .headers_bytes = headers_bytes,
        .delay_ms = HOUR_MS,
    };
    enum elapse_error error = elapse_queue_put(queue, &put, answer);

    if (error == ELAPSE_OK)
        is_live[jobs++] = true;
    need(jobs < JOBS_MAX, "the disk is too large for this program", jobs, ELAPSE_OK);
    return error;
}

/* Puts until the disk is full, and stays so for as many waits of 10 ms: cleaning may find space.
 * Returns how many were put. */
static uint32_t fill(unsigned patience)
{
    struct timespec wait = {.tv_nsec = 10000000};
    struct elapse_answer answer = {.position = 0};
    uint32_t before = jobs;
    enum elapse_error error = ELAPSE_OK;

    for (unsigned waits = 0; error == ELAPSE_OK || waits < patience;) {
        error = put_next(&answer);
        waits = error == ELAPSE_OK ? 0 : waits + 1;
        if (error == ELAPSE_ERROR_DISK_FULL && waits < patience)
            (void)nanosleep(&wait, NULL);
        if (error == ELAPSE_OK && jobs % 64 == 0)
            commit(answer.position);
    }
    need(error == ELAPSE_ERROR_DISK_FULL, "a put fails for another reason", jobs, error);
    commit(answer.position);
    return jobs - before;
}

/* Takes the bytes that are left, or gives them back. */
static void take_the_rest(bool take)
{
    static char zeros[1 << 12];
    char path[4096];

    snprintf(path, sizeof path, "%s.rest", directory);
    if (!take) {
        (void)unlink(path);
        return;
    }
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    while (write(file, zeros, sizeof zeros) > 0)
        continue;
    (void)fsync(file);
    (void)close(file);
}

static void cancel(uint32_t number)
{
    char key[16];
    size_t bytes = key_of(number, key);
    struct elapse_answer answer;
    enum elapse_error error = elapse_queue_cancel(queue, "kept", key, bytes, &answer);

    need(error == ELAPSE_OK, "a cancel is refused", number, error);
    need(answer.result == (is_live[number] ? ELAPSE_RESULT_REMOVED : ELAPSE_RESULT_GONE),
         "a cancel answers wrongly", number, error);
    is_live[number] = false;
}

/* Hands out two jobs: one is acknowledged; the other comes back, is buried, and kicked. */
static void use_workers(unsigned round)
{
    struct elapse_reserved first, second;
    uint64_t kicked = 0;
    enum elapse_error error = elapse_queue_reserve(queue, "ready", 10000, &first);

    need(error == ELAPSE_OK, "reserve is refused", round, error);
    error = elapse_queue_ack(queue, first.id, first.lease, NULL);
    need(error == ELAPSE_OK, "ack is refused", round, error);
    error = elapse_queue_reserve(queue, "ready", 10000, &second);
    need(error == ELAPSE_OK, "reserve is refused", round, error);
    error = elapse_queue_extend(queue, second.id, second.lease, NULL);
    need(error == ELAPSE_OK, "extend is refused", round, error);
    error = elapse_queue_bury(queue, second.id, second.lease, NULL);
    need(error == ELAPSE_OK, "bury is refused", round, error);
    error = elapse_queue_kick(queue, "ready", 1, &kicked, NULL);
    need(error == ELAPSE_OK && kicked == 1, "kick is refused", round, error);
    elapse_reserved_free(&first);
    elapse_reserved_free(&second);
}

/* Extends one lease until its records have filled four segments. They end no job. */
static void extend_for_long(void)
{
    enum { RECORD_BYTES_LEAST = 32 };
    struct elapse_reserved job;
    enum elapse_error error = elapse_queue_reserve(queue, "ready", 10000, &job);

    need(error == ELAPSE_OK, "reserve is refused", 0, error);
    for (uint32_t i = 0; i < 4 * segment_bytes / RECORD_BYTES_LEAST; i++) {
        error = elapse_queue_extend(queue, job.id, job.lease, NULL);
        need(error == ELAPSE_OK, "extend is refused", i, error);
    }
    error = elapse_queue_ack(queue, job.id, job.lease, NULL);
    need(error == ELAPSE_OK, "ack is refused", 0, error);
    elapse_reserved_free(&job);
}

static uint32_t compare(void)
{
    uint32_t live = 0;

    for (uint32_t number = 0; number < jobs; number++) {
        struct elapse_job job;
        char key[16];
        size_t bytes = key_of(number, key);
        enum elapse_error error = elapse_queue_look_up(queue, "kept", key, bytes, &job);
        need(error == (is_live[number] ? ELAPSE_OK : ELAPSE_ERROR_GONE),
             is_live[number] ? "a job is lost" : "a job is back", number, error);
        live += is_live[number];
    }
    return live;
}

/* Makes all jobs ready, and reads each body. They are gone then. */
static void read_all(uint32_t live)
{
    static char expected[BODY_MAX];
    uint64_t kicked;
    enum elapse_error error = elapse_queue_kick(queue, "kept", JOBS_MAX, &kicked, NULL);

    need(error == ELAPSE_OK && kicked == live, "not all jobs can be kicked", kicked, error);
    for (uint32_t i = 0; i < live; i++) {
        struct elapse_reserved job;
        uint32_t number;
        error = elapse_queue_reserve(queue, "kept", 10000, &job);
        need(error == ELAPSE_OK, "a job is not handed out", i, error);
        memcpy(&number, job.body, sizeof number);
        need(number < jobs && job.body_bytes == body_of(number, expected) &&
                 memcmp(job.body, expected, job.body_bytes) == 0,
             "a body is another one", i, error);
        error = elapse_queue_ack(queue, job.id, job.lease, NULL);
        need(error == ELAPSE_OK, "ack is refused", i, error);
        elapse_reserved_free(&job);
    }
}

static void put_ready(void)
{
    struct elapse_answer answer;

    for (unsigned i = 0; i < READY; i++) {
        struct elapse_put put = {.tube = "ready", .body = "work", .body_bytes = 4};
        enum elapse_error error = elapse_queue_put(queue, &put, &answer);
        need(error == ELAPSE_OK, "the first puts fail", i, error);
    }
    commit(answer.position);
}

/* Cancels every second job, and waits until a put is accepted again. */
static unsigned wait_for_space(void)
{
    struct timespec wait = {.tv_nsec = 10000000};
    struct elapse_answer answer;
    unsigned waits = 0;

    for (uint32_t number = 0; number < jobs; number += 2) {
        if (is_live[number])
            cancel(number);
    }
    while (put_next(&answer) != ELAPSE_OK) {
        waits++;
        need(waits < 6000, "no space comes back", waits, ELAPSE_ERROR_DISK_FULL);
        (void)nanosleep(&wait, NULL);
    }
    commit(answer.position);
    return waits;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: store-fill DIRECTORY SEGMENT_BYTES [HEADERS_BYTES]\n");
        return 2;
    }
    directory = argv[1];
    segment_bytes = (uint32_t)strtoul(argv[2], NULL, 10);
    headers_bytes = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
    need(headers_bytes <= ELAPSE_HEADERS_BYTES_MAX, "headers are too long", headers_bytes,
         ELAPSE_OK);
    open_queue();
    put_ready();
    uint32_t first = fill(0);
    take_the_rest(true);
    printf("%" PRIu32 " jobs fill the disk\n", first);
    for (unsigned round = 0; round < RESTARTS; round++) {
        enum elapse_error error = elapse_queue_close(queue);
        need(error == ELAPSE_OK, "close fails", round, error);
        open_queue();
        use_workers(round);
        cancel(round);
        (void)compare();
    }
    printf("%d restarts: %" PRIu32 " jobs are there\n", (int)RESTARTS, compare());
    extend_for_long();
    unsigned waits = wait_for_space();
    take_the_rest(false);
    printf("after cancelling half, space is back after %u waits of 10 ms\n", waits);
    uint32_t again = fill(300);
    uint32_t live = compare();
    printf("%" PRIu32 " more jobs fill the disk again; %" PRIu32 " are there\n", again, live);
    read_all(live);
    need(elapse_queue_close(queue) == ELAPSE_OK, "close fails", 0, ELAPSE_OK);
    puts("each body is whole");
    return 0;
}
