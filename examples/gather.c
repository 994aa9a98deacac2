/*
 * Scatter and gather: a film is cut into pieces, workers do the pieces, and one more job joins
 * them.
 *
 * The joining job is put with `await`: it waits for as many arrivals as there are pieces, or for
 * its time-out. It is put together with its pieces, in one transaction. A worker ends its piece and
 * arrives in one transaction, too, which depends on its lease: so each piece counts once, whoever
 * dies, and whatever is done twice. Of the second film one piece is broken. Its joining job comes
 * at its time-out, and says how many pieces are missing.
 *
 *     example-gather
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/queue.h>

enum { PIECES = 20, WORKERS = 3 };

static int check(int holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "failed: %s\n", what);
    return !holds;
}

/* Puts the pieces of a film, and the job that joins them: all or nothing. */
static enum elapse_error scatter(struct elapse_queue *queue, const char *film, uint64_t timeout_ms)
{
    struct elapse_put join = {
        .tube = "join",
        .body = film,
        .body_bytes = strlen(film),
        .key = film,
        .key_bytes = strlen(film),
        .await = PIECES,
        .delay_ms = timeout_ms,
    };
    static char bodies[PIECES][64];
    struct elapse_put pieces[PIECES];
    struct elapse_change changes[PIECES + 1] = {{.verb = ELAPSE_CHANGE_PUT, .put = &join}};
    struct elapse_change_answer answers[PIECES + 1];
    struct elapse_answer answer;

    for (int i = 0; i < PIECES; i++) {
        int bytes = snprintf(bodies[i], sizeof bodies[i], "%s %d", film, i);
        pieces[i] =
            (struct elapse_put){.tube = "pieces", .body = bodies[i], .body_bytes = (size_t)bytes};
        changes[i + 1] = (struct elapse_change){.verb = ELAPSE_CHANGE_PUT, .put = &pieces[i]};
    }
    enum elapse_error error = elapse_queue_transact(queue, changes, PIECES + 1, answers, &answer);
    if (error == ELAPSE_OK)
        error = elapse_queue_commit(queue, answer.position, ELAPSE_QUEUE_FOREVER_MS);
    return error;
}

/* Ends a piece and arrives at its film, once. */
static void arrive(struct elapse_queue *queue, const struct elapse_reserved *piece)
{
    const char *film = piece->body;
    const struct elapse_arrival arrival = {
        .tube = "join",
        .key = film,
        .key_bytes = (size_t)((const char *)memchr(film, ' ', piece->body_bytes) - film),
    };
    const struct elapse_change changes[] = {
        {.verb = ELAPSE_CHANGE_LEASED, .id = piece->id, .lease = piece->lease},
        {.verb = ELAPSE_CHANGE_ACK, .id = piece->id, .lease = piece->lease},
        {.verb = ELAPSE_CHANGE_ARRIVE, .arrival = &arrival},
    };
    struct elapse_change_answer answers[3];

    /* GONE: the lease has ended, and another worker has the piece. */
    if (elapse_queue_transact(queue, changes, 3, answers, NULL) == ELAPSE_OK &&
        answers[2].result == ELAPSE_RESULT_DONE && answers[2].left == 0)
        printf("the last piece of %.*s is done\n", (int)arrival.key_bytes, film);
}

static void *work(void *argument)
{
    static const char broken[] = "vertigo 7";
    struct elapse_queue *queue = argument;
    struct elapse_reserved piece;

    while (elapse_queue_reserve(queue, "pieces", ELAPSE_QUEUE_FOREVER_MS, &piece) == ELAPSE_OK) {
        if (piece.body_bytes == strlen(broken) && memcmp(piece.body, broken, strlen(broken)) == 0)
            (void)elapse_queue_bury_error(queue, piece.id, piece.lease, "a frame is missing", 18,
                                          NULL);
        else
            arrive(queue, &piece);
        elapse_reserved_free(&piece);
    }
    return NULL;
}

/* Takes the next job that joins. Returns how many pieces it lacks. */
static uint32_t join(struct elapse_queue *queue, const char *film)
{
    struct elapse_reserved job;
    uint32_t missing = UINT32_MAX;

    if (elapse_queue_reserve(queue, "join", ELAPSE_QUEUE_FOREVER_MS, &job) != ELAPSE_OK)
        return missing;
    if (job.body_bytes == strlen(film) && memcmp(job.body, film, job.body_bytes) == 0)
        missing = job.await;
    printf("%s: %u of %d pieces are missing\n", film, (unsigned)missing, PIECES);
    (void)elapse_queue_ack(queue, job.id, job.lease, NULL);
    elapse_reserved_free(&job);
    return missing;
}

static int run(struct elapse_queue *queue)
{
    pthread_t workers[WORKERS];
    int failures = 0;

    for (int i = 0; i < WORKERS; i++)
        if (pthread_create(&workers[i], NULL, work, queue) != 0)
            exit(1);
    failures += check(scatter(queue, "psycho", 3600000) == ELAPSE_OK, "put the first film");
    failures += check(join(queue, "psycho") == 0, "all pieces of the first film have come");
    failures += check(scatter(queue, "vertigo", 500) == ELAPSE_OK, "put the second film");
    uint32_t missing = join(queue, "vertigo");
    /* On a very slow machine more pieces than the broken one are late. */
    failures += check(missing >= 1 && missing <= PIECES, "the second film lacks a piece");
    elapse_queue_stop(queue);
    for (int i = 0; i < WORKERS; i++)
        (void)pthread_join(workers[i], NULL);
    return failures;
}

int main(void)
{
    char directory[] = "/tmp/elapse-gather-XXXXXX";
    struct elapse_queue_options options;
    struct elapse_queue *queue;
    struct elapse_queue_fault fault;
    char command[128];

    elapse_queue_options_init(&options);
    options.segment_bytes = 1 << 20;
    if (mkdtemp(directory) == NULL)
        return 1;
    if (elapse_queue_open(directory, &options, &queue, &fault) != ELAPSE_OK) {
        fprintf(stderr, "%s\n", fault.text);
        return 1;
    }
    int failures = run(queue);
    failures += check(elapse_queue_close(queue) == ELAPSE_OK, "close");
    snprintf(command, sizeof command, "rm -r %s", directory);
    (void)!system(command);
    return failures == 0 ? 0 : 1;
}
