/*
 * Drawing with gnuplot, which is started without a shell and fed through a pipe.
 */
#include "plot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "duration.h"
#include "message.h"
#include "text.h"

/* ---- what gnuplot is told ---- */

/* A unit of the time axis: the largest of which the span has at least three. */
struct unit {
    const char *name;
    double us;
};

static struct unit unit_for(uint64_t span_us)
{
    static const struct unit units[] = {
        {"days", 86400e6}, {"hours", 3600e6}, {"minutes", 60e6}, {"seconds", 1e6}, {"ms", 1e3},
    };

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if ((double)span_us >= 3 * units[i].us)
            return units[i];
    }
    return (struct unit){"us", 1};
}

/* Text between double quotes, with nothing in it that gnuplot would interpret. */
static void print_quoted(FILE *script, const char *text)
{
    fputc('"', script);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\' || *text == '`')
            fputc('\'', script);
        else
            fputc((unsigned char)*text < 0x20 ? '?' : *text, script);
    }
    fputc('"', script);
}

static void print_head(FILE *script, const char *path, const struct report *report)
{
    char caption[400];

    snprintf(caption, sizeof caption, "%.200s through the %s, tick %s: %s operations, %s fired",
             report->trace, report->structure, duration_format(report->tick_us * 1000).text,
             group_digits(report->figures->operations).text,
             group_digits(report->figures->fired).text);
    fputs("set terminal svg size 900,720 font 'sans-serif,13' background rgb 'white'\n", script);
    fputs("set output ", script);
    print_quoted(script, path);
    fputs("\nset encoding utf8\n"
          "set multiplot layout 2,1 margins 0.13,0.96,0.10,0.89 spacing 0.0,0.16\n"
          "set border 3 lc rgb '#606060'\nset tics nomirror out\n"
          "set grid ytics lc rgb '#dddddd' lw 1\nset key off\n",
          script);
    fputs("set label 1 at screen 0.5,0.965 center front noenhanced ", script);
    print_quoted(script, caption);
    fputc('\n', script);
}

static void print_pending(FILE *script, const struct samples *samples)
{
    struct unit unit = unit_for(samples->last_us - samples->first_us);
    double step = (double)samples->interval_us / unit.us;

    fprintf(script,
            "set title 'Pending timers over time'\nset xlabel 'time, %s'\nset ylabel 'pending'\n"
            "set format y '%%.0f'\nset xrange [0:*]\nset yrange [0:*]\n"
            "plot '-' using 1:2 with filledcurves x1 fc rgb '#cfe3f5', "
            "'-' using 1:2 with lines lw 2 lc rgb '#1f6fb5'\n",
            unit.name);
    for (int curve = 0; curve < 2; curve++) {
        for (size_t i = 0; i < samples->intervals; i++)
            fprintf(script, "%.9g %" PRIu64 "\n", (double)i * step, samples->most[i]);
        fputs("e\n", script);
    }
}

/* The bins that are not empty: [*first, *end). */
static void find_bins(const struct samples *samples, unsigned *first, unsigned *end)
{
    *first = SAMPLES_BINS;
    *end = 0;
    for (unsigned bin = 0; bin < SAMPLES_BINS; bin++) {
        if (samples->delays[bin] == 0)
            continue;
        if (*first == SAMPLES_BINS)
            *first = bin;
        *end = bin + 1;
    }
}

/* The axis is the bins' number, that is the logarithm; these are its marks. */
static void print_delay_marks(FILE *script, double low, double high)
{
    static const struct {
        const char *name;
        double bin; /* 10 times the decimal logarithm of the delay in us */
    } marks[] = {
        {"1 us", 0},       {"10 us", 10},      {"100 us", 20},      {"1 ms", 30},
        {"10 ms", 40},     {"100 ms", 50},     {"1 s", 60},         {"10 s", 70},
        {"1 min", 77.782}, {"10 min", 87.782}, {"1 h", 95.563},     {"10 h", 105.563},
        {"4 d", 115.386},  {"30 d", 124.136},  {"1 year", 134.989},
    };
    const char *separator = "";

    fputs("set xtics (", script);
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (marks[i].bin < low || marks[i].bin > high)
            continue;
        fprintf(script, "%s'%s' %g", separator, marks[i].name, marks[i].bin);
        separator = ", ";
    }
    fputs(")\n", script);
}

static void print_delays(FILE *script, const struct samples *samples)
{
    unsigned first;
    unsigned end;

    find_bins(samples, &first, &end);
    if (end == 0) {
        first = 60;
        end = 61;
    }
    /* A margin wide enough that a mark stands on either side of a lone bin. */
    double low = first > 6 ? first - 6.0 : 0;
    double high = end + 6.0;
    fputs("unset label 1\nset title 'Delays asked for, ten bins a decade", script);
    if (samples->zero_delays > 0)
        fprintf(script, "; %s of zero left out", group_digits(samples->zero_delays).text);
    fputs("'\nset xlabel 'delay'\nset ylabel 'starts and restarts'\n"
          "set style fill solid 0.75\nset boxwidth 0.9\n",
          script);
    fprintf(script, "set xrange [%g:%g]\nset yrange [0:*]\n", low, high);
    print_delay_marks(script, low, high);
    fputs("plot '-' using ($1+0.5):2 with boxes lc rgb '#1f6fb5'\n", script);
    for (unsigned bin = first; bin < end; bin++)
        fprintf(script, "%u %" PRIu64 "\n", bin, samples->delays[bin]);
    fputs("e\nunset multiplot\n", script);
}

/* ---- gnuplot ---- */

/* Starts gnuplot with its standard input on a pipe; returns the end to write to,
 * or NULL with errno set. */
static FILE *start_gnuplot(pid_t *process)
{
    char name[] = "gnuplot";
    char *arguments[] = {name, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    int error = posix_spawnp(process, name, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    FILE *script = error == 0 ? fdopen(ends[1], "w") : NULL;
    if (script == NULL)
        close(ends[1]);
    errno = error;
    return script;
}

static bool gnuplot_succeeded(pid_t process)
{
    int status;

    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR)
            return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static enum exit_status draw(const char *path, const struct report *report,
                             const struct samples *samples)
{
    pid_t process;
    FILE *script = start_gnuplot(&process);

    if (script == NULL) {
        print_error("--plot needs gnuplot (Debian package gnuplot-nox): %s", strerror(errno));
        return STATUS_FAILED;
    }
    print_head(script, path, report);
    print_pending(script, samples);
    print_delays(script, samples);
    bool written = fclose(script) == 0;
    if (!gnuplot_succeeded(process) || !written) {
        print_error("gnuplot failed to draw the plot");
        return STATUS_FAILED;
    }
    return STATUS_OK;
}

enum exit_status plot_write(const char *path, const struct report *report,
                            const struct samples *samples)
{
    char *unfinished;

    if (asprintf(&unfinished, "%s.unfinished", path) < 0)
        out_of_memory();
    /* Should gnuplot die early, writing to it must fail and not end the program. */
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    sigaction(SIGPIPE, &ignore, &before);
    enum exit_status status = draw(unfinished, report, samples);
    sigaction(SIGPIPE, &before, NULL);
    if (status == STATUS_OK && rename(unfinished, path) != 0) {
        print_error("%s: %s", path, strerror(errno));
        status = STATUS_FAILED;
    }
    if (status != STATUS_OK)
        unlink(unfinished);
    free(unfinished);
    return status;
}
