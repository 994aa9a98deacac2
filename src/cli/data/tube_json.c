#include "tube_json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../../base/assert.h"
#include "../../base/base64.h"
#include "../common/text.h"

static const char name_member[] = "settings_of", base64_member[] = "settings_of_base64";

static const struct setting_member {
    const char *name;
    size_t offset;
} settings[] = {
#define MEMBER(setting, most) {#setting, offsetof(struct elapse__queue_settings, setting)},
    ELAPSE__QUEUE_SETTINGS(MEMBER)
#undef MEMBER
};

enum { SETTING_COUNT = sizeof settings / sizeof settings[0] };

void tube_json_write(struct elapse__json *json, const struct elapse__upkeep_tube *tube)
{
    ELAPSE__ASSERT_THAT(tube->name.size, >, 0);
    elapse__json_open(json, '{');
    elapse__json_bytes_member(json, name_member, tube->name.bytes, tube->name.size);
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        uint64_t value = 0;
        memcpy(&value, (const unsigned char *)&tube->settings + settings[i].offset, sizeof value);
        if (value == 0)
            continue;
        elapse__json_name(json, settings[i].name);
        elapse__json_unsigned(json, value);
    }
    elapse__json_close(json, '}');
}

bool tube_json_is_meant(const json_t *object)
{
    return json_object_get(object, name_member) != NULL ||
           json_object_get(object, base64_member) != NULL;
}

static bool bad(const char *name, const char *text, char *fault, size_t fault_bytes)
{
    (void)snprintf(fault, fault_bytes, "%s: %s", quote_string(name).text, text);
    return false;
}

static bool read_name(struct elapse__upkeep_tube *tube, const json_t *value, bool is_base64,
                      unsigned char *memory)
{
    size_t size = json_string_length(value);
    if (!json_is_string(value))
        return false;
    if (!is_base64)
        memcpy(memory, json_string_value(value), size);
    else if (!elapse__base64_read(json_string_value(value), size, memory, &size))
        return false;
    ELAPSE__ASSERT_THAT(size, <=, json_string_length(value));
    tube->name = (struct elapse__queue_text){memory, size};
    return true;
}

static bool read_setting(struct elapse__upkeep_tube *tube, const char *name, const json_t *value)
{
    json_int_t number = json_integer_value(value);
    uint64_t setting = (uint64_t)number;
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (strcmp(settings[i].name, name) != 0)
            continue;
        memcpy((unsigned char *)&tube->settings + settings[i].offset, &setting, sizeof setting);
        return json_is_integer(value) && number >= 0;
    }
    return false;
}

bool tube_json_read(struct elapse__upkeep_tube *tube, const json_t *object, unsigned char *memory,
                    char *fault, size_t fault_bytes)
{
    const char *name = NULL;
    json_t *value = NULL;
    *tube = (struct elapse__upkeep_tube){.name = {NULL, 0}};
    ELAPSE__ASSERT(tube_json_is_meant(object));
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        bool is_base64 = strcmp(name, base64_member) == 0;
        if (is_base64 || strcmp(name, name_member) == 0) {
            if (!read_name(tube, value, is_base64, memory))
                return bad(name, "this is no name of a tube", fault, fault_bytes);
        } else if (!read_setting(tube, name, value)) {
            return bad(name, "this is no setting of a tube", fault, fault_bytes);
        }
    }
    return true;
}
