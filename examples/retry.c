/*
 * Retries, with exponential back-off, with jitter, and up to a limit.
 *
 *     retry [SEED]
 *
 * A thousand requests go to a service that is down. A request waits 100 ms after its first
 * failure, twice as long after each further failure, but at most two seconds, and gives up after
 * eight attempts. All requests failed at the same moment, so without jitter they would all come
 * back at the same moments, too, and overload a service that has just restarted. Each delay is
 * therefore chosen at random between half of it and the whole.
 *
 * The program tells the story twice, without jitter and with it, on a manual clock. The same seed
 * gives the same story.
 *
 * What to look at:
 * - attempt(): the action reschedules its own task for the next attempt. That is legal while it
 *   runs: the task runs again when the action has returned and the new deadline has come. It
 *   needs no second task, and the handle stays valid.
 * - end_request(): the destructor. It is called once for each request, whether that succeeded,
 *   gave up or was cancelled. Here it counts the end and frees the memory.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <elapse/scheduler.h>

#define FIRST_DELAY_NS   (100 * ELAPSE_MILLISECOND_NS)
#define LONGEST_DELAY_NS (2 * ELAPSE_SECOND_NS)
#define DOWN_UNTIL_NS    (1400 * ELAPSE_MILLISECOND_NS)
#define MOMENT_NS        (10 * ELAPSE_MILLISECOND_NS)

enum { REQUESTS = 1000, ATTEMPTS_MAX = 8, MOMENTS = 2000, CANCELLED = 10 };

struct request {
    unsigned attempts;
    bool succeeded;
    uint64_t not_before_ns; /* the next attempt, for the check */
};

struct story {
    bool jitter;
    uint32_t random;
    size_t ended;
    size_t succeeded;
    size_t given_up;
    size_t attempts;
    size_t in_moment[MOMENTS]; /* attempts in each ten milliseconds */
};

static struct story story;

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "retry: fault: %s\n", what);
    exit(EXIT_FAILURE);
}

/* Returns a random number from 0 up to, but not including, 1. */
static double random_share(void)
{
    story.random = story.random * 1664525U + 1013904223U;
    return (story.random >> 8) / 16777216.0;
}

/* The service: it is down for a while, and then fails one time in four. */
static bool serve(uint64_t now_ns)
{
    size_t moment = (size_t)(now_ns / MOMENT_NS);

    require(moment < MOMENTS, "an attempt after all should have ended");
    story.in_moment[moment]++;
    story.attempts++;
    return now_ns >= DOWN_UNTIL_NS && random_share() >= 0.25;
}

/* ---- the part to copy ---- */

/* Returns the delay after so many failures. */
static uint64_t back_off_ns(unsigned failures)
{
    uint64_t delay_ns = FIRST_DELAY_NS;

    while (--failures > 0 && delay_ns < LONGEST_DELAY_NS)
        delay_ns *= 2;
    if (delay_ns > LONGEST_DELAY_NS)
        delay_ns = LONGEST_DELAY_NS;
    if (!story.jitter)
        return delay_ns;
    uint64_t half_ns = delay_ns / 2;
    return half_ns + (uint64_t)(random_share() * (double)half_ns);
}

static void attempt(void *context, const struct elapse_run *run)
{
    struct request *request = context;

    require(run->actual_ns >= request->not_before_ns, "an attempt came before its time");
    request->attempts++;
    if (serve(run->actual_ns)) {
        request->succeeded = true;
        return; /* the task is not rescheduled, so it ends here */
    }
    if (request->attempts == ATTEMPTS_MAX)
        return;
    uint64_t delay_ns = back_off_ns(request->attempts);
    request->not_before_ns = run->actual_ns + delay_ns;
    require(elapse_task_reschedule_after(run->scheduler, run->handle, delay_ns) == ELAPSE_OK,
            "a request could not be tried again");
}

static void end_request(void *context)
{
    struct request *request = context;

    story.ended++;
    if (request->succeeded)
        story.succeeded++;
    else if (request->attempts == ATTEMPTS_MAX)
        story.given_up++;
    free(request);
}

/* ---- the story ---- */

static void run_story(bool jitter, uint32_t seed)
{
    struct elapse_scheduler_options options;
    struct elapse_scheduler *scheduler;
    struct elapse_handle handles[REQUESTS];
    uint64_t next_ns;
    size_t removed = 0;

    story = (struct story){.jitter = jitter, .random = seed};
    elapse_scheduler_options_init(&options);
    options.clock = ELAPSE_CLOCK_MANUAL;
    require(elapse_scheduler_new(&options, &scheduler) == ELAPSE_OK, "no scheduler");
    for (size_t i = 0; i < REQUESTS; i++) {
        struct request *request = calloc(1, sizeof *request);
        struct elapse_task task = {.action = attempt, .context = request, .destroy = end_request};

        require(request != NULL, "no memory");
        require(elapse_task_schedule_after(scheduler, &task, 0, &handles[i]) == ELAPSE_OK,
                "a request could not be scheduled");
    }

    /* After a second, some users lose patience and cancel. */
    require(elapse_scheduler_step(scheduler, 0, NULL) == ELAPSE_OK, "time stands still");
    while ((next_ns = elapse_scheduler_next_ns(scheduler)) <= ELAPSE_SECOND_NS)
        require(elapse_scheduler_step(scheduler, next_ns, NULL) == ELAPSE_OK, "time stands still");
    for (size_t i = 0; i < CANCELLED; i++)
        removed += elapse_task_cancel(scheduler, handles[i]) == ELAPSE_CANCEL_REMOVED;
    while ((next_ns = elapse_scheduler_next_ns(scheduler)) != ELAPSE_NEVER)
        require(elapse_scheduler_step(scheduler, next_ns, NULL) == ELAPSE_OK, "time stands still");

    require(removed == CANCELLED, "a request had ended while the service was down");
    require(story.ended == REQUESTS, "a request has not ended");
    require(story.succeeded + story.given_up + removed == REQUESTS, "an end is unaccounted for");
    require(elapse_scheduler_free(scheduler) == ELAPSE_OK, "the scheduler is not free");
}

/* Prints the figures. Returns the most attempts at one moment, after the first second. */
static size_t report(void)
{
    size_t most = 0;
    size_t moment = 0;

    for (size_t i = ELAPSE_SECOND_NS / MOMENT_NS; i < MOMENTS; i++) {
        if (story.in_moment[i] > most) {
            most = story.in_moment[i];
            moment = i;
        }
    }
    printf("%s jitter: %zu attempts, %zu requests succeeded, %zu gave up, %d were cancelled; "
           "%zu attempts at once after %.2f s\n",
           story.jitter ? "with" : "without", story.attempts, story.succeeded, story.given_up,
           CANCELLED, most, (double)(moment * MOMENT_NS) / 1e9);
    return most;
}

int main(int argument_count, char **arguments)
{
    const char *said = argument_count > 1 ? arguments[1] : "1";
    char *end;
    unsigned long seed = strtoul(said, &end, 10);

    if (argument_count > 2 || *said < '0' || *said > '9' || *end != '\0' || seed > UINT32_MAX) {
        fputs("usage: retry [SEED], a number up to 4294967295\n", stderr);
        return 2;
    }
    printf("seed %lu\n", seed);
    run_story(false, (uint32_t)seed);
    size_t most_without = report();
    run_story(true, (uint32_t)seed);
    size_t most_with = report();

    require(most_without == REQUESTS - CANCELLED, "without jitter all come at once");
    require(most_with < REQUESTS / 10, "with jitter they are not spread");
    return EXIT_SUCCESS;
}
