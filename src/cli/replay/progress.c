/*
 * The progress line.
 */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/text.h"

static const uint64_t first_after_ns = 1000000000;
static const uint64_t repeat_after_ns = 250000000;

void progress_begin(struct progress *progress)
{
    progress->on_terminal = isatty(STDERR_FILENO) == 1;
    progress->shown = false;
    progress->next_ns = clock_ns() + first_after_ns;
}

/* Cuts a line of ASCII so that it stays one on the terminal, whose last column is
 * left free. */
static void fit_to_terminal(char *line)
{
    struct winsize window;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 &&
        strlen(line) >= window.ws_col)
        line[window.ws_col - 1] = '\0';
}

void progress_update(struct progress *progress, const char *trace, uint64_t operations,
                     uint64_t pending, double part)
{
    char percent[16] = "";
    char line[400];

    if (!progress->on_terminal || clock_ns() < progress->next_ns)
        return;
    if (part >= 0)
        snprintf(percent, sizeof percent, "%.0f %% of ", part * 100);
    snprintf(line, sizeof line, "%s%s: %s operations, %s pending", percent,
             quote_string(trace).text, group_digits(operations).text, group_digits(pending).text);
    fit_to_terminal(line);
    /* Back to the first column, and clear to the end of the line. */
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    progress->shown = true;
    progress->next_ns = clock_ns() + repeat_after_ns;
}

void progress_end(struct progress *progress)
{
    if (!progress->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->shown = false;
}
