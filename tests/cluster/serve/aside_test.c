/*
 * Tests directories of partitions that are set aside and removed, when the system refuses
 * something or a name is taken.
 */
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../src/cluster/serve/copies.h"
#include "../../../src/cluster/serve/core.h"
#include "../../../src/engine/store/remember.h"
#include "../../../src/os/os.h"
#include "../../../src/os/program.h"
#include "../../engine/store/directory.h"
#include "../../support/test.h"

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
void __wrap_elapse__cluster_partition_tell(struct elapse__cluster_partition *partition);

/* There is no router to tell. */
void __wrap_elapse__cluster_partition_tell(struct elapse__cluster_partition *partition)
{
    (void)partition;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static struct elapse__loop_options options;
static struct elapse__balance_row row;

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
    cluster->queue.lease_ms = 20;
    cluster->nodes.rows = &row;
    cluster->nodes.errand.is_running = true;
    assert_int_equal(elapse__os->lock_init(&cluster->nodes.errand.monitor.lock), 0);
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
    elapse__lock_free(&partition->cluster->nodes.errand.monitor.lock);
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

/* Makes the directory of a partition that was opened, and left in this epoch. */
static void leave(struct elapse__cluster_partition *partition, uint64_t epoch)
{
    make_directory("part-0");
    partition->files_number += 2; /* one copier opened it, and one closed it */
    partition->left = (struct elapse__store_left){.memory.seen_epoch = epoch};
    partition->is_left = true;
}

TEST_WITH(a_name_that_is_taken_is_not_waited_for, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;

    for (unsigned i = 0; i < 3; i++) {
        leave(partition, 7);
        elapse__cluster_set_aside(partition);
        assert_false(is_there("part-0") || partition->is_left);
        assert_true(partition->is_aside);
        partition->is_aside = i == 2; /* the first two stay, and are the operator's */
    }
    assert_true(is_there("part-0.left-7") && is_there("part-0.left-7-2"));
    assert_string_equal(partition->aside, path_of("part-0.left-7-3"));
    elapse__cluster_remove_aside(partition);
    assert_true(is_there("part-0.left-7") && is_there("part-0.left-7-2"));
    assert_false(is_there("part-0.left-7-3"));
}

TEST_WITH(a_line_has_the_name_that_a_directory_cannot_get, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;

    partition->is_left = true; /* but there is no directory */
    partition->left.memory.seen_epoch = 7;
    elapse__cluster_set_aside(partition);
    assert_true(partition->is_left && !partition->is_aside);
    assert_non_null(strstr(last_line(partition), "part-0 cannot be set aside as "));
    assert_non_null(strstr(last_line(partition), "part-0.left-7: "));
}

/* Writes what the next life needs to know of a directory that was set aside. */
static void make_found(const char *name, uint64_t epoch)
{
    const struct elapse__store_memory memory = {.genesis = 1, .seen_epoch = epoch};
    const struct elapse__store_left left = {.end_group = epoch};

    make_directory(name);
    assert_int_equal(elapse__store_remember(&elapse__files_linux, path_of(name), &memory), 0);
    assert_int_equal(elapse__store_remember_left(&elapse__files_linux, path_of(name), &left), 0);
}

TEST_WITH(the_latest_directory_is_found, set_up, tear_down)
{
    static const char *const names[] = {"part-0.left-10",   "part-0.left-9",
                                        "part-0.left-9-3",  "part-0.left-10-2",
                                        "part-0.left-10-9", "part-0.left-10-10"};
    struct elapse__cluster_partition *partition = *state;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        make_found(names[i], i == 1 || i == 2 ? 9 : 10);
    make_directory("part-0.left-11"); /* nobody has compared it */
    make_found("part-0.left-12-", 12);
    make_found("part-0.left-12-2x", 12);
    elapse__cluster_find_aside(partition->cluster);
    assert_true(partition->is_aside);
    assert_string_equal(partition->aside, path_of("part-0.left-10-10"));
    assert_true(partition->aside_left.end_group == 10);
}

/* Tells the loop's side what the database says of the files. */
static void decide(struct elapse__cluster_partition *partition, unsigned kind, bool is_given_up,
                   bool stays)
{
    partition->seen_files[kind] = (struct elapse__cluster_seen_files){
        .files = elapse__cluster_files(partition, kind),
        .is_given_up = is_given_up,
        .stays = stays,
    };
}

/* Looks at the copies, and waits until what begins is done. */
static void look(struct elapse__cluster_partition *partition)
{
    struct elapse__os_watch nothing = {.file = -1};

    partition->next_give_up_ms = 0;
    do {
        elapse__cluster_copies_look(partition->cluster);
        (void)elapse__os_wait(&nothing, 1, 1000000);
    } while (partition->copy == ELAPSE__CLUSTER_SETS_ASIDE);
}

/* The log may be trimmed behind the end of the files meanwhile: then nothing could be compared. */
TEST_WITH(what_continues_the_files_is_still_known_when_they_are_aside, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;

    leave(partition, 8);
    partition->copy = ELAPSE__CLUSTER_HAS_NO_COPY;
    decide(partition, ELAPSE__CLUSTER_FILES_LEFT, true, false);
    partition->seen_files[ELAPSE__CLUSTER_FILES_LEFT].is_continued = true;
    partition->seen_files[ELAPSE__CLUSTER_FILES_LEFT].continued =
        (struct elapse__partition_witness){.place = {.group = 40, .hash = 4}, .epoch = 8};
    look(partition);
    assert_true(partition->is_aside);
    assert_int_equal(partition->aside_left.known.group, 40);
    assert_int_equal(elapse__cluster_files(partition, ELAPSE__CLUSTER_FILES_ASIDE).end.place.group,
                     40);
}

TEST_WITH(files_that_stay_block_no_others, set_up, tear_down)
{
    struct elapse__cluster_partition *partition = *state;

    make_aside(partition);
    leave(partition, 8);
    partition->copy = ELAPSE__CLUSTER_HAS_NO_COPY;
    decide(partition, ELAPSE__CLUSTER_FILES_LEFT, true, false);
    decide(partition, ELAPSE__CLUSTER_FILES_ASIDE, false, false);
    look(partition);
    assert_true(partition->is_left); /* the others are removed first */
    decide(partition, ELAPSE__CLUSTER_FILES_ASIDE, false, true);
    look(partition);
    assert_false(partition->is_left);
    assert_true(is_there("part-0.left-7") && is_there("part-0.left-8"));
    const struct elapse__cluster_files now =
        elapse__cluster_files(partition, ELAPSE__CLUSTER_FILES_ASIDE);
    assert_false(elapse__cluster_are_same_files(
        &now, &partition->seen_files[ELAPSE__CLUSTER_FILES_ASIDE].files));
    leave(partition, 9);
    decide(partition, ELAPSE__CLUSTER_FILES_LEFT, true, false);
    look(partition);
    assert_true(partition->is_left); /* the answer was about other files */
}

TEST_MAIN("aside")
