/*
 * Simulates clients, and notes what each client knows of its jobs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

size_t body_of(uint32_t serial, unsigned char *bytes)
{
    size_t size = serial % 5 == 0 ? serial * 2654435761U % BODY_MAX : serial % 60;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(serial * 31 + i * 7);
    return size;
}

static struct elapse__queue_text text(const char *bytes)
{
    return (struct elapse__queue_text){bytes, strlen(bytes)};
}

static uint32_t find_job(uint64_t id)
{
    for (uint32_t i = world.job_count; i > 0; i--)
        if (world.jobs[i].id == id)
            return i;
    return 0;
}

/* ---- commands ---- */

static struct elapse__queue_answer do_put(struct elapse__queue *jobs, struct elapse__queue_now now,
                                          const void *arguments)
{
    return elapse__queue_put(jobs, now, arguments);
}

static struct elapse__queue_answer do_cancel(struct elapse__queue *jobs,
                                             struct elapse__queue_now now, const void *arguments)
{
    return elapse__queue_cancel_id(jobs, now, *(const uint64_t *)arguments);
}

static struct elapse__queue_answer
do_reschedule(struct elapse__queue *jobs, struct elapse__queue_now now, const void *arguments)
{
    struct elapse__queue_time time = {.when = ELAPSE__QUEUE_IN, .delay_ms = below(5000)};
    return elapse__queue_reschedule_id(jobs, now, *(const uint64_t *)arguments, time);
}

static struct elapse__queue_answer do_ack(struct elapse__queue *jobs, struct elapse__queue_now now,
                                          const void *arguments)
{
    return elapse__queue_ack(jobs, now, *(const struct elapse__queue_holder *)arguments);
}

static struct pending *new_pending(uint64_t gate)
{
    struct pending *pending = &world.pending[world.pending_count++];
    *pending = (struct pending){.gate = gate};
    return pending;
}

static void note_end(uint32_t number, uint64_t gate)
{
    struct known_job *job = &world.jobs[number];
    if (number == 0 || job->certainty == ENDED)
        return;
    job->certainty = PERHAPS;
    job->ends = true;
    new_pending(gate)->end = number;
}

static void put(struct elapse__engine *engine)
{
    static unsigned char body[BODY_MAX];
    struct elapse__queue_answer answer;
    struct elapse__queue_view view;
    char key[16], token[16], tube[2] = {(char)('a' + below(3)), '\0'};
    uint32_t serial = (uint32_t)below(1 << 20);
    struct elapse__queue_put put = {
        .tube = text(tube),
        .body = {body, body_of(serial, body)},
        .when = ELAPSE__QUEUE_IN,
        .delay_ms = below(2) == 0 ? 0 : below(100000),
        .ttr_ms = 1 + below(2000),
        .priority = (uint32_t)below(5),
        .retry = below(3) == 0 ? 2 : 0,
    };
    uint32_t replaced = 0;
    if (below(3) == 0) {
        (void)snprintf(key, sizeof key, "k%u", (unsigned)below(20));
        put.key = text(key);
        if (elapse__queue_look_up_key(engine->jobs, world_now(), put.tube, put.key, &view) ==
            ELAPSE__QUEUE_OK)
            replaced = find_job(view.id);
    } else if (below(4) == 0) {
        (void)snprintf(token, sizeof token, "t%u", (unsigned)below(1 << 16));
        put.token = text(token);
    }
    if (world.job_count + 1 >= JOBS_MAX || !elapse__engine_run(engine, do_put, &put, &answer) ||
        (answer.result != ELAPSE__QUEUE_SCHEDULED && answer.result != ELAPSE__QUEUE_REPLACED))
        return;
    uint32_t namesake = find_job(answer.id);
    if (world.jobs[namesake].certainty == ENDED && !world.jobs[namesake].was_alive)
        world.jobs[namesake].id = 0; /* no reply named it, and the log has it not */
    else if (namesake != 0)
        (void)violate("id %llu is given again", (unsigned long long)answer.id);
    uint32_t number = ++world.job_count;
    world.jobs[number] = (struct known_job){
        .certainty = PERHAPS, .serial = serial, .id = answer.id, .replaced = replaced};
    new_pending(answer.position)->put = number;
    note_end(replaced, answer.position);
}

static uint32_t any_job(void)
{
    return world.job_count == 0 ? 0 : 1 + (uint32_t)below(world.job_count);
}

static void reserve(struct elapse__engine *engine)
{
    struct elapse__queue_text tubes[] = {text("a"), text("b"), text("c")};
    struct elapse__queue_reserve reserve = {.tubes = tubes, .tube_count = 3, .count = 1};
    struct elapse__queue_handed handed;
    enum elapse__queue_result result;
    uint64_t gate;
    if (!elapse__engine_take(engine, &reserve, &handed, &result, &gate))
        return;
    struct pending *pending = new_pending(gate);
    pending->hands_out = true;
    pending->handed = handed;
}

void client_command(struct elapse__engine *engine)
{
    struct elapse__queue_answer answer;
    uint32_t number = any_job();
    if (world.pending_count + 8 >= PENDING_MAX)
        return;
    world.totals[COMMANDS]++;
    switch (below(8)) {
    case 0:
    case 1:
        if (number != 0 && elapse__engine_run(engine, do_cancel, &world.jobs[number].id, &answer) &&
            (answer.result == ELAPSE__QUEUE_REMOVED || answer.result == ELAPSE__QUEUE_RUNNING))
            note_end(number, answer.position);
        break;
    case 2:
        if (number != 0)
            (void)elapse__engine_run(engine, do_reschedule, &world.jobs[number].id, &answer);
        break;
    case 3:
        reserve(engine);
        break;
    case 4:
        (void)elapse__queue_turn(engine->jobs, world_now());
        break;
    default:
        put(engine);
        break;
    }
}

/* ---- replies ---- */

static void check_body(const struct elapse__engine_job *texts, uint32_t number)
{
    static unsigned char body[BODY_MAX];
    size_t size = body_of(world.jobs[number].serial, body);
    if (texts->body.size != size || (size > 0 && memcmp(texts->body.bytes, body, size) != 0))
        (void)violate("job %llu has another body", (unsigned long long)world.jobs[number].id);
}

static void hand_out(struct elapse__engine *engine, const struct pending *pending)
{
    struct elapse__queue_answer answer;
    struct elapse__engine_job texts;
    uint32_t number = find_job(pending->handed.id);
    int error = elapse__engine_hand_over(engine, &pending->handed, &texts);
    if (error == ENOENT || sim_disk_is_dead()) {
        free(texts.memory);
        return;
    }
    if (error != 0 || number == 0) {
        (void)violate("job %llu cannot be handed out: %s", (unsigned long long)pending->handed.id,
                      strerror(error));
        return;
    }
    if (world.jobs[number].certainty == ENDED)
        (void)violate("job %llu is handed out after its end",
                      (unsigned long long)world.jobs[number].id);
    check_body(&texts, number);
    free(texts.memory);
    if (pending->handed.lease.life > world.greatest_life)
        world.greatest_life = pending->handed.lease.life;
    struct elapse__queue_holder holder = {.id = pending->handed.id, .lease = pending->handed.lease};
    if (below(3) > 0 && elapse__engine_run(engine, do_ack, &holder, &answer) &&
        answer.result == ELAPSE__QUEUE_OK)
        note_end(number, answer.position);
}

void client_replies(struct elapse__engine *engine)
{
    unsigned kept = 0, count = world.pending_count;
    static struct pending due[PENDING_MAX];
    memcpy(due, world.pending, sizeof due);
    for (unsigned i = 0; i < count; i++)
        if (!elapse__engine_may_reply(engine, due[i].gate))
            world.pending[kept++] = due[i];
    world.pending_count = kept;
    for (unsigned i = 0; i < count; i++) {
        if (!elapse__engine_may_reply(engine, due[i].gate))
            continue;
        struct known_job *ended = &world.jobs[due[i].end], *given = &world.jobs[due[i].put];
        if (due[i].put != 0 && given->certainty == PERHAPS && !given->ends)
            given->certainty = ALIVE;
        given->was_alive = true;
        if (due[i].end != 0)
            ended->certainty = ENDED;
        if (due[i].hands_out)
            hand_out(engine, &due[i]);
    }
}

void client_forget_replies(void)
{
    world.pending_count = 0;
}

/* ---- what an owner has to have ---- */

static int open_sink(struct elapse__record_sink *sink, uint64_t bytes,
                     enum elapse__record_purpose purpose)
{
    (void)sink, (void)bytes, (void)purpose;
    return ENOSPC;
}

static void no_live(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    (void)sink, (void)position, (void)change;
}

/* Makes the queue that the groups from `from` on lead to. */
static struct elapse__queue *replay_log(uint64_t from, uint32_t life)
{
    static struct elapse__record_sink sink = {.begin = open_sink, .live = no_live};
    struct elapse__queue_options options = {.sink = &sink, .body_bytes_max = BODY_MAX};
    struct elapse__queue *queue = elapse__queue_new(&options);
    uint64_t position = 8;
    if (queue == NULL)
        abort();
    for (uint64_t i = from; i <= world.end; i++) {
        struct elapse__portable portable;
        struct elapse__record record;
        if (!elapse__portable_open(&portable, world.groups[i].bytes, world.groups[i].size))
            (void)violate("group %llu makes no sense", (unsigned long long)i);
        else
            while (elapse__portable_next(&portable, &record)) {
                if (elapse__queue_replay(queue, position += 8, &record) != ELAPSE__QUEUE_OK)
                    (void)violate("group %llu cannot be replayed", (unsigned long long)i);
            }
    }
    if (elapse__queue_replay_done(queue, world_now(), life) != ELAPSE__QUEUE_OK)
        (void)violate("the log has a lease of life %u", life);
    return queue;
}

/* What was trimmed must not be needed. */
void check_tail(uint64_t tail)
{
    struct elapse__queue *whole = replay_log(1, UINT32_MAX);
    struct elapse__queue *rest = replay_log(tail, UINT32_MAX);
    if (elapse__queue_jobs(whole) != elapse__queue_jobs(rest))
        (void)violate("%llu jobs, of which the log has %llu from its tail %llu on",
                      (unsigned long long)elapse__queue_jobs(whole),
                      (unsigned long long)elapse__queue_jobs(rest), (unsigned long long)tail);
    elapse__queue_free(whole);
    elapse__queue_free(rest);
}

static bool views_differ(const struct elapse__queue_view *left,
                         const struct elapse__queue_view *right)
{
    return left->state != right->state || left->due_ms != right->due_ms ||
           left->priority != right->priority || left->body_size != right->body_size ||
           left->attempts != right->attempts || left->reserves != right->reserves ||
           left->timeouts != right->timeouts || left->ttr_ms != right->ttr_ms ||
           left->lease.life != right->lease.life || left->lease.number != right->lease.number;
}

static void compare_with_log(struct elapse__engine *engine, uint64_t from)
{
    const struct elapse__queue_filter all = {.state = ELAPSE__QUEUE_FREE};
    struct elapse__queue *other = replay_log(from, engine->life);
    uint32_t cursor = 0;
    do {
        struct elapse__queue_view views[64], view = {0};
        uint32_t count =
            elapse__queue_list(engine->jobs, world_now(), &all, &cursor, UINT32_MAX, views, 64);
        for (uint32_t i = 0; i < count; i++)
            if (elapse__queue_look_up_id(other, world_now(), views[i].id, &view) !=
                    ELAPSE__QUEUE_OK ||
                views_differ(&views[i], &view))
                (void)violate("job %llu is not as the log from group %llu on has it",
                              (unsigned long long)views[i].id, (unsigned long long)from);
    } while (cursor != 0);
    if (elapse__queue_jobs(engine->jobs) != elapse__queue_jobs(other))
        (void)violate("%llu jobs instead of %llu of the log from group %llu on",
                      (unsigned long long)elapse__queue_jobs(engine->jobs),
                      (unsigned long long)elapse__queue_jobs(other), (unsigned long long)from);
    elapse__queue_free(other);
}

/* The outcome of what was not answered shows now, and holds from now on. */
static void resolve(struct known_job *job, bool exists, bool *was_replaced)
{
    if (job->certainty == PERHAPS)
        job->certainty = exists ? ALIVE : ENDED;
    job->was_alive |= exists;
    if (job->certainty == ALIVE && !exists)
        (void)violate("job %llu is lost", (unsigned long long)job->id);
    else if (job->certainty == ENDED && exists)
        (void)violate("job %llu is back", (unsigned long long)job->id);
    *was_replaced = exists;
}

void check_owner(struct node *node)
{
    struct elapse__engine *engine = &node->engine;
    static bool exists[JOBS_MAX];
    unsigned broken = elapse__queue_check(engine->jobs);
    if (broken != 0)
        (void)violate("invariant %u of the queue is broken", broken);
    compare_with_log(engine, 1);
    compare_with_log(engine, world.tail);
    for (uint32_t i = 1; i <= world.job_count && world.violation[0] == '\0'; i++) {
        struct known_job *job = &world.jobs[i];
        struct elapse__queue_view view;
        struct elapse__engine_job texts;
        bool undecided = job->certainty == PERHAPS && !job->ends;
        bool is_there =
            elapse__queue_look_up_id(engine->jobs, world_now(), job->id, &view) == ELAPSE__QUEUE_OK;
        resolve(job, is_there, &exists[i]);
        if (undecided && job->replaced != 0 && is_there && exists[job->replaced])
            (void)violate("job %llu and the one that it replaces are both there",
                          (unsigned long long)job->id);
        if (!is_there)
            continue;
        int error = elapse__engine_peek(engine, job->id, &texts);
        if (sim_disk_is_dead())
            return;
        if (error != 0)
            (void)violate("job %llu cannot be read: %s", (unsigned long long)job->id,
                          strerror(error));
        else
            check_body(&texts, i);
        free(texts.memory);
        job->ends = false;
    }
}
