#include "dumb.h"

#include <stdio.h>
#include <string.h>

enum { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY };

static const struct {
    int low, high, end;
} limits[DUMB_FIELDS] = {{0, 59, 59}, {0, 59, 59}, {0, 23, 23},
                         {1, 31, 31}, {1, 12, 12}, {0, 7, 6}};

static int between(struct random_source *random, int low, int high)
{
    return low + (int)random_below(random, (uint64_t)high - (uint64_t)low + 1);
}

static void make_item(struct dumb_item *item, struct random_source *random, int field)
{
    int low = limits[field].low;
    int high = limits[field].high;

    *item = (struct dumb_item){.kind = DUMB_VALUE, .first = between(random, low, high), .step = 1};
    if (field == DAY && random_one_in(random, 3)) {
        item->kind = (enum dumb_kind)between(random, DUMB_LAST, DUMB_NEAREST_WEEKDAY);
        if (item->kind == DUMB_LAST)
            item->first = random_one_in(random, 2) ? 0 : between(random, 1, 30);
        return;
    }
    if (field == WEEKDAY && random_one_in(random, 3)) {
        item->kind = (enum dumb_kind)between(random, DUMB_LAST_WEEKDAY, DUMB_NUMBERED);
        item->step = between(random, 1, 5);
        return;
    }
    item->kind = (enum dumb_kind)between(random, DUMB_STAR, DUMB_VALUE_STEP);
    item->last = between(random, item->first, high);
    if (random_one_in(random, 2) || item->kind == DUMB_VALUE_STEP)
        item->step = between(random, 1, limits[field].end - low + 1);
}

/* Writes the item as text. Requires that `bytes` is room enough. */
static void write_item(char *text, size_t bytes, const struct dumb_item *item)
{
    char step[8] = "";

    if (item->step != 1)
        snprintf(step, sizeof step, "/%d", item->step);
    switch (item->kind) {
    case DUMB_STAR:
        snprintf(text, bytes, "*%s", step);
        break;
    case DUMB_RANGE:
        snprintf(text, bytes, "%d-%d%s", item->first, item->last, step);
        break;
    case DUMB_VALUE:
        snprintf(text, bytes, "%d", item->first);
        break;
    case DUMB_VALUE_STEP:
        snprintf(text, bytes, "%d/%d", item->first, item->step);
        break;
    case DUMB_LAST:
        if (item->first == 0)
            snprintf(text, bytes, "L");
        else
            snprintf(text, bytes, "L-%d", item->first);
        break;
    case DUMB_LAST_WORKING:
        snprintf(text, bytes, "LW");
        break;
    case DUMB_NEAREST_WEEKDAY:
        snprintf(text, bytes, "%dW", item->first);
        break;
    case DUMB_LAST_WEEKDAY:
        snprintf(text, bytes, "%dL", item->first);
        break;
    case DUMB_NUMBERED:
        snprintf(text, bytes, "%d#%d", item->first, item->step);
        break;
    }
}

/* Makes a field out of random items. One in `star_in` fields is only a star. */
static void make_field(struct dumb_field *field, struct random_source *random, int name,
                       unsigned star_in)
{
    field->count = 1;
    field->items[0] = (struct dumb_item){.kind = DUMB_STAR, .step = 1};
    if (random_one_in(random, star_in))
        return;
    field->count = (unsigned)between(random, 1, DUMB_ITEMS_MAX);
    for (unsigned i = 0; i < field->count; i++)
        make_item(&field->items[i], random, name);
}

void dumb_make(struct dumb_cron *cron, struct random_source *random, bool has_seconds)
{
    size_t length = 0;

    memset(cron, 0, sizeof *cron);
    cron->has_seconds = has_seconds;
    for (int name = has_seconds ? SECOND : MINUTE; name < DUMB_FIELDS; name++) {
        /* Most months and about half of the day fields do not restrict. */
        unsigned star_in = name >= DAY ? 2 : 4;
        struct dumb_field *field = &cron->fields[name];

        if (name == MONTH && !random_one_in(random, 3))
            star_in = 1;
        make_field(field, random, name, star_in);
        for (unsigned i = 0; i < field->count; i++) {
            char item[24];

            write_item(item, sizeof item, &field->items[i]);
            length += (size_t)snprintf(cron->text + length, sizeof cron->text - length, "%s%s",
                                       item, i + 1 < field->count ? "," : " ");
        }
    }
    cron->text[length - 1] = '\0';
}

static bool in_steps(int value, int first, int last, int step)
{
    return value >= first && value <= last && (value - first) % step == 0;
}

/* Returns the day of the week of another day of the same month. */
static int weekday_of(const struct dumb_time *time, int day)
{
    return ((time->weekday + day - time->day) % 7 + 7) % 7;
}

static bool is_working_day(const struct dumb_time *time, int day)
{
    int weekday = weekday_of(time, day);

    return day >= 1 && day <= time->month_length && weekday >= 1 && weekday <= 5;
}

/* Searches around `day`, at growing distance. */
static int nearest_working_day(const struct dumb_time *time, int day)
{
    for (int distance = 0;; distance++) {
        if (is_working_day(time, day - distance))
            return day - distance;
        if (is_working_day(time, day + distance))
            return day + distance;
    }
}

static bool item_matches(const struct dumb_item *item, const struct dumb_time *time, int field,
                         int value)
{
    switch (item->kind) {
    case DUMB_STAR:
        return in_steps(value, limits[field].low, limits[field].end, item->step);
    case DUMB_RANGE:
        return in_steps(value, item->first, item->last, item->step);
    case DUMB_VALUE:
        return value == item->first;
    case DUMB_VALUE_STEP:
        return value == item->first || in_steps(value, item->first, limits[field].end, item->step);
    case DUMB_LAST:
        return value == time->month_length - item->first;
    case DUMB_LAST_WORKING:
        return value == nearest_working_day(time, time->month_length);
    case DUMB_NEAREST_WEEKDAY:
        return item->first <= time->month_length && value == nearest_working_day(time, item->first);
    case DUMB_LAST_WEEKDAY:
        return value == item->first && time->day + 7 > time->month_length;
    case DUMB_NUMBERED:
        return value == item->first && (time->day + 6) / 7 == item->step;
    }
    return false;
}

static bool field_matches(const struct dumb_cron *cron, const struct dumb_time *time, int name,
                          int value)
{
    const struct dumb_field *field = &cron->fields[name];

    for (unsigned i = 0; i < field->count; i++) {
        if (item_matches(&field->items[i], time, name, value))
            return true;
        if (name == WEEKDAY && value == 0 && item_matches(&field->items[i], time, name, 7))
            return true;
    }
    return false;
}

bool dumb_matches(const struct dumb_cron *cron, const struct dumb_time *time)
{
    if (cron->has_seconds ? !field_matches(cron, time, SECOND, time->second) : time->second != 0)
        return false;
    if (!field_matches(cron, time, MINUTE, time->minute) ||
        !field_matches(cron, time, HOUR, time->hour) ||
        !field_matches(cron, time, MONTH, time->month))
        return false;

    bool day = field_matches(cron, time, DAY, time->day);
    bool weekday = field_matches(cron, time, WEEKDAY, time->weekday);
    if (cron->fields[DAY].items[0].kind != DUMB_STAR &&
        cron->fields[WEEKDAY].items[0].kind != DUMB_STAR)
        return day || weekday;
    return day && weekday;
}
