/*
 * The model test: random operations on a structure, in step with the oracle.
 *
 * Usage: model_test [--structure NAME] [--seed N] [--operations N] [--checked N]
 *                   [--shrink no]
 *
 * Runs until --operations operations are done. Each run has a seed of its own: the first has the
 * seed that is given, the next one the number after it. After each of the first --checked
 * operations, check is called. A failing run is shrunk and printed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "generate.h"
#include "shrink.h"

enum { RUN_SECONDS = 20 };

struct plan {
    const struct kind *kind;
    uint64_t seed;
    uint64_t operations;
    uint64_t checked;
    bool shrink;
};

static bool run_one(struct run_record *record)
{
    struct random_source source = {.state = record->seed};
    struct run_character character = character_draw(&source);
    struct trial trial;
    bool good = true;

    record->options.origin = character.origin;
    record->options.timers = character.timers;
    record->options.capacity = character.capacity;
    record->count = 0;
    trial_open(&trial, &record->options);
    trial.check_each = record->check_each;
    while (good && record->count < character.operations) {
        record->operations[record->count++] = operation_draw(&source, &character, &trial.oracle);
        good = trial_apply(&trial, &record->operations[record->count - 1]);
        if (trial.oracle.now == ELAPSE_TIME_MAX && random_one_in(&source, 40))
            break;
    }
    good = good && trial_finish(&trial);
    if (!good)
        fprintf(stderr, "run with seed %" PRIu64 ": %s\n", record->seed, trial.failure);
    trial_close(&trial);
    return good;
}

static bool run_all(const struct plan *plan, struct run_record *record)
{
    uint64_t done = 0;

    record->seed = plan->seed;
    record->options.kind = plan->kind;
    while (done < plan->operations) {
        alarm(RUN_SECONDS);
        record->check_each = done < plan->checked;
        if (!run_one(record))
            return false;
        done += record->count;
        record->seed++;
    }
    printf("%" PRIu64 " operations in %" PRIu64 " runs\n", done, record->seed - plan->seed);
    return true;
}

static bool parse_number(const char *text, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static bool parse(int count, char **arguments, struct plan *plan)
{
    for (int i = 1; i + 1 < count; i += 2) {
        const char *value = arguments[i + 1];
        bool good = true;

        if (strcmp(arguments[i], "--structure") == 0)
            plan->kind = kind_find(value);
        else if (strcmp(arguments[i], "--seed") == 0)
            good = parse_number(value, &plan->seed);
        else if (strcmp(arguments[i], "--operations") == 0)
            good = parse_number(value, &plan->operations);
        else if (strcmp(arguments[i], "--checked") == 0)
            good = parse_number(value, &plan->checked);
        else if (strcmp(arguments[i], "--shrink") == 0)
            plan->shrink = strcmp(value, "no") != 0;
        else
            good = false;
        if (!good || plan->kind == NULL)
            return false;
    }
    return count % 2 == 1;
}

int main(int count, char **arguments)
{
    struct plan plan = {.kind = kind_at(0),
                        .seed = (uint64_t)time(NULL) << 16 ^ (uint64_t)getpid(),
                        .operations = 1000000,
                        .checked = UINT64_MAX,
                        .shrink = true};
    struct run_record *record = record_share();
    int status = 0;
    pid_t child;

    if (!parse(count, arguments, &plan)) {
        fprintf(stderr,
                "usage: %s [--structure NAME] [--seed N] [--operations N] [--checked N] "
                "[--shrink no]\n",
                arguments[0]);
        return 2;
    }
    printf("--structure %s --seed %" PRIu64 "\n", plan.kind->name, plan.seed);
    fflush(stdout);
    child = fork();
    if (child == 0)
        return run_all(&plan, record) ? 0 : 1;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        return 2;
    }
    if (status != 0) {
        fprintf(stderr, "Replay: --structure %s --seed %" PRIu64 "\n", plan.kind->name,
                record->seed);
        if (plan.shrink)
            record_shrink(record);
    }
    fflush(NULL);
    /* _exit writes no counts of coverage, which would replace those of the child that did the work.
     */
    _exit(status == 0 ? 0 : 1);
}
