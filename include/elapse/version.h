/*
 * Elapse: the version, for the preprocessor and at run time.
 *
 * While the major version is 0, each minor version may change the layout of the structs that
 * callers allocate. Then the SONAME of the shared library changes too. Every `init` compares the
 * sizes of a struct in header and library, and returns ELAPSE_ERROR_ABI if they differ.
 *
 *     if (strcmp(elapse_version(), ELAPSE_VERSION_TEXT) != 0)
 *         ...;                           // header and library are of different versions
 */
#ifndef ELAPSE_VERSION_H
#define ELAPSE_VERSION_H

#include <elapse/attributes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the headers, as numbers and as "major.minor.patch". */
#define ELAPSE_VERSION_MAJOR 0
#define ELAPSE_VERSION_MINOR 3
#define ELAPSE_VERSION_PATCH 0
#define ELAPSE_VERSION_TEXT  "0.3.0"

/*
 * Returns the version of the library that is running, as "major.minor.patch". This text equals
 * ELAPSE_VERSION_TEXT if header and library are of the same version. The text is static. Threads:
 * any thread may call this function at any time. Cost: O(1). Cannot fail. Since 0.2.
 */
ELAPSE_API const char *elapse_version(void);

#ifdef __cplusplus
}
#endif

#endif
