#include "handed_map.h"

#include <string.h>

#include "../../base/assert.h"
#include "../../protocol/reply_fields.h"

/* The names of the fields, in the order of the reply. */
static const char *const fields[] = {
#define NAME(field, kind) #field,
    ELAPSE__HANDED_FIELDS(NAME)
#undef NAME
};

enum { FIELDS = sizeof fields / sizeof fields[0] };

static void add(struct handed_map *map, redisReply *name, redisReply *value)
{
    ELAPSE__ASSERT_THAT(map->map.elements + 2, <=, (size_t)HANDED_MAP_PARTS);
    map->parts[map->map.elements++] = name;
    map->parts[map->map.elements++] = value;
}

/* Adds a field by its name without the unit, because names in replies have no units. */
static void add_field(struct handed_map *map, size_t field, redisReply *value)
{
    ELAPSE__ASSERT_THAT(field, <, (size_t)FIELDS);
    static const char unit[] = "_ms";
    size_t length = strlen(fields[field]);
    redisReply *name = &map->names[field];

    if (length > sizeof unit - 1 && strcmp(fields[field] + length - (sizeof unit - 1), unit) == 0)
        length -= sizeof unit - 1;
    ELAPSE__ASSERT_THAT(length, <, (size_t)HANDED_MAP_NAME_BYTES);
    memcpy(map->texts[field], fields[field], length);
    map->texts[field][length] = '\0';
    memset(name, 0, sizeof *name);
    name->type = REDIS_REPLY_STRING;
    name->str = map->texts[field];
    name->len = length;
    add(map, name, value);
}

bool handed_map_make(struct handed_map *map, const redisReply *job)
{
    size_t body = FIELDS;

    memset(&map->map, 0, sizeof map->map);
    map->map.type = REDIS_REPLY_ARRAY;
    map->map.element = map->parts;
    if (job->type != REDIS_REPLY_ARRAY || job->elements < FIELDS)
        return false;
    for (size_t i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i], "body") == 0)
            body = i;
        else
            add_field(map, i, job->element[i]);
    }
    ELAPSE__ASSERT_THAT(body, <, (size_t)FIELDS);
    const redisReply *details = job->elements > FIELDS ? job->element[FIELDS] : NULL;
    bool has_details = details != NULL && details->type == REDIS_REPLY_ARRAY;
    for (size_t i = 0; has_details && i + 1 < details->elements &&
                       map->map.elements + 4 <= (size_t)HANDED_MAP_PARTS;
         i += 2)
        add(map, details->element[i], details->element[i + 1]);
    add_field(map, body, job->element[body]);
    ELAPSE__ASSERT_THAT(map->map.elements, >=, 2 * (size_t)FIELDS);
    return true;
}
