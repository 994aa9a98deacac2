/*
 * Writes the script that makes gnuplot draw the plot.
 */
#ifndef ELAPSE_CLI_REPLAY_PLOT_SCRIPT_H
#define ELAPSE_CLI_REPLAY_PLOT_SCRIPT_H

#include "../common/buffer.h"
#include "report.h"
#include "samples.h"

/* Adds a script that draws the samples of a replay as SVG on standard output. */
void plot_script_add(struct elapse__buffer *script, const struct report *report,
                     const struct samples *samples);

#endif
