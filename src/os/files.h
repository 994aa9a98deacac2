/*
 * The functions of the operating system that the journal needs: files in one directory.
 * linux_files.c implements the functions for the disk. memory_files.c implements them in memory,
 * for a queue without a directory. Both belong to the library elapse-queue, because nothing else in
 * the libraries uses files.
 *
 *      the journal           files.h                    linux_files.c
 *      files->write_at() --> struct elapse__files  -->  pwrite()
 *                                      \------------->  a simulated disk, in tests
 *
 * An open file has no position, because each read and each write has an offset. So one thread can
 * submit reads and writes, and another thread can perform them in another order.
 *
 * Functions return 0, or an error number of errno.h. Any thread may call any function.
 */
#ifndef ELAPSE__FILES_H
#define ELAPSE__FILES_H

#include <stddef.h>
#include <stdint.h>

/* Stands for a file or a directory that is not open. */
enum { ELAPSE__NO_FILE = -1 };

enum { ELAPSE__FILE_PAGE_MAX = 4096 };

enum elapse__file_mode {
    ELAPSE__FILE_READ,       /* the file must exist */
    ELAPSE__FILE_READ_WRITE, /* the file must exist */
    ELAPSE__FILE_CREATE,     /* the file must not exist; to read and write */
    ELAPSE__FILE_ENSURE,     /* makes the file if it does not exist; to read and write */
};

struct elapse__file_status {
    uint64_t bytes;
    uint64_t links; /* how many names the file has */
};

struct elapse__files {
    /* Makes a directory if it does not exist. Afterwards the name of a new directory is on the
     * disk, unless the directory above cannot be read. */
    int (*make_directory)(const char *path);

    int (*open_directory)(const char *path, int *directory);

    /* Calls each(context, name) for each file, in no order. Stops if a call returns an error. */
    int (*list)(int directory, int (*each)(void *context, const char *name), void *context);

    int (*open)(int directory, const char *name, enum elapse__file_mode mode, int *file);
    void (*close)(int file);

    /* These functions read or write up to `count` bytes, and store in `*done` how many. Fewer bytes
     * are no error. A read at the end of the file returns fewer bytes, or 0. */
    int (*read_at)(int file, uint64_t offset, void *bytes, size_t count, size_t *done);
    int (*write_at)(int file, uint64_t offset, const void *bytes, size_t count, size_t *done);

    /* Writes up to `count` zeros, and stores in `*done` how many. If the system can, it writes the
     * zeros past the page cache, because nobody is going to read them. */
    int (*fill)(int file, uint64_t offset, uint64_t count, size_t *done);

    /* Reads as read_at does, but only from the page cache. Returns EAGAIN if it would have to wait
     * for the disk. */
    int (*read_cached)(int file, uint64_t offset, void *bytes, size_t count, size_t *done);

    /* Asks for these bytes to be read into the page cache. Does not wait and cannot fail. */
    void (*read_ahead)(int file, uint64_t offset, uint64_t count);

    /* Returns when all written bytes of the file are on the disk. Requires that no sync of the file
     * has failed. After a failure nobody knows which bytes are on the disk, and a second call may
     * return 0 although some are not. */
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

    /* The size of a page of a file. It is a power of two, up to ELAPSE__FILE_PAGE_MAX. For a write
     * that begins or ends within a page, the system may have to read the rest of the page from the
     * disk. 0: the system never reads for a write. */
    size_t page_bytes;
};

/* The functions that call the real system. */
extern const struct elapse__files elapse__files_linux;

#endif
