/*
 * Takes any bytes as commands to a queue. After the commands the invariants hold, and a replay of
 * the log makes an equal queue. The bytes are also replayed as records, which may be refused and do
 * no other harm.
 */
#include <string.h>

#include "equal.h"
#include "fuzz.h"
#include "queue.h"

struct input {
    const uint8_t *next;
    size_t left;
};

static uint64_t take_byte(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->next++;
}

static struct elapse__queue_text short_text(struct input *input)
{
    size_t size = take_byte(input) % 4;
    if (size > input->left)
        size = input->left;
    struct elapse__queue_text text = {input->next, size};
    input->next += size;
    input->left -= size;
    return text;
}

static void fuzz_put(struct input *input, struct elapse__queue *queue, struct elapse__queue_now now)
{
    struct elapse__queue_put put = {
        .tube = short_text(input),
        .body = short_text(input),
        .key = short_text(input),
        .tag = short_text(input),
        .token = short_text(input),
        .when = (enum elapse__queue_when)(take_byte(input) % 4),
        .delay_ms = take_byte(input),
        .at_ms = now.wall_ms + (int64_t)take_byte(input) - 100,
        .period_ms = take_byte(input),
        .cron = {"* * * * *", 9},
        .if_key = (enum elapse__queue_if_key)(take_byte(input) % 5),
        .debounce_max_ms = take_byte(input),
        .priority = (uint32_t)take_byte(input),
        .ttr_ms = take_byte(input),
        .expire_ms = take_byte(input) % 64,
        .retry = (uint32_t)take_byte(input) % 4,
        .backoff_min_ms = take_byte(input) % 8,
        .backoff_max_ms = take_byte(input) % 64,
    };
    (void)elapse__queue_put(queue, now, &put);
}

static void fuzz_lease(struct input *input, struct elapse__queue *queue,
                       struct elapse__queue_now now)
{
    struct elapse__queue_holder holder = {.id = take_byte(input),
                                          .lease = {.life = 1, .number = take_byte(input)}};
    uint64_t delay_ms = take_byte(input);
    switch (take_byte(input) % 8) {
    case 0:
        (void)elapse__queue_ack(queue, now, holder);
        break;
    case 1:
        (void)elapse__queue_nack(queue, now, holder);
        break;
    case 2:
        (void)elapse__queue_nack_in(queue, now, holder, delay_ms);
        break;
    case 3:
        (void)elapse__queue_extend(queue, now, holder);
        break;
    case 4:
        (void)elapse__queue_bury(queue, now, holder, NULL);
        break;
    case 5:
        (void)elapse__queue_lease_undo(queue, now, holder);
        break;
    case 6:
        (void)elapse__queue_lease_begin(queue, now, holder);
        break;
    default:
        (void)elapse__queue_release(queue, now, holder, 5, delay_ms);
    }
}

static void fuzz_reserve(struct input *input, struct elapse__queue *queue,
                         struct elapse__queue_now now)
{
    struct elapse__queue_text tubes[2] = {short_text(input), short_text(input)};
    struct elapse__queue_reserve reserve = {
        .tubes = tubes,
        .tube_count = 2,
        .count = 1 + (uint32_t)take_byte(input) % 4,
        .begin = take_byte(input) % 2 == 0,
    };
    struct elapse__queue_handed handed[4];
    uint32_t count = 0;
    (void)elapse__queue_reserve(queue, now, &reserve, handed, &count);
}

static void fuzz_change(struct input *input, struct elapse__queue *queue,
                        struct elapse__queue_now now)
{
    uint64_t id = take_byte(input);
    struct elapse__queue_time time = {.when = (enum elapse__queue_when)(take_byte(input) % 3),
                                      .delay_ms = take_byte(input),
                                      .at_ms = now.wall_ms + (int64_t)take_byte(input) - 100};
    struct elapse__queue_text tube = short_text(input);
    switch (take_byte(input) % 6) {
    case 0:
        (void)elapse__queue_cancel_id(queue, now, id);
        break;
    case 1:
        (void)elapse__queue_cancel_key(queue, now, tube, short_text(input));
        break;
    case 2:
        (void)elapse__queue_reschedule_id(queue, now, id, time);
        break;
    case 3:
        (void)elapse__queue_kick_id(queue, now, id);
        break;
    case 4:
        (void)elapse__queue_pause(queue, now, tube, time.delay_ms);
        break;
    default:
        (void)elapse__queue_bury_damaged(queue, now, id);
    }
}

static void fuzz_commands(struct input input)
{
    struct log log;
    log_init(&log);
    struct elapse__queue_options options = {.sink = &log.sink, .secret = {1, 2}};
    struct elapse__queue_now now = {1000, 1700000000000};
    struct elapse__queue *queue = elapse__queue_new(&options);
    if (queue == NULL || elapse__queue_replay_done(queue, now, 1) != ELAPSE__QUEUE_OK)
        abort();
    while (input.left > 0) {
        switch (take_byte(&input) % 6) {
        case 0:
        case 1:
            fuzz_put(&input, queue, now);
            break;
        case 2:
            fuzz_lease(&input, queue, now);
            break;
        case 3:
            fuzz_reserve(&input, queue, now);
            break;
        case 4:
            fuzz_change(&input, queue, now);
            break;
        default: {
            uint64_t ms = take_byte(&input);
            now.boot_ms += ms;
            now.wall_ms += (int64_t)ms;
            (void)elapse__queue_turn(queue, now);
            (void)log_clean(&log, queue, now, take_byte(&input) % 4);
        }
        }
    }
    if (queue_differs_from_log(queue, &log, &options, now) != NULL)
        abort();
    elapse__queue_free(queue);
    log_free(&log);
}

static void count_nothing(struct elapse__record_sink *sink, uint64_t position, int64_t change)
{
    (void)sink;
    (void)position;
    (void)change;
}

/* Replays the bytes as records. Each begins with a type and a size. */
static void fuzz_records(struct input input)
{
    struct elapse__record_sink sink = {.live = count_nothing};
    struct elapse__queue_options options = {.sink = &sink, .secret = {1, 2}};
    struct elapse__queue_now now = {1000, 1700000000000};
    struct elapse__queue *queue = elapse__queue_new(&options);
    if (queue == NULL)
        abort();
    for (uint64_t position = 8; input.left > 0; position += 8) {
        struct elapse__record record = {.type = (enum elapse__record_type)(take_byte(&input) % 9)};
        size_t size = take_byte(&input);
        if (size > input.left)
            size = input.left;
        record.fields = input.next;
        record.fields_size = (uint16_t)size;
        record.body_size = (uint32_t)size;
        input.next += size;
        input.left -= size;
        (void)elapse__queue_replay(queue, position, &record);
    }
    (void)elapse__queue_replay_done(queue, now, UINT32_MAX);
    elapse__queue_free(queue);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    if (take_byte(&input) % 2 == 0)
        fuzz_commands(input);
    else
        fuzz_records(input);
    return 0;
}
