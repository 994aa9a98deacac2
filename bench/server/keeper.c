/*
 * The keeper: the second floor of the server. It does what the floor does, and beside that keeps
 * each job in 64 bytes of memory, starts the job's timer in a wheel, and checksums its record. It
 * knows `put` and `delete` of beanstalkd. No timer comes due, and nothing is read again.
 *
 *     elapse-bench-server-keeper FILE      prints its port, and serves until it is killed
 *
 * Jobs lie in regions of 2 MiB, of which each is a huge page where the system has them.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include <elapse/wheel.h>

#include "floor_loop.h"

enum {
    REGION_BYTES = 2 << 20,
    REGIONS_MAX = 1 << 16,
    LINE_BYTES_MAX = 256,
    PUT_NUMBERS = 4, /* priority, delay, ttr, size of the body */
};

enum type { TYPE_PUT = 1, TYPE_DELETE = 2 };

struct job {
    struct elapse_timer timer;
    uint64_t id; /* 0: there is none */
    uint32_t group_offset;
    uint32_t group;
    uint32_t body_bytes;
    uint32_t priority;
    uint64_t unused;
};

_Static_assert(sizeof(struct job) == 64, "a job is a line of the cache");

enum { JOBS_A_REGION = REGION_BYTES / sizeof(struct job) };

struct record {
    uint32_t bytes, type;
    uint64_t number, id;
    uint32_t priority, ttr_s;
    uint64_t due_ms;
    uint64_t checksum; /* last: of all before it, and of the body */
};

static struct elapse_wheel wheel;
static struct job *regions[REGIONS_MAX];
static uint64_t last_id, last_number;

static uint64_t present_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- jobs ---- */

static void add_region(uint64_t number)
{
    void *region = number < REGIONS_MAX ? aligned_alloc(REGION_BYTES, REGION_BYTES) : NULL;

    if (region == NULL)
        stop("memory");
    (void)madvise(region, REGION_BYTES, MADV_HUGEPAGE); /* without it there are page faults */
    regions[number] = region;
}

static struct job *job_at(uint64_t id)
{
    return &regions[id / JOBS_A_REGION][id % JOBS_A_REGION];
}

static struct job *add_job(void)
{
    uint64_t id = ++last_id;

    if (regions[id / JOBS_A_REGION] == NULL)
        add_region(id / JOBS_A_REGION);
    struct job *job = job_at(id);
    *job = (struct job){.id = id};
    elapse_timer_init(&job->timer);
    return job;
}

static struct job *find_job(uint64_t id)
{
    return id == 0 || id > last_id || job_at(id)->id == 0 ? NULL : job_at(id);
}

/* ---- records ---- */

static void add_record(struct forming *forming, struct record record, const char *body)
{
    size_t body_bytes = record.bytes - sizeof record;
    char *place = forming->bytes + forming->size;

    record.number = ++last_number;
    record.checksum = XXH3_64bits(&record, offsetof(struct record, checksum));
    if (body_bytes > 0)
        record.checksum ^= XXH3_64bits(body, body_bytes);
    memcpy(place, &record, sizeof record);
    memcpy(place + sizeof record, body, body_bytes);
    forming->size += record.bytes;
}

/* ---- commands ---- */

static void put(struct forming *forming, struct output *output, const uint64_t *numbers,
                const char *body, uint64_t now_ms)
{
    struct job *job = add_job();
    uint64_t due_ms = now_ms + numbers[1] * 1000;

    job->priority = (uint32_t)numbers[0];
    job->body_bytes = (uint32_t)numbers[3];
    job->group_offset = (uint32_t)forming->size;
    add_record(forming,
               (struct record){.bytes = (uint32_t)(sizeof(struct record) + numbers[3]),
                               .type = TYPE_PUT,
                               .id = job->id,
                               .priority = job->priority,
                               .ttr_s = (uint32_t)numbers[2],
                               .due_ms = due_ms},
               body);
    elapse_wheel_start(&wheel, &job->timer, due_ms);
    reply_inserted(output, job->id);
}

static void reply(struct output *output, const char *text)
{
    size_t length = strlen(text);

    memcpy(output->bytes + output->size, text, length);
    output->size += length;
}

static void end_job(struct forming *forming, struct output *output, uint64_t id)
{
    struct job *job = find_job(id);

    if (job == NULL) {
        reply(output, "NOT_FOUND\r\n");
        return;
    }
    elapse_wheel_stop(&wheel, &job->timer);
    job->id = 0;
    add_record(forming,
               (struct record){.bytes = sizeof(struct record), .type = TYPE_DELETE, .id = id}, "");
    reply(output, "DELETED\r\n");
}

/* Reads the numbers of a put from the line behind its verb. */
static void read_numbers(const char *at, uint64_t numbers[PUT_NUMBERS])
{
    for (unsigned i = 0; i < PUT_NUMBERS; i++, at++) {
        numbers[i] = 0;
        for (; *at >= '0' && *at <= '9'; at++)
            numbers[i] = numbers[i] * 10 + (uint64_t)(*at - '0');
    }
}

/* Runs the command at the beginning of the bytes. Returns how many bytes it was; 0: it is not
 * whole, or there is no room for it. */
static size_t run_one(struct forming *forming, struct output *output, const char *bytes,
                      size_t size, uint64_t now_ms)
{
    const char *end = memchr(bytes, '\n', size < LINE_BYTES_MAX ? size : LINE_BYTES_MAX);
    uint64_t numbers[PUT_NUMBERS] = {0};

    if (end == NULL || output->size + 32 >= OUTPUT_BYTES)
        return 0;
    size_t line = (size_t)(end + 1 - bytes);
    bool is_put = line > 4 && memcmp(bytes, "put ", 4) == 0;
    if (is_put)
        read_numbers(bytes + 4, numbers);
    size_t body = is_put ? numbers[3] : 0, whole = line + (is_put ? body + 2 : 0);
    if (body > GROUP_BYTES / 4)
        stop("a body is too long");
    if (whole > size || forming->size + sizeof(struct record) + body > GROUP_BYTES)
        return 0;
    if (is_put)
        put(forming, output, numbers, end + 1, now_ms);
    else if (line > 7 && memcmp(bytes, "delete ", 7) == 0)
        end_job(forming, output, strtoull(bytes + 7, NULL, 10));
    else
        reply(output, "UNKNOWN_COMMAND\r\n");
    return whole;
}

static size_t run(struct forming *forming, struct output *output, const char *bytes, size_t size)
{
    uint64_t now_ms = present_ms();
    size_t used = 0, more;

    do {
        more = used == size ? 0 : run_one(forming, output, bytes + used, size - used, now_ms);
        used += more;
    } while (more > 0);
    return used;
}

int main(int argc, char **argv)
{
    if (elapse_wheel_init(&wheel, present_ms()) != ELAPSE_OK)
        stop("wheel");
    serve_puts(argc > 1 ? argv[1] : "keeper.tmp", run);
}
