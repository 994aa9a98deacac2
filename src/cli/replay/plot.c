/*
 * Drawing with gnuplot, which is started without a shell and fed through a pipe.
 */
#include "plot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../common/duration.h"
#include "../common/message.h"
#include "../common/text.h"

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

/* Text without control characters, between double quotes, with nothing in it that
 * gnuplot would interpret, and nothing that XML cannot hold. */
static void print_quoted(FILE *script, const char *text)
{
    fputc('"', script);
    while (*text != '\0') {
        size_t length = character_length(text);
        if (*text == '"' || *text == '\\' || *text == '`')
            fputc('\'', script);
        else if (length == 0)
            fputc('?', script);
        else
            fwrite(text, 1, length, script);
        text += length > 0 ? length : 1;
    }
    fputc('"', script);
}

/* An axis of counts from 0 to `most`, with a little room above it. */
static void print_count_axis(FILE *script, uint64_t most)
{
    fprintf(script, "set yrange [0:%g]\nset format y '%%.0f'\nset ytics %s\n",
            most > 0 ? (double)most * 1.05 : 1.0, most < 5 ? "1" : "autofreq");
}

static void print_head(FILE *script, const struct report *report)
{
    char caption[400];

    snprintf(caption, sizeof caption, "%.200s through the %s, tick %s: %s operations, %s fired",
             report->trace, report->structure, duration_format(report->tick_us * 1000).text,
             group_digits(report->figures->operations).text,
             group_digits(report->figures->fired).text);
    mask_control_characters(caption);
    fputs("set terminal svg size 900,720 font 'sans-serif,13' background rgb 'white'\n", script);
    fputs("set encoding utf8\n"
          "set multiplot layout 2,1 margins 0.13,0.96,0.10,0.89 spacing 0.0,0.16\n"
          "set border 3 lc rgb '#606060'\nset tics nomirror out\n"
          "set grid ytics lc rgb '#dddddd' lw 1\nset key off\n",
          script);
    fputs("set label 1 at screen 0.5,0.965 center front noenhanced ", script);
    print_quoted(script, caption);
    fputc('\n', script);
}

static void print_pending(FILE *script, const struct samples *samples, uint64_t peak)
{
    uint64_t span_us = samples->last_us - samples->first_us;
    struct unit unit = unit_for(span_us);
    double step = (double)samples->interval_us / unit.us;
    double right = span_us > 0 ? (double)span_us / unit.us : 1;

    fprintf(script,
            "set title 'Pending timers over time'\nset xlabel 'time, %s'\nset ylabel 'pending'\n"
            "set xrange [0:%.9g]\n",
            unit.name, right);
    print_count_axis(script, peak);
    fputs("plot '-' using 1:2 with filledcurves x1 fc rgb '#cfe3f5', "
          "'-' using 1:2 with lines lw 2 lc rgb '#1f6fb5'\n",
          script);
    for (int curve = 0; curve < 2; curve++) {
        for (size_t i = 0; i < samples->intervals; i++)
            fprintf(script, "%.9g %" PRIu64 "\n", (double)i * step, samples->most[i]);
        fprintf(script, "%.9g %" PRIu64 "\ne\n", right,
                samples->intervals > 0 ? samples->last[samples->intervals - 1] : 0);
    }
}

/* The bins that are not empty: [*first, *end). Returns what the fullest one counts. */
static uint64_t find_bins(const struct samples *samples, unsigned *first, unsigned *end)
{
    uint64_t most = 0;

    *first = SAMPLES_BINS;
    *end = 0;
    for (unsigned bin = 0; bin < SAMPLES_BINS; bin++) {
        if (samples->delays[bin] == 0)
            continue;
        if (*first == SAMPLES_BINS)
            *first = bin;
        *end = bin + 1;
        most = samples->delays[bin] > most ? samples->delays[bin] : most;
    }
    return most;
}

/* The axis is the bins' number, that is the logarithm; these are its marks. */
static void print_delay_marks(FILE *script, double low, double high)
{
    static const struct {
        const char *name;
        double bin; /* 10 times the decimal logarithm of the delay in us */
    } marks[] = {
        {"1 us", 0},         {"10 us", 10},         {"100 us", 20},     {"1 ms", 30},
        {"10 ms", 40},       {"100 ms", 50},        {"1 s", 60},        {"10 s", 70},
        {"1 min", 77.782},   {"5 min", 84.771},     {"30 min", 92.553}, {"2 h", 98.573},
        {"12 h", 106.355},   {"3 d", 114.136},      {"14 d", 120.826},  {"90 d", 128.908},
        {"1 year", 134.988}, {"10 years", 144.988},
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
    uint64_t most = find_bins(samples, &first, &end);

    if (end == 0) {
        first = 60;
        end = 61;
    }
    /* A margin wide enough that a mark stands on either side of a lone bin. */
    double low = first > 8 ? first - 8.0 : 0;
    double high = end + 8.0;
    fputs("unset label 1\nset title 'Delays asked for, ten bins a decade", script);
    if (samples->zero_delays > 0)
        fprintf(script, "; %s of zero left out", group_digits(samples->zero_delays).text);
    fputs("'\nset xlabel 'delay'\nset ylabel 'starts and restarts'\n"
          "set style fill solid 0.75\nset boxwidth 0.9\n",
          script);
    fprintf(script, "set xrange [%g:%g]\n", low, high);
    print_count_axis(script, most);
    print_delay_marks(script, low, high);
    fputs("plot '-' using ($1+0.5):2 with boxes lc rgb '#1f6fb5'\n", script);
    for (unsigned bin = first; bin < end; bin++)
        fprintf(script, "%u %" PRIu64 "\n", bin, samples->delays[bin]);
    fputs("e\nunset multiplot\n", script);
}

/* ---- gnuplot ---- */

/* Starts gnuplot with its standard input on a pipe and its standard output on
 * `picture`; returns the end to write to, or NULL with errno set. */
static FILE *start_gnuplot(pid_t *process, int picture)
{
    char name[] = "gnuplot";
    char *arguments[] = {name, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];

    /* In the C locale gnuplot warns that it cannot write a degree sign. */
    setenv("LC_ALL", "C.UTF-8", 1);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, picture, STDOUT_FILENO);
    int error = posix_spawnp(process, name, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    FILE *script = error == 0 ? fdopen(ends[1], "w") : NULL;
    if (script == NULL)
        close(ends[1]);
    errno = error;
    return script;
}

static enum exit_status no_gnuplot(void)
{
    print_error("--plot needs gnuplot (Debian package gnuplot-nox): %s", strerror(errno));
    return STATUS_FAILED;
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

/* gnuplot's exit status does not tell of a picture that had no room. */
static bool is_whole(int picture)
{
    static const char end[] = "</svg>";
    char last[16];
    off_t bytes = lseek(picture, 0, SEEK_END);
    off_t begin = bytes < (off_t)sizeof last ? 0 : bytes - (off_t)sizeof last;
    ssize_t got = pread(picture, last, sizeof last, begin);

    return got > 0 && memmem(last, (size_t)got, end, strlen(end)) != NULL;
}

/* The picture goes into a descriptor: gnuplot would read a name in its own way. */
static enum exit_status draw(int picture, const struct report *report,
                             const struct samples *samples)
{
    pid_t process;
    FILE *script = start_gnuplot(&process, picture);

    if (script == NULL)
        return no_gnuplot();
    print_head(script, report);
    print_pending(script, samples, report->figures->peak_pending);
    print_delays(script, samples);
    bool written = fclose(script) == 0;
    if (!gnuplot_succeeded(process) || !written || !is_whole(picture)) {
        print_error("gnuplot failed to draw the plot");
        return STATUS_FAILED;
    }
    return STATUS_OK;
}

/* ---- the file ---- */

static enum exit_status file_failed(const char *path)
{
    print_error("%s: %s", path, strerror(errno));
    return STATUS_FAILED;
}

/* A file is replaced once the picture is whole; a device, a pipe or a symbolic link
 * is written to as it is. */
static bool is_replaceable(const char *path)
{
    struct stat status;

    return lstat(path, &status) != 0 || S_ISREG(status.st_mode);
}

/* Opens a new file in the folder of `path`, whose name is the caller's to free.
 * Returns its descriptor, or -1 with errno set. */
static int open_beside(const char *path, char **name)
{
    if (asprintf(name, "%s.XXXXXX", path) < 0)
        out_of_memory();
    int file = mkostemp(*name, O_CLOEXEC);
    if (file < 0)
        return -1;
    mode_t mask = umask(0);
    umask(mask);
    fchmod(file, 0666 & ~mask);
    return file;
}

/* Copies the picture and closes the target. On failure errno is set. */
static bool copy_picture(int picture, int target)
{
    char buffer[16384];
    ssize_t got = 0;
    bool written = lseek(picture, 0, SEEK_SET) == 0;

    while (written && (got = read(picture, buffer, sizeof buffer)) > 0) {
        for (ssize_t done = 0; written && done < got;) {
            ssize_t put = write(target, buffer + done, (size_t)(got - done));
            written = put > 0;
            done += put;
        }
    }
    int error = errno;
    bool closed = close(target) == 0;
    if (!written || got < 0)
        errno = error;
    return written && got == 0 && closed;
}

static enum exit_status replace_file(const char *path, int picture)
{
    char *name;
    int target = open_beside(path, &name);
    bool created = target >= 0;
    bool replaced = created && copy_picture(picture, target) && rename(name, path) == 0;
    enum exit_status status = replaced ? STATUS_OK : file_failed(path);

    if (created && !replaced)
        unlink(name);
    free(name);
    return status;
}

static enum exit_status write_into(const char *path, int picture)
{
    int target = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (target < 0 || !copy_picture(picture, target))
        return file_failed(path);
    return STATUS_OK;
}

enum exit_status plot_check(const char *path)
{
    struct stat status;
    pid_t process;
    FILE *script = start_gnuplot(&process, STDERR_FILENO);

    if (script == NULL)
        return no_gnuplot();
    fclose(script);
    if (!gnuplot_succeeded(process)) {
        print_error("gnuplot does not run");
        return STATUS_FAILED;
    }
    if (is_replaceable(path)) {
        char *name;
        int file = open_beside(path, &name);
        enum exit_status outcome = file >= 0 ? STATUS_OK : file_failed(path);
        if (file >= 0) {
            close(file);
            unlink(name);
        }
        free(name);
        return outcome;
    }
    /* A symbolic link may lead to a file that is still to be made. */
    if (stat(path, &status) != 0)
        return errno == ENOENT ? STATUS_OK : file_failed(path);
    errno = EISDIR;
    return !S_ISDIR(status.st_mode) && access(path, W_OK) == 0 ? STATUS_OK : file_failed(path);
}

enum exit_status plot_write(const char *path, const struct report *report,
                            const struct samples *samples)
{
    /* Should a reader die early, writing to it must fail and not end the program. */
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction before;
    FILE *picture = tmpfile();

    if (picture == NULL)
        return file_failed(path);
    sigaction(SIGPIPE, &ignore, &before);
    enum exit_status status = draw(fileno(picture), report, samples);
    if (status == STATUS_OK)
        status = is_replaceable(path) ? replace_file(path, fileno(picture))
                                      : write_into(path, fileno(picture));
    sigaction(SIGPIPE, &before, NULL);
    fclose(picture);
    return status;
}
