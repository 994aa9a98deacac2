/*
 * What the journal asks of the operating system: files in one directory. linux_files.c implements
 * them on the disk, and memory_files.c in memory, for a queue without a directory. Both belong to
 * the library elapse-queue, because nothing else in the libraries uses files.
 *
 *      the journal           files.h                    linux_files.c
 *      files->write_at() --> struct elapse__files  -->  pwrite()
 *                                      \------------->  a simulated disk, in tests
 *
 * An open file has no position: each reading and each writing says its offset. So one thread can
 * submit them and another perform them, and in another order.
 *
 * Functions return 0, or an error number of errno.h. Any thread may call any function.
 */
#ifndef ELAPSE__FILES_H
#define ELAPSE__FILES_H

#include <stddef.h>
#include <stdint.h>

/* In place of a file or a directory: it is not open. */
enum { ELAPSE__NO_FILE = -1 };

enum { ELAPSE__FILE_PAGE_MAX = 4096 };

enum elapse__file_mode {
    ELAPSE__FILE_READ,       /* must exist */
    ELAPSE__FILE_READ_WRITE, /* must exist */
    ELAPSE__FILE_CREATE,     /* must not exist; read and write */
    ELAPSE__FILE_ENSURE,     /* is made if it does not exist; read and write */
};

struct elapse__file_status {
    uint64_t bytes;
    uint64_t links; /* how many names the file has */
};

struct elapse__files {
    /* Makes a directory unless the directory exists. The name of a new directory is on the disk
     * afterwards, unless the directory above cannot be read. */
    int (*make_directory)(const char *path);

    int (*open_directory)(const char *path, int *directory);

    /* Calls each(context, name) for each file, in no order. Stops if a call returns an error. */
    int (*list)(int directory, int (*each)(void *context, const char *name), void *context);

    int (*open)(int directory, const char *name, enum elapse__file_mode mode, int *file);
    void (*close)(int file);

    /* Read or write up to `count` bytes, and store in `*done` how many. Fewer bytes are no error: a
     * reading at the end of the file returns fewer bytes, or 0. */
    int (*read_at)(int file, uint64_t offset, void *bytes, size_t count, size_t *done);
    int (*write_at)(int file, uint64_t offset, const void *bytes, size_t count, size_t *done);

    /* Writes up to `count` zeros, and stores in `*done` how many. If the system can, it writes them
     * past the page cache, because nobody is going to read them. */
    int (*fill)(int file, uint64_t offset, uint64_t count, size_t *done);

    /* Reads as read_at does, but from the page cache alone. Returns EAGAIN if it would have to wait
     * for the disk. */
    int (*read_cached)(int file, uint64_t offset, void *bytes, size_t count, size_t *done);

    /* Asks for these bytes to be read into the page cache. Does not wait and cannot fail. */
    void (*read_ahead)(int file, uint64_t offset, uint64_t count);

    /* Returns when all written bytes of the file are on the disk. After a failure nobody knows
     * which bytes are on the disk, and a second call may return 0 although they are not. So it
     * requires that no sync of the file has failed. */
    int (*sync)(int file);

    /* Returns when all names in the directory are on the disk. */
    int (*sync_directory)(int directory);

    int (*rename)(int directory, const char *from, const char *to);
    int (*unlink)(int directory, const char *name);

    /* Gives a file a second name, in another directory of the same file system. */
    int (*link)(int directory, const char *name, int to_directory, const char *to);

    int (*status)(int file, struct elapse__file_status *status);

    /* Takes the lock of the file for this process. Returns EWOULDBLOCK if another process has the
     * lock. The lock ends when the file is closed. */
    int (*lock)(int file);

    /* The size of a page of a file: a power of two, up to ELAPSE__FILE_PAGE_MAX. For a write that
     * begins or ends within a page, the system may have to read the rest of the page from the disk.
     * 0: the system never reads for a write. */
    size_t page_bytes;
};

/* The functions that call the real system. */
extern const struct elapse__files elapse__files_linux;

#endif
