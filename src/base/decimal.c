#include "decimal.h"

#include <string.h>

#include "../base/assert.h"

bool elapse__decimal_read(const void *bytes, size_t size, uint64_t greatest, uint64_t *number)
{
    const unsigned char *digits = bytes;
    uint64_t value = 0;

    if (size == 0)
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned digit = (unsigned)digits[i] - '0';
        if (digit > 9 || value > UINT64_MAX / 10 || value * 10 > UINT64_MAX - digit)
            return false;
        value = value * 10 + digit;
    }
    if (value > greatest)
        return false;
    *number = value;
    return true;
}

size_t elapse__decimal_write(char *bytes, uint64_t number)
{
    char digits[ELAPSE__DECIMAL_BYTES];
    size_t at = sizeof digits;

    do {
        ELAPSE__ASSERT_THAT(at, >, 0U);
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    memcpy(bytes, digits + at, sizeof digits - at);
    return sizeof digits - at;
}
