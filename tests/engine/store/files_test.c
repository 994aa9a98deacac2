/*
 * Tests zeros that are written past the page cache. Whether the file system allows that or not, the
 * zeros must be in the right place, and the file must be written and read as before. Also tests
 * that the names of directories stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../../src/os/memory_files.h"
#include "../../support/test.h"
#include "directory.h"

enum { PAGE = ELAPSE__FILE_PAGE_MAX, SIZE = (3 << 20) + PAGE };

static uint8_t expected[SIZE], found[SIZE];

/* The function of the C library, for the library too: notes the directory that was synced last,
 * when it had the directory `awaited` in it. */
static const char *awaited;
static ino_t synced;
static int sync_error;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): theirs is reserved */
int fsync(int file)
{
    struct stat got;

    if (fstat(file, &got) == 0 && S_ISDIR(got.st_mode) && awaited != NULL &&
        access(awaited, F_OK) == 0)
        synced = got.st_ino;
    if (sync_error != 0) {
        errno = sync_error;
        return -1;
    }
    return (int)syscall(SYS_fsync, file);
}

static void expect_content(const struct elapse__files *files, int file)
{
    size_t done = 0;

    for (size_t at = 0; at < SIZE; at += done) {
        assert_int_equal(files->read_at(file, at, found + at, SIZE - at, &done), 0);
        assert_true(done > 0);
    }
    assert_memory_equal(found, expected, SIZE);
}

/* Fills from `offset` on, in as many steps as it takes. */
static void fill(const struct elapse__files *files, int file, uint64_t offset, uint64_t count)
{
    size_t done = 0;

    memset(expected + offset, 0, (size_t)count);
    for (; count > 0; offset += done, count -= done) {
        assert_int_equal(files->fill(file, offset, count, &done), 0);
        assert_in_range(done, 1, count);
    }
}

static void write_letters(const struct elapse__files *files, int file, uint64_t offset,
                          size_t count)
{
    size_t done = 0;

    for (size_t i = 0; i < count; i++)
        expected[offset + i] = (uint8_t)('a' + i % 26);
    assert_int_equal(files->write_at(file, offset, expected + offset, count, &done), 0);
    assert_int_equal(done, count);
}

static int make_file(const struct elapse__files *files, const char *path)
{
    int directory, file;

    assert_int_equal(files->make_directory(path), 0);
    assert_int_equal(files->open_directory(path, &directory), 0);
    assert_int_equal(files->open(directory, "file", ELAPSE__FILE_CREATE, &file), 0);
    files->close(directory);
    return file;
}

static void check_filling(const struct elapse__files *files, const char *path)
{
    int file = make_file(files, path);
    int flags = fcntl(file, F_GETFL);

    fill(files, file, 0, SIZE);
    expect_content(files, file);
    assert_int_equal(fcntl(file, F_GETFL), flags);
    /* Across the ends of pages, and with fewer bytes than a sector. */
    write_letters(files, file, 100, 3 * PAGE);
    write_letters(files, file, SIZE - 700, 700);
    expect_content(files, file);
    fill(files, file, 0, SIZE); /* what is there becomes zeros, too */
    expect_content(files, file);
    assert_int_equal(files->sync(file), 0);
    files->close(file);
}

TEST(files_on_a_disk_are_filled)
{
    check_filling(&elapse__files_linux, directory_make());
    directory_remove();
}

TEST(files_in_memory_are_filled)
{
    char path[ELAPSE__MEMORY_PATH_BYTES];

    elapse__memory_path(path);
    check_filling(&elapse__files_in_memory, path);
    elapse__memory_forget(path);
}

/* A file system that wants another alignment refuses it, as all do here. */
TEST(zeros_go_to_any_place)
{
    int file = make_file(&elapse__files_linux, directory_make());
    write_letters(&elapse__files_linux, file, 0, SIZE);
    fill(&elapse__files_linux, file, 77, 2 * PAGE + 5);
    fill(&elapse__files_linux, file, 5 * PAGE, 2 << 20);
    fill(&elapse__files_linux, file, SIZE - 3, 3);
    expect_content(&elapse__files_linux, file);
    elapse__files_linux.close(file);
    directory_remove();
}

TEST(a_file_that_cannot_be_written_cannot_be_filled)
{
    int directory, file;
    size_t done = 7;

    const char *path = directory_make();
    elapse__files_linux.close(make_file(&elapse__files_linux, path));
    assert_int_equal(elapse__files_linux.open_directory(path, &directory), 0);
    assert_int_equal(elapse__files_linux.open(directory, "file", ELAPSE__FILE_READ, &file), 0);
    assert_int_equal(elapse__files_linux.fill(file, 0, PAGE, &done), EBADF);
    assert_int_equal(done, 0);
    elapse__files_linux.close(file);
    elapse__files_linux.close(directory);
    directory_remove();
}

/* Returns whether making the directory syncs the names of the one above. */
static bool syncs_above(const char *path, const char *above)
{
    struct stat got;

    awaited = path;
    synced = 0;
    assert_int_equal(elapse__files_linux.make_directory(path), 0);
    awaited = NULL;
    assert_int_equal(stat(path, &got), 0);
    assert_true(S_ISDIR(got.st_mode));
    assert_int_equal(stat(above, &got), 0);
    return synced == got.st_ino;
}

TEST(the_name_of_a_directory_is_synced)
{
    char path[512], before[512];

    const char *above = directory_make();
    (void)snprintf(path, sizeof path, "%s/absolute", above);
    assert_true(syncs_above(path, above));
    /* The process that made it may have ended before it was. */
    assert_true(syncs_above(path, above));
    (void)snprintf(path, sizeof path, "%s//slashes//", above);
    assert_true(syncs_above(path, above));
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(above), 0);
    assert_true(syncs_above("relative", "."));
    assert_true(syncs_above("relative/inner", "relative"));
    assert_true(syncs_above("/", "/"));
    assert_int_equal(chdir(before), 0);
    directory_remove();
}

TEST(a_directory_whose_name_cannot_be_synced)
{
    char path[512];

    (void)snprintf(path, sizeof path, "%s/new", directory_make());
    sync_error = EIO;
    assert_int_equal(elapse__files_linux.make_directory(path), EIO);
    assert_int_equal(access(path, F_OK), -1);
    sync_error = 0;
    assert_int_equal(elapse__files_linux.make_directory(path), 0);
    /* Not every file system can sync the directory in which an administrator has made one. */
    sync_error = EINVAL;
    assert_int_equal(elapse__files_linux.make_directory(path), 0);
    sync_error = 0;
    directory_remove();
}

TEST_MAIN("files")
