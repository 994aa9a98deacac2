#include "hooks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include <elapse/version.h>

#include "../../base/assert.h"
#include "../common/buffer.h"
#include "../common/message.h"
#include "headers.h"
#include "signature.h"

enum {
    FAILURE_BYTES = 300,
    LINE_BYTES = 500, /* for the first line of an answer */
    WATCHES_MAX = 8,
    POLL_MS_MAX = 60000,
    RETRY_AFTER_S_MAX =
        24 * 60 * 60, /* a hook that says a year by mistake is asked again next day */
};

struct hook {
    CURL *easy;
    struct curl_slist *headers;
    void *context;
    char error[CURL_ERROR_SIZE];
    char line[LINE_BYTES]; /* as much of the answer's first line as there is room for */
    size_t line_length;
    bool line_ended;
};

struct hooks {
    const struct hooks_options *options;
    CURLM *multi;
    struct hook **idle; /* requests that have ended, for use again */
    size_t idle_count;
    int active; /* requests that were begun and not taken */
    char failure[FAILURE_BYTES];
    char error[FAILURE_BYTES + 2 + LINE_BYTES];
};

static void check(const struct hooks *hooks)
{
    (void)hooks; /* used only by assertions */
    ELAPSE__ASSERT(hooks->active >= 0);
    ELAPSE__ASSERT_THAT((size_t)hooks->active + hooks->idle_count, <=, hooks->options->concurrency);
}

const char *hooks_check_url(const char *url)
{
    char *scheme = NULL;
    CURLU *parsed = curl_url();
    const char *fault = NULL;

    if (parsed == NULL)
        return "out of memory";
    if (curl_url_set(parsed, CURLUPART_URL, url, 0) != CURLUE_OK ||
        curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
        fault = "it is no URL with http:// or https://";
    else if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
        fault = "it begins neither with http:// nor with https://";
    curl_free(scheme);
    curl_url_cleanup(parsed);
    return fault;
}

struct hooks *hooks_new(const struct hooks_options *options)
{
    ELAPSE__ASSERT_THAT(options->concurrency, >, 0U);
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return NULL;
    struct hooks *hooks = allocate(sizeof *hooks);
    *hooks = (struct hooks){.options = options, .multi = curl_multi_init()};
    if (hooks->multi == NULL) {
        free(hooks);
        return NULL;
    }
    hooks->idle = allocate(options->concurrency * sizeof(struct hook *));
    (void)curl_multi_setopt(hooks->multi, CURLMOPT_MAXCONNECTS, (long)options->concurrency);
    return hooks;
}

static void free_hook(struct hook *hook)
{
    curl_slist_free_all(hook->headers);
    curl_easy_cleanup(hook->easy);
    free(hook);
}

void hooks_free(struct hooks *hooks)
{
    check(hooks);
    ELAPSE__ASSERT_THAT(hooks->active, ==, 0);
    while (hooks->idle_count > 0)
        free_hook(hooks->idle[--hooks->idle_count]);
    (void)curl_multi_cleanup(hooks->multi);
    free(hooks->idle);
    free(hooks);
    curl_global_cleanup();
}

/* ---- one request ---- */

/* Keeps the first line of the hook's answer. */
static size_t take_answer(char *bytes, size_t size, size_t count, void *context)
{
    struct hook *hook = context;

    for (size_t i = 0; i < size * count && !hook->line_ended; i++) {
        hook->line_ended = bytes[i] == '\n' || hook->line_length == sizeof hook->line - 1;
        if (!hook->line_ended && bytes[i] != '\r')
            hook->line[hook->line_length++] = bytes[i];
    }
    return size * count;
}

/* Sets the options that all requests have in common. */
static bool prepare(const struct hooks *hooks, struct hook *hook)
{
    static const char agent[] = "elapse/" ELAPSE_VERSION_TEXT;
    CURL *easy = hook->easy;
    long limit_ms = (long)hooks->options->limit_ms;

    return curl_easy_setopt(easy, CURLOPT_URL, hooks->options->url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, limit_ms) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_USERAGENT, agent) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, hook->error) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PRIVATE, hook) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, hook) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_answer) == CURLE_OK;
}

static struct hook *new_hook(const struct hooks *hooks)
{
    struct hook *hook = allocate(sizeof *hook);

    *hook = (struct hook){.easy = curl_easy_init()};
    if (hook->easy != NULL && prepare(hooks, hook))
        return hook;
    free_hook(hook);
    return NULL;
}

static bool append_line(void *context, const char *line)
{
    struct hook *hook = context;
    struct curl_slist *longer = curl_slist_append(hook->headers, line);

    if (longer == NULL)
        return false;
    hook->headers = longer;
    return true;
}

static bool add_header(struct hook *hook, struct elapse__buffer *line)
{
    bool is_added = append_line(hook, buffer_string(line));

    elapse__buffer_clear(line);
    return is_added;
}

static bool add_number(struct hook *hook, struct elapse__buffer *line, const char *name,
                       uint64_t number)
{
    buffer_add_format(line, "%s: %" PRIu64, name, number);
    return add_header(hook, line);
}

static bool add_text(struct hook *hook, struct elapse__buffer *line, const char *name,
                     const char *text, size_t length)
{
    buffer_add_format(line, "%s: ", name);
    signature_add_value(line, text, length);
    return add_header(hook, line);
}

static bool add_signature(const struct hooks *hooks, struct hook *hook, struct elapse__buffer *line,
                          const struct handed *handed)
{
    char signature[SIGNATURE_BYTES];
    uint64_t time_ms = elapse__os_wall_clock_ns() / 1000000;

    if (hooks->options->secret == NULL)
        return true;
    if (!signature_write(signature, hooks->options->secret, time_ms, handed) ||
        !add_number(hook, line, "Elapse-Time-Ms", time_ms))
        return false;
    buffer_add_format(line, "Elapse-Signature: %s", signature);
    return add_header(hook, line);
}

static bool add_headers(const struct hooks *hooks, struct hook *hook, const struct handed *handed)
{
    struct elapse__buffer line = {.bytes = NULL};

    buffer_add_format(&line, "Content-Type: %s", hooks->options->content_type);
    bool is_done =
        add_header(hook, &line) && add_number(hook, &line, "Elapse-Job-Id", handed->id) &&
        add_text(hook, &line, "Elapse-Tube", handed->tube, handed->tube_length) &&
        (handed->key == NULL ||
         add_text(hook, &line, "Elapse-Key", handed->key, handed->key_length)) &&
        add_number(hook, &line, "Elapse-Attempt", handed->attempt) &&
        add_number(hook, &line, "Elapse-Due-Ms", handed->due_ms) &&
        add_number(hook, &line, "Elapse-Missed", handed->missed) &&
        add_signature(hooks, hook, &line, handed) && headers_each_line(handed, append_line, hook);
    /* Without this, libcurl would ask the server whether it wants a long body, and wait for the
     * answer. */
    buffer_add_text(&line, "Expect:");
    is_done = is_done && add_header(hook, &line);
    elapse__buffer_free(&line);
    return is_done;
}

/* ---- requests ---- */

static void keep(struct hooks *hooks, struct hook *hook)
{
    curl_slist_free_all(hook->headers);
    hook->headers = NULL;
    ELAPSE__ASSERT_THAT(hooks->idle_count, <, hooks->options->concurrency);
    hooks->idle[hooks->idle_count++] = hook;
}

struct hook *hooks_start(struct hooks *hooks, const struct handed *handed, void *context)
{
    struct hook *hook = hooks->idle_count > 0 ? hooks->idle[--hooks->idle_count] : new_hook(hooks);

    if (hook == NULL)
        return NULL;
    hook->context = context;
    ELAPSE__ASSERT(hook->headers == NULL);
    hook->error[0] = '\0';
    hook->line_length = 0;
    hook->line_ended = false;
    curl_off_t length = (curl_off_t)handed->body_length;
    if (add_headers(hooks, hook, handed) &&
        curl_easy_setopt(hook->easy, CURLOPT_HTTPHEADER, hook->headers) == CURLE_OK &&
        curl_easy_setopt(hook->easy, CURLOPT_POSTFIELDSIZE_LARGE, length) == CURLE_OK &&
        curl_easy_setopt(hook->easy, CURLOPT_POSTFIELDS, handed->body) == CURLE_OK &&
        curl_multi_add_handle(hooks->multi, hook->easy) == CURLM_OK) {
        hooks->active++;
        check(hooks);
        return hook;
    }
    free_hook(hook);
    return NULL;
}

void hooks_stop(struct hooks *hooks, struct hook *hook)
{
    ELAPSE__ASSERT_THAT(hooks->active, >, 0);
    (void)curl_multi_remove_handle(hooks->multi, hook->easy);
    hooks->active--;
    keep(hooks, hook);
}

void hooks_wait(struct hooks *hooks, struct elapse__os_watch *watches, size_t count,
                uint64_t timeout_ns)
{
    struct curl_waitfd files[WATCHES_MAX];
    unsigned used = 0;
    int running;
    uint64_t timeout_ms = timeout_ns / 1000000 + (timeout_ns % 1000000 != 0);

    ELAPSE__ASSERT_THAT(count, <=, (size_t)WATCHES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (watches[i].file < 0)
            continue;
        int events = (watches[i].for_data ? CURL_WAIT_POLLIN : 0) |
                     (watches[i].for_room ? CURL_WAIT_POLLOUT : 0);
        files[used++] = (struct curl_waitfd){.fd = watches[i].file, .events = (short)events};
    }
    (void)curl_multi_perform(hooks->multi, &running);
    /* curl_multi_poll does not return for a request that has already ended. */
    if (running < hooks->active)
        timeout_ms = 0;
    (void)curl_multi_poll(hooks->multi, files, used,
                          timeout_ms < POLL_MS_MAX ? (int)timeout_ms : POLL_MS_MAX, NULL);
    (void)curl_multi_perform(hooks->multi, &running);
    /* Says that all files are ready, and the caller tries each of them. To find out which are ready
     * would cost as much. */
    for (size_t i = 0; i < count; i++)
        watches[i].ready = watches[i].file >= 0;
}

/* Returns why a request has failed, or NULL if it has not failed. */
static const char *describe(struct hooks *hooks, struct hook *hook, CURLcode result)
{
    long status = 0;

    if (result != CURLE_OK) {
        (void)snprintf(hooks->failure, sizeof hooks->failure, "%s",
                       hook->error[0] != '\0' ? hook->error : curl_easy_strerror(result));
        return hooks->failure;
    }
    (void)curl_easy_getinfo(hook->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)snprintf(hooks->failure, sizeof hooks->failure, "status %ld of HTTP", status);
    return status >= 200 && status < 300 ? NULL : hooks->failure;
}

/* Makes the text for the server: what the log says, and the first line of the answer. */
static void describe_more(struct hooks *hooks, struct hook *hook, bool has_answer)
{
    hook->line[hook->line_length] = '\0';
    bool shows_line = has_answer && hook->line_length > 0;
    (void)snprintf(hooks->error, sizeof hooks->error, "%s%s%s", hooks->failure,
                   shows_line ? ": " : "", shows_line ? hook->line : "");
}

const char *hooks_error(const struct hooks *hooks)
{
    return hooks->error;
}

/* Returns the milliseconds of the header Retry-After in an answer, or 0 if there is none. */
static uint64_t read_retry_after(struct hook *hook)
{
    curl_off_t seconds = 0;

    if (curl_easy_getinfo(hook->easy, CURLINFO_RETRY_AFTER, &seconds) != CURLE_OK || seconds < 0)
        return 0;
    return (uint64_t)(seconds < RETRY_AFTER_S_MAX ? seconds : RETRY_AFTER_S_MAX) * 1000;
}

void *hooks_take(struct hooks *hooks, const char **failure, uint64_t *after_ms)
{
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(hooks->multi, &left)) != NULL) {
        struct hook *hook = NULL;
        CURLcode result = message->data.result;
        if (message->msg != CURLMSG_DONE ||
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &hook) != CURLE_OK)
            continue;
        *failure = describe(hooks, hook, result);
        describe_more(hooks, hook, result == CURLE_OK);
        *after_ms = read_retry_after(hook);
        void *context = hook->context;
        hooks_stop(hooks, hook);
        return context;
    }
    return NULL;
}
