/*
 * Tests that each failure is reported, and does no harm.
 *
 * Usage: faults manual|real|pull once|onward [N]
 *
 * For each site (inject.h): plays the scenario while the first call there fails, then while the
 * second call fails, and so on until no call is left that could fail. After the first N calls
 * (default: 1000, which is all) more and more calls are left out.
 */
#include "scenario.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SCENARIO_SECONDS = 60 };

static enum site site_now = SITE_COUNT;
static uint64_t call_now;
static uint64_t every_call_to = 1000;

_Noreturn void fault(const char *what)
{
    inject_nothing();
    fprintf(stderr, "Fault: %s\nwhere call %" PRIu64 " of %s failed\n", what, call_now,
            site_name(site_now));
    fflush(NULL);
    _exit(1);
}

/* Ends the process after too long. Calls only what a signal handler may call. */
static void too_long(int signal)
{
    static const char message[] = "Fault: the scenario does not end\n";
    (void)signal;
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
        _exit(2);
    _exit(1);
}

static void *tell_number(void *number)
{
    *(long *)number = syscall(SYS_gettid);
    return NULL;
}

/* Makes the first thread of the process, and waits until it has ended. With the first thread a
 * sanitizer may make a thread of its own, which stays; it has to be there before threads are
 * counted. The first thread may be listed a moment longer than the test waits for it, and must not
 * be counted. The alarm ends the waiting. */
static void make_first_thread(void)
{
    pthread_t thread;
    long number;
    char entry[64];
    MUST(pthread_create(&thread, NULL, tell_number, &number) == 0);
    MUST(pthread_join(thread, NULL) == 0);
    (void)snprintf(entry, sizeof entry, "/proc/self/task/%ld", number);
    while (access(entry, F_OK) == 0)
        (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* Plays the scenario with failures at one site. Returns for how many calls. */
static unsigned fail_at(enum site site, struct scenario *scenario)
{
    unsigned played = 0;
    bool failed = true;
    site_now = site;
    printf("%s: ", site_name(site));
    fflush(stdout);
    scenario->memory = site == SITE_ALLOCATE;
    scenario->thread = site == SITE_THREAD;
    for (call_now = 1; failed; call_now += 1 + call_now / every_call_to) {
        alarm(SCENARIO_SECONDS);
        scenario->turn = played++;
        inject(site, call_now, scenario->onward);
        scenario_play(scenario);
        failed = inject_has_failed();
        inject_nothing();
    }
    return played;
}

int main(int count, char **arguments)
{
    if (count == 4)
        every_call_to = strtoul(arguments[3], NULL, 10);
    if (count < 3 || count > 4 || every_call_to == 0) {
        fprintf(stderr, "usage: %s manual|real once|onward [N]\n", arguments[0]);
        return 2;
    }
    struct scenario scenario = {
        .manual = strcmp(arguments[1], "manual") == 0,
        .pull = strcmp(arguments[1], "pull") == 0,
        .onward = strcmp(arguments[2], "onward") == 0,
    };
    inject_into_os();
    (void)signal(SIGALRM, too_long);
    alarm(SCENARIO_SECONDS);
    make_first_thread();
    scenario_play(&scenario); /* no call fails */
    for (int site = 0; site < SITE_COUNT; site++) {
        unsigned played = fail_at((enum site)site, &scenario);
        printf("played %u times\n", played);
        fflush(stdout);
    }
    return 0;
}
