/*
 * The picture of a replay: pending timers over time, and the delays asked for.
 */
#ifndef ELAPSE_CLI_REPLAY_PLOT_H
#define ELAPSE_CLI_REPLAY_PLOT_H

#include "../common/message.h"
#include "report.h"
#include "samples.h"

/*
 * Looks whether plot_write(path) can be done: whether gnuplot runs, and whether the
 * file can be written. Returns STATUS_OK, or says what is wrong and returns
 * STATUS_FAILED.
 */
enum exit_status plot_check(const char *path);

/*
 * Has gnuplot draw the samples of a finished replay into the SVG file `path`,
 * which appears whole or not at all. Returns STATUS_OK, or says what went wrong
 * and returns STATUS_FAILED.
 */
enum exit_status plot_write(const char *path, const struct report *report,
                            const struct samples *samples);

#endif
