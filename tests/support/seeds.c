#include "seeds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RUNS_A_CHILD = 25, RUNS_UNLESS_SAID = 500, SHRINK_TRIALS_MAX = 2500 };

static const struct seeded_program *program;

/* What a child process tells its parent. */
static struct shared {
    struct seeded_run run;
    uint64_t seed;
} * shared;

static void make_plan(struct seeded_plan *plan, uint64_t seed)
{
    struct random_source random = {.state = seed * 2 + 1};
    plan->seed = seed;
    plan->count = program->count_steps(&random);
    for (unsigned i = 0; i < plan->count; i++)
        plan->steps[i] = random_next(&random);
}

/* ---- processes ---- */

/* Calls work(context) in a child process. Returns whether the child ended well and the run broke no
 * promise. */
static bool in_child(void (*work)(void *context), void *context, bool quiet)
{
    (void)fflush(NULL);
    shared->run.violation[0] = '\0';
    pid_t child = fork();
    if (child == 0) {
        if (quiet && freopen("/dev/null", "w", stderr) == NULL)
            _exit(2);
        work(context);
        (void)fflush(NULL);
        _exit(shared->run.violation[0] == '\0' ? 0 : 1);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child)
        exit(2);
    if (status != 0 && shared->run.violation[0] == '\0')
        (void)snprintf(shared->run.violation, sizeof shared->run.violation,
                       "the process ended by signal %d",
                       WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return status == 0;
}

struct batch {
    uint64_t first, count;
};

static void run_batch(void *context)
{
    static struct seeded_plan plan;
    const struct batch *batch = context;
    for (uint64_t i = 0; i < batch->count && shared->run.violation[0] == '\0'; i++) {
        shared->seed = batch->first + i;
        make_plan(&plan, shared->seed);
        program->run(&plan, &shared->run);
    }
}

static void run_one(void *context)
{
    program->run(context, &shared->run);
}

/* ---- a run that fails ---- */

/* Returns whether a run fails with the same words as the first one did, up to the first number. */
static bool fails_alike(struct seeded_plan *plan, const char *violation)
{
    size_t words = strcspn(violation, "0123456789");
    return !in_child(run_one, plan, true) && strncmp(shared->run.violation, violation, words) == 0;
}

/* Leaves out steps as long as the run still fails. */
static void shrink(struct seeded_plan *plan)
{
    static struct seeded_plan shorter;
    char violation[sizeof shared->run.violation];
    unsigned trials = 0;
    memcpy(violation, shared->run.violation, sizeof violation);
    if (shared->run.step + 1 < plan->count)
        plan->count = shared->run.step + 1;
    for (unsigned chunk = plan->count / 2; chunk > 0; chunk /= 2) {
        for (unsigned at = 0; at + chunk <= plan->count; trials++) {
            if (trials == SHRINK_TRIALS_MAX)
                return;
            shorter = *plan;
            shorter.count -= chunk;
            memmove(shorter.steps + at, shorter.steps + at + chunk,
                    (shorter.count - at) * sizeof *shorter.steps);
            if (fails_alike(&shorter, violation))
                *plan = shorter;
            else
                at += chunk;
        }
    }
}

static void report(bool shrinks)
{
    static struct seeded_plan plan;
    unsigned long long seed = shared->seed;
    (void)fprintf(stderr, "seed %llu: %s\n", seed, shared->run.violation);
    (void)fprintf(stderr, "repeat it by --seed %llu --runs 1 --trace\n", seed);
    if (!shrinks)
        return;
    make_plan(&plan, seed);
    if (in_child(run_one, &plan, true))
        return;
    unsigned before = plan.count;
    shrink(&plan);
    (void)printf("shrunk from %u to %u steps:\n", before, plan.count);
    *program->trace = true;
    (void)in_child(run_one, &plan, false);
    (void)printf("%s\n", shared->run.violation);
}

/* ---- the program ---- */

struct wishes {
    uint64_t seed, runs;
    double seconds;
    bool shrinks;
};

static bool read_wishes(struct wishes *wishes, int argc, char **argv)
{
    *wishes = (struct wishes){.seed = 1, .runs = UINT64_MAX, .shrinks = true};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--trace") == 0)
            *program->trace = true;
        else if (strcmp(argv[i], "--no-shrink") == 0)
            wishes->shrinks = false;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            wishes->seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
            wishes->runs = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            wishes->seconds = strtod(argv[++i], NULL);
        else
            return fprintf(stderr, "%s: unknown argument: %s\n", program->name, argv[i]), false;
    }
    if (wishes->runs == UINT64_MAX && wishes->seconds == 0)
        wishes->runs = RUNS_UNLESS_SAID;
    wishes->shrinks = wishes->shrinks && !*program->trace;
    return true;
}

/* Returns whether no run failed. */
static bool run_all(const struct wishes *wishes)
{
    struct timespec start, now;
    (void)timespec_get(&start, TIME_UTC);
    for (uint64_t done = 0; done < wishes->runs;) {
        uint64_t left = wishes->runs - done;
        struct batch batch = {wishes->seed + done, left < RUNS_A_CHILD ? left : RUNS_A_CHILD};
        if (!in_child(run_batch, &batch, false)) {
            report(wishes->shrinks);
            return false;
        }
        done += batch.count;
        (void)timespec_get(&now, TIME_UTC);
        if (wishes->seconds > 0 && difftime(now.tv_sec, start.tv_sec) >= wishes->seconds)
            break;
    }
    return true;
}

static void *share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int seeded_main(const struct seeded_program *the_program, int argc, char **argv)
{
    struct wishes wishes;
    program = the_program;
    /* With a buffer of one line, nothing that a child prints is lost when an assertion ends it. */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (!read_wishes(&wishes, argc, argv))
        return 2;
    void *totals = share(program->totals_bytes);
    shared = share(sizeof *shared);
    if (totals == NULL || shared == NULL)
        return 2;
    program->count_in(totals);
    if (!run_all(&wishes))
        return 1;
    program->print_totals();
    return 0;
}
