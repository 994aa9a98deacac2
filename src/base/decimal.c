#include "decimal.h"

#include <string.h>

#include "../base/assert.h"

bool elapse__decimal_read(const void *bytes, size_t size, uint64_t greatest, uint64_t *number)
{
    const unsigned char *digits = bytes;
    uint64_t value = 0;

    /* So many digits fit into 64 bits, whichever they are. Only longer numbers are checked. */
    enum { SAFE_DIGITS = 19 };

    if (size == 0)
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned digit = (unsigned)digits[i] - '0';
        if (digit > 9 ||
            (i >= SAFE_DIGITS && (value > UINT64_MAX / 10 || value * 10 > UINT64_MAX - digit)))
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
    /* All numbers of two digits, one behind the other. */
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    size_t size = 1;

    /* The digits are counted first, so that each is written to its place at once. They are copied
     * in pairs, which halves the divisions: a server writes some forty digits for each job that it
     * hands out. */
    for (uint64_t limit = 10; size < ELAPSE__DECIMAL_BYTES && number >= limit; limit *= 10)
        size++;
    size_t at = size;
    for (; number >= 10; number /= 100) {
        at -= 2;
        memcpy(bytes + at, pairs + 2 * (number % 100), 2);
    }
    if (at > 0)
        bytes[--at] = (char)('0' + number);
    ELAPSE__ASSERT_THAT(at, ==, 0U);
    return size;
}
