/*
 * store-carry PART DIRECTORY FOUND LEFT: opens the queue in a directory. Checks that it has every
 * job of the earlier parts in the right state, and lists these jobs in the file FOUND. Then adds
 * the jobs of this part, and lists all jobs in the file LEFT. Ends without closing the queue, like
 * a process that is killed. carry.sh gives one directory to two machines in turn: each must find
 * what the other has left. Exits with 1 at the first error.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <elapse/queue.h>

enum {
    PART = 1000, /* jobs that each part puts */
    PARTS_MAX = 8,
    LONG_BODY = 20000,
    AWAIT = 3, /* one has arrived */
    KEY_BYTES = 6,
    SEGMENT_BYTES = 64 << 10,
};

#define DAY_MS UINT64_C(86400000)
#define AT_MS  INT64_C(4000000000000)

/* The fate of a job; its number says which. The ids say nothing: some puts store nothing, and
 * some jobs get another id. */
enum kind {
    IN,
    AT,
    EVERY,
    CRON,
    READY,
    EXPIRE,
    TOKEN,
    CANCELLED,
    RESCHEDULED,
    BURIED,
    RESERVED,
    REPLACED,
    EMPTY,
    LONG,
    DEBOUNCED,
    FAILED,
    GATHERS,    /* waits for arrivals alone */
    GATHERS_IN, /* or for its due time */
    KINDS,
};

static struct elapse_queue *queue;
static bool is_found[PART * PARTS_MAX];

static void need(bool holds, const char *what, uint64_t number)
{
    if (holds)
        return;
    fprintf(stderr, "store-carry: %s (%" PRIu64 ")\n", what, number);
    exit(1);
}

static enum kind kind_of(uint32_t number)
{
    return (enum kind)(number % KINDS);
}

/* Returns whether the job is there when so many parts are. Half of those that were reserved are
 * acknowledged by the next part, with the lease that the journal has. */
static bool is_acknowledged(uint32_t number, uint32_t parts)
{
    return number % (2 * KINDS) == RESERVED && number / PART + 1 < parts;
}

static bool is_there(uint32_t number, uint32_t parts)
{
    return kind_of(number) != CANCELLED && !is_acknowledged(number, parts);
}

/* ---- what a job is made of ---- */

/* Bytes of all kinds, zeros and those above 127 too, that tell the number. */
static void key_of(uint32_t number, unsigned char key[KEY_BYTES])
{
    key[0] = 0xFF;
    key[1] = 0;
    for (unsigned i = 0; i < 4; i++)
        key[2 + i] = (unsigned char)(number >> 8 * i);
}

static size_t body_of(uint32_t number, unsigned char body[LONG_BODY])
{
    size_t size = kind_of(number) == EMPTY  ? 0
                  : kind_of(number) == LONG ? LONG_BODY - number
                                            : number * 37 % 400;
    for (size_t i = 0; i < size; i++)
        body[i] = (unsigned char)(number * 7 + i * 3);
    return size;
}

static struct elapse_put put_of(uint32_t number, const unsigned char *key,
                                const unsigned char *body, size_t body_bytes)
{
    enum kind kind = kind_of(number);
    struct elapse_put put = {
        .tube = kind == BURIED     ? "buried"
                : kind == RESERVED ? "reserved"
                : kind == FAILED   ? "failed"
                                   : "tube",
        .body = body,
        .body_bytes = body_bytes,
        .key = key,
        .key_bytes = KEY_BYTES,
        .priority = number,
        .ttr_ms = DAY_MS + number,
        .delay_ms = 10 * DAY_MS + number,
    };
    switch (kind) {
    case AT:
        put.due = ELAPSE_DUE_AT;
        put.at_ms = AT_MS + number;
        put.tag = "tag";
        put.tag_bytes = 3;
        break;
    case EVERY:
        put.due = ELAPSE_DUE_EVERY;
        put.period_ms = 30 * DAY_MS + number;
        break;
    case CRON:
        put.due = ELAPSE_DUE_CRON;
        put.cron = "0 9 29 2 *";
        break;
    case EXPIRE:
        put.expire_ms = DAY_MS;
        break;
    case TOKEN:
        put.token = key;
        put.token_bytes = KEY_BYTES;
        break;
    case DEBOUNCED:
        put.if_key = ELAPSE_IF_KEY_DEBOUNCE;
        put.debounce_max_ms = 11 * DAY_MS;
        break;
    case READY:
    case BURIED:
    case RESERVED:
        put.delay_ms = 0;
        break;
    case GATHERS:
        put.delay_ms = 0;
        put.await = AWAIT;
        break;
    case GATHERS_IN:
        put.await = AWAIT;
        break;
    case FAILED:
        put.delay_ms = 0;
        put.retry = 5;
        put.backoff_min_ms = put.backoff_max_ms = DAY_MS;
        break;
    default:
        break;
    }
    return put;
}

/* ---- finding ---- */

static const char *state_of(const struct elapse_job *job)
{
    switch (job->state) {
    case ELAPSE_JOB_DELAYED:
        return job->left_ms > 0 || !job->has_due ? "delayed"
                                                 : "ready"; /* the next turn makes it so */
    case ELAPSE_JOB_READY:
        return "ready";
    case ELAPSE_JOB_RESERVED:
        return "reserved";
    default:
        return "buried";
    }
}

static const char *expected_state(enum kind kind)
{
    return kind == READY      ? "ready"
           : kind == BURIED   ? "buried"
           : kind == RESERVED ? "reserved"
                              : "delayed";
}

static void check_job(uint32_t number, const struct elapse_job *job,
                      const struct elapse_content *content)
{
    static unsigned char body[LONG_BODY];
    unsigned char key[KEY_BYTES];
    enum kind kind = kind_of(number);
    size_t body_bytes = body_of(number, body);
    struct elapse_put put = put_of(number, key, body, body_bytes);
    need(content->body_bytes == body_bytes && memcmp(content->body, body, body_bytes) == 0,
         "another body", number);
    need(strcmp(job->tube, put.tube) == 0, "another tube", number);
    need(job->priority == put.priority && job->ttr_ms == put.ttr_ms, "other options", number);
    need(strcmp(state_of(job), expected_state(kind)) == 0, "another state", number);
    need(job->recurring == (kind == EVERY || kind == CRON), "another recurrence", number);
    need(job->waits == (put.await > 0) && job->await == (put.await > 0 ? AWAIT - 1U : 0) &&
             job->has_due == (kind != GATHERS),
         "other arrivals", number);
    need(job->attempts == (kind == FAILED || kind == BURIED), "other attempts", number);
    if (kind == AT || kind == RESCHEDULED)
        need(job->due_ms == AT_MS + number, "another due time", number);
    else if (put.due == ELAPSE_DUE_IN && kind != FAILED && put.delay_ms > 0)
        need(job->left_ms <= put.delay_ms && job->left_ms > put.delay_ms - DAY_MS, "another delay",
             number);
}

/* The due time of a job that was put with a delay moves by the boot-time clock; check_job knows it.
 */
static void list_job(FILE *to, uint32_t number, const struct elapse_job *job)
{
    bool is_exact = kind_of(number) == AT || kind_of(number) == RESCHEDULED || job->recurring;
    fprintf(to, "%" PRIu32 " id %" PRIu64 " %s due %" PRId64, number, job->id, state_of(job),
            is_exact ? job->due_ms : 0);
    fprintf(to, " lease %" PRIu32 "-%" PRIu64 " missed %" PRIu32 " failures %" PRIu32 " %s\n",
            job->lease.life, job->lease.number, job->missed, job->failures,
            job->reason == NULL ? "" : job->reason);
}

static void find_job(FILE *to, uint32_t number, uint32_t parts)
{
    unsigned char key[KEY_BYTES];
    struct elapse_content content;
    struct elapse_job job;
    key_of(number, key);
    const char *tube = put_of(number, key, NULL, 0).tube;
    enum elapse_error error = elapse_queue_look_up(queue, tube, key, sizeof key, &job);
    need(error == (is_there(number, parts) ? ELAPSE_OK : ELAPSE_ERROR_GONE),
         "a job is lost, or is back", number);
    if (error != ELAPSE_OK)
        return;
    need(elapse_queue_peek(queue, job.id, &content) == ELAPSE_OK, "a body cannot be read", number);
    need(content.key_bytes == sizeof key && memcmp(content.key, key, sizeof key) == 0,
         "another key", number);
    check_job(number, &job, &content);
    list_job(to, number, &job);
    is_found[number] = true;
    elapse_content_free(&content);
}

/* Checks every job of so many parts, that there is no other one, and lists them. */
static void find_all(uint32_t parts, const char *file)
{
    struct elapse_queue_counts counts;
    uint64_t found = 0;
    FILE *to = fopen(file, "w");
    need(to != NULL, file, parts);
    memset(is_found, 0, sizeof is_found);
    for (uint32_t number = 0; number < parts * PART; number++)
        find_job(to, number, parts);
    need(fclose(to) == 0, file, parts);
    for (uint32_t number = 0; number < parts * PART; number++)
        found += is_found[number];
    need(elapse_queue_statistics(queue, NULL, &counts) == ELAPSE_OK, "statistics", parts);
    need(counts.delayed + counts.ready + counts.reserved + counts.buried == found,
         "there are other jobs", found);
}

/* ---- adding ---- */

/* Works on the only job of its tube that is ready. */
static void work(uint32_t number, const char *tube)
{
    struct elapse_reserved job;
    enum elapse_error error = ELAPSE_OK;
    need(elapse_queue_reserve(queue, tube, ELAPSE_QUEUE_FOREVER_MS, &job) == ELAPSE_OK, "reserve",
         number);
    need(job.priority == number, "another job was handed out", number);
    if (kind_of(number) == BURIED)
        error = elapse_queue_bury(queue, job.id, job.lease, NULL);
    else if (kind_of(number) == FAILED)
        error = elapse_queue_nack(queue, job.id, job.lease, NULL);
    need(error == ELAPSE_OK, "the work does not end", number);
    elapse_reserved_free(&job);
}

/* One arrives, with a token. Returns what the queue says. */
static enum elapse_result arrive(const struct elapse_put *put)
{
    const struct elapse_arrival arrival = {.tube = put->tube,
                                           .key = put->key,
                                           .key_bytes = put->key_bytes,
                                           .token = put->key,
                                           .token_bytes = put->key_bytes};
    struct elapse_answer answer;
    enum elapse_error error = elapse_queue_arrive(queue, &arrival, &answer);
    need(error == ELAPSE_OK && answer.left == AWAIT - 1, "an arrival", put->priority);
    return answer.result;
}

static void add_job(uint32_t number)
{
    static unsigned char body[LONG_BODY];
    const struct elapse_due_time time = {.due = ELAPSE_DUE_AT, .at_ms = AT_MS + number};
    unsigned char key[KEY_BYTES];
    struct elapse_answer answer;
    enum kind kind = kind_of(number);
    enum elapse_error error = ELAPSE_OK;
    size_t body_bytes = body_of(number, body);
    key_of(number, key);
    struct elapse_put put = put_of(number, key, body, body_bytes), first = put;
    if (kind == REPLACED || kind == DEBOUNCED) {
        first.body_bytes /= 2;
        need(elapse_queue_put(queue, &first, &answer) == ELAPSE_OK, "put", number);
    }
    need(elapse_queue_put(queue, &put, &answer) == ELAPSE_OK, "put", number);
    if (kind == CANCELLED)
        error = elapse_queue_cancel(queue, put.tube, key, sizeof key, &answer);
    else if (kind == RESCHEDULED)
        error = elapse_queue_reschedule_id(queue, answer.id, &time, &answer);
    else if (kind == BURIED || kind == RESERVED || kind == FAILED)
        work(number, put.tube);
    else if (put.await > 0)
        need(arrive(&put) == ELAPSE_RESULT_DONE, "an arrival is known", number);
    need(error == ELAPSE_OK, "a change", number);
}

/* Goes on with what another machine has left: its leases, and its tokens. */
static void go_on(uint32_t number, uint32_t part)
{
    unsigned char key[KEY_BYTES];
    struct elapse_answer answer;
    struct elapse_job job;
    key_of(number, key);
    struct elapse_put put = put_of(number, key, NULL, 0);
    if (is_acknowledged(number, part + 1))
        need(elapse_queue_look_up(queue, put.tube, key, sizeof key, &job) == ELAPSE_OK &&
                 elapse_queue_ack(queue, job.id, job.lease, &answer) == ELAPSE_OK,
             "a lease is not known", number);
    else if (kind_of(number) == TOKEN)
        need(elapse_queue_put(queue, &put, &answer) == ELAPSE_OK &&
                 answer.result == ELAPSE_RESULT_KNOWN,
             "a token is not known", number);
    else if (put.await > 0)
        need(arrive(&put) == ELAPSE_RESULT_KNOWN, "an arrival counts twice", number);
}

static void add_part(uint32_t part)
{
    struct elapse_put last = {.tube = "last"};
    struct elapse_answer answer;
    for (uint32_t number = (part > 0 ? part - 1 : 0) * PART; number < part * PART; number++)
        go_on(number, part);
    for (uint32_t number = part * PART; number < (part + 1) * PART; number++)
        add_job(number);
    /* It has the position behind everything. */
    need(elapse_queue_put(queue, &last, &answer) == ELAPSE_OK &&
             elapse_queue_cancel_id(queue, answer.id, &answer) == ELAPSE_OK &&
             elapse_queue_commit(queue, answer.position, ELAPSE_QUEUE_FOREVER_MS) == ELAPSE_OK,
         "commit", part);
}

int main(int argc, char **argv)
{
    struct elapse_queue_options options;
    struct elapse_queue_fault fault;
    uint32_t part = argc == 5 ? (uint32_t)strtoul(argv[1], NULL, 10) : PARTS_MAX;
    if (part >= PARTS_MAX) {
        fputs("usage: store-carry PART DIRECTORY FOUND LEFT\n", stderr);
        return 2;
    }
    elapse_queue_options_init(&options);
    options.segment_bytes = SEGMENT_BYTES;
    if (elapse_queue_open(argv[2], &options, &queue, &fault) != ELAPSE_OK) {
        fprintf(stderr, "store-carry: %s\n", fault.text);
        return 1;
    }
    find_all(part, argv[3]);
    add_part(part);
    find_all(part + 1, argv[4]);
    _exit(0);
}
