#include "fixture.h"

#include "equal.h"

int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    log_init(&f->log);
    f->options = (struct elapse__queue_options){.sink = &f->log.sink, .secret = {1, 2}, .seed = 7};
    f->now = (struct elapse__queue_now){.boot_ms = 1000, .wall_ms = 1700000000000};
    f->life = 1;
    f->queue = elapse__queue_new(&f->options);
    assert_non_null(f->queue);
    assert_ok(elapse__queue_replay_done(f->queue, f->now, f->life));
    elapse__queue_connection_init(&f->connection);
    *state = f;
    return 0;
}

int tear_down(void **state)
{
    struct fixture *f = *state;
    ok(f);
    elapse__queue_free(f->queue);
    log_free(&f->log);
    free(f);
    return 0;
}

void ok(struct fixture *f)
{
    const char *difference = queue_differs_from_log(f->queue, &f->log, &f->options, f->now);
    if (difference != NULL)
        fail_msg("%s", difference);
}

void restart(struct fixture *f, int64_t later_ms)
{
    reopen(f, later_ms);
    pass(f, 0);
}

void reopen(struct fixture *f, int64_t later_ms)
{
    ok(f);
    f->options.secret.low ^= 99;
    f->now.wall_ms += later_ms;
    f->now.boot_ms = 1000;
    f->life++;
    struct elapse__queue *next = elapse__queue_new(&f->options);
    assert_non_null(next);
    /* A journal tells the queue this from the header of a segment. */
    elapse__queue_used_id(next, elapse__queue_last_id(f->queue));
    elapse__queue_free(f->queue);
    for (size_t i = 0; i < f->log.count; i++)
        f->log.records[i].live = 0;
    f->queue = next;
    elapse__queue_connection_init(&f->connection);
    assert_ok(log_replay(&f->log, next));
    assert_ok(elapse__queue_replay_done(next, f->now, f->life));
}

void pass(struct fixture *f, uint64_t ms)
{
    f->now.boot_ms += ms;
    f->now.wall_ms += (int64_t)ms;
    while (elapse__queue_turn(f->queue, f->now).more)
        ;
    ok(f);
}

struct elapse__queue_text text(const char *bytes)
{
    return (struct elapse__queue_text){.bytes = bytes, .size = strlen(bytes)};
}

struct elapse__queue_put job(const char *body)
{
    return (struct elapse__queue_put){
        .tube = text("t"), .body = text(body), .priority = 100, .ttr_ms = 10000};
}

struct elapse__queue_put keyed(const char *key, enum elapse__queue_if_key if_key)
{
    struct elapse__queue_put keyed = job("body");
    keyed.key = text(key);
    keyed.if_key = if_key;
    if (if_key == ELAPSE__QUEUE_DEBOUNCE)
        keyed.debounce_max_ms = ELAPSE__QUEUE_FOREVER_MS;
    return keyed;
}

uint64_t put(struct fixture *f, struct elapse__queue_put put, enum elapse__queue_result expected)
{
    struct elapse__queue_answer answer = elapse__queue_put(f->queue, f->now, &put);
    if (answer.result != expected && answer.fault != NULL)
        print_error("%s\n", answer.fault);
    assert_int_equal(answer.result, expected);
    ok(f);
    return answer.id;
}

struct elapse__queue_handed take(struct fixture *f)
{
    struct elapse__queue_text tube = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &tube, .tube_count = 1, .count = 1, .begin = true};
    struct elapse__queue_handed handed = {0};
    uint32_t count = 0;
    struct elapse__queue_answer answer =
        elapse__queue_reserve(f->queue, f->now, &reserve, &handed, &count);
    assert_ok(answer.result);
    assert_int_equal(count, 1);
    ok(f);
    return handed;
}

void nothing_ready(struct fixture *f)
{
    struct elapse__queue_text tube = text("t");
    struct elapse__queue_reserve reserve = {
        .tubes = &tube, .tube_count = 1, .count = 1, .begin = true};
    struct elapse__queue_handed handed = {0};
    uint32_t count = 0;
    (void)elapse__queue_reserve(f->queue, f->now, &reserve, &handed, &count);
    assert_int_equal(count, 0);
}

struct elapse__queue_holder holder(const struct elapse__queue_handed *handed)
{
    return (struct elapse__queue_holder){.id = handed->id, .lease = handed->lease};
}

struct elapse__queue_view look(struct fixture *f, uint64_t id)
{
    struct elapse__queue_view view = {0};
    (void)elapse__queue_look_up_id(f->queue, f->now, id, &view);
    return view;
}

enum elapse__queue_state state_of(struct fixture *f, uint64_t id)
{
    return look(f, id).state;
}

bool exists(struct fixture *f, uint64_t id)
{
    return state_of(f, id) != ELAPSE__QUEUE_FREE;
}

uint64_t job_in(struct fixture *f, enum elapse__queue_state state,
                struct elapse__queue_handed *handed)
{
    struct elapse__queue_handed unused;
    struct elapse__queue_put put_it = keyed("k", ELAPSE__QUEUE_FAIL);
    if (handed == NULL)
        handed = &unused;
    if (state == ELAPSE__QUEUE_DELAYED)
        put_it.delay_ms = 5000;
    uint64_t id = put(f, put_it, ELAPSE__QUEUE_SCHEDULED);
    if (state == ELAPSE__QUEUE_RESERVED || state == ELAPSE__QUEUE_BURIED)
        *handed = take(f);
    if (state == ELAPSE__QUEUE_BURIED)
        assert_ok(elapse__queue_bury(f->queue, f->now, holder(handed), NULL).result);
    assert_int_equal(state_of(f, id), state);
    ok(f);
    return id;
}
