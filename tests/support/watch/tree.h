/* The descendants of a process, as /proc shows them. */
#ifndef ELAPSE_TESTS_WATCH_TREE_H
#define ELAPSE_TESTS_WATCH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* One process. Its processor time includes that of the children that it has waited for. */
struct process {
    pid_t id;
    pid_t parent;
    char state;
    char name[32];
    double used_s;
};

/* Begins as zeros. */
struct tree {
    struct process *processes;
    size_t count;
    size_t capacity;
};

/* Reads from /proc which processes descend from `root`. The root is not one of them. */
void tree_read(struct tree *tree, pid_t root);

/* Returns whether a process has not ended yet. */
bool tree_alive(const struct process *process);

/* Sends a signal to each descendant that has not ended. Returns their number. */
size_t tree_signal(const struct tree *tree, int number);

/* Returns the processor time of all descendants, in seconds. */
double tree_used_s(const struct tree *tree);

/* Returns whether a descendant waits for a processor or for the disk, or runs. */
bool tree_waits_for_the_machine(const struct tree *tree);

#endif
