/*
 * The plots: one SVG file for each figure, drawn by gnuplot.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "measure.h"
#include "report.h"

/* How a contender is drawn; it looks the same in every plot. Most people with a colour deficiency
 * can tell these colours of Okabe and Ito apart. */
static const char *const line_styles[CONTENDERS] = {
    [CONTENDER_FLOOR] = "lc rgb '#888888' lw 1 dt 2 pt 1",
    [CONTENDER_STORE] = "lc rgb '#888888' lw 1 dt 4 pt 8",
    [CONTENDER_CHAIN] = "lc rgb '#888888' lw 1 dt 3 pt 2",
    [CONTENDER_STREAM] = "lc rgb '#888888' lw 1 dt 4 pt 3",
    [CONTENDER_WHEEL] = "lc rgb '#0072b2' lw 3 pt 7",
    [CONTENDER_HEAP] = "lc rgb '#d55e00' lw 2 pt 5",
    [CONTENDER_DIALS] = "lc rgb '#56b4e9' lw 2 pt 11",
    [CONTENDER_HASHED] = "lc rgb '#e69f00' lw 2 pt 13",
    [CONTENDER_TEXTBOOK] = "lc rgb '#009e73' lw 2 pt 9",
    [CONTENDER_LIST] = "lc rgb '#cc79a7' lw 2 pt 11",
    [CONTENDER_SCHEDULER] = "lc rgb '#0072b2' lw 3 pt 7",
#ifdef BENCH_RIVALS
    [CONTENDER_LIBEV] = "lc rgb '#e69f00' lw 2 pt 9",
    [CONTENDER_LIBEVENT] = "lc rgb '#56b4e9' lw 2 pt 11",
    [CONTENDER_LIBEVENT_COMMON] = "lc rgb '#56b4e9' lw 2 dt 2 pt 10",
    [CONTENDER_LIBUV] = "lc rgb '#009e73' lw 2 pt 13",
    [CONTENDER_GLIB] = "lc rgb '#cc79a7' lw 2 pt 15",
#endif
};

/* How the key names the floors, which are no rivals. A structure that overlaps cache misses can be
 * faster than `chain`, which bounds only lists that wait for each of them. */
static const char *floor_prefix(size_t contender)
{
    return contender == CONTENDER_CHAIN ? "lower bound of a list: " : "lower bound: ";
}

static void print_setting(const struct results *results, FILE *gnuplot)
{
    struct machine machine;
    machine_describe(&machine);
    fprintf(
        gnuplot,
        "set terminal svg size 920,540 dynamic font 'Helvetica,13' background '#ffffff'\n"
        "set encoding utf8\n"
        "set bmargin 6\n"
        "set border 3\n"
        "set tics nomirror out\n"
        "set key outside right top Left reverse samplen 2\n"
        "set grid ytics lc rgb '#dddddd' lt 1\n"
        "set label 1 '%s; %s' at screen 0.015,0.065 font ',10' textcolor rgb '#555555' noenhanced\n"
        "set label 2 '%s %s; medians of %u repetitions, bars from least to most; lower bounds "
        "(grey): the accesses to memory without a structure' "
        "at screen 0.015,0.03 font ',10' textcolor rgb '#555555' noenhanced\n",
        machine.processor, machine.system, machine.compiler, machine.flags,
        results->options.repetitions);
}

/* Times span orders of magnitude, counts do not. The axis names the unit, so the ticks are plain
 * numbers. */
static void print_scale(bool times, FILE *gnuplot)
{
    if (!times) {
        fputs("unset logscale y\nset yrange [0:*]\nset ytics autofreq\n", gnuplot);
        return;
    }
    fputs("set logscale y\nset yrange [*:*]\nset ytics (", gnuplot);
    for (int exponent = -1; exponent <= 9; exponent++) {
        for (int step = 1; step <= 5; step = step == 1 ? 2 : step + 3) {
            double tick_ns = step * pow(10, exponent);
            fprintf(gnuplot, "%s'%.10g' %g", exponent == -1 && step == 1 ? "" : ",", tick_ns,
                    tick_ns);
        }
    }
    fputs(")\n", gnuplot);
}

/* Makes the name of a file: "w1s-last-ticks" for the figure "last ticks" of W1s. */
static void print_file_name(const char *directory, const char *workload, const char *figure,
                            FILE *gnuplot)
{
    fprintf(gnuplot, "set output '%s/", directory);
    for (const char *c = workload; *c != '\0'; c++)
        fputc(tolower((unsigned char)*c), gnuplot);
    fputc('-', gnuplot);
    for (const char *c = figure; *c != '\0'; c++)
        fputc(*c == ' ' ? '-' : *c, gnuplot);
    fputs(".svg'\n", gnuplot);
}

static bool contender_has_figure(const struct results *results, enum workload workload,
                                 size_t contender, size_t figure)
{
    for (size_t size = 0; size < results->options.size_count; size++) {
        if (results_summary(results, size, workload, contender, figure).count != 0)
            return true;
    }
    return false;
}

/* Writes a block of data for each contender. Returns the number of blocks. With `by_contender` the
 * first column is the number of the block instead of the number of timers. */
static unsigned print_data(const struct results *results, enum workload workload, size_t figure,
                           bool by_contender, FILE *gnuplot)
{
    unsigned blocks = 0;
    for (size_t i = 0; i < CONTENDERS; i++) {
        if (!contender_has_figure(results, workload, i, figure))
            continue;
        fprintf(gnuplot, "$contender%zu << end\n", i);
        for (size_t size = 0; size < results->options.size_count; size++) {
            struct summary summary = results_summary(results, size, workload, i, figure);
            if (summary.count != 0)
                fprintf(gnuplot, "%zu %g %g %g\n",
                        by_contender ? (size_t)blocks : results_timers(results, size, workload),
                        summary.median, summary.least, summary.most);
        }
        fputs("end\n", gnuplot);
        blocks++;
    }
    return blocks;
}

/* Adds the contenders to the plot, or the floors; with `shaded` the grey areas below them. Returns
 * what separates the next curve from these. */
static const char *print_curves(const struct results *results, enum workload workload,
                                size_t figure, const char *style, bool floors, bool shaded,
                                const char *separator, FILE *gnuplot)
{
    for (size_t i = 0; i < CONTENDERS; i++) {
        if (contenders[i]->floor != floors || !contender_has_figure(results, workload, i, figure))
            continue;
        if (shaded)
            fprintf(gnuplot,
                    "%s$contender%zu using 1:2 with filledcurves x1 fc rgb '#888888' "
                    "fs transparent solid 0.1 noborder notitle",
                    separator, i);
        else
            fprintf(gnuplot, "%s$contender%zu using 1:2:3:4 with %s %s title '%s%s'", separator, i,
                    style, line_styles[i], floors ? floor_prefix(i) : "", contenders[i]->name);
        separator = ", ";
    }
    return separator;
}

static void print_plot_command(const struct results *results, enum workload workload, size_t figure,
                               const char *style, bool lines, FILE *gnuplot)
{
    const char *separator = "plot ";
    if (lines)
        separator = print_curves(results, workload, figure, style, true, true, separator, gnuplot);
    separator = print_curves(results, workload, figure, style, false, false, separator, gnuplot);
    print_curves(results, workload, figure, style, true, false, separator, gnuplot);
    fputs("\nunset output\n", gnuplot);
}

/* Draws lines over the number of timers. */
static void plot_lines(const struct results *results, enum workload workload, size_t figure,
                       FILE *gnuplot)
{
    const struct options *options = &results->options;
    char text[21];
    if (print_data(results, workload, figure, false, gnuplot) == 0)
        return;
    fprintf(gnuplot, "set logscale x\nset xrange [%g:%g]\nset xlabel 'timers'\nset xtics (",
            (double)options->sizes[0] / 2, (double)options->sizes[options->size_count - 1] * 2);
    for (size_t size = 0; size < options->size_count; size++)
        fprintf(gnuplot, "%s'%s' %zu", size == 0 ? "" : ",", count_text(options->sizes[size], text),
                options->sizes[size]);
    fputs(")\n", gnuplot);
    print_plot_command(results, workload, figure, "yerrorlines", true, gnuplot);
}

/* Draws one mark for each contender, for a workload with a single number of timers. */
static void plot_points(const struct results *results, enum workload workload, size_t figure,
                        FILE *gnuplot)
{
    unsigned blocks = print_data(results, workload, figure, true, gnuplot);
    size_t size = 0;
    if (blocks == 0)
        return;
    while (!results_run_at(results, size, workload))
        size++;
    fprintf(gnuplot, "unset logscale x\nset xrange [-0.5:%g]\nset xlabel '%zu timers'\nset xtics (",
            blocks - 0.5, results_timers(results, size, workload));
    unsigned block = 0;
    for (size_t i = 0; i < CONTENDERS; i++) {
        if (contender_has_figure(results, workload, i, figure)) {
            fprintf(gnuplot, "%s'%s' %u", block == 0 ? "" : ",", contenders[i]->name, block);
            block++;
        }
    }
    fputs(")\n", gnuplot);
    print_plot_command(results, workload, figure, "yerrorbars", false, gnuplot);
}

/* ---- the curves of the tails ---- */

/* What the curves of a workload are about. */
struct curves {
    const struct results *results;
    size_t size;
    enum workload workload;
    unsigned kind;
};

static double curve_point(const struct curves *curves, size_t contender, size_t point)
{
    size_t figure = TAIL_CURVES + curves->kind * CURVE_POINTS + point;
    struct summary summary =
        results_summary(curves->results, curves->size, curves->workload, contender, figure);
    return summary.count == 0 ? (double)NAN : summary.median;
}

static bool has_curve(const struct curves *curves, size_t contender)
{
    return !isnan(curve_point(curves, contender, 0));
}

/* Writes the points of each contender. The last is the worst call, at the number of calls: it is
 * drawn where the next point would be. */
static void print_curve_data(const struct curves *curves, FILE *gnuplot)
{
    for (size_t i = 0; i < CONTENDERS; i++) {
        if (!has_curve(curves, i))
            continue;
        fprintf(gnuplot, "$contender%zu << end\n", i);
        size_t point = 0;
        for (; point < CURVE_POINTS && !isnan(curve_point(curves, i, point)); point++)
            fprintf(gnuplot, "%g %g\n", curve_calls_each(point), curve_point(curves, i, point));
        struct summary worst = results_summary(curves->results, curves->size, curves->workload, i,
                                               curves->kind * TAIL_FIGURES + TAIL_WORST);
        fprintf(gnuplot, "%g %g\nend\n", curve_calls_each(point), worst.median);
    }
}

/* Says in the last line below the plot how a call was timed. */
static void print_curve_caption(FILE *gnuplot)
{
    struct machine machine;
    machine_describe(&machine);
    fprintf(gnuplot,
            "set label 2 '%s %s; each call counts with the least of %d passes' "
            "at screen 0.015,0.03 font ',10' textcolor rgb '#555555' noenhanced\n",
            machine.compiler, machine.flags, TAIL_PASSES);
}

static void plot_curves_of(const struct curves *curves, const char *directory, FILE *gnuplot)
{
    static const char *const kinds[TAIL_KINDS] = {"start", "stop", "tick"};
    static const char *const titles[TAIL_KINDS] = {"a start", "a stop",
                                                   "a tick: one advance, and all pops"};
    const struct workload_description *description = &workload_descriptions[curves->workload];
    const char *separator = "plot ";
    char figure[64];
    char timers[21];
    bool any = false;
    for (size_t i = 0; i < CONTENDERS; i++)
        any = any || has_curve(curves, i);
    if (!any)
        return;
    count_text(results_timers(curves->results, curves->size, curves->workload), timers);
    snprintf(figure, sizeof figure, "%s %s", kinds[curves->kind], timers);
    print_file_name(directory, description->name, figure, gnuplot);
    fprintf(gnuplot,
            "set title '%s, %s timers: %s' noenhanced\nset ylabel '" CYCLES_UNIT "'\n"
            "set xlabel 'one call in so many takes longer; at the end of a curve, the worst'\n"
            "set logscale xy\nset xrange [1:*]\nset yrange [*:*]\n"
            "set xtics (1,10,100,'1k' 1e3,'10k' 1e4,'100k' 1e5,'1M' 1e6,'10M' 1e7)\n"
            "set ytics (10,100,'1k' 1e3,'10k' 1e4,'100k' 1e5,'1M' 1e6,'10M' 1e7,'100M' 1e8,"
            "'1G' 1e9)\n",
            description->name, timers, titles[curves->kind]);
    print_curve_caption(gnuplot);
    print_curve_data(curves, gnuplot);
    for (size_t i = 0; i < CONTENDERS; i++) {
        if (!has_curve(curves, i))
            continue;
        fprintf(gnuplot, "%s$contender%zu using 1:2 with linespoints %s ps 0.5 title '%s'",
                separator, i, line_styles[i], contenders[i]->name);
        separator = ", ";
    }
    fputs("\nunset output\n", gnuplot);
}

static void plot_curves(const struct results *results, enum workload workload,
                        const char *directory, FILE *gnuplot)
{
    for (size_t size = 0; size < results->options.size_count; size++) {
        for (unsigned kind = 0; kind < TAIL_KINDS; kind++) {
            const struct curves curves = {
                .results = results, .size = size, .workload = workload, .kind = kind};
            plot_curves_of(&curves, directory, gnuplot);
        }
    }
}

static void plot_figure(const struct results *results, enum workload workload, size_t figure,
                        const char *directory, FILE *gnuplot)
{
    const struct workload_description *description = &workload_descriptions[workload];
    const struct figure_description *drawn = &description->figures[figure];
    bool times = strcmp(drawn->unit, "ns") == 0;
    print_file_name(directory, description->name, drawn->name, gnuplot);
    fprintf(gnuplot, "set title '%s, %s: %s' noenhanced\nset ylabel '%s%s%s'\n", description->name,
            description->title, drawn->name, drawn->unit, drawn->per != NULL ? " per " : "",
            drawn->per != NULL ? drawn->per : "");
    print_scale(times, gnuplot);
    if (description->size == SIZE_EACH)
        plot_lines(results, workload, figure, gnuplot);
    else
        plot_points(results, workload, figure, gnuplot);
}

bool report_plots(const struct results *results, const char *directory)
{
    if (strpbrk(directory, "'\n") != NULL) {
        fprintf(stderr, "elapse-bench: %s: not a name that gnuplot takes\n", directory);
        return false;
    }
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "elapse-bench: %s: %s\n", directory, strerror(errno));
        return false;
    }
    fflush(stdout);
    FILE *gnuplot = popen("gnuplot", "w");
    if (gnuplot == NULL) {
        fprintf(stderr, "elapse-bench: gnuplot: %s\n", strerror(errno));
        return false;
    }
    print_setting(results, gnuplot);
    for (enum workload workload = 0; workload < WORKLOADS; workload++) {
        if (!results->options.workloads[workload])
            continue;
        if (workload_descriptions[workload].tails) {
            plot_curves(results, workload, directory, gnuplot);
            print_setting(results, gnuplot);
            continue;
        }
        for (size_t figure = 0; workload_descriptions[workload].figures[figure].name != NULL;
             figure++)
            plot_figure(results, workload, figure, directory, gnuplot);
    }
    if (pclose(gnuplot) != 0) {
        fprintf(stderr, "elapse-bench: gnuplot did not succeed (Debian package gnuplot-nox)\n");
        return false;
    }
    return true;
}
