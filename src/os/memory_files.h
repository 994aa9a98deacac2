/*
 * Files in memory, with the table of files.h, for a journal without a directory. The files end with
 * the journal or with the process.
 */
#ifndef ELAPSE__OS_MEMORY_FILES_H
#define ELAPSE__OS_MEMORY_FILES_H

#include "files.h"

/* The table. Every path begins as an empty directory. A file cannot have a second name, so link
 * fails with ENOTSUP. */
extern const struct elapse__files elapse__files_in_memory;

enum { ELAPSE__MEMORY_PATH_BYTES = 32 };

/* Stores a path that this function has not stored before. */
void elapse__memory_path(char path[ELAPSE__MEMORY_PATH_BYTES]);

/* Removes the directory at this path, the directories in it, and all files. Requires that none of
 * these directories is in use. */
void elapse__memory_forget(const char *path);

#endif
