/*
 * Files in memory behind the table of files.h: a journal that needs no directory, and is gone when
 * the process ends, however it ends.
 */
#ifndef ELAPSE__OS_MEMORY_FILES_H
#define ELAPSE__OS_MEMORY_FILES_H

#include "files.h"

/* Returns the table. All paths begin as empty directories. Files cannot have a second name: link
 * fails with ENOTSUP. */
const struct elapse__files *elapse__files_in_memory(void);

#endif
