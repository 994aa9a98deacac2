/*
 * Describes the machine, the system and the compiler.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "report.h"

/* Reads the line "model name : AMD EPYC" in /proc/cpuinfo. Some architectures have no such line. */
static void read_model_name(char *name, size_t name_bytes)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, name_bytes, "unknown processor");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (colon == NULL || strncmp(line, "model name", strlen("model name")) != 0)
            continue;
        const char *value = colon + 1 + strspn(colon + 1, " \t");
        snprintf(name, name_bytes, "%.*s", (int)strcspn(value, "\n"), value);
        break;
    }
    if (file != NULL)
        fclose(file);
}

/* Returns the length of the major and minor number at the beginning. */
static size_t version_length(const char *release)
{
    size_t major = strcspn(release, ".");
    return release[major] == '.' ? major + 1 + strspn(release + major + 1, "0123456789") : major;
}

void machine_describe(struct machine *machine)
{
    char name[96];
    struct utsname system;
    read_model_name(name, sizeof name);
    snprintf(machine->processor, sizeof machine->processor, "%s, %ld processors", name,
             sysconf(_SC_NPROCESSORS_ONLN));
    /* Keep the first two numbers of "6.1.0-18-amd64". The rest names the build. */
    if (uname(&system) == 0)
        snprintf(machine->system, sizeof machine->system, "%s %.*s %s", system.sysname,
                 (int)version_length(system.release), system.release, system.machine);
    else
        snprintf(machine->system, sizeof machine->system, "unknown system");
    snprintf(machine->compiler, sizeof machine->compiler, "%s", BENCH_COMPILER);
    snprintf(machine->flags, sizeof machine->flags, "%s", BENCH_FLAGS);
}
