/*
 * Pull mode: threads that take tasks, and run them as workers do elsewhere. They leave some of the
 * tasks to another thread, which ends them later and in any order, so that tasks are taken and not
 * done while everything else goes on.
 *
 * Each round chooses how they wait: in take, with any time-out; by the descriptor, without a
 * time-out, so that a wake-up that does not come stops the round; or by either, at random. The last
 * is allowed, but then no thread may rely on the descriptor.
 */
#include "stress.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum {
    TAKEN_AT_ONCE = 16,
    UNDONE_MAX = 32,
};

enum manner {
    MANNER_WAIT,
    MANNER_DESCRIPTOR,
    MANNER_BOTH,
    MANNERS,
};

/* Taken, and worked on, but not done. */
struct undone {
    struct record *record;
    struct elapse_taken taken;
};

struct taker {
    struct takers *takers;
    pthread_t thread;
    int loop; /* of epoll */
};

struct takers {
    struct round *round;
    enum manner manner;
    int descriptor;      /* the scheduler's */
    _Atomic bool to_end; /* nobody takes any more */
    struct taker all[THREADS_MAX];
    pthread_t finisher;

    pthread_mutex_t lock; /* guards what follows */
    struct undone undone[UNDONE_MAX];
    unsigned undone_count;
};

static void nap(struct random_source *source)
{
    struct timespec nap = {.tv_nsec = (long)random_below(source, 200000)};
    (void)nanosleep(&nap, NULL);
}

/* ---- tasks taken and not done ---- */

/* Leaves the task to the finisher. Returns false if that has enough to do. */
static bool leave_undone(struct takers *takers, struct undone undone)
{
    (void)pthread_mutex_lock(&takers->lock);
    bool room = takers->undone_count < UNDONE_MAX;
    if (room)
        takers->undone[takers->undone_count++] = undone;
    (void)pthread_mutex_unlock(&takers->lock);
    return room;
}

/* Takes any out of those left undone; false if there are none. */
static bool pick_undone(struct takers *takers, struct random_source *source, struct undone *picked)
{
    (void)pthread_mutex_lock(&takers->lock);
    bool any = takers->undone_count > 0;
    if (any) {
        struct undone *place = &takers->undone[random_below(source, takers->undone_count)];
        *picked = *place;
        *place = takers->undone[--takers->undone_count];
    }
    (void)pthread_mutex_unlock(&takers->lock);
    return any;
}

static void *finish(void *argument)
{
    struct takers *takers = argument;
    struct random_source *source = random_of_thread(takers->round);
    for (;;) {
        struct undone undone;
        bool last = atomic_load(&takers->to_end);
        while (pick_undone(takers, source, &undone))
            record_done(undone.record, &undone.taken);
        if (last)
            return NULL;
        nap(source);
    }
}

/* ---- taking ---- */

static uint64_t draw_timeout_ns(struct random_source *source)
{
    switch (random_below(source, 8)) {
    case 0:
    case 1:
    case 2:
        return ELAPSE_NEVER;
    case 3:
        return 0;
    case 4:
        return ELAPSE_NEVER - random_below(source, ELAPSE_DAY_NS);
    case 5:
        return 1 + random_below(source, 50 * ELAPSE_MICROSECOND_NS);
    default:
        return random_below(source, 3 * ELAPSE_MILLISECOND_NS);
    }
}

static void deal_with(struct takers *takers, struct random_source *source,
                      const struct elapse_taken *taken)
{
    struct undone undone = {taken->context, *taken};
    const struct round *round = takers->round;
    if (round->lease_ns > 0 && random_one_in(source, 16)) {
        /* As if the thread had died; so the finisher is dead as well. */
        atomic_fetch_add(&round->counters->left_leases, 1);
        return;
    }
    record_work(undone.record, &taken->run);
    if (round->lease_ns > 0 && random_one_in(source, 8))
        (void)elapse_task_extend_lease(round->scheduler, &undone.taken);
    if (random_one_in(source, 4) && leave_undone(takers, undone))
        return;
    record_done(undone.record, &undone.taken);
}

static void check_taken(const struct round *round, const struct elapse_taken *taken, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        must(taken[i].action == record_action, round, taken[i].context, "has another action");
        for (size_t j = 0; j < i; j++)
            must(taken[i].context != taken[j].context, round, taken[i].context,
                 "is in a batch twice");
    }
}

/* Takes one or some, and deals with them. */
static enum elapse_error take(struct takers *takers, struct random_source *source,
                              uint64_t timeout_ns)
{
    struct round *round = takers->round;
    struct elapse_scheduler *scheduler = round->scheduler;
    struct elapse_taken taken[TAKEN_AT_ONCE];
    size_t capacity = random_one_in(source, 2) ? 1 : 1 + random_index(source, TAKEN_AT_ONCE);
    size_t count = 0;
    enum elapse_error error;
    uint64_t before_ns = elapse_scheduler_now_ns(scheduler);
    if (capacity == 1) {
        error = elapse_task_take(scheduler, timeout_ns, taken);
        count = error == ELAPSE_OK;
    } else {
        error = elapse_task_take_batch(scheduler, timeout_ns, taken, capacity, &count);
        must(count <= capacity && (count > 0) == (error == ELAPSE_OK), round, NULL,
             "a batch was taken, or none, and the answer is another");
    }
    must(error == ELAPSE_OK || error == ELAPSE_ERROR_NOTHING_DUE || error == ELAPSE_ERROR_CLOSED,
         round, NULL, "nothing was taken, for no reason");
    must(error != ELAPSE_ERROR_CLOSED || atomic_load(&round->closing), round, NULL,
         "a take said CLOSED too early");
    must(error != ELAPSE_ERROR_NOTHING_DUE ||
             elapse_scheduler_now_ns(scheduler) >= elapse_deadline_after(before_ns, timeout_ns),
         round, NULL, "a take gave up before its time-out");
    check_taken(round, taken, count);
    for (size_t i = 0; i < count; i++)
        record_begin(taken[i].context, &taken[i].run, &taken[i]);
    for (size_t i = 0; i < count; i++)
        deal_with(takers, source, &taken[i]);
    return error;
}

/* Waits until the descriptor is readable, and takes what there is; or some of it, and comes
 * back for the rest. */
static enum elapse_error wait_and_take(struct takers *takers, struct random_source *source,
                                       int loop, int timeout_ms)
{
    struct epoll_event event;
    int count = epoll_wait(loop, &event, 1, timeout_ms);
    must(count > 0 || (count == 0 && timeout_ms >= 0), takers->round, NULL, "epoll_wait failed");
    enum elapse_error error = take(takers, source, 0);
    while (error == ELAPSE_OK && !random_one_in(source, 4))
        error = take(takers, source, 0);
    return error;
}

static int make_loop(const struct takers *takers)
{
    struct epoll_event readable = {.events = EPOLLIN};
    int loop = epoll_create1(EPOLL_CLOEXEC);
    must(loop >= 0 && epoll_ctl(loop, EPOLL_CTL_ADD, takers->descriptor, &readable) == 0,
         takers->round, NULL, "no event loop");
    return loop;
}

static void *take_on(void *argument)
{
    const struct taker *taker = argument;
    struct takers *takers = taker->takers;
    struct random_source *source = random_of_thread(takers->round);
    enum elapse_error error;
    do {
        bool both = takers->manner == MANNER_BOTH;
        if (takers->manner == MANNER_DESCRIPTOR || (both && random_one_in(source, 2)))
            error = wait_and_take(takers, source, taker->loop, both ? 1 : -1);
        else
            error = take(takers, source, draw_timeout_ns(source));
        if (random_one_in(source, 24))
            nap(source);
    } while (error != ELAPSE_ERROR_CLOSED);
    must(take(takers, source, draw_timeout_ns(source)) == ELAPSE_ERROR_CLOSED, takers->round, NULL,
         "a take said CLOSED, and the next did not");
    return NULL;
}

/* ---- all of it ---- */

struct takers *takers_begin(struct round *round)
{
    struct random_source *source = random_of_thread(round);
    struct takers *takers = calloc(1, sizeof *takers);
    must(takers != NULL, round, NULL, "no memory");
    takers->round = round;
    takers->manner = (enum manner)random_below(source, MANNERS);
    takers->descriptor = elapse_scheduler_descriptor(round->scheduler);
    must(takers->descriptor >= 0, round, NULL, "no descriptor");
    (void)pthread_mutex_init(&takers->lock, NULL);
    for (unsigned i = 0; i < round->takers; i++) {
        struct taker *taker = &takers->all[i];
        *taker = (struct taker){.takers = takers, .loop = make_loop(takers)};
        must(pthread_create(&taker->thread, NULL, take_on, taker) == 0, round, NULL, "no thread");
    }
    must(pthread_create(&takers->finisher, NULL, finish, takers) == 0, round, NULL, "no thread");
    return takers;
}

void takers_end(struct takers *takers)
{
    for (unsigned i = 0; i < takers->round->takers; i++) {
        (void)pthread_join(takers->all[i].thread, NULL);
        (void)close(takers->all[i].loop);
    }
    atomic_store(&takers->to_end, true);
    (void)pthread_join(takers->finisher, NULL);
    (void)pthread_mutex_destroy(&takers->lock);
    free(takers);
}

void takers_expect_nothing(const struct round *round, enum elapse_error error)
{
    struct elapse_taken taken;
    size_t count = SIZE_MAX;
    must(elapse_task_take(round->scheduler, ELAPSE_NEVER, &taken) == error &&
             elapse_task_take_batch(round->scheduler, 0, &taken, 1, &count) == error && count == 0,
         round, NULL, "a take found something, or another reason for nothing");
    must(elapse_task_take_batch(round->scheduler, 0, &taken, 0, &count) == ELAPSE_ERROR_ARGUMENT,
         round, NULL, "a batch for nothing was not refused");
    int descriptor = elapse_scheduler_descriptor(round->scheduler);
    struct pollfd readable = {.fd = descriptor, .events = POLLIN};
    bool closed = error == ELAPSE_ERROR_CLOSED && round->starts;
    must(closed ? poll(&readable, 1, -1) == 1 && readable.revents == POLLIN : descriptor == -1,
         round, NULL,
         "the descriptor does not tell of closing, or there is one and nothing to wait for");
}
