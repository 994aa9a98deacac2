/*
 * gzread of zlib reads compressed and plain files alike. It leaves one thing to its caller: to tell
 * a file that was cut short from one that ends.
 */
#include "trace_file.h"

#include <errno.h>
#include <string.h>

#include "../../base/assert.h"

/* Returns an error if the descriptor is no trace. Stores what it is in `file->status`. */
static int check(struct trace_file *file, int descriptor)
{
    int error = elapse__os_status_of_file(descriptor, &file->status);

    if (error == 0 && file->status.kind == ELAPSE__OS_DIRECTORY)
        error = EISDIR;
    return error;
}

const char *trace_file_open(struct trace_file *file, const char *path)
{
    bool is_standard_input = strcmp(path, "-") == 0;
    int descriptor;
    int error = is_standard_input ? elapse__os_duplicate(ELAPSE__OS_INPUT, &descriptor)
                                  : elapse__os_open_to_read(path, &descriptor);

    if (error != 0)
        return elapse__os_error_text(error);
    *file = (struct trace_file){.failed = false};
    error = check(file, descriptor);
    if (error == 0) {
        file->stream = gzdopen(descriptor, "rb");
        if (file->stream == NULL)
            error = ENOMEM;
    }
    if (error != 0) {
        (void)elapse__os_close(descriptor);
        return elapse__os_error_text(error);
    }
    gzbuffer(file->stream, 128 * 1024);
    return NULL;
}

ptrdiff_t trace_file_read(void *context, char *buffer, size_t bytes, const char **error)
{
    struct trace_file *file = context;
    int code = Z_OK;

    ELAPSE__ASSERT(bytes > 0);
    int got = gzread(file->stream, buffer, (unsigned)bytes);
    if (got > 0)
        return got;
    const char *text = gzerror(file->stream, &code);
    if (code == Z_OK || code == Z_STREAM_END)
        return 0;
    file->failed = true;
    if (code == Z_ERRNO)
        *error = elapse__os_error_text(errno);
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
    struct elapse__os_status other;

    return file->status.kind == ELAPSE__OS_REGULAR &&
           elapse__os_status_of_path(path, &other) == 0 &&
           memcmp(other.identity, file->status.identity, sizeof other.identity) == 0;
}

bool trace_file_rest_is_damaged(struct trace_file *file)
{
    char buffer[16384];
    int got;

    ELAPSE__ASSERT(file->stream != NULL);
    if (file->status.bytes == 0 || file->failed || gzdirect(file->stream))
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
    ELAPSE__ASSERT(file->stream != NULL);
    if (file->status.bytes == 0)
        return -1;
    z_off_t offset = gzoffset(file->stream);
    return offset < 0 ? -1 : (double)offset / (double)file->status.bytes;
}

void trace_file_close(struct trace_file *file)
{
    ELAPSE__ASSERT(file->stream != NULL);
    gzclose(file->stream);
}
