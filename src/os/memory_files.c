/*
 * Implements the table of files.h in memory. Each file is an anonymous file of the system (memfd),
 * and a table here has the names. So files in memory are read and written like other files. When
 * they are closed, the system frees their memory.
 */
#include "memory_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/assert.h"

enum {
    NAME_BYTES = 64,
    DIRECTORIES_MAX = 1 << 20,
    FIRST_DIRECTORY = 1 << 30, /* numbers of directories are greater than all descriptors */
    FILL_AT_ONCE = 1 << 20,
};

struct name {
    char text[NAME_BYTES];
    int file;
};

struct directory {
    char *path; /* NULL: this place is free */
    struct name *names;
    size_t count, capacity;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct directory *directories;
static size_t directory_count;
static uint64_t paths_given;

static void take(void)
{
    if (pthread_mutex_lock(&mutex) != 0)
        abort();
}

static void release(void)
{
    if (pthread_mutex_unlock(&mutex) != 0)
        abort();
}

/* ---- names; all require the mutex ---- */

static struct directory *directory_at(int number)
{
    ELAPSE__ASSERT_THAT(number, >=, FIRST_DIRECTORY);
    ELAPSE__ASSERT_THAT((size_t)(number - FIRST_DIRECTORY), <, directory_count);
    ELAPSE__ASSERT(directories[number - FIRST_DIRECTORY].path != NULL); /* it is not forgotten */
    return &directories[number - FIRST_DIRECTORY];
}

static struct directory *find_directory(const char *path)
{
    for (size_t i = 0; i < directory_count; i++)
        if (directories[i].path != NULL && strcmp(directories[i].path, path) == 0)
            return &directories[i];
    return NULL;
}

static struct directory *free_directory(void)
{
    for (size_t i = 0; i < directory_count; i++)
        if (directories[i].path == NULL)
            return &directories[i];
    if (directory_count == DIRECTORIES_MAX)
        return NULL;
    struct directory *more = realloc(directories, (directory_count + 1) * sizeof *directories);
    if (more == NULL)
        return NULL;
    directories = more;
    directories[directory_count] = (struct directory){.path = NULL};
    return &directories[directory_count++];
}

static struct name *find(const struct directory *directory, const char *text)
{
    for (size_t i = 0; i < directory->count; i++)
        if (strcmp(directory->names[i].text, text) == 0)
            return &directory->names[i];
    return NULL;
}

/* Adds a name with a new file. */
static int add(struct directory *directory, const char *text, struct name **added)
{
    ELAPSE__ASSERT(find(directory, text) == NULL);
    ELAPSE__ASSERT_THAT(directory->count, <=, directory->capacity);
    if (strlen(text) >= NAME_BYTES)
        return ENAMETOOLONG;
    if (directory->count == directory->capacity) {
        size_t capacity = directory->capacity == 0 ? 16 : 2 * directory->capacity;
        struct name *more = realloc(directory->names, capacity * sizeof *more);
        if (more == NULL)
            return ENOMEM;
        directory->names = more;
        directory->capacity = capacity;
    }
    int file = memfd_create(text, MFD_CLOEXEC);
    if (file < 0)
        return errno;
    *added = &directory->names[directory->count++];
    **added = (struct name){.file = file};
    memcpy((*added)->text, text, strlen(text));
    return 0;
}

static void drop(struct directory *directory, struct name *name)
{
    ELAPSE__ASSERT(name >= directory->names && name < directory->names + directory->count);
    (void)close(name->file);
    *name = directory->names[--directory->count];
}

static void forget_directory(struct directory *directory)
{
    while (directory->count > 0)
        drop(directory, directory->names);
    free(directory->names);
    free(directory->path);
    *directory = (struct directory){.path = NULL};
}

void elapse__memory_path(char path[ELAPSE__MEMORY_PATH_BYTES])
{
    take();
    uint64_t number = ++paths_given;
    release();
    (void)snprintf(path, ELAPSE__MEMORY_PATH_BYTES, "memory-%" PRIu64, number);
    ELAPSE__ASSERT_THAT(strlen(path) + 1, <, ELAPSE__MEMORY_PATH_BYTES); /* it was not cut */
}

void elapse__memory_forget(const char *path)
{
    size_t length = strlen(path);

    ELAPSE__ASSERT_THAT(length, >, 0); /* an empty path would take every absolute path with it */
    take();
    for (size_t i = 0; i < directory_count; i++) {
        const char *found = directories[i].path;
        if (found != NULL && strncmp(found, path, length) == 0 &&
            (found[length] == '\0' || found[length] == '/'))
            forget_directory(&directories[i]);
    }
    release();
}

/* ---- the table ---- */

static int make_directory(const char *path)
{
    (void)path;
    return 0;
}

static int open_directory(const char *path, int *number)
{
    int error = 0;

    take();
    struct directory *directory = find_directory(path);
    if (directory == NULL) {
        directory = free_directory();
        if (directory != NULL)
            directory->path = strdup(path);
        if (directory == NULL || directory->path == NULL)
            error = ENOMEM;
    }
    ELAPSE__ASSERT(error != 0 || find_directory(path) == directory);
    if (error == 0)
        *number = FIRST_DIRECTORY + (int)(directory - directories);
    release();
    return error;
}

static int list_names(int number, int (*each)(void *context, const char *name), void *context)
{
    int error = 0;

    for (size_t i = 0; error == 0; i++) {
        char text[NAME_BYTES] = "";
        take();
        bool is_end = i >= directory_at(number)->count;
        if (!is_end)
            memcpy(text, directory_at(number)->names[i].text, sizeof text);
        release();
        if (is_end)
            break;
        error = each(context, text);
    }
    return error;
}

/* Opens the file with this name. If it does not exist, makes it if `makes`, or fails. Requires the
 * mutex. */
static int open_name(struct directory *directory, const char *text, bool makes, int *file)
{
    struct name *name = find(directory, text);
    bool is_new = name == NULL;
    int error = !is_new ? 0 : makes ? add(directory, text, &name) : ENOENT;

    if (error != 0)
        return error;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without an error there is a name */
    *file = fcntl(name->file, F_DUPFD_CLOEXEC, 0);
    ELAPSE__ASSERT(*file < FIRST_DIRECTORY); /* close_file tells files and directories apart so */
    if (*file >= 0)
        return 0;
    error = errno;
    if (is_new)
        drop(directory, name);
    return error;
}

static int open_file(int number, const char *text, enum elapse__file_mode mode, int *file)
{
    bool makes = mode == ELAPSE__FILE_CREATE || mode == ELAPSE__FILE_ENSURE;
    int error = EEXIST;

    take();
    struct directory *directory = directory_at(number);
    if (mode != ELAPSE__FILE_CREATE || find(directory, text) == NULL)
        error = open_name(directory, text, makes, file);
    release();
    return error;
}

static void close_file(int file)
{
    ELAPSE__ASSERT(file >= 0);
    if (file < FIRST_DIRECTORY)
        (void)close(file);
}

static int read_at(int file, uint64_t offset, void *bytes, size_t count, size_t *done)
{
    ELAPSE__ASSERT(file < FIRST_DIRECTORY);
    return elapse__files_linux.read_at(file, offset, bytes, count, done);
}

static int write_at(int file, uint64_t offset, const void *bytes, size_t count, size_t *done)
{
    ELAPSE__ASSERT(file < FIRST_DIRECTORY);
    return elapse__files_linux.write_at(file, offset, bytes, count, done);
}

/* Takes the memory for a part of a file. The system returns zeros for a part without memory, so
 * nothing is written. What was there before goes back first. */
static int fill(int file, uint64_t offset, uint64_t count, size_t *done)
{
    ELAPSE__ASSERT_THAT(count, >, 0);
    size_t piece = count < FILL_AT_ONCE ? (size_t)count : (size_t)FILL_AT_ONCE;
    int error;

    do
        error = fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
                          (off_t)piece) == 0 &&
                        fallocate(file, 0, (off_t)offset, (off_t)piece) == 0
                    ? 0
                    : errno;
    while (error == EINTR);
    *done = error == 0 ? piece : 0;
    return error;
}

static void read_ahead(int file, uint64_t offset, uint64_t count)
{
    (void)file;
    (void)offset;
    (void)count;
}

static int sync_nothing(int file)
{
    (void)file;
    return 0;
}

static int rename_file(int number, const char *from, const char *to)
{
    int error = 0;

    take();
    struct directory *directory = directory_at(number);
    struct name *target = find(directory, to);
    struct name *source = find(directory, from);
    if (source == NULL)
        error = ENOENT;
    else if (strlen(to) >= NAME_BYTES)
        error = ENAMETOOLONG;
    if (error == 0) {
        memset(source->text, 0, sizeof source->text);
        memcpy(source->text, to, strlen(to));
        if (target != NULL && target != source)
            drop(directory, target);
        ELAPSE__ASSERT(find(directory, to) != NULL);
        ELAPSE__ASSERT(find(directory, from) == NULL || strcmp(from, to) == 0);
    }
    release();
    return error;
}

static int unlink_file(int number, const char *text)
{
    take();
    struct directory *directory = directory_at(number);
    struct name *name = find(directory, text);
    if (name != NULL)
        drop(directory, name);
    ELAPSE__ASSERT(find(directory, text) == NULL); /* no name stands there twice */
    release();
    return name == NULL ? ENOENT : 0;
}

static int link_file(int number, const char *name, int to_number, const char *to)
{
    (void)number;
    (void)name;
    (void)to_number;
    (void)to;
    return ENOTSUP;
}

static int status_of(int file, struct elapse__file_status *status)
{
    struct stat found;

    if (fstat(file, &found) != 0)
        return errno;
    *status = (struct elapse__file_status){.bytes = (uint64_t)found.st_size, .links = 1};
    return 0;
}

const struct elapse__files elapse__files_in_memory = {
    .make_directory = make_directory,
    .open_directory = open_directory,
    .list = list_names,
    .open = open_file,
    .close = close_file,
    .read_at = read_at,
    .write_at = write_at,
    .fill = fill,
    .read_cached = read_at, /* memory is always ready */
    .read_ahead = read_ahead,
    .sync = sync_nothing,
    .sync_directory = sync_nothing,
    .rename = rename_file,
    .unlink = unlink_file,
    .link = link_file,
    .status = status_of,
    .lock = sync_nothing,
    .page_bytes = 0,
};
