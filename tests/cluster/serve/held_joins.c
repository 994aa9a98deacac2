/*
 * A library that is loaded before the others (LD_PRELOAD). A program that closes a store waits for
 * the store's threads (pthread_join). From when the file exists that ELAPSE_HELD_JOINS names, each
 * thread that waits so is held until TOGETHER threads are held at the same time. Then "together" is
 * written into the file. The main thread is never held, because it also waits for other threads.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { TOGETHER = 4, GIVE_UP_S = 30 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned held;
static bool are_together;

static void note_together(const char *path)
{
    FILE *file = fopen(path, "w");

    are_together = true;
    if (file != NULL) {
        (void)fputs("together\n", file);
        (void)fclose(file);
    }
    (void)pthread_cond_broadcast(&changed);
}

static void hold(const char *path)
{
    struct timespec until;
    bool gives_up = false;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += GIVE_UP_S;
    (void)pthread_mutex_lock(&lock);
    if (++held == TOGETHER)
        note_together(path);
    while (!are_together && !gives_up)
        gives_up = pthread_cond_timedwait(&changed, &lock, &until) == ETIMEDOUT;
    held--;
    (void)pthread_mutex_unlock(&lock);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): reserved in the header */
int pthread_join(pthread_t thread, void **result)
{
    int (*join)(pthread_t, void **) = NULL;
    const char *path = getenv("ELAPSE_HELD_JOINS");

    *(void **)&join = dlsym(RTLD_NEXT, "pthread_join");
    if (path != NULL && gettid() != getpid() && access(path, F_OK) == 0)
        hold(path);
    return join(thread, result);
}
