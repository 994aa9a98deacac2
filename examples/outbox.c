/*
 * An outbox: mails that are sent again until the mail server takes them.
 *
 * A mail is put with RETRY and BACKOFF. Workers reserve mails and try to send them. When that
 * fails, the worker says so (nack), and the mail waits for its back-off: twice as long each time.
 * After the last retry it is buried, where a person can look at it. The token makes it safe to put
 * a mail again when the answer to the first attempt was lost.
 *
 *     example-outbox
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elapse/queue.h>

enum { RETRIES = 3 };

static int check(int holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "failed: %s\n", what);
    return !holds;
}

/* A mail server that is down twice, and never takes mail for nobody. */
static int send_mail(const char *address)
{
    static unsigned calls;

    calls++;
    if (strcmp(address, "nobody@example.org") == 0)
        return 0;
    return calls > 2;
}

static enum elapse_error put_mail(struct elapse_queue *queue, const char *address,
                                  const char *token, struct elapse_answer *answer)
{
    struct elapse_put put = {
        .tube = "mails",
        .body = address,
        .body_bytes = strlen(address),
        .token = token,
        .token_bytes = strlen(token),
        .retry = RETRIES,
        .backoff_min_ms = 10,
        .backoff_max_ms = 1000,
    };
    enum elapse_error error = elapse_queue_put(queue, &put, answer);

    if (error == ELAPSE_OK)
        error = elapse_queue_commit(queue, answer->position, ELAPSE_QUEUE_FOREVER_MS);
    return error;
}

/* Works until no mail came due for two seconds. Returns how many were sent. */
static unsigned work(struct elapse_queue *queue)
{
    struct elapse_reserved mail;
    unsigned sent = 0;

    while (elapse_queue_reserve(queue, "mails", 2000, &mail) == ELAPSE_OK) {
        char address[64] = "";
        memcpy(address, mail.body,
               mail.body_bytes < sizeof address ? mail.body_bytes : sizeof address - 1);
        if (send_mail(address)) {
            sent += elapse_queue_ack(queue, mail.id, mail.lease, NULL) == ELAPSE_OK;
            printf("attempt %u: sent to %s\n", mail.attempt, address);
        } else {
            (void)elapse_queue_nack(queue, mail.id, mail.lease, NULL);
            printf("attempt %u: the server refused %s\n", mail.attempt, address);
        }
        elapse_reserved_free(&mail);
    }
    return sent;
}

int main(void)
{
    char directory[] = "/tmp/elapse-outbox-XXXXXX";
    struct elapse_queue_options options;
    struct elapse_queue *queue;
    struct elapse_queue_fault fault;
    struct elapse_queue_counts statistics;
    struct elapse_answer first;
    struct elapse_answer again;
    char command[128];
    int failures = 0;

    elapse_queue_options_init(&options);
    options.segment_bytes = 1 << 20;
    if (mkdtemp(directory) == NULL)
        return 1;
    if (elapse_queue_open(directory, &options, &queue, &fault) != ELAPSE_OK) {
        fprintf(stderr, "%s\n", fault.text);
        return 1;
    }
    failures += check(put_mail(queue, "ada@example.org", "welcome-1", &first) == ELAPSE_OK, "put");
    failures += check(put_mail(queue, "ada@example.org", "welcome-1", &again) == ELAPSE_OK, "put");
    failures += check(again.result == ELAPSE_RESULT_KNOWN && again.id == first.id, "the token");
    failures +=
        check(put_mail(queue, "nobody@example.org", "welcome-2", &first) == ELAPSE_OK, "put");
    failures += check(work(queue) == 1, "one mail was sent");
    failures += check(elapse_queue_statistics(queue, "mails", &statistics) == ELAPSE_OK &&
                          statistics.buried == 1,
                      "the other one was buried");
    failures += check(elapse_queue_close(queue) == ELAPSE_OK, "close");
    snprintf(command, sizeof command, "rm -r %s", directory);
    (void)!system(command);
    return failures == 0 ? 0 : 1;
}
