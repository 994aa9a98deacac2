/*
 * Files in memory behind the table of files.h, for a journal without a directory. The files are
 * gone when the journal is closed, or when the process ends in any way.
 */
#ifndef ELAPSE__OS_MEMORY_FILES_H
#define ELAPSE__OS_MEMORY_FILES_H

#include "files.h"

/* The table. Every path begins as an empty directory. Files cannot have a second name: link fails
 * with ENOTSUP. */
extern const struct elapse__files elapse__files_in_memory;

enum { ELAPSE__MEMORY_PATH_BYTES = 32 };

/* Stores a path that was never stored before. */
void elapse__memory_path(char path[ELAPSE__MEMORY_PATH_BYTES]);

/* Forgets the directory at this path and the directories in it, with all files. Requires that none
 * of these directories is in use. */
void elapse__memory_forget(const char *path);

#endif
