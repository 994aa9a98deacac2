/*
 * Each file is an anonymous one of the system (memfd), and the names are a table here. So reading
 * and writing is what it is for other files, and the system releases the memory.
 */
#include "memory_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NAMES_MAX = 1 << 20,
    NAME_BYTES = 64,
    DIRECTORIES_MAX = 16,
    FIRST_DIRECTORY = 1 << 30, /* above all descriptors */
};

struct name {
    char text[NAME_BYTES];
    int directory;
    int file;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *directories[DIRECTORIES_MAX];
static struct name *names;
static size_t name_count, name_capacity;

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

static struct name *find(int directory, const char *text)
{
    for (size_t i = 0; i < name_count; i++)
        if (names[i].directory == directory && strcmp(names[i].text, text) == 0)
            return &names[i];
    return NULL;
}

static int make_directory(const char *path)
{
    (void)path;
    return 0;
}

static int open_directory(const char *path, int *directory)
{
    int error = EMFILE;

    take();
    for (int i = 0; i < DIRECTORIES_MAX && error == EMFILE; i++) {
        if (directories[i] == NULL)
            directories[i] = strdup(path);
        if (directories[i] == NULL)
            error = ENOMEM;
        else if (strcmp(directories[i], path) == 0)
            error = 0;
        *directory = FIRST_DIRECTORY + i;
    }
    release();
    return error;
}

static int list(int directory, int (*each)(void *context, const char *name), void *context)
{
    int error = 0;

    for (size_t i = 0; error == 0; i++) {
        char text[NAME_BYTES] = "";
        take();
        bool is_end = i >= name_count;
        if (!is_end && names[i].directory == directory)
            memcpy(text, names[i].text, sizeof text);
        release();
        if (is_end)
            break;
        if (text[0] != '\0')
            error = each(context, text);
    }
    return error;
}

/* Adds a name with a new file. Requires the mutex. */
static int add(int directory, const char *text, struct name **added)
{
    if (strlen(text) >= NAME_BYTES)
        return ENAMETOOLONG;
    if (name_count == name_capacity) {
        size_t capacity = name_capacity == 0 ? 16 : 2 * name_capacity;
        struct name *more = capacity > NAMES_MAX ? NULL : realloc(names, capacity * sizeof *names);
        if (more == NULL)
            return ENOMEM;
        names = more;
        name_capacity = capacity;
    }
    int file = memfd_create(text, MFD_CLOEXEC);
    if (file < 0)
        return errno;
    *added = &names[name_count++];
    **added = (struct name){.directory = directory, .file = file};
    memcpy((*added)->text, text, strlen(text));
    return 0;
}

static int open_file(int directory, const char *text, enum elapse__file_mode mode, int *file)
{
    bool may_make = mode == ELAPSE__FILE_CREATE || mode == ELAPSE__FILE_ENSURE;
    int error = 0;

    take();
    struct name *name = find(directory, text);
    if (name != NULL && mode == ELAPSE__FILE_CREATE)
        error = EEXIST;
    else if (name == NULL)
        error = may_make ? add(directory, text, &name) : ENOENT;
    if (error == 0) {
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without an error there is a name */
        *file = fcntl(name->file, F_DUPFD_CLOEXEC, 0);
        error = *file < 0 ? errno : 0;
    }
    release();
    return error;
}

static void close_file(int file)
{
    if (file < FIRST_DIRECTORY)
        (void)close(file);
}

static int sync_nothing(int file)
{
    (void)file;
    return 0;
}

static void remove_name(struct name *name)
{
    (void)close(name->file);
    *name = names[--name_count];
}

static int rename_file(int directory, const char *from, const char *to)
{
    int error = 0;

    take();
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
            remove_name(target);
    }
    release();
    return error;
}

static int unlink_file(int directory, const char *text)
{
    take();
    struct name *name = find(directory, text);
    if (name != NULL)
        remove_name(name);
    release();
    return name == NULL ? ENOENT : 0;
}

static int link_file(int directory, const char *name, int to_directory, const char *to)
{
    (void)directory;
    (void)name;
    (void)to_directory;
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

const struct elapse__files *elapse__files_in_memory(void)
{
    static struct elapse__files files;

    files = elapse__files_linux;
    files.make_directory = make_directory;
    files.open_directory = open_directory;
    files.list = list;
    files.open = open_file;
    files.close = close_file;
    files.read_cached = elapse__files_linux.read_at; /* there is nothing to wait for */
    files.sync = sync_nothing;
    files.sync_directory = sync_nothing;
    files.rename = rename_file;
    files.unlink = unlink_file;
    files.link = link_file;
    files.status = status_of;
    files.lock = sync_nothing;
    return &files;
}
