/*
 * The plot of a replay: pending timers over time, and how often each delay occurred.
 */
#ifndef ELAPSE_CLI_REPLAY_PLOT_H
#define ELAPSE_CLI_REPLAY_PLOT_H

#include "../common/message.h"
#include "report.h"
#include "samples.h"

/*
 * Checks whether plot_write(path) can succeed: whether gnuplot runs, and whether the file can be
 * written. Returns STATUS_OK, or prints the error and returns STATUS_FAILED.
 */
enum exit_status plot_check(const char *path);

/*
 * Draws the samples of a finished replay with gnuplot into the SVG file `path`. The file appears
 * complete or not at all. Returns STATUS_OK, or prints the error and returns STATUS_FAILED.
 */
enum exit_status plot_write(const char *path, const struct report *report,
                            const struct samples *samples);

#endif
