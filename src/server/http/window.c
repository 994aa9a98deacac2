#include "window.h"

#include "../../base/assert.h"

void elapse__http_window_add(struct elapse__http_window *window,
                             const struct elapse__histogram *histogram)
{
    uint32_t *second = window->seconds[window->place];

    ELAPSE__ASSERT_THAT(window->place, <, ELAPSE__HTTP_WINDOW_SECONDS);
    window->place = (window->place + 1) % ELAPSE__HTTP_WINDOW_SECONDS;
    for (unsigned i = 0; i < ELAPSE__HISTOGRAM_BUCKETS; i++) {
        uint32_t fresh = histogram->counts[i] < window->before[i]
                             ? 0
                             : (uint32_t)(histogram->counts[i] - window->before[i]);
        ELAPSE__ASSERT_THAT(second[i], <=, window->counts[i]);
        ELAPSE__ASSERT_THAT(window->counts[i], <=, window->count);
        window->counts[i] += (uint64_t)fresh - second[i];
        window->count += (uint64_t)fresh - second[i];
        window->before[i] = histogram->counts[i];
        second[i] = fresh;
    }
}

uint64_t elapse__http_window_quantile(const struct elapse__http_window *window, unsigned percent)
{
    uint64_t wanted = (window->count * percent + 99) / 100;
    uint64_t seen = 0;

    ELAPSE__ASSERT_THAT(window->count, >, 0);
    ELAPSE__ASSERT_THAT(wanted, <=, window->count);
    ELAPSE__ASSERT(percent > 0 && percent <= 100);
    for (unsigned i = 0; i < ELAPSE__HISTOGRAM_BUCKETS; i++) {
        seen += window->counts[i];
        if (seen >= wanted && seen > 0)
            return elapse__histogram_least(i + 1) - 1;
    }
    return elapse__histogram_least(ELAPSE__HISTOGRAM_BUCKETS) - 1;
}
