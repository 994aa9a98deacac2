/*
 * Elapse: the attributes of the public functions. This file declares no functions.
 */
#ifndef ELAPSE_ATTRIBUTES_H
#define ELAPSE_ATTRIBUTES_H

/* The headers define inline functions by the rules of C99 and C++. By the older GNU rules,
 * each file that includes them would define the functions again. (Clang defines the macro in
 * C++ too, where it has no meaning.) */
#if defined(__GNUC_GNU_INLINE__) && !defined(__cplusplus)
#error "Elapse needs the inline functions of C99: compile as C99 or later"
#endif

/*
 * ELAPSE_API marks a function that the library offers. The shared library hides everything
 * without this mark.
 *
 * A shared object of yours that contains Elapse, such as a plug-in, would offer these functions
 * too. Then another plug-in with another version of Elapse could call them. There are two ways to
 * hide the functions. If you link with the static library, use -Wl,--exclude-libs,libelapse.a. If
 * elapse.c is one of your files, define ELAPSE_HIDDEN for all of your files, and compile elapse.c
 * by -fvisibility=hidden. Do not define ELAPSE_HIDDEN for files that are linked with the shared
 * library of Elapse: the linker would not find the functions.
 */
#if !defined(__GNUC__)
#define ELAPSE_API
#elif defined(ELAPSE_HIDDEN)
#define ELAPSE_API __attribute__((visibility("hidden")))
#else
#define ELAPSE_API __attribute__((visibility("default")))
#endif

#if defined(__GNUC__)
#define ELAPSE_MUST_CHECK __attribute__((warn_unused_result))
#else
#define ELAPSE_MUST_CHECK
#endif

#endif
