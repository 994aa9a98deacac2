/*
 * The figures: their samples, the table, the CSV file, and the goals.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue_bench.h"

enum { ROWS_MAX = 256, SAMPLES_MAX = 16 };

struct row {
    const char *workload, *contender, *figure, *unit, *floor;
    double samples[SAMPLES_MAX];
    unsigned count;
};

static struct row rows[ROWS_MAX];
static size_t row_count;

static struct row *find_row(const char *workload, const char *contender, const char *figure)
{
    for (size_t i = 0; i < row_count; i++) {
        struct row *row = &rows[i];
        if (strcmp(row->workload, workload) == 0 && strcmp(row->contender, contender) == 0 &&
            strcmp(row->figure, figure) == 0)
            return row;
    }
    return NULL;
}

void table_add(const char *workload, const char *contender, const char *figure, double value,
               const char *unit, const char *floor)
{
    struct row *row = find_row(workload, contender, figure);
    if (row == NULL) {
        require(row_count < ROWS_MAX, "the table is full");
        row = &rows[row_count++];
        *row = (struct row){workload, contender, figure, unit, floor, {0}, 0};
    }
    require(row->count < SAMPLES_MAX, "a row of the table is full");
    row->samples[row->count++] = value;
}

static int compare(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return difference < 0 ? -1 : difference > 0;
}

static double median_of(struct row *row)
{
    qsort(row->samples, row->count, sizeof row->samples[0], compare);
    double low = row->samples[(row->count - 1) / 2];
    return (low + row->samples[row->count / 2]) / 2;
}

/* Returns the row's median divided by that of its floor; 0 if it has none. */
static double ratio_of(struct row *row)
{
    struct row *floor = row->floor == NULL ? NULL : find_row(row->workload, "floor", row->floor);
    return floor == NULL ? 0 : median_of(row) / median_of(floor);
}

static void print_number(double value)
{
    printf(" %12.*f", value < 100 ? 2 : 0, value);
}

void table_print(void)
{
    printf("%-10s %-7s %-36s %12s %12s %12s %-11s %s\n", "workload", "of", "figure", "median",
           "least", "most", "unit", "x floor");
    for (size_t i = 0; i < row_count; i++) {
        struct row *row = &rows[i];
        double median = median_of(row);
        printf("%-10s %-7s %-36s", row->workload, row->contender, row->figure);
        print_number(median);
        print_number(row->samples[0]);
        print_number(row->samples[row->count - 1]);
        printf(" %-11s", row->unit);
        if (ratio_of(row) > 0)
            printf(" %.2f", ratio_of(row));
        printf("\n");
    }
}

bool table_write_csv(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        return false;
    }
    fprintf(file, "workload,contender,figure,median,least,most,unit,times_floor\n");
    for (size_t i = 0; i < row_count; i++) {
        struct row *row = &rows[i];
        double median = median_of(row);
        fprintf(file, "%s,%s,\"%s\",%g,%g,%g,%s,%g\n", row->workload, row->contender, row->figure,
                median, row->samples[0], row->samples[row->count - 1], row->unit, ratio_of(row));
    }
    bool written = ferror(file) == 0;
    written &= fclose(file) == 0;
    if (!written)
        perror(path);
    return written;
}

/* ---- goals ---- */

struct goal {
    const char *workload, *figure;
    double bound;
    bool at_least; /* otherwise: at most */
    bool of_floor; /* the bound is for the ratio */
};

static const struct goal goals[] = {
    {"put", "1 thread, groups of 1000", 0.5, true, true},
    {"cancel", "by key, groups of 1000", 500e3, true, false},
    {"reschedule", "by key, groups of 1000", 500e3, true, false},
    {"work", "1 worker, batches of 1000", 400e3, true, false},
    {"recovery", "open after kill -9", 0.3, false, false},
    {"memory", "delayed, allocated", 70, false, false},
    {"memory", "ready, allocated", 86, false, false},
    {"memory", "keyed, allocated", 100, false, false},
    {"churn", "steady: files over their limit", 1, false, false},
    {"churn", "long-lived: files over their limit", 1, false, false},
};

void table_print_goals(void)
{
    printf("\nGoals\n");
    for (size_t i = 0; i < sizeof goals / sizeof goals[0]; i++) {
        const struct goal *goal = &goals[i];
        struct row *row = find_row(goal->workload, "elapse", goal->figure);
        if (row == NULL)
            continue;
        double value = goal->of_floor ? ratio_of(row) : median_of(row);
        bool reached = goal->at_least ? value >= goal->bound : value <= goal->bound;
        printf("  %-11s %-36s %s %10.6g%s: %10.3f, %s\n", goal->workload, goal->figure,
               goal->at_least ? "at least" : "at most ", goal->bound,
               goal->of_floor ? " of the floor" : "", value, reached ? "reached" : "NOT REACHED");
    }
}
