/*
 * The memory of all stores of the process. It is one arena (src/base/arena.h), guarded by a lock.
 */
#ifndef ELAPSE__STORE_MEMORY_H
#define ELAPSE__STORE_MEMORY_H

#include <stdbool.h>

#include <elapse/allocator.h>

/* An allocator. Blocks from 2 KiB to 1 MiB lie in the arena. Larger blocks have whole regions of
 * their own, and smaller blocks come from the C library. Any thread may use this allocator, also
 * while it holds the lock of a store. */
extern const struct elapse_allocator elapse__store_memory;

/* Returns whether the arena has little memory left. Then elapse__store_refill_memory is due. */
bool elapse__store_memory_is_low(void);

/* Adds a region to the arena. The system clears 2 MiB for that, which takes about 0.1 ms. So only a
 * thread for which nobody waits should call this. Requires that the thread holds no lock. */
void elapse__store_refill_memory(void);

#endif
