/*
 * Writes numbers as words.
 */
#include "phrase.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"

struct show_phrase amount_of(uint64_t number, const char *noun)
{
    struct show_phrase amount;

    ELAPSE__ASSERT(noun[0] != '\0');
    snprintf(amount.text, sizeof amount.text, "%" PRIu64 " %s%s", number, noun,
             number == 1 ? "" : "s");
    return amount;
}

struct show_phrase ticks_text(uint64_t ticks)
{
    struct show_phrase text;
    bool is_power_of_two = ticks != 0 && (ticks & (ticks - 1)) == 0;

    if (is_power_of_two && ticks >= UINT64_C(1) << 24)
        snprintf(text.text, sizeof text.text, "2^%d", __builtin_ctzll(ticks));
    else
        snprintf(text.text, sizeof text.text, "%" PRIu64, ticks);
    return text;
}

struct show_phrase last_tick_text(uint64_t tick)
{
    struct show_phrase text = ticks_text(tick + 1);
    size_t length = strlen(text.text);

    if (text.text[1] == '^')
        snprintf(text.text + length, sizeof text.text - length, "-1");
    else
        snprintf(text.text, sizeof text.text, "%" PRIu64, tick);
    return text;
}

struct show_phrase range_text(uint64_t first, uint64_t last)
{
    struct show_phrase text;

    ELAPSE__ASSERT(first <= last);
    snprintf(text.text, sizeof text.text, "[%" PRIu64 ",%" PRIu64 "]", first, last);
    return text;
}
