#include "asleep.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

long thread_number(void)
{
    return syscall(SYS_gettid);
}

/* Adds to `switches` how often the thread has gone to sleep or has lost its processor.
 * Returns whether it is asleep. */
static bool look_at(long number, uint64_t *switches)
{
    static const char voluntary[] = "voluntary_ctxt_switches:";
    static const char involuntary[] = "nonvoluntary_ctxt_switches:";
    char path[64];
    char line[256];
    bool asleep = false;

    (void)snprintf(path, sizeof path, "/proc/self/task/%ld/status", number);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "State:\tS", 8) == 0)
            asleep = true;
        else if (strncmp(line, voluntary, sizeof voluntary - 1) == 0)
            *switches += strtoull(line + sizeof voluntary - 1, NULL, 10);
        else if (strncmp(line, involuntary, sizeof involuntary - 1) == 0)
            *switches += strtoull(line + sizeof involuntary - 1, NULL, 10);
    }
    (void)fclose(file);
    return asleep;
}

/* Looks at each thread twice. A thread that is asleep at both looks, and has not gone to sleep in
 * between, was asleep all the time. All first looks come before all second looks, so at the moment
 * between them all threads were asleep. */
bool threads_are_asleep(const long *numbers, size_t count)
{
    uint64_t before = 0;
    uint64_t after = 0;
    bool asleep = true;
    for (size_t i = 0; i < count; i++)
        asleep = look_at(numbers[i], &before) && asleep;
    for (size_t i = 0; i < count; i++)
        asleep = look_at(numbers[i], &after) && asleep;
    return asleep && before == after;
}
