/*
 * Tests directories of partitions that are set aside and removed, when the system refuses
 * something or a name is taken.
 */
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../src/cluster/serve/base.h"
#include "../../../src/os/os.h"
#include "../../engine/store/directory.h"
#include "../../support/test.h"

static struct elapse__loop_options options;

/* A partition whose directory was left in epoch 7. */
static int set_up(void **state)
{
    struct elapse__cluster *cluster = calloc(1, sizeof *cluster);
    struct elapse__cluster_partition *partition = calloc(1, sizeof *partition);
    assert_non_null(cluster);
    assert_non_null(partition);
    options.directory = directory_make();
    cluster->service.loop.peers.logger.most = ELAPSE__LOGGER_ERROR;
    cluster->service.loop.options = &options;
    cluster->partitions = partition;
    cluster->partition_count = 1;
    (void)snprintf(partition->directory, sizeof partition->directory, "%s/part-0",
                   options.directory);
    partition->cluster = cluster;
    *state = partition;
    return elapse__os->lock_init(&partition->monitor.lock) + elapse__os_event_open(&cluster->event);
}

static int tear_down(void **state)
{
    struct elapse__cluster_partition *partition = *state;

    (void)elapse__os_close(partition->cluster->event);
    elapse__lock_free(&partition->monitor.lock);
    free(partition->cluster);
    free(partition);
    directory_remove();
    return 0;
}

static const char *path_of(const char *name)
{
    static char path[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES];

    (void)snprintf(path, sizeof path, "%s/%s", options.directory, name);
    return path;
}

static bool is_there(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

static void make_file(const char *name)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
}

/* Makes a directory with an empty journal. */
static void make_directory(const char *name)
{
    char journal[64];

    assert_int_equal(mkdir(path_of(name), 0700), 0);
    (void)snprintf(journal, sizeof journal, "%s/journal", name);
    assert_int_equal(mkdir(path_of(journal), 0700), 0);
}

static void make_aside(struct elapse__cluster_partition *partition)
{
    make_directory("part-0.left-7");
    (void)snprintf(partition->aside, sizeof partition->aside, "%s", path_of("part-0.left-7"));
    partition->is_aside = true;
}

static const char *last_line(const struct elapse__cluster_partition *partition)
{
    assert_int_not_equal(partition->notice_count, 0);
    return partition->notices[partition->notice_count - 1].text;
}

/* While the process has no descriptor left, the journal cannot be opened. */
static void remove_without_descriptors(struct elapse__cluster_partition *partition)
{
    struct rlimit before, none;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    elapse__cluster_remove_aside(partition);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_WITH(files_that_cannot_be_looked_at_stay, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;

    make_aside(partition);
    make_file("part-0.left-7/journal/aside-1-7");
    remove_without_descriptors(partition);
    assert_true(is_there("part-0.left-7/journal/aside-1-7"));
    assert_true(partition->is_aside); /* it is tried again */
    assert_non_null(strstr(last_line(partition), "part-0.left-7 cannot be given up"));
    elapse__cluster_remove_aside(partition);
    assert_true(is_there("part-0.left-7/journal/aside-1-7"));
    assert_non_null(strstr(last_line(partition), "yours to remove"));
}

TEST_WITH(files_that_the_log_has_are_removed, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;

    make_aside(partition);
    make_file("part-0.left-7/journal/1.log");
    elapse__cluster_remove_aside(partition);
    assert_false(is_there("part-0.left-7") || is_there("part-0.gone") || partition->is_aside);
}

TEST_MAIN("aside")
