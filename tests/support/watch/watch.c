/*
 * watch-test [--processor-s N] [--quiet-s N] [--report FILE] -- COMMAND [ARGUMENT...]
 *
 * Runs a test, and ends it if it works too much or hangs. A test that is slow because the machine
 * is slow goes on. The test is killed, with all processes that it has started, when
 *
 *     --processor-s N   they have used more than N seconds of processor time (300);
 *     --quiet-s N       for N seconds (120) they have written nothing, have used less than 1 % of
 *                       one processor, and did not wait for a processor or for the disk either.
 *
 * watch-test (the launcher) then says why, names the processes, and exits with 124. Otherwise it
 * exits with the status of the test, or with 128 and the number of the signal that ended the test.
 * A signal that asks the launcher to end is passed on to the test. Processes that outlive the test
 * are killed. The processor time that all processes have used is written into FILE, in seconds.
 *
 * If standard error goes elsewhere than standard output, it is left alone, and does not count as
 * output.
 *
 * The test has a session of its own. Orphans of the test become children of the launcher, so no
 * process escapes.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tree.h"

enum {
    SAMPLES = 120, /* how many samples are taken in the time of --quiet-s */
    EXIT_USAGE = 2,
    EXIT_ENDED = 124,
    EXIT_NOT_STARTED = 127,
    KILL_TRIES = 500,
};

/* What the test asked of the machine between two looks at it. */
struct sample {
    double used_s;
    bool waited;
    bool wrote;
};

struct watch {
    double processor_s;
    double quiet_s;
    const char *report;

    pid_t test;
    int output;
    int signals;
    sigset_t mask_before;
    bool ended;
    int status; /* what waitpid stored, once the test has ended */
    int asked;  /* the signal that asked the launcher to end, or 0 */
    struct tree tree;

    struct sample samples[SAMPLES];
    size_t sample_count;
    bool wrote;
    double used_s;
    double sampled_at_s;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("watch-test: ", stdout);
    vprintf(format, arguments);
    fputc('\n', stdout);
    fflush(stdout);
    va_end(arguments);
}

/* Returns the processor time of all processes that have ended and were waited for. */
static double reaped_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

static void reap(struct watch *watch)
{
    int status;
    pid_t ended;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
        if (ended == watch->test) {
            watch->ended = true;
            watch->status = status;
        }
    }
}

/* Passes on what the test has written. Returns false when there is nothing at the moment. */
static bool pass_output(struct watch *watch)
{
    char bytes[65536];
    ssize_t length = read(watch->output, bytes, sizeof bytes);
    if (length <= 0)
        return false;
    watch->wrote = true;
    for (ssize_t at = 0; at < length;) {
        ssize_t written = write(STDOUT_FILENO, bytes + at, (size_t)(length - at));
        if (written < 0 && errno != EINTR) {
            watch->asked = SIGPIPE; /* nobody reads the output any more */
            return false;
        }
        at += written > 0 ? written : 0;
    }
    return true;
}

/* Kills every process that is left. Returns how many there were at first. */
static size_t kill_all(struct watch *watch)
{
    size_t found = 0;
    for (int i = 0; i < KILL_TRIES; i++) {
        tree_read(&watch->tree, getpid());
        size_t left = tree_signal(&watch->tree, SIGKILL);
        found = i == 0 ? left : found;
        reap(watch);
        if (left == 0)
            return found;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    say("some processes cannot be killed");
    return found;
}

static void name_processes(const struct watch *watch)
{
    for (size_t i = 0; i < watch->tree.count; i++) {
        const struct process *process = &watch->tree.processes[i];
        if (tree_alive(process))
            say("    process %ld, %s, state %c, %.2f processor-seconds", (long)process->id,
                process->name, process->state, process->used_s);
    }
}

/* Takes a sample. A sample counts as one period, even if more time has passed. So time in which the
 * launcher itself did not run, as in a machine that is suspended, is not counted. */
static void take_sample(struct watch *watch)
{
    tree_read(&watch->tree, getpid());
    double used_s = reaped_s() + tree_used_s(&watch->tree);
    watch->samples[watch->sample_count++ % SAMPLES] = (struct sample){
        .used_s = fabs(used_s - watch->used_s),
        .waited = tree_waits_for_the_machine(&watch->tree),
        .wrote = watch->wrote,
    };
    watch->used_s = used_s;
    watch->wrote = false;
    watch->sampled_at_s = now_s();
}

static bool hangs(const struct watch *watch)
{
    if (watch->sample_count < SAMPLES)
        return false;
    double used_s = 0;
    int waited = 0;
    bool wrote = false;
    for (size_t i = 0; i < SAMPLES; i++) {
        used_s += watch->samples[i].used_s;
        waited += watch->samples[i].waited;
        wrote |= watch->samples[i].wrote;
    }
    return !wrote && used_s < watch->quiet_s / 100 && waited < SAMPLES / 10;
}

/* Returns whether the test has to be ended, and says why. */
static bool exceeds(const struct watch *watch)
{
    if (watch->used_s > watch->processor_s) {
        say("ENDED: the test has used %.1f processor-seconds; its limit is %.0f", watch->used_s,
            watch->processor_s);
        return true;
    }
    if (hangs(watch)) {
        say("ENDED: the test hangs: for %g s it has written nothing and used next to no processor "
            "time",
            watch->quiet_s);
        return true;
    }
    return false;
}

static void read_signal(struct watch *watch)
{
    struct signalfd_siginfo information;
    if (read(watch->signals, &information, sizeof information) != sizeof information)
        return;
    int number = (int)information.ssi_signo;
    if (number == SIGCHLD)
        reap(watch);
    else
        watch->asked = number;
}

/* Waits for output, a signal, or the time of the next sample. */
static void wait_for_something(struct watch *watch, double until_s)
{
    double rest_s = until_s - now_s();
    struct pollfd polled[] = {
        {.fd = watch->signals, .events = POLLIN},
        {.fd = watch->output, .events = POLLIN},
    };
    if (poll(polled, 2, rest_s > 0 ? (int)(rest_s * 1000) + 1 : 0) <= 0)
        return;
    if (polled[0].revents != 0)
        read_signal(watch);
    if (polled[1].revents == 0)
        return;
    if (!pass_output(watch) && (polled[1].revents & POLLHUP) != 0) {
        close(watch->output); /* the test has closed it; poll passes over -1 */
        watch->output = -1;
    }
}

/* Asks the test to end, and gives it some seconds. */
static void pass_signal_on(struct watch *watch)
{
    say("ended by signal %d (%s)", watch->asked, strsignal(watch->asked));
    if (!watch->ended)
        kill(watch->test, watch->asked);
    double until_s = now_s() + 3;
    while (!watch->ended && now_s() < until_s)
        wait_for_something(watch, until_s);
}

/* Returns the exit status of the launcher. */
static int follow(struct watch *watch)
{
    double period_s = watch->quiet_s / SAMPLES;
    watch->sampled_at_s = now_s();
    while (!watch->ended && watch->asked == 0) {
        wait_for_something(watch, watch->sampled_at_s + period_s);
        if (now_s() < watch->sampled_at_s + period_s)
            continue;
        take_sample(watch);
        if (exceeds(watch)) {
            name_processes(watch);
            kill_all(watch);
            return EXIT_ENDED;
        }
    }
    if (watch->asked != 0) {
        pass_signal_on(watch);
        kill_all(watch);
        return 128 + watch->asked;
    }
    size_t left = kill_all(watch);
    while (watch->output >= 0 && pass_output(watch)) {
    }
    if (left > 0)
        say("killed what the test had left running: %zu process%s", left, left == 1 ? "" : "es");
    if (WIFEXITED(watch->status))
        return WEXITSTATUS(watch->status);
    int number = WTERMSIG(watch->status);
    say("the test was ended by signal %d (%s)", number, strsignal(number));
    return 128 + number;
}

/* Returns whether standard error and standard output go to the same file. */
static bool one_output(void)
{
    struct stat output, error;
    return fstat(STDOUT_FILENO, &output) == 0 && fstat(STDERR_FILENO, &error) == 0 &&
           output.st_dev == error.st_dev && output.st_ino == error.st_ino;
}

/* Gives the new session the priority of the launcher. Linux may share the processors fairly between
 * sessions first (sched(7), autogroup); then the priority of a process counts only among those of
 * its session. */
static void keep_priority(void)
{
    int priority = getpriority(PRIO_PROCESS, 0);
    int file = priority > 0 ? open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return; /* the priority is the usual one, or this system has no such groups */
    (void)dprintf(file, "%d", priority);
    close(file);
}

static void start(struct watch *watch, char **command)
{
    int ends[2];
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_BLOCK, &mask, &watch->mask_before);
    watch->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (watch->signals < 0 || pipe2(ends, O_CLOEXEC) != 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 ||
        (watch->test = fork()) < 0) {
        perror("watch-test");
        exit(EXIT_NOT_STARTED);
    }
    if (watch->test == 0) {
        setsid();
        keep_priority();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sigprocmask(SIG_SETMASK, &watch->mask_before, NULL);
        if (one_output())
            dup2(ends[1], STDERR_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        execvp(command[0], command);
        fprintf(stderr, "watch-test: cannot start %s: %s\n", command[0], strerror(errno));
        _exit(EXIT_NOT_STARTED);
    }
    signal(SIGPIPE, SIG_IGN);
    close(ends[1]);
    watch->output = ends[0];
    fcntl(watch->output, F_SETFL, O_NONBLOCK);
}

static void write_report(const struct watch *watch)
{
    FILE *file = fopen(watch->report, "w");
    if (file == NULL || fprintf(file, "%.2f\n", reaped_s()) < 0 || fclose(file) != 0)
        say("cannot write %s: %s", watch->report, strerror(errno));
}

static double number_of(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    if (number > 0 && number < 1e6 && *end == '\0')
        return number;
    fprintf(stderr, "watch-test: not a number of seconds: %s\n", text);
    exit(EXIT_USAGE);
}

int main(int argc, char **argv)
{
    struct watch watch = {.processor_s = 300, .quiet_s = 120};
    int i = 1;
    for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
        if (strcmp(argv[i], "--processor-s") == 0)
            watch.processor_s = number_of(argv[i + 1]);
        else if (strcmp(argv[i], "--quiet-s") == 0)
            watch.quiet_s = number_of(argv[i + 1]);
        else if (strcmp(argv[i], "--report") == 0)
            watch.report = argv[i + 1];
        else
            break;
    }
    if (i + 1 >= argc || strcmp(argv[i], "--") != 0) {
        fputs("usage: watch-test [--processor-s N] [--quiet-s N] [--report FILE] -- COMMAND "
              "[ARGUMENT...]\n",
              stderr);
        return EXIT_USAGE;
    }
    start(&watch, argv + i + 1);
    int status = follow(&watch);
    if (watch.report != NULL)
        write_report(&watch);
    free(watch.tree.processes);
    return status;
}
