/*
 * A directory for one test. It is removed at the end of the test.
 */
#ifndef ELAPSE_TEST_DIRECTORY_H
#define ELAPSE_TEST_DIRECTORY_H

/* Makes an empty directory below TMPDIR, or /tmp. Stops the program on failure. */
const char *directory_make(void);

/* Removes the directory, with all files in it. */
void directory_remove(void);

#endif
