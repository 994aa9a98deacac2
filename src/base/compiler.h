/*
 * ELAPSE__COLD marks a function that is called seldom, from one that is called often. It
 * stays out of line, so that its caller need not save registers for it.
 */
#ifndef ELAPSE__COMPILER_H
#define ELAPSE__COMPILER_H

#define ELAPSE__COLD __attribute__((noinline, cold))

#endif
