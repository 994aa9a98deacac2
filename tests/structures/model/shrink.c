/*
 * Shrinks a run: leaves out chunks of the recorded operations, large chunks first, as long as the
 * rest still fails. Each attempt runs in a child process, because it may crash or hang.
 */
#include "shrink.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ATTEMPT_SECONDS = 5 };

struct run_record *record_share(void)
{
    struct run_record *record =
        mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (record == MAP_FAILED) {
        perror("mmap");
        exit(2);
    }
    return record;
}

static bool repeat(const struct run_record *record)
{
    struct trial trial;
    bool good = true;

    trial_open(&trial, &record->options);
    trial.check_each = record->check_each;
    for (size_t i = 0; i < record->count && good; i++)
        good = trial_apply(&trial, &record->operations[i]);
    good = good && trial_finish(&trial);
    if (!good)
        fprintf(stderr, "=> %s\n", trial.failure);
    trial_close(&trial);
    return good;
}

static bool fails(const struct run_record *record, bool silent)
{
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        alarm(ATTEMPT_SECONDS);
        if (silent && freopen("/dev/null", "w", stderr) == NULL)
            _exit(2);
        _exit(repeat(record) ? 0 : 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        exit(2);
    }
    if (!silent && WIFSIGNALED(status))
        fprintf(stderr, "=> ended by signal %d\n", WTERMSIG(status));
    return status != 0;
}

/* Leaves out `length` operations at `start`, if the rest still fails. */
static bool leave_out(struct run_record *record, size_t start, size_t length)
{
    static struct run_record shorter;

    shorter = *record;
    shorter.count -= length;
    memmove(&shorter.operations[start], &shorter.operations[start + length],
            (shorter.count - start) * sizeof *shorter.operations);
    if (!fails(&shorter, true))
        return false;
    *record = shorter;
    return true;
}

/* Leaves out chunks of `length` operations. Returns whether any could be left out. */
static bool leave_out_chunks(struct run_record *record, size_t length)
{
    bool shorter = false;
    size_t start = 0;

    while (start + length <= record->count) {
        if (leave_out(record, start, length))
            shorter = true;
        else
            start += length;
    }
    return shorter;
}

static void shrink(struct run_record *record)
{
    for (size_t length = record->count / 2; length > 1; length /= 2)
        leave_out_chunks(record, length);
    while (leave_out_chunks(record, 1))
        continue;
}

void record_shrink(struct run_record *record)
{
    if (!fails(record, true)) {
        fprintf(stderr, "The run does not fail when it is repeated by itself.\n");
        return;
    }
    shrink(record);
    fprintf(stderr, "%s, %zu timers, origin %" PRIu64 ", storage for %zu; shortest failing run:\n",
            record->options.kind->name, record->options.timers, record->options.origin,
            record->options.capacity);
    for (size_t i = 0; i < record->count; i++) {
        fprintf(stderr, "  ");
        operation_print(stderr, &record->operations[i]);
    }
    fprintf(stderr, "  (then follow next to the end)\n");
    fails(record, false);
}
