/*
 * ELAPSE__COLD marks a function that is called seldom, by a function that is called often. The
 * compiler does not put a marked function inline, so that the caller need not save registers for
 * it.
 */
#ifndef ELAPSE__COMPILER_H
#define ELAPSE__COMPILER_H

#define ELAPSE__COLD __attribute__((noinline, cold))

#endif
