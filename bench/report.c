/*
 * The table and the CSV file.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "measure.h"
#include "report.h"

static const char *number_text(double number, char text[32])
{
    if (isnan(number))
        snprintf(text, 32, "-");
    else if (number < 9.995)
        snprintf(text, 32, "%.2f", number);
    else if (number < 99.95)
        snprintf(text, 32, "%.1f", number);
    else
        snprintf(text, 32, "%.0f", number);
    return text;
}

static void print_head(const struct results *results, FILE *out)
{
    struct machine machine;
    machine_describe(&machine);
    fprintf(out, "%s\n%s\n%s %s\n", machine.processor, machine.system, machine.compiler,
            machine.flags);
#ifndef __OPTIMIZE__
    fprintf(out, "This build is not optimised: the figures say nothing.\n");
#endif
    fprintf(
        out,
        "%u repetitions, %u of S3, S4 and the tails; reading the clock takes %llu ns, which W4 and "
        "'worst' include, and %llu " CYCLES_UNIT ", which the tails include\n",
        results->options.repetitions, results->options.long_repetitions,
        (unsigned long long)results->clock_cost_ns, (unsigned long long)results->cycles_cost);
    if (results->options.delays.count != 0)
        fprintf(out, "Lmix: %zu delays of traces\n", results->options.delays.count);
    fputc('\n', out);
    for (size_t i = 0; i < CONTENDERS; i++) {
        if (results->options.contenders[i])
            fprintf(out, "%-10s %2zu bytes a node; %s\n", contenders[i]->name,
                    contenders[i]->node_bytes, contenders[i]->title);
    }
}

/* Prints the contenders' rows for one figure at one size. */
static void print_rows(const struct results *results, size_t size, enum workload workload,
                       size_t figure, FILE *out)
{
    const struct workload_description *description = &workload_descriptions[workload];
    char what[64];
    char timers[21];
    snprintf(what, sizeof what, "%s, %s", description->figures[figure].name,
             description->figures[figure].unit);
    count_text(results_timers(results, size, workload), timers);

    for (size_t i = 0; i < CONTENDERS; i++) {
        char median[32], least[32], most[32], ratio[32];
        struct summary summary = results_summary(results, size, workload, i, figure);
        if (summary.count != 0) {
            fprintf(out, "%-6s %-20s %6s  %-9s %10s %10s %10s %8s\n", description->name, what,
                    timers, contenders[i]->name, number_text(summary.median, median),
                    number_text(summary.least, least), number_text(summary.most, most),
                    number_text(results_floor_ratio(results, size, workload, i, figure), ratio));
        } else if (results->options.contenders[i] && !contenders[i]->floor &&
                   !contenders[i]->variant &&
                   of_scheduler(workload) == (i == CONTENDER_SCHEDULER) &&
                   contenders[i]->run[workload] == NULL) {
            fprintf(out, "%-6s %-20s %6s  %-9s %10s\n", description->name, what, timers,
                    contenders[i]->name, "infeasible");
        }
    }
}

/* Prints a row for each contender and kind of call, with all figures of that kind. */
static void print_tails(const struct results *results, size_t size, enum workload workload,
                        FILE *out)
{
    static const char *const kinds[TAIL_KINDS] = {"start", "stop", "tick"};
    const char *name = workload_descriptions[workload].name;
    char timers[21];
    count_text(results_timers(results, size, workload), timers);
    for (size_t kind = 0; kind < TAIL_KINDS; kind++) {
        fprintf(out, "%-6s %-6s %6s  %-9s", name, kinds[kind], timers, CYCLES_UNIT);
        static const char *const heads[] = {"p50",   "p99.9",      "p99.99",
                                            "worst", "worst, raw", "most moves"};
        for (size_t figure = 0; figure < TAIL_FIGURES; figure++)
            fprintf(out, " %10s", heads[figure]);
        fputc('\n', out);
        for (size_t i = 0; i < CONTENDERS; i++) {
            size_t first = kind * TAIL_FIGURES;
            if (results_summary(results, size, workload, i, first).count == 0)
                continue;
            fprintf(out, "%-6s %-6s %6s  %-9s", "", "", "", contenders[i]->name);
            for (size_t figure = first; figure < first + TAIL_FIGURES; figure++) {
                struct summary summary = results_summary(results, size, workload, i, figure);
                fprintf(out, " %10.0f", summary.median);
            }
            fputc('\n', out);
        }
    }
}

/* Prints which workloads were left out for a contender at the largest size, and from which size
 * on. */
static void print_left_out(const struct results *results, size_t contender, FILE *out)
{
    const struct options *options = &results->options;
    const char *separator = "";
    for (enum workload workload = 0; workload < WORKLOADS; workload++) {
        char most[21];
        size_t limit = contenders[contender]->most_timers[workload];
        if (!options->contenders[contender] || !options->workloads[workload] || limit == 0 ||
            options->sizes[options->size_count - 1] <= limit)
            continue;
        if (separator[0] == '\0')
            fprintf(out, "\nLeft out, as it would take minutes: %s with more timers than ",
                    contenders[contender]->name);
        fprintf(out, "%s%s in %s", separator, count_text(limit, most),
                workload_descriptions[workload].name);
        separator = ", ";
    }
    if (separator[0] != '\0')
        fputc('\n', out);
}

static void print_missing(FILE *out)
{
    const char *separator = "\nLeft out, as they are not installed: ";
    for (size_t i = 0; i < CONTENDERS; i++) {
        if (contenders[i]->missing_package == NULL)
            continue;
        fprintf(out, "%s%s (Debian: %s)", separator, contenders[i]->name,
                contenders[i]->missing_package);
        separator = ", ";
    }
    if (separator[0] == ',')
        fputc('\n', out);
}

void report_table(const struct results *results, FILE *out)
{
    print_head(results, out);
    fprintf(out, "\n%-6s %-20s %6s  %-9s %10s %10s %10s %8s\n", "", "figure", "timers", "contender",
            "median", "least", "most", "x floor");
    for (enum workload workload = 0; workload < WORKLOADS; workload++) {
        if (!results->options.workloads[workload])
            continue;
        const struct workload_description *description = &workload_descriptions[workload];
        fprintf(out, "\n%s: %s\n", description->name, description->title);
        for (size_t size = 0; description->tails && size < results->options.size_count; size++)
            print_tails(results, size, workload, out);
        if (description->tails)
            continue;
        for (size_t figure = 0; description->figures[figure].name != NULL; figure++) {
            for (size_t size = 0; size < results->options.size_count; size++) {
                if (results_run_at(results, size, workload))
                    print_rows(results, size, workload, figure, out);
            }
        }
    }
    for (size_t i = 0; i < CONTENDERS; i++)
        print_left_out(results, i, out);
    print_missing(out);
}

/* ---- CSV ---- */

static void print_csv_number(double number, FILE *out)
{
    if (isnan(number))
        fputc(',', out);
    else
        fprintf(out, ",%.4f", number);
}

static void print_csv_rows(const struct results *results, size_t size, enum workload workload,
                           const struct machine *machine, FILE *out)
{
    const struct workload_description *description = &workload_descriptions[workload];
    for (size_t figure = 0; description->figures[figure].name != NULL; figure++) {
        for (size_t i = 0; i < CONTENDERS; i++) {
            struct summary summary = results_summary(results, size, workload, i, figure);
            if (summary.count == 0)
                continue;
            fprintf(out, "%s,%s,%s,%zu,%s,%zu,%u", description->name,
                    description->figures[figure].name, description->figures[figure].unit,
                    results_timers(results, size, workload), contenders[i]->name,
                    of_scheduler(workload) ? (size_t)SCHEDULER_NODE_BYTES
                                           : contenders[i]->node_bytes,
                    summary.count);
            print_csv_number(summary.median, out);
            print_csv_number(summary.least, out);
            print_csv_number(summary.most, out);
            print_csv_number(results_floor_ratio(results, size, workload, i, figure), out);
            fprintf(out, ",\"%s\",\"%s\",\"%s\",\"%s\"\n", machine->processor, machine->system,
                    machine->compiler, machine->flags);
        }
    }
}

bool report_csv(const struct results *results, const char *path)
{
    struct machine machine;
    machine_describe(&machine);
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        fprintf(stderr, "elapse-bench: %s: %s\n", path, strerror(errno));
        return false;
    }
    fputs("workload,figure,unit,timers,contender,node_bytes,repetitions,median,least,most,"
          "floor_ratio,processor,system,compiler,flags\n",
          out);
    for (enum workload workload = 0; workload < WORKLOADS; workload++) {
        for (size_t size = 0; size < results->options.size_count; size++)
            print_csv_rows(results, size, workload, &machine, out);
    }
    if (fclose(out) != 0) {
        fprintf(stderr, "elapse-bench: %s: %s\n", path, strerror(errno));
        return false;
    }
    return true;
}
