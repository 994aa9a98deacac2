/*
 * Has jobs done by a web hook: libcurl sends one request of HTTP for each job, many at once, over
 * connections that are kept.
 */
#ifndef ELAPSE_CLI_WORK_HOOKS_H
#define ELAPSE_CLI_WORK_HOOKS_H

#include <stddef.h>
#include <stdint.h>

#include "../../os/program.h"
#include "handed.h"

struct hooks;
struct hook;

struct hooks_options {
    const char *url;
    const char *secret;       /* NULL: requests are not signed */
    const char *content_type; /* of the body */
    uint64_t limit_ms;        /* for a request from its begin to its end */
    size_t concurrency;
};

/* Returns NULL if the URL is good; otherwise a phrase that names the fault. */
const char *hooks_check_url(const char *url);

/* Returns NULL if there is no memory. The options must outlive the hooks. */
struct hooks *hooks_new(const struct hooks_options *options);
void hooks_free(struct hooks *hooks);

/* Begins a request. The job must outlive the request. Returns NULL if there is no memory. */
struct hook *hooks_start(struct hooks *hooks, const struct handed *handed, void *context);

/* Ends a request at once. */
void hooks_stop(struct hooks *hooks, struct hook *hook);

/* Waits until one of the files or of the requests is ready, no longer than `timeout_ns`, and goes
 * on with the requests. */
void hooks_wait(struct hooks *hooks, struct elapse__os_watch *watches, size_t count,
                uint64_t timeout_ns);

/* Takes a request that has ended: returns its context, or NULL if there is none. `*failure` is NULL
 * if the hook took the job. Otherwise it says why not; the text lasts until the next call.
 * `*after_ms` is how long the hook wants to be left alone, by the header Retry-After: up to a day.
 */
void *hooks_take(struct hooks *hooks, const char **failure, uint64_t *after_ms);

/* Returns the failure of the request that was taken last, and the first line of the answer, which
 * the hook chose: it may have any bytes. The text lasts until the next request is taken. */
const char *hooks_error(const struct hooks *hooks);

#endif
