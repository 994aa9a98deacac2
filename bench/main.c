/*
 * elapse-bench: runs the workloads and shows the figures.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"
#include "report.h"

/* Sorts the numbers. Insertion sort is enough: there are few, and nearly all are equal. */
static uint64_t median(uint64_t *numbers, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        uint64_t moved = numbers[i];
        size_t place = i;
        for (; place > 0 && numbers[place - 1] > moved; place--)
            numbers[place] = numbers[place - 1];
        numbers[place] = moved;
    }
    return numbers[count / 2];
}

/* Returns the median time of many readings in a row. */
static uint64_t measure_clock_cost_ns(void)
{
    enum { READINGS = 1001 };
    static uint64_t costs_ns[READINGS];
    for (size_t i = 0; i < READINGS; i++) {
        uint64_t began = clock_ns();
        costs_ns[i] = clock_ns() - began;
    }
    return median(costs_ns, READINGS);
}

/* Returns the median of the count when nothing lies between the two readings. */
static uint64_t measure_cycles_cost(void)
{
    enum { READINGS = 1001 };
    static uint64_t costs[READINGS];
    for (size_t i = 0; i < READINGS; i++) {
        uint64_t began = cycles_began();
        costs[i] = cycles_ended() - began;
    }
    return median(costs, READINGS);
}

static void show_progress(enum workload workload, size_t timers, unsigned repetition,
                          unsigned repetitions)
{
    char text[21];
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%-5s %6s  %u of %u ", workload_descriptions[workload].name,
                count_text(timers, text), repetition + 1, repetitions);
}

/* Runs all repetitions of one workload at one size. Contenders take turns, so that a disturbance of
 * the machine hits all of them. */
static void run_workload(struct results *results, struct workspace *workspace, size_t size,
                         enum workload workload)
{
    size_t timers = results_timers(results, size, workload);
    unsigned repetitions = results_repetitions(results, workload);
    for (unsigned repetition = 0; repetition < repetitions; repetition++) {
        show_progress(workload, timers, repetition, repetitions);
        for (size_t i = 0; i < CONTENDERS; i++) {
            if (!results->options.contenders[i] || !feasible(contenders[i], workload, timers))
                continue;
            double figures[FIGURES_MOST];
            for (size_t figure = 0; figure < FIGURES_MOST; figure++)
                figures[figure] = (double)NAN;
            contenders[i]->run[workload](workspace, figures);
            if (contenders[i]->end != NULL)
                contenders[i]->end();
            results_put(results, size, workload, i, repetition, figures);
        }
    }
}

static void run_all(struct results *results)
{
    for (size_t size = 0; size < results->options.size_count; size++) {
        struct workspace *workspace =
            workspace_new(results->options.sizes[size], results->options.seconds);
        workspace->delays = results->options.delays.ticks;
        workspace->delay_count = results->options.delays.count;
        for (enum workload workload = 0; workload < WORKLOADS; workload++) {
            if (results->options.workloads[workload] && results_run_at(results, size, workload))
                run_workload(results, workspace, size, workload);
        }
        workspace_free(workspace);
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%30s\r", "");
}

int main(int argument_count, char **arguments)
{
    struct options options = options_read(argument_count, arguments);
    struct results *results = results_new(&options);
    bool shown = true;

    results->clock_cost_ns = measure_clock_cost_ns();
    results->cycles_cost = measure_cycles_cost();
    run_all(results);
    report_table(results, stdout);
    report_aims(results, stdout);
    if (options.csv_path != NULL)
        shown = report_csv(results, options.csv_path) && shown;
    if (options.plots_directory != NULL)
        shown = report_plots(results, options.plots_directory) && shown;
    results_free(results);
    free(options.delays.ticks);
    return shown && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
