/*
 * Marks a function that is called seldom from one that is called often: it stays
 * out of line, so that the caller saves no registers for its sake.
 */
#ifndef ELAPSE__COMPILER_H
#define ELAPSE__COMPILER_H

#define ELAPSE__COLD __attribute__((noinline, cold))

#endif
