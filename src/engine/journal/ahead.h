/*
 * Reads a file ahead of somebody who reads it in pieces, on a thread of its own. So the next piece
 * is copied from the page cache, or read from the disk, while the records of this piece are taken.
 *
 *      window           takes the piece that it has asked for, and asks for the next one
 *                          |                     ^
 *                          v                     |
 *      thread           reads it  ---------------+
 *
 * The thread decides nothing. A piece that could not be read, or that is not the one that is needed
 * now, is forgotten. Then the window reads for itself. So each error is found, and told, as it
 * would be without the thread.
 *
 * All functions are for one thread, the one that has started the reading.
 */
#ifndef ELAPSE__JOURNAL_AHEAD_H
#define ELAPSE__JOURNAL_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../os/files.h"

struct elapse__ahead;

/* Bytes of a file. */
struct elapse__ahead_piece {
    int file;
    uint64_t offset;
    size_t count;
    uint8_t *bytes; /* memory of the C library for `piece_bytes` bytes */
};

/* Starts the thread, for pieces of up to `piece_bytes` bytes. Returns NULL if the system has no
 * thread or no memory. Then nobody reads ahead. */
struct elapse__ahead *elapse__ahead_start(const struct elapse__files *files, size_t piece_bytes);

/* Waits until the thread has ended, and frees all. Does nothing if `ahead` is NULL. */
void elapse__ahead_end(struct elapse__ahead *ahead);

/* Begins to read a piece, and forgets the one before. Waits until that one was read. The file must
 * stay open until the piece was taken, or elapse__ahead_rest was called. */
void elapse__ahead_ask(struct elapse__ahead *ahead, int file, uint64_t offset, size_t count);

/* Takes the piece that was asked for, if it has all of `piece`. Waits until it was read. Exchanges
 * the memory of both, and stores in `*piece` what was taken. Otherwise returns false, and forgets
 * the piece. */
bool elapse__ahead_take(struct elapse__ahead *ahead, struct elapse__ahead_piece *piece);

/* Waits until nothing is being read, and forgets what was read. Does nothing if `ahead` is NULL. */
void elapse__ahead_rest(struct elapse__ahead *ahead);

#endif
