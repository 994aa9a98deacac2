/*
 * Reads and writes all bytes of a piece, for recovery and for small files.
 */
#ifndef ELAPSE__JOURNAL_TRANSFER_H
#define ELAPSE__JOURNAL_TRANSFER_H

#include <stddef.h>
#include <stdint.h>

#include "../../os/files.h"

/* Reads up to `count` bytes at this offset. Stores how many bytes the file has there. Returns 0 or
 * an error number. */
int elapse__read_some(const struct elapse__files *files, int file, uint64_t offset, void *bytes,
                      size_t count, size_t *size);

/* Reads `count` bytes at this offset. Bytes after the end of the file are read as zeros. Returns 0
 * or an error number. */
int elapse__read_all(const struct elapse__files *files, int file, uint64_t offset, void *bytes,
                     size_t count);

/* Writes zeros from one offset of a file to before another. Returns 0 or an error number. */
int elapse__fill_all(const struct elapse__files *files, int file, uint64_t from, uint64_t end);

/* Writes `count` bytes at this offset. Returns 0 or an error number. */
int elapse__write_all(const struct elapse__files *files, int file, uint64_t offset,
                      const void *bytes, size_t count);

#endif
