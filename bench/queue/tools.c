/*
 * What the workloads of the durable queue have in common.
 */
#include <fcntl.h>
#include <ftw.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../measure.h"
#include "queue_bench.h"

enum { PROBES = 16, PAUSE_US = 10000, PAUSES_MOST = 2000, OPEN_FILES = 16 };

/* The head and two spares. */
#define FILES_BYTES (3 * (uint64_t)SEGMENT_BYTES)

void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "elapse-bench-queue: %s\n", what);
    exit(EXIT_FAILURE);
}

/* ---- directories ---- */

void place_make(const struct settings *settings, char path[PATH_BYTES])
{
    int length = snprintf(path, PATH_BYTES, "%s/elapse-bench-queue.XXXXXX", settings->directory);
    require(length > 0 && length < PATH_BYTES, "the path of the directory is too long");
    require(mkdtemp(path) != NULL, "no directory can be made; see --directory");
}

static int remove_file(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

void place_remove(const char *path)
{
    require(nftw(path, remove_file, OPEN_FILES, FTW_DEPTH | FTW_PHYS) == 0,
            "the directory cannot be removed");
}

static bool (*use_file)(int file);

static int open_file(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)walk;
    if (kind != FTW_F)
        return 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 1;
    bool is_done = use_file(file);
    close(file);
    return !is_done;
}

bool place_each_file(const char *path, bool (*use)(int file))
{
    use_file = use;
    return nftw(path, open_file, OPEN_FILES, FTW_PHYS) == 0;
}

static bool forget_file(int file)
{
    return fsync(file) == 0 && posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0;
}

void place_forget(const char *path)
{
    require(place_each_file(path, forget_file), "the files cannot be taken out of the page cache");
}

/* ---- memory ---- */

struct memory memory_now(void)
{
    struct memory memory = {0, 0};
    unsigned long size, resident;
    FILE *file = fopen("/proc/self/statm", "r");
#ifdef __GLIBC__
    struct mallinfo2 allocated = mallinfo2();
    memory.allocated = (double)allocated.uordblks + (double)allocated.hblkhd;
#endif
    require(file != NULL && fscanf(file, "%lu %lu", &size, &resident) == 2, "no /proc/self/statm");
    fclose(file);
    memory.resident = (double)resident * (double)sysconf(_SC_PAGESIZE);
    return memory;
}

/* ---- queues ---- */

static uint64_t file_bytes(struct elapse_queue *queue)
{
    struct elapse_queue_counts statistics;
    require(elapse_queue_statistics(queue, NULL, &statistics) == ELAPSE_OK, "no statistics");
    return statistics.file_bytes;
}

struct elapse_queue *queue_open(const char *path)
{
    struct elapse_queue *queue;
    struct elapse_queue_fault fault;
    if (elapse_queue_open(path, NULL, &queue, &fault) != ELAPSE_OK)
        require(false, fault.text);
    for (unsigned i = 0; i < PAUSES_MOST && file_bytes(queue) < FILES_BYTES; i++)
        usleep(PAUSE_US);
    return queue;
}

void queue_close(struct elapse_queue *queue)
{
    require(elapse_queue_close(queue) == ELAPSE_OK, "the queue did not close well");
}

void commit(struct elapse_queue *queue, uint64_t position)
{
    require(elapse_queue_commit(queue, position, ELAPSE_QUEUE_FOREVER_MS) == ELAPSE_OK,
            "a commit failed");
}

struct elapse_put job_numbered(uint64_t number, bool with_key, uint64_t delay_ms)
{
    static _Thread_local unsigned char body[BODY_BYTES];
    static _Thread_local uint64_t key;
    memcpy(body, &number, sizeof number);
    key = number;
    return (struct elapse_put){
        .tube = TUBE,
        .body = body,
        .body_bytes = sizeof body,
        .key = with_key ? &key : NULL,
        .key_bytes = with_key ? sizeof key : 0,
        .delay_ms = delay_ms,
    };
}

void queue_fill(struct elapse_queue *queue, uint64_t from, uint64_t count, bool with_key,
                uint64_t delay_ms)
{
    struct elapse_answer answer = {.position = 0};
    uint64_t before = 0;
    for (uint64_t i = 0; i < count; i++) {
        struct elapse_put put = job_numbered(from + i, with_key, delay_ms);
        require(elapse_queue_put(queue, &put, &answer) == ELAPSE_OK, "a put failed");
        if (i % GROUP == GROUP - 1) {
            commit(queue, before);
            before = answer.position;
        }
    }
    commit(queue, answer.position);
}

/* A COMMIT may lie between two records, so the least difference of several counts. */
size_t put_record_bytes(struct elapse_queue *queue, bool with_key)
{
    struct elapse_answer answer = {.position = 0};
    uint64_t least = UINT64_MAX;
    uint64_t before = 0;
    for (unsigned i = 0; i < PROBES; i++) {
        struct elapse_put put = job_numbered(UINT64_MAX - i, with_key, 3600000);
        require(elapse_queue_put(queue, &put, &answer) == ELAPSE_OK, "a put failed");
        if (before != 0 && answer.position - before < least)
            least = answer.position - before;
        (void)elapse_queue_cancel_id(queue, answer.id, &answer);
        before = answer.position;
    }
    commit(queue, before);
    return (size_t)least;
}

size_t cancel_record_bytes(struct elapse_queue *queue, bool with_key)
{
    struct elapse_answer answer = {.position = 0};
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < PROBES; i++) {
        struct elapse_put put = job_numbered(UINT64_MAX - i, with_key, 3600000);
        require(elapse_queue_put(queue, &put, &answer) == ELAPSE_OK, "a put failed");
        uint64_t before = answer.position;
        require(elapse_queue_cancel_id(queue, answer.id, &answer) == ELAPSE_OK, "a cancel failed");
        if (answer.position - before < least)
            least = answer.position - before;
    }
    commit(queue, answer.position);
    return (size_t)least;
}

uint32_t *numbers_shuffled(uint64_t count)
{
    struct generator generator = {GENERATOR_SEED};
    uint32_t *numbers = malloc(count * sizeof *numbers);
    require(numbers != NULL, "no memory");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t other = below(&generator, i + 1);
        if (other != i)
            numbers[i] = numbers[other];
        numbers[other] = (uint32_t)i;
    }
    return numbers;
}
