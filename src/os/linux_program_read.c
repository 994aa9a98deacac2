/*
 * Implements these functions of program.h: those that read whole files and files that may be
 * non-blocking, and the one that opens a file to append to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/assert.h"
#include "program.h"

int elapse__os_open_to_append(const char *path, int *file)
{
    *file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0640);
    return *file < 0 ? errno : 0;
}

int elapse__os_read_waiting(int file, void *buffer, size_t bytes, size_t *got)
{
    struct pollfd readable = {.fd = file, .events = POLLIN};
    int error = elapse__os_read(file, buffer, bytes, got);

    while (error == EAGAIN) {
        if (poll(&readable, 1, -1) < 0 && errno != EINTR)
            return errno;
        error = elapse__os_read(file, buffer, bytes, got);
    }
    return error;
}

int elapse__os_read_path(const char *path, void *buffer, size_t bytes, size_t *got)
{
    size_t piece = 1;
    int file;
    int error = elapse__os_open_to_read(path, &file);

    *got = 0;
    if (error != 0)
        return error;
    while (error == 0 && piece > 0 && *got < bytes) {
        error = elapse__os_read_waiting(file, (char *)buffer + *got, bytes - *got, &piece);
        *got += piece;
        ELAPSE__ASSERT_THAT(*got, <=, bytes);
    }
    (void)elapse__os_close(file);
    return error;
}

bool elapse__os_others_may_read(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && (about.st_mode & (S_IROTH | S_IWOTH)) != 0;
}

/* Returns 0 if this process may run the file, or an error number. */
static int may_run(const char *path)
{
    struct stat status;

    if (stat(path, &status) != 0 || access(path, X_OK) != 0)
        return errno;
    return S_ISREG(status.st_mode) ? 0 : EACCES;
}

int elapse__os_find_program(const char *name)
{
    char path[PATH_MAX];
    const char *folder = getenv("PATH");
    int worst = ENOENT;

    if (strchr(name, '/') != NULL)
        return may_run(name);
    if (folder == NULL)
        folder = "/bin:/usr/bin"; /* the folders that posix_spawnp uses without PATH */
    while (folder != NULL && *name != '\0') {
        size_t length = strcspn(folder, ":");
        /* An empty folder stands for the working directory. */
        int size = snprintf(path, sizeof path, "%.*s%s%s", (int)length, folder,
                            length > 0 ? "/" : "", name);
        int error = size < (int)sizeof path ? may_run(path) : ENAMETOOLONG;
        if (error == 0)
            return 0;
        if (error == EACCES)
            worst = EACCES;
        folder = folder[length] == ':' ? folder + length + 1 : NULL;
    }
    return worst;
}
