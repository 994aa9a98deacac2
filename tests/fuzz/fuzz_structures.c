/*
 * Fuzzes the structures: bytes become operations of the wheel, the heap and one other kind of
 * structure. Each is compared with an oracle, and so with the others. A promise that is broken ends
 * the process, as libFuzzer wants it.
 *
 * The first byte chooses the other kind, and the next ones the origin. Then each
 * operation is a byte for its kind and timer, and up to nine for a tick: a byte that
 * says how far away and from what, and the distance.
 */
#include <string.h>

#include "fuzz.h"
#include "trial.h"

/* Longer inputs only take longer: whatever there is to see, some thousand operations
 * show it. */
enum { TIMERS = 16, STRUCTURES = 3, LONGEST_INPUT = 4096 };

struct input {
    const uint8_t *bytes;
    size_t left;
};

static uint8_t take(struct input *input)
{
    if (input->left == 0)
        return 0;
    input->left--;
    return *input->bytes++;
}

static uint64_t take_number(struct input *input, unsigned bytes)
{
    uint64_t number = 0;

    while (bytes-- > 0)
        number = number << 8 | take(input);
    return number;
}

/* A tick before or after a time or a deadline, in as few bytes as its distance needs. */
static uint64_t take_tick(struct input *input, const struct oracle *oracle)
{
    uint8_t form = take(input);
    uint64_t from = oracle->now;

    if (form == 0xFF)
        return ELAPSE_NEVER;
    if ((form & 0x80) != 0 && oracle->count > 0)
        from = oracle->entries[(form >> 4 & 7) % oracle->count].deadline;
    uint64_t distance = take_number(input, form & 7);
    if ((form & 8) != 0)
        return distance < from ? from - distance : 0;
    return distance < ELAPSE_NEVER - from ? from + distance : ELAPSE_NEVER;
}

static struct operation take_operation(struct input *input, const struct oracle *oracle)
{
    uint8_t choice = take(input);
    struct operation operation = {.kind = OPERATION_START, .timer = choice % TIMERS};

    switch (choice / TIMERS) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
        operation.first = take_tick(input, oracle);
        break;
    case 6:
        operation.kind = OPERATION_START_WINDOW;
        operation.first = take_tick(input, oracle);
        operation.second = take_tick(input, oracle);
        break;
    case 7:
    case 8:
        operation.kind = OPERATION_STOP;
        break;
    case 9:
    case 10:
        operation.kind = OPERATION_ADVANCE;
        operation.first = take_tick(input, oracle);
        break;
    case 11:
        operation.kind = OPERATION_POP;
        break;
    case 12:
        operation.kind = operation.timer < 8 ? OPERATION_CASCADE : OPERATION_CASCADE_AHEAD;
        operation.first = operation.timer % 4;
        break;
    case 13:
        operation.kind = OPERATION_FOLLOW_NEXT;
        break;
    case 14:
        operation.kind = OPERATION_POP_ALL;
        break;
    default:
        operation.kind = OPERATION_INSPECT + operation.timer % 3;
        operation.first = 2;
        break;
    }
    return operation;
}

static void expect(bool good, const struct trial *trial)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", trial->kind->name, trial->failure);
    abort();
}

/* Checks that both have the same deadlines pending. */
static void expect_the_same(const struct trial *one, const struct trial *other)
{
    bool same = one->oracle.count == other->oracle.count;

    for (size_t i = 0; same && i < one->oracle.count; i++)
        same = one->oracle.entries[i].deadline == other->oracle.entries[i].deadline;
    if (same)
        return;
    fprintf(stderr, "the structures differ\n");
    abort();
}

/* Returns whether both have the same time and the same timers pending. The timers may differ,
 * because the wheel may pop timers of one deadline in another order (promise 4). The times may
 * differ, because `next` of one was early and was followed (promise 10). After that the same
 * operations have different effects. */
static bool are_alike(const struct trial *one, const struct trial *other)
{
    for (size_t i = 0; i < one->oracle.count; i++) {
        if (oracle_find(&other->oracle, one->oracle.entries[i].timer) == NULL)
            return false;
    }
    return true;
}

/* Returns the kind of a structure: the wheel, the heap, or the other kind that `choice` chooses. */
static const struct kind *choose_kind(size_t structure, uint8_t choice)
{
    size_t kinds = 0;

    while (kind_at(kinds) != NULL)
        kinds++;
    return kind_at(structure < 2 ? structure : 2 + choice % (kinds - 2));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {.bytes = data, .left = size < LONGEST_INPUT ? size : LONGEST_INPUT};
    struct trial trials[STRUCTURES];
    struct trial_options options = {.timers = TIMERS, .capacity = 2};
    bool alike[STRUCTURES];
    uint8_t choice = take(&input);

    options.origin = take_number(&input, take(&input) % 9);
    if (options.origin % 2 == 1)
        options.origin = ELAPSE_NEVER - options.origin;
    for (size_t i = 0; i < STRUCTURES; i++) {
        options.kind = choose_kind(i, choice);
        trial_open(&trials[i], &options);
        alike[i] = true;
    }
    while (input.left > 0) {
        struct operation operation = take_operation(&input, &trials[0].oracle);

        for (size_t i = 0; i < STRUCTURES; i++)
            expect(trial_apply(&trials[i], &operation), &trials[i]);
        for (size_t i = 1; i < STRUCTURES; i++) {
            alike[i] = alike[i] && trials[0].oracle.now == trials[i].oracle.now;
            if (alike[i])
                expect_the_same(&trials[0], &trials[i]);
            alike[i] = alike[i] && are_alike(&trials[0], &trials[i]);
        }
    }
    for (size_t i = 0; i < STRUCTURES; i++) {
        expect(trial_finish(&trials[i]), &trials[i]);
        trial_close(&trials[i]);
    }
    return 0;
}
