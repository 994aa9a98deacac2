/*
 * Shows the progress line.
 */
#include "progress.h"

#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"

static const uint64_t first_after_ns = 1000000000;
static const uint64_t repeat_after_ns = 250000000;

void progress_begin(struct progress *progress)
{
    progress->on_terminal = elapse__os_is_terminal(ELAPSE__OS_ERRORS);
    progress->shown = false;
    progress->next_ns = elapse__os_monotonic_ns() + first_after_ns;
}

/* Cuts a line of ASCII to the width of the terminal. Its last column stays free, because some
 * terminals begin a new line when it is filled. */
static void fit_to_terminal(char *line)
{
    unsigned columns;
    unsigned rows;

    if (elapse__os_terminal_size(ELAPSE__OS_ERRORS, &columns, &rows) && columns > 0 &&
        strlen(line) >= columns)
        line[columns - 1] = '\0';
}

bool progress_is_due(const struct progress *progress)
{
    return progress->on_terminal && elapse__os_monotonic_ns() >= progress->next_ns;
}

void progress_show(struct progress *progress, char *line)
{
    ELAPSE__ASSERT(progress->on_terminal);
    fit_to_terminal(line);
    /* Goes back to the first column, and clears to the end of the line. */
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    progress->shown = true;
    progress->next_ns = elapse__os_monotonic_ns() + repeat_after_ns;
}

void progress_end(struct progress *progress)
{
    if (!progress->shown)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->shown = false;
}
