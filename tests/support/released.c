/*
 * Fills released timers with a pattern, and forbids to read them where AddressSanitizer can enforce
 * this.
 */
#include "released.h"

#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ADDRESS_SANITIZER
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define UNDER_ADDRESS_SANITIZER
#endif

#ifdef UNDER_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

enum { PATTERN = 0xA5 };

void timer_cover(struct elapse_timer *timer)
{
#ifdef UNDER_ADDRESS_SANITIZER
    ASAN_POISON_MEMORY_REGION(timer, sizeof *timer);
#else
    (void)timer;
#endif
}

void timer_uncover(struct elapse_timer *timer)
{
#ifdef UNDER_ADDRESS_SANITIZER
    ASAN_UNPOISON_MEMORY_REGION(timer, sizeof *timer);
#else
    (void)timer;
#endif
}

void timer_release(struct elapse_timer *timer)
{
    memset(timer, PATTERN, sizeof *timer);
    timer_cover(timer);
}

bool timer_claim(struct elapse_timer *timer)
{
    unsigned char pattern[sizeof *timer];

    memset(pattern, PATTERN, sizeof pattern);
    timer_uncover(timer);
    bool untouched = memcmp(timer, pattern, sizeof pattern) == 0;
    elapse_timer_init(timer);
    return untouched;
}
