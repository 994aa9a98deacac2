/*
 * A web hook does the jobs. libcurl sends one request of HTTP for each job, many at the same time,
 * over connections that stay open.
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
    const char *content_type; /* the content type of the body */
    uint64_t limit_ms;        /* the longest time of a request */
    size_t concurrency;
};

/* Returns NULL if the URL is valid, or else a phrase that names the error. */
const char *hooks_check_url(const char *url);

/* Makes hooks. Returns NULL if there is no memory. The options must live longer than the hooks. */
struct hooks *hooks_new(const struct hooks_options *options);
void hooks_free(struct hooks *hooks);

/* Begins a request. The job must live longer than the request. Returns NULL if there is no
 * memory. */
struct hook *hooks_start(struct hooks *hooks, const struct handed *handed, void *context);

/* Ends a request at once. */
void hooks_stop(struct hooks *hooks, struct hook *hook);

/* Waits until one of the files or requests is ready, but no longer than `timeout_ns`. Continues
 * with the requests. */
void hooks_wait(struct hooks *hooks, struct elapse__os_watch *watches, size_t count,
                uint64_t timeout_ns);

/* Takes a request that has ended. Returns its context, or NULL if no request has ended. `*failure`
 * is NULL if the hook has done the job. If not, it says why, and is valid until the next call.
 * `*after_ms` says for how long the hook wants no request (the header Retry-After), up to a day. */
void *hooks_take(struct hooks *hooks, const char **failure, uint64_t *after_ms);

/* Returns why the request failed that was taken last, with the first line of the answer. The hook
 * chose that line, so it may have any bytes. The text is valid until the next request is taken. */
const char *hooks_error(const struct hooks *hooks);

#endif
