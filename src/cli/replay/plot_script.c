/*
 * Writes the script that makes gnuplot draw the plot.
 */
#include "plot_script.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/utf8.h"
#include "../common/duration.h"
#include "../common/text.h"

/* A unit of the time axis. */
struct unit {
    const char *name;
    double us;
};

/* Returns the largest unit that fits into the span at least three times. */
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

/* Adds text between double quotes. Leaves out characters that gnuplot interprets or that XML does
 * not allow. Requires that the text has no control characters. */
static void add_quoted(struct elapse__buffer *script, const char *text)
{
    buffer_add(script, "\"", 1);
    while (*text != '\0') {
        size_t length = elapse__utf8_size(text, strlen(text));
        if (*text == '"' || *text == '\\' || *text == '`')
            buffer_add(script, "\'", 1);
        else if (length == 0)
            buffer_add(script, "?", 1);
        else
            buffer_add(script, text, length);
        text += length > 0 ? length : 1;
    }
    buffer_add(script, "\"", 1);
}

/* Adds an axis of counts from 0 to `most`, with a little room above. */
static void add_count_axis(struct elapse__buffer *script, uint64_t most)
{
    buffer_add_format(script, "set yrange [0:%g]\nset format y '%%.0f'\nset ytics %s\n",
                      most > 0 ? (double)most * 1.05 : 1.0, most < 5 ? "1" : "autofreq");
}

static void add_head(struct elapse__buffer *script, const struct report *report)
{
    char caption[400];

    snprintf(caption, sizeof caption, "%.200s through the %s, tick %s: %s operations, %s fired",
             report->trace, report->structure, duration_format(report->tick_us * 1000).text,
             group_digits(report->figures->operations).text,
             group_digits(report->figures->fired).text);
    mask_control_characters(caption);
    buffer_add_text(script,
                    "set terminal svg size 900,720 font 'sans-serif,13' background rgb 'white'\n");
    buffer_add_text(script,
                    "set encoding utf8\n"
                    "set multiplot layout 2,1 margins 0.13,0.96,0.10,0.89 spacing 0.0,0.16\n"
                    "set border 3 lc rgb '#606060'\nset tics nomirror out\n"
                    "set grid ytics lc rgb '#dddddd' lw 1\nset key off\n");
    buffer_add_text(script, "set label 1 at screen 0.5,0.965 center front noenhanced ");
    add_quoted(script, caption);
    buffer_add(script, "\n", 1);
}

static void add_pending(struct elapse__buffer *script, const struct samples *samples, uint64_t peak)
{
    uint64_t span_us = samples->last_us - samples->first_us;
    struct unit unit = unit_for(span_us);
    double step = (double)samples->interval_us / unit.us;
    ELAPSE__ASSERT(samples->last_us >= samples->first_us);
    ELAPSE__ASSERT(samples->intervals <= SAMPLES_INTERVALS_MAX);
    double right = span_us > 0 ? (double)span_us / unit.us : 1;

    buffer_add_format(
        script,
        "set title 'Pending timers over time'\nset xlabel 'time, %s'\nset ylabel 'pending'\n"
        "set xrange [0:%.9g]\n",
        unit.name, right);
    add_count_axis(script, peak);
    buffer_add_text(script, "plot '-' using 1:2 with filledcurves x1 fc rgb '#cfe3f5', "
                            "'-' using 1:2 with lines lw 2 lc rgb '#1f6fb5'\n");
    for (int curve = 0; curve < 2; curve++) {
        for (size_t i = 0; i < samples->intervals; i++)
            buffer_add_format(script, "%.9g %" PRIu64 "\n", (double)i * step, samples->most[i]);
        buffer_add_format(script, "%.9g %" PRIu64 "\ne\n", right,
                          samples->intervals > 0 ? samples->last[samples->intervals - 1] : 0);
    }
}

/* Finds the bins from the first to the last that is not empty: [*first, *end). Returns the largest
 * count of a bin. */
static uint64_t find_bins(const struct samples *samples, unsigned *first, unsigned *end)
{
    uint64_t most = 0;

    ELAPSE__ASSERT(samples->intervals <= SAMPLES_INTERVALS_MAX);
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

/* Adds the marks of an axis that shows the number of the bin, which is a logarithm. */
static void add_delay_marks(struct elapse__buffer *script, double low, double high)
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

    ELAPSE__ASSERT(low < high);
    buffer_add_text(script, "set xtics (");
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        if (marks[i].bin < low || marks[i].bin > high)
            continue;
        buffer_add_format(script, "%s'%s' %g", separator, marks[i].name, marks[i].bin);
        separator = ", ";
    }
    buffer_add_text(script, ")\n");
}

static void add_delays(struct elapse__buffer *script, const struct samples *samples)
{
    unsigned first;
    unsigned end;
    uint64_t most = find_bins(samples, &first, &end);

    if (end == 0) {
        first = 60;
        end = 61;
    }
    /* With this margin even a single bin has a mark on each side. */
    ELAPSE__ASSERT(first < end);
    double low = first > 8 ? first - 8.0 : 0;
    double high = end + 8.0;
    buffer_add_text(script, "unset label 1\nset title 'Delays asked for, ten bins a decade");
    if (samples->zero_delays > 0)
        buffer_add_format(script, "; %s of zero left out", group_digits(samples->zero_delays).text);
    buffer_add_text(script, "'\nset xlabel 'delay'\nset ylabel 'starts and restarts'\n"
                            "set style fill solid 0.75\nset boxwidth 0.9\n");
    buffer_add_format(script, "set xrange [%g:%g]\n", low, high);
    add_count_axis(script, most);
    add_delay_marks(script, low, high);
    buffer_add_text(script, "plot '-' using ($1+0.5):2 with boxes lc rgb '#1f6fb5'\n");
    for (unsigned bin = first; bin < end; bin++)
        buffer_add_format(script, "%u %" PRIu64 "\n", bin, samples->delays[bin]);
    buffer_add_text(script, "e\nunset multiplot\n");
}

void plot_script_add(struct elapse__buffer *script, const struct report *report,
                     const struct samples *samples)
{
    ELAPSE__ASSERT(report->figures != NULL);
    add_head(script, report);
    add_pending(script, samples, report->figures->peak_pending);
    add_delays(script, samples);
}
