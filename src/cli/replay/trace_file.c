/*
 * zlib's gzread takes compressed and plain files alike; what it leaves to its
 * caller is telling a file that was cut short from one that ends.
 */
#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const char *trace_file_open(struct trace_file *file, const char *path)
{
    bool is_standard_input = strcmp(path, "-") == 0;
    int descriptor = is_standard_input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

    if (descriptor < 0)
        return strerror(errno);
    memset(file, 0, sizeof *file);
    if (fstat(descriptor, &file->status) == 0) {
        if (S_ISDIR(file->status.st_mode)) {
            close(descriptor);
            return strerror(EISDIR);
        }
        if (S_ISREG(file->status.st_mode))
            file->bytes = (uint64_t)file->status.st_size;
    }
    file->stream = gzdopen(descriptor, "rb");
    if (file->stream == NULL) {
        close(descriptor);
        return strerror(ENOMEM);
    }
    gzbuffer(file->stream, 128 * 1024);
    return NULL;
}

ptrdiff_t trace_file_read(void *context, char *buffer, size_t bytes, const char **error)
{
    struct trace_file *file = context;
    int code = Z_OK;

    int got = gzread(file->stream, buffer, (unsigned)bytes);
    if (got > 0)
        return got;
    const char *text = gzerror(file->stream, &code);
    if (code == Z_OK || code == Z_STREAM_END)
        return 0;
    file->failed = true;
    if (code == Z_ERRNO)
        *error = strerror(errno);
    else if (code == Z_BUF_ERROR)
        *error = "the gzip data is cut short";
    else if (code == Z_DATA_ERROR)
        *error = "the gzip data is damaged";
    else
        *error = text;
    return -1;
}

bool trace_file_is_at(const struct trace_file *file, const char *path)
{
    struct stat status;

    return S_ISREG(file->status.st_mode) && stat(path, &status) == 0 &&
           status.st_dev == file->status.st_dev && status.st_ino == file->status.st_ino;
}

bool trace_file_rest_is_damaged(struct trace_file *file)
{
    char buffer[16384];
    int got;

    /* What is no file may never end. */
    if (file->bytes == 0 || file->failed || gzdirect(file->stream))
        return false;
    do
        got = gzread(file->stream, buffer, sizeof buffer);
    while (got > 0);
    int code = Z_OK;
    gzerror(file->stream, &code);
    return code != Z_OK && code != Z_STREAM_END;
}

double trace_file_progress(const struct trace_file *file)
{
    if (file->bytes == 0)
        return -1;
    z_off_t offset = gzoffset(file->stream);
    return offset < 0 ? -1 : (double)offset / (double)file->bytes;
}

void trace_file_close(struct trace_file *file)
{
    gzclose(file->stream);
}
