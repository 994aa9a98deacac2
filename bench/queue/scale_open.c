/*
 * The stages recover and reopen.
 */
#include <stdlib.h>

#include "../measure.h"
#include "scale.h"

enum { HAND_OUT_SHARE = 10 };

static void find_path(const struct scale *scale, char path[PATH_BYTES])
{
    int length = snprintf(path, PATH_BYTES, "%s/queue", scale->directory);
    require(length > 0 && length < PATH_BYTES, "the path of the directory is too long");
}

/* Opens the queue, and prints how long that takes and how much memory. */
static struct elapse_queue *open_timed(const struct scale *scale, const char *stage)
{
    char path[PATH_BYTES];
    struct elapse_queue *queue;
    struct elapse_queue_fault fault;
    find_path(scale, path);
    struct memory before = memory_now();
    uint64_t used_ns = process_ns();
    uint64_t wall_ns = clock_ns();
    if (elapse_queue_open(path, NULL, &queue, &fault) != ELAPSE_OK)
        require(false, fault.text);
    wall_ns = clock_ns() - wall_ns;
    used_ns = process_ns() - used_ns;
    struct memory after = memory_now();
    struct elapse_queue_counts counts = scale_look(queue);
    double jobs = (double)counts.delayed;
    require(counts.delayed >= scale->least && counts.delayed <= scale->most &&
                counts.ready + counts.reserved + counts.buried == 0,
            "jobs were lost, or came back");
    scale_print(stage, "open", counts.delayed, (double)wall_ns / 1e9, "s");
    scale_print(stage, "open, processor time", counts.delayed, (double)used_ns / 1e9, "s");
    scale_print(stage, "memory, allocated", counts.delayed,
                (after.allocated - before.allocated) / jobs, "bytes/job");
    scale_print(stage, "memory, resident", counts.delayed,
                (after.resident - before.resident) / jobs, "bytes/job");
    scale_print(stage, "log", counts.delayed, (double)counts.segments * SEGMENT_BYTES, "bytes");
    return queue;
}

static void close_timed(struct elapse_queue *queue, const char *stage)
{
    uint64_t at = scale_look(queue).delayed;
    uint64_t wall_ns = clock_ns();
    queue_close(queue);
    scale_print(stage, "close", at, (double)(clock_ns() - wall_ns) / 1e9, "s");
}

void scale_recover(const struct scale *scale)
{
    struct elapse_queue *queue = open_timed(scale, "recover");
    uint64_t found = scale_look(queue).delayed;
    close_timed(queue, "recover");
    scale_print("end", "least", 0, (double)found, "jobs");
    scale_print("end", "most", 0, (double)found, "jobs");
}

/* ---- handing out ---- */

/* Makes random jobs ready. Returns the last position. */
static uint64_t kick(struct elapse_queue *queue, const struct scale *scale, uint64_t count,
                     struct generator *generator)
{
    struct elapse_put put = scale_job(scale, UINT64_MAX);
    struct elapse_answer answer;
    require(elapse_queue_put(queue, &put, &answer) == ELAPSE_OK, "a put failed");
    uint64_t last_id = answer.id;
    require(elapse_queue_cancel_id(queue, last_id, NULL) == ELAPSE_OK, "a cancel failed");
    while (count > 0) {
        require(elapse_queue_kick_id(queue, below(generator, last_id), &answer) == ELAPSE_OK,
                "a kick failed");
        count -= answer.result == ELAPSE_RESULT_DONE;
    }
    commit(queue, answer.position);
    return answer.position;
}

static void acknowledge(struct elapse_queue *queue, struct elapse_reserved *jobs, size_t count,
                        struct elapse_answer *answer)
{
    struct elapse_held held[GROUP] = {{.id = 0}};
    enum elapse_result results[GROUP];
    for (size_t i = 0; i < count; i++) {
        require(scale_body_is_whole(jobs[i].body, jobs[i].body_bytes), "a body has changed");
        held[i] = (struct elapse_held){jobs[i].id, jobs[i].lease};
        elapse_reserved_free(&jobs[i]);
    }
    require(elapse_queue_ack_many(queue, held, count, results, answer) == ELAPSE_OK,
            "an ack failed");
    for (size_t i = 0; i < count; i++)
        require(results[i] == ELAPSE_RESULT_DONE, "a job is gone");
}

/* Hands out and acknowledges all that is ready, from one thread. */
static void hand_out(struct elapse_queue *queue, uint64_t expected, uint64_t first,
                     const char *figure)
{
    static const char *const tubes[] = {TUBE};
    static struct elapse_reserved jobs[GROUP];
    struct elapse_answer answer = {.position = 0};
    uint64_t at = scale_look(queue).delayed;
    uint64_t done = 0;
    size_t count = 0;
    uint64_t wall_ns = clock_ns();
    while (elapse_queue_reserve_many(queue, tubes, 1, 0, jobs, GROUP, &count) == ELAPSE_OK) {
        acknowledge(queue, jobs, count, &answer);
        done += count;
    }
    commit(queue, answer.position);
    wall_ns = clock_ns() - wall_ns;
    require(done == expected, "another number of jobs was handed out than were ready");
    scale_print("reopen", figure, at, (double)done * 1e9 / (double)wall_ns, "/s");
    scale_print("reopen", "a hand-out and ack in the log", at,
                (double)(answer.position - first) / (double)done, "bytes");
}

void scale_reopen(const struct scale *scale)
{
    char path[PATH_BYTES];
    struct generator generator = {GENERATOR_SEED + 1};
    find_path(scale, path);
    place_forget(path);
    double seconds = floor_read(path);
    scale_print("reopen", "floor: read the files", 0, seconds, "s");
    place_forget(path);
    struct elapse_queue *queue = open_timed(scale, "reopen");
    uint64_t at = scale_look(queue).delayed;
    uint64_t count = at / HAND_OUT_SHARE < HAND_OUTS ? at / HAND_OUT_SHARE : HAND_OUTS;

    uint64_t first = kick(queue, scale, count, &generator);
    hand_out(queue, count, first, "hand out and ack, after reading all");
    first = kick(queue, scale, count, &generator);
    place_forget(path);
    hand_out(queue, count, first, "hand out and ack, not cached");
    require(scale_look(queue).delayed == at - 2 * count, "jobs were lost, or came back");
    close_timed(queue, "reopen");
}
