/*
 * elapse cluster status: looks at the partitions for a lease, or until every row has changed.
 */
#include <errno.h>
#include <stdlib.h>

#include "../../base/assert.h"
#include "../../os/files.h"
#include "../../os/program.h"
#include "../common/output.h"
#include "cluster.h"

#define NS_PER_MS UINT64_C(1000000)
#define LOOK_NS   (100 * NS_PER_MS)

bool cluster_has_directory(const char *path)
{
    int directory;
    int error = elapse__files_linux.open_directory(path, &directory);

    if (error == 0)
        elapse__files_linux.close(directory);
    return error != ENOENT;
}

enum exit_status cluster_refused(const struct elapse__schema_why *why)
{
    ELAPSE__ASSERT(why->text[0] != '\0');
    print_error("%s", why->text);
    if (why->has_none)
        return STATUS_GONE;
    return why->is_connected ? STATUS_FAILED : STATUS_NO_SERVER;
}

static struct elapse__status_session *open_session(const struct cluster_options *options,
                                                   struct elapse__schema_why *why)
{
    struct elapse__status_session *session = NULL;

    for (size_t i = 0; i < options->host_count && session == NULL && !why->is_connected; i++)
        session = elapse__status_open(options->hosts[i], options->queue, why);
    return session;
}

static bool all_live(const struct elapse__status *status, const struct cluster_watched *watched)
{
    bool live = true;

    for (uint32_t partition = 0; partition < status->queue.partitions && live; partition++)
        live = cluster_watch_lives(&watched[partition], &status->partitions[partition]);
    return live;
}

/* Looks again and again, for a lease and a quarter, because time passes between looks. */
static bool watch(struct elapse__status_session *session, struct elapse__status *status,
                  struct cluster_watched *watched, struct elapse__schema_why *why)
{
    uint64_t begin_ns = elapse__os_monotonic_ns();
    uint64_t limit_ns = status->queue.lease_ms * NS_PER_MS * 5 / 4;

    ELAPSE__ASSERT_THAT(limit_ns, >, 0U);
    for (uint32_t partition = 0; partition < status->queue.partitions; partition++)
        cluster_watch_first(&watched[partition], &status->partitions[partition], begin_ns);
    while (!all_live(status, watched) && elapse__os_monotonic_ns() - begin_ns < limit_ns) {
        struct elapse__os_watch nothing = {.file = -1};
        (void)elapse__os_wait(&nothing, 1, LOOK_NS);
        if (!elapse__status_look(session, status, why))
            return false;
        for (uint32_t partition = 0; partition < status->queue.partitions; partition++)
            cluster_watch_next(&watched[partition], &status->partitions[partition],
                               elapse__os_monotonic_ns());
    }
    return true;
}

static enum exit_status print(const struct cluster_options *options,
                              const struct elapse__status *status,
                              const struct cluster_watched *watched)
{
    if (options->json) {
        cluster_add_json(output_begin_json(), options->queue, status, watched);
        output_end_json();
    } else {
        struct elapse__buffer text = {.bytes = NULL};
        cluster_add_text(&text, options->queue, status, watched);
        output_add_buffer(&text);
        elapse__buffer_free(&text);
    }
    enum exit_status result = output_finish();
    return result == STATUS_OK && !all_live(status, watched) ? STATUS_FAILED : result;
}

enum exit_status cluster_status(const struct cluster_options *options)
{
    struct elapse__schema_why why = {.is_connected = false};
    struct elapse__status status = {.partitions = NULL};
    enum exit_status result = STATUS_OK;

    ELAPSE__ASSERT_THAT(options->host_count, >, 0U);
    struct elapse__status_session *session = open_session(options, &why);
    if (session == NULL)
        return cluster_refused(&why);
    struct cluster_watched *watched = NULL;
    bool is_seen = elapse__status_look(session, &status, &why);
    if (is_seen) {
        ELAPSE__ASSERT_THAT(status.queue.partitions, >, 0U);
        watched = allocate(status.queue.partitions * sizeof *watched);
        is_seen = watch(session, &status, watched, &why);
    }
    result = is_seen ? print(options, &status, watched) : cluster_refused(&why);
    free(watched);
    elapse__status_free(&status);
    elapse__status_close(session);
    return result;
}
