#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads /proc/ID/stat. Returns how many bytes were read; 0 if the process has ended. */
static size_t read_stat(pid_t id, char *text, size_t size)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)id);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return 0;
    ssize_t length = read(descriptor, text, size - 1);
    close(descriptor);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    return (size_t)length;
}

static bool read_process(pid_t id, struct process *process)
{
    char text[1024];
    if (read_stat(id, text, sizeof text) == 0)
        return false;
    /* The name stands in parentheses, and may have parentheses in it. */
    char *name = strchr(text, '(');
    char *rest = strrchr(text, ')');
    if (name == NULL || rest == NULL)
        return false;
    *rest = '\0';

    long parent = 0;
    unsigned long user = 0, system = 0;
    long children_user = 0, children_system = 0;
    if (sscanf(rest + 1, " %c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld",
               &process->state, &parent, &user, &system, &children_user, &children_system) != 6)
        return false;
    process->id = id;
    process->parent = (pid_t)parent;
    snprintf(process->name, sizeof process->name, "%s", name + 1);
    process->used_s =
        ((double)user + (double)system + (double)children_user + (double)children_system) /
        (double)sysconf(_SC_CLK_TCK);
    return true;
}

static void append(struct tree *tree, struct process process)
{
    if (tree->count == tree->capacity) {
        tree->capacity = tree->capacity == 0 ? 256 : 2 * tree->capacity;
        tree->processes = realloc(tree->processes, tree->capacity * sizeof *tree->processes);
        if (tree->processes == NULL)
            abort();
    }
    tree->processes[tree->count++] = process;
}

/* Moves the children of `parent` that lie from `from` on to that place. Returns the end of them. */
static size_t gather_children(struct tree *tree, pid_t parent, size_t from)
{
    for (size_t i = from; i < tree->count; i++) {
        struct process process = tree->processes[i];
        if (process.parent != parent)
            continue;
        tree->processes[i] = tree->processes[from];
        tree->processes[from++] = process;
    }
    return from;
}

void tree_read(struct tree *tree, pid_t root)
{
    tree->count = 0;
    DIR *directory = opendir("/proc");
    if (directory == NULL)
        return;
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        char *end;
        long id = strtol(entry->d_name, &end, 10);
        struct process process;
        if (id > 0 && *end == '\0' && read_process((pid_t)id, &process))
            append(tree, process);
    }
    closedir(directory);
    size_t found = gather_children(tree, root, 0);
    for (size_t i = 0; i < found; i++)
        found = gather_children(tree, tree->processes[i].id, found);
    tree->count = found;
}

bool tree_alive(const struct process *process)
{
    return strchr("ZXx", process->state) == NULL;
}

size_t tree_signal(const struct tree *tree, int number)
{
    size_t count = 0;
    for (size_t i = 0; i < tree->count; i++) {
        if (!tree_alive(&tree->processes[i]))
            continue;
        kill(tree->processes[i].id, number);
        count++;
    }
    return count;
}

double tree_used_s(const struct tree *tree)
{
    double used_s = 0;
    for (size_t i = 0; i < tree->count; i++)
        used_s += tree->processes[i].used_s;
    return used_s;
}

bool tree_waits_for_the_machine(const struct tree *tree)
{
    bool waits = false;
    for (size_t i = 0; i < tree->count && !waits; i++)
        waits = strchr("RD", tree->processes[i].state) != NULL;
    return waits;
}
