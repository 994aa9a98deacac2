#include "troubled.h"

#include <string.h>

#include "../../base/assert.h"
#include "../core/core.h"

static bool is_worse(const struct elapse__http_trouble *one,
                     const struct elapse__http_trouble *other)
{
    if (one->overdue_ms != other->overdue_ms)
        return one->overdue_ms > other->overdue_ms;
    if (one->buried != other->buried)
        return one->buried > other->buried;
    return one->held > other->held;
}

static void add_to_rest(struct elapse__http_trouble *rest,
                        const struct elapse__http_trouble *trouble)
{
    if (trouble->overdue_ms > rest->overdue_ms)
        rest->overdue_ms = trouble->overdue_ms;
    rest->buried += trouble->buried;
    rest->held += trouble->held;
}

/* Returns how many of the kept tubes are at least as bad. */
static size_t place_of(const struct elapse__http_troubled *troubled,
                       const struct elapse__http_trouble *trouble)
{
    size_t low = 0;
    size_t high = troubled->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_worse(trouble, &troubled->kept[troubled->order[middle]].trouble))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

void elapse__http_troubled_add(struct elapse__http_troubled *troubled,
                               struct elapse__queue_text name,
                               const struct elapse__queue_statistics *counts)
{
    const struct elapse__http_trouble trouble = {
        .overdue_ms = counts->overdue_ms, .buried = counts->buried, .held = counts->held};
    size_t place = place_of(troubled, &trouble);
    uint16_t kept = (uint16_t)troubled->count;

    ELAPSE__ASSERT(name.size > 0 && name.size <= ELAPSE__QUEUE_TUBE_BYTES_MAX);
    ELAPSE__ASSERT_THAT(troubled->count, <=, ELAPSE__HTTP_TROUBLED_MAX);
    ELAPSE__ASSERT_THAT(troubled->count, <=, troubled->tubes);
    if (!elapse__server_is_in_trouble(counts))
        return;
    troubled->tubes++;
    if (place == ELAPSE__HTTP_TROUBLED_MAX) {
        add_to_rest(&troubled->rest, &trouble);
        return;
    }
    if (troubled->count == ELAPSE__HTTP_TROUBLED_MAX) {
        kept = troubled->order[--troubled->count];
        add_to_rest(&troubled->rest, &troubled->kept[kept].trouble);
    }
    uint16_t *order = troubled->order + place;
    memmove(order + 1, order, (troubled->count - place) * sizeof *order);
    *order = kept;
    troubled->kept[kept].trouble = trouble;
    troubled->kept[kept].name_size = name.size;
    memcpy(troubled->kept[kept].name, name.bytes, name.size);
    troubled->count++;
    ELAPSE__ASSERT_THAT(place, <, troubled->count);
}
