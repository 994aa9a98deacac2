/*
 * Implements the table of files.h for Linux.
 */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../base/assert.h"

static int error_of_call(int result)
{
    return result < 0 ? errno : 0;
}

/* Syncs the directory above `path`, so that the name of `path` is on the disk. */
static int sync_above(const char *path)
{
    char above[PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (length >= sizeof above)
        return ENAMETOOLONG;
    (void)snprintf(above, sizeof above, "%.*s", length == 0 ? 1 : (int)length,
                   length == 0 ? "." : path);
    int directory = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return errno;
    int error = error_of_call(fsync(directory));
    (void)close(directory);
    return error;
}

/* Makes a directory, and syncs its name. Syncs the name of an existing directory, too, because the
 * process that made it may have ended before its sync. A failure of that sync is ignored: the
 * administrator may have made the directory in a place where this process cannot read. */
static int make_directory(const char *path)
{
    int error = error_of_call(mkdir(path, 0700));
    bool is_new = error == 0;
    if (!is_new && error != EEXIST)
        return error;
    error = sync_above(path);
    if (!is_new || error == 0 || error == EACCES)
        return 0;
    (void)rmdir(path);
    return error;
}

static int open_directory(const char *path, int *directory)
{
    *directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return error_of_call(*directory);
}

static int list_entries(DIR *entries, int (*each)(void *context, const char *name), void *context)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(entries);
        if (entry == NULL)
            return errno;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        int error = each(context, entry->d_name);
        if (error != 0)
            return error;
    }
}

static int list_directory(int directory, int (*each)(void *context, const char *name),
                          void *context)
{
    /* A new descriptor has its own position in the directory. A copy of the old one would share the
     * position. */
    int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (own < 0)
        return errno;
    DIR *entries = fdopendir(own);
    if (entries == NULL) {
        int error = errno;
        (void)close(own);
        return error;
    }
    int error = list_entries(entries, each, context);
    (void)closedir(entries);
    return error;
}

static int open_file(int directory, const char *name, enum elapse__file_mode mode, int *file)
{
    static const int flags_of_mode[] = {
        [ELAPSE__FILE_READ] = O_RDONLY,
        [ELAPSE__FILE_READ_WRITE] = O_RDWR,
        [ELAPSE__FILE_CREATE] = O_RDWR | O_CREAT | O_EXCL,
        [ELAPSE__FILE_ENSURE] = O_RDWR | O_CREAT,
    };
    ELAPSE__ASSERT(directory >= 0); /* a negative one can stand for the working directory */
    ELAPSE__ASSERT(strchr(name, '/') == NULL); /* the file is in the directory itself */
    *file = openat(directory, name, flags_of_mode[mode] | O_CLOEXEC | O_NOFOLLOW, 0600);
    return error_of_call(*file);
}

static void close_file(int file)
{
    ELAPSE__ASSERT(file >= 0);
    (void)close(file); /* an error does no harm, because a sync has come before */
}

/* Stores how many bytes a call has done, or returns its error number. */
static int store_done(ssize_t result, size_t *done)
{
    *done = result < 0 ? 0 : (size_t)result;
    return result < 0 ? errno : 0;
}

static int read_at(int file, uint64_t offset, void *bytes, size_t count, size_t *done)
{
    int error;
    do
        error = store_done(pread(file, bytes, count, (off_t)offset), done);
    while (error == EINTR);
    ELAPSE__ASSERT_THAT(*done, <=, count);
    return error;
}

static int write_at(int file, uint64_t offset, const void *bytes, size_t count, size_t *done)
{
    int error;
    ELAPSE__ASSERT_THAT(offset, <=, (uint64_t)INT64_MAX - count);
    do
        error = store_done(pwrite(file, bytes, count, (off_t)offset), done);
    while (error == EINTR);
    ELAPSE__ASSERT_THAT(*done, <=, count);
    return error;
}

/* The zeros that fill() writes. They stay unchanged, so they take only one page of memory. */
static _Alignas(ELAPSE__FILE_PAGE_MAX) unsigned char zeros[1 << 16];

enum { FILL_PIECES = 16 };

static int write_zeros(int file, uint64_t offset, uint64_t count, size_t *done)
{
    struct iovec pieces[FILL_PIECES];
    int pieces_used = 0;
    int error;

    for (uint64_t rest = count; rest > 0 && pieces_used < FILL_PIECES; pieces_used++) {
        size_t size = rest < sizeof zeros ? (size_t)rest : sizeof zeros;
        pieces[pieces_used] = (struct iovec){.iov_base = zeros, .iov_len = size};
        rest -= size;
    }
    ELAPSE__ASSERT_THAT(count, >, 0);
    do
        error = store_done(pwritev(file, pieces, pieces_used, (off_t)offset), done);
    while (error == EINTR);
    ELAPSE__ASSERT_THAT(*done, <=, count);
    return error;
}

/* Writes zeros past the page cache. To copy zeros into the cache would cost as much as to copy the
 * records that replace the zeros. A file system that cannot write past the cache, or that needs
 * another alignment of offsets, refuses O_DIRECT or the write. */
static int fill(int file, uint64_t offset, uint64_t count, size_t *done)
{
    int flags = fcntl(file, F_GETFL);
    int error = EINVAL;

    if (flags >= 0 && fcntl(file, F_SETFL, flags | O_DIRECT) == 0) {
        error = write_zeros(file, offset, count, done);
        if (fcntl(file, F_SETFL, flags) != 0)
            return errno;
    }
    bool is_refused = error == EINVAL || error == EOPNOTSUPP;
    return is_refused ? write_zeros(file, offset, count, done) : error;
}

static int read_cached(int file, uint64_t offset, void *bytes, size_t count, size_t *done)
{
#ifdef RWF_NOWAIT
    struct iovec piece = {.iov_base = bytes, .iov_len = count};
    int error = store_done(preadv2(file, &piece, 1, (off_t)offset, RWF_NOWAIT), done);
    /* If the file system cannot read without waiting, a thread that may wait has to read. */
    return error == EOPNOTSUPP || error == ENOSYS || error == EINTR ? EAGAIN : error;
#else
    (void)file, (void)offset, (void)bytes, (void)count;
    *done = 0;
    return EAGAIN;
#endif
}

static void read_ahead(int file, uint64_t offset, uint64_t count)
{
    ELAPSE__ASSERT_THAT(count, >, 0); /* 0 would ask for the rest of the file */
    (void)posix_fadvise(file, (off_t)offset, (off_t)count, POSIX_FADV_WILLNEED);
}

static int sync_file(int file)
{
    ELAPSE__ASSERT(file >= 0);
    return error_of_call(fdatasync(file));
}

static int sync_directory(int directory)
{
    ELAPSE__ASSERT(directory >= 0);
    return error_of_call(fsync(directory));
}

static int rename_file(int directory, const char *from, const char *to)
{
    ELAPSE__ASSERT(directory >= 0);
    return error_of_call(renameat(directory, from, directory, to));
}

static int unlink_file(int directory, const char *name)
{
    return error_of_call(unlinkat(directory, name, 0));
}

static int link_file(int directory, const char *name, int to_directory, const char *to)
{
    return error_of_call(linkat(directory, name, to_directory, to, 0));
}

static int file_status(int file, struct elapse__file_status *status)
{
    struct stat got;
    int error = error_of_call(fstat(file, &got));
    if (error == 0) {
        status->bytes = (uint64_t)got.st_size;
        status->links = (uint64_t)got.st_nlink;
    }
    return error;
}

static int lock_file(int file)
{
    return error_of_call(flock(file, LOCK_EX | LOCK_NB));
}

const struct elapse__files elapse__files_linux = {
    .make_directory = make_directory,
    .open_directory = open_directory,
    .list = list_directory,
    .open = open_file,
    .close = close_file,
    .read_at = read_at,
    .write_at = write_at,
    .fill = fill,
    .read_cached = read_cached,
    .read_ahead = read_ahead,
    .sync = sync_file,
    .sync_directory = sync_directory,
    .rename = rename_file,
    .unlink = unlink_file,
    .link = link_file,
    .status = file_status,
    .lock = lock_file,
    .page_bytes = ELAPSE__FILE_PAGE_MAX,
};
