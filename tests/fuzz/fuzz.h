/*
 * Functions that the libFuzzer targets share.
 */
#ifndef ELAPSE_TESTS_FUZZ_H
#define ELAPSE_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a target asserts: libFuzzer keeps the input of a process that aborts. */
static inline void require(bool holds)
{
    if (!holds)
        abort();
}

#endif
