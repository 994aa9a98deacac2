/*
 * The exhaustive test: tries every sequence of operations of an alphabet, up to a length. The wheel
 * is so small that short sequences cross all of its borders: time has 8 bits, and slots have 1, 4,
 * 16 and 64 ticks. It may also try another kind of structure.
 *
 * Usage: exhaustive_test LENGTH TIMERS ORIGIN [KIND [PART PARTS [SEQUENCES]]]
 *
 * The tree of sequences is walked depth first. Before each step the memory of the
 * structure, its storage, the timers and the oracle are saved; after the step they are
 * restored. So each operation is done once for each node, not once for each sequence through it.
 *
 * The tree can be divided into PARTS parts, of which PART, counted from 0, is walked. The
 * sequences of the first two operations are numbered, and the part has those whose number
 * modulo PARTS is PART. With SEQUENCES, the test fails unless it has tried exactly that many
 * sequences of full length.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/wheel.h>

#include "released.h"
#include "trial.h"

enum { TIMERS = 3, LENGTH_LIMIT = 12, ALPHABET_LIMIT = 40, DIVIDED_DEPTH = 2 };

_Static_assert(ELAPSE__TIME_BITS == 8, "this test is for time of 8 bits");

struct alphabet {
    size_t count;
    struct operation letters[ALPHABET_LIMIT];
};

/* A trial, as it was before a step. */
struct snapshot {
    void *instance;
    void *storage;
    struct elapse_timer timers[TIMERS];
    struct trial trial;
};

struct search {
    struct trial trial;
    struct alphabet alphabet;
    struct snapshot snapshots[LENGTH_LIMIT];
    const struct operation *path[LENGTH_LIMIT];
    size_t length;
    size_t timers;
    size_t storage_bytes;
    uint64_t part;
    uint64_t parts;
    uint64_t beginnings; /* sequences of DIVIDED_DEPTH operations met so far */
    uint64_t steps;
    uint64_t sequences; /* of full length */
};

static void add(struct alphabet *alphabet, enum operation_kind kind, unsigned timer, uint64_t first)
{
    if (alphabet->count == ALPHABET_LIMIT)
        abort();
    alphabet->letters[alphabet->count++] =
        (struct operation){.kind = kind, .timer = timer, .first = first};
}

static uint64_t after(uint64_t origin, uint64_t distance)
{
    return distance < ELAPSE_NEVER - origin ? origin + distance : ELAPSE_TIME_MAX;
}

/* Returns the first tick after `origin` at which a slot of 2^bits ticks begins. */
static uint64_t border(uint64_t origin, unsigned bits)
{
    return after(origin, (UINT64_C(1) << bits) - origin % (UINT64_C(1) << bits));
}

/* Makes the alphabet: its deadlines and times are on both sides of the borders of levels 1 and 2,
 * in the same slots and in different slots. */
static void make_alphabet(struct alphabet *alphabet, uint64_t origin, size_t timers)
{
    const uint64_t deadlines[] = {after(origin, 1), border(origin, 2), border(origin, 4),
                                  after(border(origin, 4), 1), after(border(origin, 6), 5)};
    const uint64_t times[] = {after(origin, 1), border(origin, 4) - 1, border(origin, 4),
                              after(border(origin, 6), 6)};

    alphabet->count = 0;
    for (unsigned timer = 0; timer < timers; timer++) {
        for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++)
            add(alphabet, OPERATION_START, timer, deadlines[i]);
        add(alphabet, OPERATION_STOP, timer, 0);
    }
    add(alphabet, OPERATION_START, 0, ELAPSE_NEVER);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        add(alphabet, OPERATION_ADVANCE, 0, times[i]);
    add(alphabet, OPERATION_POP, 0, 0);
    add(alphabet, OPERATION_CASCADE, 0, 1);
    add(alphabet, OPERATION_CASCADE_AHEAD, 0, 1);
    add(alphabet, OPERATION_FOLLOW_NEXT, 0, 0);
}

/* Returns the size of a trial without those entries of the oracle that have no meaning. */
static size_t trial_bytes(const struct trial *trial)
{
    return offsetof(struct trial, oracle.entries) +
           trial->oracle.count * sizeof *trial->oracle.entries;
}

static void save(struct search *search, struct snapshot *snapshot)
{
    struct trial *trial = &search->trial;

    for (size_t i = 0; i < search->timers; i++)
        timer_uncover(&trial->timers[i]);
    memcpy(snapshot->instance, trial->instance, trial->structure->instance_bytes);
    memcpy(snapshot->storage, trial->storage, search->storage_bytes);
    memcpy(snapshot->timers, trial->timers, search->timers * sizeof *trial->timers);
    memcpy(&snapshot->trial, trial, trial_bytes(trial));
}

static void cover_released(struct search *search)
{
    for (size_t i = 0; i < search->timers; i++) {
        if (oracle_find(&search->trial.oracle, i) == NULL)
            timer_cover(&search->trial.timers[i]);
    }
}

/* Restores a snapshot, to the same places in memory, because the structure has pointers into
 * itself. */
static void restore(struct search *search, const struct snapshot *snapshot)
{
    struct trial *trial = &search->trial;

    for (size_t i = 0; i < search->timers; i++)
        timer_uncover(&trial->timers[i]);
    memcpy(trial, &snapshot->trial, trial_bytes(&snapshot->trial));
    memcpy(trial->instance, snapshot->instance, trial->structure->instance_bytes);
    memcpy(trial->storage, snapshot->storage, search->storage_bytes);
    memcpy(trial->timers, snapshot->timers, search->timers * sizeof *trial->timers);
    cover_released(search);
}

static bool report(const struct search *search, size_t depth, const char *when)
{
    fprintf(stderr, "%s, origin %" PRIu64 ", %s: %s\n", search->trial.kind->name,
            search->snapshots[0].trial.oracle.now, when, search->trial.failure);
    for (size_t i = 0; i < depth; i++) {
        fprintf(stderr, "  ");
        operation_print(stderr, search->path[i]);
    }
    return false;
}

/* Returns whether a start with an earlier letter arms the timer for the same deadline. */
static bool is_repetition(const struct search *search, const struct operation *letter)
{
    const struct oracle *oracle = &search->trial.oracle;
    uint64_t deadline = oracle_effective(oracle, letter->first);

    for (const struct operation *other = search->alphabet.letters; other < letter; other++) {
        if (other->kind == letter->kind && other->timer == letter->timer &&
            oracle_effective(oracle, other->first) == deadline)
            return true;
    }
    return false;
}

/* Returns whether an operation is worth trying: it does something, and no other letter does the
 * same. Timers are alike, so timer n + 1 is not tried before timer n was started. */
static bool worth_trying(const struct search *search, const struct operation *letter, size_t used)
{
    switch (letter->kind) {
    case OPERATION_START:
        return letter->timer <= used && !is_repetition(search, letter);
    case OPERATION_STOP:
        return oracle_find(&search->trial.oracle, letter->timer) != NULL;
    case OPERATION_ADVANCE:
        return letter->first > search->trial.oracle.now;
    case OPERATION_CASCADE_AHEAD:
        return strcmp(search->trial.kind->structure, "wheel") == 0;
    default:
        return true;
    }
}

/* Returns whether the sequences that begin with the operations so far belong to another part. */
static bool is_of_another_part(struct search *search, size_t depth)
{
    return depth == DIVIDED_DEPTH && search->beginnings++ % search->parts != search->part;
}

static bool explore(struct search *search, size_t depth, size_t used)
{
    struct snapshot *snapshot = &search->snapshots[depth];

    if (is_of_another_part(search, depth))
        return true;
    save(search, snapshot);
    cover_released(search);
    if (depth == search->length) {
        search->sequences++;
        if (!trial_run_to_end(&search->trial))
            return report(search, depth, "then next followed to the end");
        restore(search, snapshot);
        return true;
    }
    for (size_t i = 0; i < search->alphabet.count; i++) {
        const struct operation *letter = &search->alphabet.letters[i];
        bool first_use = letter->kind == OPERATION_START && letter->timer == used;

        if (!worth_trying(search, letter, used))
            continue;
        search->path[depth] = letter;
        search->steps++;
        if (!trial_apply(&search->trial, letter))
            return report(search, depth + 1, "at the last of these operations");
        if (!explore(search, depth + 1, used + first_use))
            return false;
        restore(search, snapshot);
    }
    return true;
}

static bool explore_from(struct search *search, const struct kind *kind, uint64_t origin)
{
    const struct trial_options options = {
        .kind = kind, .origin = origin, .timers = search->timers, .capacity = search->timers};

    make_alphabet(&search->alphabet, origin, search->timers);
    trial_open(&search->trial, &options);
    bool good = explore(search, 0, 0);
    trial_close(&search->trial);
    return good;
}

int main(int count, char **arguments)
{
    static struct search search;
    const struct kind *kind = count > 4 ? kind_find(arguments[4]) : kind_at(0);
    uint64_t origin = ELAPSE_NEVER;

    search.parts = 1;
    if (kind != NULL && (count == 4 || count == 5 || count == 7 || count == 8)) {
        search.length = strtoul(arguments[1], NULL, 10);
        search.timers = strtoul(arguments[2], NULL, 10);
        origin = strtoull(arguments[3], NULL, 10);
    }
    if (count > 6) {
        search.part = strtoull(arguments[5], NULL, 10);
        search.parts = strtoull(arguments[6], NULL, 10);
    }
    if (search.length < DIVIDED_DEPTH || search.length >= LENGTH_LIMIT || search.timers == 0 ||
        search.timers > TIMERS || origin > ELAPSE_TIME_MAX || search.part >= search.parts) {
        fprintf(stderr, "usage: %s LENGTH TIMERS ORIGIN [KIND [PART PARTS [SEQUENCES]]]\n",
                arguments[0]);
        return 2;
    }
    search.storage_bytes = kind_structure(kind)->storage_bytes(kind->shape, search.timers);
    for (size_t i = 0; i <= search.length; i++) {
        search.snapshots[i].instance = malloc(kind_structure(kind)->instance_bytes);
        search.snapshots[i].storage = malloc(search.storage_bytes + 1);
        if (search.snapshots[i].instance == NULL || search.snapshots[i].storage == NULL)
            return 2;
    }
    bool good = explore_from(&search, kind, origin);
    for (size_t i = 0; i <= search.length; i++) {
        free(search.snapshots[i].storage);
        free(search.snapshots[i].instance);
    }
    printf("%" PRIu64 " sequences, %" PRIu64 " steps, %zu letters\n", search.sequences,
           search.steps, search.alphabet.count);
    if (good && count > 7 && search.sequences != strtoull(arguments[7], NULL, 10)) {
        fprintf(stderr, "not %s sequences, but %" PRIu64 "\n", arguments[7], search.sequences);
        return 1;
    }
    return good ? 0 : 1;
}
