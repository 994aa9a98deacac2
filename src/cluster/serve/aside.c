/*
 * Sets directories of partitions aside, and removes them (src/cluster/ownership/give_up.h says
 * when).
 *
 *      part-N --set aside--> part-N.left-EPOCH --removed--> part-N.gone --> nothing
 *
 * If part-N.left-EPOCH is there, as with files that an operator has to remove, the name is
 * part-N.left-EPOCH-2, and so on. A directory with the last name is about to be removed, and may
 * lack files. So the next start removes what a crash has left of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "base.h"

enum { NAMES_MAX = 100 }; /* of directories that were left in one epoch */

static const char aside_word[] = ".left-", gone_word[] = ".gone";

static const char *outer_of(const struct elapse__cluster *cluster)
{
    return elapse__cluster_options(cluster)->directory;
}

/* Returns when the disk has the names in the node's directory. */
static int sync_outer(const struct elapse__cluster *cluster)
{
    int directory;
    int error = elapse__files_linux.open_directory(outer_of(cluster), &directory);

    if (error != 0)
        return error;
    error = elapse__files_linux.sync_directory(directory);
    elapse__files_linux.close(directory);
    return error;
}

static void complain(struct elapse__cluster_partition *partition, const char *path, int error)
{
    elapse__cluster_partition_say(partition, ELAPSE__LOGGER_WARNING,
                                  "partition %" PRIu32 ": %s cannot be given up: %s",
                                  partition->number, path, elapse__os_error_text(error));
}

/* ---- setting aside ---- */

struct elapse__cluster_files
elapse__cluster_files(const struct elapse__cluster_partition *partition, unsigned kind)
{
    bool is_aside = kind == ELAPSE__CLUSTER_FILES_ASIDE;
    const struct elapse__store_left *left = is_aside ? &partition->aside_left : &partition->left;
    const struct elapse__store_witness *known = &left->known;
    struct elapse__cluster_files files = {
        .has_files = is_aside ? partition->is_aside : partition->is_left,
        .number = is_aside ? partition->aside_number : partition->files_number,
        .end = {{left->end_group, left->end_hash},
                left->memory.seen_epoch,
                left->memory.system_identifier,
                left->memory.timeline},
    };

    ELAPSE__ASSERT_THAT(kind, <, ELAPSE__CLUSTER_FILES);
    if (known->group > left->end_group)
        files.end = (struct elapse__partition_witness){{known->group, known->hash},
                                                       known->epoch,
                                                       known->system_identifier,
                                                       (uint32_t)known->timeline};
    return files;
}

/* Writes into a directory which place continues its end now, if that is known. */
static int note_continued(const struct elapse__cluster_partition *partition, unsigned kind,
                          const char *directory, struct elapse__store_left *left)
{
    const struct elapse__cluster_seen_files *seen = &partition->seen_files[kind];
    const struct elapse__cluster_files files = elapse__cluster_files(partition, kind);
    const struct elapse__partition_witness *place = &seen->continued;

    if (!files.has_files || !seen->is_continued ||
        !elapse__cluster_are_same_files(&files, &seen->files) ||
        place->place.group <= files.end.place.group)
        return 0;
    left->known =
        (struct elapse__store_witness){place->place.group, place->place.hash, place->epoch,
                                       place->system_identifier, place->timeline};
    return elapse__store_remember_left(&elapse__files_linux, directory, left);
}

/* Writes the name that a directory gets which was left in this epoch. The first number is 1. */
static int name_aside(const struct elapse__cluster_partition *partition, uint64_t epoch,
                      unsigned number, char path[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES])
{
    char suffix[16] = "";

    if (number > 1)
        (void)snprintf(suffix, sizeof suffix, "-%u", number);
    int size = snprintf(path, ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES, "%s%s%" PRIu64 "%s",
                        partition->directory, aside_word, epoch, suffix);
    return size > 0 && size < ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES ? 0 : ENAMETOOLONG;
}

/* Renames the directory to the first such name that is free, and stores the name. A name is taken
 * if an operator has not removed the directory that has it, and the node has left the partition
 * twice in one epoch. */
static int rename_aside(const struct elapse__cluster_partition *partition, uint64_t epoch,
                        char path[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES])
{
    int error = EEXIST;

    for (unsigned number = 1; number <= NAMES_MAX && (error == EEXIST || error == ENOTEMPTY);
         number++) {
        error = name_aside(partition, epoch, number, path);
        if (error == 0)
            error = elapse__os_rename(partition->directory, path);
    }
    return error;
}

void elapse__cluster_set_aside(struct elapse__cluster_partition *partition)
{
    const char *directory = partition->directory;
    char path[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES] = "";
    struct elapse__store_left left = partition->left;

    ELAPSE__ASSERT(partition->is_left);
    ELAPSE__ASSERT(partition->store == NULL && partition->runner == NULL);
    int error = note_continued(partition, ELAPSE__CLUSTER_FILES_LEFT, directory, &left);
    if (error == 0)
        error = rename_aside(partition, left.memory.seen_epoch, path);
    if (error != 0) {
        elapse__cluster_partition_say(partition, ELAPSE__LOGGER_WARNING,
                                      "partition %" PRIu32 ": %s cannot be set aside%s%s: %s",
                                      partition->number, directory, path[0] == '\0' ? "" : " as ",
                                      path, elapse__os_error_text(error));
        return;
    }
    (void)sync_outer(partition->cluster); /* after a crash the old name is as good */
    memcpy(partition->aside, path, sizeof partition->aside);
    partition->aside_left = left;
    partition->aside_number = partition->files_number;
    partition->is_aside = true;
    partition->is_left = false;
    elapse__cluster_partition_say(partition, ELAPSE__LOGGER_NOTICE,
                                  "partition %" PRIu32
                                  ": the files of this node's copy are set aside as %s: the log "
                                  "continues them, and other nodes have copies",
                                  partition->number, partition->aside);
}

/* ---- removing ---- */

/* Removes what is in a directory. `remove_inner` is called for a directory in it. */
struct removal {
    const char *path;
    int directory;
    bool is_inner;
};

static int remove_directory(const char *path, bool is_inner);

static int remove_name(void *context, const char *name)
{
    const struct removal *removal = context;
    char inner[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES];
    int error = elapse__files_linux.unlink(removal->directory, name);

    if (error != EISDIR || removal->is_inner)
        return error;
    int size = snprintf(inner, sizeof inner, "%s/%s", removal->path, name);
    return size > 0 && (size_t)size < sizeof inner ? remove_directory(inner, true) : ENAMETOOLONG;
}

/* Removes a directory with its files, and with the directories in it, which have only files. */
static int remove_directory(const char *path, bool is_inner) /* NOLINT(misc-no-recursion): once */
{
    struct removal removal = {.path = path, .is_inner = is_inner};
    int error = elapse__files_linux.open_directory(path, &removal.directory);

    if (error != 0)
        return error;
    error = elapse__files_linux.list(removal.directory, remove_name, &removal);
    elapse__files_linux.close(removal.directory);
    return error == 0 ? elapse__os_remove(path) : error;
}

/* Stores the name that the partition's directory has while it is removed. */
static int name_gone(const struct elapse__cluster_partition *partition,
                     char path[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES])
{
    int size = snprintf(path, ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES, "%s%s",
                        partition->directory, gone_word);
    return size > 0 && size < ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES ? 0 : ENAMETOOLONG;
}

static int look_for_unconfirmed(void *context, const char *name)
{
    bool *is_found = context;

    *is_found = *is_found || strncmp(name, "aside-", strlen("aside-")) == 0;
    return 0;
}

/* Stores whether the journal has groups beside it that were put aside (log.h of the journal).
 * Returns 0, also if there is no journal, or an error number: then nobody knows. */
static int find_unconfirmed(const char *aside, bool *is_found)
{
    char path[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES + sizeof "/journal"];
    int directory;

    *is_found = false;
    (void)snprintf(path, sizeof path, "%s/journal", aside);
    int error = elapse__files_linux.open_directory(path, &directory);
    if (error != 0)
        return error == ENOENT ? 0 : error;
    error = elapse__files_linux.list(directory, look_for_unconfirmed, is_found);
    elapse__files_linux.close(directory);
    return error;
}

void elapse__cluster_remove_aside(struct elapse__cluster_partition *partition)
{
    char path[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES];
    bool has_unconfirmed;

    ELAPSE__ASSERT(partition->is_aside);
    int error = find_unconfirmed(partition->aside, &has_unconfirmed);
    if (error != 0) {
        complain(partition, partition->aside, error);
        return;
    }
    if (has_unconfirmed) {
        partition->is_aside = false;
        elapse__cluster_partition_say(
            partition, ELAPSE__LOGGER_WARNING,
            "partition %" PRIu32 ": %s stays, and is yours to remove: its files journal/aside-* "
            "have commands that were never confirmed",
            partition->number, partition->aside);
        return;
    }
    error = name_gone(partition, path);
    if (error == 0)
        error = elapse__os_rename(partition->aside, path);
    /* An earlier call may have failed behind the rename, or an operator has removed it. */
    if (error == 0 || error == ENOENT)
        error = sync_outer(partition->cluster); /* before files are missing in it */
    if (error == 0)
        error = remove_directory(path, false);
    if (error != 0 && error != ENOENT) {
        complain(partition, partition->aside, error);
        return;
    }
    partition->is_aside = false;
    elapse__cluster_partition_say(partition, ELAPSE__LOGGER_NOTICE,
                                  "partition %" PRIu32 ": %s is removed: the log continues its "
                                  "files, and other nodes have copies",
                                  partition->number, partition->aside);
}

/* ---- the beginning and the end ---- */

/* Reads digits. Returns false if there are none, or a number that is too large. */
static bool read_digits(const char **text, uint64_t *number)
{
    char *end = NULL;

    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *number = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

/* Returns whether a name of a directory is of a later one than that which was found before. In one
 * epoch the later name is longer, or the greater one. */
static bool is_later(const struct elapse__cluster_partition *partition, const char *path,
                     uint64_t epoch)
{
    const uint64_t found = partition->aside_left.memory.seen_epoch;
    const size_t length = strlen(path), before = strlen(partition->aside);

    if (!partition->is_aside || epoch != found)
        return !partition->is_aside || epoch > found;
    return length != before ? length > before : strcmp(path, partition->aside) > 0;
}

/* The latest directory counts: earlier ones were there when it was set aside, so an operator has to
 * remove them. */
static void find_aside(struct elapse__cluster_partition *partition, const char *name,
                       uint64_t epoch)
{
    char path[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES];
    struct elapse__store_left left;
    bool is_left = false;
    int size = snprintf(path, sizeof path, "%s/%s", outer_of(partition->cluster), name);

    if (size < 0 || (size_t)size >= sizeof path || !is_later(partition, path, epoch))
        return;
    int error = elapse__store_recall_left(&elapse__files_linux, path, &left, &is_left);
    if (error != 0 || !is_left)
        return; /* other ones are left to the operator */
    memcpy(partition->aside, path, sizeof partition->aside);
    partition->aside_left = left;
    partition->is_aside = true;
}

static void remove_gone(struct elapse__cluster_partition *partition)
{
    char path[ELAPSE__CLUSTER_PARTITION_DIRECTORY_BYTES];
    int error = name_gone(partition, path);

    if (error == 0)
        error = remove_directory(path, false);
    if (error != 0)
        complain(partition, path, error);
}

static int look_at_name(void *context, const char *name)
{
    struct elapse__cluster *cluster = context;
    static const char first[] = "part-";
    const char *rest = name + strlen(first);
    uint64_t number, epoch;

    if (strncmp(name, first, strlen(first)) != 0 || !read_digits(&rest, &number) ||
        number >= cluster->partition_count)
        return 0;
    struct elapse__cluster_partition *partition = &cluster->partitions[number];
    if (strcmp(rest, gone_word) == 0)
        remove_gone(partition);
    if (strncmp(rest, aside_word, strlen(aside_word)) != 0)
        return 0;
    rest += strlen(aside_word);
    if (read_digits(&rest, &epoch) &&
        (*rest == '\0' || (*rest++ == '-' && read_digits(&rest, &number) && *rest == '\0')))
        find_aside(partition, name, epoch);
    return 0;
}

void elapse__cluster_find_aside(struct elapse__cluster *cluster)
{
    int directory;
    int error = elapse__files_linux.open_directory(outer_of(cluster), &directory);

    if (error == 0) {
        error = elapse__files_linux.list(directory, look_at_name, cluster);
        elapse__files_linux.close(directory);
    }
    if (error != 0)
        elapse__logger(elapse__cluster_logger(cluster), ELAPSE__LOGGER_WARNING,
                       ELAPSE__EVENT_CLUSTER, "%s: %s", outer_of(cluster),
                       elapse__os_error_text(error));
}

void elapse__cluster_note_continued(struct elapse__cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->partition_count; i++) {
        struct elapse__cluster_partition *partition = &cluster->partitions[i];
        ELAPSE__ASSERT(!partition->has_copier && !partition->has_remover);
        int error = note_continued(partition, ELAPSE__CLUSTER_FILES_LEFT, partition->directory,
                                   &partition->left);
        if (error == 0)
            error = note_continued(partition, ELAPSE__CLUSTER_FILES_ASIDE, partition->aside,
                                   &partition->aside_left);
        if (error != 0)
            complain(partition, partition->directory, error);
    }
}
