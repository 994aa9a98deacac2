#include "settings.h"

#include <string.h>

#include "../base/assert.h"
#include "../base/little_endian.h"

enum { PARTS_BYTES = 4, VALUE_BYTES = 8 };

#define PARTS_OF_GROUP (UINT32_C(1) << 31)

static const struct setting {
    size_t offset;
    uint64_t most;
} rows[] = {
#define ROW(setting, most) {offsetof(struct elapse__queue_settings, setting), most},
    ELAPSE__QUEUE_SETTINGS(ROW)
#undef ROW
};

_Static_assert(ELAPSE__QUEUE_SETTING_COUNT < 32, "each setting has a bit, and one is left");
_Static_assert(sizeof(struct elapse__queue_settings) == sizeof rows / sizeof *rows * VALUE_BYTES,
               "settings are numbers without holes");

static uint64_t value_of(const struct elapse__queue_settings *settings, unsigned row)
{
    uint64_t value = 0;
    memcpy(&value, (const unsigned char *)settings + rows[row].offset, sizeof value);
    return value;
}

bool elapse__queue_settings_say(const struct elapse__queue_settings *settings)
{
    static const struct elapse__queue_settings nothing;
    return memcmp(settings, &nothing, sizeof nothing) != 0;
}

bool elapse__queue_settings_fit(const struct elapse__queue_settings *settings)
{
    for (unsigned row = 0; row < ELAPSE__QUEUE_SETTING_COUNT; row++)
        if (value_of(settings, row) > rows[row].most)
            return false;
    struct elapse__queue_rate rate = elapse__queue_settings_rate(settings);
    struct elapse__queue_rate group_rate = elapse__queue_settings_group_rate(settings);
    bool has_time = settings->rate_next_ms != 0;
    return (settings->pause_ms == 0) == (settings->pause_end_ms == 0) &&
           elapse__queue_rate_fits(&rate) && elapse__queue_rate_fits(&group_rate) &&
           (group_rate.count != 0 || settings->group_rate_number == 0) &&
           settings->group_rate_since <= settings->group_rate_number &&
           (!has_time || rate.count != 0) &&
           (settings->rate_next_part == 0 ||
            (has_time && settings->rate_next_part < settings->rate_count)) &&
           (settings->rate_life == 0 || has_time);
}

uint16_t elapse__queue_settings_encode(const struct elapse__queue_settings *settings,
                                       struct elapse__queue_text name, unsigned char *bytes)
{
    uint32_t parts = 0;
    unsigned char *next = bytes + PARTS_BYTES;
    ELAPSE__ASSERT(elapse__queue_settings_fit(settings));
    ELAPSE__ASSERT(name.size > 0 && name.size <= ELAPSE__QUEUE_TUBE_BYTES_MAX);
    *next++ = (unsigned char)name.size;
    memcpy(next, name.bytes, name.size);
    next += name.size;
    for (unsigned row = 0; row < ELAPSE__QUEUE_SETTING_COUNT; row++) {
        uint64_t value = value_of(settings, row);
        if (value == 0)
            continue;
        parts |= UINT32_C(1) << row;
        elapse__little_endian_store(next, value, VALUE_BYTES);
        next += VALUE_BYTES;
    }
    elapse__little_endian_store(bytes, parts, PARTS_BYTES);
    return (uint16_t)(next - bytes);
}

/* Reads the values that `parts` names. Returns false if they are no settings. */
static bool read_values(struct elapse__queue_settings *settings, uint32_t parts,
                        const unsigned char *next)
{
    *settings = (struct elapse__queue_settings){0};
    for (unsigned row = 0; row < ELAPSE__QUEUE_SETTING_COUNT; row++) {
        if ((parts >> row & 1) == 0)
            continue;
        uint64_t value = elapse__little_endian_load(next, VALUE_BYTES);
        if (value == 0)
            return false;
        memcpy((unsigned char *)settings + rows[row].offset, &value, sizeof value);
        next += VALUE_BYTES;
    }
    return elapse__queue_settings_fit(settings);
}

bool elapse__queue_settings_decode(struct elapse__queue_settings *settings,
                                   struct elapse__queue_text *name,
                                   const struct elapse__record *record)
{
    const unsigned char *bytes = record->fields;
    if (record->type != ELAPSE__RECORD_TUBE || record->flags != 0 || record->body_size != 0 ||
        record->fields_size <= PARTS_BYTES + 1)
        return false;
    uint32_t parts = (uint32_t)elapse__little_endian_load(bytes, PARTS_BYTES);
    if (parts >> ELAPSE__QUEUE_SETTING_COUNT != 0)
        return false;
    *name = (struct elapse__queue_text){bytes + PARTS_BYTES + 1, bytes[PARTS_BYTES]};
    size_t size = PARTS_BYTES + 1 + name->size;
    for (uint32_t left = parts; left != 0; left &= left - 1)
        size += VALUE_BYTES;
    return name->size > 0 && name->size <= ELAPSE__QUEUE_TUBE_BYTES_MAX &&
           record->fields_size == size &&
           read_values(settings, parts, (const unsigned char *)name->bytes + name->size);
}

/* ---- the TUBE of a group ---- */

static unsigned char *append_text(unsigned char *next, struct elapse__queue_text text, size_t most)
{
    ELAPSE__ASSERT(text.size > 0 && text.size <= most);
    (void)most; /* used by the assertion alone */
    *next++ = (unsigned char)text.size;
    memcpy(next, text.bytes, text.size);
    return next + text.size;
}

uint16_t elapse__queue_group_next_encode(const struct elapse__queue_group_next *next,
                                         unsigned char *bytes)
{
    unsigned char *end = bytes + PARTS_BYTES;
    ELAPSE__ASSERT(next->next_ms > 0 && next->next_ms <= ELAPSE__QUEUE_SETTING_END);
    ELAPSE__ASSERT_THAT(next->next_part, <, (uint64_t)ELAPSE__QUEUE_RATE_MAX);
    ELAPSE__ASSERT_THAT(next->written_ms, <=, (uint64_t)ELAPSE__QUEUE_SETTING_END);
    elapse__little_endian_store(bytes, PARTS_OF_GROUP, PARTS_BYTES);
    end = append_text(end, next->tube, ELAPSE__QUEUE_TUBE_BYTES_MAX);
    end = append_text(end, next->group, ELAPSE__QUEUE_KEY_BYTES_MAX);
    elapse__little_endian_store(end, next->next_ms, VALUE_BYTES);
    elapse__little_endian_store(end + VALUE_BYTES, next->next_part, VALUE_BYTES);
    elapse__little_endian_store(end + 2 * (size_t)VALUE_BYTES, next->rate, VALUE_BYTES);
    elapse__little_endian_store(end + 3 * (size_t)VALUE_BYTES, next->written_ms, VALUE_BYTES);
    return (uint16_t)(end + 4 * (size_t)VALUE_BYTES - bytes);
}

/* Reads a text behind its size. Returns false if it is not whole, empty or too long. */
static bool take_text(const unsigned char **next, const unsigned char *end,
                      struct elapse__queue_text *text, size_t most)
{
    if (*next == end)
        return false;
    *text = (struct elapse__queue_text){*next + 1, **next};
    if (text->size == 0 || text->size > most || text->size > (size_t)(end - *next) - 1)
        return false;
    *next += 1 + text->size;
    return true;
}

bool elapse__queue_group_next_decode(struct elapse__queue_group_next *next,
                                     const struct elapse__record *record)
{
    const unsigned char *bytes = record->fields;
    const unsigned char *end = bytes + record->fields_size;
    const unsigned char *at = bytes + PARTS_BYTES;
    if (record->type != ELAPSE__RECORD_TUBE || record->flags != 0 || record->body_size != 0 ||
        record->fields_size <= PARTS_BYTES ||
        elapse__little_endian_load(bytes, PARTS_BYTES) != PARTS_OF_GROUP ||
        !take_text(&at, end, &next->tube, ELAPSE__QUEUE_TUBE_BYTES_MAX) ||
        !take_text(&at, end, &next->group, ELAPSE__QUEUE_KEY_BYTES_MAX) ||
        end - at != 4 * VALUE_BYTES)
        return false;
    next->next_ms = elapse__little_endian_load(at, VALUE_BYTES);
    next->next_part = elapse__little_endian_load(at + VALUE_BYTES, VALUE_BYTES);
    next->rate = elapse__little_endian_load(at + 2 * (size_t)VALUE_BYTES, VALUE_BYTES);
    next->written_ms = elapse__little_endian_load(at + 3 * (size_t)VALUE_BYTES, VALUE_BYTES);
    return next->next_ms > 0 && next->next_ms <= ELAPSE__QUEUE_SETTING_END &&
           next->next_part < ELAPSE__QUEUE_RATE_MAX &&
           next->written_ms <= ELAPSE__QUEUE_SETTING_END;
}
