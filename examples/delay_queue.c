/*
 * A delay queue: put a message in with a delay, take it out when the delay has passed.
 *
 *     delay_queue [MESSAGES]        100,000 by default
 *
 * Two threads put messages while four threads take them. Most messages are due within a twentieth
 * of a second, and one in ten is due in an hour. When half of the near ones have been delivered,
 * the queue is closed. Threads that wait for a message return, and messages that were not taken
 * are handed back, so that a program could store them for its next start. At the end every message
 * was either delivered or handed back, and none twice.
 *
 * What to look at:
 * - options.pull: the scheduler has no threads and calls no actions. The threads that take belong
 *   to the program.
 * - deliver(): take, work, done. Until it is done, the message counts as running, and closing
 *   waits for it.
 * - close_queue(): the program owns the messages that are handed back. Nothing is destroyed.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <elapse/scheduler.h>
#include <pthread.h>

#define DELAY_NS_MAX (50 * ELAPSE_MILLISECOND_NS)

enum { PUTTERS = 2, TAKERS = 4, MESSAGES_MAX = 10000000 };

enum place { NOWHERE, QUEUED, DELIVERED, HANDED_BACK };

struct message {
    _Atomic(enum place) place;
    uint64_t not_before_ns;
    bool in_an_hour;
};

struct putter {
    pthread_t thread;
    size_t first;
};

static struct elapse_scheduler *scheduler;
static struct message *messages;
static size_t message_count;
static atomic_size_t delivered;

static pthread_mutex_t half_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t half_reached = PTHREAD_COND_INITIALIZER;
static size_t half_of_the_near; /* the number of deliveries before the queue is closed */

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "delay_queue: fault: %s\n", what);
    exit(EXIT_FAILURE);
}

/* Moves a message from one place to the next. Each message makes each move at most once. */
static void change(struct message *message, enum place from, enum place to)
{
    require(atomic_exchange(&message->place, to) == from, "a message was in two places");
}

/* ---- threads that put ---- */

/* Spreads the delays of the messages. Any spread will do. */
static uint64_t delay_ns_of(size_t number)
{
    return (number * 2654435761U) % DELAY_NS_MAX;
}

static void *put(void *argument)
{
    const struct putter *putter = argument;

    for (size_t i = putter->first; i < message_count; i += PUTTERS) {
        struct message *message = &messages[i];
        struct elapse_task task = {.context = message}; /* no action, because it is taken */
        uint64_t delay_ns = delay_ns_of(i);

        if (i % 10 == 0) {
            message->in_an_hour = true;
            delay_ns = ELAPSE_HOUR_NS;
        }
        message->not_before_ns = elapse_scheduler_now_ns(scheduler) + delay_ns;
        /* Do this before it is put: after that it may be taken at any moment. */
        change(message, NOWHERE, QUEUED);
        require(elapse_task_schedule_at(scheduler, &task, message->not_before_ns, NULL) ==
                    ELAPSE_OK,
                "a message could not be put");
    }
    return NULL;
}

/* ---- threads that take ---- */

static void *deliver(void *argument)
{
    struct elapse_taken taken;
    enum elapse_error error;

    (void)argument;
    while ((error = elapse_task_take(scheduler, ELAPSE_NEVER, &taken)) == ELAPSE_OK) {
        struct message *message = taken.context;

        require(elapse_scheduler_now_ns(scheduler) >= message->not_before_ns,
                "a message came early");
        require(!message->in_an_hour, "an hour has passed in no time");
        change(message, QUEUED, DELIVERED);
        require(elapse_task_done(scheduler, taken.run.handle) == ELAPSE_OK,
                "a taken message is unknown");
        if (atomic_fetch_add(&delivered, 1) + 1 == half_of_the_near) {
            pthread_mutex_lock(&half_mutex);
            pthread_cond_signal(&half_reached);
            pthread_mutex_unlock(&half_mutex);
        }
    }
    require(error == ELAPSE_ERROR_CLOSED, "taking has failed");
    return NULL;
}

/* ---- closing ---- */

static void take_back(const struct elapse_handed_back *handed_back, void *context)
{
    const struct message *message = handed_back->task.context;
    size_t *count = context;

    require(handed_back->deadline_ns >= message->not_before_ns, "a deadline was changed");
    change(handed_back->task.context, QUEUED, HANDED_BACK);
    (*count)++;
}

/* Returns how many messages were handed back. */
static size_t close_queue(void)
{
    struct elapse_task task = {.context = messages};
    size_t handed_back = 0;

    require(elapse_scheduler_close(scheduler, ELAPSE_CLOSE_HAND_BACK, take_back, &handed_back) ==
                ELAPSE_OK,
            "the queue could not be closed");
    require(elapse_task_schedule_after(scheduler, &task, 0, NULL) == ELAPSE_ERROR_CLOSED,
            "a closed queue has taken a message");
    return handed_back;
}

static void add_up(size_t handed_back)
{
    static struct elapse_statistics statistics;
    size_t count[4] = {0};
    size_t hours = 0;

    for (size_t i = 0; i < message_count; i++) {
        count[atomic_load(&messages[i].place)]++;
        hours += messages[i].in_an_hour && atomic_load(&messages[i].place) == HANDED_BACK;
    }
    printf(
        "%zu messages: %zu delivered to %d threads, %zu handed back, %zu of them due in an hour\n",
        message_count, count[DELIVERED], TAKERS, count[HANDED_BACK], hours);
    require(count[NOWHERE] == 0 && count[QUEUED] == 0, "a message is lost");
    require(count[DELIVERED] == atomic_load(&delivered) && count[HANDED_BACK] == handed_back,
            "messages were miscounted");
    require(count[DELIVERED] >= half_of_the_near, "the queue was closed too soon");
    require(hours == (message_count + 9) / 10, "a message of an hour is missing");
    elapse_scheduler_statistics(scheduler, &statistics);
    require(statistics.scheduled == message_count && statistics.begun == count[DELIVERED] &&
                statistics.handed_back == handed_back && statistics.pending == 0 &&
                statistics.running == 0,
            "the scheduler has counted otherwise");
}

int main(int argument_count, char **arguments)
{
    struct elapse_scheduler_options options;
    struct putter putters[PUTTERS];
    pthread_t takers[TAKERS];
    const char *said = argument_count > 1 ? arguments[1] : "100000";
    char *end;

    message_count = strtoul(said, &end, 10);
    if (argument_count > 2 || *end != '\0' || message_count < 2 || message_count > MESSAGES_MAX) {
        fprintf(stderr, "usage: delay_queue [MESSAGES], 2 to %d\n", MESSAGES_MAX);
        return 2;
    }
    half_of_the_near = (message_count - (message_count + 9) / 10 + 1) / 2;
    messages = calloc(message_count, sizeof *messages);
    require(messages != NULL, "no memory");
    elapse_scheduler_options_init(&options);
    options.pull = true;
    require(elapse_scheduler_new(&options, &scheduler) == ELAPSE_OK &&
                elapse_scheduler_start(scheduler) == ELAPSE_OK,
            "no scheduler");

    for (size_t i = 0; i < TAKERS; i++)
        require(pthread_create(&takers[i], NULL, deliver, NULL) == 0, "no thread");
    for (size_t i = 0; i < PUTTERS; i++) {
        putters[i].first = i;
        require(pthread_create(&putters[i].thread, NULL, put, &putters[i]) == 0, "no thread");
    }
    for (size_t i = 0; i < PUTTERS; i++)
        require(pthread_join(putters[i].thread, NULL) == 0, "a thread is lost");
    pthread_mutex_lock(&half_mutex);
    while (atomic_load(&delivered) < half_of_the_near)
        pthread_cond_wait(&half_reached, &half_mutex);
    pthread_mutex_unlock(&half_mutex);

    size_t handed_back = close_queue();
    for (size_t i = 0; i < TAKERS; i++)
        require(pthread_join(takers[i], NULL) == 0, "a thread is lost");
    add_up(handed_back);
    require(elapse_scheduler_free(scheduler) == ELAPSE_OK, "the scheduler is not free");
    free(messages);
    return EXIT_SUCCESS;
}
