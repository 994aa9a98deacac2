/*
 * Finds out whether threads are asleep. A test that waits until all threads of interest are asleep
 * knows that nothing happens any more until the test does something itself. It need not guess how
 * long that takes.
 */
#ifndef ELAPSE_TESTS_ASLEEP_H
#define ELAPSE_TESTS_ASLEEP_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the number by which the system knows the calling thread. */
long thread_number(void);

/* Returns whether there was a moment during the call at which all these threads were asleep, and no
 * thread was woken that had not run yet. */
bool threads_are_asleep(const long *numbers, size_t count);

#endif
