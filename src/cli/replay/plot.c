/*
 * Draws with gnuplot, which it runs without a shell, and writes the picture to its file.
 */
#include "plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../os/program.h"
#include "../common/environment.h"
#include "plot_script.h"

/* ---- gnuplot ---- */

/* Runs gnuplot with its standard output on `picture`. */
static int run_gnuplot(const struct elapse__buffer *script, int picture, struct elapse__os_end *end)
{
    static const char *const locale_name[] = {"LC_ALL="};
    /* In the locale C gnuplot warns that it cannot write a degree sign. */
    char locale[] = "LC_ALL=C.UTF-8";
    char name[] = "gnuplot";
    char *arguments[] = {name, NULL};
    size_t count;
    char **environment = environment_without(locale_name, 1, 1, &count);

    ELAPSE__ASSERT(picture >= 0);
    environment[count] = locale;
    environment[count + 1] = NULL;
    const struct elapse__os_program program = {
        .arguments = arguments,
        .environment = environment,
        .input = (const char *)script->bytes,
        .input_bytes = script->end,
        .output = picture,
    };
    int error = elapse__os_run(&program, end);
    free(environment);
    return error;
}

static enum exit_status no_gnuplot(int error)
{
    return error_of(STATUS_FAILED, "--plot needs gnuplot (Debian package gnuplot-nox): %s",
                    elapse__os_error_text(error));
}

static bool has_succeeded(const struct elapse__os_end *end)
{
    return !end->by_signal && end->number == 0;
}

static bool ends_with_tag(const char *text, size_t length, const char *tag)
{
    ELAPSE__ASSERT(tag[strlen(tag) - 1] == '>');
    while (length > 0 && text[length - 1] != '>')
        length--;
    size_t tag_length = strlen(tag);
    return length >= tag_length && memcmp(text + length - tag_length, tag, tag_length) == 0;
}

/* Returns whether the picture is complete. gnuplot also succeeds when the disk was full. */
static bool is_whole(int picture)
{
    char last[16];
    struct elapse__os_status status;
    size_t got;

    if (elapse__os_status_of_file(picture, &status) != 0)
        return false;
    uint64_t begin = status.bytes < sizeof last ? 0 : status.bytes - sizeof last;
    return elapse__os_read_at(picture, begin, last, sizeof last, &got) == 0 &&
           ends_with_tag(last, got, "</svg>");
}

/* Draws into a descriptor, because some characters of a file name have a meaning for gnuplot. */
static enum exit_status draw(int picture, const struct report *report,
                             const struct samples *samples)
{
    struct elapse__buffer script = {.bytes = NULL};
    struct elapse__os_end end;

    plot_script_add(&script, report, samples);
    ELAPSE__ASSERT(script.end > 0);
    int error = run_gnuplot(&script, picture, &end);
    elapse__buffer_free(&script);
    if (error != 0)
        return no_gnuplot(error);
    if (!has_succeeded(&end) || !is_whole(picture))
        return error_of(STATUS_FAILED, "gnuplot failed to draw the plot");
    return STATUS_OK;
}

/* ---- the file ---- */

/* Prints the error, unless it is 0. Returns the exit status for it. */
static enum exit_status status_of(int error, const char *path)
{
    if (error == 0)
        return STATUS_OK;
    return error_of(STATUS_FAILED, "%s: %s", path, elapse__os_error_text(error));
}

/* Returns whether the file will be replaced when the picture is complete. A device, a pipe or a
 * symbolic link is not replaced: the picture is written into it. */
static bool is_replaceable(const char *path)
{
    struct elapse__os_status status;

    return elapse__os_status_of_link(path, &status) != 0 || status.kind == ELAPSE__OS_REGULAR;
}

/* Makes a new file in the folder of `path`. The caller frees the name. */
static int create_beside(const char *path, char **name, int *file)
{
    *name = allocate(strlen(path) + ELAPSE__OS_SUFFIX_BYTES + 1);
    return elapse__os_create_beside(path, *name, file);
}

/* Copies the picture, and closes the target. */
static int copy_picture(int picture, int target)
{
    char bytes[16384];
    uint64_t offset = 0;
    size_t got;
    int error;

    ELAPSE__ASSERT(picture >= 0);
    ELAPSE__ASSERT(target >= 0);
    do {
        error = elapse__os_read_at(picture, offset, bytes, sizeof bytes, &got);
        if (error == 0)
            error = elapse__os_write_all(target, bytes, got);
        offset += got;
    } while (error == 0 && got > 0);
    int close_error = elapse__os_close(target);
    return error != 0 ? error : close_error;
}

static int replace_file(const char *path, int picture)
{
    char *name;
    int target;
    int error = create_beside(path, &name, &target);

    if (error == 0) {
        error = copy_picture(picture, target);
        if (error == 0)
            error = elapse__os_rename(name, path);
        if (error != 0)
            (void)elapse__os_remove(name);
    }
    free(name);
    return error;
}

static int write_into(const char *path, int picture)
{
    int target;
    int error = elapse__os_open_to_write(path, &target);

    return error != 0 ? error : copy_picture(picture, target);
}

/* Returns 0 if replace_file can make its new file. Removes that file again. */
static int check_replaceable(const char *path)
{
    char *name;
    int file;
    int error = create_beside(path, &name, &file);

    if (error == 0) {
        (void)elapse__os_close(file);
        (void)elapse__os_remove(name);
    }
    free(name);
    return error;
}

/* Returns 0 if write_into can write. */
static int check_writable(const char *path)
{
    struct elapse__os_status status;
    int error = elapse__os_status_of_path(path, &status);

    /* A symbolic link may lead to a file that does not exist yet. */
    if (error != 0)
        return error == ENOENT ? 0 : error;
    return status.kind == ELAPSE__OS_DIRECTORY ? EISDIR : elapse__os_check_writable(path);
}

enum exit_status plot_check(const char *path)
{
    const struct elapse__buffer empty = {.bytes = NULL};
    struct elapse__os_end end;
    int error = run_gnuplot(&empty, ELAPSE__OS_ERRORS, &end);

    if (error != 0)
        return no_gnuplot(error);
    if (!has_succeeded(&end))
        return error_of(STATUS_FAILED, "gnuplot does not run");
    return status_of(is_replaceable(path) ? check_replaceable(path) : check_writable(path), path);
}

enum exit_status plot_write(const char *path, const struct report *report,
                            const struct samples *samples)
{
    int picture;
    int error = elapse__os_open_in_memory(&picture);

    if (error != 0)
        return status_of(error, path);
    enum exit_status status = draw(picture, report, samples);
    if (status == STATUS_OK) {
        /* If `path` is a pipe whose reader closes it, the write fails, and the failure is
         * reported. */
        bool before = elapse__os_broken_pipe_ends(false);
        error = is_replaceable(path) ? replace_file(path, picture) : write_into(path, picture);
        (void)elapse__os_broken_pipe_ends(before);
        status = status_of(error, path);
    }
    (void)elapse__os_close(picture);
    return status;
}
